"""`league manager`: one league, its journal in a directory.

`league manager --shared-dir`: the documents' files are kept current while the league runs.
"""

import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from errno import EACCES, EADDRINUSE
from pathlib import Path
from threading import Event, Thread
from typing import Any

import click

from agentleague.cli.directory_check import check_room
from agentleague.cli.manager_address import dir_option
from agentleague.cli.output import counted, plain, print_table, say, speak_up, verbose_option
from agentleague.cli.serving import stop_signal, until_stopped
from agentleague.cli.settings_options import (
    SettingsCommand,
    given_settings,
    misused,
    settings_options,
    wishes,
)
from agentleague.errors import LeagueError
from agentleague.games.game import Game
from agentleague.league.league import League, Phase
from agentleague.manager.role import Manager
from agentleague.records.export import Mirror
from agentleague.records.reading import open_league
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.clock import wall
from agentleague.runtime.installed_games import find_game
from agentleague.runtime.network import check_wish, place_of_manager
from agentleague.runtime.processes import CannotListen, Home, open_manager, run
from agentleague.runtime.settings import Given, describe
from agentleague.runtime.state_files import new_league_id

LAST_SECONDS = 0.5  # Players that were told that the league is over ask whether that is true.
EXAMPLES = """\b
Examples:
  league manager --players 4
  league init cup.toml; league manager cup.toml
  league manager --players 30 --port 9000 --dir ./cup --exit
"""
WHAT = """
Run a league manager: it registers agents and keeps the table.

CONFIG.toml holds settings; `league init` writes one with all of them. The environment counts more
(LEAGUE_MOVE_SECONDS=10), and the options below count most.
"""


@click.command(cls=SettingsCommand, help=EXAMPLES + WHAT)
@click.argument("config", required=False, metavar="[CONFIG.toml]", type=click.Path(path_type=Path))
@click.option("--config", "config_too", hidden=True, type=click.Path(path_type=Path))
@click.option(
    "--dir",
    "directory",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the journal goes.  [league, or the name of the file of settings]",
)
@click.option("--seed", metavar="TEXT", help="Makes draws repeatable, and foretellable: for tests.")
@click.option("--exit", "exits", is_flag=True, help="Exit when the league is over.")
@verbose_option
@settings_options(ManagerSettings)
def command(
    config: Path | None,
    config_too: Path | None,  # as it is said to a referee or a player
    directory: Path | None,
    seed: str | None,
    exits: bool,
    verbose: int,
    **options: Any,
) -> None:
    """Serve until the end, or until Ctrl-C."""
    config = config or config_too
    given = given_settings(ManagerSettings, config, options)
    asked = given.make(ManagerSettings)
    _check(given, asked)
    game = asked.game_type
    played = _game(given, asked)
    year = datetime.fromtimestamp(wall(), UTC).year
    settings = replace(
        asked,
        league_id=asked.league_id or new_league_id(played.name, year, seed),
        game_type=played.name,
        seeded=seed is not None,
    )
    directory = directory or Path(config.stem if config else "league")
    check_room(directory)
    where = place_of_manager(settings.port, wishes(settings), say)

    async def serve() -> tuple[League, bool]:
        stopped = stop_signal()
        home = Home(directory, seed, logs=True, command=_this_command())
        running = await open_manager(settings, home, where, lambda name: played)
        role = running.host.role
        assert isinstance(role, Manager)
        league_id = role.league.rules.league_id
        say(f"{league_id}: the manager is at {running.url}, its journal in {directory}.")
        if seed is not None:
            say("A seed was given: whoever knows it can foretell the draws.")
        say(_where_it_stands(role.league, settings, directory))
        if settings.shared_dir:
            mirror = Mirror(directory, league_id, Path(settings.shared_dir))
            running.closing.append(Mirroring(mirror, settings.standings_seconds, say).close)
        running.tell(say)
        speak_up(running, verbose, say)
        if not exits:
            running.ended.add_done_callback(lambda ended: _tell_end(role.league, directory, game))
        last = LAST_SECONDS if exits else 0.0
        await until_stopped(running, stopped, ends=exits, last_seconds=last)
        return role.league, running.ended.done() and not exits

    try:
        league, told = run(serve())
    except CannotListen as error:
        address = f"{settings.bind or '127.0.0.1'} port {settings.port}"
        option = "--port" if error.errno in (EADDRINUSE, EACCES) else "--bind or --port"
        raise click.ClickException(
            f"{address} cannot be opened ({error.strerror or error}); choose another with {option}"
        ) from None
    if told:
        return
    league, _ = open_league(directory)  # What is on disk: before a full one the manager ran ahead.
    if league.phase is Phase.COMPLETED:
        _tell_end(league, directory, game)
        return
    ended = league.rounds_ended
    _print_table(league, f"after round {ended}" if ended else "before the first round ended")
    say(f"Stopped; nothing is lost. Go on with: {_this_command()}")


