"""Answers that come by themselves: whose they are, when they count, and what of the rest."""

import pytest
from msgspec.structs import replace

from agentleague.errors import (
    IllegalMove,
    MissingField,
    NoConnection,
    PeerRefused,
    TokenInvalid,
    TokenMissing,
    UnexpectedMessage,
    WrongType,
)
from agentleague.match.machine import MoveCall
from agentleague.protocol.messages import (
    ChooseParityResponse,
    GameError,
    GameJoinAck,
    GameMoveResponse,
)
from agentleague.roles.stimuli import Answered, Caller
from games.throwaway import THROWAWAY
from match.ann_and_bob import PATIENT, SEATS, match_of, playing
from match.virtual_match import EVEN, ODD, SILENCE, Stage
from rules import rule
from tables import each_row

ANN = Caller("127.0.0.1", "mtok_from_ann")
LOCAL = Caller("127.0.0.1")
STRAY = Caller("127.0.0.1", "tok_of_an_older_run")
NOTHING = MissingField("no content")
ANNS_EVEN = ChooseParityResponse("even", "R1M1", "P01")
# Each on a machine of its own.
APART = [replace(SEATS[0], endpoint="http://10.0.0.1:81/mcp"), SEATS[1]]
AWAY = Caller("10.0.0.1")
ACK = "ACKNOWLEDGED"


def heard(stage):
    return [(when, name) for when, name in stage.heard("P01") if name != "GAME_INVITATION"]


@rule("R-MATCH-23")
@each_row(
    ("seats", "message", "caller", "pusher"),
    [
        (SEATS, EVEN, ANN, (0, True)),
        (SEATS, EVEN, Caller("9.9.9.9", "mtok_from_bob"), (1, True)),  # from anywhere
        (SEATS, EVEN, Caller("127.0.0.1", "tok_P01_ann"), (0, True)),  # the league token
        (SEATS, replace(EVEN, auth_token="tok_P02_bob"), LOCAL, (1, True)),
        (SEATS, ANNS_EVEN, LOCAL, (0, False)),  # both are here: it says who it is
        (SEATS, replace(EVEN, player_id="P02"), Caller("::1"), (1, False)),
        (APART, EVEN, AWAY, (0, False)),  # only Ann is there
        (APART, replace(EVEN, player_id="P02"), AWAY, (0, False)),  # whatever it says
        (APART, EVEN, Caller("http://10.0.0.1:9/mcp"), (0, False)),
        (APART, EVEN, LOCAL, (1, False)),
        (SEATS, EVEN, Caller("127.0.0.1", "mtok_ann"), TokenInvalid),  # what we show to Ann
        # A wrong token from this machine counts as none: so it does what none would do.
        (SEATS, ANNS_EVEN, STRAY, (0, False, True)),
        (SEATS, replace(ANNS_EVEN, auth_token="mtok_of_R7M7"), LOCAL, (0, False, True)),
        (SEATS, replace(EVEN, player_id="P03"), STRAY, TokenInvalid),  # neither of them
        (SEATS, replace(EVEN, sender="player:P03"), STRAY, TokenInvalid),
        (SEATS, ANNS_EVEN, Caller("9.9.9.9", "tok_old"), TokenInvalid),  # from elsewhere
        (SEATS, ANNS_EVEN, Caller("", "tok_old"), TokenInvalid),  # nobody knows from where
        (APART, EVEN, Caller("10.0.0.1", "tok_old"), TokenInvalid),  # several machines
        (APART, ANNS_EVEN, STRAY, (1, False, True)),  # Ann is not here
        # Who names itself only as the sender.
        (SEATS, replace(EVEN, sender="player:P01"), LOCAL, (0, False)),
        (SEATS, replace(EVEN, sender="P02"), LOCAL, (1, False)),
        (SEATS, replace(EVEN, sender="player_P02"), STRAY, (1, False, True)),
        (SEATS, replace(EVEN, sender="player:P02", player_id="P01"), LOCAL, (0, False)),
        (SEATS, EVEN, LOCAL, TokenMissing),  # both are here
        (SEATS, replace(EVEN, player_id="P03"), LOCAL, TokenMissing),
        (SEATS, ANNS_EVEN, Caller("9.9.9.9"), TokenMissing),
        (SEATS, ANNS_EVEN, Caller(""), TokenMissing),
    ],
)
def test_the_pusher_is_known_by_the_token_or_by_the_address(seats, message, caller, pusher):
    stage = Stage({"move": [SILENCE]}, {"move": [SILENCE]}, seats=seats)
    stage.run(until=1.0)

    if isinstance(pusher, tuple):
        assert stage.match.admit(message, caller) == (*pusher, False)[:3]
    else:
        with pytest.raises(pusher):
            stage.match.admit(message, caller)


