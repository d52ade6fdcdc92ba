"""Sealed draws: numbers that no agent can choose and every agent can check.

The manager commits to a seed before the round is announced. A number follows from the seed and
from the moves that were locked, so it cannot be picked, drawn again or predicted, and the same
moves always give the same number.
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec

from agentleague.protocol.tokens import hmac_blocks

_TEXT = "draw-v1|%s|%s|%d|%s"  # league, match, index, digest of the moves
CHAMPION = "champion"  # in place of a match: the draw among those who share rank 1
SEEDING = "seeding"  # in place of a match: the draw of the players' seeds
Moves = Sequence[tuple[int, str, Any]]

_spell = json.JSONEncoder(separators=(",", ":")).encode
_spell_plain = msgspec.json.Encoder().encode  # The same for printable ASCII, ten times as fast.


def seed_of(secret: bytes, league_id: str, match_id: str, generation: int = 0) -> bytes:
    """The seed of one match; it leaves the manager only with the result."""
    # After a loss of rows, the seeds of older generations may be known.
    drawn_anew = f"|{generation}" if generation else ""
    return _hmac(secret, f"seed-v1|{league_id}|{match_id}{drawn_anew}")


def commitment(seed: bytes, league_id: str, match_id: str) -> str:
    """What is published before the match: it binds the manager and reveals nothing."""
    return sha256(f"commit-v1|{league_id}|{match_id}|{seed.hex()}".encode()).hexdigest()


def moves_digest(moves: Moves) -> str:
    """The moves in one spelling: JSON without spaces, ASCII only."""
    for _, player_id, move in moves:
        said = f"{player_id}{move}" if type(move) in (str, int) else "\n"
        if not (said.isascii() and said.isprintable()):
            return sha256(_spell(moves).encode()).hexdigest()
    return sha256(_spell_plain(moves)).hexdigest()


def number(  # noqa: PLR0913 - six names that only make sense together.
    seed: bytes, league_id: str, match_id: str, *, index: int, moves: Moves, bounds: tuple[int, int]
) -> int:
    """The number drawn at the lock of that index, from low to high."""
    low, high = bounds
    text = _TEXT % (league_id, match_id, index, moves_digest(moves))
    drawn = int.from_bytes(_hmac(seed, text), "big")
    return low + drawn % (high - low + 1)


def shuffled(seed: bytes, league_id: str, players: Sequence[str]) -> list[str]:
    """The players in an order that nobody chose."""
    return sorted(players, key=lambda each: _hmac(seed, f"seeding-v1|{league_id}|{each}"))


def draw_text(league_id: str, match_id: str, index: int, moves: Moves) -> str:
    """The number follows from the HMAC of this, with the seed as its key."""
    return _TEXT % (league_id, match_id, index, moves_digest(moves))


def _hmac(key: bytes, text: str) -> bytes:
    # `hmac.new` takes half as long again, `hmac.digest` lets other threads run meanwhile.
    inner, outer = hmac_blocks(key)
    return sha256(outer + sha256(inner + text.encode()).digest()).digest()
