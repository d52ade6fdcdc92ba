"""A whole league in memory and in virtual time, for tests that watch it."""

from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any

from agentleague.games import even_odd
from agentleague.league.events import read_event
from agentleague.league.formats.stages import FORMATS
from agentleague.league.league import League
from agentleague.league.match_records import MATCHES_AT_HAND, LeagueLimits
from agentleague.manager.role import Manager, Secrets
from agentleague.manager.step import ManagerLimits
from agentleague.player import strategies
from agentleague.player.memory import PlayerLimits
from agentleague.player.role import Player
from agentleague.protocol.messages import WIRE_NAME, LeagueCommand, Message
from agentleague.referee.role import Referee
from agentleague.roles.agent import AgentState
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.roles.stimuli import Caller
from agentleague.runtime.host import Host, HostLimits, JournalArchive, Ledger
from agentleague.runtime.strategy_runner import outcome_of
from agentleague.simulation.clock import VirtualClock
from agentleague.storage.memory import MemoryJournal
from memory_network import MemoryNetwork

MANAGER = "http://manager/mcp"
SEED = "memory"
SECRETS = Secrets(sha256(f"draw|{SEED}".encode()).digest(), b"t" * 32, "adm_secret")
BEGAN = 1_700_000_000.0


class SlowRunner:
    """Takes its time for each move, within virtual time."""

    def __init__(self, clock: VirtualClock, strategy: Any, seconds: Callable[[], float]) -> None:
        self._clock, self._strategy, self._seconds = clock, strategy, seconds

    def run(self, turn: Any, done: Callable[[Any, str | None], None]) -> None:
        when = self._clock.now() + self._seconds()
        self._clock.call_at(when, lambda: done(self._strategy(turn), None))


