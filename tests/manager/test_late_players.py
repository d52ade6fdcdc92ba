"""Players who come after the start: refused, in the next stage, or in what is left."""

import pytest
from msgspec.structs import replace

from agentleague.errors import EndpointTaken, LateRegistration
from agentleague.games import even_odd
from agentleague.league import stage_views
from agentleague.league.events import (
    EndpointProved,
    PlayerJoined,
    PlayerRegistered,
    RegistrationDisplaced,
    RoundScheduled,
    StageStarted,
)
from agentleague.league.queries import QUERIES, answer
from agentleague.player.role import Player
from agentleague.protocol.messages import (
    LeagueCompleted,
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    PlayerMeta,
    RoundAnnouncement,
)
from agentleague.records.export_files import league_files
from agentleague.records.reading import event_of
from agentleague.records.verify import verify
from agentleague.roles.agent import AgentState
from agentleague.roles.settings import PlayerSettings
from agentleague.roles.stimuli import Caller
from agentleague.runtime.host import Host
from manager.test_assignments import assert_complete, events_of
from memory_league import MemoryLeague
from records.journals import rows_of

GROUPS = [{"format": "round_robin", "advance": 2}, {"format": "round_robin"}]


def rows(league):
    return list(league.journal.read("league_test"))


def found(league):
    return verify(rows(league), lambda name: even_odd)


def in_round(number, players=4, **settings):
    """A league that plays this round."""
    league = MemoryLeague(players, 1, **settings).fill()
    return league.run_until(
        lambda: league.league.round_id == number and league.manager.rounds.has_begun
    )


def ask(league, name="Late", url="http://late/mcp", **more):
    """What somebody is answered who asks to be registered."""
    answers, meta = [], PlayerMeta(name, url, "1.0.0", ["even_odd"], **more)
    league.hosts[0].ask(LeagueRegisterRequest(meta), Caller("late"), answers.append)
    league.run_until(lambda: bool(answers))
    return answers[0]


def rounds_of(league, player_id):
    """The rounds that it plays."""
    return [
        each.round_id
        for each in events_of(league, RoundScheduled)
        if any(player_id in (match.player_a, match.player_b) for match in each.matches)
    ]


@pytest.mark.parametrize(
    ("settings", "number", "said"),
    [
        ({}, 1, 'players join before its first round (late = "refuse")'),
        ({"late": "next_stage"}, 1, "and its last stage runs"),
        ({"late": "next_stage", "stages": GROUPS}, 4, "and its last stage runs"),
        ({"late": "play_remaining"}, 1, "none of its coming rounds can take somebody in"),
        ({"late": "play_remaining", "cycles": 2}, 4, "none of its coming rounds can take somebody"),
        (
            {"late": "play_remaining", "format_options": {"until": 95, "cycles_max": 2}},
            4,
            "none of its coming rounds can",
        ),
        ({"late": "play_remaining", "format": "knockout"}, 1, "none of its coming rounds can"),
        (
            {"late": "play_remaining", "format": "ladder", "format_options": {"rounds": 2}},
            2,
            "none",
        ),
        (
            {"late": "play_remaining", "format": "ladder", "format_options": {"matches": 3}},
            2,
            "none",
        ),
    ],
)
def test_who_would_not_play_any_more_is_refused_and_told_the_policy(settings, number, said):
    league = in_round(number, **settings)

    answer = ask(league)

    assert (answer.status, answer.error_code) == ("REJECTED", LateRegistration.code)
    assert answer.reason == LateRegistration.reason
    assert said in answer.hint
    assert not isinstance(event_of(rows(league)[-1]), PlayerRegistered)


def test_who_comes_late_to_a_round_robin_plays_from_the_next_cycle_on():
    league = in_round(2, cycles=2, late="play_remaining")
    late = league.add_player(name="Late")
    assert "P05 Late came late: plays from the next cycle on." in league.manager.news
    assert "The league has begun: you play from the next cycle on." in late.role.news
    league.play()

    assert_complete(league)
    assert len(rounds_of(league, "P05")) == 4  # of five rounds of the second cycle
    assert min(rounds_of(league, "P05")) >= 4
    assert [each.player_id for each in events_of(league, PlayerJoined)] == ["P05"]
    assert found(league).difference is None
    assert found(league).complete
    assert league.league.table.row("P05").played == 4
    assert stage_views.notes(league.league) == {"P05": "from the cycle after round 2"}


@pytest.mark.parametrize(("number", "cycles"), [(2, 3), (6, 2)])
def test_who_comes_late_to_a_round_robin_until_it_is_clear_plays_in_the_cycles_that_follow(
    number, cycles
):
    options = {"until": 95, "cycles_max": 4}
    league = in_round(number, cycles=2, format_options=options, late="play_remaining")
    league.add_player(name="Late")
    league.play()

    assert_complete(league)
    assert len(rounds_of(league, "P05")) == 4 * cycles
    assert found(league).difference is None
    assert found(league).complete


@pytest.mark.parametrize("name", ["ladder", "swiss"])
def test_who_comes_late_to_a_ladder_or_swiss_plays_from_the_next_round_on(name):
    options = {"rounds": 4}
    league = in_round(2, 7, format=name, format_options=options, late="play_remaining")
    league.add_player(name="Late")
    assert "P08 Late came late: plays from round 3 on." in league.manager.news
    league.play()

    assert rounds_of(league, "P08") == [3, 4]
    assert found(league).difference is None


