"""A tap on the wire: a proxy before each agent that writes down every byte in both directions."""

import asyncio
import json
from typing import NamedTuple

from agentleague.runtime.processes import Place

HOST = "127.0.0.1"


class Exchange(NamedTuple):
    """One request and its answer, as they were on the wire."""

    to: str  # the kind of agent that was asked
    request: bytes
    status: int
    answer: bytes

    @property
    def asked(self):
        return json.loads(self.request)

    @property
    def said(self):
        return json.loads(self.answer)


class Wire:
    """Everything that was said in a league."""

    def __init__(self):
        self._lines = []  # to, bytes sent, bytes answered; of each connection
        self._servers, self._tasks = [], set()
        self._more = asyncio.Event()

    def place(self, to):
        """Where an agent listens such that all it is asked comes through the tap."""
        return _TappedPlace(self, to)

    async def tap(self, to, port):
        """A proxy before a port; its URL."""

        async def serve(reader, writer):
            task = asyncio.current_task()
            self._tasks.add(task)
            try:
                await self._carry(to, port, reader, writer)
            except (ConnectionError, asyncio.CancelledError):
                writer.close()
            finally:
                self._tasks.discard(task)

        server = await asyncio.start_server(serve, HOST, 0)
        self._servers.append(server)
        return f"http://{HOST}:{server.sockets[0].getsockname()[1]}/mcp"

    async def close(self):
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def until(self, text):
        """Wait until this was said in some answer."""
        while not any(text in came for _, _, came in self._lines):
            self._more.clear()
            await self._more.wait()

    def exchanges(self):
        """What was asked and answered in full; a request that nobody answered has no answer."""
        for to, sent, came in self._lines:
            answers = list(_messages(bytes(came)))
            for number, (_, request) in enumerate(_messages(bytes(sent))):
                head, answer = answers[number] if number < len(answers) else (b"HTTP/1.1 0", b"")
                yield Exchange(to, request, int(head.split()[1]), answer)

    async def _carry(self, to, port, reader, writer):
        sent, came = bytearray(), bytearray()
        self._lines.append((to, sent, came))
        ahead, back = await asyncio.open_connection(HOST, port)
        try:
            copies = self._copy(reader, back, sent), self._copy(ahead, writer, came)
            await asyncio.gather(*copies)
        finally:
            back.close()

    async def _copy(self, reader, writer, kept):
        while data := await reader.read(65536):
            kept += data
            self._more.set()
            writer.write(data)
            await writer.drain()
        writer.close()


class _TappedPlace(Place):
    """Listens on any free port; others are told the port of the tap."""

    def __init__(self, wire, to):
        super().__init__(0, hosts=(HOST,))
        self._wire, self._to = wire, to

    async def open(self, transport):
        return await self._wire.tap(self._to, await transport.start(0, self.hosts))


def _messages(data):
    """Head and body of each HTTP message; one that is not complete is left out."""
    while data:
        head, end, rest = data.partition(b"\r\n\r\n")
        if not end:
            return
        assert b"transfer-encoding" not in head.lower()
        _, found, length = head.lower().partition(b"content-length:")
        size = int(length.split(b"\r\n")[0]) if found else 0
        if len(rest) < size:
            return
        yield head, rest[:size]
        data = rest[size:]


async def post(url, body):
    """Send bytes to an agent as any program could; status and body of the answer."""
    host, _, port = url.removeprefix("http://").removesuffix("/mcp").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    data = await reader.read()
    writer.close()
    (line, answer), *_ = _messages(data)
    return int(line.split()[1]), answer
