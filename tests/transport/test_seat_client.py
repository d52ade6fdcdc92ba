"""The agent's end of a seat, over a network that fails in every way and processes that restart."""

from random import Random

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from agentleague.errors import LeagueError, NoAnswer, NoConnection
from agentleague.protocol.seats import Opened, Opening, Poll, read
from agentleague.simulation.clock import VirtualClock
from agentleague.transport.http_connection import HttpAnswer
from agentleague.transport.seat_client import SeatClient
from agentleague.transport.seats import Seats
from examples import examples

SEATS = ("P01", "P02")


class World:
    """A manager, a network and one agent at each seat."""

    def __init__(self, seed=0):
        self.clock, self.rng = VirtualClock(), Random(seed)
        self.process = 0  # of the manager
        self.is_up = True
        self.lose = self.repeat = 0.0  # chances
        self.delay = 0.01  # at most, each way
        self.think = lambda: 0.0
        self.flights = []
        self.posted = []  # of every request: whose, what, its body
        self.made = 0
        self.calls = {}  # body -> [seat, until, process, what became of it, how to cancel it]
        self.agents = {}
        self.restart_manager()
        for seat in SEATS:
            self.restart_agent(seat)

    def restart_manager(self):
        self.process += 1
        self.seats = Seats(self.clock, 1_000_000 * self.process)
        for flight in list(self.flights):
            flight.fail(NoConnection("it closed the connection"))

    def restart_agent(self, seat):
        if seat in self.agents:
            self.agents[seat].stop()
        self.agents[seat] = Agent(self, seat)

    def call(self, seat, seconds):
        self.made += 1
        body, answers = f"{seat} call {self.made}", []
        until = self.clock.now() + seconds
        self.calls[body] = [seat, until, self.process, answers, None]

        def done(status, answer):
            answers.append((self.clock.now(), status, answer.decode()))

        self.calls[body][-1] = self.seats.call(seat, body.encode(), f"proof {body}", until, done)
        return body

    def statuses(self, body):
        return [status for _, status, _ in self.calls[body][3]]

    def pass_time(self, seconds):
        over = []
        self.clock.call_at(self.clock.now() + seconds, lambda: over.append(True))
        self.clock.run(lambda: over)

    def later(self):
        return self.clock.now() + self.rng.random() * self.delay


class Agent:
    """A program at a seat: its client, and what it was asked."""

    def __init__(self, world, seat):
        self.world, self.seat, self.is_alive = world, seat, True
        self.asked, self.ends, self.refusals = [], [], []
        self.client = SeatClient(world.clock, self.post, self.deliver, str(world.rng.random()))
        self.client.ended = lambda: self.ends.append(world.clock.now())
        self.client.refused = lambda status, body: self.refusals.append((status, body))
        self.client.start()

    def stop(self):
        self.is_alive = False
        self.client.stop()

    def post(self, what, body, until, done):
        return Flight(self, what, body, until, done).cancel

    def deliver(self, body, proof, respond):
        text, clock = body.decode(), self.world.clock
        self.asked.append(text)
        assert proof == f"proof {text}"
        seconds = self.world.think()
        answer = f"re: {text}".encode()
        if seconds:
            clock.call_at(clock.now() + seconds, lambda: respond(200, answer))
        else:
            respond(200, answer)


