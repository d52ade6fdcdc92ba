"""Where uvloop and httptools cannot be imported, players play and whole leagues end."""

import json
import os
import subprocess
import sys

import pytest

from commands import BIN, ROOT

WHICH = """
import asyncio
from agentleague.runtime.processes import run
from agentleague.transport.http_parsers import parsers
async def loop(): return type(asyncio.get_running_loop()).__module__
print(run(loop()).partition(".")[0], parsers.__name__)
"""


@pytest.fixture
def without_helpers(tmp_path):
    """Runs a command in whose processes, all of them, these imports fail."""
    shadows = tmp_path / "shadows"
    shadows.mkdir()
    for name in ("uvloop", "httptools"):
        (shadows / f"{name}.py").write_text("raise ModuleNotFoundError(__name__)")

    def run(*words, code=0):
        env = {**os.environ, "PYTHONPATH": str(shadows), "LEAGUE_STATE": str(tmp_path / "state")}
        done = subprocess.run(
            words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


def test_where_the_helpers_cannot_be_imported_asyncio_and_parsers_in_python_do(without_helpers):
    for helper in ("uvloop", "httptools"):
        without_helpers(sys.executable, "-c", f"import {helper}", code=1)

    used = without_helpers(sys.executable, "-c", WHICH).split()

    assert used == ["asyncio", "agentleague.transport.pure_parsers"]


@pytest.mark.parametrize(
    ("value", "used"),
    [
        ("1", ["asyncio", "agentleague.transport.pure_parsers"]),
        ("0", ["uvloop", "httptools"]),
    ],
)
def test_a_variable_does_without_them_where_they_are_installed(value, used):
    env = {**os.environ, "LEAGUE_PURE_PYTHON": value}

    done = subprocess.run([sys.executable, "-c", WHICH], env=env, capture_output=True, text=True)

    assert done.stdout.split() == used


def test_a_new_player_passes_its_tests_and_plays_a_whole_league_without_them(without_helpers):
    league = BIN / "league"
    without_helpers(league, "new", "player", "snake")

    without_helpers(sys.executable, "-m", "pytest", "-q", "snake")
    demo = ("--player", "snake/snake.py", "--players", "6", "--referees", "2", "--dir", "cup")
    played = json.loads(without_helpers(league, "demo", *demo, "--json"))
    without_helpers(league, "verify", "cup")

    assert played["total_matches"] == 15


@pytest.mark.thorough
def test_the_tests_of_a_player_pass_without_them(without_helpers):
    tests = ROOT / "tests" / "sdk" / "test_player.py"

    told = without_helpers(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ROOT,
        "-c", ROOT / "pyproject.toml", tests,
    )  # fmt: skip

    assert " passed" in told
    assert "left out" not in told
