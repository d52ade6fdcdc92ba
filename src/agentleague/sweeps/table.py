"""What a sweep writes: parts as leagues end, and in the end one table and its summary.

The parts are a file of lines: what all leagues depend on (the version, and digests of files), then
a line for each league, which says what league it is. So a plan may grow or shrink: what it names
and what is kept is used. Files that are named later have a line of their own. A process that is
killed leaves at most half a line, which is dropped when the same command goes on.
"""

import csv
import math
import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from importlib.util import find_spec
from operator import add
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from agentleague.errors import LeagueError
from agentleague.runtime.settings import SettingError
from agentleague.storage.lock import set_lock
from agentleague.sweeps.leagues import Outcome, Pair, Rating, rated
from agentleague.sweeps.plan import PACKAGE, Key, Plan

OURS = b'{"%b":"' % PACKAGE.encode()  # So parts begin.
TABLES = (".csv", ".parquet", ".summary.csv")
INSTALL_PARQUET = "python -m pip install pyarrow"
ROWS_A_GROUP = 100_000  # of Parquet, held at once
COLUMNS = {  # of the table; the types are those of Parquet
    **{"league": "int64", "game": "string", "format": "string", "options": "string"},
    **{"seed": "int64", "matches": "int64", "player": "string", "rank": "int64"},
    **{"points": "int64", "wins": "int64", "draws": "int64", "losses": "int64"},
    **{"technical_losses": "int64", "champion": "bool_"},
    **{"rating": "float64", "low": "float64", "high": "float64"},
}
SUMMARY = (
    *("game", "format", "options", "player", "leagues", "champion", "mean_rank"),
    *("wins", "draws", "losses", "technical_losses", "rating", "low", "high"),
)
COUNTED = ("rank", "champion", "wins", "draws", "losses", "technical_losses")
NONE, NOTHING = (-math.inf,), (None, None, None)  # of a player that has no rating
Values = Mapping[str, Any]  # of a row, by column


class Head(Struct, frozen=True, array_like=True):
    """The beginning of an outcome."""

    key: Key


class Numbers:
    """Finds a league in a plan."""

    def __init__(self, plan: Plan) -> None:
        self._games = {name: n for n, name in enumerate(plan.games)}
        self._settings = {(each.format, each.options): n for n, each in enumerate(plan.settings)}
        self._players = {name: n for n, name in enumerate(plan.named)}
        self._sets = {tuple(each): n for n, each in enumerate(plan.sets)}
        self._seeds = {seed: n for n, seed in enumerate(plan.seeds)}
        self._seeding = plan.seeding

    def of(self, key: Key) -> int | None:
        """Its number; None if the plan has no such league."""
        players = tuple(self._players.get(each, -1) for each in key.players)
        found: list[tuple[Sized, int | None]] = [
            (self._games, self._games.get(key.game)),
            (self._settings, self._settings.get((key.format, key.options))),
            (self._sets, self._sets.get(players)),
            (self._seeds, self._seeds.get(key.seed)),
        ]
        number = 0
        for all_of_them, n in found:
            if n is None or key.seeding != self._seeding:
                return None
            number = number * len(all_of_them) + n
        return number + 1


class Parts:
    """The results so far; one process at a time has them open."""

    def __init__(self, path: Path, plan: Plan, *, again: bool = False) -> None:
        """Open or begin them.

        Raises:
            SettingError: a file that would be replaced is not of a sweep.
            LeagueError: what they depend on changed, and not `again`; or another process has them.
        """
        _check_ours(path)
        self.path, self._plan = path, plan
        self._offsets = array("q", [-1]) * (plan.leagues + 1)
        self.done = 0
        self._file: IO[bytes] = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        try:
            self._open(again)
        except BaseException:
            self._file.close()  # And with it the lock.
            raise

    def _open(self, again: bool) -> None:
        try:
            set_lock(self._file.fileno(), True)
        except (BlockingIOError, PermissionError):
            raise LeagueError(f"another `league sweep` writes {self.path}; wait for it") from None
        if again:
            self._file.truncate(0)
        self._read()

    def _read(self) -> None:
        identity, known = self._plan.identity(), dict[str, str]()
        numbers, head, end = Numbers(self._plan), msgspec.json.Decoder(Head), 0
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            try:
                if line.startswith(b"{"):
                    known |= msgspec.json.decode(line, type=dict[str, str])
                elif number := numbers.of(head.decode(line).key):
                    self._note(number, end)
            except msgspec.DecodeError:
                raise self._other("this program") from None
            end += len(line)
        changed = sorted(n for n in identity if known.get(n, identity[n]) != identity[n])
        if changed:
            raise self._other(", ".join(changed))
        self._file.truncate(end)
        self._file.seek(end)
        if identity.items() - known.items():
            self._file.write(msgspec.json.encode(identity) + b"\n")
            self._file.flush()

    def _other(self, changed: str) -> LeagueError:
        return LeagueError(
            f"{self.path} has the results of another sweep: changed since is {changed}. Keep them "
            "and write elsewhere with --out NAME, or play all leagues anew with --again"
        )

    def _note(self, number: int, offset: int) -> None:
        self.done += self._offsets[number] < 0
        self._offsets[number] = offset

    def missing(self) -> Iterator[int]:
        """The leagues that are still to be played."""
        return (number for number in self._plan.order() if self._offsets[number] < 0)

    def add(self, number: int, line: bytes) -> None:
        """Keep the outcome of a league."""
        self._file.seek(0, os.SEEK_END)
        self._note(number, self._file.tell())
        self._file.write(line)
        self._file.flush()  # What the system has, outlives this process.

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """All outcomes with their numbers, in the order of the plan."""
        decoder = msgspec.json.Decoder(Outcome)
        for number, offset in enumerate(self._offsets):
            if offset >= 0:
                self._file.seek(offset)
                yield number, decoder.decode(self._file.readline())

    def close(self) -> None:
        """Let another process have them."""
        set_lock(self._file.fileno(), False)
        self._file.close()


