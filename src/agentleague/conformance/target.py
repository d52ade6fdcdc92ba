"""Which agent is checked, and how it is started and found."""

import re
import socket
import ssl
from urllib.parse import urlsplit

from msgspec import Struct

from agentleague.conformance.launch import Launch
from agentleague.conformance.limits import Limits
from agentleague.conformance.listener import Handler, Listener, Received, family_of
from agentleague.conformance.peer import Peer
from agentleague.protocol.printable import nearest
from agentleague.runtime.clock import stopwatch

MANAGER_PORT = 8000  # where agents of the documents look for their manager
POLL_SECONDS = 0.05
LOOPBACK = ("127.0.0.1", "localhost", "::1")
NEAR = 0.75  # how like a name is that was probably meant
PLACES = {  # what is filled into the command of each kind of agent
    "player": ("manager", "port", "dir"),
    "referee": ("manager", "port", "dir"),
    "manager": ("port", "players", "referees", "dir"),
}
REGISTERS = {"LEAGUE_REGISTER_REQUEST": "player", "REFEREE_REGISTER_REQUEST": "referee"}
_PLACE = re.compile(r"(?<!\$)\{([A-Za-z_]+)\}")
_PLAIN = re.compile(r"[\w./:=,@{}+~\\-]*")  # an option or a path; a program has braces of its own


class Unreachable(Exception):
    """The agent cannot be checked at all; the text says why, and what to do."""


class Target(Struct, frozen=True, kw_only=True):
    """What the user typed."""

    url: str = ""  # empty: the agent says it when it registers at the kit's manager
    command: str = ""  # {manager}, {port} and {dir} in it are filled in
    bind: str = "127.0.0.1"  # where the kit listens, as the agent can call it
    manager_port: int = 0  # of the kit's manager; 0: any, or 8000 if the command names none
    players: int = 4  # of the league that a manager is checked with

    @property
    def names_manager(self) -> bool:
        """Whether the command is told where its manager is."""
        return "{manager}" in self.command


def open_manager(target: Target, handler: Handler) -> Listener:
    """The kit's manager, at the port where the agent looks for it."""
    looks_elsewhere = target.names_manager or not target.command
    port = target.manager_port or (0 if looks_elsewhere else MANAGER_PORT)
    try:
        return Listener("manager", handler, bind=target.bind, port=port)
    except OSError as error:
        raise Unreachable(
            f"port {port} of {target.bind} is taken ({error.strerror}); the kit has to be the "
            "manager there: write {manager} into the command where its URL belongs, or choose "
            "another port with --manager-port"
        ) from None


def start(target: Target, limits: Limits, places: dict[str, str]) -> Launch | None:
    """Start the agent, if there is a command for it."""
    if not target.command:
        return None
    launch = Launch(target.command, places, limits.stop)
    try:
        launch.start()
    except OSError as error:
        launch.close()
        raise Unreachable(f"cannot start {launch.words[0]!r}: {error.strerror}") from None
    return launch


def find(
    target: Target,
    limits: Limits,
    launch: Launch | None,
    manager: Listener,
    *,
    needs_to_listen: bool = True,
) -> str:
    """The URL of a player or referee: as typed, or else as it registered at the kit's manager.

    A command that does not name its manager may be that of an agent that never registers.
    """
    if launch is None:
        return _at_its_url(target, limits, manager)
    until, is_shortened = stopwatch() + limits.start, target.names_manager
    own = target.url or at_its_port(target, launch)
    while stopwatch() < until:
        refuse_ended(launch)
        has_registered = any(each.name in REGISTERS for each in list(manager.received))
        url = target.url or _registered_at(manager, target.bind)
        if has_registered and not needs_to_listen:
            return url or own
        if has_registered and url and Peer(url, limits).is_listening():
            return url
        if not is_shortened and own and Peer(own, limits).is_listening():
            until, is_shortened = min(until, stopwatch() + limits.connect), True
        manager.wait_for(lambda _: True, POLL_SECONDS, after=len(manager.received))
    if own and Peer(own, limits).is_listening():  # It did not register; that is a rule of its own.
        return own
    raise Unreachable(nobody_came(target, limits, launch, manager.url))