def _check(given: Given, asked: ManagerSettings) -> None:
    """What two settings say of one another."""
    if asked.players and asked.players > asked.players_max:
        problem = f"is {asked.players}, and players_max is {asked.players_max}; raise the latter"
        raise misused(given.wrong("players", problem))
    if asked.referees > asked.referees_max:
        problem = f"is {asked.referees}, and referees_max is {asked.referees_max}; raise the latter"
        raise misused(given.wrong("referees", problem))

    if len(set(asked.tie_breaks)) < len(asked.tie_breaks):
        raise misused(given.wrong("tie_breaks", "names one twice; leave it out"))
    for name in ("lan", "endpoint", "bind"):
        try:
            check_wish(name, getattr(asked, name))
        except LeagueError as error:
            raise misused(given.wrong(name, f"cannot be: {error}")) from None


def _game(given: Given, asked: ManagerSettings) -> Game:
    """The game, if it is there and knows its options."""
    name = "game_type"
    try:
        game = find_game(asked.game_type)
        name = "game_options"
        game.start(asked.game_options)
    except (LeagueError, ValueError) as error:
        lost = [row.name for row in describe(ManagerSettings) if row.name in asked.game_options]
        if name == "game_options" and lost:
            problem = f"holds {lost[0]!r}, a setting of the league; move it above [game_options]"
            raise misused(given.wrong(name, problem)) from None
        raise misused(given.wrong(name, f"cannot be: {error}")) from None
    return game


def _this_command(without: str = "--join-code") -> str:
    """What was typed, but for the join code: others may see where this is shown."""
    words, hidden = sys.argv[1:], {"--join-code", without}
    shown = [
        word
        for before, word in zip(["", *words], words, strict=False)
        if not hidden & {before, word, word.partition("=")[0]}
    ]
    return shlex.join(["league", *shown])


def _tell_end(league: League, directory: Path, game: str) -> None:
    """The final table, and what can be done with a league that is over."""
    _print_table(league, "final table")
    shown = shlex.quote(str(directory))
    file = f" --game {shlex.quote(game)}" if game.endswith(".py") else ""
    say(
        f"Check it with: league verify {shown}{file}\n"
        f"Publish it with: league export {shown} --out {shlex.quote(f'{directory}-files')}\n"
        f"Begin another with: {_this_command(without='--dir')} --dir ANOTHER"
    )


def _print_table(league: League, state: str) -> None:
    if league.has_started:
        print_table(plain(league.table.rows()), f"{league.rules.league_id}: {state}")
        sys.stdout.flush()


def _where_it_stands(league: League, settings: ManagerSettings, directory: Path) -> str:
    """What is waited for, or where a league that is resumed goes on."""
    start = f"league start {dir_option(directory)}"
    if league.phase is Phase.COMPLETED:
        return "This league is over; its table can still be asked for. Stop with Ctrl-C."
    if league.phase is not Phase.REGISTERING:
        paused = f"\nIt is paused; go on with: {start}" if league.paused else ""
        decided = counted(league.decided_total, "match", "matches")
        return f"Resumed in round {league.round_id}: {decided} decided. Stop with Ctrl-C.{paused}"
    here = len(league.roster.players)
    referees = f"{settings.referees} referees" if settings.referees > 1 else "a referee"
    if settings.players:
        known = f", {here} of them known from before" if here else ""
        return f"Waiting for {settings.players} players and {referees}{known}. Stop with Ctrl-C."
    after = settings.start_after_seconds
    when = "" if after is None else f" after {after:g} seconds, or"
    return (
        f"Waiting for players and {referees}. Stop with Ctrl-C.\n"
        f"The league starts{when} with: {start}"
    )


class Mirroring:
    """A thread that looks at the journal now and then; nobody ever waits for it."""

    def __init__(self, mirror: Mirror, seconds: float, say: Callable[[str], None]) -> None:
        self._mirror, self._seconds, self._say = mirror, seconds, say
        self._trouble = ""
        self._closing = Event()
        self._thread = Thread(target=self._run, name="mirror", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write the files once more, and stop."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(self._seconds):
            self._update()
        self._update()

    def _update(self) -> None:
        try:
            self._mirror.update()
            self._trouble = ""
        except (LeagueError, OSError) as error:
            if str(error) != self._trouble:
                self._say(f"The shared files cannot be written: {error}")
            self._trouble = str(error)
