import asyncio
import re
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentleague.errors import EndpointNotAllowed
from agentleague.transport.guard import Dialer, Guard, NotAllowedHere, parse_url

LAN = ["192.168.1.0/24", "10.0.0.0/8", "fd12::/16"]
EVERYWHERE = ["0.0.0.0/0", "::/0"]

ADDRESSES = [
    # address, allowed by local, by the given networks, by a network that covers everything
    ("127.0.0.1", True, False, True),
    ("127.255.255.254", True, False, True),
    ("::1", True, False, True),
    ("::ffff:127.0.0.1", True, False, True),  # Mapped: the very same address.
    ("192.168.1.77", False, True, True),
    ("::ffff:192.168.1.77", False, True, True),
    ("192.168.2.1", False, False, True),
    ("10.1.2.3", False, True, True),
    ("fd12::5", False, True, True),
    ("fd13::5", False, False, True),
    ("8.8.8.8", False, False, True),
    ("100.64.0.1", False, False, True),
    ("0.0.0.0", False, False, False),  # Reaches this machine.
    ("0.1.2.3", False, False, False),
    ("::", False, False, False),
    ("169.254.169.254", False, False, False),  # Metadata.
    ("::ffff:169.254.169.254", False, False, False),
    ("64:ff9b::a9fe:a9fe", False, False, False),  # The same through NAT64,
    ("2002:a9fe:a9fe::1", False, False, False),  # through 6to4,
    ("2001:0:a9fe:a9fe::1", False, False, False),  # as a Teredo server,
    ("2001:0:808:808:0:0:5601:5601", False, False, False),  # as a Teredo client,
    ("::169.254.169.254", False, False, False),  # and IPv4-compatible.
    ("100.100.100.200", False, False, False),
    ("192.0.0.192", False, False, False),
    ("fd00:ec2::254", False, False, False),
    ("64:ff9b::7f00:1", False, False, True),  # Loopback inside, but not itself loopback.
    ("2002:7f00:1::", False, False, True),
    ("::127.0.0.1", False, False, True),
    ("fe80::1", False, False, False),
    ("fe80::1%eth0", False, False, False),
    ("224.0.0.1", False, False, False),
    ("ff02::1", False, False, False),
    ("255.255.255.255", False, False, False),
    ("240.0.0.1", False, False, False),
    ("localhost", False, False, False),  # A name is no address.
    ("127.1", False, False, False),
    ("", False, False, False),
]


def test_an_address_is_judged_by_the_policy_and_by_what_it_embeds():
    guards = (Guard("local"), Guard("lan", lan=LAN), Guard("lan", lan=EVERYWHERE))

    assert [(row[0], *(guard.allows(row[0]) for guard in guards)) for row in ADDRESSES] == ADDRESSES


URLS = [
    # url, what the refusal says (None: no refusal)
    ("http://127.0.0.1:8101/mcp", None),
    ("http://127.0.0.1", None),
    ("https://127.0.0.1:65535/a/b?c=d", None),
    ("http://[::1]:8101/mcp", None),
    ("http://[::ffff:127.0.0.1]:8101/mcp", None),
    ("HTTP://LOCALHOST:8101/mcp", None),  # A name: judged when it is resolved.
    ("http://player-1.example:8101/", None),
    ("", "http:// or https://"),
    ("ftp://127.0.0.1/", "http:// or https://"),
    ("file:///etc/passwd", "http:// or https://"),
    ("//127.0.0.1/", "http:// or https://"),
    ("http:/127.0.0.1/", "http:// or https://"),
    ("http://", "host or port"),
    ("http:///mcp", "host or port"),
    ("http://me@127.0.0.1/", "user name"),
    ("http://127.0.0.1:80@evil.example/", "user name"),
    ("http://evil.example#@127.0.0.1/", "fragment"),
    ("http://127.0.0.1/#x", "fragment"),
    ("http://127.0.0.1\\@evil.example/", "backslash"),
    ("http://127.0.0.1/ x", "space"),
    ("http://127.0.0.1/\r\nX: y", "space"),
    ("http://127.0.0.1/\n", "space"),
    ("http://127.0.0.1/\x00", "space"),
    ("http://127.0.0.1/\x7f", "space"),
    ("http://\uff11\uff12\uff17.0.0.1/", "non-ASCII"),
    ("http://①②⑦.0.0.1/", "non-ASCII"),
    ("http://localho\u017ft/", "non-ASCII"),  # Folds to an s.
    ("http://127.1/", "valid address"),
    ("http://2130706433/", "valid address"),
    ("http://0x7f000001/", "valid address"),
    ("http://0x7f.1/", "valid address"),
    ("http://0177.0.0.1/", "valid address"),
    ("http://0/", "valid address"),
    ("http://256.0.0.1/", "valid address"),
    ("http://[127.0.0.1]/", "valid address"),
    ("http://[::1::]/", "valid address"),
    ("http://[fe80::1%25eth0]/", "host or port"),
    ("http://127.0.0.1./", "host or port"),
    ("http://a..b/", "host or port"),
    ("http://%31%32%37.0.0.1/", "host or port"),
    ("http://127.0.0.1:0/", "from 1 to 65535"),
    ("http://127.0.0.1:65536/", "from 1 to 65535"),
    ("http://127.0.0.1:/", "host or port"),
    ("http://127.0.0.1:-1/", "host or port"),
    ("http://127.0.0.1:8o/", "host or port"),
    ("http://[::1/", "host or port"),
    ("http://127.0.0.1/" + "a" * 240, "longer than 256"),
    ("http://192.168.1.5/mcp", "does not call"),
    ("http://169.254.169.254/latest/meta-data", "does not call"),
    ("http://[::ffff:a9fe:a9fe]/", "does not call"),
    ("http://0.0.0.0:8101/", "does not call"),
]


