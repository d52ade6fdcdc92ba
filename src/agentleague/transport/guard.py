"""Decides where this process may call: which URLs are well formed, which addresses are allowed.

Strings prove nothing about where a name leads, so `check_url` only helps agents that register;
`allows` is the wall, and `Dialer` asks it again about the address it actually reached.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Literal, NamedTuple

from agentleague.errors import NOT_CALLED, UNREACHABLE, EndpointNotAllowed, NoConnection
from agentleague.protocol.hosts import is_loopback

Resolve = Callable[..., Awaitable[Sequence[tuple[Any, ...]]]]  # Called like `loop.getaddrinfo`.

URL_LENGTH_MAX = 256
_ADDRESSES_MAX = 8
_ADDRESS_SECONDS = 1.0  # So long for an address that says nothing, if there is another to try.
_LAST_SECONDS = 4.0  # And for the last: TCP asks three times; less than the time for a join.

_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
# Refused even where a given network covers them.
_NEVER = (
    ip_network("0.0.0.0/8"),  # Unspecified; 0.0.0.0 reaches this very machine.
    ip_network("169.254.0.0/16"),  # Link-local, with the metadata service of most clouds.
    ip_network("100.100.100.200/32"),  # Metadata at Alibaba.
    ip_network("192.0.0.192/32"),  # Metadata at Oracle.
    ip_network("224.0.0.0/4"),  # Multicast.
    ip_network("240.0.0.0/4"),  # Reserved, with the broadcast address.
    ip_network("::/128"),
    ip_network("fe80::/10"),
    ip_network("fd00:ec2::254/128"),  # Metadata at Amazon.
    ip_network("ff00::/8"),
)
_NAT64 = ip_network("64:ff9b::/96")
_COMPATIBLE = ip_network("::/96")  # Long deprecated, still routed here and there.

_ENDPOINT = re.compile(
    r"(?P<scheme>https?)://"
    r"(?:\[(?P<literal>[0-9a-f:.]+)\]|(?P<name>[a-z0-9_-]+(?:\.[a-z0-9_-]+)*))"
    r"(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>/[^?]*)?(?P<query>\?.*)?",
    re.IGNORECASE | re.ASCII,
)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # A last label like this makes an IPv4 address.
_PROBLEMS = (
    (rf".{{{URL_LENGTH_MAX + 1}}}", f"is longer than {URL_LENGTH_MAX} characters; shorten it"),
    (r".*[^\x21-\x7e]", "has a space, control or non-ASCII character; use printable ASCII"),
    (r".*\\", "has a backslash; use /"),
    (r"(?!https?://)", "does not begin with http:// or https://; write one of them"),
    (r"[^/]*//[^/?#]*@", "has a user name; leave out everything up to the @"),
    (r".*#", "has a fragment; leave out the # and what follows"),
)
_CHECKS = [(re.compile(pattern, re.I | re.A | re.S), sentence) for pattern, sentence in _PROBLEMS]


class Endpoint(NamedTuple):
    """A URL taken apart; the host is lower case and without brackets."""

    scheme: str
    host: str
    port: int
    path: str
    address: IPv4Address | IPv6Address | None  # None: the host is a name.

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORT[self.scheme] else f"{host}:{self.port}"

    @property
    def post_head(self) -> bytes:
        """The head of a request to post JSON here, without the length of the body."""
        return (
            f"POST {self.path} HTTP/1.1\r\nHost: {self.authority}\r\n"
            "Content-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\n"
            "Accept-Encoding: identity"
        ).encode("ascii")


_DEFAULT_PORT = {"http": 80, "https": 443}


def parse_url(url: str) -> Endpoint:
    """Takes a URL apart, by a narrow grammar. Raises EndpointNotAllowed with the remedy."""
    for pattern, sentence in _CHECKS:
        if pattern.match(url):
            raise _refusal(url, sentence)
    match = _ENDPOINT.fullmatch(url)
    if match is None:
        raise _refusal(url, "has no usable host or port; write it like http://127.0.0.1:8101/mcp")
    scheme = match["scheme"].lower()
    port = int(match["port"] or _DEFAULT_PORT[scheme])
    if not 1 <= port <= 65535:
        raise _refusal(url, f"has port {port}; use one from 1 to 65535")
    host = (match["literal"] or match["name"]).lower()
    address: IPv4Address | IPv6Address | None = None
    if match["literal"] or _NUMBER.fullmatch(host.rpartition(".")[2]):
        try:
            address = IPv6Address(host) if match["literal"] else IPv4Address(host)
        except ValueError:
            raise _refusal(url, "has no valid address; write it like 127.0.0.1 or [::1]") from None
        host = str(address)
    path = (match["path"] or "/mcp") + (match["query"] or "")
    return Endpoint(scheme, host, port, path, address)


def _refusal(url: str, sentence: str) -> EndpointNotAllowed:
    return EndpointNotAllowed(f"The URL {url[:URL_LENGTH_MAX]!a} {sentence}.")


class Guard:
    """The network policy: `local` is this machine alone, `lan` the given networks alone.

    `lan` includes this machine only if loopback is given: otherwise an agent could have every
    manager and referee call whatever listens on their own machines. `typed`, the hosts and ports
    that the agent's own user named, may be anywhere else, and so they alone: else who owns a name
    could call what listens here. Raises ValueError for what is no network.
    """

    def __init__(
        self,
        network: Literal["local", "lan"] = "local",
        lan: Iterable[str] = (),
        typed: Sequence[Endpoint] = (),
    ) -> None:
        given = [ip_network(cidr) for cidr in lan]
        self._networks = tuple(given) if network == "lan" else _LOOPBACK
        self._typed = {(each.host, each.port) for each in typed}
        self.remedy = (
            'it calls this machine only; to call others it needs network = "lan" in its settings, '
            "or --network lan"
            if network == "local"
            else f"it calls {', '.join(map(str, given)) or 'this machine only'}; to call another "
            'network it needs lan = ["NETWORK/BITS", ...] in its settings, or --lan NETWORK/BITS'
        )

    def check_url(self, url: str) -> None:
        """Judges the spelling, and an address if given. Raises EndpointNotAllowed with a remedy."""
        endpoint = parse_url(url)
        if endpoint.address is None or self.allows(endpoint.host, endpoint):
            return
        if _within(endpoint.address, _NEVER):
            remedy = "nobody can; say the address that others see"
        elif is_loopback(endpoint.host):
            remedy = (
                "it plays on several machines, and each takes that for itself; say the address "
                "that others see, or start the agent with: --manager ADDRESS:PORT, as others call "
                "the manager"
            )
        else:
            remedy = self.remedy
        raise _refusal(url, f"lies where this league does not call: {remedy}")

    def check_agent(self, url: str, source: str) -> None:
        """Judges an agent's end point, and its `source` if known. Raises EndpointNotAllowed."""
        self.check_url(url)
        if source and not is_loopback(source) and not self.allows(source):
            raise EndpointNotAllowed(
                f"The agent asks from {source[:64]}, where this league does not call: "
                f"{self.remedy}."
            )

    def allows(self, address: str, called: Endpoint | None = None) -> bool:
        """Whether this process may talk to this IP address, and to any it stands for."""
        try:
            outer = ip_address(address)
        except ValueError:
            return False
        is_typed = called is not None and not self._typed.isdisjoint(
            {(called.host, called.port), (str(outer), called.port)}
        )
        if isinstance(outer, IPv6Address) and outer.ipv4_mapped is not None:
            return self._allows_plain(outer.ipv4_mapped, is_typed)
        meant = (outer, *_embedded(outer))
        return all(self._allows_plain(each, is_typed) for each in meant)

    def _allows_plain(self, address: IPv4Address | IPv6Address, is_typed: bool) -> bool:
        is_allowed = _within(address, self._networks) or (
            is_typed and not _within(address, _LOOPBACK)
        )
        return is_allowed and not _within(address, _NEVER)


