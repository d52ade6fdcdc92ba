"""One player: its record, how it came about, how fast and what it plays, and why it lost."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import groupby
from typing import Any

import msgspec

from agentleague.dashboard import overview, paging
from agentleague.dashboard.league_view import LeagueView, PlayerLog
from agentleague.dashboard.match import awaited_in
from agentleague.dashboard.schedule import decided_row
from agentleague.dialects.table import in_words
from agentleague.errors import NotRegistered
from agentleague.league import queries
from agentleague.match.transcript import LATE
from agentleague.protocol.printable import counted, one_line, there_are
from agentleague.records import player_story
from agentleague.records.explanations import CAUSES

LOST = ("lost", "forfeited")
OUTCOMES = ("won", "drawn", "lost")
RANKS_SHOWN = 20  # of the last rounds
MOVES_NAMED = 6  # of a player; all others are one
OTHER_MOVES = "other"
MOVES_TIMED = 1_000  # the last ones
PLAYER_ID = re.compile(r"\bP\d{2,}\b", re.ASCII)
STATES = {
    "REGISTERED": "It has registered; the league has not begun.",
    "ACTIVE": "It takes part.",
    "SUSPENDED": "It let several questions in a row run out, so each one is asked only once "
    "until it answers again.",
    "SHUTDOWN": "The league is finished.",
}


def facts(view: LeagueView, params: Mapping[str, str]) -> dict[str, Any]:
    """What the page of a player shows; never where it listens."""
    league, player_id = view.league, params["player_id"].upper()
    if player_id not in league.roster.players:
        raise unknown_agent("player", player_id, league.roster.players)
    log, state = view.log_of(player_id), queries.state_of(league, player_id)
    dialect = league.roster.dialects.get(player_id)
    lost = [each for each in log.matches if view.ended[each].outcome(player_id) in LOST]
    return {
        "player": paging.agent(view, player_id),
        "state": state,
        "state_in_words": _removed(view, player_id) or STATES[state],
        "speaks": in_words(dialect) if dialect else "",
        "is_seated": league.roster.players[player_id].is_seated,
        **_standing(view, player_id),
        "now": _now(view, player_id),
        "ranks": [each[player_id][1] for each in view.points[-RANKS_SHOWN:] if player_id in each],
        "series": _series(view, player_id),
        "move_ms": list(log.move_ms[-MOVES_TIMED:]),
        "limit_ms": round(league.rules.rules.move_seconds * 1000),
        "choices": _choices(log),
        "against": paging.paged(_against(view, player_id, log), params, "against"),
        "spared": _spared(view, log),
        "losses": _told_once(
            paging.paged(lost, params, "losses", lambda each: _loss(view, each, player_id))
        ),
        "matches": paging.paged(
            log.matches, params, "matches", lambda each: decided_row(view, each)
        ),
    }


def unknown_agent(kind: str, agent_id: str, known: Mapping[str, object]) -> NotRegistered:
    """There is no such agent; says which there are."""
    ids = [*known]
    listed = ", ".join(ids) if len(ids) < 5 else f"{ids[0]} to {ids[-1]}"
    there = there_are(agent_id, ids, listed) if ids else "none has registered yet"
    return NotRegistered(f"there is no {kind} {one_line(agent_id, 64)!r} in this league; {there}")


def _removed(view: LeagueView, player_id: str) -> str:
    roster = view.league.roster
    if player_id in roster.removed:
        return f"The organiser removed it before round {roster.removed[player_id]}."
    return "Another agent listens at its end point." if player_id in roster.displaced else ""


def _standing(view: LeagueView, player_id: str) -> dict[str, Any]:
    table = view.league.table
    row = next((each for each in table.rows() if each.player_id == player_id), None)
    why = table.why(player_id) if row and row.rank else ""
    return {
        "standing": msgspec.to_builtins(row) if row else None,
        "why": paging.with_names(view, why, PLAYER_ID.findall(why)),
        "players": len(table.rows()),
    }


def _now(view: LeagueView, player_id: str) -> dict[str, Any] | None:
    """The match that it plays, and nothing that is not for everybody."""
    records = view.league.matches.of_player.get(player_id, ())
    if not records or records[-1].decided or view.league.aborted:
        return None
    record = records[-1]
    other = record.players[record.players[0] == player_id]
    return {
        "match_id": record.match_id,
        "opponent": paging.agent(view, other),
        "awaited": awaited_in(view, record.match_id),
    }


def _series(view: LeagueView, player_id: str) -> list[dict[str, Any]]:
    """Points by round of the player, of the leader, and of those beside it in the table."""
    if not view.points or player_id not in view.points[-1]:
        return []
    ids = [row.player_id for row in view.league.table.rows()]
    at = ids.index(player_id)
    shown = dict.fromkeys((player_id, ids[0], *ids[max(0, at - 1) : at + 2]))
    return overview.points_by_round(view, shown)


def _choices(log: PlayerLog) -> list[dict[str, Any]]:
    """What it played by round; moves that it seldom makes are counted as one."""
    counts = Counter(each.move for each in log.choices)
    often = {move for move, _ in counts.most_common(MOVES_NAMED)}
    rounds = groupby(log.choices, lambda each: each.round_id)
    return [
        {"round": round_id, "moves": Counter(_named(each.move, often) for each in made)}
        for round_id, made in rounds
    ]


def _named(move: str, often: Iterable[str]) -> str:
    if move not in often:
        return OTHER_MOVES
    value = json.loads(move)
    return one_line(value if isinstance(value, str) else move, 24)


def _against(view: LeagueView, player_id: str, log: PlayerLog) -> list[dict[str, Any]]:
    found: dict[str, Counter[str]] = {}
    for match_id in log.matches:
        ended = view.ended[match_id]
        other = ended.players[ended.players[0] == player_id]
        outcome = ended.outcome(player_id)
        found.setdefault(other, Counter())["lost" if outcome in LOST else outcome] += 1
    hardness = sorted(found.items(), key=lambda each: (each[1]["lost"], -each[1]["won"]))
    return [
        {"player": paging.agent(view, other)} | {kind: counts[kind] for kind in OUTCOMES}
        for other, counts in hardness
    ]


def _loss(view: LeagueView, match_id: str, player_id: str) -> dict[str, Any]:
    match = player_story.player_match(view.match_facts(match_id), player_id)
    _, *story = player_story.in_words(match)
    named = partial(paging.with_names, view, ids=view.ended[match_id].players)
    return {
        "match_id": match_id,
        "round_id": match.round_id,
        "outcome": view.ended[match_id].outcome(player_id),
        "sentence": named(match.sentence),
        "rules": match.rules,
        "story": [named(line.strip()) for line in story],
    }


def _told_once(losses: dict[str, Any]) -> dict[str, Any]:
    """What is true of several losses stands with the first of them, with their number."""
    times = Counter(line for row in losses["rows"] for line in row["story"])
    told: set[str] = set()
    for row in losses["rows"]:
        lines = [line for line in row["story"] if line not in told]
        told.update(lines)
        more = {line: f" So it was in {times[line]} of these matches." for line in lines}
        row["story"] = [line + more[line] if times[line] > 1 else line for line in lines]
    return losses


def _spared(view: LeagueView, log: PlayerLog) -> list[dict[str, str]]:
    """What went wrong and has cost it no match, since it was asked again; what to change."""
    rules, told = view.league.rules.rules, []
    for (verdict, is_join), times in log.spared.items():
        limit = rules.join_seconds if is_join else rules.move_seconds
        they = "it counts" if times == 1 else "they count"
        words = f"{counted(times, 'answer')} came after the limit of {limit:g} s; {they}"
        words += ", since the time for further attempts was not over."
        if verdict != LATE:
            came = CAUSES[verdict].came
            words = f"{counted(times, 'time')} there came {came}; asked again, it answered."
        told.append({"words": words, "change": CAUSES.get(verdict, CAUSES["E001"]).change})
    return told
