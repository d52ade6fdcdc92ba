"""Rows are lost that real processes were told of: that is proved, refused, and gone on from."""

import json
import sqlite3
from contextlib import closing

from agentleague.league.events import LossAccepted, MatchDecided
from commands import league
from crash.cup import SECONDS, Cup, until
from rules import rule

KEPT = 30  # rows: all have registered, and some matches are decided


def cut(cup):
    """Lose all later rows and journal.head, as somebody does who brings back an old copy."""
    with closing(sqlite3.connect(cup.disk.directory / "journal.sqlite")) as connection, connection:
        connection.execute("DELETE FROM rows WHERE seq > ?", (KEPT,))
    (cup.disk.directory / "journal.head").unlink()


def kept_receipt(cup, name):
    """The row of the receipt that an agent keeps for its next run; 0 if it keeps none."""
    for path in (cup.home / "state").glob(f"player-{name}-*.json"):
        receipt = json.loads(path.read_bytes()).get("receipt")
        return receipt["seq"] if receipt else 0
    return 0


@rule("R-RESUME-03", "R-RESUME-04")
def test_a_player_that_comes_back_proves_the_loss_and_the_organiser_goes_on(tmp_path):
    cup = Cup(tmp_path, players=4, rules={"cycles": 20}, run=0.02).open()
    until(lambda: kept_receipt(cup, "player-1") > KEPT, "a receipt is kept")
    cup.held.touch()  # So that the league does not end meanwhile.
    cup.kill("player-1")
    cup.kill("manager")
    cut(cup)
    cup.held.unlink()

    cup.start("manager")
    cup.start("player-1")
    assert cup.processes["manager"].wait(SECONDS) == 1
    assert "an agent holds this manager's receipt of row" in cup.said("manager")
    cup.start("manager")
    assert cup.processes["manager"].wait(SECONDS) == 1
    refusal = cup.said("manager").splitlines()[-1]
    assert "committed" in refusal
    assert refusal.endswith("the same command with --accept-loss")
    cup.commands["manager"] = (*cup.commands["manager"], "--accept-loss")
    cup.start("manager")
    cup.ends()

    (accepted,) = [each for each in cup.events() if isinstance(each, LossAccepted)]
    found = json.loads(league("verify", cup.disk.directory, "--json").stdout)
    assert (found["ok"], found["complete"], len(found["losses"])) == (True, True, 1)
    assert "ROWS WERE LOST before row" in league("verify", cup.disk.directory).stdout
    assert "Lost rows" in league("status", "--dir", cup.disk.directory).stdout
    decided = [each for each in cup.events() if isinstance(each, MatchDecided)]
    numbers = {each.match_id: each.result.drawn_number for each in decided}
    for name in cup.players:
        told = [each for each in cup.told(name) if each["message_type"] == "GAME_OVER"]
        last = {each["match_id"]: each["game_result"]["drawn_number"] for each in told}
        assert last == {match_id: numbers[match_id] for match_id in last}
        assert "THE DRAW IS WRONG" not in cup.said(name)
        assert f"(generation {accepted.generation})" in cup.said(name)
