"""How a referee or player registers: it asks until the manager is there, and keeps its token.

Whoever runs it may hand it the token of an earlier run: the manager that gave it knows the agent by
it. Another manager takes it for none, or refuses it; then the agent registers anew.

Whether the manager can call an agent: asked for after it registered, and said aloud.

The manager opens a connection to each new end point and shows the agent as reachable or not. Who
sits at an agent behind a firewall does not see that, so the agent asks.

What a referee and a player have in common: they register, are asked, and answer.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Struct

from agentleague.errors import (
    LateRegistration,
    LeagueError,
    PeerRefused,
    TokenInvalid,
    TokenMissing,
)
from agentleague.protocol.messages import (
    LeagueQuery,
    LeagueQueryResponse,
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    Message,
    RefereeRegisterResponse,
)
from agentleague.protocol.timestamps import Calendar
from agentleague.roles.effects import Address, Call, Effect, End, Event, Reply, WakeAt
from agentleague.roles.settings import AgentSettings
from agentleague.roles.stimuli import Answered, Asked, Started, Stimulus

REGISTRATION_KEY = "register"
CAME_BACK = (
    "; one that was in it before comes back with the same --manager, --name, --port and --state"
)
GIVE_CODE = "give the right one with --join-code or LEAGUE_JOIN_CODE; the organiser knows it"
BAD_TOKEN = (TokenMissing.code, TokenInvalid.code)


class Refused(Struct, frozen=True):
    """The manager will not have the agent; trying again would not help."""

    reason: str


class Enrolment:
    """The registration of one agent: its id, token, league and session, once it has them."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self.manager = Address("league_manager", settings.manager_url)
        self.agent_id = self.token = self.league_id = self.session = ""
        self.remembered = ""  # the token to show when it registers again
        self.lease_seconds = 0.0  # how long a referee may be silent; 0: as long as it likes
        self.tries = 0  # that came to nothing
        self.match_tokens = False  # whether referees of this league show match tokens
        self.is_ours = False  # whether the manager is: no other gives a session, or speaks of them

    def ask(self, request: Message, now: float) -> list[Effect]:
        """Ask to be taken in, with the token of an earlier run and the join code, if any."""
        until = now + self._settings.reply_seconds
        return [Call(REGISTRATION_KEY, self.manager, self._with_proof(request), until)]

    def answered(
        self, message: Message | None, error: LeagueError | None, now: float
    ) -> list[Effect]:
        """Taken in, refused for good, or nobody there yet."""
        if isinstance(message, LeagueRegisterResponse | RefereeRegisterResponse):
            return self._judged(message)
        if error and "what_to_do" in error.context:
            return [End(Refused(self._not_understood(error)))]
        if isinstance(error, PeerRefused) and not error.context["data"].get("retryable"):
            if self.remembered and error.context["code"] in BAD_TOKEN:
                self.remembered = ""
                return [WakeAt(REGISTRATION_KEY, now)]
            return [End(Refused(self._in_words(error)))]
        self.tries += 1
        return [WakeAt(REGISTRATION_KEY, now + self._settings.register_seconds)]

    def _not_understood(self, error: LeagueError) -> str:
        """What was tried, what came back, and what would help: no form of ours was understood."""
        told = error.context["what_to_do"]
        return f"{self.manager.url} understands no registration of ours: {told}"

    def _in_words(self, error: PeerRefused) -> str:
        """The refusal for whoever typed the command; what it says of fields is for programs."""
        if "join_code" not in str(error) or error.context["code"] not in BAD_TOKEN:
            return str(error)
        if self._settings.join_code:
            return f"wrong join code; {GIVE_CODE}"
        return f"this league has a join code; {GIVE_CODE.replace('the right one', 'it')}"

    def _with_proof(self, request: Message) -> Message:
        more: dict[str, Any] = {}
        if self.remembered:
            more["auth_token"] = self.remembered
        if self._settings.join_code:
            is_player = isinstance(request, LeagueRegisterRequest)
            name = "player_meta" if is_player else "referee_meta"
            meta = getattr(request, name)
            more[name] = msgspec.structs.replace(meta, join_code=self._settings.join_code)
        return msgspec.structs.replace(request, **more)

    def _judged(self, message: LeagueRegisterResponse | RefereeRegisterResponse) -> list[Effect]:
        if message.status != "ACCEPTED":
            hint = "" if message.hint is UNSET else f": {message.hint}"
            back = CAME_BACK if message.error_code == LateRegistration.code else ""
            return [End(Refused(f"{message.reason or 'the manager gave no reason'}{hint}{back}"))]
        self.token = self.remembered = message.auth_token or ""
        self.league_id = message.league_id
        if isinstance(message, RefereeRegisterResponse):
            self.agent_id = message.referee_id or ""
            self.session = message.session or ""
            self.is_ours = bool(self.session)
            self.lease_seconds = message.lease_seconds or 0.0
        else:
            self.agent_id = message.player_id or ""
            self.match_tokens = message.match_tokens is True
            self.is_ours = message.match_tokens is not UNSET
        return []


