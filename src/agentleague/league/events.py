"""Everything the manager decides, one class per kind of journal row.

The journal holds decisions, never inputs. No field ever holds a secret: a seed is written only
with the result that reveals it.
"""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from agentleague.errors import Damaged
from agentleague.league.formats.format import Stage
from agentleague.protocol.messages import Exchange, GameResult, Rules
from agentleague.roles.effects import Event

Moves = list[tuple[int, str, Any]]


class LeagueOpened(Event, frozen=True, tag="league_opened"):
    """The league and its rules, which hold to its end."""

    league_id: str
    game_type: str
    rules: Rules
    cycles: int
    points: tuple[int, int, int]
    tie_breaks: list[str]
    seeded: bool
    has_join_code: bool = False
    has_referee_code: bool | UnsetType = UNSET
    stages: list[Stage] | UnsetType = UNSET  # without them a round robin of so many cycles
    seeding: str | UnsetType = UNSET  # "random" or "rating"; without it as they registered
    seeding_commitment: str | UnsetType = UNSET  # to the draw of the seeds
    late: str | UnsetType = UNSET  # "next_stage" or "play_remaining"; without it nobody comes late


class PlayerRegistered(Event, frozen=True, tag="player_registered"):
    """A player was taken in."""

    player_id: str
    display_name: str
    endpoint: str
    version: str
    token_digest: str
    generation: int = 1
    proofs: bool | UnsetType = UNSET  # it wants the manager's messages proved
    claim_digest: str | UnsetType = UNSET  # of a claim, which only the one who registered knows
    source: str | UnsetType = UNSET  # the address it asked from, if known; not the organiser's
    addresses: list[str] | UnsetType = UNSET  # of its host name, where the end point has one
    game_types: list[str] | UnsetType = UNSET  # that it says it knows
    known_by: str | UnsetType = UNSET  # in a season: a token or claim of before, or only its place


class PlayerReturned(Event, frozen=True, tag="player_returned"):
    """A player that lost its token was given a further one, which may only ask."""

    player_id: str
    token_digest: str
    generation: int


class RefereeRegistered(Event, frozen=True, tag="referee_registered"):
    """A referee was taken in."""

    referee_id: str
    display_name: str
    endpoint: str
    version: str
    token_digest: str
    capacity: int
    locks: bool
    generation: int = 1
    added: bool | UnsetType = UNSET  # by the organiser: it was never told its token
    proofs: bool | UnsetType = UNSET  # it wants the manager's messages proved
    waiting: bool | UnsetType = UNSET  # it is given nothing before the organiser's word
    anyone: bool | UnsetType = UNSET  # let in since anybody may referee: nobody vouches for it
    claim_digest: str | UnsetType = UNSET  # these four as a player's
    source: str | UnsetType = UNSET
    addresses: list[str] | UnsetType = UNSET
    game_types: list[str] | UnsetType = UNSET


class RefereeApproved(Event, frozen=True, tag="referee_approved"):
    """The organiser vouches for a referee; or one that waited then knew the code."""

    referee_id: str


class RefereeSetAside(Event, frozen=True, tag="referee_set_aside"):
    """A referee said of these players that they forfeited, and they played with others."""

    referee_id: str
    players: list[str]


class TokenRenewed(Event, frozen=True, tag="token_renewed"):
    """An agent that showed its token was given a further one; its end point may have changed.

    For a referee this begins a session; sessions are numbered by generation.
    """

    agent_id: str
    token_digest: str
    generation: int
    endpoint: str
    capacity: int = 0  # a referee's
    proofs: bool | UnsetType = UNSET  # it wants the manager's messages proved
    claim_digest: str | UnsetType = UNSET  # if it has another claim now
    addresses: list[str] | UnsetType = UNSET  # of its host name, if the end point changed


class EndpointChanged(Event, frozen=True, tag="endpoint_changed"):
    """The organiser said where an agent is called from here on."""

    agent_id: str
    endpoint: str


