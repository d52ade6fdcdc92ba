"""What can be set: one frozen dataclass per role, a default and a sentence per field.

Types carry their limits, so that a value from a file, a variable or an option is judged by them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from agentleague.protocol.hosts import is_loopback
from agentleague.protocol.messages import Rules

Seconds = Annotated[float, Meta(gt=0, le=31_536_000)]  # a year at most
Delay = Annotated[float, Meta(ge=0, le=31_536_000)]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Retries = Annotated[int, Meta(ge=0, le=100)]
Players = Annotated[int, Meta(ge=2, le=1_000_000)]
Points = Annotated[int, Meta(ge=-1_000_000, le=1_000_000)]
Port = Annotated[int, Meta(ge=0, le=65_535)]
Name = Annotated[str, Meta(max_length=50)]
# It becomes a folder's name and part of a path; `$` would let a line end behind it through.
Id = Annotated[str, Meta(max_length=64, pattern=r"^[A-Za-z0-9_-]*\Z")]
Network = Literal["local", "lan"]
RefereeAccess = Literal["local", "code", "anyone"]
FormatName = Literal["round_robin", "swiss", "knockout", "groups", "ladder"]
Seeding = Literal["order", "random", "rating"]
Late = Literal["refuse", "next_stage", "play_remaining"]
TieBreak = Literal[
    "head_to_head", "wins", "technical_losses", "buchholz", "sonneborn_berger", "player_id"
]


@dataclass(frozen=True, kw_only=True)
class ManagerSettings:
    """The league and its rules."""

    league_id: Id = ""
    """Unique for ever; made up unless given."""
    game_type: str = "even_odd"
    """The game to play: one that `league games` lists, or ./FILE.py."""
    game_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of that game; `league games` lists them."""
    format: FormatName = "round_robin"
    """Who meets whom; `groups` are followed by a knockout."""
    format_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of that format; `league formats FORMAT` lists them."""
    stages: Sequence[Mapping[str, Any]] = ()
    """Several formats, one after the other: each a table with `format` and its options."""
    cycles: Annotated[int, Meta(ge=1, le=100_000)] = 1
    """How often everybody meets everybody in a round robin."""
    seeding: Seeding = "order"
    """Who is seeded first: who registered first, by a sealed draw, or by rating in a season."""
    late: Late = "refuse"
    """Whether who comes after the start is refused, waits for the next stage, or plays the rest."""
    players: Players | None = None
    """The league starts when so many players are there; else with `league start`."""
    referees: Count = 1
    """It waits for so many referees, too."""
    start_after_seconds: Delay | None = None
    """It starts so long after its manager, with those who are there: two players or more."""
    start_at: Annotated[str, Meta(max_length=64)] = ""
    """It starts at this time, such as 2026-12-01T18:00:00+01:00, with those who are there."""
    round_notice_seconds: Delay = 0.0
    """How long after its announcement a round begins."""
    join_seconds: Seconds = 5.0
    """How long a player may take to join a match."""
    move_seconds: Seconds = 30.0
    """How long a player may take for a move."""
    game_over_seconds: Seconds = 5.0
    """How long a player may take to acknowledge the end of a match."""
    reply_seconds: Seconds = 10.0
    """How long everything else may take."""
    retries: Retries = 3
    """How often a move is asked for again when no answer came."""
    join_retries: Retries = 3
    """How often an invitation is sent again when no answer came."""
    retry_delay_seconds: Delay = 2.0
    """How long the first retry waits."""
    retry_backoff: Annotated[float, Meta(ge=1, le=100)] = 1.0
    """By how much each further retry waits longer: 2.0 doubles the delay."""
    patience: Literal["learning", "documents"] = "learning"
    """Who let every attempt run out is asked once until it answers, or always gets all retries."""
    win_points: Points = 3
    """Points for a win."""
    draw_points: Points = 1
    """Points for a draw."""
    loss_points: Points = 0
    """Points for a loss."""
    tie_breaks: Sequence[TieBreak] | None = None
    """What decides between players with equal points, in this order; else as the formats say."""
    standings_seconds: Delay = 1.0
    """How often the table is sent while a round runs, at most."""
    lease_seconds: Seconds = 10.0
    """How long a referee may be silent before its matches go to another."""
    referee_wait_seconds: Seconds = 600.0
    """How long a match waits for a referee before it is no contest."""
    join_code: Annotated[str, Meta(max_length=64)] = ""
    """Agents must know it to register; empty: any agent may."""
    referee_access: RefereeAccess | None = None
    """Who may referee: those on this machine (`local`), who knows the `code`, or `anyone`."""
    referee_code: Annotated[str, Meta(max_length=64)] = ""
    """Referees that know it are let in; where it is needed the others wait for `league approve`."""
    players_max: Players = 10_000
    """No more players than that."""
    referees_max: Count = 100
    """No more referees than that."""
    hosted_players: Annotated[int, Meta(ge=0, le=10_000)] = 64
    """How many models in MCP hosts and persons in browsers may join, at most."""
    unique_names: Literal["suffix", "reject", "off"] = "suffix"
    """What becomes of a name that is taken: the id is added to it, it is refused, or nothing."""
    missing_fields: Literal["warn", "refuse"] = "warn"
    """What becomes of a message that lacks a documented field, or has what document 004 forbids."""
    rejections: Literal["result", "error"] = "result"
    """Whether a registration is refused with status REJECTED, or with document 001's errors."""
    unreachable: Literal["mark", "refuse"] = "mark"
    """Whether an agent where nobody listens is registered and marked, or refused."""
    seats: bool = True
    """Whether players that cannot be called may fetch their calls from the manager."""
    foreign_referees: Literal["mark", "refuse"] = "mark"
    """Whether referees that do not lock are taken and their matches marked, or refused."""
    tokenless_referees: bool | None = None
    """Whether those may report without a token; only with `network` at `local`, unless given."""
    unsigned_pushes: bool = True
    """Whether an answer pushed without a token counts, from the address of the end point."""
    port: Port = 8000
    """The port to listen on."""
    bind: str = ""
    """The address to listen on; loopback unless given."""
    endpoint: Annotated[str, Meta(max_length=256)] = ""
    """The URL under which others reach the manager; made from address and port unless given."""
    network: Network = "local"
    """Whom it calls: `local`, agents on this machine, or `lan`, those in the networks of `lan`."""
    lan: Sequence[str] = ()
    """The networks of `lan`, such as 192.168.7.0/24; all private ones unless given."""
    trusted_proxies: Sequence[str] = ()
    """Proxies, such as 127.0.0.1, whose X-Forwarded-For says where a request comes from."""
    dashboard: bool = True
    """Whether pages for the browser are shown beside the manager."""
    dashboard_port: Port = 8090
    """The port of these pages, or the next free one above it."""
    dashboard_bind: str = ""
    """The address of these pages; loopback unless given, 0.0.0.0 for all who reach this machine."""
    files: bool = True
    """Whether the table, agents, matches and histories are kept as files while the league runs."""
    shared_dir: str = ""
    """The directory of these files; `shared` beside the journal unless given."""
    seeded: bool = field(default=False, metadata={"derived": True})
    """Whether draws follow from a seed that was given, so that they can be foretold."""

    @property
    def takes_tokenless(self) -> bool:
        """Whether a referee that does not lock, and never showed a token, may report so."""
        if self.tokenless_referees is None:
            return self.network == "local"
        return self.tokenless_referees

    @property
    def is_behind_proxy(self) -> bool:
        """Whether others reach it through something else, so that all may seem to be here."""
        url = urlsplit(self.endpoint)
        is_elsewhere = url.scheme != "http" or not is_loopback(url.hostname or "")
        return bool(self.trusted_proxies) or (bool(self.endpoint) and is_elsewhere)

    @property
    def is_apart(self) -> bool:
        """Whether agents on other machines may reach it."""
        return self.network != "local" or self.is_behind_proxy

    @property
    def who_may_referee(self) -> RefereeAccess:
        """As it was set, or as follows from the rest; nobody is local where all may seem to be."""
        wanted = self.referee_access or "local"
        return "code" if wanted == "local" and (self.referee_code or self.is_apart) else wanted

    @property
    def rules(self) -> Rules:
        """What referees need to know of them."""
        own = {name: getattr(self, name) for name in Rules.__struct_fields__}
        return Rules(**own | {"game_options": dict(self.game_options)})


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """A service of many leagues; what it says of the network holds for each of them."""

    workers: Annotated[int, Meta(ge=1, le=64)] = 2
    """How many processes share the leagues."""
    takeover_seconds: Annotated[float, Meta(ge=3, le=3_600)] = 5.0
    """Within so long another worker goes on with the leagues of one that is gone."""
    default_league: Id = ""
    """The league of agents that know only /mcp; the only one there is unless given."""
    leagues_max: Annotated[int, Meta(ge=1, le=100_000)] = 100
    """No organiser has more leagues than that; with the archived ones ten times as many."""
    players_max: Players = 1_000
    """No league has more players than that."""
    port: Port = 8000
    """The port to listen on."""
    bind: str = ""
    """The address to listen on; loopback unless given."""
    internal_bind: str = "127.0.0.1"
    """Where workers listen for one another; an address that other machines reach, if they help."""
    endpoint: Annotated[str, Meta(max_length=256)] = ""
    """The URL under which others reach the service, without a path; made up unless given."""
    network: Network = "local"
    """Whom its leagues call: `local`, agents on this machine, or `lan`, those in `lan`."""
    lan: Sequence[str] = ()
    """The networks of `lan`, such as 192.168.7.0/24; all private ones unless given."""
    trusted_proxies: Sequence[str] = ()
    """Proxies, such as 127.0.0.1, whose X-Forwarded-For says where a request comes from."""


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """A referee or a player."""

    manager_url: str = "http://127.0.0.1:8000/mcp"
    """Where the manager is: URL, HOST:PORT or PORT of this machine; several, between commas."""
    display_name: Name
    """The name to register under."""
    join_code: Annotated[str, Meta(max_length=64)] = ""
    """What the organiser told those who may register, if anything."""
    port: Port = 0
    """The port to listen on, or the next free one above it."""
    bind: str = ""
    """The address to listen on; one where the manager can call, unless given."""
    endpoint: Annotated[str, Meta(max_length=256)] = ""
    """The URL under which others reach it; made from address and port unless given."""
    network: Network | None = None
    """Whom it calls besides its manager; unless given, `lan` if the manager is elsewhere."""
    lan: Sequence[str] = ()
    """The networks of `lan`, such as 192.168.7.0/24; all private ones unless given."""
    state: str = ""
    """Where its token is kept for the next run; in the user's state directory unless given."""
    stay: bool = False
    """Whether it waits at that manager for the next league when one is over, until Ctrl-C."""
    register_seconds: Seconds = 1.0
    """How long it waits before it tries to register again."""
    reply_seconds: Seconds = 10.0
    """How long the manager may take to answer."""
    game_types: Sequence[str] = field(default=("even_odd",), metadata={"derived": True})
    """The games it knows."""
    version: str = field(default="1.0.0", metadata={"derived": True})
    """The agent's own version."""


