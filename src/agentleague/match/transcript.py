"""What a referee notes during a match: one line for each attempt to get an answer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from agentleague.protocol.messages import Exchange


@dataclass(frozen=True)
class MatchLimits:
    """Handed to a match; tests hand in smaller ones."""

    move_bytes: int = 1024
    move_depth: int = 8  # the manager reads 16 levels, with those around a move
    transcript_bytes: int = 4096  # of all rows together, as they are sent
    transcript_move_bytes: int = 100
    retry_seconds: tuple[float, ...] = (1.0, 2.0, 4.0, 5.0)  # between tries to reach the manager
    seat_seconds: tuple[float, ...] = (0.5, 1.0, 2.0)  # the same, to call a seat there
    late_seconds: float = 0.25  # a timer that rings so much too late: this machine slept


LIMITS = MatchLimits()
AGENT_ID = re.compile(r"(?:P|REF)\d{2,}", re.ASCII)  # as the manager gives them
ID_MAX = 20
INT_MAX = 2**31 - 1
_ENCODER = msgspec.json.Encoder()

OPEN = ""  # no result yet
OK = "ok"
LATE = "late"  # valid, after the attempt's own time and before the end of the phase
PUSHED = "pushed"
DECLINED = "declined"
NO_CONTENT = "no content"
RATE_LIMITED = "rate limited"
IN_IT_ALREADY = "in it already"


class Line(Struct, gc=False):
    """One attempt and its result."""

    began: float
    seat: int
    message: str
    attempt: int
    verdict: str = OPEN
    move: Any = None
    answered_at: float | None = None  # whether and when an answer came, usable or not
    is_touched: bool = False  # whether a byte came back
    is_unreached: bool = False  # whether no connection could be opened
    is_open: bool = True  # whether its call may still be answered
    is_interrupted: bool = False  # whether this machine slept meanwhile
    note: str = ""


class Transcript(Struct, gc=False):
    """The lines of one match, in the order of the attempts; the first of them are reported."""

    _players: Sequence[str]
    _limits: MatchLimits = LIMITS
    _lines: list[Line] = []
    timed_out: dict[str, Any] = {}  # player -> the question of which every attempt ran out
    wrong_tokens: dict[str, str] = {}  # player -> with what it, or another here, sent one

    def begin(self, seat: int, message: str, attempt: int, now: float) -> Line:
        """An attempt begins; its result is noted in the line."""
        line = Line(now, seat, message, attempt)
        self._lines.append(line)
        return line

    def hear(self, line: Line, now: float, message: Any = None) -> None:
        """Note an answer, and whom it names, or its sender; its identity is the end point."""
        line.is_touched = True
        if line.answered_at is None:
            line.answered_at = now
        if message is None:
            return
        own, said = self._players[line.seat], getattr(message, "player_id", "")
        if said == own:
            sender = str(message.sender).rpartition(":")[2]
            is_other = sender != own and AGENT_ID.fullmatch(sender)
            line.note = f"as {sender[:ID_MAX]}" if is_other else ""
        else:
            line.note = f"as {said[:ID_MAX]}" if said else "without player_id"

    def is_unreached(self, seat: int) -> bool:
        """Whether no connection to that player could ever be opened."""
        return all(line.is_unreached for line in self._lines if line.seat == seat)

    def rows(self, began: float) -> tuple[list[Exchange], int]:
        """The first lines as they are reported, and how many are left out."""
        rows = []
        for line in self._lines:
            at, after, move = round((line.began - began) * 1000), line.answered_at, line.move
            row = Exchange(
                at if at < INT_MAX else INT_MAX,
                self._players[line.seat],
                line.message,
                line.attempt,
                line.verdict or "dropped",
                None if move is None else shortened(move, self._limits),
                None if after is None else min(round((after - line.began) * 1000), INT_MAX),
                line.note,
            )
            rows.append(row)
        fitting = _ENCODER.encode_lines(rows)[: self._limits.transcript_bytes].count(b"\n")
        return rows[:fitting], len(rows) - fitting

    def silences(self) -> dict[str, tuple[int, bool]]:
        """For each player, how many attempts at the end had no answer, and whether any had one."""
        silences = dict.fromkeys(self._players, (0, False))
        for line in self._lines:
            player_id = self._players[line.seat]
            if line.answered_at is not None:
                silences[player_id] = (0, True)
            elif line.verdict != OPEN:
                count, is_heard = silences[player_id]
                silences[player_id] = (count + 1, is_heard)
        return silences


def shortened(move: Any, limits: MatchLimits = LIMITS) -> Any:
    """A move; its JSON as a text where it is nested deep, the beginning of it where it is long."""
    text = msgspec.json.encode(move)
    if len(text) > limits.transcript_move_bytes:
        return text[: limits.transcript_move_bytes - 3].decode(errors="ignore") + "…"
    return text.decode() if depth(move) > limits.move_depth else move


def depth(value: Any) -> int:
    """How deep JSON is nested; a text or number is not."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list | tuple):
        return 0
    return 1 + max(map(depth, value), default=0)