@rule("R-MATCH-23")
def test_where_no_token_was_given_none_fits():
    seats = [replace(seat, push_token="", digests=[]) for seat in SEATS]
    match = match_of(seats=seats)
    match.start(0.0)

    with pytest.raises(TokenInvalid):
        match.admit(GameJoinAck("R1M1", "P01"), replace(ANN, source="9.9.9.9"))


@rule("R-MATCH-23")
def test_the_league_may_want_a_token_for_every_push():
    rules = replace(PATIENT, unsigned_pushes=False)
    stage = Stage({"move": [NOTHING]}, rules=rules, pushes=[(1.0, ANNS_EVEN, LOCAL)]).run(until=2.0)

    assert stage.replies == [TokenMissing]
    assert heard(stage) == [(0, "CHOOSE_PARITY_CALL")]
    with pytest.raises(TokenInvalid):
        stage.match.admit(ANNS_EVEN, STRAY)


@rule("R-MATCH-23")
def test_a_push_with_a_wrong_token_has_the_rights_of_one_without_and_is_reported():
    own_answer = Stage({"move": [(5.0, ODD)]}, pushes=[(2.0, ANNS_EVEN, STRAY)]).run()
    illegal = replace(ANNS_EVEN, parity_choice="Even")
    nobodys = Stage({"move": [NOTHING]}, pushes=[(2.0, illegal, STRAY), (3.0, ANNS_EVEN, STRAY)])

    assert own_answer.result.choices["P01"] == "odd"  # It is kept until the answer is there.
    assert nobodys.run().result.choices["P01"] == "even"
    assert nobodys.errors() == []
    for stage in (own_answer, nobodys):
        assert stage.report.wrong_tokens == {"P01": "CHOOSE_PARITY_RESPONSE"}


@rule("R-MATCH-24")
@each_row("answered", [NOTHING, None, PeerRefused("what?", data={})])
@each_row("caller", [ANN, LOCAL])
def test_after_an_answer_without_content_what_is_pushed_counts_until_the_deadline(answered, caller):
    stage = Stage({"move": [answered]}, pushes=[(29.9, ANNS_EVEN, caller)]).run()

    assert stage.replies == [ACK]
    assert heard(stage) == [(0, "CHOOSE_PARITY_CALL"), (29.9, "GAME_OVER")]
    assert stage.result.choices["P01"] == "even"


@rule("R-MATCH-24")
def test_a_join_may_be_pushed_as_well_and_so_may_a_refusal():
    ann = {"join": [NOTHING]}
    joins = Stage(ann, pushes=[(2.0, GameJoinAck("R1M1", "P01"), LOCAL)]).run()
    declines = Stage(ann, pushes=[(2.0, GameJoinAck("R1M1", "P01", "", False), ANN)]).run()

    assert (joins.replies, joins.lock.forfeits) == ([ACK], [])
    assert declines.replies == [ACK]
    assert declines.lock.forfeits == [("P01", "declined the invitation")]


@rule("R-MATCH-24")
def test_a_signed_push_counts_at_once_and_the_answer_to_the_call_no_more():
    stage = Stage({"move": [(5.0, ODD)]}, pushes=[(2.0, EVEN, ANN)]).run()

    assert stage.replies == [ACK]
    assert heard(stage)[-1] == (2.0, "GAME_OVER")
    assert stage.result.choices["P01"] == "even"


