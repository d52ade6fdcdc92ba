"""`league dashboard`: the pages of a league in a browser, from its journal."""

import asyncio
from pathlib import Path

import click

from agentleague.cli.options import Number
from agentleague.cli.output import say
from agentleague.cli.serving import stop_signal


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--port", type=Number(int, 0, 65_535), default=8090, help="The port to listen on.")
def command(directory: Path, port: int) -> None:
    """Show a league in the browser, running or over.

    league dashboard ./cup
    """
    from agentleague.dashboard.app import Dashboard
    from agentleague.dashboard.following import Following
    from agentleague.dashboard.league_view import LeagueView
    from agentleague.dashboard.serving import serve
    from agentleague.storage.directory import open_reader
    from agentleague.transport.http import LOCAL_HOSTS
    from agentleague.transport.http_server import listen

    async def run() -> None:
        stopped = stop_signal()
        following = Following(directory, LeagueView(open_reader(directory)))
        sockets = await listen(LOCAL_HOSTS, port)
        url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}/"
        await serve(
            Dashboard(following),
            following,
            sockets,
            stopped,
            lambda: say(f"See it in a browser: {url}"),
        )

    asyncio.run(run())
