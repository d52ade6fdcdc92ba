"""For commands that read a league: they ask a running manager, or the journal of a directory."""

import asyncio
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from agentleague.cli.directory import dir_option, directory_argument, manager_address
from agentleague.errors import LeagueError
from agentleague.runtime.query_pages import Source, Work, all_rows
from agentleague.storage.directory import JournalPlace

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])
MANAGER = "http://127.0.0.1:8000/mcp"
VARIABLE = "LEAGUE_MANAGER"  # Not by click: --dir must work where it is set.


class JournalSource:
    """Answers from the journal of a directory, as it is now."""

    def __init__(self, directory: JournalPlace) -> None:
        from agentleague.records.reading import open_league

        self._league, _ = open_league(directory)
        self._league.manager_url = manager_address(directory) or ""

    def statistics(self) -> dict[str, Any]:
        """What the results say of strength, which takes all matches."""
        from agentleague.cli.commands.ratings import played
        from agentleague.records.ratings import statistics

        return statistics([played(self._league)])

    def endpoint(self, agent_id: str) -> str:
        """Where an agent is, which a manager does not tell everybody of a player."""
        return self._league.url_of(agent_id)

    async def ask(self, query_type: str, **params: Any) -> dict[str, Any]:
        """What the manager would answer without a token."""
        from agentleague.league import queries

        return queries.answer(self._league, query_type, params, None)


rules_option = click.option(
    "-v", "--verbose", is_flag=True, help="Say which rules of docs/protocol.md apply."
)


DIRECTORY_HELP = "Read the journal in this directory instead of asking a manager."


def reading_options(command: Command, directory_help: str = DIRECTORY_HELP) -> Command:
    """Add DIR, --manager, --dir and --json; the command gets one `directory`."""
    manager = click.option(
        "--manager",
        "manager_url",
        metavar="URL",
        callback=lambda context, parameter, typed: _as_url(typed) if typed else typed,
        help="The manager to ask: its URL, HOST:PORT, or a PORT of this machine.  "
        f"[env var: {VARIABLE}; default: {MANAGER}]",
    )
    directory = directory_argument(help_text=directory_help, is_needed=False)
    return manager(
        directory(click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command))
    )


all_option = click.option(
    "--all", "is_all", is_flag=True, help="Cut nothing on a terminal, however long it is."
)


def see_all(command: str, directory: JournalPlace | None) -> str:
    """The command that cuts nothing."""
    return f"league {command}{source_option(directory)} --all"


def read(directory: JournalPlace | None, manager_url: str | None, work: Work[T]) -> T:
    """Run `work` with the source that was named, and return its result."""
    url = address_of(directory, manager_url)
    if directory is not None:
        return asyncio.run(work(JournalSource(directory)))
    from agentleague.runtime.processes import run

    return run(with_manager(url, work))


def address_of(directory: JournalPlace | None, manager_url: str | None) -> str:
    """Where to ask; nowhere if a directory was named. Raises UsageError if both were."""
    if directory is None:
        return manager_url or _as_url(os.environ.get(VARIABLE) or MANAGER)
    if manager_url is not None:
        option = "--dir DIR" if isinstance(directory, Path) else "--journal URL"
        raise click.UsageError(f"give either {option} or --manager URL, not both")
    return ""


def source_option(directory: JournalPlace | None, manager_url: str | None = None) -> str:
    """The option that named the league, with a space before it, for a command to type next."""
    if directory is not None:
        return f" {dir_option(directory)}"
    return f" --manager {manager_url}" if manager_url else ""


def _as_url(text: str) -> str:
    from agentleague.runtime.network import manager_url

    return manager_url(text)


async def with_manager(url: str, work: Work[T], key: str = "") -> T:
    """What comes of `work` at a running manager; `key` is the organiser's, who is told more."""
    from agentleague.runtime import manager_client

    return await manager_client.with_manager(url, work, manager_client.Asker(token=key))


async def find_agent_id(source: Source, typed: str, **params: Any) -> str | None:
    """The id of the agent with this id or name; None if there is none."""
    rows = await all_rows(source, "GET_AGENTS", "agents", name=typed, **params)
    if any(row["agent_id"] == typed.upper() for row in rows):
        return typed.upper()
    named = [row["agent_id"] for row in rows if row["display_name"].lower() == typed.lower()]
    if len(named) > 1:
        raise LeagueError(f"several agents are called {typed!r}; type one of {', '.join(named)}")
    return named[0] if named else None


async def mark_reachable(
    rows: Iterable[dict[str, Any]], directory: JournalPlace | None, **params: Any
) -> None:
    """Mark which agents can be reached; a running manager knows it, the journal does not."""
    work = partial(all_rows, query_type="GET_AGENTS", key="agents", **params)
    agents = await ask_manager(directory, work)
    known = {row["agent_id"]: row["reachable"] for row in agents or () if "reachable" in row}
    for row in rows:
        if row["agent_id"] in known:
            row["reachable"] = known[row["agent_id"]]


async def ask_manager(directory: JournalPlace | None, work: Work[T]) -> T | None:
    """What the manager that runs in a directory tells its organiser; None if none runs any more."""
    address = manager_address(directory) if directory else None
    if directory is None or address is None:
        return None
    from agentleague.runtime.state_files import admin_token

    try:
        key = admin_token(directory)
    except (OSError, LeagueError):  # It is the organiser's alone.
        key = ""
    try:
        return await with_manager(address, work, key)
    except LeagueError:
        return None
