"""A player at a seat: told to take one, or by itself where nobody can call it."""

import pytest
from msgspec import UNSET

from agentleague.errors import NoConnection, PeerRefused
from agentleague.player.role import AWAY, GONE, NO_MANAGER, TAKEN, TOKEN_REFUSED, Player
from agentleague.protocol.messages import LeagueQueryResponse, LeagueRegisterResponse
from agentleague.roles.agent import (
    BY_SEAT,
    NO_SEATS,
    AgentState,
    ReachabilityKey,
    Refused,
    RegisterKey,
    SeatLost,
)
from agentleague.roles.effects import End, Sit, WakeAt
from agentleague.roles.settings import PlayerSettings
from agentleague.roles.stimuli import Answered, SeatHeard, Started, Woken

NOW = 100.0
URL, END = "http://127.0.0.1:8000/mcp", "http://192.168.1.22:8101/mcp"
SEAT = {"seat": "/seats/P01", "seats": True}
RIGHTS = {"match_tokens": True, "proofs": True}
SITS = [Sit(URL, "/seats/P01", "tok_2")]
REJECTED = LeagueRegisterResponse("REJECTED", reason="nobody listens there", error_code="E043")
AS_ERROR = PeerRefused("no", number=1, code="E043", data={"retryable": True})
REGISTERED = "Registered as P01 in league_x."


def a_player(outbound=None, endpoint=END, state=None):
    role = Player(PlayerSettings(display_name="Ann", endpoint=endpoint, outbound=outbound))
    role.is_far = True
    role.remember(state or AgentState(claim="c" * 64))
    (call,) = role.handle(Started(0.0), NOW)
    return role, call.message


def accepted(token="tok_1", **more):
    return LeagueRegisterResponse("ACCEPTED", "P01", "league_x", auth_token=token, **RIGHTS | more)


def answered(role, answer):
    """What it does, and says, after the answer to a registration."""
    told = (answer, None) if isinstance(answer, LeagueRegisterResponse) else (None, answer)
    effects = role.handle(Answered(RegisterKey(), *told, 0.1), NOW)
    said = list(role.news)
    role.news.clear()
    return effects, said


def asks_again(role):
    (call,) = role.handle(Woken(RegisterKey()), NOW)
    return call.message


def cannot_be_called(role, is_reachable=False):
    answer = LeagueQueryResponse("GET_AGENT", data={"agent": {"reachable": is_reachable}})
    return role.handle(Answered(ReachabilityKey(), answer, None, 0.1), NOW)


def seated():
    role, _ = a_player(outbound=True, endpoint="")
    assert answered(role, accepted("tok_2", **SEAT)) == (SITS, [REGISTERED])
    return role


def test_told_to_only_call_out_it_asks_for_a_seat_and_sits_down():
    _, request = a_player(outbound=True, endpoint="")

    assert (request.player_meta.seat, request.player_meta.contact_endpoint) == (True, "")
    assert seated().state.is_seated


@pytest.mark.parametrize("seat", [UNSET, "", "http://elsewhere/seats/P01"])
def test_a_manager_without_seats_is_of_no_use_to_who_has_no_port(seat):
    role, _ = a_player(outbound=True, endpoint="")

    assert answered(role, accepted(seat=seat)) == ([End(Refused(NO_SEATS))], [])


def test_a_league_that_gives_no_seats_is_told_in_the_words_of_the_command():
    why = "this league gives no seats; register without player_meta.seat"
    refusal = LeagueRegisterResponse("REJECTED", reason="No", hint=why, error_code="E043")

    assert answered(a_player(True, "")[0], refusal)[0] == [End(Refused(NO_SEATS))]
    assert answered(a_player(False)[0], refusal)[0] == [End(Refused(f"No: {why}"))]


@pytest.mark.parametrize("outbound", [None, False])
def test_where_the_manager_reaches_it_it_asks_for_no_seat(outbound):
    role, request = a_player(outbound)
    answered(role, accepted(seats=True))

    assert request.player_meta.seat is UNSET
    assert cannot_be_called(role, is_reachable=True) == []
    assert not role.state.is_seated


def test_where_the_manager_cannot_reach_it_it_asks_for_a_seat_with_its_token():
    role, _ = a_player()
    answered(role, accepted(seats=True))

    (call,) = cannot_be_called(role)

    meta = call.message.player_meta
    assert (call.message.auth_token, meta.seat, meta.contact_endpoint) == ("tok_1", True, END)
    assert answered(role, accepted("tok_2", **SEAT)) == (SITS, [BY_SEAT, REGISTERED])
    assert role.state.token == "tok_2"


NONE = "--bind ADDRESS. This league gives no seats to players that cannot be called"


@pytest.mark.parametrize(
    ("outbound", "told", "advice"),
    [
        (False, {"seats": True}, "--bind ADDRESS; or leave out --no-outbound"),
        (False, {}, NONE),
        (None, {}, NONE),
        (None, {"match_tokens": UNSET}, "--bind ADDRESS"),  # A foreign manager knows no seats.
    ],
)
def test_else_it_says_what_to_try_as_ever(outbound, told, advice):
    role, _ = a_player(outbound)
    answered(role, accepted(**told))

    (again,) = cannot_be_called(role)

    assert isinstance(again, WakeAt)
    assert "cannot reach it" in role.news[-1]
    assert role.news[-1].endswith(advice)


