"""`league dashboard`: the pages of a league, from its journal."""

import asyncio
from pathlib import Path

import click

from agentleague.cli.options import Number
from agentleague.errors import StorageError
from agentleague.records.reading import no_league
from agentleague.storage.directory import has_journal, open_reader


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--port", type=Number(int, 0, 65_535), default=8090, help="The port to listen on.")
def command(directory: Path, port: int) -> None:
    """Show a league in the browser, running or over.

    league dashboard ./cup
    """
    import uvicorn

    from agentleague.dashboard.app import follow, make_app
    from agentleague.dashboard.league_view import LeagueView

    if not has_journal(directory):
        raise StorageError(no_league(directory))
    reader = open_reader(directory)
    view = LeagueView(reader, reader.leagues()[0])

    async def serve() -> None:
        following = asyncio.create_task(follow(view))
        try:
            await uvicorn.Server(uvicorn.Config(make_app(view), port=port)).serve()
        finally:
            following.cancel()

    asyncio.run(serve())
