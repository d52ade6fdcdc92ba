"""What a referee that does not lock reports: believed, but not blindly.

The league saw no moves, so it cannot judge the match. It can see where a report contradicts itself
or the rules of the game; then the winner it names still counts, and the match is disputed.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from agentleague.errors import IllegalMove, WrongType
from agentleague.games.game import Outcome
from agentleague.league.judge import Case
from agentleague.protocol.messages import GameResult, MatchResultReport, ReportedResult, Status

_NOBODY = frozenset({"", "draw", "tie", "none", "null", "nobody"})  # in the place of a winner
_SEATS = {"player_a": 0, "player_b": 1, "player1": 0, "player2": 1, "player_1": 0, "player_2": 1}


def believed(case: Case, report: MatchResultReport) -> tuple[GameResult, str]:
    """The result as it counts, and what speaks against it: a predicate, or nothing.

    Raises:
        WrongType: it names a winner who does not play the match; nothing can be made of that.
    """
    winner, details = report.result.winner, report.result.details
    if winner is not None and winner not in case.players:
        raise WrongType(
            f"MATCH_RESULT_REPORT.result.winner: {winner!r} does not play this match",
            field="result.winner",
        )
    result = GameResult(
        status_of(report.result),
        winner,
        details.drawn_number,
        choices=details.choices or dict.fromkeys(case.players),
        reason="as the referee reported it",
    )
    doubt = _doubt(case, report.result)
    return result, f"reported what cannot be: {doubt}"[:500] if doubt else ""


def spelt_out(report: MatchResultReport, names: Mapping[str, str]) -> MatchResultReport:
    """The report with its winner by id, or null: some name the player, the seat, or a draw.

    `names` are those of the two players, by id in the order of their seats; a name that both have
    is nobody's.
    """
    winner = report.result.winner
    if winner is None or winner in names:
        return report
    called = [player_id for player_id, name in names.items() if name == winner]
    seat = _SEATS.get(winner.casefold())
    if seat is not None:  # A player that is called like the other's seat gains nothing by it.
        called = [*dict.fromkeys([*called, list(names)[seat]])]
    if winner.casefold() in _NOBODY:
        found: str | None = None
    elif len(called) == 1:
        found = called[0]
    else:
        return report
    return replace(report, result=replace(report.result, winner=found))


def status_of(result: ReportedResult) -> Status:
    """The status that goes with the winner: what a report says, unless that contradicts it."""
    said, winner = result.details.status, result.winner
    if said == "TECHNICAL_LOSS":
        return said
    return "DRAW" if winner is None else "WIN"


def _doubt(case: Case, result: ReportedResult) -> str:
    """What is wrong with a report, in words; nothing if it may be true."""
    winner, details = result.winner, result.details
    if details.status not in (None, status_of(result)):
        return f"the status is {details.status} and the winner {_who(winner)}"
    if {*result.score, *details.choices} - set(case.players):
        return "it tells of players who do not play this match"
    most = max(result.score.values(), default=0)
    ahead = [player_id for player_id, points in result.score.items() if points == most]
    if result.score and ahead != [winner] and (winner or len(ahead) < len(result.score)):
        return f"{_who(winner)} won, but the score does not say so"
    if details.status == "TECHNICAL_LOSS":
        return _against_a_forfeit(case, result)
    return _against_the_rules(case, result)


def _against_a_forfeit(case: Case, result: ReportedResult) -> str:
    """Where one turn decides and the report has a legal move of everybody, nobody failed."""
    number = result.details.drawn_number
    bounds = case.game.chance(case.game.start(case.options))
    if bounds and number is None:
        number = bounds[0]  # Any will do: whether the game is over does not hang on it.
    with suppress(Exception):  # An illegal move is what such a loss may be for.
        if _played(case, _moves(case, result), number) is not None:
            return "everybody made a legal move, so nobody lost by default"
    return ""


def _against_the_rules(case: Case, result: ReportedResult) -> str:
    """What the game says, where one turn of it decides and the report has all of that turn."""
    try:
        outcome = _played(case, _moves(case, result), result.details.drawn_number)
    except IllegalMove as error:
        return str(error)
    except Exception:  # The game is a plug-in, and the moves are strangers'.
        return "the game stumbled over its choices"
    if outcome is None:
        return ""
    won = dict(zip(case.game.seats, case.players, strict=True)).get(outcome.winner or "")
    return (
        "" if won == result.winner else f"by the rules {_who(won)} won, not {_who(result.winner)}"
    )


def _moves(case: Case, result: ReportedResult) -> dict[str, Any]:
    """What the report says that was chosen, by seat."""
    chosen = result.details.choices
    seats = zip(case.players, case.game.seats, strict=True)
    return {seat: chosen[p] for p, seat in seats if chosen.get(p) is not None}


def _who(player_id: str | None) -> str:
    return player_id or "nobody"


def _played(case: Case, moves: Mapping[str, Any], number: int | None) -> Outcome | None:
    """How the game ends after these moves, if all of its first turn is there and it does."""
    state = case.game.start(case.options)
    movers, bounds = set(case.game.to_move(state)), case.game.chance(state)
    for seat in sorted(movers & moves.keys()):
        case.game.check(state, seat, moves[seat])
    if bounds and number is not None and not bounds[0] <= number <= bounds[1]:
        raise IllegalMove(f"the number {number} is not within {bounds[0]} to {bounds[1]}")
    if set(moves) != movers or (bounds and number is None):
        return None
    return case.game.outcome(case.game.play(state, moves, number if bounds else None))
