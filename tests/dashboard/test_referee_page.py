"""The page of a referee: what it runs and ran, what was taken from it, what the organiser types."""

import pytest

from agentleague.dashboard.pages import PAGES
from agentleague.errors import NotRegistered
from agentleague.league.events import (
    MatchAssigned,
    RefereeApproved,
    RefereeRegistered,
    RefereeSetAside,
)
from dashboard.views import page_of, view_of
from league.decisions import Decisions

APPROVE = "league approve REF02 --dir DIR"


def facts(events, referee_id="REF01"):
    return PAGES["referee"].facts(view_of(events), {"referee_id": referee_id})


def test_it_has_the_matches_that_it_runs_and_those_that_were_decided_with_it():
    league = Decisions(4, referees=1).start()
    league.play("R1M2")

    found = facts(league.events)

    assert [each["match_id"] for each in found["now"]] == ["R1M1"]
    assert found["now"][0]["outcomes"] == ["live", "live"]
    (ran,) = found["ran"]["rows"]
    assert (ran["match_id"], sorted(ran["outcomes"])) == ("R1M2", ["lost", "won"])
    assert (found["state"], found["command"]) == ("ACTIVE", "")


def test_what_was_taken_from_it_says_why_and_who_has_it_now():
    league = Decisions(2, referees=2).start()
    league.record(MatchAssigned("R1M1", 2, "REF02", "REF01 was silent for 15 s"))

    taken = facts(league.events)["taken"]

    assert taken["total"] == 1
    assert taken["rows"][0]["to"]["id"] == "REF02"
    assert taken["rows"][0]["why"] == "REF01 was silent for 15 s"
    assert facts(league.events)["now"] == []
    assert [each["match_id"] for each in facts(league.events, "REF02")["now"]] == ["R1M1"]


def test_contradictions_name_the_players_and_a_referee_set_aside_can_be_let_in_again():
    league = Decisions(2, referees=2).start()
    claimed = [("P02", "forfeited")]
    league.record(MatchAssigned("R1M1", 2, "REF02", "REF01 said so", claimed=claimed))
    league.lock([(0, "P01", "even"), (0, "P02", "odd")], referee="REF02", epoch=2)
    league.record(RefereeSetAside("REF01", ["P02"]))

    found = facts(league.events)

    assert found["contradicted"] == [{"id": "P02", "name": "Agent 2"}]
    assert found["state"] == "SUSPENDED"
    assert found["command"] == "league approve REF01 --dir DIR"


def test_a_referee_that_waits_says_what_lets_it_in():
    league = Decisions(2)
    league.record(
        RefereeRegistered("REF02", "Stranger", "http://x/mcp", "1", "d", 1, True, waiting=True)
    )

    assert facts(league.events, "REF02")["command"] == APPROVE
    assert APPROVE in page_of(view_of(league.events), "referee", referee_id="REF02")
    league.record(RefereeApproved("REF02"))
    assert facts(league.events, "ref02")["command"] == ""
    with pytest.raises(NotRegistered, match="no referee 'REF09'"):
        facts(league.events, "REF09")
