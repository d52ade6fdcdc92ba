"""JSON-RPC on Starlette, uvicorn and httpx: one end point, and calls over kept connections."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

SECONDS = 60  # for an answer, and for an idle connection
Message = dict[str, Any]
Methods = Mapping[str, Callable[[Message], Awaitable[Message]]]


def message(message_type: str, sender: str, about: Message, **fields: Any) -> Message:
    """A message with its envelope; `about` is another one of the same conversation."""
    kept = ("conversation_id", "round_id", "match_id", "game_type")
    return {
        "message_type": message_type,
        "protocol": "league.v2",
        "sender": sender,
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),  # noqa: TID251
        "league_id": "league_alternative",
        **{name: about[name] for name in kept if name in about},
        **fields,
    }


class Agent:
    """One end point on a port of its own."""

    def __init__(self, methods: Methods) -> None:
        self.calls, self.url, self._methods = 0, "", methods
        # One client for each peer: with one for all, httpx looks through all its connections at
        # every request, and a match costs several times as much.
        self._clients: dict[str, httpx.AsyncClient] = {}
        options = {"access_log": False, "log_level": "warning", "lifespan": "off"}
        app = Starlette(routes=[Route("/mcp", self._answer, methods=["POST"])])
        config = uvicorn.Config(app, port=0, timeout_keep_alive=2 * SECONDS, **options)
        self._server = uvicorn.Server(config)

    async def start(self) -> None:
        """Listen on a free port."""
        self._serving = asyncio.create_task(self._server.serve())
        while not self._server.started:  # noqa: ASYNC110 - uvicorn has no event for it.
            await asyncio.sleep(0.01)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}/mcp"

    async def call(self, url: str, method: str, params: Message) -> Message:
        """The result of a call."""
        if url not in self._clients:
            limits = httpx.Limits(keepalive_expiry=SECONDS)
            self._clients[url] = httpx.AsyncClient(limits=limits, timeout=SECONDS, verify=False)
        self.calls += 1
        body = {"jsonrpc": "2.0", "method": method, "params": params, "id": self.calls}
        answer = await self._clients[url].post(url, json=body)
        return answer.raise_for_status().json()["result"]

    async def _answer(self, request: Request) -> JSONResponse:
        body = await request.json()
        result = await self._methods[body["method"]](body["params"])
        return JSONResponse({"jsonrpc": "2.0", "result": result, "id": body["id"]})
