"""The referee as a role: it asks until it is taken in, and obeys nobody but its manager."""

import pytest

from agentleague.errors import (
    NoAnswer,
    NoConnection,
    PeerRefused,
    TokenInvalid,
    UnexpectedMessage,
    UnsupportedGame,
)
from agentleague.games import even_odd
from agentleague.protocol.messages import (
    GameInvitation,
    GameJoinAck,
    LeagueCompleted,
    RefereeRegisterResponse,
    RoundAnnouncement,
    RoundCompleted,
    RoundMatch,
    Rules,
    Seated,
)
from agentleague.roles.effects import Call, End, Reply, WakeAt
from agentleague.roles.stimuli import Answered, Asked, Caller, Started, Woken
from agentleague.services.enrolment import Refused
from agentleague.services.referee import Referee
from agentleague.services.settings import RefereeSettings
from memory_league import BEGAN

SEATS = [Seated("P01", "http://ann/mcp"), Seated("P02", "http://bob/mcp")]
MATCH = RoundMatch("R1M1", "even_odd", "P01", "P02", "http://ref/mcp", epoch=1, seats=SEATS)
ACCEPTED = RefereeRegisterResponse(
    "ACCEPTED", "REF01", "league_test", session="ses_1", auth_token="tok_REF01_x"
)


def a_referee(registered=True, load=lambda name: even_odd):
    settings = RefereeSettings(display_name="Ref", endpoint="http://ref/mcp")
    role = Referee(settings, load)
    role.handle(Started(0.0), BEGAN)
    if registered:
        role.handle(Answered("register", ACCEPTED, None, 0.1), BEGAN)
    return role


def ask(role, message):
    return role.handle(Asked(message, Caller("127.0.0.1"), 1), BEGAN)


def announced(**changes):
    fields = {"round_id": 1, "matches": [MATCH], "session": "ses_1", "rules": Rules(), **changes}
    return RoundAnnouncement(**fields)


@pytest.mark.parametrize("error", [NoAnswer("late"), NoConnection("nobody there")])
def test_it_registers_again_until_the_manager_is_there(error):
    role = a_referee(registered=False)

    waiting = role.handle(Answered("register", None, error, 0.1), BEGAN)
    again = role.handle(Woken("register"), BEGAN + 1.0)

    assert waiting == [WakeAt("register", BEGAN + 1.0)]
    assert [type(effect.message).__name__ for effect in again] == ["RefereeRegisterRequest"]


def test_it_says_that_it_locks_and_how_many_matches_it_takes():
    settings = RefereeSettings(display_name="Ref", endpoint="http://ref/mcp")
    (call,) = Referee(settings, lambda name: even_odd).handle(Started(0.0), BEGAN)

    meta = call.message.referee_meta
    assert (meta.locks, meta.max_concurrent_matches, meta.contact_endpoint) == (
        True,
        64,
        "http://ref/mcp",
    )


def test_a_refused_referee_gives_up_with_the_managers_words():
    role = a_referee(registered=False)
    rejected = RefereeRegisterResponse("REJECTED", reason="League full", hint="try next year")

    (end,) = role.handle(Answered("register", rejected, None, 0.1), BEGAN)

    assert end == End(Refused("League full: try next year"))


def test_an_error_that_will_not_go_away_ends_it_and_one_that_may_is_waited_out():
    final = PeerRefused("bad", number=-32602, code="E003", data={"retryable": False})
    passing = PeerRefused("later", number=-32603, code="E053", data={"retryable": True})

    assert isinstance(
        a_referee(False).handle(Answered("register", None, final, 0.1), BEGAN)[0], End
    )
    assert isinstance(
        a_referee(False).handle(Answered("register", None, passing, 0.1), BEGAN)[0], WakeAt
    )


def test_an_assignment_starts_its_matches_at_once():
    effects = ask(a_referee(), announced())

    assert isinstance(effects[0], Reply)
    assert [effect.to.agent_id for effect in effects[1:]] == ["P01", "P02"]
    assert all(isinstance(effect.message, GameInvitation) for effect in effects[1:])


