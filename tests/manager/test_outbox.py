"""The outbox: to each agent in order; to agents of ours all at once, to others one by one."""

from agentleague.manager.assignments import Workload
from agentleague.manager.keys import BroadcastCall
from agentleague.manager.outbox import Outbox, Outgoing
from agentleague.protocol.messages import (
    LeagueStandingsUpdate,
    RoundAnnouncement,
    RoundCompleted,
)
from agentleague.roles.effects import Address, Broadcast, Call


class Post:
    """An outbox; those whose names begin with a capital are agents of ours."""

    def __init__(self, called_max=1_000):
        self.places = {}
        self.outbox = Outbox(self.address, 10.0, called_max)

    def address(self, agent_id):
        keys = (b"key",) if agent_id[0].isupper() else ()
        return Address(agent_id, self.places.get(agent_id, f"http://{agent_id}/mcp"), "", keys)

    def sends(self, agent_id, *outgoing, now=0.0):
        """What goes out in one step with these messages to one agent."""
        for each in outgoing:
            self.send(agent_id, each)
        return sent(self.outbox.calls(now))

    def send(self, agent_id, outgoing):
        message, *more = outgoing.message, outgoing.subject, outgoing.receipt
        self.outbox.send([(agent_id, message)], *more, keep=outgoing.keep)

    def hears(self, agent_id, now, **how):
        """The subjects that are done with, and what goes out then."""
        done = self.outbox.answered([agent_id], **{"ran_out": False, **how})
        return list(done), sent(self.outbox.calls(now))


def table(round_id):
    return Outgoing(LeagueStandingsUpdate(round_id=round_id), f"table {round_id}")


def completed(round_id):
    return Outgoing(RoundCompleted(round_id=round_id), f"completed {round_id}")


def sent(effects):
    """To whom, about which rounds, until when."""
    letters = []
    for each in effects:
        if isinstance(each, Call):
            letters.append((each.to.agent_id, [each.message.round_id], each.until))
        else:
            assert isinstance(each, Broadcast)
            for to, letter in each.letters:
                rounds = [message.round_id for message, _ in letter]
                letters.append((to.agent_id, rounds, each.until))
    return letters


def test_a_second_message_waits_for_the_answer_to_the_first():
    post = Post()

    assert post.sends("ann", completed(1), completed(2)) == [("ann", [1], 10.0)]

    assert post.hears("ann", 3.0) == (["completed 1"], [("ann", [2], 13.0)])


def test_an_agent_of_ours_gets_all_that_waits_at_once_and_the_next_after_its_answer():
    post = Post()

    assert post.sends("Ann", table(1), completed(1)) == [("Ann", [1, 1], 10.0)]
    assert post.sends("Ann", completed(2)) == []
    assert post.sends("Ann", table(2), now=2.0) == []

    assert post.hears("Ann", 3.0) == (["table 1", "completed 1"], [("Ann", [2, 2], 13.0)])
    assert post.hears("Ann", 4.0) == (["completed 2", "table 2"], [])
    assert post.outbox.is_empty()


def test_one_broadcast_goes_to_all_of_ours_who_are_told_in_the_same_step():
    post, over = Post(), completed(1)
    over.receipt = 7
    for agent_id in ("Ann", "bob", "Carl"):
        post.send(agent_id, over)

    call, broadcast = post.outbox.calls(0.0)

    assert (call.to.agent_id, call.message, call.receipt) == ("bob", over.message, 7)
    assert [to.agent_id for to, _ in broadcast.letters] == ["Ann", "Carl"]
    assert all(letter == [(over.message, 7)] for _, letter in broadcast.letters)


def test_who_has_heard_a_broadcast_is_counted_once():
    post, key = Post(), BroadcastCall(1)
    for agent_id in ("Ann", "Bob", "Carl", "Dora"):
        post.send(agent_id, completed(1))
    post.outbox.calls(0.0)

    assert post.outbox.heard(key, ["Bob", "Dora"]) == ["Ann", "Carl"]
    assert post.outbox.heard(key, ["Bob"]) == ["Dora"]
    assert post.outbox.heard(key, []) == ["Bob"]


def test_of_messages_whose_connection_was_cut_all_but_the_first_are_told_again():
    post = Post()
    post.sends("Ann", table(1), completed(1), completed(2))

    assert post.hears("Ann", 1.0, is_cut=True) == (["table 1"], [("Ann", [1, 2], 11.0)])
    assert post.hears("Ann", 2.0) == (["completed 1", "completed 2"], [])


def test_a_table_that_is_told_again_is_the_newest_that_may_have_been_seen():
    # Found by chaos, seeds 2180 and 2617: a player that came back was shown fewer results again.
    post = Post()
    post.sends("Ann", completed(1), table(2), completed(2), table(3), completed(3))
    post.sends("Ann", table(4))

    assert post.hears("Ann", 1.0, is_cut=True)[1] == [("Ann", [3, 2, 3, 3, 4], 11.0)]


def test_of_messages_that_ran_out_all_but_the_first_are_told_again_one_by_one():
    post = Post()
    post.sends("Ann", table(1), completed(1), completed(2))

    dropped, given_up = ["completed 1"], ["table 1"]
    assert post.hears("Ann", 10.0, ran_out=True) == (dropped + given_up, [("Ann", [2], 20.0)])

    assert post.sends("Ann", table(3), completed(3)) == []
    assert post.hears("Ann", 11.0) == (["completed 2"], [("Ann", [3, 3], 21.0)])


def test_agents_do_not_wait_for_one_another():
    post = Post()
    post.sends("ann", completed(1))

    assert len(post.sends("bob", completed(1))) == 1


