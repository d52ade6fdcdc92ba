"""What becomes of whatever a player does: one row each, in virtual time, to the hundredth."""

from types import SimpleNamespace

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentleague.errors import (
    UNREACHABLE,
    IllegalMove,
    MissingField,
    NoConnection,
    PeerRefused,
    RateLimited,
    UnreadableJson,
    WrongType,
)
from agentleague.games import rock_paper_scissors as rps
from agentleague.match.game_progress import GameProgress
from agentleague.match.transcript import MatchLimits
from agentleague.protocol.messages import (
    ChooseParityResponse,
    GameError,
    GameJoinAck,
    GameMoveResponse,
    GameOver,
    RetryInfo,
)
from games.throwaway import THROWAWAY
from league.decisions import LEAGUE_ID
from match.ann_and_bob import JOINED, PATIENT, SEATS
from match.virtual_match import EVEN, ODD, SILENCE, Stage
from rules import rule

BROKEN = PeerRefused("its strategy failed", number=-32603, code="E052", data={})
TIMEOUT = "failed to respond within timeout"
UNREACHED = "could not be reached"
UNUSABLE = "gave no usable answer"
ILLEGAL = "made an illegal move"
GONE = NoConnection("connection refused", kind=UNREACHABLE)
REFUSED = PeerRefused("error -32603", number=-32603, code=None, data={})
EMPTY = MissingField("no move in it", field="parity_choice")
WRONG_MATCH = ChooseParityResponse("even", "R9M9")
INVITATION, CALL, ERROR, OVER = (
    *("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_ERROR", "GAME_OVER"),
)


def limited(seconds):
    return RateLimited("HTTP 429", retry_after=seconds)


# What Ann does when she is called for her move; when she hears what; what she is accused of; and
# why she loses, or nothing if she does not.
MOVES = [
    # no answer: four attempts of 30 seconds, 2 seconds apart
    (
        [SILENCE] * 4,
        [
            *((0, CALL), (30, ERROR), (32, CALL), (62, ERROR), (64, CALL), (94, ERROR), (96, CALL)),
            *((126, ERROR), (126, OVER)),
        ],
        ["E001"] * 4,
        TIMEOUT,
    ),
    # no connection, or no usable HTTP: the attempts fail at once
    (
        [GONE] * 4,
        [
            *((0, CALL), (0, ERROR), (2, CALL), (2, ERROR), (4, CALL), (4, ERROR), (6, CALL)),
            *((6, ERROR), (6, OVER)),
        ],
        ["E009"] * 4,
        UNREACHED,
    ),
    # dies after the join and comes back: the next attempt reaches it
    ([GONE, GONE], [(0, CALL), (0, ERROR), (2, CALL), (2, ERROR), (4, CALL)], ["E009"] * 2, None),
    ([SILENCE, (1.5, EVEN)], [(0, CALL), (30, ERROR), (32, CALL)], ["E001"], None),
    # an error of ours that nobody expected is an attempt that failed
    ([UnreadableJson("what?")], [(0, CALL), (0, ERROR), (2, CALL)], ["E049"], None),
    # no content: what is pushed would count; at the deadline the attempt failed
    ([REFUSED], [(0, CALL), (30, ERROR), (32, CALL)], ["E001"], None),
    ([EMPTY], [(0, CALL), (30, ERROR), (32, CALL)], ["E001"], None),
    ([None], [(0, CALL), (30, ERROR), (32, CALL)], ["E001"], None),
    (
        [EMPTY] * 4,
        [
            *((0, CALL), (30, ERROR), (32, CALL), (62, ERROR), (64, CALL), (94, ERROR), (96, CALL)),
            *((126, ERROR), (126, OVER)),
        ],
        ["E001"] * 4,
        UNUSABLE,
    ),
    # one of ours whose strategy raised: nothing will be pushed, so nobody waits for it
    ([BROKEN], [(0, CALL), (0, ERROR), (2, CALL)], ["E052"], None),
    (
        [BROKEN] * 4,
        [
            *((0, CALL), (0, ERROR), (2, CALL), (2, ERROR), (4, CALL), (4, ERROR), (6, CALL)),
            *((6, ERROR), (6, OVER)),
        ],
        ["E052"] * 4,
        "answered with an error of its own",
    ),
    # late, while the phase still runs
    ([(31.0, EVEN)], [(0, CALL), (30, ERROR)], ["E001"], None),
    ([(40.0, EVEN), SILENCE], [(0, CALL), (30, ERROR), (32, CALL)], ["E001"], None),
    # illegal moves: told, and asked again when that is answered; three in all
    (
        [ChooseParityResponse("Even")] * 3,
        [(0, CALL), (0, ERROR), (0, CALL), (0, ERROR), (0, CALL), (0, ERROR), (0, OVER)],
        ["E004"] * 3,
        ILLEGAL,
    ),
    *[
        ([ChooseParityResponse(made)], [(0, CALL), (0, ERROR), (0, CALL)], ["E004"], None)
        for made in (0, True, None, "", ["even"], {"even": 1}, "x" * 2000)
    ],
    # another match's id counts as one of the three
    ([WRONG_MATCH], [(0, CALL), (0, ERROR), (0, CALL)], ["E015"], None),
    (
        [WRONG_MATCH, ChooseParityResponse(7), WRONG_MATCH],
        [(0, CALL), (0, ERROR), (0, CALL), (0, ERROR), (0, CALL), (0, ERROR), (0, OVER)],
        ["E015", "E004", "E015"],
        UNUSABLE,
    ),
    # a rate limit: the time it asks for, no complaint, within the attempts
    ([limited(7.5)], [(0, CALL), (7.5, CALL)], [], None),
    ([limited(None)], [(0, CALL), (2, CALL)], [], None),
    ([limited(0.1)], [(0, CALL), (2, CALL)], [], None),
    ([limited(500.0)], [(0, CALL), (32, CALL)], [], None),  # at most what is left, and the delay
    ([(29.0, limited(60.0))], [(0, CALL), (32, CALL)], [], None),
    (
        [limited(3.0)] * 4,
        [(0, CALL), (3, CALL), (6, CALL), (9, CALL), (9, ERROR), (9, OVER)],
        ["E047"],
        "answered with a rate limit",
    ),
]


