"""The pages for organisers and game authors keep their promises: what they say to type works."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from agentleague.games.svg import cleaned
from commands import ROOT, SECONDS, free_port, killed_when_late, league, started
from pages import Page, Terminal

ADD_A_GAME = Page("docs", "how-to", "add-a-game.md")
JOIN = Page("docs", "how-to", "join-another-league.md")
FOREIGN_MANAGER = ROOT / "tests" / "foreign" / "leagues.py"
MOVE = Page("docs", "how-to", "move-a-league.md")
RESUME = Page("docs", "how-to", "resume-after-a-crash.md")
FIREWALL = Page("docs", "how-to", "behind-a-firewall.md")
SEVERAL = Page("docs", "how-to", "several-machines.md")
STATISTICS = Page("docs", "how-to", "read-the-statistics.md")
VERIFY = Page("docs", "how-to", "verify-a-league.md")
SLOW = """
import pathlib, time

def choose(turn):
    while not pathlib.Path("go").exists():
        time.sleep(0.05)
    return "even"
"""


def begun(terminal, ports):
    """A league in the folder `cup` whose players wait with their moves: manager and agents."""
    terminal.save("slow.py", SLOW)
    terminal.save("cup.toml", "cycles = 1\n")
    manager = terminal.serve("league manager cup.toml")
    agents = [terminal.serve("league referee"), *players(terminal, ports)]
    assert "has begun" in terminal.type("league start --dir cup")
    return manager, agents


def players(terminal, ports):
    return [
        terminal.serve(f"league player slow.py --name {name}", port=port)
        for name, port in ports.items()
    ]


@pytest.mark.slow  # A match waits until the lease of its former referee has run out.
def test_a_league_can_be_moved_as_the_page_says(tmp_path):
    (tmp_path / "old").mkdir()
    old = Terminal(tmp_path / "old")
    ports = {"Ann": free_port(), "Bob": free_port()}
    manager, agents = begun(old, ports)
    pause, verify, again, start = MOVE.commands_of("To another machine")
    assert "paused" in old.type(pause)
    old.interrupt(manager)
    for agent in agents:
        agent.kill()
        agent.communicate()
    before = old.type(verify)

    shutil.copytree(tmp_path / "old" / "cup", tmp_path / "new" / "cup")
    new = Terminal(tmp_path / "new")
    new.save("slow.py", SLOW)
    shutil.copy(tmp_path / "old" / "cup.toml", tmp_path / "new")
    assert new.type(verify) == before
    manager = new.serve(again)
    assert "goes on" in new.type(start)
    new.serve("league referee")
    players(new, ports)
    (tmp_path / "new" / "go").touch()
    new.until(manager, "Begin another")

    rows = json.loads(new.type("league standings --dir cup --json --quiet"))
    assert [(row["player_id"], row["technical_losses"]) for row in rows] == [("P01", 0), ("P02", 0)]
    assert "true. The champion is" in new.type(verify)


def test_a_manager_that_was_killed_goes_on_as_the_page_says(tmp_path):
    terminal = Terminal(tmp_path)
    manager, _ = begun(terminal, {"Ann": 0, "Bob": 0})
    again, *asked = RESUME.commands
    manager.kill()
    manager.communicate()

    resumed = terminal.serve(again)
    status, verify = map(terminal.type, asked)

    assert "Resumed in round 1" in resumed.heard
    assert "RUNNING_LEAGUE" in status
    assert "true so far" in verify


def test_the_game_of_the_page_is_written_played_and_proved(tmp_path, monkeypatch):
    terminal = Terminal(tmp_path)
    new, demo, manager, referee, games, by_name = ADD_A_GAME.commands
    terminal.type(new)
    monkeypatch.syspath_prepend(tmp_path / "duel")
    names = {}
    for example in ADD_A_GAME.fences("python"):
        exec(example, names)
    assert cleaned(names["show"]({}).svg).left_out == []
    assert cleaned(names["show_position"]({}, ["even", "odd"]).svg).left_out == []
    names["test_the_league_can_play_it"]()
    del sys.modules["duel"]

    terminal.serve(manager)
    terminal.serve(referee)
    (entry, options) = ADD_A_GAME.fences("toml")
    assert entry in (tmp_path / "duel" / "pyproject.toml").read_text(encoding="utf-8")
    assert "best_of" in league(*games.split()[1:], "--json").stdout
    assert (demo.split()[-1], by_name.split()[-1]) == ("duel/duel.py", "duel")
    terminal.save("cup.toml", options)
    assert "Stop with Ctrl-C" in Terminal(tmp_path).serve("league manager cup.toml").heard


def test_the_commands_for_several_machines_register_agents_with_the_join_code(tmp_path):
    """Here all machines are this one; tests/class_league has an address for each."""
    here = {"192.168.1.10": "127.0.0.1", "192.168.1.11": "localhost", "0.0.0.0": "127.0.0.1"}
    terminal = Terminal(tmp_path, **here)
    (settings,) = SEVERAL.fences("toml")
    terminal.save("cup.toml", settings + 'lan = ["127.0.0.0/8"]\n')

    manager, code, referee_code, *agents, approve = SEVERAL.commands
    manager = terminal.serve(manager)
    terminal.type(code)
    waits = terminal.serve(agents[0])
    terminal.type(referee_code)
    referee, player, other = map(terminal.serve, agents)

    assert f"the manager is at http://127.0.0.1:{terminal.port}/mcp" in manager.heard
    assert "Registered as REF01" in waits.heard
    assert "Registered as REF02" in referee.heard
    assert "Registered as P01" in player.heard
    assert "Registered as P02" in other.heard
    assert f"/mcp,http://localhost:{terminal.port}/mcp" in other.heard
    assert "may referee now" in terminal.type(approve.replace("REF02", "REF01"))


@pytest.mark.parametrize("where", ["told", "nowhere"])
def test_somebody_elses_league_is_joined_as_the_page_says(tmp_path, where):
    ports = free_port(), free_port()
    terminal = Terminal(tmp_path, **dict(zip(("8101", "8102"), map(str, ports), strict=True)))
    shape = f"form=type,unknown=404,names=letters,where={where}"
    foreign = started(sys.executable, FOREIGN_MANAGER, "2", shape, stdin=subprocess.PIPE)
    terminal.replaced["8000"] = foreign.stdout.readline().strip().split(":")[2].removesuffix("/mcp")

    player, referee, told_where = JOIN.commands
    agents = [
        terminal.serve(referee if where == "told" else told_where),
        terminal.serve(player, ports[0]),
        terminal.serve(player.replace("Ann", "Bob"), ports[1]),
    ]
    for agent in agents:
        with killed_when_late(agent):  # `communicate` would lose what was read ahead.
            assert "The league is over." in agent.heard + agent.stderr.read()
    (told,) = json.loads(foreign.communicate(timeout=SECONDS)[0].splitlines()[-1]).values()

    assert told["players"] == ["P01", "P02"]
    assert len(told["results"]) == 1
    assert "Registered as REF07" in agents[0].heard


def test_a_league_is_verified_told_and_exported_as_the_page_says(tmp_path):
    terminal = Terminal(tmp_path)
    terminal.type("league demo --dir league")
    verify, receipt, from_directory, from_manager, export = VERIFY.commands
    said = terminal.type(verify)
    assert "true. The champion is" in said

    row = re.search(r"The last row is (\d+:[0-9a-f]{64})", said)[1]
    shown = re.search(r"\d+:[0-9a-f]{64}", receipt)[0]
    assert "true. The champion is" in terminal.type(receipt.replace(shown, row))
    terminal.serve("league manager --dir league")
    assert terminal.type(from_directory) == terminal.type(from_manager)
    terminal.type(export)
    table = VERIFY.text.split("| file | has |")[1]
    written = {path.name for path in (tmp_path / "published").rglob("*")}
    for name in re.findall(r"(\w+\.(?:json|csv|log\.jsonl))", table):
        assert name in written


def test_the_statistics_are_printed_as_the_page_says(tmp_path):
    terminal = Terminal(tmp_path)
    demo, ratings, beside, statistics = STATISTICS.commands
    terminal.type(demo)

    assert "strength by 90 matches" in terminal.type(ratings)
    assert "95 % from, to" in terminal.type(beside)
    assert "luck alone spreads wins minus losses" in terminal.type(statistics)


def test_a_player_behind_a_firewall_plays_and_is_refused_as_the_page_says(tmp_path):
    (told, outbound, manager) = FIREWALL.commands
    assert told.startswith("league player ./mine.py")
    for options in ("", " --no-seats"):
        folder = tmp_path / f"cup{options.strip()}"
        folder.mkdir()
        terminal = Terminal(folder)
        organiser = terminal.serve(manager.replace(" --no-seats", options) + " --dir cup")
        if options:
            with pytest.raises(
                AssertionError, match="this league gives no seats; start it without"
            ):
                terminal.type(outbound)
        else:
            player = terminal.serve(outbound)
            terminal.serve("league referee")
            terminal.serve("league player --strategy random --name Other")
            terminal.until(player, "The league is over.")
            terminal.until(organiser, "Begin another")
            rows = json.loads(terminal.type("league standings --dir cup --json --quiet"))
            assert [row["technical_losses"] for row in rows] == [0, 0]