def _within(
    address: IPv4Address | IPv6Address, networks: Iterable[IPv4Network | IPv6Network]
) -> bool:
    return any(address in network for network in networks)


def _embedded(address: IPv4Address | IPv6Address) -> Iterator[IPv4Address]:
    if isinstance(address, IPv4Address):
        return
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        yield IPv4Address(int(address) & 0xFFFFFFFF)


class NotAllowedHere(OSError):
    """The guard allows no address of an end point: it is given the remedy."""

    def __str__(self) -> str:
        return "none of its addresses is allowed here"


class Dialer:
    """Connects to what the guard allows and to nothing else; https is verified, proxies ignored."""

    def __init__(self, guard: Guard, resolve: Resolve | None = None) -> None:
        self._guard = guard
        self._resolve = resolve

    async def dial(self, endpoint: Endpoint, protocol: asyncio.Protocol) -> None:
        """Connects to the first allowed address that answers. Raises OSError or ValueError."""
        loop = asyncio.get_running_loop()
        addresses = await self._addresses(endpoint, loop)
        allowed = [each for each in addresses if self._guard.allows(each[1][0], endpoint)]
        problem: OSError = NotAllowedHere(self._guard.remedy)
        for family, address in allowed:
            try:
                is_last = address == allowed[-1][1]
                async with asyncio.timeout(_LAST_SECONDS if is_last else _ADDRESS_SECONDS):
                    return await self._connect(endpoint, family, address, protocol)
            except OSError as error:
                problem = error
        raise problem

    async def _connect(
        self, endpoint: Endpoint, family: int, address: Any, protocol: asyncio.Protocol
    ) -> None:
        is_plain = endpoint.scheme == "http"
        gate = _Gate(protocol if is_plain else None, self._guard, endpoint)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(lambda: gate, *address[:2], family=family)
        if gate.problem:
            raise gate.problem
        if not is_plain:
            try:
                secured = await loop.start_tls(
                    transport, protocol, self._tls, server_hostname=endpoint.host
                )
            except BaseException:
                transport.abort()
                raise
            assert secured
            protocol.connection_made(secured)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    async def _addresses(
        self, endpoint: Endpoint, loop: asyncio.AbstractEventLoop
    ) -> list[tuple[int, Any]]:
        if endpoint.address is not None:
            family = socket.AF_INET if endpoint.address.version == 4 else socket.AF_INET6
            return [(family, (endpoint.host, endpoint.port))]
        resolve = self._resolve or loop.getaddrinfo
        found = await resolve(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys((each[0], each[4]) for each in found))[:_ADDRESSES_MAX]


