"""What the workers of a service share: which leagues there are, who owns and who organises them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

OPEN, ARCHIVED, FAILED = "open", "archived", "failed: "  # behind the last one stands why


class LeagueRow(NamedTuple):
    """A league of the service, and the live worker that owns it, if one does."""

    league_id: str
    organiser: str
    state: str
    owner: str = ""
    address: str = ""  # the internal one of that worker


class View(NamedTuple):
    """What all workers share, as it was a moment ago."""

    leagues: Sequence[LeagueRow] = ()
    organisers: Mapping[str, bytes] = {}  # the digests of their keys
    workers: Mapping[str, str] = {}  # the addresses of those that live


class LeaguesTable(Protocol):
    """That table, as a worker uses it; every method raises StorageError."""

    def look(self, worker: str, address: str, seconds: float) -> View:
        """Say that this worker lives so long, and see all leagues."""

    def leave(self, worker: str) -> None:
        """This worker is gone."""

    def create(self, league_id: str, organiser: str, most: int) -> None:
        """A new league of this organiser, not open yet.

        Raises Claimed: the organiser has too many, or the name is taken.
        """

    def set_state(self, league_id: str, state: str) -> None:
        """Open, archived, or failed and why."""
