"""Run a command on a terminal of its own."""

import fcntl
import os
import pty
import struct
import subprocess
import termios

from commands import BIN, environment

ROWS, COLUMNS = 40, 100


def on_terminal(*arguments):
    """What a command writes, stdout and stderr alike, where somebody sits at a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    around = {**environment(), "TERM": "xterm-256color"}
    del around["NO_COLOR"]
    process = subprocess.Popen(
        [BIN / "league", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=around,
        start_new_session=True,
    )
    os.close(theirs)
    data = b""
    try:
        while piece := _read(ours):
            data += piece
    finally:
        process.wait()
        os.close(ours)
    assert process.returncode == 0, data
    return data.decode()


def _read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says so when the other end is closed.
        return b""
