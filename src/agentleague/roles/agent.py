"""What a referee and a player have in common: they register, are asked, and answer."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import msgspec

from agentleague.errors import LeagueError
from agentleague.protocol.messages import Message
from agentleague.protocol.timestamps import Calendar
from agentleague.roles.contact import Contact
from agentleague.roles.effects import Effect, Event, Reply
from agentleague.roles.enrolment import Enrolment
from agentleague.roles.settings import AgentSettings
from agentleague.roles.stimuli import Answered, Asked, Started, Stimulus

Handler = Callable[..., list[Effect]]


class Agent(ABC):
    """A role that belongs to a league; its tables say what it does about what happens."""

    STIMULI: ClassVar[dict[type, Handler]]
    MESSAGES: ClassVar[dict[type[Message], Handler]]
    KIND: ClassVar[str]

    def __init__(self, settings: AgentSettings) -> None:
        self._enrolment = Enrolment(settings)
        manager, patience = self._enrolment.manager, settings.reply_seconds
        self._contact = Contact(manager, settings.endpoint, patience)
        self.is_far = False  # whether something may stand between it and its manager
        self.house = ""  # with whom it shares connections
        self._calendar = Calendar(0.0)
        self.news: deque[str] = deque(maxlen=100)  # sentences for whoever runs it

    @property
    def agent_id(self) -> str:
        """The id that the manager gave it, or nothing yet."""
        return self._enrolment.agent_id

    @property
    def is_guest(self) -> bool:
        """Whether the manager that took it in is of another make."""
        return bool(self.agent_id) and not self._enrolment.is_ours

    @property
    def credential(self) -> tuple[str, str, str]:
        """What it needs to come back as itself: its id, its league and its token."""
        return self.agent_id, self._enrolment.league_id, self._enrolment.token

    def remember(self, token: str) -> None:
        """The token of an earlier run, to be shown when it registers; nothing if there is none."""
        self._enrolment.remembered = token

    def handle(self, stimulus: Stimulus, now: float) -> Sequence[Effect]:
        """Decide what to do."""
        return self.STIMULI[type(stimulus)](self, stimulus, now)

    def apply(self, event: Event) -> None:
        """It has no journal: what it holds may be lost with it."""
        raise TypeError(f"a {self.KIND} records nothing, and yet there is {event}")

    @abstractmethod
    def registration(self, now: float) -> Message:
        """How it asks to be taken in."""

    def register(self, now: float) -> list[Effect]:
        """Ask the manager to take it in."""
        return self._enrolment.ask(self.registration(now), now)

    def started(self, stimulus: Started, now: float) -> list[Effect]:
        """It begins by registering."""
        self._calendar = Calendar(stimulus.wall_offset)
        return self.register(now)

    def registered(self, stimulus: Answered, now: float) -> list[Effect]:
        """The manager has answered, or is not there yet: say so once."""
        is_first = not self._enrolment.tries
        effects = self._enrolment.answered(stimulus.message, stimulus.error, now)
        if not effects:
            league_id = self._enrolment.league_id or "a league without an id"
            self.news.append(f"Registered as {self.agent_id} in {league_id}.")
            if self.is_far:
                effects = [*effects, *self._contact.begin(now)]
        elif is_first and self._enrolment.tries:
            where = self._enrolment.manager.url
            self.news.append(f"No manager answers at {where} yet; trying again until it does.")
        return effects

    def ask_whether_reachable(self, now: float) -> list[Effect]:
        """Ask the manager whether it can call this agent."""
        return self._contact.ask(self.agent_id, self._calendar.write(now), now)

    def told_whether_reachable(self, stimulus: Answered, now: float) -> list[Effect]:
        """The manager has answered that: say so where it matters."""
        sentence, effects = self._contact.answered(stimulus.message, stimulus.error, now)
        if sentence:
            self.news.append(sentence)
        return effects

    def asked(self, stimulus: Asked, now: float) -> list[Effect]:
        """Every message has a row in its table; what is refused changes nothing."""
        try:
            return self.MESSAGES[type(stimulus.message)](self, stimulus, stimulus.message, now)
        except LeagueError as error:
            return [Reply(stimulus.reply, error)]

    def reply(self, asked: Asked, answer: Message, now: float, **more: Any) -> Reply:
        """An answer in its envelope."""
        enveloped = msgspec.structs.replace(
            answer,
            sender=f"{self.KIND}:{self.agent_id}",
            timestamp=self._calendar.write(now),
            conversation_id=asked.message.conversation_id,
            **more,
        )
        return Reply(asked.reply, enveloped)
