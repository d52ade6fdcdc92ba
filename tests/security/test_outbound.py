"""Where managers and referees call: both through one guard, each with real servers on loopback."""

import ast
import asyncio
import gzip
import socket
import tracemalloc
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop

from agentleague.errors import NoAnswer, NoConnection
from agentleague.protocol.messages import RoundCompleted
from agentleague.roles.effects import Address
from agentleague.roles.settings import ManagerSettings, RefereeSettings
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import Place, open_referee
from agentleague.transport.guard import Guard
from scripted_server import server
from security.spies import register

PACKAGE = Path(__file__).parents[2] / "src" / "agentleague"
HOSTS = ("127.0.0.1",)
OK = b"HTTP/1.1 200 OK\r\n"
ACK = b'{"jsonrpc":"2.0","result":{"status":"ACK"},"id":1}'
GOOD = OK + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(ACK), ACK)
ROLES = ["manager", "referee"]
SECONDS = 20  # within which whatever is not slow on purpose must be over


class Agent:
    """A real manager or referee, and its way to call somebody."""

    def __init__(self, running):
        self.running, self.transport = running, running.transport

    async def call(self, url, seconds=SECONDS):
        loop = asyncio.get_running_loop()
        answered = loop.create_future()
        address = Address("P01", url)
        until = loop.time() + seconds
        self.transport.call(address, RoundCompleted(1), until, answered.set_result)
        return await answered

    def resolve_with(self, resolve):
        self.transport._client._dialer._resolve = resolve


@asynccontextmanager
async def agent(role, directory, guard=None):
    place = Place(0, hosts=HOSTS, guard=guard or Guard())
    if role == "manager":
        settings = ManagerSettings(league_id="league_test", players=9)
        running = await open_manager(settings, Home(directory), place)
    else:
        running = await open_referee(
            lambda url: RefereeSettings(
                manager_url="http://127.0.0.1:9/mcp", display_name="R", endpoint=url
            ),
            place,
        )
    try:
        yield Agent(running)
    finally:
        await running.stop()


def run(scenario):
    return uvloop.run(asyncio.wait_for(scenario, 3 * SECONDS))


def answers_with(data):
    async def script(line):
        while True:
            await line.request()
            await line.send(data)

    return script


answers_well = answers_with(GOOD)


# One way out.

OPENS = {
    *("create_connection", "open_connection", "create_unix_connection", "open_unix_connection"),
    *("create_datagram_endpoint", "sock_connect", "sock_sendto", "start_tls", "socket", "connect"),
    *("urlopen", "HTTPConnection", "HTTPSConnection", "create_subprocess_exec", "Popen"),
}
WAYS = {
    ("transport/guard.py", "create_connection"): "judges the address that it reached",
    ("transport/guard.py", "start_tls"): "on a connection that was judged",
    ("runtime/network.py", "socket"): "a datagram socket that sends nothing",
    ("runtime/network.py", "connect"): "of that socket: asks the system for the way, no more",
    ("storage/backup_file.py", "connect"): "opens a file",
    ("storage/repair.py", "connect"): "opens a file",
    ("storage/sqlite.py", "connect"): "opens a file",
    ("storage/sqlite_reader.py", "connect"): "opens a file",
    **{
        (f"storage/{name}.py", "connect"): "to the database that was typed"
        for name in ("copying", "database", "postgres", "postgres_reader", "postgres_schema")
    },
    ("service/worker.py", "socket"): "that its parent listens at",
    ("service/processes.py", "create_subprocess_exec"): "its workers, which call through the guard",
    ("cli/commands/organise.py", "HTTPConnection"): "to the manager of a typed directory",
    ("bench/bare_http.py", "create_connection"): "to its own echo, in `league bench` alone",
    (
        "dashboard/process.py",
        "create_subprocess_exec",
    ): "the dashboard, which calls its manager through the guard",
    ("sweeps/engines.py", "create_connection"): "to the Ray that was typed",
    ("sdk/llm_client.py", "connect"): "a player asks its author's model",
    # `league check` calls the agent that was typed, or that it started on this machine.
    ("conformance/peer.py", "create_connection"): "to that agent",
    **{
        (f"conformance/{name}.py", "connect"): "by the way of peer.py"
        for name in ("peer", "target", "hostile_rules", "referee_bench")
    },
    ("conformance/launch.py", "Popen"): "the command that was typed",
}
CLIENTS = {"http.client", "urllib.request", "ftplib", "smtplib", "aiohttp", "httpx", "requests"}


