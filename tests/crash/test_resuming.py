"""A league goes on by its directory alone; what is given again must agree."""

import re
import shlex
import shutil
import signal

import pytest

from agentleague.storage.directory import manager_address, open_reader
from commands import BIN, SECONDS, first_line, free_port, league, read_until, started
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
    assert printed == f"league manager --dir {cup.disk.inside} --exit"
    cup.commands["manager"] = tuple(shlex.split(printed)[1:])
    cup.start("manager")

    cup.ends().check()
    assert "Resumed in round" in cup.said("manager")


def test_the_command_that_is_printed_needs_no_more_than_the_directory(tmp_path):
    options = ("--players", "2", "--port", str(free_port()), "--dir", str(tmp_path / "a cup"))
    manager = started(BIN / "league", "manager", *options)
    league_and_place = first_line(manager)

    manager.send_signal(signal.SIGINT)
    _, said = manager.communicate(timeout=SECONDS)
    printed = GO_ON.search(said)[1]
    again = started(BIN / shlex.split(printed)[0], *shlex.split(printed)[1:])

    assert shlex.split(printed) == ["league", "manager", *options[-2:]]
    assert first_line(again) == league_and_place


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        (("--seed", "7"), "seeded"),
        (("--game", "tic_tac_toe"), "game_type"),
        (("--league-id", "another"), "league_id"),
        (("--draw-points", "2"), "draw_points"),
        (("--move-seconds", "7"), "move_seconds"),
    ],
)
def test_a_changed_rule_is_refused_and_named(changed, name, stopped):
    _, options = stopped

    said = refused(*options, *changed)

    assert f"was begun with {name} = " in said
    assert "a league keeps its rules, so leave that out, or let it begin anew" in said


CODES = ("tipuf-sajil-gikop", "lusab-bagod-gutuh")
GAME = "from agentleague.games.even_odd import *\nname = 'mine'\n"


def test_after_kill_9_the_directory_is_enough_and_its_codes_are_told_to_nobody(
    tmp_path, monkeypatch
):
    cup, port = tmp_path / "cup", free_port()
    (tmp_path / "rules.toml").write_text(
        f'port = {port}\njoin_code = "{CODES[0]}"\nreferee_code = "{CODES[1]}"\nplayers = 4\n'
        "move_seconds = 7\n"
    )
    manager = started(BIN / "league", "manager", "rules.toml", "--dir", cup, cwd=tmp_path)
    place = first_line(manager)
    monkeypatch.setenv("LEAGUE_JOIN_CODE", CODES[0])
    player = started(BIN / "league", "player", "--manager", port, "--port", 0, "--name", "Ann")
    read_until(player, "Registered as P01")
    manager.kill()
    manager.communicate()
    monkeypatch.delenv("LEAGUE_JOIN_CODE")

    again = started(BIN / "league", "manager", "--dir", cup)

    assert first_line(again) == place
    assert "a referee; known from before: 1 player. Stop" in read_until(again, "Waiting")
    stranger = started(BIN / "league", "player", "--manager", port, "--port", 0, "--name", "Eve")
    assert "join code" in read_until(stranger, "refused")
    rules = next(open_reader(cup).read(place.partition(":")[0])).body
    assert b'"move_seconds":7.0' in rules
    league("export", cup, "--out", tmp_path / "files")
    others = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".toml"]
    holding = {path.name for path in others if any(c.encode() in path.read_bytes() for c in CODES)}
    assert holding == {"manager.settings"}
    assert (cup / "manager.settings").stat().st_mode & 0o777 == 0o600


def test_a_setting_that_is_no_rule_may_change_and_is_kept_from_then_on(stopped):
    cup, _ = stopped
    port = free_port()

    for options in (("--port", port), ()):
        manager = started(BIN / "league", "manager", "--dir", cup, *options)
        assert f"http://127.0.0.1:{port}/mcp" in first_line(manager)
        assert "Waiting for 2 players" in first_line(manager)
        manager.send_signal(signal.SIGINT)
        manager.communicate(timeout=SECONDS)


def test_a_seed_that_is_given_again_must_be_the_same(tmp_path):
    cup = tmp_path / "cup"
    for seed in (("--seed", "7"), (), ("--seed", "7")):
        manager = started(BIN / "league", "manager", "--port", 0, "--dir", cup, *seed)
        first_line(manager)
        manager.send_signal(signal.SIGINT)
        manager.communicate(timeout=SECONDS)

    assert "was begun with another --seed; leave it out" in refused("--dir", cup, "--seed", "8")


def test_a_game_in_a_file_is_named_again_and_which_one_is_said(tmp_path):
    (tmp_path / "mine.py").write_text(GAME)
    typed = ("manager", "--dir", "cup", "--game", "./mine.py")
    manager = started(BIN / "league", *typed, "--port", 0, cwd=tmp_path)
    first_line(manager)
    manager.send_signal(signal.SIGINT)
    _, said = manager.communicate(timeout=SECONDS)

    without = league("manager", "--dir", "cup", cwd=tmp_path, check=False)

    assert shlex.split(GO_ON.search(said)[1]) == ["league", *typed]
    assert without.stderr.endswith(
        f"game_type mine came from a file; name that again, with: league {shlex.join(typed)}\n"
    )
    first_line(started(BIN / "league", *typed, cwd=tmp_path))


def test_a_second_manager_of_the_same_directory_is_refused(stopped):
    cup, options = stopped
    first = started(BIN / "league", "manager", *options)
    first_line(first)

    said = refused(*options)  # Its port is busy, too.

    assert f"a manager runs the league in {cup} already, at {manager_address(cup)};" in said
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
    copy = shutil.copytree(cup.with_name("other"), cup.with_name("copy"))
    assert f"so {copy} is a copy of it" in refused(*options[:-1], copy)


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
