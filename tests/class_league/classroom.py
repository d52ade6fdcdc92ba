"""A class and its machines: real processes of the `league` command, each on a host of its own.

A host is a loopback address, or a network namespace; what is done there is the same.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import commands

PATIENCE_SECONDS = 60  # A machine may be busy; nothing here is a measure of time.
CODE = "tipuf-sajil-gikop"
PORT = 21000
PLAYER_PORT = 21101


class Machine:
    """Somebody's computer: its address, and how a command is run there."""

    def __init__(self, address, prefix=(), options=()):
        self.address, self._prefix, self.options = address, tuple(prefix), tuple(options)

    def words(self, *arguments):
        return [*self._prefix, *map(str, arguments)]


class Running:
    """A process that was started, and what it has said so far."""

    def __init__(self, machine, arguments, file, cwd):
        self.machine, self._file = machine, file
        with open(file, "w", encoding="utf-8") as talk:
            words = machine.words(*arguments)
            self.process = commands.popen(
                words, stdout=talk, stderr=talk, cwd=cwd, env=environment()
            )
        commands.RUNNING.append(self.process)

    @property
    def said(self):
        return self._file.read_text(encoding="utf-8")

    def until(self, *texts):
        """Wait until it has said one of these, and nothing else stops it; the line."""

        def found():
            lines = self.said.splitlines()
            return next((line for line in lines if any(text in line for text in texts)), None)

        return wait_for(found, f"{' or '.join(texts)} in:\n{{}}", lambda: self.said)

    def ended(self):
        """Wait until it has ended by itself; its exit code."""
        try:
            return self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running: {self.said}") from None

    def kill(self):
        """The power fails."""
        self.process.kill()
        self.process.wait()


class Classroom:
    """The teacher's directory, and the `league` command on any machine."""

    def __init__(self, directory):
        self.directory = directory
        self._started = 0

    def start(self, machine, *arguments, program=None):
        """A command that goes on running."""
        self._started += 1
        file = self.directory / f"talk-{self._started}.txt"
        command = program or [commands.BIN / "league"]
        return Running(machine, [*command, *arguments], file, self.directory)

    def python(self, machine, *arguments):
        """A program of somebody's own."""
        return self.start(machine, *arguments, program=[sys.executable])

    def league(self, machine, *arguments):
        """A command from start to end: its exit code, and what it printed."""
        words = machine.words(commands.BIN / "league", *arguments)
        done = commands.run(words, cwd=self.directory, env=environment())
        return done.returncode, done.stdout, done.stderr

    def write(self, name, text):
        (self.directory / name).write_text(text, encoding="utf-8")
        return Path(name)


def environment():
    """What the teacher told everybody to set."""
    told = {"LEAGUE_JOIN_CODE": CODE}
    return {**os.environ, **told, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}


def wait_for(found, problem, *details):
    """Look again and again until there is something; what it is."""
    until = time.perf_counter() + PATIENCE_SECONDS
    while time.perf_counter() < until:
        result = found()
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError("waited in vain for " + problem.format(*(each() for each in details)))