class MemoryLeague:
    """Manager, referees and players on one memory network; `said` is every request, in order."""

    def __init__(
        self,
        players: int = 4,
        referees: int = 2,
        game: Any = even_odd,
        *,
        at_hand: int = MATCHES_AT_HAND,  # matches of ended rounds that are not forgotten
        formats: Any = FORMATS,
        limits: ManagerLimits | None = None,
        league_limits: LeagueLimits | None = None,
        player_limits: PlayerLimits | None = None,
        host_limits: HostLimits | None = None,
        check_endpoint: Callable[[str, str], None] = lambda url, source: None,
        season: Any = None,  # the leagues before
        **settings: Any,
    ) -> None:
        self.at_hand, self.limits, self.season = at_hand, limits, season
        self.formats = formats
        self.league_limits, self.check_endpoint = league_limits, check_endpoint
        self.player_limits = player_limits or PlayerLimits()
        self.host_limits = host_limits or HostLimits()
        self.clock = VirtualClock(BEGAN)
        self.said: list[tuple[str, str]] = []
        self.messages: list[tuple[str, Message]] = []
        self.network = MemoryNetwork(self.clock, self._watch)
        self.journal = MemoryJournal(self.clock.now)
        self.game = game
        terms = {"league_id": "league_test", "players": players, "referees": referees, **settings}
        self.settings = ManagerSettings(**terms, game_type=game.name)
        self.think_seconds: Callable[[], float] | None = None  # for a move; None: at once
        self.hosts: list[Host] = []
        self.dead: list[Host] = []
        self.restart_manager()
        self.players, self.referees = players, referees

    @property
    def league(self):
        return self.manager.league

    def lose_rows(self, after: int) -> None:
        """Rows that were committed and told are gone."""
        del self.journal._rows["league_test"][after:]

    def restart_manager(self, lost_until: int | None = None) -> None:
        """A new manager process on the same journal; the former one is dead."""
        if self.hosts:
            self.kill(self.hosts[0])
        archive = JournalArchive(self.journal, "league_test", self.at_hand)
        league = League(
            archive,
            formats=self.formats,
            limits=self.league_limits,
        )
        self.manager = Manager(
            self.settings,
            SECRETS,
            self.game,
            check_endpoint=self.check_endpoint,
            league=league,
            limits=self.limits,
            season=self.season,
        )
        self.manager.lost_until = lost_until
        self.journal.close()
        self.journal.claim("league_test")
        transport = self.network.join(MANAGER, "manager")
        ledger = Ledger(self.journal, "league_test", self.host_limits, self.manager.receipt)
        host = Host(self.manager, self.clock, transport, ledger=ledger)
        self.hosts[:1] = [host]
        host.replay(self.journal.read("league_test"), read_event)
        host.start(0.0)

    def kill(self, host: Host) -> None:
        """Nothing reaches the process any more, and nothing comes from it."""
        host.feed = lambda stimulus: None
        self.dead.append(host)
        for url, transport in list(self.network.agents.items()):
            if transport is host._transport:
                del self.network.agents[url]

    def run_until(self, reached: Callable[[], bool]) -> "MemoryLeague":
        """Let time pass until then."""
        self.clock.run(until=reached)
        assert reached(), "it never came to that"
        return self

    def wait(self, seconds: float) -> None:
        """Let so much time pass, whatever happens in it."""
        end = self.clock.now() + seconds
        self.clock.call_at(end, lambda: None)
        self.run_until(lambda: self.clock.now() >= end)

    def command(self, name: str, /, **params: Any) -> Any:
        """What the organiser is answered."""
        answers: list[Any] = []
        caller = Caller("127.0.0.1", SECRETS.admin_token)
        self.hosts[0].ask(LeagueCommand(name, params), caller, answers.append)
        return answers[0]

    def add_referee(
        self, name: str = "Referee", remembered: str = "", url: str = "", **settings: Any
    ) -> Host:
        url = url or f"http://referee{len(self.network.agents)}/mcp"
        terms = RefereeSettings(
            manager_url=MANAGER,
            display_name=name,
            endpoint=url,
            game_types=(self.game.name,),
            **settings,
        )
        role = Referee(terms, lambda name: self.game)
        role.remember(AgentState(token=remembered))
        return self._add(role, url, "referee")

    def add_player(
        self,
        strategy: Any = strategies.random,
        name: str = "Player",
        remembered: str = "",
        url: str = "",
    ) -> Host:
        url = url or f"http://player{len(self.network.agents)}/mcp"
        settings = PlayerSettings(
            manager_url=MANAGER,
            display_name=name,
            endpoint=url,
            game_types=(self.game.name,),
            seed="7",
        )
        role = Player(settings, self.player_limits)
        role.remember(AgentState(token=remembered))
        host = self._add(role, url, "player")
        if self.think_seconds:
            host.runner = SlowRunner(self.clock, strategy, self.think_seconds)
        else:
            role.strategy = partial(outcome_of, strategy)
        return host

    def fill(self) -> "MemoryLeague":
        """All referees, then all players, one after another."""
        for number in range(self.referees):
            self.add_referee(f"Referee {number + 1}")
        for number in range(self.players):
            self.add_player(name=f"Player {number + 1}")
        return self

    def play(self) -> "MemoryLeague":
        """Let time pass until all that live have done their work, or for an hour or so."""
        end = self.clock.now() + 5_000.0
        self.clock.call_at(end, lambda: None)
        over = [host for host in self.hosts if host not in self.dead]
        self.clock.run(lambda: self.clock.now() >= end or all(host.ended for host in over))
        return self

    def events(self):
        return [row.kind for row in self.journal.read("league_test")]

    def _add(self, role: Any, url: str, receiver: str) -> Host:
        host = Host(role, self.clock, self.network.join(url, receiver))
        self.hosts.append(host)
        host.start(0.0)
        self.clock.run(until=lambda: bool(role.agent_id))
        return host

    def _watch(self, url: str, message: Message) -> None:
        host = url.removeprefix("http://").removesuffix("/mcp")
        self.said.append((WIRE_NAME[type(message)], host))
        self.messages.append((host, message))
