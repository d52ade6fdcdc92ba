"""What a journal in PostgreSQL costs beside SQLite: `python benchmarks/postgres_cost.py`.

Both write to the same disk and sync each commit; their runs take turns. First the journals alone:
appends of so many events, one after the other, and with 64 on their way, of one league and of many.
Then whole leagues. Without `--journal` the embedded server of the tests is started.
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from itertools import count
from pathlib import Path
from threading import Semaphore
from time import perf_counter

from agentleague.bench.league_run import LEAGUE, Plan, measure_league
from agentleague.bench.measure import this_machine
from agentleague.cli.bench_text import machine_text
from agentleague.cli.output import Column, print_rows, say
from agentleague.roles.effects import Event
from agentleague.roles.ports import Journal
from agentleague.runtime.clock import wall
from agentleague.runtime.local_league import raise_descriptor_limit
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import open_journal

COLUMNS = (
    Column("what", "Journal", True),
    Column("sqlite", "SQLite, events/s"),
    Column("postgres", "PostgreSQL, events/s"),
)
# Events in an append, appends on their way, leagues.
CASES = [(1, 1, 1), (16, 1, 1), (256, 1, 1), (1, 64, 1), (16, 64, 1), (1, 64, 64)]
_numbers = count()


class Noted(Event, frozen=True, tag="noted"):
    """An event as large as most are."""

    text: str


@contextmanager
def embedded() -> Iterator[str]:
    """The URL of a database of the tests' server, which syncs as a server does."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from postgres_server import empty_database, running

    with running("fsync = on\nfull_page_writes = on\n") as server, empty_database(server) as url:
        yield url


def appends(journal: Journal, case: tuple[int, int, int], seconds: float) -> float:
    """Events per second."""
    size, at_once, leagues = case
    names = [f"cup{next(_numbers)}" for _ in range(leagues)]
    last = {name: journal.claim(name).seq for name in names}
    events = [Noted(text="x" * 200)] * size
    free, appended, began = Semaphore(at_once), 0, perf_counter()
    while perf_counter() - began < seconds:
        name = names[appended % leagues]
        free.acquire()
        journal.append(name, last[name], events, lambda answer: free.release())
        last[name] += size
        appended += 1
    for _ in range(at_once):
        free.acquire()
    return appended * size / (perf_counter() - began)


def journals(url: DatabaseUrl, seconds: float, turns: int) -> None:
    """Both journals in turn."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        opened: dict[str, Callable[[], Journal]] = {
            "sqlite": lambda: open_journal(Path(folder), wall, lambda run: run()),
            "postgres": lambda: open_journal(url, wall, lambda run: run()),
        }
        for case in CASES:
            rates: dict[str, list[float]] = {name: [] for name in opened}
            for _ in range(turns):
                for name, opens in opened.items():
                    with closing(opens()) as journal:
                        rates[name].append(appends(journal, case, seconds))
            size, at_once, leagues = case
            what = f"appends of {size}, {at_once} at once, {leagues} league(s)"
            medians = {name: f"{statistics.median(each):,.0f}" for name, each in rates.items()}
            rows.append({"what": what, **medians})
    print_rows(rows, COLUMNS, "Journals")


def leagues(url: DatabaseUrl, players: int, matches: int, turns: int) -> None:
    """Whole leagues over HTTP, in turn."""
    from psycopg import connect

    rates: dict[str, list[float]] = {"sqlite": [], "postgres": []}
    for _ in range(turns):
        for name, each in rates.items():
            plan = Plan(
                players, 2, matches, 4, journal=url if name == "postgres" else None, has_files=False
            )
            with connect(url.conninfo) as connection:
                for table in ("rows", "kept", "owners"):
                    of = f"DELETE FROM agentleague.{table} WHERE league_id = %s"
                    connection.execute(of.encode(), [LEAGUE])
            measured = measure_league(plan)
            each.append(measured.matches / measured.seconds)
            say(f"{name}: {each[-1]:,.0f} matches/s")
    for name, each in rates.items():
        say(f"{name}: median {statistics.median(each):,.0f} matches/s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--journal", default=os.environ.get("LEAGUE_JOURNAL"))
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--players", type=int, default=60)
    parser.add_argument("--matches", type=int, default=1500)
    asked = parser.parse_args()
    raise_descriptor_limit()
    say(machine_text(this_machine(Path(tempfile.gettempdir()))))
    with nullcontext(asked.journal) if asked.journal else embedded() as at:
        url = DatabaseUrl.parse(at)
        journals(url, asked.seconds, asked.turns)
        leagues(url, asked.players, asked.matches, asked.turns)


if __name__ == "__main__":
    main()
