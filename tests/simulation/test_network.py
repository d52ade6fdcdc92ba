"""A network that loses, repeats and delays messages, and whose agents stall, die and come back."""

from random import Random
from types import SimpleNamespace

from agentleague.errors import NoAnswer, NoConnection
from agentleague.protocol.messages import LeagueQuery, LeagueQueryResponse
from agentleague.roles.effects import Address
from agentleague.simulation.clock import Lifetime, VirtualClock
from agentleague.simulation.network import RELIABLE, Conditions, Links, SimulatedNetwork

MANAGER = Address("manager", "http://manager/mcp")
QUERY = LeagueQuery("GET_STATUS")
NOBODY = SimpleNamespace(**dict.fromkeys(("called", "asked", "answered", "lost"), lambda *_: None))
SLOW = Conditions(delay_seconds=(1.0, 1.0))


class World:
    """A manager that answers, or holds its answers back, and Ann who asks."""

    def __init__(self):
        self.clock = VirtualClock(100.0)
        self.links = Links(Random(0))
        self.links.conditions = SLOW
        self.network = SimulatedNetwork(self.clock, self.links, NOBODY)
        self.lifetime, self.anns = Lifetime(self.clock), Lifetime(self.clock)
        self.manager = self.network.add(MANAGER.url, "manager", self.lifetime)
        self.ann = self.network.add("http://ann/mcp", "player", self.anns)
        self.asked, self.answers = [], []
        self.manager.listen(self.on_ask)

    def on_ask(self, message, caller, reply):
        self.asked.append((self.clock.now(), caller.source, reply))

    def answer(self):
        self.asked[-1][2](LeagueQueryResponse("GET_STATUS"))

    def ask(self, until=150.0):
        return self.ann.call(MANAGER, QUERY, until, self.note)

    def note(self, answer):
        self.answers.append((self.clock.now(), answer))

    def kill(self, transport, lifetime):
        lifetime.end()
        self.network.remove(transport)


def test_a_message_takes_its_time_there_and_back():
    world = World()
    world.ask()
    world.clock.run(until=lambda: bool(world.asked))
    world.answer()

    world.clock.run()

    assert world.asked[0][:2] == (101.0, "ann")
    assert world.answers[0][0] == 102.0
    assert world.answers[0][1].message == LeagueQueryResponse("GET_STATUS")


def test_nobody_listens_where_an_agent_has_died():
    world = World()
    world.kill(world.manager, world.lifetime)

    world.ask()
    world.clock.run()

    assert world.answers[0][0] == 102.0
    assert isinstance(world.answers[0][1].error, NoConnection)


def test_a_caller_that_waits_for_an_agent_that_dies_is_told_that_it_is_gone():
    world = World()
    world.ask()
    world.clock.run(until=lambda: bool(world.asked))

    world.network.delay = iter([5.0, 1.0]).__next__
    world.kill(world.manager, world.lifetime)
    world.answer()
    world.clock.run()

    assert isinstance(world.answers[0][1].error, NoConnection)
    assert len(world.answers) == 1


def test_an_answer_that_was_sent_arrives_though_its_sender_is_dead():
    world = World()
    world.ask()
    world.clock.run(until=lambda: bool(world.asked))

    world.answer()
    world.kill(world.manager, world.lifetime)
    world.clock.run()

    assert world.answers[0][1].error is None


def test_a_request_of_a_dead_agent_arrives_and_its_answer_is_for_nobody():
    world = World()
    world.ask()

    world.kill(world.ann, world.anns)
    world.clock.run(until=lambda: bool(world.asked))
    world.answer()
    world.clock.run()

    assert world.answers == []


def test_the_dead_ask_nobody():
    world = World()
    world.kill(world.ann, world.anns)

    world.ask()
    world.clock.run()

    assert (world.asked, world.answers) == ([], [])


def test_another_life_is_reached_at_the_same_address():
    world = World()
    world.kill(world.manager, world.lifetime)
    world.network.add(MANAGER.url, "manager", Lifetime(world.clock)).listen(world.on_ask)

    world.ask()
    world.clock.run()

    assert len(world.asked) == 1


