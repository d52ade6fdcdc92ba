"""What is made of the figures of a measurement, without measuring."""

import asyncio
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from agentleague.bench.endurance import Endurance, Glance, look_on
from agentleague.bench.league_run import MatchTimes, MeasuredLeague, Outcome, Plan, _watch, within
from agentleague.bench.measure import plan_for
from agentleague.bench.scale import Step, growth, sizes
from agentleague.cli.bench_text import endurance_verdicts, scale_verdicts
from agentleague.errors import LeagueError, NoAnswer
from agentleague.league.league import League, Phase
from agentleague.protocol.messages import GameInvitation, GameOver, GameResult, MatchResultReport
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer
from agentleague.runtime.local_league import Stopwatch, Tally
from memory_league import MemoryLeague

THERE = Address("P01", "http://there/mcp")


@pytest.mark.parametrize(
    ("players", "matches", "cycles", "rounds"),
    [
        (2, 100, 100, 100),  # two meet again and again
        (10, 5_000, 111, 1_000),
        (100, 4_950, 1, 99),  # a whole league
        (1_000, 5_000, 1, 10),
        (10_000, 5_000, 1, 1),
        (10_000, 1, 1, 1),  # a round is the least
    ],
)
def test_a_plan_makes_leagues_of_any_size_equally_long(players, matches, cycles, rounds):
    plan = Plan(players, 2, matches, 2)

    assert (plan.cycles, plan.rounds) == (cycles, rounds)


def test_short_measurements_play_short_leagues():
    assert plan_for(100, 2, 60.0, 2).matches == 5_000
    assert plan_for(100, 2, 4.0, 2).matches == 1_000
    assert plan_for(100, 2, 0.0, 2).matches == 50


def test_a_league_that_is_measured_ends_after_its_rounds():
    league = MemoryLeague(players=6, referees=1)
    league.manager.stop_after(2)
    league.fill().play()

    assert league.events().count("round_ended") == 2
    assert league.events().count("match_decided") == 6
    assert league.league.aborted


def test_figures_are_told_by_role():
    tallies = [Tally("manager", 10, 0, 0, 1.0, 5), Tally("player", 6, 0, 0, 2.0, 7)]
    tallies += [Tally("player", 4, 0, 0, 4.0, 6)]
    outcome = Outcome(2, 1.0, 1.0, (), (), 0, 0, tallies)

    assert outcome.messages == 20
    assert outcome.per_match("cpu_seconds") == {"manager": 0.5, "player": 3.0}
    assert outcome.peak_bytes() == {"manager": 5, "player": 7}


def test_so_many_percent_are_within():
    times = [float(number) for number in range(1, 101)]

    assert [within(times, percent) for percent in (1, 50, 99)] == [1.0, 50.0, 99.0]
    assert within([], 50) == 0.0


class Line:
    """A transport that keeps what would be called back, as a referee that runs has it."""

    def __init__(self):
        self.transport, self.waiting = self, []

    def call(self, to, message, until, done):
        self.waiting.append(done)
        return lambda: None


def test_a_match_lasts_from_its_first_invitation_to_the_answer_to_its_report():
    now, line, heard = [0.0], Line(), []
    times = MatchTimes(line, lambda: now[0])
    report = MatchResultReport(match_id="R1M1", result=GameResult("WIN", "P01"))

    def at(moment, message):
        now[0] = moment
        times.call(THERE, message, 9.0, heard.append)

    at(1.0, GameInvitation(match_id="R1M1", player_id="P01"))
    at(2.0, GameInvitation(match_id="R1M1", player_id="P02"))
    at(3.0, GameOver(match_id="R1M1", game_result=GameResult("WIN", "P01")))
    at(4.0, report)
    now[0] = 5.5
    line.waiting[-1](Answer(None, None, 0.1))

    assert list(times.seconds) == [4.5]
    assert len(heard) == 1


def test_a_match_whose_report_failed_lasts_until_one_is_answered():
    now, line, heard = [0.0], Line(), []
    times = MatchTimes(line, lambda: now[0])
    times.call(THERE, GameInvitation(match_id="R1M1", player_id="P01"), 9.0, heard.append)
    report = MatchResultReport(match_id="R1M1", result=GameResult("WIN", "P01"))

    for moment, error in ((1.0, NoAnswer("no answer")), (3.0, None), (4.0, None)):
        now[0] = moment
        times.call(THERE, report, 9.0, heard.append)
        line.waiting[-1](Answer(None, error, 0.1))

    assert list(times.seconds) == [3.0]
    assert len(heard) == 3