@rule("R-MATCH-07", "R-MATCH-08", "R-MATCH-19", "R-MATCH-20", "R-MATCH-21")
@pytest.mark.parametrize(("ann", "heard", "codes", "cause"), MOVES)
def test_whatever_a_player_answers_to_the_call_for_its_move(ann, heard, codes, cause):
    stage = Stage({"move": ann}).run()

    told = stage.heard("P01") if cause else stage.heard("P01")[:-1]
    assert told == [(0, INVITATION), *heard]
    assert stage.heard("P01")[-1][1] == OVER
    assert stage.errors() == codes
    assert stage.lock.forfeits == ([("P01", cause)] if cause else [])
    assert stage.result.choices == {"P01": None if cause else "even", "P02": "odd"}
    assert stage.is_closed


# The same for the invitation; its attempts have 5 seconds.
JOINS = [
    (
        [SILENCE] * 4,
        [
            *((0, INVITATION), (5, ERROR), (7, INVITATION), (12, ERROR), (14, INVITATION)),
            *((19, ERROR), (21, INVITATION), (26, ERROR)),
        ],
        ["E001"] * 4,
        TIMEOUT,
    ),
    (
        [GONE] * 4,
        [
            *((0, INVITATION), (0, ERROR), (2, INVITATION), (2, ERROR), (4, INVITATION)),
            *((4, ERROR), (6, INVITATION)),  # Nobody is there to be told that this was the last.
        ],
        ["E009"] * 3,
        UNREACHED,
    ),
    ([REFUSED], [(0, INVITATION), (5, ERROR), (7, INVITATION)], ["E001"], None),
    ([EMPTY], [(0, INVITATION), (5, ERROR), (7, INVITATION)], ["E001"], None),
    ([(6.5, JOINED)], [(0, INVITATION), (5, ERROR)], ["E001"], None),
    ([limited(1.0)], [(0, INVITATION), (2, INVITATION)], [], None),
    # declining is final
    ([GameJoinAck(accept=False)], [(0, INVITATION)], [], "declined the invitation"),
    ([GONE, GameJoinAck()], [(0, INVITATION), (0, ERROR), (2, INVITATION)], ["E009"], None),
    # `accept` that is neither true nor false; another match
    ([WrongType("accept: a bool")], [(0, INVITATION), (0, ERROR), (0, INVITATION)], ["E003"], None),
    ([GameJoinAck("R9M9")], [(0, INVITATION), (0, ERROR), (0, INVITATION)], ["E015"], None),
    (
        [GameJoinAck("R9M9")] * 3,
        [(0, INVITATION), (0, ERROR)] * 3,
        ["E015"] * 3,
        UNUSABLE,
    ),
]


