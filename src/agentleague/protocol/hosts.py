"""Which machine a host in a URL, or the source of a request, means."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit


@lru_cache(maxsize=1_024)  # Asked for each connection and each message.
def is_loopback(host: str) -> bool:
    """Whether the host is this machine: by address, or as localhost."""
    try:
        address = ip_address(host)
    except ValueError:
        return host.lower().rstrip(".") == "localhost"
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def is_at(endpoint: str, source: str) -> bool:
    """Whether a request from this address may come from that end point's machine."""
    host = urlsplit(endpoint).hostname or ""
    if host == source:
        return True
    if is_loopback(host) or is_loopback(source):
        return is_loopback(host) and is_loopback(source)
    try:
        return ip_address(host) == ip_address(source)
    except ValueError:
        return False  # A name, whose address is not known here.
