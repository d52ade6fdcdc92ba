"""The referee as a role: it asks until it is taken in, and obeys nobody but its manager."""

from types import SimpleNamespace

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentleague.errors import (
    IllegalMove,
    MatchMismatch,
    MissingField,
    NoAnswer,
    NoConnection,
    PeerRefused,
    TokenInvalid,
    TokenMissing,
    UnexpectedMessage,
    UnsupportedGame,
)
from agentleague.games import even_odd
from agentleague.match.machine import (
    Clock,
    GameOverCall,
    InvitationCall,
    LockCall,
    MoveCall,
    ReportCall,
)
from agentleague.protocol.codec import write_request
from agentleague.protocol.messages import (
    WIRE_NAME,
    ChooseParityCall,
    ChooseParityResponse,
    GameInvitation,
    GameJoinAck,
    GameMoveResponse,
    GameResult,
    LeagueCompleted,
    LeagueErrorMessage,
    LockedResult,
    LockResponse,
    MatchResultAck,
    MatchResultReport,
    MatchStateRequest,
    PushAck,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
    RefereeStatus,
    RefereeStatusAck,
    RoundAnnouncement,
    RoundCompleted,
    RoundMatch,
    Rules,
    Seated,
)
from agentleague.protocol.tokens import proof, proof_key
from agentleague.referee.foreign_manager import RefereeLimits
from agentleague.referee.role import Referee, StatusKey
from agentleague.roles.agent import Refused, RegisterKey
from agentleague.roles.effects import Call, Drop, End, Reply, WakeAt
from agentleague.roles.settings import RefereeSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Started, Woken
from memory_league import BEGAN
from rules import rule

SEATS = [Seated("P01", "http://ann/mcp"), Seated("P02", "http://bob/mcp")]
MATCH = RoundMatch("R1M1", "even_odd", "P01", "P02", "http://ref/mcp", epoch=1, seats=SEATS)
RULES = Rules(retries=0, join_retries=0)
ACCEPTED = RefereeRegisterResponse(
    "ACCEPTED", "REF01", "league_test", session="ses_1", auth_token="tok_REF01_x"
)

JOINED = GameJoinAck("R1M1")
LOCKED = LockResponse(
    "R1M1", 0, result=LockedResult("P01", {"P01": 3, "P02": 0}, GameResult("WIN", "P01"))
)


def a_referee(registered=True, load=lambda name: even_odd):
    settings = RefereeSettings(display_name="Ref", endpoint="http://ref/mcp")
    role = Referee(settings, load)
    role.handle(Started(0.0), BEGAN)
    if registered:
        role.handle(Answered(RegisterKey(), ACCEPTED, None, 0.1), BEGAN)
    return role


def ask(role, message, token=None):
    return role.handle(Asked(message, Caller("127.0.0.1", token), 1), BEGAN)


def invited(effects):
    return [
        effect.to.agent_id
        for effect in effects
        if isinstance(effect, Call) and isinstance(effect.message, GameInvitation)
    ]


def unreached(role):
    """Neither player of the match is there."""
    for seat in (0, 1):
        key = InvitationCall("R1M1", seat, 0, 1)
        role.handle(Answered(key, None, NoAnswer("late"), 5.0), BEGAN)


def announced(**changes):
    fields = {"round_id": 1, "matches": [MATCH], "session": "ses_1", "rules": RULES, **changes}
    return RoundAnnouncement(**fields)


@pytest.mark.parametrize("error", [NoAnswer("late"), NoConnection("nobody there")])
def test_it_registers_again_until_the_manager_is_there(error):
    role = a_referee(registered=False)

    waiting = role.handle(Answered(RegisterKey(), None, error, 0.1), BEGAN)
    again = role.handle(Woken(RegisterKey()), BEGAN + 1.0)

    assert waiting == [WakeAt(RegisterKey(), BEGAN + 1.0)]
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

    (end,) = role.handle(Answered(RegisterKey(), rejected, None, 0.1), BEGAN)

    assert end == End(Refused("League full: try next year"))


