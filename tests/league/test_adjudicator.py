"""What the manager answers to a lock or report, row by row of the design's table."""

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentleague.errors import DuplicateReport, MatchMismatch, UnexpectedMessage, WrongType
from agentleague.league.adjudicator import Decision
from agentleague.league.events import Disputed, MatchClosed, MatchDecided, MatchLocked
from agentleague.protocol import draws
from agentleague.protocol.messages import Draw, GameResult, LockResponse, MatchResultAck
from games.throwaway import THROWAWAY
from league.decisions import DRAW_SECRET, LEAGUE_ID, Decisions
from rules import rule

BOTH = [(0, "P01", "even"), (0, "P02", "odd")]
DICE = [(0, "P01", 1), (0, "P02", 6), (1, "P01", 3), (1, "P02", 4)]


def even_odd():
    return Decisions(2, referees=2).start()


def dice():
    return Decisions(2, game=THROWAWAY["dice"]).start()


def decided():
    """A match that P01 has won because P02 failed."""
    decisions = even_odd()
    decisions.lock(BOTH[:1], [("P02", "failed")])
    return decisions


def closed():
    decisions = decided()
    decisions.report("P01")
    return decisions


def believed(winner, **details):
    """A match of a referee that does not lock, after its report."""
    decisions = Decisions(2, locks=False).start()
    return decisions, decisions.report(winner, details=details)


# Current epoch: judged, committed, acknowledged.


@rule("R-LEAGUE-01", "R-LEAGUE-05")
def test_a_lock_that_ends_the_game_is_the_result_in_one_row():
    decisions = even_odd()
    seed = draws.seed_of(DRAW_SECRET, LEAGUE_ID, "R1M1")

    ruling = decisions.lock(BOTH)

    (event,) = ruling.events
    assert isinstance(event, MatchDecided)
    assert (event.epoch, event.index, event.moves, event.forfeits) == (1, 0, BOTH, [])
    assert (event.seed, event.verified) == (seed.hex(), True)
    answer = ruling.answer
    assert (
        answer.result.game_result == event.result == decisions.league.matches["R1M1"].decided.result
    )
    assert answer.result.winner == event.result.winner_player_id
    assert answer.draw == Draw(draws.commitment(seed, LEAGUE_ID, "R1M1"), seed.hex(), BOTH)
    assert answer.moves == []  # They are in the draw.
    assert ruling.receipt


@rule("R-LEAGUE-02", "R-LEAGUE-05")
def test_a_lock_that_does_not_end_the_game_is_answered_with_the_number_and_no_seed():
    decisions = dice()

    ruling = decisions.lock(DICE[:2])

    (event,) = ruling.events
    assert isinstance(event, MatchLocked)
    assert ruling.answer == LockResponse("R1M1", 0, event.value, DICE[:2])
    assert not ruling.receipt
    assert isinstance(decisions.lock(DICE, index=1).events[0], MatchDecided)


@rule("R-LEAGUE-05")
@pytest.mark.parametrize(
    ("forfeits", "status", "score"),
    [
        (["P02"], "TECHNICAL_LOSS", {"P01": 3, "P02": 0}),
        (["P01"], "TECHNICAL_LOSS", {"P01": 0, "P02": 3}),
        (["P01", "P02"], "TECHNICAL_LOSS", {"P01": 0, "P02": 0}),
    ],
)
def test_the_points_follow_from_the_winner(forfeits, status, score):
    result = even_odd().lock([], [(who, "failed") for who in forfeits]).answer.result

    assert (result.game_result.status, result.score) == (status, score)


@rule("R-LEAGUE-05")
def test_a_draw_gives_both_its_points():
    result = even_odd().lock([(0, "P01", "odd"), (0, "P02", "odd")]).answer.result

    assert (result.winner, result.score) == (None, {"P01": 1, "P02": 1})


