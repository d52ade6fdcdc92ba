"""A manager that died goes on where its journal ends; nobody else notices."""

from dataclasses import replace

import msgspec
import pytest

from agentleague.errors import StorageError
from agentleague.league.events import (
    LeagueOpened,
    LeagueStarted,
    MatchAssigned,
    PlayerRegistered,
    RefereeRegistered,
    Told,
)
from agentleague.league.formats.stages import plan
from agentleague.manager.role import Manager
from agentleague.roles.effects import Broadcast, Call, End
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Started
from agentleague.runtime.managers import check_rules
from league.decisions import Decisions
from manager.test_assignments import assert_complete, events_of
from memory_league import BEGAN, SECRETS, MemoryLeague
from records.journals import rows_of
from rules import rule


@rule("R-RESUME-01")
@pytest.mark.parametrize("rows", range(1, 34))
def test_a_manager_killed_after_any_row_goes_on_and_the_league_ends(rows):
    league = MemoryLeague(4, 2)
    fill = iter([league.add_referee] * 2 + [league.add_player] * 4)
    while league.league.seq < rows and (add := next(fill, None)):
        add()
    league.run_until(lambda: league.league.seq >= rows)

    league.restart_manager()
    for add in fill:
        add()
    league.play()

    assert_complete(league)
    assert not events_of(league, MatchAssigned)  # a restart changes no epoch


def test_after_replay_the_state_is_what_it_was():
    league = MemoryLeague(5, 2).fill()
    league.run_until(lambda: league.league.decided_total == 7)
    before = league.league

    league.restart_manager()

    after = league.league
    assert after is not before
    assert after.table.rows() == before.table.rows()
    assert list(after.matches.items()) == list(before.matches.items())
    assert (after.phase, after.round_id, after.open_matches) == (
        before.phase,
        before.round_id,
        before.open_matches,
    )


@rule("R-RESUME-01")
def test_a_manager_whose_journal_ends_with_the_start_announces_the_first_round():
    league = MemoryLeague(2, 1).fill()
    manager = Manager(league.settings, SECRETS, league.game)
    for event in events_of(
        league, LeagueOpened | RefereeRegistered | PlayerRegistered | LeagueStarted
    ):
        manager.apply(event)

    effects = manager.handle(Started(0.0), BEGAN)

    assert manager.league.round_id == 1
    (broadcast,) = [each for each in effects if isinstance(each, Broadcast)]
    assert [to.agent_id for to, _ in broadcast.letters] == ["P01", "P02"]


@rule("R-RESUME-01")
def test_what_everybody_was_told_is_not_said_again():
    league = MemoryLeague(2, 1).fill().play()
    assert [(told.what, told.round_id) for told in events_of(league, Told)] == [
        ("announcement", 1),
        ("round_end", 1),
        ("league_end", 1),
    ]

    league.restart_manager()
    said = len(league.messages)
    league.play()

    assert len(league.messages) == said
    assert league.hosts[0].ended


def test_the_end_is_told_again_where_it_was_not_told_to_all():
    league = MemoryLeague(2, 1).fill()
    league.run_until(lambda: league.league.phase == "LEAGUE_COMPLETED")
    said = len(league.messages)

    league.restart_manager()
    league.play()

    again = [type(message).__name__ for _, message in league.messages[said:]]
    assert again.count("LeagueCompleted") >= 3
    assert all(host.ended for host in league.hosts)


def test_the_matches_of_a_round_whose_announcement_was_told_are_handed_out_at_once():
    league = MemoryLeague(2, 1).fill()
    league.run_until(lambda: league.league.decided_total == 1)
    assert ("announcement", 1) in league.league.told
    said = len(league.messages)

    league.restart_manager()
    league.play()

    again = [type(message).__name__ for _, message in league.messages[said:]]
    assert again[0] == "RoundAnnouncement"  # to the referee: its assignment
    assert league.messages[said][0].startswith("referee")
    assert_complete(league)


