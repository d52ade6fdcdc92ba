"""A player and a referee that shows no match token: the manager says whose match it is."""

import msgspec
import pytest

from agentleague.errors import NoAnswer, RateLimited, TokenInvalid
from agentleague.player.memory import LIMITS, PlayerLimits
from agentleague.player.role import Player
from agentleague.protocol.messages import (
    ChooseParityCall,
    GameInvitation,
    GameJoinAck,
    LeagueQueryResponse,
    LeagueRegisterResponse,
)
from agentleague.protocol.tokens import channel_key, match_token
from agentleague.roles.agent import RegisterKey
from agentleague.roles.effects import Call, Reply
from agentleague.roles.settings import PlayerSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Started
from rules import rule

BEGAN = 1_700_000_000.0
TOKEN = "tok_ann"
THERE = "10.0.0.7"  # where the referee is
MATCH = {
    "match_id": "R1M1",
    "player_A_id": "P01",
    "player_B_id": "P02",
    "referee_endpoint": f"http://{THERE}:8001/mcp",
    "referee_locks": False,
}
INVITATION = GameInvitation(match_id="R1M1", league_id="league_1", auth_token="tok_of_referee")


def a_player(limits=LIMITS):
    role = Player(PlayerSettings(display_name="Ann", endpoint="http://ann/mcp"), limits)
    role.handle(Started(0.0), BEGAN)
    accepted = LeagueRegisterResponse("ACCEPTED", "P01", "league_1", auth_token=TOKEN)
    accepted = msgspec.structs.replace(accepted, match_tokens=True)
    role.handle(Answered(RegisterKey(), accepted, None, 0.1), BEGAN)
    return role


def ask(role, message=INVITATION, source=THERE, now=BEGAN, number=1):
    return role.handle(Asked(message, Caller(source), number), now)


def explain(role, call, now=BEGAN, **changes):
    facts = LeagueQueryResponse("GET_MATCH", True, {"match": MATCH | changes})
    return role.handle(Answered(call.key, facts, None, 0.1), now)


@rule("R-START-07")
def test_the_manager_is_asked_whose_match_it_is_and_then_the_referee_is_answered():
    role = a_player()

    (call,) = ask(role)
    (joined,) = explain(role, call)
    (again,) = ask(role)

    assert isinstance(call, Call)
    assert call.message.query_params == {"match_id": "R1M1"}
    assert call.until == BEGAN + PlayerSettings().reply_seconds
    assert isinstance(joined.answer, GameJoinAck)
    assert isinstance(again.answer, GameJoinAck)  # Without asking a second time.


@rule("R-START-07")
@pytest.mark.parametrize(
    "facts",
    [
        {"referee_locks": True},  # One that locks has the token.
        {"referee_locks": None},
        {"player_A_id": "P03"},  # Not its match.
        {"referee_endpoint": "http://10.0.0.8:8001/mcp"},  # Not from there.
        {"referee_endpoint": ""},
    ],
)
def test_anybody_but_that_referee_is_refused(facts):
    role = a_player()

    (call,) = ask(role)
    (refused,) = explain(role, call, **facts)

    assert isinstance(refused.answer, TokenInvalid)


@rule("R-START-07")
def test_without_the_managers_word_it_is_refused_and_not_asked_again_for_a_second():
    role = a_player()

    (call,) = ask(role)
    (refused,) = role.handle(Answered(call.key, None, NoAnswer("no answer"), 10.0), BEGAN)
    (at_once,) = ask(role, now=BEGAN + 0.9)
    (later,) = ask(role, now=BEGAN + 1.0)

    assert isinstance(refused.answer, TokenInvalid)
    assert isinstance(at_once.answer, TokenInvalid)
    assert isinstance(later, Call)


@rule("R-START-07")
def test_a_sender_that_showed_the_token_is_the_referee_from_there_on():
    role = a_player()
    explain(role, *ask(role))
    names = ("league_1", "R1M1", "P01", INVITATION.epoch)
    token = match_token(channel_key(TOKEN), "ref>player", *names)

    (signed,) = ask(role, msgspec.structs.replace(INVITATION, auth_token=token))
    (unsigned,) = ask(role)

    assert isinstance(signed.answer, GameJoinAck)
    assert isinstance(unsigned, Call)


def test_one_question_is_enough_for_all_that_wait_and_few_may_wait():
    role = a_player()

    sources = [
        THERE,
        *(
            f"192.0.2.{number // PlayerLimits.waiting_from_one_source}"
            for number in range(PlayerLimits.waiting_messages)
        ),
    ]
    asked = [ask(role, source=source, number=number) for number, source in enumerate(sources)]
    (call,) = asked[0]
    answers = explain(role, call)

    assert asked[1:-1] == [[]] * (PlayerLimits.waiting_messages - 1)
    assert isinstance(asked[-1][0], Reply)
    assert [reply.to for reply in answers] == list(range(PlayerLimits.waiting_messages))
    assert [isinstance(reply.answer, GameJoinAck) for reply in answers[:2]] == [True, False]


def test_one_source_does_not_take_the_places_of_all():
    role = a_player()
    others = [msgspec.structs.replace(INVITATION, match_id=f"R9M{number}") for number in range(16)]

    taken = [ask(role, other, source="192.0.2.1", number=2)[0] for other in others]
    (call,) = ask(role)
    (joined,) = explain(role, call)

    assert [isinstance(each, Call) for each in taken] == [
        True
    ] * PlayerLimits.waiting_from_one_source + [False] * 12
    assert isinstance(joined.answer, GameJoinAck)


def test_it_remembers_so_many_matches_and_no_more():
    role = a_player(PlayerLimits(foreign_matches=2))
    for number in range(3):
        name = f"R{number}M1"
        message = msgspec.structs.replace(INVITATION, match_id=name)
        explain(role, *ask(role, message))

    oldest = ask(role, msgspec.structs.replace(INVITATION, match_id="R0M1"))
    newest = ask(role, msgspec.structs.replace(INVITATION, match_id="R2M1"))

    assert isinstance(oldest[0], Call)
    assert isinstance(newest[0], Reply)


def test_what_proves_who_it_is_is_for_nobody_without_the_token():
    role = a_player()
    later = msgspec.structs.replace(INVITATION, epoch=2)  # Of which our own referee may be.
    (joined,) = explain(role, *ask(role, later))

    assert joined.answer.accept
    assert joined.answer.auth_token is msgspec.UNSET


def test_a_referee_of_another_league_does_not_make_it_ask():
    role = a_player()

    (refused,) = ask(role, msgspec.structs.replace(INVITATION, league_id="league_2"))
    (call,) = ask(role)

    assert isinstance(refused.answer, TokenInvalid)
    assert isinstance(call, Call)
    assert call.message.league_id == "league_1"


def test_of_moves_that_waited_for_the_managers_word_no_more_than_it_may_think_about_are_taken():
    role = a_player(PlayerLimits(strategies_running=1))
    question = ChooseParityCall(match_id="R1M1", league_id="league_1", auth_token="tok_of_referee")

    (call,) = ask(role, question)
    assert ask(role, question, number=2) == []
    *_, refused = explain(role, call)

    assert refused.to == 2
    assert isinstance(refused.answer, RateLimited)
