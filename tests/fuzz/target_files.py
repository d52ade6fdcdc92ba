"""Bytes as the files that an agent or a manager finds in its directory."""

import shutil
from atexit import register
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from agentleague.errors import StorageError
from agentleague.runtime.state_files import FIELDS, HistoryFile, StateFile, read_secrets
from agentleague.storage.directory import FILE_NAME, open_reader
from agentleague.storage.lock import address_in
from fuzz.sentences import check_sentence

PLACE = Path(mkdtemp(prefix="agentleague-fuzz-"))
register(shutil.rmtree, PLACE, ignore_errors=True)
MATCH = b",".join(b'"%b":"x"' % field.encode() for field in sorted(FIELDS))
SEEDS = [
    b'{"agent_id":"P01","league_id":"cup","token":"tok_0123456789"}',
    b'{"draw_secret":"%b","token_secret":"%b"}' % (b"ab" * 32, b"cd" * 32),
    b'{"matches":[{%b},{"league_id":1}]}' % MATCH,
    b"1234\nhttp://127.0.0.1:8000/mcp\n",
    b"adm_0123456789abcdef\n",
    b"SQLite format 3\0" + bytes(84) + bytes(4_000),
    b'{"x":' + b"[" * 3_000,
]


def one(data: bytes) -> None:
    """As each of them: read, empty, or an error of ours."""
    _write("state.json", data)
    assert isinstance(StateFile(PLACE / "state.json", -1).agent.token, str)
    history = HistoryFile(PLACE, "Ann")
    history.path.write_bytes(data)
    assert all(match.keys() >= FIELDS for match in history.read())
    _write("manager.lock", data)
    address = address_in(PLACE)
    assert address is None or isinstance(address, str)
    _write("secret.key", data)
    _write("admin.token", data if len(data) % 2 else b"adm_x")
    _expect(lambda: read_secrets(PLACE))
    _write(FILE_NAME, data)
    _expect(lambda: open_reader(PLACE).leagues())
    _expect(lambda: list(open_reader(PLACE).read("cup")))


def _write(name: str, data: bytes) -> None:
    (PLACE / name).write_bytes(data)


def _expect(read: Callable[[], Any]) -> None:
    try:
        read()
    except StorageError as error:
        check_sentence(error)
