"""What can be set: one frozen dataclass per role, a default and a sentence per field."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from agentleague.league.standings import TIE_BREAKS
from agentleague.protocol.messages import Rules


@dataclass(frozen=True, kw_only=True)
class ManagerSettings:
    """The league and its rules."""

    league_id: str
    """Unique for ever; made from the seed, or at random."""
    game_type: str = "even_odd"
    """The game that is played."""
    game_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of that game."""
    cycles: int = 1
    """How often everybody meets everybody."""
    players: int | None = None
    """The league starts when so many players are there."""
    referees: int = 1
    """And when so many referees are there."""
    players_max: int = 10_000
    """No more players than that."""
    referees_max: int = 100
    """No more referees than that."""
    join_seconds: float = 5.0
    """How long a player may take to join a match."""
    move_seconds: float = 30.0
    """How long a player may take for a move."""
    game_over_seconds: float = 5.0
    """How long a player may take to acknowledge the end of a match."""
    reply_seconds: float = 10.0
    """How long everything else may take."""
    retries: int = 3
    """How often a move is asked for again when no answer came."""
    join_retries: int = 3
    """How often an invitation is sent again when no answer came."""
    retry_delay_seconds: float = 2.0
    """How long the first retry waits."""
    retry_backoff: float = 1.0
    """By how much each further retry waits longer: 2.0 doubles the delay."""
    unsigned_pushes: bool = True
    """Whether an answer pushed without a token counts, from the address of the end point."""
    lease_seconds: float = 10.0
    """How long a referee may be silent before its matches go to another."""
    referee_wait_seconds: float = 600.0
    """How long a match waits for a referee before it is no contest."""
    round_notice_seconds: float = 0.0
    """How long after its announcement a round begins."""
    start_after_seconds: float | None = None
    """The league starts so long after its manager, if there are two players and a referee."""
    unique_names: str = "suffix"
    """What becomes of a name that is taken: `suffix`, `reject` or `off`."""
    missing_fields: str = "warn"
    """What becomes of a message that lacks a documented field: `warn` or `refuse`."""
    foreign_referees: str = "mark"
    """Whether referees that do not lock are taken, their matches marked: `mark` or `refuse`."""
    join_code: str = ""
    """Who registers must know it; empty: anybody may."""
    standings_seconds: float = 1.0
    """How often the table is sent while a round runs, at most."""
    win_points: int = 3
    """Points for a win."""
    draw_points: int = 1
    """Points for a draw."""
    loss_points: int = 0
    """Points for a loss."""
    tie_breaks: Sequence[str] = TIE_BREAKS
    """What decides between players with equal points, in this order."""
    seeded: bool = False
    """Whether draws follow from a seed that was given, so that they can be foretold."""

    @property
    def rules(self) -> Rules:
        """What referees need to know of them."""
        return Rules(
            self.join_seconds,
            self.move_seconds,
            self.game_over_seconds,
            self.reply_seconds,
            dict(self.game_options),
            self.retries,
            self.join_retries,
            self.retry_delay_seconds,
            self.retry_backoff,
            self.unsigned_pushes,
        )


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """A referee or a player."""

    manager_url: str = "http://127.0.0.1:8000/mcp"
    """Where the manager is called."""
    display_name: str
    """The name under which it registers."""
    endpoint: str
    """Where it can be called."""
    game_types: Sequence[str] = ("even_odd",)
    """The games it knows."""
    version: str = "1.0.0"
    """The agent's own version."""
    register_seconds: float = 1.0
    """How long it waits before it tries to register again."""
    reply_seconds: float = 10.0
    """How long the manager may take to answer."""
    join_code: str = ""
    """What the organiser told those who may register, if anything."""


@dataclass(frozen=True, kw_only=True)
class RefereeSettings(AgentSettings):
    """A referee."""

    max_concurrent_matches: int = 64
    """How many matches it runs at once."""


@dataclass(frozen=True, kw_only=True)
class PlayerSettings(AgentSettings):
    """A player."""

    seed: str = ""
    """What its strategy's chance follows from; at random unless given."""


class Secrets(Struct, frozen=True):
    """What the manager alone knows; never journalled, never logged."""

    draw_secret: bytes
    token_secret: bytes
    admin_token: str = ""  # what the organiser shows; nobody is the organiser without one

    def __repr__(self) -> str:
        return "Secrets(…)"
