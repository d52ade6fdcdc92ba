"""What a person is told of foreign agents, read from the terminal of real processes."""

import json
import sys
from urllib.error import HTTPError

import pytest

from cli.test_organise import a_manager
from commands import league, read_until, started
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
    said = read_until(manager, "Refused player")
    status = league("status", "--dir", cup).stdout

    assert "Refused a registration from 127.0.0.1: LEAGUE_REGISTER_REQUEST: missing field" in said
    assert "Refused: a registration from 127.0.0.1" in status
    (eve,) = [line for line in status.splitlines() if "'Eve'" in line]
    assert "lies where this league does not call" in eve
    assert eve.endswith("(E043), 2 times by now.")
