"""`benchmarks/endurance.py`: what is made of a long run, and the script itself."""

import asyncio
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from agentleague.errors import LeagueError
from agentleague.league.league import League, Phase
from commands import ROOT
from endurance import Endurance, Sample, verdicts, watch

SCRIPT = [sys.executable, str(ROOT / "benchmarks" / "endurance.py")]


def endurance(grown_mb, slower):
    """A hundred seconds, a match a second, which grow and slow down from the middle on."""
    samples = [
        Sample(
            float(second),
            second,
            {"manager": 100.0 + (grown_mb if second > 50 else 0.0)},
            {"manager": second + (max(0, second - 50) * slower)},
        )
        for second in range(101)
    ]
    return Endurance(samples, 100, 825.0, 0.1)


def test_a_long_run_may_neither_grow_nor_slow_down():
    for grown_mb, slower, is_flat, is_steady in [
        (4.9, 0.09, True, True),
        (5.1, 0.0, False, True),
        (-20.0, 0.0, True, True),  # memory that was given back
        (0.0, 0.11, True, False),
        (0.0, -0.5, True, True),
    ]:
        run = endurance(grown_mb, slower)

        said = "\n".join(verdicts(run))
        assert run.grown_mb()["manager"] == pytest.approx(grown_mb)
        assert run.slowing == pytest.approx(slower)
        assert (run.is_flat, run.is_steady) == (is_flat, is_steady)
        assert said.count("failed") == (not is_flat) + (not is_steady)
        assert "825 bytes a match" in said


def running(phase, pids):
    """A league that is in this phase, as its manager sees it."""
    league = League()
    league.phase = phase
    return SimpleNamespace(league=league, rounds=SimpleNamespace()), pids


def test_a_league_that_ends_before_its_time_is_no_long_run():
    over = running(Phase.COMPLETED, {"manager": [os.getpid()]})

    with pytest.raises(LeagueError, match=r"was over after 0 s of 2: .* more play with --players"):
        asyncio.run(watch(2.0, *over))


def test_a_process_that_died_does_not_count_as_one_that_holds_nothing():
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()

    with pytest.raises(LeagueError, match=rf"process of the league has died \(player, {dead.pid}"):
        asyncio.run(watch(2.0, *running(Phase.RUNNING, {"player": [os.getpid(), dead.pid]})))


@pytest.mark.slow
def test_the_script_prints_what_it_found_and_exits_accordingly():
    command = [*SCRIPT, "--players", "4", "--seconds", "5", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)

    found = json.loads(done.stdout)
    assert found["matches"] > 0
    assert len(found["samples"]) >= 10
    assert set(found["grown_mb"]) == {"manager", "referee", "player"}
    assert done.returncode == (0 if found["is_flat"] and found["is_steady"] else 1)


@pytest.mark.slow
def test_the_script_fails_if_there_are_too_few_matches():
    command = [*SCRIPT, "--players", "2", "--seconds", "120"]
    done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 1
    assert "it has no more matches" in done.stderr