def test_an_error_that_will_not_go_away_ends_it_and_one_that_may_is_waited_out():
    final = PeerRefused("bad", number=-32602, code="E003", data={"retryable": False})
    unheard = PeerRefused("nobody listens", number=1002, code="E043", data={"retryable": True})
    passing = PeerRefused("later", number=-32603, code="E053", data={"retryable": True})

    for error in (final, unheard):  # It does listen, so that its end point is wrong.
        (end,) = a_referee(False).handle(Answered(RegisterKey(), None, error, 0.1), BEGAN)
        assert isinstance(end, End)
    assert isinstance(
        a_referee(False).handle(Answered(RegisterKey(), None, passing, 0.1), BEGAN)[0], WakeAt
    )


def test_an_assignment_starts_its_matches_at_once():
    effects = ask(a_referee(), announced())

    assert isinstance(effects[0], Reply)
    assert invited(effects) == ["P01", "P02"]


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

    assert role.handle(Answered(InvitationCall("R9M9", 0, 0, 1), None, None, 0.1), BEGAN) == []
    assert role.handle(Woken(Clock("R9M9")), BEGAN) == []


def test_a_timer_of_a_match_tries_the_manager_again():
    role = a_referee()
    ask(role, announced())
    unreached(role)
    role.handle(Answered(LockCall("R1M1", 0, 1), None, NoConnection("away"), 0.1), BEGAN)

    (call,) = role.handle(Woken(Clock("R1M1")), BEGAN + 1.0)

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
    unreached(role)
    refused = PeerRefused("not yours", number=5002, code="E015", data={})

    effects = role.handle(Answered(LockCall("R1M1", 0, 1), None, refused, 0.1), BEGAN)

    assert effects == [Drop(Clock("R1M1")), End()]
    assert role.matches == {}


@pytest.mark.parametrize("session", [{}, {"session": "ses_2"}])
def test_only_its_manager_can_tell_it_that_the_league_is_over(session):
    role = a_referee()

    (reply,) = ask(role, LeagueCompleted(**session))

    assert isinstance(reply.answer, TokenInvalid)
    assert invited(ask(role, announced())) == ["P01", "P02"]


ERROR = LeagueErrorMessage(error_code="E003", original_message_type="MATCH_RESULT_REPORT")


@rule("R-PROOF-03", "R-ERR-12")
@pytest.mark.parametrize(
    "message", [announced(), LeagueCompleted("league_test", session="ses_1"), ERROR]
)
def test_a_manager_that_promised_to_prove_its_messages_has_to(message):
    role = a_referee(registered=False)
    role.handle(Answered(RegisterKey(), replace(ACCEPTED, proofs=True), None, 0.1), BEGAN)
    body = write_request(message, 1)
    shown = proof([proof_key("tok_REF01_x", "league_test", "REF01")], body)
    head = f"POST /mcp HTTP/1.1\r\nX-League-Proof: {shown}".encode()

    (refused,) = ask(role, message)
    (altered,) = role.handle(Asked(message, Caller("127.0.0.1", head=head, body=b"{}"), 1), BEGAN)
    taken = role.handle(Asked(message, Caller("127.0.0.1", head=head, body=body), 1), BEGAN)

    assert isinstance(refused.answer, TokenInvalid)
    assert isinstance(altered.answer, TokenInvalid)
    said = "The manager refused MATCH_RESULT_REPORT: E003" in role.news
    assert invited(taken) or taken[-1] == End() or said
    assert taken[0].answer.status == "ACKNOWLEDGED"


def test_a_match_that_it_closed_is_not_played_again_in_this_round():
    role = a_referee()
    ask(role, announced())
    unreached(role)
    refused = PeerRefused("not yours", number=5002, code="E015", data={})
    role.handle(Answered(LockCall("R1M1", 0, 1), None, refused, 0.1), BEGAN)

    assert len(ask(role, announced())) == 1
    assert invited(ask(role, announced(round_id=2))) == ["P01", "P02"]


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


