"""The messages that a referee sends during a match."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from agentleague.errors import IllegalMove
from agentleague.games.game import Game
from agentleague.match.game_progress import GameProgress
from agentleague.match.question import Complain, Terms
from agentleague.match.transcript import LIMITS, MatchLimits, Transcript, shortened
from agentleague.protocol import messages
from agentleague.protocol.seats import url_at
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


class Conditions(Struct, frozen=True, dict=True):
    """What the matches of a round have in common, and what follows from it."""

    league_id: str
    round_id: int
    rules: messages.Rules
    game: Game
    identity: RefereeIdentity
    manager: Address
    limits: MatchLimits = LIMITS

    @cached_property
    def join_terms(self) -> Terms:
        """How players are invited."""
        return self._terms("GAME_INVITATION", self.rules.join_seconds, self.rules.join_retries)

    @cached_property
    def move_terms(self) -> Terms:
        """How they are asked for a move."""
        is_parity = self.game.name == PARITY_GAME
        message: messages.QuestionType = "CHOOSE_PARITY_CALL" if is_parity else "GAME_MOVE_CALL"
        return self._terms(message, self.rules.move_seconds, self.rules.retries)

    def _terms(self, message: messages.QuestionType, seconds: float, retries: int) -> Terms:
        rules = self.rules
        again = min(1.0, rules.move_seconds / 5)
        delays = (rules.retry_delay_seconds, rules.retry_backoff)
        return Terms(message, seconds, retries, *delays, again)

    @cached_property
    def sender(self) -> str:
        """Who sends all messages."""
        return f"referee:{self.identity.referee_id}"


class MatchMessages:
    """Writes the messages of one match; `timestamp` is what `write` makes of a time."""

    def __init__(self, match: messages.RoundMatch, at: Conditions) -> None:
        assert match.seats is not UNSET
        self._match, self._at, self._sender = match, at, at.sender
        self.seats: Sequence[messages.Seated] = match.seats
        self._conversation_id = f"conv-{match.match_id.lower()}-{match.epoch:03d}"
        self.write = at.identity.calendar.write

    def invitation(self, seat: int, timestamp: str) -> messages.Message:
        """GAME_INVITATION."""
        opponent_id = self.seats[1 - seat].player_id
        message = messages.GameInvitation(self._match.game_type, ROLES[seat], opponent_id)
        return self._to(seat, message, timestamp)

    def move_call(
        self, seat: int, progress: GameProgress, timestamp: str, until: float
    ) -> messages.Message:
        """CHOOSE_PARITY_CALL or GAME_MOVE_CALL."""
        game, state = progress.game, progress.state
        opponent_id, record = self.seats[1 - seat].player_id, self.seats[seat].record
        context = messages.MoveContext(opponent_id, self._at.round_id, record)
        deadline = self.write(until)
        if game.name == PARITY_GAME:
            choice = messages.ChooseParityCall(game.name, context, deadline)
            return self._to(seat, choice, timestamp)
        name = game.seats[seat]
        legal = game.legal_moves(state, name)
        listed = None if legal is None else list(legal)
        view = game.view(state, name)
        move = messages.GameMoveCall(game.name, progress.turn, view, listed, context, deadline)
        return self._to(seat, move, timestamp)

    def game_over(
        self, seat: int, locked: messages.LockResponse, timestamp: str
    ) -> messages.Message:
        """GAME_OVER."""
        assert locked.result
        result, game_type = locked.result.game_result, self._match.game_type
        over = messages.GameOver(result, game_type, result.reason, locked.draw, locked.receipt)
        return self._to(seat, over, timestamp)

    def game_over_plain(
        self, seat: int, locked: messages.LockResponse, timestamp: str
    ) -> messages.Message:
        """GAME_OVER with the fields of the documents alone, and without a null."""
        assert locked.result
        result = locked.result.game_result
        choices = {who: made for who, made in result.choices.items() if made is not None}
        fields = {**asdict(result), "choices": choices, "no_contest": None, "game_details": None}
        nulls = [name for name, value in fields.items() if value is None]
        plain = replace(result, choices=choices, **dict.fromkeys(nulls, UNSET))
        message = self.game_over(seat, locked, timestamp)
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
        again, left = complaint.next_retry_at, complaint.time_remaining
        at = UNSET if again is None else self.write(again)
        seconds = UNSET if left is None else round(left, 3)
        counts = (complaint.retry_count, complaint.max_retries)
        message = messages.GameError(
            error_code=complaint.error.code,
            error_name=complaint.error.name,
            error_description=complaint.error.name,
            error_message=str(complaint.error)[:500],
            affected_player=self.seats[seat].player_id,
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
        return self._to(seat, message, self.write(now))

    def lock(
        self,
        index: int,
        moves: Sequence[tuple[int, str, Any]],
        forfeits: Sequence[tuple[str, str]],
        now: float,
    ) -> messages.Message:
        """LOCK_REQUEST."""
        return messages.LockRequest(
            self._match.match_id,
            self._match.epoch or 0,
            index,
            list(moves),
            list(forfeits),
            sender=self._sender,
            timestamp=self.write(now),
            conversation_id=self._conversation_id,
            auth_token=self._at.identity.token,
        )

    def report(
        self, locked: messages.LockResponse, notes: Transcript, *, began: float, now: float
    ) -> messages.MatchResultReport:
        """MATCH_RESULT_REPORT, with the transcript."""
        assert locked.result
        result, match, at = locked.result.game_result, self._match, self._at
        rows, left_out = notes.rows(began)
        facts = (result.drawn_number, result.choices, result.status, result.game_details)
        details = messages.ResultDetails(*facts)
        return messages.MatchResultReport(
            match.match_id,
            messages.ReportedResult(locked.result.winner, locked.result.score, details),
            at.league_id,
            at.round_id,
            match.game_type,
            match.epoch,
            rows,
            left_out or UNSET,
            notes.silences(),
            wrong_tokens=notes.wrong_tokens or UNSET,
            timed_out=notes.timed_out or UNSET,
            sender=self._sender,
            timestamp=self.write(now),
            conversation_id=f"conv-{match.match_id.lower()}-report",
            auth_token=at.identity.token,
        )

    def _to(self, seat: int, message: messages.GameMessage, timestamp: str) -> messages.Message:
        """The message with what all to this player have in common; a copy is faster than `**`."""
        seated, match, at = self.seats[seat], self._match, self._at
        return replace(
            message,
            sender=self._sender,
            timestamp=timestamp,
            conversation_id=self._conversation_id,
            auth_token=seated.match_token,
            league_id=at.league_id,
            round_id=at.round_id,
            match_id=match.match_id,
            player_id=seated.player_id,
            epoch=match.epoch,
            referee_endpoint=at.identity.endpoint,
        )


def addresses(seats: Sequence[messages.Seated], manager_url: str) -> list[Address]:
    """Where and how the players are called; the manager's seats as this referee reaches it."""
    at = [url_at(manager_url, each.endpoint) if each.seat else each.endpoint for each in seats]
    return [
        Address(seat.player_id, url, seat.dialect or "")
        for seat, url in zip(seats, at, strict=True)
    ]


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
