"""`league check`: what it prints, how it exits, and that it leaves nothing running."""

import json
import shlex
import signal
import socket
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agentleague.conformance import check
from agentleague.conformance.check import AGENTS
from agentleague.conformance.identify import expect, identify
from agentleague.conformance.launch import Launch
from agentleague.conformance.limits import Limits
from agentleague.conformance.listener import Listener, Reply
from agentleague.conformance.player_bench import PlayerBench
from agentleague.conformance.player_rules import PLAYER
from agentleague.conformance.rules import Broken, NotReached, Rules, Tier, Verdict
from agentleague.conformance.target import Target, Unreachable
from cli.in_process import league
from commands import BIN, SECONDS, free_port, started
from tables import each_row

MUST, SHOULD, ROBUST, PLUS = Tier
QUICK = Limits(reply=2.0, join=2.0, connect=1.0, start=20.0, stop=2.0)
HOSTILE = "\x1b[31m<b>\u202e tok_P01_c0ffee"


class Agent(BaseHTTPRequestHandler):
    """The least agent: it answers each method that it knows with a result."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        if self.server.paths is not None and self.path not in self.server.paths:
            self._write({}, 404)
            return
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = self.server.answers.get(body.get("method"), self.server.answers.get("*"))
        said = {"error": {"code": -32601, "message": "unknown"}} if result is None else {}
        self._write({"jsonrpc": "2.0", "id": body.get("id"), **(said or {"result": result})})

    def do_GET(self):
        self._write(self.server.health, 200 if self.server.health else 404)

    def _write(self, found, status=200):
        body = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@contextmanager
def agent(answers, health=None, paths=None):
    """The URL of an agent that runs meanwhile."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Agent)
    server.daemon_threads = True
    server.answers, server.health, server.paths = answers, health or {}, paths
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        server.server_close()


JOINS = {"handle_game_invitation": {"accept": True}, "parity_choose": {"parity_choice": "even"}}


@pytest.fixture(scope="module")
def player():
    with agent({**JOINS, "*": {"status": HOSTILE}}) as url:
        yield url


TABLE = Rules("player")
SAID = {"source": "document 004 section 5.1", "says": "A player does so.", "mend": "Do so."}


@TABLE.rule("a.passes", MUST, number="R-MATCH-02", **SAID)
def passes(bench):
    assert bench.is_taken(bench.ask(bench.control()))


@TABLE.rule("a.fails", MUST, number="R-MATCH-03", needs=("player.a.passes",), **SAID)
def fails(bench):
    answer = bench.post("NONSENSE", bench.request({"message_type": "NONSENSE"}))
    raise Broken(f"not {answer.fields()}")


@TABLE.rule("b.warns", SHOULD, number="R-FORM-09", leniency="we read that too", **SAID)
def warns(bench):
    raise Broken("`accept`")


@TABLE.rule("b.waits", ROBUST, number="R-LIM-01", is_slow=True, **SAID)
def waits(bench):
    return "it did"


@TABLE.rule("registration.is-seen", MUST, number="R-REG-01", **SAID)
def is_seen(bench):
    raise NotReached("it did not register")


@TABLE.rule("b.needs-it", MUST, number="R-REG-01", needs=("player.registration.is-seen",), **SAID)
def needs_it(bench):
    """Never tried."""


@TABLE.rule("c.is-not-reached", PLUS, number="R-MCP-01", **SAID)
def is_not_reached(bench):
    raise NotReached("start it with --command")


@pytest.fixture
def rules(monkeypatch):
    """A few rules in place of the real ones, which need no wait."""
    monkeypatch.setitem(AGENTS, "player", (PlayerBench, TABLE))


pytestmark = pytest.mark.usefixtures("rules")


def test_a_failure_says_who_asks_for_it_what_was_said_what_was_expected_and_how_to_mend_it(player):
    done = league("check", "player", player, check=False)

    told = done.stdout[done.stdout.index("FAIL player.a.fails") :]
    for line in (
        "rule       must, R-MATCH-03, document 004 section 5.1",
        "sent       NONSENSE: {",
        "came back  HTTP 200 {",
        "expected   not {",
        "mend       Do so.",
    ):
        assert line in told
    assert told.index("WARNING player.b.warns") > 0
    assert "NOT REACHED\n  start it with --command\n    1 rule: player.c.is-not-reached" in told
    assert "Grade F" in told
    forgiven = (
        "It does not play here yet; once that is mended, a strict manager would still refuse it"
    )
    assert f"{forgiven}, because it breaks:\n  player.b.warns  Here: we read that too.\n" in told
    assert done.stdout.startswith("Grade F: it breaks what no league can do without")
    assert "Plays here: no. 5 rules: 2 pass, 1 fail, 1 warning, 1 not reached." in done.stdout
    assert "league check --explain player.a.fails" in done.stderr


