"""What the workers of a service share: which leagues there are, who owns and who organises them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

CREATING, OPEN, ARCHIVED = "creating", "open", "archived"
FAILED = "failed: "  # behind it stands why


class LeagueRow(NamedTuple):
    """A league of the service, and the live worker that owns it, if one does."""

    league_id: str
    organiser: str
    state: str
    owner: str = ""
    address: str = ""  # the internal one of that worker
    phase: str = ""  # where the league stands, as its worker saw it last


class View(NamedTuple):
    """What all workers share, as it was a moment ago."""

    leagues: Sequence[LeagueRow] = ()
    organisers: Mapping[str, bytes] = {}  # the digests of their keys
    workers: Mapping[str, str] = {}  # the addresses of those that live
