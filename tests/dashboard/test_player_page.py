"""The page of a player: its record, its opponents, and each loss with its cause and the remedy."""

import msgspec
import pytest
from msgspec import Raw

from agentleague.dashboard.league_view import Choice
from agentleague.dashboard.pages import PAGES
from agentleague.errors import NotRegistered, WrongType
from agentleague.league.events import (
    DialectLearnt,
    LeagueEnded,
    MatchClosed,
    MatchRuled,
    PlayerRemoved,
    RoundEnded,
)
from agentleague.protocol.messages import Exchange
from dashboard.views import page_of, view_of
from games.throwaway import THREE_DRAWS
from league.decisions import Decisions
from records.journals import one_match

BOTH = [(0, "P01", "even"), (0, "P02", "odd")]
CALL = "CHOOSE_PARITY_CALL"
LOSSES = {  # why a player forfeits -> its last exchange -> what came, and what it should change
    "failed to respond within timeout": (
        ((CALL, "E001", None, None, ""), "no answer in time", "answer before the `deadline`"),
        (("GAME_INVITATION", "E001", None, None, ""), "no answer in time", "`join_seconds`"),
    ),
    "made an illegal move": (
        ((CALL, "E004", "Even!", 4, ""), '"Even!", an illegal move', "send a legal move"),
        ((CALL, "E004", None, 4, ""), "null, which is no move", "return a move"),
    ),
    "could not be reached": (
        (
            ("GAME_INVITATION", "E009", None, None, "came the name of ann was not found"),
            "the name of ann was not found",
            "be given by a name that can be looked up here",
        ),
        (
            (CALL, "E009", None, None, "came the connection was refused"),
            "the connection was refused",
            "go on running until the league is over",
        ),
    ),
    "declined": (
        (("GAME_INVITATION", "declined", None, 2, ""), "a refusal to play", "`accept: true`"),
    ),
    "answered with an error of its own": (
        ((CALL, "E052", None, 2, ""), "its strategy failed", "its own output says what failed"),
    ),
}


def facts(events, player_id="P02", **params):
    return PAGES["player"].facts(view_of(events), {"player_id": player_id, **params})


@pytest.mark.parametrize("cause", LOSSES)
def test_every_loss_by_default_is_told_with_its_cause_and_what_to_change(cause):
    for (message, verdict, move, after, note), came, change in LOSSES[cause]:
        row = (5, "P02", message, 1, verdict, move, after, note)
        (loss,) = facts(one_match([], [("P02", cause)], [row]).events)["losses"]["rows"]

        assert loss["outcome"] == "forfeited"
        assert loss["sentence"].startswith("lost by technical loss against Agent 1: Agent 2 ")
        assert came in loss["story"][0]
        assert loss["story"][1].startswith("To change: ")
        assert change in loss["story"][1]


def test_a_loss_by_the_rules_of_the_game_says_what_would_have_helped():
    found = facts(one_match(BOTH).events, "P01")

    assert found["losses"]["rows"] == [
        {
            "match_id": "R1M1",
            "round_id": 1,
            "outcome": "lost",
            "sentence": "lost against Agent 2: Agent 2 chose odd, number was 9 (odd)",
            "rules": ["R-GAME-03"],
            "story": ["Agent 1 could change nothing: both parities are equally likely."],
        }
    ]


def test_a_record_has_what_was_won_drawn_and_lost_and_why_the_rank():
    found = facts(Decisions(4).play_to_the_end().events, "P01")

    numbers = {name: found["standing"][name] for name in ("played", "wins", "draws", "losses")}
    assert sum(each["won"] for each in found["against"]["rows"]) == numbers["wins"]
    assert numbers["played"] == 3 == found["against"]["total"] == found["matches"]["total"]
    assert found["why"].startswith(f"{found['standing']['points']} point")
    own = found["series"][0]
    assert (own["player_id"], own["points"][-1]) == ("P01", found["standing"]["points"])
    assert (len(found["ranks"]), found["ranks"][-1]) == (3, found["standing"]["rank"])


def test_a_ruling_counts_in_record_and_losses():
    league = one_match(BOTH)
    league.record(MatchRuled("R1M1", "win", "P01", "P02 read the seed"))

    assert facts(league.events, "P01")["losses"]["total"] == 0
    (loss,) = facts(league.events, "P02")["losses"]["rows"]
    assert loss["sentence"] == "lost by a ruling against Agent 1: Agent 2 read the seed"


