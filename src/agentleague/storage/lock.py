"""One manager to a directory: a lock that the operating system releases when the process dies."""

import os
import sys
import time
from pathlib import Path

from agentleague.errors import Claimed

LOOKS_OUTLASTED, LOOK_SECONDS = 5, 0.02


def hold(directory: Path) -> int:
    """Lock the directory; what to `release` it with. Raises Claimed if another process has it."""
    path = directory / "manager.lock"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        _lock_patiently(descriptor)
    except OSError as error:
        os.close(descriptor)
        if not isinstance(error, BlockingIOError | PermissionError):
            raise
        pid = (path.read_text(errors="replace").split() or ["unknown"])[0]
        raise Claimed(
            f"another manager (pid {pid}) writes to {directory}; stop it first or use another --dir"
        ) from None
    publish(descriptor, "")
    return descriptor


def is_held(directory: Path) -> bool:
    """Whether a manager runs in this directory now, whatever its file says."""
    try:
        descriptor = os.open(directory / "manager.lock", os.O_RDWR)
    except OSError:
        return False
    try:
        share_lock(descriptor)
    except OSError:
        return True
    else:
        set_lock(descriptor, False)
        return False
    finally:
        os.close(descriptor)


def _lock_patiently(descriptor: int) -> None:
    """A process that asks whether it `is_held` holds it for an instant."""
    for _ in range(LOOKS_OUTLASTED):
        try:
            set_lock(descriptor, True)
        except (BlockingIOError, PermissionError):
            time.sleep(LOOK_SECONDS)
        else:
            return
    set_lock(descriptor, True)


def publish(descriptor: int, address: str) -> None:
    """Say where the manager that holds the lock is called."""
    text = f"{os.getpid()}\n{address}\n".encode()
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, text)  # Over what is there: a full disk would not give its room back.
    os.ftruncate(descriptor, len(text))


def address_in(directory: Path) -> str | None:
    """Where the manager of this directory is called, or was last."""
    try:
        lines = (directory / "manager.lock").read_text(errors="replace").splitlines()
    except OSError:
        return None
    return (lines[1] if len(lines) > 1 else "") or None


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

    def share_lock(descriptor: int) -> None:
        """Hold it for a look; there are no shared locks here, so lookers may disturb each other."""
        set_lock(descriptor, True)

else:
    import fcntl

    def set_lock(descriptor: int, held: bool) -> None:
        """Hold an open file for this process, or let it go; BlockingIOError or PermissionError."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if held else fcntl.LOCK_UN)

    def share_lock(descriptor: int) -> None:
        """Hold it beside others that only look; BlockingIOError where somebody holds it alone."""
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