class Flight:
    """One request, which may be lost, come twice, or lose its answer."""

    def __init__(self, agent, what, body, until, done):
        self.agent, self.world, self.what, self.body = agent, agent.world, what, body
        world, self.done, self.leave = self.world, done, []
        world.flights.append(self)
        world.posted.append((agent.seat, what, body))
        world.clock.call_at(until, lambda: self.fail(NoAnswer("no answer in time")))
        if world.rng.random() >= world.lose:
            world.clock.call_at(world.later(), self.arrive)
        elif world.rng.random() < 0.5:
            world.clock.call_at(world.later(), lambda: self.fail(NoConnection("it broke")))
        if world.rng.random() < world.repeat:
            world.clock.call_at(world.later() + world.rng.random() * 20, self.arrive)

    def arrive(self):
        world, seat = self.world, self.agent.seat
        # A connection is not taken after its process has ended.
        if not world.is_up:
            self.fail(NoConnection("refused"))
        elif self.what == "open" and self.agent.is_alive:
            self.answer(Opened(world.seats.open(seat, read(self.body, Opening).client)))
        elif self.what == "poll":
            try:
                self.leave.append(world.seats.poll(seat, read(self.body, Poll), self.answer))
            except LeagueError as error:
                self.finish(HttpAnswer(400, str(error).encode(), None, None, 0.0))

    def answer(self, said):
        process, body = self.world.process, msgspec.json.encode(said)

        def come():
            if self.world.process == process:
                self.finish(HttpAnswer(200, body, None, None, 0.0))

        if self.world.rng.random() >= self.world.lose:
            self.world.clock.call_at(self.world.later(), come)

    def fail(self, error):
        self.finish(HttpAnswer(0, b"", None, error, 0.0))

    def finish(self, got):
        if self in self.world.flights:
            self.world.flights.remove(self)
            self.done(got)

    def cancel(self):
        if self in self.world.flights:
            self.world.flights.remove(self)
            for leave in self.leave:
                self.world.clock.call_at(self.world.later(), leave)


def test_a_call_reaches_the_agent_and_its_answer_the_caller():
    world = World()
    body = world.call("P01", seconds=5.0)
    world.pass_time(1.0)

    assert world.agents["P01"].asked == [body]
    assert world.calls[body][3][0][1:] == (200, f"re: {body}")
    assert world.agents["P02"].asked == []


def test_a_quick_agent_needs_one_poll_for_each_call():
    world = World()
    world.pass_time(1.0)
    world.posted.clear()
    for _ in range(10):
        world.call("P01", seconds=5.0)
        world.pass_time(0.5)

    assert len([what for seat, what, _ in world.posted if seat == "P01"]) == 10


def test_an_agent_that_thinks_still_hears_other_calls_and_each_answer_comes_when_it_is_there():
    world, times = World(), iter([3.0, 0.0, 0.0])
    world.think = lambda: next(times)
    slow = world.call("P01", seconds=10.0)
    world.pass_time(0.1)
    quick = [world.call("P01", seconds=1.0), world.call("P01", seconds=1.0)]
    world.pass_time(0.1)

    assert [world.statuses(body) for body in (slow, *quick)] == [[], [200], [200]]
    world.pass_time(3.0)
    assert world.statuses(slow) == [200]


def test_a_manager_that_is_away_for_20_s_is_found_again_at_once():
    world = World()
    world.pass_time(1.0)
    world.is_up = False
    world.restart_manager()
    world.pass_time(20.0)
    world.is_up = True
    body = world.call("P01", seconds=5.0)
    world.pass_time(2.5)

    assert world.statuses(body) == [200]
    assert world.agents["P01"].ends == []


def test_who_loses_its_seat_to_a_newer_program_stops_for_good():
    world = World()
    world.pass_time(1.0)
    old = world.agents["P01"]
    newer = Agent(world, "P01")
    world.pass_time(1.0)
    body = world.call("P01", seconds=5.0)
    world.pass_time(60.0)

    assert (len(old.ends), old.asked) == (1, [])
    assert (newer.ends, newer.asked, world.statuses(body)) == ([], [body], [200])


def test_a_client_that_has_left_asks_for_nothing_more():
    world = World()
    world.pass_time(1.0)
    world.agents["P01"].stop()
    world.posted.clear()
    body = world.call("P01", seconds=5.0)
    world.pass_time(60.0)

    assert world.statuses(body) == [408]
    assert {seat for seat, _, _ in world.posted} == {"P02"}


class Scripted:
    """A client whose manager says what a test wants it to say."""

    def __init__(self, deliver=lambda body, proof, respond: respond(200, b"yes")):
        self.clock, self.sent, self.refusals = VirtualClock(), [], []
        self.client = SeatClient(self.clock, self._post, deliver, "me")
        self.client.refused = lambda status, body: self.refusals.append((status, body))
        self.client.start()

    def _post(self, what, body, until, done):
        self.sent.append((what, msgspec.json.decode(body), until, done))
        return lambda: None

    def say(self, status, body, retry_after=None, error=None, which=-1):
        self.sent[which][-1](HttpAnswer(status, body, retry_after, error, 0.0))

    def open(self):
        self.say(200, b'{"epoch":7}')

    def hand_out(self, *numbers):
        calls = [{"id": f"c{n}", "seq": n, "body": "ask"} for n in numbers]
        self.say(200, msgspec.json.encode({"epoch": 7, "state": "open", "calls": calls}))

    @property
    def said(self):
        return [(what, body) for what, body, *_ in self.sent]

    def wait(self):
        """When the next request goes out."""
        count, now = len(self.sent), self.clock.now()
        self.clock.run(lambda: len(self.sent) > count)
        return round(self.clock.now() - now, 3)


