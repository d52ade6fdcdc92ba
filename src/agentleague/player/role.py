"""The player as a role: registers, joins what it is invited to, moves, listens."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec import UNSET

from agentleague.errors import IllegalMove, InvalidTimestamp, PeerRefused, RateLimited, TokenInvalid
from agentleague.player.draw_check import DrawCheck
from agentleague.player.foreign_referees import ForeignReferees
from agentleague.player.memory import Memory
from agentleague.protocol.messages import (
    ChooseParityCall,
    ChooseParityResponse,
    GameError,
    GameErrorAck,
    GameInvitation,
    GameJoinAck,
    GameMoveCall,
    GameMoveResponse,
    GameOver,
    GameOverAck,
    LeagueCompleted,
    LeagueCompletedAck,
    LeagueQuery,
    LeagueQueryResponse,
    LeagueRegisterRequest,
    LeagueStandingsUpdate,
    Message,
    PlayerMeta,
    RoundAnnouncement,
    RoundAnnouncementAck,
    RoundCompleted,
    RoundCompletedAck,
    StandingsUpdateAck,
)
from agentleague.protocol.partial_messages import PartialAnnouncement, PartialTable
from agentleague.protocol.tokens import channel_key, match_token
from agentleague.roles import agent
from agentleague.roles.agent import Agent, Handler
from agentleague.roles.effects import Call, Effect, End, Reply, RunStrategy, WakeAt
from agentleague.roles.settings import PlayerSettings
from agentleague.roles.stimuli import Answered, Asked, Started, StrategyReturned, Woken

UNSAID_SECONDS = 30.0  # what a strategy is told it has where the call does not say
THOUGHTS_MAX = 64  # moves that are thought about at once
STRANGERS_SAID = 20  # wrong tokens that are worth a sentence
IS_OVER = "is it over?"
ASK_AGAIN_SECONDS = 2.0  # a manager that is too busy to say, or away
DOUBT_SECONDS = 40.0  # how long one that does not say is asked; it may just be starting again
GOING_ON = ("WAITING_FOR_REGISTRATIONS", "CREATING_SCHEDULE", "RUNNING_LEAGUE", "PAUSED")


class Heard(NamedTuple):
    """Something that an author's hook may want to know: its name, and plain data."""

    name: str  # round, result, standings, league_end
    what: Any