def test_nothing_of_a_hostile_agent_reaches_the_terminal_or_a_file(player, tmp_path):
    files = [tmp_path / name for name in ("r.xml", "r.html", "r.svg")]
    options = [
        x for pair in zip(("--junit", "--html", "--badge"), files, strict=True) for x in pair
    ]

    shown = league("check", "player", player, *options, check=False).stdout
    as_json = league("check", "player", player, "--json", check=False).stdout

    for text in (shown, as_json, *(file.read_text("utf-8") for file in files)):
        assert "c0ffee" not in text
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<b>" not in files[1].read_text("utf-8")
    assert json.loads(as_json)["tier"] == "must"
    assert ElementTree.parse(files[0]).find("testsuite").get("failures") == "1"


@each_row(
    "options, code",
    [
        (["--only", "player.a.passes"], 0),
        (["--only", "R-MATCH-02"], 0),
        (["--only", "player.b.warns"], 1),  # All that is named has to pass …
        (["--only", "player.b.*", "--tier", "robust"], 1),
        (["--only", "player.a.*", "--only", "player.b.waits"], 1),
        (["--only", "player.b.warns", "--tier", "must"], 2),  # … of the tier that is named.
        (["--only", "player.b.waits", "--fast"], 2),
        (["--known", "player.a.fails", "--html", "/proc/report.html"], 2),  # It is not written.
        (["--known", "player.a.fails"], 0),
        (["--known", "player.a.fails", "--tier", "should"], 1),
        (["--known", "player.a.*", "--tier", "must"], 1),  # One of them passes.
        ([], 1),
    ],
)
def test_the_exit_code_says_whether_what_was_asked_for_passes(options, code, player):
    done = league("check", "player", player, *options, check=False)

    assert done.returncode == code, done.stdout + done.stderr


def test_a_rule_that_was_named_brings_along_what_it_needs(player):
    done = league("check", "player", player, "--only", "player.a.fails", "--json", check=False)

    found = json.loads(done.stdout)
    assert [row["id"] for row in found["rules"]] == ["player.a.passes", "player.a.fails"]
    assert found["grade"] == ""


def test_who_registers_elsewhere_is_not_judged_by_how_and_that_is_said(player):
    elsewhere = league("check", "player", player, "--json", "--known", "R-MATCH-03")
    named = league("check", "player", player, "--only", "R-REG-01", check=False)
    here = league("check", "player", player, "--manager-port", free_port(), check=False)

    unseen = ["player.registration.is-seen", "player.b.needs-it"]
    assert json.loads(elsewhere.stdout)["unseen"] == unseen
    for done in (named, here):
        assert "it did not register\n    2 rules: player.registration.is-seen" in done.stdout


LEAST = """
import http.server, json, os, sys
class Agent(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked.get("method") == os.environ.get("CRASHES_AT", ""):
            print("no such thing", flush=True)
            os._exit(7)
        said = {"handle_game_invitation": {"accept": True}}.get(asked.get("method"), {})
        body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": said}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Agent).serve_forever()
"""


def least(*words):
    """The command of a player that joins and chooses nothing, and never registers."""
    return shlex.join([sys.executable, "-c", LEAST, *words])


@pytest.mark.process
def test_a_command_that_never_registers_is_judged_like_an_agent_at_a_url(monkeypatch):
    monkeypatch.setattr("agentleague.conformance.target.MANAGER_PORT", free_port())
    target = Target(command=least("{port}"))
    waits = Limits(start=SECONDS, connect=0.3)
    began = time.perf_counter()

    report = check.check("player", target, check.Selection(known=("R-MATCH-03",)), waits)

    assert report.unseen == ["player.registration.is-seen", "player.b.needs-it"]
    assert time.perf_counter() - began < SECONDS / 2


