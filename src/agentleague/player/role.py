"""The player as a role: registers, joins what it is invited to, moves, listens."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec import UNSET, Struct

from agentleague import errors
from agentleague.player.draw_check import DrawCheck, own_match
from agentleague.player.foreign_referees import ForeignReferees, MatchQuery, PushKey
from agentleague.player.memory import LIMITS, Memory, PlayerLimits
from agentleague.protocol import messages
from agentleague.protocol.fast_path import PartialAnnouncement, PartialTable
from agentleague.protocol.hosts import is_at
from agentleague.protocol.printable import counted, log_text
from agentleague.protocol.tokens import MATCH_TOKEN, PROOF_HEADER, channel_key, match_token
from agentleague.roles import agent
from agentleague.roles.effects import Call, Effect, End, Reply, RunStrategy, Turn, WakeAt
from agentleague.roles.settings import PlayerSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Key, SeatHeard, StrategyReturned

ANOTHER_RESULT = (
    "TOLD ANOTHER RESULT than before. The manager may have lost rows of its journal: tell the "
    "organiser, and start this player again, so that it shows the receipt of the first one."
)
TAKEN = (
    "another program has taken the seat of this player: it was started a second time with the same "
    "token. The newer one plays on; this one ends"
)
TOKEN_REFUSED = (
    "the manager does not know the token of this player any more: the organiser took it out, "
    "another program came back as it, or this is another league. Start it again to register anew"
)
AWAY = (
    "The manager does not answer. Its seat is kept, and nothing is lost: it tries again until the "
    "manager is back."
)
NO_MANAGER = "The manager does not answer, and cannot call this player; trying again until it does."
GONE = (
    "the manager is gone, and could not call this player to say whether the league is over. Start "
    "it again when the manager is back"
)
UNKNOWN = (
    "The manager does not know the token of this player any more: the organiser took it out, or "
    "another agent proved that it listens at this end point."
)
GOING_ON = ("WAITING_FOR_REGISTRATIONS", "CREATING_SCHEDULE", "RUNNING_LEAGUE", "PAUSED")
ACKS: dict[type[messages.Message], Callable[..., messages.Message]] = {
    messages.RoundAnnouncement: messages.RoundAnnouncementAck,
    PartialAnnouncement: messages.RoundAnnouncementAck,
    messages.LeagueStandingsUpdate: messages.StandingsUpdateAck,
    PartialTable: messages.StandingsUpdateAck,
    messages.RoundCompleted: messages.RoundCompletedAck,
    messages.LeagueErrorMessage: messages.LeagueErrorAck,
}
PUSHED = messages.GameJoinAck | messages.ChooseParityResponse | messages.GameMoveResponse
Outcome = tuple[Any, str | None]  # of a strategy: a move, or None and why it failed
NO_MATCH_TOKENS = (
    "It came back without the token of its earlier run, so it cannot tell the referees of its "
    "matches from strangers. It keeps its token if it is started each time with the same "
    "--manager, --name, --port and --state."
)


class LeagueOverKey(Struct, frozen=True, gc=False):
    """The key of the question whether the league is over, and of the timer until the next."""


class HookCall(NamedTuple):
    """A hook of the author to call, by its name, and the plain data it gets."""

    name: str  # round, result, standings, league_end
    data: Any


class Player(agent.Agent):
    """One player; its strategy is run by a RunStrategy effect, unless it answers at once."""

    KIND = "player"

    def __init__(self, settings: PlayerSettings, limits: PlayerLimits = LIMITS) -> None:
        super().__init__(settings, limits)
        self.memory = Memory(settings.seed, limits)
        self.kept: Sequence[Mapping[str, Any]] = ()  # matches of earlier runs
        self.hook_calls: deque[HookCall] | None = None  # what the author's hooks are to be told
        self.strategy: Callable[[Turn], Outcome] | None = None  # one that answers at once
        self._settings, self._limits = settings, limits
        self._draw_check = DrawCheck(limits)
        self._round_id = 0
        self._referee_endpoint = ""  # of its match of this round, as a foreign manager says
        self._early: list[Asked] = []  # messages that came before the registration was answered
        self._running: dict[Key, tuple[Asked, str]] = {}  # whose strategies run, with its token
        self._channel, self._earlier_id = b"", ""  # The id is that of its last run.
        self._token_pair = ("", "")
        self._tokens_of: tuple[Any, ...] = ()  # the match that they are for
        self._completed: messages.LeagueCompleted | None = None  # to be confirmed by the manager
        self._is_unknown = False  # whether the manager took it out, and its token with it
        self._away_since, self._is_away = 0.0, False  # its manager, and whether that was said
        self._doubts_until: float | None = None  # then it is believed without the manager
        self._foreign_referees = ForeignReferees(self.manager, settings.reply_seconds, limits)

    def remember(self, state: agent.AgentState) -> None:
        """What an earlier run kept; its token also says how its referees are known."""
        super().remember(state)
        self._channel, self._earlier_id = channel_key(state.token), state.agent_id
        self._draw_check.agreed(None)

    def registration_request(self, now: float) -> messages.Message:
        """Under its name, for the games it knows."""
        settings = self._settings
        return messages.LeagueRegisterRequest(
            messages.PlayerMeta(
                settings.display_name,
                settings.endpoint,
                settings.version,
                list(settings.game_types),
                "2.1.0",
                proofs=True,
            ),
            sender=self.sender,
            timestamp=self._calendar.write(now),
            conversation_id="conv-player-register",
        )

    def _reachability_answered(self, stimulus: Answered, now: float) -> list[Effect]:
        return self._unless_gone(stimulus, self.reachability_answered(stimulus, now), now)

    def _unless_gone(self, stimulus: Answered, effects: list[Effect], now: float) -> list[Effect]:
        """Who cannot be called hears of no end: if its manager stays away, it ends by itself."""
        if self.has_foreign_manager or not isinstance(stimulus.error, errors.NoConnection):
            self._manager_is_back()
            return effects
        if self._seconds_away(NO_MANAGER, now) >= self._limits.doubt_seconds:
            return [End(agent.Refused(GONE))]
        return effects or self._reachability.begin(now)

    def _registered(self, stimulus: Answered, now: float) -> list[Effect]:
        effects = self.registered(stimulus, now)
        if self.agent_id:
            effects = self._unless_gone(stimulus, effects, now)
        if getattr(stimulus.message, "status", "") == "ACCEPTED" and self.agent_id:
            self._channel, self._tokens_of = channel_key(self._registration.token), ("", "", "", 0)
            self.memory.recall(self.kept, self._registration.league_id, self.agent_id)
            self._draw_check.agreed(getattr(stimulus.message, "game_options", None) or {})
            if getattr(stimulus.message, "match_tokens", None) is False:
                self.news.append(NO_MATCH_TOKENS)
            effects = [*effects, *self._take_in_early(now)]
        return effects

    def _take_in_early(self, now: float) -> list[Effect]:
        (early, self._early), effects = (self._early, []), []
        for asked in early:
            if isinstance(asked.message, messages.LeagueCompleted):
                effects += self._end_if_over(asked.caller, asked.message, now)
            elif type(asked.message) not in ACKS:
                effects += self._asked(asked, now)  # It was not answered yet.
            elif not self._registration.proofs or self._registration.is_proved(asked.caller):
                self._take_in(asked.message, now)
        return effects

    def answer(self, message: Any, caller: Caller, now: float) -> messages.Message | None:
        """Answer a manager that proves itself, or a referee that shows the token of its match."""
        if type(message) in ACKS:
            is_proved = self._registration.is_proved(caller)
            return self._take_in(message, now) if is_proved else None
        respond = self.RESPONSES.get(type(message))
        if respond is None or not self._registration.match_tokens:
            return None
        shown, own = self._tokens(message)
        if message.auth_token != shown:
            return None
        self._foreign_referees.trusted.pop(message.match_id, None)  # Its match needs it now.
        return respond(self, message, own, now)

    def _of_match(self, asked: Asked, message: Any, now: float) -> list[Effect]:
        """A message of a referee that may be foreign."""
        token = self._token_for_referee(asked)
        answer = self.RESPONSES[type(message)](self, message, token, now)
        if answer is not None:
            return self._reply(asked, answer, now)
        if len(self._running) >= self._limits.strategies_running:
            error = errors.RateLimited("this player thinks about enough moves already")
            return [Reply(asked.reply, error)]
        self._running[asked.reply] = asked, token
        return [RunStrategy(asked.reply, self._turn(message, now))]

    def _reply(self, asked: Asked, answer: messages.Message, now: float) -> list[Effect]:
        """A foreign referee may want a join or a move pushed too."""
        message: Any = asked.message
        endpoint = self._foreign_referees.endpoint(message.match_id, asked.caller)
        if self.has_foreign_manager:  # Nobody says who its referees are: none but the caller.
            named = message.referee_endpoint or self._referee_endpoint
            endpoint = named if is_at(named, asked.caller.source) else ""
        is_awaited = endpoint and isinstance(answer, PUSHED)
        pushed = self._foreign_referees.push(asked, endpoint, answer, now) if is_awaited else []
        return [Reply(asked.reply, answer), *pushed]

    def _pushed(self, stimulus: Answered, now: float) -> list[Effect]:
        self._foreign_referees.pushed(stimulus)
        return []

    def _invited(self, message: messages.GameInvitation, token: str, now: float) -> PUSHED:
        envelope = self.envelope(message, now)
        me, arrival = self._me(message), envelope["timestamp"]
        return messages.GameJoinAck(message.match_id, me, arrival, auth_token=token, **envelope)

    def _to_move(self, message: messages.MoveCall, token: str, now: float) -> PUSHED | None:
        """The move; None where an effect has to run the strategy."""
        if self.strategy is None:
            return None
        return self._moved(message, self.strategy(self._turn(message, now)), token, now)

    def _strategy_returned(self, stimulus: StrategyReturned, now: float) -> list[Effect]:
        asked, token = self._running.pop(stimulus.key)
        message: Any = asked.message
        answer = self._moved(message, (stimulus.move, stimulus.error), token, now)
        return self._reply(asked, answer, now)

    def _moved(
        self, message: messages.MoveCall, outcome: Outcome, token: str, now: float
    ) -> PUSHED:
        """The move, or none: then the referee asks again at once, as R-MATCH-20 says."""
        move, error = outcome
        if error is None:
            self._draw_check.moved(message.match_id, getattr(message, "turn", 0), move)
        is_parity = isinstance(message, messages.ChooseParityCall)
        response = messages.ChooseParityResponse if is_parity else messages.GameMoveResponse
        me, envelope = self._me(message), self.envelope(message, now)
        return response(move, message.match_id, me, auth_token=token, **envelope)

    def _game_over(self, message: messages.GameOver, token: str, now: float) -> messages.Message:
        me, match_id = self._me(message), message.match_id
        ack = messages.GameOverAck(player_id=me, match_id=match_id, **self.envelope(message, now))
        if self._draw_check.is_lost(message):
            return ack
        is_sealed = match_id not in self._foreign_referees.trusted
        match, is_another = self.memory.over(message, me)
        if match:
            again = "again, since its first result was lost: " if is_another else ""
            self.news.append(_result_in_words(message, match, again))
            if self.hook_calls is not None:
                self.hook_calls.append(HookCall("result", match))
            # Before it is registered it has still to show the one of its last run.
            if is_sealed and self._registration.match_tokens and self.agent_id:
                self._registration.keep(message.receipt)
        elif is_another:
            self.news.append(f"{match_id}: {ANOTHER_RESULT}")
        for doubt in self._draw_check.doubts(message, me) if is_sealed else ():
            self.news.append(f"{match_id}: THE DRAW IS WRONG: {doubt}.")
        return ack

    def _game_error(self, message: messages.GameError, token: str, now: float) -> messages.Message:
        me, match_id = self._me(message), message.match_id
        self.news.append(f"{match_id}: {_error_name(message)}{message.error_message}")
        return messages.GameErrorAck(player_id=me, match_id=match_id, **self.envelope(message, now))

    def _told(self, asked: Asked, message: Any, now: float) -> list[Effect]:
        """Something that is not proved: it is believed only of a manager that proves nothing."""
        if not self.agent_id:
            self._keep_early(asked)
            return [Reply(asked.reply, self._acknowledgement(message, now))]
        if not self._registration.proofs:
            return [Reply(asked.reply, self._take_in(message, now))]
        error = errors.TokenInvalid(f"{PROOF_HEADER} does not prove that the manager sent this")
        return [self._refuse(asked, error)]

    def _keep_early(self, asked: Asked) -> bool:
        """Only the answer to the registration will say how manager and referees are known."""
        has_room = len(self._early) < self._limits.early_messages
        if has_room:
            self._early.append(asked)
        return has_room

    def _take_in(self, message: Any, now: float) -> messages.Message:
        """What the manager tells; returns that it was heard."""
        if isinstance(message, messages.RoundAnnouncement):
            self._announced(message)
        elif isinstance(message, messages.LeagueStandingsUpdate):
            self.memory.table(message)
            if self.hook_calls is not None:
                self.hook_calls.append(HookCall("standings", self.memory.standings))
        elif isinstance(message, messages.LeagueErrorMessage):
            self.say_error(message)
        return self._acknowledgement(message, now)

    def _acknowledgement(self, message: Any, now: float) -> messages.Message:
        names: dict[str, Any] = self.envelope(message, now)
        names["player_id"] = self.agent_id
        if hasattr(message, "round_id"):
            names["round_id"] = message.round_id
        return ACKS[type(message)](**names)

    def _at_seat(self, stimulus: SeatHeard, now: float) -> list[Effect]:
        """Go on fetching calls, unless the seat is another's."""
        if stimulus.state == "taken":
            return [End(agent.SeatLost(TAKEN))]
        if stimulus.state == "refused":
            said = stimulus.said
            if any(f'"{code}"' in said for code in agent.BAD_TOKEN):
                return [End(agent.SeatLost(TOKEN_REFUSED))]
            self.say_once("seat", f"It is refused at its seat, and tries on: {log_text(said)}")
        elif stimulus.state == "away":
            self._seconds_away(AWAY, now)
        else:
            self._manager_is_back()
        return []

    def _seconds_away(self, sentence: str, now: float) -> float:
        """How long the manager is away, which is said after some seconds."""
        self._away_since = self._away_since or now
        seconds = now - self._away_since
        if seconds >= self._limits.away_seconds and not self._is_away:
            self._is_away = True
            self.news.append(sentence)
        return seconds

    def _manager_is_back(self) -> None:
        if self._is_away:
            self.news.append("The manager is back.")
        self._away_since, self._is_away = 0.0, False

    def _announced(self, message: messages.RoundAnnouncement) -> None:
        me = self.agent_id or self._earlier_id
        own = own_match(message, me)
        if own:
            loss = self._draw_check.announced(own)
            if loss:
                self.news.append(loss)
            self.memory.paired(own)
            self._foreign_referees.announced = own.match_id
            self._referee_endpoint = getattr(own, "referee_endpoint", "")
        if message.round_id != self._round_id:  # A match that changes hands is announced again.
            self._round_id = message.round_id
            if self.hook_calls is not None:
                self.hook_calls.append(HookCall("round", seen_by(me, message)))

    def _league_over(
        self, asked: Asked, message: messages.LeagueCompleted, now: float
    ) -> list[Effect]:
        """Anybody could send this: without a proof the manager is asked before it is believed."""
        if not self.agent_id:
            self._keep_early(asked)
        reply = self.reply(asked, messages.LeagueCompletedAck(player_id=self.agent_id), now)
        return [reply, *self._end_if_over(asked.caller, message, now)]

    def _end_if_over(
        self, caller: Caller, message: messages.LeagueCompleted, now: float
    ) -> list[Effect]:
        own = self._registration
        if own.league_id and message.league_id not in ("", own.league_id):
            return []
        if own.is_proved(caller):
            self._completed = message
            return self._end()
        # Nothing else of a message is believed that should have been proved.
        self._completed = messages.LeagueCompleted(own.league_id) if own.proofs else message
        return [self._ask_whether_over(message, now)]

    def _ask_whether_over(self, message: messages.LeagueCompleted, now: float) -> Call:
        query = messages.LeagueQuery(
            "GET_STATUS",
            message.league_id,
            sender=f"agent:{self.agent_id}",
            timestamp=self._calendar.write(now),
            conversation_id=message.conversation_id or "conv-query",
            # Unknown callers get fewer answers.
            auth_token=UNSET if self._is_unknown else self._registration.token or UNSET,
        )
        until = now + self._settings.reply_seconds
        return Call(LeagueOverKey(), self._registration.manager, query, until)

    def _over_answered(self, stimulus: Answered, now: float) -> list[Effect]:
        """End if the manager confirms it, or has long been away and proves nothing."""
        answer = stimulus.message
        assert self._completed
        if isinstance(stimulus.error, errors.RateLimited):
            return [WakeAt(LeagueOverKey(), now + self._limits.ask_again_seconds)]
        if isinstance(answer, messages.LeagueQueryResponse):
            self._doubts_until = None
            return [] if self._goes_on(getattr(answer, "status", None)) else self._end()
        if not self.agent_id:  # Before it is registered, it believes nobody but a manager.
            return []
        if self.has_foreign_manager and isinstance(stimulus.error, errors.PeerRefused):
            return self._end()
        if self._was_taken_out(stimulus.error):
            return [self._ask_whether_over(self._completed, now)]
        if self._doubts_until is None:
            self._doubts_until = now + self._limits.doubt_seconds
            self.news.append("Told that the league is over; asking the manager, which is away.")
        if now < self._doubts_until or self._registration.proofs:
            return [WakeAt(LeagueOverKey(), now + self._limits.ask_again_seconds)]
        return self._end()

    def _was_taken_out(self, error: errors.LeagueError | None) -> bool:
        """Whether the manager refuses its token, as it learns now: then it asks without."""
        if self._is_unknown or not isinstance(error, errors.PeerRefused):
            return False
        self._is_unknown = error.context.get("code") in agent.BAD_TOKEN
        if self._is_unknown:
            self.news.append(UNKNOWN)
        return self._is_unknown

    def _end(self) -> list[Effect]:
        assert self._completed
        rows = {row.player_id: row for row in self._completed.final_standings}
        own = rows.get(self.agent_id or self._earlier_id)
        rank = f" {_rank_in_words(own, self._completed)}" if own else ""
        self.news.append(f"The league is over.{rank}")
        if self.hook_calls is not None:
            self.hook_calls.append(HookCall("league_end", msgspec.to_builtins(self._completed)))
        return [End(self._completed)]

    def _goes_on(self, status: Any) -> bool:
        """Whether the manager denies the end; a foreign one has to say so in our words."""
        if self.has_foreign_manager:
            return status in GOING_ON
        return bool(status != "LEAGUE_COMPLETED")

    def _asked(self, stimulus: Asked, now: float) -> list[Effect]:
        """A message without the token of its match is refused, unless the manager explains it."""
        message = stimulus.message
        answer = self.answer(message, stimulus.caller, now)
        if answer is not None:
            return [Reply(stimulus.reply, answer)]
        if isinstance(message, messages.GameMessage):
            stimulus = self._with_our_ids(stimulus, message)
        try:
            return self.MESSAGES[type(stimulus.message)](self, stimulus, stimulus.message, now)
        except errors.NotAuthorised as error:
            if not self.agent_id and self._keep_early(stimulus):
                return []
            league_id, timestamp = self._registration.league_id, self._calendar.write(now)
            asking = self._foreign_referees.ask(stimulus, league_id, timestamp, now)
            return [self._refuse(stimulus, error)] if asking is None else [*asking]

    def _with_our_ids(self, asked: Asked, message: messages.GameMessage) -> Asked:
        """A foreign referee has a league id of its own, and may not say which match it means."""
        league_id = self._registration.league_id or message.league_id
        match_id = message.match_id or self._foreign_referees.announced
        if str(message.auth_token).startswith(MATCH_TOKEN):  # Of one of ours, in another league.
            return asked
        ours = msgspec.structs.replace(message, league_id=league_id, match_id=match_id)
        return msgspec.structs.replace(asked, message=ours)

    def _match_answered(self, stimulus: Answered, now: float) -> list[Effect]:
        """The manager has said whose match it is: the messages that waited are handled again."""
        key: Any = stimulus.key
        told = (key.match_id, stimulus.message, self.agent_id)
        out: list[Effect] = []
        for asked in self._foreign_referees.answered(*told, now):
            try:
                out += self.MESSAGES[type(asked.message)](self, asked, asked.message, now)
            except errors.NotAuthorised as error:
                out.append(self._refuse(asked, error))
        return out

    def _refuse(self, asked: Asked, error: errors.NotAuthorised) -> Reply:
        """Refuse, and say so once of each match or kind of message."""
        message = asked.message
        about, why = messages.tag_of(type(message)), "refused one that its manager did not send."
        if isinstance(message, messages.GameMessage):
            about, why = message.match_id, "refused a message without the token of its referee."
        self.say_once(about, f"{about}: {why}")
        return Reply(asked.reply, error)

    def _token_for_referee(self, asked: Asked) -> str:
        """What the referee is shown; it is refused if it should know the token of its match."""
        message: Any = asked.message
        shown, own = self._tokens(message)
        if not self._registration.match_tokens:
            if self.has_foreign_manager:
                self._say_who_calls(asked, "a referee")
            return own
        if message.auth_token == shown:
            self._foreign_referees.trusted.pop(message.match_id, None)  # Its match needs it now.
            return own
        if self._foreign_referees.endpoint(message.match_id, asked.caller):
            self._say_who_calls(asked, "its referee is foreign: the manager confirms it. It")
            # It could show what it is shown in our name: so that is not our token.
            names = (message.league_id, message.match_id, self._me(message), 0)
            return match_token(self._channel, "player>ref", *names)
        if message.auth_token:
            raise errors.TokenInvalid("auth_token is not the match token of this match")
        raise errors.TokenMissing("a message of a match needs its match token as auth_token")

    def _say_who_calls(self, asked: Asked, who: str) -> None:
        message: Any = asked.message
        source, method = asked.caller.source, asked.caller.rpc_method[:64] or "a bare message"
        self.say_once(source, f"{message.match_id}: {who} calls from {source} with {method}.")

    def _turn(self, message: messages.MoveCall, now: float) -> Turn:
        try:
            seconds = self._calendar.seconds_until(message.deadline, now)
        except errors.InvalidTimestamp:
            seconds = self._limits.move_seconds
        return self.memory.turn(message, self._me(message), seconds)

    def _me(self, message: Any) -> str:
        """The id by which the referee knows us; a player may be asked before it knows its own."""
        own = self._registration
        if self.agent_id and not own.has_id and message.player_id:  # Its manager gave it none.
            own.has_id, self.agent_id = True, message.player_id
            self.sender = f"player:{self.agent_id}"
            self.news.append(f"It is called {self.agent_id} here.")
        if message.player_id not in ("", UNSET, self.agent_id) and self.has_foreign_manager:
            mixed = f"a referee calls it {message.player_id}, and its manager {self.agent_id}"
            self.say_once(mixed, f"{message.match_id}: {mixed}: are the end points mixed up?")
        return self.agent_id or str(message.player_id)

    def _tokens(self, message: Any) -> tuple[str, str]:
        """What the referee shows us in this match, and what we show it."""
        me = self.agent_id or str(message.player_id)
        names = (message.league_id, message.match_id, me, message.epoch)
        if names != self._tokens_of:  # The same for every message of a match.
            self._tokens_of = names
            self._token_pair = (
                match_token(self._channel, "ref>player", *names),
                match_token(self._channel, "player>ref", *names),
            )
        return self._token_pair

    STIMULI: ClassVar[dict[type, agent.Handler]] = {
        **agent.Agent.STIMULI,
        Asked: _asked,
        StrategyReturned: _strategy_returned,
        SeatHeard: _at_seat,
    }
    ANSWERS: ClassVar[dict[type, agent.Handler]] = {
        agent.RegisterKey: _registered,
        agent.ReachabilityKey: _reachability_answered,
        LeagueOverKey: _over_answered,
        MatchQuery: _match_answered,
        PushKey: _pushed,
    }
    TIMERS: ClassVar[dict[type, agent.Handler]] = {
        agent.RegisterKey: lambda self, woken, now: self.register(now),
        agent.ReachabilityKey: agent.Agent.check_reachability,
        LeagueOverKey: lambda self, woken, now: [self._ask_whether_over(self._completed, now)],
    }
    RESPONSES: ClassVar[dict[type[messages.Message], Callable[..., messages.Message | None]]] = {
        messages.GameInvitation: _invited,
        messages.ChooseParityCall: _to_move,
        messages.GameMoveCall: _to_move,
        messages.GameOver: _game_over,
        messages.GameError: _game_error,
    }
    MESSAGES: ClassVar[dict[type[messages.Message], agent.Handler]] = {
        messages.EndpointChallenge: agent.Agent.prove,
        **dict.fromkeys(RESPONSES, _of_match),
        **dict.fromkeys(ACKS, _told),
        messages.LeagueCompleted: _league_over,
    }


