"""Where an agent keeps its token between two runs."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from agentleague.roles.agent import AgentState
from agentleague.runtime import state_files
from agentleague.runtime.state_files import Whose, default_directory, kept, open_state

ANN = Whose("http://127.0.0.1:8000/mcp", "player", "Ann", 8101)


def test_a_token_is_there_in_the_next_run(tmp_path):
    first = open_state(tmp_path, ANN)
    assert first.agent.token == ""
    first.save(AgentState("P01", "league_x", "tok_1"))
    first.close()

    second = open_state(tmp_path, ANN)
    assert (second.path, second.agent.token) == (first.path, "tok_1")
    second.save(AgentState("P01", "league_x", "tok_2"))
    second.close()

    assert open_state(tmp_path, ANN).agent.token == "tok_2"


def test_a_second_agent_with_the_same_command_is_another_agent(tmp_path):
    first, second = open_state(tmp_path, ANN), open_state(tmp_path, ANN)
    first.save(AgentState("P01", "league_x", "tok_1"))
    second.save(AgentState("P02", "league_x", "tok_2"))
    third = open_state(tmp_path, ANN)
    assert third.agent.token == ""
    first.close()
    second.close()

    again = [open_state(tmp_path, ANN) for _ in range(2)]

    assert [state.agent.token for state in again] == ["tok_1", "tok_2"]


def test_a_file_is_free_again_when_its_process_was_killed(tmp_path):
    code = (
        "import sys, msgspec; from pathlib import Path\n"
        "from agentleague.roles.agent import AgentState\n"
        "from agentleague.runtime.state_files import Whose, open_state\n"
        "state = open_state(Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=Whose))\n"
        "state.save(AgentState('P01', 'league_x', 'tok_1'))\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    whose = msgspec.json.encode(ANN).decode()
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path, whose],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "held\n"
        meanwhile = open_state(tmp_path, ANN)
        other.kill()
    meanwhile.close()

    assert meanwhile.agent.token == ""
    assert open_state(tmp_path, ANN).agent.token == "tok_1"


@pytest.mark.parametrize(
    "other",
    [
        msgspec.structs.replace(ANN, manager_url="http://127.0.0.1:8001/mcp"),
        msgspec.structs.replace(ANN, role="referee"),
        msgspec.structs.replace(ANN, name="ann"),
        msgspec.structs.replace(ANN, name="Ann "),
        msgspec.structs.replace(ANN, name="../../etc/passwd"),
        msgspec.structs.replace(ANN, name="Zoë\n🦊"),
        msgspec.structs.replace(ANN, name="x" * 500),
        msgspec.structs.replace(ANN, port=8102),
    ],
)
def test_every_other_agent_has_a_file_of_its_own_in_the_same_directory(tmp_path, other):
    one, two = open_state(tmp_path, ANN), open_state(tmp_path, other)

    two.save(AgentState("P01", "league_x", "tok_1"))

    assert one.path != two.path
    assert one.path.parent == two.path.parent == tmp_path
    assert {path.parent for path in tmp_path.rglob("*")} == {tmp_path}
    assert two.path.name.isascii()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes.")
def test_nobody_else_may_read_it(tmp_path):
    directory = tmp_path / "a" / "b"
    state = open_state(directory, ANN)
    state.path.with_suffix(".new").write_text("left by a crash")
    state.path.with_suffix(".new").chmod(0o666)

    state.save(AgentState("P01", "league_x", "tok_1"))

    assert directory.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in directory.iterdir()] == [0o600, 0o600]


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"token": 7}', b"\xff", b'"\xff"'])
def test_a_file_that_cannot_be_read_holds_nothing(tmp_path, text):
    state = open_state(tmp_path, ANN)
    state.path.write_bytes(text)
    state.close()

    assert open_state(tmp_path, ANN).agent.token == ""


def test_a_manager_that_gives_no_token_leaves_what_there_was(tmp_path):
    state = open_state(tmp_path, ANN)
    state.save(AgentState("P01", "league_x", "tok_1"))

    state.save(AgentState("P09", "league_y", ""))

    assert state.agent.token == "tok_1"
    assert b"league_x" in state.path.read_bytes()


def test_there_is_an_end_to_agents_with_the_same_command(tmp_path):
    held = [open_state(tmp_path, ANN), open_state(tmp_path, ANN)]

    with pytest.raises(OSError, match="2 agents of this name"):
        open_state(tmp_path, ANN, files_max=2)
    assert len({state.path for state in held}) == 2


@pytest.mark.parametrize(
    ("platform", "environ", "directory"),
    [
        ("linux", {}, "home/.local/state/agentleague"),
        ("linux", {"XDG_STATE_HOME": ""}, "home/.local/state/agentleague"),
        ("linux", {"XDG_STATE_HOME": "elsewhere"}, "elsewhere/agentleague"),
        ("darwin", {}, "home/Library/Application Support/agentleague"),
        ("win32", {}, "home/AppData/Local/agentleague"),
        ("win32", {"LOCALAPPDATA": "local"}, "local/agentleague"),
        ("win32", {"LOCALAPPDATA": "local", "LEAGUE_STATE": "mine"}, "mine"),
        ("linux", {"LEAGUE_STATE": ""}, "home/.local/state/agentleague"),
    ],
)
def test_the_default_directory_is_the_users(platform, environ, directory):
    assert default_directory(environ, Path("home"), platform) == Path(directory)


def test_the_file_is_held_as_long_as_the_agent_runs(tmp_path):
    said = []
    with kept(ANN, tmp_path, said.append) as state:
        state.save(AgentState("P01", "league_x", "tok_1"))
        assert open_state(tmp_path, ANN).agent.token == ""

    with kept(ANN, str(tmp_path), said.append) as state:
        assert state.agent.token == "tok_1"
    assert said == []


def test_an_agent_plays_on_where_the_default_directory_cannot_be_used(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(
        state_files, "default_directory", lambda environ, home: tmp_path / "file" / "agentleague"
    )
    said = []

    with kept(ANN, None, said.append) as state:
        assert state is None

    (sentence,) = said
    assert sentence.startswith("The token cannot be kept (")
    assert "another agent" in sentence


def test_a_directory_that_was_given_must_work(tmp_path):
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(OSError, match="file"), kept(ANN, tmp_path / "file", print):
        pass
    assert os.listdir(tmp_path) == ["file"]


def test_the_default_directory_is_used_where_none_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr(state_files, "default_directory", lambda environ, home: tmp_path / "state")

    with kept(ANN, None, print) as state:
        assert state.path.parent == tmp_path / "state"


def test_the_addresses_of_a_manager_name_the_same_agent_in_any_order(tmp_path):
    one, other = "http://10.0.0.1:8000/mcp", "http://10.0.0.2:8000/mcp"
    stems = {
        Whose(f"{first},{second}", "player", "Ann", 8101).stem
        for first, second in ((one, other), (other, one))
    }

    assert len(stems) == 1
    assert stems.isdisjoint({msgspec.structs.replace(ANN, manager_url=one).stem})
    assert ANN.stem == "player-ann-8101-4e28e1a318c0"  # As it was before there were several.
