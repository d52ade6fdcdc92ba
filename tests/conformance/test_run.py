"""What came of a rule, whatever its check does."""

import pytest

from agentleague.conformance.bench import Bench
from agentleague.conformance.http_rules import takes_post
from agentleague.conformance.limits import Limits
from agentleague.conformance.listener import Listener, Reply, acknowledge
from agentleague.conformance.peer import Peer
from agentleague.conformance.rules import (
    Broken,
    NotApplicable,
    NotReached,
    Rules,
    Tier,
    Verdict,
)
from agentleague.conformance.run import try_rules
from agentleague.runtime.clock import stopwatch

SAID = {"number": "R-MATCH-02", "source": "document 004", "says": "A player.", "mend": "Answer."}


@pytest.fixture
def agent():
    listener = Listener("player", acknowledge)
    yield listener
    listener.close()


def tried(agent, *checks, limits=Limits(), **said):  # noqa: B008  # It is frozen.
    """The outcomes of checks, each with its tier, where each later one needs the first."""
    rules = Rules("player")
    for number, (tier, check) in enumerate(checks):
        needs = ("player.r0",) if number and said.get("needing") else ()
        rules.rule(f"r{number}", tier, needs=needs, **SAID)(check)
    return try_rules(rules, PlainBench(Peer(agent.url, limits), limits))


class PlainBench(Bench):
    def control(self):
        return self.message("GAME_INVITATION", match_id="R1M1")


def raising(error):
    def check(bench):
        raise error

    return check


def passes(bench):
    return None


@pytest.mark.parametrize(
    ("tier", "error", "verdict"),
    [
        (Tier.MUST, Broken("a join"), Verdict.FAIL),
        (Tier.ROBUST, Broken("a join"), Verdict.FAIL),
        (Tier.SHOULD, Broken("a join"), Verdict.WARNING),
        (Tier.PLUS, Broken("a join"), Verdict.WARNING),
        (Tier.MUST, NotApplicable("no MCP"), Verdict.NOT_APPLICABLE),
        (Tier.MUST, NotReached("no registration"), Verdict.NOT_REACHED),
        (Tier.MUST, RecursionError("deep"), Verdict.NOT_REACHED),
    ],
)
def test_a_verdict_follows_from_the_tier_and_what_the_check_found(agent, tier, error, verdict):
    (outcome,) = tried(agent, (tier, raising(error)))

    assert outcome.verdict is verdict
    assert bool(outcome.fault) == isinstance(error, RecursionError)


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (Broken("a join"), Verdict.NOT_REACHED),
        (NotReached("no registration"), Verdict.NOT_REACHED),
        (NotApplicable("no MCP"), Verdict.NOT_APPLICABLE),
    ],
)
def test_what_needs_a_rule_that_did_not_pass_is_not_tried(agent, error, verdict):
    _, later = tried(agent, (Tier.MUST, raising(error)), (Tier.MUST, passes), needing=True)

    assert (later.verdict, later.said) == (verdict, "needs player.r0")


def test_what_came_too_late_is_tried_once_more(agent):
    late = [Broken("a join", is_late=True)]

    def check(bench):
        while late:
            raise late.pop()

    (outcome,) = tried(agent, (Tier.MUST, check))

    assert (outcome.verdict, outcome.tries) == (Verdict.PASS, 2)


def test_nothing_is_tried_with_an_agent_that_is_gone(agent):
    def dies(bench):
        agent.close()
        raise Broken("an answer")

    first, later = tried(agent, (Tier.MUST, dies), (Tier.MUST, passes))

    assert first.verdict is Verdict.FAIL
    assert later.verdict is Verdict.NOT_REACHED
    assert later.said == "nobody listens any more since player.r0"


def test_a_check_ends_in_bounded_time(agent):
    first, later = tried(agent, (Tier.MUST, passes), (Tier.MUST, passes), limits=Limits(whole=0.0))

    assert first.verdict is later.verdict is Verdict.NOT_REACHED
    assert first.said == "the check took longer than 0 s; --patience gives it more"


def test_an_agent_that_leads_elsewhere_takes_no_post(agent):
    agent.handler = lambda received: Reply(status=307, headers={"Location": "/other"})

    (outcome,) = tried(agent, (Tier.MUST, takes_post))

    assert outcome.verdict is Verdict.FAIL
    assert "HTTP 307 Location: /other" in outcome.exchange.shown()[1]


def test_the_time_until_the_first_rule_counts_too(agent):
    bench = PlainBench(Peer(agent.url, Limits()), Limits())
    rules = Rules("player")
    rules.rule("r0", Tier.MUST, **SAID)(passes)

    (outcome,) = try_rules(rules, bench, began=stopwatch() - Limits().whole)

    assert outcome.said.startswith("the check took longer than 900 s")


def test_an_agent_that_answers_nothing_any_more_is_not_asked_for_ever(agent):
    agent.handler = lambda received: Reply(is_never=True)
    late = [(Tier.MUST, raising(Broken("an answer", is_late=True)))] * 5

    outcomes = tried(agent, *late, limits=Limits(reply=0.1))

    assert [each.verdict for each in outcomes] == [Verdict.FAIL] * 3 + [Verdict.NOT_REACHED] * 2
    assert outcomes[-1].said == "it answers nothing any more since player.r2"
