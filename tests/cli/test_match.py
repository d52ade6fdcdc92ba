"""`league match`, as a person types it."""

import asyncio
import json
import os
import pty
import subprocess

import pytest
from click.testing import CliRunner

from agentleague.cli.app import app
from agentleague.cli.commands.match import whole_match
from agentleague.games import tic_tac_toe
from commands import BIN, environment, first_line, free_port, league, started
from games.throwaway import THROWAWAY
from league.decisions import Decisions
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


WON = [(n, ("P01", "P02")[n % 2], cell) for n, cell in enumerate([0, 3, 1, 4, 2])]


@pytest.fixture
def board(tmp_path):
    return written(tmp_path / "board", one_match(WON, game=tic_tac_toe).events)


def test_the_board_at_the_end_is_shown_before_the_last_line(board):
    lines = run("match", "R1M1", "--dir", board).stdout.splitlines()

    begin = lines.index("At the end, by the game:")
    assert [line.strip() for line in lines[begin + 1 :][:3]] == [
        *("[X]|[X]|[X]", "---+---+---", "O | O | 5")
    ]
    assert lines[-1].startswith("Agent 1 (P01) won")


def test_where_nothing_was_played_there_is_no_board(tmp_path):
    forfeited = written(tmp_path, one_match([], [("P01", "timed out")]).events)

    assert "At the end" not in run("match", "R1M1", "--dir", forfeited).stdout


def test_a_replay_has_every_turn_with_its_board(board, cup):
    done = run("match", "R1M1", "--dir", board, "--replay")

    shown = done.stdout.split("\n\n")
    assert [part.splitlines()[0] for part in shown] == [
        "R1M1 of round 1, tic_tac_toe: Agent 1 (P01) against Agent 2 (P02).",
        "Start",
        *(f"Turn {n + 1}  Agent {n % 2 + 1} (P0{n % 2 + 1}): {cell}" for n, _, cell in WON),
    ]
    assert shown[2].splitlines()[1].strip() == "X | 1 | 2"
    assert shown[-1].splitlines()[-1] == "P01 has three X in a row: cells 0, 1, 2"
    even_odd = run("match", "R1M1", "--dir", cup, "--replay").stdout
    assert 'Turn 1  Agent 1 (P01): "even", Agent 2 (P02): "odd", the number 9 was drawn' in even_odd
    assert "R-" not in even_odd


def test_on_a_terminal_a_replay_goes_on_with_enter_and_ends_with_q(board):
    ours, theirs = pty.openpty()
    os.write(ours, b"\nq\n")
    command = [BIN / "league", "match", "R1M1", "--dir", board, "--replay"]
    terminal = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    subprocess.run(command, **terminal, env=environment(), check=True)
    os.close(theirs)

    shown = os.read(ours, 65536).decode()

    os.close(ours)
    assert "Enter: next, q: end" in shown
    assert "Turn 1" in shown
    assert "Turn 2" not in shown


def test_a_replay_as_json_has_the_steps(board):
    facts = json.loads(run("match", "R1M1", "--dir", board, "--replay", "--json").stdout)

    assert facts["match_id"] == "R1M1"
    assert [step["moves"] for step in facts["steps"]][:2] == [{}, {"P01": 0}]
    assert facts["steps"][1]["picture"]["svg"].startswith("<svg")


def test_nothing_of_a_match_that_is_not_decided_is_replayed(tmp_path):
    undecided = written(tmp_path, Decisions().start().events)

    done = run("match", "R1M1", "--dir", undecided, "--replay")

    assert done.exit_code == 1
    assert "R1M1 is not decided yet; its moves are shown when it is" in done.stderr


RACE = """
from games.throwaway import THROWAWAY
globals().update(vars(THROWAWAY["race"]))
"""


def test_a_game_that_is_not_installed_is_told_without_a_board_and_replayed_from_a_file(tmp_path):
    moves = [(turn, player_id, 2) for turn in range(3) for player_id in ("P01", "P02")]
    cup = written(tmp_path / "cup", one_match(moves, game=THROWAWAY["race"]).events)
    (tmp_path / "race.py").write_text(RACE)

    told = run("match", "R1M1", "--dir", cup)
    assert "A draw: P01 has 6" in told.stdout
    assert told.stderr.startswith("There is no board: no game 'race' is installed")
    assert told.stderr.endswith("; install the game, or name its file with --game FILE.py\n")
    missing = run("match", "R1M1", "--dir", cup, "--replay")
    assert missing.exit_code == 1
    assert "'race'" in missing.stderr
    assert "name its file with --game FILE.py" in missing.stderr
    file = ("--game", tmp_path / "race.py")
    assert run("match", "R1M1", "--dir", cup, *file).stderr == ""
    assert "Turn 3" in run("match", "R1M1", "--dir", cup, "--replay", *file).stdout


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
