"""`league leagues`: an organiser makes and runs leagues of a service, over HTTP."""

import json
import os
import stat
from collections.abc import Callable
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from threading import Event
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click

from agentleague.cli.commands.organise import confirm, yes_option
from agentleague.cli.output import Column, print_rows, say
from agentleague.cli.settings_options import SettingsCommand, settings_options
from agentleague.protocol.hosts import is_loopback
from agentleague.protocol.printable import printable
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.settings import describe, read_settings
from agentleague.service.leagues import NOT_HERE

KEY = "LEAGUE_ORGANISER_KEY"
SECONDS = 30.0
ATTEMPTS = 10  # while a league is between two workers
CHOSEN = [row.name for row in describe(ManagerSettings) if row.name not in NOT_HERE]
HEADERS = {"league_id": "League", "state": "State", "phase": "Phase", "url": "URL"}
COLUMNS = [Column(name, header, is_text=True) for name, header in HEADERS.items()]
ASKS = {"abort": "End {} as it stands, for good?", "archive": "Serve {} no more? It is {}."}
OTHERS = ("approve", "remove", "add_player", "add_referee", "set_endpoint", "rule")
Command = TypeVar("Command", bound=Callable[..., Any])


def service_options(command: Command) -> Command:
    """--service and --key-file."""
    url = "Where the service is, such as https://HOST.  [LEAGUE_SERVICE]"
    key = f"A file that only you can read, with your key; or put it in {KEY}."
    file = click.Path(exists=True, dir_okay=False, path_type=Path)
    named = click.option("--key-file", metavar="FILE", type=file, help=key)(command)
    return click.option(
        "--service", required=True, metavar="URL", envvar="LEAGUE_SERVICE", help=url
    )(named)


@click.group()
def command() -> None:
    """Make and run leagues of a service, as their organiser. The key that `league organiser add`
    printed stands in LEAGUE_ORGANISER_KEY, or in a file.

    league leagues create --service http://127.0.0.1:8000 --players 4
    league leagues list --service http://127.0.0.1:8000
    """


@command.command("list", short_help="Print your leagues.")
@service_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_leagues(service: str, key_file: Path | None, as_json: bool) -> None:
    """Print your leagues.

    league leagues list --service http://127.0.0.1:8000
    """
    leagues = _ask(service, key_file, "GET", "/leagues")["leagues"]
    if as_json:
        click.echo(json.dumps(leagues, indent=2))
        return
    print_rows(leagues, COLUMNS, "Your leagues")
    for each in leagues:
        if "reason" in each:
            say(printable(f"{each['league_id']}: {each['reason']}"))


@command.command(short_help="Print where a league stands.")
@click.argument("league_id")
@service_options
@click.option("--codes", is_flag=True, help="Print its join code and referee code too.")
def show(league_id: str, service: str, key_file: Path | None, codes: bool) -> None:
    """Print where a league stands, as JSON.

    league leagues show LEAGUE_ID
    league leagues show LEAGUE_ID --codes
    """
    shown = _ask(service, key_file, "GET", f"/leagues/{league_id}")
    if codes:
        shown |= _ask(service, key_file, "GET", f"/leagues/{league_id}/codes")
    click.echo(json.dumps(shown, indent=2))


@command.command(cls=SettingsCommand, short_help="Make a league.")
@click.argument("config", required=False, metavar="[CONFIG.toml]", type=click.Path(path_type=Path))
@service_options
@settings_options(ManagerSettings, *CHOSEN)
def create(config: Path | None, service: str, key_file: Path | None, **options: Any) -> None:
    """Make a league, and print its id, URL and codes as JSON. Settings as for `league manager`.

    league leagues create --service http://127.0.0.1:8000 --players 4
    league leagues create cup.toml --service https://league.example.org
    """
    given = read_settings(ManagerSettings, file=config, environment={}, options=options)
    made = _ask(service, key_file, "POST", "/leagues", dict(given.values))
    click.echo(json.dumps(made, indent=2))
    say(
        f"Agents join with: league player --manager {made['url']}\n"
        "and the code in the variable LEAGUE_JOIN_CODE (referees: LEAGUE_REFEREE_CODE).\n"
        f"Start it, if it does not start by itself: league leagues start {made['league_id']}"
    )


