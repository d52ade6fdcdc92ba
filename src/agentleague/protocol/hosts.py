"""Which machine a host in a URL, or the source of a request, means."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit


@lru_cache(maxsize=1_024)
def is_loopback(host: str) -> bool:
    """Whether the host is this machine: by address, or as localhost."""
    address = _address(host)
    return address.is_loopback if address else host.lower().rstrip(".") == "localhost"


@lru_cache(maxsize=1_024)  # Asked for each connection, message and registration.
def _address(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is, without a mapping of IPv4 into IPv6; None if it is a name."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address


_PORTS = {"http": 80, "https": 443}
Place = tuple[str, int, str]  # host, port and path


def places(endpoint: str, addresses: Iterable[str] = ()) -> frozenset[Place]:
    """Where an end point is, however it is spelled; two that share a place are the same.

    `addresses` are those of its host name. A name behind https counts by itself: many share the
    address of one proxy, and the certificate says which is meant.
    """
    try:
        url = urlsplit(endpoint)
        host, port = (url.hostname or "").rstrip("."), url.port or _PORTS.get(url.scheme, 0)
    except ValueError:
        return frozenset({(endpoint, 0, "")})
    path = url.path.rstrip("/") or "/mcp"
    hosts = {host, *addresses} if url.scheme == "http" else {host}
    if host == "localhost":
        hosts = {"127.0.0.1", "::1"}
    return frozenset((str(_address(each) or each), port, path) for each in hosts)


def owns(endpoint: str, other: str, others: frozenset[Place]) -> bool:
    """Whether who listens at an end point listens at another, which is at these places.

    The owner of a name decides which addresses it has: it owns what is called so, and no address.
    """
    host = (urlsplit(endpoint).hostname or "").rstrip(".")
    if is_address(host):
        return bool(places(endpoint) & others)
    return host == (urlsplit(other).hostname or "").rstrip(".")


def is_address(host: str) -> bool:
    """Whether the host is an IP address, not a name."""
    return _address(host) is not None


def is_home(where: Iterable[Place], source: str) -> bool:
    """Whether a request from this address may come from one of these places."""
    return any(_is_same(host, source) for host, _, _ in where)


def is_at(endpoint: str, source: str) -> bool:
    """Whether a request from this address may come from that end point's machine."""
    try:
        return _is_same(urlsplit(endpoint).hostname or "", source)
    except ValueError:  # It is no URL.
        return False


def _is_same(host: str, source: str) -> bool:
    if host == source:
        return True
    if is_loopback(host) or is_loopback(source):
        return is_loopback(host) and is_loopback(source)
    address = _address(host)  # None of a name, whose address is not known here.
    return address is not None and address == _address(source)
