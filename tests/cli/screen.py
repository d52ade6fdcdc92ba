"""What a person sees of a command on a terminal of its own: the screen, and what scrolled away."""

import codecs
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from commands import BIN, RUNNING, SECONDS, environment, killed_when_late

PIECES = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")
CUT = re.compile(r"(.*?)((?:\x1b[^A-Za-z]*)?)", re.DOTALL)  # A code may come in two pieces.


class Screen:
    """Obeys what `rich` writes: text, line ends, moving up and erasing a line."""

    def __init__(self, *arguments, size=(80, 24), cwd=None):
        self.columns, self.rows = size
        self.lines, self.line, self.text = [""], 0, ""
        self._decode, self._rest = codecs.getincrementaldecoder("utf-8")().decode, ""
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *reversed(size), 0, 0))
        around = {**environment(), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        for name in ("NO_COLOR", "COLUMNS", "LINES"):  # Workers of pytest have a size of their own.
            around.pop(name, None)
        self.process = subprocess.Popen(
            [BIN / "league", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env=around,
            cwd=cwd,
            start_new_session=True,
        )
        os.close(theirs)
        RUNNING.append(self.process)

    def until(self, *words):
        """The screen when all these words are on it, together."""
        with killed_when_late(self.process):
            while not all(each in self.shown for each in words):
                if not self._read():
                    raise AssertionError(f"it ended without {words}:\n{self.shown}")
        return self.shown

    def ended(self):
        """The screen when the command has ended, and its exit code."""
        with killed_when_late(self.process):
            while self._read():
                pass
        os.close(self._ours)
        return self.shown, self.process.wait(SECONDS)

    @property
    def shown(self):
        """The lines on the screen; those above have scrolled away."""
        width = self.columns
        lines = [
            line[start : start + width]
            for line in self.lines
            for start in range(0, max(1, len(line)), width)
        ]
        return "\n".join(lines[-self.rows :])

    def _read(self):
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # Linux says so when the other end is closed.
            return False
        piece = self._decode(data)
        self.text += piece
        whole, self._rest = CUT.fullmatch(self._rest + piece).groups()
        for number, code, end, text in PIECES.findall(whole):
            self._obey(number, code, end, text)
        return bool(data)

    def _obey(self, number, code, end, text):
        if end == "\n":
            self.line += 1
            if self.line == len(self.lines):
                self.lines.append("")
        elif text:
            self.lines[self.line] += text
        elif code == "A":
            self.line -= int(number or 1)
        elif code == "K":
            self.lines[self.line] = ""