def refusal_of(url):
    try:
        Guard("local").check_url(url)
    except EndpointNotAllowed as error:
        return str(error)
    return None


def test_a_url_is_refused_with_its_problem():
    found = [(url, problem, refusal_of(url)) for url, problem in URLS]

    assert [row for row in found if (row[1] is None) != (row[2] is None)] == []
    assert [row for row in found if row[1] and not re.search(row[1], row[2])] == []


def test_a_refusal_says_what_to_do_under_either_policy():
    with pytest.raises(EndpointNotAllowed, match=r'network = "lan" .*--network lan'):
        Guard("local").check_url("http://192.168.9.9/")
    with pytest.raises(EndpointNotAllowed, match=r"192\.168\.1\.0/24, .*lan = .*--lan NETWORK"):
        Guard("lan", lan=LAN).check_url("http://192.168.9.9/")


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "169.254.7.7"])
def test_of_what_nobody_may_call_no_setting_is_named(host):
    for guard in (Guard("local"), Guard("lan", lan=EVERYWHERE)):
        with pytest.raises(EndpointNotAllowed, match="say the address that others see") as refused:
            guard.check_url(f"http://{host}:8101/mcp")
        assert "--" not in str(refused.value)


def test_local_ignores_the_networks_and_a_network_must_be_one():
    assert not Guard("local", lan=LAN).allows("192.168.1.1")
    with pytest.raises(ValueError, match="host bits"):
        Guard("lan", lan=["192.168.1.1/24"])


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "authority"),
    [
        ("http://Player.Example", "player.example", 80, "/mcp", "player.example"),
        ("http://player.example/", "player.example", 80, "/", "player.example"),
        ("http://player.example:80?x=1", "player.example", 80, "/mcp?x=1", "player.example"),
        ("https://player.example:80/a", "player.example", 80, "/a", "player.example:80"),
        ("https://127.0.0.1/a?b", "127.0.0.1", 443, "/a?b", "127.0.0.1"),
        ("http://[0:0::1]:8101/mcp", "::1", 8101, "/mcp", "[::1]:8101"),
        ("http://[::1]/mcp", "::1", 80, "/mcp", "[::1]"),
    ],
)
def test_a_url_is_taken_apart_once_and_for_all(url, host, port, path, authority):
    endpoint = parse_url(url)

    assert (endpoint.host, endpoint.port, endpoint.path) == (host, port, path)
    assert endpoint.authority == authority


@given(st.text(max_size=40) | st.text(max_size=30).map("http://{}".format))
def test_whatever_passes_makes_one_request_line_and_one_host(text):
    try:
        head = parse_url(text).post_head
    except EndpointNotAllowed:
        return

    assert head.count(b"\r\n") == head.count(b"\n") == head.count(b"\r") == 4
    assert len(head.split(b"\r\n")[0].split(b" ")) == 3
    assert len(head.split(b"\r\n")[1].split(b" ")) == 2


class Observer(asyncio.Protocol):
    """Tells that it was connected."""

    def __init__(self, made):
        self.made = made

    def connection_made(self, transport):
        self.made.append(transport)


def dial(guard, url, addresses=None):
    """Dials under a resolver that knows these addresses; the connected protocol is dropped."""
    asked = []

    async def resolve(host, port, **_):
        asked.append(host)
        families = {True: socket.AF_INET6, False: socket.AF_INET}
        return [(families[":" in each], 1, 6, "", (each, port)) for each in addresses]

    async def scenario():
        made = []
        try:
            await Dialer(guard, resolve).dial(parse_url(url), Observer(made))
        finally:
            for transport in made:
                transport.abort()
            await asyncio.sleep(0)
        return len(made)

    return asyncio.run(scenario()), asked


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        yield server


def test_what_is_not_called_is_told_with_what_to_type():
    with pytest.raises(NotAllowedHere, match="none of its addresses is allowed here") as refusal:
        dial(Guard("lan", ["10.0.0.0/8"]), "http://192.0.2.7:8101/mcp")

    assert refusal.value.args[0].startswith("it calls 10.0.0.0/8; to call another")


