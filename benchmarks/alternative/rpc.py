"""JSON-RPC on Starlette, uvicorn and httpx: one end point, and calls over kept connections."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

SECONDS = 60  # for an answer, and for an idle connection
KEPT = ("conversation_id", "round_id", "match_id", "game_type")  # in answers
Message = dict[str, Any]


class Agent:
    """An agent on a port of its own."""

    methods: tuple[str, ...] = ()  # which others may call, named as in the protocol

    def __init__(self, role: str) -> None:
        self.role, self.me, self.token, self.url, self.calls = role, role, "", "", 0
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

    async def register(self, manager_url: str, name: str) -> None:
        """Tell the manager where this agent is."""
        await self.start()
        self.manager_url = manager_url
        meta = {"display_name": name, "contact_endpoint": self.url}
        asked = self.say(f"{self.role.upper()}_REGISTER_REQUEST", {}, meta=meta)
        answer = await self.call(manager_url, f"register_{self.role}", asked)
        self.me, self.token = answer["agent_id"], answer["auth_token"]

    def say(self, message_type: str, about: Message, **fields: Any) -> Message:
        """A message with its envelope; `about` is another one of the same conversation."""
        return {
            "message_type": message_type,
            "protocol": "league.v2",
            "sender": f"{self.role}:{self.me}",
            "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),  # noqa: TID251
            "league_id": "league_alternative",
            **{name: about[name] for name in KEPT if name in about},
            **fields,
        }

    async def acknowledge(self, told: Message) -> Message:
        """Say that it was heard."""
        fields = {"status": "ACKNOWLEDGED", "player_id": self.me}
        return self.say(told["message_type"] + "_ACK", told, **fields)

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
        name, answer = body["method"], {"jsonrpc": "2.0", "id": body["id"]}
        if name not in self.methods:
            error = {"code": -32601, "message": f"there is no method {name!r}"}
            return JSONResponse({**answer, "error": error}, status_code=400)
        return JSONResponse({**answer, "result": await getattr(self, name)(body["params"])})