def again(epoch, **changes):
    return announced(matches=[replace(MATCH, epoch=epoch, **changes)])


@rule("R-REF-03")
def test_a_higher_epoch_begins_the_match_anew():
    role = a_referee()
    ask(role, announced())

    effects = ask(role, again(2))

    assert [effect for effect in effects if isinstance(effect, Drop)] == [
        Drop(InvitationCall("R1M1", 0, 0, 1)),
        Drop(InvitationCall("R1M1", 1, 0, 1)),
        Drop(Clock("R1M1")),
    ]
    assert invited(effects) == ["P01", "P02"]
    assert role.matches["R1M1"].epoch == 2


@rule("R-REF-03")
@pytest.mark.parametrize("epoch", [1, 2])
def test_a_lower_epoch_changes_nothing_and_the_same_only_where_the_players_are(epoch):
    role = a_referee()
    ask(role, again(2))
    moved = [replace(SEATS[0], endpoint="http://elsewhere/mcp"), SEATS[1]]

    (reply,) = ask(role, again(epoch, seats=moved))

    assert isinstance(reply, Reply)
    role.handle(Answered(InvitationCall("R1M1", 0, 0, 1), GameJoinAck("R1M1"), None, 0.1), BEGAN)
    effects = role.handle(
        Answered(InvitationCall("R1M1", 1, 0, 1), GameJoinAck("R1M1"), None, 0.1), BEGAN
    )
    where = "http://elsewhere/mcp" if epoch == 2 else "http://ann/mcp"
    assert effects[0].to.url == where


@rule("R-REF-03")
def test_a_match_that_was_given_back_may_come_again_in_a_later_epoch():
    role = a_referee()
    ask(role, announced())
    unreached(role)
    refused = PeerRefused("unreachable", number=5002, code="E015", data={"epoch": 2})
    role.handle(Answered(LockCall("R1M1", 0, 1), None, refused, 0.1), BEGAN)

    assert invited(ask(role, again(1))) == []
    assert invited(ask(role, again(2))) == ["P01", "P02"]


@rule("R-REF-04")
def test_it_says_how_far_a_match_is():
    role = a_referee()
    ask(role, again(3))
    role.handle(Answered(InvitationCall("R1M1", 0, 0, 1), GameJoinAck("R1M1"), None, 0.1), BEGAN)

    (reply,) = ask(role, MatchStateRequest("R1M1"))
    (unknown,) = ask(role, MatchStateRequest("R9M9"))

    state = reply.answer
    assert (state.game_state, state.epoch, state.turn) == ("WAITING_FOR_PLAYERS", 3, 0)
    assert state.waiting_for == ["P02"]
    assert isinstance(unknown.answer, MatchMismatch)


@rule("R-MATCH-23", "R-MATCH-25")
def test_a_pushed_answer_is_acknowledged_and_counts():
    role = a_referee()
    seats = [replace(SEATS[0], push_token="mtok_a"), replace(SEATS[1], push_token="mtok_b")]
    ask(role, again(1, seats=seats))

    (first,) = ask(role, GameJoinAck("R1M1"), "mtok_a")
    reply, *effects = ask(role, GameJoinAck("R1M1"), "mtok_b")

    assert first.answer.status == reply.answer.status == "ACKNOWLEDGED"
    assert isinstance(reply.answer, PushAck)
    dropped, calls = effects[:2], effects[2:]  # the invitations are not waited for any more
    assert [type(effect) for effect in dropped] == [Drop, Drop]
    assert [type(call.message) for call in calls] == [ChooseParityCall] * 2


