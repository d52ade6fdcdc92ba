"""Computes the result of a match from its moves, the rules of its game and the sealed draw.

Also which result counts after a ruling, and what disputes and rulings say in words.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET, Struct
from msgspec.structs import replace

from agentleague.errors import UNREACHABLE, IllegalMove, WrongType
from agentleague.games.game import Game, Outcome, plain_details
from agentleague.league.events import Disputed, LossAccepted, MatchDecided, MatchRuled, TokenMisused
from agentleague.league.standings import Points
from agentleague.protocol import draws
from agentleague.protocol.messages import GameResult, Status

_IN_WORDS = {UNREACHABLE: "could not be reached"}  # says the referee of both players

Moves = Sequence[tuple[int, str, Any]]
Forfeits = Sequence[tuple[str, str]]


class MatchSetup(NamedTuple):
    """The facts of a match that do not change: game, players in seat order, seed of its draws."""

    game: Game
    options: Mapping[str, Any]
    league_id: str
    match_id: str
    players: tuple[str, str]
    seed: bytes


class Computed(Struct, frozen=True):
    """What follows from the moves so far: a number is drawn, or there is a result."""

    index: int
    value: int | None
    result: GameResult | None


def compute_result(setup: MatchSetup, moves: Moves, forfeits: Forfeits) -> Computed:
    """Play the moves again from the start, drawing what is to be drawn.

    Raises WrongType for what are not moves of this match in order, or if nothing follows.
    """
    game, index, value, drawn = setup.game, -1, None, False
    state, turns = game.start(setup.options), _turns(setup, moves)
    for number, turn in enumerate(turns):
        complete, is_last = _check_turn(game, state, turn), number == len(turns) - 1
        if not complete and not (is_last and forfeits):
            raise _wrong(f"turn {number} lacks a move")
        if not complete:
            break
        bounds = game.chance(state)
        if bounds:
            index += 1
            value = draws.number(
                setup.seed,
                setup.league_id,
                setup.match_id,
                index=index,
                moves=moves if is_last else [move for move in moves if move[0] <= number],
                bounds=bounds,
            )
        state = game.play(state, turn, value if bounds else None)
        drawn = bounds is not None
    outcome = game.outcome(state)
    if forfeits:
        result = _technical(setup, moves, forfeits, is_over=outcome is not None)
        return Computed(index + 1, None, result)
    if outcome:
        last = index if drawn else index + 1
        return Computed(last, value, _result(setup, outcome, moves))
    if not drawn:
        raise _wrong("nothing follows from these moves yet")
    return Computed(index, value, None)


def _turns(setup: MatchSetup, moves: Moves) -> list[dict[str, Any]]:
    """The moves by turn, in seat order: the number drawn depends on their order."""
    turns: list[dict[str, Any]] = []
    players, seats = setup.players, setup.game.seats
    before = (-1, 1)  # turn and place of the move before
    for turn, player_id, move in moves:
        at = (turn, players.index(player_id) if player_id in players else -1)
        if at[1] < 0 or not before < at or turn > len(turns):
            raise _wrong(f"[{turn}, {player_id!r}] is out of order or not of this match")
        if turn == len(turns):
            turns.append({})
        turns[-1][seats[at[1]]] = move
        before = at
    return turns


def _check_turn(game: Game, state: Any, turn: Mapping[str, Any]) -> bool:
    """Whether all who were to move did. Raises WrongType for a move out of turn or illegal."""
    to_move = game.to_move(state)
    for seat, move in turn.items():
        if seat not in to_move:
            raise _wrong(f"seat {seat} was not to move")
        try:
            game.check(state, seat, move)
        except IllegalMove as error:
            raise _wrong(str(error)) from None
        except Exception as error:  # The game is a plug-in, and the move comes from outside.
            raise _wrong(f"the game stumbled over a move ({type(error).__name__})") from None
    return len(turn) == len(to_move)


def _result(setup: MatchSetup, outcome: Outcome, moves: Moves) -> GameResult:
    seats, players, details = setup.game.seats, setup.players, outcome.details
    winner = None if outcome.winner is None else players[seats.index(outcome.winner)]
    reason = outcome.reason
    for seat, player_id in zip(seats, players, strict=True):
        reason = reason.replace(f"{{{seat}}}", player_id)
    reason, made = reason[:500], choices(players, moves)
    number, parity = details.get("drawn_number"), details.get("number_parity")
    return GameResult(
        "DRAW" if winner is None else "WIN",
        winner,
        # The game is a plug-in: what has no room here would be a row that nobody can read.
        number if type(number) is int and -(2**31) <= number < 2**31 else None,
        parity if parity in ("even", "odd") else None,
        made,
        reason,
        game_details=plain_details(outcome, (moves, made, reason, reason)) or UNSET,
    )


def _technical(setup: MatchSetup, moves: Moves, forfeits: Forfeits, *, is_over: bool) -> GameResult:
    if is_over:
        raise _wrong("nobody can forfeit a game that is over")
    losers = [player_id for player_id, _ in forfeits]
    if not set(losers) <= set(setup.players) or len(set(losers)) < len(losers):
        raise _wrong(f"forfeits name {losers}, not players of this match once each")
    standing = [player_id for player_id in setup.players if player_id not in losers]
    winner = standing[0] if standing else None
    causes = ", ".join(f"{each} {_IN_WORDS.get(cause, cause)}" for each, cause in forfeits)
    end = f"{winner} wins by default" if winner else "nobody wins"
    return GameResult(
        "TECHNICAL_LOSS",
        winner,
        choices=choices(setup.players, moves),
        reason=f"{causes} - {end}"[:500],
    )


def points_for(players: Sequence[str], result: GameResult, worth: Points) -> dict[str, int]:
    """What each player gets for the result."""
    if result.no_contest is True:
        return dict.fromkeys(players, 0)
    if result.status == "DRAW":
        return dict.fromkeys(players, worth.draw)
    winner = result.winner_player_id
    return {each: worth.win if each == winner else worth.loss for each in players}


def choices(players: Sequence[str], moves: Moves) -> dict[str, Any]:
    """Each player's last move, null where there is none."""
    last: dict[str, Any] = dict.fromkeys(players)
    for _, player_id, move in moves:
        last[player_id] = move
    return last


