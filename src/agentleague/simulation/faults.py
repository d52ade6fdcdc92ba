"""What can befall a league, as data: when, to whom, for how long."""

from collections.abc import Callable, Sequence
from itertools import product
from random import Random
from typing import ClassVar, NamedTuple

from agentleague.league.league import Phase
from agentleague.simulation.disk import SYNC_SECONDS
from agentleague.simulation.league import MANAGER, SimulatedLeague
from agentleague.simulation.process import Clocks

LATER_EVENTS = 20  # until a process dies for good that the league still has to wait for
LOOK_SECONDS = 2.0  # before the organiser looks again whether the league goes on
SLOW_SYNC_SECONDS = 0.5  # for a commit on a disk that has much else to do
CLOCK_SECONDS = 86_400.0  # by how much clocks are wrong, at most


class Fault(NamedTuple):
    """One thing that goes wrong right after an event; for ever, where no seconds are given."""

    event: int
    kind: str  # one of Faults.KINDS
    who: tuple[str, ...] = (MANAGER,)
    seconds: float | None = 1.0

    def __str__(self) -> str:
        how_long = "for good" if self.seconds is None else f"for {self.seconds:g} s"
        return f"after event {self.event}: {self.kind} of {', '.join(self.who)} {how_long}"


class Faults:
    """Lets faults befall a league; with the end of its `trouble` everything is whole again."""

    def __init__(self, league: SimulatedLeague, seed: int) -> None:
        self._league = league
        self._chance = Random(f"faults|{seed}")
        self._gone: set[str] = set()  # for good

    def plan(self, faults: Sequence[Fault]) -> None:
        """Let these come to pass."""
        for fault in faults:
            self._league.after_event(fault.event, lambda fault=fault: self.happen(fault))  # type: ignore[misc]

    def happen(self, fault: Fault) -> None:
        """Now."""
        self._league.witness.note(str(fault))
        self.KINDS[fault.kind](self, fault)

    def end_at(self, seconds: float) -> None:
        """From then on nothing goes wrong any more; who is gone for good stays so."""
        clock = self._league.clock
        clock.call_at(clock.now() + seconds, self.end)

    def end(self) -> None:
        """All is well."""
        league = self._league
        league.witness.note("from now on nothing goes wrong any more")
        league.links.heal()
        league.disk.mend()
        for name, process in league.processes.items():
            if name not in self._gone and not process.is_done:
                process.start()

    def confuse_clocks(self) -> None:
        """Every life of every process has clocks of its own, and none of them is right."""
        for process in self._league.processes.values():
            process.clocks = self._wrong_clocks

    def _wrong_clocks(self) -> Clocks:
        uniform = self._chance.uniform
        ahead = uniform(-CLOCK_SECONDS, CLOCK_SECONDS)
        return Clocks(ahead, uniform(-CLOCK_SECONDS, CLOCK_SECONDS))

    def _crash(self, fault: Fault) -> None:
        league = self._league
        if fault.seconds is None and not league.has_begun:  # It would wait for them for ever.
            later = fault._replace(event=league.events + LATER_EVENTS)
            league.after_event(later.event, lambda: self.happen(later))
            return
        for name in fault.who:
            if fault.seconds is None:
                self._gone.add(name)
            league.crash(name, fault.seconds)

    def _amnesia(self, fault: Fault) -> None:
        """It comes back without what it kept for its next life."""
        for name in fault.who:
            self._league.crash(name, fault.seconds)
            self._league.processes[name].forget()

    def _sleep(self, fault: Fault) -> None:
        for name in fault.who:
            self._league.processes[name].stall(fault.seconds or 0.0)

    def _one_way(self, fault: Fault) -> None:
        """From the first to the second nothing passes; the other way all does."""
        source, target = fault.who
        self._cut([(source, target)], fault.seconds or 0.0)

    def _both_ways(self, fault: Fault) -> None:
        one, other = fault.who
        self._cut([(one, other), (other, one)], fault.seconds or 0.0)

    def _partition(self, fault: Fault) -> None:
        """These are cut off from all others; the ways heal one by one, in any order."""
        others = [name for name in self._league.processes if name not in fault.who]
        ways = [*product(fault.who, others), *product(others, fault.who)]
        self._cut(ways, fault.seconds or 0.0)

    def _cut(self, ways: Sequence[tuple[str, str]], seconds: float) -> None:
        clock = self._league.clock
        for number, mend in enumerate(self._league.links.cut(ways)):
            wait = seconds if number == 0 else self._chance.uniform(0.0, seconds)
            clock.call_at(clock.now() + wait, mend)

    def _full_disk(self, fault: Fault) -> None:
        clock, disk = self._league.clock, self._league.disk
        disk.fill()
        clock.call_at(clock.now() + (fault.seconds or 0.0), disk.mend)

    def _failing_disk(self, fault: Fault) -> None:
        self._league.disk.fail()

    def _slow_disk(self, fault: Fault) -> None:
        disk, clock = self._league.disk, self._league.clock
        disk.sync_seconds = SLOW_SYNC_SECONDS

        def as_usual() -> None:
            disk.sync_seconds = SYNC_SECONDS

        clock.call_at(clock.now() + (fault.seconds or 0.0), as_usual)

    def _pause(self, fault: Fault) -> None:
        """The organiser pauses the league, and lets it go on later: as often as it takes."""
        league, clock = self._league, self._league.clock

        def look() -> None:
            league.witness.catch_up()
            if league.witness.league.paused:
                league.command("start", lambda answer: None)
            if league.witness.league.phase is not Phase.COMPLETED:
                clock.call_at(clock.now() + LOOK_SECONDS, look)

        league.command("pause", lambda answer: None)
        clock.call_at(clock.now() + (fault.seconds or 0.0), look)

    KINDS: ClassVar[dict[str, Callable[..., None]]] = {
        "crash": _crash,
        "amnesia": _amnesia,
        "sleep": _sleep,
        "one-way cut": _one_way,
        "cut": _both_ways,
        "partition": _partition,
        "full disk": _full_disk,
        "failing disk": _failing_disk,
        "slow disk": _slow_disk,
        "pause": _pause,
    }
