"""Pages as HTML, made once for all who look at them, and streamed to them when they change."""

import asyncio
import re
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from jinja2 import Environment
from msgspec import Struct

from agentleague.dashboard.following import Following
from agentleague.dashboard.pages import Page
from agentleague.dashboard.rendering import render
from agentleague.errors import LeagueError
from agentleague.league.league import Phase
from agentleague.runtime.clock import cpu_seconds

STREAMS_MAX = 500
PAGES_KEPT = 128
UPDATE_SECONDS = 0.5  # between two looks at all open pages
REST = 8  # times as long as they took: at most a ninth of a core
HEARTBEAT_SECONDS = 15.0  # A proxy closes what is silent for long.
LINE_END = re.compile(r"\r\n|\r|\n")
Find = Callable[[str], tuple[Page, Mapping[str, str]]]  # by path and query; LeagueError if none


class _Event(NamedTuple):
    """An event as it is sent, and so that it can be sent in any gzip stream after any other."""

    plain: bytes
    packed: bytes


class _Channel(Struct):
    """The newest events of one page, by kind, for all its streams."""

    texts: dict[str, str] = msgspec.field(default_factory=dict)
    events: dict[str, _Event] = msgspec.field(default_factory=dict)
    changed: Any = msgspec.field(default_factory=asyncio.Event)  # until there is another event
    streams: int = 0

    def tell(self, kind: str, text: str, event: _Event) -> None:
        """Let all streams send this next."""
        self.texts[kind], self.events[kind] = text, event
        self.changed.set()
        self.changed = asyncio.Event()


class LivePages:
    """The pages of a league that somebody looks at; `run` keeps their streams current."""

    def __init__(self, following: Following, env: Environment, find: Find) -> None:
        self._following, self._view, self._env, self._find = following, following.view, env, find
        self._made: OrderedDict[str, tuple[int, str]] = OrderedDict()  # with its `changes`
        self._channels: dict[str, _Channel] = {}
        self.streams = 0  # that are open, also those that have not begun
        self._is_watched = asyncio.Event()
        self._is_closed = False

    async def html(self, where: str) -> str:
        """A whole page, by its path and query. Raises LeagueError if there is no such thing."""
        return await self._following.do(self._make, where)

    def _make(self, where: str) -> str:
        changes, html = self._made.pop(where, (-1, ""))
        if changes != self._view.changes:
            changes = self._view.changes
            page, params = self._find(where)
            html = render(self._env, page, self._view, page.facts(self._view, params), params)
        self._made[where] = changes, html
        if len(self._made) > PAGES_KEPT:
            self._made.popitem(last=False)
        return html

    async def stream(self, where: str, *, packs: bool = False) -> AsyncIterator[bytes]:
        """The newest events of a page, as gzip if it `packs`; a slow reader misses some."""
        channel = self._channels.setdefault(where, _Channel())
        channel.streams += 1
        self._is_watched.set()
        sent: dict[str, _Event] = {}
        try:
            if packs:
                yield GZIP_HEAD
            yield RETRY[packs]
            while not self._is_closed:
                changed = channel.changed
                for kind, event in [*channel.events.items()]:
                    if sent.get(kind) is not event:
                        sent[kind] = event
                        yield event[packs]
                try:
                    await asyncio.wait_for(changed.wait(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield HEARTBEAT[packs]
        finally:
            channel.streams -= 1
            if not channel.streams:
                del self._channels[where]

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        for channel in self._channels.values():
            channel.changed.set()

    async def run(self) -> None:
        """While there are streams, tell them what has changed; rest longer than it took."""
        while True:
            if not self._channels:
                self._is_watched.clear()
            await self._is_watched.wait()
            self._following.look()
            began = cpu_seconds()
            for where, channel in [*self._channels.items()]:
                await self._update(where, channel)
            await asyncio.sleep(max(UPDATE_SECONDS, REST * (cpu_seconds() - began)))

    async def _update(self, where: str, channel: _Channel) -> None:
        view, waits_for = self._view, self._following.waits_for
        state = {
            "notices": [waits_for] if waits_for else view.notices,
            "is_ready": not waits_for,
            "is_over": view.league.phase is Phase.COMPLETED,
        }
        news = {"state": msgspec.json.encode(state).decode()}
        if not waits_for:
            with suppress(LeagueError):  # It was there when the stream began.
                news["page"] = main_of(await self.html(where))
        for kind, text in news.items():
            if text != channel.texts.get(kind):
                channel.tell(kind, text, await self._following.do(_event, kind, text))


def _event(kind: str, text: str) -> _Event:
    data = "".join(f"data: {line}\n" for line in LINE_END.split(text))
    return _packed(f"event: {kind}\n{data}\n".encode())


def _packed(plain: bytes) -> _Event:
    """A flush at the end and no look back: one piece fits all streams, and is packed once."""
    packing = zlib.compressobj(4, wbits=-zlib.MAX_WBITS)
    return _Event(plain, packing.compress(plain) + packing.flush(zlib.Z_FULL_FLUSH))


GZIP_HEAD = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
RETRY = _packed(b"retry: 2000\n\n")
HEARTBEAT = _packed(b": still here\n\n")


def main_of(html: str) -> str:
    """What stands in the <main> of a page."""
    _, _, rest = html.partition("<main")
    return rest.partition(">")[2].rpartition("</main>")[0].strip()
