"""The two messages that a player reads only in part, since they grow with the league.

Both are sent to every player in every round. The rows of a table are read when they are used.
"""

import msgspec
from msgspec import UNSET, Raw, UnsetType

from agentleague.protocol.messages import (
    Id,
    LeagueStandingsUpdate,
    Message,
    Part,
    RoundAnnouncement,
    StandingRow,
)

_rows = msgspec.json.Decoder(list[StandingRow])


class Pairing(Part):
    """Who meets whom in one match, and the commitment to its draw."""

    match_id: Id
    player_A_id: Id = ""
    player_B_id: Id = ""
    draw_commitment: Id | UnsetType = UNSET


class PartialAnnouncement(RoundAnnouncement, tag="ROUND_ANNOUNCEMENT"):
    """The announcement of a round, as far as a player needs it."""

    matches: list[Pairing] = msgspec.field(default_factory=list)  # type: ignore[assignment]


class PartialTable(LeagueStandingsUpdate, tag="LEAGUE_STANDINGS_UPDATE"):
    """The table with its rows unread."""

    standings: Raw = Raw(b"[]")  # type: ignore[assignment]


PARTIAL_MESSAGES: dict[str, type[Message]] = {
    "ROUND_ANNOUNCEMENT": PartialAnnouncement,
    "LEAGUE_STANDINGS_UPDATE": PartialTable,
}


def read_rows(rows: Raw | list[StandingRow]) -> list[StandingRow]:
    """The rows of a table; none if they cannot be read."""
    if not isinstance(rows, Raw):
        return rows
    try:
        return _rows.decode(rows)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
