"""What a referee and a player share: they register, find out whether they are reachable, answer.

An agent asks the manager to register it until it gets an answer. It may show the token of an
earlier run, by which the same manager knows it again; if the token is refused, it registers anew.

The manager opens a connection to each new end point and knows whether that worked. A person who
runs an agent behind a firewall does not see that, so the agent asks for it and says so. A player
then registers again, for a seat at the manager, from which it fetches its calls.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Struct, UnsetType

from agentleague import errors
from agentleague.protocol import messages, tokens
from agentleague.protocol.jsonrpc import without_tokens
from agentleague.protocol.printable import log_text
from agentleague.protocol.seats import is_seat
from agentleague.protocol.timestamps import Calendar
from agentleague.protocol.tokens import is_proved, proof_key
from agentleague.roles.effects import Address, Call, Effect, End, Event, Reply, Sit, WakeAt
from agentleague.roles.settings import AgentSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Started, Stimulus, Woken

TOO_LATE = (
    "; one that was in it before comes back with the same --manager, --name, --port and --state"
)
UNPROVED = (
    "The manager does not prove its messages any more, as it did in an earlier run: anybody who "
    "can reach this agent can send it messages in the name of the manager."
)
GIVE_CODE = "give the right one with --join-code or LEAGUE_JOIN_CODE; the organiser knows it"
GIVE_REFEREE_CODE = "--referee-code or LEAGUE_REFEREE_CODE; the organiser knows it"
WAITS = (
    "It waits: this league takes referees by their code or by its organiser's word. The organiser "
    "lets it in, on the manager's machine, with: league approve {} --dir DIR. Or stop it, and "
    f"start it with the code: {GIVE_REFEREE_CODE}."
)
WHERE = "say where others reach this one with: --endpoint http://HOST:PORT/mcp"
NO_ID = " The manager gave it no id: it goes by its name."
BY_SEAT = "The manager cannot call you back; joining through a seat."
NO_SEATS = "this league gives no seats; start it without --outbound, where the manager can call it"
IS_LATE = (errors.LateRegistration.code, errors.AlreadyComplete.code)
BAD_TOKEN = (errors.TokenMissing.code, errors.TokenInvalid.code)


@dataclass(frozen=True)
class AgentLimits:
    """Handed to an agent; tests hand in smaller ones."""

    first_check_seconds: float = 1.0  # until it asks whether it is reachable
    unclear_seconds: float = 1.0  # until it asks again after an answer that says neither yes nor no
    unclear_checks: int = 10  # such answers
    next_check_seconds: float = 3.0  # while the manager cannot reach it
    news: int = 100  # sentences that are kept for the person who runs it
    refusals_said: int = 20  # that are worth a sentence, as anybody may cause them
    away_seconds: float = 5.0  # that the manager of a seated player is away before that is said


class RegisterKey(Struct, frozen=True, gc=False):
    """The key of a registration, and of the timer until the next try."""


class ReachabilityKey(Struct, frozen=True, gc=False):
    """The key of the question whether the agent is reachable, and of the timer until the next."""


class AgentState(Struct, frozen=True):
    """What an agent keeps to come back as itself; its state file holds just this."""

    agent_id: str = ""
    league_id: str = ""
    token: str = ""
    claim: str = ""  # made at random by its first run; nobody but its manager is told
    proofs: bool = False  # whether the manager promised to prove its messages
    match_tokens: bool = False  # whether referees show it match tokens
    receipt: messages.Receipt | None = None  # the last one that its manager gave it
    is_seated: bool = False  # whether it has a seat at its manager


class Refused(Struct, frozen=True):
    """The manager does not take the agent; trying again would not help."""

    reason: str


class SeatLost(Refused, frozen=True):
    """The seat of the agent is another's."""


