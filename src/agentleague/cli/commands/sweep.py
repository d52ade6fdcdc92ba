"""`league sweep`: many offline leagues by a plan, on all cores or on Ray, as one table."""

import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, redirect_stdout
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import click

from agentleague.cli.commands.ratings import MEANS, dot_and_line
from agentleague.cli.options import Number
from agentleague.cli.output import (
    Column,
    bar,
    counted,
    print_json,
    print_rows,
    print_table,
    row_dicts,
    say,
    write_to_change,
)
from agentleague.cli.player_files import load_for
from agentleague.errors import LeagueError
from agentleague.games.game import is_luck, luck_in_words
from agentleague.runtime.author_functions import traceback_of
from agentleague.runtime.plugins import find_game
from agentleague.statistics.bradley_terry import Z50, Z95
from agentleague.sweeps import table
from agentleague.sweeps.engines import check_engine, open_engine, play_all
from agentleague.sweeps.leagues import TriedLeague, Work, play_one
from agentleague.sweeps.plan import EXAMPLE, Plan, read_plan

FAILURES_SHOWN = 5
TABLES_SHOWN = 8  # on a terminal
SUMMARY = (
    Column("player", "Player", True, True),
    Column("leagues", "Leagues"),
    Column("champion", "Champion"),
    Column("mean_rank", "Mean rank"),
    Column("wins", "Won", leaves=1),
    Column("draws", "Drawn", leaves=1),
    Column("losses", "Lost", leaves=1),
    Column("rating", "Rating"),
    Column("interval", "95 % from, to", True),
)
PLOT = Column("plot", "", True)
WIDTH_OF_ALL = 120  # below which no plot is shown


@click.command()
@click.argument("file", metavar="PLAN.toml", type=click.Path(path_type=Path))
@click.option("--new", is_flag=True, help="Write an example of a plan to that file, to change.")
@click.option(
    "--on",
    "where",
    default="cores",
    show_default=True,
    metavar="cores[:N]|ray[:ADDRESS]",
    help="Where to play: in N processes (one a core unless given), or on Ray.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="NAME",
    help="Write NAME.csv, NAME.parquet and so on; the name of the plan unless given.",
)
@click.option(
    "--only", type=Number(int, 1), metavar="N", help="Play league N alone; show its table."
)
@click.option("--again", is_flag=True, help="Forget the leagues that were played before.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(
    file: Path,
    new: bool,
    where: str,
    out: Path | None,
    only: int | None,
    again: bool,
    as_json: bool,
) -> None:
    """Play many leagues in memory, by a plan of players, games, formats and seeds, and write one
    table with a row for each player in each league, as CSV and Parquet.

    Stop it at any time: the same command goes on with the leagues that are left. The table is the
    same wherever it was played. The players are functions in the same process: no time is taken,
    nothing is sent.

    league sweep --new plan.toml
    league sweep plan.toml
    league sweep plan.toml --on ray:10.0.0.5:6379
    league sweep plan.toml --only 17
    """
    if new:
        _write_example(file)
        return
    check_engine(where)
    plan, again_words = read_plan(file, load_for), f"league sweep {shlex.quote(str(file))}"
    work = Work(plan, load_for)
    if only is not None:
        _play_only(work, only, as_json)
        return
    name = out or file.with_suffix("")
    with closing(table.Parts(table.beside(name, ".parts"), plan, again=again)) as parts:
        failures = _play(work, parts, where, again_words)
        summary, paths = table.write_all(plan, parts.outcomes(), name)
    _show(summary, as_json)
    for game in (find_game(plan.found(each)) for each in plan.games):
        if is_luck(game, {}):
            say(luck_in_words(game.name))
    say(f"Written: {', '.join(map(str, paths))}")
    if not table.has_parquet():
        say(f"For Parquet too, type: {table.INSTALL_PARQUET}")
    if failures:
        are = "is" if failures == 1 else "are"
        raise LeagueError(
            f"{counted(failures, 'league')} of {plan.leagues:,} {are} missing in the table; the "
            "same command tries them again"
        )


def _write_example(file: Path) -> None:
    use = f"league sweep {shlex.quote(str(file))}"
    write_to_change(file, EXAMPLE.format(file=file.name), "play it", use)


