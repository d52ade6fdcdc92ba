"""How an event becomes a row and how rows are chained by hash, the same for every journal.

    first  = SHA-256("agentleague-journal-v1|" + league_id)
    hash   = SHA-256(previous hash + league_id + seq + at + kind + version + body)

In the second line every part after the previous hash stands behind its length (8 bytes, big
endian); numbers are written in decimal, text is UTF-8.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from math import modf
from struct import Struct

import msgspec

from agentleague.errors import Damaged, StorageError
from agentleague.roles.effects import Event
from agentleague.roles.ports import Head, Row

Fields = tuple[str, int, str, str, int, bytes]  # a row without its hash
Entry = tuple[str, int, bytes]  # an event as it is stored: kind, version and body

_size = Struct(">Q").pack
_encode = msgspec.json.Encoder().encode


def entry(event: Event) -> Entry:
    """What is stored of an event."""
    return *_kind(type(event)), _encode(event)


@lru_cache(maxsize=256)
def _kind(cls: type[Event]) -> tuple[str, int]:
    return str(cls.__struct_config__.tag), getattr(cls, "VERSION", 1)


def moment(unix_seconds: float) -> str:
    """A row's `at`: UTC with milliseconds."""
    part, whole = modf(unix_seconds)
    second, microseconds = divmod(int(whole) * 1_000_000 + round(part * 1e6), 1_000_000)
    return f"{_second(second)}.{microseconds // 1000:03}Z"


@lru_cache(maxsize=16)
def _second(unix_seconds: int) -> str:
    return datetime.fromtimestamp(unix_seconds, UTC).replace(tzinfo=None).isoformat()


def start(league_id: str) -> Head:
    """The head of a league without rows."""
    return Head(0, sha256(b"agentleague-journal-v1|" + league_id.encode()).digest())


def link(previous: bytes, fields: Fields) -> bytes:
    """The hash of a row that follows the one whose hash is given."""
    league_id, seq, at, kind, version, body = fields  # Unrolled: a restart checks every row.
    number, time = b"%d" % seq, at.encode()
    place = previous + _framed(league_id) + _size(len(number)) + number + _size(len(time)) + time
    return sha256(place + _framed(kind, version) + _size(len(body)) + body).digest()


@lru_cache(maxsize=256)
def _framed(*parts: object) -> bytes:
    """Parts that come again and again, each behind its length."""
    encoded = [str(part).encode() for part in parts]
    return b"".join(_size(len(each)) + each for each in encoded)


def extend(head: Head | Row, league_id: str, at: str, entries: Iterable[Entry]) -> list[Row]:
    """The rows that follow the head, or another row."""
    rows = []
    previous = head.hash
    for seq, (kind, version, body) in enumerate(entries, head.seq + 1):
        previous = link(previous, (league_id, seq, at, kind, version, body))
        rows.append(Row(league_id, seq, at, kind, version, body, previous))
    return rows


def verified(head: Head | Row, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows that follow the head or another row; Damaged names the first that is not intact."""
    previous = head.hash
    for seq, row in enumerate(rows, head.seq + 1):
        if not is_intact(row, seq, previous):
            raise damaged(row.league_id, seq)
        yield row
        previous = row.hash


def refusal(league_id: str, after: int, last: int | None) -> StorageError | None:
    """Why nothing may be written behind row `after`; `last` is None where nobody has a claim."""
    if last is None:
        return StorageError(f"league {league_id} is not claimed")
    if after != last:
        return StorageError(f"league {league_id} ends with row {last}, not with row {after}")
    return None


def damaged(league_id: str, seq: int, why: str = "is missing or not what was written") -> Damaged:
    """The error that names a bad row."""
    sentence = f"row {seq} of league {league_id} {why}"
    return Damaged(sentence, league_id=league_id, seq=seq, why=why)


def gone(league_id: str, last: int, proved: Head) -> str:
    """That rows up to one that is proved are not there behind the last."""
    if last >= proved.seq:
        return f"row {proved.seq} of league {league_id} is not the one that was committed"
    if last + 1 == proved.seq:
        return f"row {proved.seq} of league {league_id} was committed and is gone"
    return f"rows {last + 1} to {proved.seq} of league {league_id} were committed and are gone"


def is_intact(row: Sequence[object], seq: int, previous: bytes) -> bool:
    """Whether this is the row of that number that was written behind the one with this hash."""
    if not is_typed(row) or row[1] != seq:
        return False
    return link(previous, row[:6]) == row[6]  # type: ignore[arg-type]


def is_typed(row: Sequence[object]) -> bool:
    """Whether each column is of its type: SQLite holds whatever type a damaged record says."""
    # A number in place of its text would hash alike.
    league_id, seq, at, kind, version, body, own = row  # Unrolled, like `link`.
    is_text = type(league_id) is type(at) is type(kind) is str
    return is_text and type(seq) is type(version) is int and type(body) is type(own) is bytes
