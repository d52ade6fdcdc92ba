"""A league of real processes: manager, referee and players of ours, and foreign players."""

from collections import Counter

from mcp.foreign_software import player_command

from agentleague.league.events import MatchDecided
from agentleague.records.reading import event_of, read_rows
from commands import BIN, RUNNING, SECONDS, free_port, league, popen
from crash.cup import until


class Cup:
    """What they say goes to files of their names; nobody has to read it for them to go on."""

    def __init__(self, home, *, players, options=("--exit",)):
        self.home, self.directory = home, home / "cup"
        self.url = f"http://127.0.0.1:{free_port()}/mcp"
        port = self.url.split(":")[2].removesuffix("/mcp")
        where = ("--port", port, "--dir", self.directory, "--players", players)
        self.commands = {"manager": (BIN / "league", "manager", *where, *options)}
        self.processes = {}
        self.start("manager")
        self.hears("manager", self.url)

    def start(self, name, *command):
        """Start a process, or start it again with the same command."""
        self.commands[name] = command or self.commands[name]
        with (self.home / f"{name}.said").open("a") as said:
            process = popen(self.commands[name], stdout=said, stderr=said, cwd=self.home)
        RUNNING.append(process)
        self.processes[name] = process

    def said(self, name):
        """What a process said in all its lives."""
        return (self.home / f"{name}.said").read_text()

    def hears(self, name, words):
        """Wait until a process says this."""
        process = self.processes[name]

        def is_there():
            assert words in self.said(name) or process.poll() is None, self.said(name)
            return words in self.said(name)

        until(is_there, f"{name} says {words!r}")

    def ours(self, role, name, *options):
        """An agent of ours."""
        own = ("--port", free_port(), "--state", self.home / "state")
        self.start(
            name, BIN / "league", role, "--manager", self.url, "--name", name, *own, *options
        )

    def registers(self, *names):
        """Foreign players that register by themselves."""
        for name in names:
            self.start(name, *player_command(name, free_port(), self.url))

    def added(self, *names):
        """Foreign players that the organiser adds."""
        ports = {name: free_port() for name in names}
        for name, port in ports.items():
            self.start(name, *player_command(name, port))
        for name, port in ports.items():
            self.hears(name, "Uvicorn running on")
            league("add-player", name, f"http://127.0.0.1:{port}/mcp", "--dir", self.directory)

    def kill(self, *names):
        """Kill processes at once."""
        for name in names:
            self.processes[name].kill()
            self.processes[name].wait(SECONDS)

    def ends(self):
        """Wait until the manager has seen the last match."""
        assert self.processes["manager"].wait(4 * SECONDS) == 0, self.said("manager")

    def last_words(self, name):
        """Wait until a process has ended well: the last line that it said."""
        assert self.processes[name].wait(2 * SECONDS) == 0, self.said(name)
        return self.said(name).splitlines()[-1]

    def events(self):
        """All decisions so far."""
        return [event_of(row) for row in read_rows(self.directory)]

    def decided(self):
        """How the matches ended so far."""
        return [event for event in self.events() if isinstance(event, MatchDecided)]

    def lost(self):
        """Player id -> how many matches it lost for a technical reason."""
        return Counter(player_id for each in self.decided() for player_id, _ in each.forfeits)
