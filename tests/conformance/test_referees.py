"""The kit finds what is wrong with a referee, and nothing wrong with ours."""

import asyncio
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentleague.conformance import rules
from agentleague.conformance.check import Selection, check, rules_of
from agentleague.conformance.limits import Limits
from agentleague.conformance.referee_bench import RefereeBench
from agentleague.conformance.rules import Verdict
from agentleague.conformance.run import try_rules
from agentleague.conformance.target import Target, free_port
from agentleague.conformance.wire_rules import add_wire_rules
from agentleague.protocol.messages import Rules
from agentleague.roles.settings import RefereeSettings
from agentleague.runtime.processes import Place, open_referee
from conformance.between import Relay, nothing
from conformance.referee_changes import CALL, FIRST, INVITATION, OVER, B, is_about
from conformance.wrong import BROKEN, expect_caught, expect_passes
from conformance.wrong_referees import WRONG

# The times of the documents hold on a busy machine too; who has to wait for them waits less.
USUAL = Limits(connect=2.0, start=15.0, next_step=10.0, quiet=0.1)
SHORT = replace(USUAL, join=1.0, move=1.5, game_over=0.5)
LAST = "referee.league-completed.is-taken"  # after which a referee goes home
COMMAND = f"{Path(sys.executable).with_name('league')} referee --port {{port}} --manager"
KILLED = ["restart.registers-again", "restart.plays-on", "restart.retries-to-register"]


@contextmanager
def loop_in_a_thread():
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def our_referee(port, manager_url, limits):
    """A referee of ours, in this process, which knows these times."""

    async def opened():
        running = await open_referee(
            lambda url: RefereeSettings(
                manager_url=manager_url, endpoint=url, register_seconds=0.05
            ),
            Place(port, moves_on=False),
        )
        running.host.role._rules = Rules(
            join_seconds=limits.join,
            move_seconds=limits.move,
            game_over_seconds=limits.game_over,
            retry_delay_seconds=0.05,
        )
        return running

    with loop_in_a_thread() as loop:
        agent = asyncio.run_coroutine_threadsafe(opened(), loop).result(10)
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(agent.stop(), loop).result(10)


class Playing:
    """Which matches the kit plays, by its own names for them."""

    def __init__(self):
        self.bench = None  # until it has found out how to give a match to the referee

    def match(self, name):
        record = self.bench and self.bench.records.get(name)
        return record.match_id if record else {FIRST: "R1M1"}.get(name, "")

    def player(self, name, which):
        record = self.bench and self.bench.records.get(name)
        return record.ids[which] if record else ("P01", "P02")[which]


@contextmanager
def wrong_referee(change, limits=USUAL):
    """The kit around a referee of ours behind a relay, which may make it wrong."""
    port, manager_port = free_port("127.0.0.1"), free_port("127.0.0.1")
    relay = Relay(port)
    relay.playing = Playing()
    relay.before, relay.after = change(relay)
    manager_url = f"http://127.0.0.1:{relay.front(manager_port)}/mcp"
    try:
        with our_referee(port, manager_url, limits):
            bench = RefereeBench(Target(url=relay.url, manager_port=manager_port), limits)
            relay.playing.bench = bench
            try:
                yield relay, bench
            finally:
                bench.close()
    finally:
        relay.close()


def right(relay):
    return nothing, nothing


@pytest.fixture(scope="module")
def right_referee():
    """A referee of ours that can be made wrong after its start."""
    with wrong_referee(right) as found:
        yield found


def begin_anew(relay, bench, change):
    """No match that was played counts; in the next ones the referee is wrong in this way."""
    for record in bench.records.values():
        record.is_done.wait()
    bench.records, bench.others = {}, []
    relay.close(kept=(relay.agent_port, bench.manager.port))  # Threads of players take time.
    relay.before, relay.after = change(relay)


def own_rules():
    """The referee's own rules, without those that anybody has."""
    shared = rules.Rules("referee")
    add_wire_rules(shared)  # Their wrong agents are players.
    ids = {each.id for each in shared}
    return [each for each in rules_of("referee") if each.id not in ids]


