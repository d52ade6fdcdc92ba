"""What commands print: tables or JSON on stdout; sentences, progress and the log on stderr."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from agentleague.protocol.printable import counted as counted
from agentleague.protocol.printable import duration, printable, printable_json

if TYPE_CHECKING:
    from agentleague.league.league import League
    from agentleague.league.standings import Standing
    from agentleague.runtime.log import Entry
    from agentleague.runtime.processes import Running

QUIET = "agentleague.quiet"  # in the `meta` that the contexts of a command line share
DEBUG = "agentleague.debug"  # likewise
DUMB_TERMINALS = ("dumb", "unknown")  # They print escape codes as text.


def say(sentence: str) -> None:
    """Print a sentence on stderr, unless --quiet was given."""
    if not is_given(QUIET):
        with suppress(OSError):  # Where both go to one file, the result comes before this.
            sys.stdout.flush()
        print(printable(sentence), file=sys.stderr, flush=True)


def write_to_change(
    file: Path, text: str, then: str, command: str, *, advice: str = "; choose another name"
) -> None:
    """Write a new file for the user to change, and say what to do with it then."""
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise click.ClickException(f"{file} exists already and is not changed{advice}") from None
    say(f"{file} is written. Change it as you like, then {then} with:")
    say(f"  {command}")


def is_given(flag: str) -> bool:
    """Whether --quiet (QUIET) or --debug (DEBUG) was given."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(flag))


def is_plain(stream: Any) -> bool:
    """Whether only text may be written there: no colour, no moving bar."""
    return (
        not stream.isatty()
        or bool(os.environ.get("NO_COLOR"))
        or os.environ.get("TERM", "").lower() in DUMB_TERMINALS
    )


def listed(names: Sequence[str], most: int) -> str:
    """The first of these, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def time_until(at: str) -> str:
    """`in 2 h 3 min`, `now`, or nothing for what is no timestamp: a foreign manager may send it."""
    from agentleague.protocol.timestamps import moment
    from agentleague.runtime.clock import wall

    try:
        left = moment(at) - wall()
    except ValueError:
        return ""
    return f"in {duration(left)}" if left > 0 else "now"


def starting(start_at: str, registered: object) -> str:
    """`at 18:00 UTC+01:00 (in 2 h 3 min), 4 registered`."""
    from datetime import datetime

    when = time_until(start_at)
    if not when:
        return f"at {start_at}"
    if when == "now":
        when = "as soon as all are there that it needs"
    day = "%Y-%m-%d " if " d" in when else ""
    clock = datetime.fromisoformat(start_at).strftime(f"{day}%H:%M %Z")
    return f"at {clock} ({when}), {registered} registered"


def how_far(league: "League") -> str:
    """How much of a league there is."""
    matches = counted(league.total_matches, "match", "matches")
    return (
        f"{counted(league.seq, 'row')} of {league.rules.league_id}: "
        f"{counted(len(league.roster.players), 'player')}, round {league.round_id}"
        f"{f' of {league.total_rounds}' if league.is_length_known else ''}, "
        f"{league.decided_total:,} of {matches} decided"
    )


WIDTH_ELSEWHERE = 120  # where stdout is not a terminal
WIDTH_MIN = 4  # of a column
NAME_MIN = 14  # of a column that shrinks, before others leave
NOTES_MAX = 10  # below a table
ROWS_MAX = 40  # of a table on a terminal, unless all are wanted


class Column(NamedTuple):
    """One column of a table; in a narrow terminal it may shrink, and is then cut or wrapped, or it
    may leave.
    """

    field: str
    heading: str
    is_text: bool = False
    shrinks: bool = False
    wraps: bool = False
    leaves: int = 0  # where there is no room: those with more leave first, with 0 never


WIDTH_OF_ALL = 70  # below which no column says what decided between equal points
BYES = Column("bye_points", "Byes", leaves=3)  # the points for them
TECHNICAL = Column("technical_losses", "Techn.")
STANDINGS = (
    Column("rank", "Rank"),
    Column("player_id", "Id", True),
    Column("display_name", "Name", True, True),
    Column("played", "Played"),
    Column("wins", "Won"),
    Column("draws", "Drawn"),
    Column("losses", "Lost"),
    TECHNICAL,
    Column("points", "Points"),
)


MERITS = {  # what ranks players beside points, where a format has it
    "reached": Column("reached", "Reached", True, True),
    "elo": Column("elo", "Elo"),
}
BY_OPPONENTS = {
    "buchholz": Column("buchholz", "Buchh.", leaves=4),
    "sonneborn_berger": Column("sonneborn_berger", "S.-B.", leaves=5),
}


def standings_columns(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """The columns of a table: the usual ones, and those that its format has beside them."""
    first: Mapping[str, Any] = rows[0] if rows else {}
    before = [column for name, column in MERITS.items() if name in first]
    after = [column for name, column in BY_OPPONENTS.items() if name in first]
    usual = list(STANDINGS[3:])
    if (before or after) and not any(row.get("technical_losses") for row in rows):
        usual.remove(TECHNICAL)  # Names need the room.
    byes = [BYES] if any(row.get("bye_points") for row in rows) else []
    return [*STANDINGS[:3], *before, *usual[:-1], *byes, usual[-1], *after]


def print_notes(rows: Sequence[Mapping[str, Any]]) -> None:
    """Below a table: who came late or was removed, and when."""
    notes = [f"{row['player_id']} {row['note']}" for row in rows if row.get("note")]
    if notes:
        print(shown(f"{'; '.join(notes[:NOTES_MAX])}{'; …' if len(notes) > NOTES_MAX else '.'}"))


def row_dicts(rows: Sequence["Standing"]) -> list[dict[str, Any]]:
    """The rows of a table as JSON has them."""
    import msgspec

    return [dict(msgspec.to_builtins(row)) for row in rows]


def print_json(value: Any) -> None:
    """One JSON value on stdout."""
    print(printable_json(value, indent=2 if sys.stdout.isatty() else None))


def print_table(
    rows: Sequence[Mapping[str, Any]], title: str, rest: str = "", beside: Sequence[Column] = ()
) -> None:
    """The table of a league on stdout; with `rest`, what prints all of it, a long one is cut."""
    left_out = max(0, len(rows) - ROWS_MAX) if rest and sys.stdout.isatty() else 0
    columns = standings_columns(rows)
    is_narrow = get_terminal_size().columns < WIDTH_OF_ALL
    is_seen = is_narrow or any(column.field in BY_OPPONENTS for column in columns)
    if any("tie_break" in row for row in rows) and not is_seen:
        place = columns.index(STANDINGS[-1])
        columns.insert(place, Column("decided", "Tie-break", True, True))
        rows = [{**row, "decided": row.get("tie_break", "").replace("_", " ")} for row in rows]
    cut = rows[: len(rows) - left_out]
    print_rows(cut, (*columns, *beside), title, first_is_bold)
    print_rest(left_out, rest)
    print_notes(cut)


def first_is_bold(row: Mapping[str, Any]) -> str:
    """The style of a row of a ranking."""
    return "bold green" if row["rank"] == 1 else ""


def print_rest(left_out: int, rest: str) -> None:
    """Below a table of which so many rows are left out: what prints all of it."""
    if left_out:
        print(f"… {counted(left_out, 'more player')}; see all with: {rest}")


def print_rows(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Column],
    title: str,
    style: Callable[[Mapping[str, Any]], str] = lambda row: "",
) -> Sequence[Column]:
    """Any table on stdout, as wide as it needs to be and no wider than the terminal; the columns
    for which there was room.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_header=any(column.heading for column in columns),
    )
    console = Console(
        width=None if sys.stdout.isatty() else WIDTH_ELSEWHERE,
        force_terminal=False if is_plain(sys.stdout) else None,
    )
    columns = fitting(rows, columns, console.width)
    for column, width in zip(columns, widths(rows, columns, console.width), strict=True):
        justify: Any = "left" if column.is_text else "right"
        table.add_column(column.heading, justify=justify, no_wrap=not column.wraps, width=width)
    for row in rows:
        cells = (Text(shown(row.get(column.field))) for column in columns)
        table.add_row(*cells, style=style(row))
    with console.capture() as captured:  # Rich itself would exit with 1 at a broken pipe.
        console.print(Text(shown(title), style="bold"))  # That of a rich table wraps at its width.
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))
    return columns


