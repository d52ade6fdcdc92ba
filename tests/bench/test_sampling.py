"""Where the time of a process goes: which function runs, as often as one looks."""

import json
from types import SimpleNamespace

from agentleague.bench.league_run import Outcome, Sampler, hits_in, sampling
from agentleague.cli.bench_text import plain_profile, profile_rows
from agentleague.runtime.local_league import Tally


def frame(name, line, caller=None):
    """A function whose code begins in line 10 and that is in this one."""
    code = SimpleNamespace(co_qualname=name, co_firstlineno=10)
    return SimpleNamespace(f_code=code, f_lineno=line, f_globals={"__name__": "a"}, f_back=caller)


def test_time_is_that_of_the_function_that_runs():
    sampler = Sampler()

    sampler._look(0, frame("B.work", 12, frame("main", 11)))

    assert sampler.hits == {"a.B.work": 1}


def test_a_function_that_only_just_begins_has_used_no_time():
    sampler = Sampler()

    sampler._look(0, frame("B.work", 10, frame("main", 11)))
    sampler._look(0, frame("first", 10))  # Nobody called it.
    sampler._look(0, None)

    assert sampler.hits == {"a.main": 1, "a.first": 1}


def burn(hits):
    while not hits:
        pass


def test_a_process_that_works_is_interrupted_and_its_function_named():
    sampler = Sampler()

    sampler.start()
    burn(sampler.hits)
    sampler.stop()

    assert set(sampler.hits) == {f"{__name__}.burn"}


def test_what_was_seen_lies_in_the_folder_by_role(tmp_path):
    with sampling(tmp_path, "manager"):
        pass
    (tmp_path / "referee.hits").write_text(json.dumps({"a.b": 2}))

    assert set(hits_in(tmp_path)) == {"manager", "referee"}
    assert hits_in(tmp_path)["referee"] == {"a.b": 2}


def test_the_ten_hottest_functions_are_told_with_their_part_of_all():
    hits = {f"a.f{number}": number for number in range(20)}
    tallies = [Tally("manager", 0, 0, 0, 0.5)]
    outcome = Outcome(100, 1.0, 1.0, (), (), 0, 0, tallies, None, {"manager": hits})

    rows = profile_rows(outcome)["manager"]
    assert len(rows) == 10
    assert rows[0] == {"percent": 10.0, "function": "a.f19"}
    told = plain_profile(outcome)
    assert told["looks"] == {"manager": 190}
    assert told["cpu_us_per_match"] == {"manager": 5_000.0}
