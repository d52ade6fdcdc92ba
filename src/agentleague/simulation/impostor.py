"""A player that tries to be a referee with what its referee sends it, and to be heard twice.

Nothing it sends may ever be taken: a lock, a report, or the repetition of one; and that it tried is
on disk before it is refused.
"""

from collections.abc import Callable

from agentleague.errors import TokenInvalid
from agentleague.protocol.messages import (
    WIRE_NAME,
    GameMessage,
    LockRequest,
    MatchResultReport,
    Message,
    ReportedResult,
)
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer
from agentleague.simulation.clock import Lifetime, VirtualClock
from agentleague.simulation.network import SimulatedNetwork

TRIES_MAX = 12  # thefts in one league
REPLY_SECONDS = 10.0


class Impostor:
    """Sees what one player is sent, and uses it against the manager."""

    def __init__(
        self,
        network: SimulatedNetwork,
        manager: Address,
        own_token: Callable[[], str],
        taken: Callable[[str], None],
        refused: Callable[[str, str], None],
    ) -> None:
        clock = network.clock
        assert isinstance(clock, VirtualClock)
        self._transport = network.bear("http://thief/mcp", "player", Lifetime(clock))
        self._clock, self._manager = clock, manager
        self._own_token, self._taken, self._refused = own_token, taken, refused
        self._tries = 0

    def sees(self, message: Message) -> None:
        """Whatever the player is sent; a match of its own is the chance."""
        if isinstance(message, GameMessage) and self._tries < TRIES_MAX:
            self._tries += 1
            stolen = message.auth_token or ""
            for token, scope in ((stolen, "match"), (self._own_token(), "league")):
                if token:
                    self._send(_lock(message, token), scope)
                    self._send(_report(message, token), scope)

    def _send(self, message: LockRequest | MatchResultReport, scope: str) -> None:
        def answered(answer: Answer) -> None:
            if answer.message is not None:
                self._taken(f"{type(message).__name__} of {message.match_id} by a player was taken")
            elif answer.error and answer.error.context.get("code") == TokenInvalid.code:
                self._refused(WIRE_NAME[type(message)], scope)

        until = self._clock.now() + REPLY_SECONDS
        self._transport.call(self._manager, message, until, answered)


def _lock(seen: GameMessage, token: str) -> LockRequest:
    return LockRequest(
        match_id=seen.match_id,
        epoch=seen.epoch or 1,
        index=0,
        moves=[],
        forfeits=[(_somebody_else(seen.player_id), "made an illegal move")],
        sender="referee:REF01",
        conversation_id="conv-theft",
        auth_token=token,
    )


def _report(seen: GameMessage, token: str) -> MatchResultReport:
    return MatchResultReport(
        match_id=seen.match_id,
        result=ReportedResult(winner=seen.player_id),
        sender="referee:REF01",
        conversation_id="conv-theft",
        auth_token=token,
    )


def _somebody_else(player_id: str) -> str:
    return "P02" if player_id == "P01" else "P01"