def _at_its_url(target: Target, limits: Limits, manager: Listener) -> str:
    if not Peer(target.url, limits).is_listening():
        raise Unreachable(no_way_to(target.url, limits) or f"{target.url} is busy; try it again")
    if target.manager_port:  # The agent may look for its manager there.
        manager.wait_for(lambda each: each.name in REGISTERS, limits.connect)
    return target.url


def refuse_ended(launch: Launch | None) -> None:
    """Raise Unreachable if the command has ended."""
    if launch and (problem := launch.ending()):
        raise Unreachable(problem)


def at_its_port(target: Target, launch: Launch) -> str:
    """The usual end point at the port that the command was given; empty if it was given none."""
    host = f"[{target.bind}]" if ":" in target.bind else target.bind
    return f"http://{host}:{launch.used['port']}/mcp" if "port" in launch.used else ""


def nobody_came(target: Target, limits: Limits, launch: Launch, manager: str) -> str:
    """What is said of a command that runs, and with which nothing else happens."""
    names = [name for name in ("port", "manager") if name in launch.used]
    absent = [f"nobody listened at {target.url}"] if target.url else []
    if not target.url and "port" in names:
        absent.append(f"nobody listened at {{port}}={launch.used['port']}")
    absent.append(f"nobody registered at {'{manager}=' if 'manager' in names else ''}{manager}")
    if len(names) == 2:
        hint = "does it use them?"
    elif names:
        hint = f"does it use {{{names[0]}}}?"
    else:
        hint = "write {manager} into it where its manager's URL belongs, or give its own URL too."
    said = launch.last_words()
    heard = f" It said:\n{said}" if said else " It said nothing."
    return (
        f"the command runs, but within {limits.start:.0f} s {' and '.join(absent)}; {hint}{heard}"
    )


def no_way_to(url: str, limits: Limits) -> str:
    """Why no connection can be opened to a URL, and what to do; empty if one can."""
    peer = Peer(url, limits)
    try:
        peer.connect(stopwatch() + limits.connect).close()
    except (socket.gaierror, UnicodeError):
        return f"no such host: {peer.host}"
    except ssl.SSLCertVerificationError as error:
        return f"the certificate at {url} is not trusted: {error.verify_message}"
    except OSError:
        if peer.is_tls:
            plain = urlsplit(url)._replace(scheme="http").geturl()
            if Peer(plain, limits).is_listening():
                return f"what listens at {url} speaks no TLS; try {plain}"
        return f"nobody listens at {url}; start the agent, or check its port"
    return ""


def unknown_place(word: str, kind: str | None) -> str:
    """What is said of a name in braces that is never filled in; empty if there is none."""
    kinds = [kind] if kind else list(PLACES)
    known = tuple(dict.fromkeys(name for each in kinds for name in PLACES[each]))
    for name in _PLACE.findall(word):
        near = nearest(name, known, NEAR)
        if name not in known and (near or _PLAIN.fullmatch(word)):
            meant = f"did you mean {{{near}}}? There" if near else "there"
            return f"unknown {{{name}}}; {meant} are {', '.join(f'{{{x}}}' for x in known)}"
    return ""


def free_port(bind: str) -> int:
    """A port at which nobody listens, for the agent."""
    with socket.create_server((bind, 0), family=family_of(bind)) as server:
        port: int = server.getsockname()[1]
    return port


def _registered_at(manager: Listener, bind: str) -> str:
    """The end point of the newest registration that the kit may call."""
    urls = (endpoint_in(received) for received in reversed(manager.received))
    return next((url for url in urls if is_own(url, bind) and url != manager.url), "")


def is_own(url: str, bind: str) -> bool:
    """Whether it is on this machine: nobody else is called because an agent says so."""
    try:
        return urlsplit(url).hostname in (*LOOPBACK, bind)
    except ValueError:
        return False


def endpoint_in(received: Received) -> str:
    """The end point that a registration names; empty if it is none, or not understood."""
    meta = getattr(received.message, "player_meta", None)
    meta = meta or getattr(received.message, "referee_meta", None)
    return meta.contact_endpoint if meta else ""
