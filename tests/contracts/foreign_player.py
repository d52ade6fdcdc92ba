"""A player written from the schemas alone, without a line of the package."""

import asyncio
import json
from time import gmtime, strftime

from contracts.tap import post

ACKS = {
    "ROUND_ANNOUNCEMENT": "ROUND_ANNOUNCEMENT_ACK",
    "LEAGUE_STANDINGS_UPDATE": "STANDINGS_UPDATE_ACK",
    "ROUND_COMPLETED": "ROUND_COMPLETED_ACK",
    "LEAGUE_COMPLETED": "LEAGUE_COMPLETED_ACK",
    "GAME_OVER": "GAME_OVER_ACK",
    "GAME_ERROR": "GAME_ERROR_ACK",
}
ANSWERS = {
    "GAME_INVITATION": ("GAME_JOIN_ACK", {"accept": True}),
    "CHOOSE_PARITY_CALL": ("CHOOSE_PARITY_RESPONSE", {"parity_choice": "odd"}),
}


class ForeignPlayer:
    """Answers as it should; `pushes` its answers instead, or is `silent` when it is to move."""

    def __init__(self, name, *, pushes=False, silent=False):
        self._name, self._pushes, self._silent = name, pushes, silent
        self._server, self._tasks = None, set()

    async def start(self, wire, manager_url):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        url = await wire.tap("player", self._server.sockets[0].getsockname()[1])
        meta = {"display_name": self._name, "contact_endpoint": url}
        await self._ask(manager_url, "register_player", "LEAGUE_REGISTER_REQUEST", player_meta=meta)

    async def stop(self):
        if self._server:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader, writer):
        self._tasks.add(asyncio.current_task())
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                await self._answer(json.loads(await reader.readexactly(size)), writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()
        finally:
            self._tasks.discard(asyncio.current_task())

    async def _answer(self, request, writer):
        asked = request["params"]
        name = asked["message_type"]
        if name in ACKS:
            _respond(writer, _rpc(request, self._message(ACKS[name], asked, status="OK")))
            return
        if self._silent and name == "CHOOSE_PARITY_CALL":
            return
        answer, fields = ANSWERS[name]
        message = self._message(answer, asked, match_id=asked["match_id"], **fields)
        if not self._pushes:
            _respond(writer, _rpc(request, message))
            return
        _respond(writer, b"")
        del message["message_type"]
        await self._ask(asked["referee_endpoint"], answer, answer, **message)

    async def _ask(self, url, method, name, **fields):
        message = {**self._message(name, {}), **fields}
        request = {"jsonrpc": "2.0", "method": method, "params": message, "id": name}
        return await post(url, json.dumps(request).encode())

    def _message(self, name, asked, **fields):
        return {
            "protocol": "league.v2",
            "message_type": name,
            "sender": f"player:{self._name}",
            "timestamp": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()),
            "conversation_id": asked.get("conversation_id", f"conv-{self._name}"),
            **({"player_id": asked["player_id"]} if "player_id" in asked else {}),
            **fields,
        }


def _rpc(request, message):
    return json.dumps({"jsonrpc": "2.0", "result": message, "id": request["id"]}).encode()


def _respond(writer, body):
    status = b"200 OK" if body else b"202 Accepted"
    writer.write(b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body))
