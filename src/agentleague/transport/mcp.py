"""MCP at the end point of an agent: the tool of a message goes the way of the message itself."""

import re
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from agentleague.errors import LeagueError, MissingField, NotStarted
from agentleague.protocol import codec, mcp, mcp_tools
from agentleague.protocol.jsonrpc import Envelope, Form
from agentleague.protocol.mcp_tools import ENVELOPE, Call, Catalogue, Prompt, Tool
from agentleague.protocol.messages import MESSAGES, METHODS, PROTOCOL, Message
from agentleague.protocol.timestamps import write
from agentleague.roles.stimuli import Caller
from agentleague.transport.http_response import HttpRequest, Response

if TYPE_CHECKING:
    from agentleague.transport.http import HttpTransport

_OWNER = re.compile(r"tok_([A-Za-z0-9]+)_")

Todo = Callable[[Caller], None]
# The parts of `codec.Incoming`; in place of an error there may be what is to be done.
Read = tuple[Envelope, Message | None, LeagueError | Todo | None, tuple[str, ...]]


class McpEndpoint:
    """What an agent offers over MCP; others may `add` tools and prompts."""

    def __init__(self, transport: "HttpTransport", role: str) -> None:
        self._transport, self._role, self._catalogue = transport, role, Catalogue(role)

    @cached_property
    def _server(self) -> dict[str, str]:
        from importlib.metadata import version  # It takes long to import.

        return {"name": f"agentleague-{self._role}", "version": version("agentleague")}

    def add(self, offer: Tool | Prompt) -> None:
        """Offer this too, from now on."""
        self._catalogue.add(offer)

    def read(self, request: HttpRequest, respond: Response) -> "tuple[Read, McpReply] | None":
        """An MCP request as a message, or as what is to be done for it; None: it is no MCP."""
        head, body, tools = request.head, request.body, self._catalogue.tools
        takes_events = b"text/event-stream" in head  # As every MCP client says, of any revision.
        is_call = (tools or takes_events) and b'"tools' in body
        asked = (
            mcp.read(head, body, self._server) if is_call or mcp.may_be_mcp(head, body) else None
        )
        answer = self._answer(asked, takes_events) if asked else None
        if asked is None or answer is None:
            return None
        reply = McpReply(self._transport, Envelope(), respond, asked)
        if isinstance(answer, Call):
            reply.call = answer
            return self._called(reply, request), reply
        return (reply.envelope, None, lambda caller: respond(*answer), ()), reply

    def _answer(self, asked: mcp.Request, takes_events: bool) -> mcp.Answer | Call | None:
        given = asked.params.get("arguments")
        has_envelope = isinstance(given, dict) and "message_type" in given
        is_mcp = asked.headers or (takes_events and not has_envelope)
        is_plain = asked.method == "tools/call" and not is_mcp
        if is_plain and str(asked.params.get("name")) not in self._catalogue.tools:
            return None  # Foreign agents call so, who know of no handshake.
        if asked.id is UNSET and not asked.refusal:
            return 202, b""
        return asked.refusal or self._catalogue.answer(asked)

    def _called(self, reply: "McpReply", request: HttpRequest) -> Read:
        """A call of a tool: as what is to be done, or as a message whose envelope is filled in."""
        name, arguments, tool, _ = reply.call
        token = arguments.get("auth_token") or mcp.bearer(request.head)
        if tool is not None:
            reply.envelope.method = name
            return reply.envelope, None, partial(reply.use, tool, token), ()
        named, owner = METHODS.get(name.lower()), _OWNER.match(str(token))
        kind = MESSAGES[named].sender if named else "agent"
        filled = {
            "protocol": PROTOCOL,
            "sender": f"{kind}:{owner[1] if owner else 'mcp'}",
            "timestamp": write(self._transport.wall()),
            "conversation_id": f"mcp-{reply.asked.id}",
            **({"auth_token": token} if token else {}),
        }
        params = {"name": name, "arguments": filled | arguments}
        body = {"jsonrpc": "2.0", "id": reply.asked.id, "method": "tools/call", "params": params}
        read = self._transport.read_league(codec.encode(body), request.path)
        reply.envelope = read.envelope
        optional = {*ENVELOPE, *codec.EXPECTED["LEAGUE_QUERY"]} if kind == "agent" else ENVELOPE
        return (*read[:3], tuple(each for each in read.missing if each not in optional))


class McpReply(Struct):
    """Answers the call of a tool, or the reading of a resource."""

    transport: "HttpTransport"
    envelope: Envelope  # of the message
    respond: Response
    asked: mcp.Request
    call: Call = Call("", {})

    def __call__(self, answer: Message | LeagueError | Any, text: str = "") -> None:
        bare = replace(self.envelope, form=Form.BARE)
        failed = isinstance(answer, LeagueError)
        if isinstance(answer, LeagueError):
            body = self.transport.refusal(bare, answer)
            text = self._explained(answer, msgspec.json.decode(body))
        elif isinstance(answer, Message):
            body, why = self.transport.write_answer(bare, answer), getattr(answer, "error", None)
            is_early = self.call.uri and why and why.error_code == NotStarted.code
            failed = bool(why and not is_early) or getattr(answer, "status", "") == "REJECTED"
            text = why.error_description if why else ""
        else:
            body = codec.encode(answer)
        status, told = mcp_tools.write_result(self.asked, body, text, failed=failed)
        is_full = failed and self.asked.method != "tools/call"
        self.respond(max(getattr(answer, "http_status", 0), status) if is_full else status, told)

    def wait(self) -> None:
        """Let a known host wait long."""
        self.respond.hold()

    def forget(self) -> None:
        """Keep nothing of the request: it is refused, and that may wait for seconds."""
        self.envelope.body, self.envelope.whole = b"{}", b""
        self.call, self.asked.params = self.call._replace(arguments={}), {"uri": self.call.uri}

    def use(self, tool: Tool, token: str, caller: Caller) -> None:
        """Call a tool that was added, if the arguments fit it."""
        needed, sent = tool.input_schema.get("required", ()), self.call.arguments.items()
        # Many models send null for what they leave out.
        arguments = {name: at for name, at in sent if at is not None or name in needed}
        if fault := tool.fault(arguments):
            self(MissingField(f"{tool.name}: {fault}"))
        elif tool.call:
            tool.call(arguments, replace(caller, token=token or None), self)

    def refuse(self, source: str, error: LeagueError) -> None:
        """Answer a request that the role never sees."""
        self.transport.refused(source, error, "REGISTER" in (self.envelope.message_type or ""))
        self(error)

    def _explained(self, error: LeagueError, told: dict[str, Any]) -> str:
        if self.call.tool:  # Its sentences say what to do, and the documents' names no more.
            return str(told["error_message"])
        said = f"{told['error_name']}: {told['error_message'].rstrip('.')}."
        is_message = self.call.name.lower() in METHODS
        if isinstance(error, MissingField) and is_message:
            return f"{said} For {self.call.name}, {mcp_tools.arguments_of(*self.call[:2])}."
        return f"{said} {told['action_required']}"