def test_every_allowed_address_is_tried_in_turn(listener):
    port = listener.getsockname()[1]

    made, asked = dial(Guard(), f"http://x.example:{port}/", ["10.9.9.9", "::1", "127.0.0.1"])

    assert (made, asked) == (1, ["x.example"])


def test_a_literal_needs_no_resolver(listener):
    assert dial(Guard(), f"http://127.0.0.1:{listener.getsockname()[1]}/") == (1, [])


@pytest.mark.parametrize("addresses", [[], ["10.9.9.9"], ["169.254.169.254", "0.0.0.0"]])
def test_a_name_without_an_allowed_address_is_not_dialled(listener, addresses):
    with pytest.raises(OSError, match="allowed"):
        dial(Guard(), f"http://x.example:{listener.getsockname()[1]}/", addresses)


TYPED = [
    # what the user typed, what is called and where it leads, whether it may be called
    ("http://203.0.113.7/", "203.0.113.7", "203.0.113.7", True),
    ("http://203.0.113.7/", "x.example", "203.0.113.7", True),  # The very address.
    ("http://203.0.113.7/", "203.0.113.7:22", "203.0.113.7", False),  # Not all that is there.
    ("https://203.0.113.7/", "203.0.113.7:443", "203.0.113.7", True),
    ("http://203.0.113.7/", "203.0.113.8", "203.0.113.8", False),
    ("http://203.0.113.7/", "x.example", "203.0.113.8", False),
    ("http://[2001:DB8::7]/", "[2001:db8::7]", "2001:db8::7", True),
    ("http://cup.example/", "cup.example", "203.0.113.7", True),
    ("http://cup.example/", "cup.example", "203.0.113.8", True),  # It has several, or moved.
    ("http://cup.example/", "cup.example:22", "203.0.113.7", False),
    ("http://cup.example/", "203.0.113.7", "203.0.113.7", False),
    ("http://cup.example/", "x.example", "203.0.113.7", False),
    ("http://cup.example/", "cup.example", "169.254.169.254", False),  # It means something else.
    ("http://cup.example/", "cup.example", "::ffff:169.254.169.254", False),
    ("http://cup.example/", "cup.example", "64:ff9b::a9fe:a9fe", False),
    ("http://cup.example/", "cup.example", "fe80::1", False),
    ("http://169.254.169.254/", "169.254.169.254", "169.254.169.254", False),
]


@pytest.mark.parametrize("network", ["local", "lan"])
def test_where_its_user_sent_an_agent_it_may_call_and_nowhere_else(network):
    guards = [Guard(network, LAN, [parse_url(row[0])]) for row in TYPED]
    called = zip(guards, TYPED, strict=True)

    assert [guard.allows(row[2], parse_url(f"http://{row[1]}/")) for guard, row in called] == [
        row[3] for row in TYPED
    ]
    cup = parse_url("http://cup.example/")
    loopback = Guard("lan", LAN, [cup])
    assert not any(loopback.allows(each, cup) for each in ("127.0.0.1", "64:ff9b::7f00:1"))


def test_the_name_that_its_user_typed_is_dialled_at_no_address_of_this_machine(listener):
    typed = f"http://cup.example:{listener.getsockname()[1]}/"

    with pytest.raises(OSError, match="allowed"):
        dial(Guard("lan", LAN, [parse_url(typed)]), typed, ["127.0.0.1", "0.0.0.0"])


class Fickle(Guard):
    """Allows what is asked first, and refuses the address that was reached."""

    def __init__(self):
        super().__init__("local")
        self.asked = []

    def allows(self, address, endpoint=None):
        self.asked.append(address)
        return len(self.asked) == 1


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_address_reached_is_judged_before_the_first_byte(listener, scheme):
    guard = Fickle()

    with pytest.raises(OSError, match="not allowed"):
        dial(guard, f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/")

    assert guard.asked == ["127.0.0.1", "127.0.0.1"]
    connection, _ = listener.accept()
    with connection:
        assert connection.recv(100) == b""


@pytest.mark.parametrize(
    ("network", "source", "is_taken"),
    [
        ("local", "127.0.0.1", True),
        ("local", "::1", True),
        ("local", "10.1.2.3", False),  # It could name this machine's own services as its end point.
        ("lan", "10.1.2.3", True),
        ("lan", "127.0.0.1", True),  # The organiser's own machine, at its address in the network.
        ("lan", "203.0.113.5", False),
    ],
)
def test_an_agent_is_judged_by_where_it_asks_from_too(network, source, is_taken):
    guard = Guard(network, ["10.0.0.0/8"])
    url = "http://127.0.0.1:8101/mcp" if network == "local" else "http://10.1.2.3:8101/mcp"

    if is_taken:
        guard.check_agent(url, source)
        return
    with pytest.raises(EndpointNotAllowed, match="asks from"):
        guard.check_agent(url, source)


def test_in_a_network_nobody_registers_a_loopback_address():
    with pytest.raises(EndpointNotAllowed, match="each takes that for itself; say the address"):
        Guard("lan", ["10.0.0.0/8"]).check_agent("http://127.0.0.1:8101/mcp", "10.1.2.3")
