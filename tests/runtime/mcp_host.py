"""A host that plays over MCP: bare HTTP, and a script in place of a model."""

import json
from contextlib import closing
from http.client import HTTPConnection

from commands import SECONDS

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "Mcp-Protocol-Version": "2025-06-18",
}


class McpHost:
    """One host; its seat is shown with every call, once it has one."""

    def __init__(self, port, *, bearer=""):
        self._port, self._bearer = port, bearer
        self.seat, self.seen, self.player_id = "", 0, ""
        self.said = []  # the texts that a model would have read

    def send(self, tool, **arguments):
        """Call a tool; returns how to read the whole result."""
        params = {"name": tool, "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        bearer = {"Authorization": f"Bearer {self._bearer}"} if self._bearer else {}
        connection = HTTPConnection("127.0.0.1", self._port, timeout=SECONDS)
        connection.request("POST", "/mcp", json.dumps(request), {**HEADERS, **bearer})

        def read():
            with closing(connection):
                return json.loads(connection.getresponse().read())["result"]

        return read

    def result(self, tool, **arguments):
        """The whole result of a call."""
        return self.send(tool, **arguments)()

    def call(self, tool, **arguments):
        """What a tool returned, which must be no error."""
        seat = {"seat": self.seat} if self.seat else {}
        result = self.result(tool, **{**seat, **arguments})
        (content,) = result["content"]
        self.said.append(content["text"])
        assert not result["isError"], content["text"]
        return result["structuredContent"]

    def refused(self, tool, **arguments):
        """The words with which a tool refuses."""
        result = self.result(tool, **arguments)
        assert result["isError"], result
        return result["content"][0]["text"]

    def join(self, name, **more):
        joined = self.call("join_league", name=name, **more)
        self.seat, self.player_id = joined["seat"], joined["player_id"]
        return joined

    def wait(self, seconds=25):
        shown = self.call("wait_for_turn", max_wait_seconds=seconds, seen=self.seen)
        self.seen = shown["seen"]
        return shown

    def wait_for(self, status):
        """Wait until something is so; what was shown then."""
        for _ in range(100):
            shown = self.wait()
            if shown["status"] == status:
                return shown
        raise AssertionError(f"waited in vain for {status}: {self.said[-5:]}")

    def play(self):
        """Play the first legal move in each turn until the league is over; what was told then."""
        while (shown := self.wait())["status"] != "league_over":
            if shown["status"] == "your_turn":
                self.call("submit_move", move=shown["legal_moves"][0], turn_id=shown["turn_id"])
        return shown
