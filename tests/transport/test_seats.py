"""The queue of calls at the manager: handed out again and again, answered once."""

import pytest

from agentleague.errors import WrongType
from agentleague.protocol.messages import GameInvitation, GameMoveCall
from agentleague.protocol.seats import Poll, Receipt, SeatAnswer
from agentleague.simulation.clock import VirtualClock
from agentleague.transport.seats import Seats
from rules import rule

FIRST = 1_000


class Table:
    """One manager's seats, and what became of the polls and calls there."""

    def __init__(self):
        self.clock = VirtualClock()
        self.seats = Seats(self.clock, FIRST)
        self.answers = {}

    def call(self, body="ask", seat="P01", seconds=30.0, proof=""):
        def done(status, answer):
            self.answers.setdefault(body, []).append((status, answer.decode()))

        return self.seats.call(seat, body.encode(), proof, self.clock.now() + seconds, done)

    def poll(self, epoch, seat="P01", ack=0, wait=0.0, answers=()):
        """What is said to a poll, as soon as it is said."""
        said = []
        sent = tuple(SeatAnswer(call_id, 200, "yes") for call_id in answers)
        self.seats.poll(seat, Poll(epoch, ack, wait, sent), said.append)
        return said

    def pass_time(self, seconds):
        over = []
        self.clock.call_at(self.clock.now() + seconds, lambda: over.append(True))
        self.clock.run(lambda: over)


@pytest.fixture
def table():
    return Table()


def bodies(said):
    return [call.body for call in said[0].calls]


@rule("R-SEAT-03", "R-SEAT-04")
def test_a_call_is_handed_out_until_it_is_answered_and_answered_once(table):
    epoch = table.seats.open("P01")
    table.call(proof="p")

    first, second = table.poll(epoch), table.poll(epoch)
    (call,) = first[0].calls
    taken = table.poll(epoch, answers=[call.id])
    again = table.poll(epoch, answers=[call.id])

    assert first == second
    assert (call.seq, call.body, call.proof, call.seconds) == (1, "ask", "p", 30.0)
    assert taken[0].receipts == (Receipt(call.id, "taken"),)
    assert again[0].receipts == (Receipt(call.id, "duplicate"),)
    assert table.answers == {"ask": [(200, "yes")]}


@rule("R-SEAT-06")
def test_a_referee_finds_an_unopened_seat_away_for_10_s_and_then_waits_there(table):
    message, said = GameInvitation(match_id="R1M1"), []

    def refer(seat):
        table.seats.refer(seat, b"ask", message, lambda *answer: said.append((seat, *answer)))
        table.pass_time(0.0)

    refer("P01")
    table.seats.open("P02")
    refer("P02")
    table.pass_time(10.0)
    refer("P01")

    assert said == [("P01", 503, b"")]
    assert bodies(table.poll(table.seats.open("P01"))) == ["ask"]


@rule("R-SEAT-02")
def test_the_seconds_of_a_referees_call_are_those_of_its_message_or_not_known(table):
    epoch, deadlines = table.seats.open("P01"), ["1970-01-01T00:00:12Z", "soon", ""]
    messages = [GameMoveCall(deadline=each) for each in deadlines]
    for message in (*messages, GameInvitation(match_id="R1M1")):
        table.seats.refer("P01", b"ask", message, print)
    table.pass_time(2.0)

    (said,) = table.poll(epoch)

    assert [call.seconds for call in said.calls] == [9.999, 0.0, 0.0, 0.0]


@rule("R-SEAT-03")
def test_what_was_acknowledged_comes_again_only_to_who_opens_the_seat_anew(table):
    epoch = table.seats.open("P01")
    table.call("one"), table.call("two")
    table.poll(epoch)

    assert bodies(table.poll(epoch, ack=1)) == ["two"]
    assert bodies(table.poll(epoch, ack=0)) == ["two"]
    assert bodies(table.poll(table.seats.open("P01"))) == ["one", "two"]


@rule("R-SEAT-03")
def test_an_acknowledgement_of_what_was_never_handed_out_changes_nothing(table):
    epoch = table.seats.open("P01")
    table.call()
    (call,) = table.poll(epoch)[0].calls
    table.call("later")

    with pytest.raises(WrongType, match=r"poll.ack: 2 is ahead of 1, .* send the seq"):
        table.poll(epoch, ack=2, answers=[call.id])

    assert table.answers == {}
    assert bodies(table.poll(epoch)) == ["ask", "later"]


