"""`league simulate`, as a person types it."""

import json
import re

import pytest
from click.testing import CliRunner

from agentleague.cli.app import app
from agentleague.simulation.modes import MODES
from simulation.planted import referees_make_numbers_up

LAST = re.compile(
    r"(\d+) leagues?, [\d.,]+ virtual hours, (\d+) violations?, [\d.,]+ leagues per second"
)


def simulate(*arguments):
    return CliRunner().invoke(app, ["simulate", *arguments])


@pytest.mark.parametrize("mode", MODES)
def test_the_last_line_says_how_many_leagues_and_what_did_not_hold(mode):
    done = simulate("--mode", mode, "--seeds", "2")

    assert done.exit_code == 0
    assert LAST.fullmatch(done.stdout.splitlines()[-1]).groups() == ("2", "0")
    assert done.stderr == ""


def test_on_a_terminal_a_bar_shows_how_far_it_is(monkeypatch):
    monkeypatch.setattr("agentleague.cli.output.is_plain", lambda stream: False)

    shown, quiet = (simulate("--mode", "calm", "--seeds", "2", *more) for more in ([], ["-q"]))

    assert "2/2" in shown.stderr
    assert quiet.stderr == ""
    assert LAST.fullmatch(shown.stdout.splitlines()[-1])


def test_a_seed_that_finds_something_comes_with_the_command_that_shows_it(monkeypatch):
    referees_make_numbers_up(monkeypatch)

    done = simulate("--mode", "calm", "--seed", "1", "--seeds", "1")

    assert done.exit_code == 1
    found, command, last = done.stdout.splitlines()
    assert found.startswith("Seed 1: ")
    assert command.strip() == "see it: league simulate --mode calm --seed 1 --trace"
    assert LAST.fullmatch(last).groups() == ("1", "1")


def test_a_seed_alone_is_one_league_and_the_first_of_many_otherwise():
    one = json.loads(simulate("--mode", "calm", "--seed", "5", "--json").stdout)
    many = json.loads(simulate("--mode", "calm", "--seed", "5", "--seeds", "3", "--json").stdout)

    assert (one["leagues"], many["leagues"]) == (1, 3)


def test_as_json_it_has_all_that_the_last_line_says_and_the_failures(monkeypatch):
    referees_make_numbers_up(monkeypatch)

    done = simulate("--mode", "calm", "--seed", "1", "--json")

    said = json.loads(done.stdout)
    assert done.exit_code == 1
    assert list(said) == [
        "mode",
        "leagues",
        "virtual_hours",
        "violations",
        "leagues_per_second",
        "messages",
        "failures",
    ]
    (failure,) = said["failures"]
    assert failure["seed"] == 1
    assert failure["command"] == "league simulate --mode calm --seed 1 --trace"
    assert "is told" in failure["violation"]


def test_a_trace_tells_one_league_message_by_message():
    done = simulate("--mode", "chaos", "--seed", "6", "--trace")

    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert any("manager -> player1: ROUND_ANNOUNCEMENT round_id=1" in line for line in lines)
    assert any("GAME_JOIN_ACK to GAME_INVITATION" in line for line in lines)
    assert any("*** " in line and "crashes" in line for line in lines)
    assert re.fullmatch(r"chaos, seed 6: [\d.]+ virtual seconds, everything held", lines[-1])
    times = [float(line.split()[0]) for line in lines[:-1]]
    assert times == sorted(times)


def test_a_trace_of_a_league_that_broke_ends_with_what_broke(monkeypatch):
    referees_make_numbers_up(monkeypatch)

    done = simulate("--mode", "calm", "--seed", "1", "--trace")

    assert done.exit_code == 1
    assert "is told" in done.stdout.splitlines()[-1]


def test_a_trace_as_json_has_a_hash_that_is_the_same_each_time():
    first = json.loads(simulate("--mode", "calm", "--seed", "2", "--trace", "--json").stdout)
    again = json.loads(simulate("--mode", "calm", "--seed", "2", "--trace", "--json").stdout)

    assert first == again
    assert (first["mode"], first["seed"], first["violation"]) == ("calm", 2, "")
    assert len(first["trace"]) == 64
    assert set(first["lines"][0]) == {"at", "source", "target", "what"}


def test_a_trace_holds_no_token():
    said = simulate("--mode", "calm", "--seed", "2", "--trace").stdout

    assert "tok_" not in said


def test_a_mode_that_is_not_there_is_misuse():
    assert simulate("--mode", "storm").exit_code == 2
