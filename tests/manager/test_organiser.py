"""What the organiser commands: start, pause, abort, remove."""

from dataclasses import replace

import pytest

from agentleague.errors import (
    NotRegistered,
    TokenInvalid,
    TokenMissing,
    UnexpectedMessage,
    UnknownMethod,
    WrongType,
)
from agentleague.league import queries
from agentleague.league.events import LeagueEnded, MatchAssigned, MatchDecided
from agentleague.manager.notices import joined
from agentleague.protocol.messages import (
    GameOver,
    LeagueCommand,
    LeagueCompleted,
    LeagueQuery,
    RefereeStatus,
    RefereeStatusAck,
)
from agentleague.roles.stimuli import Caller
from manager.test_assignments import assert_complete, events_of, waits_for_a_referee
from memory_league import MemoryLeague
from rules import rule


def waiting(players=3):
    """A league that starts when it is told to."""
    league = MemoryLeague(players, 1)
    league.settings = type(league.settings)(league_id="league_test", players=None)
    league.restart_manager()
    return league


@rule("R-ORG-01", "R-ORG-02")
def test_a_league_starts_when_the_organiser_says_so():
    league = waiting().fill()
    assert league.league.round_id == 0

    said = league.command("start").said

    assert said == "The league has begun: 3 rounds."
    league.play()
    assert_complete(league)


@rule("R-ORG-02")
@pytest.mark.parametrize(
    ("players", "referees", "why"),
    [
        (0, 1, "two players, and none is"),
        (1, 1, "two players, and 1 is"),
        (2, 0, "a referee, and none is"),
    ],
)
def test_no_league_starts_without_two_players_and_a_referee(players, referees, why):
    league = waiting()
    for _ in range(referees):
        league.add_referee()
    for _ in range(players):
        league.add_player()

    answer = league.command("start")

    assert isinstance(answer, UnexpectedMessage)
    assert why in str(answer)
    assert not league.league.has_started


@rule("R-ORG-02")
def test_a_league_starts_by_the_clock_with_those_who_are_there():
    league = MemoryLeague(3, 1)
    league.settings = type(league.settings)(league_id="league_test", start_after_seconds=60.0)
    league.restart_manager()
    league.journal = league.journal
    league.fill()
    assert league.league.round_id == 0

    league.play()

    assert_complete(league)
    assert league.clock.now() >= 1_700_000_060.0


@pytest.mark.parametrize("is_late", [False, True])
def test_a_league_starts_at_its_time_or_at_once_if_its_manager_was_away_then(is_late):
    league = MemoryLeague(3, 1)
    at = "2023-11-14T23:13:50+01:00"  # half a minute after the clock begins
    league.settings = type(league.settings)(league_id="league_test", start_at=at)
    league.restart_manager()
    league.fill()
    answers = []
    league.hosts[0].ask(LeagueQuery("GET_STATUS"), Caller("127.0.0.1"), answers.append)
    assert answers[0].data["starts_at"] == at
    league.wait(20.0)
    assert not league.league.has_started
    if is_late:
        league.kill(league.hosts[0])
        league.wait(60.0)
        league.restart_manager()

    league.play()

    assert_complete(league)
    rows = {row.kind: row.at for row in league.journal.read("league_test")}
    assert rows["league_started"][11:19] == ("22:14:40" if is_late else "22:13:50")


def test_when_the_time_to_start_has_come_the_last_one_who_was_missing_starts_the_league():
    league = MemoryLeague(3, 1)
    league.settings = type(league.settings)(league_id="league_test", start_after_seconds=60.0)
    league.restart_manager()
    league.add_referee()
    league.add_player(name="One")
    league.play()
    assert not league.league.has_started
    assert league.manager.news[-1] == (
        "It is time to start. It begins by itself when enough are there: a league needs two "
        "players, and 1 is registered: register more"
    )

    league.add_player(name="Two")
    league.play()

    assert_complete(league)


@rule("R-ORG-03")
def test_a_pause_ends_what_is_played_and_begins_nothing_new():
    league = MemoryLeague(4, 2).fill()
    league.run_until(lambda: league.league.decided_total == 1)

    assert "is paused" in league.command("pause").said
    league.play()

    assert league.league.round_id == league.league.rounds_ended == 1
    assert league.league.paused
    assert league.command("start").said == "The league goes on."
    league.play()
    assert_complete(league)