@rule("R-MATCH-07", "R-MATCH-08", "R-MATCH-19", "R-MATCH-20", "R-MATCH-21")
@pytest.mark.parametrize(("ann", "heard", "codes", "cause"), JOINS)
def test_whatever_a_player_answers_to_the_invitation(ann, heard, codes, cause):
    stage = Stage({"join": ann}).run()

    rest = [OVER] if cause else [CALL, OVER]
    assert stage.heard("P01")[: -len(rest)] == heard
    assert [name for _, name in stage.heard("P01")[-len(rest) :]] == rest
    assert stage.errors() == codes
    assert stage.lock.forfeits == ([("P01", cause)] if cause else [])
    assert stage.is_closed


@rule("R-MATCH-07")
def test_a_decline_is_final_and_the_opponents_join_is_still_awaited():
    stage = Stage({"join": [GameJoinAck(accept=False)]}, {"join": [(4.0, JOINED)]}).run()

    assert stage.log[2] == (4.0, "LOCK_REQUEST", "league_manager")
    assert stage.result.winner_player_id == "P02"


@rule("R-MATCH-07")
def test_when_both_fail_both_lose():
    ann, bob = {"move": [ChooseParityResponse(1)] * 3}, {"move": [SILENCE] * 4}

    stage = Stage(ann, bob).run()

    assert stage.lock.forfeits == [("P01", ILLEGAL), ("P02", TIMEOUT)]
    assert (stage.result.status, stage.result.winner_player_id) == ("TECHNICAL_LOSS", None)
    assert stage.report.result.score == {"P01": 0, "P02": 0}


@rule("R-MATCH-21")
def test_a_late_answer_counts_until_the_phase_ends_even_after_the_last_attempt():
    ann, bob = {"move": [(40.0, EVEN), GONE]}, {"move": [SILENCE, (13.0, ODD)]}

    stage = Stage(ann, bob, rules=replace(PATIENT, retries=1)).run()

    assert stage.heard("P01")[1:] == [
        *((0, CALL), (30, ERROR), (32, CALL), (32, ERROR), (45, OVER)),
    ]
    assert [error.retryable for error in stage.told(GameError)][-1] is False
    assert stage.lock.forfeits == []


@rule("R-MATCH-21")
@pytest.mark.parametrize(
    ("ann", "cause"),
    [
        ([(1.0, ChooseParityResponse("no"))] * 3, ILLEGAL),  # used up, and nothing is open
        ([(50.0, EVEN), GONE], UNREACHED),  # after the end of the phase
        ([(40.0, ChooseParityResponse("no")), GONE], UNREACHED),  # late, and illegal at that
    ],
)
def test_what_is_final_and_what_is_too_late_stays_lost(ann, cause):
    bob = {"move": [SILENCE, (13.0, ODD)]}

    stage = Stage({"move": ann}, bob, rules=replace(PATIENT, retries=1)).run()

    assert stage.lock.forfeits == [("P01", cause)]
    assert stage.result.winner_player_id == "P02"


