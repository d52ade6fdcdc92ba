"""The kit finds what is wrong with a player, and nothing wrong with ours."""

import asyncio
import json
import re
import shlex
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import urllib.request
from collections import Counter
from contextlib import contextmanager, suppress

import pytest

from agentleague.conformance.check import Selection, check
from agentleague.conformance.identify import identify
from agentleague.conformance.limits import Limits
from agentleague.conformance.listener import Listener
from agentleague.conformance.player_bench import PlayerBench, manage
from agentleague.conformance.player_choice_rules import expect
from agentleague.conformance.player_rules import PLAYER
from agentleague.conformance.rules import Broken, Verdict
from agentleague.conformance.run import try_rules
from agentleague.conformance.target import Target
from agentleague.player import strategies
from agentleague.protocol import timestamps
from agentleague.roles.settings import PlayerSettings
from agentleague.runtime.processes import Place, open_player
from conformance.between import IN, OUT, Relay, nothing
from conformance.player_changes import (
    INVITATION,
    OVER,
    error_as,
    message_in,
    on_raw,
    params,
    pushes_anew,
    refuses,
)
from conformance.wrong_players import WRONG
from tables import each_row

SHORT = Limits(reply=8.0, join=3.0, move=6.0, quiet=0.05)
BROKEN = (Verdict.FAIL, Verdict.WARNING)
RULES = {rule.id: rule for rule in PLAYER}
QUICK = Limits(reply=0.5, join=0.3, move=0.3, game_over=0.3, connect=0.3, start=3.0, quiet=0.05)
LEAGUE = [sys.executable, "-m", "agentleague"]
OPTIONS = "--manager {manager} --port {port} --state {dir} --quiet"
FORMS = ("type", "nested", "tool")
FAST = [rule for rule in PLAYER if not rule.is_slow]