def test_a_client_opens_its_seat_by_name_and_polls_for_25_s():
    scripted = Scripted()
    scripted.open()

    poll = {"epoch": 7, "ack": 0, "wait": 25.0, "answers": []}
    assert scripted.said == [("open", {"client": "me"}), ("poll", poll)]
    assert [until for *_, until, _ in scripted.sent] == [5.0, 30.0]


@pytest.mark.parametrize(
    ("status", "body", "retry_after", "error", "delays"),
    [
        (0, b"", None, NoConnection("refused"), [0.25, 0.5, 1.0, 2.0, 2.0, 2.0]),
        (503, b"", 1.0, None, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]),
        (429, b"", 7.0, None, [7.0, 7.0, 7.0, 7.0, 7.0, 7.0]),
        (200, b"<html>Please log in.</html>", None, None, [0.25, 0.5, 1.0, 2.0, 2.0, 2.0]),
        (200, b'{"epoch":"none"}', None, None, [0.25, 0.5, 1.0, 2.0, 2.0, 2.0]),
    ],
)
@pytest.mark.parametrize("what", ["open", "poll"])
def test_a_request_that_failed_is_repeated_soon(what, status, body, retry_after, error, delays):
    scripted = Scripted()
    if what == "poll":
        scripted.open()
    waited = []
    for _ in delays:
        scripted.say(status, body, retry_after, error)
        waited.append(scripted.wait())

    assert waited == delays
    assert {each for each, _ in scripted.said[-6:]} == {what}


def test_a_poll_of_a_former_opening_is_not_waited_for():
    answers = []
    scripted = Scripted(lambda body, proof, respond: answers.append(respond))
    scripted.open()
    scripted.hand_out(1)
    scripted.wait()
    answers[0](200, b"yes")  # The poll before it goes on.
    scripted.say(200, b'{"epoch":7,"state":"reopen"}')
    scripted.say(200, b'{"epoch":9}')
    scripted.say(200, b'{"epoch":9,"state":"superseded"}')

    assert scripted.wait() == 0.25
    what, poll = scripted.said[-1]
    assert (what, poll["epoch"]) == ("poll", 9)


def test_a_refusal_is_told_with_the_words_of_the_manager():
    scripted = Scripted()
    scripted.say(403, b"this token has no seat")

    assert scripted.refusals == [(403, b"this token has no seat")]
    assert scripted.wait() == 0.25


def test_an_answer_is_brought_until_its_receipt_is_there():
    scripted = Scripted()
    scripted.open()
    scripted.hand_out(1)
    scripted.say(0, b"", None, NoConnection("it broke"))
    scripted.wait()
    scripted.say(200, b'{"epoch":7,"state":"open","receipts":[{"id":"c1","state":"taken"}]}')

    brought = [[each["id"] for each in body.get("answers", ())] for _, body in scripted.said]
    assert brought == [[], [], ["c1"], ["c1"], []]


def test_a_call_that_comes_again_is_not_delivered_again():
    asked = []
    scripted = Scripted(lambda body, proof, respond: asked.append(respond))
    scripted.open()
    scripted.hand_out(1, 2)
    scripted.wait()
    scripted.hand_out(1, 2, 3)
    scripted.wait()

    assert len(asked) == 3
    assert [body["ack"] for _, body in scripted.said[1:]] == [0, 2, 3]


def test_a_call_whose_agent_crashed_after_it_had_said_that_it_has_it_comes_to_the_next():
    world = World()
    world.think = lambda: 1.0
    body = world.call("P01", seconds=10.0)
    world.pass_time(0.5)
    crashed = world.agents["P01"]
    world.restart_agent("P01")
    world.pass_time(2.0)

    assert crashed.asked == world.agents["P01"].asked == [body]
    assert world.statuses(body) == [200]