@pytest.mark.process
def test_a_command_that_is_told_its_manager_and_does_not_register_breaks_one_rule(monkeypatch):
    monkeypatch.setitem(AGENTS, "player", (PlayerBench, PLAYER))
    target = Target(command=least("{port}", "{manager}"))
    selection = check.Selection(only=("player.registration.*",), is_fast=True)

    report = check.check("player", target, selection, Limits(start=1.0))

    (broken,) = report.of(Verdict.FAIL)
    assert broken.rule.id == "player.registration.names-itself"
    assert broken.said.startswith("a registration at {manager}")
    why = {each.said for each in report.of(Verdict.NOT_REACHED)}
    assert all(each.startswith("needs player.registration.") for each in why)


@pytest.mark.process
def test_a_crash_is_told_with_its_last_words_where_it_happened_and_the_check_goes_on(monkeypatch):
    monkeypatch.setenv("CRASHES_AT", "NONSENSE")
    monkeypatch.setattr("agentleague.conformance.target.MANAGER_PORT", free_port())

    report = check.check("player", Target(command=least("{port}")), check.Selection(), BRISK)

    (broken,) = report.of(Verdict.FAIL)
    assert broken.rule.id == "player.a.fails"
    assert broken.said.endswith(
        "; the command ended with exit code 7 after NONSENSE; it said:\nno such thing"
    )
    assert [x.rule.id for x in report.of(Verdict.WARNING)] == ["player.b.warns"]
    assert [x.rule.id for x in report.of(Verdict.PASS)] == ["player.a.passes", "player.b.waits"]


@pytest.mark.process
@each_row(
    "crashes_at, said",
    [
        ("GAME_INVITATION", ""),  # a form that it does not know
        ("parity_choose", ""),  # by which it is found out which form it takes
        ("handle_game_invitation", "exit code 7 after GAME_INVITATION; it said:\nno such thing"),
    ],
)
def test_who_crashes_at_an_invitation_is_started_again_a_few_times(crashes_at, said):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRASHES_AT", crashes_at)
        patch.setattr("agentleague.conformance.target.MANAGER_PORT", free_port())
        try:
            report = check.check("player", Target(command=least("{port}")), PASSES, BRISK)
            found = report.outcomes[0].said
        except Unreachable as error:
            found = str(error)

    assert said in found
    assert bool(found) == bool(said)


PASSES = check.Selection(only=("player.a.passes",))
BRISK = Limits(connect=0.3, join=1.0, quiet=0.1)


def test_fast_says_how_much_it_left_out(player):
    done = league("check", "player", player, "--fast", check=False)

    assert "1 slow rule, by --fast" in done.stdout
    assert "--fast left out 1 rule" in done.stderr


