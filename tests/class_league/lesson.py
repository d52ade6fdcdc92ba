"""What happens in a league for a class, in the order of the tutorial; the same on every network."""

import json

from class_league.classroom import CODE, wait_for

REFEREE_CODE = "lusab-bagod-gutuh"
SETTINGS = """
network = "lan"
lan = {lan}
bind = "{bind}"
port = {port}
endpoint = "http://{address}:{port}/mcp"
join_code = "{code}"
referee_code = "{referee_code}"
players = {players}
referees = 2
retries = 100             # Who was in the middle of a move may take half a minute to come back,
join_retries = 1          # but who does not even join has lost soon.
retry_delay_seconds = 0.3
reply_seconds = 5
"""
BEN = """
import time
from pathlib import Path
from agentleague import Player

player = Player("Ben")

@player.plays("even_odd")
def choose(turn):
    if turn.round_id >= 2 and not Path("ben-thinks").exists():
        Path("ben-thinks").write_text(turn.match_id)
        time.sleep(600)
    return "even"
"""
SUE = """
from agentleague import Player

player = Player("Sue")

@player.plays("even_odd")
def choose(turn):
    return "odd"

player.run({manager!r}, {port}, state="states", bind={bind!r})
"""


ANOTHER_PROGRAM = """
import socketserver, sys

socketserver.TCPServer.allow_reuse_address = True
server = socketserver.TCPServer((sys.argv[1], int(sys.argv[2])), socketserver.BaseRequestHandler)
print("hangs up on everybody", flush=True)
server.serve_forever()
"""


