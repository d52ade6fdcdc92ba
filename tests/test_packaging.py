"""What is installed, what is imported, and that a wheel alone plays a league."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from commands import ROOT
from pages import Page

PAGE = Page("docs", "how-to", "install.md")
SECTION = "As a command, with pipx or uv"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
INCLUDED = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
FOLDERS = {name for name in INCLUDED if (ROOT / name).is_dir()}
CACHES = {"__pycache__", ".pytest_cache", ".hypothesis"}


def modules_after(statement):
    code = f"import sys; {statement}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_imports_next_to_nothing():
    extra = modules_after("import agentleague") - modules_after("pass")

    assert "agentleague" in extra
    assert not [name for name in extra if name.startswith("agentleague.")]
    assert not _heavy(extra)


def test_a_player_imports_no_database_no_tables_and_no_command_line():
    loaded = modules_after("from agentleague import Player")

    assert not _heavy(loaded) - {"asyncio"}
    assert not {name for name in loaded if name.endswith((".manager", ".referee", ".adjudicator"))}
    assert "importlib.metadata" not in loaded


def _heavy(loaded):
    return loaded & {"sqlite3", "rich", "click", "uvloop", "asyncio", "multiprocessing"}


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The sdist, and the wheel that was built from it, as `python -m build` makes both."""
    place = tmp_path_factory.mktemp("dist")
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", place, ROOT]
    subprocess.run(words, check=True, capture_output=True, cwd=place)
    return next(place.glob("*.tar.gz")), next(place.glob("*.whl"))


def test_the_wheel_holds_the_package_and_all_its_files_and_nothing_else(built):
    names = set(zipfile.ZipFile(built[1]).namelist())

    inside = {name for name in names if not name.startswith("agentleague-")}
    assert inside == {f"agentleague/{name}" for name in files_below("src/agentleague")}
    assert {"py.typed", "cli/templates/player_python/my_player.py"} < {
        name.removeprefix("agentleague/") for name in inside
    }
    assert {name.rpartition("/")[2] for name in names - inside} == {
        "METADATA", "WHEEL", "RECORD", "LICENSE", "entry_points.txt",
    }  # fmt: skip


