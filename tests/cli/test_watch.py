"""A league that is looked at while it goes on: on a terminal, in lines, from elsewhere."""

import json
import signal

import pytest

from agentleague.cli.commands import watch
from agentleague.errors import NoConnection
from cli import in_process
from cli.screen import Screen
from commands import BIN, SECONDS, first_line, free_port, league, read_until, started

ESC = "\x1b"
# It thinks until it may answer, so that the league stays where it is.
PATIENT = """
import pathlib, time
def choose(turn):
    while not pathlib.Path("go").exists():
        time.sleep(0.05)
    return "even"
"""


@pytest.fixture
def cup(tmp_path):
    """The directory for a league that waits for a file `go` in the directory above."""
    (tmp_path / "mine.py").write_text(PATIENT)
    return tmp_path / "cup"


def manager_of(cup, port):
    return ("manager", "--players", 2, "--move-seconds", 600, "--port", port, "--dir", cup)


def start_agents(cup, port, name="Patient"):
    url = f"http://127.0.0.1:{port}/mcp"
    started(BIN / "league", "referee", "--manager", url, "--port", 0, cwd=cup.parent)
    named = ("--name", name, "--manager", url, "--port", 0)
    started(BIN / "league", "player", "mine.py", *named, cwd=cup.parent)
    started(BIN / "league", "player", "--manager", url, "--port", 0, cwd=cup.parent)


def test_a_manager_shows_its_league_below_what_it_says(cup):
    port, name = free_port(), f"[red]漢字[/red]{ESC}[2J{ESC}]0;owned"
    screen = Screen(*manager_of(cup, port), "-v", cwd=cup.parent)
    screen.until("Stop with Ctrl-C.", "\n0 of 2 players and 0 of 1 referees are here")

    start_agents(cup, port, name)

    shown = screen.until("Round 1 of 1", "0 of 1 matches", "\nWaiting for P0")
    assert "Waiting for 2 players and a referee. Stop with Ctrl-C." in shown  # as it began
    assert shown.index("\nThe league has begun") < shown.index("\nRound 1 of 1")
    assert "are here" not in shown
    assert shown.count("Round 1 of 1") == 1
    assert "[red]漢字[/red][2J]0;owned" in shown.partition("Round 1 of 1")[2]
    assert f"{ESC}[2J" not in screen.text
    assert f"{ESC}]" not in screen.text

    (cup.parent / "go").touch()
    shown = screen.until("final table", "Stop with Ctrl-C.\n")
    assert "━" not in shown  # The live table is gone.
    screen.process.send_signal(signal.SIGINT)
    _, code = screen.ended()
    assert code == 0
    assert screen.text.rfind(f"{ESC}[?25h") > screen.text.rfind(f"{ESC}[?25l")  # the cursor


def test_a_demo_that_is_stopped_leaves_the_terminal_clean(cup):
    player = ("--player", "mine.py", "--players", 2, "--move-seconds", 600)
    screen = Screen("demo", *player, size=(40, 20), cwd=cup.parent)
    screen.until("Round 1 of 1", "Rank", "Waiting for P01 'mine'")

    screen.process.send_signal(signal.SIGINT)

    shown, code = screen.ended()
    assert (shown.strip(), code) == ("Stopped.", 130)
    assert screen.text.rfind(f"{ESC}[?25h") > screen.text.rfind(f"{ESC}[?25l")


def test_nothing_moves_where_it_must_not(cup):
    (cup.parent / "go").touch()
    quiet = Screen("demo", "--player", "mine.py", "--quiet", cwd=cup.parent)

    assert quiet.ended()[1] == 0
    assert f"{ESC}[?25l" not in quiet.text
    assert "final table" in quiet.shown


def test_a_league_can_be_followed_while_its_manager_comes_and_goes(cup):
    port = free_port()
    words = ("watch", "--manager", port)
    lines = started(BIN / "league", *words)
    assert read_until(lines, "waiting for it") == (
        f"No manager answers at http://127.0.0.1:{port}/mcp yet; waiting for it. "
        "Stop with Ctrl-C.\n"
    )
    manager = started(BIN / "league", *manager_of(cup, port))
    first_line(manager)
    read_until(lines, "Following league_")
    screen, scripts = Screen(*words), started(BIN / "league", "watch", cup, "--json")
    start_agents(cup, port)
    screen.until("Round 1 of 1", "Waiting for P0")
    read_until(lines, "Waiting for P0")

    manager.kill()
    read_until(lines, "is away since")
    screen.until("Round 1 of 1, manager away", "is away since")
    first_line(started(BIN / "league", "manager", "--dir", cup))
    read_until(lines, "The manager is back; it was away since")
    screen.until("The manager is back", "\nRound 1 of 1  league_")
    read_until(scripts, "The manager is back")
    (cup.parent / "go").touch()

    out, said = lines.communicate(timeout=SECONDS)
    assert lines.returncode == 0
    assert "final table" in out
    assert f"{ESC}[" not in out + said
    assert "is the champion with " in said
    shown, code = screen.ended()
    assert code == 0
    assert "final table" in shown
    assert "━━━━━━━━━━  " not in shown
    told = [json.loads(line) for line in scripts.communicate(timeout=SECONDS)[0].splitlines()]
    assert scripts.returncode == 0
    assert [each["status"] for each in told if each.get("away")] == ["RUNNING_LEAGUE"]
    assert told[-1]["status"] == "LEAGUE_COMPLETED"
    assert [row["played"] for row in told[-1]["standings"]] == [1, 1]


def test_a_directory_that_is_not_there_is_said_at_once_and_one_without_a_league_waited_for(cup):
    nowhere = league("watch", cup, check=False)
    cup.mkdir()
    waiting = started(BIN / "league", "watch", cup)

    assert nowhere.returncode == 1
    assert f"there is no league in {cup}" in nowhere.stderr
    assert f"No manager answers in {cup} yet" in read_until(waiting, "waiting for it")


def test_a_league_that_is_over_is_told_from_its_directory(tmp_path):
    league("demo", "--dir", tmp_path / "cup", "--seed", "7")

    told = in_process.league("watch", tmp_path / "cup")
    (line,) = in_process.league("watch", tmp_path / "cup", "--json").stdout.splitlines()

    assert "final table" in told.stdout
    assert "Round 3 of 3 is over; " in told.stderr
    assert " is the champion with " in told.stderr
    said = json.loads(line)
    assert (said["status"], said["champion"]) == (
        "LEAGUE_COMPLETED",
        said["standings"][0]["player_id"],
    )


def test_a_manager_that_leaves_at_the_end_does_not_keep_anybody_waiting(monkeypatch, tmp_path):
    async def fails(source):
        raise NoConnection("gone")

    league("demo", "--dir", tmp_path / "cup", "--seed", "7")
    monkeypatch.setattr(watch, "read_table", fails)

    told = in_process.league("watch", tmp_path / "cup")

    assert "The manager left before it had told all of its table" in told.stdout