def test_nothing_but_the_guard_opens_a_connection_for_managers_and_referees():
    found, imported = set(), set()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func
                word = getattr(called, "attr", getattr(called, "id", ""))
                found |= {(name, word)} if word in OPENS else set()
            modules = [node.module] if isinstance(node, ast.ImportFrom) else []
            modules += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            imported |= {(name, module) for module in modules if module in CLIENTS}

    assert found == set(WAYS)
    commands = {"cli/commands/leagues.py", "cli/commands/organise.py"}  # to what was typed
    kit = {"conformance/peer.py"}
    assert {name for name, _ in imported} == {*commands, *kit, "sdk/llm_client.py"}


def test_the_socket_that_finds_the_way_is_a_datagram_socket():
    tree = ast.parse((PACKAGE / "runtime" / "network.py").read_text(encoding="utf-8"))
    made = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "socket.socket"
    ]

    assert made == ["socket.socket(family, socket.SOCK_DGRAM)"]
    assert not {"send", "sendto", "sendall", "sendmsg"} & {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }


# What is where.

SPELLINGS = [
    # Each of these reaches loopback or is read as a name by some library or other.
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.",
    "localhost.",
    "0",
    "0.0.0.0",
    "[::]",
    "[::ffff:0.0.0.0]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[::1%25lo]",
    "[::1%lo]",
    "\u2460\u2461\u2466.0.0.1",
    "\uff11\uff12\uff17.0.0.1",
    "127\u30020\u30020\u30021",
    "\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54",
    "localho\u017ft",
    "%31%32%37.0.0.1",
    "user@127.0.0.1",
    "127.0.0.1\\@127.0.0.1",
    "127.0.0.1\t",
]


@pytest.mark.parametrize("role", ROLES)
def test_an_odd_spelling_of_an_address_is_not_called(role, tmp_path):
    async def scenario():
        async with server(answers_well) as trap, agent(role, tmp_path) as caller:
            urls = [f"http://{host}:{trap.port}/mcp" for host in SPELLINGS]
            answers = [await caller.call(url) for url in urls]
            plain = await caller.call(f"http://[::ffff:127.0.0.1]:{trap.port}/mcp")
            return [type(each.error) for each in answers], plain.error, trap.connections

    errors, of_plain, connections = run(scenario())

    assert errors == [NoConnection] * len(SPELLINGS)
    assert (of_plain, connections) == (None, 1)  # The one way to write it that is no trick.


def test_an_odd_spelling_of_an_address_cannot_be_registered(tmp_path):
    async def scenario():
        async with server(answers_well) as trap, agent("manager", tmp_path) as caller:
            url = caller.running.url
            answers = []
            for host in SPELLINGS:
                endpoint = f"http://{host}:{trap.port}/mcp"
                answers.append(await asyncio.to_thread(register, url, "player", "Eve", endpoint))
            assert not caller.running.host.role.league.roster.players
            return [(each["status"], each["error_code"]) for each in answers], trap.connections

    answers, connections = run(scenario())

    assert answers == [("REJECTED", "E043")] * len(SPELLINGS)
    assert connections == 0


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("elsewhere", ["0.0.0.0", "::", "::ffff:0.0.0.0", "169.254.169.254"])
def test_a_name_that_means_something_else_later_is_not_followed(role, elsewhere, tmp_path):
    """0.0.0.0 is this machine: the trap would be reached, were it dialled."""
    meanings = ["127.0.0.1", elsewhere, elsewhere]

    async def resolve(host, port, **_):
        address = meanings.pop(0)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    async def once(line):
        await line.request()
        await line.send(GOOD.replace(OK, OK + b"Connection: close\r\n"))

    async def scenario():
        async with server(once) as peer, agent(role, tmp_path) as caller:
            caller.resolve_with(resolve)
            url = f"http://changes.example:{peer.port}/mcp"
            answers = [await caller.call(url) for _ in range(3)]
            return [type(each.error) for each in answers], peer.connections

    assert run(scenario()) == ([type(None), NoConnection, NoConnection], 1)
    assert meanings == []  # It was asked each time, and once each time.


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    ("address", "is_called"),
    [("127.0.0.1", True), ("0.0.0.0", False), ("169.254.169.254", False)],
)
def test_a_lan_of_everything_leaves_out_what_nobody_may_call(role, address, is_called, tmp_path):
    guard = Guard("lan", ["0.0.0.0/0", "::/0"])

    async def scenario():
        async with server(answers_well) as peer, agent(role, tmp_path, guard) as caller:
            answer = await caller.call(f"http://{address}:{peer.port}/mcp")
            return answer.error is None, peer.connections

    assert run(scenario()) == (is_called, int(is_called))


