"""The table of a league that goes on, redrawn on a terminal."""

import io
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr

from rich.cells import cell_len
from rich.console import Console
from rich.live import Live
from rich.text import Text

from agentleague.cli.output import Column, counted, shown, standings_columns, widths
from agentleague.cli.progress import COMPLETED, Facts, matches, number, round_in_words, waits

RATE_SECONDS = 10.0  # over which matches a second are counted
BAR_MIN, BAR_MAX = 8, 40
WIDTH_OF_ALL = 64  # below which only some columns are shown
NARROW = {"rank", "moved", "display_name", "technical_losses", "points", "reached", "elo"}
MOVED = Column("moved", "  ", True)  # The others stay in their places.
WAITS_MAX = RESULTS_MAX = 3
ROWS_MIN = 3  # of players; before there are fewer, there are fewer of the others


class LiveTable:
    """A live table on stderr; what others write there is printed above it."""

    def __init__(self, above: int) -> None:
        self._above, self._lines = above, [Text("")]
        self._changes = Changes()
        self._said = _Said()
        console = Console(file=sys.stderr, soft_wrap=True)  # A command is copied as one line.
        self._live = Live(
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._redirected = redirect_stderr(self._said)
        self._redirected.__enter__()
        self._live.start()

    def show(self, status: Facts, rows: Sequence[Facts], now: float) -> None:
        """Draw it anew where something has changed."""
        self._changes.take(status, rows, now)
        console = self._live.console
        height = max(1, console.height - 1 - self._above)
        lines = [*picture(status, rows, self._changes, console.width, height)]
        self._print_said()
        if lines != self._lines:
            self._lines = lines
            self._live.update(Text("\n").join(lines), refresh=True)

    def stop(self) -> None:
        """Take it away."""
        self._redirected.__exit__(None, None, None)
        self._print_said()
        self._live.stop()

    def _print_said(self) -> None:
        said = "".join(self._said.take())
        if said:
            self._live.console.print(Text(said.removesuffix("\n")))


class _Said(io.TextIOBase):
    """Keeps what is written until it can be shown; threads may write, too."""

    def __init__(self) -> None:
        self._texts: deque[str] = deque()

    def write(self, text: str) -> int:
        self._texts.append(text)
        return len(text)

    def take(self) -> Iterator[str]:
        while self._texts:
            yield self._texts.popleft()


class Changes:
    """What is remembered of a league to show how it changes."""

    def __init__(self) -> None:
        self._decided: deque[tuple[float, int]] = deque()
        self._rounds = self._decided_then = -1
        self._ranks: list[dict[str, int]] = [{}, {}]  # after the last two rounds

    def take(self, status: Facts, rows: Sequence[Facts], now: float) -> None:
        """The league as it is now."""
        rounds, decided = number(status, "rounds_completed"), number(status, "matches_completed")
        self._decided.append((now, decided))
        while self._decided[0][0] < now - RATE_SECONDS:
            self._decided.popleft()
        if rounds != self._rounds:
            self._rounds, self._decided_then = rounds, decided
            ranks = {row["player_id"]: number(row, "rank") for row in rows if rounds}
            self._ranks = [self._ranks[1], ranks]

    def rate(self) -> float:
        """Matches a second of late."""
        (first, before), (last, after) = self._decided[0], self._decided[-1]
        return (after - before) / (last - first) if last > first else 0.0

    def moved(self, row: Facts) -> str:
        """By how much a player rose or fell in this round, or the last until a match is decided."""
        ranks = self._ranks[self._decided[-1][1] > self._decided_then]
        up = ranks.get(row["player_id"], number(row, "rank")) - number(row, "rank")
        return f"{'▲' if up > 0 else '▼'}{abs(up)}" if up else ""


def picture(
    status: Facts, rows: Sequence[Facts], changes: Changes, width: int, height: int
) -> Iterator[Text]:
    """The lines of the view, which fit a terminal of this size."""
    head = [*_head(status, changes, width), *map(Text, status.get("evidence") or ())]
    waiting = [Text(words, style="yellow") for words in waits(status)]
    results = [_result(match, width < WIDTH_OF_ALL) for match in status.get("last_results") or ()]
    room = height - len(head) - 2 - min(ROWS_MIN, len(rows))
    waiting = waiting[: max(0, min(WAITS_MAX, room))]
    results = results[: max(0, min(RESULTS_MAX, room - len(waiting)))]
    below = [*waiting, *results]
    room = height - len(head) - len(below) - 2
    lines = [*head, *_table(rows, changes, width, room), *below]
    for line in lines[:height]:
        line.truncate(width, overflow="ellipsis")
        yield line


def _head(status: Facts, changes: Changes, width: int) -> Iterator[Text]:
    current, league_id = number(status, "current_round"), shown(status.get("league_id"))
    if not current:
        wanted = {kind: number(status, f"{kind}_wanted") for kind in ("players", "referees")}
        there = (f"{number(status, k)}{f' of {n}' if n else ''} {k}" for k, n in wanted.items())
        yield Text(f"{' and '.join(there)} are here{_mark(status)}").append(f"  {league_id}", "dim")
        return
    line = Text(round_in_words(status), style="bold")
    yield line.append(_mark(status), "yellow").append(f"  {league_id}", "not bold dim")
    words = f"{matches(status)}, {changes.rate():.{int(changes.rate() < 10)}f}/s"
    done, total = number(status, "matches_completed"), max(1, number(status, "total_matches"))
    length = min(BAR_MAX, width - len(words) - 2)
    bar = Text()
    if length >= BAR_MIN:
        full = length * min(done, total) // total
        bar.append("━" * full, "green").append("━" * (length - full), "bright_black").append("  ")
    yield bar.append(words)


def _mark(status: Facts) -> str:
    journal = {"away": ", the database is away", "full": ", the disk is full"}
    if status.get("journal") in journal:
        return journal[str(status["journal"])]
    marks = {"away": ", manager away", "aborted": ", aborted", "paused": ", paused"}
    over = ", over" if status.get("status") == COMPLETED else ""
    return next((words for field, words in marks.items() if status.get(field)), over)


def _table(rows: Sequence[Facts], changes: Changes, width: int, room: int) -> Iterator[Text]:
    if not rows or room < 1:
        return
    is_cut = len(rows) > room
    shown_rows = [{**row, "moved": changes.moved(row)} for row in rows[: room - is_cut]]
    first, *others = standings_columns(rows)
    columns: Sequence[Column] = (first, MOVED, *others)
    if width < WIDTH_OF_ALL:
        columns = [column for column in columns if column.field in NARROW]
    sizes = widths(shown_rows, columns, width)
    yield _line({column.field: column.heading for column in columns}, columns, sizes, "dim")
    for row in shown_rows:
        yield _line(row, columns, sizes, "bold" if row.get("rank") == 1 else "")
    if is_cut:
        yield Text(f"… {counted(len(rows) - len(shown_rows), 'more player')}", style="dim")
    yield Text("")


def _line(row: Facts, columns: Sequence[Column], sizes: Sequence[int], style: str) -> Text:
    line = Text(style=style)
    for column, size in zip(columns, sizes, strict=True):
        cell = Text(shown(row.get(column.field)), style=_style(column.field, row))
        cell.truncate(size, overflow="ellipsis")
        space = " " * (size - cell_len(cell.plain))
        parts = (cell, space) if column.is_text else (space, cell)
        line = line.append(parts[0]).append(parts[1]).append("  ")
    line.rstrip()
    return line


def _style(field: str, row: Facts) -> str:
    if field == "moved":
        return {"▲": "green", "▼": "red"}.get(row[field][:1], "")
    return "bold red" if field == "technical_losses" and number(row, field) else ""


def _result(match: Facts, is_narrow: bool) -> Text:
    names = match.get("names") or {}
    ids = [match.get("player_A_id"), match.get("player_B_id")]
    winner = match.get("winner_player_id")
    if winner == ids[1]:
        ids.reverse()
    first, second = (
        str(names.get(each, each)) if is_narrow else f"{each} {names.get(each, '')}".rstrip()
        for each in ids
    )
    is_technical = match.get("status") == "TECHNICAL_LOSS"
    if match.get("no_contest"):
        words = f"{first} and {second}: no contest"
    elif winner:
        lost = f"{second} lost to {first} by technical loss"
        words = lost if is_technical else f"{first} beat {second}"
    else:
        words = f"{first} and {second} {'both lost by technical loss' if is_technical else 'drew'}"
    return Text(shown(f"{match.get('match_id')}: {words}"), style="red" if is_technical else "")
