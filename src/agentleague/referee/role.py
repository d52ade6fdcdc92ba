"""The referee as a role: registers, takes assignments, runs each match, reports."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from msgspec import UNSET
from msgspec.structs import replace

from agentleague.errors import (
    InternalError,
    MatchMismatch,
    PeerRefused,
    TokenInvalid,
    UnexpectedMessage,
)
from agentleague.games.game import Game
from agentleague.match.machine import MANAGER, STATE, Match, Phase
from agentleague.match.messages import Assignment, RefereeIdentity
from agentleague.protocol.messages import (
    ChooseParityResponse,
    GameJoinAck,
    GameMoveResponse,
    LeagueCompleted,
    LeagueCompletedAck,
    MatchResultReport,
    MatchStateRequest,
    MatchStateResponse,
    Message,
    PushAck,
    RefereeMeta,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
    RefereeStatus,
    RoundAnnouncement,
    RoundAnnouncementAck,
    RoundCompleted,
    RoundCompletedAck,
    RoundMatch,
    Rules,
    StartMatch,
)
from agentleague.referee.foreign_manager import (
    GAME_TYPE,
    AnswerBy,
    Done,
    ForeignManager,
    Terms,
    WhereIs,
)
from agentleague.roles import agent
from agentleague.roles.agent import REGISTRATION_KEY, Agent, Handler
from agentleague.roles.effects import Call, Drop, Effect, End, WakeAt
from agentleague.roles.settings import RefereeSettings
from agentleague.roles.stimuli import Answered, Asked, Started, Woken

STATUS = "status"
UNKNOWN = ("E005", "E011", "E012")  # what a manager says to a referee it does not know
BEATS_PER_LEASE = 3
EARLY_MAX = 100  # matches that are started before the registration is answered
OWN_DRAWS = (
    "This manager locks no moves: the referee draws the numbers and counts 3, 1 and 0 points."
)
WITH_MANAGER = (Phase.RECOVERING, Phase.LOCKING, Phase.REPORTING)  # what waits for its answer


class Referee(Agent):
    """Runs many matches at once; what it holds is lost with it, and nothing of that matters."""

    KIND = "referee"

    def __init__(
        self, settings: RefereeSettings, load_game: Callable[[str], Game], secret: bytes = b""
    ) -> None:
        self.matches: dict[str, Match] = {}
        self._closed: dict[str, int] = {}  # epochs of this round's matches that came again
        self._spoken: dict[str, str] = {}  # player -> how it was understood, where not at once
        super().__init__(settings)
        self._settings, self._load_game = settings, load_game
        self._identity: RefereeIdentity | None = None
        self._secret = secret  # what it draws from where the manager does not draw; without: never
        self._early: list[Asked] = []
        self._foreign_manager: ForeignManager | None = None  # at a manager of another make
        self._beat_seconds = 0.0  # between two signs of life; none are wanted: 0
        self._rules = Rules()
        self._round_id = 0
        self._over = False

    def registration(self, now: float) -> Message:
        """It locks, and says how many matches it takes."""
        settings = self._settings
        return RefereeRegisterRequest(
            RefereeMeta(
                settings.display_name,
                settings.endpoint,
                settings.version,
                list(settings.game_types),
                settings.max_concurrent_matches,
                "2.1.0",
                locks=True,
            ),
            sender=f"referee:{settings.display_name}"[:64],
            timestamp=self._calendar.write(now),
            conversation_id="conv-referee-register",
        )

    def _answered(self, stimulus: Answered, now: float) -> list[Effect]:
        if stimulus.key == REGISTRATION_KEY:
            return self._registered(stimulus, now)
        if stimulus.key == STATUS:
            return self._status_answered(stimulus, now)
        if stimulus.key == agent.CONTACT_KEY:
            return self.told_whether_reachable(stimulus, now)
        key: Any = stimulus.key
        if isinstance(key, WhereIs):
            return self._visit(
                lambda foreign_manager: foreign_manager.answered(key, stimulus, now), now
            )
        match = self.matches.get(key[0])
        if match is None:
            return []
        if (
            self._foreign_manager
            and key[1] == "report"
            and self._foreign_manager.report_failed(match, stimulus)
        ):
            return match.abandon() + self._close(match, now)
        if stimulus.dialect and key[2] != MANAGER:
            self._spoken[match.players[key[2]].agent_id] = stimulus.dialect
        step = partial(
            match.answered,
            key,
            stimulus.message,
            stimulus.error,
            now,
            is_last=stimulus.is_last,
        )
        return self._run(match, step, now)

    def _registered(self, stimulus: Answered, now: float) -> list[Effect]:
        effects = self.registered(stimulus, now)
        message = stimulus.message
        if not isinstance(message, RefereeRegisterResponse) or message.status != "ACCEPTED":
            return effects
        me = self._enrolment
        self._identity = RefereeIdentity(
            me.agent_id, self._settings.endpoint, me.token, self._calendar
        )
        self._beat_seconds = me.lease_seconds / BEATS_PER_LEASE
        if self._secret and not me.session:
            at_once, patience = self._settings.max_concurrent_matches, self._settings.reply_seconds
            terms = Terms(me.league_id, at_once, patience, self._secret)
            self._foreign_manager = ForeignManager(me.manager, self._identity, terms, self.reply)
            self.news.append(OWN_DRAWS)
        early, self._early = self._early, []
        effects = [*effects, *self._beat_again(now)]
        return effects + [effect for asked in early for effect in self.asked(asked, now)]

    def _woken(self, stimulus: Woken, now: float) -> list[Effect]:
        if stimulus.key == REGISTRATION_KEY:
            return self.register(now)
        if stimulus.key == STATUS:
            return self._beat(now)
        if stimulus.key == agent.CONTACT_KEY:
            return self.ask_whether_reachable(now)
        key: Any = stimulus.key
        if isinstance(key, AnswerBy):
            return self._visit(lambda foreign_manager: Done(foreign_manager.woken(key, now)), now)
        match = self.matches.get(key[0])
        if match and self._over and match.phase in WITH_MANAGER:
            return match.abandon() + self._close(match, now)  # Its manager may be gone for good.
        return self._run(match, lambda: match.woken(now), now) if match else []

    def _beat(self, now: float) -> list[Effect]:
        """Tell the manager that we are here, and which matches we are at."""
        status = RefereeStatus(
            self._enrolment.session,
            list(self.matches),
            sender=f"referee:{self.agent_id}",
            timestamp=self._calendar.write(now),
            conversation_id="conv-referee-status",
            auth_token=self._enrolment.token,
        )
        call = Call(STATUS, self._enrolment.manager, status, now + self._beat_seconds)
        return [call, *self._beat_again(now)]

    def _beat_again(self, now: float) -> list[Effect]:
        return [WakeAt(STATUS, now + self._beat_seconds)] if self._beat_seconds > 0 else []

    def _status_answered(self, stimulus: Answered, now: float) -> list[Effect]:
        """A manager that does not know us has begun anew: so do we, with the token we have."""
        error = stimulus.error
        if not isinstance(error, PeerRefused) or error.context.get("code") not in UNKNOWN:
            return []
        self.news.append("The manager does not know this referee any more; registering again.")
        return [Drop(STATUS), *self.register(now)]

    def _started(self, asked: Asked, message: StartMatch, now: float) -> list[Effect]:
        """A manager of another make starts a match; ours announces them."""
        if self._is_early(asked):
            return []
        if self._foreign_manager is None:
            raise UnexpectedMessage("matches come to this referee in ROUND_ANNOUNCEMENT")
        for match in message.matches:
            self._load_game(match.game_type or GAME_TYPE)
        return self._visit(lambda foreign_manager: foreign_manager.start(asked, message, now), now)

    def _is_early(self, asked: Asked) -> bool:
        """Whether it came before the answer to the registration; then it waits for that."""
        if self.agent_id or not self._secret or len(self._early) >= EARLY_MAX:
            return False
        self._early.append(asked)
        return True

    def _visit(self, step: Callable[[ForeignManager], Done], now: float) -> list[Effect]:
        """One step at a manager of another make, and the matches that begin with it."""
        assert self._foreign_manager
        done = step(self._foreign_manager)
        self.news.extend(self._foreign_manager.news)
        self._foreign_manager.news.clear()
        effects = done.effects
        for given in done.begun:
            where = (given.league_id, given.round_id)
            effects += self._take(self._foreign_manager.seated(given), now, where)
        return effects

    def _announced(self, asked: Asked, message: RoundAnnouncement, now: float) -> list[Effect]:
        if message.session is UNSET and self._is_early(asked):
            return []
        ack = RoundAnnouncementAck(player_id=self.agent_id, round_id=message.round_id)
        if self._foreign_manager:
            begun = self._visit(
                lambda foreign_manager: foreign_manager.announced(asked, message, now), now
            )
            return [self.reply(asked, ack, now), *begun]
        if not self._enrolment.session or message.session != self._enrolment.session:
            raise TokenInvalid("session is not the one this referee was given when it registered")
        for match in message.matches:
            self._load_game(match.game_type)  # One is missing: all are refused.
        if message.round_id != self._round_id:
            self._round_id, self._closed = message.round_id, {}
        if message.rules is not UNSET:
            self._rules = message.rules
        return [self.reply(asked, ack, now), *self._begin(message.matches, now)]

    def _begin(self, matches: Sequence[RoundMatch], now: float) -> list[Effect]:
        effects: list[Effect] = []
        for match in matches:
            if match.seats is not UNSET and match.epoch is not UNSET:
                effects += self._take(match, now)
        return effects

    def _take(
        self, described: RoundMatch, now: float, where: tuple[str, int] | None = None
    ) -> list[Effect]:
        """A new match, or one that we have: with other players' addresses, or a later epoch."""
        assert described.seats is not UNSET
        assert described.epoch is not UNSET
        open_match = self.matches.get(described.match_id)
        if open_match and described.epoch == open_match.epoch:
            open_match.reseat(described.seats)
            return []
        known = open_match.epoch if open_match else self._closed.get(described.match_id, 0)
        if described.epoch <= known:
            return []
        dropped = open_match.abandon() if open_match else []
        try:
            match = self._match(described, where or (self._enrolment.league_id, self._round_id))
        except Exception as bug:  # The game is a plug-in.
            return dropped + self._drop(described.match_id, described.epoch, bug, now)
        self.matches[described.match_id] = match
        return [*dropped, *self._run(match, lambda: match.start(now), now)]

    def _match(self, described: RoundMatch, where: tuple[str, int]) -> Match:
        assert self._identity
        assert described.seats is not UNSET
        assert described.epoch is not UNSET
        assignment = Assignment(*where, described, described.seats, described.epoch, self._rules)
        game = self._load_game(described.game_type)
        if self._foreign_manager:
            self._foreign_manager.adjudicator.open(assignment, game)
        return Match(assignment, game, self._identity, self._enrolment.manager)

    def _drop(self, match_id: str, epoch: int, bug: Exception, now: float) -> list[Effect]:
        """A bug in a game is our fault, and another referee may have the match."""
        why = f"{match_id} was dropped: {type(bug).__name__}: {bug}"[:500]
        self.news.append(why)
        self.matches.pop(match_id, None)
        if self._foreign_manager:
            return self._visit(
                lambda foreign_manager: foreign_manager.closed(match_id, InternalError(why)), now
            )
        self._closed[match_id] = epoch
        return []

    def _run(self, match: Match, step: Callable[[], list[Effect]], now: float) -> list[Effect]:
        """One step of a match, and of nothing else."""
        try:
            effects = step()
            if self._foreign_manager:
                effects = self._foreign_manager.settled(match, effects, now)
        except Exception as bug:  # The game is a plug-in.
            dropped = self._drop(match.match_id, match.epoch, bug, now)
            return match.abandon() + dropped + self._end_if_over()
        if self._spoken and not self._foreign_manager and match.phase is Phase.REPORTING:
            effects = [self._with_dialects(match, effect) for effect in effects]
        return effects + self._close(match, now) if match.phase is Phase.CLOSED else effects

    def _with_dialects(self, match: Match, effect: Effect) -> Effect:
        """A report also says how the players were understood, if the manager told us otherwise."""
        if not (isinstance(effect, Call) and isinstance(effect.message, MatchResultReport)):
            return effect
        spoken = {each.agent_id: self._spoken.get(each.agent_id, "") for each in match.players}
        told = {each.agent_id: each.dialect for each in match.players}
        news = {who: dialect for who, dialect in spoken.items() if dialect not in ("", told[who])}
        report = replace(effect.message, dialects=news or UNSET)
        return replace(effect, message=report)

    def _close(self, match: Match, now: float) -> list[Effect]:
        del self.matches[match.match_id]
        if self._foreign_manager:
            begun = self._visit(lambda foreign_manager: foreign_manager.closed(match.match_id), now)
            return begun + self._end_if_over()
        self._closed[match.match_id] = match.epoch
        more = match.closing.matches if match.closing else UNSET
        effects = [] if more is UNSET else self._begin(more, now)
        return effects + self._end_if_over()

    def _end_if_over(self) -> list[Effect]:
        if not self._over or self.matches:
            return []
        stop: list[Effect] = [Drop(STATUS)] if self._beat_seconds > 0 else []
        return [*stop, End()]

    def _round_completed(self, asked: Asked, message: RoundCompleted, now: float) -> list[Effect]:
        ack = RoundCompletedAck(player_id=self.agent_id, round_id=message.round_id)
        return [self.reply(asked, ack, now)]

    def _league_completed(self, asked: Asked, message: LeagueCompleted, now: float) -> list[Effect]:
        own = self._enrolment.session
        if self._foreign_manager and not self._foreign_manager.is_manager(asked.caller):
            raise TokenInvalid("only the manager ends the league")
        if not self.agent_id or (own and message.session != own):
            raise TokenInvalid("session is not the one this referee was given when it registered")
        self._over = True
        if message.aborted is True:  # The manager tells the players what is decided.
            self.matches.clear()
        reply = self.reply(asked, LeagueCompletedAck(player_id=self.agent_id), now)
        return [reply, *self._end_if_over()]

    def _match_state(self, asked: Asked, message: MatchStateRequest, now: float) -> list[Effect]:
        match = self._at(message.match_id)
        state = MatchStateResponse(
            match.match_id, STATE[match.phase], match.epoch, match.turn, match.waiting_for()
        )
        return [self.reply(asked, state, now)]

    def _pushed(self, asked: Asked, message: Any, now: float) -> list[Effect]:
        """A join or move that did not come as the answer to our call."""
        match, caller = self._at(message.match_id), asked.caller
        if self._foreign_manager:  # Nobody told us any tokens: what an address says has to do.
            message, caller = replace(message, auth_token=UNSET), replace(caller, token=None)
        pusher = match.admit(message, caller)
        effects = self._run(match, lambda: match.pushed(pusher, message, now), now)
        return [self.reply(asked, PushAck(), now), *effects]

    def _at(self, match_id: str) -> Match:
        match = self.matches.get(match_id)
        if match is None:
            raise MatchMismatch(f"this referee is not at match {match_id!r}")
        return match

    STIMULI: ClassVar[dict[type, Handler]] = {
        Started: Agent.started,
        Asked: Agent.asked,
        Answered: _answered,
        Woken: _woken,
    }
    MESSAGES: ClassVar[dict[type[Message], Handler]] = {
        RoundAnnouncement: _announced,
        StartMatch: _started,
        RoundCompleted: _round_completed,
        LeagueCompleted: _league_completed,
        MatchStateRequest: _match_state,
        GameJoinAck: _pushed,
        ChooseParityResponse: _pushed,
        GameMoveResponse: _pushed,
    }
