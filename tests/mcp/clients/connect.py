"""The clients of others behind one face, each opened as its own first page shows it."""

import json
from contextlib import AsyncExitStack, asynccontextmanager

KINDS = ("mcp1", "mcp2", "mcp2-legacy", "fastmcp")


@asynccontextmanager
async def connected(kind, url, token=""):
    """A client of a kind; with a token it sends it as a bearer."""
    async with AsyncExitStack() as stack:
        client = await _OPEN[kind](stack, url, token)
        yield Connection(*client)


async def _mcp1(stack, url, token):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    streams = await stack.enter_async_context(streamablehttp_client(url, _bearer(token)))
    session = await stack.enter_async_context(ClientSession(*streams[:2]))
    begun = await session.initialize()
    return session, begun.protocolVersion


async def _mcp2(stack, url, token, **options):
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    if token:
        http = httpx2.AsyncClient(headers=_bearer(token), timeout=60)
        url = streamable_http_client(url, http_client=await stack.enter_async_context(http))
    client = await stack.enter_async_context(Client(url, **options))
    return client, client.protocol_version


async def _mcp2_legacy(stack, url, token):
    return await _mcp2(stack, url, token, mode="legacy")


async def _fastmcp(stack, url, token):
    from fastmcp import Client

    client = await stack.enter_async_context(Client(url, auth=token or None))
    return client, client.protocol_version


def _bearer(token):
    return {"Authorization": f"Bearer {token}"} if token else None


_OPEN = dict(zip(KINDS, (_mcp1, _mcp2, _mcp2_legacy, _fastmcp), strict=True))


class Refused(Exception):
    """A tool said that it failed."""


class Connection:
    """What all of them can do, in the same words."""

    def __init__(self, client, version):
        self._client, self.version = client, version  # of the protocol

    async def listed(self, what):
        """The names of all tools, resources or prompts."""
        rows = await getattr(self._client, f"list_{what}")()
        return [row.name for row in getattr(rows, what, rows)]

    async def call(self, tool, **arguments):
        """What a tool returns: its structured content, which the text repeats."""
        try:
            answer = await self._client.call_tool(tool, arguments)
        except Exception as error:  # fastmcp raises what the others return.
            if type(error).__name__ != "ToolError":
                raise
            raise Refused(str(error)) from error
        if getattr(answer, "is_error", False) or getattr(answer, "isError", False):
            raise Refused(answer.content[0].text)
        told = getattr(answer, "structured_content", None) or answer.structuredContent
        assert answer.content[0].text
        return told

    async def read(self, uri):
        """A resource, as JSON."""
        answer = await self._client.read_resource(uri)
        return json.loads(getattr(answer, "contents", answer)[0].text)

    async def prompt(self, name):
        """The text of a prompt."""
        answer = await self._client.get_prompt(name)
        return answer.messages[0].content.text
