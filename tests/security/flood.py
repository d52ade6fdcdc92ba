"""A process that asks a manager as much as it can, until a line comes on its standard input.

    python flood.py PORT

Prints a line when it has begun, and at the end how many requests it sent and how many were refused.
"""

import asyncio
import json
import sys
import threading

CONNECTIONS, AT_ONCE = 32, 16
SAID = {"message_type": "LEAGUE_QUERY", "query_type": "GET_STANDINGS", "protocol": "league.v2"}
BODY = json.dumps({"jsonrpc": "2.0", "method": "league_query", "params": SAID, "id": 1}).encode()
REQUEST = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%b" % (
    len(BODY),
    BODY,
)


class Flood:
    """What was sent, and how much of it was refused."""

    def __init__(self) -> None:
        self.sent = self.refused = 0
        self.is_over = False

    async def pour(self, port: int) -> None:
        """One connection, with many requests at once."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while not self.is_over:
            writer.write(REQUEST * AT_ONCE)
            self.sent += AT_ONCE
            answers = 0
            while answers < AT_ONCE:
                data = await reader.read(65_536)
                if not data:
                    return
                answers += data.count(b"HTTP/1.1 ")
                self.refused += data.count(b"HTTP/1.1 429 ")
        writer.close()

    async def last(self, port: int) -> None:
        """From all connections, until somebody says that it is enough."""
        threading.Thread(target=self._wait, daemon=True).start()
        pouring = asyncio.gather(*(self.pour(port) for _ in range(CONNECTIONS)))
        print("begun", flush=True)
        await pouring

    def _wait(self) -> None:
        sys.stdin.readline()
        self.is_over = True


if __name__ == "__main__":
    flood = Flood()
    asyncio.run(flood.last(int(sys.argv[1])))
    print(flood.sent, flood.refused)