@pytest.fixture(scope="module")
def ours():
    """A player of ours, in this process, and the body with which it registered."""
    manager = Listener("manager", manage)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def settings(url):
        return PlayerSettings(manager_url=manager.url, endpoint=url, display_name="Alpha")

    opening = open_player(settings, strategies.random, Place(0, moves_on=False))
    running = asyncio.run_coroutine_threadsafe(opening, loop).result(10)
    received = manager.wait_for(lambda each: each.name == "LEAGUE_REGISTER_REQUEST", 10)
    yield received.fields()
    asyncio.run_coroutine_threadsafe(running.stop(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
    manager.close()


class Around:
    """What a wrong player knows of its surroundings."""

    def __init__(self):
        self.bench = None
        self.threads = []

    def manager(self):
        return self.bench.manager.url

    def manager_is_away(self):
        if self.bench is None:
            return False
        with socket.socket() as line:
            return line.connect_ex(("127.0.0.1", self.bench.manager.port)) != 0

    def is_busy(self):
        """Whether the kit asks much at once."""
        names = [each.name for each in threading.enumerate()]
        return len([each for each in names if each.startswith("ThreadPool")]) > 9

    def url(self, body):
        """The end point of the referee, wherever it stands."""
        found = re.search(rb'"referee_?[eE]ndpoint": ?"([^"]+)"', body)
        return found and found[1].decode()

    def push(self, url, message):
        body = {"jsonrpc": "2.0", "id": 1, "method": message["message_type"], "params": message}

        def bring():
            with urllib.request.urlopen(url, json.dumps(body).encode(), timeout=5):
                pass

        thread = threading.Thread(target=bring, daemon=True)
        thread.start()
        self.threads.append(thread)


@contextmanager
def checked(ours, make, registers=lambda body: [body]):
    """The kit around a player of ours behind a relay, and its registration there."""
    around = Around()
    port = int(ours["params"]["player_meta"]["contact_endpoint"].split(":")[2].split("/")[0])
    relay = Relay(port)
    relay.before, relay.after = make(around)
    try:
        bench = PlayerBench(Target(url=relay.url), SHORT)
        around.bench = bench
        try:
            body = json.loads(json.dumps(ours))
            body["params"]["player_meta"]["contact_endpoint"] = relay.url
            for each in registers(body):
                with urllib.request.urlopen(
                    bench.manager.url, json.dumps(each).encode(), timeout=5
                ):
                    pass
            yield bench
        finally:
            bench.close()
    finally:
        relay.close()
        for thread in around.threads:
            thread.join(5)


def told(outcomes):
    return "\n".join(
        f"{each.verdict} {each.rule.id}: {each.said} {each.fault}"
        + "".join(
            f"\n    {side[:400]}" for side in (each.exchange.shown() if each.exchange else ())
        )
        for each in outcomes
        if each.verdict in (*BROKEN, Verdict.NOT_REACHED)
    )


def test_a_right_player_behind_the_relay_passes(ours):
    with checked(ours, lambda around: (nothing, nothing)) as bench:
        outcomes = try_rules(FAST, bench)

    assert not told(outcomes)
    assert Counter(each.verdict for each in outcomes)[Verdict.PASS] > 100


def hostile(rule):
    return rule.id.split(".")[1] in ("robust", "limits")


def around_it(rule):
    """A rule, with what it needs, and the others of its area if these are cheap."""
    ids = {rule.id}
    if not hostile(rule):
        ids |= {each.id for each in FAST if each.id.split(".")[1] == rule.id.split(".")[1]}
    while more := {need for each in ids for need in RULES[each].needs} - ids:
        ids |= more
    return [each for each in FAST if each.id in ids]


def expect_caught(ours, wrong, rules):
    """The rule meant for a wrong player is broken, and beyond it only what that implies."""
    rule = RULES[f"player.{wrong.rule}"]

    with checked(ours, wrong.make, wrong.registers) as bench:
        outcomes = try_rules(rules, bench)

    broken = {each.rule.id for each in outcomes if each.verdict in BROKEN}
    unreached = {each.rule.id: each for each in outcomes if each.verdict is Verdict.NOT_REACHED}
    assert rule.id in broken, told(outcomes)
    assert broken <= {rule.id, *rule.implies}, told(outcomes)
    missing = {*broken, *unreached}
    assert all(set(each.rule.needs) & missing for each in unreached.values()), told(outcomes)
    shown = next(each for each in outcomes if each.rule.id == rule.id)
    assert shown.said
    assert shown.exchange


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.says.replace(" ", "-"))
def test_a_wrong_player_breaks_the_rule_meant_for_it_and_no_other_of_its_area(ours, wrong):
    expect_caught(ours, wrong, around_it(RULES[f"player.{wrong.rule}"]))


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.says.replace(" ", "-"))
def test_a_wrong_player_breaks_the_rule_meant_for_it_and_no_other_at_all(ours, wrong):
    expect_caught(ours, wrong, FAST)


def test_a_player_that_acknowledges_first_and_pushes_its_answer_passes(ours):
    with checked(ours, pushes_anew) as bench:
        outcomes = try_rules([each for each in FAST if not hostile(each)], bench)

    assert bench.pushes
    assert not told(outcomes)
    verdicts = {each.rule.id: each.verdict for each in outcomes}
    assert verdicts["player.push.names-its-match"] is Verdict.PASS


def one_match_at_a_time(around):
    """Whoever is in a match refuses any other one, until GAME_OVER of its round."""
    own, rounds = [], []

    def before(passing):
        said, kind = message_in(passing.request), message_in(passing.request).get("message_type")
        if passing.direction == OUT or passing.is_raw:
            return
        if kind == INVITATION and own and own != [said.get("match_id")]:
            error_as(passing, passing.request.fields.get("id"), code=-32000)
        elif kind == INVITATION:
            own[:] = [said.get("match_id")]
            rounds[:] = [said.get("round_id")] if str(own[0]).startswith("R") else []
        elif kind == OVER and own == [said.get("match_id")]:
            own[:] = own if rounds and rounds != [said.get("round_id")] else []

    return before, nothing