@dataclass(frozen=True, kw_only=True)
class RefereeSettings(AgentSettings):
    """A referee."""

    display_name: Name = "Referee"
    """The name to register under."""
    port: Port = 8001
    """The port to listen on, or the next free one above it."""
    referee_code: Annotated[str, Meta(max_length=64)] = ""
    """What the organiser told those who may referee, if anything."""
    max_concurrent_matches: Annotated[int, Meta(ge=1, le=10_000)] = 64
    """How many matches it runs at once."""
    player_endpoints: Mapping[str, str] = field(default_factory=dict, metadata={"derived": True})
    """Where players are, by their ids, at a manager that is not agentleague's."""


@dataclass(frozen=True, kw_only=True)
class PlayerSettings(AgentSettings):
    """A player."""

    display_name: Name = ""
    """The name to register under; the player's own unless given."""
    port: Port = 8101
    """The port to listen on, or the next free one above it."""
    outbound: bool | None = None
    """Whether it only calls out and opens no port; unless given, where it cannot be called."""
    seed: str = ""
    """What its strategy's chance follows from; at random unless given."""


class Secrets(Struct, frozen=True):
    """What the manager alone knows; never journalled, never logged."""

    draw_secret: bytes
    token_secret: bytes
    admin_token: str = ""  # what the organiser shows; nobody is the organiser without one

    def __repr__(self) -> str:
        return "Secrets(…)"
