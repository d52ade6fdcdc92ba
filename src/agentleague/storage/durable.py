"""Files that are on disk when the call returns, whenever the machine stops."""

import os
from contextlib import suppress
from pathlib import Path


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
