"""Agents that misbehave: slow, silent, rude, false, foreign, or an impostor.

None of them is another implementation of a role. What differs is a port: the strategy, or what
passes between the agent and the network. The labels of random numbers must not change: a seed
stands for the same league for ever.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from random import Random
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec import UNSET

from agentleague.games import even_odd
from agentleague.games.game import Game
from agentleague.league.match_result import MatchSetup, compute_result
from agentleague.player import strategies
from agentleague.protocol import messages
from agentleague.roles.effects import Address, Turn
from agentleague.roles.ports import Answer, Cancel, OnAnswer, OnAsk, Transport
from agentleague.roles.stimuli import Caller
from agentleague.runtime.strategy_runner import outcome_of
from agentleague.simulation.clock import Lifetime
from agentleague.simulation.network import AnswerFilter

# Traits of players.
SLOW, LATE, RUDE, BABBLING, MUTE, IMPOSTOR = "slow", "late", "rude", "babbling", "mute", "impostor"
HANGING = "hanging"  # joins every match, and never moves
UNREADY = "unready"  # a foreign one, or a referee, that registers before it listens
# Traits of referees.
FOREIGN, FALSE, HOLDING, MEDDLING = "foreign", "false", "holding", "meddling"
UNREADY_SECONDS = 2.0  # so long it does not listen
HOLD_SECONDS = 25.0  # so long a holding referee keeps some matches to itself; others for ever
REPLY_SECONDS = 10.0

_RUBBISH = (b"", b"null", b"{", b"<html>busy</html>", b'{"jsonrpc":"2.0","id":1,"result":{}}')
_ILLEGAL: tuple[Any, ...] = (None, "", "maybe", 11, [], {"choice": "even"}, "x" * 500)


class Agents(NamedTuple):
    """How referees and players behave."""

    referees_keep_state: bool = False  # whether a referee comes back as itself; players always do
    game: Game = even_odd
    think_seconds: tuple[float, float] = (0.0, 0.0)  # for a move, at least and at most
    traits: Mapping[str, str] = {}  # by name, of agents that misbehave
    capacity: int = 64  # matches that a referee takes at once
    seated: Collection[str] = ()  # players that fetch their calls from the manager
    thief: bool = False  # whether somebody tries to be others


DEFAULT = Agents()


class SimulatedRunner:
    """Runs a strategy that takes a while, in virtual seconds."""

    def __init__(
        self, strategy: Callable[[Turn], Any], clock: Lifetime, seconds: Callable[[], float]
    ) -> None:
        self._strategy, self._clock, self._seconds = strategy, clock, seconds

    def run(self, turn: Turn, done: Callable[[Any, str | None], None]) -> None:
        """Run the strategy, and answer when its time is over."""
        when = self._clock.now() + self._seconds()
        self._clock.call_at(when, lambda: done(*outcome_of(self._strategy, turn)))


def runner_of(
    trait: str, clock: Lifetime, seconds: tuple[float, float], seed: str
) -> SimulatedRunner:
    """The strategy of a player; a slow one takes as long as it may, a late one longer."""
    chance = Random(f"mind|{seed}")
    bounds = {SLOW: (20.0, 29.5), LATE: (25.0, 45.0)}.get(trait, seconds)
    strategy = partial(_rude, chance) if trait == RUDE else strategies.random
    return SimulatedRunner(strategy, clock, lambda: chance.uniform(*bounds))


def answer_filter(trait: str, seed: str) -> AnswerFilter | None:
    """How a player's answers are changed on their way, if they are."""
    chance = Random(f"tongue|{seed}")
    if trait == MUTE:
        return lambda question, body: None
    if trait == HANGING:
        moves = (messages.ChooseParityCall, messages.GameMoveCall)
        return lambda question, body: None if isinstance(question, moves) else body
    return partial(_babble, chance) if trait == BABBLING else None


def _babble(chance: Random, question: messages.Message, body: bytes) -> bytes:
    kind = chance.randrange(6)
    if kind == 0:
        return chance.choice(_RUBBISH)
    if kind == 1:
        return body.replace(b'"R', b'"Q')  # About a match that nobody plays.
    return body[: chance.randrange(len(body))] if kind == 2 else body


def _rude(chance: Random, turn: Turn) -> Any:
    return chance.choice(_ILLEGAL) if chance.random() < 0.5 else strategies.random(turn)