@rule("R-LEAGUE-03")
@pytest.mark.parametrize(
    ("moves", "index", "field"),
    [
        (BOTH[:1], 0, "moves"),
        ([*BOTH, (1, "P01", "odd")], 0, "moves"),
        (BOTH, 1, "index"),
        (BOTH, -1, "index"),
        (BOTH, 2**31 - 1, "index"),
    ],
)
def test_a_lock_that_is_no_record_of_the_match_is_refused_and_changes_nothing(moves, index, field):
    decisions = even_odd()
    before = len(decisions.events)

    refusal = decisions.lock(moves, index=index).answer

    assert isinstance(refusal, WrongType)
    assert refusal.context["field"] == field
    assert len(decisions.events) == before
    assert isinstance(decisions.lock(BOTH).answer, LockResponse)


@rule("R-LEAGUE-06")
@pytest.mark.parametrize(
    ("moves", "index", "complaint"),
    [
        ([(0, "P01", 2), *DICE[1:]], 1, "differ from those of the lock before"),
        (DICE[2:], 1, "differ from those of the lock before"),
        ([], 1, "differ from those of the lock before"),
        (DICE[:2], 1, "it is lock 0 of the match"),  # no new moves
        (DICE, 2, "it is lock 1 of the match"),
        (DICE, -1, "it is lock 1 of the match"),
    ],
)
def test_a_later_lock_keeps_the_moves_of_the_one_before(moves, index, complaint):
    decisions = dice()
    decisions.lock(DICE[:2])

    refusal = decisions.lock(moves, index=index).answer

    assert isinstance(refusal, WrongType)
    assert complaint in str(refusal)


@rule("R-LEAGUE-06")
def test_no_lock_can_be_left_out():
    """Else a referee could ask for the second moves before the first number is fixed."""
    refusal = dice().lock(DICE, index=1).answer

    assert isinstance(refusal, WrongType)
    assert refusal.context["field"] == "index"


# A lock of an index already locked: the first lock's answer, whatever moves it carries.


@rule("R-LEAGUE-06")
@pytest.mark.parametrize(
    ("moves", "forfeits"),
    [
        (BOTH, []),  # a repeat
        ([(0, "P01", "odd"), (0, "P02", "even")], []),  # other moves
        ([], [("P01", "left")]),
        ([(7, "nobody", None)], []),  # not even moves
    ],
)
def test_a_second_lock_gets_the_first_ones_result(moves, forfeits):
    decisions = even_odd()
    first = decisions.lock(BOTH)

    second = decisions.lock(moves, forfeits)

    assert (second.events, second.answer, second.receipt) == ((), first.answer, True)


@rule("R-LEAGUE-06")
@pytest.mark.parametrize("moves", [DICE[:2], [(0, "P01", 6), (0, "P02", 1)], []])
def test_a_second_lock_of_a_draw_gets_the_first_ones_number_and_moves(moves):
    decisions = dice()
    first = decisions.lock(DICE[:2])

    assert decisions.lock(moves) == Decision((), first.answer)
    decisions.lock(DICE, index=1)
    assert decisions.lock(moves).answer == first.answer  # also when the match is decided


@rule("R-LEAGUE-06")
@pytest.mark.parametrize("index", [-1, 0, 1, 5])
def test_any_lock_of_a_decided_match_gets_its_result(index):
    decisions = even_odd()
    first = decisions.lock(BOTH)

    assert decisions.lock(BOTH, index=index).answer == first.answer


@rule("R-LEAGUE-06")
def test_a_lock_after_two_draws_names_each_by_its_index():
    decisions = dice()
    first, second = decisions.lock(DICE[:2]), decisions.lock(DICE, index=1)

    assert decisions.lock([], index=0).answer == first.answer
    assert decisions.lock([], index=1).answer == second.answer
    assert decisions.lock([], index=-1).answer == second.answer


# Not this match's referee, and old epochs.


@rule("R-LEAGUE-07")
@pytest.mark.parametrize("act", ["lock", "report"])
def test_another_referee_is_refused_and_journalled_once(act):
    decisions = even_odd()
    acts = {
        "lock": lambda: decisions.lock(BOTH, referee="REF02"),
        "report": lambda: decisions.report("P01", referee="REF02"),
    }

    first, second = acts[act](), acts[act]()

    assert first.events == (Disputed("R1M1", "REF02", "not its referee"),)
    assert second.events == ()
    for refusal in (first.answer, second.answer):
        assert isinstance(refusal, MatchMismatch)
        assert refusal.number_for("LOCK_REQUEST") == 5002
        assert refusal.number_for("MATCH_RESULT_REPORT") == 5002
    assert decisions.league.matches["R1M1"].decided is None


