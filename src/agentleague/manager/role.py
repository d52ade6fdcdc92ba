"""The manager as a role: registers agents, decides matches, and lets its parts do the rest.

It decides by what its League holds, records each decision, and only then acts on it. `Rounds` is
the course of the league, `Assignments` who referees what, `Tidings` what players are told where no
referee is left, `Organiser` what its owner commands.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from msgspec import UNSET

from agentleague.dialects.negotiation import guess
from agentleague.dialects.table import OURS, is_dialect
from agentleague.errors import AlreadyComplete, LeagueError, NoAnswer, TokenInvalid
from agentleague.games.game import Game
from agentleague.league import queries
from agentleague.league.adjudicator import Adjudicator, Ruling
from agentleague.league.events import (
    DialectLearnt,
    Disputed,
    LeagueOpened,
    PlayerRegistered,
    RefereeRegistered,
)
from agentleague.league.league import League, Phase
from agentleague.league.match_records import Archive
from agentleague.manager import organiser_notices
from agentleague.manager.assignments import Assignments
from agentleague.manager.broadcasts import Broadcasts
from agentleague.manager.notices import ResultNotices
from agentleague.manager.office import Office
from agentleague.manager.organiser import Organiser
from agentleague.manager.reachability import Reachability
from agentleague.manager.registration import (
    Admission,
    RefusedRegistrations,
    ReturnLimits,
    bring_player,
    bring_referee,
    check_complete,
    take_player,
    take_referee,
    terms_of,
)
from agentleague.manager.rounds import Rounds
from agentleague.manager.step import Step
from agentleague.manager.tokens import Keys, Reporters, TokenMisuse
from agentleague.protocol.messages import (
    LeagueCommand,
    LeagueCommandResponse,
    LeagueQuery,
    LeagueRegisterRequest,
    LockRequest,
    MatchResultAck,
    MatchResultReport,
    Message,
    RefereeRegisterRequest,
    RefereeStatus,
    RefereeStatusAck,
)
from agentleague.protocol.timestamps import Calendar
from agentleague.roles.effects import Effect, Event, Reply
from agentleague.roles.settings import ManagerSettings, Secrets
from agentleague.roles.stimuli import Answered, Asked, Started, Stimulus, Woken

NEWCOMERS = (PlayerRegistered, RefereeRegistered)


class Manager:
    """One league. `check_endpoint` raises EndpointNotAllowed for one that may not be called.

    It is asked about the end point and about the address from which the agent asks. `archive` is
    where the rows of matches are that were played long ago; without one none is forgotten.
    """

    def __init__(
        self,
        settings: ManagerSettings,
        secrets: Secrets,
        game: Game,
        check_endpoint: Callable[[str, str], None] = lambda url, source: None,
        archive: Archive | None = None,
    ) -> None:
        self.league = League(archive)
        self._settings = settings
        self.reachability = Reachability(self.league)
        self._return_limits, self._refused_registrations = ReturnLimits(), RefusedRegistrations()
        self._terms = terms_of(settings, secrets, check_endpoint)
        self._step = step = Step(self.league, settings.reply_seconds)
        self._adjudicator = adjudicator = Adjudicator(self.league, game, secrets.draw_secret)
        keys = Keys(self.league, secrets.token_secret)
        self._misuse = TokenMisuse(step, keys)
        self._reporters = Reporters(step, takes_tokenless=settings.takes_tokenless)
        office = Office(step, adjudicator, Broadcasts(self.league), keys, settings)
        self._result_notices = ResultNotices(office)
        self._assignments = Assignments(office, self._result_notices)
        self._rounds = Rounds(office, self._assignments, self._result_notices)
        self._result_notices.on_all_closed = self._rounds.end_round
        self._assignments.starts.reported = self._reported_by_answer
        adding = {"add_player": self._add_player, "add_referee": self._add_referee}
        self._organiser = Organiser(
            step, self._rounds, self._assignments, secrets.admin_token, adding
        )

    @property
    def news(self) -> deque[str]:
        """Sentences for whoever runs it."""
        return self._step.news

    @property
    def seconds(self) -> float:
        """From the first announcement to the last LEAGUE_COMPLETED."""
        return self._rounds.seconds

    @property
    def applied(self) -> int:
        """How many decisions it has taken in."""
        return self.league.seq

    def stop_after(self, round_id: int) -> None:
        """End the league as it stands when this round is over: a large one has thousands."""
        self._rounds.rounds_max = round_id

    def handle(self, stimulus: Stimulus, now: float) -> Sequence[Effect]:
        """Decide; every event among the effects is applied already."""
        self._step.now, self._step.out = now, []
        self._STIMULI[type(stimulus)](self, stimulus)
        return self._step.out

    def apply(self, event: Event) -> None:
        """Take in one decision from the journal."""
        self.league.apply(event)

    def is_referee(self, token: str | None) -> bool:
        """Whether this is a referee's: what it asks is bounded by what it was given to do."""
        return self.league.roster.owner(token) in self.league.roster.referees

    def is_known(self, token: str | None) -> bool:
        """Whether a token is one of ours: such a caller is counted by itself."""
        return self.league.roster.owner(token) is not None or self._organiser.is_organiser(token)

    # What happens

    def _started(self, stimulus: Started) -> None:
        self._step.calendar = Calendar(stimulus.wall_offset)
        if self.league.opened:
            self._assignments.resume()
            self._rounds.resume()
            self.reachability.resumed()
            return
        settings = self._settings
        self._step.record(
            LeagueOpened(
                settings.league_id,
                settings.game_type,
                settings.rules,
                settings.cycles,
                (settings.win_points, settings.draw_points, settings.loss_points),
                list(settings.tie_breaks),
                settings.seeded,
                bool(settings.join_code),
            )
        )
        self._rounds.open()

    def _asked(self, stimulus: Asked) -> None:
        try:
            used = self.league.roster.unconfirmed(stimulus.caller.token)
            if used:
                self._step.record(used)
            check_complete(stimulus, self._settings.missing_fields)
            self._MESSAGES[type(stimulus.message)](self, stimulus, stimulus.message)
        except LeagueError as error:
            if isinstance(error, TokenInvalid):
                self._misuse.refused(stimulus)
            self._refused(stimulus, error.code, str(error))
            self._step.out.append(Reply(stimulus.reply, error))

    def _answered(self, stimulus: Answered) -> None:
        """One of our letters was answered, or given up."""
        assert isinstance(stimulus.key, tuple)
        if stimulus.key[0] in ("start", "control"):
            self._start_answered(stimulus)
            return
        agent_id = stimulus.key[1]
        step, ran_out = self._step, isinstance(stimulus.error, NoAnswer)
        self._say(self.reachability.heard(agent_id, stimulus.error))
        self._rounds.noticed(agent_id, ran_out=ran_out)
        to, outbox = step.address(agent_id), step.outbox
        tag, calls = outbox.answered(to, step.now, ran_out=ran_out)
        step.out += calls
        self._settled(agent_id, tag, stimulus.error)
        while outbox.dropped:
            other_id, outgoing = outbox.dropped.pop()
            self._settled(other_id, outgoing.tag, stimulus.error)
        self._rounds.end_if_told()

    def _refused(self, asked: Asked, code: str, why: str) -> None:
        self._say(self._refused_registrations.sentence(asked, code, why, self._step.now))

    def _start_answered(self, stimulus: Answered) -> None:
        """A referee of another make was told to run a match, and answered or did not."""
        assert isinstance(stimulus.key, tuple)
        referee_id = self.league.matches[stimulus.key[1]].referee_id
        self._say(self.reachability.heard(referee_id, stimulus.error))
        if self.league.phase is Phase.RUNNING:
            self._assignments.starts.answered(stimulus)

    def _say(self, sentence: str) -> None:
        if sentence:
            self.news.append(sentence)

    def _settled(self, agent_id: str, tag: Any, error: LeagueError | None) -> None:
        """What waited for a letter goes on."""
        if tag is None:
            return
        what, *about = tag
        if what == "matches":
            self._assignments.assignment_answered(agent_id, about, error)
        elif what == "announcement":
            self._rounds.heard(agent_id, about[0])
        elif what == "moved":
            self._assignments.referee_notices.heard(agent_id, about[0])
        elif what == "over":
            self._result_notices.told(agent_id, about[0])
        else:
            self._rounds.told(agent_id, what, about[0])

    def _woken(self, stimulus: Woken) -> None:
        key: Any = stimulus.key
        if self.league.phase is Phase.COMPLETED and key != "end":
            return
        if isinstance(key, tuple):
            what, about = key
            parts: dict[str, Callable[[Any], None]] = {
                "assign": self._assignments.hand_out,
                "start": self._assignments.starts.woken,
                "moved": self._assignments.referee_notices.stop_waiting,
                "heard": self._rounds.stop_waiting,
            }
            parts[what](about)
            return
        {
            "table": self._rounds.table_due,
            "end": self._rounds.end_due,
            "start": self._rounds.due,
            "round": self._rounds.begin,
            "leases": self._assignments.look,
            "alone": self._assignments.alone,
        }[key]()

    # What is asked

    def _register_player(self, asked: Asked, message: LeagueRegisterRequest) -> None:
        admission = take_player(self.league, self._terms, message, asked.caller)
        self._admit(asked, admission)
        if admission.came_back and admission.events:
            self._assignments.refresh(admission.agent_id)
        if admission.agent_id and self.league.phase is Phase.COMPLETED:
            self._rounds.tell_the_end_to(admission.agent_id)
        self._rounds.start_if_complete()

    def _register_referee(self, asked: Asked, message: RefereeRegisterRequest) -> None:
        admission = take_referee(self.league, self._terms, message, asked.caller)
        self._admit(asked, admission)
        if admission.came_back:
            self._reporters.shown(admission.agent_id)
        if admission.agent_id:
            self._assignments.join(admission.agent_id)
        self._rounds.start_if_complete()

    def _admit(self, asked: Asked, admission: Admission) -> None:
        """Each time may write a row and move matches: nobody comes again and again at once."""
        agent_id, now = admission.agent_id, self._step.now
        if admission.came_back and admission.events:
            self._return_limits.check(agent_id, now)
        for event in admission.events:
            self._step.record(event)
        if any(isinstance(event, NEWCOMERS) for event in admission.events):
            self._learn({agent_id: guess(asked.caller.form, asked.caller.method)})
        self._step.reply(asked, admission.answer)
        if admission.refusal:
            self._refused(asked, admission.refusal.code, str(admission.refusal))
        if admission.events:
            self.news.append(organiser_notices.joined(self.league, agent_id, self._settings))
            self._say(self.reachability.registered(agent_id, asked.caller.source))

    def _add_player(self, params: Mapping[str, Any]) -> str:
        event = bring_player(self.league, self._terms, params)
        self._bring(event, event.player_id)
        return f"{event.display_name} is {event.player_id}, and is called at {event.endpoint}."

    def _add_referee(self, params: Mapping[str, Any]) -> str:
        event = bring_referee(self.league, self._terms, params)
        self._bring(event, event.referee_id)
        return f"{event.display_name} is {event.referee_id}, and is called at {event.endpoint}."

    def _bring(self, event: Event, agent_id: str) -> None:
        self._step.record(event)
        self._say(self.reachability.registered(agent_id, "127.0.0.1"))
        if agent_id in self.league.roster.referees:
            self._assignments.join(agent_id)
        self._rounds.start_if_complete()

    def _lock(self, asked: Asked, message: LockRequest) -> None:
        referee_id = self.league.roster.referee_of(asked.caller.token)
        record = self.league.matches.get(message.match_id)
        if self.league.aborted and not (record and record.decided):
            raise AlreadyComplete("the league was aborted; this match is not decided any more")
        ruling = self._adjudicator.lock(referee_id, message)
        self._write(ruling.events)
        self._step.reply(
            asked, ruling.answer, record.decided_seq if record and ruling.receipt else None
        )
        if ruling.again:
            self._assignments.reassign(message.match_id, "unreachable")
        elif not isinstance(ruling.answer, LeagueError):
            self._assignments.locked(referee_id, message.match_id)
        if record and record.decided and ruling.events:
            self._rounds.table_changed()

    def _report(self, asked: Asked, message: MatchResultReport) -> None:
        referee_id = self._reporters.of(asked.caller, message.match_id)
        ruling = self._judged(referee_id, message)
        record, answer = self.league.matches.get(message.match_id), ruling.answer
        if isinstance(answer, MatchResultAck):
            answer = self._assignments.after_report(referee_id, answer)
        self._step.reply(asked, answer, record.decided_seq if record and ruling.receipt else None)
        self._rounds.close_if_done()

    def _reported_by_answer(self, referee_id: str, message: MatchResultReport) -> None:
        """A referee of another make played a match before it answered; nobody waits for us."""
        ruling = self._judged(referee_id, message)
        if isinstance(ruling.answer, MatchResultAck):
            self._assignments.after_report(referee_id, ruling.answer)
            self._rounds.close_if_done()
        else:
            self._assignments.starts.failed(message.match_id, f"answered: {ruling.answer}")

    def _judged(self, referee_id: str, message: MatchResultReport) -> Ruling:
        known = self.league.matches.get(message.match_id)
        if self.league.aborted and not (known and known.decided):
            raise AlreadyComplete("the league was aborted; this match is not decided any more")
        ruling = self._adjudicator.report(referee_id, message)
        self._write(ruling.events)
        if self.league.phase is Phase.COMPLETED and isinstance(ruling.answer, LeagueError):
            raise AlreadyComplete("the league is over and its results stand")
        if known and isinstance(ruling.answer, MatchResultAck) and message.dialects is not UNSET:
            self._learn({p: d for p, d in message.dialects.items() if p in known.players})
        return ruling

    def _learn(self, dialects: Mapping[str, str]) -> None:
        """How agents want to be spoken to; written down once, until it changes."""
        known = self.league.roster.dialects
        for agent_id, dialect in dialects.items():
            if is_dialect(dialect) and known.get(agent_id, OURS.name) != dialect:
                self._step.record(DialectLearnt(agent_id, dialect))

    def _write(self, events: Sequence[Event]) -> None:
        """What the court decided; a dispute is also said aloud."""
        for event in events:
            self._step.record(event)
            if isinstance(event, Disputed):
                self.news.append(organiser_notices.disputed(event))

    def _status(self, asked: Asked, message: RefereeStatus) -> None:
        referee_id = self.league.roster.referee_of(asked.caller.token)
        self._assignments.status(referee_id, message.matches)
        self._step.reply(asked, RefereeStatusAck())
        if self.league.phase is Phase.COMPLETED:
            self._rounds.tell_the_end_to(referee_id)

    def _query(self, asked: Asked, message: LeagueQuery) -> None:
        reachable, token = self.reachability.known, asked.caller.token
        self._reporters.shown(self.league.roster.owner(token))
        self._step.reply(asked, queries.respond(self.league, message, token, reachable))

    def _command(self, asked: Asked, message: LeagueCommand) -> None:
        said = self._organiser.obey(asked.caller.token, message.command, message.params)
        if not said.startswith(organiser_notices.BEGUN):  # That is news already, with more in it.
            self.news.append(said)
        self._step.reply(asked, LeagueCommandResponse(message.command, said))

    _STIMULI: ClassVar[dict[type, Callable[..., None]]] = {
        Started: _started,
        Asked: _asked,
        Answered: _answered,
        Woken: _woken,
    }
    _MESSAGES: ClassVar[dict[type[Message], Callable[..., None]]] = {
        LeagueRegisterRequest: _register_player,
        RefereeRegisterRequest: _register_referee,
        LockRequest: _lock,
        MatchResultReport: _report,
        RefereeStatus: _status,
        LeagueQuery: _query,
        LeagueCommand: _command,
    }
