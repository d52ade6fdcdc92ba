"""Where leagues are played: each once, whatever dies."""

import pytest

from agentleague.cli.player_files import load_for
from agentleague.errors import LeagueError
from agentleague.runtime.settings import SettingError
from agentleague.sweeps import engines
from agentleague.sweeps.engines import Cores, open_engine, play_all
from agentleague.sweeps.leagues import Work
from sweeps.plans import InProcess, plan_of
from tables import each_row


def played(plan, engine):
    numbers = list(plan.order())
    return list(play_all(engine, numbers, len(numbers)))


def test_every_league_is_played_once_in_batches_that_fit(tmp_path, monkeypatch):
    plan = plan_of(tmp_path)
    monkeypatch.setattr(engines, "BATCH_SECONDS", 100.0)
    engine = InProcess(plan)

    found = played(plan, engine)

    assert sorted(each.number for each in found) == list(range(1, 9))
    assert [len(batch) for batch in engine.batches] == [1, 3, 2, 1, 1]  # Short ones at the end.


def test_a_batch_that_dies_is_tried_once_more_league_by_league_and_the_one_to_blame_named(
    tmp_path, monkeypatch
):
    plan = plan_of(tmp_path)
    monkeypatch.setattr(engines, "BATCH_SECONDS", 100.0)
    engine = InProcess(plan, deadly={5})

    found = played(plan, engine)

    assert sorted(each.number for each in found) == list(range(1, 9))
    assert [(each.number, each.error) for each in found if each.error] == [
        (5, "its process died twice: signal 9")
    ]
    assert (3, 5, 7) in engine.batches
    assert engine.batches.count((5,)) == 1


def test_a_first_league_that_dies_alone_is_tried_once_more(tmp_path):
    plan = plan_of(tmp_path)
    engine = InProcess(plan, deadly={1})

    found = played(plan, engine)

    assert [each.number for each in found if each.error] == [1]
    assert engine.batches.count((1,)) == 2


@pytest.mark.process
def test_processes_play_what_this_one_plays_and_are_replaced_when_they_die(tmp_path):
    (tmp_path / "dies.py").write_text(
        "import os, random\nDIES = random.random() < 0.2\n"
        "def choose(turn):\n    os._exit(3) if DIES else None\n    return 'even'\n"
    )
    text = 'players = ["random", "dies.py"]\ngames = ["even_odd"]\nseeds = [2, 1, 4, 5]\n'
    plan = plan_of(tmp_path, text)
    engine = Cores(Work(plan, load_for), 2)

    found = sorted(played(plan, engine))
    engine.close()

    whole = sorted(played(plan, InProcess(plan, deadly={2})))
    assert [each.line for each in found] == [each.line for each in whole]
    assert [each.error for each in found] == ["", "its process died twice: exit code 3", "", ""]


@each_row("typed", ["core", "cores:0", "cores:x", "cores:-1", ""])
def test_another_engine_is_refused(typed, tmp_path):
    with pytest.raises(SettingError, match="--on must be cores, cores:2, ray or ray:ADDRESS"):
        open_engine(typed, Work(plan_of(tmp_path), load_for))


def test_without_ray_it_says_what_to_install(tmp_path):
    with pytest.raises(LeagueError, match="Ray is not installed; type: python -m pip install ray"):
        open_engine("ray", Work(plan_of(tmp_path), load_for))
