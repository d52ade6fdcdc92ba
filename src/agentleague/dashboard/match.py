"""One match: who won and why, what was said to whom, move by move, and how its draw is proved."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from agentleague.dashboard import paging
from agentleague.dashboard.league_view import LeagueView
from agentleague.league.events import MatchDecided
from agentleague.league.league import Phase
from agentleague.league.match_records import MatchRecord
from agentleague.protocol import draws
from agentleague.protocol.printable import one_line, one_line_json
from agentleague.records import match_check, match_story, replay
from agentleague.records.match_story import HARMLESS, Contact, Facts, cause_of, is_failure
from agentleague.records.replay import Step

ASKED = {
    "GAME_INVITATION": "invited to the match",
    "CHOOSE_PARITY_CALL": "asked for even or odd",
    "GAME_MOVE_CALL": "asked for a move",
}
SCORES = {"won": "1", "drawn": "½", "lost": "0", "forfeited": "0", "void": "-"}


def facts(view: LeagueView, params: Mapping[str, str]) -> dict[str, Any]:
    """What the page of a match shows; of an undecided one only who plays, and who is waited for."""
    match_id = params["match_id"].upper()
    match = match_story.read(told := view.match_facts(match_id))
    players = [paging.agent(view, each) for each in (match.player_A_id, match.player_B_id)]
    ended = view.ended.get(match_id)
    return {
        "match_id": match_id,
        "round_id": match.round_id,
        "game": match.game_type,
        "players": players,
        "referee": paging.agent(view, match.referee_id) if match.referee_id else None,
        **_beside(view, match),
        "since": view.round_began[match.round_id - 1] if match.state else None,
        "state": "" if ended else _state(view, match),
        "awaited": [] if ended else awaited_in(view, match_id),
        "ended": _ended(view, match, told, params) if ended else None,
    }


def awaited_in(view: LeagueView, match_id: str) -> list[str]:
    """For whom an undecided match waits, as its manager says: a sentence each."""
    answers: Sequence[str] = view.live.get("awaited_answers", ())
    reports: Sequence[str] = view.live.get("awaited_reports", ())
    own = [each for each in answers if each.rpartition(": ")[0].endswith(f" in {match_id}")]
    other = [each.partition(": ")[2] for each in reports if each.startswith(f"{match_id}: ")]
    return [*(f"Waiting for {each}." for each in own), *(f"I{each[1:]}." for each in other)]


def _beside(view: LeagueView, match: Facts) -> dict[str, str | None]:
    planned = view.league.planned_round(match.round_id)
    ids = [match_id for match_id, _ in planned.matches] if planned else []
    at = ids.index(match.match_id)
    return {
        "previous": ids[at - 1] if at else None,
        "next": ids[at + 1] if at + 1 < len(ids) else None,
    }


def _state(view: LeagueView, match: Facts) -> str:
    if view.league.phase is Phase.COMPLETED:
        return "The league was ended before this match had a result."
    if match.state is None:
        return f"It has not begun: round {match.round_id} comes later."
    paused = " The league is paused." if view.league.paused else ""
    return f"It is being played, and there is no result yet.{paused}"


def _ended(
    view: LeagueView, match: Facts, told: Mapping[str, Any], params: Mapping[str, str]
) -> dict[str, Any]:
    ended, record = view.ended[match.match_id], view.league.matches[match.match_id]
    ending, decided = told["ending"], record.decided
    assert decided
    named = partial(paging.with_names, view, ids=(*ended.players, match.referee_id))
    steps = replay.steps(view.game, told) if view.game else _moves(decided)
    return {
        "score": [SCORES[ended.outcome(each)] for each in ended.players],
        "outcomes": [ended.outcome(each) for each in ended.players],
        "status": ended.status,
        "winner": ended.winner,
        "at": ended.at,
        "sentence": named(ending["sentence"]),
        "rules": [] if match.overruled else ending["rules"],
        "advice": [] if match.overruled else [*map(named, ending["advice"])],
        "ruling": told["ruling"] and {**told["ruling"], "words": named(told["ruling"]["words"])},
        "overruled": match.overruled is not None,
        "disputes": [named(one_line(each["words"])) for each in match.disputes],
        "unconfirmed": match.unconfirmed,
        "commands": rule_commands(view, match) if match.disputed or match.unconfirmed else [],
        "given_again": [
            {
                "referee": paging.agent(view, each.referee_id),
                "why": one_line(match_story.REASSIGNED.get(each.why, each.why)),
            }
            for each in match.assignments
        ],
        "is_closed": match.closed,
        "told_by_manager": match.told == "manager",
        "conversation": _conversation(view, match.transcript),
        "left_out": match.transcript_left_out,
        "reported": None if decided.verified else one_line_json(decided.result.choices),
        **_replayed(view, steps, params),
        "note": named(one_line(steps[-1].note, 500)) if steps else "",
        "proof": _proof(view, record, steps),
    }


def rule_commands(view: LeagueView, match: Facts) -> list[str]:
    """What the organiser may type about a match that has a result."""
    ruled = (f"--winner {match.player_A_id}", f"--winner {match.player_B_id}", "--no-contest")
    rule = f"league rule {match.match_id}"
    where = f"--dir {view.directory}"
    given = [f'{rule} {each} --reason "..." {where}' for each in ruled]
    return [f"{rule} --let-stand {where}", *given]


def _conversation(view: LeagueView, transcript: Sequence[Contact]) -> list[dict[str, Any]]:
    """Each exchange; what to change is said with the last of those that failed alike."""
    rows = [_exchange(view, row) for row in transcript]
    last = {(row["player"]["id"], row["change"]): row for row in rows}
    for row in rows:
        if last[row["player"]["id"], row["change"]] is not row:
            row["change"] = ""
    return rows


def _exchange(view: LeagueView, row: Contact) -> dict[str, Any]:
    cause = cause_of(row) if is_failure(row) else None
    is_join = row.message == "GAME_INVITATION" and not is_failure(row)
    answer = "joins" if is_join else "" if row.move is None else one_line_json(row.move)
    return {
        "at_ms": row.at,
        "player": paging.agent(view, row.player_id),
        "asked": ASKED.get(row.message, "asked"),
        "message": one_line(row.message, 64),
        "attempt": row.attempt,
        "answer": answer,
        "after_ms": row.answered_after,
        "verdict": one_line(row.verdict, 64),
        "is_failure": cause is not None or (is_failure(row) and row.verdict not in HARMLESS),
        "came": cause.came if cause else HARMLESS.get(row.verdict, ""),
        "change": cause.change if cause else "",
        "note": one_line(row.note) if row.note.startswith("as ") else "",
    }


def _moves(decided: MatchDecided) -> list[Step]:
    """The moves turn by turn, where nobody has the game."""
    turns = groupby(decided.moves, itemgetter(0))
    made = [(turn + 1, {each[1]: each[2] for each in moves}) for turn, moves in turns]
    return [Step(*each, None, None) for each in ((0, {}), *made)]


def _replayed(view: LeagueView, steps: Sequence[Step], params: Mapping[str, str]) -> dict[str, Any]:
    last = max(0, len(steps) - 1)
    turn = paging.number(params, "turn", 0, last, default=last)
    return {
        "turn": turn,
        "steps": [
            {
                "turn": step.turn,
                "moves": [
                    {"player": paging.agent(view, each), "move": one_line_json(move)}
                    for each, move in step.moves.items()
                ],
                "number": step.number,
            }
            for step in steps
        ],
        "picture": msgspec.to_builtins(steps[turn].picture) if steps else None,
    }


def _proof(view: LeagueView, record: MatchRecord, steps: Sequence[Step]) -> dict[str, Any]:
    """How anybody can check that nobody chose the numbers of a match."""
    opened, decided = view.league.rules, record.decided
    assert decided
    at = (opened.league_id, record.match_id)
    drawn = [step for step in steps if step.bounds] if decided.verified else []
    problems = match_check.result_problem(record, decided, view.game, opened)
    return {
        "commitment": record.commitment,
        "seed": decided.seed,
        "sealed": f"commit-v1|{'|'.join(at)}|{decided.seed}",
        "draws": [
            {
                "turn": step.turn,
                "number": step.number,
                "bounds": list(step.bounds or ()),
                "text": draws.draw_text(
                    *at, index, [move for move in decided.moves if move[0] < step.turn]
                ),
            }
            for index, step in enumerate(drawn)
        ],
        "verified": decided.verified,  # not by the word of a referee that does not lock
        "has_game": view.game is not None,
        "problems": list(map(one_line, problems)),
        "drawn_anew": record.drawn_anew,
        "command": f"league verify {view.directory}{view.game_option}",
    }