def test_an_answer_of_a_manager_before_its_restart_decides_nothing_in_the_new_epoch():
    scripted = Scripted(lambda body, proof, respond: replies.append(respond))
    replies = []
    scripted.open()
    scripted.hand_out(1)
    scripted.wait()
    replies[0](200, b"yes")
    scripted.say(200, b'{"epoch":7,"state":"reopen"}')
    scripted.say(200, b'{"epoch":8}')
    polls = len(scripted.sent)
    scripted.say(200, b'{"epoch":7,"state":"taken","receipts":[]}', which=2)

    assert (len(scripted.sent), scripted.said[-1][1]["epoch"]) == (polls, 8)


def test_a_second_answer_is_brought_while_the_first_poll_is_held_and_a_third_waits_its_turn():
    replies = []
    scripted = Scripted(lambda body, proof, respond: replies.append(respond))
    scripted.open()
    scripted.hand_out(1, 2, 3)
    scripted.wait()
    for reply in replies:
        reply(200, b"yes")

    brought = [[each["id"] for each in body["answers"]] for _, body in scripted.said[1:]]
    assert brought == [[], [], ["c1"]]
    scripted.say(200, b'{"epoch":7,"state":"superseded"}', which=-2)
    assert [each["id"] for each in scripted.said[-1][1]["answers"]] == ["c2", "c3"]


def test_more_answers_than_one_poll_may_have_go_with_the_next_at_once():
    scripted = Scripted(lambda body, proof, respond: respond(200, b"x" * 1_500))
    scripted.open()
    scripted.hand_out(*range(1, 11))

    poll = scripted.said[-1][1]
    assert (len(poll["answers"]), poll["wait"], poll["ack"]) == (6, 0.0, 10)


@pytest.mark.parametrize("body", [b"x" * 10_001, b'"' * 5_001, None])
def test_an_answer_that_cannot_be_given_is_a_failure_of_the_agent(body, caplog):
    def deliver(asked, proof, respond):
        if body is None:
            raise RuntimeError("a fault of the agent")
        respond(200, body)
        respond(200, b"once more")

    scripted = Scripted(deliver)
    scripted.open()
    scripted.hand_out(1)

    assert scripted.said[-1][1]["answers"] == [{"id": "c1", "status": 500, "body": ""}]
    assert ("a fault of the agent" in caplog.text) == (body is None)


def test_a_poll_that_was_superseded_by_a_late_request_is_repeated_without_haste():
    scripted = Scripted()
    scripted.open()
    for _ in range(3):
        scripted.say(200, b'{"epoch":7,"state":"superseded"}')
        assert scripted.wait() == 0.25


def test_an_agent_that_leaves_within_a_call_is_handed_no_other():
    asked = []

    def deliver(body, proof, respond):
        asked.append(body)
        scripted.client.stop()
        respond(200, b"yes")

    scripted = Scripted(deliver)
    scripted.open()
    sent = len(scripted.sent)
    scripted.hand_out(1, 2)
    scripted.say(200, b'{"epoch":7,"state":"open"}')

    assert asked == [b"ask"]
    assert len(scripted.sent) == sent