# Where nothing is sent on.


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(role, status, tmp_path):
    async def scenario():
        async with server(answers_well) as trap:
            redirect = b"HTTP/1.1 %d Go\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % (
                status,
                trap.url.encode(),
            )
            async with server(answers_with(redirect)) as peer, agent(role, tmp_path) as caller:
                await caller.call(peer.url)
                await caller.call(peer.url)
                return len(peer.requests), trap.connections

    assert run(scenario()) == (2, 0)


@pytest.mark.parametrize("role", ROLES)
def test_a_proxy_of_the_environment_gets_nothing(role, tmp_path, monkeypatch):
    async def scenario():
        async with server(answers_well) as proxy, server(answers_well) as peer:
            for name in ("http_proxy", "https_proxy", "all_proxy", "ftp_proxy"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
                monkeypatch.setenv(name.upper(), f"http://127.0.0.1:{proxy.port}")
            monkeypatch.delenv("no_proxy", raising=False)
            monkeypatch.delenv("NO_PROXY", raising=False)
            async with agent(role, tmp_path) as caller:
                answer = await caller.call(peer.url)
            return answer.error, peer.connections, proxy.connections

    assert run(scenario()) == (None, 1, 0)


# What is not read to its end.

BOMB = gzip.compress(bytes(50_000_000))


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    "head", [b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB), b"\r\n"]
)
def test_a_bomb_is_not_unpacked(role, head, tmp_path):
    async def scenario():
        async with server(answers_with(OK + head + BOMB)) as peer:
            async with agent(role, tmp_path) as caller:
                await caller.call("http://127.0.0.1:9/mcp")  # What is loaded late is loaded now.
                tracemalloc.start()
                try:
                    answer = await caller.call(peer.url)
                    _, peak = tracemalloc.get_traced_memory()
                finally:
                    tracemalloc.stop()
            await peer.closed.get()
            return type(answer.error), peak < 2_000_000

    assert run(scenario()) == (NoConnection, True)


def endless(head, piece):
    async def script(line):
        await line.request()
        await line.send(head + piece)
        while True:
            await line.send(piece)

    return script


ENDLESS = {
    "a body until the end": (OK + b"\r\n", b"x" * 1_000),
    "a body with a length": (OK + b"Content-Length: 999999999\r\n\r\n", b"x" * 1_000),
    "chunks": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"64\r\n" + b"x" * 100 + b"\r\n"),
    "tiny chunks": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"y" * 90 + b"\r\nx\r\n"),
    "trailers": (OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"T: " + b"v" * 90 + b"\r\n"),
    "headers": (OK, b"X-Y: " + b"z" * 90 + b"\r\n"),
    "one header": (OK + b"X-Y: ", b"z" * 100),
    "a status line": (b"HTTP/1.1 200 ", b"O" * 100),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "blank lines": (b"", b"\r\n" * 50),
}


@pytest.mark.parametrize("role", ROLES)
def test_an_answer_without_end_is_cut_off(role, tmp_path):
    async def scenario():
        ended = {}
        async with agent(role, tmp_path) as caller:
            for name, (head, piece) in ENDLESS.items():
                async with server(endless(head, piece)) as peer:
                    ended[name] = type((await caller.call(peer.url)).error)
                    await peer.closed.get()  # The agent hung up; the peer would go on for ever.
        return ended

    assert run(scenario()) == dict.fromkeys(ENDLESS, NoConnection)


SLOW = {
    "half a status line": b"HTTP/1.1 200 ",
    "half a head": OK + b"X-Y: ",
    "half a body": OK + b"Content-Length: 100\r\n\r\n{",
    "half a chunk": OK + b"Transfer-Encoding: chunked\r\n\r\n64\r\n{",
    "a body until an end that never comes": OK + b"\r\n{}",
}


@pytest.mark.parametrize("role", ROLES)
def test_a_slow_answer_ends_with_the_time_for_it(role, tmp_path):
    def trickles(data):
        async def script(line):
            await line.request()
            await line.send(data)
            ending = asyncio.ensure_future(line.wait_for_end())
            while not ending.done():
                line.writer.write(b"1")
                await asyncio.wait([ending], timeout=0.02)
            await ending

        return script

    async def scenario():
        async with agent(role, tmp_path) as caller:

            async def ends(data):
                async with server(trickles(data)) as peer:
                    answer = await caller.call(peer.url, seconds=0.5)
                    await peer.closed.get()
                    return type(answer.error)

            return await asyncio.gather(*map(ends, SLOW.values()))

    assert run(scenario()) == [NoAnswer] * len(SLOW)
