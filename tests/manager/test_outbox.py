"""The outbox: to each agent in order, one message at a time."""

from agentleague.manager.assignments import Workload
from agentleague.manager.outbox import Outbox, Outgoing
from agentleague.protocol.messages import (
    LeagueStandingsUpdate,
    RoundAnnouncement,
    RoundCompleted,
)
from agentleague.roles.effects import Address

ANN = Address("P01", "http://ann/mcp")
BOB = Address("P02", "http://bob/mcp")


def table(round_id):
    return Outgoing(LeagueStandingsUpdate(round_id=round_id), f"table {round_id}")


def completed(round_id):
    return Outgoing(RoundCompleted(round_id=round_id), f"completed {round_id}")


def sent(calls):
    return [(call.to.agent_id, call.message.round_id, call.until) for call in calls]


def test_a_second_message_waits_for_the_answer_to_the_first():
    outbox = Outbox(10.0)

    assert sent(outbox.send(ANN, completed(1), 0.0)) == [("P01", 1, 10.0)]
    assert outbox.send(ANN, completed(2), 0.0) == []
    tag, calls = outbox.answered(ANN, 3.0, ran_out=False)

    assert tag == "completed 1"
    assert sent(calls) == [("P01", 2, 13.0)]


def test_agents_do_not_wait_for_one_another():
    outbox = Outbox(10.0)
    outbox.send(ANN, completed(1), 0.0)

    assert len(outbox.send(BOB, completed(1), 0.0)) == 1


def test_where_there_is_no_room_messages_wait_their_turn():
    outbox, carl = Outbox(10.0, called_max=1), Address("P03", "http://carl/mcp")
    outbox.send(ANN, completed(1), 0.0)
    assert outbox.send(BOB, table(1), 0.0) == []
    assert outbox.send(carl, completed(1), 0.0) == []
    assert outbox.send(ANN, completed(2), 0.0) == []

    assert outbox.send(BOB, table(2), 0.0) == []  # It replaces one that was never sent.
    moved = Address("P03", "http://elsewhere/mcp")
    assert outbox.send(moved, completed(2), 0.0) == []
    told = []
    to, now = ANN, 0.0
    while not outbox.is_empty():
        now += 1.0
        _, calls = outbox.answered(to, now, ran_out=False)
        told += [(call.to.url, call.message.round_id, call.until) for call in calls]
        to = calls[0].to if calls else to

    assert told == [
        ("http://bob/mcp", 2, 11.0),
        ("http://elsewhere/mcp", 1, 12.0),
        ("http://ann/mcp", 2, 13.0),
        ("http://elsewhere/mcp", 2, 14.0),
    ]


def test_a_newer_table_replaces_one_that_waits_but_not_one_in_flight():
    outbox = Outbox(10.0)
    outbox.send(ANN, table(1), 0.0)
    outbox.send(ANN, table(2), 0.0)
    outbox.send(ANN, table(3), 0.0)

    _, calls = outbox.answered(ANN, 1.0, ran_out=False)
    assert sent(calls) == [("P01", 3, 11.0)]
    assert outbox.answered(ANN, 2.0, ran_out=False) == ("table 3", [])
    assert outbox.is_empty()


def test_for_an_agent_that_let_a_message_run_out_only_the_newest_of_each_type_waits():
    outbox = Outbox(10.0)
    for outgoing in (completed(1), table(1), completed(2), table(2)):
        outbox.send(ANN, outgoing, 0.0)

    _, calls = outbox.answered(ANN, 10.0, ran_out=True)
    outbox.send(ANN, completed(3), 11.0)

    assert sent(calls) == [("P01", 2, 20.0)]
    tags = []
    while not outbox.is_empty():
        tags.append(outbox.answered(ANN, 12.0, ran_out=False)[0])
    assert tags == ["completed 2", "table 2", "completed 3"]


def test_once_it_answers_nothing_is_dropped_any_more():
    outbox = Outbox(10.0)
    outbox.send(ANN, completed(1), 0.0)
    outbox.answered(ANN, 10.0, ran_out=True)
    outbox.send(ANN, completed(2), 10.0)
    outbox.answered(ANN, 11.0, ran_out=False)

    for round_id in (3, 4, 5):
        outbox.send(ANN, completed(round_id), 12.0)

    tags = [outbox.answered(ANN, 13.0, ran_out=False)[0] for _ in range(3)]
    assert tags == ["completed 3", "completed 4", "completed 5"]