def test_a_player_that_is_in_one_match_at_a_time_passes(ours):
    with checked(ours, one_match_at_a_time) as bench:
        outcomes = try_rules(FAST, bench)

    assert not told(outcomes)
    verdicts = {each.rule.id: each.verdict for each in outcomes}
    assert verdicts["player.choice.two-matches"] is Verdict.NOT_APPLICABLE


def test_a_match_is_ended_in_the_form_in_which_it_began(ours):
    """A player that speaks one form alone would stay in a match that ends in another."""
    own = one_match_at_a_time(None)[0]

    def before(passing):
        if passing.direction == IN and not is_spoken(passing.request.fields, "bare"):
            error_as(passing, 1, code=-32601)
        else:
            own(passing)

    with checked(ours, lambda around: (before, nothing)) as bench:
        found = verdicts_of(bench, "invitation.is-answered", "choice.is-answered")
        speaks = bench.speaks

    assert speaks == ["bare"]
    assert found == [Verdict.PASS, Verdict.PASS]


def test_who_is_asked_what_it_is_is_in_no_match_afterwards(ours):
    heard = []

    def before(passing):
        if passing.is_raw:  # It would say what it is at /health.
            passing.reply(status=404)
        elif message_in(passing.request).get("match_id"):
            heard.append(message_in(passing.request)["message_type"])

    with checked(ours, lambda around: (before, nothing)) as bench:
        heard.clear()
        found = identify(Target(url=bench.peer.url), QUICK)

    assert found == "player"
    assert heard == [INVITATION, OVER]


def is_spoken(said, form):
    """Whether what was said is in this form, or in none."""
    if not isinstance(said, dict) or ("jsonrpc" in said and type(said.get("method")) is not str):
        return True
    if said.get("method", "") in ("initialize", "tools/list"):
        return form == "tool"
    inner = said.get("params")
    found = {
        "bare": "jsonrpc" not in said,
        "type": str(said.get("method", "A")).isupper(),
        "nested": not isinstance(inner, dict) or "message" in inner,
        "tool": said.get("method") == "tools/call",
    }
    return found[form]


@pytest.mark.parametrize(
    "form", ["bare", *(pytest.param(each, marks=pytest.mark.slow) for each in FORMS)]
)
def test_a_player_that_speaks_another_form_alone_is_told_so_and_nothing_else(ours, form):
    make = refuses(lambda passing: not is_spoken(passing.request.fields, form), -32601)

    with checked(ours, make) as bench:
        outcomes = try_rules([each for each in FAST if not hostile(each)], bench)

    assert {each.rule.id for each in outcomes if each.verdict in BROKEN} == {"player.forms.flat"}


def verdicts_of(bench, *names):
    """What came of these rules alone."""
    rules = [RULES[f"player.{each}"] for each in names]
    return [outcome.verdict for outcome in try_rules(rules, bench)]


@each_row("status", [400, 404, 405, 501])
def test_nobody_has_to_offer_get(ours, status):
    make = on_raw(rb"^GET ", lambda passing: passing.reply(status=status))

    with checked(ours, make) as bench:
        found = verdicts_of(bench, "http.get-is-no-message", "http.health", "http.metrics")

    assert found == [Verdict.PASS, Verdict.NOT_APPLICABLE, Verdict.NOT_APPLICABLE]


def test_who_refuses_what_document_004_demands_and_names_it_breaks_no_rule(ours):
    missing = {"message": "protocol is missing", "data": {"error_code": "E003"}}
    make = refuses(lambda passing: "protocol" not in message_in(passing.request), **missing)

    with checked(ours, make) as bench:
        found = verdicts_of(bench, "envelope.missing-fields")

    assert found == [Verdict.NOT_APPLICABLE]


def test_a_registration_in_local_time_is_accepted_and_told_so_alone(ours):
    registers = params(timestamp="2026-01-15T10:30:00+02:00")
    names = ("registration.names-itself", "registration.endpoint-is-right")

    with checked(ours, lambda around: (nothing, nothing), registers) as bench:
        found = verdicts_of(bench, *names, "registration.timestamp")
        assert b"ACCEPTED" in bench.registration.reply.body

    assert found == [Verdict.PASS, Verdict.PASS, Verdict.WARNING]