@rule("R-RESUME-01")
def test_after_a_restart_the_last_referee_at_an_end_point_gets_the_matches():
    league = MemoryLeague(2, 2)
    first = league.add_referee("First")
    url = league.league.roster.referees["REF01"].endpoint
    league.kill(first)
    league.add_referee("Second", url=url)

    league.restart_manager()
    for number in (1, 2):
        league.add_player(name=f"Player {number}")
    league.play()

    assert league.league.matches["R1M1"].referees == ["REF02"]
    assert_complete(league)


@rule("R-RESUME-02")
def test_a_league_of_other_rules_is_not_resumed_and_the_first_difference_is_named():
    league = MemoryLeague(2, 1)
    rows = list(league.journal.read("league_test"))
    same = ManagerSettings(league_id="league_test", players=2)

    check_rules(same, iter(rows), "cup")
    for name, value in [
        ("league_id", "another"),
        ("move_seconds", 1.0),
        ("cycles", 2),
        ("game_type", "tic_tac_toe"),
        ("win_points", 2),
        ("tie_breaks", ("wins",)),
        ("retries", 1),
        ("seeded", True),
        ("missing_fields", "refuse"),
    ]:
        other = replace(same, **{name: value})
        with pytest.raises(
            StorageError, match=rf"was begun with {name} = .*; .* leave that out, or "
        ):
            check_rules(other, iter(rows), "cup")


@rule("R-RESUME-02")
@pytest.mark.parametrize(
    "asked",
    [
        {"format": "knockout", "format_options": {"rounds": 3}},  # those of the Swiss
        {"format": "swiss", "format_options": {"round": 3}},  # a slip
        {"stages": [{"format": "swiss"}], "format_options": {"rounds": 3}},
    ],
)
def test_a_league_of_another_format_is_not_resumed_whatever_is_typed(asked):
    opened = Decisions(0).events[0]
    rows = rows_of(
        [msgspec.structs.replace(opened, stages=plan([{"format": "swiss", "rounds": 3}]))]
    )
    settings = ManagerSettings(league_id=opened.league_id, tie_breaks=opened.tie_breaks, **asked)

    with pytest.raises(StorageError, match=r"begun with stages = .* now its format is another"):
        check_rules(settings, iter(rows), "cup")


@rule("R-RESUME-02")
def test_a_journal_from_before_a_rule_was_one_is_resumed_whatever_is_set_now():
    events = Decisions(0).events
    rows, tie_breaks = rows_of(events), events[0].tie_breaks
    rules = {"league_id": "league_2026_even_odd_office", "tie_breaks": tie_breaks}
    strict = ManagerSettings(**rules, missing_fields="refuse")

    check_rules(strict, iter(rows), "cup")


@pytest.mark.parametrize(
    ("players", "advice"),
    [
        (0, r"no player has registered yet: remove it with: rm -r 'a cup' and then type the same"),
        (1, r"begin another league with: --dir ANOTHER$"),
    ],
)
def test_an_organiser_who_wants_other_rules_is_told_whether_the_league_can_be_thrown_away(
    players, advice
):
    rows = rows_of(Decisions(players).events)

    with pytest.raises(StorageError, match=advice):
        check_rules(
            ManagerSettings(league_id="league_test", move_seconds=1.0),
            iter(rows),
            "a cup",
        )


def test_a_journal_that_does_not_begin_with_rules_is_not_resumed():
    league = MemoryLeague(2, 1).fill()
    rows = list(league.journal.read("league_test"))

    with pytest.raises(StorageError, match="begins with 'referee_registered'"):
        check_rules(league.settings, iter(rows[1:]), "cup")


def test_a_finished_league_stays_silent_and_ends_at_once():
    league = MemoryLeague(2, 1).fill().play()
    manager = Manager(league.settings, SECRETS, league.game)
    for event in events_of(league, object):
        manager.apply(event)

    effects = manager.handle(Started(0.0), BEGAN)

    assert [type(effect) for effect in effects] == [End]
    assert not any(isinstance(effect, Call | Broadcast) for effect in effects)