@each_row(
    "arguments, said",
    [
        (["player", "--only", "player.a.pases"], "did you mean player.a.passes?"),
        (["player", "--only", "r-match-2"], "did you mean R-MATCH-02?"),
        (["player", "--known", "warns"], "did you mean player.b.warns?"),
        (["player", "--explain", "nothing"], "list all with: league check player --list"),
        (["plaier", "127.0.0.1:9"], "did you mean player 127.0.0.1:9?"),
        (["plainly", "127.0.0.1:9"], "'127.0.0.1:9' is not expected after 'plainly'\n"),
        (["player", "--only", "zz"], "there is no rule 'zz' for a player; list"),
        (["ftp://127.0.0.1"], "it is like http://127.0.0.1:8101/mcp"),
        ([__file__], f'let the kit start it: --command "league player {__file__} --port {{port}}'),
        (["http://127.0.0.1:70000"], "it is like"),
        (["http://ann:secret@127.0.0.1:9"], "is not called by any league"),
        ([], "give its URL, or a --command"),
        (["--command", " "], "give its URL, or a --command"),
        (["--command", "node 'a.js"], "no closing quotation"),
        (["--command", "cd x && node a.js {manager}"], "write bash -c 'cd x && node a.js"),
        (["--command", "node a.js --port={prt}"], "unknown {prt}; did you mean {port}? There are"),
        (["player", "--command", "node {players}"], "there are {manager}, {port}, {dir}\n"),
        (["--command", "no-such-program {manager}"], "cannot start 'no-such-program'"),
        (["player", "127.0.0.1:9", "--badge", "a.svg", "--only", "R-MATCH-02"], "leave out"),
        (["127.0.0.1:9", "--bind", "192.0.2.7"], "this machine has no address 192.0.2.7"),
        (["127.0.0.1:9", "--bind", "0.0.0.0"], "at which the agent calls you"),
        (["player", "127.0.0.1:9", "--html", "/nowhere/at/all.html"], "there is no directory"),
        (["player", "127.0.0.1:9"], "nobody listens at http://127.0.0.1:9"),
        (["127.0.0.1:9"], "nobody listens at http://127.0.0.1:9/mcp;"),
        (["player", "http://nobody.invalid:8101/mcp"], "no such host: nobody.invalid"),
    ],
)
def test_who_cannot_be_checked_is_told_why_and_what_to_do_and_the_exit_code_is_2(arguments, said):
    done = league("check", *arguments, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_what_a_build_reads_says_too_why_nothing_could_be_checked(tmp_path):
    file = tmp_path / "z.xml"

    done = league(
        "check", "player", "http://127.0.0.1:9/mcp", "--json", "--junit", file, check=False
    )

    assert done.returncode == 2
    assert json.loads(done.stdout)["error"].startswith("it cannot be checked: nobody listens at")
    (case,) = ElementTree.parse(file).iter("testcase")
    assert case.find("error").get("message") == json.loads(done.stdout)["error"]


@pytest.mark.process
@each_row(
    "arguments, said",
    [
        (["player", "--command", "false {manager}"], "ended with exit code 1"),
        (["--command", "false {manager}"], "ended with exit code 1; if it is a manager, say"),
        (
            ["--command", "sh -c 'echo no such port; exit 7' {manager}"],
            "exit code 7; it said:\nno such port",
        ),
    ],
)
def test_an_agent_that_does_not_start_is_told_with_its_last_words(arguments, said):
    done = league("check", *arguments, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_fault_of_the_kit_is_not_one_of_the_agent(player, monkeypatch):
    broken = Rules("player")
    broken.rule("a.b", MUST, number="R-MATCH-02", **SAID)(lambda bench: 1 / 0)
    monkeypatch.setitem(AGENTS, "player", (PlayerBench, broken))

    done = league("check", "player", player, check=False)
    debugged = league("check", "player", player, "--debug", check=False)

    assert (done.returncode, debugged.returncode) == (2, 2)
    assert "a fault of the kit, not of the agent" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Grade" not in done.stdout
    assert "ZeroDivisionError: division by zero" in debugged.stderr


def test_rules_can_be_read_without_an_agent():
    listed = league("check", "player", "--list").stdout
    told = league("check", "player", "--explain", "player.b.warns").stdout
    number = league("check", "player", "--explain", "R-FORM-09", "--json").stdout

    assert [word for word in listed.split() if "player." in word] == [each.id for each in TABLE]
    for said in ("A player does so.", "R-FORM-09 of", "document 004", "Do so.", "we read that too"):
        assert said in told
    assert json.loads(number)["id"] == "player.b.warns"


def test_a_list_of_rules_has_those_that_were_asked_for():
    def names(*options):
        shown = league("check", "player", "--list", *options).stdout
        return [word.removeprefix("player.") for word in shown.split() if "player." in word]

    assert names("--only", "player.b.*") == ["b.warns", "b.waits", "b.needs-it"]
    assert names("--only", "player.b.*", "--tier", "must") == ["b.needs-it"]
    assert names("--only", "player.b.*", "--fast") == ["b.warns", "b.needs-it"]


@each_row(
    "answers, health, kind, said",
    [
        (JOINS, {"role": "manager"}, "player", "that is a manager; type: league check manager"),
        ({}, {"role": "manager"}, "referee", "that is a manager; type: league check manager"),
        ({"league_query": {"sender": "league_manager"}}, None, "player", "that is a manager"),
        (JOINS, None, "manager", "that is a player; type: league check player http"),
        (JOINS, None, "player", ""),
        (JOINS, {"role": "spectator"}, "player", ""),
        ({}, None, "manager", ""),  # In doubt its rules are tried.
        ({"*": {"sender": "player:P01"}}, None, "referee", ""),
    ],
)
def test_an_agent_of_another_kind_is_told_before_any_rule_is_tried(answers, health, kind, said):
    with agent(answers, health) as url:
        assert (said or "goes on") in refusal(kind, url)


def refusal(kind, url, limits=QUICK):
    try:
        expect(kind, url, limits)
    except Unreachable as error:
        return str(error)
    return "goes on"


def test_who_takes_connections_and_says_nothing_is_given_up_soon():
    with socket.create_server(("127.0.0.1", 0), backlog=50) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}/mcp"
        began = time.perf_counter()

        found = refusal("player", f"http://{address}", Limits(connect=0.2, join=0.3))

        assert found == f"somebody listens at http://{address}, but never answers"
        assert time.perf_counter() - began < SECONDS / 2


@pytest.fixture
def mute():
    """The URL of an agent that answers GET /health, and no POST; and what it was asked."""
    listener = Listener("player", lambda received: Reply(is_never=True))
    yield listener
    listener.close()


@each_row(
    "reach, asked",
    [
        (lambda target, limits: identify(target, limits), 3),
        (lambda target, limits: PlayerBench(target, limits), 4),  # One of them is an end.
        (lambda target, limits: check.check("manager", target, check.Selection(), limits), 3),
    ],
)
def test_who_answers_no_post_is_given_up_soon_and_told_so(reach, asked, mute):
    before = len(mute.received)

    with pytest.raises(Unreachable, match=f"{mute.url} answers no POST"):
        reach(Target(url=mute.url), Limits(reply=0.2, join=0.2, game_over=0.2))

    assert len(mute.received) - before <= asked


@each_row(
    "paths, path, said",
    [
        (["/mcp"], "/mpc", "HTTP 404 at /mpc; did you mean /mcp?"),
        ([], "/mcp", "HTTP 404 at /mcp; is that an agent, and is its path right?"),
        (["/play"], "/play", "goes on"),
    ],
)
def test_a_wrong_path_is_told_as_what_it_is(paths, path, said):
    with agent({"*": {"status": "ok"}}, paths=paths) as url:
        assert refusal("player", url.replace("/mcp", path)) == said


def test_tls_is_not_tried_where_none_is_spoken():
    with agent(JOINS) as url:
        quick = Limits(connect=0.3)
        said = f"what listens at {url.replace('http', 'https')} speaks no TLS; try {url}"
        assert refusal("player", url.replace("http", "https"), quick) == said


@pytest.mark.process
@each_row(
    "command, said",
    [
        ("-c PROGRAM {port} {manager}", "nobody listened at {port}=.* and nobody registered at "),
        (
            "-c PROGRAM {port}",
            r"nobody listened at {port}=.*; does it use {port}\? It said:\nhello",
        ),
        (
            "-c PROGRAM {manager}",
            r"within 0 s nobody registered .* does it use {manager}\? It said",
        ),
    ],
)
def test_a_command_that_runs_and_does_nothing_is_told_with_what_it_said(command, said):
    words = f"{sys.executable} {command}".replace("PROGRAM", shlex.quote(TALKS))
    target, limits = Target(command=words, manager_port=free_port()), Limits(start=0.4, stop=1.0)

    with pytest.raises(Unreachable, match=said):
        check.check("player", target, check.Selection(), limits)


TALKS = "import time; print('hello', flush=True); time.sleep(60)"


@pytest.mark.process
def test_of_a_long_text_of_an_agent_the_beginning_and_the_end_are_shown():
    program = "print(*range(9000), sep=chr(10))"
    launch = Launch(shlex.join([sys.executable, "-c", program]), {}, 1.0)
    launch.start()
    launch.wait(SECONDS)

    lines = launch.last_words().splitlines()
    launch.close()

    assert lines == [*map(str, range(6)), "…", *map(str, range(8992, 9000))]


def test_an_agent_that_ends_after_its_league_is_told_to_be_started_again(monkeypatch):
    table = Rules("player")

    @table.rule("notice.league-completed", MUST, number="R-FORM-12", **SAID)
    def ends(bench):
        ended.close()

    monkeypatch.setitem(AGENTS, "player", (PlayerBench, table))
    with ExitStack() as ended:
        url = ended.enter_context(agent(JOINS))
        done = league("check", "player", url)

    assert "The agent has ended, as it should after LEAGUE_COMPLETED; start it" in done.stderr


START = {"start_match": {"status": "ok"}}
STANDINGS = {"league_query": {"success": True, "data": {"standings": []}}}


@each_row(
    "answers, health, kind",
    [
        (JOINS, None, "player"),
        ({**JOINS, "*": {}}, {"role": "spectator"}, "player"),
        ({"GAME_INVITATION": {"status": "ACCEPTED"}}, None, "player"),
        (STANDINGS, None, "manager"),
        ({"LEAGUE_QUERY": {"standings": []}}, None, "manager"),
        (START, None, "referee"),
        (START, {"role": "manager"}, "manager"),
        ({"*": {"status": "ok"}}, None, None),  # It takes everything.
        ({}, None, None),
    ],
)
def test_what_an_agent_is_shows_in_what_it_says_or_takes(answers, health, kind):
    with agent(answers, health) as url:
        try:
            found = identify(Target(url=url), QUICK)
        except Unreachable:
            found = None

    assert found == kind


@pytest.mark.process
def test_our_own_player_is_found_out_by_what_it_registers_as_and_checked(monkeypatch):
    monkeypatch.undo()  # The real rules.
    command = f"{BIN / 'league'} player --strategy random --manager {{manager}} --port {{port}}"

    done = league("check", "--command", command, "--fast", "--json", check=False)

    found = json.loads(done.stdout)
    wrong = [x["id"] for x in found["rules"] if x["verdict"] not in ("pass", "not applicable")]
    assert (done.returncode, found["role"], wrong) == (0, "player", []), done.stderr
    assert found["plays_strictly"] is True
    assert found["speaks"][0]["name"] == "tool"


CHILD = """
import os, pathlib, signal, subprocess, sys, time
here = pathlib.Path(__file__)
if len(sys.argv) > 1:
    subprocess.Popen([sys.executable, __file__])  # It would outlive the one that started it.
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: here.with_name("asked").touch())
here.with_name(f"{os.getpid()}.pid").touch()
time.sleep(600)
"""


def checking(folder, *words, ignored=""):
    """A check of an agent that never answers, and the processes of that agent."""
    script = folder / "agent.py"
    script.write_text(CHILD)
    command = shlex.join([sys.executable, str(script), "{manager}", *words])
    shell = ["sh", "-c", f'trap \'\' {ignored}; exec "$0" "$@"'] if ignored else []
    process = started(*shell, BIN / "league", "check", "player", "--command", command)
    pids = [int(path.stem) for path in awaited(lambda: sorted(folder.glob("*.pid")), 2)]
    return process, pids


@each_row(
    "number, ignored",
    [
        (signal.SIGINT, ""),
        (signal.SIGTERM, "INT"),  # as of `league check … &` in a script
        (signal.SIGHUP, "INT"),
    ],
)
def test_a_check_that_is_stopped_ends_the_agent_and_all_that_it_started(number, ignored, tmp_path):
    folder = tmp_path / str(number)
    folder.mkdir()
    process, pids = checking(folder, ignored=ignored)

    process.send_signal(number)

    _, said = process.communicate(timeout=SECONDS)
    assert (process.returncode, said.strip()) == (128 + number, "Stopped.")
    assert [pid for pid in pids if is_running(pid)] == []


def test_a_second_ctrl_c_does_not_leave_a_stubborn_agent_running(tmp_path):
    process, pids = checking(tmp_path, "stubborn")

    process.send_signal(signal.SIGINT)
    awaited(lambda: sorted(tmp_path.glob("asked")), 1)
    process.send_signal(signal.SIGINT)

    process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert [pid for pid in pids if is_running(pid)] == []


def awaited(found, count):
    until = time.perf_counter() + SECONDS
    while len(found()) < count:
        assert time.perf_counter() < until
        time.sleep(0.01)
    return found()


def is_running(pid):
    """Whether there is such a process that has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_no_thread_and_no_port_is_left_after_a_check(player):
    before = threading.active_count()
    port = free_port()
    target = Target(url=player, manager_port=port)

    for _ in range(2):  # The port is free again.
        check.check("player", target, check.Selection(only=("player.a.passes",)), QUICK)

    awaited(lambda: "." * (threading.active_count() <= before), 1)


def test_a_match_that_an_agent_loses_without_a_game_leads_here():
    with agent({}) as url:
        done = league("play", url, "random", "--move-seconds", "1")

    assert f"league check player {url}" in done.stderr
