"""One match judged again: does its result follow from the seed, the moves and the game?

A check returns the problem as a sentence, or None.
"""

from typing import Any

from msgspec import UNSET

from agentleague.errors import LeagueError
from agentleague.games.game import Game
from agentleague.league.events import LeagueOpened, MatchDecided, MatchLocked, MatchRuled
from agentleague.league.match_records import MatchRecord
from agentleague.league.match_result import VERDICTS, Computed, MatchSetup, compute_result
from agentleague.protocol import draws
from agentleague.protocol.messages import GameResult


def order_problem(match: MatchRecord, event: MatchLocked | MatchDecided) -> str | None:
    """Why a lock or a result cannot come now."""
    if match.decided:
        return "it has a result already; the first one stands"
    if event.epoch != match.epoch:
        return f"it is locked in epoch {event.epoch}, but epoch {match.epoch} has it"
    # A foreign referee may have taken over from one that locked, and does not know its moves.
    is_judged = isinstance(event, MatchLocked) or event.verified
    if is_judged and event.index != len(match.locks):
        return f"it is locked with index {event.index} after {len(match.locks)} locks"
    before = match.locks[-1].moves if match.locks else []
    if is_judged and event.moves[: len(before)] != before:
        return "its moves do not begin with those that were locked before"
    return None


def result_problem(
    match: MatchRecord, event: MatchDecided, game: Game | None, league: LeagueOpened
) -> str | None:
    """What in a result does not follow; without the game its moves are not judged.

    The text of its reason is not compared: versions of the program word it differently.
    """
    seed = _bytes_of(event.seed)
    if draws.commitment(seed, league.league_id, event.match_id) != match.commitment:
        return (
            "the seed in its result does not open the commitment that was made before the match; "
            "its draws may have been chosen"
        )
    if event.result.no_contest is True:
        is_won = (
            event.result.winner_player_id is not None or event.result.status != "TECHNICAL_LOSS"
        )
        return "it is a no-contest and has a winner" if is_won else None
    if not event.verified:
        return _reported_problem(match, event.result)
    if game is None:
        return None
    options = league.rules.game_options
    case = MatchSetup(game, options, league.league_id, event.match_id, match.players, seed)
    return _moves_problem(case, match, event)


def _moves_problem(case: MatchSetup, match: MatchRecord, event: MatchDecided) -> str | None:
    try:
        for lock in match.locks:
            problem = _compare(
                f"number of lock {lock.index}",
                lock.value,
                compute_result(case, lock.moves, ()).value,
            )
            if problem:
                return problem
        return _verdict_problem(event, compute_result(case, event.moves, event.forfeits))
    except LeagueError as error:
        return f"nothing follows from its moves: {error}"
    except Exception as error:  # The game is a plug-in, and the moves are the players'.
        return f"the game failed on its moves ({type(error).__name__}: {error})"


def ruling_problem(match: MatchRecord, ruling: MatchRuled) -> str | None:
    """Why a ruling of the organiser makes no sense."""
    if not match.decided:
        return "the organiser rules on it and it has no result"
    if ruling.verdict not in VERDICTS:
        return f"the organiser's verdict {ruling.verdict!r} is unknown"
    wanted = match.players if ruling.verdict == "win" else (None,)
    if ruling.winner not in wanted:
        return f"the organiser's verdict is {ruling.verdict}, with the winner {ruling.winner}"
    return None


def _verdict_problem(event: MatchDecided, verdict: Computed) -> str | None:
    written, follows = event.result, verdict.result
    if follows is None:
        return "it has a result, but by its moves the game goes on"
    if verdict.index != event.index:
        return f"its result is lock {event.index}, but by its moves lock {verdict.index}"
    for field, what in COMPARED.items():
        is_there = getattr(written, field) is not UNSET  # Earlier versions wrote no details.
        problem = is_there and _compare(what, getattr(written, field), getattr(follows, field))
        if problem:
            return problem
    return None


COMPARED = {  # fields of a result, and what they are called
    "drawn_number": "number drawn",
    "status": "status",
    "winner_player_id": "winner",
    "number_parity": "parity",
    "choices": "choices",
    "game_details": "details of the game",
}


def _reported_problem(match: MatchRecord, result: GameResult) -> str | None:
    """The report of a foreign referee is believed, but its result must make sense."""
    winner = result.winner_player_id
    if winner not in (None, *match.players):
        return f"{winner} wins it and does not play it"
    if result.status != "TECHNICAL_LOSS" and (result.status == "DRAW") != (winner is None):
        return f"its status is {result.status} and its winner {winner}"
    return None


def _compare(what: str, written: Any, follows: Any) -> str | None:
    if written == follows:
        return None
    return f"the {what} is {written!r} in the journal, but {follows!r} follows from seed and moves"


def _bytes_of(seed: str) -> bytes:
    try:
        return bytes.fromhex(seed)
    except ValueError:
        return b""
