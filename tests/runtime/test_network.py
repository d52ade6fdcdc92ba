"""Where an agent listens, at which address others call it, and whom it may call."""

import asyncio
import socket

import pytest

from agentleague.errors import EndpointNotAllowed, LeagueError
from agentleague.roles.settings import AgentSettings, ManagerSettings
from agentleague.runtime.clock import LoopClock
from agentleague.runtime.network import (
    LOOPBACK,
    PRIVATE,
    default_address,
    guard_for,
    is_here,
    own_address,
    place_of_agent,
    place_of_manager,
)
from agentleague.runtime.processes import Place
from agentleague.transport.guard import Guard, parse_url
from agentleague.transport.http import LOCAL_HOSTS, HttpTransport, TransportPolicy

FAMILIES = (socket.AF_INET, socket.AF_INET6)
HERE, ELSEWHERE = "http://127.0.0.1:8000/mcp", "http://192.168.1.10:8000/mcp"


def agent(manager=HERE, **wishes):
    """Where an agent would listen, and what is said about it."""
    said = []
    asked = AgentSettings(manager_url=manager, display_name="", port=21101, **wishes)
    return place_of_agent(asked, said.append), said


def manager(**wishes):
    said = []
    return place_of_manager(ManagerSettings(port=21000, **wishes), said.append), said


def needs(address):
    """Skips where this machine has no such address, as some have no IPv6."""
    try:
        socket.create_server((address, 0), family=FAMILIES[":" in address]).close()
    except OSError as error:
        pytest.skip(f"this machine has no {address} ({error})")


def url_of(place):
    """Under which URL others call it, once it listens."""

    async def main():
        policy = TransportPolicy("player", place.guard, lambda: 0.0, names=place.names)
        transport = HttpTransport(LoopClock(asyncio.get_running_loop()), policy)
        url = await place.open(transport)
        await transport.stop()
        return url

    return asyncio.run(main())


def leads_to(*addresses):
    """A resolver that knows one name."""
    return lambda host, port, **kind: [(0, 0, 0, "", (each, port)) for each in addresses]


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        (HERE, True),
        ("http://127.0.0.7:8000/mcp", True),
        ("http://localhost:8000/mcp", True),
        ("http://[::1]:8000/mcp", True),
        (ELSEWHERE, False),
        ("http://teacher.local:8000/mcp", False),
        ("http://[fd12::5]:8000/mcp", False),
    ],
)
def test_an_agent_that_is_not_told_follows_its_manager(url, is_local):
    assert is_here(url) is is_local
    assert guard_for(None, (), url).allows("192.168.1.5") is not is_local
    assert not guard_for("local", (), url).allows("192.168.1.5")
    assert guard_for("lan", (), url).allows("192.168.1.5")


def test_each_address_of_a_manager_may_be_called_and_the_machine_it_is_on_only_if_it_is_this():
    far = f"{ELSEWHERE},http://203.0.113.9:8000/mcp"
    guard, endpoint = guard_for(None, (), far), parse_url("http://203.0.113.9:8000/mcp")

    assert guard.allows("203.0.113.9", endpoint)
    assert not guard.allows("203.0.113.9", endpoint._replace(port=8001))
    assert not guard.allows("127.0.0.1")
    mixed = guard_for(None, (), f"{HERE},{ELSEWHERE}")
    assert mixed.allows("127.0.0.1")
    assert mixed.allows("192.168.1.5")
    assert not is_here(f"{HERE},{ELSEWHERE}")
    with pytest.raises(LeagueError, match="lies where this league does not call"):
        agent(manager=f"{HERE},http://169.254.169.254/mcp")


def test_an_agent_listens_where_the_first_address_that_it_can_find_reaches_it():
    place, _ = agent(manager=f"http://nobody.invalid:8000/mcp,{HERE},{ELSEWHERE}")

    assert place.called_at == own_address(ELSEWHERE, guard_for(None, (), ELSEWHERE))
    with pytest.raises(LeagueError, match=r"nobody\.invalid cannot be looked up"):
        agent(manager=f"{HERE},http://nobody.invalid:8000/mcp")


