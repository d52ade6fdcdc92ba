"""A league for a class, each machine a loopback address of its own."""

import socket

import pytest

from class_league.classroom import Classroom, Machine
from class_league.lesson import Lesson
from commands import free_port

MANAGER, REFEREES, PUPILS = 2, (3, 4), (10, 11, 12, 13, 14)
BEN, CUT, NOWHERE = 20, 21, 99


def at(number):
    address = f"127.0.0.{number}"
    return Machine(address, options=("--bind", address))


class World:
    """A class of twelve at ten addresses; where nothing listens stands for a firewall."""

    players = 12
    lan = ("127.0.0.0/8",)
    teacher = at(MANAGER)
    teacher_binds = teacher.address
    referees = tuple(map(at, REFEREES))
    pupils = tuple(map(at, PUPILS))
    bens = at(BEN)
    behind_firewall = at(CUT)

    def __init__(self):
        self.port, self.player_port = free_port(), free_port()
        self.cut_options = ("--endpoint", f"http://127.0.0.{NOWHERE}:{self.player_port}/mcp")


def check_loopback():
    """On macOS only 127.0.0.1 is up, unless somebody adds the others by hand."""
    try:
        socket.create_server((f"127.0.0.{NOWHERE}", 0)).close()
    except OSError as error:
        pytest.skip(f"this machine has no loopback addresses but 127.0.0.1 ({error})")


def test_a_class_plays_a_league_from_the_first_command_to_the_exported_files(tmp_path):
    check_loopback()

    Lesson(Classroom(tmp_path), World()).play()
