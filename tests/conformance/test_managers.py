"""The kit finds what is wrong with a manager, and nothing wrong with ours."""

import asyncio
import json
import shlex
import sys
import threading
from contextlib import contextmanager

import pytest

from agentleague.conformance import manager_checks
from agentleague.conformance.check import rules_of
from agentleague.conformance.limits import Limits
from agentleague.conformance.manager_agents import NO_ENDPOINT, ROUND, AgentOfTheKit
from agentleague.conformance.manager_bench import IS_TOO_LATE, ManagerBench
from agentleague.conformance.rules import Rules, Tier, Verdict
from agentleague.conformance.run import try_rules
from agentleague.conformance.target import Target, Unreachable, free_port
from agentleague.conformance.wire_rules import add_wire_rules
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import Place
from conformance.between import Relay
from conformance.manager_changes import (
    COMPLETED,
    PLAYER,
    Known,
    careless,
    hears,
    is_late,
    mended,
    only,
    refuse,
    say,
    sends,
)
from conformance.wrong import BROKEN, expect_caught, expect_passes
from conformance.wrong_managers import WRONG, Wrong

SHORT = Limits(reply=2.5, connect=2.0, start=10.0, next_step=2.5, quiet=0.1)
NOT_REACHED = Verdict.NOT_REACHED
REASONS = ("the manager took what it should refuse: ", "needs manager.")
NOWHERE = "http://127.0.0.1:9/mcp"  # nobody listens there
SLOW = ("manager.restart.", "manager.flow.", "manager.league.completed")
FORGOTTEN = ["restart.keeps-the-table", "restart.keeps-tokens", "restart.goes-on"]


@pytest.fixture(scope="module")
def loop():
    """A loop in a thread, in which all managers of this module run."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@contextmanager
def our_manager(loop, directory, **changed):
    """A manager of ours; its URL."""

    async def opened():
        settings = ManagerSettings(**({"league_id": "league_check", "players": 4} | changed))
        place = Place(free_port("127.0.0.1"), hosts=("127.0.0.1",), moves_on=False)
        return await open_manager(settings, Home(directory, survives=False), place)

    running = asyncio.run_coroutine_threadsafe(opened(), loop).result(10)
    try:
        yield running.url
    finally:
        asyncio.run_coroutine_threadsafe(running.stop(), loop).result(10)


@contextmanager
def wrong_manager(loop, directory, wrong):
    """The kit around a manager of ours that is wrong in this way."""
    with our_manager(loop, directory, **wrong.settings) as url:
        relay = Relay(int(url.split(":")[2].split("/")[0]))
        known = Known(relay)
        before, after = wrong.change(known)

        def and_see(passing):
            known.see(passing)
            after(passing)

        relay.before, relay.after = before, and_see
        bench = None
        try:
            bench = ManagerBench(Target(url=relay.url), SHORT)
            yield bench
        finally:
            if bench:
                bench.close()
            relay.close()


COMMAND = f"{sys.executable} -m agentleague manager --players {{players}} --port {{port}}"


@contextmanager
def started_manager(directory):
    """The kit around a manager that it starts and may kill."""
    words = f"exec {COMMAND} --no-dashboard --reply-seconds 1 --dir {directory}"
    bench = ManagerBench(Target(command=f"sh -c {shlex.quote(words)}"), Limits(quiet=0.1))
    try:
        yield bench
    finally:
        bench.close()


def slow_rules():
    """The rules that only managers have and that need a manager of the kit's own, and no more."""
    return [each for each in rules_of("manager") if each.id.startswith(SLOW)]


def no_port(meta):
    return type(meta.get("contact_endpoint")) is int


def own_rules(slow=()):
    """The rules that managers alone have; of the slow ones these."""
    shared = Rules("manager")
    add_wire_rules(shared)  # Their wrong agents are players.
    ids = {each.id for each in shared}
    own = [each for each in rules_of("manager") if each.id not in ids]
    return [each for each in own if not each.is_slow or each.id in slow]


def ways():
    """Those that only a slow rule finds are tried with the slow tests."""
    slow = {each.id for each in rules_of("manager") if each.is_slow}
    for wrong in WRONG:
        marks = pytest.mark.slow if slow & {*wrong.rules} else ()
        yield pytest.param(wrong, id=wrong.id, marks=marks)


@pytest.mark.parametrize("wrong", list(ways()))
def test_a_wrong_manager_is_caught_by_the_rules_meant_for_it(wrong, loop, tmp_path, monkeypatch):
    monkeypatch.setattr(manager_checks, "COUNTED_SECONDS", wrong.counted)
    rules = own_rules(wrong.rules)

    with wrong_manager(loop, tmp_path, wrong) as bench:
        outcomes = try_rules(rules, bench)

    expect_caught(wrong, rules, outcomes)


def test_every_rule_of_its_own_is_broken_by_a_wrong_manager():
    broken = {name for wrong in WRONG for name in wrong.rules}
    own = {each.id for each in own_rules({each.id for each in rules_of("manager")})}

    assert own - broken == {f"manager.{each}" for each in FORGOTTEN}, "killed and started below"


def test_our_own_manager_passes_every_rule(loop, tmp_path):
    with our_manager(loop, tmp_path) as url:
        bench = ManagerBench(Target(url=url), Limits(quiet=0.1))
        try:
            outcomes = try_rules(rules_of("manager"), bench)
        finally:
            bench.close()

    expect_passes(outcomes)