class EndpointProved(Event, frozen=True, tag="endpoint_proved"):
    """The one who listens at an agent's end point said that the registration is its own."""

    agent_id: str


class RegistrationDisplaced(Event, frozen=True, tag="registration_displaced"):
    """A registration was taken out: it is not that of the one who listens at its end point.

    Its token is worth nothing, and its name and end point are free. Players are taken out so only
    before the start.
    """

    agent_id: str
    by: str  # whose the end point is; empty if the listener denied the registration
    name: str = ""  # that it had, if this becomes the name of the other one


class TokenConfirmed(Event, frozen=True, tag="token_confirmed"):
    """A renewed token was used for the first time; those before it are worth nothing now."""

    agent_id: str
    generation: int


class PlayerRemoved(Event, frozen=True, tag="player_removed"):
    """The organiser took a player out: its matches from this round on are technical losses."""

    player_id: str
    from_round: int = 1


class LeagueStarted(Event, frozen=True, tag="league_started"):
    """Registration is closed; the rounds follow from the players in this order."""

    players: list[str]
    # to the draw of the champion among those who share rank 1; without it nobody shares a rank
    champion_commitment: str | UnsetType = UNSET
    seed: str | UnsetType = UNSET  # opens the commitment to the draw of the seeds
    elo: dict[str, int] | UnsetType = UNSET  # of players of whom something is known
    ends_at: int | UnsetType = UNSET  # no round of the first stage begins later, in Unix seconds


class StageStarted(Event, frozen=True, tag="stage_started"):
    """A stage is over, and the next one begins; its rounds follow from the players in order."""

    stage: int  # from 2
    players: list[str]
    ends_at: int | UnsetType = UNSET


class PlayerJoined(Event, frozen=True, tag="player_joined"):
    """A player who registered after the start plays from the next round, or cycle, on."""

    player_id: str
    elo: int | UnsetType = UNSET  # with which it comes from leagues before


class TimeUp(Event, frozen=True, tag="time_up"):
    """The time of a stage is over: no further round of it begins."""

    stage: int


class ScheduledMatch(msgspec.Struct, frozen=True, array_like=True):
    """A match of a round, its referee, and what its draws are sealed with."""

    match_id: str
    player_a: str
    player_b: str
    referee_id: str
    commitment: str


class RoundScheduled(Event, frozen=True, tag="round_scheduled"):
    """The matches of a round; written before anybody hears of them."""

    round_id: int
    matches: list[ScheduledMatch]
    byes: list[str]
    generation: int | UnsetType = UNSET  # of its draws, after a loss


class LossAccepted(Event, frozen=True, tag="loss_accepted"):
    """The organiser goes on after rows before this one were lost.

    Their seeds may be known. So each match that is not decided begins anew, with a new commitment.
    """

    generation: int  # of draws, receipts, epochs and tokens; higher than any before, lost or not
    last: int  # the number of the last row that is known to be lost
    commitments: dict[str, str]  # match of the running round -> to its new draws
    champion_commitment: str | UnsetType = UNSET  # the new one, if there was one


class MatchAssigned(Event, frozen=True, tag="match_assigned"):
    """A match was given to a referee again; only this epoch may lock from here on."""

    match_id: str
    epoch: int
    referee_id: str
    why: str
    returned: bool | UnsetType = UNSET  # its referee had come back: not counted against the match
    # what the referee before, for which nobody vouches, said of the players: this one confirms it
    claimed: list[tuple[str, str]] | UnsetType = UNSET


class MatchBegun(Event, frozen=True, tag="match_begun"):
    """A referee that does not lock said that it runs the match: it is not told of it again."""

    match_id: str
    epoch: int


class MatchLocked(Event, frozen=True, tag="match_locked"):
    """Moves were fixed and a number was drawn; the game goes on."""

    match_id: str
    epoch: int
    index: int
    moves: Moves
    value: int