@rule("R-LEAGUE-07")
def test_each_referee_and_match_has_its_own_dispute():
    decisions = Decisions(4, referees=3).start()

    stray = [("R1M1", "REF02"), ("R1M1", "REF03"), ("R1M2", "REF01"), ("R1M2", "REF01")]
    rulings = [decisions.lock([], match_id=m, referee=r) for m, r in stray]

    assert [len(ruling.events) for ruling in rulings] == [1, 1, 1, 0]


@rule("R-LEAGUE-07")
@pytest.mark.parametrize("match_id", ["R9M9", "R2M1", "", "r1m1"])
def test_a_match_that_is_not_scheduled_is_nobodys_and_leaves_no_row(match_id):
    decisions = Decisions(4).start()

    for ruling in (
        decisions.lock(BOTH, match_id=match_id),
        decisions.report("P01", match_id=match_id),
    ):
        assert isinstance(ruling.answer, MatchMismatch)
        assert ruling.events == ()


@rule("R-LEAGUE-08")
def test_a_lock_of_another_epoch_is_told_the_current_one():
    for reach in [even_odd, decided, closed]:
        for epoch in [0, 2, -1]:
            ruling = reach().lock(BOTH, epoch=epoch)

            assert ruling.events == ()
            assert isinstance(ruling.answer, MatchMismatch)
            assert ruling.answer.context["epoch"] == 1


@rule("R-LEAGUE-08")
@pytest.mark.parametrize("reach", [even_odd, decided, closed])
def test_a_report_of_another_epoch_with_another_result_is_no_dispute(reach):
    ruling = reach().report("P02", epoch=2)

    assert ruling.events == ()
    assert isinstance(ruling.answer, MatchMismatch)
    assert ruling.answer.context["epoch"] == 1


@rule("R-LEAGUE-08")
def test_a_report_of_another_epoch_with_the_same_result_is_accepted():
    ruling = decided().report("P01", epoch=2)

    assert ruling.events == (MatchClosed("R1M1", 1),)


# Reports.


@rule("R-LEAGUE-09")
def test_the_first_report_closes_the_match_and_later_ones_are_duplicates():
    decisions = decided()

    first, second = decisions.report("P01"), decisions.report("P01")

    assert first.events == (MatchClosed("R1M1", 1),)
    assert first.answer == MatchResultAck(match_id="R1M1", round_id=1)
    assert second.events == ()
    assert second.answer == MatchResultAck(match_id="R1M1", round_id=1, duplicate=True)
    assert first.receipt
    assert second.receipt


SAME = {"status": "TECHNICAL_LOSS", "choices": {"P01": "even", "P02": None}}


@rule("R-LEAGUE-09")
@pytest.mark.parametrize(
    "details",
    [
        {},
        SAME,
        {"status": "TECHNICAL_LOSS"},
        {"choices": {"P02": None, "P01": "even"}},
    ],
)
def test_a_report_agrees_where_it_says_anything(details):
    assert isinstance(decided().report("P01", details=details).answer, MatchResultAck)


@rule("R-LEAGUE-10")
def test_a_report_of_another_result_is_refused_and_journalled_once():
    for reach in [decided, closed]:
        for winner, details in [
            ("P02", {}),
            (None, {}),
            ("P03", {}),
            ("P01", {"status": "WIN"}),
            ("P01", {"drawn_number": 4}),
            ("P01", {"choices": {"P01": "odd", "P02": None}}),
            ("P01", {"choices": {"P01": "even"}}),
            ("P01", {"game_details": {"wins": [1, 0]}}),
        ]:
            decisions = reach()
            stands = decisions.league.matches["R1M1"].decided.result

            first = decisions.report(winner, details=details)
            second = decisions.report(winner, details=details)

            assert first.events == (Disputed("R1M1", "REF01", "another result"),)
            assert second.events == ()
            assert isinstance(first.answer, DuplicateReport)
            assert isinstance(second.answer, DuplicateReport)
            assert (first.answer.code, first.answer.number) == ("E044", 5003)
            assert decisions.league.matches["R1M1"].decided.result == stands


