"""One match judged again: does its result follow from the seed, the moves and the game?"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from agentleague.errors import LeagueError
from agentleague.games.game import Game
from agentleague.league.events import LeagueOpened, MatchDecided, MatchLocked, MatchRuled
from agentleague.league.judge import Case, Verdict, judge
from agentleague.protocol import draws
from agentleague.protocol.messages import GameResult
from agentleague.records.tally import Score


class Dossier(Struct):
    """What the rows so far say of one match."""

    match_id: str
    players: tuple[str, str]
    commitment: str
    epoch: int = 1
    locks: list[MatchLocked] = []
    decided: bool = False
    closed: bool = False

    def cannot_take(self, event: MatchLocked | MatchDecided) -> str | None:
        """Why a lock or result cannot come now."""
        if self.decided:
            return "it has a result already; the first one stands"
        if event.epoch != self.epoch:
            return f"it is locked in epoch {event.epoch}, but epoch {self.epoch} has it"
        # A referee that does not lock may have taken over from one that did, and knows no moves.
        is_judged = isinstance(event, MatchLocked) or event.verified
        if is_judged and event.index != len(self.locks):
            return f"it is locked with index {event.index} after {len(self.locks)} locks"
        before = self.locks[-1].moves if self.locks else []
        if is_judged and event.moves[: len(before)] != before:
            return "its moves do not begin with those that were locked before"
        return None


def what_is_wrong(
    dossier: Dossier, event: MatchDecided, game: Game, league: LeagueOpened
) -> str | None:
    """What in a result does not follow, or None.

    The words of its reason are not compared: they say the same in other words as programs change.
    """
    seed = _bytes_of(event.seed)
    if draws.commitment(seed, league.league_id, event.match_id) != dossier.commitment:
        return (
            "the seed in its result does not open the commitment that was made before the match; "
            "its draws may have been chosen"
        )
    if event.result.no_contest is True:
        return _no_contest(event.result)
    if not event.verified:
        return _believable(dossier, event.result)
    options = league.rules.game_options
    case = Case(game, options, league.league_id, event.match_id, dossier.players, seed)
    try:
        for lock in dossier.locks:
            wrong = _compare(
                f"number of lock {lock.index}", lock.value, judge(case, lock.moves, ()).value
            )
            if wrong:
                return wrong
        return _results_differ(event, judge(case, event.moves, event.forfeits))
    except LeagueError as error:
        return f"nothing follows from its moves: {error}"
    except Exception as error:  # The game is a plug-in, and the moves are strangers'.
        return f"the game stumbled over its moves ({type(error).__name__}: {error})"


def rules_on_nothing(dossier: Dossier, ruling: MatchRuled) -> str | None:
    """Why a ruling of the organiser makes no sense, or None."""
    if ruling.verdict not in ("win", "draw", "no_contest", "stand"):
        return f"the organiser's verdict {ruling.verdict!r} is unknown"
    wanted = dossier.players if ruling.verdict == "win" else (None,)
    if ruling.winner not in wanted:
        return f"the organiser's verdict is {ruling.verdict}, with the winner {ruling.winner}"
    return None


def score_of(
    players: tuple[str, str], result: GameResult, ruling: MatchRuled | None
) -> Sequence[Score]:
    """What a match counts for: by the organiser's ruling, else by its result; maybe nothing."""
    verdict = ruling.verdict if ruling else "stand"
    if verdict == "no_contest" or (verdict == "stand" and result.no_contest is True):
        return ()
    if ruling and verdict != "stand":
        return (Score(players, ruling.winner, False),)
    return (Score(players, result.winner_player_id, result.status == "TECHNICAL_LOSS"),)


def _results_differ(event: MatchDecided, verdict: Verdict) -> str | None:
    written, follows = event.result, verdict.result
    if follows is None:
        return "it has a result, but by its moves the game goes on"
    if verdict.index != event.index:
        return f"its result is lock {event.index}, but by its moves lock {verdict.index}"
    return (
        _compare("number drawn", written.drawn_number, follows.drawn_number)
        or _compare("status", written.status, follows.status)
        or _compare("winner", written.winner_player_id, follows.winner_player_id)
        or _compare("parity", written.number_parity, follows.number_parity)
        or _compare("choices", written.choices, follows.choices)
    )


def _no_contest(result: GameResult) -> str | None:
    if result.winner_player_id is not None or result.status != "TECHNICAL_LOSS":
        return "it is a no-contest and has a winner"
    return None


def _believable(dossier: Dossier, result: GameResult) -> str | None:
    """A referee that does not lock is believed, but its result must make sense."""
    winner = result.winner_player_id
    if winner not in (None, *dossier.players):
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
