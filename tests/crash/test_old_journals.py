"""Journals that an earlier version wrote are read, verified and resumed."""

import json
import shutil
from pathlib import Path

import pytest

from commands import BIN, SECONDS, free_port, league, started

HERE = Path(__file__).parent
SCHEMA_1, SCHEMA_2 = HERE / "journals_of_0.1", HERE / "journals_of_schema_2"
POINTS = [("P03", 9), ("P04", 9), ("P01", 5), ("P06", 5), ("P02", 4), ("P05", 4)]


@pytest.fixture
def journal(tmp_path):
    """A copy that may be written to, as its owner's files are."""

    def copy(written, name):
        shutil.copytree(written / name, tmp_path / name)
        for path in (tmp_path / name).iterdir():
            path.chmod(0o600)
        return tmp_path / name

    return copy


def test_a_finished_league_is_verified_and_told_as_before(journal):
    cup = journal(SCHEMA_1, "finished")

    verified = league("verify", cup).stdout
    table = json.loads(league("standings", "--dir", cup, "--json").stdout)
    story = league("match", "R1M1", "--dir", cup).stdout

    assert "15 of 15 matches are decided, each once; 15 were recomputed" in verified
    assert "62:bb4584649362842051eb0f18b6edd40816004c7be4ab689e91cfdfc6e9f8cf29" in verified
    assert [(row["player_id"], row["points"]) for row in table] == POINTS
    assert "R1M1" in story


def test_a_finished_league_of_the_former_version_is_verified_and_reported(journal):
    cup = journal(SCHEMA_2, "finished")

    verified = league("verify", cup).stdout
    league("report", cup, "--out", cup / "report.html")

    assert "6 of 6 matches are decided, each once; 6 were recomputed" in verified
    assert "37:ded9a7d222264fdd72460cbb0c5b41622f8e5594a82293efc2da95b63b1617b2" in verified
    assert "Cleo" in (cup / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("written", "goes_on_in"), [(SCHEMA_1, 3), (SCHEMA_2, 2)], ids=["schema 1", "schema 2"]
)
def test_a_league_that_was_killed_is_played_to_its_end(journal, written, goes_on_in):
    cup, port = journal(written, "interrupted"), free_port()
    before = results_in(cup, goes_on_in - 1)

    manager = started(
        *(BIN / "league", "manager", "--port", port, "--dir", cup),
        *("--referee-wait-seconds", 5, "--exit"),
    )
    started(
        *(BIN / "league", "referee", "--manager", f"http://127.0.0.1:{port}/mcp", "--port", 0),
        *("--state", cup / "state"),
    )
    _, said = manager.communicate(timeout=SECONDS)

    assert manager.returncode == 0, said
    assert f"Resumed in round {goes_on_in}" in said
    assert results_in(cup, goes_on_in - 1) == before
    assert "6 of 6 matches are decided, each once" in league("verify", cup).stdout


def results_in(cup, rounds):
    """How each match of the first rounds ended."""
    return [
        (match["match_id"], match["status"], match["winner_player_id"])
        for each in json.loads(league("schedule", "--dir", cup, "--json").stdout)[:rounds]
        for match in each["matches"]
    ]