@rule("R-MATCH-12", "R-MATCH-21")
@pytest.mark.parametrize(
    ("first", "second", "counts", "when"),
    [
        ((33.0, EVEN), (0.5, ODD), "odd", 32.5),  # by the order of arrival, not of the calls
        ((33.0, EVEN), (1.5, ODD), "even", 33.0),
        ((33.0, ChooseParityResponse("no")), (1.5, ODD), "odd", 33.5),
    ],
)
def test_of_two_different_answers_the_first_valid_one_counts(first, second, counts, when):
    stage = Stage({"move": [first, second], "error": [SILENCE] * 3}).run()

    assert stage.result.choices["P01"] == counts
    assert stage.heard("P01")[-1] == (when, OVER)


@rule("R-MATCH-20")
def test_after_an_unusable_answer_the_call_is_made_again_after_a_second_at_the_latest():
    stage = Stage({"move": [(2.0, ChooseParityResponse("no"))], "error": [SILENCE]}).run()

    assert stage.heard("P01")[1:] == [(0, CALL), (2, ERROR), (3, CALL), (3, OVER)]


@rule("R-MATCH-20")
@pytest.mark.parametrize(
    ("answered", "again"),
    [
        ((0.25, None), 0.25),  # its acknowledgement
        ((0.25, REFUSED), 0.25),  # any answer at all
        ((0.25, GONE), 0.5),  # none: after a fifth of the time for a move
        (SILENCE, 0.5),
    ],
)
def test_a_player_that_answers_game_error_is_asked_again_at_once(answered, again):
    rules = replace(PATIENT, move_seconds=2.5)
    ann = {"move": [ChooseParityResponse("no")], "error": [answered]}

    stage = Stage(ann, rules=rules).run()

    assert stage.heard("P01")[1:4] == [(0, CALL), (0, ERROR), (again, CALL)]


@rule("R-MATCH-20")
@pytest.mark.parametrize("made", [EVEN, ChooseParityResponse("even")])
def test_a_move_in_the_answer_to_game_error_counts(made):
    stage = Stage({"move": [ChooseParityResponse("no")], "error": [(0.5, made)]}).run()

    assert stage.heard("P01")[1:] == [(0, CALL), (0, ERROR), (0.5, OVER)]
    assert stage.result.choices["P01"] == "even"


@rule("R-MATCH-20", "R-MATCH-21")
def test_a_move_in_the_answer_to_a_timeout_counts_too_and_an_illegal_one_is_one_of_three():
    ann = {"move": [SILENCE, SILENCE], "error": [(1.0, ChooseParityResponse(3)), (0.5, EVEN)]}

    stage = Stage(ann).run()

    assert stage.heard("P01")[1:] == [(0, CALL), (30, ERROR), (31, ERROR), (31.5, OVER)]
    assert stage.errors() == ["E001", "E004"]


@rule("R-MATCH-20")
def test_an_unusable_answer_near_the_deadline_leaves_no_time_to_ask_again():
    stage = Stage({"move": [(29.5, ChooseParityResponse("no"))], "error": [SILENCE]}).run()

    assert stage.heard("P01")[1:5] == [(0, CALL), (29.5, ERROR), (30, ERROR), (32, CALL)]
    assert stage.errors() == ["E004", "E001"]


@rule("R-MATCH-20")
def test_a_late_illegal_move_is_told_and_the_retry_is_not_made_twice():
    ann = {"move": [(31.0, ChooseParityResponse("no")), (5.0, EVEN)], "error": [SILENCE] * 2}

    stage = Stage(ann).run()

    assert stage.heard("P01")[1:] == [
        *((0, CALL), (30, ERROR), (31, ERROR), (32, CALL), (37, OVER)),
    ]


@rule("R-MATCH-20")
def test_a_late_illegal_move_while_a_newer_call_is_out_asks_nothing_again():
    ann = {"move": [(33.0, ChooseParityResponse("no")), (5.0, EVEN)], "error": [SILENCE] * 2}

    stage = Stage(ann).run()

    assert stage.heard("P01")[1:] == [
        *((0, CALL), (30, ERROR), (32, CALL), (33, ERROR), (37, OVER)),
    ]