@rule("R-MATCH-25")
def test_an_illegal_move_that_is_pushed_is_refused_with_4004():
    role = a_referee()
    ask(role, again(1, seats=[replace(SEATS[0], push_token="mtok_a"), SEATS[1]]))
    for seat in (0, 1):
        role.handle(Answered(InvitationCall("R1M1", seat, 0, 1), JOINED, None, 0.1), BEGAN)

    reply, complaint = ask(role, ChooseParityResponse("Even", "R1M1"), "mtok_a")
    (good,) = ask(role, ChooseParityResponse("even", "R1M1"), "mtok_a")

    assert isinstance(reply.answer, IllegalMove)
    assert reply.answer.number_for("CHOOSE_PARITY_RESPONSE") == 4004
    assert complaint.message.error_code == "E004"
    assert isinstance(good.answer, PushAck)


@rule("R-MATCH-23")
def test_a_push_that_names_no_match_is_for_the_only_one_that_waits_for_it():
    role = a_referee()
    tokens = [("mtok_a", "mtok_b"), ("mtok_c", "mtok_b")]  # Bob is in both.
    matches = [
        replace(
            MATCH,
            match_id=match_id,
            seats=[
                replace(seat, push_token=token) for seat, token in zip(SEATS, pair, strict=True)
            ],
        )
        for match_id, pair in zip(("R1M1", "R1M2"), tokens, strict=True)
    ]
    ask(role, announced(matches=matches))

    (clear,) = ask(role, GameJoinAck(), "mtok_c")
    (unclear,) = ask(role, GameJoinAck(), "mtok_b")
    (unknown,) = ask(role, GameJoinAck(), "mtok_d")

    assert isinstance(clear.answer, PushAck)
    assert [role.matches[each].waiting_for() for each in ("R1M1", "R1M2")] == [
        ["P01", "P02"],
        ["P02"],
    ]
    assert isinstance(unclear.answer, MatchMismatch)
    assert isinstance(unknown.answer, MatchMismatch)


@rule("R-MATCH-23", "R-MATCH-25")
@pytest.mark.parametrize(
    ("message", "token", "error", "number"),
    [
        (GameJoinAck("R9M9", "P01"), None, MatchMismatch, 4003),
        (GameJoinAck("", "P01"), None, MatchMismatch, 4003),
        (GameJoinAck("R1M1", "P01"), "mtok_wrong", TokenInvalid, 4001),
        (GameJoinAck("R1M1", "P01"), None, TokenMissing, 4001),  # from another address
        (ChooseParityResponse("even", "R1M1"), "mtok_a", UnexpectedMessage, 4005),
        (GameMoveResponse("even", "R1M1"), "mtok_a", UnexpectedMessage, 4005),
    ],
)
def test_a_push_that_is_refused_changes_nothing(message, token, error, number):
    role = a_referee()
    ask(role, again(1, seats=[replace(SEATS[0], push_token="mtok_a"), SEATS[1]]))

    (reply,) = ask(role, message, token)

    assert isinstance(reply.answer, error)
    assert reply.answer.number_for(WIRE_NAME[type(message)]) == number
    assert role.matches["R1M1"].waiting_for() == ["P01", "P02"]


LEASED = replace(ACCEPTED, lease_seconds=9.0)


def leased():
    role = a_referee(registered=False)
    (timer,) = role.handle(Answered(RegisterKey(), LEASED, None, 0.1), BEGAN)
    assert timer == WakeAt(StatusKey(), BEGAN + 3.0)
    return role


@rule("R-REF-01")
def test_it_says_every_third_of_its_lease_which_matches_it_is_at():
    role = leased()
    ask(role, announced())

    call, timer = role.handle(Woken(StatusKey()), BEGAN + 3.0)

    status = call.message
    assert isinstance(status, RefereeStatus)
    assert (status.session, status.matches, status.auth_token) == ("ses_1", ["R1M1"], "tok_REF01_x")
    assert (call.until, timer) == (BEGAN + 6.0, WakeAt(StatusKey(), BEGAN + 6.0))
    assert status.states == {"R1M1": "WAITING_FOR_PLAYERS"}


