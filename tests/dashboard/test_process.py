"""The dashboard beside a manager: a child that ends with it, and what `GET /` says of it."""

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from agentleague.dashboard.process import MISSING, DashboardProcess
from agentleague.roles.settings import ManagerSettings
from agentleague.transport.http_response import HttpRequest
from commands import (
    BIN,
    SECONDS,
    environment,
    free_port,
    league,
    read_until,
    run,
    started,
)

HIDES = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec

def find_others(name, path=None, target=None):
    hidden = name in ("jinja2", "starlette", "uvicorn")
    return None if hidden else find(name, path, target)

PathFinder.find_spec = find_others
"""


def manager(directory, *options, **env):
    words = ["manager", "--dir", directory, "--port", "0", "--dashboard-port", str(free_port())]
    beside = {**environment(), "LEAGUE_DASHBOARD": "true", **env}
    return started(BIN / "league", *words, *options, env=beside)


def url_of(process):
    """Where the manager says that its pages are, and what it said until then."""
    said = read_until(process, "See it in a browser: ")
    return said.splitlines()[-1].split()[-1], said


def manager_url(said):
    return said.split("the manager is at ")[1].split("/mcp")[0]


def fetch(url):
    """The address that answered in the end, and the text."""
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:
            return answer.url, answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.url, error.code, error.read().decode()


def children(pid):
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True
    )
    return [int(each) for each in listed.stdout.split()]


def wait_for_end(pid):
    """Until a process has ended; its parent may not have noticed yet."""
    for _ in range(SECONDS * 100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "Z":
                return
        except OSError:
            return
        time.sleep(0.01)
    raise AssertionError(f"{pid} has not ended")


def test_a_manager_leads_browsers_to_its_pages_and_takes_them_along_when_it_is_killed(tmp_path):
    process = manager(tmp_path / "cup")
    url, said = url_of(process)
    where, status, text = fetch(manager_url(said))
    (child,) = children(process.pid)
    niceness = os.getpriority(os.PRIO_PROCESS, child)

    process.kill()

    wait_for_end(child)
    assert (where, status) == (url, 200)
    assert f"league start --dir {tmp_path / 'cup'}<" in text
    assert "<main" in text
    assert niceness > os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.parametrize("endpoint", ["", "http://cup.example:8000/mcp"])
def test_pages_say_the_address_of_the_manager_that_others_call(tmp_path, endpoint):
    where = ["--network", "lan", "--bind", "0.0.0.0", *(["--endpoint", endpoint] * bool(endpoint))]
    url, said = url_of(manager(tmp_path / "cup", *where))

    # A page does not wait for long until its manager has answered.
    looks = (fetch(url)[2] for _ in range(SECONDS * 2) if not time.sleep(0.5))

    assert any(f"--manager {manager_url(said)}/mcp" in text for text in looks)


def test_a_stopped_manager_ends_its_pages_and_a_resumed_one_shows_them_again(tmp_path):
    first = manager(tmp_path / "cup")
    url, _ = url_of(first)
    (child,) = children(first.pid)

    first.send_signal(signal.SIGINT)
    said = first.communicate(timeout=SECONDS)[1]

    wait_for_end(child)
    assert first.returncode == 0
    assert "dashboard" not in said
    again, _ = url_of(manager(tmp_path / "cup", "--dashboard-port", url.split(":")[2].strip("/")))
    assert fetch(again)[1] == 200


def test_a_busy_port_is_left_to_whom_it_belongs(tmp_path):
    port = str(free_port())
    one, _ = url_of(manager(tmp_path / "one", "--dashboard-port", port))
    other, _ = url_of(manager(tmp_path / "other", "--dashboard-port", port))

    assert one == f"http://127.0.0.1:{port}/"
    assert other != one
    assert fetch(other)[1] == 200


def test_pages_come_back_at_the_port_that_they_had_and_say_so_if_they_cannot(tmp_path):
    port = str(free_port())

    def stopped(process):
        url, said = url_of(process)
        process.send_signal(signal.SIGINT)
        return url, said + process.communicate(timeout=SECONDS)[1]

    def resumed():
        env = {**environment(), "LEAGUE_DASHBOARD": "true"}
        return started(BIN / "league", "manager", "--dir", tmp_path / "cup", env=env)

    first = manager(tmp_path / "first", "--dashboard-port", port)
    url_of(first)
    had, _ = stopped(manager(tmp_path / "cup", "--dashboard-port", port))
    first.kill()
    first.wait()

    again, said = stopped(resumed())
    assert port not in had
    assert again == had
    assert "is busy" not in said
    other = manager(tmp_path / "other", "--dashboard-port", had.split(":")[2].strip("/"))
    url_of(other)
    moved, said = stopped(resumed())
    assert moved != had
    assert f"start with: --dashboard-port {had.split(':')[2].strip('/')}" in said


def test_the_link_of_a_seat_has_the_address_that_others_open(tmp_path):
    url, _ = url_of(manager(tmp_path / "cup", "--dashboard-bind", "0.0.0.0"))

    made = league("seat", "Ann", "--dir", tmp_path / "cup")

    assert "league start --dir DIR<" in fetch(url)[2]  # Strangers are told no paths.
    assert made.stdout.startswith(f"{url}play/seat_")


def test_pages_that_are_off_say_how_to_see_them(tmp_path):
    process = manager(tmp_path / "cup", "--no-dashboard")
    said = read_until(process, "Waiting for")

    _, status, text = fetch(manager_url(said))

    assert status == 404
    assert f"league dashboard {tmp_path / 'cup'}" in text
    assert children(process.pid) == []
    assert fetch(f"{manager_url(said)}/favicon.ico")[1] == 204


def test_without_the_extra_a_manager_runs_and_says_what_to_install(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HIDES)
    hidden = {"PYTHONPATH": str(tmp_path)}
    process = manager(tmp_path / "cup", **hidden)
    said = read_until(process, "--no-dashboard")

    _, status, text = fetch(manager_url(said))
    shown = run([BIN / "league", "dashboard", tmp_path / "cup"], env={**environment(), **hidden})

    assert MISSING in said
    assert (status, MISSING in text) == (404, True)
    assert shown.returncode == 1
    assert "python -m pip install jinja2 starlette uvicorn" in shown.stderr
    assert "Traceback" not in said + shown.stderr


def test_a_dashboard_that_fails_is_said_in_one_sentence(tmp_path):
    process = manager(tmp_path / "cup", "--dashboard-bind", "192.0.2.77")

    said = read_until(process, "--no-dashboard")

    assert "The dashboard has ended: " in said
    assert "with --dashboard-bind, or leave --dashboard-bind out\n" in said
    assert "Traceback" not in said


TALKS = """
import os, sys

