"""The outbox: to each agent in order, one message at a time or a few in a row."""

import pytest

from agentleague.errors import NoAnswer, NoConnection
from agentleague.manager import outbox as module
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


def test_a_second_letter_waits_for_the_answer_to_the_first():
    outbox = Outbox(10.0)

    assert sent(outbox.send(ANN, completed(1), 0.0)) == [("P01", 1, 10.0)]
    assert outbox.send(ANN, completed(2), 0.0) == []
    tag, calls = outbox.answered(ANN, 0, 3.0)

    assert tag == "completed 1"
    assert sent(calls) == [("P01", 2, 13.0)]


def test_an_agent_of_a_house_gets_a_few_letters_in_a_row_and_answers_them_in_any_order():
    outbox, eve = Outbox(10.0), Address("P05", "http://eve/mcp", house="h")
    in_a_row = module.IN_A_ROW_MAX

    calls = [call for n in range(6) for call in outbox.send(eve, completed(n), 0.0)]
    assert [call.key for call in calls] == [("tell", "P05", n) for n in range(in_a_row)]

    tag, calls = outbox.answered(eve, 2, 1.0)
    assert (tag, calls[0].key, calls[0].message.round_id) == ("completed 2", ("tell", "P05", 2), 4)
    answered = [outbox.answered(eve, n, 2.0) for n in (3, 0, 1, 2)]
    assert [tag for tag, _ in answered] == [f"completed {n}" for n in (3, 0, 1, 4)]
    assert not outbox.is_empty()
    assert outbox.answered(eve, 3, 2.0) == ("completed 5", [])
    assert outbox.is_empty()


def test_once_it_lets_a_letter_run_out_it_gets_one_at_a_time_until_it_answers():
    outbox, eve = Outbox(10.0), Address("P05", "http://eve/mcp", house="h")
    for n in (1, 2):
        outbox.send(eve, completed(n), 0.0)

    outbox.answered(eve, 0, 10.0, NoAnswer("late"))
    assert outbox.send(eve, table(3), 10.0) == []
    tag, calls = outbox.answered(eve, 1, 10.0)  # It answers: all goes on.
    assert (tag, len(calls)) == ("completed 2", 1)
    assert len(outbox.send(eve, completed(4), 10.0)) == 1


@pytest.mark.parametrize("lost", [NoAnswer("late"), NoConnection("gone")])
def test_what_is_lost_behind_another_letter_goes_once_more_by_itself_and_in_order(lost):
    outbox, eve = Outbox(10.0), Address("P05", "http://eve/mcp", house="h")
    for outgoing in (table(1), completed(1), Outgoing(RoundAnnouncement(round_id=2), "round 2")):
        outbox.send(eve, outgoing, 0.0)
    outbox.send(BOB, completed(1), 0.0)

    told = [outbox.answered(eve, number, 10.0, lost)[0] for number in (0, 1, 2)]
    assert told == ["table 1", None, None]

    told = []
    while not outbox.is_empty():
        number = next(iter(outbox._in_flight.get("P05", {})), None)
        if number is None:
            outbox.answered(BOB, 0, 10.0)
            continue
        told.append(outbox.answered(eve, number, 20.0, lost)[0])
    assert told == ["completed 1", "round 2"]  # A second time it is given up.


def test_no_table_goes_again_after_a_newer_one():
    outbox, eve = Outbox(10.0), Address("P05", "http://eve/mcp", house="h")
    for outgoing in (completed(1), table(1), completed(2), table(2)):
        outbox.send(eve, outgoing, 0.0)

    outbox.answered(eve, 3, 1.0)
    tag, calls = outbox.answered(eve, 1, 10.0, NoConnection("gone"))  # Its answer was lost.

    assert (tag, calls) == ("table 1", [])


def test_an_agent_takes_one_place_however_many_letters_are_on_their_way_to_it(monkeypatch):
    monkeypatch.setattr(module, "CALLED_MAX", 2)
    outbox, eve = Outbox(10.0), Address("P05", "http://eve/mcp", house="h")

    calls = [call for n in range(4) for call in outbox.send(eve, completed(n), 0.0)]

    assert len(calls) == 4
    assert len(outbox.send(BOB, completed(1), 0.0)) == 1
    assert outbox.send(ANN, completed(1), 0.0) == []
    for number in (0, 1, 2):
        assert outbox.answered(eve, number, 1.0)[1] == []
    assert outbox.answered(eve, 3, 1.0)[1][0].to == ANN


def test_where_there_is_no_room_all_that_waits_for_an_agent_goes_together(monkeypatch):
    monkeypatch.setattr(module, "CALLED_MAX", 1)
    outbox = Outbox(10.0)
    eve, eva = (Address(f"P0{n}", "http://eve/mcp", house="h") for n in (5, 6))
    outbox.send(ANN, completed(1), 0.0)
    for outgoing in (completed(1), completed(2)):
        outbox.send(eve, outgoing, 0.0)
        outbox.send(eva, outgoing, 0.0)

    calls = outbox.answered(ANN, 0, 1.0)[1]

    assert [call.key for call in calls] == [("tell", "P05", 0), ("tell", "P05", 1)]


def test_who_comes_back_as_an_agent_of_a_house_still_gets_what_waits():
    outbox, eve = Outbox(10.0), Address("P05", "http://eve/mcp", house="h")
    outbox.send(Address("P05", "http://eve/mcp"), completed(1), 0.0)
    outbox.send(Address("P05", "http://eve/mcp"), completed(2), 0.0)

    calls = outbox.send(eve, completed(3), 0.0)
    calls += outbox.answered(eve, 0, 1.0)[1]

    assert [call.message.round_id for call in calls] == [2, 3]