@rule("R-LEAGUE-10")
def test_after_a_dispute_the_right_report_still_closes_the_match():
    decisions = decided()
    decisions.report("P02")

    assert decisions.report("P01").events == (MatchClosed("R1M1", 1),)


@rule("R-LEAGUE-11")
def test_a_referee_that_locks_must_lock_before_it_reports():
    decisions = even_odd()

    ruling = decisions.report("P01")

    assert ruling.events == ()
    assert isinstance(ruling.answer, UnexpectedMessage)
    assert ruling.answer.code == "E040"


# A referee that does not lock is believed, and its match is marked.


@rule("R-LEAGUE-12")
@pytest.mark.parametrize(
    ("winner", "details", "result"),
    [
        ("P02", {}, GameResult("WIN", "P02", None, None, {"P01": None, "P02": None})),
        (None, {}, GameResult("DRAW", None, None, None, {"P01": None, "P02": None})),
        (
            "P01",
            {"drawn_number": 8, "choices": {"P01": "even", "P02": "odd"}, "status": "WIN"},
            GameResult("WIN", "P01", 8, None, {"P01": "even", "P02": "odd"}),
        ),
        (
            "P01",
            {"status": "TECHNICAL_LOSS"},
            GameResult("TECHNICAL_LOSS", "P01", None, None, {"P01": None, "P02": None}),
        ),
        (
            None,
            {"status": "TECHNICAL_LOSS"},
            GameResult("TECHNICAL_LOSS", None, None, None, {"P01": None, "P02": None}),
        ),
    ],
)
def test_a_referee_that_does_not_lock_is_believed_and_its_match_is_marked(winner, details, result):
    decisions, ruling = believed(winner, **details)

    event, close = ruling.events
    assert (event.verified, event.moves, event.forfeits) == (False, [], [])
    assert event.result == replace(result, reason="as the referee reported it")
    assert close == MatchClosed("R1M1", 1, told="unverified")
    assert ruling.answer == MatchResultAck(match_id="R1M1", round_id=1)
    assert ruling.receipt
    assert decisions.report(winner, details=details).answer.duplicate is True


@rule("R-LEAGUE-12")
@pytest.mark.parametrize(
    ("winner", "details", "field"),
    [
        ("P03", {}, "result.winner"),
        ("Somebody", {}, "result.winner"),
    ],
)
def test_what_cannot_be_believed_is_refused(winner, details, field):
    decisions, ruling = believed(winner, **details)

    assert isinstance(ruling.answer, WrongType)
    assert ruling.answer.context["field"] == field
    assert ruling.events == ()
    assert decisions.league.matches["R1M1"].decided is None


@rule("R-LEAGUE-12")
def test_a_referee_that_does_not_lock_cannot_take_its_report_back():
    decisions, _ = believed("P01")

    ruling = decisions.report("P02")

    assert isinstance(ruling.answer, DuplicateReport)
    assert decisions.league.matches["R1M1"].decided.result.winner_player_id == "P01"


@rule("R-LEAGUE-13")
def test_the_commitment_is_fixed_before_the_match_and_opened_with_the_result():
    decisions = even_odd()
    sealed = decisions.league.matches["R1M1"].commitment

    draw = decisions.lock(BOTH).answer.draw

    assert draw.commitment == sealed
    assert draws.commitment(bytes.fromhex(draw.seed), LEAGUE_ID, "R1M1") == sealed
    assert decisions.adjudicator.commitment("R1M2") != sealed


@rule("R-MATCH-26")
def test_only_of_a_player_that_forfeited_is_it_believed_that_it_let_every_attempt_run_out():
    said = dict.fromkeys(("P01", "P02", "P09"), "CHOOSE_PARITY_CALL")

    def kept(moves, forfeits, timed_out):
        decisions = Decisions(2).start()
        winner = decisions.lock(moves, forfeits).answer.result.winner
        return decisions.report(winner, timed_out=timed_out).events[0].timed_out

    moves = [(0, "P01", "even"), (0, "P02", "odd")]
    assert kept(moves, [], said) is UNSET
    assert kept(moves, [], dict.fromkeys(said)) == {"P01": None, "P02": None}
    assert kept([], [("P01", "failed")], said) == {"P01": "CHOOSE_PARITY_CALL"}
