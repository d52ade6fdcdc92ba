"""What is said beside the result: on stderr, plainly where it must be, not at all with --quiet.

How tables are printed: for people, or as JSON.

`-v` for `league manager`, `referee` and `player`: what is going on, in words on stderr.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import click
import msgspec

from agentleague.league.standings import Standing
from agentleague.protocol.printable import printable, printable_json
from agentleague.runtime.log import Entry, in_words
from agentleague.runtime.processes import Running

QUIET = "agentleague.quiet"  # in the `meta` that the contexts of a command line share
DEBUG = "agentleague.debug"  # likewise
DULL = ("dumb", "unknown")  # terminals that would show escape codes as rubbish


def say(sentence: str) -> None:
    """Talk goes to stderr, and nowhere with --quiet."""
    if not is_quiet():
        print(printable(sentence), file=sys.stderr, flush=True)


def is_quiet() -> bool:
    """Whether --quiet was given."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))


def is_debugging() -> bool:
    """Whether --debug was given."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(DEBUG))


def is_plain(stream: Any) -> bool:
    """Whether nothing but text may be written there: no colour, no bar that moves."""
    return (
        not stream.isatty()
        or bool(os.environ.get("NO_COLOR"))
        or os.environ.get("TERM", "").lower() in DULL
    )


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 match`, `2 matches`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


WIDTH_ELSEWHERE = 120  # where stdout is no terminal
NARROW = 4  # no column becomes narrower


class Column(NamedTuple):
    """One column: what it shows; in a narrow terminal it may give way, and is cut or wrapped."""

    field: str
    heading: str
    is_text: bool = False
    gives_way: bool = False
    wraps: bool = False


STANDINGS = (
    Column("rank", "Rank"),
    Column("player_id", "Id", True),
    Column("display_name", "Name", True, True),
    Column("played", "Played"),
    Column("wins", "Won"),
    Column("draws", "Drawn"),
    Column("losses", "Lost"),
    Column("technical_losses", "Techn."),
    Column("points", "Points"),
)


def plain(rows: Sequence[Standing]) -> list[dict[str, Any]]:
    """The rows as JSON has them."""
    return [dict(msgspec.structs.asdict(row)) for row in rows]


def print_json(value: Any) -> None:
    """One JSON value on stdout."""
    print(printable_json(value, indent=2 if sys.stdout.isatty() else None))


def print_table(rows: Sequence[Mapping[str, Any]], title: str) -> None:
    """The table of a league on stdout, its first row highlighted."""
    print_rows(rows, STANDINGS, title, lambda row: "bold green" if row["rank"] == 1 else "")


def print_rows(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Column],
    title: str,
    style: Callable[[Mapping[str, Any]], str] = lambda row: "",
) -> None:
    """Any table on stdout, as wide as it needs to be and no wider than the terminal."""
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
    for column, width in zip(columns, _widths(rows, columns, console.width), strict=True):
        justify: Any = "left" if column.is_text else "right"
        table.add_column(column.heading, justify=justify, no_wrap=not column.wraps, width=width)
    for row in rows:
        cells = (Text(shown(row.get(column.field))) for column in columns)
        table.add_row(*cells, style=style(row))
    with console.capture() as captured:  # Rich itself would exit with 1 where nobody reads on.
        console.print(Text(shown(title), style="bold"))  # A table's own title is too narrow.
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def print_facts(facts: Mapping[str, Any], title: str) -> None:
    """A few facts, one a line."""
    rows = [{"fact": name, "value": value} for name, value in facts.items()]
    columns = (Column("fact", "", True), Column("value", "", True, True, True))
    print_rows(rows, columns, title)


def shown(value: Any) -> str:
    """A value as text that is harmless to print, whoever sent it."""
    return "" if value is None else printable(str(value).replace("\n", "?"))


def _widths(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], room: int
) -> Sequence[int]:
    """Only names give way in a narrow terminal: a number that is cut is a wrong number."""
    from rich.cells import cell_len

    widths = [
        max(cell_len(text) for text in (c.heading, *(shown(row.get(c.field)) for row in rows)))
        for c in columns
    ]
    while sum(width + 2 for width in widths) > room:
        yielding = [n for n, c in enumerate(columns) if c.gives_way and widths[n] > NARROW]
        if not yielding:
            break
        widest = max(yielding, key=widths.__getitem__)
        widths[widest] -= 1
    return widths


verbose_option = click.option(
    "-v",
    "--verbose",
    count=True,
    help="Say more: -v what is decided, refused and lost, -vv every message.",
)


def speak_up(agent: Running, verbose: int, say: Callable[[str], None]) -> None:
    """Say what happens to an agent, as much as was asked for: every message if asked twice."""
    if verbose:
        agent.watch(aloud(say), every_message=verbose > 1)


def aloud(say: Callable[[str], None]) -> Callable[[Entry], None]:
    """A sink that says each entry in words."""

    def tell(entry: Entry) -> None:
        sentence = in_words(entry)
        if sentence:
            say(sentence)

    return tell
