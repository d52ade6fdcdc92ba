"""Where a request really comes from, and which machine the end point of a registration means.

Behind a proxy every caller has the proxy's address. A trusted proxy says whose request it hands on;
of one that nobody named it is only known that the address is not the caller's.
"""

import asyncio
import socket
from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from agentleague.protocol.hosts import is_address, is_loopback
from agentleague.roles.stimuli import read_headers

RESOLVE_SECONDS = 2.0
ADDRESSES_MAX = 8


class Proxies:
    """The proxies whose word counts, by address or network; ValueError for what is neither.

    Who uses `own_name`, under which an agent is called from outside, and comes from this very
    machine came through a proxy.
    """

    def __init__(self, trusted: Iterable[str] = (), own_name: str = "") -> None:
        self._trusted = [ip_network(each, strict=False) for each in trusted]
        self.own_name = "" if is_loopback(own_name) else own_name.lower()

    def source_of(self, peer: str, head: bytes) -> str:
        """The address of the caller; empty if a proxy that is not trusted hides it."""
        if not self.own_name and b"forwarded" not in head.lower():
            return peer
        headers = read_headers(head)
        if "x-forwarded-for" not in headers and "forwarded" not in headers:
            host = headers.get("host", "").lower()
            is_named = host == self.own_name or host.startswith(f"{self.own_name}:")
            is_hidden = is_named and is_loopback(peer) and not self._trusted
            return "" if is_hidden else peer
        if not self.trusts(peer):
            return ""
        hops = [hop.strip() for hop in headers.get("x-forwarded-for", "").split(",")]
        last = next((hop for hop in reversed(hops) if not self.trusts(hop)), "")
        return last if is_address(last) else ""

    def trusts(self, address: str) -> bool:
        """Whether a proxy is at this address."""
        return is_address(address) and any(
            ip_address(address) in network for network in self._trusted
        )


def name_in(url: str) -> str:
    """The host name in an http end point that has one; empty if it has an address."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    is_name = parts.scheme == "http" and not is_loopback(host) and not is_address(host)
    return host if is_name and port != 0 else ""


async def addresses_of(name: str) -> tuple[str, ...]:
    """The addresses of a host; none if it cannot be found soon enough."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await loop.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        return ()
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))[:ADDRESSES_MAX]
