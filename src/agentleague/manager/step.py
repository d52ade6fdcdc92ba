"""One step of the manager: what is decided and sent while one stimulus is handled."""

from collections import deque
from typing import Any

import msgspec

from agentleague.dialects.table import OURS, is_dialect
from agentleague.errors import LeagueError
from agentleague.league.events import DialectLearnt
from agentleague.league.league import League
from agentleague.manager.keys import Key
from agentleague.manager.limits import ManagerLimits
from agentleague.manager.outbox import Outbox, Outgoing
from agentleague.protocol.messages import Message
from agentleague.protocol.timestamps import Calendar
from agentleague.roles.effects import Address, Effect, Event, Record, Reply, WakeAt
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Asked

SENDER = "league_manager"


class Step:
    """The time, the league and the effects; all parts of the manager decide and send through it.

    State: the outbox and the organiser's notices (`news`), forgotten by a restart: what was not
    told is told again by the parts. Events of `record_later` that never reached the journal are
    lost; they only say what need not be told again.
    """

    def __init__(
        self, league: League, settings: ManagerSettings, limits: ManagerLimits | None = None
    ) -> None:
        self.league, self.settings = league, settings
        self.limits = limits or ManagerLimits()
        self.outbox = Outbox(settings.reply_seconds, self.limits.called_max)
        self.calendar = Calendar(0.0)
        self.now = 0.0
        self.effects: list[Effect] = []
        self.news: deque[str] = deque(maxlen=self.limits.notices_max)  # for the organiser
        self._later: list[Event] = []

    @property
    def now_text(self) -> str:
        """The time as messages carry it."""
        return self.calendar.write(self.now)

    def record(self, event: Event) -> None:
        """Take a decision: it is applied now, and on disk before any message that follows."""
        while self._later:
            self._write(self._later.pop(0))
        self._write(event)

    def record_later(self, event: Event) -> None:
        """Record an event that nothing depends on together with the next decision."""
        self._later.append(event)

    def tell(
        self,
        agent_id: str,
        message: Message,
        subject: Key | None = None,
        *,
        receipt: int | None = None,
        keep: bool = False,
    ) -> None:
        """Send a message to one agent, after those that it was not told yet."""
        outgoing = Outgoing(message, subject, receipt, keep)
        self.effects += self.outbox.send(self.address(agent_id), outgoing, self.now)

    def reply(
        self, asked: Asked, answer: Message | LeagueError, receipt: int | None = None
    ) -> None:
        """Answer in an envelope, with warnings about what the question lacked."""
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
        self.effects.append(Reply(asked.reply, answer, receipt))

    def wake(self, key: Key, when: float) -> None:
        """Set a timer; a second one of the same key replaces the first."""
        self.effects.append(WakeAt(key, when))

    def notify(self, sentence: str) -> None:
        """Tell the organiser, if there is something to tell."""
        if sentence:
            self.news.append(sentence)

    def learn_dialect(self, agent_id: str, dialect: str) -> None:
        """Journal which dialect an agent speaks, if that is new."""
        known = self.league.roster.dialects.get(agent_id, OURS.name)
        if is_dialect(dialect) and dialect != known:
            self.record(DialectLearnt(agent_id, dialect))

    def address(self, agent_id: str) -> Address:
        """Where an agent is called."""
        roster = self.league.roster
        member = roster.players.get(agent_id) or roster.referees[agent_id]
        return Address(agent_id, member.endpoint, roster.dialects.get(agent_id, ""))

    def _write(self, event: Event) -> None:
        self.league.apply(event)
        self.effects.append(Record(event))