@rule("R-SEAT-02")
def test_a_poll_is_held_until_there_is_a_call_and_takes_all_that_are_made_at_once(table):
    epoch = table.seats.open("P01")
    said = table.poll(epoch, wait=25)

    table.call("one"), table.call("two")
    assert said == []
    table.pass_time(0.0)

    assert bodies(said) == ["one", "two"]


@pytest.mark.parametrize("wait", [3, 25, 100])
def test_a_poll_returns_empty_after_its_wait_and_never_later_than_25_s(table, wait):
    epoch = table.seats.open("P01")
    said = table.poll(epoch, wait=wait)

    table.pass_time(min(wait, 25) - 0.1)
    assert said == []
    table.pass_time(0.2)

    assert [(each.state, each.calls, each.receipts) for each in said] == [("open", (), ())]


def test_the_receipts_of_a_held_poll_come_when_it_ends(table):
    epoch = table.seats.open("P01")
    table.call()
    (call,) = table.poll(epoch)[0].calls

    said = table.poll(epoch, ack=1, wait=25, answers=[call.id])
    assert table.answers == {"ask": [(200, "yes")]}
    assert said == []
    table.call("next")
    table.pass_time(0.0)

    assert said[0].receipts == (Receipt(call.id, "taken"),)
    assert bodies(said) == ["next"]


@rule("R-SEAT-02")
def test_a_second_poll_ends_the_first_at_once(table):
    epoch = table.seats.open("P01")
    first = table.poll(epoch, wait=25)
    second = table.poll(epoch, wait=25)

    assert [each.state for each in first] == ["superseded"]
    assert second == []
    table.call()
    table.pass_time(0.0)
    assert len(first) == 1
    assert bodies(second) == ["ask"]


def test_a_poll_whose_connection_is_lost_takes_no_call_with_it(table):
    epoch, lost = table.seats.open("P01"), []
    cancel = table.seats.poll("P01", Poll(epoch), lost.append)

    table.call()
    cancel()
    table.pass_time(30.0)

    assert lost == []


@rule("R-SEAT-01")
def test_the_newest_who_opens_a_seat_has_it(table):
    old = table.seats.open("P01", "a")
    table.call()
    (call,) = table.poll(old)[0].calls
    held = table.poll(old, ack=1, wait=25)
    new = table.seats.open("P01", "b")

    assert [each.state for each in held] == ["taken"]
    late = table.poll(old, answers=[call.id])
    assert (late[0].state, late[0].receipts) == ("taken", (Receipt(call.id, "stale"),))
    assert table.answers == {}
    assert bodies(table.poll(new, answers=[call.id])) == []
    assert table.answers == {"ask": [(200, "yes")]}


@rule("R-SEAT-01")
def test_a_client_that_opens_its_seat_twice_has_one_epoch(table):
    first = table.seats.open("P01", "a")
    held = table.poll(first, wait=25)

    assert table.seats.open("P01", "a") == first
    assert held == []
    second = table.seats.open("P01", "b")
    assert table.seats.open("P01", "a") == first < second
    assert table.poll(first)[0].state == "taken"


@rule("R-SEAT-02")
@pytest.mark.parametrize("epoch", [0, FIRST - 5, FIRST + 50])
@pytest.mark.parametrize("is_open", [True, False])
def test_an_epoch_of_another_process_leads_to_a_new_one(table, epoch, is_open):
    if is_open:
        table.seats.open("P01")

    said = table.poll(epoch, answers=["c900-1"])

    assert (said[0].state, said[0].receipts) == ("reopen", ())


@rule("R-SEAT-04")
def test_an_answer_from_before_a_restart_meets_no_later_call(table):
    epoch = table.seats.open("P01")
    table.call()
    (before,) = table.poll(epoch)[0].calls
    table.seats = Seats(table.clock, FIRST + 500)
    epoch = table.seats.open("P01")
    table.call("other")
    (after,) = table.poll(epoch)[0].calls

    said = table.poll(epoch, answers=[before.id])

    assert before.seq == after.seq
    assert said[0].receipts == (Receipt(before.id, "unknown"),)
    assert table.answers == {}


@rule("R-SEAT-03", "R-SEAT-04")
def test_a_call_ends_at_its_deadline_whether_it_was_fetched_or_not(table):
    epoch = table.seats.open("P01")
    table.call(seconds=5.0)
    (call,) = table.poll(epoch)[0].calls
    table.pass_time(4.0)
    (repeated,) = table.poll(epoch)[0].calls
    table.pass_time(0.9)
    assert table.answers == {}
    table.pass_time(0.2)

    assert (repeated.id, repeated.seconds) == (call.id, 1.0)
    assert table.answers == {"ask": [(408, "")]}
    said = table.poll(epoch, answers=[call.id])
    assert (said[0].receipts, said[0].calls) == ((Receipt(call.id, "late"),), ())