@pytest.mark.parametrize("session", ["", "ses_2"])
def test_an_assignment_that_does_not_know_the_session_is_refused(session):
    (reply,) = ask(a_referee(), announced(session=session))

    assert isinstance(reply.answer, TokenInvalid)


def test_before_it_is_registered_it_takes_no_assignment():
    (reply,) = ask(a_referee(registered=False), announced(session=""))

    assert isinstance(reply.answer, TokenInvalid)


def test_a_repeated_assignment_starts_nothing_twice():
    role = a_referee()
    ask(role, announced())

    assert len(ask(role, announced())) == 1


def test_a_match_without_seats_is_not_an_assignment():
    assert len(ask(a_referee(), announced(matches=[RoundMatch("R1M2")]))) == 1


def test_answers_and_timers_of_a_match_it_is_not_at_change_nothing():
    role = a_referee()

    assert role.handle(Answered(("R9M9", "join", 0, 0), None, None, 0.1), BEGAN) == []
    assert role.handle(Woken(("R9M9", "again")), BEGAN) == []


def test_a_timer_of_a_match_tries_the_manager_again():
    role = a_referee()
    ask(role, announced())
    for seat in (0, 1):
        role.handle(Answered(("R1M1", "join", seat, 0), None, NoAnswer("late"), 5.0), BEGAN)
    role.handle(Answered(("R1M1", "lock", -1, 0), None, NoConnection("away"), 0.1), BEGAN)

    (call,) = role.handle(Woken(("R1M1", "again")), BEGAN + 1.0)

    assert isinstance(call, Call)
    assert call.message.match_id == "R1M1"


def test_rounds_that_end_are_acknowledged_and_the_league_ends_it():
    role = a_referee()

    (ack,) = ask(role, RoundCompleted(round_id=3))
    reply, end = ask(role, LeagueCompleted(session="ses_1"))

    assert (ack.answer.round_id, ack.answer.sender) == (3, "referee:REF01")
    assert isinstance(reply, Reply)
    assert end == End()


def test_a_league_that_ends_before_its_last_match_is_closed_is_waited_for():
    role = a_referee()
    ask(role, announced())
    assert [type(effect) for effect in ask(role, LeagueCompleted(session="ses_1"))] == [Reply]
    for seat in (0, 1):
        role.handle(Answered(("R1M1", "join", seat, 0), None, NoAnswer("late"), 5.0), BEGAN)
    refused = PeerRefused("not yours", number=5002, code="E015", data={})

    effects = role.handle(Answered(("R1M1", "lock", -1, 0), None, refused, 0.1), BEGAN)

    assert effects == [End()]
    assert role.matches == {}


@pytest.mark.parametrize("session", [{}, {"session": "ses_2"}])
def test_a_stranger_cannot_send_it_home(session):
    role = a_referee()

    (reply,) = ask(role, LeagueCompleted(**session))

    assert isinstance(reply.answer, TokenInvalid)
    assert len(ask(role, announced())) == 3


def test_a_match_that_it_closed_is_not_played_again_in_this_round():
    role = a_referee()
    ask(role, announced())
    for seat in (0, 1):
        role.handle(Answered(("R1M1", "join", seat, 0), None, NoAnswer("late"), 5.0), BEGAN)
    refused = PeerRefused("not yours", number=5002, code="E015", data={})
    role.handle(Answered(("R1M1", "lock", -1, 0), None, refused, 0.1), BEGAN)

    assert len(ask(role, announced())) == 1
    assert len(ask(role, announced(round_id=2))) == 3


def test_an_assignment_with_a_game_it_lacks_is_refused_as_a_whole():
    def load(name):
        if name != "even_odd":
            raise UnsupportedGame(f"no game {name!r}")
        return even_odd

    role = a_referee(load=load)
    other = RoundMatch("R1M2", "chess", epoch=1, seats=SEATS)

    (reply,) = ask(role, announced(matches=[MATCH, other]))

    assert isinstance(reply.answer, UnsupportedGame)
    assert role.matches == {}


def test_pushed_answers_are_refused_for_now():
    (reply,) = ask(a_referee(), GameJoinAck("R1M1", "P01"))

    assert isinstance(reply.answer, UnexpectedMessage)