class ForeignTransport:
    """Turns a referee into a foreign one: it locks nothing, and draws by itself."""

    def __init__(self, transport: Transport, clock: Lifetime, game: Game, seed: str) -> None:
        self._transport, self._clock, self._game, self._seed = transport, clock, game, seed
        self.broadcast = transport.broadcast
        self._matches: dict[str, messages.RoundMatch] = {}
        self._rules = messages.Rules()

    def listen(self, on_ask: OnAsk) -> None:
        """Pass on what the referee is asked, without what only our managers say of locks."""

        def on_message(
            message: messages.Message, caller: Caller, reply: Callable[..., None]
        ) -> None:
            if isinstance(message, messages.RoundAnnouncement):
                matches = [
                    msgspec.structs.replace(match, locks=UNSET, decided=UNSET)
                    for match in message.matches
                ]
                message = msgspec.structs.replace(message, matches=matches)
                self._matches |= {match.match_id: match for match in matches}
                self._rules = message.rules or self._rules
            on_ask(message, caller, reply)

        self._transport.listen(on_message)

    def call(self, to: Address, message: messages.Message, until: float, done: OnAnswer) -> Cancel:
        """Send only what the documents know of."""
        if isinstance(message, messages.LockRequest):
            locked = self._judged(message)
            return self._clock.call_at(self._clock.now(), lambda: done(Answer(locked, None, 0.0)))
        return self._transport.call(to, _documented(message), until, done)

    def _judged(self, request: messages.LockRequest) -> messages.LockResponse:
        match = self._matches[request.match_id]
        players = (match.player_A_id, match.player_B_id)
        seed = f"{self._seed}|{request.epoch}".encode()
        options = self._rules.game_options
        case = MatchSetup(self._game, options, "", request.match_id, players, seed)
        verdict = compute_result(case, request.moves, request.forfeits)
        if verdict.result is None:
            return messages.LockResponse(
                request.match_id, verdict.index, verdict.value, request.moves
            )
        result = messages.LockedResult(verdict.result.winner_player_id, {}, verdict.result)
        return messages.LockResponse(
            request.match_id, verdict.index, moves=request.moves, result=result
        )


def _documented(message: messages.Message) -> messages.Message:
    if isinstance(message, messages.RefereeRegisterRequest):
        meta = msgspec.structs.replace(message.referee_meta, locks=UNSET, proofs=UNSET, claim=UNSET)
        return msgspec.structs.replace(message, referee_meta=meta)
    if isinstance(message, messages.MatchResultReport):
        unknown = dict.fromkeys(("epoch", "transcript", "transcript_left_out", "silences"), UNSET)
        return msgspec.structs.replace(message, **unknown)
    return message


class RefereeTransport:
    """What passes between a referee that misbehaves and the network."""

    TRAIT: ClassVar[str]

    def __init__(self, transport: Transport, clock: Lifetime, seed: str) -> None:
        self._transport, self._clock = transport, clock
        self._chance = Random(f"{self.TRAIT}|{seed}")
        self.listen, self.broadcast = transport.listen, transport.broadcast


class FalseTransport(RefereeTransport):
    """Turns a referee into a false one: it sometimes reports the loser as the winner."""

    TRAIT = FALSE

    def call(self, to: Address, message: messages.Message, until: float, done: OnAnswer) -> Cancel:
        """Pass on all but some of the reports."""
        if isinstance(message, messages.MatchResultReport) and self._chance.random() < 0.5:
            message = _falsified(message)
        return self._transport.call(to, message, until, done)


class HoldingTransport(RefereeTransport):
    """Turns a referee into one that holds on to matches: it locks when it has lost them."""

    # Some it denies to have, and takes the turn of the one that has them by then; of others it says
    # again and again that it runs them.

    TRAIT = HOLDING

    def __init__(self, transport: Transport, clock: Lifetime, seed: str) -> None:
        super().__init__(transport, clock, seed)
        self._denied: set[str] = set()

    def call(self, to: Address, message: messages.Message, until: float, done: OnAnswer) -> Cancel:
        """Keep some locks back."""
        if isinstance(message, messages.RefereeStatus):
            own = [each for each in message.matches if each not in self._denied]
            message = msgspec.structs.replace(message, matches=own)
        if not isinstance(message, messages.LockRequest) or self._chance.random() < 0.6:
            return self._transport.call(to, message, until, done)
        if self._chance.random() < 0.5:
            return lambda: None
        self._denied.add(message.match_id)
        late = msgspec.structs.replace(message, epoch=message.epoch + 1)
        when = self._clock.now() + HOLD_SECONDS
        send = partial(self._transport.call, to, late, when + REPLY_SECONDS, done)
        return self._clock.call_at(when, send)


class MeddlingTransport(RefereeTransport):
    """Turns a referee into one that comes back to old matches, and names another winner."""

    TRAIT = MEDDLING

    def call(self, to: Address, message: messages.Message, until: float, done: OnAnswer) -> Cancel:
        """Pass everything on, and some reports again when nobody waits for them any more."""
        if isinstance(message, messages.MatchResultReport):
            false, when = _falsified(message), self._clock.now() + self._chance.uniform(0.1, 8.0)
            again = partial(self._transport.call, to, false, when + REPLY_SECONDS, lambda _: None)
            self._clock.call_at(when, again)
        return self._transport.call(to, message, until, done)


TRANSPORTS: dict[str, Callable[[Transport, Lifetime, str], Transport]] = {
    each.TRAIT: each for each in (FalseTransport, HoldingTransport, MeddlingTransport)
}


def _falsified(report: messages.MatchResultReport) -> messages.MatchResultReport:
    others = [each for each in report.result.score if each != report.result.winner]
    result = msgspec.structs.replace(report.result, winner=others[0] if others else None)
    return msgspec.structs.replace(report, result=result)
