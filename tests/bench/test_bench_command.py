"""`league bench --profile` and `--no-files` as they are typed."""

import json
import shutil

import pytest
from click.testing import CliRunner

from agentleague.bench import league_run
from agentleague.bench.league_run import Plan
from agentleague.cli.app import app
from agentleague.cli.commands import bench
from agentleague.errors import LeagueError
from commands import league


@pytest.mark.slow
def test_a_profile_names_functions_of_manager_and_referees():
    done = league("bench", "--profile", "--players", "10", "--seconds", "4", "--json")

    hottest = json.loads(done.stdout)["hottest"]
    assert set(hottest) == {"manager", "referee"}
    assert any(row["function"].startswith("agentleague.") for row in hottest["referee"])


def test_a_league_is_measured_without_the_files_of_the_documents_if_asked(monkeypatch):
    plans = []

    def measured(plan, seconds, now, on_sample):
        plans.append(plan)
        raise LeagueError("enough")

    monkeypatch.setattr(bench.measure, "measure", measured)
    for words in (["bench"], ["bench", "--no-files"]):
        CliRunner().invoke(app, words)

    assert [plan.has_files for plan in plans] == [True, False]


@pytest.mark.process
@pytest.mark.parametrize("has_files", [True, False])
def test_the_files_of_a_measured_league_are_kept_or_not(has_files, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "rmtree", lambda *arguments, **options: None)

    league_run.measure_league(Plan(2, 1, 1, 1, directory=tmp_path, has_files=has_files))

    assert bool(list(tmp_path.glob("league-bench-*/shared"))) is has_files