def test_what_agents_did_before_the_stopwatch_does_not_count():
    transport = SimpleNamespace(calls=5, bytes_sent=500, bytes_answered=50)
    agents = [SimpleNamespace(transport=transport)]
    stopwatch, all_of_it = Stopwatch("player", agents), Stopwatch("player")
    transport.calls, transport.bytes_sent, transport.bytes_answered = 7, 720, 71

    assert stopwatch.tally(agents)[:4] == ("player", 2, 220, 21)
    assert all_of_it.tally(agents)[:4] == ("player", 7, 720, 71)


def step(players, cpu):
    return Step(players, 1, 1, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, {"manager": cpu}, {"manager": 1.0})


def test_the_usual_sizes_lead_up_to_the_largest():
    assert list(sizes(10_000)) == [10, 100, 1_000, 10_000]
    assert list(sizes(300)) == [10, 100, 300]


@pytest.mark.parametrize(("cpu", "word"), [(130.0, "passed"), (131.0, "failed")])
def test_a_match_may_cost_three_tenths_more_in_a_large_league(cpu, word):
    steps = [step(10, 100.0), step(1_000, cpu)]

    assert growth(steps) == cpu / 100.0
    assert word in next(scale_verdicts(steps))
    assert list(scale_verdicts(steps[:1])) == []


def endurance(grown_mb, slower):
    """A hundred seconds, a match a second, which grow and slow down from the middle on."""
    glances = [
        Glance(
            float(second),
            second,
            {"manager": 100.0 + (grown_mb if second > 50 else 0.0)},
            {"manager": second + (max(0, second - 50) * slower)},
        )
        for second in range(101)
    ]
    return Endurance(glances, 100, 825.0, 0.1)


@pytest.mark.parametrize(
    ("grown_mb", "slower", "is_flat", "is_steady"),
    [
        (4.9, 0.09, True, True),
        (5.1, 0.0, False, True),
        (-20.0, 0.0, True, True),  # memory that was given back
        (0.0, 0.11, True, False),
        (0.0, -0.5, True, True),
    ],
)
def test_a_long_run_may_neither_grow_nor_slow_down(grown_mb, slower, is_flat, is_steady):
    run = endurance(grown_mb, slower)

    said = "\n".join(endurance_verdicts(run))
    assert run.grown_mb()["manager"] == pytest.approx(grown_mb)
    assert run.slowing == pytest.approx(slower)
    assert (run.is_flat, run.is_steady) == (is_flat, is_steady)
    assert said.count("failed") == (not is_flat) + (not is_steady)
    assert "825 bytes a match" in said


def field(phase, pids):
    """A league that is in this phase, as its manager sees it."""
    league = League()
    league.phase = phase
    return MeasuredLeague(SimpleNamespace(league=league, stop_after=lambda round_id: None), pids)


def test_a_league_that_ends_before_its_time_is_no_long_run():
    over = field(Phase.COMPLETED, {"manager": [os.getpid()]})

    with pytest.raises(LeagueError, match=r"was over after 0 s of 2: .* more play with --players"):
        asyncio.run(look_on(2.0, over))


def test_a_process_that_died_does_not_count_as_one_that_holds_nothing():
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()

    with pytest.raises(LeagueError, match=rf"process of the league has died \(player, {dead.pid}"):
        asyncio.run(look_on(2.0, field(Phase.RUNNING, {"player": [os.getpid(), dead.pid]})))


def test_a_long_run_that_fails_does_not_wait_for_the_league_to_end():
    async def watch(seen):
        raise LeagueError("in vain")

    async def main():
        loop = asyncio.get_running_loop()
        running = SimpleNamespace(ended=loop.create_future(), failed=loop.create_future())
        await _watch(Plan(2, 1, 1, 1, watch), running, field(Phase.RUNNING, {}))

    with pytest.raises(LeagueError, match="in vain"):
        asyncio.run(asyncio.wait_for(main(), 10))
