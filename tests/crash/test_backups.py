"""A league of real processes is backed up while it plays, and goes on from that backup."""

import json
import shutil

import pytest

from agentleague.league.events import LossAccepted
from agentleague.records.reading import event_of, read_rows
from agentleague.storage.database import ask
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import with_league
from commands import league
from crash.cup import SECONDS, Cup, until
from rules import rule


@rule("R-RESUME-03", "R-RESUME-04")
def test_an_old_backup_is_stopped_by_the_agents_receipts_until_the_loss_is_accepted(tmp_path):
    cup = Cup(tmp_path, players=4, rules={"cycles": 20}, run=0.02)
    directory = cup.disk.directory

    goes_on_from_an_old_backup(cup, directory, lambda: shutil.rmtree(directory))


@pytest.mark.slow
def test_so_is_one_on_a_database(tmp_path, database):
    cup, url = Cup(tmp_path, players=4, rules={"cycles": 20}, run=0.02), DatabaseUrl.parse(database)
    where = ("--port", cup.port, "--journal", database)
    cup.commands["manager"] = ("manager", *where, "--players", 4, "--exit")

    goes_on_from_an_old_backup(cup, url, lambda: ask(url, "DROP SCHEMA agentleague CASCADE"))


def goes_on_from_an_old_backup(cup, place, lose):
    cup.open()
    typed, file = getattr(place, "conninfo", place), cup.home / "cup.zip"
    until(cup.is_playing, "matches are played")
    assert "SECRETS" in league("backup", typed, file).stderr
    held = len(cup.receipts())
    until(lambda: len(cup.receipts()) > held + 20, "the league has played on")
    cup.held.touch()  # So that the league does not end meanwhile.
    cup.kill("manager")
    then = read_rows(with_league(place))
    lose()

    league("restore", file, typed)
    now = read_rows(with_league(place))
    assert 0 < len(now) < len(then)
    assert now == then[: len(now)]
    assert league("verify", typed).returncode == 0

    cup.start("manager")  # The referee, which still runs, shows its receipt with a sign of life.
    assert cup.processes["manager"].wait(SECONDS) == 1
    assert "an agent holds this manager's receipt of row" in cup.said("manager")
    cup.start("manager")
    assert cup.processes["manager"].wait(SECONDS) == 1
    assert cup.said("manager").splitlines()[-1].endswith("the same command with --accept-loss")
    cup.commands["manager"] = (*cup.commands["manager"], "--accept-loss")
    cup.held.unlink()
    cup.start("manager")
    cup.ends()

    events = map(event_of, read_rows(with_league(place)))
    assert [each for each in events if isinstance(each, LossAccepted)]
    found = json.loads(league("verify", typed, "--json").stdout)
    assert (found["ok"], found["complete"], len(found["losses"])) == (True, True, 1)
    for name in cup.players:
        assert "THE DRAW IS WRONG" not in cup.said(name)
