"""What comes of a registration: what is recorded, answered, limited, and told the organiser."""

from types import SimpleNamespace

import pytest
from msgspec import UNSET

from agentleague.errors import MissingField, RateLimited, TokenMissing
from agentleague.league.events import (
    PlayerRegistered,
    PlayerReturned,
    RefereeRegistered,
    TokenConfirmed,
    TokenRenewed,
)
from agentleague.manager.step import ManagerLimits
from agentleague.protocol.messages import (
    LeagueQuery,
    LeagueRegisterRequest,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
)
from agentleague.roles.effects import Record, Reply
from agentleague.roles.stimuli import Asked, Caller
from league.decisions import Decisions, token
from manager.test_registration import registration
from manager.test_role import a_manager, ask
from rules import rule
from tables import each_row

URL = "http://127.0.0.1:9000/mcp"


def taken(step, admission):
    """What came of a registration: who is in, what was recorded, and what was answered."""
    events = [each.event for each in step.effects if isinstance(each, Record)]
    answers = [each.answer for each in step.effects if isinstance(each, Reply)]
    return SimpleNamespace(**admission._asdict(), events=events, answer=answers[0])


def player(decisions, name="Ann", url=URL, shown=None, source="127.0.0.1", **settings):
    step, of_manager = registration(decisions.league, **settings)
    message = LeagueRegisterRequest(PlayerMeta(name, url))
    asked = Asked(message, Caller(source, shown), 1)
    return taken(step, of_manager.register(asked))


def referee(decisions, url=URL, shown=None, locks=True, **settings):
    step, of_manager = registration(decisions.league, **settings)
    message = RefereeRegisterRequest(RefereeMeta("Owl", url, locks=locks))
    asked = Asked(message, Caller("127.0.0.1", shown), 1)
    return taken(step, of_manager.register(asked))


@rule("R-LEAGUE-18")
def test_a_new_agent_is_recorded_and_answered():
    one, other = player(Decisions(0)), referee(Decisions(0, 0))

    assert [type(event) for event in one.events] == [PlayerRegistered]
    assert (one.agent_id, one.answer.player_id, one.came_back) == ("P01", "P01", False)
    assert [type(event) for event in other.events] == [RefereeRegistered]
    assert (other.agent_id, other.answer.referee_id, other.came_back) == ("REF01", "REF01", False)


@rule("R-REG-05", "R-REG-06")
def test_an_agent_that_shows_its_token_came_back():
    decisions = Decisions(1, 1)

    one, other = player(decisions, shown=token("P01")), referee(decisions, shown=token("REF01"))

    assert [type(event) for event in (*one.events, *other.events)] == [TokenRenewed] * 2
    assert (one.agent_id, one.came_back) == ("P01", True)
    assert (other.agent_id, other.came_back) == ("REF01", True)


@rule("R-LEAGUE-32")
def test_an_agent_that_lost_its_token_is_in_and_cannot_act():
    decisions = Decisions(0)
    player(decisions)

    again = player(decisions)

    assert [type(event) for event in again.events] == [PlayerReturned]
    assert (again.agent_id, again.came_back) == ("P01", False)


@rule("R-REG-05")
@pytest.mark.parametrize(("take", "agent_id"), [(player, "P01"), (referee, "REF01")])
def test_a_token_shown_for_the_first_time_is_used_before_a_further_one_is_given(take, agent_id):
    decisions = Decisions(1, 1)
    given = take(decisions, shown=token(agent_id))

    again = take(decisions, shown=given.answer.auth_token)

    confirmed, renewed = again.events
    assert confirmed == TokenConfirmed(agent_id, 2)
    assert (renewed.agent_id, renewed.generation) == (agent_id, 3)
    assert decisions.league.roster.owner(token(agent_id)) is None
    assert decisions.league.roster.acting(given.answer.auth_token) == agent_id


@rule("R-REG-05")
def test_a_repeated_registration_records_nothing():
    decisions = Decisions(1)
    first = player(decisions, shown=token("P01"))

    again = player(decisions, shown=token("P01"))

    assert first.answer == again.answer
    assert (again.agent_id, again.came_back, again.events) == ("P01", True, [])


@rule("R-LEAGUE-20", "R-REG-09", "R-REG-10")
def test_an_agent_that_is_refused_is_told_and_leaves_no_trace():
    taken = player(Decisions(1), name="Agent 1", unique_names="reject")
    foreign = referee(Decisions(0, 0), locks=UNSET, foreign_referees="refuse")
    full = player(Decisions(1), players_max=1)
    crowded = referee(Decisions(0, 1), referees_max=1)

    for refused in (taken, foreign, full, crowded):
        assert refused.answer.status == "REJECTED"
        assert (refused.events, refused.agent_id) == ([], "")
        assert refused.answer.auth_token is UNSET
    assert (taken.answer.error_code, taken.answer.code) == ("E041", 2002)
    assert (full.answer.error_code, full.answer.code) == ("E020", 2001)
    assert (crowded.answer.error_code, crowded.answer.code) == ("E020", 1001)
    assert foreign.answer.error_code == "E018"
    assert "referee_meta.locks" in foreign.answer.hint


