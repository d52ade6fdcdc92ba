"""`league dashboard`: the pages of a league in a browser, from its journal."""

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import click

from agentleague.cli.directory import OWN_NAMES, directory_argument
from agentleague.cli.options import Number
from agentleague.cli.output import say
from agentleague.errors import LeagueError, StorageError
from agentleague.records.reading import no_league
from agentleague.runtime.network import manager_url, place_of_pages
from agentleague.runtime.plugins import as_typed, find_game
from agentleague.runtime.processes import run
from agentleague.runtime.stopping import stop_signal
from agentleague.storage.directory import JournalPlace, has_journal_file, open_reader

if TYPE_CHECKING:
    from asyncio import Future

PORT = 8090
NICE = 10  # below the league itself


@click.command()
@directory_argument()
@click.option("--port", type=Number(int, 0, 65_535), help=f"The port to listen on.  [{PORT}]")
@click.option("--bind", metavar="ADDRESS", default="", help="Where others reach it, as 0.0.0.0.")
@click.option("--name", "names", metavar="HOST", multiple=True, help="What a proxy calls it.")
@click.option("--manager", metavar="URL", help="Its manager, if it does not run on this machine.")
@click.option("--game", metavar="FILE.py", help="The game, if it came from a file.")
@click.option("--beside", is_flag=True, hidden=True)  # a manager, whose child it is
def command(
    directory: JournalPlace,
    port: int | None,
    bind: str,
    names: Sequence[str],
    manager: str | None,
    game: str | None,
    beside: bool,
) -> None:
    """Show a league in the browser, running or over.

    league dashboard ./cup
    league dashboard ./cup --bind 0.0.0.0    for everybody in the network
    """
    from agentleague.dashboard.process import MISSING, has_extra

    if not has_extra():
        raise LeagueError(MISSING[0].lower() + MISSING[1:])
    if not has_journal_file(directory) and not _may_begin(directory):
        raise StorageError(no_league(directory))
    from agentleague.dashboard.app import Dashboard
    from agentleague.dashboard.following import Following
    from agentleague.dashboard.league_view import LeagueView
    from agentleague.dashboard.serving import open_sockets, serve, url_of

    played = find_game(as_typed(game)) if game else None
    place = place_of_pages(bind, PORT if port is None else port, names)

    async def show() -> None:
        stopped = stop_signal()
        view = LeagueView(open_reader(directory), game=played)
        if not (place.is_far or names):  # Strangers are told no paths of this machine.
            view.directory = shlex.quote(str(directory))
            view.game_file = shlex.quote(game) if game else ""
        following = Following(directory, view, manager_url(manager) if manager else "")
        sockets = await open_sockets(place, moves_on=beside or port is None)
        url = url_of(place, sockets[0].getsockname()[1])

        def started() -> None:
            if beside:
                print(url, flush=True)
                Thread(target=_wait_for_parent, args=(stopped,), daemon=True).start()
            else:
                say(f"See it in a browser: {url}\nStop with Ctrl-C.")

        await serve(Dashboard(following, place.names, url), following, sockets, stopped, started)

    if beside and hasattr(os, "nice"):
        os.nice(NICE)
    run(show())


def _may_begin(directory: JournalPlace) -> bool:
    """Whether a league may begin there: nothing is there yet, or a manager that has just begun."""
    if not isinstance(directory, Path) or not directory.is_dir():
        return False
    return {path.name for path in directory.iterdir()} <= set(OWN_NAMES)


def _wait_for_parent(stopped: "Future[None]") -> None:
    """The other end of stdin is the manager's: it closes when that ends, however it does."""
    while os.read(0, 1):
        pass
    with suppress(RuntimeError):  # It has just ended by itself.
        stopped.get_loop().call_soon_threadsafe(stopped.cancel)