class SeatStates(RuleBasedStateMachine):
    """Whatever the network and the processes do: nothing is lost, nothing is doubled."""

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed):
        self.world = World(seed)
        self.world.lose, self.world.repeat, self.world.delay = 0.1, 0.3, 0.5
        self.world.think = lambda: self.world.rng.random() * 2.0
        self.cancelled = set()
        self.past = []  # agents that were stopped

    @rule(lose=st.sampled_from([0.0, 0.2, 0.6]), repeat=st.sampled_from([0.0, 0.5]))
    def weather_changes(self, lose, repeat):
        self.world.lose, self.world.repeat = lose, repeat

    @rule(delay=st.sampled_from([0.001, 0.1, 3.0, 20.0]))
    def distance_changes(self, delay):
        self.world.delay = delay

    @rule(most=st.sampled_from([0.0, 0.01, 1.0, 40.0]))
    def agents_think(self, most):
        self.world.think = lambda: self.world.rng.random() * most

    @rule(
        seat=st.sampled_from(SEATS),
        seconds=st.sampled_from([0.5, 5.0, 30.0, 300.0]),
        number=st.integers(1, 5),
    )
    def somebody_calls(self, seat, seconds, number):
        for _ in range(number):
            self.world.call(seat, seconds)
        assert len(self.world.seats._seats[seat].waiting) <= 16

    @rule(number=st.integers(0, 5))
    def a_caller_leaves(self, number):
        body = list(self.world.calls)[-number - 1 :][:1]
        if body and not self.world.statuses(body[0]):
            self.world.calls[body[0]][-1]()
            self.cancelled.add(body[0])

    @rule(seconds=st.sampled_from([0.0, 0.01, 0.2, 1.0, 3.0, 60.0]))
    def time_passes(self, seconds):
        self.world.pass_time(seconds)

    @rule(seconds=st.sampled_from([0.0, 20.0]))
    def the_manager_restarts(self, seconds):
        self.world.is_up = False
        self.world.restart_manager()
        self.world.pass_time(seconds)
        self.world.is_up = True

    @rule(seat=st.sampled_from(SEATS))
    def an_agent_restarts(self, seat):
        self.past.append(self.world.agents[seat])
        self.world.restart_agent(seat)

    @invariant()
    def each_agent_is_asked_once_and_only_what_is_its_own(self):
        for agent in [*self.past, *self.world.agents.values()]:
            assert len(set(agent.asked)) == len(agent.asked)
            assert all(body.startswith(agent.seat) for body in agent.asked)
            assert agent.refusals == []

    @invariant()
    def each_caller_is_told_once_the_truth_and_in_time(self):
        for body, (_, until, _, answers, _) in self.world.calls.items():
            assert len(answers) <= (0 if body in self.cancelled else 1)
            for when, status, answer in answers:
                assert status in (200, 408, 429)
                if status == 200:
                    assert answer == f"re: {body}"
                    assert when <= until
                if status == 408:
                    assert when == until

    @invariant()
    def nobody_loses_a_seat_that_nobody_else_has_opened(self):
        assert [agent.ends for agent in self.world.agents.values()] == [[], []]

    def teardown(self):
        """In fair weather everything that is still open is answered."""
        world = self.world
        world.lose, world.repeat, world.delay, world.think = 0.0, 0.0, 0.001, lambda: 0.0
        world.pass_time(0.0)  # Who found 16 others waiting is told.
        sure = [
            body
            for body, (_, until, process, answers, _) in world.calls.items()
            if process == world.process and not answers and until > world.clock.now() + 90
        ]
        world.pass_time(75.0)  # What was thought of before comes, and lost requests are given up.
        sure += [world.call(seat, seconds=5.0) for seat in SEATS]
        world.pass_time(15.0)
        for body in sure:
            assert world.statuses(body) == ([] if body in self.cancelled else [200])


def test_nothing_is_lost_and_nothing_is_doubled_whatever_happens():
    run_state_machine_as_test(
        SeatStates, settings=settings(max_examples=examples(200), stateful_step_count=50)
    )


def test_each_try_at_a_manager_that_is_away_is_told_and_that_it_is_there_again():
    scripted, heard = Scripted(), []
    scripted.client.heard = heard.append
    scripted.open()
    assert heard == []

    for _ in range(2):
        scripted.say(0, b"", error=NoConnection("refused"))
        scripted.wait()
    scripted.hand_out()
    scripted.hand_out()

    assert heard == [False, False, True]


def test_who_leaves_brings_its_last_answers_also_those_on_their_way():
    left, answers = [], []
    scripted = Scripted(lambda body, proof, respond: answers.append(respond))
    scripted.open()
    scripted.hand_out(1, 2)
    answers[0](200, b"first")
    scripted.wait()
    answers[1](200, b"second")

    scripted.client.finish(lambda: left.append(True), 2.0)

    what, poll = scripted.said[-1]
    assert (what, poll["wait"], poll["ack"]) == ("poll", 0.0, 2)
    assert [each["body"] for each in poll["answers"]] == ["first", "second"]
    assert left == []
    scripted.say(200, b"{}")
    assert left == [True]


def test_who_has_nothing_to_bring_leaves_at_once():
    left, scripted = [], Scripted()
    scripted.open()

    scripted.client.finish(lambda: left.append(True), 2.0)

    assert left == [True]
    assert len(scripted.sent) == 2
