"""A backup: the directory of a league as one zip file, with a note of what must be in it.

Whoever made a file that is restored may be anybody. It names no place to write to: only members
with known names are taken, and each goes where its name leads here. The rows of its journal are
then copied one by one, as their chain of hashes proves them.
"""

import os
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import msgspec

from agentleague.errors import Damaged
from agentleague.storage.copying import KEPT
from agentleague.storage.directory import FILE_NAME, HEAD_NAME
from agentleague.storage.sqlite import TABLES
from agentleague.storage.sqlite_reader import connect

MANIFEST = "manifest.json"
FORMAT = 1
SMALL_BYTES_MAX = 1_000_000  # of every member but the journal
# As they are made here: another definition may compute a column of a gigabyte.
_TABLES = {*" ".join(TABLES.split()).split("; "), None}  # The index of the key has no text.
_METHODS = (ZIP_STORED, ZIP_DEFLATED)  # Others take memory as they like.
# What hostile bytes make zipfile, msgspec and SQLite raise.
_BROKEN = (BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, struct.error, sqlite3.Error)


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup says of itself."""

    format: int = FORMAT
    agentleague: str = ""  # the version that wrote it
    league_id: str = ""
    rows: int = 0
    hash: str = ""  # of the last row
    written_at: str = ""
    has_secrets: bool = False


def pack(directory: Path, manifest: Manifest, file: Path) -> None:
    """Write what is in the directory of a league, for its owner alone; on disk on return."""
    with _private(file) as raw:
        with ZipFile(raw, "w", ZIP_DEFLATED) as archive:
            archive.writestr(MANIFEST, msgspec.json.encode(manifest))
            for name in (FILE_NAME, HEAD_NAME, *KEPT):
                if (directory / name).exists():
                    archive.write(directory / name, name)
        raw.flush()
        os.fsync(raw.fileno())


def _private(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


@contextmanager
def unpacked(file: Path, near: Path | None) -> Iterator[tuple[Manifest, Path]]:
    """What a backup says of itself, and the journal and secrets in it, in a directory for a while.

    Raises:
        StorageError: it is no backup, or holds what none does; nothing is left of it.
        OSError: it cannot be read, or there is no room.
    """
    with TemporaryDirectory(prefix=".restore-", dir=near) as made:
        directory = Path(made)
        try:
            with ZipFile(file) as archive:
                members = _members(archive, shutil.disk_usage(directory).free)
                text = archive.read(members.pop(MANIFEST))
                manifest = msgspec.json.decode(text, type=Manifest)
                if manifest.format > FORMAT:
                    raise BadZipFile(f"its format is {manifest.format}; use a newer agentleague")
                for name in members:
                    with archive.open(members[name]) as data, _private(directory / name) as copy:
                        shutil.copyfileobj(data, copy)
            _check_tables(directory)
        except _BROKEN as error:
            raise Damaged(f"{file} is not a whole backup of a league: {error}") from None
        yield manifest, directory


def _members(archive: ZipFile, room: int) -> dict[str, ZipInfo]:
    """What is taken of it, by names that are known here."""
    members = {info.filename: info for info in archive.infolist()}
    unknown = sorted(members.keys() - {MANIFEST, FILE_NAME, HEAD_NAME, *KEPT})
    if unknown or len(members) < len(archive.infolist()):
        raise BadZipFile(f"it holds {(unknown or ['a file twice'])[0]!r}, which no backup does")
    if not members.keys() >= {MANIFEST, FILE_NAME}:
        raise BadZipFile(f"there is no {MANIFEST} or no {FILE_NAME} in it")
    members.pop(HEAD_NAME, None)  # The manifest says the same; what is restored gets a new one.
    for name, info in members.items():
        if info.compress_type not in _METHODS:
            raise BadZipFile(f"its {name} is packed in a way that no backup is")
        most = room // 2 if name == FILE_NAME else SMALL_BYTES_MAX  # Its rows are copied once more.
        if info.file_size > most:
            sizes = f"{info.file_size:,} bytes, and at most {most:,} are taken here"
            raise BadZipFile(f"its {name} would have {sizes}")
    return members


def _check_tables(directory: Path) -> None:
    """Raises BadZipFile unless it has the tables of a journal alone: no view, no trigger."""
    with closing(connect(directory, "ro")) as connection:
        texts = [text for (text,) in connection.execute("SELECT sql FROM sqlite_schema")]
    found = {text and " ".join(text.split()) for text in texts}
    if found != _TABLES or len(texts) != len(_TABLES):
        raise BadZipFile(f"its {FILE_NAME} has other tables than a journal")