def test_a_manager_calls_this_machine_only_unless_it_is_told():
    assert not guard_for(None, ()).allows("10.0.0.1")
    assert not guard_for("local", ["10.0.0.0/8"]).allows("10.0.0.1")


@pytest.mark.parametrize("address", ["10.1.2.3", "172.16.0.9", "192.168.1.5", "fd12::5"])
def test_the_private_networks_are_those_of_lan_unless_others_are_given(address):
    assert guard_for("lan", ()).allows(address)
    assert not guard_for("lan", ["203.0.113.0/24"]).allows(address)
    assert guard_for("lan", ["203.0.113.0/24"]).allows("203.0.113.9")
    assert not guard_for("lan", ()).allows("203.0.113.9")
    assert len(PRIVATE) == 4


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("192.168.1.7/24", r"did you mean 192\.168\.1\.0/24\?"),
        ("school", "write an address and its bits, like 192"),
        ("", "write an address and its bits"),
        ("10.0.0.0/33", "write an address and its bits"),
    ],
)
@pytest.mark.parametrize("network", ["lan", "local", None])
def test_what_is_no_network_is_named_with_its_remedy(text, remedy, network):
    with pytest.raises(LeagueError, match=remedy) as refused:
        guard_for(network, ["10.0.0.0/8", text])
    assert f"{text!r} is no network" in str(refused.value)


def test_on_one_machine_everything_is_as_ever_and_nothing_is_said():
    place, said = agent()

    assert (place.hosts, place.endpoint, said) == (LOCAL_HOSTS, None, [])
    assert not place.is_far
    assert url_of(place).startswith("http://127.0.0.1:")
    assert manager()[0].hosts == LOCAL_HOSTS
    assert manager()[1] == []


@pytest.mark.parametrize(
    ("bind", "begin"), [("127.0.0.1", "http://127.0.0.1:"), ("::1", "http://[::1]:")]
)
def test_a_loopback_address_to_listen_on_is_not_said_aloud(bind, begin):
    needs(bind)
    place, said = agent(bind=bind)

    assert (place.hosts, said) == ((bind,), [])
    assert place.is_far  # Whether the manager calls there is not certain.
    assert url_of(place).startswith(begin)
    assert manager(bind=bind)[1] == []


def test_an_address_beyond_this_machine_is_said_aloud():
    place, said = agent(bind="192.168.1.22")

    assert (place.hosts, place.called_at) == (("192.168.1.22",), "192.168.1.22")
    assert said == ["It listens on 192.168.1.22, where the whole network can reach it."]
    assert manager(bind="192.168.1.22", network="lan")[1] == said


def test_what_listens_everywhere_never_says_that_it_is_nowhere():
    for bind in ("0.0.0.0", "::"):
        for place, said in (agent(bind=bind), manager(bind=bind)):
            assert place.hosts == (bind,)
            assert place.called_at not in ("", "0.0.0.0", "::")
            assert "It listens on all addresses of this machine" in said[0]
            assert f"It says that its address is {place.called_at}" in said[-1]
            assert "--endpoint http://HOST:21" in said[-1]


def test_an_end_point_that_is_given_is_taken_as_it_is():
    for bind in ("", "0.0.0.0"):
        place, said = agent(bind=bind, endpoint="http://me.example:9/x")
        assert place.endpoint == "http://me.example:9/x"
        assert "me.example" in place.names
        assert place.is_far
        assert not any("--endpoint" in sentence for sentence in said)
    with pytest.raises(EndpointNotAllowed, match="http://"):
        agent(endpoint="192.168.1.5:8101")
    with pytest.raises(EndpointNotAllowed, match="http://"):
        manager(endpoint="192.168.1.5:8000")


def test_a_machine_may_be_called_by_its_own_name_where_others_reach_it():
    name = socket.gethostname().lower()

    assert name in manager(bind="0.0.0.0", network="lan")[0].names
    assert f"{name.split('.')[0]}.local" in agent(bind="192.168.1.22")[0].names
    assert name not in agent()[0].names