def print_facts(facts: Mapping[str, Any], title: str) -> None:
    """A few facts, one a line."""
    rows = [{"fact": name, "value": value} for name, value in facts.items()]
    columns = (Column("fact", "", True), Column("value", "", True, True, True))
    print_rows(rows, columns, title)


def shown(value: Any) -> str:
    """A value as one line of printable text."""
    return "" if value is None else printable(str(value).replace("\n", "?"))


def fitting(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], room: int
) -> Sequence[Column]:
    """The columns for which a terminal has room, as far as the others may leave."""
    least = {
        column: min(width, NAME_MIN) if column.shrinks else width
        for column, width in zip(columns, _wanted(rows, columns), strict=True)
    }
    leaving = sorted((each for each in columns if each.leaves), key=lambda each: each.leaves)
    while leaving and sum(width + 2 for width in least.values()) > room:
        del least[leaving.pop()]
    return list(least)


def _wanted(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> list[int]:
    """How wide each column is if there is room."""
    from rich.cells import cell_len

    return [
        max(cell_len(text) for text in (c.heading, *(shown(row.get(c.field)) for row in rows)))
        for c in columns
    ]


def widths(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], room: int
) -> Sequence[int]:
    """Only names shrink in a narrow terminal: a number that is cut is a wrong number."""
    found = _wanted(rows, columns)
    while sum(width + 2 for width in found) > room:
        shrinkable = [n for n, c in enumerate(columns) if c.shrinks and found[n] > WIDTH_MIN]
        if not shrinkable:
            break
        widest = max(shrinkable, key=found.__getitem__)
        found[widest] -= 1
    return found


def bar(noun: str, *, is_long: bool = False, is_wanted: bool = True) -> Any:
    """A bar of rich on a terminal, unless --quiet was given: how many of these are done, and how
    long it will take.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    rest = (TimeRemainingColumn(), TextColumn("left")) if is_long else ()
    is_off = not is_wanted or is_plain(sys.stderr) or is_given(QUIET)
    console = Console(stderr=True, quiet=is_off)  # Else some versions print a line at the end.
    return Progress(*columns, TextColumn(noun), *rest, console=console, disable=is_off)


verbose_option = click.option(
    "-v",
    "--verbose",
    count=True,
    help="Say more: -v what is decided, refused and lost, -vv every message.",
)


def log_to_stderr(agent: "Running", verbose: int) -> None:
    """Print what happens to an agent: with -v the log, with -vv every message too."""
    from agentleague.runtime.log import in_words

    def write(entry: "Entry") -> None:
        if sentence := in_words(entry):
            say(sentence)

    if verbose:
        agent.watch(write, every_message=verbose > 1)