def no_connection(endpoint: Endpoint, error: OSError | ValueError) -> NoConnection:
    """Why nobody could be connected to, in words; without the address, which not all may know."""
    late = isinstance(error, TimeoutError)
    if isinstance(error, ConnectionRefusedError):
        why = "the connection was refused: nobody listens there"
    elif isinstance(error, socket.gaierror):
        why = "the name of the host was not found"
    elif isinstance(error, ssl.SSLCertVerificationError):
        why = f"its certificate is not trusted: {error.verify_message}"
    elif endpoint.scheme == "https" and (late or isinstance(error, ssl.SSLError | ConnectionError)):
        why = "it does not speak https; try the same URL with http://"
    else:
        reason = "not within the time" if late else getattr(error, "strerror", "") or error
        why = f"no connection: {reason}"
    # Where a name leads is its owner's doing; an address may be meant well.
    is_ours = isinstance(error, NotAllowedHere) and endpoint.address is not None
    more = {NOT_CALLED: error.args[0]} if is_ours else {}
    return NoConnection(why, kind=UNREACHABLE, **more)


class _Gate(asyncio.Protocol):
    """Looks at who was really reached, before the first byte of ours goes there."""

    # The loop opens the socket: uvloop ends the process if one of ours is closed while it connects.

    def __init__(self, protocol: asyncio.Protocol | None, guard: Guard, called: Endpoint) -> None:
        self._protocol, self._guard, self._called = protocol, guard, called
        self.problem: OSError | None = None

    def connection_made(self, transport: Any) -> None:
        peer = transport.get_extra_info("peername")
        if peer is None:
            self.problem = ConnectionResetError("it hung up at once")
        elif peer == transport.get_extra_info("sockname"):  # Our own port happened to be that one.
            self.problem = ConnectionRefusedError("it reached only itself")
        elif not self._guard.allows(peer[0], self._called):
            self.problem = PermissionError(f"{peer[0]} is not allowed here")
        if self.problem:
            transport.abort()
        elif self._protocol:
            transport.set_protocol(self._protocol)
            self._protocol.connection_made(transport)
