"""One match judged again: does its result follow from the seed, the moves and the game?"""

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from agentleague.errors import LeagueError
from agentleague.games.game import Game
from agentleague.league.events import LeagueOpened, MatchDecided, MatchLocked, MatchRuled
from agentleague.league.match_records import MatchRecord
from agentleague.league.match_result import VERDICTS, Computed, MatchSetup, compute_result
from agentleague.protocol import draws
from agentleague.protocol.messages import GameResult


def order_problem(match: MatchRecord, event: MatchLocked | MatchDecided) -> Iterator[str]:
    """Why a lock or a result cannot come now."""
    if match.decided:
        yield "it has a result already; the first one stands"
    if event.epoch != match.epoch:
        yield f"it is locked in epoch {event.epoch}, but epoch {match.epoch} has it"
    # A foreign referee may have taken over from one that locked, and does not know its moves.
    is_judged = isinstance(event, MatchLocked) or event.verified
    if is_judged and event.index != len(match.locks):
        yield f"it is locked with index {event.index} after {len(match.locks)} locks"
    before = match.locks[-1].moves if match.locks else []
    if is_judged and event.moves[: len(before)] != before:
        yield "its moves do not begin with those that were locked before"


def result_problem(
    match: MatchRecord, event: MatchDecided, game: Game | None, league: LeagueOpened
) -> Iterator[str]:
    """What in a result does not follow; without the game its moves are not judged."""
    seed = bytes_of(event.seed)
    if draws.commitment(seed, league.league_id, event.match_id) != match.commitment:
        yield (
            "the seed in its result does not open the commitment that was made before the match; "
            "its draws may have been chosen"
        )
    if event.result.no_contest is True:
        if event.result.winner_player_id is not None or event.result.status != "TECHNICAL_LOSS":
            yield "it is a no-contest and has a winner"
    elif not event.verified:
        yield from _reported_problem(match, event.result)
    elif game:
        options = league.rules.game_options
        case = MatchSetup(game, options, league.league_id, event.match_id, match.players, seed)
        yield from _moves_problem(case, match, event)


def _moves_problem(case: MatchSetup, match: MatchRecord, event: MatchDecided) -> Iterator[str]:
    try:
        for lock in match.locks:
            follows = compute_result(case, lock.moves, ()).value
            yield from _compare(f"number of lock {lock.index}", lock.value, follows)
        yield from _verdict_problem(event, compute_result(case, event.moves, event.forfeits))
    except LeagueError as error:
        yield f"nothing follows from its moves: {error}"
    except Exception as error:  # The game is a plug-in, and the moves are the players'.
        yield f"the game failed on its moves ({type(error).__name__}: {error})"


def ruling_problem(match: MatchRecord, ruling: MatchRuled) -> Iterator[str]:
    """Why a ruling of the organiser makes no sense."""
    if not match.decided:
        yield "the organiser rules on it and it has no result"
    if ruling.verdict not in VERDICTS:
        yield f"the organiser's verdict {ruling.verdict!r} is unknown"
    wanted = match.players if ruling.verdict == "win" else (None,)
    if ruling.winner not in wanted:
        yield f"the organiser's verdict is {ruling.verdict}, with the winner {ruling.winner}"


def _verdict_problem(event: MatchDecided, verdict: Computed) -> Iterator[str]:
    written, follows = event.result, verdict.result
    if follows is None:
        yield "it has a result, but by its moves the game goes on"
        return
    if verdict.index != event.index:
        yield f"its result is lock {event.index}, but by its moves lock {verdict.index}"
    for field, what in COMPARED.items():
        if getattr(written, field) is not UNSET:  # Earlier versions wrote no details.
            yield from _compare(what, getattr(written, field), getattr(follows, field))


COMPARED = {  # fields of a result but the reason, which versions word differently
    "drawn_number": "number drawn",
    "status": "status",
    "winner_player_id": "winner",
    "number_parity": "parity",
    "choices": "choices",
    "game_details": "details of the game",
}


def _reported_problem(match: MatchRecord, result: GameResult) -> Iterator[str]:
    """The report of a foreign referee is believed, but its result must make sense."""
    winner = result.winner_player_id
    if winner not in (None, *match.players):
        yield f"{winner} wins it and does not play it"
    if result.status != "TECHNICAL_LOSS" and (result.status == "DRAW") != (winner is None):
        yield f"its status is {result.status} and its winner {winner}"


def _compare(what: str, written: Any, follows: Any) -> Iterator[str]:
    if written != follows:
        both = f"is {written!r} in the journal, but {follows!r} follows from seed and moves"
        yield f"the {what} {both}"


def bytes_of(seed: str) -> bytes:
    """A seed as it was written; empty if it is none."""
    try:
        return bytes.fromhex(seed)
    except ValueError:
        return b""
