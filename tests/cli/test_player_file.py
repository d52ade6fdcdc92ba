"""`league player FILE.py`: a file as a player of a league that somebody else runs."""

import json

import pytest

from agentleague.cli import player_files
from agentleague.cli.player_files import load_player
from cli.agent_files import FUNCTION, TEN_LINES
from commands import BIN, SECONDS, first_line, free_port, league, started

HOOK = """
@player.on_league_end
def over(what):
    print("the hook heard the end")
"""


def league_of(cwd, *players):
    """A league with these players to its end; its table, and what each player said."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    manager = started(
        BIN / "league", "manager", "--players", len(players), "--port", port, "--exit", cwd=cwd
    )
    first_line(manager)
    running = [started(BIN / "league", "referee", "--manager", url, "--port", 0, cwd=cwd)]
    for player in players:
        command = ("player", *player, "--manager", url, "--port", 0)
        running.append(started(BIN / "league", *command, cwd=cwd))
    said = [process.communicate(timeout=SECONDS) for process in running]
    manager.communicate(timeout=SECONDS)
    assert [process.returncode for process in running] == [0] * len(running), said
    return json.loads(league("standings", "--dir", "league", "--json", cwd=cwd).stdout), said[1:]


def test_a_player_that_says_what_it_plays_is_loaded_without_a_look_at_the_games(tmp_path):
    (tmp_path / "alpha.py").write_text(TEN_LINES)

    slow = "to look for plug-ins takes its time"
    player = load_player(tmp_path / "alpha.py", lambda: pytest.fail(slow))

    assert player.games == ("even_odd",)


def test_a_file_that_takes_long_to_load_is_said_to_be_loading(tmp_path, monkeypatch):
    told, path = tmp_path / "told", tmp_path / "slow.py"
    told.touch()
    monkeypatch.setattr(player_files, "LOADING_SECONDS", 0.0)
    monkeypatch.setattr(player_files, "say", told.write_text)
    wait = f"while not Path({str(told)!r}).read_text():\n    pass\n"
    path.write_text(f"from pathlib import Path\n{wait}{FUNCTION}")

    load_player(path, list)

    assert told.read_text().startswith(f"{path} is still being loaded: ")


def test_a_mere_function_plays_every_game(tmp_path):
    (tmp_path / "mine.py").write_text(FUNCTION)

    player = load_player(tmp_path / "mine.py", lambda: ["even_odd", "chess"])

    assert player.games == ("even_odd", "chess")


def test_files_play_a_league_under_their_own_or_given_names(tmp_path):
    (tmp_path / "alpha.py").write_text(TEN_LINES)
    (tmp_path / "mine.py").write_text(FUNCTION)

    table, _ = league_of(tmp_path, ["alpha.py"], ["mine.py"], ["mine.py", "--name", "Other"])

    assert {row["display_name"] for row in table} == {"Agent Alpha", "mine", "Other"}
    assert [row["technical_losses"] for row in table] == [0, 0, 0]


@pytest.mark.parametrize("verbose", [(), ("-vv",)])
def test_the_hooks_of_a_file_are_called_however_much_is_said(tmp_path, verbose):
    (tmp_path / "alpha.py").write_text(TEN_LINES + HOOK)

    _, said = league_of(tmp_path, ["alpha.py", *verbose], ["--strategy", "fixed"])

    output, talk = said[0]
    assert "the hook heard the end" in output
    assert "The league is over." in talk
    assert ("GAME_INVITATION" in talk) == bool(verbose)


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (
            ["nowhere.py"],
            1,
            "there is no file nowhere.py; write a player to begin with: league new",
        ),
        (["mine.js"], 1, "mine.js is not a Python file; start it with: node mine.js\n"),
        (["mine.txt"], 1, "mine.txt is not a Python file\n"),
        (["mine.py"], 1, "mine.py has neither `player = Player(...)` nor a function"),
        (
            ["mine.py", "--strategy", "fixed"],
            2,
            "give either mine.py or --strategy fixed, not both",
        ),
    ],
)
def test_a_file_that_cannot_play_is_refused_at_once(tmp_path, arguments, code, complaint):
    for name in ("mine.py", "mine.js", "mine.txt"):
        (tmp_path / name).write_text("")

    done = league("player", *arguments, cwd=tmp_path, check=False)

    assert done.returncode == code
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