@rule("R-ORG-03")
def test_no_lease_runs_out_during_a_pause():
    league = MemoryLeague(2, 2).fill()
    league.run_until(lambda: any(host.role.matches for host in league.hosts[1:3]))
    holder = next(host for host in league.hosts[1:3] if host.role.matches)
    league.kill(holder)
    league.command("pause")

    league.wait(1000.0)
    assert league.league.matches["R1M1"].epoch == 1
    league.command("start")
    league.wait(5.0)
    assert league.league.matches["R1M1"].epoch == 1
    league.play()

    assert league.league.matches["R1M1"].epoch == 2
    assert_complete(league)


def test_a_pause_outlives_the_manager():
    league = MemoryLeague(4, 2).fill()
    league.run_until(lambda: league.league.decided_total == 1)
    league.command("pause")
    league.play()

    league.restart_manager()
    league.play()
    assert league.league.rounds_ended == 1
    assert league.league.round_id == 1

    league.command("start")
    league.play()
    assert_complete(league)


@rule("R-ORG-04")
def test_an_aborted_league_says_so_to_everybody_and_keeps_its_results():
    league = MemoryLeague(4, 2).fill()
    league.run_until(lambda: league.league.decided_total == 3)

    assert "is aborted" in league.command("abort").said
    rows = league.league.table.rows()
    assert sum(row.played for row in rows) == 2 * 3
    league.play()

    told = [message for _, message in league.messages if isinstance(message, LeagueCompleted)]
    assert len(told) == 6
    assert all(message.aborted is True for message in told)
    assert league.league.table.rows() == rows
    assert events_of(league, LeagueEnded)[0].aborted
    assert len(events_of(league, MatchDecided)) == 3
    assert all(host.ended for host in league.hosts)


def test_a_referee_that_speaks_after_an_abort_gets_no_match_that_waited_for_one():
    league = MemoryLeague(2, 1, lease_seconds=1.0).fill()
    referee, answers = league.hosts[1], []
    league.run_until(lambda: league.league.round_id == 1)
    league.kill(referee)
    league.run_until(lambda: waits_for_a_referee(league))
    league.command("abort")

    caller = Caller("127.0.0.1", referee.role.state.token)
    league.hosts[0].ask(RefereeStatus([]), caller, answers.append)
    league.play()

    assert isinstance(answers[0], RefereeStatusAck)
    assert not events_of(league, MatchAssigned)


def test_a_league_that_never_began_can_be_aborted():
    league = waiting()
    league.add_referee()
    league.add_player()

    league.command("abort")
    league.play()

    (told,) = {
        message.champion for _, message in league.messages if isinstance(message, LeagueCompleted)
    }
    assert told is None
    assert all(host.ended for host in league.hosts)


@rule("R-ORG-05")
def test_the_coming_matches_of_a_removed_player_are_technical_losses():
    league = MemoryLeague(4, 2).fill()
    league.run_until(lambda: league.league.decided_total == 2)

    said = league.command("remove", player_id="P02").said
    league.play()

    assert said.startswith("P02 is removed")
    row = league.league.table.row("P02")
    assert (row.played, row.technical_losses) == (3, 2)
    causes = [e.forfeits for e in events_of(league, MatchDecided) if e.forfeits]
    assert causes == [[("P02", "was removed by the organiser")]] * 2
    told = [m for _, m in league.messages if isinstance(m, GameOver)]
    opponents = {
        player
        for file in league.league.matches.values()
        if "P02" in file.players and file.round_id > 1
        for player in file.players
    } - {"P02"}
    assert {m.player_id for m in told if m.game_result.status == "TECHNICAL_LOSS"} == opponents
    assert league.league.phase == "LEAGUE_COMPLETED"


@pytest.mark.parametrize("has_begun", [True, False])
def test_the_organiser_hears_what_becomes_of_the_match_of_a_removed_player(has_begun):
    league = MemoryLeague(4, 2, round_notice_seconds=60.0).fill()
    league.run_until(lambda: league.manager.rounds.has_begun == has_begun)
    (match_id,) = (each for each, file in league.league.matches.items() if "P02" in file.players)

    said = league.command("remove", player_id="P02").said
    league.play()

    loses = f"it loses {match_id}, which had not begun"
    now = f"{match_id}, which is in play, goes on" if has_begun else loses
    assert said == (
        f"P02 is removed: {now}, the coming ones are technical losses, and it stays in the table."
    )
    is_lost = league.league.matches[match_id].result.status == "TECHNICAL_LOSS"
    assert is_lost is not has_begun


