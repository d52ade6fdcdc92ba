"""The referee as a role: registers, takes assignments, runs each match, reports."""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, ClassVar

from msgspec import UNSET, Struct
from msgspec.structs import replace

from agentleague.dialects.complaints import in_vain, note_of, read_note
from agentleague.dialects.table import LOST, OURS
from agentleague.errors import (
    NOT_CALLED,
    InternalError,
    LeagueError,
    MatchMismatch,
    NoConnection,
    PeerRefused,
    TokenInvalid,
    UnexpectedMessage,
)
from agentleague.games.game import Game
from agentleague.match import machine
from agentleague.match.messages import Conditions, RefereeIdentity
from agentleague.protocol import messages
from agentleague.protocol.tokens import PROOF_HEADER
from agentleague.referee.foreign_manager import (
    GAME_TYPE,
    LIMITS,
    ForeignManager,
    RefereeLimits,
    Setup,
    StartReplyTimer,
)
from agentleague.referee.foreign_reports import OpenQuery
from agentleague.referee.manager_queries import EndpointCheck, EndpointQuery, PollKey
from agentleague.roles.agent import Agent, Handler, ReachabilityKey, RegisterKey
from agentleague.roles.effects import Address, Call, Drop, Effect, End, Reply, WakeAt
from agentleague.roles.settings import RefereeSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Woken
from agentleague.roles.tally import Tally

UNKNOWN_REFEREE = ("E005", "E011", "E012")  # errors by which a manager shows that it forgot us
OWN_DRAWS = (
    "This manager locks no moves: the referee draws the numbers and counts 3, 1 and 0 points."
)
NOT_NEEDED = "This manager says itself where players are: what --player says does not count."


def _order(receipt: messages.Receipt) -> tuple[int, int]:
    return receipt.generation or 0, receipt.seq


class StatusKey(Struct, frozen=True, gc=False):
    """The key of a sign of life, and of the timer until the next."""


def _at_foreign_manager(step: Callable[[ForeignManager, Any, float], list[Effect]]) -> Handler:
    """The handler of an answer or a timer that only a referee at a foreign manager can get."""

    def handle(referee: "Referee", stimulus: Any, now: float) -> list[Effect]:
        assert referee._foreign_manager
        return referee._with_begun(step(referee._foreign_manager, stimulus, now), now)

    return handle