class Player(Agent):
    """One player; its strategy runs behind the Think effect.

    Whoever runs it may hand it the matches that earlier runs kept (`kept`), and a queue to be told
    what it hears (`heard`).
    """

    KIND = "player"

    def __init__(self, settings: PlayerSettings) -> None:
        super().__init__(settings)
        self.memory = Memory(settings.seed)
        self.kept: Sequence[Mapping[str, Any]] = ()
        self.heard: deque[Heard] | None = None
        self._check = DrawCheck()
        self._round_id = 0
        self._strangers: set[str] = set()  # matches in whose name a wrong token was shown
        self._settings = settings
        self._thinking: dict[int, Asked] = {}
        self._channel = b""
        self._pair, self._tokens_of = ("", ""), ("", "", "", 0)
        self._last_words: LeagueCompleted | None = None
        self._doubts_until: float | None = None  # when they are believed without the manager
        self._foreign_referees = ForeignReferees(self._enrolment.manager, settings.reply_seconds)

    def registration(self, now: float) -> Message:
        """Under its name, for the games it knows."""
        settings = self._settings
        return LeagueRegisterRequest(
            PlayerMeta(
                settings.display_name,
                settings.endpoint,
                settings.version,
                list(settings.game_types),
                "2.1.0",
            ),
            sender=f"player:{settings.display_name}"[:64],
            timestamp=self._calendar.write(now),
            conversation_id="conv-player-register",
        )

    def _answered(self, stimulus: Answered, now: float) -> list[Effect]:
        if stimulus.key == IS_OVER:
            return self._confirmed(stimulus, now)
        if isinstance(stimulus.key, tuple):
            return self._explained(stimulus, now)
        if stimulus.key == agent.CONTACT_KEY:
            return self.told_whether_reachable(stimulus, now)
        effects = self.registered(stimulus, now)
        self._channel, self._tokens_of = channel_key(self._enrolment.token), ("", "", "", 0)
        if self.agent_id:
            self.memory.recall(self.kept, self._enrolment.league_id, self.agent_id)
        if self.agent_id and self._last_words:  # They came before the manager's answer did.
            effects = [*effects, self._ask_whether_over(self._last_words, now)]
        return effects

    def _woken(self, stimulus: Woken, now: float) -> list[Effect]:
        if stimulus.key == agent.CONTACT_KEY:
            return self.ask_whether_reachable(now)
        if stimulus.key == IS_OVER and self._last_words:
            return [self._ask_whether_over(self._last_words, now)]
        return self.register(now)

    def _invited(self, asked: Asked, message: GameInvitation, now: float) -> list[Effect]:
        self._check_referee(asked)
        arrival = self._calendar.write(now)
        answer = GameJoinAck(message.match_id, self._me(message), arrival, accept=True)
        return [self.reply(asked, answer, now, **self._proof(message))]

    def _to_move(
        self, asked: Asked, message: ChooseParityCall | GameMoveCall, now: float
    ) -> list[Effect]:
        self._check_referee(asked)
        if len(self._thinking) >= THOUGHTS_MAX:
            raise RateLimited("this player thinks about enough moves already")
        self._thinking[asked.reply] = asked
        turn = self.memory.turn(message, self._me(message), self._seconds_left(message, now))
        return [RunStrategy(asked.reply, turn)]

    def _strategy_returned(self, stimulus: StrategyReturned, now: float) -> list[Effect]:
        """The move, or none: then the referee asks again at once, as R-MATCH-20 says."""
        key: Any = stimulus.key
        asked = self._thinking.pop(key)
        message: Any = asked.message
        names = {"match_id": message.match_id, "player_id": self._me(message)}
        if stimulus.error is None:
            self._check.moved(message.match_id, getattr(message, "turn", 0), stimulus.move)
        answer: Message = (
            ChooseParityResponse(stimulus.move, **names)
            if isinstance(message, ChooseParityCall)
            else GameMoveResponse(stimulus.move, **names)
        )
        return [self.reply(asked, answer, now, **self._proof(message))]

    def _game_over(self, asked: Asked, message: GameOver, now: float) -> list[Effect]:
        self._check_referee(asked)
        me = self._me(message)
        if self.memory.over(message, me):
            self.news.append(_told(message, me))
            self._hear("result", lambda: self.memory.history[-1])
        is_sealed = not self._foreign_referees.let_in(asked)
        for doubt in self._check.doubts(message, me) if is_sealed else ():
            self.news.append(f"{message.match_id}: THE DRAW IS WRONG: {doubt}.")
        answer = GameOverAck(player_id=me, match_id=message.match_id)
        return [self.reply(asked, answer, now)]

    def _game_error(self, asked: Asked, message: GameError, now: float) -> list[Effect]:
        self._check_referee(asked)
        self.news.append(f"{message.match_id}: {_fault(message)}{message.error_message}")
        answer = GameErrorAck(player_id=self._me(message), match_id=message.match_id)
        return [self.reply(asked, answer, now)]

    def _announced(self, asked: Asked, message: RoundAnnouncement, now: float) -> list[Effect]:
        self._check.announced(message, self.agent_id)
        if message.round_id != self._round_id:  # A match that changes hands is announced again.
            self._round_id = message.round_id
            self._hear("round", lambda: seen_by(self.agent_id, message))
        answer = RoundAnnouncementAck(player_id=self.agent_id, round_id=message.round_id)
        return [self.reply(asked, answer, now)]

    def _standings(self, asked: Asked, message: LeagueStandingsUpdate, now: float) -> list[Effect]:
        self.memory.table(message)
        self._hear("standings", lambda: self.memory.standings)
        answer = StandingsUpdateAck(player_id=self.agent_id, round_id=message.round_id)
        return [self.reply(asked, answer, now)]

    def _round_over(self, asked: Asked, message: RoundCompleted, now: float) -> list[Effect]:
        answer = RoundCompletedAck(player_id=self.agent_id, round_id=message.round_id)
        return [self.reply(asked, answer, now)]

    def _league_over(self, asked: Asked, message: LeagueCompleted, now: float) -> list[Effect]:
        """Anybody can say so: the manager is asked before it is believed."""
        reply = self.reply(asked, LeagueCompletedAck(player_id=self.agent_id), now)
        own = self._enrolment.league_id
        if own and message.league_id not in ("", own):
            return [reply]
        self._last_words = message
        return [reply, self._ask_whether_over(message, now)]

    def _ask_whether_over(self, message: LeagueCompleted, now: float) -> Call:
        query = LeagueQuery(
            "GET_STATUS",
            message.league_id,
            sender=f"player:{self.agent_id}",
            timestamp=self._calendar.write(now),
            conversation_id=message.conversation_id,
            auth_token=self._enrolment.token or UNSET,  # It is counted as ours, not as anybody's.
        )
        return Call(IS_OVER, self._enrolment.manager, query, now + self._settings.reply_seconds)

    def _confirmed(self, stimulus: Answered, now: float) -> list[Effect]:
        """The manager says that it is over, or for long has not been there to say otherwise.

        One that is too busy to say is asked again. Whom no manager ever took in believes nobody but
        a manager.
        """
        answer = stimulus.message
        if isinstance(stimulus.error, RateLimited):
            return [WakeAt(IS_OVER, now + ASK_AGAIN_SECONDS)]
        if isinstance(answer, LeagueQueryResponse):
            self._doubts_until = None
            return [] if self._goes_on(getattr(answer, "status", None)) else self._go_home()
        if not self.agent_id:
            return []
        if self.is_guest and isinstance(stimulus.error, PeerRefused):  # It knows no such question.
            return self._go_home()
        if self._doubts_until is None:
            self._doubts_until = now + DOUBT_SECONDS
            self.news.append("Told that the league is over; asking the manager, which is away.")
        if now < self._doubts_until:
            return [WakeAt(IS_OVER, now + ASK_AGAIN_SECONDS)]
        return self._go_home()

    def _go_home(self) -> list[Effect]:
        assert self._last_words
        rows = {row.player_id: row for row in self._last_words.final_standings}
        own = rows.get(self.agent_id)
        rank = f" {self.agent_id} is number {own.rank}, with {_points(own.points)}." if own else ""
        self.news.append(f"The league is over.{rank}")
        self._hear("league_end", lambda: msgspec.to_builtins(self._last_words))
        return [End(self._last_words)]

    def _goes_on(self, status: Any) -> bool:
        """Whether the manager denies the end; one of another make has to say so in our words."""
        if self.is_guest:
            return status in GOING_ON
        return bool(status != "LEAGUE_COMPLETED")

    def _hear(self, name: str, what: Callable[[], Any]) -> None:
        if self.heard is not None:
            self.heard.append(Heard(name, what()))

    def _asked(self, stimulus: Asked, now: float) -> list[Effect]:
        """What comes without the token of its match is refused, unless the manager explains it."""
        effects = self.asked(stimulus, now)
        if _is_unsigned(effects):
            league_id = self._enrolment.league_id
            asking = self._foreign_referees.ask(stimulus, league_id, self._calendar.write(now), now)
            return self._refused(stimulus, effects) if asking is None else [*asking]
        return effects

    def _explained(self, stimulus: Answered, now: float) -> list[Effect]:
        """The manager has said whose match it is: what waited for that is judged again."""
        assert isinstance(stimulus.key, tuple)
        match_id, out = stimulus.key[1], list[Effect]()
        for asked in self._foreign_referees.answered(
            match_id, stimulus.message, self.agent_id, now
        ):
            effects = self.asked(asked, now)
            out += self._refused(asked, effects) if _is_unsigned(effects) else effects
        return out

    def _refused(self, asked: Asked, effects: list[Effect]) -> list[Effect]:
        match_id = getattr(asked.message, "match_id", "")
        if match_id not in self._strangers and len(self._strangers) < STRANGERS_SAID:
            self._strangers.add(match_id)
            self.news.append(f"{match_id}: refused a message without the token of its referee.")
        return effects

    def _check_referee(self, asked: Asked) -> None:
        """In a league of ours nobody but the referee of a match knows its token."""
        message: Any = asked.message
        if not self._enrolment.match_tokens:
            return
        if message.auth_token == self._tokens(message)[0]:
            self._foreign_referees.signed(message.match_id)
        elif not self._foreign_referees.let_in(asked):
            raise TokenInvalid("auth_token is not the match token of this match")

    def _seconds_left(self, message: ChooseParityCall | GameMoveCall, now: float) -> float:
        try:
            return self._calendar.seconds_until(message.deadline, now)
        except InvalidTimestamp:
            return UNSAID_SECONDS

    def _me(self, message: Any) -> str:
        """Under which id the referee knows us; a player may be asked before it knows its own."""
        return self.agent_id or str(message.player_id)

    def _proof(self, message: Any) -> dict[str, str]:
        """What shows a referee who we are: for nobody else, or a stranger could show it too."""
        shown, own = self._tokens(message)
        is_for_it = not self._enrolment.match_tokens or message.auth_token == shown
        return {"auth_token": own} if is_for_it else {}

    def _tokens(self, message: Any) -> tuple[str, str]:
        """What the referee shows us in this match, and what we show it."""
        names = (message.league_id, message.match_id, self._me(message), message.epoch)
        if names != self._tokens_of:  # The same for every message of a match.
            self._tokens_of = names
            self._pair = (
                match_token(self._channel, "ref>player", *names),
                match_token(self._channel, "player>ref", *names),
            )
        return self._pair

    STIMULI: ClassVar[dict[type, Handler]] = {
        Started: Agent.started,
        Asked: _asked,
        Answered: _answered,
        Woken: _woken,
        StrategyReturned: _strategy_returned,
    }
    MESSAGES: ClassVar[dict[type[Message], Handler]] = {
        GameInvitation: _invited,
        ChooseParityCall: _to_move,
        GameMoveCall: _to_move,
        GameOver: _game_over,
        GameError: _game_error,
        RoundAnnouncement: _announced,
        PartialAnnouncement: _announced,
        LeagueStandingsUpdate: _standings,
        PartialTable: _standings,
        RoundCompleted: _round_over,
        LeagueCompleted: _league_over,
    }


