"""A whole league in virtual time: the real roles on a simulated clock, network and disk.

The same seed gives the same league, message by message. An event is a step of the clock or a
message that is sent; processes may crash after any event.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from random import Random
from string import digits
from typing import Any

from msgspec.structs import replace

from agentleague.games.game import Game
from agentleague.league.events import read_event
from agentleague.league.league import League
from agentleague.manager.role import Manager
from agentleague.player.role import Player
from agentleague.protocol.messages import LeagueCommand
from agentleague.referee.role import Referee
from agentleague.roles.agent import AgentState
from agentleague.roles.effects import Address
from agentleague.roles.ports import OnAnswer, Transport
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings, Secrets
from agentleague.runtime.host import Host, JournalArchive, Ledger
from agentleague.simulation.agents import (
    DEFAULT,
    FOREIGN,
    IMPOSTOR,
    REPLY_SECONDS,
    TRANSPORTS,
    UNREADY,
    UNREADY_SECONDS,
    Agents,
    ForeignTransport,
    answer_filter,
    runner_of,
)
from agentleague.simulation.attackers import THIEF, Impostor, Thief
from agentleague.simulation.clock import Lifetime, VirtualClock
from agentleague.simulation.database import Database
from agentleague.simulation.disk import Disk
from agentleague.simulation.network import Links, SimulatedNetwork, url_of
from agentleague.simulation.observer import Observer
from agentleague.simulation.process import Ports, Probing, Process, Watched
from agentleague.simulation.standby import Contender, TakeOverCheck
from agentleague.transport.manager_addresses import SEPARATOR, ManagerAddresses

BEGAN = 1_700_000_000.0
LEAGUE_ID = "league_simulated"
MANAGER = "manager"
STANDBY = "manager2"
STEPS_AT_ONCE = 20_000  # more cannot happen at the same instant
REGISTER_SECONDS = 1.0  # before an agent tries again to register
GRACE_SECONDS = 60.0  # for agents that are not told that the league is over
_NEVER = 1 << 62


class SimulatedLeague:
    """Manager, referees and players, by name: `manager`, `referee1`…, `player1`…"""

    def __init__(  # noqa: PLR0913 - what a league is made of.
        self,
        players: int = 4,
        referees: int = 2,
        seed: int = 0,
        settings: Mapping[str, Any] = {},  # the manager's
        agents: Agents = DEFAULT,
        *,
        disk: Callable[[VirtualClock], Disk] = Disk,
        standby: bool = False,  # whether there are two managers, which share a database
        latecomers: int = 0,  # players beyond those for whom the league waits
    ) -> None:
        self.events = 0
        self.bugs: list[str] = []
        self.awaited = {f"player{players + 1 + number}" for number in range(latecomers)}
        self.gone: set[str] = set()  # processes that died for good
        self.healed_at: float | None = None  # since when nothing goes wrong any more
        self.clock = VirtualClock(BEGAN)
        self.links = Links(Random(f"delays|{seed}"))
        self.disk = Database(self.clock, self.links, seed) if standby else disk(self.clock)
        self.observer = Observer(self.clock, self.disk, LEAGUE_ID)
        self.network = SimulatedNetwork(self.clock, self.links, self.observer)
        self.network.on_sent = self._event
        self.processes: dict[str, Process] = {}
        self.to_manager = Address(MANAGER, url_of(MANAGER))
        self.agents, self.seed = agents, seed
        names = {"league_id": LEAGUE_ID, "game_type": agents.game.name}
        self._settings = {**names, "players": players, "referees": referees, **settings}
        self._secrets = Secrets(_key("draw", seed), _key("token", seed), _key("admin", seed).hex())
        self._planned: dict[int, list[Callable[[], None]]] = {}
        self._next_planned = _NEVER
        self._done_at: float | None = None
        self._is_quiet = False  # nothing will ever happen any more
        self.managers = (MANAGER, STANDBY) if standby else (MANAGER,)
        for name in self.managers:
            self._add(name, self._manager, disk=self.disk)
        keeps_state = agents.referees_keep_state
        for number in range(1, referees + 1):
            build = partial(self._referee, number)
            self._add(f"referee{number}", build, keeps_state=keeps_state)
        for number in range(1, players + latecomers + 1):
            self._add(f"player{number}", partial(self._player, number), keeps_state=True)
        self._give_traits()
        if isinstance(self.disk, Database):
            self._share(self.disk)

    def after_event(self, number: int, what: Callable[[], None]) -> None:
        """Do something right after an event; events are numbered from 1."""
        self._planned.setdefault(number, []).append(what)
        self._next_planned = min(self._planned)

    def crash(self, name: str, restart_after: float | None = None) -> None:
        """Let a process crash now. One whose work was done stays away."""
        process = self.processes[name]
        if process.is_alive:
            self.observer.note(f"{name} crashes")
            process.crash()
            if restart_after is not None:
                process.restart_after(restart_after)

    def command(self, command: str, done: OnAnswer, **params: Any) -> None:
        """Send a command of the organiser."""
        organiser = self.network.add(url_of("organiser"), "player", Lifetime(self.clock))
        names = {"sender": "organiser", "conversation_id": "conv-command"}
        message = LeagueCommand(command, params, **names, auth_token=self._secrets.admin_token)
        organiser.call(
            Address(MANAGER, url_of(self.owner.name)),
            message,
            self.clock.now() + REPLY_SECONDS,
            done,
        )

    def run(self, seconds: float = 600.0) -> "SimulatedLeague":
        """Until the league is over and everybody is told, or so many seconds have passed."""
        self.run_until(lambda: self.is_over, seconds)
        self.observer.catch_up()
        return self

    def run_until(self, enough: Callable[[], bool], seconds: float = 600.0) -> None:
        """Let things happen until it is enough, or so many seconds have passed."""
        for name, process in self.processes.items():
            has_ended = process.is_alive or process.crashes or process.is_done
            if not has_ended and name not in self.awaited:
                process.start()
        clock = self.clock
        until = clock.time + seconds
        steps, before = 0, clock.time
        while not enough() and clock.time < until:
            self._is_quiet = not clock.step()
            if self._is_quiet:
                return
            self._event()
            steps += 1
            if steps % STEPS_AT_ONCE == 0:
                assert clock.time > before, f"time stands still for {STEPS_AT_ONCE:,} steps"
                before = clock.time

    @property
    def is_over(self) -> bool:
        """Whether the manager is done and so are the others, or had time enough to be."""
        manager = self.owner
        journal = getattr(manager, "journal", self.disk)
        if not (manager.is_done and manager.is_alive and journal.is_clean):
            self._done_at = None
            return False
        self._done_at = self.clock.now() if self._done_at is None else self._done_at
        others = [each for name, each in self.processes.items() if name not in self.managers]
        had_time = self.clock.now() - self._done_at > GRACE_SECONDS
        return had_time or self._is_quiet or not any(each.is_alive for each in others)

    @property
    def seconds(self) -> float:
        """How long it has run, in virtual time."""
        return self.clock.now() - BEGAN

    @property
    def owner(self) -> Process:
        """The manager that runs the league; where none does, the first."""
        managers = [self.processes[name] for name in self.managers]
        return next((each for each in managers if each.is_owner), managers[0])

    @property
    def manager(self) -> Manager:
        """The manager in its present life."""
        role: Manager = self.owner.role
        return role

    def player_id(self, name: str) -> str:
        """The id of a player in the league."""
        return self._ids(name)[-1]

    @property
    def has_begun(self) -> bool:
        """Whether its first round is on disk."""
        self.observer.catch_up()
        return self.observer.league.round_id > 0

    @property
    def players(self) -> list[str]:
        """The names of the players' processes, without those who are still to come."""
        everybody = [name for name in self.processes if name.startswith("player")]
        return [name for name in everybody if name not in self.awaited]

    def is_known(self, name: str) -> bool:
        """Whether a player is registered."""
        self.observer.catch_up()
        return bool(self._ids(name))

    def _ids(self, name: str) -> list[str]:
        """The ids of a player: a further one if it forgot who it is, before it proved it."""
        roster, url = self.observer.league.roster, url_of(name)
        here = [each for each in roster.players.values() if each.agent_id not in roster.displaced]
        return [each.agent_id for each in here if self.observer.place(each.endpoint) == url]

    def _event(self) -> None:
        self.events += 1
        if self.events >= self._next_planned:
            planned = self._planned.pop(self._next_planned)
            self._next_planned = min(self._planned, default=_NEVER)
            for what in planned:
                what()

    def _add(self, name: str, build: Callable[[Ports], Host], **more: Any) -> None:
        kind = Contender if STANDBY in self.managers and name in self.managers else Process
        self.processes[name] = kind(self.network, name, build, **more)

    def _share(self, database: Database) -> None:
        contenders = [each for each in self.processes.values() if isinstance(each, Contender)]
        for each in contenders:
            each.database, each.league_id = database, LEAGUE_ID
        database.wrong = self.observer.violations.append
        TakeOverCheck(database, contenders)

    def _give_traits(self) -> None:
        for name, trait in self.agents.traits.items():
            changes = answer_filter(trait, f"{name}|{self.seed}")
            if changes:
                self.network.answer_filters[url_of(name)] = changes
            if trait == IMPOSTOR:
                self.observer.listeners.append(Impostor(self, name).sees)
            if trait == FOREIGN or trait in TRANSPORTS:
                self.observer.locks.dishonest.add(name)
        if self.agents.thief:
            self.observer.attackers.add(THIEF)
            self.observer.listeners.append(Thief(self).sees)

    def _manager(self, ports: Ports) -> Host:
        settings = ManagerSettings(**self._settings)
        journal = ports.journal or self.disk
        archive = JournalArchive(journal, LEAGUE_ID, at_hand=0)  # It forgets all it can.
        manager = Manager(settings, self._secrets, self.agents.game, league=League(archive))
        role = Watched(manager, self.bugs, ports.news)
        if UNREADY in self.agents.traits.values():
            role = Probing(manager, self.bugs, ports, self.network.alive.__contains__)
        if not ports.journal:
            self.disk.claim(LEAGUE_ID)
        self.observer.capacity.restart()
        ledger = Ledger(journal, LEAGUE_ID, receipt=manager.receipt)
        ports.transport.seat_of, ports.transport.may_call = manager.seat_of, manager.may_call
        ports.transport.is_away = lambda: journal.state == "away"
        host = Host(role, ports.clock, ports.transport, ledger=ledger)
        host.replay(journal.read(LEAGUE_ID), read_event)
        return host

    def _referee(self, number: int, ports: Ports) -> Host:
        name = f"referee{number}"
        settings = self._agent_settings(name, ports)
        settings["max_concurrent_matches"] = self.agents.capacity
        role = Referee(RefereeSettings(**settings), self.load_game)
        role.remember(self._claiming(name, ports))
        transport = self._transport(name, ports)
        return Host(Watched(role, self.bugs, ports.news), ports.clock, transport)

    def _transport(self, name: str, ports: Ports) -> Transport:
        trait, seed = self.agents.traits.get(name, ""), f"{name}|{self.seed}"
        if trait == FOREIGN:
            return ForeignTransport(ports.transport, ports.clock, self.agents.game, seed)
        changed = TRANSPORTS.get(trait)
        return changed(ports.transport, ports.clock, seed) if changed else ports.transport

    def _player(self, number: int, ports: Ports) -> Host:
        name, seed = f"player{number}", f"{self.seed}|{number}"
        settings = PlayerSettings(**self._agent_settings(name, ports), seed=seed)
        if name in self.agents.seated:
            settings = dataclasses.replace(settings, endpoint="", outbound=True)
        role = Player(settings)
        role.remember(self._claiming(name, ports))
        trait = self.agents.traits.get(name, "")
        runner = runner_of(trait, ports.clock, self.agents.think_seconds, seed)
        watched = Watched(role, self.bugs, ports.news)
        host = Host(watched, ports.clock, ports.transport, runner=runner)
        host.sit = ports.transport.sit
        return host

    def _agent_settings(self, name: str, ports: Ports) -> dict[str, Any]:
        kind, managers = name.rstrip(digits), [*map(url_of, self.managers)]
        if len(managers) > 1:
            ports.transport.managers = ManagerAddresses(managers)
        return {
            "manager_url": SEPARATOR.join(managers),
            "display_name": f"{kind.title()} {name.removeprefix(kind)}",
            "endpoint": ports.transport.url,
            "game_types": (self.agents.game.name,),
            "register_seconds": REGISTER_SECONDS,
        }

    def _claiming(self, name: str, ports: Ports) -> AgentState:
        """What an agent kept; one that kept nothing makes a claim that it never made before."""
        trait = self.agents.traits.get(name, "")
        if trait == UNREADY:
            self.network.deafen(ports.transport, UNREADY_SECONDS)
        if ports.state.claim or trait in (FOREIGN, UNREADY):
            return ports.state
        # One that asks for a seat writes its claim down first: nothing else brings it back there.
        when = "" if name in self.agents.seated else ports.clock.now()
        return replace(ports.state, claim=f"{name}|{self.seed}|{when}")

    def load_game(self, name: str) -> Game:
        """The one that is played."""
        return self.agents.game


def _key(what: str, seed: int) -> bytes:
    return sha256(f"{what}|{seed}".encode()).digest()