class Lesson:
    """One league; `world` says which machines there are and who is cut off by what."""

    def __init__(self, room, world):
        self.room, self.world, self.players = room, world, world.players
        self.rounds = self.players - 1  # everybody against everybody else; they are even
        self.matches = self.players * self.rounds // 2
        self.manager_at = f"{world.teacher.address}:{world.port}"

    def play(self):
        """From the first command to the exported files."""
        self.open()
        self.register()
        self.firewall()
        self.begin()
        self.come_back()
        self.intervene()
        self.finish()

    # Before it begins

    def open(self):
        teacher = self.world.teacher
        names = {
            "bind": self.world.teacher_binds,
            "address": teacher.address,
            "port": self.world.port,
        }
        self.room.write(
            "cup.toml",
            SETTINGS.format(
                **names,
                code=CODE,
                referee_code=REFEREE_CODE,
                players=self.players,
                lan=list(self.world.lan),
            ),
        )
        self.manager = self.room.start(teacher, "manager", "cup.toml", "--dir", "cup", "--exit")
        self.manager.until("the manager is at")
        knows, waits = self.world.referees
        self.referees = [
            self.agent("referee", knows, "--referee-code", REFEREE_CODE),
            self.agent("referee", waits),
        ]
        self.approve(self.referees[1])

    def approve(self, referee):
        """One referee does not know the code; everybody is told what to type, and it is typed."""
        advice = referee.until("The organiser lets it in, on the manager's machine, with: ")
        typed = advice.split("with: league ")[1].split(". ")[0].replace("DIR", "cup")
        self.manager.until(f"let it in with: league {typed}")
        assert f"league {typed}" in self.teacher("status", "--dir", "cup")
        assert "may referee now" in self.teacher(*typed.split())
        referee.until("The organiser let it in.")

    def register(self):
        pupils = self.world.pupils
        eve = self.player(pupils[0], "Eve", "--join-code", "wrong")
        self.room.write("ben.py", BEN)
        self.ben = self.player(self.world.bens, "Ben", "ben.py")
        bind = self.world.pupils[1].options[1:2]
        own = SUE.format(manager=self.manager_at, port=self.world.player_port, bind="".join(bind))
        self.sue = self.room.python(pupils[1], self.room.write("sue.py", own))
        options = ("--no-outbound", *self.world.cut_options)  # Else it takes a seat.
        self.cut = self.player(self.world.behind_firewall, "Cut", *options)
        others = self.players - 4  # Ben, Sue, Cut, and one who is late.
        self.pupils = [
            self.player(pupils[n % len(pupils)], f"Pupil {n}", "--strategy", "random")
            for n in range(others)
        ]
        self.ann = self.pupils[-1]
        assert eve.ended() == 1
        assert "join code" in eve.said
        self.ids = {}
        for each in [self.ben, self.sue, self.cut, *self.pupils, *self.referees]:
            self.ids[each] = each.until("Registered as ").split("Registered as ")[1].split()[0]
        self.manager.until(f"{self.players - 1} of {self.players} players, 2 referees")
        for each in [self.ben, self.sue, *self.pupils, *self.referees]:
            each.until("The manager can reach it at http://" + each.machine.address)

    def firewall(self):
        """The organiser and the user of that machine are told, and what to try."""
        advice = self.cut.until("The manager cannot reach it at ")
        assert "Does the firewall of this machine let others in at port" in advice
        assert "--endpoint http://HOST:" in advice
        assert "--bind ADDRESS" in advice
        said = self.manager.until(f"{self.ids[self.cut]} is not reachable")
        assert "is that port open in its firewall" in said
        rows = json.loads(self.teacher("agents", "--json"))
        silent = [row["display_name"] for row in rows if not row["reachable"]]
        assert silent == ["Cut"]
        assert "not reachable" in self.teacher("agents")

    def begin(self):
        """It waits for the last one, and for nobody who is not even called."""
        assert "The league has begun" not in self.manager.said
        self.late = self.player(self.world.pupils[0], "Late")
        self.ids[self.late] = f"P{self.players}"
        self.late.until(f"Registered as P{self.players}")
        size = f"{self.players} players, {self.rounds} rounds, {self.matches} matches."
        self.manager.until(f"The league has begun: {size}")
        too_late = self.player(self.world.pupils[0], "Too late")
        assert too_late.ended() == 1
        assert "the league has begun" in too_late.said

    # While it is played

    def come_back(self):
        """Ben's computer dies while he thinks; he comes back at another port and goes on."""
        thinks = self.room.directory / "ben-thinks"
        self.match_id = wait_for(lambda: thinks.exists() and thinks.read_text(), "Ben's move")
        assert "The league is paused" in self.teacher("pause", "--dir", "cup")
        self.ben.kill()
        another = self.room.write("another.py", ANOTHER_PROGRAM)
        bens = self.world.bens
        self.room.python(bens, another, bens.address, self.world.player_port).until("hangs up")
        again = self.player(bens, "Ben", "ben.py")
        assert f"Registered as {self.ids[self.ben]} " in again.until("Registered as ")
        assert f"{bens.address}:{self.world.player_port}/mcp and registers" not in again.said
        again.until(f"{self.match_id} against ")
        self.ids[again], self.ben = self.ids[self.ben], again
        self.round_id = int(self.match_id[1:].split("M")[0])  # The third, if he met Cut before.
        self.manager.until(f"Round {self.round_id} of {self.rounds} is over")

    def intervene(self):
        """It is paused: one dies, one is taken out, and then it goes on."""
        status = json.loads(self.teacher("status", "--dir", "cup", "--json"))
        assert (status["paused"], status["rounds_completed"]) == (True, self.round_id)
        self.ann.kill()
        self.teacher("remove", self.ids[self.cut], "--dir", "cup", "--yes")
        self.teacher("start", "--dir", "cup")

    # When it is over

    def finish(self):
        assert self.manager.ended() == 0
        assert "final table" in self.manager.said
        for each in [self.ben, self.sue, self.late, *self.pupils[:-1], *self.referees]:
            assert each.ended() == 0
            assert "The league is over" in each.said
        assert f"{self.matches} matches" in self.teacher("verify", "cup")
        self.teacher("export", "cup", "--out", "files")
        assert any((self.room.directory / "files").rglob("*.csv"))
        rows = {row["player_id"]: row for row in self.table()}
        assert len(rows) == self.players
        # All since she died, but perhaps for the match that Cut could not play either.
        missing = self.rounds - self.round_id - rows[self.ids[self.ann]]["technical_losses"]
        assert missing in (0, 1)
        assert rows[self.ids[self.cut]]["technical_losses"] == self.rounds
        assert rows[self.ids[self.ben]]["technical_losses"] == 0
        self.no_secret_is_told()

    def table(self):
        return json.loads(self.teacher("standings", "--dir", "cup", "--json"))

    def no_secret_is_told(self):
        """Only these files hold one, by design: the settings, keys and what agents remember."""
        directory = self.room.directory
        key = (directory / "cup" / "admin.token").read_text().strip()
        kept = {"cup.toml", "admin.token", "secret.key", "manager.settings"}
        for file in directory.rglob("*"):
            if file.is_file() and file.name not in kept and "states" not in file.parts:
                data = file.read_bytes()
                for secret in (
                    b"tok_P",
                    b"tok_REF",
                    CODE.encode(),
                    key.encode(),
                    REFEREE_CODE.encode(),
                ):
                    assert secret not in data, (file, secret)

    # How it is typed

    def agent(self, role, machine, *arguments):
        options = ("--manager", self.manager_at, "--state", "states", *machine.options)
        return self.room.start(
            machine, role, *arguments, "--port", self.world.player_port, *options
        )

    def player(self, machine, name, *arguments):
        return self.agent("player", machine, *arguments, "--name", name)

    def teacher(self, *arguments):
        """A command of the teacher's, which works; what it prints."""
        if arguments[0] == "agents":
            arguments = (*arguments, "--manager", self.manager_at)
        code, out, err = self.room.league(self.world.teacher, *arguments)
        assert code == 0, err
        return out + err if "--json" not in arguments else out
