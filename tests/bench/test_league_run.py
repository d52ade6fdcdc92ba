"""One measured league: how long it is, how its matches are timed, which functions run."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from agentleague.bench.league_run import (
    MatchTimes,
    Measurement,
    Plan,
    Sampler,
    hits_in,
    measure_league,
    wait_for_end,
    within,
)
from agentleague.cli.bench_text import plain_profile, profile_rows
from agentleague.errors import LeagueError, NoAnswer
from agentleague.protocol.messages import GameInvitation, GameOver, GameResult, MatchResultReport
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer
from agentleague.runtime.local_league import Stopwatch, Tally
from memory_league import MemoryLeague

THERE = Address("P01", "http://there/mcp")


def test_a_plan_makes_leagues_of_any_size_equally_long():
    for players, matches, cycles, rounds in [
        (2, 100, 100, 100),  # two meet again and again
        (10, 5_000, 111, 1_000),
        (100, 4_950, 1, 99),  # a whole league
        (1_000, 5_000, 1, 10),
        (10_000, 5_000, 1, 1),
        (10_000, 1, 1, 1),  # a round is the least
    ]:
        plan = Plan(players, 2, matches, 2)

        assert (plan.cycles, plan.rounds) == (cycles, rounds)


def test_a_league_that_is_measured_ends_after_its_rounds():
    league = MemoryLeague(players=6, referees=1)
    league.manager.rounds.rounds_max = 2
    league.fill().play()

    assert league.events().count("round_ended") == 2
    assert league.events().count("match_decided") == 6
    assert league.league.aborted


def test_figures_are_by_role():
    tallies = [Tally("manager", 10, 0, 0, 1.0, 5), Tally("player", 6, 0, 0, 2.0, 7)]
    tallies += [Tally("player", 4, 0, 0, 4.0, 6)]
    measured = Measurement(2, 1.0, 1.0, (), tallies)

    assert measured.messages == 20
    assert measured.per_match("cpu_seconds") == {"manager": 0.5, "player": 3.0}
    assert measured.peak_bytes() == {"manager": 5, "player": 7}


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


def test_a_long_run_that_fails_does_not_wait_for_the_league_to_end():
    async def watch():
        raise LeagueError("no use")

    async def main():
        loop = asyncio.get_running_loop()
        running = SimpleNamespace(ended=loop.create_future(), failed=loop.create_future())
        await wait_for_end(running, watch())

    with pytest.raises(LeagueError, match="no use"):
        asyncio.run(asyncio.wait_for(main(), 10))


def frame(name, line, caller=None):
    """A function whose code begins in line 10 and that is in this one."""
    code = SimpleNamespace(co_qualname=name, co_firstlineno=10)
    return SimpleNamespace(f_code=code, f_lineno=line, f_globals={"__name__": "a"}, f_back=caller)


def test_time_is_that_of_the_function_that_runs(tmp_path):
    sampler = Sampler(tmp_path, "manager")

    sampler.count(0, frame("B.work", 12, frame("main", 11)))

    assert sampler.hits == {"a.B.work": 1}


def test_a_function_that_only_just_begins_has_used_no_time(tmp_path):
    sampler = Sampler(tmp_path, "manager")

    sampler.count(0, frame("B.work", 10, frame("main", 11)))
    sampler.count(0, frame("first", 10))  # Nobody called it.
    sampler.count(0, None)

    assert sampler.hits == {"a.main": 1, "a.first": 1}


def burn(hits):
    while not hits:
        pass


def test_a_process_that_works_is_interrupted_and_its_function_named(tmp_path):
    sampler = Sampler(tmp_path, "manager")

    sampler.start()
    burn(sampler.hits)
    sampler.stop()

    assert set(sampler.hits) == {f"{__name__}.burn"}


def test_what_was_seen_lies_in_the_folder_by_role(tmp_path):
    Sampler(tmp_path, "manager").stop()
    (tmp_path / "referee.hits").write_text(json.dumps({"a.b": 2}))

    assert set(hits_in(tmp_path)) == {"manager", "referee"}
    assert hits_in(tmp_path)["referee"] == {"a.b": 2}


def test_the_ten_hottest_functions_are_told_with_their_part_of_all():
    hits = {f"a.f{number}": number for number in range(20)}
    tallies = [Tally("manager", 0, 0, 0, 0.5)]
    measured = Measurement(100, 1.0, 1.0, (), tallies, None, {"manager": hits})

    rows = profile_rows(measured)["manager"]
    assert len(rows) == 10
    assert rows[0] == {"percent": 10.0, "function": "a.f19"}
    printed = plain_profile(measured)
    assert printed["looks"] == {"manager": 190}
    assert printed["cpu_us_per_match"] == {"manager": 5_000.0}


@pytest.mark.slow
@pytest.mark.process
def test_messages_are_counted_from_the_start_of_the_league_on(tmp_path):
    measured = measure_league(Plan(4, 1, 2, 2, directory=tmp_path))

    calls = {tally.role: tally.calls for tally in measured.tallies[:2]}
    players = sum(tally.calls for tally in measured.tallies[2:])
    assert players == 0  # None registers, and the end of the league is proved to each.
    assert calls["manager"] >= 3 * 4 + 1  # Each is told of the round, its end and the league's.
    assert list(tmp_path.iterdir()) == []
