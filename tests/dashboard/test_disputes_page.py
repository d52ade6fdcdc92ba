"""The page of disputes: what waits for the organiser's word, and what was ruled."""

from msgspec.structs import replace

from agentleague.dashboard.pages import PAGES
from agentleague.league.events import (
    Disputed,
    LossAccepted,
    MatchDecided,
    MatchRuled,
    RefereeRegistered,
    TokenMisused,
)
from dashboard.views import page_of, view_of
from league.decisions import Decisions
from records.journals import one_match

BOTH = [(0, "P01", "even"), (0, "P02", "odd")]
SAID = "REF02 spoke for it and is not its referee; that was refused"


def facts(events):
    return PAGES["disputes"].facts(view_of(events), {})


def test_an_empty_page_says_what_would_appear():
    html = page_of(view_of(Decisions().events), "disputes")

    assert "Nothing waits for the organiser" in html
    assert "<h2>" not in html


def test_a_dispute_has_who_said_what_what_stands_and_what_to_type():
    league = one_match(BOTH)
    league.record(Disputed("R1M1", "REF02", "not its referee"))

    (row,) = facts(league.events)["disputed"]["rows"]

    assert row["said"] == [SAID]
    assert row["sentence"].startswith("Agent 2 won")
    assert 'league rule R1M1 --winner P01 --reason "..." --dir DIR' in row["commands"]


def test_a_dispute_about_an_undecided_match_says_only_who_spoke():
    league = Decisions().start()
    league.record(Disputed("R1M1", "REF02", "not its referee"))

    (row,) = facts(league.events)["disputed"]["rows"]

    assert (row["said"], row["sentence"], row["commands"]) == ([SAID], "", [])
    assert "It has no result yet" in page_of(view_of(league.events), "disputes")


def test_a_ruling_is_told_with_its_reason_and_what_it_was_about():
    league = one_match(BOTH)
    league.record(Disputed("R1M1", "REF02", "not its referee"))
    league.record(MatchRuled("R1M1", "no_contest", None, "both agents crashed"))

    found = facts(league.events)

    assert found["disputed"]["total"] == 0
    (row,) = found["ruled"]["rows"]
    assert row["ruling"] == "the organiser ruled: no contest (both agents crashed)"
    assert row["sentence"].startswith("Agent 2 won")


def test_a_match_lost_by_one_referees_word_waits_too():
    events = one_match([], [("P02", "timeout")]).events
    events = [
        replace(each, unconfirmed=True) if isinstance(each, MatchDecided) else each
        for each in events
    ]

    (row,) = facts(events)["unconfirmed"]["rows"]

    assert row["unconfirmed"]
    assert row["sentence"].startswith("Agent 2 lost without a game")


def test_referees_misuses_and_lost_rows_are_told():
    league = Decisions(2)
    league.record(
        RefereeRegistered("REF02", "Stranger", "http://x/mcp", "1", "d", 1, True, waiting=True),
        TokenMisused("P01", "LOCK_REQUEST", "league"),
        LossAccepted(3, 7, {}),
    )

    found = facts(league.events)

    assert found["referees"] == [
        {
            "referee": {"id": "REF02", "name": "Stranger"},
            "state": "WAITING",
            "command": "league approve REF02 --dir DIR",
        }
    ]
    assert found["misuses"][0]["words"] == [
        "its token came with LOCK_REQUEST, which it gives no right to"
    ]
    assert "rows up to 7 were lost" in found["losses"][0]["words"]
    html = page_of(view_of(league.events), "disputes")
    assert "waits to be let in" in html
    assert "Nothing waits for the organiser" not in html