def test_a_manager_is_not_judged_by_players_that_it_should_have_refused(loop, tmp_path):
    with wrong_manager(loop, tmp_path, Wrong("is careless", "", careless)) as bench:
        outcomes = try_rules(own_rules(), bench)

    taken = ("no-name", "endpoint-is-no-text", "other-version")
    broken = {each.rule.id for each in outcomes if each.verdict in BROKEN}
    assert broken == {f"manager.registration.{each}" for each in taken}
    unreached = {each.rule.id: each.said for each in outcomes if each.verdict is NOT_REACHED}
    assert {said for said in unreached.values() if not said.startswith(REASONS)} == set()
    must = {each.rule.id for each in outcomes if each.rule.tier is Tier.MUST}
    assert must & unreached.keys() == set()


def test_a_referee_reads_of_a_match_whose_player_has_no_end_point():
    match = {
        "match_id": "R1M2",
        "player_A_id": "P02",
        "player_B_id": "P03",
        "game_type": "even_odd",
    }
    match |= {"player_A_endpoint": None, "player_B_endpoint": NO_ENDPOINT, "referee_endpoint": ""}
    said = {"message_type": ROUND, "round_id": 1, "matches": [match]}
    referee = AgentOfTheKit("referee", "Kit referee", "127.0.0.1")
    try:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "notify_round", "params": said}
        referee.listener.take("/mcp", {}, json.dumps(asked).encode())
        (told,) = referee.listener.received
    finally:
        referee.listener.close()

    assert referee.told_by(told) == ["R1M2"]


def test_a_league_that_never_begins_with_such_players_is_no_failure(loop, tmp_path):
    wrong = Wrong("takes players at no port", "", only(no_port, mended(contact_endpoint=NOWHERE)))
    with wrong_manager(loop, tmp_path, wrong) as bench:
        outcomes = try_rules(own_rules()[:25], bench)

    broken = {each.rule.id for each in outcomes if each.verdict in BROKEN}
    assert broken == {"manager.registration.endpoint-is-no-text"}
    starts = next(each for each in outcomes if each.rule.id == "manager.league.starts")
    taken = "a player with `contact_endpoint` 81010"
    assert starts.said == f"the manager took what it should refuse: {taken}"


def test_a_league_of_two_players_leaves_out_what_needs_more(loop, tmp_path):
    with our_manager(loop, tmp_path, players=2) as url:
        bench = ManagerBench(Target(url=url, players=2), SHORT)
        try:
            outcomes = try_rules(own_rules(), bench)
        finally:
            bench.close()

    others = [each for each in outcomes if each.verdict is not Verdict.PASS]
    assert {each.verdict for each in others} == {Verdict.NOT_APPLICABLE}
    assert "needs a league of 4 players: leave out --players" in {each.said for each in others}


def test_a_manager_whose_league_has_begun_cannot_be_checked(loop, tmp_path):
    with our_manager(loop, tmp_path, players=2) as url:
        target = Target(url=url, players=2)
        first = ManagerBench(target, SHORT)
        try:
            first.started()
            with pytest.raises(Unreachable, match="has begun already; start a new manager"):
                ManagerBench(target, SHORT)
            first.finished()
            with pytest.raises(Unreachable, match="has begun already; start a new manager"):
                ManagerBench(target, SHORT)
        finally:
            first.close()


@pytest.mark.parametrize(
    ("said", "is_late"),
    [
        ('"reason": "the league has begun"', True),
        ('"reason": "Registration closed - league already started"', True),
        ('"error_code": "E019"', True),
        ('"reason": "the league is over"', True),
        ('"reason": "the league has not started, and the name is over 50 characters"', False),
        ('"message": "Method not found"', False),
    ],
)
def test_a_refusal_says_whether_it_comes_too_late(said, is_late):
    assert bool(IS_TOO_LATE.search(said)) is is_late


def test_a_command_that_is_not_told_its_port_is_not_started():
    with pytest.raises(Unreachable, match=r"write \{port\} into the command"):
        ManagerBench(Target(command="no-such-program --players 4"), SHORT)


def test_a_command_is_not_started_where_somebody_else_listens(loop, tmp_path):
    with (
        our_manager(loop, tmp_path) as url,
        pytest.raises(Unreachable, match="somebody listens at"),
    ):
        ManagerBench(Target(url=url, command="no-such-program"), SHORT)


def test_what_is_expected_is_written_as_it_stands_in_a_message(loop, tmp_path):
    wrong = Wrong("sums up nothing", "", sends(COMPLETED, say(summary=...)))
    rules = [each for each in own_rules() if each.id == "manager.round.summary"]

    with wrong_manager(loop, tmp_path, wrong) as bench:
        (outcome,) = try_rules(rules, bench)

    summary = '{"total_matches": 2, "wins": 1, "draws": 1, "technical_losses": 0}'
    assert outcome.said == f"`summary` with {summary}"


def test_a_refusal_without_a_code_is_called_so(loop, tmp_path):
    wrong = Wrong("gives no code", "", hears(PLAYER, refuse(None, "no"), is_late))
    rules = [each for each in own_rules() if each.id == "manager.registration.late"]

    with wrong_manager(loop, tmp_path, wrong) as bench:
        (outcome,) = try_rules(rules, bench)

    assert outcome.said == "a refusal with E019; it refuses without a code"


@pytest.mark.process
def test_our_own_manager_goes_on_after_a_kill_and_with_a_player_that_hangs():
    with started_manager("{dir}") as bench:
        outcomes = try_rules(slow_rules(), bench)

    assert {each.rule.id: each.said for each in outcomes if each.verdict is not Verdict.PASS} == {}


@pytest.mark.process
def test_a_manager_that_forgets_everything_is_caught_and_judged_by_another_league():
    rules = slow_rules()

    with started_manager("{dir}/$$") as bench:
        outcomes = try_rules(rules, bench)

    broken = {each.rule.id for each in outcomes if each.verdict in BROKEN}
    assert {each.fault for each in outcomes} == {""}
    assert broken == {f"manager.{each}" for each in FORGOTTEN}
