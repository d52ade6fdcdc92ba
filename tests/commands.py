"""Run the real `league` command in real processes."""

import os
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
SECONDS = 60
RUNNING: list[subprocess.Popen] = []  # started by the running test


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
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def first_line(process):
    """Wait until a command has said its first sentence on stderr."""
    return process.stderr.readline()
