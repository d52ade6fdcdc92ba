"""Rules for every test.

Random examples: `--hypothesis-profile` is quick, test or slow; `examples.py` scales counts by it.
In CI every run tries the same examples: chance must not decide whether a change lands. No example
is timed, because the machine may be busy.
"""

import os
import signal
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import commands
import fork_server
import processes
from postgres_server import database, own_postgres, postgres  # noqa: F401

for _name, _examples in (("quick", 10), ("test", 100), ("slow", 500)):
    settings.register_profile(
        _name,
        max_examples=_examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=_name == "quick" or bool(os.environ.get("CI")),
    )
settings.load_profile("test")


# Tracing doubles the time of what runs whole leagues; the pure folders are covered without it.
UNTRACED = {"browser", "conformance", "crash", "fuzz", "simulation"}


def pytest_configure(config):
    # A parent that ignores signals (nohup, a shell's &) hands that down to every child.
    # A handler is not handed down: children start as if typed at a terminal.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(number, signal.SIG_DFL)
    processes.guard()


def pytest_unconfigure():
    fork_server.stop()


def pytest_collection_modifyitems(items):
    for item in items:
        if processes.starts_processes(item):
            item.add_marker("process")
        if item.path.relative_to(Path(__file__).parent).parts[0] in UNTRACED:
            item.add_marker("no_cover")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    processes.allow(item.get_closest_marker("process") is not None)
    try:
        return (yield)
    finally:
        processes.allow(True)


def pytest_terminal_summary(terminalreporter):
    """Name the tests that were left out, and why, even with -q and with xdist."""
    left_out = defaultdict(list)
    for report in terminalreporter.stats.get("skipped", []):
        _, _, reason = report.longrepr
        left_out[reason.removeprefix("Skipped: ")].append(report.nodeid)
    if left_out:
        terminalreporter.section("left out")
    for reason, names in sorted(left_out.items()):
        terminalreporter.line(f"left out: {reason}")
        for name in sorted(names):
            terminalreporter.line(f"    {name}")


@pytest.fixture(autouse=True, scope="session")
def _no_token_in_the_home_of_the_user(tmp_path_factory):
    os.environ["LEAGUE_STATE"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(autouse=True, scope="session")
def _no_dashboard_beside_a_manager_unless_a_test_asks_for_it():
    os.environ["LEAGUE_DASHBOARD"] = "false"


@pytest.fixture(autouse=True)
def _no_process_is_left_behind():
    yield
    commands.end_all()
