"""A player and a referee that shows no match token: the manager says whose match it is."""

import msgspec
import pytest

from agentleague.errors import NoAnswer, NoConnection, PeerRefused, RateLimited, TokenInvalid
from agentleague.player.memory import LIMITS, PlayerLimits
from agentleague.player.role import Player
from agentleague.protocol.messages import (
    ChooseParityCall,
    GameInvitation,
    GameJoinAck,
    GameOver,
    GameResult,
    LeagueQueryResponse,
    LeagueRegisterResponse,
    RoundAnnouncement,
    RoundMatch,
)
from agentleague.protocol.tokens import channel_key, match_token
from agentleague.roles.agent import RegisterKey
from agentleague.roles.effects import Address, Call, Reply
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


def by_type(role, message=INVITATION, *, method="GAME_INVITATION", form="jsonrpc", source=THERE):
    caller = Caller(source, form=form, rpc_method=method)
    return role.handle(Asked(message, caller, 1), BEGAN)


def announce(role, **more):
    others = RoundMatch("R1M2", player_A_id="P03", player_B_id="P04")
    own = RoundMatch("R1M1", player_A_id="P01", player_B_id="P02", **more)
    ask(role, RoundAnnouncement("league_1", 1, matches=[others, own]))


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


@rule("R-TOK-06")
def test_who_shows_no_token_is_shown_one_that_proves_nothing_whatever_epoch_it_names():
    role = a_player()
    later = msgspec.structs.replace(INVITATION, epoch=2)  # Of which our own referee may be.
    (joined,) = explain(role, *ask(role, later))

    assert joined.answer.accept
    names = ("league_1", "R1M1", "P01", 0)
    assert joined.answer.auth_token == match_token(channel_key(TOKEN), "player>ref", *names)
    assert joined.answer.auth_token.startswith("mtok_0_")


@rule("R-PLAYER-05")
def test_a_foreign_referee_may_have_a_league_id_of_its_own():
    role, own = a_player(), {"league_id": "mine"}
    question = ChooseParityCall(match_id="R1M1", league_id="mine")

    (call,) = ask(role, msgspec.structs.replace(INVITATION, **own))
    (joined,) = explain(role, call)
    (thinking,) = ask(role, question)

    assert (call.message.league_id, call.message.query_params) == ("league_1", {"match_id": "R1M1"})
    assert joined.answer.accept
    assert thinking.turn.league_id == "league_1"  # What the author sees is its own league.


def test_a_referee_of_ours_in_another_league_does_not_make_it_ask():
    role = a_player()
    other = msgspec.structs.replace(INVITATION, league_id="league_2", auth_token="mtok_of_theirs")

    (refused,) = ask(role, other)

    assert isinstance(refused.answer, TokenInvalid)


@rule("R-PLAYER-05")
@pytest.mark.parametrize("said", ["", "match_7"])
def test_where_the_match_is_not_named_as_the_manager_does_it_is_the_one_that_was_announced(said):
    role = a_player()
    announce(role)
    unnamed = msgspec.structs.replace(INVITATION, match_id=said)

    (call,) = ask(role, unnamed)
    (joined,) = explain(role, call)

    assert call.message.query_params == {"match_id": "R1M1"}
    assert joined.answer.match_id == (said or "R1M1")


@pytest.mark.parametrize("facts", [{"referee_locks": True}, {"player_A_id": "P03"}])
def test_a_stranger_gains_nothing_by_not_naming_a_match(facts):
    role = a_player()
    announce(role)

    for number, said in enumerate(("", "match_7")):
        message = msgspec.structs.replace(INVITATION, match_id=said, league_id="mine")
        (call,) = ask(role, message, now=BEGAN + 10 * number)
        (refused,) = explain(role, call, now=BEGAN + 10 * number, **facts)
        assert isinstance(refused.answer, TokenInvalid)


@rule("R-START-07")
def test_its_author_is_told_once_that_a_foreign_referee_calls_it_and_how():
    role = a_player()
    role.news.clear()

    explain(role, *by_type(role))
    by_type(role)

    assert list(role.news) == [
        "R1M1: its referee is foreign: the manager confirms it. It calls from 10.0.0.7 with "
        "GAME_INVITATION."
    ]


@rule("R-PLAYER-06")
@pytest.mark.parametrize(
    ("method", "dialect"),
    [
        ("GAME_INVITATION", "type"),
        ("game_invitation", "lower"),
        ("GAME_INVITE", "type"),
        ("GameInvitation", "MessageType()"),
    ],
)
def test_a_referee_that_calls_by_message_types_gets_the_answer_pushed_too(method, dialect):
    role = a_player()

    reply, push = explain(role, *by_type(role, method=method))

    assert push.message == reply.answer
    assert push.message.auth_token.startswith("mtok_0_")
    assert push.to == Address("referee", MATCH["referee_endpoint"], dialect)
    assert push.until == BEGAN + PlayerSettings().reply_seconds


@rule("R-PLAYER-06")
def test_a_push_goes_to_the_registered_end_point_wherever_the_message_says_the_referee_is():
    role = a_player()
    evil = msgspec.structs.replace(INVITATION, referee_endpoint="http://169.254.169.254/latest")

    _, push = explain(role, *by_type(role, evil))

    assert push.to.url == MATCH["referee_endpoint"]


