"""Faults of a simulated league, as data: when, to whom, for how long."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from random import Random
from typing import Any, ClassVar, NamedTuple

from agentleague.league.events import (
    LeagueEnded,
    PlayerJoined,
    RoundEnded,
    RoundScheduled,
    StageStarted,
    TimeUp,
)
from agentleague.league.formats.stages import misfit
from agentleague.league.league import Phase
from agentleague.league.match_result import VERDICTS
from agentleague.roles.effects import Event
from agentleague.simulation.database import Database
from agentleague.simulation.disk import SYNC_SECONDS
from agentleague.simulation.league import MANAGER, SimulatedLeague

OWNER = "owner"  # the manager that runs the league when the fault happens
LATER_EVENTS = 20  # until a fault that came too early is tried again
LOOK_SECONDS = 2.0  # before the organiser looks again whether the league goes on
SLOW_SYNC_SECONDS = 0.5  # for a commit on a slow disk
FLAP_SECONDS = 1.2  # between two starts of an agent that does not hear the manager
TURNS = (StageStarted, PlayerJoined, TimeUp, RoundEnded, RoundScheduled)
CLOCK_SECONDS = 86_400.0  # by how much clocks are wrong, at most


class Fault(NamedTuple):
    """One thing that goes wrong right after an event; for ever, where `seconds` is None."""

    event: int
    kind: str  # one of Faults.KINDS
    who: tuple[str, ...] = (MANAGER,)
    seconds: float | None = 1.0

    def __str__(self) -> str:
        how_long = f" for {self.seconds:g} s" if self.seconds else ""
        how_long = " for good" if self.seconds is None else how_long
        return f"after event {self.event}: {self.kind} of {', '.join(self.who)}{how_long}"


class Faults:
    """Lets faults happen to a league; `end` mends everything."""

    def __init__(self, league: SimulatedLeague, seed: int) -> None:
        self._league = league
        self._chance = Random(f"faults|{seed}")
        self._is_over = False  # nothing goes wrong any more
        self._has_last_crash = False
        self._will_look = False  # the organiser will look whether the league goes on
        self._removed: set[str] = set()  # by the organiser, whether it was heard or not

    def plan(self, faults: Sequence[Fault]) -> None:
        """Let these happen after their events."""
        for fault in faults:
            self._league.after_event(fault.event, partial(self.happen, fault))

    def happen(self, fault: Fault) -> None:
        """Let it happen now, unless the trouble is over."""
        if self._is_over:
            return
        owner = self._league.owner.name
        fault = fault._replace(who=tuple(owner if each == OWNER else each for each in fault.who))
        self._league.observer.note(str(fault))
        self.KINDS[fault.kind](self, fault)

    def end_at(self, seconds: float) -> None:
        """Let nothing go wrong after so many seconds; processes that died for good stay dead."""
        self._league.clock.call_after(seconds, self.end)

    def end(self) -> None:
        """Mend everything."""
        if not self._is_over:
            self._mend()

    def _mend(self) -> None:
        self._is_over, league = True, self._league
        league.observer.note("from now on nothing goes wrong any more")
        sleepers = [process.lifetime.awake_at for process in league.processes.values()]
        league.healed_at = max(league.clock.now(), *sleepers)
        league.network.heal()
        league.disk.mend()
        league.disk.sync_seconds = SYNC_SECONDS
        for name, process in league.processes.items():
            if name not in (*league.gone, *league.awaited) and not process.is_done:
                process.start()

    def end_with_a_crash(self, seconds: float) -> None:
        """Let the manager die last, when the league's end is on disk."""
        league = self._league
        self._has_last_crash = True

        def strike() -> None:
            league.crash(MANAGER)
            league.clock.call_after(seconds, self._mend)

        def on_commit(events: Sequence[Event]) -> None:
            if any(isinstance(event, LeagueEnded) for event in events):
                league.clock.call_after(0.0, strike)

        league.disk.on_commit = on_commit

    def confuse_clocks(self) -> None:
        """Give every life of every process wrong clocks of its own."""
        for process in self._league.processes.values():
            process.clocks = self._wrong_clocks

    def _wrong_clocks(self) -> tuple[float, float]:
        uniform = partial(self._chance.uniform, -CLOCK_SECONDS, CLOCK_SECONDS)
        return uniform(), uniform()

    def _crash(self, fault: Fault) -> None:
        league = self._league
        if fault.seconds is None and not league.has_begun:  # It would wait for them for ever.
            self._later(fault)
            return
        for name in fault.who:
            if fault.seconds is None:
                league.gone.add(name)
            league.crash(name, fault.seconds)

    def _crash_at_a_turn(self, fault: Fault) -> None:
        """The manager dies when the next turn of the league is on disk, and nobody knows."""
        league = self._league

        def on_commit(events: Sequence[Event]) -> None:
            if any(isinstance(event, TURNS) for event in events):
                league.disk.on_commit = None
                league.clock.call_after(0.0, lambda: league.crash(MANAGER, fault.seconds))

        if not self._has_last_crash:
            league.disk.on_commit = on_commit

    def _amnesia(self, fault: Fault) -> None:
        """It comes back without what it kept for its next life."""
        for name in fault.who:
            self._league.crash(name, fault.seconds)
            self._league.processes[name].forget()

    def _flapping(self, fault: Fault) -> None:
        """It starts again every second, and hears no answer of the manager meanwhile."""
        league, seconds = self._league, fault.seconds or 0.0
        for name in fault.who:
            self._cut([(MANAGER, name)], seconds)
            for second in range(int(seconds)):
                again = partial(self._start_again, name)
                league.clock.call_after(second * FLAP_SECONDS, again)

    def _start_again(self, name: str) -> None:
        if not self._is_over:
            self._league.crash(name, FLAP_SECONDS / 10)

    def _arrive(self, fault: Fault) -> None:
        if self._league.has_begun:
            self._league.awaited -= set(fault.who)
            self._league.processes[fault.who[0]].start()
        else:
            self._later(fault)

    def _sleep(self, fault: Fault) -> None:
        for name in fault.who:
            self._league.processes[name].stall(fault.seconds or 0.0)

    def _double(self, fault: Fault) -> None:
        """Its owner starts it once more, and the older one goes on."""
        for name in fault.who:
            self._league.processes[name].double()

    def _between_two(self, fault: Fault) -> None:
        """From the first to the second nothing passes; nor the other way, unless it is one-way."""
        one, other = fault.who
        back = [] if fault.kind == "one-way cut" else [(other, one)]
        self._cut([(one, other), *back], fault.seconds or 0.0)

    def _partition(self, fault: Fault) -> None:
        """Cut these off from all others; the ways heal one by one, in any order."""
        others = [name for name in self._league.processes if name not in fault.who]
        ways = [*product(fault.who, others), *product(others, fault.who)]
        self._cut(ways, fault.seconds or 0.0)

    def _cut(self, ways: Sequence[tuple[str, str]], seconds: float) -> None:
        for number, mend in enumerate(self._league.links.cut(ways)):
            wait = seconds if number == 0 else self._chance.uniform(0.0, seconds)
            self._league.clock.call_after(wait, mend)

    def _full_disk(self, fault: Fault) -> None:
        self._league.disk.state = "full"
        self._league.clock.call_after(fault.seconds or 0.0, self._league.disk.mend)

    def _failing_disk(self, fault: Fault) -> None:
        self._league.disk.state = "failed"

    def _slow_disk(self, fault: Fault) -> None:
        disk = self._league.disk
        disk.sync_seconds = SLOW_SYNC_SECONDS
        as_usual = partial(setattr, disk, "sync_seconds", SYNC_SECONDS)
        self._league.clock.call_after(fault.seconds or 0.0, as_usual)

    def _restart_database(self, fault: Fault) -> None:
        self._database.restart()
        self._league.clock.call_after(fault.seconds or 0.0, self._database.mend)

    @property
    def _database(self) -> Database:
        assert isinstance(self._league.disk, Database)
        return self._league.disk

    # Commands of the organiser, who waits for no answer, but looks whether the league goes on.

    def _pause(self, fault: Fault) -> None:
        self._command("pause")
        self._look_in(fault.seconds or 0.0)

    def _remove(self, fault: Fault) -> None:
        """A player is taken out; a league that has not begun is then started without it."""
        league = self._league
        left = sum(map(league.is_known, league.players)) - len(self._removed) - 1
        is_enough = league.has_begun or misfit(league.observer.league.stages, left) is None
        if not league.is_known(fault.who[0]) or not is_enough:
            self._later(fault)
            return
        self._removed.add(fault.who[0])
        self._command("remove", player_id=league.player_id(fault.who[0]))
        self._look_in(LOOK_SECONDS)

    def _rule(self, fault: Fault) -> None:
        league = self._league
        league.observer.catch_up()
        recount = league.observer.tables.recount
        decided = list(recount.decisions)
        if not decided:
            self._later(fault)
            return
        match_id, verdict = self._chance.choice(decided), self._chance.choice(VERDICTS)
        drawn = self._chance.choice(recount.matches[match_id])
        params = {"match_id": match_id, "verdict": verdict, "reason": "by the seed"}
        self._command("rule", winner=drawn if verdict == "win" else None, **params)

    def _command(self, command: str, **params: Any) -> None:
        self._league.command(command, lambda answer: None, **params)

    def _look_in(self, seconds: float) -> None:
        if not self._will_look:
            self._will_look = True
            self._league.clock.call_after(seconds, self._look)

    def _look(self) -> None:
        """Start a league that waits for the organiser."""
        self._will_look = False
        observer = self._league.observer
        observer.catch_up()
        league = observer.league
        is_short = league.phase is Phase.REGISTERING and bool(league.roster.removed)
        if league.paused or (is_short and all(map(self._league.is_known, self._league.players))):
            self._command("start")
        if league.phase is not Phase.COMPLETED:
            self._look_in(LOOK_SECONDS)

    def _later(self, fault: Fault) -> None:
        self.plan([fault._replace(event=self._league.events + LATER_EVENTS)])

    KINDS: ClassVar[dict[str, Callable[..., None]]] = {
        "crash": _crash,
        "crash at a turn": _crash_at_a_turn,
        "amnesia": _amnesia,
        "flapping": _flapping,
        "arrive": _arrive,
        "sleep": _sleep,
        "double": _double,
        "one-way cut": _between_two,
        "cut": _between_two,
        "partition": _partition,
        "full disk": _full_disk,
        "failing disk": _failing_disk,
        "slow disk": _slow_disk,
        "database restart": _restart_database,
        "lost connection": lambda self, fault: self._database.cut(fault.who[0]),
        "pause": _pause,
        "remove": _remove,
        "rule": _rule,
        "abort": lambda self, fault: self._command("abort"),
    }