def test_a_manager_whose_settings_contradict_one_another_says_so():
    assert "--bind 0.0.0.0" in manager(network="lan")[1][0]
    assert any("--network lan" in each for each in manager(bind="192.168.1.22")[1])
    assert not any("--network" in each for each in manager(bind="192.168.1.22", network="lan")[1])


@pytest.mark.parametrize("network", ["local", "lan", None])
def test_the_manager_that_its_user_typed_may_be_anywhere_and_nobody_else(network):
    public = agent("http://203.0.113.7:8000/mcp", network=network, bind="192.168.1.22")[0].guard
    named = agent("http://cup.example/mcp", network=network, bind="192.168.1.22")[0].guard

    public.check_url("http://203.0.113.7:8000/other")
    for elsewhere in ("http://203.0.113.7:8001/mcp", "http://203.0.113.8:8000/mcp"):
        with pytest.raises(EndpointNotAllowed):
            public.check_url(elsewhere)
    assert named.allows("203.0.113.7", parse_url("http://cup.example/mcp"))
    assert not named.allows("203.0.113.7", parse_url("http://cup.example:22/mcp"))
    assert not named.allows("203.0.113.7")
    assert public.allows("192.168.1.5") is (network != "local")


def test_a_manager_where_nobody_may_call_is_refused_with_the_remedy():
    with pytest.raises(EndpointNotAllowed, match="nobody can; say the address that others see"):
        agent("http://169.254.169.254:8000/mcp")
    with pytest.raises(EndpointNotAllowed, match="host or port"):
        agent("http://:8000")


def test_others_are_not_sent_to_an_address_of_this_machine_where_nobody_listens(monkeypatch):
    """Here a name leads to this machine; what an address does is seen where it has one."""
    own = default_address() or "cup.example"
    monkeypatch.setattr("socket.getaddrinfo", fixed(socket.getaddrinfo, "cup.example"))

    for host, bind in (("cup.example", "0.0.0.0"), (own, default_address() or "0.0.0.0")):
        for loopback in ("", "127.0.0.1", "localhost"):
            with pytest.raises(LeagueError, match=f"loopback only, .* add: --bind {bind},"):
                manager(endpoint=f"http://{host}:21000/mcp", bind=loopback)
            with pytest.raises(LeagueError, match=f"loopback only, .* add: --bind {bind},"):
                agent(endpoint=f"http://{host}:21101/mcp", bind=loopback)
        assert manager(endpoint=f"http://{host}:21000/mcp", bind="0.0.0.0")


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://cup.example/mcp",  # A proxy has another port,
        "https://cup.example:21000/mcp",  # or speaks TLS,
        "http://192.0.2.1:21000/mcp",  # or is another machine.
        "http://unknown.example:21000/mcp",
        "http://127.0.0.1:21000/mcp",
        "http://localhost:21000/mcp",
    ],
)
def test_behind_a_proxy_a_manager_listens_on_loopback(endpoint, monkeypatch):
    monkeypatch.setattr("socket.getaddrinfo", fixed(socket.getaddrinfo, "cup.example"))

    assert manager(endpoint=endpoint, bind="127.0.0.1")[0].endpoint == endpoint


def fixed(resolve, name):
    """A resolver that knows one name, which is that of this machine, and addresses."""

    def answer(host, port, **kind):
        if host.endswith(".example") and host != name:
            raise socket.gaierror(-2, "Name or service not known")
        return resolve("127.0.0.1" if host == name else host, port, **kind)

    return answer


def test_its_own_address_is_the_one_from_which_it_reaches_the_manager():
    guard = Guard("lan", (*PRIVATE, *LOOPBACK))

    assert own_address("http://127.0.0.1:8000/mcp", guard) == "127.0.0.1"
    allowed = own_address("http://t.example/", guard, leads_to("203.0.113.7", "127.0.0.1"))
    assert allowed == "127.0.0.1"


def test_its_own_address_is_of_the_kind_of_the_managers():
    needs("::1")
    guard = Guard("lan", (*PRIVATE, *LOOPBACK))

    assert own_address("http://[::1]:8000/mcp", guard) == "::1"
    assert own_address("http://t.example/", guard, leads_to("::1", "127.0.0.1")) == "::1"