@rule("R-PLAYER-06")
@pytest.mark.parametrize("facts", [{"referee_locks": True}, {"referee_endpoint": "http://a/mcp"}])
def test_who_is_refused_has_nothing_pushed_to_anybody(facts):
    role = a_player()

    (refused,) = explain(role, *by_type(role), **facts)

    assert isinstance(refused.answer, TokenInvalid)


@rule("R-PLAYER-06")
def test_nothing_is_pushed_to_one_that_calls_in_another_way_or_shows_the_token():
    role = a_player()
    token = match_token(channel_key(TOKEN), "ref>player", "league_1", "R1M1", "P01", 1)
    explain(role, *ask(role))

    tool = by_type(role, method="handle_game_invitation")
    nested = by_type(role, form="nested")
    signed = by_type(role, msgspec.structs.replace(INVITATION, auth_token=token))

    assert [len(each) for each in (tool, nested, signed)] == [1, 1, 1]


@rule("R-PLAYER-06")
def test_of_each_answer_one_push_is_under_way_and_of_all_not_many():
    role = a_player(PlayerLimits(waiting_messages=2))
    names = [f"R{number}M1" for number in range(1, 4)]
    invited = [msgspec.structs.replace(INVITATION, match_id=name) for name in names]

    first = [explain(role, *by_type(role, each)) for each in invited]
    again = by_type(role, invited[0])
    role.handle(Answered(first[0][1].key, None, None, 0.1), BEGAN)
    after = by_type(role, invited[0])

    assert [len(each) for each in first] == [2, 2, 1]
    assert [len(again), len(after)] == [1, 2]


@rule("R-PLAYER-06")
def test_a_push_that_fails_changes_nothing_and_the_next_answer_is_pushed_again():
    role = a_player()
    _, push = explain(role, *by_type(role))
    role.news.clear()

    assert role.handle(Answered(push.key, None, NoConnection("refused"), 0.1), BEGAN) == []

    assert list(role.news) == []
    assert len(by_type(role)) == 2


@rule("R-PLAYER-06")
def test_one_that_does_not_know_pushed_answers_gets_no_more():
    role = a_player()
    _, push = explain(role, *by_type(role))
    role.news.clear()
    unknown = PeerRefused("unknown", number=-32601, code=None, data={})

    assert role.handle(Answered(push.key, None, unknown, 0.1), BEGAN) == []

    assert len(by_type(role)) == 1
    assert list(role.news) == []


def a_guest():
    """A player in a foreign league, where nobody has match tokens."""
    role = Player(PlayerSettings(display_name="Ann", endpoint="http://ann/mcp"))
    role.handle(Started(0.0), BEGAN)
    accepted = LeagueRegisterResponse("ACCEPTED", "P01", "league_1", auth_token=TOKEN)
    role.handle(Answered(RegisterKey(), accepted, None, 0.1), BEGAN)
    return role


@rule("R-PLAYER-06")
@pytest.mark.parametrize(
    ("named", "announced"),
    [(f"http://{THERE}:8001/mcp", ""), ("", f"http://{THERE}:8001/mcp")],
)
def test_in_a_foreign_league_a_push_goes_where_message_or_announcement_say(named, announced):
    role = a_guest()
    announce(role, referee_endpoint=announced)

    _, push = by_type(role, msgspec.structs.replace(INVITATION, referee_endpoint=named))

    assert push.to == Address("referee", f"http://{THERE}:8001/mcp", "type")


@rule("R-PLAYER-06")
@pytest.mark.parametrize(
    "named",
    [
        "http://10.0.0.8:8001/mcp",  # Another machine than the one that calls.
        "http://127.0.0.1:22/",
        "http://169.254.169.254/latest",
        "http://referee.example/mcp",  # Whose address is anybody's guess.
        f"http://{THERE}@10.0.0.8/mcp",
        "http://[",
        "",
    ],
)
def test_in_a_foreign_league_nobody_can_have_it_call_any_machine_but_the_callers_own(named):
    role = a_guest()

    (joined,) = by_type(role, msgspec.structs.replace(INVITATION, referee_endpoint=named))
    (hidden,) = by_type(
        role, msgspec.structs.replace(INVITATION, referee_endpoint=named), source=""
    )

    assert joined.answer.accept
    assert hidden.answer.accept


def test_matches_without_a_name_are_remembered_each():
    role = a_guest()
    for winner in ("P01", "P02"):
        ask(role, GameOver(GameResult("WIN", winner)))

    assert [match["won"] for match in role.memory.history] == [True, False]
    assert not any("ANOTHER RESULT" in sentence for sentence in role.news)


def test_of_moves_that_waited_for_the_managers_word_no_more_than_it_may_think_about_are_taken():
    role = a_player(PlayerLimits(strategies_running=1))
    question = ChooseParityCall(match_id="R1M1", league_id="league_1", auth_token="tok_of_referee")

    (call,) = ask(role, question)
    assert ask(role, question, number=2) == []
    *_, refused = explain(role, call)

    assert refused.to == 2
    assert isinstance(refused.answer, RateLimited)
