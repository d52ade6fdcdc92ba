"""Where an agent listens, at which address others call it, and whom it may call itself.

An agent whose manager is on another machine listens at the address from which it reaches that
manager, so one command is enough on every machine of a network. It says so wherever it does not
listen on loopback.
"""

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from ipaddress import ip_address, ip_network
from typing import Any

from agentleague.errors import EndpointNotAllowed, LeagueError
from agentleague.protocol.hosts import is_loopback
from agentleague.roles.settings import AgentSettings, ManagerSettings, Network
from agentleague.runtime.processes import SELF, Place
from agentleague.transport.guard import Endpoint, Guard, parse_url
from agentleague.transport.http import LOCAL_HOSTS
from agentleague.transport.manager_addresses import SEPARATOR, addresses_in

Say = Callable[[str], None]
Resolve = Callable[..., Sequence[tuple[Any, ...]]]  # Called like `socket.getaddrinfo`.

LOOPBACK = ("127.0.0.0/8", "::1/128")
PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
# An address in nobody's network, to which the way is the default one.
FAR_AWAY = {"0.0.0.0": "192.0.2.1", "::": "2001:db8::1"}
EVERYWHERE = tuple(SELF)
ANY_PORT = 9  # To find the way to an address; nothing is sent.


class NoWay(LeagueError):
    """This machine has no address from which it reaches the manager."""


def guard_for(network: Network | None, lan: Sequence[str], manager: str | None = None) -> Guard:
    """Whom an agent may call: on this machine, or in `lan`; its manager, where it is, always."""
    for each in lan:
        _check_network(each)
    managers = addresses_in(manager) if manager else ()
    chosen = network or ("local" if all(map(is_here, managers)) else "lan")
    here = LOOPBACK if any(map(is_here, managers)) else ()
    return Guard(chosen, (*(lan or PRIVATE), *here), [parse_url(each) for each in managers])


def is_here(url: str) -> bool:
    """Whether a URL, or each of several, is this machine: by a loopback address or as localhost."""
    return all(is_loopback(parse_url(each).host) for each in addresses_in(url))


def place_of_agent(settings: AgentSettings, say: Say) -> Place:
    """Where a referee or player listens, so that its manager can call it."""
    manager = settings.manager_url
    guard = guard_for(settings.network, settings.lan, manager)
    for each in addresses_in(manager):
        guard.check_url(each)
    outbound = getattr(settings, "outbound", False)
    if outbound:
        if settings.endpoint:
            raise LeagueError("a player that only calls out has no --endpoint; leave that out")
        return Place(settings.port, guard=guard, listens=False)
    bind, shown = _address(settings.bind), ""
    if not is_here(manager) and (not bind or bind in EVERYWHERE):
        try:
            shown = _way_out(manager, guard)
        except NoWay as error:
            if outbound is False or bind or settings.endpoint:
                raise
            say(f"{error} It joins through a seat, which needs only a way out.")
            return Place(settings.port, guard=guard, listens=False)
        bind = bind or shown
    place = _place(settings, guard, bind)
    if not bind or is_loopback(bind):
        return place
    say(_listens(bind))
    return _called_at(shown or SELF.get(bind, bind), place, say)


def place_of_manager(settings: ManagerSettings, say: Say) -> Place:
    """Where a manager listens: on this machine only, unless it is told where."""
    bind, is_lan = _address(settings.bind), settings.network == "lan"
    place = _place(settings, guard_for(settings.network, settings.lan), bind)
    place = replace(place, moves_on=False, trusted_proxies=settings.trusted_proxies)
    if not bind and is_lan and not settings.endpoint:  # Else a proxy lets them in.
        say(
            "It listens on this machine only, where no other machine can reach it; to let them in, "
            "add: --bind 0.0.0.0"
        )
    if not bind or is_loopback(bind):
        return place
    say(_listens(bind))
    if not is_lan:
        say("But it takes agents of this machine only; to take others, add: --network lan")
    called_at = (default_address(bind) or SELF[bind]) if bind in EVERYWHERE else bind
    return _called_at(called_at, place, say)


def place_of_pages(bind: str, port: int, names: Sequence[str]) -> Place:
    """Where a dashboard listens: on this machine only, unless it is told where."""
    address = _address(bind)
    place = Place(port, hosts=(address,) if address else LOCAL_HOSTS, aliases=names)
    if not address or is_loopback(address):
        return place
    shown = (default_address(address) or SELF[address]) if address in EVERYWHERE else address
    return replace(place, called_at=shown, aliases=(*names, *_names()))


def _called_at(address: str, place: Place, say: Say) -> Place:
    if place.hosts[0] in EVERYWHERE and not place.endpoint:
        doubt = ", which only this machine can call" if is_loopback(address) else ""
        say(
            f"It says that its address is {address}{doubt}; to name another, add: --endpoint "
            f"http://HOST:{place.port or 'PORT'}/mcp"
        )
    return replace(place, called_at=address, aliases=_names())


def check_wish(name: str, value: str | Sequence[str]) -> None:
    """Raises LeagueError unless what a setting says can be meant."""
    if name in ("lan", "trusted_proxies"):
        for each in value:
            _check_network(each)
    elif name == "endpoint" and value:
        parse_url(str(value))
    elif name in ("bind", "dashboard_bind"):
        _address(str(value))


