"""The words for a decision, and what of it is for everybody."""

from agentleague.league import event_text
from agentleague.league.events import (
    KINDS,
    EndpointChanged,
    LeagueEnded,
    MatchAssigned,
)
from league.decisions import Decisions


def test_every_kind_of_row_has_its_sentence():
    assert set(event_text._SENTENCES) == set(KINDS.values())


def test_sentences_of_rare_rows():
    decisions = Decisions(2, locks=False).start()
    decisions.report("P01")
    believed = decisions.events[-2]
    lost = Decisions(2).start()
    lost.record(lost.adjudicator.no_contest("R1M1", "why not"))

    assert event_text.sentence(believed).endswith("(believed, not verified)")
    assert event_text.sentence(lost.events[-1]) == (
        "R1M1 counts for neither player: no contest: why not"
    )
    assert event_text.sentence(LeagueEnded("", aborted=True)) == (
        "The organiser ended the league; nobody led"
    )
    assert event_text.sentence(MatchAssigned("R1M1", 2, "REF02", "REF01 fell silent")) == (
        "R1M1 was given to REF02 because REF01 fell silent"
    )


def test_no_secret_of_an_end_point_is_in_a_sentence():
    event = EndpointChanged("P01", "http://key:pass@127.0.0.1:81/mcp?api_key=hunter2")

    assert event_text.sentence(event) == (
        "The organiser said that P01 is at http://127.0.0.1:81/mcp"
    )


def test_an_end_point_that_is_no_url_is_left_out():
    assert event_text.public_url("http://[broken") == ""
