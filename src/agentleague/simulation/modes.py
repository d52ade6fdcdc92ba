"""Runs the leagues of a mode, one for each seed, in one or several processes.

Process n of N runs every Nth league, starting with the nth, and the reports are read in turn: so
their order never depends on which process is quick.
"""

import gc
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from typing import NamedTuple

from agentleague.errors import LeagueError
from agentleague.games.game import turns_max
from agentleague.league.events import MatchDecided
from agentleague.manager.leases import longest_match
from agentleague.manager.step import ManagerLimits
from agentleague.protocol.messages import Rules
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.local_league import cores, ignoring_interrupts
from agentleague.simulation import scenarios
from agentleague.simulation.disk import Disk
from agentleague.simulation.faults import Faults
from agentleague.simulation.formats import rounds_most
from agentleague.simulation.invariants import Violation, check
from agentleague.simulation.league import SimulatedLeague
from agentleague.simulation.scenarios import Scenario
from agentleague.simulation.sqlite_disk import SqliteDisk

MODES: dict[str, Callable[[int], Scenario]] = {
    "chaos": scenarios.chaos,
    "exhaustive": scenarios.exhaustive,
    "calm": scenarios.calm,
    "liveness": scenarios.liveness,
    "hostile": scenarios.hostile,
    "seats": scenarios.seats,
    "standby": scenarios.standby,
    "formats": scenarios.formats,
}
DRAWN = range(1, 11)  # the numbers of even/odd, R-GAME-02
UNLIKELY = 1e9
LEAGUES_MIN = 20  # of one process: its start takes as long as so many leagues


class SeedReport(NamedTuple):
    """How the league of one seed went."""

    mode: str
    seed: int
    violation: str  # a sentence; empty where everything held
    seconds: float  # of virtual time
    messages: int
    drawn: tuple[tuple[str, int], ...] = ()  # the numbers of its even/odd matches, by their seeds


def simulate(mode: str, seed: int) -> SeedReport:
    """Run the league of one seed, and check it."""
    scenario = MODES[mode](seed)
    league, violation = attempt(scenario)
    drawn = tuple(
        (f"{scenario.seed}|{event.match_id}", event.result.drawn_number)
        for event in league.observer.events
        if isinstance(event, MatchDecided) and event.verified and event.result.drawn_number
    )
    return SeedReport(mode, seed, violation, league.seconds, league.network.calls, drawn)


def never_drawn(reports: Iterable[SeedReport]) -> str:
    """Which numbers from 1 to 10 were not drawn in all these leagues, where that is no chance."""
    of_seeds = dict(each for report in reports for each in report.drawn)  # Repeated, they are one.
    drawn = Counter(of_seeds.values())
    missing = [number for number in DRAWN if not drawn[number]]
    strange = sorted(drawn.keys() - set(DRAWN))
    # A number is missing in n fair draws with the probability 0.9**n; there are ten.
    is_chance = len(DRAWN) * (1 - 1 / len(DRAWN)) ** drawn.total() > 1 / UNLIKELY
    if strange:
        return f"the numbers {strange} were drawn"
    return "" if is_chance or not missing else f"of {drawn.total():,} draws none was {missing}"


def attempt(scenario: Scenario) -> tuple[SimulatedLeague, str]:
    """The league after it ran, and what did not hold."""
    league = prepare(scenario)
    try:
        if scenario.dead:
            league.run_until(lambda: league.has_begun)
            league.crash(scenario.dead)
        league.run(scenario.trouble_seconds + patience(scenario))  # No longer than the rules allow.
        check(league, scenario.history)
    except Violation as violation:
        return league, str(violation)
    except Exception as bug:  # It is found, and its seed repeats it.
        return league, f"{type(bug).__name__}: {bug}"
    finally:
        league.disk.dispose()
    return league, ""


def prepare(scenario: Scenario) -> SimulatedLeague:
    """The league before anything has happened, with its faults planned."""
    given = (scenario.players, scenario.referees, scenario.seed, scenario.settings, scenario.agents)
    disk = partial(SqliteDisk, seed=scenario.seed) if scenario.sqlite else Disk
    standby, latecomers = scenario.standby, scenario.latecomers
    league = SimulatedLeague(*given, disk=disk, standby=standby, latecomers=latecomers)
    league.links.conditions = scenario.conditions
    faults = Faults(league, scenario.seed)
    faults.plan(scenario.faults)
    if scenario.wrong_clocks:
        faults.confuse_clocks()
    if scenario.trouble_seconds:
        faults.end_at(scenario.trouble_seconds)
    if scenario.final_crash_seconds is not None:
        faults.end_with_a_crash(scenario.final_crash_seconds)
    return league


def patience(scenario: Scenario) -> float:
    """How long a league can take in which nothing goes wrong any more.

    Each round: it is announced; its matches change hands as often as there are dead referees, and
    then take as long as players may take; its end is announced. A foreign referee that registers
    again and again may hold a match each time, until it is given up.
    """
    settings = ManagerSettings(players=scenario.players, **scenario.settings)
    rules: Rules = settings.rules
    rounds = rounds_most(settings, scenario.players + scenario.latecomers)
    match = longest_match(rules, turns_max(scenario.agents.game, rules.game_options))
    changes = scenario.referees * 2 * settings.lease_seconds
    if scenario.has_holders:
        changes = ManagerLimits().epochs_max * match
    return rounds * (match + changes + 4 * settings.reply_seconds) + settings.reply_seconds


def processes_for(leagues: int, jobs: int | None = None) -> int:
    """How many processes to use: at most `jobs`, or one a core."""
    return max(1, min(jobs or cores(), leagues // LEAGUES_MIN))


@contextmanager
def simulate_all(mode: str, seeds: Sequence[int], processes: int) -> Iterator[Iterator[SeedReport]]:
    """The reports of these seeds, one by one; leaving the context ends the processes."""
    if processes == 1:
        gc.freeze()  # The loaded modules stay: collecting them again and again costs time.
        yield (simulate(mode, seed) for seed in seeds)
        return
    context = multiprocessing.get_context("spawn")
    workers, readers = [], []
    try:
        for number in range(processes):
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(
                target=_work, args=(mode, seeds[number::processes], writer), daemon=True
            )
            with ignoring_interrupts():  # A new process inherits that.
                process.start()
            writer.close()
            workers.append(process)
            readers.append(reader)
        yield (_next(readers[number % processes]) for number in range(len(seeds)))
    finally:
        for process in workers:
            process.terminate()
            process.join()


def _next(reader: Connection) -> SeedReport:
    try:
        return SeedReport(*reader.recv())
    except EOFError:
        raise LeagueError("a process of the simulation was ended from outside") from None


def _work(mode: str, seeds: Sequence[int], writer: Connection) -> None:
    gc.freeze()
    with suppress(BrokenPipeError):  # The parent has left.
        for seed in seeds:
            writer.send(tuple(simulate(mode, seed)))
