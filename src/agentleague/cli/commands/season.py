"""`league season`: a series of leagues with the same players, and one table over all of them."""

import math
import shlex
import time
from functools import partial
from pathlib import Path
from typing import Any

import click

from agentleague.cli import output
from agentleague.cli.commands.manager import check, check_idle, manage, set_up
from agentleague.cli.output import say
from agentleague.league.season import Season, season_table
from agentleague.protocol.printable import counted, duration
from agentleague.protocol.timestamps import moment
from agentleague.records.reading import SEASON_NAME, open_league
from agentleague.records.seasons import (
    SeasonSettings,
    has_begun,
    is_over,
    open_season,
    read_season,
    season_leagues,
)
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.clock import wall
from agentleague.runtime.settings import Given, SettingError, read_table

GATHER_SECONDS = 30.0  # for staying agents to come to a league whose time has passed
RULES = {
    "sum": "points of all leagues",
    "best": "points of the best {}",
    "rating": "rating after all matches (Elo)",
}
PAGE = """\
# A season: a series of leagues with the same players. Run it, and go on with it, with:
#   league season {0}

# How many leagues there are.
leagues = 3

# What counts in its table: "sum" of the points of all leagues, "best" for those of each player's
# best leagues, of which `best` says how many, or "rating".
rule = "sum"
# best = 2

# How long there is no manager between two leagues.
pause_seconds = 10.0

# The settings of every league; `league init` writes a file with all that there are.
[league]
players = 4
# start_after_seconds = 600.0
# seeding = "rating"

# What one league has besides: here the second.
# [each.2]
# start_at = "2026-12-01T18:00:00+01:00"
"""


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--new", "is_new", is_flag=True, help=f"Write DIR/{SEASON_NAME}, for you to change.")
@click.option("--table", "is_table", is_flag=True, help="Print the table over all its leagues.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option(
    "--accept-loss",
    "accepts_loss",
    is_flag=True,
    help="Go on although rows of a journal are lost: what is undecided is drawn anew.",
)
@output.verbose_option
def command(
    directory: Path, is_new: bool, is_table: bool, as_json: bool, accepts_loss: bool, verbose: int
) -> None:
    """Run a season, a series of leagues at one address, or go on with it; DIR/001 is its first
    league. Players that come back keep their id and name; with --stay they wait for the next
    league by themselves. The same command goes on wherever it was stopped.

    league season ./spring --new
    league season ./spring
    league season ./spring --table --json
    """
    if is_new:
        _write(directory)
        return
    settings = read_season(directory)
    if is_table or as_json:
        print_season(directory, as_json=as_json)
        return
    number = len(season_leagues(directory)) + 1
    for ahead in range(number, settings.leagues + 1):
        _given(directory, settings, ahead, is_late=number > 1)
    play = partial(_play, directory, settings, accepts_loss=accepts_loss, verbose=verbose)
    try:
        is_done = all(map(play, range(1, settings.leagues + 1)))
    except KeyboardInterrupt:  # In a pause; a manager takes it as a wish to stop.
        is_done = False
    if is_done:
        print_season(directory)
    else:
        again = f"league season {shlex.quote(str(directory))}"
        say(f"Stopped; nothing is lost. Continue with: {again}")


def _play(
    directory: Path, settings: SeasonSettings, number: int, *, accepts_loss: bool, verbose: int
) -> bool:
    """Run one league to its end, unless it is over; whether it is."""
    at = directory / f"{number:03}"
    if _is_over(at):
        return True
    check_idle(at)
    before = [open_league(directory / f"{each:03}") for each in range(1, number)]
    if before and not has_begun(at):
        _pause(before[-1][1][-1].at, settings.pause_seconds, number)
    say(f"League {number} of {settings.leagues}, in {at}:")
    season = Season(league for league, _ in before)
    setup = set_up(_given(directory, settings, number, is_late=True), at, None)
    accepts_loss = accepts_loss and has_begun(at)  # In a new league nothing is lost.
    manage(setup, season=season, accepts_loss=accepts_loss, verbose=verbose)
    return _is_over(at)


def _is_over(at: Path) -> bool:
    return has_begun(at) and is_over(open_league(at)[0])


def _pause(ended_at: str, seconds: float, number: int) -> None:
    """Wait until so long after the last row of the league before."""
    left = moment(ended_at) + seconds - wall()
    if left > 0:
        say(f"League {number} begins in {duration(math.ceil(left))}. Stop with Ctrl-C.")
        time.sleep(min(left, seconds))


def _given(directory: Path, settings: SeasonSettings, number: int, *, is_late: bool) -> Given:
    """The settings of a league, checked. Raises SettingError.

    If its time to start has passed while the season went on, it starts soon; if it has begun
    already, it keeps what it began with.
    """
    table, is_there = settings.of(number), has_begun(directory / f"{number:03}")
    if is_late and _is_past(table.get("start_at")):
        del table["start_at"]
        if not is_there:
            table["start_after_seconds"] = GATHER_SECONDS
    try:
        given = read_table(ManagerSettings, table)
        asked = given.make(ManagerSettings)
        check(given, asked, is_new=not is_there, is_of_season=True)
    except SettingError as error:
        raise SettingError(f"{directory / SEASON_NAME}, league {number}: {error}") from None
    return given


def _is_past(start_at: object) -> bool:
    try:
        return isinstance(start_at, str) and moment(start_at) <= wall()
    except ValueError:
        return False  # What is wrong with it is said where it is read.


def _write(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    shown = shlex.quote(str(directory))
    file, use = directory / SEASON_NAME, f"league season {shown}"
    output.write_to_change(file, PAGE.format(shown), "begin", use, advice="")


def print_season(directory: Path, *, as_json: bool = False) -> None:
    """The table over all leagues so far."""
    settings, leagues = read_season(directory), open_season(directory)
    rows = season_table(leagues, settings.rule, settings.best)
    if as_json:
        ids = [each.rules.league_id for each in leagues]
        rule = {"rule": settings.rule, "best": settings.best or None}
        output.print_json({**rule, "leagues": ids, "table": rows})
        return
    best = counted(settings.best, "league") if settings.best > 1 else "league"
    by = RULES[settings.rule].format(best)
    ended = sum(map(is_over, leagues))
    over = f"{ended} of {counted(settings.leagues, 'league')} over"
    title = f"{directory.resolve().name}: {over}, by {by}"
    numbers = range(1, len(leagues) + 1)
    columns = (
        output.Column("rank", "Rank"),
        output.Column("player_id", "Id", True),
        output.Column("display_name", "Name", True, True, True),
        *(output.Column(f"{each:03}", f"{each:03}") for each in numbers),
        output.Column("total", "Total"),
        output.Column("note", "", True, True, True),
    )
    output.print_rows([_shown(row) for row in rows], columns, title)
    if len(leagues) > ended:
        say(f"League {len(leagues)} is not over: its points may change.")


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    points = {
        f"{number:03}": "-" if each is None else each["points"]
        for number, each in enumerate(row["leagues"], start=1)
    }
    notes = {"tied": row["tied"], "unproved": row["unproved"]}
    return {**row, **points, "note": ", ".join(name for name, is_so in notes.items() if is_so)}