class Referee(Agent):
    """Runs many matches at once; it may lose all that it holds, and another referee goes on."""

    KIND = "referee"

    def __init__(
        self,
        settings: RefereeSettings,
        load_game: Callable[[str], Game],
        secret: bytes = b"",
        limits: RefereeLimits = LIMITS,
    ) -> None:
        super().__init__(settings, limits)
        self.matches: dict[str, machine.Match] = {}
        self.ended, self.tally = 0, Tally()  # of the matches that ended here
        self._settings, self._load_game, self._limits = settings, load_game, limits
        self._closed: dict[str, int] = {}  # match of this round -> epoch in which it was closed
        self._in_vain: set[str] = set()  # players that understood no dialect
        self._is_refusing = False  # whether it said that it may not call a player
        self._dialects: dict[str, str] = {}  # player -> dialect that was found by trying
        self._identity: RefereeIdentity | None = None
        self._secret = secret  # what it draws from where the manager does not draw; without: never
        self._early: list[Asked] = []
        self._foreign_manager: ForeignManager | None = None
        self.unchecked: deque[tuple[EndpointCheck, str]] = deque()  # where players may be
        self._status_seconds = 0.0  # between two signs of life; 0: none are wanted
        self._rules = messages.Rules()
        self._round_id = 0
        self._conditions: dict[str, Conditions] = {}  # of this round, by game
        self._is_league_over = self._is_manager_away = False

    def registration_request(self, now: float) -> messages.Message:
        """It locks, and says how many matches it takes."""
        settings = self._settings
        return messages.RefereeRegisterRequest(
            messages.RefereeMeta(
                settings.display_name,
                settings.endpoint,
                settings.version,
                list(settings.game_types),
                settings.max_concurrent_matches,
                "2.1.0",
                locks=True,
                proofs=True,
                referee_code=settings.referee_code or UNSET,
            ),
            sender=self.sender,
            timestamp=self._calendar.write(now),
            conversation_id="conv-referee-register",
        )

    def _call_answered(self, stimulus: Answered, now: float) -> list[Effect]:
        key: Any = stimulus.key
        match = self.matches.get(key.match_id)
        if match is None:
            return []
        if stimulus.error and isinstance(key, machine.InvitationCall | machine.MoveCall):
            self._say_if_in_vain(match.players[key.seat], stimulus.error)
            why = stimulus.error.context.get(NOT_CALLED)
            if why and not self._foreign_manager:
                return self._give_back(match, match.players[key.seat], why)
        effects, dialect = self._run(match, match.answered, stimulus, now), stimulus.dialect
        if not dialect or not isinstance(key, machine.PlayerCall):
            return effects
        if match.is_lost(key.seat) or not dialect.endswith(LOST):
            self._dialects[match.players[key.seat].agent_id] = dialect
        return effects

    def _lock_answered(self, stimulus: Answered, now: float) -> list[Effect]:
        """A manager that lost rows gives receipts of earlier ones: they prove nothing."""
        message, held = stimulus.message, self._registration.receipt
        receipt = message.receipt if isinstance(message, messages.LockResponse) else UNSET
        if receipt is not UNSET and (held is None or _order(receipt) > _order(held)):
            self._registration.keep(receipt)
        return self._call_answered(stimulus, now)

    def _say_if_in_vain(self, player: Address, error: LeagueError) -> None:
        said, forms = read_note(note_of(error))
        if forms and player.agent_id not in self._in_vain:
            self._in_vain.add(player.agent_id)
            self.news.append(f"{player.agent_id} at {player.url} {in_vain(said)}.")

    def _give_back(self, match: machine.Match, player: Address, why: str) -> list[Effect]:
        """This referee may not call a player: no player's fault, so another may get the match."""
        if not self._is_refusing:
            self._is_refusing = True
            self.news.append(
                f"{match.match_id} goes back to the manager: this referee may not call "
                f"{player.agent_id} at {player.url}: {why}. Start it again with that."
            )
        del self.matches[match.match_id]
        self._closed[match.match_id] = match.epoch
        return match.abandon() + self._end_if_over()

    def _report_answered(self, stimulus: Answered, now: float) -> list[Effect]:
        key: Any = stimulus.key
        match, foreign = self.matches.get(key.match_id), self._foreign_manager
        more = foreign.report_answered(match, stimulus, now) if match and foreign else None
        if match and more is not None:
            return [*more] or match.abandon() + self._close(match, now)
        return self._call_answered(stimulus, now)

    def _clock_rang(self, stimulus: Woken, now: float) -> list[Effect]:
        key: Any = stimulus.key
        match = self.matches.get(key.match_id)
        if match is None:
            return []
        if self._is_league_over and match.waits_for_manager:
            return match.abandon() + self._close(match, now)  # Its manager may be gone for good.
        return self._run(match, match.woken, now)

    def _registered(self, stimulus: Answered, now: float) -> list[Effect]:
        effects = self.registered(stimulus, now)
        message = stimulus.message
        if (
            not isinstance(message, messages.RefereeRegisterResponse)
            or message.status != "ACCEPTED"
        ):
            return effects
        own, settings = self._registration, self._settings
        self._identity = RefereeIdentity(own.agent_id, settings.endpoint, own.token, self._calendar)
        self._conditions = {}
        self._status_seconds = own.lease_seconds / self._limits.status_per_lease
        if self._secret and not own.session:
            own.manager = replace(own.manager, dialect=stimulus.dialect or OURS.name)
            setup = Setup(own.league_id, settings, self._secret, self._limits)
            self._foreign_manager = ForeignManager(own.manager, self._identity, setup, self.reply)
            self.unchecked = self._foreign_manager.unchecked
            self.news.append(OWN_DRAWS)
            effects = [*effects, *self._with_begun(self._foreign_manager.wait(now), now)]
        elif settings.player_endpoints:
            self.news.append(NOT_NEEDED)
        early, self._early = self._early, []
        effects = [*effects, *self._next_status(now)]
        return effects + [effect for asked in early for effect in self.asked(asked, now)]

    def _send_status(self, stimulus: Woken, now: float) -> list[Effect]:
        """Tell the manager that this referee is alive, which matches it runs, and their states."""
        matches = self.matches.values() if len(self.matches) <= self._limits.states_max else ()
        awaited = chain.from_iterable(match.awaited(now) for match in self.matches.values())
        status = messages.RefereeStatus(
            self._registration.session,
            list(self.matches),
            receipt=self._registration.receipt or UNSET,
            states={match.match_id: machine.STATE[match.phase] for match in matches} or UNSET,
            awaited=list(islice(awaited, self._limits.awaited_max)) or UNSET,
            sender=self.sender,
            timestamp=self._calendar.write(now),
            conversation_id="conv-referee-status",
            auth_token=self._registration.token,
        )
        until = now + self._status_seconds
        call = Call(StatusKey(), self._registration.manager, status, until)
        return [call, *self._next_status(now)]

    def _next_status(self, now: float) -> list[Effect]:
        seconds = self._status_seconds
        return [WakeAt(StatusKey(), now + seconds)] if seconds > 0 else []

    def _status_answered(self, stimulus: Answered, now: float) -> list[Effect]:
        """A manager that does not know us has lost its journal: register again."""
        error, ack = stimulus.error, stimulus.message
        is_away = isinstance(error, NoConnection)
        if is_away is not self._is_manager_away:
            self._is_manager_away = is_away
            away = (
                f"The manager at {self._registration.where} is away; trying again until it is back."
            )
            self.news.append(away if is_away else "The manager is back.")
        if isinstance(ack, messages.RefereeStatusAck) and ack.waiting is not True:
            self._stop_waiting()
        if not isinstance(error, PeerRefused) or error.context.get("code") not in UNKNOWN_REFEREE:
            return []
        self.news.append("The manager does not know this referee any more; registering again.")
        return [Drop(StatusKey()), *self.register(now)]

    def _stop_waiting(self) -> None:
        """It is heard, or was given a match: it was let in."""
        if self._registration.waits:
            self._registration.waits = False
            self.news.append("The organiser let it in.")

    def _match_started(
        self, asked: Asked, message: messages.StartMatch, now: float
    ) -> list[Effect]:
        """Foreign managers start matches; ours announces them."""
        if self._is_early(asked):
            return []
        if self._foreign_manager is None:
            raise UnexpectedMessage("matches come to this referee in ROUND_ANNOUNCEMENT")
        try:
            for match in message.matches:
                self._load_game(match.game_type or GAME_TYPE)
            effects = self._foreign_manager.start(asked, message, now)
        except LeagueError as error:
            if self._foreign_manager.is_manager(asked.caller):  # Nobody else fills the screen.
                self.news.append(f"A start of the manager was refused: {error}."[:500])
            raise
        return self._with_begun(effects, now)

    def _is_early(self, asked: Asked) -> bool:
        """Whether a message came before the answer to the registration; then it waits for that."""
        if self.agent_id or not self._secret or len(self._early) >= self._limits.early_messages:
            return False
        self._early.append(asked)
        return True

    def _with_begun(self, effects: list[Effect], now: float) -> list[Effect]:
        """The effects of a step at a foreign manager, and of the matches that begin with it."""
        foreign = self._foreign_manager
        assert foreign
        self.news.extend(foreign.news)
        foreign.news.clear()
        while foreign.begun:
            assigned = foreign.begun.popleft()
            where = (assigned.league_id, assigned.round_id)
            effects += self._take(foreign.seated(assigned), now, where)
        return effects

    def _announced(
        self, asked: Asked, message: messages.RoundAnnouncement, now: float
    ) -> list[Effect]:
        if message.session is UNSET and self._is_early(asked):
            return []
        ack = messages.RoundAnnouncementAck(player_id=self.agent_id, round_id=message.round_id)
        if self._foreign_manager:
            begun = self._with_begun(self._foreign_manager.announced(asked, message, now), now)
            return [self.reply(asked, ack, now), *begun]
        if not self._registration.session or message.session != self._registration.session:
            raise TokenInvalid("session is not the one this referee was given when it registered")
        self._check_proof(asked)
        self._stop_waiting()
        for match in message.matches:
            self._load_game(match.game_type)  # One is missing: all are refused.
        self._conditions = {}
        is_again = message.round_id <= self._round_id
        if message.round_id != self._round_id:
            self._round_id, self._closed = message.round_id, {}
        if message.rules is not UNSET:
            self._rules = message.rules
        shown = self._show_receipt(now) if is_again else []
        return [self.reply(asked, ack, now), *shown, *self._begin(message.matches, now)]

    def _show_receipt(self, now: float) -> list[Effect]:
        """A manager that announces a round again may have lost rows: it learns so at once."""
        if not self._registration.receipt or self._status_seconds <= 0:
            return []
        return [Drop(StatusKey()), *self._send_status(Woken(StatusKey()), now)]

    def _check_proof(self, asked: Asked) -> None:
        own = self._registration
        if own.proofs and not own.is_proved(asked.caller):
            raise TokenInvalid(f"{PROOF_HEADER} does not prove that the manager sent this")

    def _begin(self, matches: Sequence[messages.RoundMatch], now: float) -> list[Effect]:
        return [effect for match in matches for effect in self._take(match, now)]

    def _take(
        self, described: messages.RoundMatch, now: float, where: tuple[str, int] | None = None
    ) -> list[Effect]:
        """A new match; or one that runs here, with new addresses or in a later epoch."""
        if described.seats is UNSET or described.epoch is UNSET:
            return []
        open_match = self.matches.get(described.match_id)
        if open_match and described.epoch == open_match.epoch:
            open_match.reseat(described.seats)
            return []
        known = open_match.epoch if open_match else self._closed.get(described.match_id, 0)
        if described.epoch <= known:
            return []
        dropped = open_match.abandon() if open_match else []
        try:
            match = self._match(described, where)
        except Exception as bug:  # The game is a plug-in.
            return dropped + self._drop(described.match_id, described.epoch, bug, now)
        self.matches[described.match_id] = match
        return [*dropped, *self._run(match, match.start, now)]

    def _match(
        self, described: messages.RoundMatch, where: tuple[str, int] | None
    ) -> machine.Match:
        at = self._conditions.get(described.game_type)
        if at is None or where:
            assert self._identity
            own, game = self._registration, self._load_game(described.game_type)
            where = where or (own.league_id, self._round_id)
            at = Conditions(*where, self._rules, game, self._identity, own.manager)
            self._conditions[described.game_type] = at
        if self._foreign_manager:
            self._foreign_manager.adjudicator.open(described, at)
        return machine.Match(described, at)

    def _drop(self, match_id: str, epoch: int, bug: Exception, now: float) -> list[Effect]:
        """A bug in a game is not the players' fault: another referee may get the match."""
        reason = f"{match_id} was dropped: {type(bug).__name__}: {bug}"[:500]
        self.news.append(reason)
        self.matches.pop(match_id, None)
        if self._foreign_manager:
            error = InternalError(reason)
            return self._with_begun(self._foreign_manager.closed(match_id, error), now)
        self._closed[match_id] = epoch
        return []

    def _run(
        self, match: machine.Match, step: Callable[..., list[Effect]], *given: Any
    ) -> list[Effect]:
        """One step of a match, at the time given last; a bug in its game ends this match alone."""
        now = given[-1]
        try:
            effects = step(*given)
            if self._foreign_manager:
                effects = self._foreign_manager.decide(match, effects, now)
        except Exception as bug:  # The game is a plug-in.
            dropped = self._drop(match.match_id, match.epoch, bug, now)
            return match.abandon() + dropped + self._end_if_over()
        if self._dialects and not self._foreign_manager and match.phase is machine.Phase.REPORTING:
            effects = [self._with_dialects(match, effect) for effect in effects]
        return effects + self._close(match, now) if match.phase is machine.Phase.CLOSED else effects

    def _with_dialects(self, match: machine.Match, effect: Effect) -> Effect:
        """A report also says the dialects of players that the manager does not know yet."""
        if not (
            isinstance(effect, Call) and isinstance(effect.message, messages.MatchResultReport)
        ):
            return effect
        found = {each.agent_id: self._dialects.get(each.agent_id, "") for each in match.players}
        known = {each.agent_id: each.dialect for each in match.players}
        new = {who: dialect for who, dialect in found.items() if dialect not in ("", known[who])}
        return replace(effect, message=replace(effect.message, dialects=new or UNSET))

    def _close(self, match: machine.Match, now: float) -> list[Effect]:
        del self.matches[match.match_id]
        self.ended += 1
        if match.report:
            self.tally.take(match.report.transcript or ())
        if self._foreign_manager:
            begun = self._with_begun(self._foreign_manager.closed(match.match_id), now)
            return begun + self._end_if_over()
        self._closed[match.match_id] = match.epoch
        more = match.closing.matches if match.closing else UNSET
        return self._begin(more or (), now) + self._end_if_over()

    def _end_if_over(self) -> list[Effect]:
        if not self._is_league_over or self.matches:
            return []
        stop: list[Effect] = [Drop(StatusKey())] if self._status_seconds > 0 else []
        return [*stop, End()]

    def _round_completed(
        self, asked: Asked, message: messages.RoundCompleted, now: float
    ) -> list[Effect]:
        ack = messages.RoundCompletedAck(player_id=self.agent_id, round_id=message.round_id)
        return [self.reply(asked, ack, now)]

    def _league_completed(
        self, asked: Asked, message: messages.LeagueCompleted, now: float
    ) -> list[Effect]:
        own = self._registration.session
        self._check_manager(asked, "only the manager ends the league")
        if not self.agent_id or (own and message.session != own):
            raise TokenInvalid("session is not the one this referee was given when it registered")
        self._is_league_over = True
        if message.aborted is True:  # The manager tells the players what is decided.
            self.matches.clear()
        reply = self.reply(asked, messages.LeagueCompletedAck(player_id=self.agent_id), now)
        return [reply, *self._end_if_over()]

    def _league_error(
        self, asked: Asked, message: messages.LeagueErrorMessage, now: float
    ) -> list[Effect]:
        self._check_manager(asked, "only the manager refuses what is asked of the league")
        self.say_error(message)
        return [self.reply(asked, messages.LeagueErrorAck(player_id=self.agent_id), now)]

    def _check_manager(self, asked: Asked, sentence: str) -> None:
        if self._foreign_manager and not self._foreign_manager.is_manager(asked.caller):
            raise TokenInvalid(sentence)
        self._check_proof(asked)

    def _match_state(
        self, asked: Asked, message: messages.MatchStateRequest, now: float
    ) -> list[Effect]:
        match = self._at(message.match_id)
        state = messages.MatchStateResponse(
            match.match_id, machine.STATE[match.phase], match.epoch, match.turn, match.waiting_for()
        )
        return [self.reply(asked, state, now)]

    def _pushed(self, asked: Asked, message: Any, now: float) -> list[Effect]:
        """A join or move that did not come as the answer to our call."""
        caller = asked.caller
        if self._foreign_manager:  # It gives no tokens: the address alone says who pushed.
            message, caller = replace(message, auth_token=UNSET), replace(caller, token=None)
        named = message.match_id
        match = self._at(named) if named else self._only_match_for(message, caller)
        pusher = match.admit(message, caller)
        effects = self._run(match, match.pushed, pusher, message, now)
        if match.fault:
            return [Reply(asked.reply, match.fault), *effects]
        return [self.reply(asked, messages.PushAck(), now), *effects]

    def _only_match_for(self, message: Any, caller: Caller) -> machine.Match:
        """The match of an answer that names none: no other waits for it."""
        found = []
        for match in self.matches.values():
            with suppress(LeagueError):
                match.admit(message, caller)
                found.append(match)
        if len(found) != 1:
            raise MatchMismatch("the answer names no match, and does not show which it is for")
        return found[0]

    def _at(self, match_id: str) -> machine.Match:
        match = self.matches.get(match_id)
        if match is None:
            raise MatchMismatch(f"this referee is not at match {match_id!r}")
        return match

    ANSWERS: ClassVar[dict[type, Handler]] = {
        RegisterKey: _registered,
        ReachabilityKey: Agent.reachability_answered,
        StatusKey: _status_answered,
        EndpointQuery: _at_foreign_manager(ForeignManager.endpoint_answered),
        EndpointCheck: _at_foreign_manager(ForeignManager.endpoint_answered),
        PollKey: _at_foreign_manager(ForeignManager.polled),
        **dict.fromkeys(
            (machine.InvitationCall, machine.MoveCall, machine.ErrorCall, machine.GameOverCall),
            _call_answered,
        ),
        machine.LockCall: _lock_answered,
        **dict.fromkeys((machine.ReportCall, OpenQuery), _report_answered),
    }
    TIMERS: ClassVar[dict[type, Handler]] = {
        RegisterKey: lambda self, woken, now: self.register(now),
        ReachabilityKey: Agent.check_reachability,
        StatusKey: _send_status,
        StartReplyTimer: _at_foreign_manager(ForeignManager.start_reply_due),
        PollKey: _at_foreign_manager(lambda foreign, woken, now: foreign.poll(now)),
        machine.Clock: _clock_rang,
    }
    MESSAGES: ClassVar[dict[type[messages.Message], Handler]] = {
        messages.EndpointChallenge: Agent.prove,
        messages.RoundAnnouncement: _announced,
        messages.StartMatch: _match_started,
        messages.RoundCompleted: _round_completed,
        messages.LeagueCompleted: _league_completed,
        messages.LeagueErrorMessage: _league_error,
        messages.MatchStateRequest: _match_state,
        messages.GameJoinAck: _pushed,
        messages.ChooseParityResponse: _pushed,
        messages.GameMoveResponse: _pushed,
    }
