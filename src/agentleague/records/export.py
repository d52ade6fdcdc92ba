"""Write a league as a tree of files, all at once."""

import json
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from agentleague.errors import LeagueError
from agentleague.games.game import Game
from agentleague.league.league import League
from agentleague.records import export_files
from agentleague.roles.ports import Row
from agentleague.storage.lock import set_lock

MARK = "export.json"  # says of which league the tree is, and which files are ours


class Tree(NamedTuple):
    """A kind of tree: what it is called, its file that says so, all else at its top, its option."""

    kind: str
    mark: str
    own: str  # a regular expression
    option: str


EXPORT = Tree("export", MARK, r"README\.txt|config|data|logs", "--out")


def write_tree(league: League, rows: Sequence[Row], out: Path, game: Game | None = None) -> int:
    """Write all files of a league under `out`, all or none; how many there are.

    Raises LeagueError if `out` is there and neither empty nor an earlier export of this league to
    which nothing was added.
    """
    return put_tree(EXPORT, league, rows[-1], export_files.files(league, rows, game), out)


def put_tree(
    tree: Tree, league: League, last: Row, made: Iterable[export_files.File], out: Path
) -> int:
    """Write these files under `out`, all or none, as `write_tree` does; how many there are."""
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    _clear_beside(tree, out)
    _check_place(tree, out, league.rules.league_id)
    beside = out.with_name(f".{out.name}.{token_hex(4)}")
    beside.mkdir()
    try:
        with (beside / tree.mark).open("w", encoding="utf-8", newline="") as mark:
            set_lock(mark.fileno(), True)  # as long as somebody writes there
            names = [write_file(beside, file) for file in made]
            head = f"{last.seq}:{last.hash.hex()}"
            about = {"league_id": league.rules.league_id, "head": head, "files": names}
            mark.write(json.dumps(about, indent=2) + "\n")
        _put(beside, out)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return len(names) + 1


def _clear_beside(tree: Tree, out: Path) -> None:
    """Remove what commands that were killed left; the tree that one moved away comes back."""
    own = re.compile(f"{re.escape(tree.mark)}|{tree.own}")
    name = re.compile(rf"\.{re.escape(out.name)}\.[0-9a-f]{{8}}(\.old)?")
    for path in list(out.parent.iterdir()):
        if not name.fullmatch(path.name) or path.is_symlink() or not path.is_dir():
            continue
        if _is_written(path.with_name(path.name.removesuffix(".old")) / tree.mark):
            continue
        if path.suffix == ".old" and not out.exists():
            path.rename(out)
        elif all(own.fullmatch(each.name) for each in path.iterdir()):
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


def _check_place(tree: Tree, out: Path, league_id: str) -> None:
    if not out.exists():
        return
    if not out.is_dir():
        raise LeagueError(f"{out} is a file; choose another {tree.option}")
    found = {
        (Path(folder) / name).relative_to(out).as_posix()
        for folder, _, names in os.walk(out)
        for name in names
    }
    if not found:
        return
    mark = _mark(out / tree.mark)
    if mark is None:
        raise LeagueError(f"{out} is not empty and no {tree.kind}; choose another {tree.option}")
    if mark.get("league_id") != league_id:
        of_another = f"{out} is an {tree.kind} of another league"
        raise LeagueError(f"{of_another}; choose another {tree.option}")
    added = found - set(mark.get("files", ())) - {tree.mark}
    if added:
        raise LeagueError(
            f"{out} holds {min(added)}, which no {tree.kind} wrote; move it away, or choose "
            f"another {tree.option}"
        )


def _mark(path: Path) -> dict[str, Any] | None:
    try:
        mark = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return mark if isinstance(mark, dict) else None


def write_file(root: Path, file: export_files.File) -> str:
    """Write a file of a tree, whole or not at all; its name."""
    name, text = file
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    new = Path(f"{path}.new")
    new.unlink(missing_ok=True)  # A link that somebody put there would lead to another file.
    with new.open("x", encoding="utf-8", newline="") as written:
        written.write(text)
    os.replace(new, path)
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