@rule("R-MATCH-19")
@pytest.mark.parametrize(
    ("rules", "calls"),
    [
        ({"retry_delay_seconds": 1.0, "retry_backoff": 2.0}, [0, 31, 63, 97]),  # document 002
        ({"retries": 1}, [0, 32]),
        ({"retries": 0}, [0]),
        ({"retry_delay_seconds": 0.0}, [0, 30, 60, 90]),
    ],
)
def test_the_league_says_how_often_and_when_is_retried(rules, calls):
    stage = Stage({"move": [SILENCE] * 9}, rules=replace(PATIENT, **rules)).run()

    assert [when for when, name in stage.heard("P01") if name == CALL] == calls
    assert stage.lock.forfeits == [("P01", TIMEOUT)]


@rule("R-MATCH-19")
def test_a_suspended_player_gets_no_retries_until_it_answers():
    seats = [replace(SEATS[0], suspended=True), SEATS[1]]

    silent = Stage({"join": [SILENCE]}, seats=seats).run()
    awake = Stage({"move": [GONE]}, seats=seats).run()

    assert silent.heard("P01") == [(0, INVITATION), (5, ERROR), (5, OVER)]
    assert [name for _, name in awake.heard("P01")] == [INVITATION, CALL, ERROR, CALL, OVER]


def retry_fields(error):
    info = error.retry_info
    assert (error.retry_count, error.max_retries) == (info.retry_count, info.max_retries)
    assert error.time_remaining == info.time_remaining
    return (error.retryable, info.retry_count, info.max_retries, info.next_retry_at)


@rule("R-MATCH-08", "R-MATCH-19")
def test_game_error_says_truthfully_which_retry_comes_when():
    stage = Stage({"move": [GONE, SILENCE, GONE, GONE]}).run()

    errors = stage.told(GameError)
    assert [retry_fields(error) for error in errors] == [
        (True, 1, 3, "1970-01-01T00:00:02Z"),
        (True, 2, 3, "1970-01-01T00:00:34Z"),
        (True, 3, 3, "1970-01-01T00:00:36Z"),
        (False, 3, 3, UNSET),
    ]
    assert [error.consequence for error in errors] == [
        *["Technical loss if max retries exceeded"] * 3,
        "Technical loss",
    ]


@rule("R-MATCH-08", "R-MATCH-20")
def test_game_error_says_what_came_what_is_legal_and_how_much_time_is_left():
    stage = Stage({"move": [(11.50000001, ChooseParityResponse("Even"))]}).run()

    (error,) = stage.told(GameError)
    assert error == GameError(
        protocol="league.v2",
        sender="referee:REF01",
        timestamp="1970-01-01T00:00:11Z",
        conversation_id="conv-r1m1-001",
        auth_token="mtok_ann",
        league_id=LEAGUE_ID,
        round_id=1,
        match_id="R1M1",
        player_id="P01",
        epoch=1,
        referee_endpoint="http://127.0.0.1:8001/mcp",
        error_code="E004",
        error_name="INVALID_PARITY_CHOICE",
        error_description="INVALID_PARITY_CHOICE",
        error_message="Choice must be 'even' or 'odd', got 'Even'",
        affected_player="P01",
        action_required="CHOOSE_PARITY_RESPONSE",
        game_state="COLLECTING_CHOICES",
        retryable=True,
        retry_count=1,
        max_retries=3,
        time_remaining=18.5,
        retry_info=RetryInfo(1, 3, UNSET, 18.5),
        context={"invalid_choice": "Even", "valid_choices": ["even", "odd"]},
        consequence="Technical loss if valid choice not received before timeout",
    )


@rule("R-MATCH-10")
def test_an_error_in_answer_to_game_over_gets_it_once_more_in_the_plainest_form():
    stage = Stage({"over": [REFUSED, REFUSED]}, {"move": [SILENCE] * 4}).run()

    first, _, plain = stage.told(GameOver)
    assert stage.heard("P01")[-2:] == [(126, OVER), (126, OVER)]
    assert first.game_result.choices == {"P01": "even", "P02": None}
    assert plain.game_result.choices == {"P01": "even"}
    assert stage.is_closed


