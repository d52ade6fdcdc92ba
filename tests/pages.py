"""Follow a page as its reader does: type its commands, save its files, run its programs."""

import re
import signal
import subprocess

from commands import BIN, ROOT, RUNNING, SECONDS, environment, free_port, read_until

SERVING = ("manager", "referee", "player")


class Page:
    """One Markdown file: its commands stand in indented lines, its files in fences."""

    def __init__(self, *path):
        self.text = ROOT.joinpath(*path).read_text(encoding="utf-8")

    @property
    def commands(self):
        """Every line to type, in order."""
        return commands_in(self.text)

    def commands_of(self, heading):
        """Those of one section."""
        (section,) = (part for part in self.text.split("\n## ") if part.startswith(f"{heading}\n"))
        return commands_in(section)

    def fences(self, language):
        """What stands in fences of a language."""
        return re.findall(rf"```{language}\n(.+?)```", self.text, re.DOTALL)


def commands_in(text):
    """The indented lines outside of fences."""
    plain = re.sub(r"```.+?```", "", text, flags=re.DOTALL)
    return re.findall(r"^ {4,7}(?! )(.+)$", plain, re.MULTILINE)


class Terminal:
    """Types the commands of a page in a folder; a free port replaces port 8000."""

    def __init__(self, folder, **replaced):
        self.folder, self.port = folder, free_port()
        self.replaced = {"8000": str(self.port), **replaced}
        self.environment = {
            **environment(),
            "PATH": f"{BIN}:{environment()['PATH']}",
            "LEAGUE_MANAGER": str(self.port),
            "LEAGUE_STATE": str(folder / "state"),
        }

    def type(self, line):
        """Run a command to its end: what it printed, and what it said."""
        if variable := re.fullmatch(r"export (\w+)=(\S+)", line):
            self.environment[variable[1]] = variable[2]
            return ""
        done = subprocess.run(
            ["sh", "-c", self.here(line)],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            cwd=self.folder,
            env=self.environment,
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def serve(self, line, port=0):
        """Start a command that goes on running: the process, and as `heard` what it said."""
        words = " ".join([self.here(line), *self._port_of(line, port)])
        process = subprocess.Popen(
            ["sh", "-c", f"exec {words}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environment,
        )
        RUNNING.append(process)
        ready = "Stop with Ctrl-C" if " manager" in line else "Registered as"
        process.heard = read_until(process, ready)
        return process

    until = staticmethod(read_until)

    def interrupt(self, process):
        """Ctrl-C: what it still said."""
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, said
        return "".join(said)

    def save(self, name, text):
        """What the page says to put into a file."""
        (self.folder / name).write_text(self.here(text), encoding="utf-8")

    def here(self, text):
        for shown, here in self.replaced.items():
            text = text.replace(shown, here)
        return text

    def _port_of(self, line, port):
        if not line.startswith(tuple(f"league {role}" for role in SERVING)):
            return ()
        return ("--port", str(self.port if " manager" in line else port))
