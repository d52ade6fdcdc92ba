"""From where a request comes, with and without proxies, and the addresses of a name."""

import asyncio

import pytest

from agentleague.transport.callers import Proxies, addresses_of, name_in
from rules import rule
from tables import each_row

NGINX = "127.0.0.1"


def head(*lines):
    return "\r\n".join(("POST /mcp HTTP/1.1", *lines)).encode()


FORWARDED = "X-Forwarded-For: 10.0.0.7"


@rule("R-OWN-07")
@each_row(
    ("trusted", "peer", "lines", "source"),
    [
        ((), "10.0.0.9", (), "10.0.0.9"),
        # A proxy that nobody named: it is only known that the caller is another.
        ((), NGINX, (FORWARDED,), ""),
        ((), NGINX, ("Forwarded: for=10.0.0.7",), ""),
        ((), "10.0.0.9", ("x-forwarded-for: 127.0.0.1",), ""),
        # A trusted one: what it says counts, and nothing that was said before it.
        ((NGINX,), NGINX, (FORWARDED,), "10.0.0.7"),
        ((NGINX,), NGINX, ("X-Forwarded-For: 127.0.0.1, 10.0.0.7",), "10.0.0.7"),
        ((NGINX,), NGINX, ("X-Forwarded-For: 6.6.6.6", FORWARDED), "10.0.0.7"),
        ((NGINX, "10.1.0.0/16"), NGINX, ("X-Forwarded-For: 10.0.0.7, 10.1.2.3",), "10.0.0.7"),
        ((NGINX,), NGINX, ("X-Forwarded-For: 127.0.0.1",), ""),
        ((NGINX,), NGINX, ("X-Forwarded-For: 10.0.0.7, unknown",), ""),
        ((NGINX,), NGINX, ("Forwarded: for=10.0.0.7",), ""),
        ((NGINX,), "10.0.0.9", (FORWARDED,), ""),
        ((NGINX,), NGINX, (), NGINX),  # an agent on the machine itself
    ],
)
def test_a_forwarded_address_counts_only_from_a_trusted_proxy(trusted, peer, lines, source):
    assert Proxies(trusted).source_of(peer, head("Host: cup.example", *lines)) == source


def test_who_uses_the_outer_name_on_the_machine_itself_came_through_a_proxy():
    behind = Proxies(own_name="Cup.example")

    assert behind.source_of(NGINX, head("Host: cup.example")) == ""
    assert behind.source_of(NGINX, head("Host: cup.example:443")) == ""
    assert behind.source_of(NGINX, head("Host: 127.0.0.1:8000")) == NGINX
    assert behind.source_of("10.0.0.9", head("Host: cup.example")) == "10.0.0.9"
    assert Proxies([NGINX], "cup.example").source_of(NGINX, head("Host: cup.example")) == NGINX
    assert Proxies(own_name="localhost").source_of(NGINX, head("Host: localhost")) == NGINX


def test_what_is_no_network_is_refused():
    with pytest.raises(ValueError, match="nginx"):
        Proxies(["nginx"])


@each_row(
    ("url", "name"),
    [
        ("http://laptop.local:8101/mcp", "laptop.local"),
        ("https://laptop.example/mcp", ""),  # The certificate says who that is.
        ("http://127.0.0.1:8101/mcp", ""),
        ("http://[::1]:8101/mcp", ""),
        ("http://localhost:8101/mcp", ""),
        ("http://[:8101/mcp", ""),
        ("http://laptop:99999/mcp", ""),
        ("", ""),
    ],
)
def test_only_a_name_that_anybody_could_take_is_looked_up(url, name):
    assert name_in(url) == name


def test_the_addresses_of_a_name():
    assert set(asyncio.run(addresses_of("localhost"))) <= {"127.0.0.1", "::1"}
    assert asyncio.run(addresses_of("no-such-host.invalid")) == ()
    assert asyncio.run(addresses_of("." * 70)) == ()