def test_silence_ends_at_the_deadline_and_an_answer_after_it_is_nothing():
    world = World()
    world.ask(until=105.0)
    world.clock.run()
    world.answer()
    world.clock.run()

    assert [when for when, _ in world.answers] == [105.0]
    assert isinstance(world.answers[0][1].error, NoAnswer)


def test_a_call_that_was_given_up_brings_no_answer():
    world = World()
    cancel = world.ask()

    cancel()
    world.clock.run()
    world.answer()
    world.clock.run()

    assert world.answers == []


def test_what_comes_while_an_agent_stalls_waits_for_it():
    world = World()
    world.lifetime.stall(10.0)

    world.ask()
    world.clock.run()

    assert world.asked[0][0] == 110.0


def test_an_agent_that_dies_while_it_stalls_hears_nothing_any_more():
    world = World()
    world.lifetime.stall(10.0)
    world.ask()
    world.clock.step()

    world.kill(world.manager, world.lifetime)
    world.clock.run()

    assert world.asked == []
    assert isinstance(world.answers[0][1].error, NoConnection)


def test_a_request_on_a_way_that_is_cut_is_lost_and_its_sender_waits_in_vain():
    world = World()
    world.links.cut([("ann", "manager")])

    world.ask(until=105.0)
    world.clock.run()

    assert world.asked == []
    assert isinstance(world.answers[0][1].error, NoAnswer)


def test_a_way_that_is_cut_the_other_way_loses_the_answer():
    world = World()
    world.links.cut([("manager", "ann")])

    world.ask(until=105.0)
    world.clock.run(until=lambda: bool(world.asked))
    world.answer()
    world.clock.run()

    assert len(world.asked) == 1
    assert isinstance(world.answers[0][1].error, NoAnswer)


def test_a_caller_that_loses_a_message_may_be_told_that_the_connection_is_gone():
    world = World()
    world.links.conditions = SLOW._replace(loss=1.0, resets=1.0)
    world.links.loses = lambda source, target: source == "ann"

    world.ask()
    world.clock.run()

    assert isinstance(world.answers[0][1].error, NoConnection)


def test_a_request_that_is_repeated_is_answered_once():
    world = World()
    world.links.conditions = SLOW._replace(repeats=1.0)

    world.ask()
    world.clock.run(until=lambda: len(world.asked) == 2)
    for _, _, reply in world.asked:
        reply(LeagueQueryResponse("GET_STATUS"))
    world.clock.run()

    assert len(world.answers) == 1


def test_messages_overtake_one_another():
    world = World()
    world.links.conditions = Conditions(delay_seconds=(0.0, 10.0))
    numbers = range(1, 21)

    for number in numbers:
        query = LeagueQuery("GET_STATUS", conversation_id=f"conv-{number}")
        world.ann.call(MANAGER, query, 200.0, lambda answer: None)
    arrived = []
    world.manager.listen(lambda message, *_: arrived.append(message.conversation_id))
    world.clock.run(until=lambda: len(arrived) == 20)

    assert sorted(arrived) == sorted(f"conv-{number}" for number in numbers)
    assert arrived != [f"conv-{number}" for number in numbers]


def test_ways_heal_one_by_one_and_a_way_cut_twice_heals_twice():
    links = Links(Random(0))
    first, second = links.cut([("ann", "bob"), ("bob", "ann")])
    (again,) = links.cut([("ann", "bob")])

    first()
    assert (links.loses("ann", "bob"), links.loses("bob", "ann")) == (True, True)
    again()
    assert (links.loses("ann", "bob"), links.loses("bob", "ann")) == (False, True)
    second()
    assert links.is_reliable


def test_whatever_was_cut_heals_in_the_end_and_is_not_healed_twice():
    links = Links(Random(0))
    links.conditions = Conditions(loss=0.5)
    (mend,) = links.cut([("ann", "bob")])

    links.heal()
    mend()

    assert (links.is_reliable, links.conditions) == (True, RELIABLE)
