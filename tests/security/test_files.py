"""Files that hold secrets are their owner's alone, whatever the umask and whatever was there."""

import logging
import stat

import pytest

from agentleague.roles.agent import AgentState
from agentleague.runtime.log import Entry, LogFile, LogLimits
from agentleague.runtime.state_files import (
    ADMIN_NAME,
    NAME,
    Whose,
    open_state,
    read_secrets,
    write_secrets,
)
from commands import BIN, SECONDS, free_port, popen, read_until
from commands import RUNNING as STARTED

OPEN = stat.S_IRWXG | stat.S_IRWXO  # to the group, to everybody


def begun(*arguments):
    """A `league` command of somebody with the most careless umask there is."""
    process = popen([BIN / "league", *arguments], umask=0)
    STARTED.append(process)
    return process


def open_to_others(directory):
    """The files, and the directory itself, that others may look into.

    The documents' files, without any secret, are as open as others; but in a closed directory.
    """
    paths = [directory, *directory.rglob("*")]
    paths = [path for path in paths if directory / "shared" not in (path, *path.parents)]
    return sorted(path.name for path in paths if path.stat().st_mode & OPEN)


def test_whatever_a_manager_and_its_agents_write_is_theirs_alone(tmp_path):
    cup, state, port = tmp_path / "cup", tmp_path / "state", free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    manager = begun("manager", "--port", port, "--dir", cup, "--players", 2, "--exit")
    read_until(manager, "is at")
    for name in ("referee", "player", "player"):
        extra = [] if name == "referee" else ["--strategy", "random"]
        read_until(
            begun(name, *extra, "--manager", url, "--port", 0, "--state", state),
            "Registered as",
        )
    manager.communicate(timeout=SECONDS)

    assert manager.returncode == 0
    files = {path.name for path in cup.rglob("*") if path.is_file()}
    assert {"journal.sqlite", "secret.key", "admin.token", "manager.jsonl"} <= files
    assert list(state.glob("player-*.json"))
    assert open_to_others(cup) == []
    assert open_to_others(state) == []


def test_what_a_demo_writes_is_its_owners_alone(tmp_path):
    process = begun("demo", "--dir", tmp_path / "cup", "--quiet", "--json")
    process.communicate(timeout=SECONDS)

    assert process.returncode == 0
    assert open_to_others(tmp_path / "cup") == []


@pytest.mark.parametrize("name", [NAME, ADMIN_NAME])
def test_secrets_do_not_go_into_a_file_that_somebody_else_left_there(name, tmp_path):
    left = tmp_path / name
    left.write_text("x")
    left.chmod(0o666)
    with left.open() as held:
        made = write_secrets(tmp_path, None)

        assert held.read() == "x"  # A process that holds the old file open reads nothing new.
    assert left.stat().st_mode & OPEN == 0
    assert read_secrets(tmp_path) == made


def test_secrets_do_not_follow_a_link(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / NAME).symlink_to(elsewhere)

    write_secrets(tmp_path, None)

    assert not elsewhere.exists()
    assert not (tmp_path / NAME).is_symlink()


def test_a_token_does_not_go_into_a_file_that_somebody_else_left_there(tmp_path):
    state = open_state(tmp_path, Whose("http://127.0.0.1:8000/mcp", "player", "Ann", 0))
    state.path.write_text("{}")
    state.path.chmod(0o666)

    state.save(AgentState(agent_id="P01", league_id="cup", token="tok_secret"))
    state.close()

    assert state.path.stat().st_mode & OPEN == 0


def test_a_log_is_its_owners_alone_also_after_it_was_renamed(tmp_path):
    path = tmp_path / "log" / "manager.jsonl"
    for text in ("first", "second"):
        log = LogFile(path, lambda: 0.0, LogLimits(size_bytes=10))
        log.write(Entry(level=logging.INFO, event="said", text=text))
        log.close()

    assert len(list(path.parent.iterdir())) == 2
    assert open_to_others(path.parent) == []
