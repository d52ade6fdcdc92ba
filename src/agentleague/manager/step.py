"""The manager's pen: what is decided is written down, what follows from it goes out behind it."""

from collections import deque
from typing import Any

import msgspec

from agentleague.errors import LeagueError
from agentleague.league.league import League
from agentleague.manager.broadcasts import SENDER
from agentleague.manager.outbox import Outbox, Outgoing
from agentleague.protocol.messages import Message
from agentleague.protocol.timestamps import Calendar
from agentleague.roles.effects import Address, Effect, Event, Record, Reply, WakeAt
from agentleague.roles.stimuli import Asked, Key


class Step:
    """Collects the effects of one stimulus; the parts of the manager all write through it."""

    def __init__(self, league: League, reply_seconds: float) -> None:
        self.league = league
        self.outbox = Outbox(reply_seconds)
        self.reply_seconds = reply_seconds
        self.calendar = Calendar(0.0)
        self.now = 0.0
        self.out: list[Effect] = []
        self.news: deque[str] = deque(maxlen=100)  # sentences for whoever runs it
        self._later: list[Event] = []

    @property
    def now_text(self) -> str:
        """The time as messages carry it."""
        return self.calendar.write(self.now)

    def record(self, event: Event) -> None:
        """A decision: in force at once, and on disk before anybody hears of what follows."""
        while self._later:
            self._write(self._later.pop(0))
        self._write(event)

    def record_later(self, event: Event) -> None:
        """A note that nobody waits for: it goes to disk with the next decision."""
        self._later.append(event)

    def tell(
        self,
        agent_id: str,
        message: Message,
        tag: Any = None,
        *,
        receipt: int | None = None,
        keep: bool = False,
    ) -> None:
        """A message to one agent, behind what it is still to be told."""
        outgoing = Outgoing(message, tag, receipt, keep)
        self.out += self.outbox.send(self.address(agent_id), outgoing, self.now)

    def reply(
        self, asked: Asked, answer: Message | LeagueError, receipt: int | None = None
    ) -> None:
        """An answer in its envelope, with what the question lacked."""
        if isinstance(answer, Message):
            more: dict[str, Any] = {}
            if asked.caller.missing and hasattr(answer, "warnings"):
                more["warnings"] = [f"{path} was missing" for path in asked.caller.missing]
            answer = msgspec.structs.replace(
                answer,
                sender=SENDER,
                timestamp=self.now_text,
                conversation_id=asked.message.conversation_id,
                **more,
            )
        self.out.append(Reply(asked.reply, answer, receipt))

    def wake(self, key: Key, when: float) -> None:
        """Ring then; a second timer of the same key replaces the first."""
        self.out.append(WakeAt(key, when))

    def address(self, agent_id: str) -> Address:
        """Where an agent is called."""
        roster = self.league.roster
        member = roster.players.get(agent_id) or roster.referees[agent_id]
        return Address(agent_id, member.endpoint, roster.dialects.get(agent_id, ""))

    def _write(self, event: Event) -> None:
        self.league.apply(event)
        self.out.append(Record(event))
