"""`league serve`: many leagues in one service, on a PostgreSQL database."""

import logging
from pathlib import Path
from typing import Any

import click

from agentleague.cli.directory import database_option
from agentleague.cli.output import say, verbose_option
from agentleague.cli.settings_options import SettingsCommand, given_settings, settings_options
from agentleague.errors import LeagueError
from agentleague.roles.settings import ServiceSettings
from agentleague.runtime.network import check_wish
from agentleague.runtime.processes import CannotListen, run
from agentleague.runtime.stopping import stop_signal
from agentleague.storage.database_url import DatabaseUrl

LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


@click.command(cls=SettingsCommand)
@click.argument("config", required=False, metavar="[CONFIG.toml]", type=click.Path(path_type=Path))
@database_option
@verbose_option
@settings_options(ServiceSettings)
def command(config: Path | None, journal: DatabaseUrl, verbose: int, **options: Any) -> None:
    """Run a service of many leagues, which organisers create over HTTP. The same command on the
    same or on another machine, with the same database, is its stand-by: each takes over the leagues
    of the other within --takeover-seconds.

    league serve --journal postgresql://league@127.0.0.1/league
    league serve --workers 4 --bind 0.0.0.0 --network lan
    """
    if journal.league_id:
        raise click.UsageError(
            f"a service runs all leagues of its database: leave #{journal.league_id} out; /mcp "
            f"leads to that league with: --default-league {journal.league_id}"
        )
    given = given_settings(ServiceSettings, config, options)
    settings = given.make(ServiceSettings)
    for name in ("lan", "trusted_proxies", "endpoint", "bind"):
        try:
            check_wish(name, getattr(settings, name))
        except LeagueError as error:
            raise given.wrong(name, f"cannot be: {error}") from None

    async def serve() -> None:
        from agentleague.service.processes import Service

        stopped = stop_signal()
        service = Service(settings, journal, say, LEVELS[min(verbose, 2)])
        await service.open()
        say(
            f"The service is at {service.url}, its leagues in {journal.of('')}.\n"
            f"Let somebody organise leagues: league organiser add NAME --journal {journal.of('')}\n"
            f"Who has a key makes one: league leagues create --service {service.url} --players 4\n"
            f"Agents call it at {service.url}/leagues/LEAGUE_ID/mcp. Stop with Ctrl-C."
        )
        await service.run(stopped)

    try:
        run(serve())
    except CannotListen as error:
        address = f"{settings.bind or '127.0.0.1'} port {settings.port}"
        why = f"{address} cannot be opened ({error.strerror}); choose another with --port or --bind"
        raise click.ClickException(why) from None
    say("Stopped; nothing is lost. Other workers, or the same command, go on with the leagues.")
