"""Run the real `league` command in processes of its own."""

import fcntl
import os
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from random import SystemRandom
from threading import Timer

from fork_server import ForkedProcess, can_copy

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
SECONDS = 60  # for anything that must happen: the machine may be busy
RUNNING: list[subprocess.Popen] = []  # started by the running test
PORTS = range(26_000, 32_000)  # The system gives them to nobody by itself, no test names them.
GIVEN: set[int] = set()  # ports that were given out


def league(*arguments, cwd=None, check=True):
    """One command from start to end."""
    done = run([BIN / "league", *arguments], cwd=cwd)
    if check:
        assert done.returncode == 0, done.stderr
    return done


def run(words, *, env=None, **options):
    """Like subprocess.run with text that is captured, and with a limit of time."""
    given = options.pop("input", None)
    if given is not None:
        options["stdin"] = subprocess.PIPE
    with popen(words, env=env, **options) as process:
        try:
            out, said = process.communicate(given, timeout=SECONDS)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, said)


def started(*words, **options):
    """A command that goes on running; what is left of it is ended after the test."""
    process = popen(words, **options)
    RUNNING.append(process)
    return process


def popen(words, *, env=None, **options):
    """A process whose stdout and stderr are pipes of text, unless `options` say otherwise.

    A Python script is forked from a process that has imported the package, where that is the same.
    """
    env = environment() if env is None else env
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    words = list(map(str, words))
    start = ForkedProcess if can_copy(words, env, options) else subprocess.Popen
    return start(words, env=env, **options)


def environment():
    return {**os.environ, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}


def free_port():
    """A free port that no other test is given, in this process or another, while tests run."""
    while True:
        port = SystemRandom().choice(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if port not in GIVEN:
                fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
                GIVEN.add(port)
                return port


@cache
def _locks():
    """A file with a byte for each port, open as long as this process lives: so is what it locks."""
    return open(Path(tempfile.gettempdir(), f"agentleague-ports-{os.getuid()}"), "w")


def first_line(process):
    """Wait until a command has said its first sentence on stderr."""
    return read_until(process, "\n")


def read_until(process, words):
    """What a command says on stderr, up to a line with these words."""
    lines = []
    with killed_when_late(process):
        while line := process.stderr.readline():
            lines.append(line)
            if words in line:
                return "".join(lines)
    ending = f"it ended ({process.wait(SECONDS)}) without {words!r}"
    raise AssertionError(f"{ending}: {process.args}\n{''.join(lines)}")


@contextmanager
def killed_when_late(process):
    """Kill a process that says nothing for too long, so that nobody reads from it forever."""
    timer = Timer(SECONDS, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def end_all():
    """End what the running test started and left behind."""
    while RUNNING:
        process = RUNNING.pop()
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=SECONDS)
