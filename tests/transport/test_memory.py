"""The memory network: the same bytes as over HTTP, in virtual time."""

from agentleague.errors import NoAnswer, NoConnection, PeerRefused, TokenMissing
from agentleague.protocol.messages import (
    GameInvitation,
    LeagueQuery,
    LeagueQueryResponse,
    RoundCompleted,
)
from agentleague.protocol.tokens import is_proved
from agentleague.roles.effects import Address
from agentleague.simulation.clock import VirtualClock
from memory_network import MemoryNetwork

MANAGER = Address("manager", "http://manager/mcp")
QUERY = LeagueQuery("GET_STATUS", auth_token="tok_P01_x")


def network():
    clock = VirtualClock(100.0)
    joined = MemoryNetwork(clock)
    return clock, joined.join(MANAGER.url, "manager"), joined.join("http://ann/mcp", "player")


def test_a_call_is_answered_after_the_caller_has_finished():
    clock, manager, ann = network()
    answers, callers = [], []

    def on_ask(message, caller, reply):
        callers.append(caller)
        reply(LeagueQueryResponse(message.query_type))

    manager.listen(on_ask)
    ann.call(MANAGER, QUERY, 110.0, answers.append)
    assert answers == []

    clock.run()

    assert answers[0].message == LeagueQueryResponse("GET_STATUS")
    assert (callers[0].source, callers[0].token) == ("http://ann/mcp", "tok_P01_x")
    assert "league_id" in callers[0].missing


def test_a_call_to_an_agent_that_wants_proofs_is_proved():
    clock, manager, ann = network()
    callers = []
    ann.listen(lambda message, caller, reply: callers.append(caller))
    to = Address("P01", "http://ann/mcp", "", (b"key",))

    manager.call(to, RoundCompleted(), 110.0, lambda answer: None)
    clock.run()

    assert is_proved(callers[0].proof, [b"key"], callers[0].body)


def test_silence_ends_at_the_deadline():
    clock, manager, ann = network()
    answers = []
    manager.listen(lambda message, caller, reply: None)

    ann.call(MANAGER, QUERY, 110.0, answers.append)
    clock.run()

    assert isinstance(answers[0].error, NoAnswer)
    assert answers[0].seconds == 10.0


def test_an_agent_that_is_there_but_does_not_listen_is_silent():
    clock, _, ann = network()
    answers = []

    ann.call(MANAGER, QUERY, 110.0, answers.append)
    clock.run()

    assert isinstance(answers[0].error, NoAnswer)


def test_an_answer_after_the_deadline_changes_nothing():
    clock, manager, ann = network()
    answers = []
    manager.listen(
        lambda message, caller, reply: clock.call_at(120.0, lambda: reply(LeagueQueryResponse()))
    )

    ann.call(MANAGER, QUERY, 110.0, answers.append)
    clock.run()

    assert len(answers) == 1
    assert isinstance(answers[0].error, NoAnswer)


def test_nobody_at_the_address_is_no_connection():
    clock, _, ann = network()
    answers = []

    ann.call(Address("x", "http://nowhere/mcp"), QUERY, 110.0, answers.append)
    clock.run()

    assert isinstance(answers[0].error, NoConnection)
    assert clock.now() == 100.0


def test_a_refusal_comes_back_as_the_error_it_is():
    clock, manager, ann = network()
    answers = []
    manager.listen(lambda message, caller, reply: reply(TokenMissing("send your token")))

    ann.call(MANAGER, QUERY, 110.0, answers.append)
    clock.run()

    assert isinstance(answers[0].error, PeerRefused)
    assert answers[0].error.context["number"] == 6001


def test_a_message_for_another_kind_of_agent_is_refused():
    clock, manager, ann = network()
    answers, asked = [], []
    ann.listen(lambda message, caller, reply: asked.append(message))

    manager.call(Address("P01", "http://ann/mcp"), QUERY, 110.0, answers.append)
    clock.run()

    assert asked == []
    assert answers[0].error.context["code"] == "E051"


def test_a_cancelled_call_is_never_answered():
    clock, manager, ann = network()
    answers = []
    manager.listen(lambda message, caller, reply: reply(RoundCompleted()))

    ann.call(MANAGER, QUERY, 110.0, answers.append)()
    clock.run()

    assert answers == []


def test_virtual_time_passes_in_order_of_time_then_of_asking():
    clock, heard = VirtualClock(), []
    for when, name in ((2.0, "c"), (1.0, "a"), (1.0, "b"), (-5.0, "now")):
        clock.call_at(when, lambda name=name: heard.append((clock.now(), name)))
    clock.call_at(1.5, lambda: heard.append("never"))()

    clock.run()

    assert heard == [(0.0, "now"), (1.0, "a"), (1.0, "b"), (2.0, "c")]


def foreign(clock, ann, on_body):
    """Let Ann's end of the network speak for itself."""
    ann.receive = lambda body, source, respond, head: respond(on_body(body))


def test_a_call_that_is_not_understood_goes_on_in_another_form():
    clock, manager, ann = network()
    heard = []
    foreign(
        clock,
        ann,
        lambda body: b'{"accept":true}' if b"jsonrpc" not in body else b'{"status":"ok"}',
    )
    to = Address("P01", "http://ann/mcp")

    manager.call(to, GameInvitation(), 130.0, heard.append)
    clock.run()
    manager.call(to, GameInvitation(), 160.0, heard.append)
    clock.run()

    assert [answer.is_last for answer in heard] == [False, True, True]
    assert heard[1].dialect == heard[2].dialect == "bare"


def test_a_call_that_is_dropped_tries_nothing_more():
    clock, manager, ann = network()
    heard, bodies = [], []
    foreign(clock, ann, lambda body: bodies.append(body) or b'{"status":"ok"}')

    stop = manager.call(Address("P01", "http://ann/mcp"), GameInvitation(), 130.0, heard.append)
    clock.run(lambda: bool(heard))
    stop()
    clock.run()

    assert len(bodies) == len(heard) == 1


def test_a_request_that_is_no_message_is_shown_to_nobody():
    clock, manager, ann = network()
    heard, bodies = [], []
    foreign(clock, ann, lambda body: bodies.append(body) or b'{"accept":true}')

    manager.call(Address("P01", "http://ann/mcp", "mcp"), GameInvitation(), 130.0, heard.append)
    clock.run()

    assert b"tools/list" in bodies[0]
    assert heard[0].message.accept