def test_an_answer_that_comes_before_a_late_timer_is_late(table):
    epoch = table.seats.open("P01")
    table.call(seconds=5.0)
    (call,) = table.poll(epoch)[0].calls
    table.clock.time += 5.0  # The process slept.

    assert table.poll(epoch, answers=[call.id])[0].receipts == (Receipt(call.id, "late"),)
    table.pass_time(1.0)
    assert table.answers == {"ask": [(408, "")]}


def test_a_cancelled_call_is_handed_out_no_more_and_its_caller_told_nothing(table):
    epoch = table.seats.open("P01")
    cancel = table.call()
    (call,) = table.poll(epoch)[0].calls

    cancel()
    said = table.poll(epoch, answers=[call.id])
    cancel()
    table.pass_time(60.0)

    assert (said[0].receipts, said[0].calls) == ((Receipt(call.id, "late"),), ())
    assert table.answers == {}


@rule("R-SEAT-05")
def test_at_most_16_calls_wait_at_a_seat(table):
    for number in range(17):
        table.call(str(number))
    table.call("0", seat="P02")
    table.pass_time(0.0)

    assert table.answers == {"16": [(429, "")]}


def test_a_body_that_is_no_text_is_refused(table):
    said = []
    table.seats.call("P01", b"\xff", "", 30.0, lambda *answer: said.append(answer))
    assert said == []
    table.pass_time(0.0)

    assert said == [(400, b"")]


@rule("R-SEAT-06")
def test_one_seat_never_sees_the_calls_of_another_nor_answers_them(table):
    mine, others = table.seats.open("P01"), table.seats.open("P02")
    table.call("secret", seat="P02")
    (call,) = table.poll(others, "P02")[0].calls

    said = table.poll(mine, answers=[call.id])

    assert (said[0].calls, said[0].receipts) == ((), (Receipt(call.id, "unknown"),))
    assert table.answers == {}
    assert table.poll(others, "P01")[0].state == "reopen"


@rule("R-SEAT-05")
@pytest.mark.parametrize(
    ("status", "seen"),
    [
        *((200, 200), (202, 202), (400, 400), (404, 404), (499, 499)),
        # An answer that would break the connection must not look as if the manager were away.
        *((204, 424), (304, 424), (500, 424), (503, 424), (599, 424)),
    ],
)
def test_a_failure_of_the_agent_never_looks_like_one_of_the_manager(table, status, seen):
    epoch = table.seats.open("P01")
    table.call()
    (call,) = table.poll(epoch)[0].calls

    answers = (SeatAnswer(call.id, status, "{}"),)
    table.seats.poll("P01", Poll(epoch, answers=answers, wait=0.0), lambda polled: None)

    assert table.answers == {"ask": [(seen, "{}")]}


def test_an_answer_that_nobody_reads_to_its_end_is_a_failure_of_the_agent(table):
    epoch = table.seats.open("P01")
    table.call()
    (call,) = table.poll(epoch)[0].calls

    answers = (SeatAnswer(call.id, 200, "ä" * 5_121),)
    table.seats.poll("P01", Poll(epoch, answers=answers, wait=0.0), lambda polled: None)

    assert table.answers == {"ask": [(424, "")]}


def test_long_calls_come_one_after_another(table):
    epoch = table.seats.open("P01")
    long = [letter * 40_000 for letter in "abc"]
    for body in long:
        table.call(body)

    assert bodies(table.poll(epoch)) == long[:1]
    assert bodies(table.poll(epoch, ack=1)) == long[1:2]


def test_every_held_poll_ends_with_the_process(table):
    said = [table.poll(table.seats.open(seat), seat, wait=25) for seat in ("P01", "P02", "P03")]
    table.poll(table.seats.open("P04"), "P04")

    table.seats.end_polls()

    assert [each.state for (each,) in said] == ["open"] * 3


def test_what_is_remembered_of_a_seat_is_bounded(table):
    for number in range(200):
        epoch = table.seats.open("P01", f"client {number}")
        table.call()
        (call,) = table.poll(epoch)[0].calls
        table.poll(epoch, answers=[call.id])
    place = table.seats._seats["P01"]

    assert (len(place.over), len(place.clients), len(place.waiting)) == (64, 64, 0)