def test_what_cost_nothing_is_told_with_its_limit_and_what_to_change():
    rows = [
        (5, "P02", "GAME_INVITATION", 1, "late", None, 5_200),
        (9, "P02", CALL, 1, "late", "odd", 31_000),
        (9, "P02", CALL, 1, "late", "odd", 32_000),
        (9, "P02", CALL, 1, "E004", "<b>", 3),
        (9, "P02", CALL, 2, "sulks", None, None),
        (9, "P02", CALL, 3, "ok", "odd", 3),
    ]
    played = one_match(BOTH, transcript=rows).events
    joined, late, illegal = facts(played)["spared"]

    assert joined["words"].startswith("1 answer came after the limit of 5 s; it counts")
    assert late["words"].startswith("2 answers came after the limit of 30 s; they count")
    assert "answer before the `deadline`" in late["change"]
    assert illegal["words"] == "1 time there came an illegal move; asked again, it answered."
    assert late["words"] in page_of(view_of(played), "player", player_id="P02")
    lost = one_match([], [("P02", "made an illegal move")], rows[:-1]).events
    assert facts(lost)["spared"] == []  # That has cost it a match: it is told there.


def test_what_is_true_of_many_losses_is_told_once_with_their_number():
    events = Decisions(4).play_to_the_end().events
    found = (facts(events, player_id)["losses"]["rows"] for player_id in ("P01", "P02", "P03"))
    several = next(rows for rows in found if len(rows) > 1)

    assert f"So it was in {len(several)} of these matches." in several[0]["story"][-1]
    assert [row["story"] for row in several[1:]] == [[]] * (len(several) - 1)


def test_choices_are_counted_once_by_round_and_seldom_ones_together():
    moves = [(turn, each, turn + 1) for turn in range(3) for each in ("P01", "P02")]
    league = Decisions(game=THREE_DRAWS).start()
    for turns in (1, 2, 3):
        league.lock(moves[: 2 * turns], index=turns - 1)

    assert facts(league.events, "P01")["choices"] == [
        {"round": 1, "moves": {"1": 1, "2": 1, "3": 1}}
    ]

    view = view_of(league.events)
    view.log_of("P02").choices = [Choice(2, str(number)) for number in (*range(7), 6)]
    (of_round,) = PAGES["player"].facts(view, {"player_id": "P02"})["choices"]
    assert len(of_round["moves"]) == 7
    assert (of_round["moves"]["6"], of_round["moves"]["other"]) == (2, 1)


def test_times_for_moves_come_with_the_leagues_limit():
    rows = [Exchange(5, "P02", CALL, 1, "ok", "odd", 40), Exchange(9, "P02", CALL, 2, "E001")]

    found = facts(one_match(BOTH, transcript=map(msgspec.structs.astuple, rows)).events)

    assert (found["move_ms"], found["limit_ms"]) == ([40], 30_000)


def test_long_lists_are_turned_over_and_only_what_is_shown_is_looked_up():
    events = Decisions(30).play_to_the_end().events

    first, second = facts(events, "P01"), facts(events, "P01", matches="2")

    assert [first["matches"][key] for key in ("page", "pages", "total")] == [1, 2, 29]
    shown = [each["match_id"] for page in (first, second) for each in page["matches"]["rows"]]
    assert [match_id.partition("M")[0] for match_id in shown] == [f"R{n}" for n in range(29, 0, -1)]
    html = page_of(view_of(events), "player", player_id="P01")
    assert 'href="/player/P01?matches=2#matches"' in html
    with pytest.raises(WrongType, match="matches must be a number from 1 to 2"):
        facts(events, "P01", matches="3")


def test_a_match_that_runs_is_named_and_nothing_of_it_told():
    league = Decisions(4).start()
    league.play("R1M2")

    found = facts(league.events, "P01")

    assert found["now"]["match_id"] == "R1M1"
    assert found["matches"]["total"] == 0
    assert facts(league.events, "P03")["now"] is None


def test_its_state_is_said_in_words_and_its_end_point_is_nobodys_affair():
    league = Decisions().start()
    league.record(DialectLearnt("P02", "tool"))
    silent = MatchClosed("R1M1", 1, Raw(b"[]"), silences={"P02": (9, False)})
    league.lock([], [("P02", "timeout")])
    league.record(silent, RoundEnded(1))

    found = facts(league.events)

    assert found["state"] == "SUSPENDED"
    assert "asked only once" in found["state_in_words"]
    assert found["speaks"]
    assert "http://" not in str(found)
    league.record(PlayerRemoved("P02", 2))
    assert facts(league.events)["state_in_words"] == "The organiser removed it before round 2."


def test_before_the_start_a_player_has_a_page_without_a_record():
    league = Decisions(3)

    assert facts(league.events)["standing"] is None
    assert "It has lost no match." in page_of(view_of(league.events), "player", player_id="P02")
    league.start().record(LeagueEnded("", aborted=True))
    assert facts(league.events)["now"] is None


def test_a_player_that_is_not_there_is_an_error_that_says_who_is():
    with pytest.raises(NotRegistered, match="are P01 to P05"):
        facts(Decisions(5).events, "p77")
    with pytest.raises(NotRegistered, match="none has registered yet"):
        facts(Decisions(0).events)