class Registration:
    """The registration of one agent: its id, token, league and session, once it has them."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self.where = settings.manager_url  # one URL or several, of which the first stands for all
        self.manager = Address("league_manager", self.where.partition(",")[0])
        self.agent_id = self.token = self.league_id = self.session = ""
        self.remembered = ""  # the token to show when it registers again
        self.claim = ""  # what it shows with every registration; empty: nothing
        self.receipt: messages.Receipt | None = None  # to show beside it
        self._receipt_of = ""  # the league that gave it
        self.lease_seconds = 0.0  # how long a referee may be silent; 0: as long as it likes
        self.has_id = False  # whether the manager gave it one; else it goes by its name
        self.failed_tries = 0
        self.match_tokens = False  # whether referees of this league show match tokens
        self.proofs = False  # whether the manager promised to prove its messages
        self._proof_keys: tuple[bytes, ...] = ()  # of its newest token and the one before
        self.is_ours = False  # whether the manager gives a session, or speaks of match tokens
        self.waits = False  # whether a referee must wait for the organiser's word
        outbound = getattr(settings, "outbound", False)  # Referees never sit.
        self.wants_seat, self.may_sit = outbound is True, outbound is None  # by itself
        self.gives_seats = False  # whether the manager does
        self.seat = ""  # the path of its own there
        self._first_refusal = ""  # for which it asks for a seat

    @property
    def about_seats(self) -> str:
        """How the advice to a player that cannot be called ends."""
        outbound = getattr(self._settings, "outbound", "")
        if outbound == "" or not self.is_ours:
            return ""
        if not self.gives_seats:
            return ". This league gives no seats to players that cannot be called"
        return "; or leave out --no-outbound" if outbound is False else ""

    def remember(self, state: AgentState) -> None:
        """What an earlier run kept: token, claim, receipt, how it knows manager and referees."""
        self.remembered, self.claim = state.token, state.claim
        self.match_tokens = state.match_tokens
        self.receipt, self._receipt_of = state.receipt, state.league_id
        if state.proofs:
            self.proofs = True
            self._proof_keys = (proof_key(state.token, state.league_id, state.agent_id),)

    def is_proved(self, caller: Caller) -> bool:
        """Whether a message came from the manager, as far as a proof shows it."""
        return is_proved(caller.proof, self._proof_keys, caller.body)

    def keep(self, receipt: messages.Receipt | UnsetType) -> None:
        """The manager gave this receipt; one without a seal would prove nothing."""
        if receipt is not UNSET and receipt.seal is not UNSET:
            self.receipt, self._receipt_of = receipt, self.league_id

    def ask(self, request: messages.Message, now: float) -> list[Effect]:
        """Send the request, with the token of an earlier run and the join code, if any."""
        until = now + self._settings.reply_seconds
        return [Call(RegisterKey(), self.manager, self._with_proof(request), until)]

    def answered(
        self, message: messages.Message | None, error: errors.LeagueError | None, now: float
    ) -> list[Effect]:
        """Registered, refused for good, or no answer yet."""
        if isinstance(message, messages.LeagueRegisterResponse | messages.RefereeRegisterResponse):
            return self._decided(message, now)
        if error and "what_to_do" in error.context:
            advice = error.context["what_to_do"]
            reason = f"{self.where} understands no registration of ours: {advice}"
            return [End(Refused(reason))]
        if isinstance(error, errors.PeerRefused) and (
            error.context["code"] == errors.EndpointUnreachable.code  # Once more is the same.
            or not error.context["data"].get("retryable")
        ):
            if self.remembered and error.context["code"] in BAD_TOKEN:
                self.remembered, self.receipt = "", None
                return [WakeAt(RegisterKey(), now)]
            return self._refused(error.context["code"], self._in_words(error), now)
        self.failed_tries += 1
        return [WakeAt(RegisterKey(), now + self._settings.register_seconds)]

    def _refused(self, code: str | UnsetType, reason: str, now: float) -> list[Effect]:
        """Ask for a seat where its end point is refused; else it ends."""
        if code == errors.EndpointNotAllowed.code and self.may_sit and not self.wants_seat:
            self.wants_seat, self._first_refusal = True, reason
            return [WakeAt(RegisterKey(), now)]
        no_seats = NO_SEATS if self.wants_seat and "gives no seats" in reason else ""
        return [End(Refused(self._first_refusal or no_seats or reason))]

    def _in_words(self, error: errors.PeerRefused) -> str:
        """The refusal for a person; a wrong code is told in the words of the command."""
        code, said = error.context["code"], str(error.context["data"].get("error_message") or error)
        if code in BAD_TOKEN and "referee_code" in said:
            return f"wrong referee code; give the right one with {GIVE_REFEREE_CODE}"
        if code not in BAD_TOKEN or "join_code" not in said:
            return said[:500] + (TOO_LATE if code in IS_LATE else "")
        if self._settings.join_code:
            return f"wrong join code; {GIVE_CODE}"
        return f"this league has a join code; {GIVE_CODE.replace('the right one', 'it')}"

    def _with_proof(self, request: messages.Message) -> messages.Message:
        more: dict[str, Any] = {}
        if self.remembered:
            more["auth_token"] = self.remembered
        is_player = isinstance(request, messages.LeagueRegisterRequest)
        name = "player_meta" if is_player else "referee_meta"
        code, receipt = self._settings.join_code, self.receipt
        own = {"join_code": code, "claim": self.claim, "receipt": receipt, "seat": self.wants_seat}
        shown = {field: value for field, value in own.items() if value}
        if shown:
            more[name] = msgspec.structs.replace(getattr(request, name), **shown)
        return msgspec.structs.replace(request, **more)

    def _decided(
        self,
        message: messages.LeagueRegisterResponse | messages.RefereeRegisterResponse,
        now: float,
    ) -> list[Effect]:
        if message.status != "ACCEPTED":
            hint = "" if message.hint is UNSET else f": {message.hint}"
            back = TOO_LATE if message.error_code in IS_LATE else ""
            reason = f"{message.reason or 'the manager gave no reason'}{hint}{back}"
            return self._refused(message.error_code, reason, now)
        seat = getattr(message, "seat", UNSET) or ""
        if self.wants_seat and not is_seat(seat) and not self._settings.endpoint:
            return [End(Refused(NO_SEATS))]
        self.token = self.remembered = message.auth_token or ""
        self.league_id = message.league_id
        if self.league_id != self._receipt_of:
            self.receipt = None
        if isinstance(message, messages.RefereeRegisterResponse):
            given = message.referee_id
            self.session = message.session or ""
            self.is_ours = bool(self.session)
            self.lease_seconds = message.lease_seconds or 0.0
            self.waits = message.waiting is True
        else:
            given = message.player_id
            self.match_tokens = message.match_tokens is True
            self.is_ours = message.match_tokens is not UNSET
            self.gives_seats, self.seat = message.seats is True, seat if is_seat(seat) else ""
            if self.wants_seat and not self.seat:
                self.wants_seat = self.may_sit = False  # It is called where it listens.
        self.has_id, self.agent_id = bool(given), given or self._settings.display_name
        self.proofs = message.proofs is True
        if self.proofs:  # What is under way may be proved for the token before.
            new = proof_key(self.token, self.league_id, self.agent_id)
            self._proof_keys = (new, *self._proof_keys[:1])
        return []


class ReachabilityCheck:
    """Asks the manager whether it can reach the agent, until the answer is yes."""

    def __init__(self, manager: Address, settings: AgentSettings, limits: AgentLimits) -> None:
        self._manager, self._endpoint, self._limits = manager, settings.endpoint, limits
        self._reply_seconds, self.about_seats = settings.reply_seconds, ""
        self.is_unreachable = False  # as it was said last
        self._unclear = 0  # answers that said neither yes nor no

    def begin(self, now: float) -> list[Effect]:
        """The agent has registered: ask soon."""
        self._unclear, self.is_unreachable = 0, False
        return [WakeAt(ReachabilityKey(), now + self._limits.first_check_seconds)]

    def ask(self, agent_id: str, timestamp: str, now: float) -> list[Effect]:
        """Ask; this needs no token."""
        query = messages.LeagueQuery(
            "GET_AGENT",
            query_params={"agent_id": agent_id},
            sender=f"agent:{agent_id}",
            timestamp=timestamp,
            conversation_id="conv-reachable",
        )
        return [Call(ReachabilityKey(), self._manager, query, now + self._reply_seconds)]

    def answered(
        self, message: messages.Message | None, error: errors.LeagueError | None, now: float
    ) -> tuple[str, list[Effect]]:
        """What there is to say, if anything, and when to ask again."""
        answer = message if isinstance(message, messages.LeagueQueryResponse) else None
        if isinstance(error, errors.PeerRefused) or (answer and not answer.success):
            return "", []  # It is a foreign manager.
        agent = (answer.data or {}).get("agent") if answer else None
        told = agent if isinstance(agent, dict) else {}
        if told.get("displaced"):
            reason = f"it is taken out again, since another agent listens at {self._endpoint}"
            return "", [End(Refused(f"{reason}; {WHERE}"))]
        is_reachable = told.get("reachable")
        again: list[Effect] = [WakeAt(ReachabilityKey(), now + self._limits.next_check_seconds)]
        if not isinstance(is_reachable, bool):
            self._unclear += 1
            soon: list[Effect] = [WakeAt(ReachabilityKey(), now + self._limits.unclear_seconds)]
            return "", soon if self._unclear < self._limits.unclear_checks else []
        if self.is_unreachable and not is_reachable:
            return "", again
        self.is_unreachable = not is_reachable
        if is_reachable:
            return f"The manager can reach it at {self._endpoint}.", []
        return self._advice(), again

    def _advice(self) -> str:
        url = urlsplit(self._endpoint)
        port = url.port or (443 if url.scheme == "https" else 80)
        return (
            f"The manager cannot reach it at {self._endpoint}; until it can, its matches are lost. "
            f"Does the firewall of this machine let others in at port {port}? Is it in the same "
            "network as the manager? If others see it elsewhere, say where with: --endpoint "
            f"http://HOST:{port}/mcp; if it should listen at another address, with: --bind ADDRESS"
            f"{self.about_seats}"
        )


Handler = Callable[..., list[Effect]]


class Agent(ABC):
    """A role that belongs to a league; its tables say which method handles which type of what."""

    ANSWERS: ClassVar[dict[type, Handler]]
    TIMERS: ClassVar[dict[type, Handler]]  # of keys, as those of ANSWERS
    MESSAGES: ClassVar[dict[type[messages.Message], Handler]]
    KIND: ClassVar[str]

    def __init__(self, settings: AgentSettings, limits: AgentLimits) -> None:
        self.agent_id = ""  # that the manager gave it
        self.sender = f"{self.KIND}:{settings.display_name}"[:64]  # by its id once it has one
        self._own_name = settings.display_name
        self._registration = Registration(settings)
        self.manager = self._registration.manager
        self._reachability = ReachabilityCheck(self.manager, settings, limits)
        self.is_far = False  # whether something may stand between it and its manager
        self._calendar = Calendar(0.0)
        self.news: deque[str] = deque(maxlen=limits.news)  # sentences for the person who runs it
        self._said: set[str] = set()  # what is said only once
        self._said_max = limits.refusals_said

    @property
    def has_foreign_manager(self) -> bool:
        """Whether the manager that registered it is not agentleague's."""
        return bool(self.agent_id) and not self._registration.is_ours

    @property
    def state(self) -> AgentState:
        """What it needs to come back as itself."""
        own = self._registration
        shown = (self.agent_id, own.league_id, own.token, own.claim)
        return AgentState(*shown, own.proofs, own.match_tokens, own.receipt, bool(own.seat))

    def remember(self, state: AgentState) -> None:
        """What an earlier run kept: token, claim and receipt are shown when it registers."""
        self._registration.remember(state)

    def handle(self, stimulus: Stimulus, now: float) -> Sequence[Effect]:
        if type(stimulus) is Answered:
            return self.ANSWERS[type(stimulus.key)](self, stimulus, now)
        return self.STIMULI[type(stimulus)](self, stimulus, now)

    def answer(
        self, message: messages.Message, caller: Caller, now: float
    ) -> messages.Message | errors.LeagueError | None:
        """Nothing: every message is handled."""
        return None

    def apply(self, event: Event) -> None:
        """It has no journal: what it holds may be lost with it."""
        raise TypeError(f"a {self.KIND} records nothing, and yet there is {event}")

    @abstractmethod
    def registration_request(self, now: float) -> messages.Message:
        """What it says of itself when it registers."""

    def register(self, now: float) -> list[Effect]:
        """Ask the manager to register it."""
        return self._registration.ask(self.registration_request(now), now)

    def started(self, stimulus: Started, now: float) -> list[Effect]:
        """It begins by registering."""
        self._calendar = Calendar(stimulus.wall_offset)
        return self.register(now)

    def asked(self, stimulus: Asked, now: float) -> list[Effect]:
        """A message came; one that is refused changes nothing."""
        try:
            return self.MESSAGES[type(stimulus.message)](self, stimulus, stimulus.message, now)
        except errors.LeagueError as error:
            return [Reply(stimulus.reply, error)]

    def woken(self, stimulus: Woken, now: float) -> list[Effect]:
        return self.TIMERS[type(stimulus.key)](self, stimulus, now)

    def registered(self, stimulus: Answered, now: float) -> list[Effect]:
        """The manager has answered, or is not there yet: say so once."""
        own, was_in = self._registration, bool(self.agent_id)
        is_first, was_proved = not own.failed_tries, own.proofs
        effects = own.answered(stimulus.message, stimulus.error, now)
        self.agent_id = own.agent_id
        if not effects:
            if was_proved and not own.proofs:
                self.news.append(UNPROVED)
            return self._taken_in(stimulus.message, now)
        if is_first and own.failed_tries and not was_in:
            error = stimulus.error
            came = log_text(error.context.get("said") or str(error)) if error else "it said nothing"
            if error and error.context.get("code") == errors.StorageError.code:
                came = "the manager is starting, or cannot write its journal"
            self.news.append(
                f"No manager answers at {own.where} yet ({came}); trying again until it does."
            )
        if was_in and own.wants_seat and isinstance(effects[0], End):  # It is in, without a seat.
            own.wants_seat = own.may_sit = False
            return self._reachability.begin(now)
        return effects

    def _taken_in(self, answer: messages.Message | None, now: float) -> list[Effect]:
        own = self._registration
        if own.may_sit and own.seat:
            self.news.append(BY_SEAT)
        self.sender = f"{self.KIND}:{self.agent_id}"[:64]
        league_id, unnamed = own.league_id or "a league without an id", "" if own.has_id else NO_ID
        self.news.append(f"Registered as {self.agent_id} in {league_id}.{unnamed}")
        name = getattr(answer, "display_name_effective", UNSET)
        if name and self._own_name and name != self._own_name:
            self.news.append(f"It is called {name!r} there: its own name is taken, or unfit.")
        if getattr(answer, "hint", UNSET):  # It came late, and is told from when on it plays.
            self.news.append(log_text(str(answer.hint)))  # type: ignore[union-attr]
        if own.waits:
            self.news.append(WAITS.format(self.agent_id))
        if own.seat:
            return [Sit(self.manager.url, own.seat, own.token)]
        self._reachability.about_seats = own.about_seats
        return self._reachability.begin(now) if self.is_far else []

    def prove(self, asked: Asked, message: messages.EndpointChallenge, now: float) -> list[Effect]:
        """The manager shows the digest of a claim: yes only to its own, else it proves a thief."""
        claim = self._registration.claim
        is_own = bool(claim) and tokens.same(claim, message.claim_digest)
        return [self.reply(asked, messages.EndpointProof(is_own), now)]

    def say_once(self, about: str, sentence: str) -> None:
        """Tell the person who runs it, unless it was said before, or enough was."""
        if about not in self._said and len(self._said) < self._said_max:
            self._said.add(about)
            self.news.append(sentence)

    def say_error(self, message: messages.LeagueErrorMessage) -> None:
        """The manager refused something that it could not answer."""
        what = message.original_message_type or message.context.get("action") or "something"
        name = f"{message.error_code} {message.error_name or message.error_description}".strip()
        why = message.error_message or message.action_required
        said = ": ".join(filter(None, (f"The manager refused {what}", name, why)))[:500]
        self.say_once(f"{what} {message.error_code}", without_tokens(said))

    def check_reachability(self, stimulus: Woken, now: float) -> list[Effect]:
        """Ask the manager whether it can call this agent."""
        return self._reachability.ask(self.agent_id, self._calendar.write(now), now)

    def reachability_answered(self, stimulus: Answered, now: float) -> list[Effect]:
        """The manager has answered that: say so where it matters."""
        sentence, effects = self._reachability.answered(stimulus.message, stimulus.error, now)
        own, is_unreachable = self._registration, self._reachability.is_unreachable
        if is_unreachable and own.may_sit and own.gives_seats and not own.wants_seat:
            own.wants_seat = True
            return self.register(now)
        if sentence:
            self.news.append(sentence)
        return effects

    def envelope(self, question: messages.Message, now: float) -> dict[str, str]:
        """The envelope of an answer."""
        return {
            "sender": self.sender,
            "timestamp": self._calendar.write(now),
            "conversation_id": question.conversation_id or f"conv-{self.KIND}",
        }

    def reply(self, asked: Asked, answer: messages.Message, now: float) -> Reply:
        """An answer in its envelope."""
        envelope: Any = self.envelope(asked.message, now)
        return Reply(asked.reply, msgspec.structs.replace(answer, **envelope))

    STIMULI: ClassVar[dict[type, Handler]] = {Started: started, Asked: asked, Woken: woken}
