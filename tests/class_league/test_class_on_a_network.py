"""A league for a class, each machine a network namespace: real addresses, a real firewall."""

from pathlib import Path

import pytest

from class_league.classroom import PLAYER_PORT, PORT, Classroom
from class_league.lesson import Lesson
from class_league.namespaces import NETWORK_6, close_port, knowing, network, open_port

MANAGER, REFEREES, PUPILS = 2, (3, 4), (10, 11, 12, 13, 14)
BEN, CUT = 20, 21


class World:
    """Nobody but the teacher says an address: agents find their own."""

    players = 30
    port, player_port = PORT, PLAYER_PORT
    lan = ()
    teacher_binds = "0.0.0.0"
    cut_options = ()

    def __init__(self, machines):
        self.teacher = machines[MANAGER]
        self.referees = [machines[number] for number in REFEREES]
        self.pupils = [machines[number] for number in PUPILS]
        self.bens, self.behind_firewall = machines[BEN], machines[CUT]
        close_port(self.behind_firewall, PLAYER_PORT)


@pytest.mark.slow
def test_a_class_plays_a_league_on_a_network_of_its_own(tmp_path):
    with network([MANAGER, *REFEREES, *PUPILS, BEN, CUT]) as machines:
        lesson = Lesson(Classroom(tmp_path), World(machines))

        lesson.play()

        assert "It listens on all addresses of this machine" in lesson.manager.said
        for each in [lesson.ben, lesson.sue, *lesson.referees]:
            address = each.machine.address
            assert f"It listens on {address}, where the whole network can reach it." in each.said
            assert f"listens at http://{address}:" in each.said


@pytest.mark.slow
def test_a_student_who_opens_the_port_in_the_firewall_is_told_and_plays(tmp_path):
    with network([MANAGER, REFEREES[0], CUT]) as machines:
        room, teacher, cuts = Classroom(tmp_path), machines[MANAGER], machines[CUT]
        close_port(cuts, PLAYER_PORT)
        pair = Pair(room, teacher, machines[REFEREES[0]], f"{teacher.address}:{PORT}")
        cut = pair.player(cuts, "Cut", "--bind", "0.0.0.0", "--no-outbound")
        address = f"http://{cuts.address}:{PLAYER_PORT}/mcp"
        cut.until(f"The manager cannot reach it at {address}")

        open_port(cuts, PLAYER_PORT)

        cut.until(f"The manager can reach it at {address}.")
        pair.manager.until(f"is reachable now, at {address}")
        pair.play(cut)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/sys/net/ipv6").exists(), reason="there is no IPv6 here")
def test_a_league_is_played_over_ipv6(tmp_path):
    with network([MANAGER, REFEREES[0], BEN]) as machines:
        room, teacher = Classroom(tmp_path), machines[MANAGER]
        pair = Pair(room, teacher, machines[REFEREES[0]], f"[{NETWORK_6}{MANAGER}]:{PORT}", "::")
        ben = pair.player(machines[BEN], "Ben")

        ben.until(f"The manager can reach it at http://[{NETWORK_6}{BEN}]:{PLAYER_PORT}/mcp.")
        pair.play(ben)


@pytest.mark.slow
def test_a_manager_is_called_by_its_name(tmp_path):
    with network([MANAGER, REFEREES[0], BEN]) as machines:
        teacher, hosts = machines[MANAGER], tmp_path / "hosts"
        hosts.write_text(f"{teacher.address} teacher.local\n")
        named = {number: knowing(machine, hosts) for number, machine in machines.items()}
        room = Classroom(tmp_path)
        pair = Pair(room, named[MANAGER], named[REFEREES[0]], f"teacher.local:{PORT}")
        ben = pair.player(named[BEN], "Ben")

        ben.until(f"The manager can reach it at http://{named[BEN].address}:{PLAYER_PORT}/mcp.")
        pair.play(ben)


class Pair:
    """The least league: a manager, a referee and a player beside the one that is looked at."""

    def __init__(self, room, teacher, pupil, manager_at, bind="0.0.0.0"):
        self.room, self.teacher, self.manager_at = room, teacher, manager_at
        where = ("--bind", bind, "--port", PORT, "--endpoint", f"http://{manager_at}/mcp")
        self.manager = room.start(
            teacher, "manager", "--network", "lan", *where, "--dir", "cup", "--exit"
        )
        self.manager.until("the manager is at")
        referee = room.start(pupil, "referee", "--manager", manager_at, *self.common)
        referee.until("league approve REF01")
        room.league(teacher, "approve", "REF01", "--dir", "cup")
        self.player(pupil, "Ann").until("Registered as ")
        self.manager.until("1 referee.")

    common = ("--port", PLAYER_PORT, "--state", "states")

    def player(self, machine, name, *more):
        words = ("--manager", self.manager_at, *self.common, "--name", name, *more)
        return self.room.start(machine, "player", *words)

    def play(self, player):
        player.until("Registered as ")
        code, _, err = self.room.league(self.teacher, "start", "--dir", "cup")
        assert code == 0, err
        assert self.manager.ended() == 0
        assert player.ended() == 0
        assert "R1M1 against " in player.said