def _check_ours(parts: Path) -> None:
    """Parts begin as ours, or are empty and beside them are no tables."""
    begin = b""
    if parts.exists():
        with parts.open("rb") as file:
            begin = file.read(len(OURS))
    tables = (parts.with_suffix(ending) for ending in TABLES)
    there = [parts] if begin else [each for each in tables if each.exists()]
    if begin != OURS and there:
        what = "is there, and nothing says that a sweep wrote it"
        raise SettingError(f"{there[0]} {what}; choose another name with --out NAME, or move it")


class Summary:
    """The whole sweep, by game and format."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._totals: dict[int, dict[int, Counter[str]]] = {}
        self._pairs: dict[int, dict[Pair, list[int]]] = {}

    def count(self, number: int, outcome: Outcome) -> None:
        """Add a league."""
        players = self._plan.set_of(number)
        where = (number - 1) // (len(self._plan.sets) * len(self._plan.seeds))
        totals, pairs = self._totals.setdefault(where, {}), self._pairs.setdefault(where, {})
        for row in outcome.rows:
            facts = {name: getattr(row, name) for name in COUNTED}
            totals.setdefault(players[row.player], Counter()).update(facts, leagues=1)
        for (first, second), score in outcome.pairs:
            sums = pairs.setdefault((players[first], players[second]), [0, 0, 0])
            sums[:] = map(add, sums, score)

    def rows(self) -> Iterator[Values]:
        """A row for each player in each game and format, the best rating first."""
        for where, totals in sorted(self._totals.items()):
            setting = self._plan.settings[where % len(self._plan.settings)]
            about = {"game": self._plan.games[where // len(self._plan.settings)]}
            about |= {"format": setting.format, "options": setting.options}
            ratings = rated(sorted(self._pairs[where].items()))
            best = sorted(totals, key=lambda each: (-(ratings.get(each) or NONE)[0], each))
            for player in best:
                total = totals[player]
                values = {
                    **about,
                    **total,
                    "player": self._plan.names[player],
                    "mean_rank": round(total["rank"] / total["leagues"], 3),
                    **_shown(ratings.get(player)),
                }
                yield {name: values[name] for name in SUMMARY}


def write_all(
    plan: Plan, outcomes: Iterable[tuple[int, Outcome]], out: Path
) -> tuple[list[Values], list[Path]]:
    """Write OUT.csv, OUT.parquet where that can be written, and OUT.summary.csv.

    The rows of the summary, and the files.
    """
    summary = Summary(plan)
    paths = [beside(out, ending) for ending in TABLES]
    with _csv(paths[0], COLUMNS) as write, _parquet(paths[1]) as write_too:
        for number, outcome in outcomes:
            summary.count(number, outcome)
            for row in rows(plan, number, outcome):
                write(row)
                write_too(row)
    total = list(summary.rows())
    with _csv(paths[2], SUMMARY) as write:
        for row in total:
            write(row)
    return total, [path for path in paths if path.suffix != ".parquet" or has_parquet()]


def beside(out: Path, ending: str) -> Path:
    """A file of this sweep."""
    return out.with_name(out.name + ending)


def rows(plan: Plan, number: int, outcome: Outcome) -> Iterator[Values]:
    """The rows of the table for a league, best player first."""
    key, players = outcome.key, plan.set_of(number)
    about = {
        "league": number,
        "game": key.game,
        "format": key.format,
        "options": key.options,
        "seed": key.seed,
        "matches": outcome.matches,
    }
    for row in outcome.rows:
        facts = msgspec.structs.asdict(row)
        yield {**about, **facts, "player": plan.names[players[row.player]], **_shown(row.rating)}


def _shown(rating: Rating | None) -> Values:
    return dict(zip(("rating", "low", "high"), rating or NOTHING, strict=True))


Write = Callable[[Values], None]


@contextmanager
def _csv(path: Path, columns: Iterable[str]) -> Iterator[Write]:
    with _replacing(path) as new, new.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(columns), lineterminator="\n")
        writer.writeheader()
        yield writer.writerow


@contextmanager
def _parquet(path: Path) -> Iterator[Write]:
    if not has_parquet():
        path.unlink(missing_ok=True)  # It would lack what the others have.
        yield lambda row: None
        return
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    schema = pyarrow.schema([(name, getattr(pyarrow, kind)()) for name, kind in COLUMNS.items()])
    waiting: list[Values] = []
    # Opened here: pyarrow takes a name with a colon for an address.
    with _replacing(path) as new, new.open("wb") as file, ParquetWriter(file, schema) as writer:

        def flush() -> None:
            writer.write_table(pyarrow.Table.from_pylist(waiting, schema))
            waiting.clear()

        def write(row: Values) -> None:
            waiting.append(row)
            if len(waiting) == ROWS_A_GROUP:
                flush()

        yield write
        flush()


def has_parquet() -> bool:
    """Whether Parquet can be written here."""
    return find_spec("pyarrow") is not None


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A file that takes the place of another when it is whole."""
    new = beside(path, ".new")
    try:
        yield new
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
