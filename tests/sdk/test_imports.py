"""What an author imports: few names, little weight, and nothing that Windows lacks."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import agentleague

# fmt: off
POSIX_ONLY = {
    "crypt", "curses", "fcntl", "grp", "nis", "ossaudiodev", "posix", "pty", "pwd", "readline",
    "resource", "spwd", "syslog", "termios", "tty", "uvloop",
}
POSIX_NAMES = {
    "os": {
        "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC", "chown", "chroot",
        "fchmod", "fchown", "fork", "forkpty", "getegid", "geteuid", "getgid", "getgroups",
        "getloadavg", "getpgid", "getpgrp", "getuid", "killpg", "lchown", "mkfifo", "nice",
        "posix_spawn", "pread", "pwrite", "sched_getaffinity", "setgid", "setsid", "setuid",
        "sysconf", "uname", "wait3", "wait4",
    },
    "signal": {
        "SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2", "alarm",
        "pthread_kill", "setitimer",
    },
    "socket": {"AF_UNIX", "SO_REUSEPORT"},
    "loop": {"add_signal_handler", "add_reader", "add_writer"},
}
# fmt: on
HEAVY = {"sqlite3", "rich", "uvloop", "click", "multiprocessing", "tempfile"}
ON_WINDOWS = """
import asyncio, importlib.abc, importlib.metadata, json, logging, random, ssl, sys, tempfile, types

POSIX_ONLY = set(json.loads(sys.argv[1]))

class Windows(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in POSIX_ONLY:
            raise ImportError(f"Windows has no {name}")

sys.meta_path.insert(0, Windows())
for name in POSIX_ONLY:
    sys.modules.pop(name, None)
sys.platform = "win32"
sys.modules["msvcrt"] = types.ModuleType("msvcrt")
from agentleague import Player, Turn
import agentleague.sdk.joining
print(json.dumps(sorted(sys.modules)))
"""


def loaded(code, *arguments):
    """The modules that are there when this code has run."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def players_modules(*more):
    """What is there when a player was imported, and these modules."""
    imports = "".join(f"import {name}; " for name in ("json", "sys", *more))
    return loaded(f"{imports}from agentleague import Player; print(json.dumps([*sys.modules]))")


TO_PLAY = "agentleague.sdk.joining"  # what a player loads when it runs


def test_the_package_offers_these_names_and_loads_each_when_it_is_used():
    assert agentleague.__all__ == ["Player", "Turn", "play_league"]
    assert [getattr(agentleague, name).__name__ for name in agentleague.__all__] == [
        "Player",
        "Turn",
        "play_league",
    ]
    with pytest.raises(AttributeError, match="Referee"):
        _ = agentleague.Referee
    modules = loaded("import json, sys, agentleague; print(json.dumps([*sys.modules]))")
    assert {name for name in modules if name.startswith("agentleague")} == {"agentleague"}


def test_a_player_that_does_not_play_yet_loads_no_loop_and_no_wire():
    modules = players_modules()

    assert modules & {"asyncio", "dataclasses", "httptools", "msgspec", TO_PLAY} == set()


def test_a_player_loads_nothing_heavy():
    modules = players_modules(TO_PLAY)

    assert {name.partition(".")[0] for name in modules} & HEAVY == set()
    assert not modules & {"difflib", "importlib.metadata", "tomllib"}
    others = ("league.league", "manager.role", "referee.role", "simulation", "sdk.offline")
    assert modules & {f"agentleague.{name}" for name in others} == set()


def test_a_player_can_be_imported_where_there_is_no_posix():
    modules = loaded(ON_WINDOWS, json.dumps(sorted(POSIX_ONLY)))

    assert TO_PLAY in modules
    assert modules & POSIX_ONLY == set()


def test_no_module_of_a_player_uses_what_windows_lacks():
    for name in sorted(players_modules(TO_PLAY)):
        if name.startswith("agentleague"):
            path = source_of(name)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    lacking = POSIX_NAMES.get(node.value.id, set())
                    assert node.attr not in lacking, f"{path}:{node.lineno} uses {node.attr}"


def source_of(name):
    root = Path(agentleague.__file__).parent
    place = root.joinpath(*name.split(".")[1:])
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
