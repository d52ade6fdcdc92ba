"""The matches of one player, a sentence each, and what went wrong in them and how to change it."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from msgspec import Struct

from agentleague.protocol.printable import one_line, one_line_json
from agentleague.records.explanations import GAMES, Cause
from agentleague.records.match_story import Contact, Facts, cause_of, ending_of, read

INDENT = " " * 8


class Failure(Struct, frozen=True):
    """One question without a usable answer; times in ms since the match began."""

    asked: str
    attempt: int
    at: int
    verdict: str
    came: str
    answered_after: int | None
    rules: list[str]
    change: str


class PlayerMatch(Struct, frozen=True):
    """One match from the side of one player."""

    match_id: str
    round_id: int
    opponent_id: str
    sentence: str
    rules: list[str]
    advice: str
    failures: list[Failure]


_UNKNOWN = Cause("something its referee found wrong", "R-MATCH-07", "ask the referee's author")
_FINE = frozenset({"ok", "late", "pushed", "in it already", "dropped"})


def player_match(facts: Mapping[str, Any], player_id: str) -> PlayerMatch:
    """A match as GET_MATCH has it, from the side of one of its players."""
    match = read(facts)
    ruling = match.overruled
    ending = None if ruling else ending_of(match)  # No rule of the game decided a ruling.
    rules, advice = (ending.rules, ending.advice) if ending else ([], [])
    opponent_id = match.player_B_id if player_id == match.player_A_id else match.player_A_id
    won_all_the_same = ruling is not None and ruling.winner_player_id == player_id
    return PlayerMatch(
        match.match_id,
        match.round_id,
        opponent_id,
        f"{_ended(match, player_id)} {match.name(opponent_id)}{_because(match)}",
        rules,
        " ".join(each for each in advice if each.startswith(match.name(player_id))),
        [
            _failure(row, match.game_type)
            for row in match.transcript
            if row.player_id == player_id and row.verdict not in _FINE and not won_all_the_same
        ],
    )


def in_words(match: PlayerMatch, *, in_full: bool = False) -> Iterator[str]:
    """A match for people: how it ended, each failure, what to change; `in_full` with the rules."""
    rules = f" ({', '.join(match.rules)})" if match.rules and in_full else ""
    yield f"{match.match_id:<6}  {match.sentence}{rules}."
    for _, alike in groupby(match.failures, lambda each: (each.asked, each.verdict, each.came)):
        failure, *more = alike
        again = f", attempt {failure.attempt}," if failure.attempt > 1 else ""
        again = f", {1 + len(more)} times in a row," if more else again
        took = "" if failure.answered_after is None else f"after {failure.answered_after} ms "
        yield (
            f"{INDENT}At {failure.at / 1000:.3f} s it was asked with {failure.asked}{again} and "
            f"{took}there came {failure.came} "
            f"({', '.join([failure.verdict, *(failure.rules if in_full else ())])})."
        )
    for change in dict.fromkeys(failure.change for failure in match.failures):
        yield f"{INDENT}To change: {change}."
    if match.advice and not match.failures:
        yield f"{INDENT}{match.advice}"


def _ended(match: Facts, player_id: str) -> str:
    result, ruling = match.result, match.overruled
    if result is None:
        return "still to be played, against"
    if ruling and ruling.verdict == "win":
        won = "won" if ruling.winner_player_id == player_id else "lost"
        return f"{won} by a ruling against"
    if ruling:
        return f"{'drawn' if ruling.verdict == 'draw' else 'no contest'} by a ruling with"
    if result.no_contest:
        return "no contest with"
    if result.status == "DRAW":
        return "drawn with"
    technical = " by technical loss" if result.status == "TECHNICAL_LOSS" else ""
    won = "won" if result.winner_player_id == player_id else "lost"
    return f"{won}{technical} against"


def _because(match: Facts) -> str:
    if match.overruled:
        return f": {one_line(match.overruled.reason, 500)}"
    said = match.result.reason if match.result else ""
    reason = f": {one_line(said, 500)}" if said else ""
    return reason if match.verified else f"{reason}; the league could not check that"


def _failure(row: Contact, game_type: str) -> Failure:
    known = cause_of(row) or _UNKNOWN
    came, rules = known.came, [known.rule]
    if row.verdict == "E004":
        came = came if row.move is None else f"{one_line_json(row.move)}, {came}"
        rules += [GAMES[game_type].moves] if game_type in GAMES else []
    asked, verdict = one_line(row.message, 64), one_line(row.verdict, 64)
    return Failure(
        asked, row.attempt, row.at, verdict, came, row.answered_after, rules, known.change
    )
