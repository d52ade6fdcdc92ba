"""The matches of one player, a sentence each, and what went wrong in them and how to change it."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Struct

from agentleague.league.match_result import STAND
from agentleague.protocol.printable import one_line, one_line_json
from agentleague.records.explanations import GAMES, Cause
from agentleague.records.match_story import Contact, cause_of, named, with_ending

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
    ending = with_ending(facts)["ending"] or {"rules": [], "advice": []}
    ruling = _ruling(facts)
    if ruling["verdict"] != STAND:  # The organiser decided it, not a rule of the game.
        ending = {"rules": [], "advice": []}
    own, other = ("A", "B") if facts["player_A_id"] == player_id else ("B", "A")
    opponent_id = facts[f"player_{other}_id"]
    name = named(facts[f"player_{own}_name"], player_id)
    opponent = named(facts[f"player_{other}_name"], opponent_id)
    rows = msgspec.convert(facts.get("transcript", []), list[Contact])
    return PlayerMatch(
        facts["match_id"],
        facts["round_id"],
        opponent_id,
        f"{_ended(facts, player_id)} {opponent}{_because(facts)}",
        ending["rules"],
        " ".join(line for line in ending["advice"] if line.startswith(name)),
        [
            _failure(row, facts["game_type"])
            for row in rows
            if row.player_id == player_id
            and row.verdict not in _FINE
            and ruling.get("winner_player_id") != player_id  # It won all the same.
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
        took = "" if failure.answered_after is None else f" after {failure.answered_after} ms"
        yield (
            f"{INDENT}At {failure.at / 1000:.3f} s it was asked with {failure.asked}{again} and "
            f"there came {failure.came}{took} "
            f"({', '.join([failure.verdict, *(failure.rules if in_full else ())])})."
        )
    for change in dict.fromkeys(failure.change for failure in match.failures):
        yield f"{INDENT}To change: {change}."
    if match.advice and not match.failures:
        yield f"{INDENT}{match.advice}"


def _ended(facts: Mapping[str, Any], player_id: str) -> str:
    result = facts.get("result")
    if result is None:
        return "still to be played, against"
    ruling = _ruling(facts)
    if ruling["verdict"] != STAND:
        return _ruled(ruling, player_id)
    if result.get("no_contest"):
        return "no contest with"
    if result["status"] == "DRAW":
        return "drawn with"
    by_default = " by default" if result["status"] == "TECHNICAL_LOSS" else ""
    if result.get("winner_player_id") == player_id:
        return f"won{by_default} against"
    return f"lost{by_default} against"


def _ruling(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """The organiser's ruling on a match; without one the result stands."""
    return facts.get("ruling") or {"verdict": STAND}


def _ruled(ruling: Mapping[str, Any], player_id: str) -> str:
    if ruling["verdict"] == "win":
        won = "won" if ruling["winner_player_id"] == player_id else "lost"
        return f"{won} by a ruling against"
    ended = "drawn" if ruling["verdict"] == "draw" else "no contest"
    return f"{ended} by a ruling with"


def _because(facts: Mapping[str, Any]) -> str:
    ruling = _ruling(facts)
    if ruling["verdict"] != STAND:
        return f": {one_line(ruling['reason'], 500)}"
    result = facts.get("result") or {}
    reason = f": {one_line(result['reason'], 500)}" if result.get("reason") else ""
    return reason if facts.get("verified", True) else f"{reason}; the league could not check that"


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