def own_address(url: str, guard: Guard, resolve: Resolve = socket.getaddrinfo) -> str:
    """The address from which this machine reaches this URL. Raises LeagueError if there is none."""
    endpoint = parse_url(url)
    guard.check_url(url)
    found = _look_up(endpoint, resolve)
    allowed = [each for each in found if guard.allows(each, endpoint)]
    if not allowed and any(map(is_loopback, found)):
        raise EndpointNotAllowed(
            f"The manager's name {endpoint.host} leads to this very machine; say so with: "
            f"--manager {endpoint.port}"
        )
    if not allowed:
        raise EndpointNotAllowed(
            f"The manager's name {endpoint.host} leads to {', '.join(found)}, and that lies where "
            f"this agent does not call: {guard.remedy}."
        )
    for address in allowed:
        mine = _way_to(address)
        if mine and guard.allows(mine, endpoint):
            return mine
    raise NoWay(
        f"this machine has no way to the manager at {url}; is it in the same network? If so, say "
        "at which address of this machine others reach it with: --bind ADDRESS"
    )


def _way_out(manager: str, guard: Guard) -> str:
    """The address from which this machine reaches the first of a manager's addresses that it can.

    Raises LeagueError, of the first, if there is none.
    """
    problems: list[LeagueError] = []
    for url in addresses_in(manager):
        try:
            if not is_here(url):
                return own_address(url, guard)
        except LeagueError as problem:
            problems.append(problem)
    raise problems[0]


def default_address(everywhere: str = "0.0.0.0") -> str:
    """The address of this machine in the network it is in, or nothing where it is in none."""
    return _way_to(FAR_AWAY[everywhere])


def _place(settings: AgentSettings | ManagerSettings, guard: Guard, bind: str) -> Place:
    if settings.endpoint:
        _check_reachable(parse_url(settings.endpoint), bind, settings.port)
    hosts = (bind,) if bind else LOCAL_HOSTS
    return Place(settings.port, hosts=hosts, endpoint=settings.endpoint or None, guard=guard)


def _check_reachable(endpoint: Endpoint, bind: str, port: int) -> None:
    """Raises LeagueError if others are sent to an address of this machine that nobody opens."""
    is_shut = not bind or is_loopback(bind)
    if (endpoint.scheme, endpoint.port) != ("http", port) or not is_shut:  # Or behind a proxy.
        return
    if is_loopback(endpoint.host) or not _is_own(endpoint):
        return
    raise LeagueError(
        f"endpoint says http://{endpoint.authority}, an address of this machine, but it listens on "
        f"loopback only, where nobody else can reach it; add: --bind "
        f"{endpoint.host if endpoint.address else '0.0.0.0'}, or leave out the endpoint"
    )


def _is_own(endpoint: Endpoint) -> bool:
    """Whether a host is this machine, from which the way to it begins where it ends."""
    try:
        found = _look_up(endpoint, socket.getaddrinfo)
    except LeagueError:
        return False
    return all(is_loopback(each) or _way_to(each) == each for each in found)


def _address(bind: str) -> str:
    """An address in the one way it is written; a name is left for the system to look up."""
    if bind.replace(".", "").isdecimal() or ":" in bind:
        try:
            return str(ip_address(bind.strip("[]")))
        except ValueError:
            raise LeagueError(
                f"{bind!r} is no address; write one of this machine, or 0.0.0.0 for all of them"
            ) from None
    return bind


def _listens(bind: str) -> str:
    where = "all addresses of this machine" if bind in EVERYWHERE else bind
    return f"It listens on {where}, where the whole network can reach it."


def _check_network(text: str) -> None:
    try:
        ip_network(text)
    except ValueError:
        try:
            meant = f"did you mean {ip_network(text, strict=False)}?"
        except ValueError:
            meant = "write an address and its bits, like 192.168.1.0/24 or fd12::/16"
        raise LeagueError(f"{text!r} is no network; {meant}") from None


def _look_up(endpoint: Endpoint, resolve: Resolve) -> list[str]:
    if endpoint.address:
        return [endpoint.host]
    try:
        found = resolve(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # A part of a name may be too long to look up.
        why = getattr(error, "strerror", None) or error
        raise LeagueError(
            f"the manager's name {endpoint.host} cannot be looked up ({why}); "
            "check how it is written, or give its address instead: --manager HOST:PORT with a HOST "
            "like 192.168.1.10"
        ) from None
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _way_to(address: str) -> str:
    """From which address this machine would send there; a datagram socket sends nothing yet."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as way:
            way.connect((address, ANY_PORT))
            return str(way.getsockname()[0])
    except OSError:
        return ""


def _names() -> tuple[str, ...]:
    name = socket.gethostname().split(".")[0].lower()
    return (socket.gethostname().lower(), name, f"{name}.local") if name else ()


PORT = 8000  # where a manager is unless it is told otherwise
HOST = re.compile(r"[A-Za-z0-9_.-]+|\[[0-9a-fA-F:.]+\]")
HOST_OR_LEAGUE = re.compile(r"[^/]+(/leagues/[^/?#]+/?)?", re.DOTALL)
HOST_AND_PORT = re.compile(r"[^/]+:[0-9]+(/.*)?", re.DOTALL)


def manager_url(text: str) -> str:
    """A manager's URL from what a person types: a port, a host, both, or a URL; else as it was.

    Of several, between commas, each once.
    """
    if SEPARATOR in text:
        typed = filter(None, map(str.strip, text.split(SEPARATOR)))
        return SEPARATOR.join(dict.fromkeys(map(manager_url, typed)))
    if text.isascii() and text.isdecimal():
        text = f"127.0.0.1:{text}"
    elif HOST.fullmatch(text):
        text = f"{text}:{PORT}"
    if HOST_AND_PORT.fullmatch(text):
        text = f"http://{text}"
    _, _, rest = text.partition("://")
    return f"{text.rstrip('/')}/mcp" if HOST_OR_LEAGUE.fullmatch(rest) else text