def test_what_is_told_again_is_told_once_and_last():
    outbox = Outbox(10.0)
    for outgoing in (table(1), completed(1), completed(2)):
        outbox.send(ANN, outgoing, 0.0)

    outbox.send(ANN, Outgoing(RoundCompleted(round_id=1), "completed 1", keep=True), 0.0)

    tags = [outbox.answered(ANN, 1.0, ran_out=False)[0] for _ in range(3)]
    assert tags == ["table 1", "completed 2", "completed 1"]
    assert outbox.is_empty()


def test_assignments_are_never_dropped():
    outbox = Outbox(10.0)
    outbox.send(ANN, completed(1), 0.0)
    for number in (1, 2):
        outbox.send(ANN, Outgoing(RoundAnnouncement(round_id=number), number, keep=True), 0.0)

    _, calls = outbox.answered(ANN, 10.0, ran_out=True)

    assert sent(calls) == [("P01", 1, 20.0)]
    assert outbox.answered(ANN, 11.0, ran_out=False)[0] == 1
    assert outbox.dropped == []


def test_a_referee_gets_no_more_than_it_can_take_and_more_when_it_reports():
    workload = Workload(lambda match_id: True, 64)
    workload.join("REF01", 2)
    for number in (1, 2, 3):
        workload.plan("REF01", f"R1M{number}")

    assert workload.take("REF01", 20) == ["R1M1", "R1M2"]
    assert workload.take("REF01", 20) == []
    workload.done("REF01", "R1M1")
    assert workload.take("REF01", 1) == ["R1M3"]


def test_what_a_referee_did_not_hear_of_comes_first_again():
    workload = Workload(lambda match_id: True, 64)
    workload.join("REF01", 2)
    for number in (1, 2, 3):
        workload.plan("REF01", f"R1M{number}")
    taken = workload.take("REF01", 2)

    workload.give_back("REF01", taken)

    assert workload.take("REF01", 2) == ["R1M1", "R1M2"]
    assert workload.referees == ["REF01"]


def test_a_match_that_was_closed_meanwhile_is_not_handed_out_again():
    still_open = {"R1M1", "R1M2", "R1M3"}
    workload = Workload(still_open.__contains__, 64)
    workload.join("REF01", 2)
    for number in (1, 2, 3):
        workload.plan("REF01", f"R1M{number}")
    workload.give_back("REF01", workload.take("REF01", 2))

    still_open.discard("R1M1")

    assert workload.take("REF01", 20) == ["R1M2", "R1M3"]


def test_a_report_that_repeats_is_answered_with_the_same_next_match():
    still_open = {"R1M1", "R1M2", "R1M3"}
    workload = Workload(still_open.__contains__, 64)
    workload.join("REF01", 1)
    for number in (1, 2, 3):
        workload.plan("REF01", f"R1M{number}")
    workload.take("REF01", 1)
    workload.done("REF01", "R1M1")

    assert workload.take_after("REF01", "R1M1") == ["R1M2"]
    assert workload.take_after("REF01", "R1M1") == ["R1M2"]
    still_open.discard("R1M2")
    assert workload.take_after("REF01", "R1M1") == []


def test_an_agent_that_lags_and_waits_for_room_waits_once():
    outbox = Outbox(10.0, called_max=1)
    outbox.send(BOB, completed(1), 0.0)
    outbox.answered(BOB, 10.0, ran_out=True)
    outbox.send(ANN, completed(1), 10.0)
    outbox.send(BOB, completed(2), 10.0)
    outbox.send(BOB, completed(3), 10.0)  # Bob lags: the newest of each type is enough.

    _, calls = outbox.answered(ANN, 11.0, ran_out=False)

    assert sent(calls) == [("P02", 3, 21.0)]
    assert outbox.answered(BOB, 12.0, ran_out=False) == ("completed 3", [])
    assert outbox.is_empty()