@rule("R-REF-01")
def test_a_status_of_very_many_matches_leaves_their_states_out():
    role = leased()
    ask(role, announced())
    role._limits = RefereeLimits(states_max=0)

    call, _ = role.handle(Woken(StatusKey()), BEGAN + 3.0)

    assert (call.message.matches, call.message.states) == (["R1M1"], UNSET)


@rule("R-REF-01")
def test_it_stops_saying_so_when_the_league_is_over():
    _, *effects = ask(leased(), LeagueCompleted(session="ses_1"))

    assert effects == [Drop(StatusKey()), End()]


@rule("R-REF-02")
@pytest.mark.parametrize("code", ["E005", "E011", "E012"])
def test_a_manager_that_does_not_know_it_is_asked_to_take_it_in_again(code):
    role = leased()
    unknown = PeerRefused("who?", number=5001, code=code, data={})

    drop, call = role.handle(Answered(StatusKey(), None, unknown, 0.1), BEGAN)

    assert drop == Drop(StatusKey())
    assert isinstance(call.message, RefereeRegisterRequest)
    assert call.message.auth_token == "tok_REF01_x"
    renewed = replace(LEASED, session="ses_2", auth_token="tok_REF01_y")
    (timer,) = role.handle(Answered(RegisterKey(), renewed, None, 0.1), BEGAN + 1.0)
    assert timer == WakeAt(StatusKey(), BEGAN + 4.0)
    assert invited(ask(role, announced(session="ses_2"))) == ["P01", "P02"]


@rule("R-REF-02")
@pytest.mark.parametrize(
    ("message", "error"),
    [
        (RefereeStatusAck(), None),
        (None, NoAnswer("late")),
        (None, NoConnection("away")),
        (None, PeerRefused("busy", number=-32603, code="E053", data={"retryable": True})),
    ],
)
def test_any_other_answer_to_its_status_changes_nothing(message, error):
    assert leased().handle(Answered(StatusKey(), message, error, 0.1), BEGAN) == []


def test_whoever_runs_a_referee_hears_once_that_the_manager_is_away_and_that_it_is_back():
    role = leased()
    role.news.clear()

    for error in (None, NoConnection("x"), NoConnection("x"), None, None):
        ack = None if error else RefereeStatusAck()
        role.handle(Answered(StatusKey(), ack, error, 0.1), BEGAN)

    assert list(role.news) == [
        f"The manager at {role.manager.url} is away; trying again until it is back.",
        "The manager is back.",
    ]


def test_while_it_registers_again_without_success_it_says_nothing_else():
    role = leased()
    unknown = PeerRefused("who?", number=5001, code="E012", data={})
    role.handle(Answered(StatusKey(), None, unknown, 0.1), BEGAN)

    effects = role.handle(Answered(RegisterKey(), None, NoConnection("away"), 0.1), BEGAN)

    assert effects == [WakeAt(RegisterKey(), BEGAN + 1.0)]


def broken(name):
    def fail(*arguments):
        raise IllegalMove("even a plug-in's own refusal")

    return SimpleNamespace(**{**vars(even_odd), name: fail})


@rule("R-REF-05")
@pytest.mark.parametrize("function", ["start", "to_move", "chance", "legal_moves"])
def test_a_game_that_fails_costs_its_match_and_nothing_else(function):
    role = a_referee(load=lambda name: broken(function))
    ask(role, announced(matches=[MATCH, replace(MATCH, match_id="R1M2")]))

    for seat in (0, 1):
        key = InvitationCall("R1M1", seat, 0, 1)
        role.handle(Answered(key, GameJoinAck(), None, 0.1), BEGAN)
    said = ChooseParityResponse("no" if function == "legal_moves" else "even")
    for seat in (0, 1):
        role.handle(Answered(MoveCall("R1M1", seat, 0, 1), said, None, 0.1), BEGAN)

    assert set(role.matches) == (set() if function == "start" else {"R1M2"})
    dropped = [news for news in role.news if news.startswith("R1M1 was dropped: IllegalMove: ")]
    assert len(dropped) == 1
    assert invited(ask(role, announced())) == []  # The same epoch is not begun again.


