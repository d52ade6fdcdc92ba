"""`league report`: a league as a file to hand in, or as pages to publish."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click

from agentleague.cli.commands.verify import DIFFERS, findings_of, in_words, load_named
from agentleague.cli.directory import directory_argument, stem
from agentleague.cli.output import bar, counted, is_plain, say
from agentleague.dashboard.process import MISSING, has_extra
from agentleague.errors import LeagueError
from agentleague.records.export import Tree, put_tree, write_file
from agentleague.records.reading import no_league, read_rows
from agentleague.roles.ports import Row
from agentleague.storage.directory import JournalPlace, has_journal, open_reader

SITE = Tree("earlier report", "site.json", r"style\.css|[a-z_]+[\w-]*\.html", "--site")
MANY = 1_000  # matches; with more, progress is shown
HEAD = 500  # characters in which the mark of a report stands


@click.command()
@directory_argument()
@click.option(
    "--out",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="The file to write.  [DIR-report.html]",
)
@click.option(
    "--site",
    metavar="SITE",
    type=click.Path(path_type=Path),
    help="Write linked pages into this directory instead, to publish.",
)
@click.option("--game", metavar="FILE.py", help="The game, if it is not installed.")
def command(directory: JournalPlace, out: Path | None, site: Path | None, game: str | None) -> None:
    """Write a league as one HTML file that holds all: table, plots, every match, verification.

    It opens in any browser without a network, and prints well. No token is in it. The league may
    still run; then the report says so. An earlier report is replaced, any other file is left alone.
    It exits with 3 if verification found a difference, which the report tells too.

    league report ./cup
    league report ./cup --out report.html
    league report ./cup --site ./public          pages to publish
    league report ./cup --game ./my_game.py      a game that is not installed
    """
    rows = _rows(directory)
    if not has_extra():
        raise LeagueError(MISSING[0].lower() + MISSING[1:])
    from agentleague.dashboard import report
    from agentleague.dashboard.league_view import LeagueView

    file = out or (None if site else Path(f"{stem(directory)}-report.html"))
    if file:
        _check_place(file, report.MARK)
    view = LeagueView(open_reader(directory), rows[0].league_id)
    for row in rows:
        view.take(row)
    missing: list[str] = []  # why there is no game
    view.game = load_named(view.league.rules.game_type, game, missing.append)
    findings, _ = findings_of(directory, rows, lambda name: view.game)
    lines = in_words(findings)
    verified = report.Verified(not (findings.difference or missing), lines)
    if site:
        with _progress(len(view.ended)) as step:
            files = report.site(view, verified, step)
            count = put_tree(SITE, view.league, rows[-1], files, site)
        print(site / "index.html")
        say(f"{counted(count, 'file')}: publish the directory {site}, or open its index.html.")
    if file:
        with _progress(len(view.ended)) as step:
            text = report.one_file(view, verified, step)
        write_file(file.parent, (file.name, text))
        print(file)
        kilobytes = f"{len(text.encode()) / 1_000:,.0f} KB"
        say(f"{kilobytes} in one file: open it in a browser, print it, or hand it in.")
    for why in missing:
        again = f"league report {shlex.quote(str(directory))} --game FILE.py"
        say(f"{why}. So no result was recomputed and no board drawn; name its file: {again}")
    if findings.difference:
        say(f"Verification found a difference. {lines[0]}")
        click.get_current_context().exit(DIFFERS)


def _rows(directory: JournalPlace) -> list[Row]:
    rows = read_rows(directory) if has_journal(directory) else []
    if not rows:
        raise click.UsageError(no_league(directory))
    return rows


def _check_place(file: Path, mark: str) -> None:
    if file.is_dir():
        raise click.UsageError(f"--out {file} is a directory; type: --out {file / 'report.html'}")
    if file.exists() and not (file.is_file() and mark in _head(file)):
        raise click.UsageError(f"{file} is there and no report; choose another --out")


def _head(file: Path) -> str:
    with file.open("rb") as opened:
        return opened.read(HEAD).decode(errors="replace")


@contextmanager
def _progress(matches: int) -> Iterator[Callable[[], object]]:
    """A bar on a terminal while the pages of many matches are made; a sentence elsewhere."""
    if matches > MANY and is_plain(sys.stderr):
        say(f"{counted(matches, 'match', 'matches')}: this takes a moment.")
    with bar("pages", is_wanted=matches > MANY) as shown:
        yield partial(shown.advance, shown.add_task("Made", total=None))
