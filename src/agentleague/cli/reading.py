"""What the reading commands have in common: a running manager or a directory answers them.

Who is meant: an agent goes by its id or by its name.

Who can be reached: no journal holds it, but the manager that writes the journal knows.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from agentleague.cli.manager_address import address_of, dir_option
from agentleague.errors import LeagueError
from agentleague.storage.directory import FILE_NAME

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])
MANAGER = "http://127.0.0.1:8000/mcp"
VARIABLE = "LEAGUE_MANAGER"  # Not for click: set for good, it would forbid every --dir.


class Source(Protocol):
    """Answers queries."""

    async def ask(self, query_type: str, **params: Any) -> dict[str, Any]: ...


class Archive:
    """The league of a directory, as its journal has it now."""

    def __init__(self, directory: Path) -> None:
        from agentleague.records.reading import open_league

        self._league, _ = open_league(directory)

    async def ask(self, query_type: str, **params: Any) -> dict[str, Any]:
        """What the manager would answer to anybody."""
        from agentleague.league import queries

        return queries.answer(self._league, query_type, params, None)


def league_directory(path: Path) -> Path:
    """The directory of a league, also where somebody named the journal in it."""
    return path.parent if path.name == FILE_NAME else path


def one_directory(place: Path | None, option: Path | None) -> Path | None:
    """DIR as it was typed, with --dir before it or without."""
    if place and option:
        raise click.UsageError(f"name one directory: either {place} or --dir {option}")
    found = place or option
    return league_directory(found) if found else None


def directory_argument(command: Command) -> Command:
    """DIR, which must be named, with --dir before it or without; the command is told it."""

    @wraps(command)
    def with_place(*, place: Path | None, option: Path | None, **more: Any) -> Any:
        directory = one_directory(place, option)
        if directory is None:
            context = click.get_current_context()
            raise click.UsageError(f"DIR is missing; type: {context.command_path} DIR", context)
        return command(directory=directory, **more)

    kind = click.Path(path_type=Path)
    option = click.option("--dir", "option", metavar="DIR", type=kind, help="The same as DIR.")
    argument = click.argument("place", metavar="DIR", required=False, type=kind)
    return argument(option(with_place))  # type: ignore[return-value]


def reading_options(command: Command) -> Command:
    """DIR, --manager, --dir and --json; the command is told one directory."""

    @wraps(command)
    def with_place(*, place: Path | None, directory: Path | None, **more: Any) -> Any:
        return command(directory=one_directory(place, directory), **more)

    decorated: Any = with_place
    for option in (
        click.argument("place", metavar="[DIR]", required=False, type=click.Path(path_type=Path)),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option(
            "--dir",
            "directory",
            metavar="DIR",
            type=click.Path(path_type=Path),
            help="Read the journal in this directory instead of asking a manager.",
        ),
        click.option(
            "--manager",
            "manager_url",
            metavar="URL",
            callback=_read_manager,
            help="The manager to ask: its URL, HOST:PORT, or a PORT of this machine.  "
            f"[env var: {VARIABLE}; default: {MANAGER}]",
        ),
    ):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def read(
    directory: Path | None, manager_url: str | None, work: Callable[[Source], Awaitable[T]]
) -> T:
    """What `work` makes of the answers."""
    if directory is not None and manager_url is not None:
        raise click.UsageError("say either --dir DIR or --manager URL, not both")
    if directory is not None:
        return asyncio.run(_from(Archive(directory), work))
    from agentleague.runtime.processes import run

    url = manager_url or _as_url(os.environ.get(VARIABLE) or MANAGER)
    return run(_from_manager(url, work))


def source_option(directory: Path | None, manager_url: str | None) -> str:
    """The option by which a league was named, to be typed again; with a space before it."""
    if directory is not None:
        return f" {dir_option(directory)}"
    return f" --manager {manager_url}" if manager_url else ""


async def all_rows(source: Source, query_type: str, key: str, **params: Any) -> list[Any]:
    """The rows of all pages.

    Raises:
        LeagueError: whoever answers is no manager of ours.
    """
    rows: list[Any] = []
    while True:
        data = await source.ask(query_type, offset=len(rows), **params)
        page = data.get(key)
        if not isinstance(page, list):
            raise LeagueError(
                f"the answer to {query_type} has no {key!r}; this manager is of another make"
            )
        rows += page
        if not page or len(rows) >= data.get("total", 0):
            return rows


def _read_manager(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    return None if value is None else _as_url(value)


def _as_url(text: str) -> str:
    from agentleague.runtime.network import manager_url

    return manager_url(text)


async def _from(source: Source, work: Callable[[Source], Awaitable[T]]) -> T:
    return await work(source)


async def _from_manager(url: str, work: Callable[[Source], Awaitable[T]]) -> T:
    from agentleague.runtime.clock import wall
    from agentleague.runtime.manager_client import ManagerClient

    client = ManagerClient(url, wall)
    try:
        return await work(client)
    finally:
        await client.close()


async def id_of(source: Source, typed: str, **params: Any) -> str | None:
    """The id of the agent that has this id or, alone, this name; None if there is none.

    Raises:
        LeagueError: several have the name; the sentence has their ids.
    """
    rows = await all_rows(source, "GET_AGENTS", "agents", **params)
    for row in rows:
        if row["agent_id"] == typed.upper():
            return typed.upper()
    named = [row["agent_id"] for row in rows if row["display_name"].lower() == typed.lower()]
    if len(named) > 1:
        raise LeagueError(f"several agents are called {typed!r}; type one of {', '.join(named)}")
    return named[0] if named else None


async def mark_reachable(rows: Iterable[dict[str, Any]], directory: Path | None) -> None:
    """Say it of agents that were read from a directory, if its manager runs and answers."""
    address = address_of(directory) if directory else None
    if address is None:
        return
    from agentleague.runtime.clock import wall
    from agentleague.runtime.manager_client import ManagerClient

    client = ManagerClient(address, wall)
    try:
        told = await all_rows(client, "GET_AGENTS", "agents")
    except LeagueError:  # It has just ended: then nobody knows any more.
        return
    finally:
        await client.close()
    known = {row["agent_id"]: row["reachable"] for row in told if "reachable" in row}
    for row in rows:
        if row["agent_id"] in known:
            row["reachable"] = known[row["agent_id"]]