@rule("R-MATCH-20")
@pytest.mark.parametrize(
    ("depth", "is_legal"), [(MatchLimits.move_depth, True), (MatchLimits.move_depth + 1, False)]
)
def test_a_move_that_the_manager_could_not_read_is_illegal_in_any_game(depth, is_legal):
    game = SimpleNamespace(**vars(THROWAWAY["nim"]))
    game.check = lambda state, seat, move: None  # A plug-in that takes whatever comes.
    move = {"deep": "even"}
    for _ in range(depth - 1):
        move = [move]
    progress = GameProgress(game, {}, ("P01", "P02"))

    if is_legal:
        progress.check(0, move)
    else:
        with pytest.raises(IllegalMove, match="nested at most 8 levels deep"):
            progress.check(0, move)


LEARNING = replace(PATIENT, patience="learning")
HUNG = [replace(SEATS[0], timed_out=CALL), SEATS[1]]


@rule("R-MATCH-19")
@pytest.mark.parametrize(
    ("ann", "noted"),
    [
        ({"move": [SILENCE] * 4}, {"P01": CALL}),
        ({"move": [EMPTY] * 4}, {"P01": CALL}),  # It answers, and never with a move.
        ({"join": [SILENCE] * 4}, {"P01": INVITATION}),
        ({"move": [SILENCE] * 3}, UNSET),
        ({"move": [SILENCE, GONE, SILENCE, SILENCE]}, UNSET),
        ({"move": [ChooseParityResponse("Even")] * 3}, UNSET),
    ],
)
def test_a_referee_reports_who_let_every_attempt_run_out(ann, noted):
    assert Stage(ann, rules=LEARNING).run().report.timed_out == noted
    assert Stage(ann, rules=PATIENT).run().report.timed_out is UNSET


@rule("R-MATCH-19")
def test_who_let_every_attempt_run_out_has_one_a_question_until_it_answers_such_a_question():
    hanging = Stage({"move": [SILENCE]}, seats=HUNG, rules=LEARNING).run()
    gone = Stage({"join": [SILENCE]}, seats=HUNG, rules=LEARNING).run()
    awake = Stage(seats=HUNG, rules=LEARNING).run()

    assert hanging.heard("P01") == [(0, INVITATION), (0, CALL), (30, ERROR), (30, OVER)]
    assert [retry_fields(error) for error in hanging.told(GameError)] == [(False, 0, 0, UNSET)]
    assert gone.heard("P01") == [(0, INVITATION), (5, ERROR), (5, OVER)]
    assert [stage.report.timed_out for stage in (hanging, gone, awake)] == [
        {"P01": CALL},
        {"P01": INVITATION},
        {"P01": None},
    ]


@rule("R-MATCH-19")
def test_in_the_match_in_which_it_answers_again_it_has_all_retries_again():
    seats = [replace(SEATS[0], timed_out="GAME_MOVE_CALL"), SEATS[1]]
    rock, paper = GameMoveResponse("rock", "R1M1"), GameMoveResponse("paper", "R1M1")
    ann = {"move": [rock, *[SILENCE] * 4]}

    stage = Stage(ann, {"move": [rock, paper]}, game=rps, seats=seats, rules=LEARNING).run()

    assert [when for when, name in stage.heard("P01") if name == "GAME_MOVE_CALL"] == [
        *(0, 0, 32, 64, 96)
    ]
    assert stage.report.timed_out == {"P01": "GAME_MOVE_CALL"}


def test_a_match_says_whom_it_waits_for_how_long_still_and_at_which_attempt():
    stage = Stage({"move": [SILENCE] * 2, "join": [(1.5, JOINED)]}, {"move": [(3.0, ODD)]})

    def awaited(when):
        rows = stage.run(until=when).match.awaited(when)
        return [(row.player_id, row.message, row.time_remaining, row.attempt) for row in rows]

    assert awaited(1.4) == []  # Not long enough.
    assert awaited(4.0) == [("P01", CALL, 27.5, 1), ("P02", CALL, 27.5, 1)]
    assert awaited(30.0) == [("P01", CALL, 1.5, 1)]
    assert awaited(32.0) == [("P01", CALL, 31.5, 2)]  # Of the one that comes.
    assert awaited(70.0) == []
