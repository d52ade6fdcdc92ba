"""What an agent has played is kept across leagues."""

import json
import sys

import pytest

from agentleague.runtime import state_files
from agentleague.runtime.state_files import HistoryFile


def played(match_id="R1M1", league_id="league_x", player_id="P01"):
    return {
        "league_id": league_id,
        "game_type": "even_odd",
        "match_id": match_id,
        "round_id": 1,
        "player_id": player_id,
        "opponent_id": "P02",
        "opponent_name": "Bob",
        "result": {"status": "WIN"},
        "won": True,
    }


def places(history):
    return [(match["league_id"], match["match_id"]) for match in history.read()]


def test_what_was_kept_is_there_in_the_next_league(tmp_path):
    HistoryFile(tmp_path, "Ann").save([played("R1M1", "league_1"), played("R2M1", "league_1")])
    history = HistoryFile(tmp_path, "Ann")
    history.save([played("R1M1", "league_2")])

    assert places(history) == [("league_1", "R1M1"), ("league_1", "R2M1"), ("league_2", "R1M1")]


def test_a_league_that_is_saved_again_is_there_once(tmp_path):
    history = HistoryFile(tmp_path, "Ann")
    history.save([played("R1M1")])
    history.save([played("R1M1"), played("R2M1")])

    assert places(history) == [("league_x", "R1M1"), ("league_x", "R2M1")]


def test_two_agents_of_one_name_keep_what_both_played(tmp_path):
    first, second = HistoryFile(tmp_path, "Ann"), HistoryFile(tmp_path, "Ann")
    first.save([played(player_id="P01")])
    second.save([played(player_id="P02")])
    first.save([played(player_id="P01"), played("R2M1", player_id="P01")])

    assert [match["player_id"] for match in second.read()] == ["P02", "P01", "P01"]


def test_every_other_name_has_a_file_of_its_own(tmp_path):
    names = ["Ann", "ann", "Ann!", "../../etc/passwd", "Zoë\n🦊", "x" * 500]
    paths = [HistoryFile(tmp_path, name).path for name in names]

    assert len(set(paths)) == len(names)
    assert {path.parent for path in paths} == {tmp_path}
    assert all(path.name.isascii() for path in paths)


def test_only_the_last_thousand_matches_stay(tmp_path):
    history = HistoryFile(tmp_path, "Ann")
    history.save([played(f"R{number}M1", "league_1") for number in range(999)])
    history.save([played(f"R{number}M1", "league_2") for number in range(2)])

    assert len(history.read()) == 1000
    assert places(history)[0] == ("league_1", "R1M1")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"matches": 7}',
        b'{"matches": [7]}',
        b'{"matches": [{"won": true}]}',
        b'{"matches": ["\xff"]}',
    ],
)
def test_a_file_that_cannot_be_read_holds_nothing_and_is_replaced(tmp_path, text):
    history = HistoryFile(tmp_path, "Ann")
    history.path.write_bytes(text)
    assert list(history.read()) == []

    history.save([played()])

    assert places(history) == [("league_x", "R1M1")]


def test_a_file_that_is_too_long_to_be_ours_is_not_read(tmp_path):
    HistoryFile(tmp_path, "Ann").save([played()])

    assert list(HistoryFile(tmp_path, "Ann", size_bytes_max=10).read()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes.")
def test_nobody_else_may_read_it(tmp_path):
    history = HistoryFile(tmp_path, "Ann")
    history.save([played()])

    assert history.path.stat().st_mode & 0o777 == 0o600


def test_a_save_that_fails_leaves_what_was_there_and_no_rubbish(tmp_path, monkeypatch):
    history = HistoryFile(tmp_path, "Ann")
    history.save([played()])

    def full(descriptor):
        raise OSError("no space left on device")

    monkeypatch.setattr(state_files.os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        history.save([played(league_id="league_2")])

    assert places(history) == [("league_x", "R1M1")]
    assert [path.name for path in tmp_path.iterdir()] == [history.path.name]
    assert json.loads(history.path.read_text())
