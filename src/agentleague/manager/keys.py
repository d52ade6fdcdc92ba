"""Names of the manager's timers and calls, and of what it waits for after a message.

The tables in `role.py` say which method handles each type.
"""

from msgspec import Struct


class Key(Struct, frozen=True, gc=False):
    """Two keys are the same if they have the same type and the same fields."""


# Timers


class LeagueStartDue(Key, frozen=True):
    """The league starts by the clock."""


class RoundStartDue(Key, frozen=True):
    """The players had notice of the round."""


class AnnouncementAnswersDue(Key, frozen=True):
    """The players had time to answer the announcement of a round."""

    round_id: int


class TableDue(Key, frozen=True):
    """The table changed and may be shown again."""


class LeagueEndDue(Key, frozen=True):
    """The agents had time to hear that the league is over."""


class LeaseCheck(Key, frozen=True):
    """Look for leases that have run out."""


class RefereeWaitOver(Key, frozen=True):
    """A match has waited for a referee for as long as it may."""


class AssignAgain(Key, frozen=True):
    """A referee that did not answer is sent its matches again."""

    referee_id: str


class StartAgain(Key, frozen=True):
    """A foreign referee is told again, or in another dialect, to run a match."""

    match_id: str


class NewRefereeAnswersDue(Key, frozen=True):
    """The players of a match had time to hear of its new referee."""

    match_id: str


# Calls


class OutboxCall(Key, frozen=True):
    """A message of the outbox."""

    agent_id: str


class StartCall(Key, frozen=True):
    """A foreign referee is told to run a match."""

    match_id: str


class ControlCall(Key, frozen=True):
    """The same referee is told nonsense, to compare its answers."""

    match_id: str


# What a message of the outbox tells: its handler is called when it was answered or given up.


class MatchesAssigned(Key, frozen=True):
    """A referee's copy of the announcement."""

    matches: tuple[str, ...]


class RoundAnnounced(Key, frozen=True):
    """A player's copy of the announcement."""

    round_id: int


class RefereeChanged(Key, frozen=True):
    """A match has another referee."""

    match_id: str


class ResultTold(Key, frozen=True):
    """A match has a result, and no referee is left to say so."""

    match_id: str


class RoundEndTold(Key, frozen=True):
    """A round is over."""

    round_id: int


class LeagueEndTold(Key, frozen=True):
    """The league is over."""
