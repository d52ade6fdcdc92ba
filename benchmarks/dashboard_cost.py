"""What pages cost a league: `python benchmarks/dashboard_cost.py --players 100`.

Leagues without a dashboard, with one that nobody looks at, and with one at which many look, in
turn. All share the processors of this machine, also those who look, which are one process here.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from agentleague.bench.league_run import Measurement, Plan, measure_league
from agentleague.bench.measure import temporary_folder, this_machine
from agentleague.cli.bench_text import machine_text
from agentleague.cli.output import Column, print_json, print_rows, say
from agentleague.runtime.local_league import raise_descriptor_limit

REFEREES, PLAYER_PROCESSES = 2, 4
SHOWN = ("/", "/standings", "/schedule", "/cross-table", "/standings?projector")
LOOK_SECONDS = 0.02  # between two looks whether the league's folder is there
COLUMNS = (
    Column("pages", "Open pages", True),
    Column("rate", "Matches/s"),
    Column("manager", "Manager CPU us/match"),
    Column("share", "Dashboard, % of a core"),
    Column("kilobytes", "KB sent"),
)
KINDS: dict[str, int | None] = {"no dashboard": None, "none": 0, "many": 50}
IMPORT = "import agentleague.sdk"
IMPORTS = 7


class Watched(NamedTuple):
    """One league, and what its dashboard did meanwhile."""

    rate: float
    manager_seconds: float  # of CPU for a match
    cpu_seconds: float
    seconds: float
    bytes_sent: int


class Viewers:
    """A dashboard for the league that begins in a folder, and event streams to it, in a thread."""

    def __init__(self, folder: Path, pages: int) -> None:
        self._folder, self._pages = folder, pages
        self._ended = Event()
        self.bytes_sent, self.cpu_seconds = 0, 0.0
        self._thread = Thread(target=self._look)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Look as long as the block lasts."""
        self._thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self._thread.join()

    def _look(self) -> None:
        while not (found := [*self._folder.glob("*/journal.sqlite")]):
            if self._ended.wait(LOOK_SECONDS):
                return
        words = ["dashboard", str(found[0].parent), "--beside", "--port", "0"]
        pipe = subprocess.PIPE
        child = subprocess.Popen(
            [sys.executable, "-m", "agentleague", *words], stdin=pipe, stdout=pipe, text=True
        )
        assert child.stdin
        assert child.stdout
        port = int(child.stdout.readline().rpartition(":")[2].strip("/\n"))
        asyncio.run(self._read(port))
        child.stdin.close()
        _, _, used = os.wait4(child.pid, 0)
        child.returncode = 0
        self.cpu_seconds = used.ru_utime + used.ru_stime

    async def _read(self, port: int) -> None:
        streams = [
            asyncio.create_task(self._stream(port, SHOWN[number % len(SHOWN)]))
            for number in range(self._pages)
        ]
        await asyncio.to_thread(self._ended.wait)
        for stream in streams:
            stream.cancel()
        for outcome in await asyncio.gather(*streams, return_exceptions=True):
            if not isinstance(outcome, asyncio.CancelledError):
                raise RuntimeError(f"a stream ended by itself: {outcome!r}")

    async def _stream(self, port: int, page: str) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"GET /events?page={page} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip"
        writer.write(f"{head}\r\n\r\n".encode())
        with suppress(ConnectionError):
            while piece := await reader.read(65_536):
                self.bytes_sent += len(piece)


def main() -> None:
    """Measure leagues of each kind in turn, then print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", type=int, default=100)
    parser.add_argument("--pages", type=int, default=KINDS["many"], help="that are open")
    parser.add_argument("--matches", type=int, default=10_000, help="of a league, about")
    parser.add_argument("--rounds", type=int, default=5, help="leagues of each kind")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    raise_descriptor_limit()
    folder = temporary_folder()
    plan = Plan(options.players, REFEREES, options.matches, PLAYER_PROCESSES, directory=folder)
    rows = compare(plan, {**KINDS, "many": options.pages}, options.rounds)
    player = import_milliseconds()
    if options.json:
        machine = this_machine(folder)._asdict()
        print_json({"kinds": rows, "import_milliseconds": player, "machine": machine})
        return
    title = f"{options.players} players; {machine_text(this_machine(folder))}"
    print_rows(rows, COLUMNS, title)
    print(f"A player is imported in {player:.0f} ms.")


def compare(plan: Plan, kinds: dict[str, int | None], rounds: int) -> list[dict[str, str]]:
    """A row of medians for each kind."""
    found: dict[str, list[Watched]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind, pages in kinds.items():
            found[kind].append(_watched(plan, pages))
            say(f"{kind}: {_row(kind, found[kind][-1:])}")
    return [_row(kind, watched) for kind, watched in found.items()]


def _watched(plan: Plan, pages: int | None) -> Watched:
    with tempfile.TemporaryDirectory(dir=plan.directory) as name:
        plan = replace(plan, directory=Path(name))
        if pages is None:
            league = measure_league(plan)
            return _of(league)
        viewers = Viewers(Path(name), pages)
        with viewers.looking():
            league = measure_league(plan)
    return _of(league, viewers.cpu_seconds, viewers.bytes_sent)


def _of(league: Measurement, cpu_seconds: float = 0.0, bytes_sent: int = 0) -> Watched:
    rate, cost = league.matches / league.seconds, league.per_match("cpu_seconds")["manager"]
    return Watched(rate, cost, cpu_seconds, league.seconds + league.startup_seconds, bytes_sent)


def _row(kind: str, watched: Sequence[Watched]) -> dict[str, str]:
    rate = statistics.median(each.rate for each in watched)
    share = statistics.median(each.cpu_seconds / each.seconds for each in watched)
    sent = statistics.median(each.bytes_sent for each in watched)
    cost = statistics.median(each.manager_seconds for each in watched) * 1e6
    shown = {"rate": f"{rate:,.0f}", "manager": f"{cost:,.0f}"}
    figures = {**shown, "share": f"{share:.0%}", "kilobytes": f"{sent / 1e3:,.0f}"}
    return {"pages": kind, **figures}


def import_milliseconds() -> float:
    """How long a player's program takes to import the package, beyond Python itself."""
    code = f"import time; began = time.perf_counter(); {IMPORT}; print(time.perf_counter() - began)"
    times = [
        float(subprocess.check_output([sys.executable, "-c", code], text=True))
        for _ in range(IMPORTS)
    ]
    return 1e3 * statistics.median(times)


if __name__ == "__main__":
    main()
