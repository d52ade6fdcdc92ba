"""Names of the manager's timers and calls, and of what it waits for after a message.

The tables in `role.py` say which method handles each type.
"""

from msgspec import Struct


class Key(Struct, frozen=True, gc=False):
    """Two keys are the same if they have the same type and the same fields."""


class RoundKey(Key, frozen=True):
    round_id: int


class MatchKey(Key, frozen=True):
    match_id: str


class AgentKey(Key, frozen=True):
    agent_id: str


# fmt: off
# Timers
class LeagueStartDue(Key, frozen=True): ...  # the league starts by the clock
class ListenersDue(Key, frozen=True): ...  # those who registered last may listen by now
class RoundStartDue(Key, frozen=True): ...  # the players had notice of the round
class AnnouncementAnswersDue(RoundKey, frozen=True): ...  # the players had time to answer it
class StageTimeDue(Key, frozen=True):  # no further round of a stage begins
    stage: int


class TableDue(Key, frozen=True): ...  # the table changed and may be shown again
class LeagueEndDue(Key, frozen=True): ...  # the agents had time to hear that the league is over
class LeaseCheck(Key, frozen=True): ...  # look for leases that have run out
class RefereeWaitOver(Key, frozen=True): ...  # a match has waited for a referee as long as it may
class StartAgain(MatchKey, frozen=True): ...  # tell a foreign referee again, or in another dialect
class NewRefereeAnswersDue(MatchKey, frozen=True): ...  # the players had time to hear of it
class AssignAgain(AgentKey, frozen=True): ...  # a referee that did not answer is sent its matches
class ProofAgain(AgentKey, frozen=True): ...  # its claim is shown once more at its end point


# Calls
class EndpointLook(Key, frozen=True):  # a registration waits until its end point was tried
    reply: int


class ProofCall(AgentKey, frozen=True): ...  # the listener at an end point is shown a claim
class ErrorCall(AgentKey, frozen=True): ...  # LEAGUE_ERROR tells what no answer could
class StartCall(MatchKey, frozen=True): ...  # a foreign referee is told to run a match
class ControlCall(MatchKey, frozen=True): ...  # it is told nonsense, to compare its answers
class OutboxCall(AgentKey, frozen=True): ...  # a message of the outbox


class BroadcastCall(Key, frozen=True):  # messages of the outbox to many
    number: int


# What a message of the outbox tells: its handler is called when it was answered or given up.
class RoundAnnounced(RoundKey, frozen=True): ...  # a player's copy of the announcement
class RefereeChanged(MatchKey, frozen=True): ...  # a match has another referee
class ResultTold(MatchKey, frozen=True): ...  # a match has a result, told by the manager
class RoundEndTold(RoundKey, frozen=True): ...  # a round is over
class LeagueEndTold(Key, frozen=True): ...  # the league is over


class MatchesAssigned(Key, frozen=True):  # a referee's copy of the announcement
    matches: tuple[str, ...]