class MatchDecided(Event, frozen=True, tag="match_decided"):
    """The result of a match."""

    match_id: str
    epoch: int
    index: int
    moves: Moves
    forfeits: list[tuple[str, str]]
    result: GameResult
    seed: str
    verified: bool = True  # False: believed by the report of a referee that does not lock
    # a technical loss by the word of one referee alone, for which nobody vouches
    unconfirmed: bool | UnsetType = UNSET


class MatchClosed(Event, frozen=True, tag="match_closed"):
    """The players were told, or given up: by a referee, which says how the match went."""

    match_id: str
    epoch: int
    transcript: Raw = Raw(b"[]")  # of exchanges: who looks reads them, a restart does not
    left_out: int = 0  # exchanges that the transcript has no room for
    # player -> attempts without an answer at the end, and whether it answered one before them
    silences: dict[str, tuple[int, bool]] = msgspec.field(default_factory=dict)
    told: str = "referee"  # or "manager", or "unverified" for a referee that does not lock
    reported_at: str | UnsetType = UNSET  # the time in the report of one that does not lock
    timed_out: dict[str, Any] | UnsetType = UNSET  # as the report has it

    @property
    def exchanges(self) -> list[Exchange]:
        """Every attempt to get something out of a player."""
        return _EXCHANGES.decode(self.transcript)


class Disputed(Event, frozen=True, tag="disputed"):
    """A lock or report that was refused and that the organiser should know of."""

    match_id: str
    referee_id: str
    why: str


class MatchRuled(Event, frozen=True, tag="match_ruled"):
    """The organiser's word on a match that has a result: what counts in the table from here on.

    The result itself stays where it is; a later ruling takes the place of an earlier one.
    """

    match_id: str
    verdict: str  # "win", "draw", "no_contest", or "stand": the result counts as it was decided
    winner: str | None
    reason: str


class TokenMisused(Event, frozen=True, tag="token_misused"):
    """An agent's token was shown where it gives no right; noted once for each kind of message."""

    agent_id: str
    message: str  # its type
    scope: str  # what the token is for: "league", "match" or, if nobody knows, "unknown"


class DialectLearnt(Event, frozen=True, tag="dialect_learnt"):
    """How an agent is spoken to from here on: guessed when it registered, or what it understood."""

    agent_id: str
    dialect: str


class TokenShown(Event, frozen=True, tag="token_shown"):
    """A referee that does not lock showed its token: without it nothing counts as its own now."""

    agent_id: str


class RoundEnded(Event, frozen=True, tag="round_ended"):
    """All matches of a round are closed."""

    round_id: int


class Told(Event, frozen=True, tag="told"):
    """Everybody was told, or given up: a round's announcement, its end, or the league's end."""

    what: str  # "announcement", "round_end" or "league_end"
    round_id: int


class LeaguePaused(Event, frozen=True, tag="league_paused"):
    """The organiser stopped the clock."""


class LeagueContinued(Event, frozen=True, tag="league_continued"):
    """The organiser let the clock run again."""


class LeagueEnded(Event, frozen=True, tag="league_ended"):
    """All rounds are over, or the organiser ended the league; this is who won, or leads."""

    champion: str
    aborted: bool = False
    seed: str | UnsetType = UNSET  # opens the commitment to the draw of the champion


KINDS: dict[str, type[Event]] = {
    str(cls.__struct_config__.tag): cls
    for cls in list(vars().values())  # All classes above.
    if isinstance(cls, type) and issubclass(cls, Event) and cls is not Event
}
_EXCHANGES = msgspec.json.Decoder(list[Exchange])
_DECODERS = {kind: msgspec.json.Decoder(cls) for kind, cls in KINDS.items()}


def read_event(kind: str, version: int, body: bytes) -> Event:
    """A stored event. Raises Damaged for a kind or version that this program does not know."""
    if kind not in KINDS or version != 1:
        raise Damaged(
            f"the journal has a row {kind!r} of version {version}, which this agentleague does not "
            "know; use the version that wrote it, or a newer one"
        )
    try:
        return _DECODERS[kind].decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Damaged(f"a journal row {kind!r} cannot be read: {str(error)[:200]}") from None
