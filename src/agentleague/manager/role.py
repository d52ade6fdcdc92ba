"""The manager as a role: registers agents, decides matches, and lets its parts do the rest.

It decides by what its League holds, records each decision, and only then acts on it. The League is
rebuilt from the journal; the parts keep only what a restart may forget:

| part | its state | after a restart |
|---|---|---|
| Step | outbox, errors being told, organiser's notices, events to record later | forgotten |
| Rounds | unanswered messages, when the table was shown | `resume` tells again, sets timers |
| Assignments | matches without a referee | found anew when the round's matches are handed out |
| - Workload | what each referee has | `resume` takes in the referees; open matches wait |
| - Attendance | when each referee was heard | `resume` guesses from the journal |
| - Leases, Awaited | when each lease runs out | begin anew when matches are handed out |
| - ForeignStarts | calls under way | made again, unless `match_begun` is journalled |
| - RefereeNotices | players still to hear of a new referee | forgotten; the match is handed out |
| ResultNotices | players still to be told a result | told again while the match is open |
| Registration | when agents came back, wrong join codes | forgotten |
| - Refusals | who was refused, and how often | forgotten |
| FieldChecks | who contradicted itself, and how often | forgotten |
| NotUnderstood | players that understood no dialect | forgotten |
| LossNotices | how many losses without a game were told | forgotten |
| Claims | which claims are open | `resume` shows them again |
| Reachability | which end points answer, who is new | `resume` has all tried again |
| - | registrations that wait until their end point was tried | forgotten; they come again |
| Receipts | agents that showed a false one | forgotten |
| Reporters | the last reports that named no match | forgotten; one more may count |
| Organiser, TokenMisuse, SeatRights, Broadcasts, Credentials | none | |
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from msgspec import UNSET

from agentleague.dialects.negotiation import is_found_from
from agentleague.dialects.table import LOST
from agentleague.errors import AlreadyComplete, LeagueError, NoAnswer, NoConnection, TokenInvalid
from agentleague.games.game import Game
from agentleague.league import events, queries
from agentleague.league.adjudicator import Adjudicator, Decision, duplicate_report
from agentleague.league.formats.stages import planned_by, usual_stages, usual_tie_breaks
from agentleague.league.league import League, Phase
from agentleague.league.match_records import MatchRecord
from agentleague.league.match_result import loss_in_words
from agentleague.league.season import Season
from agentleague.manager import keys, notices
from agentleague.manager.assignments import Assignments
from agentleague.manager.broadcasts import Broadcasts
from agentleague.manager.claims import Claims
from agentleague.manager.field_checks import FieldChecks
from agentleague.manager.notices import LossNotices, NotUnderstood, ResultNotices
from agentleague.manager.organiser import Organiser
from agentleague.manager.reachability import Reachability
from agentleague.manager.receipts import SHOWN, Receipts
from agentleague.manager.registration import Registration
from agentleague.manager.rounds import Rounds
from agentleague.manager.seats import SeatRights
from agentleague.manager.step import ManagerLimits, Step
from agentleague.manager.tokens import Credentials, Reporters, TokenMisuse
from agentleague.protocol import messages
from agentleague.protocol.timestamps import Calendar
from agentleague.roles.effects import Effect, Event, Reply
from agentleague.roles.settings import ManagerSettings, Secrets
from agentleague.roles.stimuli import Answered, Asked, Caller, Started, Stimulus, Told, Woken

# Generations are seconds since 2020: so one that is itself lost never comes again.
YEAR_2020, GENERATION_STEP = 1_577_836_800, 1_000


class Manager:
    """One league, which is new unless one is handed in.

    `check_endpoint` raises EndpointNotAllowed for an end point, asked for from an address.
    """

    def __init__(  # noqa: PLR0913 - what a manager works with.
        self,
        settings: ManagerSettings,
        secrets: Secrets,
        game: Game,
        *,
        check_endpoint: Callable[[str, str], None] = lambda url, source: None,
        league: League | None = None,
        limits: ManagerLimits | None = None,
        season: Season | None = None,
    ) -> None:
        self.league = League() if league is None else league
        self.lost_until: int | None = None  # rows up to this are lost, and the organiser goes on
        self._settings = settings
        self.league.manager_url = settings.endpoint or f"http://127.0.0.1:{settings.port}/mcp"
        credentials = Credentials(self.league, secrets.token_secret)
        self._step = step = Step(self.league, settings, limits, credentials.proof_keys)
        self.news, step.season = step.news, season or Season()
        self.reachability = Reachability(self.league, step.limits)
        self._claims = Claims(
            step, left=lambda each: self._assignments.leave(each, f"{each} was displaced")
        )
        self._registration = Registration(
            step,
            credentials=credentials,
            reachability=self.reachability,
            claims=self._claims,
            check_endpoint=check_endpoint,
        )
        self.refusals, self.unchecked = self._registration.refusals, self.reachability.awaited
        self._adjudicator = adjudicator = Adjudicator(self.league, game, secrets.draw_secret)
        self.tally = adjudicator.tally
        self._receipts = Receipts(step, secrets.token_secret)
        self.receipt = self._receipts.give
        broadcasts = Broadcasts(step, credentials)
        self._misuse = TokenMisuse(step, credentials)
        self._field_checks = FieldChecks(step)
        self._result_notices = ResultNotices(step, adjudicator=adjudicator, broadcasts=broadcasts)
        self._not_understood, self._loss_notices = NotUnderstood(step), LossNotices(step)
        self._assignments = Assignments(
            step,
            adjudicator=adjudicator,
            broadcasts=broadcasts,
            result_notices=self._result_notices,
        )
        self._reporters = Reporters(step, self.is_known, self._assignments.is_told)
        rights = SeatRights(step, credentials, self._reporters, self._misuse)
        self.seat_of, self.may_call = rights.seat_of, rights.may_call
        self.rounds = Rounds(
            step,
            adjudicator=adjudicator,
            broadcasts=broadcasts,
            assignments=self._assignments,
            result_notices=self._result_notices,
        )
        self.rounds.undecided = self._claims.undecided
        self.rounds.leave_out_undecided = self._claims.leave_out_undecided
        self.rounds.waited_for = self.reachability.waited_for
        self.organiser = Organiser(
            step,
            rounds=self.rounds,
            assignments=self._assignments,
            admin_token=secrets.admin_token,
            add={
                "add_player": self._add_player,
                "add_referee": self._add_referee,
                "approve": self._approve,
                "set_endpoint": self._set_endpoint,
            },
        )

    @property
    def applied(self) -> int:
        """How many decisions were applied."""
        return self.league.seq

    @property
    def is_held(self) -> bool:
        """Whether the one round of a trial is over, and everybody knows."""
        is_over = self.rounds.is_trial and self.league.rounds_ended > 0
        return is_over and self._step.outbox.is_empty()

    def handle(self, stimulus: Stimulus, now: float) -> Sequence[Effect]:
        """Decide; every event among the effects is applied already."""
        step = self._step
        step.now, step.effects = now, []
        self._STIMULI[type(stimulus)](self, stimulus)
        if not self.league.open_matches:
            self.rounds.close_if_done()
        if step.outbox.ready:
            step.effects += step.outbox.calls(now)
        return step.effects

    def answer(
        self, message: messages.Message, caller: Caller, now: float
    ) -> messages.Message | LeagueError | None:
        """Nothing: every message may decide something."""
        return None

    def apply(self, event: Event) -> None:
        """Apply one decision from the journal."""
        self.league.apply(event)

    def is_referee(self, token: str | None) -> bool:
        """Whether this is a referee's token: its requests are limited by its matches."""
        return self.league.roster.owner(token) in self.league.roster.referees

    def is_known(self, token: str | None) -> bool:
        """Whether the league issued this token: its requests are counted by themselves."""
        return self.league.roster.owner(token) is not None or self.organiser.is_organiser(token)

    def registration_unread(self, source: str, error: LeagueError, now: float) -> None:
        """The transport refused a registration that it could not read."""
        self._step.now = now
        self.refusals.add((f"a registration from {source}", str(error)), str(error), error.code)

    # What happens

    def _started(self, stimulus: Started) -> None:
        self._step.calendar = Calendar(stimulus.wall_offset)
        if self.league.opened:
            if self.lost_until is not None:
                self._accept_loss(self.lost_until, stimulus.wall_offset)
            self._assignments.resume()
            self._claims.resume()
            self.rounds.resume()
            self.reachability.resume()
            return
        settings = self._settings
        stages = planned_by(settings, self.league.formats)
        usual = usual_tie_breaks(stages, self.league.formats)
        self._step.record(
            events.LeagueOpened(
                settings.league_id,
                settings.game_type,
                settings.rules,
                settings.cycles,
                (settings.win_points, settings.draw_points, settings.loss_points),
                usual if settings.tie_breaks is None else list(settings.tie_breaks),
                settings.seeded,
                bool(settings.join_code),
                True if settings.referee_code else UNSET,
                UNSET if stages == usual_stages(settings.cycles) else stages,
                UNSET if settings.seeding == "order" else settings.seeding,
                self._adjudicator.seeding_commitment(settings.league_id)
                if settings.seeding == "random"
                else UNSET,
                UNSET if settings.late == "refuse" else settings.late,
            )
        )
        self.rounds.open()

    def _accept_loss(self, last: int, wall_offset: float) -> None:
        """Begin a generation of draws, epochs and tokens above all that may have been lost."""
        generation = max(
            int(self._step.now + wall_offset) - YEAR_2020, self.league.generation + GENERATION_STEP
        )
        event = self._adjudicator.begin_anew(generation, last)
        self._step.record(event)
        self._step.notify(f"Going on after a loss: {loss_in_words(event)}.")

    def _asked(self, stimulus: Asked) -> None:
        roster = self.league.roster
        if type(stimulus.message) in SHOWN:
            self._receipts.check(stimulus)
        try:
            if roster.unused and (used := roster.unconfirmed(stimulus.caller.token)):
                self._step.record(used)
            stimulus = self._field_checks.check(stimulus)
            self._MESSAGES[type(stimulus.message)](self, stimulus, stimulus.message)
        except LeagueError as error:
            if isinstance(error, TokenInvalid) and error.context.get("field") != "sender":
                self._misuse.refused(stimulus)
            self.refusals.of(stimulus, error.code, str(error))
            self._step.effects.append(Reply(stimulus.reply, error))
            if stimulus.caller.is_notification:
                who = roster.owner(stimulus.caller.token)
                self._step.tell_error(who, error, stimulus.message)

    def _message_answered(self, key: keys.OutboxCall, stimulus: Answered) -> None:
        self._settle([key.agent_id], stimulus.error)
        self.rounds.end_if_told()

    def _told(self, stimulus: Told) -> None:
        agents, failed = self._step.outbox.heard(stimulus.key, stimulus.awaited), stimulus.failed
        self._settle([each for each in agents if each not in failed])
        for agent_id in filter(failed.__contains__, agents):
            self._settle([agent_id], failed[agent_id])
        self.rounds.end_if_told()

    def _settle(self, agents: Sequence[str], error: LeagueError | None = None) -> None:
        """Go on with what waited for the messages in flight to these agents."""
        ran_out = isinstance(error, NoAnswer)
        for agent_id in agents:
            if error or self.reachability.known.get(agent_id) is False:
                self._step.notify(self.reachability.answered(agent_id, error))
        self.rounds.messages_settled(agents, ran_out=ran_out)
        is_cut = isinstance(error, NoConnection)
        settled = self._step.outbox.answered(agents, ran_out=ran_out, is_cut=is_cut)
        for subject, who in settled.items():
            self._SUBJECTS[type(subject)](self, who, subject, error)

    def _proof_answered(self, key: keys.ProofCall, stimulus: Answered) -> None:
        self._step.notify(self.reachability.answered(key.agent_id, stimulus.error))
        self._claims.answered(key.agent_id, stimulus)
        self.rounds.start_if_complete()

    def _looked_at(self, key: keys.EndpointLook, stimulus: Answered) -> None:
        """An end point was tried before its agent is let in."""
        asked = self.reachability.looked_at(key.reply, is_there=stimulus.error is None)
        if stimulus.error:
            self._registration.unreachable(asked)
        else:
            self._asked(asked)

    def _start_answered(self, key: keys.StartCall, stimulus: Answered) -> None:
        referee_id, error = self._foreign_referee(key, stimulus), stimulus.error
        if referee_id is None:
            return
        if error:
            self._assignments.starts.refused(key.match_id, error)
        elif isinstance(stimulus.message, messages.MatchResultReport):
            self._assignments.starts.learn(key.match_id)
            self._reported_by_answer(referee_id, stimulus.message)
        else:
            self._assignments.answered(referee_id)
            self._assignments.starts.acknowledged(key.match_id, stimulus.message)

    def _control_answered(self, key: keys.ControlCall, stimulus: Answered) -> None:
        """A foreign referee was told nonsense."""
        if self._foreign_referee(key, stimulus):
            message, error = stimulus.message, stimulus.error
            self._assignments.starts.control_answered(key.match_id, message, error)

    def _foreign_referee(
        self, key: keys.StartCall | keys.ControlCall, stimulus: Answered
    ) -> str | None:
        """The referee that answered; None if its answer does not matter any more."""
        referee_id = self.league.matches[key.match_id].referee_id
        self._step.notify(self.reachability.answered(referee_id, stimulus.error))
        is_running = self.league.phase is Phase.RUNNING
        is_under_way = self._assignments.starts.is_under_way(key.match_id)
        return referee_id if is_running and is_under_way else None

    def _woken(self, stimulus: Woken) -> None:
        key = stimulus.key
        if self.league.phase is not Phase.COMPLETED or isinstance(key, keys.LeagueEndDue):
            self._TIMERS[type(key)](self, key)

    # What is asked

    def _register(
        self,
        asked: Asked,
        message: messages.LeagueRegisterRequest | messages.RefereeRegisterRequest,
    ) -> None:
        agent_id, came_back, is_recorded = self._registration.register(asked)
        is_player = isinstance(message, messages.LeagueRegisterRequest)
        if came_back and is_player:
            if is_recorded:
                self._assignments.refresh(agent_id)
            self._result_notices.tell_again(agent_id)
        elif came_back:
            self._reporters.shown(agent_id)
        if agent_id and self.league.phase is Phase.COMPLETED:
            self.rounds.tell_the_end_to(agent_id)
        elif is_recorded and not is_player:
            self._assignments.join(agent_id)
        self.rounds.start_if_complete()

    def _add_player(self, params: Mapping[str, Any]) -> str:
        event = self._registration.add_player(params)
        self.rounds.start_if_complete()
        return notices.added(self.league, event)

    def _add_referee(self, params: Mapping[str, Any]) -> str:
        event = self._registration.add_referee(params)
        self._assignments.join(event.referee_id)
        self.rounds.start_if_complete()
        return f"{event.display_name} is {event.referee_id}, and is called at {event.endpoint}."

    def _approve(self, params: Mapping[str, Any]) -> str:
        member = self._registration.approve(params)
        self._assignments.approved(member.agent_id)
        self.rounds.start_if_complete()
        return f"{member.agent_id} {member.display_name} at {member.endpoint} may referee now."

    def _set_endpoint(self, params: Mapping[str, Any]) -> str:
        event = self._registration.set_endpoint(params)
        if event.agent_id in self.league.roster.players:
            self._assignments.refresh(event.agent_id)
        return f"{event.agent_id} is called at {event.endpoint} from now on."

    def _lock(self, asked: Asked, message: messages.LockRequest) -> None:
        referee_id = self.league.roster.referee_of(asked.caller.token)
        if self.league.aborted:
            self._refuse_undecided(message.match_id)
        another = self._assignments.can_ask_another
        decision = self._adjudicator.lock(referee_id, message, another=another)
        self._write(decision.events)
        matches = self.league.matches
        receipt = matches[message.match_id].decided_seq if decision.receipt else None
        self._step.reply(asked, decision.answer, receipt)
        self._give_out_again(message.match_id, decision)
        if not isinstance(decision.answer, LeagueError):
            self._assignments.locked(referee_id, message.match_id)

    def _refuse_undecided(self, match_id: str) -> None:
        record = self.league.matches.get(match_id)
        if not (record and record.decided):
            raise AlreadyComplete("the league was aborted; this match is not decided any more")

    def _report(self, asked: Asked, message: messages.MatchResultReport) -> None:
        message = self._reporters.with_match(asked.caller, message)
        referee_id = self._reporters.of(asked.caller, message.match_id)
        decision = self._decide_report(referee_id, message)
        answer, receipt = decision.answer, None
        if isinstance(answer, messages.MatchResultAck):
            answer = self._assignments.after_report(referee_id, answer)
            if answer.duplicate and self._settings.rejections == "error":
                answer = self._repeated(answer, referee_id)
        if decision.receipt:
            receipt = self.league.matches[message.match_id].decided_seq
        self._step.reply(asked, answer, receipt)
        self._give_out_again(message.match_id, decision)

    def _give_out_again(self, match_id: str, decision: Decision) -> None:
        if decision.again:
            self._assignments.reassign(match_id, decision.again, claimed=decision.claimed)

    def _repeated(
        self, ack: messages.MatchResultAck, referee_id: str
    ) -> messages.MatchResultAck | LeagueError:
        """A referee that locks asks for the answer that it did not get."""
        if self.league.roster.referees[referee_id].locks:
            return ack
        record = self.league.matches[ack.match_id]
        return duplicate_report(record, "was reported before, and that counts")

    def _reported_by_answer(self, referee_id: str, message: messages.MatchResultReport) -> None:
        """A foreign referee played a match before it answered, and expects no reply."""
        decision = self._decide_report(referee_id, message)
        if isinstance(decision.answer, messages.MatchResultAck):
            self._assignments.after_report(referee_id, decision.answer)
            self._give_out_again(message.match_id, decision)
        else:
            assert isinstance(decision.answer, LeagueError)
            self._assignments.not_started(message.match_id, f"answered: {decision.answer}")
            self._step.tell_error(referee_id, decision.answer, message)

    def _decide_report(self, referee_id: str, message: messages.MatchResultReport) -> Decision:
        if self.league.aborted:
            self._refuse_undecided(message.match_id)
        another = self._assignments.can_ask_another
        decision = self._adjudicator.report(referee_id, message, another=another)
        self._write(decision.events)
        if isinstance(decision.answer, LeagueError):
            if self.league.phase is Phase.COMPLETED:
                raise AlreadyComplete("the league is over and its results stand")
        elif decision.events:
            self.rounds.table_changed()
            # Others may report without a token: their word counts for one result only.
            if self.league.roster.referees[referee_id].locks:
                self._learn_from(self.league.matches[message.match_id], message)
        return decision

    def _learn_from(self, record: MatchRecord, report: messages.MatchResultReport) -> None:
        """What a referee that locks found out about the players of a match that it closes."""
        if report.dialects:
            self._learn_dialects(record, report.dialects)
        rows = report.transcript or ()
        self._not_understood.look_at(record.players, rows)
        for row in rows:
            if row.note[:3] == "as " and row.player_id in record.players:  # It named another.
                who, said = (row.player_id, row.note), f"it answered {row.note}"
                self._field_checks.told.add(who, said, TokenInvalid.code)
        if report.wrong_tokens:
            self._misuse.reported(record, report.wrong_tokens)

    def _learn_dialects(self, record: MatchRecord, dialects: Mapping[str, str]) -> None:
        assert record.decided
        lost = [player_id for player_id, _ in record.decided.forfeits]
        for player_id in record.players:
            known = self.league.roster.dialects.get(player_id, "")
            found = dialects.get(player_id, "")
            may_be = player_id in lost or not found.endswith(LOST)
            if found and may_be and is_found_from(known, found):
                self._step.learn_dialect(player_id, found)

    def _write(self, decided: Sequence[Event]) -> None:
        """Record what the adjudicator decided; the organiser is told of disputes and doubts."""
        league = self.league
        for event in decided:
            before = league.timed_out
            self._step.record(event)
            if isinstance(event, events.MatchClosed):
                self._loss_notices.tell(event.match_id, before)
            elif isinstance(event, events.Disputed):
                self._step.notify(notices.disputed(event))
            elif isinstance(event, events.MatchDecided):
                self._look_at_claim(league.matches[event.match_id])

    def _look_at_claim(self, record: MatchRecord) -> None:
        """What a decided match says of a referee for which nobody vouches."""
        league, referee_id = self.league, record.claimed_by
        if record.match_id in league.unconfirmed:
            self._step.notify(notices.unconfirmed(record))
        if not record.claimed or not record.contradicted:
            return
        players = sorted(league.contradictions[referee_id])
        is_enough = len(players) >= league.limits.contradictions_max
        if is_enough and referee_id not in league.roster.set_aside:
            self._step.record(events.RefereeSetAside(referee_id, players))
            self._step.notify(notices.set_aside(referee_id, players))
            self._assignments.set_aside(referee_id)

    def _status(self, asked: Asked, message: messages.RefereeStatus) -> None:
        waiting = self.league.roster.waiting_with(asked.caller.token)
        if waiting:
            referee_id = waiting.agent_id
        else:
            referee_id = self.league.roster.referee_of(asked.caller.token)
            self._assignments.status(referee_id, message.matches, message.states or {})
            self._assignments.awaited.hear(referee_id, message.awaited or ())
        self._step.reply(asked, messages.RefereeStatusAck(waiting=True if waiting else UNSET))
        if self.league.phase is Phase.COMPLETED:
            self.rounds.tell_the_end_to(referee_id)

    def _query(self, asked: Asked, message: messages.LeagueQuery) -> None:
        is_organiser = self.organiser.is_organiser(asked.caller.token)
        asker = None if is_organiser else self._reporters.asker(asked.caller, message.query_type)
        answer = queries.respond(self.league, message, asker, self.reachability.known)
        name = queries.spelled(message.query_type)
        if answer.data and name in self._LIVE:
            self._LIVE[name](self, answer.data, is_organiser)
        self._step.reply(asked, answer)

    def _live_status(self, data: dict[str, Any], is_organiser: bool) -> None:
        """What no journal knows: who is waited for, and who was refused, by which address."""
        data |= self.rounds.awaited()
        data["not_understood"] = self._not_understood.rows()[: queries.STATUS_ROWS]
        data["awaited_answers"] = self.awaited_answers(self._step.now)
        data["awaited_reports"] = self._assignments.awaited.rows()[: queries.STATUS_ROWS]
        if is_organiser:
            data["refused_registrations"] = self.refusals.rows()
            data["contradictions"] = self._field_checks.told.rows()

    def awaited_answers(self, now: float) -> list[str]:
        """For which answers its referees have been waiting, and how long still."""
        return self._assignments.awaited.answers(now)

    def _live_match(self, data: dict[str, Any], is_organiser: bool) -> None:
        facts, assignments = data["match"], self._assignments
        if facts["state"] not in (None, "FINISHED") and self.league.phase is Phase.RUNNING:
            words = self.rounds.notice or assignments.awaited.in_words(facts["match_id"])
            facts |= {"awaited": words} if words else {}
            facts["state"] = assignments.leases.state(facts["match_id"]) or facts["state"]

    def _command(self, asked: Asked, message: messages.LeagueCommand) -> None:
        said = self.organiser.obey(asked.caller.token, message.command, message.params)
        if not said.startswith(notices.BEGUN):  # The organiser was told more of that.
            self._step.notify(said)
        self._step.reply(asked, messages.LeagueCommandResponse(message.command, said))

    _STIMULI: ClassVar[dict[type, Callable[..., None]]] = {
        Started: _started,
        Asked: _asked,
        Answered: lambda self, answer: self._CALLS[type(answer.key)](self, answer.key, answer),
        Told: _told,
        Woken: _woken,
    }
    _MESSAGES: ClassVar[dict[type[messages.Message], Callable[..., None]]] = {
        messages.LeagueRegisterRequest: _register,
        messages.RefereeRegisterRequest: _register,
        messages.LockRequest: _lock,
        messages.MatchResultReport: _report,
        messages.RefereeStatus: _status,
        messages.LeagueQuery: _query,
        messages.LeagueCommand: _command,
    }
    _LIVE: ClassVar[dict[str, Callable[["Manager", dict[str, Any], bool], None]]] = {
        "GET_STATUS": _live_status,
        "GET_MATCH": _live_match,
    }
    _CALLS: ClassVar[dict[type, Callable[["Manager", Any, Answered], None]]] = {
        keys.OutboxCall: _message_answered,
        keys.EndpointLook: _looked_at,
        keys.ProofCall: _proof_answered,
        keys.StartCall: _start_answered,
        keys.ControlCall: _control_answered,
        keys.ErrorCall: lambda self, key, answer: self._step.erring.discard(key.agent_id),
    }
    _SUBJECTS: ClassVar[dict[type, Callable[..., None]]] = {
        keys.MatchesAssigned: lambda self, who, key, error: self._assignments.heard_by(
            who, key.matches, error
        ),
        keys.RoundAnnounced: lambda self, who, key, _: self.rounds.announced_to(who, key.round_id),
        keys.RefereeChanged: lambda self, who, key, error: self._assignments.referee_notices.told(
            who, key.match_id
        ),
        keys.ResultTold: lambda self, who, key, error: self._result_notices.told(who, key.match_id),
        keys.RoundEndTold: lambda self, who, key, _: self.rounds.round_end_told(who, key.round_id),
        keys.LeagueEndTold: lambda self, who, key, error: None,  # `end_if_told` follows.
    }
    _TIMERS: ClassVar[dict[type, Callable[["Manager", Any], None]]] = {
        keys.LeagueStartDue: lambda self, key: self.rounds.due(),
        keys.ListenersDue: lambda self, key: self.rounds.start_if_complete(),
        keys.RoundStartDue: lambda self, key: self.rounds.begin(),
        keys.AnnouncementAnswersDue: lambda self, key: self.rounds.stop_waiting(key.round_id),
        keys.TableDue: lambda self, key: self.rounds.table_due(),
        keys.StageTimeDue: lambda self, key: self.rounds.stage_time_due(key.stage),
        keys.LeagueEndDue: lambda self, key: self.rounds.end_due(),
        keys.LeaseCheck: lambda self, key: self._assignments.check_leases(),
        keys.RefereeWaitOver: lambda self, key: self._assignments.give_up_unassigned(),
        keys.AssignAgain: lambda self, key: self._assignments.hand_out(key.agent_id),
        keys.ProofAgain: lambda self, key: self._claims.again(key.agent_id),
        keys.StartAgain: lambda self, key: self._assignments.starts.woken(key.match_id),
        keys.NewRefereeAnswersDue: lambda self, key: self._assignments.referee_notices.stop_waiting(
            key.match_id
        ),
    }
