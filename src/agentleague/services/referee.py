"""The referee as a role: registers, takes assignments, runs each match, reports."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from msgspec import UNSET

from agentleague.errors import MatchMismatch, TokenInvalid, UnexpectedMessage
from agentleague.games.game import Game
from agentleague.match.letters import Assignment, Desk
from agentleague.match.machine import STATE, Match, Phase
from agentleague.protocol.messages import (
    ChooseParityResponse,
    GameJoinAck,
    GameMoveResponse,
    LeagueCompleted,
    LeagueCompletedAck,
    MatchStateRequest,
    MatchStateResponse,
    Message,
    RefereeMeta,
    RefereeRegisterRequest,
    RoundAnnouncement,
    RoundAnnouncementAck,
    RoundCompleted,
    RoundCompletedAck,
    RoundMatch,
    Rules,
)
from agentleague.roles.effects import Effect, End
from agentleague.roles.stimuli import Answered, Asked, Started, Woken
from agentleague.services.agent import Agent, Handler
from agentleague.services.enrolment import KEY
from agentleague.services.settings import RefereeSettings


class Referee(Agent):
    """Runs many matches at once; what it holds is lost with it, and nothing of that matters."""

    KIND = "referee"

    def __init__(self, settings: RefereeSettings, load_game: Callable[[str], Game]) -> None:
        self.matches: dict[str, Match] = {}
        self._closed: set[str] = set()  # of this round: an assignment that comes again is known
        super().__init__(settings)
        self._settings, self._load_game = settings, load_game
        self._desk: Desk | None = None
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
        if stimulus.key == KEY:
            return self._registered(stimulus, now)
        key: Any = stimulus.key
        match = self.matches.get(key[0])
        if match is None:
            return []
        effects = match.answered(key, stimulus.message, stimulus.error, now)
        if match.phase is Phase.CLOSED:
            effects += self._close(match, now)
        return effects

    def _registered(self, stimulus: Answered, now: float) -> list[Effect]:
        effects = self.registered(stimulus, now)
        if self._enrolment.agent_id:
            me = self._enrolment
            self._desk = Desk(me.agent_id, self._settings.endpoint, me.token, self._calendar)
        return effects

    def _woken(self, stimulus: Woken, now: float) -> list[Effect]:
        if stimulus.key == KEY:
            return self.register(now)
        key: Any = stimulus.key
        match = self.matches.get(key[0])
        return match.woken(now) if match else []

    def _announced(self, asked: Asked, message: RoundAnnouncement, now: float) -> list[Effect]:
        if not self._enrolment.session or message.session != self._enrolment.session:
            raise TokenInvalid("session is not the one this referee was given when it registered")
        for match in message.matches:
            self._load_game(match.game_type)  # One is missing: all are refused.
        if message.round_id != self._round_id:
            self._round_id, self._closed = message.round_id, set()
        if message.rules is not UNSET:
            self._rules = message.rules
        ack = RoundAnnouncementAck(player_id=self.agent_id, round_id=message.round_id)
        return [self.reply(asked, ack, now), *self._begin(message.matches, now)]

    def _begin(self, matches: Sequence[RoundMatch], now: float) -> list[Effect]:
        assert self._desk
        effects: list[Effect] = []
        for match in matches:
            is_known = match.match_id in self.matches or match.match_id in self._closed
            if is_known or match.seats is UNSET or match.epoch is UNSET:
                continue
            assignment = Assignment(
                self._enrolment.league_id,
                self._round_id,
                match,
                match.seats,
                match.epoch,
                self._rules,
            )
            game = self._load_game(match.game_type)
            begun = Match(assignment, game, self._desk, self._enrolment.manager)
            self.matches[match.match_id] = begun
            effects += begun.start(now)
        return effects

    def _close(self, match: Match, now: float) -> list[Effect]:
        del self.matches[match.match_id]
        self._closed.add(match.match_id)
        more = match.closing.matches if match.closing else UNSET
        effects = [] if more is UNSET else self._begin(more, now)
        return [*effects, End()] if self._over and not self.matches else effects

    def _round_completed(self, asked: Asked, message: RoundCompleted, now: float) -> list[Effect]:
        ack = RoundCompletedAck(player_id=self.agent_id, round_id=message.round_id)
        return [self.reply(asked, ack, now)]

    def _league_completed(self, asked: Asked, message: LeagueCompleted, now: float) -> list[Effect]:
        own = self._enrolment.session
        if own and message.session != own:
            raise TokenInvalid("session is not the one this referee was given when it registered")
        self._over = True
        reply = self.reply(asked, LeagueCompletedAck(player_id=self.agent_id), now)
        return [reply] if self.matches else [reply, End()]

    def _match_state(self, asked: Asked, message: MatchStateRequest, now: float) -> list[Effect]:
        match = self.matches.get(message.match_id)
        if match is None:
            raise MatchMismatch(f"this referee is not at match {message.match_id!r}")
        return [self.reply(asked, MatchStateResponse(match.match_id, STATE[match.phase]), now)]

    def _pushed(self, asked: Asked, message: Message, now: float) -> list[Effect]:
        """A join or move that did not come as the answer to our call."""
        raise UnexpectedMessage("answer the call itself: this referee takes no pushed answers yet")

    STIMULI: ClassVar[dict[type, Handler]] = {
        Started: Agent.started,
        Asked: Agent.asked,
        Answered: _answered,
        Woken: _woken,
    }
    MESSAGES: ClassVar[dict[type[Message], Handler]] = {
        RoundAnnouncement: _announced,
        RoundCompleted: _round_completed,
        LeagueCompleted: _league_completed,
        MatchStateRequest: _match_state,
        GameJoinAck: _pushed,
        ChooseParityResponse: _pushed,
        GameMoveResponse: _pushed,
    }
