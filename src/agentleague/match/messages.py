"""The messages that a referee sends during a match."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from agentleague.errors import IllegalMove
from agentleague.games.game import Game
from agentleague.match.question import Complain
from agentleague.match.transcript import Transcript, shortened
from agentleague.protocol import messages
from agentleague.protocol.timestamps import Calendar
from agentleague.roles.effects import Address

PARITY_GAME = "even_odd"  # the one game whose moves have messages of their own
ROLES = ("PLAYER_A", "PLAYER_B")
# Fields of GAME_OVER that document 001 does not have.
EXTRAS = (
    *("league_id", "round_id", "player_id", "epoch", "referee_endpoint"),
    *("reason", "draw", "receipt"),
)


class RefereeIdentity(Struct, frozen=True):
    """The referee, as far as its matches need to know it."""

    referee_id: str
    endpoint: str
    token: str
    calendar: Calendar


class Assignment(Struct, frozen=True):
    """A match to run, with the league's rules for it."""

    league_id: str
    round_id: int
    match: messages.RoundMatch
    seats: Sequence[messages.Seated]
    epoch: int
    rules: messages.Rules


class MatchMessages:
    """Writes the messages of one match."""

    def __init__(self, assignment: Assignment, identity: RefereeIdentity) -> None:
        match = assignment.match
        self._assignment, self._identity = assignment, identity
        self._sender = f"referee:{identity.referee_id}"
        self._conversation = f"conv-{match.match_id.lower()}-{assignment.epoch:03d}"
        self._shared: dict[str, Any] = {
            "sender": self._sender,
            "conversation_id": self._conversation,
            "league_id": assignment.league_id,
            "round_id": assignment.round_id,
            "match_id": match.match_id,
            "epoch": assignment.epoch,
            "referee_endpoint": identity.endpoint,
        }

    def reseat(self, seats: Sequence[messages.Seated]) -> None:
        """The same players with other addresses or tokens."""
        self._assignment = replace(self._assignment, seats=seats)

    def invitation(self, seat: int, now: float) -> messages.Message:
        """GAME_INVITATION."""
        return messages.GameInvitation(
            **self._to(seat, now),
            game_type=self._assignment.match.game_type,
            role_in_match=ROLES[seat],
            opponent_id=self._assignment.seats[1 - seat].player_id,
        )

    def move_call(
        self, seat: int, turn: tuple[Game, Any, int], *, now: float, until: float
    ) -> messages.Message:
        """CHOOSE_PARITY_CALL or GAME_MOVE_CALL; `turn` is game, state and turns played."""
        game, state, number = turn
        context = messages.MoveContext(
            opponent_id=self._assignment.seats[1 - seat].player_id,
            round_id=self._assignment.round_id,
            your_standings=self._assignment.seats[seat].record,
        )
        deadline = self._identity.calendar.write(until)
        if game.name == PARITY_GAME:
            return messages.ChooseParityCall(
                **self._to(seat, now), game_type=game.name, context=context, deadline=deadline
            )
        name = game.seats[seat]
        legal = game.legal_moves(state, name)
        return messages.GameMoveCall(
            **self._to(seat, now),
            game_type=game.name,
            turn=number,
            position=game.view(state, name),
            legal_moves=None if legal is None else list(legal),
            context=context,
            deadline=deadline,
        )

    def game_over(self, seat: int, locked: messages.LockResponse, now: float) -> messages.Message:
        """GAME_OVER."""
        assert locked.result
        return messages.GameOver(
            game_result=locked.result.game_result,
            **self._to(seat, now),
            game_type=self._assignment.match.game_type,
            reason=locked.result.game_result.reason,
            draw=locked.draw,
            receipt=locked.receipt,
        )

    def game_over_plain(
        self, seat: int, locked: messages.LockResponse, now: float
    ) -> messages.Message:
        """GAME_OVER with the fields of the documents alone, and without a null."""
        assert locked.result
        result = locked.result.game_result
        choices = {who: made for who, made in result.choices.items() if made is not None}
        fields = {**asdict(result), "choices": choices, "no_contest": None, "game_details": None}
        nulls = [name for name, value in fields.items() if value is None]
        plain = replace(result, choices=choices, **dict.fromkeys(nulls, UNSET))
        message = self.game_over(seat, locked, now)
        return replace(message, game_result=plain, **dict.fromkeys(EXTRAS, UNSET))

    def error(
        self,
        seat: int,
        complaint: Complain,
        *,
        is_join: bool,
        turn: tuple[Game, Any, str],
        now: float,
    ) -> messages.Message:
        """GAME_ERROR; `turn` is the game, its state, and the documents' name of the phase."""
        game, state, state_name = turn
        action, context = "GAME_JOIN_ACK", _plain(complaint.error.context)
        if not is_join:
            is_parity = game.name == PARITY_GAME
            action = "CHOOSE_PARITY_RESPONSE" if is_parity else "GAME_MOVE_RESPONSE"
            context |= _legal(complaint, game, state, seat)
        again = complaint.next_retry_at
        at = UNSET if again is None else self._identity.calendar.write(again)
        left = complaint.time_remaining
        seconds = UNSET if left is None else round(left, 3)
        counts = (complaint.retry_count, complaint.max_retries)
        return messages.GameError(
            **self._to(seat, now),
            error_code=complaint.error.code,
            error_name=complaint.error.name,
            error_description=complaint.error.name,
            error_message=str(complaint.error)[:500],
            affected_player=self._assignment.seats[seat].player_id,
            action_required=action,
            game_state=state_name,
            retryable=complaint.is_retryable,
            retry_count=complaint.retry_count,
            max_retries=complaint.max_retries,
            time_remaining=seconds,
            retry_info=messages.RetryInfo(*counts, at, seconds),
            context=context,
            consequence=_consequence(complaint),
        )

    def lock(
        self,
        index: int,
        moves: Sequence[tuple[int, str, Any]],
        forfeits: Sequence[tuple[str, str]],
        now: float,
    ) -> messages.Message:
        """LOCK_REQUEST."""
        return messages.LockRequest(
            self._assignment.match.match_id,
            self._assignment.epoch,
            index,
            list(moves),
            list(forfeits),
            sender=self._sender,
            timestamp=self._identity.calendar.write(now),
            conversation_id=self._conversation,
            auth_token=self._identity.token,
        )

    def report(
        self, locked: messages.LockResponse, notes: Transcript, *, began: float, now: float
    ) -> messages.Message:
        """MATCH_RESULT_REPORT, with the transcript."""
        assert locked.result
        result, match = locked.result.game_result, self._assignment.match
        rows, left_out = notes.rows(began)
        details = messages.ResultDetails(
            result.drawn_number, result.choices, result.status, result.game_details
        )
        return messages.MatchResultReport(
            match.match_id,
            messages.ReportedResult(locked.result.winner, locked.result.score, details),
            self._assignment.league_id,
            self._assignment.round_id,
            match.game_type,
            self._assignment.epoch,
            rows,
            left_out or UNSET,
            notes.silences(),
            wrong_tokens=notes.wrong_tokens or UNSET,
            timed_out=notes.timed_out or UNSET,
            sender=self._sender,
            timestamp=self._identity.calendar.write(now),
            conversation_id=f"conv-{match.match_id.lower()}-report",
            auth_token=self._identity.token,
        )

    def _to(self, seat: int, now: float) -> dict[str, Any]:
        seated = self._assignment.seats[seat]
        return {
            **self._shared,
            "player_id": seated.player_id,
            "auth_token": seated.match_token,
            "timestamp": self._identity.calendar.write(now),
        }


def addresses(seats: Sequence[messages.Seated]) -> list[Address]:
    """Where and how the players are called."""
    return [Address(seat.player_id, seat.endpoint, seat.dialect or "") for seat in seats]


def _plain(context: Mapping[str, Any]) -> dict[str, Any]:
    """What the player is told; the rest is for the referee itself and its log."""
    return {
        name: value
        for name, value in context.items()
        if isinstance(value, str | int | float) and name not in ("tried", "forms", "is_empty")
    }


def _legal(complaint: Complain, game: Game, state: Any, seat: int) -> dict[str, Any]:
    """The illegal move and the legal ones, in document 004's words where it has any."""
    if not isinstance(complaint.error, IllegalMove):
        return {}
    legal = game.legal_moves(state, game.seats[seat])
    listed = None if legal is None else list(legal)
    if game.name == PARITY_GAME:
        return {"invalid_choice": shortened(complaint.received), "valid_choices": listed}
    return {"invalid_move": shortened(complaint.received), "legal_moves": listed}


def _consequence(complaint: Complain) -> str:
    if complaint.next_retry_at is not None:
        return "Technical loss if max retries exceeded"
    if complaint.time_remaining is not None:
        return "Technical loss if valid choice not received before timeout"
    return "Technical loss"
