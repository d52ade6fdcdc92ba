"""Opens one port on several addresses; how many sockets there may be."""

import asyncio
import errno
import socket
from collections.abc import Sequence
from contextlib import ExitStack, suppress

BACKLOG = 1_024
_NO_SUCH_HOST = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


async def listen(hosts: Sequence[str], port: int) -> list[socket.socket]:
    """A socket for each host that this machine has, all with the same port; 0 is any free one.

    Raises: OSError when the port is busy or the machine has none of the hosts.
    """
    sockets: list[socket.socket] = []
    trouble = OSError("There is no host to listen on.")
    with ExitStack() as opened:
        for address, family in (await _resolve(hosts)).items():
            try:
                sock = socket.create_server((address, port), family=family, backlog=BACKLOG)
            except OSError as error:
                if error.errno not in _NO_SUCH_HOST:
                    raise
                trouble = error
            else:
                sockets.append(opened.enter_context(sock))
                port = sock.getsockname()[1]
        if not sockets:
            raise trouble
        opened.pop_all()
    return sockets


async def _resolve(hosts: Sequence[str]) -> dict[str, int]:
    loop, families = asyncio.get_running_loop(), dict[str, int]()
    for host in hosts:
        with suppress(socket.gaierror):
            infos = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            families |= {str(info[4][0]): int(info[0]) for info in infos}
    return families


def descriptors() -> int:
    """How many files and sockets this process may have open."""
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return 2**31
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**31 if limit == resource.RLIM_INFINITY else limit
