"""`league repair`: save what is left of a damaged league, in a new directory."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from agentleague.cli.directory import SECRETS, check_new, directory_argument, start_command
from agentleague.cli.output import counted, how_far, listed, say
from agentleague.errors import LeagueError
from agentleague.league.event_text import sentence
from agentleague.protocol.printable import one_line
from agentleague.records.reading import event_of, no_league, open_league
from agentleague.roles.ports import Row
from agentleague.storage.directory import HEAD_NAME, SETTINGS_NAME, has_journal_file
from agentleague.storage.repair import Repaired, repair

ROWS_SHOWN_MAX, MATCHES_SHOWN_MAX = 100, 20
PROGRESS_ROWS = 50_000


@click.command()
@directory_argument(is_path=True)
@click.option(
    "--to",
    required=True,
    metavar="NEW",
    type=click.Path(path_type=Path),
    help="The directory to write: a new one, or an empty one; always needed.",
)
def command(directory: Path, to: Path) -> None:
    """Save what is left of a damaged league: as many rows of its journal as prove themselves, from
    the first one on, and its secrets, in a new directory. It prints what is lost. The damaged
    directory stays as it is.

    Rows that SQLite no longer finds are looked for in its write-ahead log too, where most of them
    are. If rows are lost, the manager of the new directory says so until you let it go on without
    them: league manager --accept-loss.

    league repair ./league --to ./league-repaired
    """
    _check(directory, to)
    made = repair(directory, to, (*SECRETS, SETTINGS_NAME), _show_progress)
    for line in in_words(made, to):
        print(line)
    for line in _next(made, to):
        say(line)


def _check(directory: Path, to: Path) -> None:
    if not has_journal_file(directory) and not (directory / HEAD_NAME).exists():
        raise click.UsageError(no_league(directory))
    check_new(to)
    if to.resolve().is_relative_to(directory.resolve()):
        raise click.UsageError(f"--to {to} lies in {directory}, which stays as it is; name another")


def _show_progress(rows: int) -> None:
    if rows % PROGRESS_ROWS == 0:
        say(f"{rows:,} rows are saved ...")


def in_words(made: Repaired, to: Path) -> Iterator[str]:
    """What was saved, and what is lost."""
    league, _ = open_league(to)
    saved = f"{to} holds {how_far(league)}"
    if made.lost_until == made.last:
        yield f"{saved}. Nothing is lost."
        return
    yield f"{saved}."
    first, last = made.last + 1, made.lost_until
    rows = f"Row {last} is" if first == last else f"Rows {first} to {last} are"
    yield f"{rows} lost."
    undecided = [each.match_id for each in league.matches.values() if not each.decided]
    if undecided:
        shown = listed(undecided, MATCHES_SHOWN_MAX)
        yield f"Without a result now, whatever their players were told: {shown}."
    yield from _unproved(made.unproved)


def _unproved(rows: list[Row]) -> Iterator[str]:
    if not rows:
        return
    yield "Of what is lost this can still be read, but nothing proves it:"
    for row in rows[:ROWS_SHOWN_MAX]:
        yield one_line(f"  row {row.seq}: {_sentence(row)}", ROWS_SHOWN_MAX * 2)
    if len(rows) > ROWS_SHOWN_MAX:
        yield f"  and {counted(len(rows) - ROWS_SHOWN_MAX, 'more row', 'more rows')}"


def _sentence(row: Row) -> str:
    try:
        return sentence(event_of(row))
    except LeagueError:
        return f"{row.kind}, which cannot be read"


def _next(made: Repaired, to: Path) -> Iterator[str]:
    shown = shlex.quote(str(to))
    yield f"Check it with: league verify {shown}"
    missing = [name for name in SECRETS if not (to / name).exists()]
    if missing:
        files = " and ".join(missing)
        yield f"It can be read, but no manager can go on with it: there is no {files} to copy."
        return
    accept = " --accept-loss" if made.lost_until > made.last else ""
    yield f"Go on with: {start_command(to)}{accept}"
