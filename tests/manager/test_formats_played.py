"""Whole leagues in formats whose rounds depend on results: restarted, ruled on, and verified."""

import random

import pytest

from agentleague.games import even_odd
from agentleague.league.events import StageStarted
from agentleague.league.formats.knockout import bracket
from agentleague.league.league import Phase
from agentleague.records.verify import verify
from manager.test_assignments import events_of
from memory_league import MemoryLeague

KNOCKOUT = {"format": "knockout", "best_of": 3, "third_place": 1}
LADDER = {"format": "ladder", "rounds": 5}


def a_league(number, **settings):
    """Of players who choose by chance, so that half of the matches are drawn."""
    league = MemoryLeague(players=number, referees=1, **settings)
    league.add_referee()
    chance = random.Random(number)
    for n in range(number):
        league.add_player(lambda turn: chance.choice(["even", "odd"]), f"Player {n}")
    return league


def verified(league):
    found = verify(list(league.journal.read("league_test")), lambda name: even_odd)
    assert found.difference is None
    return found


@pytest.mark.parametrize(
    "stages",
    [
        [KNOCKOUT],
        [LADDER],
        [{"format": "groups", "groups": 2}],
        [
            {"format": "groups", "groups": 3, "cycles": 2, "advance": 1},
            KNOCKOUT | {"third_place": 0},
        ],
        [LADDER | {"advance": 4}, KNOCKOUT],
    ],
    ids=lambda stages: "-".join(each["format"] for each in stages),
)
def test_a_league_of_these_stages_ends_as_verify_says(stages):
    league = a_league(7, stages=stages)
    league.run_until(lambda: league.league.round_id == 2)
    league.restart_manager()
    league.command("remove", player_id="P02")
    league.command("rule", match_id="R1M1", verdict="draw", reason="seen on video")
    league.play()

    state = league.league
    assert state.phase is Phase.COMPLETED
    assert verified(league).champion == state.champion != "P02"
    assert len(events_of(league, StageStarted)) == len(state.stages) - 1
    if state.stages[-1].format == "knockout":
        progress = state.progress
        played = progress.played(state.roster.removed.keys())
        rounds = bracket(played, progress.field, progress.options, progress.began)
        (final,) = next(each.ties for each in rounds if each.name == "Final")
        assert final.winner == state.champion
        assert final.match_ids[0] in state.matches


def test_who_is_left_wins_if_the_other_finalist_is_removed_before_the_final():
    league = a_league(4, format="knockout", format_options={"replays": 0})
    league.run_until(lambda: league.league.round_id == 1 and not league.league.undecided)
    league.command("pause")
    league.run_until(lambda: league.league.rounds_ended == 1)
    ((removed, left),) = league.league.next_round().pairings
    league.command("remove", player_id=removed)
    league.command("start")
    league.play()

    assert verified(league).champion == league.league.champion == left
    assert league.league.rounds_ended == 1


def test_a_ladder_that_starts_between_two_seconds_has_all_of_its_time():
    league = MemoryLeague(players=2, referees=1, stages=[{"format": "ladder", "seconds": 15}])
    league.wait(0.25)
    league.fill()

    began = league.manager.rounds._step.wall_now
    assert began % 1
    assert 15 <= league.league.ends_at - began < 16


def test_no_round_begins_if_the_time_ended_while_the_manager_was_away():
    league = MemoryLeague(players=4, referees=1, stages=[{"format": "ladder", "seconds": 15}])
    league.think_seconds = lambda: 10.0
    league.fill().run_until(lambda: league.league.rounds_ended == 1)
    kinds = [row.kind for row in league.journal.read("league_test")]
    league.kill(league.hosts[0])
    league.lose_rows(kinds.index("round_ended") + 1)
    league.wait(20.0)
    league.restart_manager()
    league.play()

    rows = list(league.journal.read("league_test"))
    ends = [row.kind for row in rows if row.kind != "told"][-2:]
    assert (ends, league.league.round_id) == (["time_up", "league_ended"], 1)
    assert verify(rows, lambda name: even_odd).difference is None


def test_a_stage_for_which_too_few_are_left_is_told_to_the_organiser():
    league = a_league(4, stages=[LADDER, {"format": "groups", "groups": 2}])
    league.run_until(lambda: league.league.round_id == 2)
    league.command("remove", player_id="P02")
    league.play()

    told = "Stage 2 of 2 (groups) is not played: too few players are left for it."
    assert any(told in each for each in league.manager.news)
    assert verified(league).complete


def test_a_final_is_played_also_if_too_few_are_left_for_third_place():
    league = a_league(4, stages=[{"format": "groups", "groups": 2}, KNOCKOUT])
    league.run_until(lambda: league.league.round_id == 1)
    league.command("remove", player_id="P02")
    league.play()

    assert len(events_of(league, StageStarted)) == 1
    assert verified(league).champion == league.league.champion != "P02"


def test_with_fewer_players_than_thought_of_a_league_starts_and_says_what_is_cut():
    stages = [{"format": "swiss", "rounds": 5, "advance": 8}, KNOCKOUT]
    league = a_league(3, stages=stages)
    league.play()

    assert league.league.phase is Phase.COMPLETED
    assert verified(league).champion == league.league.champion
    assert [each for each in league.manager.news if "at most" in each or "cannot" in each] == [
        "A Swiss of 3 players has at most 3 rounds, not 5: it plays 3.",
        "Of 3 players 8 cannot go on: all go on.",
    ]
    assert "A match for third place needs at least 4 players, not 3: there is none." in (
        league.manager.news
    )


@pytest.mark.parametrize(("advance", "is_said"), [(2, True), (1, False), (0, False)])
def test_that_a_cut_leaves_nobody_out_is_said_at_the_start(advance, is_said):
    stages = [{"format": "groups", "groups": 2, "advance": advance}, KNOCKOUT]
    league = a_league(4, stages=stages)

    league.run_until(lambda: league.league.round_id == 1)

    said = (
        "All 4 go on after the groups: only the seeds of the knockout depend on that; lower "
        "advance to leave some out."
    )
    assert (said in league.manager.news) == is_said


def test_what_so_many_cannot_play_at_all_asks_for_more_players():
    league = a_league(5, stages=[{"format": "groups", "groups": 3}])
    league.run_until(lambda: league.league.players_total == 5)

    assert str(league.command("start")).endswith(
        "3 groups need at least 6 players, not 5: register more; then start again"
    )
