"""Where the leagues of a sweep are played: processes of this machine, or Ray.

An engine plays batches of leagues and says when one is done. A process that dies takes its batch
with it: those leagues are tried once more, each alone, so that the one to blame can be named.
"""

import gc
import os
import socket
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, Protocol

from agentleague.errors import LeagueError
from agentleague.protocol.printable import one_line
from agentleague.runtime.local_league import cores, ignoring_interrupts
from agentleague.runtime.settings import SettingError
from agentleague.sweeps.leagues import TriedLeague, Work, play_batch

Batch = tuple[int, ...]  # numbers of leagues
BATCH_SECONDS, BATCH_MAX = 0.5, 2_000
OBJECT_STORE_BYTES = 200_000_000  # of a Ray that is started here; what is sent is small
CONNECT_SECONDS = 5.0
INSTALL_RAY = "python -m pip install ray"


class Finished(NamedTuple):
    """A batch that was played, or whose process died."""

    batch: Batch
    played: Sequence[TriedLeague]
    seconds: float
    died: str = ""  # how


class Engine(Protocol):
    """What plays batches."""

    slots: int  # batches that may be under way at once

    def start(self, batch: Batch) -> None:
        """Begin with a batch."""

    def finished(self) -> Iterator[Finished]:
        """Wait until one is done; all that are."""

    def close(self) -> None:
        """End everything that was started."""


def check_engine(where: str) -> None:
    """Raises SettingError if no engine is called so: cores, cores:2, ray or ray:ADDRESS."""
    kind, _, rest = where.partition(":")
    if kind != "ray" and (kind != "cores" or (rest and not (rest.isdecimal() and int(rest)))):
        raise SettingError(f"--on must be cores, cores:2, ray or ray:ADDRESS, not {where!r}")


def open_engine(where: str, work: Work) -> Engine:
    """The engine that was typed. Raises SettingError, and LeagueError where Ray is missing."""
    check_engine(where)
    kind, _, rest = where.partition(":")
    return Ray(work, rest) if kind == "ray" else Cores(work, int(rest or cores()))


def play_all(engine: Engine, numbers: Iterable[int], total: int) -> Iterator[TriedLeague]:
    """Every league once, in the order in which they end; `total` is how many there are."""
    fresh, size = iter(numbers), 1
    alone: deque[int] = deque()  # whose batch died
    suspects: set[int] = set()
    running, left = 0, total
    while True:
        while running < engine.slots:
            batch = (alone.popleft(),) if alone else tuple(islice(fresh, size))
            if not batch:
                break
            engine.start(batch)
            running, left = running + 1, left - len(batch)
        if not running:
            return
        for each in engine.finished():
            running -= 1
            yield from each.played
            if each.died and suspects.issuperset(each.batch):
                yield TriedLeague(each.batch[0], 0, b"", f"its process died twice: {each.died}")
            elif each.died:
                suspects.update(each.batch)
                alone.extend(each.batch)
            else:
                fitting = int(BATCH_SECONDS * len(each.batch) / max(each.seconds, 1e-6))
                size = max(1, min(fitting, BATCH_MAX, left // (2 * engine.slots)))


class Worker(NamedTuple):
    """A process, and the way to it."""

    process: Any
    pipe: Connection


class Cores:
    """Processes of this machine."""

    def __init__(self, work: Work, number: int) -> None:
        self.slots, self._work = number, work
        self._idle: list[Worker] = []
        self._busy: dict[Worker, Batch] = {}

    def start(self, batch: Batch) -> None:
        """Give it to a process that has nothing to do, or to a new one."""
        worker = self._idle.pop() if self._idle else self._new()
        with suppress(OSError):  # It died meanwhile: the end of the pipe will tell.
            worker.pipe.send(batch)
        self._busy[worker] = batch

    def finished(self) -> Iterator[Finished]:
        """See Engine."""
        ready = wait([way for each in self._busy for way in (each.pipe, each.process.sentinel)])
        for worker in list(self._busy):
            if worker.pipe in ready or worker.process.sentinel in ready:
                yield _received(worker, self._busy.pop(worker))
                if worker.process.is_alive():
                    self._idle.append(worker)

    def close(self) -> None:
        """End the processes."""
        for worker in (*self._idle, *self._busy):
            worker.pipe.close()
            worker.process.terminate()
        for worker in (*self._idle, *self._busy):
            worker.process.join()

    def _new(self) -> Worker:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(self._work, theirs), daemon=True)
        with ignoring_interrupts():  # A new process inherits that.
            process.start()
        theirs.close()
        return Worker(process, ours)


def _received(worker: Worker, batch: Batch) -> Finished:
    with suppress(EOFError, OSError):
        if worker.pipe.poll():  # Else it is the process that has ended.
            return Finished(batch, *worker.pipe.recv())
    worker.pipe.close()
    worker.process.kill()
    worker.process.join()
    code = worker.process.exitcode
    return Finished(batch, (), 0.0, f"signal {-code}" if code < 0 else f"exit code {code}")


def _serve(work: Work, pipe: Connection) -> None:
    """Runs in a process of its own, until the first one leaves."""
    gc.freeze()  # The loaded modules stay: collecting them again and again costs time.
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            pipe.send(play_batch(work, pipe.recv()))


class Ray:
    """Tasks of Ray: on a cluster, or, without an address, on a Ray of this machine."""

    def __init__(self, work: Work, address: str) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError:
            raise LeagueError(f"Ray is not installed; type: {INSTALL_RAY}") from None
        here = {
            "num_cpus": cores(),
            "include_dashboard": False,
            "object_store_memory": OBJECT_STORE_BYTES,
        }
        try:
            _check_listens(address)
            ray.init(
                address=address or "local",
                log_to_driver=False,
                logging_level="ERROR",
                **({} if address else here),
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise LeagueError(f"Ray cannot be used: {one_line(str(error))}") from None
        self._ray: Any = ray
        self.slots = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))  # One waits for each.
        self._play = ray.remote(max_retries=0)(play_batch)
        self._work = ray.put(work)
        self._batches: dict[Any, Batch] = {}

    def start(self, batch: Batch) -> None:
        """Hand it to Ray."""
        self._batches[self._play.remote(self._work, batch)] = batch

    def finished(self) -> Iterator[Finished]:
        """See Engine."""
        ready, _ = self._ray.wait(list(self._batches), num_returns=1)
        for reference in ready:
            batch = self._batches.pop(reference)
            try:
                yield Finished(batch, *self._ray.get(reference))
            except self._ray.exceptions.RayError as error:
                yield Finished(batch, (), 0.0, one_line(str(error)))

    def close(self) -> None:
        """Leave the cluster, or end what was started."""
        self._ray.shutdown()


def _check_listens(address: str) -> None:
    """Raises OSError if nobody listens at HOST:PORT: Ray itself would try for many minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