def test_agents_do_not_wait_for_one_another():
    outbox = Outbox(10.0)
    outbox.send(ANN, completed(1), 0.0)

    assert len(outbox.send(BOB, completed(1), 0.0)) == 1


def test_where_there_is_no_room_letters_wait_their_turn(monkeypatch):
    monkeypatch.setattr(module, "CALLED_MAX", 1)
    outbox, carl = Outbox(10.0), Address("P03", "http://carl/mcp")
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
        _, calls = outbox.answered(to, 0, now)
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

    _, calls = outbox.answered(ANN, 0, 1.0)
    assert sent(calls) == [("P01", 3, 11.0)]
    assert outbox.answered(ANN, 0, 2.0) == ("table 3", [])
    assert outbox.is_empty()


def test_for_an_agent_that_let_a_letter_run_out_only_the_newest_of_each_type_waits():
    outbox = Outbox(10.0)
    for outgoing in (completed(1), table(1), completed(2), table(2)):
        outbox.send(ANN, outgoing, 0.0)

    _, calls = outbox.answered(ANN, 0, 10.0, NoAnswer("late"))
    outbox.send(ANN, completed(3), 11.0)

    assert sent(calls) == [("P01", 2, 20.0)]
    tags = []
    while not outbox.is_empty():
        tags.append(outbox.answered(ANN, 0, 12.0)[0])
    assert tags == ["completed 2", "table 2", "completed 3"]


def test_once_it_answers_nothing_is_dropped_any_more():
    outbox = Outbox(10.0)
    outbox.send(ANN, completed(1), 0.0)
    outbox.answered(ANN, 0, 10.0, NoAnswer("late"))
    outbox.send(ANN, completed(2), 10.0)
    outbox.answered(ANN, 0, 11.0)

    for round_id in (3, 4, 5):
        outbox.send(ANN, completed(round_id), 12.0)

    tags = [outbox.answered(ANN, 0, 13.0)[0] for _ in range(3)]
    assert tags == ["completed 3", "completed 4", "completed 5"]


def test_assignments_are_never_dropped():
    outbox = Outbox(10.0)
    outbox.send(ANN, completed(1), 0.0)
    for number in (1, 2):
        outbox.send(ANN, Outgoing(RoundAnnouncement(round_id=number), number, keep=True), 0.0)

    _, calls = outbox.answered(ANN, 0, 10.0, NoAnswer("late"))

    assert sent(calls) == [("P01", 1, 20.0)]
    assert outbox.answered(ANN, 0, 11.0)[0] == 1
    assert outbox.dropped == []


def test_a_referee_gets_no_more_than_it_can_take_and_more_when_it_reports():
    workload = Workload(lambda match_id: True)
    workload.join("REF01", 2)
    for number in (1, 2, 3):
        workload.plan("REF01", f"R1M{number}")

    assert workload.take("REF01", 20) == ["R1M1", "R1M2"]
    assert workload.take("REF01", 20) == []
    workload.done("REF01", "R1M1")
    assert workload.take("REF01", 1) == ["R1M3"]


def test_what_a_referee_did_not_hear_of_comes_first_again():
    workload = Workload(lambda match_id: True)
    workload.join("REF01", 2)
    for number in (1, 2, 3):
        workload.plan("REF01", f"R1M{number}")
    taken = workload.take("REF01", 2)

    workload.give_back("REF01", taken)

    assert workload.take("REF01", 2) == ["R1M1", "R1M2"]
    assert workload.referees == ["REF01"]


def test_a_match_that_was_closed_meanwhile_is_not_handed_out_again():
    still_open = {"R1M1", "R1M2", "R1M3"}
    workload = Workload(still_open.__contains__)
    workload.join("REF01", 2)
    for number in (1, 2, 3):
        workload.plan("REF01", f"R1M{number}")
    workload.give_back("REF01", workload.take("REF01", 2))

    still_open.discard("R1M1")

    assert workload.take("REF01", 20) == ["R1M2", "R1M3"]


def test_a_report_that_repeats_is_answered_with_the_same_next_match():
    still_open = {"R1M1", "R1M2", "R1M3"}
    workload = Workload(still_open.__contains__)
    workload.join("REF01", 1)
    for number in (1, 2, 3):
        workload.plan("REF01", f"R1M{number}")
    workload.take("REF01", 1)
    workload.done("REF01", "R1M1")

    assert workload.take_after("REF01", "R1M1") == ["R1M2"]
    assert workload.take_after("REF01", "R1M1") == ["R1M2"]
    still_open.discard("R1M2")
    assert workload.take_after("REF01", "R1M1") == []


def test_an_agent_that_lags_and_waits_for_room_waits_once(monkeypatch):
    monkeypatch.setattr(module, "CALLED_MAX", 1)
    outbox = Outbox(10.0)
    outbox.send(BOB, completed(1), 0.0)
    outbox.answered(BOB, 0, 10.0, NoAnswer("late"))
    outbox.send(ANN, completed(1), 10.0)
    outbox.send(BOB, completed(2), 10.0)
    outbox.send(BOB, completed(3), 10.0)  # Bob lags: the newest of each type is enough.

    _, calls = outbox.answered(ANN, 0, 11.0)

    assert sent(calls) == [("P02", 3, 21.0)]
    assert outbox.answered(BOB, 0, 12.0) == ("completed 3", [])
    assert outbox.is_empty()
