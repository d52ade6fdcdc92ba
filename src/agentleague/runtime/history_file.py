"""What an agent has played, kept beside its token, so that a strategy can learn across leagues.

One file for each name, whatever manager it plays at. Whoever writes puts all matches of its own
league into what is there, and replaces the file at once: two agents of one name can write in turn,
and what one of them overwrites it writes again after its next match.
"""

import os
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

MATCHES_MAX = 1000
SIZE_BYTES_MAX = 16_000_000  # a file that is longer was not written here
# fmt: off
FIELDS = frozenset({
    "league_id", "game_type", "match_id", "round_id", "player_id", "opponent_id", "opponent_name",
    "result", "won",
})
# fmt: on


class _Kept(msgspec.Struct):
    matches: list[dict[str, Any]] = []


class HistoryFile:
    """The matches of all agents of this name that kept them in this directory."""

    def __init__(self, directory: Path, name: str) -> None:
        words = "-".join(re.findall(r"[A-Za-z0-9]+", name))[:60].lower()
        self.path = directory / f"history-{words}-{sha256(name.encode()).hexdigest()[:12]}.json"

    def read(self) -> Sequence[Mapping[str, Any]]:
        """The matches, oldest first; of a file that cannot be read, or is not ours, none."""
        try:
            if self.path.stat().st_size > SIZE_BYTES_MAX:
                return []
            kept = msgspec.json.decode(self.path.read_bytes(), type=_Kept)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return []
        return [match for match in kept.matches if match.keys() >= FIELDS]

    def save(self, matches: Sequence[Mapping[str, Any]]) -> None:
        """Put these in place of what is there of the same league and player; only the last stay.

        Raises:
            OSError: it cannot be written; what was there stays.
        """
        own = {_whose(match) for match in matches}
        others = [match for match in self.read() if _whose(match) not in own]
        kept = {"matches": [*others, *matches][-MATCHES_MAX:]}
        draft = self.path.with_suffix(f".{os.getpid()}.new")  # Another agent's may be there too.
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.encode(kept))
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)  # All or nothing, whenever the machine stops.
        except BaseException:
            draft.unlink()
            raise


def _whose(match: Mapping[str, Any]) -> tuple[Any, Any]:
    return match["league_id"], match["player_id"]