def rules_for(wrong):
    """What is tried with it: all that need not wait, or else what it breaks and what that needs."""
    table = {each.id: each for each in own_rules()}
    if any(table[name].is_slow for name in wrong.rules):
        names = {name for each in wrong.rules for name in (each, *table[each].needs)}
    else:
        at_once = {each.id for each in table.values() if not each.is_slow}
        names = {*wrong.rules, *(at_once - {LAST})}
    return [each for each in table.values() if each.id in names]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.id)
def test_a_wrong_referee_is_caught_by_the_rules_meant_for_it(wrong, request, monkeypatch):
    monkeypatch.setattr(RefereeBench, "_find_ways", lambda bench, known: [known.name])
    tried = rules_for(wrong)

    if wrong.is_new:
        limits = replace(SHORT if wrong.waits else USUAL, **wrong.more)
        with wrong_referee(wrong.change, limits) as (_, bench):
            outcomes = try_rules(tried, bench)
    else:
        relay, bench = request.getfixturevalue("right_referee")
        begin_anew(relay, bench, wrong.change)
        monkeypatch.setattr(bench, "limits", replace(USUAL, **wrong.more))
        outcomes = try_rules(tried, bench)

    expect_caught(wrong, tried, outcomes)


def slow_to(*questions, seconds):
    """Such messages are late by so many seconds, as on a busy machine."""

    def change(relay):
        def before(passing):
            if any(is_about(relay, passing, *question) for question in questions):
                time.sleep(seconds)

        return before, nothing

    return change


def test_a_referee_that_asks_both_at_once_on_a_busy_machine_is_right():
    late = slow_to((INVITATION, "slow join", B), (CALL, "slow move", B), seconds=0.5)
    rules = [each for each in own_rules() if each.id.endswith((".at-once", ".to-both", ".is-run"))]

    with wrong_referee(late, replace(USUAL, quiet=0.05)) as (_, bench):
        outcomes = try_rules(rules, bench)

    assert {each.rule.id: each.said for each in outcomes if each.verdict is not Verdict.PASS} == {}
    assert {each.tries for each in outcomes} == {1}


def test_a_match_that_goes_on_may_take_longer_on_a_busy_machine():
    late = slow_to(*((name, "draw") for name in (INVITATION, CALL, OVER)), seconds=0.8)

    with wrong_referee(late, replace(USUAL, quiet=0.05)) as (_, bench):
        bench.limits = replace(bench.limits, next_step=1.5)
        record = bench.record("draw")

    assert record.is_over


def test_every_rule_of_its_own_is_broken_by_a_wrong_referee():
    broken = {name for wrong in WRONG for name in wrong.rules}

    own = {each.id for each in own_rules()}
    assert own - broken == {f"referee.{each}" for each in KILLED}, "killed and started below"


@pytest.mark.parametrize(
    ("is_slow", "limits"), [(False, USUAL), (True, SHORT)], ids=["at once", "with patience"]
)
def test_our_own_referee_passes_every_rule(is_slow, limits):
    wanted = [each for each in rules_of("referee") if each.is_slow is is_slow]

    with wrong_referee(right, limits) as (_, bench):
        outcomes = try_rules(wanted, bench)

    expect_passes(outcomes)


@pytest.mark.slow
@pytest.mark.process
def test_our_own_referee_comes_back_after_it_was_killed():
    command = f"{COMMAND} {{manager}} --state {{dir}}"
    wanted = ("referee.restart.*", "referee.league-completed.is-taken")

    report = check("referee", Target(command=command), Selection(only=wanted), Limits())

    assert {each.verdict for each in report.outcomes} == {Verdict.PASS}


@pytest.mark.slow
@pytest.mark.process
def test_a_referee_that_goes_to_another_manager_when_it_was_killed_is_caught():
    first, then = f"{COMMAND} {{manager}}", f"{COMMAND} http://127.0.0.1:9/mcp"
    is_first = "mkdir -p {dir}; mkdir {dir}/begun"
    command = f"sh -c '{is_first} && exec {first} --state {{dir}} || exec {then}'"
    rules = [each for each in own_rules() if each.id.removeprefix("referee.") in KILLED]
    bench = RefereeBench(Target(command=command), Limits())
    try:
        bench.limits = replace(bench.limits, start=5.0, next_step=2.0)  # It comes up, and no more.
        outcomes = try_rules(rules, bench)
    finally:
        bench.close()

    broken = {each.rule.id: each.said for each in outcomes if each.verdict in BROKEN}
    assert broken.keys() == {each.id for each in rules}
