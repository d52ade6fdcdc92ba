"""How agents behave that are not as they should be: slow, silent, lying, of another make.

None of them is another implementation of a role. What differs is a port: the author's function, or
what passes between the agent and the network.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from agentleague.games import even_odd
from agentleague.games.game import Game
from agentleague.league.judge import Case, judge
from agentleague.player import strategies
from agentleague.protocol.messages import (
    LockedResult,
    LockRequest,
    LockResponse,
    MatchResultReport,
    Message,
    RefereeRegisterRequest,
    RoundAnnouncement,
    RoundMatch,
    Rules,
)
from agentleague.roles.effects import Address, Turn
from agentleague.roles.ports import Answer, Cancel, OnAsk, Transport
from agentleague.roles.stimuli import Caller
from agentleague.runtime.strategy_runner import outcome_of
from agentleague.simulation.clock import Lifetime
from agentleague.simulation.network import PeerDialect

# What players may be like.
SLOW, LATE, RUDE, BABBLING, MUTE, THIEVISH = "slow", "late", "rude", "babbling", "mute", "thievish"
# What referees may be like.
FOREIGN, FALSE = "foreign", "false"

_RUBBISH = (b"", b"null", b"{", b"<html>busy</html>", b'{"jsonrpc":"2.0","id":1,"result":{}}')
_ILLEGAL: tuple[Any, ...] = (None, "", "maybe", 11, [], {"choice": "even"}, "x" * 500)


class Agents(NamedTuple):
    """How referees and players behave."""

    register_seconds: float = 1.0  # before one tries again to register
    referees_keep_state: bool = False  # whether a referee comes back as itself; players always do
    game: Game = even_odd
    think_seconds: tuple[float, float] = (0.0, 0.0)  # for a move, at least and at most
    traits: Mapping[str, str] = {}  # by name, of those who are not as they should be


DEFAULT = Agents()


class SimulatedRunner:
    """An author's function that takes its time, in virtual seconds."""

    def __init__(
        self, strategy: Callable[[Turn], Any], clock: Lifetime, seconds: Callable[[], float]
    ) -> None:
        self._strategy, self._clock, self._seconds = strategy, clock, seconds

    def run(self, turn: Turn, done: Callable[[Any, str | None], None]) -> None:
        """Run the function, and answer when its time is over."""
        when = self._clock.now() + self._seconds()
        self._clock.call_at(when, lambda: done(*outcome_of(self._strategy, turn)))


def runner_of(
    trait: str, clock: Lifetime, seconds: tuple[float, float], seed: str
) -> SimulatedRunner:
    """The mind of a player; one that is slow thinks as long as it may, one that is late longer."""
    chance = Random(f"mind|{seed}")
    bounds = {SLOW: (20.0, 29.5), LATE: (25.0, 45.0)}.get(trait, seconds)
    strategy = _rude(chance) if trait == RUDE else strategies.random
    return SimulatedRunner(strategy, clock, lambda: chance.uniform(*bounds))


def tongue_of(trait: str, seed: str) -> PeerDialect | None:
    """How a player's answers are twisted, if they are."""
    chance = Random(f"tongue|{seed}")
    if trait == MUTE:
        return lambda question, body: None
    if trait != BABBLING:
        return None

    def babble(question: Message, body: bytes) -> bytes | None:
        kind = chance.randrange(6)
        if kind == 0:
            return chance.choice(_RUBBISH)
        if kind == 1:
            return body.replace(b'"R', b'"Q')  # About a match that nobody plays.
        if kind == 2:
            return body[: chance.randrange(len(body))]
        return body

    return babble


def _rude(chance: Random) -> Callable[[Turn], Any]:
    def rude(turn: Turn) -> Any:
        return chance.choice(_ILLEGAL) if chance.random() < 0.5 else strategies.random(turn)

    return rude


class ForeignTransport:
    """Makes one of our referees one of another make: it locks nothing, and draws by itself."""

    def __init__(self, transport: Transport, clock: Lifetime, game: Game, seed: str) -> None:
        self._transport, self._clock, self._game, self._seed = transport, clock, game, seed
        self._matches: dict[str, RoundMatch] = {}
        self._rules = Rules()

    def listen(self, on_ask: OnAsk) -> None:
        """Hear of the matches as the referee does; of locks it understands nothing."""

        def heard(message: Message, caller: Caller, reply: Callable[..., None]) -> None:
            if isinstance(message, RoundAnnouncement):
                matches = [
                    msgspec.structs.replace(match, locks=UNSET, decided=UNSET)
                    for match in message.matches
                ]
                message = msgspec.structs.replace(message, matches=matches)
                self._matches |= {match.match_id: match for match in matches}
                self._rules = message.rules or self._rules
            on_ask(message, caller, reply)

        self._transport.listen(heard)

    def call(
        self, to: Address, message: Message, until: float, done: Callable[[Answer], None]
    ) -> Cancel:
        """Say what the documents know of, and nothing else."""
        if isinstance(message, LockRequest):
            locked = self._judged(message)
            return self._clock.call_at(self._clock.now(), lambda: done(Answer(locked, None, 0.0)))
        return self._transport.call(to, _documented(message), until, done)

    def _judged(self, request: LockRequest) -> LockResponse:
        match = self._matches[request.match_id]
        players = (match.player_A_id, match.player_B_id)
        seed = f"{self._seed}|{request.epoch}".encode()
        options = self._rules.game_options
        case = Case(self._game, options, "", request.match_id, players, seed)
        verdict = judge(case, request.moves, request.forfeits)
        if verdict.result is None:
            return LockResponse(request.match_id, verdict.index, verdict.value, request.moves)
        result = LockedResult(verdict.result.winner_player_id, {}, verdict.result)
        return LockResponse(request.match_id, verdict.index, moves=request.moves, result=result)


def _documented(message: Message) -> Message:
    if isinstance(message, RefereeRegisterRequest):
        meta = msgspec.structs.replace(message.referee_meta, locks=UNSET)
        return msgspec.structs.replace(message, referee_meta=meta)
    if isinstance(message, MatchResultReport):
        unknown = dict.fromkeys(("epoch", "transcript", "transcript_left_out", "silences"), UNSET)
        return msgspec.structs.replace(message, **unknown)
    return message


class FalseTransport:
    """Makes one of our referees a liar: it reports the loser as the winner, now and then."""

    def __init__(self, transport: Transport, seed: str) -> None:
        self._transport, self._chance = transport, Random(f"false|{seed}")
        self.listen = transport.listen

    def call(
        self, to: Address, message: Message, until: float, done: Callable[[Answer], None]
    ) -> Cancel:
        """Pass on what it says, but for what it reports."""
        if isinstance(message, MatchResultReport) and self._chance.random() < 0.5:
            message = _twisted(message)
        return self._transport.call(to, message, until, done)


def _twisted(report: MatchResultReport) -> MatchResultReport:
    players = list(report.result.score)
    others = [each for each in players if each != report.result.winner]
    result = msgspec.structs.replace(report.result, winner=others[0] if others else None)
    return msgspec.structs.replace(report, result=result)
