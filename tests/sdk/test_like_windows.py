"""A player where the modules and calls of POSIX are missing: as near to Windows as Linux comes.

This is no run on Windows: the sockets, the loop and the files are those of Linux. It shows that a
player needs nothing that Windows lacks, from its start to the end of a league.
"""

import subprocess
import sys
from subprocess import PIPE

import pytest

from sdk.test_imports import POSIX_NAMES, POSIX_ONLY
from sdk.test_player import LEARNS, Cup, ended

# What the standard library loads late is loaded first: on Windows it has other sources.
LIKE_WINDOWS = f"""
import asyncio, concurrent.futures.thread, getpass, importlib.abc, importlib.metadata, inspect
import logging, os, random, shutil, signal, socket, ssl, sys, tempfile, types, click, rich.console

class Windows(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in {POSIX_ONLY!r}:
            raise ImportError(f"Windows has no {{name}}")

sys.meta_path.insert(0, Windows())
for name in {POSIX_ONLY!r}:
    sys.modules.pop(name, None)
for module, names in {POSIX_NAMES!r}.items():
    for name in names:
        # The loop of Linux wakes itself through a pair of AF_UNIX.
        if module != "loop" and name != "AF_UNIX" and hasattr(sys.modules[module], name):
            delattr(sys.modules[module], name)

def missing(*arguments):
    raise NotImplementedError

for name in {POSIX_NAMES["loop"]!r}:
    setattr(asyncio.SelectorEventLoop, name, missing)

locked = []
msvcrt = types.ModuleType("msvcrt")
msvcrt.LK_NBLCK, msvcrt.LK_UNLCK = 2, 0
msvcrt.locking = lambda descriptor, mode, count: locked.append(mode)
sys.modules["msvcrt"] = msvcrt
sys.platform = "win32"
"""
COMMAND = """
import agentleague.cli
class player:
    def run(manager, port, state):
        sys.argv = ["league", "player", "--strategy", "random", "--name", "Ann"]
        sys.argv += ["--manager", manager, "--port", str(port), "--state", state]
        try:
            agentleague.cli.main()
        except SystemExit as done:
            assert not done.code, done.code
"""
AFTER = """
assert "agentleague.storage.lock" in sys.modules and locked == [2, 0], locked
assert not {"uvloop", "fcntl", "resource"} & set(sys.modules)
print("nothing of POSIX was needed")
"""


@pytest.mark.parametrize("code", [LEARNS, COMMAND], ids=["a program of its own", "league player"])
def test_a_player_plays_a_league_to_its_end_without_what_windows_lacks(tmp_path, code):
    cup = Cup(tmp_path)
    cup.manager()
    cup.referee()
    program = tmp_path / "ann.py"
    state = str(tmp_path / "state")
    program.write_text(
        f"{LIKE_WINDOWS}{code}\nplayer.run({cup.url!r}, 0, state={state!r})\n{AFTER}"
    )
    # Not from a process that has the package loaded already, as other tests start theirs.
    with subprocess.Popen([sys.executable, program], stdout=PIPE, stderr=PIPE, text=True) as mine:
        cup.others()
        out, err = ended(mine)

    assert "Registered as P0" in err
    assert out.endswith("nothing of POSIX was needed\n")
