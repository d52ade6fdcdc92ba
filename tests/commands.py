"""Run the real `league` command in real processes."""

import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import SystemRandom

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
SECONDS = 60
RUNNING: list[subprocess.Popen] = []  # started by the running test
PORTS = range(26_000, 32_000)  # The system gives them to nobody by itself, no test names them.
GIVEN: set[int] = set()  # ports that were given out


def league(*arguments, cwd=None, check=True):
    """One command from start to end."""
    done = subprocess.run(
        [BIN / "league", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=cwd,
        env=environment(),
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done


def started(*arguments, cwd=None):
    """A command that goes on running; what is left of it is ended after the test."""
    process = subprocess.Popen(
        list(map(str, arguments)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=environment(),
    )
    RUNNING.append(process)
    return process


def environment():
    return {**os.environ, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}


def free_port():
    """A free port that nobody else takes, neither before its owner starts nor while it is dead."""
    while True:
        port = SystemRandom().choice(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if port not in GIVEN:
                GIVEN.add(port)
                return port


def first_line(process):
    """Wait until a command has said its first sentence on stderr."""
    return process.stderr.readline()


def end_all():
    """End what the running test started and left behind."""
    while RUNNING:
        process = RUNNING.pop()
        if process.poll() is None:
            process.kill()
        process.communicate()