def _is_unsigned(effects: list[Effect]) -> bool:
    first = effects[0] if effects else None
    return isinstance(first, Reply) and isinstance(first.answer, TokenInvalid)


def _points(number: int) -> str:
    return "1 point" if number == 1 else f"{number} points"


def _fault(message: GameError) -> str:
    """What the error is called; the name of an illegal move speaks of one game alone."""
    if message.error_code == IllegalMove.code:
        return "an illegal move: "
    return f"{message.error_name}: " if message.error_name else ""


def _told(message: GameOver, player_id: str) -> str:
    """How a match ended, for this player."""
    result = message.game_result
    ended = "drawn" if result.status == "DRAW" else "lost"
    if result.winner_player_id == player_id:
        ended = "won"
    return f"{message.match_id}: {ended}. {result.reason}"


def seen_by(player_id: str, message: RoundAnnouncement) -> dict[str, Any]:
    """A round as a player sees it: whom it meets, unless it has a bye."""
    seats = {m.match_id: (m.player_A_id, m.player_B_id) for m in message.matches}
    own = next((match_id for match_id, pair in seats.items() if player_id in pair), None)
    opponent = next((who for who in seats.get(own or "", ()) if who != player_id), None)
    return {
        "league_id": message.league_id,
        "round_id": message.round_id,
        "match_id": own,
        "opponent_id": opponent,
        "matches": [{"match_id": each, "player_ids": list(seats[each])} for each in seats],
        "byes": list(message.byes),
    }
