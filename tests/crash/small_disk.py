"""A real file system of a few megabytes that only the manager sees mounted, and can be filled."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from commands import RUNNING

BYTES = 16_000_000


class SmallDisk:
    """Lives in a mount namespace of its own, which a process that sleeps keeps alive."""

    def __init__(self, home):
        mount = home / "small"
        mount.mkdir()
        self._holder = _hold(mount)
        pid = str(self._holder.pid)
        self.prefix = ("nsenter", "--target", pid, "--user", "--mount", "--preserve-credentials")
        self.inside, self._copy = mount / "cup", home / "copy"
        self._outside = Path(f"/proc/{pid}/root{self.inside}")
        self._filler = self._outside.with_name("filler")

    @property
    def directory(self):
        """What is on it now, copied: SQLite does not find its way through /proc."""
        shutil.rmtree(self._copy, ignore_errors=True)
        return shutil.copytree(self._outside, self._copy)

    def fill(self):
        """Leave no byte free."""
        with self._filler.open("ab", buffering=0) as file:
            for size in (1_000_000, 4096, 1):
                self._fill(file, size)

    def _fill(self, file, size):
        try:
            while True:
                file.write(bytes(size))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise

    def free(self):
        """Make room again."""
        self._filler.unlink()


def _hold(mount):
    if not (shutil.which("unshare") and shutil.which("nsenter")):
        pytest.skip("unshare and nsenter are not installed")
    script = f'mount -t tmpfs -o size={BYTES},mode=755 none "$0" && echo ready && exec sleep 3600'
    holder = subprocess.Popen(
        ["unshare", "--user", "--mount", "--map-root-user", "sh", "-c", script, str(mount)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    RUNNING.append(holder)
    if holder.stdout.readline() != "ready\n":
        pytest.skip(f"no file system may be mounted here: {holder.stderr.read().strip()}")
    return holder