@rule("R-REG-08")
@pytest.mark.parametrize("take", [player, referee])
def test_a_missing_join_code_is_an_error_and_no_rejection(take):
    with pytest.raises(TokenMissing, match="join_code"):
        take(Decisions(0, 0), join_code="quokka-7")


@rule("R-REG-06")
def test_the_settings_make_the_terms():
    assert referee(Decisions(0, 0), lease_seconds=4.0).answer.lease_seconds == 4.0
    twice = player(Decisions(1), name="Agent 1", unique_names="off")
    assert twice.answer.display_name_effective is UNSET


@rule("R-REG-17")
@each_row(
    ("shown", "claim", "pause", "words"),
    [
        (None, UNSET, 1.0, "ACCEPTED ACCEPTED REGISTERED ACCEPTED REGISTERED"),
        (None, UNSET, 30.0, "ACCEPTED ACCEPTED ACCEPTED ACCEPTED ACCEPTED"),  # started again
        (None, "c" * 32, 1.0, "ACCEPTED ACCEPTED ACCEPTED ACCEPTED ACCEPTED"),  # one of ours
        (token("P01"), UNSET, 1.0, "ACCEPTED ACCEPTED ACCEPTED ACCEPTED ACCEPTED"),
    ],
)
def test_a_foreign_agent_that_asks_and_asks_is_told_yes_in_another_word(shown, claim, pause, words):
    step, of_manager = registration(Decisions(1).league)
    said = []
    for _ in words.split():
        step.now, step.effects = step.now + pause, []
        message = LeagueRegisterRequest(PlayerMeta("Agent 1", URL, claim=claim))
        of_manager.register(Asked(message, Caller("127.0.0.1", shown), 1))
        said += [each.answer.status for each in step.effects if isinstance(each, Reply)]

    assert " ".join(said) == words


@rule("R-REG-11")
def test_a_message_that_lacks_documented_fields_is_refused_where_the_league_wants_them_all():
    strict, lenient = a_manager(missing_fields="refuse"), a_manager()
    missing = ("sender", "player_meta.version")
    question = LeagueRegisterRequest(PlayerMeta("Ann", URL))

    error, _ = ask(strict, question, missing=missing)
    assert isinstance(error, MissingField)
    assert "missing: sender, player_meta.version" in str(error)
    assert error.context["field"] == "sender"
    assert error.context["missing"] == ["sender", "player_meta.version"]
    for manager, lacks in ((strict, ()), (lenient, missing)):
        assert ask(manager, question, missing=lacks)[0].status == "ACCEPTED"


@rule("R-REG-11")
def test_a_field_that_does_not_fit_is_refused_there_too_and_else_a_warning_says_why():
    why, question = "league_id (Expected `str`, got `int`)", LeagueQuery("GET_STATUS")

    error, _ = ask(a_manager(missing_fields="refuse"), question, missing=(why,))
    assert (error.context["field"], error.context["missing"][0]) == ("league_id", why)
    assert ask(a_manager(), question, missing=(why, "sender"))[0].warnings == [
        f"{why} does not fit",
        "sender was missing",
    ]


@rule("R-REG-07")
def test_an_agent_comes_back_at_once_a_few_times_and_then_waits_longer_and_longer():
    decisions, now, waits, free = Decisions(1, 2), 0.0, [], 3
    limits = ManagerLimits(returns_free=free, return_seconds_max=60.0)
    step, of_manager = registration(decisions.league, limits=limits)
    message = LeagueRegisterRequest(PlayerMeta("Ann", URL))
    shown = token("P01")
    for _ in range(free + 9):
        began = now
        while True:
            step.now, step.effects = now, []
            try:
                of_manager.register(Asked(message, Caller("127.0.0.1", shown), 1))
                break
            except RateLimited as refused:
                now += refused.context["retry_after"]
        shown = step.effects[-1].answer.auth_token
        waits.append(now - began)

    assert waits == [0.0, *[1.0] * free, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]


@rule("R-REG-07")
def test_others_do_not_wait_for_an_agent_that_came_back():
    decisions = Decisions(2)
    step, of_manager = registration(decisions.league)
    for number in ("P01", "P02"):
        message = LeagueRegisterRequest(PlayerMeta("Ann", f"http://127.0.0.1/{number}"))
        of_manager.register(Asked(message, Caller("127.0.0.1", token(number)), 1))

    another = Caller("127.0.0.1", step.effects[-1].answer.auth_token)
    with pytest.raises(RateLimited, match="wait 1 s"):
        of_manager.register(Asked(message, another, 1))


@rule("R-GAME-02")
@pytest.mark.parametrize(("options", "told"), [({"highest": 100}, {"highest": 100}), ({}, UNSET)])
def test_a_player_is_told_the_options_of_the_game_when_it_registers_and_comes_back(options, told):
    manager = a_manager(game_options=options)

    for _ in range(2):
        answer, _ = ask(manager, LeagueRegisterRequest(PlayerMeta("Ann", URL)))
        assert (answer.player_id, answer.game_options) == ("P01", told)
