"""The player as a role: registers, joins what it is invited to, moves, listens."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import msgspec

from agentleague.errors import InternalError, LeagueError
from agentleague.player.notebook import Notebook
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
from agentleague.protocol.timestamps import Calendar
from agentleague.protocol.tokens import channel_key, match_token
from agentleague.roles.effects import Effect, End, Event, Reply, Think
from agentleague.roles.stimuli import Answered, Asked, Started, Stimulus, Thought, Woken
from agentleague.services.enrolment import Enrolment
from agentleague.services.settings import PlayerSettings

THINKING_SECONDS = 30.0  # what a strategy is told it has; the call's deadline is the referee's


class Player:
    """One player; its strategy runs behind the Think effect."""

    def __init__(self, settings: PlayerSettings) -> None:
        self.notebook = Notebook(settings.seed)
        self._settings = settings
        self._enrolment = Enrolment(settings)
        self._calendar = Calendar(0.0)
        self._thinking: dict[int, Asked] = {}
        self._channel = b""
        self._token, self._token_of = "", ("", "", "", 0)

    @property
    def agent_id(self) -> str:
        """The id that the manager gave it, or nothing yet."""
        return self._enrolment.agent_id

    def handle(self, stimulus: Stimulus, now: float) -> Sequence[Effect]:
        """Decide what to do."""
        return self._STIMULI[type(stimulus)](self, stimulus, now)

    def apply(self, event: Event) -> None:
        """A player has no journal."""

    def _started(self, stimulus: Started, now: float) -> list[Effect]:
        self._calendar = Calendar(stimulus.wall_offset)
        return self._enrolment.ask(self._registration(now), now)

    def _registration(self, now: float) -> Message:
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
        effects = self._enrolment.answered(stimulus.message, stimulus.error, now)
        self._channel = channel_key(self._enrolment.token)
        return effects

    def _woken(self, stimulus: Woken, now: float) -> list[Effect]:
        return self._enrolment.ask(self._registration(now), now)

    def _asked(self, stimulus: Asked, now: float) -> list[Effect]:
        try:
            return self._MESSAGES[type(stimulus.message)](self, stimulus, stimulus.message, now)
        except LeagueError as error:
            return [Reply(stimulus.reply, error)]

    def _invited(self, asked: Asked, message: GameInvitation, now: float) -> list[Effect]:
        arrival = self._calendar.write(now)
        answer = GameJoinAck(message.match_id, self._me(message), arrival, accept=True)
        return [self._reply(asked, answer, now, self._match_token(message))]

    def _to_move(
        self, asked: Asked, message: ChooseParityCall | GameMoveCall, now: float
    ) -> list[Effect]:
        self._thinking[asked.reply] = asked
        turn = self.notebook.turn(message, self._me(message), THINKING_SECONDS)
        return [Think(asked.reply, turn)]

    def _thought(self, stimulus: Thought, now: float) -> list[Effect]:
        key: Any = stimulus.key
        asked = self._thinking.pop(key)
        if stimulus.error is not None:
            return [Reply(asked.reply, InternalError("the strategy failed"))]
        message: Any = asked.message
        names = {"match_id": message.match_id, "player_id": self._me(message)}
        answer: Message = (
            ChooseParityResponse(stimulus.move, **names)
            if isinstance(message, ChooseParityCall)
            else GameMoveResponse(stimulus.move, **names)
        )
        return [self._reply(asked, answer, now, self._match_token(message))]

    def _game_over(self, asked: Asked, message: GameOver, now: float) -> list[Effect]:
        self.notebook.over(message, self._me(message))
        answer = GameOverAck(player_id=self._me(message), match_id=message.match_id)
        return [self._reply(asked, answer, now)]

    def _game_error(self, asked: Asked, message: GameError, now: float) -> list[Effect]:
        answer = GameErrorAck(player_id=self._me(message), match_id=message.match_id)
        return [self._reply(asked, answer, now)]

    def _announced(self, asked: Asked, message: RoundAnnouncement, now: float) -> list[Effect]:
        answer = RoundAnnouncementAck(player_id=self.agent_id, round_id=message.round_id)
        return [self._reply(asked, answer, now)]

    def _standings(self, asked: Asked, message: LeagueStandingsUpdate, now: float) -> list[Effect]:
        self.notebook.table(message)
        answer = StandingsUpdateAck(player_id=self.agent_id, round_id=message.round_id)
        return [self._reply(asked, answer, now)]

    def _round_over(self, asked: Asked, message: RoundCompleted, now: float) -> list[Effect]:
        answer = RoundCompletedAck(player_id=self.agent_id, round_id=message.round_id)
        return [self._reply(asked, answer, now)]

    def _league_over(self, asked: Asked, message: LeagueCompleted, now: float) -> list[Effect]:
        return [self._reply(asked, LeagueCompletedAck(player_id=self.agent_id), now), End(message)]

    def _me(self, message: Any) -> str:
        """Under which id the referee knows us; a player may be asked before it knows its own."""
        return self.agent_id or str(message.player_id)

    def _match_token(self, message: Any) -> str:
        names = (message.league_id, message.match_id, self._me(message), message.epoch)
        if names != self._token_of:  # The same for the join and for every move of a match.
            self._token_of = names
            self._token = match_token(self._channel, "player>ref", *names)
        return self._token

    def _reply(self, asked: Asked, answer: Message, now: float, token: str = "") -> Reply:
        fields: dict[str, Any] = {
            "sender": f"player:{self.agent_id}",
            "timestamp": self._calendar.write(now),
            "conversation_id": asked.message.conversation_id,
        }
        if token:
            fields["auth_token"] = token
        return Reply(asked.reply, msgspec.structs.replace(answer, **fields))

    _STIMULI: ClassVar[dict[type, Callable[..., list[Effect]]]] = {
        Started: _started,
        Asked: _asked,
        Answered: _answered,
        Woken: _woken,
        Thought: _thought,
    }
    _MESSAGES: ClassVar[dict[type[Message], Callable[..., list[Effect]]]] = {
        GameInvitation: _invited,
        ChooseParityCall: _to_move,
        GameMoveCall: _to_move,
        GameOver: _game_over,
        GameError: _game_error,
        RoundAnnouncement: _announced,
        LeagueStandingsUpdate: _standings,
        RoundCompleted: _round_over,
        LeagueCompleted: _league_over,
    }
