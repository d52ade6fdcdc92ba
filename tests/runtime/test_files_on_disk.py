"""What a power cut leaves of files that are promised to be on disk: what was synced, no more."""

import os
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest

from agentleague.roles.agent import AgentState
from agentleague.roles.ports import Head
from agentleague.runtime.state_files import HistoryFile, Whose, open_state, write_secrets
from agentleague.storage.directory import HEAD_NAME
from agentleague.storage.head import HeadFile
from agentleague.storage.sqlite import SqliteJournal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no directory can be synced there")


class PowerCut:
    """Notes what is on disk: a file's bytes and a directory's names as of its last sync."""

    def __init__(self, monkeypatch):
        self._sync, self._replace = os.fsync, os.replace
        self._names, self._bytes = {}, {}
        monkeypatch.setattr(os, "fsync", self.sync)
        monkeypatch.setattr(os, "replace", self.replace)

    def sync(self, descriptor):
        self._sync(descriptor)
        found = os.fstat(descriptor)
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if stat.S_ISDIR(found.st_mode):
            self._names[found.st_ino] = {each.name: each.stat().st_ino for each in path.iterdir()}
        else:
            self._bytes[found.st_ino] = path.read_bytes()

    def replace(self, source, target):
        written = self._bytes.get(source.stat().st_ino)
        assert written == source.read_bytes(), "a power cut now leaves an empty file"
        self._replace(source, target)

    def left(self, directory):
        """The files of a directory that are still there, with their bytes."""
        names = self._names.get(directory.stat().st_ino, {})
        return {name: self._bytes.get(inode) for name, inode in names.items()}


@pytest.fixture
def power_cut(monkeypatch):
    if not Path("/proc/self/fd").exists():
        pytest.skip("here nobody can say which file a descriptor is")
    return PowerCut(monkeypatch)


def test_an_agents_token(tmp_path, power_cut):
    state = open_state(tmp_path, Whose("http://127.0.0.1:8000/mcp", "player", "Ann", 8101))
    for token in ("tok_1", "tok_2"):
        state.save(AgentState(agent_id="P01", league_id="league_x", token=token))

        assert power_cut.left(tmp_path)[state.path.name] == state.path.read_bytes()
        assert token.encode() in state.path.read_bytes()
    state.close()


def test_the_secrets_of_a_league(tmp_path, power_cut):
    write_secrets(tmp_path, None)

    left = power_cut.left(tmp_path)
    for name in ("secret.key", "admin.token"):
        assert left[name] == (tmp_path / name).read_bytes() != b""


def test_a_players_history_is_there_as_it_was_or_as_it_is(tmp_path, power_cut):
    history = HistoryFile(tmp_path, "Ann")

    history.save([{"league_id": "a", "player_id": "P01"}])  # `replace` looks at the order.

    assert b"P01" in history.path.read_bytes()


def test_the_head_of_a_journal_has_its_place_before_the_first_row_and_its_rows_when_synced(
    tmp_path, power_cut
):
    with closing(HeadFile(tmp_path)) as file:
        file.add("cup")
        room = power_cut.left(tmp_path)[HEAD_NAME]
        assert room == bytes(len(room)) != b""

        file.write("cup", Head(7, bytes(32)))
        file.sync()
        assert b'"cup",7,' in power_cut.left(tmp_path)[HEAD_NAME]
        file.write("cup", Head(8, bytes(32)))

    assert b'"cup",8,' in power_cut.left(tmp_path)[HEAD_NAME]


def test_a_league_that_has_begun_has_a_directory(tmp_path, power_cut):
    with closing(SqliteJournal(tmp_path / "cup", lambda: 0.0, lambda run: run())) as journal:
        journal.claim("cup")

        assert "cup" in power_cut.left(tmp_path)
        assert "journal.sqlite" in power_cut.left(tmp_path / "cup")