def test_where_there_is_no_room_messages_wait_their_turn():
    post = Post(called_max=1)
    post.sends("ann", completed(1))
    assert post.sends("bob", table(1)) == []
    assert post.sends("Carl", completed(1)) == []
    assert post.sends("ann", completed(2)) == []
    assert post.sends("bob", table(2)) == []  # It replaces one that was never sent.
    assert post.sends("Carl", completed(2)) == []
    assert post.outbox.ready

    told, to = [], "ann"
    while not post.outbox.is_empty():
        _, out = post.hears(to, len(told) + 1.0)
        told += out
        to = out[0][0] if out else to

    assert told == [("bob", [2], 11.0), ("Carl", [1, 2], 12.0), ("ann", [2], 13.0)]


def test_a_message_goes_to_where_its_agent_is_by_then():
    post = Post(called_max=1)
    post.sends("ann", completed(1))
    post.sends("bob", completed(1))
    post.places["bob"] = "http://elsewhere/mcp"

    post.outbox.answered(["ann"], ran_out=False)
    (call,) = post.outbox.calls(1.0)

    assert call.to.url == "http://elsewhere/mcp"


def test_a_newer_table_replaces_one_that_waits_but_not_one_in_flight():
    post = Post()
    post.sends("ann", table(1))
    post.sends("ann", table(2))
    post.sends("ann", table(3))

    assert post.hears("ann", 1.0) == (["table 1"], [("ann", [3], 11.0)])
    assert post.hears("ann", 2.0) == (["table 3"], [])
    assert post.outbox.is_empty()


def test_for_an_agent_that_let_a_message_run_out_only_the_newest_of_each_type_waits():
    post = Post()
    post.sends("ann", completed(1), table(1), completed(2), table(2))

    _, calls = post.hears("ann", 10.0, ran_out=True)
    post.sends("ann", completed(3), now=11.0)

    assert calls == [("ann", [2], 20.0)]
    tags = []
    while not post.outbox.is_empty():
        tags += post.hears("ann", 12.0)[0]
    assert tags == ["completed 2", "table 2", "completed 3"]


def test_once_it_answers_nothing_is_dropped_any_more():
    post = Post()
    post.sends("ann", completed(1))
    post.hears("ann", 10.0, ran_out=True)
    post.sends("ann", completed(2))
    post.hears("ann", 11.0)

    for round_id in (3, 4, 5):
        post.sends("ann", completed(round_id))

    tags = [post.hears("ann", 13.0)[0] for _ in range(3)]
    assert tags == [["completed 3"], ["completed 4"], ["completed 5"]]


def test_what_is_told_again_is_told_once_and_last():
    post = Post()
    post.sends("ann", table(1), completed(1), completed(2))

    post.sends("ann", Outgoing(RoundCompleted(round_id=1), "completed 1", keep=True))

    tags = [post.hears("ann", 1.0)[0] for _ in range(3)]
    assert tags == [["table 1"], ["completed 2"], ["completed 1"]]
    assert post.outbox.is_empty()


def test_assignments_are_never_dropped():
    post = Post()
    post.sends("ann", completed(1))
    for number in (1, 2):
        post.sends("ann", Outgoing(RoundAnnouncement(round_id=number), number, keep=True))

    assert post.hears("ann", 10.0, ran_out=True)[1] == [("ann", [1], 20.0)]
    assert post.hears("ann", 11.0)[0] == [1]
    assert post.hears("ann", 12.0)[0] == [2]


def test_a_referee_gets_no_more_than_it_can_take_and_more_when_it_reports():
    workload = Workload({"R1M1", "R1M2", "R1M3"}, 64)
    workload.join("REF01", 2)
    for number in (1, 2, 3):
        workload.plan("REF01", f"R1M{number}")

    assert workload.take("REF01", 20) == ["R1M1", "R1M2"]
    assert workload.take("REF01", 20) == []
    workload.done("REF01", "R1M1")
    assert workload.take("REF01", 1) == ["R1M3"]


def test_what_a_referee_did_not_hear_of_comes_first_again():
    workload = Workload({"R1M1", "R1M2", "R1M3"}, 64)
    workload.join("REF01", 2)
    for number in (1, 2, 3):
        workload.plan("REF01", f"R1M{number}")
    taken = workload.take("REF01", 2)

    workload.give_back("REF01", taken)

    assert workload.take("REF01", 2) == ["R1M1", "R1M2"]
    assert workload.referees == ["REF01"]


def test_a_match_that_was_closed_meanwhile_is_not_handed_out_again():
    still_open = {"R1M1", "R1M2", "R1M3"}
    workload = Workload(still_open, 64)
    workload.join("REF01", 2)
    for number in (1, 2, 3):
        workload.plan("REF01", f"R1M{number}")
    workload.give_back("REF01", workload.take("REF01", 2))

    still_open.discard("R1M1")

    assert workload.take("REF01", 20) == ["R1M2", "R1M3"]


def test_a_report_that_repeats_is_answered_with_the_same_next_match():
    still_open = {"R1M1", "R1M2", "R1M3"}
    workload = Workload(still_open, 64)
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
    post = Post(called_max=1)
    post.sends("bob", completed(1))
    post.hears("bob", 10.0, ran_out=True)
    post.sends("ann", completed(1), now=10.0)
    post.sends("bob", completed(2), now=10.0)
    post.sends("bob", completed(3), now=10.0)  # Bob lags: the newest of each type is enough.

    assert post.hears("ann", 11.0)[1] == [("bob", [3], 21.0)]
    assert post.hears("bob", 12.0) == (["completed 3"], [])
    assert post.outbox.is_empty()