@pytest.mark.parametrize("late", ["next_stage", "play_remaining"])
def test_who_comes_late_to_the_first_stage_is_in_the_second(late):
    league = in_round(2, stages=GROUPS, late=late)
    league.add_player(name="Late")
    league.add_player(name="Later")
    assert "P05 Late came late: plays from stage 2 on." in league.manager.news
    league.play()

    (began,) = events_of(league, StageStarted)
    assert len(began.players) == 4
    assert began.players[2:] == ["P05", "P06"]
    assert rounds_of(league, "P05") == [4, 5, 6]
    assert not events_of(league, PlayerJoined)
    assert found(league).difference is None


@pytest.mark.parametrize("settings", [{"cycles": 2}, {"stages": GROUPS}])
def test_a_manager_killed_at_any_row_after_somebody_came_late_goes_on_exactly(settings):
    late = in_round(2, 3, late="play_remaining", **settings)
    late.add_player(name="Late")
    began = len(rows(late))
    late.play()

    for last in range(began - 1, len(rows(late)), 5):
        league = in_round(2, 3, late="play_remaining", **settings)
        league.add_player(name="Late")
        league.run_until(lambda league=league, last=last: len(rows(league)) >= last)
        league.restart_manager()
        league.play()
        assert found(league).difference is None
        assert found(league).complete
        assert rounds_of(league, "P04") == rounds_of(late, "P04")


def test_who_waits_to_play_is_told_what_others_are_and_may_ask_everything():
    league = in_round(1, stages=GROUPS, late="next_stage")
    late = league.add_player(name="Late")
    league.messages.clear()
    league.run_until(lambda: league.league.round_id == 3)

    told = [message for host, message in league.messages if host == "player6"]
    assert any(isinstance(each, RoundAnnouncement) for each in told)
    state = league.league
    for query_type in QUERIES:
        params = {"match_id": "R1M1"} if query_type == "GET_MATCH" else {}
        answer(state, query_type, params, "P05")
    assert answer(state, "GET_AGENT", {"agent_id": "P05"}, None)["agent"]["state"] == "REGISTERED"
    assert answer(state, "GET_STATUS", {}, None)["latecomers"] == ["P05"]
    assert answer(state, "GET_NEXT_MATCH", {}, "P05") == {"next_match": None}
    assert len(answer(state, "GET_STANDINGS", {}, "P05")["standings"]) == 4
    assert dict(league_files(state, "2026-01-01T00:00:00Z"))
    league.play()
    assert any(
        isinstance(each, LeagueCompleted) for host, each in league.messages if host == "player6"
    )
    assert late.ended


def test_who_waits_to_play_may_be_removed_and_never_plays():
    league = in_round(1, stages=GROUPS, late="next_stage")
    league.add_player(name="Late")
    assert "is removed" in league.command("remove", player_id="P05").said
    league.play()

    assert rounds_of(league, "P05") == []
    assert found(league).difference is None


def test_the_organiser_adds_somebody_late():
    league = in_round(1, stages=GROUPS, late="next_stage")

    said = league.command("add_player", name="Ann", url="http://ann/mcp").said

    assert said.endswith("; it plays from stage 2 on.")


def test_who_comes_late_is_alone_at_its_end_point_and_counts_in_the_limit():
    league = in_round(1, 4, stages=GROUPS, late="next_stage", players_max=5)

    at_anothers = ask(league, url="http://player2/mcp", claim="c" * 64)
    first = ask(league)
    second = ask(league, "More", "http://more/mcp")

    assert at_anothers.error_code == EndpointTaken.code
    assert isinstance(first, LeagueRegisterResponse)
    assert (first.status, first.hint) == (
        "ACCEPTED",
        "The league has begun: you play from stage 2 on.",
    )
    assert "5 players are registered already" in second.hint


@pytest.mark.parametrize("is_own", [False, True])
def test_a_late_player_whose_end_point_is_anothers_is_taken_out_before_it_plays(is_own):
    league = in_round(1, stages=GROUPS, late="next_stage")
    league.command("pause")
    role = Player(PlayerSettings(display_name="Who listens", endpoint="http://late/mcp"))
    role.remember(AgentState(claim=("c" if is_own else "d") * 64))
    role.register = lambda now: []  # Another one says that it is there.
    Host(role, league.clock, league.network.join("http://late/mcp", "player")).start(0.0)

    ask(league, claim="c" * 64)
    league.wait(2.0)

    kind = EndpointProved if is_own else RegistrationDisplaced
    assert events_of(league, kind)[-1].agent_id == "P05"
    assert found(league).difference is None


def test_a_journal_in_which_somebody_comes_too_late_or_joins_too_early_is_not_true():
    league = in_round(2, cycles=2, late="play_remaining")
    league.add_player(name="Late")
    events = [event_of(row) for row in rows(league)]
    too_late = [replace(events[0], cycles=1), *events[1:]]

    def difference(changed):
        return verify(rows_of(changed, "league_test"), lambda name: even_odd).difference.sentence

    assert "P05 is registered after the start" in difference(too_late)
    early = [*events, PlayerJoined("P05")]
    assert "P05 joins, but it is the turn of nobody" in difference(early)