if "--beside" in sys.orig_argv:
    sys.stderr.write(300_000 * "x" + "\\nError: no pages today\\n")
    os._exit(1)
"""


def test_a_dashboard_that_says_very_much_is_heard_to_the_end(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(TALKS)

    said = read_until(manager(tmp_path / "cup", PYTHONPATH=str(tmp_path)), "--no-dashboard")

    assert "The dashboard has ended: no pages today\n" in said


def test_a_league_that_is_over_is_shown_until_ctrl_c(tmp_path):
    league("demo", "--dir", tmp_path / "cup", "--players", "2")
    process = started(BIN / "league", "dashboard", tmp_path / "cup", "--port", str(free_port()))
    url = read_until(process, "Stop with Ctrl-C").split()[5]

    page = fetch(url)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=SECONDS)

    assert page[1] == 200
    assert (process.returncode, out, said) == (0, "", "")


def test_mistakes_are_said_with_what_to_type(tmp_path):
    nothing = league("dashboard", tmp_path / "nothing", check=False)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()
    other = league("dashboard", tmp_path / "other", check=False)
    url, _ = url_of(manager(tmp_path / "cup"))
    busy = league("dashboard", tmp_path / "cup", "--port", url.split(":")[2][:-1], check=False)
    wrong = league("manager", "--dashboard-bind", "1.2.3", check=False, cwd=tmp_path)

    assert (nothing.returncode, other.returncode, busy.returncode) == (1, 1, 1)
    assert "there is no league in" in nothing.stderr
    assert "there is no league in" in other.stderr
    assert "choose another port with --port" in busy.stderr
    assert "dashboard" in wrong.stderr
    assert "'1.2.3' is no address" in wrong.stderr


class Answered:
    def __call__(self, status, body, headers=()):
        self.status, self.body, self.headers = status, body.decode(), dict(headers)


@pytest.mark.parametrize(
    ("bind", "source", "host", "expected"),
    [
        ("", "127.0.0.1", "localhost:8000", "http://localhost:8090/"),
        ("", "::1", "[::1]:8000", "http://[::1]:8090/"),
        ("", "192.168.1.9", "192.168.1.7:8000", 403),  # from elsewhere
        ("", "127.0.0.1", "league.example", 403),  # through a proxy on this machine
        ("0.0.0.0", "192.168.1.9", "desk.local:8000", "http://desk.local:8090/"),
        ("0.0.0.0", "192.168.1.9", "192.168.1.7:8000", "http://192.168.1.7:8090/"),
        ("192.168.1.7", "192.168.1.9", "desk.local:8000", "http://192.168.1.7:8090/"),
    ],
)
def test_a_browser_is_led_to_the_address_it_can_reach(tmp_path, bind, source, host, expected):
    beside = DashboardProcess(ManagerSettings(dashboard_bind=bind), tmp_path, print)
    beside.url = f"http://{bind if bind == '192.168.1.7' else '127.0.0.1'}:8090/"
    head = f"GET / HTTP/1.1\r\nHost: {host}".encode()
    answered = Answered()

    beside._answer(HttpRequest("/", b"", source, "GET", head), answered)

    if expected == 403:
        assert answered.status == 403
        assert "one machine only" in answered.body
    else:
        assert (answered.status, answered.headers["Location"]) == (302, expected)


def test_who_is_elsewhere_is_not_told_what_is_wrong_here(tmp_path):
    beside, answered = (
        DashboardProcess(ManagerSettings(dashboard=False), tmp_path, print),
        Answered(),
    )

    beside._answer(HttpRequest("/", b"", "192.168.1.9", "GET", b"GET / HTTP/1.1"), answered)

    assert answered.status == 404
    assert str(tmp_path) not in answered.body


def test_a_browser_that_comes_too_early_comes_again(tmp_path):
    beside, answered = DashboardProcess(ManagerSettings(), tmp_path, print), Answered()

    beside._answer(HttpRequest("/", b"", "127.0.0.1", "GET", b"GET / HTTP/1.1"), answered)

    assert (answered.status, answered.headers["Refresh"]) == (503, "1")