@rule("R-MATCH-24")
@each_row(
    ("answered", "counts", "when"),
    [
        ((5.0, ODD), "odd", 5.0),  # the answer itself has content: the push is forgotten
        ((5.0, NOTHING), "even", 5.0),
        ((5.0, NoConnection("HTML", status=200)), "even", 5.0),
        ((5.0, WrongType("CHOOSE_PARITY_RESPONSE: no parity_choice")), "even", 5.0),
        (SILENCE, "even", 30.0),
    ],
)
def test_an_unsigned_push_is_acknowledged_and_kept_until_the_answer_is_there(
    answered, counts, when
):
    pushes = [(2.0, ANNS_EVEN, LOCAL), (3.0, replace(ANNS_EVEN, parity_choice="odd"), LOCAL)]
    stage = Stage({"move": [answered]}, pushes=pushes).run()

    assert stage.replies == [ACK, ACK]
    assert stage.result.choices["P01"] == counts
    assert heard(stage)[-1] == (when, "GAME_OVER")
    assert stage.errors() == []


@rule("R-MATCH-20", "R-MATCH-24")
def test_an_illegal_push_without_a_token_is_held_against_nobody():
    """Anybody on the player's machine may have sent it."""
    illegal = replace(ANNS_EVEN, parity_choice="Even")
    stage = Stage({"move": [SILENCE]}, pushes=[(2.0, illegal, LOCAL)]).run()
    corrected = [(2.0, illegal, LOCAL), (3.0, ANNS_EVEN, LOCAL)]
    other = Stage({"move": [SILENCE]}, pushes=corrected).run()

    assert stage.replies == [IllegalMove]  # Its sender is told.
    assert stage.errors() == ["E001"]
    assert [when for when, name in heard(stage) if name == "GAME_ERROR"] == [30.0]
    assert heard(stage)[-2:] == [(32.0, "CHOOSE_PARITY_CALL"), (32.0, "GAME_OVER")]
    assert other.replies == [IllegalMove, ACK]
    assert heard(other)[-1] == (30.0, "GAME_OVER")


@rule("R-MATCH-24")
@each_row("caller", [ANN, LOCAL])
def test_between_two_attempts_a_push_counts(caller):
    stage = Stage({"move": [SILENCE]}, pushes=[(31.0, ANNS_EVEN, caller)]).run()

    assert heard(stage)[-1] == (31.0, "GAME_OVER")
    assert stage.result.choices["P01"] == "even"


@rule("R-MATCH-20", "R-MATCH-24")
def test_an_illegal_push_is_told_of_and_asked_for_again_three_times_in_all():
    illegal = ChooseParityResponse("Even", "R1M1", "P01")
    ann = {"move": [NOTHING, NOTHING, NOTHING]}
    pushes = [(1.0, illegal, ANN), (2.0, illegal, ANN), (3.0, illegal, ANN), (4.0, EVEN, ANN)]

    stage = Stage(ann, {"move": [(9.0, ODD)]}, pushes=pushes).run()

    assert stage.replies == [IllegalMove, IllegalMove, IllegalMove, UnexpectedMessage]
    assert stage.errors() == ["E004"] * 3
    assert stage.told(GameError)[0].context["invalid_choice"] == "Even"
    assert [when for when, name in heard(stage) if name == "CHOOSE_PARITY_CALL"] == [0, 1, 2]
    assert stage.lock.forfeits == [("P01", "made an illegal move")]


@rule("R-MATCH-24")
def test_a_push_while_game_error_is_being_answered_counts():
    ann = {"move": [ChooseParityResponse("no")], "error": [SILENCE]}
    stage = Stage(ann, pushes=[(0.5, EVEN, ANN)]).run()

    assert heard(stage)[-1] == (0.5, "GAME_OVER")


@rule("R-MATCH-12", "R-MATCH-25")
@each_row(
    ("message", "reply"),
    [
        (EVEN, ACK),  # the same again
        (ODD, UnexpectedMessage),  # the first valid one counts
        (GameJoinAck("R1M1", "P01"), UnexpectedMessage),  # nobody waits for that any more
    ],
)
def test_once_there_is_an_answer_another_is_refused_and_changes_nothing(message, reply):
    bob = {"move": [(9.0, ODD)]}
    stage = Stage({}, bob, pushes=[(2.0, message, ANN)]).run()

    assert stage.replies == [reply]
    assert stage.result.choices["P01"] == "even"