def test_a_player_removed_before_the_start_does_not_take_part():
    league = waiting().fill()
    league.command("remove", player_id="P02")

    league.command("start")
    league.play()

    assert [row.player_id for row in league.league.table.rows()] in (
        ["P01", "P03"],
        ["P03", "P01"],
    )
    assert_complete(league)


def test_a_player_removed_before_the_start_is_counted_nowhere_and_another_takes_its_place():
    league = MemoryLeague(3, 1)
    settings = replace(league.settings, players=3, players_max=3)
    league.settings = settings
    league.restart_manager()
    league.add_player()
    league.add_player()

    said = league.command("remove", player_id="P02").said
    assert said == "P02 is removed and will not play; 1 player left."
    assert queries.answer(league.league, "GET_STATUS", {}, None)["players"] == 1
    league.add_referee()
    league.add_player()
    assert "2 of 3 players (1 removed), 1 referee." in joined(league.league, "P03", settings)
    assert not league.league.has_started
    league.add_player()

    assert league.league.entrants == ["P01", "P03", "P04"]
    league.play()
    assert queries.answer(league.league, "GET_STATUS", {}, None)["players"] == 3
    assert_complete(league)


@pytest.mark.parametrize(
    ("command", "params", "error", "why"),
    [
        ("explode", {}, UnknownMethod, "command 'explode' is unknown"),
        ("remove", {}, WrongType, "params.player_id must name a player"),
        ("remove", {"player_id": 3}, WrongType, "params.player_id"),
        ("remove", {"player_id": "P99"}, NotRegistered, "no player 'P99'"),
        ("pause", {}, UnexpectedMessage, "only a league that runs"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(command, params, error, why):
    answer = waiting().fill().command(command, **params)

    assert isinstance(answer, error)
    assert why in str(answer)


@pytest.mark.parametrize("command", ["start", "pause", "abort", "remove"])
def test_a_league_that_is_over_cannot_be_changed(command):
    league = MemoryLeague(2, 1).fill().play()
    rows = league.league.seq

    assert isinstance(league.command(command, player_id="P01"), UnexpectedMessage)
    assert league.league.seq == rows


def test_what_was_done_already_is_refused():
    league = MemoryLeague(4, 2).fill()
    league.run_until(lambda: league.league.round_id == 1)
    league.command("pause")
    league.command("remove", player_id="P01")

    assert "paused already" in str(league.command("pause"))
    assert "removed already" in str(league.command("remove", player_id="P01"))


@rule("R-ORG-01")
@pytest.mark.parametrize(
    ("token", "error"),
    [(None, TokenMissing), ("", TokenMissing), ("adm_wrong", TokenInvalid), ("ü", TokenInvalid)],
)
def test_nobody_else_commands(token, error):
    league = MemoryLeague(2, 1).fill()
    answers = []

    league.hosts[0].ask(LeagueCommand("abort"), Caller("127.0.0.1", token), answers.append)

    assert type(answers[0]) is error
    assert not league.league.aborted


def test_a_referee_ends_after_an_abort_though_the_manager_is_gone():
    league = MemoryLeague(4, 2).fill()
    league.run_until(lambda: all(host.role.matches for host in league.hosts[1:3]))
    league.command("abort")
    league.run_until(lambda: league.hosts[0].ended)
    league.kill(league.hosts[0])

    league.play()

    assert all(host.ended for host in league.hosts[1:3])


def test_the_organiser_hears_that_the_league_begins_and_who_won():
    league = MemoryLeague(2, 1).fill().play()

    said = list(league.manager.news)
    assert "The league has begun: 2 players, 1 round, 1 match." in said
    first = league.league.table.row(league.league.champion)
    why = league.league.table.why(first.player_id)
    assert said[-1].startswith(
        f"The league is over: {first.player_id} {first.display_name} is the champion with {why}"
    )


def test_a_further_key_counts_as_the_organisers_while_somebody_vouches_for_it():
    league = waiting().fill()
    league.manager.organiser.vouches = lambda token: token == "another"

    answers = [
        league.manager.organiser.is_organiser(token) for token in ("another", "third", "", None)
    ]

    assert answers == [True, False, False, False]
