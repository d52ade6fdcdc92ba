"""The kit finds what is wrong with a referee, and nothing wrong with ours."""

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentleague.conformance import rules
from agentleague.conformance.check import Selection, check, rules_of
from agentleague.conformance.limits import Limits
from agentleague.conformance.referee_bench import RefereeBench
from agentleague.conformance.rules import Tier, Verdict
from agentleague.conformance.run import try_rules
from agentleague.conformance.target import Target, free_port
from agentleague.conformance.wire_rules import add_wire_rules
from agentleague.protocol.messages import Rules
from agentleague.roles.settings import RefereeSettings
from agentleague.runtime.processes import Place, open_referee
from conformance.between import Relay, nothing
from conformance.wrong_referees import WRONG

# The times of the documents hold on a busy machine too; who has to wait for them waits less.
USUAL = Limits(connect=2.0, start=15.0, next_step=10.0, quiet=0.1)
SHORT = replace(USUAL, join=1.0, move=1.5, game_over=0.5)
BROKEN = (Verdict.FAIL, Verdict.WARNING)
OWN = ("registration.", "match.", "start.", "invitation.", "move.", "game-over.", "report.")
OWN += ("messages.", "illegal.", "errors.", "decline.", "answers.", "matches.")
OWN += ("join.", "timeout.", "player.")


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


@contextmanager
def wrong_referee(change, limits=USUAL):
    """The kit around a referee of ours behind a relay, which may make it wrong."""
    port, manager_port = free_port("127.0.0.1"), free_port("127.0.0.1")
    relay = Relay(port)
    relay.matches, relay.players = {"decisive": "R1M1"}, ("P01", "P02")
    relay.before, relay.after = change(relay)
    manager_url = f"http://127.0.0.1:{relay.front(manager_port)}/mcp"
    try:
        with our_referee(port, manager_url, limits):
            bench = RefereeBench(Target(url=relay.url, manager_port=manager_port), limits)
            try:
                yield relay, bench
            finally:
                bench.close()
    finally:
        close_fronts(relay)


def close_fronts(relay, kept=()):
    """Close what leads to players of former matches: their threads would take all the time."""
    fronts = [relay._fronts.pop(port) for port in list(relay._fronts) if port not in kept]
    with ThreadPoolExecutor(64) as pool:
        list(pool.map(lambda front: front.shutdown(), fronts))
    for front in fronts:
        front.server_close()


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
    close_fronts(relay, kept=(relay.agent_port, bench.manager.port))
    number = next(bench._numbers)
    relay.matches = {name: f"R{number + n}M1" for n, name in enumerate(bench._table, 1)}
    relay.players = tuple(f"P{2 * number + n:02}" for n in (1, 2))
    relay.before, relay.after = change(relay)


def own_rules(wrong):
    """The referee's own rules, without those that anybody has; of slow ones that which is meant."""
    meant = f"referee.{wrong.rule}"
    table = rules_of("referee")
    slow = next((each for each in table if each.id == meant and each.is_slow), None)
    names = {meant, *slow.needs} if slow else None
    return [
        each
        for each in table
        if each.id.removeprefix("referee.").startswith(OWN)
        and (each.id in names if names else not each.is_slow)
    ]


def rows():
    """Those that break what no league can do without run always."""
    must = {each.id for each in rules_of("referee") if each.tier is Tier.MUST}
    for wrong in WRONG:
        is_must = f"referee.{wrong.rule}" in must
        yield pytest.param(wrong, id=wrong.id, marks=() if is_must else pytest.mark.slow)


@pytest.mark.parametrize("wrong", list(rows()))
def test_a_wrong_referee_is_caught_by_the_rule_meant_for_it(wrong, request, monkeypatch):
    monkeypatch.setattr(RefereeBench, "_find_ways", lambda bench, known: [known.name])
    tried = own_rules(wrong)
    meant = next(each for each in tried if each.id == f"referee.{wrong.rule}")

    if wrong.is_new:
        limits = replace(SHORT if wrong.waits else USUAL, quiet=wrong.quiet)
        with wrong_referee(wrong.change, limits) as (_, bench):
            outcomes = try_rules(tried, bench)
    else:
        relay, bench = request.getfixturevalue("right_referee")
        begin_anew(relay, bench, wrong.change)
        outcomes = try_rules(tried, bench)

    assert [each.fault for each in outcomes if each.fault] == []
    broken = {each.rule.id for each in outcomes if each.verdict in BROKEN}
    assert meant.id in broken
    assert broken - {meant.id, *meant.implies} == set()


def test_every_rule_that_no_league_can_do_without_is_broken_by_a_wrong_referee():
    must = {each.id for each in rules_of("referee") if each.tier is Tier.MUST}
    shared = rules.Rules("referee")
    add_wire_rules(shared)  # Their wrong agents are players.
    broken = {f"referee.{wrong.rule}" for wrong in WRONG}

    assert must - {each.id for each in shared} - broken == set()


@pytest.mark.parametrize(
    ("is_slow", "limits"), [(False, USUAL), (True, SHORT)], ids=["at once", "with patience"]
)
def test_our_own_referee_passes_every_rule(is_slow, limits):
    wanted = [each for each in rules_of("referee") if each.is_slow is is_slow]

    with wrong_referee(right, limits) as (_, bench):
        outcomes = try_rules(wanted, bench)

    named = [(each.rule.id, each.verdict, each.said) for each in outcomes]
    allowed = (Verdict.PASS, Verdict.NOT_APPLICABLE)
    assert [each for each in named if each[1] not in allowed] == []


@pytest.mark.slow
@pytest.mark.process
def test_our_own_referee_comes_back_after_it_was_killed():
    league = Path(sys.executable).with_name("league")
    command = f"{league} referee --manager {{manager}} --port {{port}} --state {{dir}}"
    wanted = ("referee.restart.*", "referee.league-completed.is-taken")

    report = check("referee", Target(command=command), Selection(only=wanted), Limits())

    assert {each.verdict for each in report.outcomes} == {Verdict.PASS}
