"""A process that asks a manager as much as it can, until a line comes on its standard input.

    python flood.py PORT KIND [TOKEN]

The kinds are `unknown` (questions without a token), `player` (with a player's own token),
`garbage` (what is no HTTP, on one connection after another) and `pipelined` (hundreds of
connections with as many questions as are read at once). Prints a line when it has begun, and at
the end how many requests it sent, how many were answered, and how often it was closed.
"""

import asyncio
import json
import sys
import threading
from contextlib import suppress

CONNECTIONS = {"unknown": 32, "player": 32, "garbage": 32, "pipelined": 400}
AT_ONCE = {"unknown": 16, "player": 16, "garbage": 1, "pipelined": 64}
GARBAGE = b"\x16\x03\x01 this is no HTTP\r\n\r\n"


def question(token):
    """A query as bytes on the wire."""
    said = {"message_type": "LEAGUE_QUERY", "query_type": "GET_STANDINGS", "protocol": "league.v2"}
    if token:
        said["auth_token"] = token
    asked = {"jsonrpc": "2.0", "method": "league_query", "params": said, "id": 1}
    body = json.dumps(asked).encode()
    head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head + body


class Flood:
    """What was sent, how much of it was answered, and how many connections were closed."""

    def __init__(self, port, kind, token=""):
        self.port, self.kind = port, kind
        self.at_once = AT_ONCE[kind]
        self.asked = GARBAGE if kind == "garbage" else question(token) * self.at_once
        self.sent = self.answered = self.closed = 0
        self.is_over = False

    async def pour(self):
        """One connection after another, each as long as it is left open."""
        while not self.is_over:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                try:
                    await self._talk(reader, writer)
                finally:
                    self.closed += not self.is_over
                    writer.transport.abort()

    async def _talk(self, reader, writer):
        while not self.is_over:
            writer.write(self.asked)
            self.sent += self.at_once
            answers = 0
            while answers < self.at_once:
                data = await reader.read(65_536)
                if not data:
                    return
                came = data.count(b"HTTP/1.1 ")
                answers, self.answered = answers + came, self.answered + came

    async def last(self):
        """From all connections, until somebody says that it is enough."""
        enough, loop = asyncio.Event(), asyncio.get_running_loop()
        waiting = threading.Thread(target=self._wait, args=(loop, enough), daemon=True)
        waiting.start()
        pouring = [asyncio.ensure_future(self.pour()) for _ in range(CONNECTIONS[self.kind])]
        print("begun", flush=True)
        await enough.wait()
        self.is_over = True
        for each in pouring:
            each.cancel()
        await asyncio.gather(*pouring, return_exceptions=True)

    def _wait(self, loop, enough):
        sys.stdin.readline()
        loop.call_soon_threadsafe(enough.set)


if __name__ == "__main__":
    flood = Flood(int(sys.argv[1]), *sys.argv[2:])
    asyncio.run(flood.last())
    print(flood.sent, flood.answered, flood.closed)