def _wrong(what: str) -> WrongType:
    return WrongType(f"LOCK_REQUEST.moves: {what}", field="moves", kind="rules")


STAND = "stand"
VERDICTS = ("win", "draw", "no_contest", STAND)
NOT_ITS_REFEREE = "not its referee"
ANOTHER_RESULT = "another result"
_DISPUTES = {
    NOT_ITS_REFEREE: "spoke for it and is not its referee; that was refused",
    ANOTHER_RESULT: "reported another result than the one that stands; that was refused",
}
_STATUS: dict[str, Status] = {"win": "WIN", "draw": "DRAW"}  # and any other verdict: no contest


def counted(decided: MatchDecided, ruling: MatchRuled) -> GameResult:
    """The result that the table counts after a ruling."""
    if ruling.verdict == STAND:
        return decided.result
    status: Status = _STATUS.get(ruling.verdict, "TECHNICAL_LOSS")
    return replace(
        decided.result,
        status=status,
        winner_player_id=ruling.winner if status == "WIN" else None,
        reason=f"ruled by the organiser: {ruling.reason}"[:500],
        no_contest=True if status == "TECHNICAL_LOSS" else UNSET,
    )


def dispute_in_words(event: Disputed) -> str:
    """Who did what, for the organiser."""
    return f"{event.referee_id} {_DISPUTES.get(event.why, event.why)}"


def ruling_in_words(event: MatchRuled) -> str:
    """What the organiser ruled, and why."""
    ruled = {"win": f"{event.winner} won", "draw": "a draw", "no_contest": "no contest"}.get(
        event.verdict, "the result stands"
    )
    return f"the organiser ruled: {ruled}" + (f" ({event.reason})" if event.reason else "")


def loss_in_words(event: LossAccepted) -> str:
    """Which rows were lost, and what that means for the matches."""
    lost = f"rows up to {event.last} were lost, and the organiser went on without them"
    matches = sorted(event.commitments, key=lambda match_id: int(match_id.partition("M")[2]))
    more = f" and {len(matches) - 8} more" if len(matches) > 8 else ""
    anew = f"; {', '.join(matches[:8])}{more} began anew with new draws" if matches else ""
    return f"{lost}{anew} (draw generation {event.generation})"


UNKNOWN = "unknown"  # the scope of a token that is of nobody


def misuse_in_words(event: TokenMisused) -> str:
    """Whose token was shown where it gives no right."""
    if event.scope == UNKNOWN:
        return f"an unknown token came with a {event.message} of it, which counted as if with none"
    what = "a match token" if event.scope == "match" else "its token"
    return f"{what} came with {event.message}, which it gives no right to"
