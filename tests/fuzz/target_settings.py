"""Bytes as a file of settings, and as what the environment and the command line hold."""

import os
from dataclasses import fields
from pathlib import Path
from tempfile import gettempdir

from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.runtime.settings import SettingError, read_settings
from fuzz.sentences import check_sentence

ROLES = (ManagerSettings, RefereeSettings, PlayerSettings)
FILE = Path(gettempdir()) / f"agentleague-fuzz-{os.getpid()}.toml"
SEEDS = [
    b'league_id = "cup"\ngame_type = "even_odd"\nplayers = 4\ncycles = 2\nmove_seconds = 1.5\n',
    b'network = "lan"\nlan = ["10.0.0.0/8", "fd00::/8"]\njoin_code = "x"\n',
    b'tie_breaks = ["points", "wins"]\n[game_options]\nrounds = 3\nnested = {a = [1, {b = 2}]}\n',
    b'manager_url = "http://127.0.0.1:8000/mcp"\ndisplay_name = "Ann"\ngame_types = ["even_odd"]\n',
    b"players = 0x10\nmove_seconds = inf\njoin_seconds = nan\nretries = 1_0\n",
    b"players = 2026-01-01T00:00:00Z\ncycles = 12:00:00\n",
    b'"players" = 4\nplayers.a = 4\n[[players]]\n',
    b"a = [" + b"[" * 400 + b"]" * 400 + b"]\n",
    b"players = " + b"9" * 4_400 + b"\n",
    b"lan = '''\n10.0.0.0/8\n'''\n",
]


def one(data: bytes) -> None:
    """Every role; whatever is wrong is one kind of error with one sentence."""
    FILE.write_bytes(data)
    try:
        text = data.decode("utf-8", "replace").replace("\0", "")
        for role in ROLES:
            names = [field.name for field in fields(role)]
            name = names[len(data) % len(names)]
            _read(role, file=FILE, environment={}, options={})
            _read(role, environment={f"LEAGUE_{name.upper()}": text[:2_000]}, options={})
            _read(role, environment={f"LEAGUE_{text[:40].upper()}": "1"}, options={})
    finally:
        FILE.unlink()


def _read(role: type, **sources: object) -> None:
    try:
        read_settings(role, **sources).make(role)  # type: ignore[arg-type]
    except SettingError as error:
        check_sentence(error, 1_000)