def _change(name: str, text: str) -> None:
    @command.command(name, short_help=text, help=f"{text}\n\nleague leagues {name} LEAGUE_ID")
    @click.argument("league_id")
    @service_options
    def change(league_id: str, service: str, key_file: Path | None, yes: bool = False) -> None:
        if name in ASKS and not yes:
            phase = _ask(service, key_file, "GET", f"/leagues/{league_id}").get("phase")
            if phase not in ("", "LEAGUE_COMPLETED", "ABORTED"):
                confirm(printable(ASKS[name].format(league_id, phase)))
        told = _ask(service, key_file, "POST", f"/leagues/{league_id}/{name}")
        say(printable(told.get("said") or f"{league_id} is {told.get('state')}."))

    if name in ASKS:
        yes_option(change)


for _name, _text in {
    "start": "Start a league, or continue it after a pause.",
    "pause": "Pause a league: no match begins, no clock runs.",
    "abort": "End a league as it stands, for good.",
    "archive": "Stop serving a league; its journal stays.",
    "reopen": "Serve a league again that is archived, or that failed.",
}.items():
    _change(_name, _text)


@command.command("tell", short_help="Send a league another command of its organiser.")
@click.argument("league_id")
@click.argument("what", metavar="COMMAND", type=click.Choice(OTHERS))
@click.argument("params", metavar="[NAME=VALUE]...", nargs=-1)
@service_options
def tell(
    league_id: str, what: str, params: tuple[str, ...], service: str, key_file: Path | None
) -> None:
    """Send a league another command of its organiser: approve, remove, add_player, add_referee,
    set_endpoint, rule.

    league leagues tell LEAGUE_ID approve referee_id=REF01
    league leagues tell LEAGUE_ID remove player_id=P03
    """
    values = dict(each.split("=", 1) for each in params if "=" in each)
    if len(values) < len(params):
        raise click.BadParameter("write each as NAME=VALUE")
    told = _ask(service, key_file, "POST", f"/leagues/{league_id}/{what}", values)
    say(printable(str(told.get("said"))))


def _ask(
    service: str, key_file: Path | None, method: str, path: str, body: Any = None
) -> dict[str, Any]:
    """What the service says. Raises ClickException if it refuses, or is not there."""
    where = urlsplit(service if "://" in service else f"http://{service}")
    if where.scheme != "https" and not is_loopback(where.hostname or ""):
        say("Your key travels to another machine unencrypted; better use https.")
    kind = HTTPSConnection if where.scheme == "https" else HTTPConnection
    headers = {"Authorization": f"Bearer {_key(key_file)}", "Content-Type": "application/json"}
    sent = None if method == "GET" else json.dumps(body or {}).encode()
    try:  # It follows no redirect: the key is for this server alone.
        for _ in range(ATTEMPTS):
            connection = kind(where.hostname or "", where.port, timeout=SECONDS)
            connection.request(method, where.path.rstrip("/") + path, sent, headers)
            response = connection.getresponse()
            status, text = response.status, response.read(1_000_000)
            connection.close()
            if status != HTTPStatus.SERVICE_UNAVAILABLE:
                break
            Event().wait(1.0)  # The league is between two workers, or just begins.
        told = json.loads(text)
    except (OSError, HTTPException, ValueError) as error:
        why = f"there is no service at {service}: {error}; name it with: --service URL"
        raise click.ClickException(why) from None
    if status >= 400:
        said = told.get("error") if isinstance(told, dict) else told
        raise click.ClickException(printable(said if isinstance(said, str) else json.dumps(told)))
    return dict(told)


def _key(file: Path | None) -> str:
    if file is None:
        key = os.environ.get(KEY, "")
        if not key:
            raise click.ClickException(
                f"your organiser's key is missing; put it in {KEY}, or in a file: --key-file FILE"
            )
        return key
    if os.name == "posix" and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise click.ClickException(f"others can read {file}; type: chmod 600 {file}")
    return file.read_text().strip()
