"""What a referee writes during a match: every message, with all its fields."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from agentleague.errors import LeagueError
from agentleague.games.game import Game
from agentleague.protocol.messages import (
    ChooseParityCall,
    GameError,
    GameInvitation,
    GameMoveCall,
    GameOver,
    LockRequest,
    LockResponse,
    MatchResultReport,
    Message,
    MoveContext,
    ReportedResult,
    ResultDetails,
    RetryInfo,
    RoundMatch,
    Rules,
    Seated,
)
from agentleague.protocol.timestamps import Calendar

PARITY_GAME = "even_odd"  # the one game whose moves have messages of their own
ROLES = ("PLAYER_A", "PLAYER_B")
ACTIONS = {"join": "GAME_JOIN_ACK", "move": "GAME_MOVE_RESPONSE"}


class Desk(Struct, frozen=True):
    """The referee, as far as its matches need to know it."""

    referee_id: str
    endpoint: str
    token: str
    calendar: Calendar


class Assignment(Struct, frozen=True):
    """A match to run, with the league's rules for it."""

    league_id: str
    round_id: int
    match: RoundMatch
    seats: Sequence[Seated]
    epoch: int
    rules: Rules


class Letters:
    """Writes the messages of one match."""

    def __init__(self, assignment: Assignment, desk: Desk) -> None:
        match = assignment.match
        self._assignment, self._desk = assignment, desk
        self._sender = f"referee:{desk.referee_id}"
        self._conversation = f"conv-{match.match_id.lower()}-{assignment.epoch:03d}"
        self._shared: dict[str, Any] = {
            "sender": self._sender,
            "conversation_id": self._conversation,
            "league_id": assignment.league_id,
            "round_id": assignment.round_id,
            "match_id": match.match_id,
            "epoch": assignment.epoch,
            "referee_endpoint": desk.endpoint,
        }

    def invitation(self, seat: int, now: float) -> Message:
        """Sit down, please."""
        return GameInvitation(
            **self._to(seat, now),
            game_type=self._assignment.match.game_type,
            role_in_match=ROLES[seat],
            opponent_id=self._assignment.seats[1 - seat].player_id,
        )

    def move_call(
        self, seat: int, turn: tuple[Game, Any, int], *, now: float, until: float
    ) -> Message:
        """Your move, please; `turn` is the game, its state and how many turns were played."""
        game, state, number = turn
        context = MoveContext(
            opponent_id=self._assignment.seats[1 - seat].player_id,
            round_id=self._assignment.round_id,
            your_standings=self._assignment.seats[seat].record,
        )
        deadline = self._desk.calendar.write(until)
        if game.name == PARITY_GAME:
            return ChooseParityCall(
                **self._to(seat, now), game_type=game.name, context=context, deadline=deadline
            )
        name = game.seats[seat]
        legal = game.legal_moves(state, name)
        return GameMoveCall(
            **self._to(seat, now),
            game_type=game.name,
            turn=number,
            position=game.view(state, name),
            legal_moves=None if legal is None else list(legal),
            context=context,
            deadline=deadline,
        )

    def game_over(self, seat: int, locked: LockResponse, now: float) -> Message:
        """How it ended."""
        assert locked.result
        return GameOver(
            game_result=locked.result.game_result,
            **self._to(seat, now),
            game_type=self._assignment.match.game_type,
            reason=locked.result.game_result.reason,
            draw=locked.draw,
            receipt=locked.receipt,
        )

    def error(self, seat: int, step: str, error: LeagueError, *, state: str, now: float) -> Message:
        """What went wrong, and that it is final."""
        player_id = self._assignment.seats[seat].player_id
        action = ACTIONS[step]
        if step == "move" and self._assignment.match.game_type == PARITY_GAME:
            action = "CHOOSE_PARITY_RESPONSE"
        return GameError(
            **self._to(seat, now),
            error_code=error.code,
            error_name=error.name,
            error_description=error.name,
            error_message=str(error)[:500],
            affected_player=player_id,
            action_required=action,
            game_state=state,
            retry_info=RetryInfo(),
            context=_plain(error.context),
            consequence="Technical loss",
        )

    def lock(
        self,
        index: int,
        moves: Sequence[tuple[int, str, Any]],
        forfeits: Sequence[tuple[str, str]],
        now: float,
    ) -> Message:
        """These are the moves; what follows from them?"""
        return LockRequest(
            self._assignment.match.match_id,
            self._assignment.epoch,
            index,
            list(moves),
            list(forfeits),
            sender=self._sender,
            timestamp=self._desk.calendar.write(now),
            conversation_id=self._conversation,
            auth_token=self._desk.token,
        )

    def report(self, locked: LockResponse, now: float) -> Message:
        """The match is over and its players know."""
        assert locked.result
        result, match = locked.result.game_result, self._assignment.match
        details = ResultDetails(result.drawn_number, result.choices, result.status)
        return MatchResultReport(
            match.match_id,
            ReportedResult(locked.result.winner, locked.result.score, details),
            self._assignment.league_id,
            self._assignment.round_id,
            match.game_type,
            self._assignment.epoch,
            sender=self._sender,
            timestamp=self._desk.calendar.write(now),
            conversation_id=f"conv-{match.match_id.lower()}-report",
            auth_token=self._desk.token,
        )

    def _to(self, seat: int, now: float) -> dict[str, Any]:
        seated = self._assignment.seats[seat]
        return {
            **self._shared,
            "player_id": seated.player_id,
            "auth_token": seated.match_token,
            "timestamp": self._desk.calendar.write(now),
        }


def _plain(context: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in context.items() if isinstance(value, str | int | float)}
