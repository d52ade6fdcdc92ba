"""A league goes on by the command that was printed, and by no other."""

import re
import shlex
import signal

import pytest

from commands import BIN, SECONDS, first_line, free_port, league, started
from crash.cup import Cup, until

GO_ON = re.compile(r"nothing is lost\. Continue with: (.+)")


@pytest.fixture
def stopped(tmp_path):
    """The directory of a league that was stopped, and the options it was begun with."""
    cup = tmp_path / "cup"
    options = ("--players", 2, "--port", free_port(), "--dir", cup)
    manager = started(BIN / "league", "manager", *options)
    first_line(manager)
    manager.send_signal(signal.SIGINT)
    manager.communicate(timeout=SECONDS)
    return cup, options


def refused(*options):
    """What a manager says that will not start."""
    done = league("manager", *options, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def test_ctrl_c_prints_the_command_that_resumes_and_as_printed_it_does(tmp_path):
    cup = Cup(tmp_path, players=4, rules={"cycles": 8}, run=0.02).open()
    until(cup.is_playing, "the first result is told")

    cup.processes["manager"].send_signal(signal.SIGINT)
    assert cup.processes["manager"].wait(SECONDS) == 0
    printed = GO_ON.search(cup.said("manager"))[1]
    assert printed == shlex.join(["league", *map(str, cup.commands["manager"])])
    cup.commands["manager"] = tuple(shlex.split(printed)[1:])
    cup.start("manager")

    cup.ends().check()
    assert "Resumed in round" in cup.said("manager")


def test_the_real_command_is_printed_as_it_was_typed(tmp_path):
    options = ("--players", "2", "--port", str(free_port()), "--dir", str(tmp_path / "a cup"))
    manager = started(BIN / "league", "manager", *options)
    league_and_place = first_line(manager)

    manager.send_signal(signal.SIGINT)
    _, said = manager.communicate(timeout=SECONDS)
    printed = GO_ON.search(said)[1]
    again = started(BIN / shlex.split(printed)[0], *shlex.split(printed)[1:])

    assert shlex.split(printed) == ["league", "manager", *options]
    assert first_line(again) == league_and_place


@pytest.mark.parametrize(
    ("changed", "name"), [(("--seed", "7"), "seeded"), (("--game", "tic_tac_toe"), "game_type")]
)
def test_a_changed_rule_is_refused_and_named(changed, name, stopped):
    _, options = stopped

    said = refused(*options, *changed)

    assert f"was begun with {name} = " in said
    assert "start it with the same rules" in said


def test_a_second_manager_of_the_same_directory_is_refused(stopped):
    cup, options = stopped
    first = started(BIN / "league", "manager", *options)
    first_line(first)

    said = refused("--players", 2, "--port", free_port(), "--dir", cup)

    assert f"another manager (pid {first.pid}) writes to {cup}; stop it first" in said
    assert first.poll() is None


@pytest.mark.parametrize("name", ["secret.key", "admin.token"])
@pytest.mark.parametrize("damage", ["missing", "empty"])
def test_without_its_secrets_a_league_is_not_resumed(name, damage, stopped):
    cup, options = stopped
    (cup / name).unlink()
    if damage == "empty":
        (cup / name).touch()

    said = refused(*options)

    assert f"the secrets of the league in {cup} cannot be read" in said
    assert name in said


def test_secrets_that_cannot_be_written_are_not_taken_for_a_busy_port(tmp_path):
    (tmp_path / "admin.token").mkdir()

    said = refused("--players", 2, "--port", free_port(), "--dir", tmp_path)

    assert f"cannot keep the league's secrets in {tmp_path}" in said
    assert "--port" not in said


def test_a_port_that_was_taken_meanwhile_is_said(stopped):
    cup, options = stopped
    other = started(BIN / "league", "manager", *options[:-1], cup.with_name("other"))
    first_line(other)

    assert "cannot be opened" in refused(*options)


def test_a_loss_is_accepted_only_where_there_is_one(stopped, tmp_path):
    _, options = stopped

    said = refused("--players", 2, "--port", free_port(), "--dir", tmp_path / "x", "--accept-loss")
    again = started(BIN / "league", "manager", *options, "--accept-loss")
    first_line(again)
    remark = again.stderr.readline()
    again.send_signal(signal.SIGINT)
    _, last = again.communicate(timeout=SECONDS)

    assert "has no league to go on with; leave out --accept-loss" in said
    assert remark == "No rows are lost: --accept-loss has no effect.\n"
    assert "--accept-loss" not in GO_ON.search(last)[1]
