"""Journals that an earlier version wrote are read, verified and resumed."""

import json
import shutil
from pathlib import Path

import pytest

from commands import BIN, SECONDS, free_port, league, started

WRITTEN_BEFORE = Path(__file__).parent / "journals_of_0.1"
POINTS = [("P03", 9), ("P04", 9), ("P01", 5), ("P06", 5), ("P02", 4), ("P05", 4)]


@pytest.fixture
def journal(tmp_path):
    """A copy that may be written to, as its owner's files are."""

    def copy(name):
        shutil.copytree(WRITTEN_BEFORE / name, tmp_path / name)
        for path in (tmp_path / name).iterdir():
            path.chmod(0o600)
        return tmp_path / name

    return copy


def test_a_finished_league_is_verified_and_told_as_before(journal):
    cup = journal("finished")

    verified = league("verify", cup).stdout
    table = json.loads(league("standings", "--dir", cup, "--json").stdout)
    story = league("match", "R1M1", "--dir", cup).stdout

    assert "15 of 15 matches are decided, each once; 15 were recomputed" in verified
    assert "62:bb4584649362842051eb0f18b6edd40816004c7be4ab689e91cfdfc6e9f8cf29" in verified
    assert [(row["player_id"], row["points"]) for row in table] == POINTS
    assert "R1M1" in story


def test_a_league_that_was_killed_is_played_to_its_end(journal):
    cup, port = journal("interrupted"), free_port()
    before = results_in(cup)

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
    assert "Resumed in round 3" in said
    assert results_in(cup) == before
    assert "6 of 6 matches are decided, each once" in league("verify", cup).stdout


def results_in(cup):
    """How each match of the first two rounds ended."""
    rounds = json.loads(league("schedule", "--dir", cup, "--json").stdout)
    return [
        (match["match_id"], match["status"], match["winner_player_id"])
        for each in rounds[:2]
        for match in each["matches"]
    ]