@pytest.mark.parametrize("refusal", [REJECTED, AS_ERROR])
def test_one_that_is_refused_for_its_end_point_asks_for_a_seat(refusal):
    role, _ = a_player()

    assert answered(role, refusal) == ([WakeAt(RegisterKey(), NOW)], [])
    assert asks_again(role).player_meta.seat is True
    assert answered(role, accepted("tok_2", **SEAT)) == (SITS, [BY_SEAT, REGISTERED])


def test_if_that_is_refused_too_it_ends_with_what_was_said_first():
    role, _ = a_player()
    answered(role, REJECTED)
    asks_again(role)
    other = LeagueRegisterResponse("REJECTED", reason="no seats here", error_code="E043")

    assert answered(role, other) == ([End(Refused("nobody listens there"))], [])


def test_told_not_to_take_a_seat_it_ends_as_ever():
    assert answered(a_player(False)[0], REJECTED)[0] == [End(Refused("nobody listens there"))]


@pytest.mark.parametrize(
    "answer",
    [
        LeagueRegisterResponse("REJECTED", reason="no seats here", error_code="E043"),
        accepted("tok_2", seats=True),  # An answer without a seat.
    ],
)
def test_one_that_is_in_the_league_stays_in_it_if_it_gets_no_seat(answer):
    role, _ = a_player()
    answered(role, accepted(seats=True))
    cannot_be_called(role)

    (check,), _ = answered(role, answer)

    assert check.key == ReachabilityKey()
    (again,) = cannot_be_called(role)
    assert again.key == ReachabilityKey()
    assert "cannot reach it" in role.news[-1]


def test_while_the_manager_is_away_it_goes_on_asking_for_its_seat():
    role, _ = a_player()
    answered(role, accepted(seats=True))
    cannot_be_called(role)

    (again,), said = answered(role, NoConnection("away"))

    assert again == WakeAt(RegisterKey(), NOW + 1.0)
    assert asks_again(role).player_meta.seat is True
    assert role.agent_id == "P01"
    assert said == []


@pytest.mark.parametrize(
    ("key", "known"),
    [
        (RegisterKey(), [False]),  # It asks for a seat.
        (ReachabilityKey(), [False]),  # It gets none.
        (ReachabilityKey(), []),  # It was never told whether it can be called.
    ],
)
def test_one_that_cannot_be_called_says_that_its_manager_is_away_and_ends_without_it(key, known):
    role, _ = a_player(outbound=None if key == RegisterKey() else False)
    answered(role, accepted(seats=True))
    for is_reachable in known:
        cannot_be_called(role, is_reachable)
    role.news.clear()
    away = Answered(key, None, NoConnection("away"), 0.1)

    for seconds in range(40):
        (again,) = role.handle(away, NOW + seconds)
        assert again.key == key
        assert list(role.news) == [NO_MANAGER] * (seconds >= 5)
    assert role.handle(away, NOW + 40) == [End(Refused(GONE))]


def test_it_waits_as_long_again_for_a_manager_that_was_back():
    role, _ = a_player(outbound=False)
    answered(role, accepted(seats=True))
    for _ in range(2):
        role.news.clear()
        for seconds in (0, 39):
            away = Answered(ReachabilityKey(), None, NoConnection("away"), 0.1)
            assert isinstance(role.handle(away, NOW + seconds)[0], WakeAt)
        cannot_be_called(role)
        assert [NO_MANAGER in role.news, "The manager is back." in role.news] == [True, True]


def test_a_foreign_manager_that_cannot_be_asked_may_be_there_all_the_same():
    role, _ = a_player()
    answered(role, accepted(match_tokens=UNSET))
    away = Answered(ReachabilityKey(), None, NoConnection("no usable answer"), 0.1)

    asked = [role.handle(away, NOW + 10 * number) for number in range(10)]

    assert asked[-1] == []
    assert NO_MANAGER not in role.news


@pytest.mark.parametrize(
    ("heard", "reason"),
    [
        (SeatHeard("taken"), TAKEN),
        (SeatHeard("refused", '{"error":{"data":{"error_code":"E012"}}}'), TOKEN_REFUSED),
    ],
)
def test_who_has_lost_its_seat_ends_and_says_why(heard, reason):
    assert seated().handle(heard, NOW) == [End(SeatLost(reason))]


def test_what_something_in_between_says_is_told_once_and_it_tries_on():
    role = seated()

    for _ in range(3):
        assert role.handle(SeatHeard("refused", "<h1>Log in first</h1>"), NOW) == []

    assert list(role.news) == ["It is refused at its seat, and tries on: <h1>Log in first</h1>"]


def test_a_manager_that_is_away_for_some_seconds_is_told_once_and_so_is_its_return():
    role = seated()
    for seconds in (0.0, 4.9, 5.0, 20.0):
        role.handle(SeatHeard("away"), NOW + seconds)
    role.handle(SeatHeard("there"), NOW + 21.0)
    assert list(role.news) == [AWAY, "The manager is back."]

    for heard in ("away", "there"):  # Only for a moment.
        role.handle(SeatHeard(heard), NOW + 60.0)
    assert len(role.news) == 2
