"""Ways between agents: messages are lost, repeated and overtake one another; cuts heal."""

from random import Random

from agentleague.errors import NoAnswer, NoConnection
from agentleague.protocol.messages import LeagueQuery, LeagueQueryResponse
from agentleague.simulation.network import FINE, Links, Weather
from simulation.test_network import MANAGER, SLOW, World


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


def test_who_loses_a_message_may_be_told_that_the_connection_is_gone():
    world = World()
    world.links.weather = SLOW._replace(loss=1.0, resets=1.0)
    world.links.loses = lambda source, target: source == "ann"

    world.ask()
    world.clock.run()

    assert isinstance(world.answers[0][1].error, NoConnection)


def test_a_request_that_is_repeated_is_answered_once():
    world = World()
    world.links.weather = SLOW._replace(repeats=1.0)

    world.ask()
    world.clock.run(until=lambda: len(world.asked) == 2)
    for _, _, reply in world.asked:
        reply(LeagueQueryResponse("GET_STATUS"))
    world.clock.run()

    assert len(world.answers) == 1


def test_messages_overtake_one_another():
    world = World()
    world.links.weather = Weather(delay_seconds=(0.0, 10.0))
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
    assert links.is_fine


def test_whatever_was_cut_heals_in_the_end_and_is_not_healed_twice():
    links = Links(Random(0))
    links.weather = Weather(loss=0.5)
    (mend,) = links.cut([("ann", "bob")])

    links.heal()
    mend()

    assert (links.is_fine, links.weather) == (True, FINE)
