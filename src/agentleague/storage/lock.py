"""One manager to a directory: a lock that the operating system releases when the process dies."""

import os
import sys
from pathlib import Path

from agentleague.errors import Claimed


def hold(directory: Path) -> int:
    """Lock the directory for this process; what to `release` it with.

    Raises:
        Claimed: another process holds it.
    """
    path = directory / "manager.lock"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        set_lock(descriptor, True)
    except OSError as error:
        os.close(descriptor)
        if not isinstance(error, BlockingIOError | PermissionError):
            raise
        pid = (path.read_text().split() or ["unknown"])[0]
        raise Claimed(
            f"another manager (pid {pid}) writes to {directory}; stop it first or use another --dir"
        ) from None
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


def publish(descriptor: int, address: str) -> None:
    """Say where the manager that holds the lock is called: the second line of the file."""
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, f"{os.getpid()}\n{address}\n".encode())


def address_in(directory: Path) -> str | None:
    """Where the manager of this directory is called, or was last."""
    try:
        lines = (directory / "manager.lock").read_text().splitlines()
    except OSError:
        return None
    return lines[1] if len(lines) > 1 else None


def release(descriptor: int) -> None:
    """Let another process have it."""
    set_lock(descriptor, False)
    os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def set_lock(descriptor: int, held: bool) -> None:
        """Hold an open file for this process, or let it go; BlockingIOError or PermissionError."""
        os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # Nobody may read a locked byte: not the pid.
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK if held else msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def set_lock(descriptor: int, held: bool) -> None:
        """Hold an open file for this process, or let it go; BlockingIOError or PermissionError."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if held else fcntl.LOCK_UN)