def test_a_match_that_is_dropped_may_be_the_last_one():
    role = a_referee(load=lambda name: broken("to_move"))
    ask(role, announced())
    ask(role, LeagueCompleted(session="ses_1"))
    role.handle(Answered(InvitationCall("R1M1", 0, 0, 1), GameJoinAck(), None, 0.1), BEGAN)

    effects = role.handle(
        Answered(InvitationCall("R1M1", 1, 0, 1), GameJoinAck(), None, 0.1), BEGAN
    )

    assert effects == [Drop(Clock("R1M1")), End()]


@rule("R-REF-05")
def test_a_player_that_the_referee_itself_may_not_call_does_not_lose_by_that():
    role = a_referee()
    ask(role, announced(matches=[MATCH, replace(MATCH, match_id="R1M2")]))
    refused = NoConnection("no connection", not_called="it needs --lan NETWORK/BITS")

    for match_id in ("R1M1", "R1M2"):
        effects = role.handle(Answered(InvitationCall(match_id, 0, 0, 1), None, refused, 0), BEGAN)
        dropped = [*(InvitationCall(match_id, seat, 0, 1) for seat in (0, 1)), Clock(match_id)]
        assert effects == [Drop(key) for key in dropped]  # No forfeit is reported.

    (said,) = (news for news in role.news if "goes back" in news)
    assert "R1M1" in said
    assert "may not call P01 at http://ann/mcp: it needs --lan NETWORK/BITS" in said
    assert invited(ask(role, announced())) == []  # The manager's next epoch may go elsewhere.


def test_a_match_that_waits_for_a_manager_that_is_gone_ends_with_the_league():
    role = a_referee()
    ask(role, announced())
    unreached(role)
    ask(role, LeagueCompleted(session="ses_1"))

    effects = role.handle(Woken(Clock("R1M1")), BEGAN + 1.0)

    assert effects == [Drop(LockCall("R1M1", 0, 1)), Drop(Clock("R1M1")), End()]


def test_a_match_with_a_seat_that_is_gone_with_its_manager_ends_with_the_league():
    role = a_referee()
    (match,) = announced().matches
    seats = [replace(seat, seat=True) for seat in match.seats]
    ask(role, announced(matches=[replace(match, seats=seats)]))
    role.handle(Answered(InvitationCall("R1M1", 0, 0, 1), None, NoConnection("gone"), 0.1), BEGAN)
    ask(role, LeagueCompleted(session="ses_1"))

    effects = role.handle(Woken(Clock("R1M1")), BEGAN + 0.5)

    assert effects == [Drop(InvitationCall("R1M1", 1, 0, 1)), Drop(Clock("R1M1")), End()]


def test_a_league_that_is_aborted_ends_its_matches_at_once():
    role = a_referee()
    ask(role, announced())

    assert ask(role, LeagueCompleted(session="ses_1", aborted=True))[-1] == End()
    assert role.matches == {}


def test_an_assignment_without_rules_goes_by_those_before():
    role = a_referee()
    ask(role, announced(matches=[]))
    effects = ask(role, announced(rules=UNSET))

    assert [call.until for call in effects if isinstance(call, Call)] == [BEGAN + 5.0] * 2


def test_rules_and_round_of_an_assignment_hold_for_its_matches_alone():
    role = a_referee()
    ask(role, announced())
    later = replace(MATCH, match_id="R2M1")
    slower = announced(round_id=2, matches=[later], rules=replace(RULES, join_seconds=9.0))

    invitations = [call for call in ask(role, slower) if isinstance(call, Call)]

    assert [call.message.round_id for call in invitations] == [2, 2]
    assert [call.until for call in invitations] == [BEGAN + 9.0] * 2


