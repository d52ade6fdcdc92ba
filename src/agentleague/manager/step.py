"""One step of the manager: what is decided and sent while one stimulus is handled."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from agentleague.dialects import starting
from agentleague.dialects.negotiation import guess
from agentleague.dialects.table import LOST, OURS, is_dialect
from agentleague.errors import LeagueError
from agentleague.league.events import DialectLearnt
from agentleague.league.league import League
from agentleague.league.roster import Member
from agentleague.league.season import Season
from agentleague.manager.keys import ErrorCall, Key
from agentleague.manager.outbox import Outbox
from agentleague.protocol.error_messages import error_message
from agentleague.protocol.hosts import is_home, places
from agentleague.protocol.messages import WIRE_NAME, Message, RefereeRegisterResponse
from agentleague.protocol.timestamps import Calendar
from agentleague.roles.effects import Address, Call, Effect, Event, Record, Reply, WakeAt
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Asked


@dataclass(frozen=True, kw_only=True, slots=True)
class ManagerLimits:
    """Limits of all parts of one manager."""

    # Outbox
    called_max: int = 1_000  # agents at a time; more only hold connections and memory
    # Rounds
    often_shown_players_max: int = 500  # in a larger league not every result is worth a table,
    table_results_part: int = 4  # but a quarter as many results as there are players
    # Assignments
    matches_a_message: int = 20
    epochs_max: int = 4  # how often a match is given out
    weight_max: int = 64  # matches at once, as far as they count when matches are spread
    assign_again_seconds: float = 1.0  # to a referee that did not answer
    new_referee_seconds: float = 2.0  # for the players of a match to hear of its new referee
    silent_part: float = 0.6  # of a lease: our referees send a status every third of it
    late_seconds: float = 0.25  # a lease check that is later was held up, as everything was
    # Matches that foreign referees start
    start_again_seconds: float = 1.0  # to a referee that is busy or not there
    report_seconds: float = 1.0  # at least, for a report after an answer that says nothing
    known_part: float = 0.2  # of the time for the match, if the dialect was understood before
    dialects_max: int = 60  # tried for one match
    listen_seconds: float = 5.0  # for a new agent to begin to listen, before the league starts,
    listen_pause_seconds: float = 0.02  # looked at so often
    # Registration
    waiting_max: int = 20  # referees that wait for the organiser: each is a row that anybody writes
    return_seconds: float = 1.0  # between two registrations of the same agent,
    returns_free: int = 8  # so often; then twice as long each time,
    return_seconds_max: float = 600.0  # but never longer
    asked_again_seconds: float = 30.0  # within which an agent may not have understood the answer
    refusal_seconds: float = 60.0  # before the organiser is told again of the same refusal
    refusals_max: int = 20  # that the organiser is told of in that time, and that are kept
    refusals_shown: int = 10  # in a status
    refusal_size: int = 600  # characters of one
    guesses: int = 60  # wrong join codes of one source that are answered at once,
    guesses_a_second: float = 1.0  # and from then on
    guesses_in_all: int = 600  # the same for all sources together
    guesses_in_all_a_second: float = 10.0
    guessers_max: int = 10_000  # sources that are remembered
    token_generations_max: int = 8  # of a player, that are recognised when misused
    challenges: int = 9  # how often a claim is shown at an end point where nobody answers,
    challenge_seconds_max: float = 15.0  # with pauses that double up to this: a minute in all
    challenges_max: int = 256  # end points that are asked at a time
    unchecked_max: int = 10_000  # end points that wait to be tried
    looks_max: int = 64  # registrations that wait for that; further ones are to come again,
    look_again_seconds: int = 2  # so much later
    notices_max: int = 100  # for the organiser, not read yet


SENDER = "league_manager"


class Step:
    """The time, the league and the effects; all parts of the manager decide and send through it."""

    def __init__(
        self,
        league: League,
        settings: ManagerSettings,
        limits: ManagerLimits | None = None,
        proof_keys: Callable[[Member], tuple[bytes, ...]] = lambda member: (),
    ) -> None:
        self.league, self.settings = league, settings
        self.limits, self._proof_keys = limits or ManagerLimits(), proof_keys
        self.outbox = Outbox(self.address, settings.reply_seconds, self.limits.called_max)
        self.season = Season()  # of leagues before, if there were any
        self.calendar = Calendar(0.0)
        self.now = 0.0
        self.effects: list[Effect] = []
        self.news: deque[str] = deque(maxlen=self.limits.notices_max)  # for the organiser
        self._later: list[Event] = []
        self.erring: set[str] = set()  # agents that are being told of an error

    @property
    def now_text(self) -> str:
        """The time as messages carry it."""
        return self.calendar.write(self.now)

    @property
    def wall_now(self) -> float:
        """The time now in Unix seconds."""
        return self.calendar.wall(self.now)

    def record(self, event: Event) -> None:
        """Take a decision: it is applied now, and on disk before any message that follows."""
        decided = [*self._later, event]
        self._later.clear()
        for each in decided:
            self.league.apply(each)
            self.effects.append(Record(each))

    def record_later(self, event: Event) -> None:
        """Record an event that only says what need not be told again with the next decision."""
        self._later.append(event)

    def is_awaited(self, event: Event) -> bool:
        """Whether it is recorded with the next decision."""
        return event in self._later

    def tell(
        self,
        agent_id: str,
        message: Message,
        subject: Key | None = None,
        *,
        receipt: int | None = None,
        keep: bool = False,
    ) -> None:
        """Send a message to one agent when the step ends, after those that it was not told yet."""
        self.outbox.send([(agent_id, message)], subject, receipt, keep=keep)

    def reply(
        self, asked: Asked, answer: Message | LeagueError, receipt: int | None = None
    ) -> None:
        """Answer in an envelope, with warnings about what the question lacked."""
        if isinstance(answer, Message):
            is_starting = type(answer) is RefereeRegisterResponse
            conversation_id = asked.message.conversation_id or f"conv-{asked.reply:03}"
            answer = msgspec.structs.replace(
                answer,
                sender=starting.SENDER if is_starting else SENDER,
                timestamp=self.calendar.write(self.now),
                conversation_id=conversation_id,
            )
            if asked.caller.missing and hasattr(answer, "warnings"):
                warnings = [
                    each + (" does not fit" if each.endswith(")") else " was missing")
                    for each in asked.caller.missing
                ]
                answer = msgspec.structs.replace(answer, warnings=warnings)
        self.effects.append(Reply(asked.reply, answer, receipt))

    def tell_error(self, agent_id: str | None, error: LeagueError, refused: Message) -> None:
        """Tell an agent whose message cannot be answered why it is refused, one at a time."""
        if agent_id is None or agent_id in self.erring:
            return
        self.erring.add(agent_id)
        name, about = WIRE_NAME[type(refused)], msgspec.structs.asdict(refused)
        envelope = {"sender": SENDER, "timestamp": self.now_text}
        message = error_message(error, name, request=about, **envelope)
        until = self.now + self.settings.reply_seconds
        self.effects.append(Call(ErrorCall(agent_id), self.address(agent_id), message, until))

    def wake(self, key: Key, when: float) -> None:
        """Set a timer; a second one of the same key replaces the first."""
        self.effects.append(WakeAt(key, when))

    def notify(self, sentence: str) -> None:
        """Tell the organiser, if there is something to tell."""
        if sentence:
            self.news.append(sentence)

    def notify_of(self, match_id: str, why: str) -> None:
        """Tell the organiser why something becomes of a match; equal lines become one."""
        same = f": {why}."
        is_same = self.news and self.news[-1].endswith(same)
        others = f"{self.news.pop().removesuffix(same)}, " if is_same else ""
        self.news.append(f"{others}{match_id}{same}")

    def learn_dialect(self, agent_id: str, dialect: str) -> None:
        """Journal which dialect an agent speaks, if that is new."""
        known = self.league.roster.dialects.get(agent_id, OURS.name)
        if is_dialect(dialect) and dialect != known:
            self.record(DialectLearnt(agent_id, dialect))

    def search_again(self, agent_id: str, dialect: str = "") -> None:
        """An agent that understood nothing so far may be another now."""
        known = self.league.roster.dialects.get(agent_id, "")
        if known.endswith(LOST):
            self.learn_dialect(agent_id, dialect or known.partition("~")[0])

    def address(self, agent_id: str) -> Address:
        """Where an agent is called, and how it knows that the manager calls."""
        roster = self.league.roster
        member, dialect = roster.member(agent_id), roster.dialects.get(agent_id, "")
        return Address(agent_id, member.endpoint, dialect, self._proof_keys(member))


def shown_dialect(asked: Asked, endpoint: str) -> str:
    """The dialect of a registration; its own method only from the machine that will be called."""
    caller, name = asked.caller, WIRE_NAME[type(asked.message)]
    form = (caller.form, caller.rpc_method, caller.nested_in)
    shown = guess(name, *form, has_text_id=caller.has_text_id)
    # Otherwise whoever registers another's end point would choose what it is asked to do.
    is_from_there = is_home(places(endpoint, caller.addresses), caller.source)
    return shown if is_from_there or "(" not in shown else ""
