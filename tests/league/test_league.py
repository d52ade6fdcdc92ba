"""A league is a fold over its events: reading them again gives the same league."""

import msgspec
import pytest

from agentleague.league.events import (
    LeagueEnded,
    MatchDecided,
    MatchRuled,
    RoundEnded,
    read_event,
)
from agentleague.league.formats import ladder
from agentleague.league.league import League, Phase
from agentleague.protocol.messages import GameResult
from games.throwaway import THROWAWAY
from league.decisions import Decisions, token
from league.staged import Staged
from rules import rule


def replayed(events):
    """A league from its journal, through the bytes that are stored."""
    league = League()
    for event in events:
        kind = str(type(event).__struct_config__.tag)
        league.apply(read_event(kind, 1, msgspec.json.encode(event)))
    return league


def state(league):
    """All that a league holds, as values that can be compared."""
    held = dict(vars(league))
    held["roster"], held["matches"] = vars(league.roster), vars(league.matches)
    held["table"] = league.table.rows()
    held["progress"] = vars(league.progress) if league.opened else None
    return held


def disputed():
    decisions = Decisions(4, referees=2).start()
    decisions.lock([], match_id="R1M1", referee="REF02")
    decisions.play("R1M2", forfeits=["P03", "P04"])
    decisions.report("P03", match_id="R1M2", referee="REF02")
    return decisions


def half_way():
    decisions = Decisions(2, game=THROWAWAY["dice"]).start()
    decisions.lock([(0, "P01", 1), (0, "P02", 6)])
    return decisions


STORIES = {
    "nobody there": lambda: Decisions(0, 0),
    "not begun": lambda: Decisions(3, 2),
    "begun": lambda: Decisions(5, 2).start(),
    "a draw, not decided": half_way,
    "disputes": disputed,
    "believed": lambda: Decisions(3, locks=False).start(),
    "four players, to the end": lambda: Decisions(4, 2).play_to_the_end(),
    "five players, two cycles": lambda: Decisions(5, 2, cycles=2).play_to_the_end(),
}


@rule("R-LEAGUE-23")
@pytest.mark.parametrize("story", STORIES)
def test_replaying_the_journal_gives_an_equal_league(story):
    decisions = STORIES[story]()

    assert state(replayed(decisions.events)) == state(decisions.league)


@rule("R-LEAGUE-23")
def test_at_every_row_a_replay_is_the_league_as_it_was_then():
    decisions = Decisions(3).play_to_the_end()
    live = League()

    for number, event in enumerate(decisions.events, start=1):
        live.apply(event)
        assert live.seq == number
        assert state(replayed(decisions.events[:number])) == state(live)


@rule("R-LEAGUE-24")
def test_a_league_goes_through_the_states_of_the_documents():
    seen, league = [], League()
    for event in Decisions(3).play_to_the_end().events:
        seen.append(league.phase)
        league.apply(event)

    assert list(dict.fromkeys([*seen, league.phase])) == [
        "WAITING_FOR_REGISTRATIONS",
        "CREATING_SCHEDULE",
        "RUNNING_LEAGUE",
        "LEAGUE_COMPLETED",
    ]


def test_a_match_is_open_from_its_round_until_it_is_closed():
    decisions = Decisions(4).start()
    assert decisions.league.open_matches == {"R1M1", "R1M2"}
    assert decisions.league.next_round() is None  # It would not be known how the first one ended.

    decisions.lock([], [("P01", "left")])
    assert decisions.league.open_matches == {"R1M1", "R1M2"}
    assert decisions.league.decided_total == 1

    decisions.report("P02")
    assert decisions.league.open_matches == {"R1M2"}
    assert decisions.league.matches["R1M1"].closed


def points(decisions):
    return [(row.player_id, row.points) for row in decisions.league.table.rows()]


@rule("R-TABLE-08")
def test_a_match_counts_in_the_table_once_it_is_closed_and_names_the_row_of_its_result():
    decisions = Decisions(2).start()

    decisions.lock([], [("P01", "left")])

    assert (
        decisions.league.matches["R1M1"].decided_seq
        == decisions.league.seq
        == len(decisions.events)
    )
    assert points(decisions) == [("P01", 0), ("P02", 0)]  # The players do not know it yet.

    decisions.report("P02")
    assert points(decisions) == [("P02", 3), ("P01", 0)]


@rule("R-TABLE-08")
def test_the_final_table_counts_also_what_the_players_are_still_being_told():
    decisions = Decisions(4).start()
    decisions.lock([], [("P01", "left")])
    assert decisions.league.champion_now(msgspec.UNSET) == "P02"
    assert points(decisions)[0] == ("P01", 0)

    decisions.record(LeagueEnded("P02", aborted=True))
    assert points(decisions)[0] == ("P02", 3)

    decisions.report("P02")
    assert points(decisions)[0] == ("P02", 3)


@rule("R-TABLE-08", "R-ORG-07")
def test_a_ruling_before_the_players_were_told_counts_when_they_were():
    decisions = Decisions(2).start()
    decisions.lock([], [("P01", "left")])

    decisions.record(MatchRuled("R1M1", "win", "P01", "it was there"))
    assert points(decisions) == [("P01", 0), ("P02", 0)]

    decisions.report("P02")
    assert points(decisions) == [("P01", 3), ("P02", 0)]


def test_a_match_is_decided_once():
    decisions = Decisions(2).start()
    decisions.lock([], [("P01", "left")])

    with pytest.raises(AssertionError, match="R1M1 is decided twice"):
        decisions.league.apply(
            MatchDecided("R1M1", 1, 0, [], [], GameResult("WIN", "P01"), "seed", verified=False)
        )


def test_the_end_of_a_round_is_remembered_with_its_row():
    decisions = Decisions(2).start()
    decisions.play("R1M1")

    decisions.record(RoundEnded(1))

    assert (decisions.league.rounds_ended, decisions.league.round_ended_seq) == (
        1,
        len(decisions.events),
    )


def test_the_result_of_a_match_is_there_once_it_is_decided():
    decisions = Decisions(2).start()
    assert decisions.league.matches["R1M1"].decided is None
    assert decisions.league.matches.get("R7M7") is None

    decisions.play("R1M1", forfeits=["P02"])

    assert decisions.league.matches["R1M1"].decided.result.winner_player_id == "P01"


def test_a_league_without_rows_has_no_rules():
    assert not hasattr(League(), "rules")


def test_byes_and_referees_are_as_the_round_says():
    league = Decisions(5, referees=2).start().league

    assert league.byes == {1: ["P01"]}
    assert [file.referee_id for file in league.matches.values()] == ["REF01", "REF02"]


def test_the_champion_is_the_first_of_the_table():
    league = Decisions(4).play_to_the_end().league

    assert league.phase is Phase.COMPLETED
    assert league.champion == league.table.rows()[0].player_id
    assert league.roster.owner(token(league.champion)) == league.champion


def test_a_ladder_counts_each_round_once_however_many_there_are(monkeypatch):
    counted = []
    count = ladder._count_round
    monkeypatch.setattr(ladder, "_count_round", lambda *of: counted.append(of[0]) or count(*of))

    league = Staged(4, {"format": "ladder", "rounds": 40}).begin().play_on()

    assert league.league.rounds_ended == len(counted) == 40