@rule("R-MATCH-25")
@each_row("message", [EVEN, GameMoveResponse("even", "R1M1")])
def test_a_move_before_its_time_or_after_is_refused(message):
    ann, bob = {"join": [(3.0, NOTHING)]}, {"over": [(4.0, None)]}
    joined = (4.0, GameJoinAck("R1M1", "P01"), ANN)
    stage = Stage(ann, bob, pushes=[(1.0, message, ANN), joined, (6.0, message, ANN)]).run()

    assert stage.replies == [UnexpectedMessage, ACK, UnexpectedMessage]


@rule("R-MATCH-25")
def test_a_player_that_is_not_to_move_cannot_push_a_move():
    match, _ = playing(THROWAWAY["nim"])
    made = GameMoveResponse(1, "R1M1")

    assert match.admit(made, ANN)[:2] == (0, True)
    with pytest.raises(UnexpectedMessage):
        match.admit(made, Caller("", "mtok_from_bob"))


@rule("R-MATCH-24")
@each_row("move", ["odd", "nonsense"])
def test_nobody_moves_for_a_player_that_could_not_be_reached(move):
    """Without a token a push waits for the player's own answer, or for the end of its time."""
    pushes = [(when, replace(ANNS_EVEN, parity_choice=move), LOCAL) for when in (1.0, 1.5, 1.8)]
    stage = Stage({"move": [(0.5, NoConnection("closed")), EVEN]}, pushes=pushes).run()

    assert stage.result.choices["P01"] == "even"
    assert stage.errors() == ["E009"]


@rule("R-MATCH-24")
def test_nobody_moves_for_a_player_whose_own_move_was_illegal():
    pushes = [(1.2, replace(ANNS_EVEN, parity_choice="odd"), LOCAL)]
    script = {"move": [(1.0, ChooseParityResponse("Even")), (1.0, EVEN)], "error": [(0.5, None)]}
    stage = Stage(script, pushes=pushes).run()

    assert stage.result.choices["P01"] == "even"


@rule("R-MATCH-24")
def test_a_push_that_repeats_what_counts_already_leaves_no_trace():
    pushes = [(1.0 + n / 100, ANNS_EVEN, ANN) for n in range(50)]
    stage = Stage({"move": [SILENCE]}, {"move": [(3.0, ODD)]}, pushes=pushes).run()

    rows = [row for row in stage.report.transcript if row.message == "CHOOSE_PARITY_CALL"]
    assert len(rows) == 2
    assert stage.replies == [ACK] * 50


@rule("R-DIA-02")
def test_after_an_answer_that_is_not_the_last_the_next_one_counts():
    (match, _), key = playing(), MoveCall("R1M1", 0, 0, 1)

    match.answered(Answered(key, None, NOTHING, 0.1, is_last=False), 1.0)
    match.answered(Answered(key, EVEN, None, 0.1), 2.0)

    assert match.waiting_for() == ["P02"]


@rule("R-DIA-02")
def test_an_answer_that_is_not_the_last_lets_an_unsigned_push_count():
    (match, _), key = playing(), MoveCall("R1M1", 0, 0, 1)
    match.pushed(match.admit(ANNS_EVEN, LOCAL), ANNS_EVEN, 0.5)
    assert match.waiting_for() == ["P01", "P02"]

    match.answered(Answered(key, None, NOTHING, 0.1, is_last=False), 1.0)

    assert match.waiting_for() == ["P02"]


@rule("R-DIA-09")
def test_what_the_player_said_is_noted_and_it_is_told_that_without_our_search():
    more = {
        "said": "HTTP 422: team: Field required",
        "tried": "tried tool (…)",
        "forms": "tool, type",
    }
    in_vain = MissingField("no content", **more)

    stage = Stage({"move": [in_vain]}).run()

    context = stage.told(GameError)[0].context
    assert context["said"] == "HTTP 422: team: Field required"
    assert not {"tried", "forms"} & context.keys()
    notes = [row.note for row in stage.report.transcript if row.message == "CHOOSE_PARITY_CALL"]
    assert "said HTTP 422: team: Field required [asked as tool, type]" in notes