def _rank_in_words(own: messages.StandingRow, over: messages.LeagueCompleted) -> str:
    """Where a player ended; among those who share rank 1 the champion is drawn."""
    others = sum(row.rank == own.rank for row in over.final_standings) - 1
    shared = f", level with {counted(others, 'other')}" if others else ""
    lot, champion = "", over.champion
    if shared and own.rank == 1 and champion:
        is_own = champion.player_id == own.player_id
        who = "it" if is_own else f"{champion.player_id} {champion.display_name}"
        lot = f"; {who} was drawn by lot as the champion"
    return (
        f"{own.player_id} is number {own.rank}, with {counted(own.points, 'point')}{shared}{lot}."
    )


def _error_name(message: messages.GameError) -> str:
    """What the error is called; the name of an illegal move speaks of one game alone."""
    if message.error_code == errors.IllegalMove.code:
        return "an illegal move: "
    return f"{message.error_name}: " if message.error_name else ""


def _result_in_words(message: messages.GameOver, match: Mapping[str, Any], again: str) -> str:
    """`R1M1 against P02 Bob: won.`, and why; with what is known of the opponent."""
    result = message.game_result
    ended = "won" if match["won"] else "drawn" if result.status == "DRAW" else "lost"
    against = f" against {match['opponent_id']}" if match["opponent_id"] else ""
    if match["opponent_name"]:
        against += f" {match['opponent_name']}"
    return f"{message.match_id}{against}: {again}{ended}. {result.reason}".rstrip()


def seen_by(player_id: str, message: messages.RoundAnnouncement) -> dict[str, Any]:
    """A round as a player sees it: whom it meets, unless it has a bye."""
    own = own_match(message, player_id)
    seats = {m.match_id: [m.player_A_id, m.player_B_id] for m in message.matches}
    others = [who for who in seats[own.match_id] if who != player_id] if own else []
    return {
        "league_id": message.league_id,
        "round_id": message.round_id,
        "match_id": own and own.match_id,
        "opponent_id": others[0] if others else None,
        "matches": [{"match_id": each, "player_ids": seats[each]} for each in seats],
        "byes": list(message.byes),
    }
