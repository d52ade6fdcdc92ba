"""Files that are on disk when the call returns, whenever the machine stops."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex


def write_private(path: Path, text: bytes) -> None:
    """Write a file that only its owner may read; its name may still be lost."""
    path.unlink(missing_ok=True)  # The maker of an existing file could read it.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sync_directory(directory: Path) -> None:
    """Put the names in it on disk: else a power cut may undo that a file was created or renamed."""
    with suppress(OSError):  # Some systems let nobody sync a directory: they keep its names.
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def appearing(to: Path) -> Iterator[Path]:
    """A directory to fill: it gets this name, free or of an empty one, when all is in it."""
    to = to.resolve()
    to.parent.mkdir(parents=True, exist_ok=True)
    beside = to.with_name(f".{to.name}.{token_hex(4)}")
    beside.mkdir(mode=0o700)
    try:
        yield beside
        sync_directory(beside)
        if to.exists():
            to.rmdir()
        os.replace(beside, to)
        sync_directory(to.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