def test_a_name_of_this_very_machine_is_said_with_what_to_type():
    with pytest.raises(EndpointNotAllowed, match="this very machine; say so with: --manager 8000"):
        own_address("http://t.local:8000/mcp", Guard("lan", PRIVATE), leads_to("127.0.1.1"))


def test_on_several_machines_nobody_is_sent_to_a_machine_of_its_own():
    assert not guard_for("lan", ()).allows("127.0.0.1")
    assert not guard_for(None, (), "http://192.168.1.10:8000/mcp").allows("::1")
    assert guard_for("lan", ["127.0.0.0/8"]).allows("127.0.0.1")  # unless that is what is meant
    assert guard_for("lan", (), "http://127.0.0.1:8000/mcp").allows("127.0.0.1")  # its manager


@pytest.mark.parametrize(
    ("bind", "host", "called_at"),
    [("::", "::", "::1"), ("::0", "::", "::1"), ("0.0.0.0", "0.0.0.0", "127.0.0.1")],
)
def test_an_agent_that_listens_everywhere_is_called_at_an_address_of_the_same_kind(
    bind, host, called_at
):
    place, _ = agent(bind=bind)

    assert (place.hosts, place.called_at) == ((host,), called_at)
    assert place.here(8101) in (f"http://{called_at}:8101/mcp", f"http://[{called_at}]:8101/mcp")
    assert ":" not in default_address("0.0.0.0")


@pytest.mark.parametrize("bind", ["0", "1.2.3", "300.1.1.1", "::g"])
def test_what_is_no_address_is_not_listened_on(bind):
    with pytest.raises(LeagueError, match=r"is no address; write one of this machine"):
        agent(bind=bind)


def test_a_name_that_leads_where_it_may_not_call_is_said_with_the_addresses():
    with pytest.raises(EndpointNotAllowed, match=r"leads to 203\.0\.113\.7, .*--lan NETWORK"):
        own_address("http://t.example/", Guard("lan", PRIVATE), leads_to("203.0.113.7"))


def test_a_name_that_nobody_knows_is_said_with_what_to_try():
    def unknown(host, port, **kind):
        raise socket.gaierror(-2, "Name or service not known")

    with pytest.raises(LeagueError, match=r"teacher\.local cannot be looked up \(Name or"):
        own_address("http://teacher.local/", Guard("lan", PRIVATE), unknown)


def test_where_no_way_leads_it_is_said(monkeypatch):
    monkeypatch.setattr("agentleague.runtime.network._way_to", lambda address: "")

    with pytest.raises(LeagueError, match="no way to the manager at http"):
        agent("http://[2001:db8::7]:8000/mcp")


def test_the_address_of_a_machine_whose_manager_is_public_may_be_public_too(monkeypatch):
    monkeypatch.setattr("agentleague.runtime.network._way_to", lambda address: "203.0.113.9")

    place = agent("http://203.0.113.7:8000/mcp")[0]

    assert (place.hosts, place.called_at) == (("203.0.113.9",), "203.0.113.9")


def test_the_default_address_is_one_that_can_be_called_or_none():
    assert default_address() == "" or Guard("lan", ["0.0.0.0/0", "::/0"]).allows(default_address())


def test_a_place_is_called_at_its_first_host_unless_it_is_said_otherwise():
    assert url_of(Place(0, hosts=("127.0.0.1",), called_at="192.168.1.22")).startswith(
        "http://192.168.1.22:"
    )
    assert url_of(Place(0, hosts=("127.0.0.1",))).startswith("http://127.0.0.1:")


def test_an_agent_whose_url_is_given_does_not_move_to_another_port():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        assert url_of(Place(port, hosts=("127.0.0.1",))) != f"http://127.0.0.1:{port}/mcp"
        with pytest.raises(LeagueError, match=r"busy.*--port.*--endpoint"):
            url_of(Place(port, hosts=("127.0.0.1",), endpoint="http://ann.example/mcp"))
