"""The organiser's page keeps its promises: each of its commands is run, in a small league."""

import re
import shlex

import pytest

from cli.test_organise import until
from commands import BIN, ROOT, first_line, free_port, league, started

PAGE = (ROOT / "docs" / "how-to" / "run-a-league.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    league (.+)$", PAGE, re.MULTILINE)
_, *LATER = PAGE.split("\n## ")
SERVING = ("manager", "referee", "player")
ALONE = [command for command in COMMANDS if command.startswith("manager cup.toml --")]
SLOW = """
import pathlib, time

def choose(turn):
    while not pathlib.Path("go").exists():
        time.sleep(0.05)
    return "even"
"""


class Cup:
    """The league of the page: its manager, its agents, and one player who takes its time."""

    def __init__(self, directory):
        self.directory, self.port = directory, free_port()
        self.manager = None
        (directory / "slow.py").write_text(SLOW)
        (directory / "cup.toml").write_text('join_code = "tipuf-sajil-gikop"\n')

    def type(self, command):
        """What an organiser types; what is printed."""
        program, *words = [word.replace("8000", str(self.port)) for word in shlex.split(command)]
        if program == "manager":
            self.manager = self.serve(program, *words, "--port", self.port)
            return ""
        if program in SERVING:
            agent = self.serve(program, *words, "--port", 25000, "--manager", self.port)
            assert "Registered as" in agent.stderr.readline()
            return ""
        return league(program, *words, cwd=self.directory).stdout

    def serve(self, *words):
        process = started(BIN / "league", *words, cwd=self.directory)
        first_line(process)
        return process

    def crash(self):
        self.manager.kill()
        self.manager.communicate()


def commands_of(heading):
    (section,) = (part for part in LATER if part.startswith(heading))
    return re.findall(r"^    league (.+)$", section, re.MULTILINE)


def test_the_commands_of_the_page_run_a_league_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setenv("LEAGUE_JOIN_CODE", "tipuf-sajil-gikop")
    cup = Cup(tmp_path)
    *agents, start = (command for command in commands_of("Begin") if command not in ALONE)
    for command in agents:
        cup.type(command)
    for name in ("Cid", "Dan"):
        cup.type(f"player slow.py --name {name}")
    assert cup.type(start) == "The league has begun: 3 rounds.\n"

    shown = [cup.type(command) for command in commands_of("Watch")]
    assert "In play" in shown[0]
    assert "Measured over" in shown[1]
    assert all("Ann" in text for text in (shown[2], shown[3], shown[4], shown[6]))
    said = [cup.type(command) for command in commands_of("Pause")]
    assert [text.split(":")[0].rstrip() for text in said] == [
        "The league is paused",
        "The league goes on.",
    ]
    cup.crash()
    for command in commands_of("After a crash"):
        cup.type(command)
    remove, _ = commands_of("Take")
    assert cup.type(remove).startswith("P03 is removed")

    (tmp_path / "go").touch()
    assert until(cup.manager, "Begin another")[-1]
    agent, match = (cup.type(command) for command in commands_of("Why"))
    assert "P01 Ann" in agent
    assert "R1M1 of round 1" in match
    verify, report, export = commands_of("When")
    assert "3 of 3 rounds ended: all is true. The champion is" in cup.type(verify)
    cup.type(report)
    cup.type(export)
    assert "Ann" in (tmp_path / "cup-report.html").read_text(encoding="utf-8")
    assert list((tmp_path / "published").rglob("standings.csv"))
    cup.manager.terminate()  # Its log is written once a second, and when it ends.
    cup.manager.communicate()
    assert (tmp_path / "cup" / "log" / "manager.jsonl").exists()


@pytest.mark.parametrize("command", ALONE)
def test_each_other_way_to_begin_works_and_can_be_aborted(command, tmp_path):
    cup = Cup(tmp_path)
    cup.type(command)
    _, abort = commands_of("Take")

    said = [cup.type(each) for each in commands_of("Add")]
    assert [words.split(",")[0] for words in said] == ["Alpha is P01", "Theirs is REF01"]
    assert "is aborted" in cup.type(abort)


def test_every_command_of_the_page_is_in_a_section_that_is_run():
    headings = ("Begin", "Watch", "Pause", "After a crash", "Add", "Let", "Take", "Why", "When")
    run = [command for heading in headings for command in commands_of(heading)]

    assert run == COMMANDS
    assert len(ALONE) == 4
    assert len(COMMANDS) == PAGE.count("\n    ")