def test_a_match_that_follows_another_has_the_sender_of_the_newest_registration():
    role = a_referee()
    ask(role, announced())
    reported(role, ("", ""))
    accepted = replace(ACCEPTED, referee_id="REF07")
    role.handle(Answered(RegisterKey(), accepted, None, 0.1), BEGAN)

    more = MatchResultAck(matches=[replace(MATCH, match_id="R1M2")])
    effects = role.handle(Answered(ReportCall("R1M1", 0, 1), more, None, 0.1), BEGAN)

    senders = [call.message.sender for call in effects if isinstance(call, Call)]
    assert senders == ["referee:REF07"] * 2


def reported(role, dialects):
    """Play a match whose players were understood so; the referee's report."""
    for seat, dialect in enumerate(dialects):
        key = InvitationCall("R1M1", seat, 0, 1)
        joined = Answered(key, GameJoinAck(accept=False), None, 0.1, dialect)
        role.handle(joined, BEGAN)
    role.handle(Answered(LockCall("R1M1", 0, 1), LOCKED, None, 0.1), BEGAN)
    effects = []
    for seat in (0, 1):
        effects += role.handle(Answered(GameOverCall("R1M1", seat, 0, 1), None, None, 0.1), BEGAN)
    (call,) = [each for each in effects if isinstance(each, Call)]
    assert isinstance(call.message, MatchResultReport)
    return call.message


@rule("R-DIA-08")
def test_a_referee_reports_how_players_were_understood_where_that_is_news():
    role = a_referee()
    ask(role, announced())

    assert reported(role, ("", "type")).dialects == {"P02": "type"}


def test_a_referee_has_nothing_to_report_where_the_manager_was_right():
    role = a_referee()
    seats = [SEATS[0], replace(SEATS[1], dialect="type")]
    effects = ask(role, announced(matches=[replace(MATCH, seats=seats)]))

    assert reported(role, ("", "type")).dialects is UNSET
    called = [each.to for each in effects if isinstance(each, Call)]
    assert [to.dialect for to in called] == ["", "type"]
    assert all(isinstance(e.message, GameInvitation) for e in effects if isinstance(e, Call))


def test_a_referee_whose_players_speak_as_we_do_reports_no_dialects():
    role = a_referee()
    ask(role, announced())

    assert reported(role, ("", "")).dialects is UNSET


@rule("R-DIA-09")
def test_it_says_once_that_a_player_understood_no_dialect_and_what_that_said():
    role = a_referee()
    ask(role, announced())
    role.news.clear()
    in_vain = MissingField("nothing", said="HTTP 422: team: Field required", forms="tool, type")

    for attempt in (1, 2):
        role.handle(Answered(InvitationCall("R1M1", 0, 0, attempt), None, in_vain, 0.1), BEGAN)

    (said,) = role.news
    assert said.startswith("P01 at http")
    assert "does not understand what it is asked. It said: HTTP 422: team: Field required." in said
    assert "tool" not in said


def test_a_report_says_the_dialects_beside_other_calls():
    role = a_referee()
    ask(role, announced())
    for seat in (0, 1):
        role.handle(Answered(InvitationCall("R1M1", seat, 0, 1), JOINED, None, 0.1, "type"), BEGAN)
    for seat in (0, 1):
        late = Answered(MoveCall("R1M1", seat, 0, 1), None, NoAnswer("late"), 30.0)
        role.handle(late, BEGAN)

    effects = role.handle(Answered(LockCall("R1M1", 0, 1), LOCKED, None, 0.1), BEGAN)

    assert [WIRE_NAME[type(call.message)] for call in effects if isinstance(call, Call)] == [
        *["GAME_OVER"] * 2,
        "MATCH_RESULT_REPORT",
    ]
    assert effects[-1].message.dialects == {"P01": "type", "P02": "type"}
