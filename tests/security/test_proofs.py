"""Who speaks in the name of the manager, in a league of real processes.

Mallory is in no league at all. She knows where the players are, and sends them what only their
manager may say: while it is there, while it is down, and while a player starts again.
"""

import pytest

from commands import BIN, SECONDS, end_all, first_line, free_port, read_until, started
from rules import rule
from security.spies import message, post

FORGED = {"league_id": "cup", "sender": "league_manager"}
AWAY = "Told that the league is over; asking the manager, which is away."


def announcement():
    """A false commitment for each match that there may be, as Mallory does not know the players."""
    match = {"match_id": "R1M1", "game_type": "even_odd", "draw_commitment": "f" * 64}
    pairs = [("P01", "P02"), ("P02", "P01"), ("", "")]
    matches = [{**match, "player_A_id": one, "player_B_id": other} for one, other in pairs]
    return message("ROUND_ANNOUNCEMENT", round_id=1, matches=matches, **FORGED)


def end_of_the_league():
    rows = [{"rank": 1, "player_id": "P99", "display_name": "Mallory"}]
    return message("LEAGUE_COMPLETED", final_standings=rows, **FORGED)


@pytest.fixture
def town(tmp_path):
    yield Town(tmp_path)
    end_all()


class Town:
    """The `league` command, and what Mallory sends."""

    def __init__(self, place):
        self.place, self.port, self.ann_port = place, free_port(), free_port()
        self.said = []

    def manager(self):
        rules = ("--players", 2, "--league-id", "cup", "--dir", self.place / "cup")
        process = started(BIN / "league", "manager", "--port", self.port, "--exit", *rules)
        first_line(process)
        return process

    def agent(self, kind, *options):
        url = f"http://127.0.0.1:{self.port}/mcp"
        places = ("--manager", url, "--state", self.place / "states")
        return started(BIN / "league", kind, *places, *options)

    def ann(self):
        return self.agent("player", "--name", "Ann", "--port", self.ann_port)

    def mallory_says(self, said):
        answer = post(f"http://127.0.0.1:{self.ann_port}/mcp", said)
        return answer.get("error_code") or answer["status"]


@rule("R-PROOF-03", "R-PROOF-04", "R-PROOF-05")
def test_a_stranger_who_speaks_in_the_name_of_the_manager_is_never_believed(town):
    manager, ann = town.manager(), town.ann()
    read_until(ann, "Registered as P01")

    assert town.mallory_says(announcement()) == "E012"
    assert town.mallory_says(end_of_the_league()) == "ACKNOWLEDGED"  # And the manager denies it.
    manager.kill()
    manager.wait(SECONDS)
    town.mallory_says(end_of_the_league())
    told = read_until(ann, AWAY)
    ann.kill()
    ann.wait(SECONDS)
    again = town.ann()
    told += read_until(again, "No manager answers")
    town.mallory_says(announcement())
    town.mallory_says(end_of_the_league())
    manager = town.manager()
    told += read_until(again, "Registered as P01")
    assert town.mallory_says(announcement()) == "E012"
    others = [town.agent("referee"), town.agent("player", "--name", "Bob")]

    told += again.communicate(timeout=SECONDS)[1]
    assert (again.returncode, manager.wait(SECONDS)) == (0, 0)
    assert [other.wait(SECONDS) for other in others] == [0, 0]
    assert "ROUND_ANNOUNCEMENT: refused one that its manager did not send." in told
    assert "The league is over. P01 is number" in told
    assert "WRONG" not in told
