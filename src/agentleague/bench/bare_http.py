"""A bare HTTP pair: an echo server and a client that exchange bytes and do nothing else.

A league is compared with it: as many exchanges of the same sizes on the same machine, without
messages, rules, limits or a disk.
"""

import asyncio
import multiprocessing
from multiprocessing.connection import Connection
from typing import Any

from agentleague.runtime.processes import run
from agentleague.transport.http_parsers import parsers

CONNECTIONS = 64


def exchange(exchanges: int, request_bytes: int, answer_bytes: int) -> float:
    """Exchanges per second of the pair, each side in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=_serve, args=(answer_bytes, theirs), daemon=True)
    server.start()
    try:
        return run(_drive(ours.recv(), exchanges, request_bytes))
    finally:
        server.terminate()
        server.join()


class _Echo(asyncio.Protocol):
    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._parser = parsers.HttpRequestParser(self)

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._transport.write(self._answer)


def _serve(size: int, pipe: Connection) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    answer = head.encode() + b"x" * size

    async def main() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Echo(answer), "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    run(main())


class _Asker(asyncio.Protocol):
    def __init__(self, request: bytes, race: "_Race") -> None:
        self._request, self._race = request, race
        self._parser = parsers.HttpResponseParser(self)

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._parser = parsers.HttpResponseParser(self)
        self._race.answered += 1
        self._ask()

    def _ask(self) -> None:
        if self._race.asked < self._race.total:
            self._race.asked += 1
            self._transport.write(self._request)
        elif self._race.answered >= self._race.total and not self._race.over.done():
            self._race.over.set_result(None)


class _Race:
    def __init__(self, total: int) -> None:
        self.total, self.asked, self.answered = total, 0, 0
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()


async def _drive(port: int, exchanges: int, request_bytes: int) -> float:
    loop = asyncio.get_running_loop()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {request_bytes}\r\n\r\n"
    )
    request, race = head.encode() + b"x" * request_bytes, _Race(exchanges)
    began = loop.time()
    for _ in range(CONNECTIONS):
        await loop.create_connection(lambda: _Asker(request, race), "127.0.0.1", port)
    await race.over
    return exchanges / (loop.time() - began)
