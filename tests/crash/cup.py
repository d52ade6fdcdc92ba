"""A league of real processes that may be killed, and what must be true of it afterwards."""

import json
import signal
import sys
from collections import Counter
from pathlib import Path
from threading import Event

from agentleague.league.events import MatchClosed, MatchDecided
from agentleague.records.reading import event_of, read_rows
from commands import RUNNING, environment, free_port, league, popen

FAILING = Path(__file__).with_name("failing.py")
SECONDS = 60  # for anything that must happen


def until(condition, what):
    """Wait for a condition, for as long as anything may take."""
    for _ in range(SECONDS * 20):
        if condition():
            return
        Event().wait(0.05)
    raise AssertionError(f"waited in vain until {what}")


class Disk:
    """Where a manager keeps its league: the directory as it sees it, and as others do."""

    prefix: tuple[str, ...] = ()  # of the manager's command

    def __init__(self, home):
        self.inside = self.directory = home / "cup"
        self._full = home / "full"

    def fill(self):
        """Let the journal grow no more."""
        self._full.touch()

    def free(self):
        """Make room again."""
        self._full.unlink()


class Cup:
    """Manager, referees and players as processes of their own; each name has its command."""

    def __init__(self, home, *, players=4, referees=1, rules=None, fails=None, run=0.0, disk=None):
        self.home, self.disk = home, disk or Disk(home)
        self.marker = home / "struck"
        self.held = home / "held"  # while it is there no player moves
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.referees = [f"referee-{number}" for number in range(1, referees + 1)]
        self.players = [f"player-{number}" for number in range(1, players + 1)]
        self.fails, self.run = fails or {}, run
        self.rules = {"referees": referees, **(rules or {})}
        self.processes = {}
        self.killed = Counter()
        self.commands = {"manager": self._manager(players)}
        for name in (*self.referees, *self.players):
            self.commands[name] = self._agent(name)

    def _manager(self, players):
        where = ("--port", self.port, "--dir", self.disk.inside)
        return ("manager", *where, "--players", players, "--exit")

    def _agent(self, name):
        own = ("--name", name, "--port", free_port(), "--state", self.home / "state")
        return (name.partition("-")[0], "--manager", self.url, *own)

    def open(self):
        """Start everybody, the manager first."""
        self.start("manager")
        until(lambda: self.url in self.said("manager"), "the manager listens")
        for name in self.commands.keys() - {"manager"}:
            self.start(name)
        return self

    def start(self, name):
        """Start one of them; its command is the same each time."""
        command = [sys.executable, FAILING, self.fails.get(name, "none"), *self.commands[name]]
        if name == "manager":
            command = [*self.disk.prefix, *command]
        with self._output(name).open("a") as output:
            process = popen(command, stdout=output, stderr=output, env=self._environment(name))
        RUNNING.append(process)
        self.processes[name] = process

    def _environment(self, name):
        return {
            **environment(),
            "CRASH_MARKER": str(self.marker),
            "CRASH_RULES": json.dumps(self.rules),
            "CRASH_FULL": str(self.home / "full"),
            "CRASH_TOLD": str(self.home / f"{name}.told"),
            "CRASH_SECONDS": str(self.run),
            "CRASH_HELD": str(self.held),
        }

    def said(self, name):
        """What a process said in all its lives."""
        return self._output(name).read_text()

    def _output(self, name):
        return self.home / f"{name}.said"

    def dies(self, name):
        """Wait until a process has killed itself."""
        assert self.processes[name].wait(SECONDS) == -signal.SIGKILL, self.said(name)
        self.killed[name] += 1

    def kill(self, name):
        """Kill a process now; False if it has ended by itself before."""
        process = self.processes[name]
        if process.poll() is None:
            process.kill()
        is_killed = process.wait(SECONDS) == -signal.SIGKILL
        self.killed[name] += is_killed
        return is_killed

    def dies_and_comes_back(self, name):
        """Wait until a process has killed itself, and start it again with the same command."""
        self.dies(name)
        self.start(name)

    def ends(self, *, without=()):
        """Wait until everybody has gone home by themselves."""
        for name, process in self.processes.items():
            if name not in without:
                assert process.wait(SECONDS) == 0, f"{name}: {self.said(name)}"
        return self

    def events(self):
        """All decisions so far."""
        return [event_of(row) for row in read_rows(self.disk.directory)]

    def told(self, name):
        """All that a player was told, in all its lives."""
        path = self.home / f"{name}.told"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def is_playing(self):
        """Whether somebody has heard of a result."""
        return any(self.told(name) for name in self.players)

    def check(self, *, lost=0):
        """Each match is decided once and closed, all were told the journal's result, none lost."""
        events = self.events()
        decided = [event for event in events if isinstance(event, MatchDecided)]
        results = {event.match_id: event for event in decided}
        pairs = len(self.players) * (len(self.players) - 1) // 2
        assert len(decided) == len(results) == pairs * self.rules.get("cycles", 1)
        closed = Counter(event.match_id for event in events if isinstance(event, MatchClosed))
        assert closed == dict.fromkeys(results, 1)
        failed = [event for event in decided if event.forfeits or event.result.no_contest is True]
        assert len(failed) == lost, failed
        self._check_what_was_told(results)
        self._check_receipts()

    def _check_what_was_told(self, results):
        for name in self.players:
            said = self.told(name)
            over = [each for each in said if each["message_type"] == "GAME_OVER"]
            for message in over:
                held, told = results[message["match_id"]].result, message["game_result"]
                assert told["winner_player_id"] == held.winner_player_id
                assert told["status"] == held.status
                assert told["drawn_number"] == held.drawn_number
                assert told["choices"] == held.choices
            if not self.killed[name]:
                self._check_nothing_was_left_out(said, over, results)

    def _check_nothing_was_left_out(self, said, over, results):
        """Who was there all the time heard of each of its matches, and of the end of each round."""
        (own,) = {message["player_id"] for message in over}
        mine = {each for each, event in results.items() if own in event.result.choices}
        assert {message["match_id"] for message in over} == mine
        ended = {each["round_id"] for each in said if each["message_type"] == "ROUND_COMPLETED"}
        assert ended == {int(match_id[1:].partition("M")[0]) for match_id in results}

    def receipts(self):
        """All that anybody holds in writing."""
        return {
            f"{message['receipt']['seq']}:{message['receipt']['hash']}"
            for name in self.players
            for message in self.told(name)
        }

    def _check_receipts(self):
        """Whatever anybody holds in writing is in the journal, and the journal is true."""
        receipts = sorted(self.receipts())
        assert receipts
        options = [option for each in receipts for option in ("--receipt", each)]
        done = league("verify", self.disk.directory, "--json", *options, check=False)
        found = json.loads(done.stdout)
        assert (done.returncode, found["ok"], found["complete"]) == (0, True, True), found
