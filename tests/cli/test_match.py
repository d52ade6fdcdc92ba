"""`league match`, as a person types it."""

import asyncio
import json

import pytest
from click.testing import CliRunner

from agentleague.cli.app import app
from agentleague.cli.commands.match import whole_match
from commands import BIN, first_line, free_port, league, started
from records.journals import one_match, written

BOTH = [(0, "P01", "even"), (0, "P02", "odd")]


def run(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture
def cup(tmp_path):
    transcript = [(5, "P01", "CHOOSE_PARITY_CALL", 1, "ok", "e\u0301\x1b\u202e", 2)]
    return written(tmp_path / "cup", one_match(BOTH, transcript=transcript).events)


@pytest.mark.parametrize("match_id", ["R1M1", "r1m1"])
def test_a_match_is_told_line_by_line(cup, match_id):
    done = run("match", match_id, "--dir", cup)

    lines = done.stdout.splitlines()
    assert done.exit_code == 0
    assert lines[0] == "R1M1 of round 1, even_odd: Agent 1 (P01) against Agent 2 (P02)."
    assert "R-" not in lines[-1]
    assert "(R-GAME-03)" in run("match", match_id, "--dir", cup, "-v").stdout
    assert done.stderr == ""


def test_nothing_that_a_terminal_obeys_is_printed(cup):
    for options in ([], ["--json"]):
        shown = run("match", "R1M1", "--dir", cup, *options).stdout
        assert shown.replace("\n", "").isprintable()


def test_as_json_it_is_one_object(cup):
    facts = json.loads(run("match", "R1M1", "--dir", cup, "--json").stdout)

    assert (facts["match_id"], facts["result"]["status"]) == ("R1M1", "WIN")
    assert facts["ending"]["rules"] == ["R-GAME-03"]


def test_an_unknown_match_is_an_error_that_says_what_there_is(cup):
    done = run("match", "R7M7", "--dir", cup)

    assert done.exit_code == 1
    assert "there is no match 'R7M7' in this league; " in done.stderr
    assert "R1M1" in done.stderr


def test_both_places_at_once_are_misuse(cup):
    done = run("match", "R1M1", "--dir", cup, "--manager", "http://127.0.0.1:1/mcp")

    assert done.exit_code == 2


def test_where_no_league_is_it_is_an_error(tmp_path):
    done = run("match", "R1M1", "--dir", tmp_path)

    assert done.exit_code == 1
    assert f"there is no league in {tmp_path}" in done.stderr


def test_a_running_manager_tells_the_same_as_its_directory(tmp_path):
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    where = ("--port", port, "--dir", tmp_path / "cup")
    manager = started(BIN / "league", "manager", "--players", "2", *where)
    first_line(manager)
    started(BIN / "league", "referee", "--manager", url, "--port", free_port())
    players = [
        started(BIN / "league", "player", "--strategy", "fixed", "--manager", url, "--port", "0")
        for _ in range(2)
    ]
    for player in players:
        player.wait(timeout=60)

    asked = json.loads(league("match", "R1M1", "--manager", url, "--json").stdout)
    read = json.loads(league("match", "R1M1", "--dir", tmp_path / "cup", "--json").stdout)

    assert asked["result"]["status"] == "DRAW"
    assert {key: read[key] for key in asked} == asked
    unknown = league("match", "R9M9", "--manager", url, check=False)
    assert unknown.returncode == 1
    assert "R9M9" in unknown.stderr


@pytest.mark.parametrize(("total", "asked"), [(3, [0, 2]), (9, [0, 2, 3]), (0, [0])])
def test_a_transcript_is_asked_for_page_by_page_as_long_as_rows_come(total, asked):
    names = {"player_A_id": "P01", "player_A_name": "Ann"}
    match = {"match_id": "R1M1", "round_id": 1, "game_type": "even_odd", **names}
    match |= {"player_B_id": "P02", "player_B_name": "Bob"}
    row = {"player_id": "P01", "message": "GAME_INVITATION", "attempt": 1, "verdict": "ok"}
    rows = [{"at": number, **row} for number in range(3)]
    offsets = []

    class Manager:
        async def ask(self, query_type, match_id, offset):
            offsets.append(offset)
            page = rows[offset : offset + 2]
            return {"match": {**match, "transcript": page}, "total": total}

    facts = asyncio.run(whole_match(Manager(), "R1M1"))

    assert offsets == asked
    assert facts["transcript"] == rows[: len(facts["transcript"])]