def _play(work: Work, parts: table.Parts, where: str, command: str) -> int:
    """Play what is missing; how many leagues failed."""
    plan, before = work.plan, parts.done
    left = plan.leagues - before
    there = f", {before:,} of them are there already" if before else ""
    say(f"{counted(plan.leagues, 'league')} by the plan{there}.")
    if not left:
        return 0
    failures, matches, began = 0, 0, time.perf_counter()
    try:
        with closing(open_engine(where, work)) as engine, bar("leagues", is_long=True) as shown:
            task = shown.add_task("", total=plan.leagues, completed=before)
            for each in play_all(engine, parts.missing(), left):
                if each.error:
                    failures += 1
                    _say_failure(plan, each, failures, command)
                else:
                    parts.add(each.number, each.line)
                matches += each.matches
                rate = matches / (time.perf_counter() - began)
                shown.update(task, advance=1, description=f"{rate:,.0f} matches/s")
    except KeyboardInterrupt:
        kept = f"{parts.done:,} of {counted(plan.leagues, 'league')} are kept"
        first = next(parts.missing(), plan.leagues)
        then = f"the same command goes on with league {first}"
        raise KeyboardInterrupt(f"{kept}; {then}") from None
    seconds = time.perf_counter() - began
    say(
        f"{counted(left - failures, 'league')}, {counted(matches, 'match', 'matches')} in "
        f"{seconds:,.1f} s: {matches / seconds:,.0f} matches/s."
    )
    return failures


def _say_failure(plan: Plan, failed: TriedLeague, number: int, command: str) -> None:
    if number > FAILURES_SHOWN:
        return
    league = plan.league(failed.number)
    say(
        f"League {failed.number} ({league.game}, {league.setting.format}, seed {league.seed}) "
        f"failed: {failed.error}\n  repeat it with: {command} --only {failed.number}"
    )


def _play_only(work: Work, number: int, as_json: bool) -> None:
    plan = work.plan
    if number > plan.leagues:
        raise click.UsageError(f"--only must be from 1 to {plan.leagues:,}, not {number}")
    league = plan.league(number)
    try:
        with redirect_stdout(sys.stderr):
            played = play_one(work, league)
    except (Exception, SystemExit) as error:
        say(traceback_of(error))
        raise LeagueError(f"league {number} failed, as above") from error
    rows = row_dicts(played.table)
    if as_json:
        print_json(rows)
    else:
        setting = f"{league.setting.format} {league.setting.options}"
        print_table(rows, f"League {number}: {played.game}, {setting}, seed {league.seed}")


def _show(summary: Sequence[table.Values], as_json: bool) -> None:
    if as_json:
        print_json(summary)
        return
    tables: dict[str, list[Any]] = {}
    for row in summary:
        tables.setdefault(f"{row['game']}, {row['format']} {row['options']}", []).append(row)
    shown = list(tables.items())[: TABLES_SHOWN if sys.stdout.isatty() else None]
    is_wide = not sys.stdout.isatty() or get_terminal_size().columns >= WIDTH_OF_ALL
    for title, rows in shown:
        print_rows(list(_plotted(rows)), (*SUMMARY, PLOT) if is_wide else SUMMARY, title)
    if len(shown) < len(tables):
        print(f"… {counted(len(tables) - len(shown), 'more table')}, in the summary")
    say(MEANS)


def _plotted(rows: Sequence[table.Values]) -> Iterator[table.Values]:
    rated = [row for row in rows if row["rating"] is not None]
    low = min((row["low"] for row in rated), default=0)
    high = max((row["high"] for row in rated), default=0)
    for row in rows:
        words = {}
        if row["rating"] is not None:
            half = (row["high"] - row["rating"]) * Z50 / Z95
            ends = {"low_50": row["rating"] - half, "high_50": row["rating"] + half}
            line = {"low_95": row["low"], "high_95": row["high"], "rating": row["rating"], **ends}
            rating, low_95, high_95 = (f"{round(row[n]):+}" for n in ("rating", "low", "high"))
            plot = dot_and_line(line, low, high)
            words = {"rating": rating, "interval": f"{low_95} to {high_95}", "plot": plot}
        yield {**row, **words}
