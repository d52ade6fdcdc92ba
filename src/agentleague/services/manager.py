"""The manager as a role: registers agents, draws up rounds, decides matches, keeps the table.

It decides by what its League holds, records each decision, and only then acts on it.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import msgspec

from agentleague.errors import (
    AlreadyComplete,
    LeagueError,
    NoAnswer,
    RegistrationRefused,
    TokenInvalid,
)
from agentleague.games.game import Game
from agentleague.league import queries
from agentleague.league.admission import Terms, admit_player, admit_referee, rejection
from agentleague.league.bulletins import SENDER, Bulletins
from agentleague.league.court import Court
from agentleague.league.events import (
    LeagueEnded,
    LeagueOpened,
    LeagueStarted,
    MatchClosed,
    RoundEnded,
    RoundScheduled,
    ScheduledMatch,
)
from agentleague.league.league import League, Phase
from agentleague.protocol import tokens
from agentleague.protocol.messages import (
    LeagueCommand,
    LeagueQuery,
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    LockRequest,
    MatchResultAck,
    MatchResultReport,
    Message,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
    RefereeStatus,
    RefereeStatusAck,
    RoundMatch,
)
from agentleague.protocol.timestamps import Calendar
from agentleague.roles.effects import Address, Effect, End, Event, Record, Reply, WakeAt
from agentleague.roles.stimuli import Answered, Asked, Started, Stimulus, Woken
from agentleague.services import news
from agentleague.services.outbox import Letter, Outbox
from agentleague.services.settings import ManagerSettings, Secrets
from agentleague.services.workload import Workload

MATCHES_A_LETTER = 20
AGAIN_SECONDS = 1.0  # before an assignment is sent again to a referee that did not answer


class Manager:
    """One league. `check_endpoint` raises EndpointNotAllowed for one that may not be called."""

    def __init__(
        self,
        settings: ManagerSettings,
        secrets: Secrets,
        game: Game,
        check_endpoint: Callable[[str], None] = lambda url: None,
    ) -> None:
        self.league = League()
        self.news: deque[str] = deque(maxlen=100)  # sentences for whoever runs it
        self.seconds = 0.0  # from the first announcement to the last LEAGUE_COMPLETED
        self._settings, self._secrets, self._game = settings, secrets, game
        self._terms = Terms(
            secrets.token_secret, settings.players_max, settings.referees_max, check_endpoint
        )
        self._court = Court(self.league, game, secrets.draw_secret)
        self._bulletins = Bulletins(self.league)
        self._calendar = Calendar(0.0)
        self._outbox = Outbox(settings.reply_seconds)
        self._unheard: set[str] = set()  # players whose answer to the announcement is awaited
        self._absent: set[str] = set()  # players who let a message run out; not waited for
        self._workload = Workload(lambda match_id: match_id in self.league.open_matches)
        self._channels: dict[str, bytes] = {}  # player -> what its match tokens are made from
        self._table_at = float("-inf")  # when the table was last sent
        self._table_timer = False
        self._over = False
        self._began = self._now = 0.0
        self._out: list[Effect] = []

    def handle(self, stimulus: Stimulus, now: float) -> Sequence[Effect]:
        """Decide; every event among the effects is applied already."""
        self._now, self._out = now, []
        self._STIMULI[type(stimulus)](self, stimulus)
        return self._out

    def apply(self, event: Event) -> None:
        """Take in one decision, live or on replay."""
        self.league.apply(event)

    @property
    def applied(self) -> int:
        """How many decisions it has taken in."""
        return self.league.seq

    def is_known(self, token: str | None) -> bool:
        """Whether a token is one of ours: such callers are not rate limited."""
        return self.league.roster.owner(token) is not None

    # What happens

    def _started(self, stimulus: Started) -> None:
        self._calendar = Calendar(stimulus.wall_offset)
        settings = self._settings
        self._record(
            LeagueOpened(
                settings.league_id,
                settings.game_type,
                settings.rules,
                settings.cycles,
                (settings.win_points, settings.draw_points, settings.loss_points),
                list(settings.tie_breaks),
                settings.seeded,
            )
        )

    def _asked(self, stimulus: Asked) -> None:
        try:
            self._MESSAGES[type(stimulus.message)](self, stimulus, stimulus.message)
        except LeagueError as error:
            self._out.append(Reply(stimulus.reply, error))

    def _answered(self, stimulus: Answered) -> None:
        assert isinstance(stimulus.key, tuple)
        agent_id: str = stimulus.key[1]
        ran_out = isinstance(stimulus.error, NoAnswer)
        (self._absent.add if ran_out else self._absent.discard)(agent_id)
        address = self._address(agent_id)
        tag, calls = self._outbox.answered(address, self._now, ran_out=ran_out)
        self._out += calls
        if tag == "announcement":
            self._heard(agent_id)
        elif isinstance(tag, tuple) and stimulus.error:
            self._workload.give_back(agent_id, tag)
            self._out.append(WakeAt(("assign", agent_id), self._now + AGAIN_SECONDS))
        if self.league.phase is Phase.COMPLETED and self._outbox.is_empty():
            self._end()

    def _woken(self, stimulus: Woken) -> None:
        if stimulus.key == "table":
            self._table_timer = False
            if self.league.open_matches:
                self._tell_table()
            return
        if stimulus.key == "end":
            self._end()
            return
        assert isinstance(stimulus.key, tuple)
        self._assign(stimulus.key[1])

    # What is asked

    def _register_player(self, asked: Asked, message: LeagueRegisterRequest) -> None:
        try:
            event, answer = admit_player(self.league, self._terms, message, asked.caller.source)
        except RegistrationRefused as error:
            answer = LeagueRegisterResponse(**rejection(error, "LEAGUE_REGISTER_REQUEST"))
        else:
            self._record(event)
            self.news.append(news.joined(self.league, event.player_id, self._settings))
        self._reply(asked, answer)
        self._start_if_complete()

    def _register_referee(self, asked: Asked, message: RefereeRegisterRequest) -> None:
        try:
            event, answer = admit_referee(self.league, self._terms, message)
        except RegistrationRefused as error:
            answer = RefereeRegisterResponse(**rejection(error, "REFEREE_REGISTER_REQUEST"))
        else:
            self._record(event)
            self._workload.join(event.referee_id, event.capacity)
            self.news.append(news.joined(self.league, event.referee_id, self._settings))
        self._reply(asked, answer)
        self._start_if_complete()

    def _lock(self, asked: Asked, message: LockRequest) -> None:
        ruling = self._court.lock(self.league.roster.referee_of(asked.caller.token), message)
        for event in ruling.events:
            self._record(event)
        file = self.league.matches.get(message.match_id)
        self._reply(asked, ruling.answer, file.decided_seq if file and ruling.receipt else None)
        if file and file.decided and ruling.events:
            self._table_changed()

    def _report(self, asked: Asked, message: MatchResultReport) -> None:
        referee_id = self.league.roster.referee_of(asked.caller.token)
        ruling = self._court.report(referee_id, message)
        if self.league.phase is Phase.COMPLETED and isinstance(ruling.answer, LeagueError):
            raise AlreadyComplete("the league is over and its results stand")
        for event in ruling.events:
            self._record(event)
        file = self.league.matches.get(message.match_id)
        answer = ruling.answer
        if isinstance(answer, MatchResultAck):
            answer = self._with_next_match(referee_id, answer)
        self._reply(asked, answer, file.decided_seq if file and ruling.receipt else None)
        closed = any(isinstance(event, MatchClosed) for event in ruling.events)
        if closed and not self.league.open_matches:
            self._end_round()

    def _with_next_match(self, referee_id: str, ack: MatchResultAck) -> MatchResultAck:
        self._workload.done(referee_id, ack.match_id)
        if not self.league.roster.referees[referee_id].locks:
            self._assign(referee_id)  # Of another make: it looks for matches in letters only.
            return ack
        more = self._workload.take_after(referee_id, ack.match_id)
        return msgspec.structs.replace(ack, matches=self._assigned(more)) if more else ack

    def _status(self, asked: Asked, message: RefereeStatus) -> None:
        self.league.roster.referee_of(asked.caller.token)
        self._reply(asked, RefereeStatusAck())

    def _command(self, asked: Asked, message: LeagueCommand) -> None:
        raise TokenInvalid("auth_token is not the organiser's")

    def _query(self, asked: Asked, message: LeagueQuery) -> None:
        self._reply(asked, queries.respond(self.league, message, asked.caller.token))

    # What the manager does by itself

    def _start_if_complete(self) -> None:
        roster, settings = self.league.roster, self._settings
        wanted = max(settings.players or 0, 2)
        if (
            self.league.phase is Phase.REGISTERING
            and settings.players
            and len(roster.players) >= wanted
            and len(roster.referees) >= settings.referees
        ):
            self._began = self._now
            self._record(LeagueStarted(list(roster.players)))
            self._announce_round(1)

    def _announce_round(self, round_id: int) -> None:
        assert self.league.schedule
        planned = self.league.schedule.round(round_id)
        self._workload.begin_round()
        referees = self._workload.referees
        matches = [
            ScheduledMatch(
                *pairing, referees[n % len(referees)], self._court.commitment(pairing[0])
            )
            for n, pairing in enumerate(planned.pairings)
        ]
        self._record(RoundScheduled(round_id, matches, list(planned.byes)))
        for match in matches:
            self._workload.plan(match.referee_id, match.match_id)
        players, rows = self.league.roster.players, self._bulletins.match_rows()
        self._unheard = set(players) - self._absent
        now_text = self._calendar.write(self._now)
        for player_id in players:
            message = self._bulletins.announcement(now_text, rows, player_id)
            self._tell(player_id, message, "announcement")
        if not self._unheard:
            self._assign_all()

    def _heard(self, player_id: str) -> None:
        if player_id in self._unheard:
            self._unheard.discard(player_id)
            if not self._unheard:
                self._assign_all()

    def _assign_all(self) -> None:
        for referee_id in self._workload.referees:
            self._assign(referee_id)

    def _assign(self, referee_id: str) -> None:
        # A referee that does not lock is of another make: one match a letter, as small as it gets.
        is_ours = self.league.roster.referees[referee_id].locks
        while matches := self._workload.take(referee_id, MATCHES_A_LETTER if is_ours else 1):
            now_text, session = self._calendar.write(self._now), self._session(referee_id)
            message = self._bulletins.assignment(now_text, self._assigned(matches), session)
            self._tell(referee_id, message, tuple(matches))

    def _session(self, referee_id: str) -> str:
        secret, league_id = self._secrets.token_secret, self.league.rules.league_id
        return tokens.session(secret, league_id, referee_id, 1)

    def _assigned(self, matches: Sequence[str]) -> list[RoundMatch]:
        files = [self.league.matches[match_id] for match_id in matches]
        return [self._bulletins.assigned(file, self._channel) for file in files]

    def _table_changed(self) -> None:
        if not self._table_timer and self.league.open_matches:
            self._table_timer = True
            due = self._table_at + self._settings.standings_seconds
            self._out.append(WakeAt("table", max(due, self._now)))

    def _tell_table(self) -> None:
        self._table_at = self._now
        rows, now_text = self._bulletins.table_rows(), self._calendar.write(self._now)
        for player_id in self.league.roster.players:
            self._tell(player_id, self._bulletins.standings(now_text, rows, player_id))

    def _end_round(self) -> None:
        league = self.league
        assert league.schedule
        self._record(RoundEnded(league.round_id))
        self.news.append(news.round_over(league))
        self._tell_table()
        ended = self._bulletins.round_completed(self._calendar.write(self._now))
        for agent_id in self._everybody():
            self._tell(agent_id, ended, None, league.round_ended_seq)
        if league.round_id < league.schedule.rounds_total:
            self._announce_round(league.round_id + 1)
            return
        self._record(LeagueEnded(league.table.rows()[0].player_id))
        rows, now_text = self._bulletins.table_rows(), self._calendar.write(self._now)
        for agent_id in self._everybody():
            message = self._bulletins.league_completed(now_text, rows, agent_id)
            if agent_id in league.roster.referees:
                message = msgspec.structs.replace(message, session=self._session(agent_id))
            self._tell(agent_id, message)
        self._out.append(WakeAt("end", self._now + self._settings.reply_seconds))

    def _end(self) -> None:
        """Everybody was told, or had as long as a reply may take."""
        if not self._over:
            self._over, self.seconds = True, self._now - self._began
            self._out.append(End(self.league))

    # Small things

    def _record(self, event: Event) -> None:
        self.apply(event)
        self._out.append(Record(event))

    def _tell(
        self, agent_id: str, message: Message, tag: Any = None, receipt: int | None = None
    ) -> None:
        letter = Letter(message, tag, receipt)
        self._out += self._outbox.send(self._address(agent_id), letter, self._now)

    def _reply(
        self, asked: Asked, answer: Message | LeagueError, receipt: int | None = None
    ) -> None:
        if isinstance(answer, Message):
            answer = msgspec.structs.replace(
                answer,
                sender=SENDER,
                timestamp=self._calendar.write(self._now),
                conversation_id=asked.message.conversation_id,
            )
            if asked.caller.missing and hasattr(answer, "warnings"):
                answer = msgspec.structs.replace(answer, warnings=_warnings(asked.caller.missing))
        self._out.append(Reply(asked.reply, answer, receipt))

    def _address(self, agent_id: str) -> Address:
        roster = self.league.roster
        member = roster.players.get(agent_id) or roster.referees[agent_id]
        return Address(agent_id, member.endpoint)

    def _everybody(self) -> list[str]:
        return [*self.league.roster.players, *self.league.roster.referees]

    def _channel(self, player_id: str) -> bytes:
        if player_id not in self._channels:
            secret, league_id = self._secrets.token_secret, self.league.rules.league_id
            token = tokens.league_token(secret, league_id, player_id, 1)
            self._channels[player_id] = tokens.channel_key(token)
        return self._channels[player_id]

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


def _warnings(missing: Sequence[str]) -> list[str]:
    return [f"{path} was missing" for path in missing]
