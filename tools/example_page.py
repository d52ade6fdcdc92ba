"""The reference page that shows a whole league, message by message, as it is on the wire.

It is a real one, of our own manager, referee and players, in memory and in virtual time: so it is
the same each time.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from agentleague.games import even_odd
from agentleague.manager.role import Manager
from agentleague.player.role import Player
from agentleague.referee.role import Referee
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings, Secrets
from agentleague.runtime.host import Host, Ledger
from agentleague.simulation.clock import VirtualClock
from agentleague.storage.memory import MemoryJournal
from memory_network import MemoryNetwork, NetworkTransport
from page_parts import GENERATED, code, page, table

LEAGUE = "league_2026_even_odd_x7k2m9"
BEGAN = 1_767_261_600.0  # 2026-01-01T10:00:00Z
HOSTS = {
    "http://127.0.0.1:8000/mcp": "the manager",
    "http://127.0.0.1:8001/mcp": "the referee",
    "http://127.0.0.1:8101/mcp": "P01",
    "http://127.0.0.1:8102/mcp": "P02",
}
MANAGER, REFEREE, ALPHA, BETA = HOSTS
WIDTH = 96  # A line of JSON is not longer, where that can be helped.

ABOUT = f"""\
A league of two players and one match, from the first registration to the end: what goes over the
wire when agents of ours talk to each other. Each step is the body of an HTTP POST and, below it,
the body of its answer.

{table(("agent", "end point"), ((who, code(url)) for url, who in HOSTS.items()))}

An agent of yours may leave out much of it and write it in other forms;
[The wire of league.v2](../protocol.md) says what. Where both players are sent the same, only P01's
copy is shown. The tokens belong to a league that was never anywhere else."""
TOLD = {
    "REFEREE_REGISTER_REQUEST": "A referee registers; it will lock moves with the manager",
    "LEAGUE_REGISTER_REQUEST": "A player registers",
    "ROUND_ANNOUNCEMENT": "The round is announced to {who}",
    "GAME_INVITATION": "The referee invites {who}",
    "CHOOSE_PARITY_CALL": "The referee asks {who} for its choice",
    "LOCK_REQUEST": "The referee locks the moves, and is answered with the result",
    "GAME_OVER": "The referee tells {who} the result",
    "MATCH_RESULT_REPORT": "The referee reports the match, which closes it",
    "LEAGUE_STANDINGS_UPDATE": "The manager sends {who} the table",
    "ROUND_COMPLETED": "The round is over, {who} is told",
    "LEAGUE_COMPLETED": "The league is over, {who} is told",
    "LEAGUE_QUERY": "A player asks the manager for the status of the league",
}


class Exchange:
    """One request and its answer."""

    def __init__(self, url: str, request: bytes) -> None:
        self.who, self.request, self.answer = HOSTS[url], json.loads(request), None

    @property
    def message_type(self) -> str:
        """What the request is."""
        return str(self.request["params"]["message_type"])

    @property
    def is_a_copy(self) -> bool:
        """Whether P01 was asked the same, or asked the same itself."""
        asker = self.request["params"]["sender"]
        is_query = self.message_type == "LEAGUE_QUERY"
        return self.who == "P02" or (is_query and asker == "player:P02")


class Recording(NetworkTransport):
    """A transport that keeps what its agent was asked, and answered."""

    def __init__(self, network: "Recorder", url: str, receiver: str) -> None:
        super().__init__(network, url, receiver)
        self._kept = network.kept

    def receive(
        self, body: bytes, source: str, respond: Callable[[bytes], None], head: bytes = b""
    ) -> None:
        """Keep the request, and its answer when it is there."""
        exchange = Exchange(self._url, body)
        self._kept.append(exchange)

        def answered(answer: bytes) -> None:
            exchange.answer = json.loads(answer)
            respond(answer)

        super().receive(body, source, answered, head)


class Recorder(MemoryNetwork):
    """A network that keeps what is said in it."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self.kept: list[Exchange] = []

    def join(self, url: str, receiver: str) -> NetworkTransport:
        """A transport that is listened to."""
        self.agents[url] = Recording(self, url, receiver)
        return self.agents[url]


class StrategyRunner:
    """Knows what it will say."""

    def __init__(self, clock: VirtualClock, choice: str) -> None:
        self._clock, self._choice = clock, choice

    def run(self, turn: Any, done: Callable[[Any, str | None], None]) -> None:
        """Say it."""
        self._clock.call_at(self._clock.now(), lambda: done(self._choice, None))


def example_page() -> str:
    """The whole page."""
    steps = [each for each in played() if not each.is_a_copy]
    told = [_step(number, each) for number, each in enumerate(steps, 1)]
    return page("# A league, message by message", GENERATED, ABOUT, *told)


def played() -> list[Exchange]:
    """Every request of a small league, in order."""
    clock = VirtualClock(BEGAN)
    network, journal = Recorder(clock), MemoryJournal(clock.now)
    journal.claim(LEAGUE)
    secrets = Secrets(sha256(b"draws").digest(), sha256(b"tokens").digest())
    manager = Manager(ManagerSettings(league_id=LEAGUE, players=2), secrets, even_odd)
    ledger = Ledger(journal, LEAGUE)
    Host(manager, clock, network.join(MANAGER, "manager"), ledger=ledger).start(0.0)
    referee = Referee(_settings(RefereeSettings, "Referee One", REFEREE), lambda name: even_odd)
    alpha = Player(_settings(PlayerSettings, "Agent Alpha", ALPHA))
    beta = Player(_settings(PlayerSettings, "Agent Beta", BETA))
    hosts = [
        Host(referee, clock, network.join(REFEREE, "referee")),
        Host(alpha, clock, network.join(ALPHA, "player"), runner=StrategyRunner(clock, "even")),
        Host(beta, clock, network.join(BETA, "player"), runner=StrategyRunner(clock, "odd")),
    ]
    for host, role in zip(hosts, (referee, alpha, beta), strict=True):
        host.start(0.0)
        clock.run(until=lambda role=role: bool(role.agent_id))
    clock.run(until=lambda: all(host.ended for host in hosts))
    return network.kept


def _settings(cls: Any, name: str, url: str) -> Any:
    return cls(manager_url=MANAGER, display_name=name, endpoint=url, game_types=("even_odd",))


def _step(number: int, exchange: Exchange) -> str:
    told = TOLD[exchange.message_type].format(who=exchange.who)
    return page(
        f"## {number}. {told}",
        f"To {exchange.who}:",
        _json(exchange.request),
        "Answer:",
        _json(exchange.answer),
    )


def _json(value: Any) -> str:
    return f"```json\n{_written(value, 0)}\n```"


def _written(value: Any, depth: int) -> str:
    """JSON with a line for each field, but what fits into a line stands in one."""
    short = json.dumps(value, ensure_ascii=False)
    if depth and (len(short) + 2 * depth <= WIDTH or not isinstance(value, dict | list)):
        return short
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {_written(item, depth + 1)}" for key, item in value.items()]
    else:
        items = [_written(item, depth + 1) for item in value]
    ends = "{}" if isinstance(value, dict) else "[]"
    inside = ",\n".join("  " * (depth + 1) + item for item in items)
    return f"{ends[0]}\n{inside}\n{'  ' * depth}{ends[1]}"
