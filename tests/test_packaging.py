"""What is installed, what is imported, and that a wheel alone plays a league."""

import json
import subprocess
import sys
import venv

from commands import BIN, ROOT


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


def test_a_wheel_installs_into_an_empty_environment_plays_and_writes_new_agents(tmp_path):
    subprocess.run(
        [BIN / "python", "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pinned = ["--require-hashes", "-r", ROOT / "requirements" / "run.txt"]
    subprocess.run([*pip, *pinned], check=True, capture_output=True)
    subprocess.run([*pip, "--no-deps", wheel], check=True, capture_output=True)

    def installed_league(*arguments):
        command = [tmp_path / "empty" / "bin" / "league", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60
        )
        return done.stdout

    installed_league("new", "game", "undercut")
    installed_league("new", "player", "snake")
    installed_league("new", "player", "script", "--language", "javascript")
    players = ("--player", "snake/snake.py", "--players", "4")
    played = installed_league("demo", *players, "--json")
    of_new_game = installed_league("demo", "--game", "undercut/undercut.py", "--json")

    assert json.loads(played)["total_matches"] == 6
    assert json.loads(of_new_game)["game_type"] == "undercut"
    assert (tmp_path / "script" / "script.js").exists()


def test_pins_name_no_package_index():
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text()
        assert "://" not in text
        assert "--hash=sha256:" in text
