"""Write a league as a tree of files, all at once."""

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any

from agentleague.errors import LeagueError
from agentleague.league.league import League
from agentleague.records import export_files
from agentleague.roles.ports import Row
from agentleague.storage.lock import set_lock

MARK = "export.json"  # says of which league the tree is, and which files are ours
OWN_NAMES = {MARK, "README.txt", "config", "data", "logs"}  # at the top of a tree


def write_tree(league: League, rows: Sequence[Row], out: Path) -> int:
    """Write all files of a league under `out`, all or none; how many there are.

    Raises LeagueError if `out` is there and neither empty nor an earlier export of this league to
    which nothing was added.
    """
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    _clear_beside(out)
    _check_place(out, league.rules.league_id)
    beside = out.with_name(f".{out.name}.{token_hex(4)}")
    beside.mkdir()
    try:
        with (beside / MARK).open("w", encoding="utf-8", newline="") as mark:
            set_lock(mark.fileno(), True)  # as long as somebody writes there
            names = [write_file(beside, file) for file in export_files.files(league, rows)]
            head = f"{rows[-1].seq}:{rows[-1].hash.hex()}"
            about = {"league_id": league.rules.league_id, "head": head, "files": names}
            mark.write(json.dumps(about, indent=2) + "\n")
        _put(beside, out)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return len(names) + 1


def _clear_beside(out: Path) -> None:
    """Remove what exports that were killed left; the tree that one moved away comes back."""
    name = re.compile(rf"\.{re.escape(out.name)}\.[0-9a-f]{{8}}(\.old)?")
    for path in list(out.parent.iterdir()):
        if not name.fullmatch(path.name) or path.is_symlink() or not path.is_dir():
            continue
        if _is_written(path.with_name(path.name.removesuffix(".old")) / MARK):
            continue
        if path.suffix == ".old" and not out.exists():
            path.rename(out)
        elif {each.name for each in path.iterdir()} <= OWN_NAMES:
            shutil.rmtree(path)


def _is_written(mark: Path) -> bool:
    try:
        with mark.open("r+b") as file:
            set_lock(file.fileno(), True)
            set_lock(file.fileno(), False)
    except FileNotFoundError:  # Earlier versions wrote it last.
        return False
    except OSError:
        return True
    return False


def _check_place(out: Path, league_id: str) -> None:
    if not out.exists():
        return
    if not out.is_dir():
        raise LeagueError(f"{out} is a file; choose another --out")
    found = {
        (Path(folder) / name).relative_to(out).as_posix()
        for folder, _, names in os.walk(out)
        for name in names
    }
    if not found:
        return
    mark = _mark(out)
    if mark is None:
        raise LeagueError(f"{out} is not empty and no export; choose another --out")
    if mark.get("league_id") != league_id:
        raise LeagueError(f"{out} is an export of another league; choose another --out")
    added = found - set(mark.get("files", ())) - {MARK}
    if added:
        raise LeagueError(
            f"{out} holds {min(added)}, which no export wrote; move it away, or choose another "
            "--out"
        )


def _mark(out: Path) -> dict[str, Any] | None:
    try:
        mark = json.loads((out / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return mark if isinstance(mark, dict) else None


def write_file(root: Path, file: export_files.File) -> str:
    """Write a file of a tree, whole or not at all; its name."""
    name, text = file
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    Path(f"{path}.new").write_text(text, encoding="utf-8", newline="")
    os.replace(f"{path}.new", path)
    return name


def _put(beside: Path, out: Path) -> None:
    """Let a complete tree take the place of an earlier one, which stays if that fails."""
    if not out.exists():
        beside.rename(out)
        return
    old = out.with_name(f"{beside.name}.old")
    out.rename(old)
    try:
        beside.rename(out)
    except OSError:
        old.rename(out)
        raise
    shutil.rmtree(old)
