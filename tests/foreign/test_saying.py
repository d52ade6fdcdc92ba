"""What a person is told of foreign agents, read from the terminal of real processes."""

import json
import re
import sys
from urllib.error import HTTPError

import pytest

from cli.test_organise import a_manager
from commands import BIN, free_port, league, read_until, started
from foreign.http_agent import post, register
from foreign.league import PLAYERS, REFEREES
from rules import rule

ISOLATED = (sys.executable, "-I", "-S")
QUICK = ("--join-seconds", "0.5", "--move-seconds", "0.5")


def agents(program, *arguments):
    """Foreign agents, once they are registered."""
    process = started(*ISOLATED, program, *arguments)
    while process.stdout.readline().strip() != "ready":
        assert process.poll() is None
    return process


@rule("R-REG-16")
def test_a_refused_registration_is_on_the_screen_in_the_status_and_in_the_http_status(tmp_path):
    cup = tmp_path / "cup"
    manager, url = a_manager(cup)
    unread = {"message_type": "LEAGUE_REGISTER_REQUEST", "player_meta": {"endpoint": url}}
    message = {"player_meta": {"display_name": "Eve", "contact_endpoint": "http://10.0.0.1/mcp"}}

    with pytest.raises(HTTPError, match="400"):
        post(url, unread)
    for _ in range(2):
        with pytest.raises(HTTPError, match="403"):
            register(url, "least", message)
    for method in ("handleMessage", "join_league"):
        params = {"name": "Eve", "url": "http://10.0.0.1/mcp"}
        post(url, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    said = read_until(manager, "'join_league'")
    status = league("status", "--dir", cup).stdout

    assert "Refused a registration from 127.0.0.1: LEAGUE_REGISTER_REQUEST: missing field" in said
    assert "Refused a registration from 127.0.0.1: 'handleMessage' is no message" in said
    assert "Refused: a registration from 127.0.0.1" in status
    (eve,) = [line for line in status.splitlines() if "'Eve'" in line]
    assert "lies where this league does not call" in eve
    assert eve.endswith("(E043), 2 times by now.")


@rule("R-START-03", "R-LEASE-01")
def test_a_match_that_a_foreign_referee_drops_is_said_to_wait_for_it(tmp_path):
    cup = tmp_path / "cup"
    manager, url = a_manager(cup, "--players", "2", "--lease-seconds", "2", *QUICK)
    agents(REFEREES, url, json.dumps({}), "fails=1")
    agents(PLAYERS, url, "moves=odd", "call=type")

    said = read_until(manager, "R1M1 is not reported yet: it waits for REF01, ")
    status, match = (
        league(*words, "--dir", cup).stdout for words in (["status"], ["match", "R1M1"])
    )

    then = " s still; then it waits 600 s for another referee, and is no contest after that."
    assert f"{then} See it with: league match R1M1 --dir {cup}" in said
    assert "Not reported yet: R1M1: it waits for REF01, " in status
    assert match.splitlines()[-1].startswith("It is being played: REF01 has it")
    assert match.splitlines()[-1].endswith(then)


@rule("R-DIA-09")
def test_what_a_player_itself_says_that_understands_nothing_is_what_its_author_reads(tmp_path):
    cup, said = tmp_path / "cup", "HTTP 422: team_colour: Field required"
    once = (
        "--join-seconds",
        "60",
        "--join-retries",
        "0",
    )  # A search has time, and is the only one.
    manager, url = a_manager(cup, "--players", "2", *once)
    assert re.search(r"Players +0 of 2\n", league("status", "--dir", cup).stdout)
    referee = started(BIN / "league", "referee", "--manager", url, "--port", free_port())
    read_until(referee, "Registered")
    agents(PLAYERS, url, "needs=team_colour,says=so", "moves=odd")

    screens = [
        read_until(each, "does not understand what it is asked") for each in (referee, manager)
    ]
    read_until(manager, "The league is over")
    status, match, agent = (
        league(*words, "--dir", cup).stdout
        for words in (["status"], ["match", "R1M1"], ["agent", "P01"])
    )

    assert all(f"It said: {said}. From now on" in screen for screen in screens)
    assert f"Understands no form: P01 needs=team_colour,says=so, which said: {said}." in status
    assert f"GAME_INVITATION: E009 ({said})" in match
    assert f"answered: {said}. It should take the messages of" in match.splitlines()[-1]
    assert f"there came {said} (E009)" in agent
    assert not {"tried", "asked as", "R-"} & set(re.findall("tried|asked as|R-", match + agent))
