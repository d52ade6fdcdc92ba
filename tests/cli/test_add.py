"""`league add-player` and `league add-referee`, against a manager that runs."""

import json
import re
import sys

from cli.test_organise import a_manager
from cli.test_standings import printed
from commands import BIN, SECONDS, first_line, league, started
from foreign.league import PLAYERS, REFEREES

TRYING = "Trying it: one match against random. If it does not answer, that takes half a minute.\n"


def test_players_that_never_register_are_brought_in_and_play(tmp_path):
    cup = tmp_path / "cup"
    manager, url = a_manager(cup, "--exit", "--players", "2")
    players = started(
        sys.executable, "-I", "-S", PLAYERS, "-", "call=type,moves=odd,ends=yes", "call=message"
    )
    urls = [players.stdout.readline().strip() for _ in range(2)]
    referee = started(BIN / "league", "referee", "--manager", url, "--port", "24001")
    first_line(referee)

    added = league("add-player", "Ann", urls[0], "--dir", cup)
    again = league("add-player", "Ann", urls[0], "--dir", cup, check=False)
    league("add-player", "Bob", urls[1].removeprefix("http://"), "--dir", cup)
    manager.communicate(timeout=SECONDS)

    rows = json.loads(league("standings", "--dir", cup, "--json").stdout)
    agents = json.loads(league("agents", "--dir", cup, "--json").stdout)
    assert added.stdout == f"Ann is P01, and is called at {urls[0]}.\n"
    assert added.stderr == (  # It was tried, and does not believe that its league is over.
        f"{TRYING}It plays even_odd, and understands: message type as method. "
        f"Try it again with: league play {urls[0]} random --game even_odd\n"
    )
    assert again.returncode == 1
    assert "P01 is that player already; look with: league agents" in again.stderr
    assert manager.returncode == 0
    assert [row["technical_losses"] for row in rows] == [0, 0]
    assert {row.get("speaks") for row in agents if row["kind"] == "player"} == {
        "message type as method",
        "handle_message, message in params.message",
    }


def test_a_player_that_does_not_play_yet_is_added_all_the_same_and_its_words_are_told(tmp_path):
    cup = tmp_path / "cup"
    a_manager(cup, "--game", "tic_tac_toe")
    players = started(sys.executable, "-I", "-S", PLAYERS, "-", "needs=team_colour,says=so")
    url = players.stdout.readline().strip()

    strict = league("add-player", "Ann", url, "--dir", cup)
    absent = league("add-player", "Bob", "127.0.0.1:9", "--dir", cup)

    assert strict.stdout == f"Ann is P01, and is called at {url}.\n"
    assert strict.stderr.startswith(
        f"{TRYING}It does not play tic_tac_toe yet: when asked with GAME_INVITATION, there came "
        "HTTP 422: team_colour: Field required. It should take the messages of "
    )
    assert "complained of. Try it again with: league play " in strict.stderr
    assert absent.stdout == "Bob is P02, and is called at http://127.0.0.1:9.\n"
    assert (
        "It was not tried: 127.0.0.1:9: the connection was refused: nobody listens" in absent.stderr
    )


def test_who_fails_its_trial_is_led_to_the_check_and_who_plays_is_not(tmp_path):
    cup = tmp_path / "cup"
    a_manager(cup)
    players = started(
        sys.executable, "-I", "-S", PLAYERS, "-", "needs=team_colour,says=so", "moves=odd"
    )
    failing, playing = (players.stdout.readline().strip() for _ in range(2))

    failed = league("add-player", "Ann", failing, "--dir", cup).stderr
    played = league("add-player", "Bob", playing, "--dir", cup).stderr

    assert f"league check player {failing}" in failed
    assert "league check" not in played


def test_a_player_is_tried_by_the_rules_of_its_league(tmp_path):
    cup = tmp_path / "cup"
    a_manager(cup, "--missing-fields", "refuse")
    players = started(sys.executable, "-I", "-S", PLAYERS, "-", "moves=odd")
    url = players.stdout.readline().strip()

    told = league("add-player", "Ann", url, "--dir", cup).stderr

    assert told.startswith(
        f"{TRYING}It does not play even_odd yet: when asked with GAME_INVITATION"
    )
    assert "this league has missing_fields=refuse, and the answer lacks conversation_id, " in told
    assert "Try it again" not in told  # `league play` has other rules.


def test_a_referee_that_never_registers_is_brought_in(tmp_path):
    cup = tmp_path / "cup"
    manager, _ = a_manager(cup)

    said = league("add-referee", "Theirs", "http://127.0.0.1:9/mcp", "--dir", cup).stdout

    assert said == "Theirs is REF01, and is called at http://127.0.0.1:9/mcp.\n"
    assert league("add-referee", "Theirs", "--dir", cup, check=False).returncode == 2

    while "REF01 is not reachable" not in manager.stderr.readline():
        pass
    told = [printed("agents", cup), printed("status", cup), printed("agent", "REF01", cup)]
    manager.kill()
    manager.wait(SECONDS)
    unknown = json.loads(printed("agents", cup, "--json"))

    assert "REGISTERED, not reachable" in told[0]
    assert re.search(r"Not reachable +REF01", told[1])
    assert re.search(r"End point +http://127.0.0.1:9/mcp, nobody answers there", told[2])
    assert "Identity" not in told[2]
    assert "reachable" not in unknown[0]


def test_a_referee_that_was_brought_in_runs_matches(tmp_path):
    cup = tmp_path / "cup"
    manager, url = a_manager(cup, "--exit", "--players", "2")
    python = (sys.executable, "-I", "-S")
    players = started(*python, PLAYERS, "-", "moves=odd", "moves=even")
    referees = started(*python, REFEREES, url, "{}", "start=assign,register=never,token=no")
    urls = [process.stdout.readline().strip() for process in (referees, players, players)]

    said = league("add-referee", "Theirs", urls[0], "--dir", cup).stdout
    for name, at in zip(("Ann", "Bob"), urls[1:], strict=True):
        league("add-player", name, at, "--dir", cup)
    manager.communicate(timeout=SECONDS)

    agent = league("agent", "REF01", "--dir", cup).stdout
    assert said == f"Theirs is REF01, and is called at {urls[0]}.\n"
    assert manager.returncode == 0
    assert "matches by assign_match" in agent
