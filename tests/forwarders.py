"""Other addresses of a manager: TCP ports of this process that lead to it, and can be cut off."""

import asyncio
from contextlib import asynccontextmanager


class Forwarder:
    """A port that leads to another; with a prefix, the path of each request must begin with it."""

    def __init__(self, port, prefix=""):
        self._to, self._from = b"POST /", b"POST %b/" % prefix.encode()
        self.target, self.prefix, self.port = port, prefix, 0
        self.requests = self.strays = 0  # Strays came without the prefix.
        self._server, self._writers, self._goes_on = None, set(), asyncio.Event()
        self._goes_on.set()

    @property
    def url(self):
        """The manager's, as who comes this way calls it."""
        return f"http://127.0.0.1:{self.port}{self.prefix}/mcp"

    async def open(self):
        """Lead there, at the port of the last time if there was one."""
        self._server = await asyncio.start_server(self._take, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self):
        """Refuse connections, and reset those that are there."""
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)

    async def stall(self):
        """Take connections and requests, and hand nothing on, as a process that is stopped."""
        self._goes_on.clear()

    async def go_on(self):
        """Hand on what came meanwhile."""
        self._goes_on.set()

    async def _take(self, reader, writer):
        try:
            behind, ahead = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, ahead}
        there = self._copy(reader, ahead, self._stripped())
        back = self._copy(behind, writer, lambda data: data)
        await asyncio.gather(there, back)
        self._writers -= {writer, ahead}

    async def _copy(self, reader, writer, change):
        try:
            while data := await reader.read(65_536):
                await self._goes_on.wait()
                writer.write(change(data))
                await writer.drain()
        except OSError:
            pass
        writer.close()

    def _stripped(self):
        held = b""

        def strip(data):
            nonlocal held
            if not self.prefix:  # It may be anything, and is handed on as it is.
                self.requests += data.count(self._to)
                return data
            data = held + data
            ends = (n for n in range(len(self._from) - 1, 0, -1) if data.endswith(self._from[:n]))
            length = next(ends, 0)  # Of what may go on in the next piece.
            held = data[len(data) - length :]
            data = data[: len(data) - length]
            own = data.count(self._from)
            self.requests += own
            self.strays += data.count(self._to) - own
            return data.replace(self._from, self._to)

        return strip


@asynccontextmanager
async def forwarders(port, *prefixes):
    """One open forwarder to this port for each prefix."""
    opened = [Forwarder(port, prefix) for prefix in prefixes]
    try:
        for each in opened:
            await each.open()
        yield opened
    finally:
        for each in opened:
            await each.cut()