def test_the_sdist_holds_what_is_needed_to_change_and_test_it(built):
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"src", "tests", "docs", "requirements", ".ci"} < FOLDERS
    for folder in FOLDERS:
        assert {f"{folder}/{name}" for name in files_below(folder)} <= names
    assert {"Makefile", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"} <= names
    assert {name.partition("/")[0] for name in names if "/" in name} == FOLDERS


@pytest.mark.slow
def test_the_tests_of_the_sdist_run_in_it(built, tmp_path):
    with tarfile.open(built[0]) as archive:
        archive.extractall(tmp_path, filter="data")
    (root,) = tmp_path.iterdir()

    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/games"]
    env = {**os.environ, "PYTHONPATH": str(root / "src")}
    done = subprocess.run(words, cwd=root, env=env, capture_output=True, text=True)

    assert " passed" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0


def files_below(folder):
    place = ROOT / folder
    found = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    return {name for name in found if not set(Path(name).parts) & CACHES}


def test_what_only_makes_it_faster_is_asked_for_where_it_has_wheels(built):
    metadata = zipfile.ZipFile(built[1]).read("agentleague-0.1.0.dist-info/METADATA").decode()
    asked = [line for line in metadata.splitlines() if line.startswith("Requires-Dist: ")]

    for name, on_windows in (("httptools", True), ("uvloop", False)):
        (line,) = [line for line in asked if line.startswith(f"Requires-Dist: {name}")]
        assert "python_version < '3.16'" in line
        assert "platform_python_implementation == 'CPython'" in line
        assert ("win32" in line) is not on_windows


class Installed:
    """The commands of one installation, run in a directory of its own."""

    def __init__(self, place, league, **env):
        self.place, self.words, self.env = place, league, {**os.environ, **env}

    def league(self, *arguments, code=0):
        done = subprocess.run(
            [*self.words, *arguments], cwd=self.place, env=self.env,
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + (done.stderr if code else "")

    def check(self):
        """It says who it is, writes a player, and plays a league with it."""
        assert self.league("--version").split()[-1] == version("agentleague")
        self.league("new", "player", "snake")
        players = ("--player", "snake/snake.py", "--players", "4")
        assert json.loads(self.league("demo", *players, "--json"))["total_matches"] == 6


def in_new_environment(place, *requirements):
    """An empty virtual environment with these, at the versions that are pinned for development."""
    venv.create(place / "agents", with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", place / "agents" / "bin" / "python", "install"]
    subprocess.run([*pip, *requirements], env=pinned(place), check=True, capture_output=True)
    return Installed(place, [place / "agents" / "bin" / "league"])


def pinned(place):
    """The environment of a pip that installs nothing but the versions of our own pins."""
    pins = re.findall(r"^[^ #]+==[^\\]+", (ROOT / "requirements/dev.txt").read_text(), re.M)
    (place / "pins.txt").write_text("\n".join(pins))
    return {**os.environ, "PIP_CONSTRAINT": str(place / "pins.txt")}


def typed(place, commands, env):
    """What one terminal shows in which these are typed, one after the other."""
    done = subprocess.run(
        ["sh", "-ec", "\n".join(commands)], cwd=place, env=env, timeout=300,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_wheel_installs_as_the_page_says_plays_and_names_the_extra_that_is_missing(
    built, tmp_path
):
    shutil.copy(built[1], tmp_path)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    typing = PAGE.commands_of("Linux and macOS")
    shown = typed(tmp_path, typing, {**pinned(tmp_path), "PATH": path})
    installed = Installed(tmp_path, [tmp_path / "agents" / "bin" / "league"])
    installed.check()
    installed.league("new", "game", "undercut")
    installed.league("new", "player", "script", "--language", "javascript")
    of_new_game = installed.league("demo", "--game", "undercut/undercut.py", "--dir=cup", "--json")
    said = installed.league("dashboard", "cup", code=1)

    assert "league, version" in shown
    assert "Beta (alternating)" in shown
    assert json.loads(of_new_game)["game_type"] == "undercut"
    assert (tmp_path / "script" / "script.js").exists()
    assert "python -m pip install jinja2 starlette uvicorn" in said


def test_a_wheel_with_every_extra_writes_a_report_too(built, tmp_path):
    names = PROJECT["project"]["optional-dependencies"]
    small = names.keys() - {"ray", "sweep"}  # For those: tests/sweeps/test_ray.py.
    installed = in_new_environment(tmp_path, f"{built[1]}[{','.join(sorted(small))}]")

    installed.check()
    installed.league("demo", "--players", "2", "--dir", "cup")
    installed.league("report", "cup")

    assert all(f"| `{name}` |" in PAGE.text for name in names)
    modules = "import psycopg, cryptography, uvicorn, jinja2"
    subprocess.run([tmp_path / "agents" / "bin" / "python", "-c", modules], check=True)


@pytest.mark.slow
def test_the_sdist_installs_like_the_wheel(built, tmp_path):
    in_new_environment(tmp_path, built[0]).check()


@pytest.mark.slow
@pytest.mark.parametrize("extras", ["", "[dashboard]"], ids=["no extra", "an extra"])
@pytest.mark.parametrize("tool", ["pipx install", "pipx run", "uv tool install", "uvx"])
def test_it_installs_with_the_tools_that_keep_commands_apart(built, tmp_path, tool, extras):
    """The newest versions of everything, as a student gets them; nothing is pinned."""
    venv.create(tmp_path / "tools", with_pip=False)
    bin_ = tmp_path / "tools" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", bin_ / "python", "install", "--quiet"]
    subprocess.run([*pip, tool.split()[0].replace("uvx", "uv")], check=True, capture_output=True)
    shutil.copy(built[1], tmp_path)
    places = ("PIPX_HOME", "PIPX_BIN_DIR", "UV_TOOL_DIR", "UV_TOOL_BIN_DIR", "UV_CACHE_DIR")
    env = {name: str(tmp_path / name.lower()) for name in places}
    (said,) = [line for line in PAGE.commands_of(SECTION) if line.startswith(f"{tool} ")]
    words = [f"{word}{extras}" if word.endswith(".whl") else word for word in said.split()]
    words[0] = str(bin_ / words[0])
    if tool.endswith(" install"):
        subprocess.run(
            words, check=True, capture_output=True, cwd=tmp_path, env={**os.environ, **env}
        )
        put_in = env["PIPX_BIN_DIR"] if tool.startswith("pipx") else env["UV_TOOL_BIN_DIR"]
        words = [Path(put_in) / "league", "demo"]

    assert words[-1] == "demo"
    Installed(tmp_path, words[:-1], **env).check()


def test_pins_name_no_package_index():
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text()
        assert "://" not in text
        assert "--hash=sha256:" in text
