"""The players of `league play` and `league demo --player`: files, URLs, strategies."""

import asyncio
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import Any

from agentleague.cli.output import say
from agentleague.cli.player_files import check_file, load_for
from agentleague.cli.reading import with_manager
from agentleague.errors import LeagueError, NoConnection
from agentleague.runtime import plugins
from agentleague.runtime.local_league import (
    AgentGroup,
    LocalPlayer,
    LocalWorkers,
    RemoteWorkers,
    Tally,
    open_named,
)
from agentleague.runtime.processes import Running
from agentleague.transport.guard import Guard, parse_url
from agentleague.transport.probe import check_listens

IS_URL = re.compile(r"[a-z]+://", re.IGNORECASE)
FINISH_SECONDS = 2.0  # for a file to receive the end of the league
PRINT_SECONDS = 1.0  # for what it printed last
NO_TALLY = Tally("player", 0, 0, 0, 0.0)


def local_players(
    texts: Sequence[str], game: str | Path, seed: str | None, *, in_full: bool = False
) -> list[LocalPlayer]:
    """A player for each text: a URL, a file that ends with .py, or the name of a strategy."""
    names: list[str] = []
    for text in texts:
        name = _name(text)
        names.append(name if name not in names else f"{name}-{len(names) + 1}")
    group = partial(AgentGroup, "player", 0, 1, game=game, seed=seed)
    return [
        partial(AddedPlayer, name, text)
        if IS_URL.match(text)
        else _local_player(text, partial(group, source=text, name=name), in_full=in_full)
        for text, name in zip(texts, names, strict=True)
    ]


def _name(text: str) -> str:
    """The name it plays under, unless it has one of its own."""
    if IS_URL.match(text):
        Guard("local").check_url(text)
        endpoint = parse_url(text)
        path = endpoint.path.partition("?")[0]  # What follows may be secret.
        return endpoint.authority + ("" if path == "/mcp" else path)
    if text.endswith(".py"):
        check_file(Path(text))
        return Path(text).stem
    try:
        plugins.load_strategy(text)
    except LeagueError as error:
        raise LeagueError(
            f"{error}. A player is one of these, a file that ends with .py, or a URL such as "
            "http://127.0.0.1:8101/mcp"
        ) from None
    return text


def _local_player(text: str, group: Callable[..., AgentGroup], *, in_full: bool) -> LocalPlayer:
    if text.endswith(".py"):
        opener = partial(open_file, in_full=in_full)
        return lambda manager_url, key: FileWorkers(group(manager_url=manager_url), opener)
    return lambda manager_url, key: LocalWorkers(group(manager_url=manager_url), open_strategy)


class FileWorkers(RemoteWorkers):
    """A file in a process of its own, so that an error in it cannot stop the league."""

    def __init__(self, group: AgentGroup, opener: Callable[..., Any]) -> None:
        printed, theirs = Pipe(duplex=False)
        super().__init__(group, partial(opener, prints_to=theirs))
        theirs.close()
        self._printing = Thread(target=_print_on, args=(printed,), daemon=True)
        self._printing.start()
        self._tally: asyncio.Task[Tally] | None = None

    async def start(self) -> None:
        """Let it register, and say at once if its process ends before the league does."""
        await super().start()
        self._tally = asyncio.create_task(self._until_done())

    async def _until_done(self) -> Tally:
        loop, has_said = asyncio.get_running_loop(), asyncio.Event()

        def wait() -> None:  # asyncio.to_thread has few threads, and there may be many files.
            self._pipe.poll(None)
            with suppress(RuntimeError):  # The loop is gone.
                loop.call_soon_threadsafe(has_said.set)

        Thread(target=wait, daemon=True).start()
        await has_said.wait()
        try:
            return await super().finish()
        except LeagueError as error:
            say(f"{error}. It loses all matches that are left.")
            return NO_TALLY

    async def finish(self) -> Tally:
        """Wait a moment for it to receive the end of the league."""
        assert self._tally
        with suppress(TimeoutError):
            return await asyncio.wait_for(self._tally, FINISH_SECONDS)
        return NO_TALLY

    async def stop(self) -> None:
        """End the process, and print what is left of what it printed."""
        if self._tally:
            self._tally.cancel()
        await super().stop()
        self._printing.join(PRINT_SECONDS)


def _print_on(pipe: Connection) -> None:
    """Print what it prints: this process knows where its own progress bar is."""
    if os.name != "nt":  # There a pipe is no file, and the process prints for itself.
        with open(pipe.fileno(), errors="replace", closefd=False) as lines:
            for line in lines:
                sys.stderr.write(line)
    pipe.close()


class AddedPlayer:
    """An agent that runs already: the organiser adds it, also twice at one end point."""

    def __init__(self, name: str, url: str, manager: str, key: str) -> None:
        self._name, self._url, self._manager, self._key = name, url, manager, key

    async def start(self) -> None:
        """Add it. Raises NoConnection if nobody is there."""
        try:
            await check_listens(Guard("local"), self._url)
        except NoConnection as error:
            advice = "check the URL"
            if "nobody listens" in str(error):
                advice = "start the agent first, in a terminal of its own"
            raise NoConnection(f"{self._name}: {error}; {advice}") from None
        params, key = {"name": self._name, "url": self._url}, self._key
        try:
            await with_manager(self._manager, lambda each: each.command("add_player", params, key))
        except LeagueError as error:
            raise LeagueError(f"{self._name} cannot take part: {error}") from None

    async def finish(self) -> Tally:
        """Nothing to wait for."""
        return NO_TALLY

    async def stop(self) -> None:
        """It goes on running."""


async def open_file(
    group: AgentGroup, number: int, *, in_full: bool, prints_to: Connection
) -> Running:
    """The player of a file."""
    if os.name != "nt":
        os.dup2(prints_to.fileno(), 2)
        prints_to.close()
    player = load_for(Path(group.source), plugins.find_game(group.game).name)
    player.author_errors.in_full = in_full
    agent = await open_named(group, player.name, player.move, threads=True)
    player.attach(agent)
    return agent


async def open_strategy(group: AgentGroup, number: int) -> Running:
    """A player with an installed strategy, which may be slow."""
    strategy = plugins.load_strategy(group.source)
    return await open_named(group, group.name, strategy, threads=True)
