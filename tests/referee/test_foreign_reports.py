"""What our referee tells a foreign manager of a match, and what it tells it only once."""

from agentleague.errors import MissingField, NoAnswer
from agentleague.match.machine import Clock
from agentleague.protocol.messages import (
    GameInvitation,
    GameJoinAck,
    GameOver,
    LeagueQuery,
    LeagueQueryResponse,
    MatchResultAck,
    MatchResultReport,
    StartMatch,
)
from agentleague.referee.foreign_manager import StartReplyTimer
from agentleague.roles.stimuli import Answered, Woken
from referee.visit import MATCH, START, Visit, refused, status
from rules import rule
from tables import each_row

NULL_WINNER = status(422, '{"loc": ["result", "winner"], "msg": "none is not allowed"}')
BROKEN = status(500)
UNKNOWN = refused(-32601)
OPEN = LeagueQueryResponse(data={"match": {"match_id": "M1", "status": "pending"}})
OVER = LeagueQueryResponse(data={"match": {"match_id": "M1", "status": "COMPLETED"}})
TAKEN, REJECTED = MatchResultAck(), MatchResultAck("rejected")


def drawn(visit, round_id=1):
    visit.ask(StartMatch([MATCH], round_id=round_id))
    visit.do(Woken(StartReplyTimer("M1")))
    return visit.play(report=False)


def told(answers, visit):
    """What it tells and asks a manager that gives these answers."""
    said, left = [], list(answers)
    while calls := visit.take((MatchResultReport, LeagueQuery)):
        (call,) = calls
        message = call.message
        if isinstance(message, LeagueQuery):
            said.append(message.query_type)
        else:
            said.append((message.result.winner, call.to.dialect))
        answer = left.pop(0)
        error = answer if isinstance(answer, Exception) else None
        visit.do(Answered(call.key, None if error else answer, error, 0.1))
    assert not left
    return said


NULL, EMPTY, DRAW, PLAIN = (None, "tool"), ("", "tool"), ("DRAW", "tool"), (None, "tool+plain")
ASKED = ["GET_MATCH", "GET_SCHEDULE"]


@rule("R-GUEST-06")
@each_row(
    ("answers", "expected"),
    [
        ([TAKEN], [NULL]),
        # It has counted nothing: a draw is told in other words.
        ([NULL_WINNER, TAKEN], [NULL, EMPTY]),
        ([NULL_WINNER, NULL_WINNER, TAKEN], [NULL, EMPTY, DRAW]),
        ([NULL_WINNER] * 3, [NULL, EMPTY, DRAW]),
        ([refused(-32602, "winner must be a text"), TAKEN], [NULL, EMPTY]),
        ([status(400), status(400), TAKEN], [NULL, EMPTY, DRAW]),
        ([REJECTED, TAKEN], [NULL, EMPTY]),
        ([REJECTED] * 3, [NULL, EMPTY, DRAW]),
        # It does not know what it is told, in whatever words.
        ([UNKNOWN], [NULL]),
        ([MissingField("MATCH_RESULT_ACK: missing field 'match_id'")], [NULL]),
        ([refused(said="Unknown method")], [NULL]),
        # It may have counted, and does not say that it has not.
        ([BROKEN, OVER, OVER], [NULL, *ASKED]),
        ([BROKEN, UNKNOWN, UNKNOWN], [NULL, *ASKED]),
        ([status(500, "KeyError: 'winner'"), NoAnswer("late"), OVER], [NULL, *ASKED]),
        ([refused(-32603), OVER, OVER], [NULL, *ASKED]),
        ([refused(-32000), UNKNOWN, OPEN], [NULL, *ASKED]),  # Those of a schedule may be old.
        ([refused(said="the table is locked"), OVER, OVER], [NULL, *ASKED]),
        ([MatchResultAck("error", "M1"), OVER, OVER], [NULL, *ASKED]),
        # It has not.
        ([BROKEN, OPEN, TAKEN], [NULL, ASKED[0], EMPTY]),
        ([BROKEN, OPEN] * 4, [NULL, ASKED[0], EMPTY, ASKED[0], DRAW, ASKED[0], PLAIN, ASKED[0]]),
        ([NULL_WINNER, BROKEN, OVER, OVER], [NULL, EMPTY, *ASKED]),
    ],
)
def test_a_draw_is_told_in_other_words_only_to_a_manager_that_has_not_counted_it(answers, expected):
    visit = drawn(Visit())

    assert told(answers, visit) == expected
    assert visit.role.matches == {}


@rule("R-GUEST-06")
def test_a_report_that_is_no_draw_has_one_winner_in_every_form():
    visit = Visit()
    visit.ask(START)
    ann, bob = visit.take(GameInvitation)
    visit.do(Answered(ann.key, GameJoinAck(), None, 0.1))
    visit.do(Answered(bob.key, GameJoinAck(accept=False), None, 0.1))
    visit.answer(GameOver)

    said = told([BROKEN, OPEN, BROKEN, OPEN], visit)

    assert said == [("P01", "tool"), "GET_MATCH", ("P01", "tool+plain"), "GET_MATCH"]


def test_a_report_that_may_count_is_said_to_be_told_once():
    visit = drawn(Visit())

    told([BROKEN, OVER, OVER], visit)

    assert visit.news()[-1] == (
        "M1: the manager answered its report: no; it may count all the same, so it is not reported "
        "again."
    )


@rule("R-GUEST-06")
def test_where_both_have_lost_nobody_is_told_of_a_draw():
    visit = Visit()
    visit.ask(START)
    visit.answer(GameInvitation, GameJoinAck(accept=False)).answer(GameOver)

    assert told([NULL_WINNER, NULL_WINNER], visit) == [NULL, EMPTY]


@rule("R-GUEST-06")
def test_what_was_taken_is_told_first_from_there_on():
    visit = drawn(Visit())
    told([NULL_WINNER, NULL_WINNER, TAKEN], visit)

    assert told([TAKEN], drawn(visit, round_id=2)) == [DRAW]


def test_silence_is_answered_with_the_same_report():
    visit = Visit()
    visit.ask(START)
    visit.play(report=False).answer(MatchResultReport, None, NoAnswer("late"))
    assert visit.calls == []

    visit.do(Woken(Clock("M1")), visit.woken[Clock("M1")])

    (call,) = visit.take(MatchResultReport)
    assert (call.message.result.winner, call.to.dialect) == NULL


def test_an_answer_about_a_match_that_is_closed_changes_nothing():
    visit = drawn(Visit()).answer(MatchResultReport, None, BROKEN)
    visit.role.matches.clear()

    visit.answer(LeagueQuery, OPEN)

    assert visit.calls == []