@each_row(
    "fields, said",
    [({}, "`accept`: true; it is missing"), ({"accept": None}, "`accept`: true, not null")],
)
def test_what_was_expected_is_said_in_json(fields, said):
    with pytest.raises(Broken, match=re.escape(said)):
        expect(fields, accept=True)


class OneAtATime(socketserver.TCPServer):
    """In front of a server, for one connection after the other."""

    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, behind):
        super().__init__(("127.0.0.1", 0), None)
        self.behind = behind
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def finish_request(self, request, address):
        request.settimeout(3)
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.behind), 3) as there:
            back = threading.Thread(target=pipe, args=(there, request), daemon=True)
            back.start()
            pipe(request, there)
            back.join(3)

    def handle_error(self, request, address):
        """Whoever leaves is told nothing."""


def pipe(here, there):
    with suppress(OSError):
        while data := here.recv(65_536):
            there.sendall(data)
        there.shutdown(socket.SHUT_WR)


def test_a_player_that_serves_one_connection_after_the_other_is_told_so(ours):
    ids = ("http.takes-post", "invitation.is-answered", "robust.slow-request")
    server = OneAtATime(int(ours["params"]["player_meta"]["contact_endpoint"].split(":")[2][:-4]))
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        bench = PlayerBench(Target(url=url), QUICK)
        outcomes = try_rules([RULES[f"player.{each}"] for each in ids], bench)
        bench.close()
    finally:
        server.shutdown()
        server.server_close()

    assert [each.verdict for each in outcomes] == [Verdict.PASS, Verdict.PASS, Verdict.FAIL]
    assert outcomes[-1].tries == 1, "nobody waits a second time for what is shown already"


def test_a_player_has_the_documented_time_until_the_deadline_of_a_call(ours):
    seconds = []

    def look(passing):
        said = passing.request.message
        if passing.direction == IN and "deadline" in said:
            times = (timestamps.moment(said[name]) for name in ("deadline", "timestamp"))
            seconds.append(next(times) - next(times))

    with checked(ours, lambda _: (look, nothing)) as bench:
        try_rules([RULES["player.choice.is-answered"]], bench)

    assert min(seconds) >= SHORT.move


def scaffold(folder, language):
    """The command of a player that `league new player` wrote."""
    new = [*LEAGUE, "new", "player", "mine", "--language", language]
    subprocess.run(new, cwd=folder, check=True, capture_output=True)
    if language == "javascript":
        return f"node {folder}/mine/mine.js --manager {{manager}} --port {{port}}"
    return f"{shlex.join(LEAGUE)} player {folder}/mine/mine.py {OPTIONS}"


@pytest.mark.process
@pytest.mark.parametrize("kind", ["python", "javascript"])
def test_the_players_that_we_write_pass_with_nothing_but_passes(kind, tmp_path):
    expect_passes(kind, tmp_path, Selection(is_fast=True))


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("kind", ["random", "python", "javascript"])
def test_our_players_and_those_that_we_write_pass_the_slow_rules_too(kind, tmp_path):
    slow = tuple(rule.id for rule in PLAYER if rule.is_slow)

    expect_passes(kind, tmp_path, Selection(only=() if kind == "random" else slow))


def expect_passes(kind, tmp_path, selection):
    if kind == "javascript" and not shutil.which("node"):
        pytest.skip("no node")
    ours = f"{shlex.join(LEAGUE)} player --strategy random {OPTIONS}"
    command = ours if kind == "random" else scaffold(tmp_path, kind)

    report = check("player", Target(command=command), selection, Limits())

    assert not told(report.outcomes)
    unlike = [each for each in report.outcomes if each.verdict is Verdict.NOT_APPLICABLE]
    assert len(unlike) < (25 if kind == "javascript" else 5), [each.rule.id for each in unlike]