CONTACT_KEY = "reachable?"
FIRST_SECONDS = 1.0  # after it registered
AGAIN_SECONDS = 3.0  # while the manager still tries, or cannot reach it
UNKNOWN_MAX = 5  # answers that say neither yes nor no


class Contact:
    """One agent's question, asked until the answer is yes."""

    def __init__(self, manager: Address, endpoint: str, reply_seconds: float) -> None:
        self._manager, self._endpoint, self._reply_seconds = manager, endpoint, reply_seconds
        self._is_cut_off = False  # as it was said last
        self._unknown = 0  # answers that said neither

    def begin(self, now: float) -> list[Effect]:
        """It has registered: ask soon."""
        self._unknown = 0
        return [WakeAt(CONTACT_KEY, now + FIRST_SECONDS)]

    def ask(self, agent_id: str, timestamp: str, now: float) -> list[Effect]:
        """Anybody may know: no token is needed."""
        query = LeagueQuery(
            "GET_AGENT",
            query_params={"agent_id": agent_id},
            sender=f"agent:{agent_id}",
            timestamp=timestamp,
            conversation_id="conv-reachable",
        )
        return [Call(CONTACT_KEY, self._manager, query, now + self._reply_seconds)]

    def answered(
        self, message: Message | None, error: LeagueError | None, now: float
    ) -> tuple[str, list[Effect]]:
        """What there is to say, if anything, and when to ask again."""
        if isinstance(error, PeerRefused) or _is_unknown(message):
            return "", []  # It is no manager of ours.
        is_reachable = _reachable(message)
        again: list[Effect] = [WakeAt(CONTACT_KEY, now + AGAIN_SECONDS)]
        if is_reachable is None:
            self._unknown += 1
            return "", again if self._unknown < UNKNOWN_MAX else []
        if self._is_cut_off and not is_reachable:
            return "", again
        self._is_cut_off = not is_reachable
        if is_reachable:
            return f"The manager can reach it at {self._endpoint}.", []
        return self._advice(), again

    def _advice(self) -> str:
        end = urlsplit(self._endpoint)
        port = end.port or (443 if end.scheme == "https" else 80)
        return (
            f"The manager cannot reach it at {self._endpoint}; until it can, its matches are lost. "
            f"Does the firewall of this machine let others in at port {port}? Is it in the same "
            "network as the manager? If others see it elsewhere, say where with: --endpoint "
            f"http://HOST:{port}/mcp; if it should listen at another address, with: --bind ADDRESS"
        )


def _is_unknown(message: Message | None) -> bool:
    return isinstance(message, LeagueQueryResponse) and not message.success


def _reachable(message: Message | None) -> bool | None:
    data = message.data if isinstance(message, LeagueQueryResponse) else None
    agent = data.get("agent") if isinstance(data, dict) else None
    found = agent.get("reachable") if isinstance(agent, dict) else None
    return found if isinstance(found, bool) else None


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
