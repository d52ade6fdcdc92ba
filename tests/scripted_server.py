"""A real loopback server that follows a script, for the tests of the HTTP client."""

import asyncio
from contextlib import asynccontextmanager


class Peer:
    """What a script sees of one connection, and what a test sees of the server."""

    def __init__(self, port, scheme):
        self.port = port
        self.url = f"{scheme}://127.0.0.1:{port}/mcp"
        self.connections = 0
        self.requests = []  # Bodies, in the order they came.
        self.heads = []
        self.asked = asyncio.Event()  # There was a request.
        self.closed = asyncio.Queue()  # One item per connection that the client ended.


class Line:
    """One accepted connection."""

    def __init__(self, peer, number, reader, writer):
        self.peer, self.number, self.reader, self.writer = peer, number, reader, writer

    async def request(self):
        """The body of the next request."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        body = await self.reader.readexactly(length)
        self.peer.heads.append(head)
        self.peer.requests.append(body)
        self.peer.asked.set()
        return body

    async def send(self, data, piece=None):
        for start in range(0, len(data), piece or len(data)):
            self.writer.write(data[start : start + (piece or len(data))])
            await self.writer.drain()
            await asyncio.sleep(0)  # Lets the client, on the same loop, read each piece alone.

    async def answer(self, body):
        await self.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    async def wait_for_end(self):
        while await self.reader.read(65536):
            pass
        self.peer.closed.put_nowait(self.number)


@asynccontextmanager
async def server(script, *, host="127.0.0.1", tls=None):
    """Serves each connection by `script(line)`; a line that returns is closed."""
    tasks = set()

    async def serve(reader, writer):
        tasks.add(asyncio.current_task())
        peer.connections += 1
        line = Line(peer, peer.connections, reader, writer)
        try:
            await script(line)
        except (OSError, asyncio.IncompleteReadError):
            peer.closed.put_nowait(line.number)
        except asyncio.CancelledError:
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, host, 0, ssl=tls)
    peer = Peer(listening.sockets[0].getsockname()[1], "https" if tls else "http")
    try:
        yield peer
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)
