"""The tutorial keeps its promises: each of its commands is typed, each of its files is run."""

import json
import tomllib

from commands import ROOT, SECONDS
from pages import Page, Terminal

LEAGUE = Page("docs", "tutorial", "first-league.md")
AGENT = Page("docs", "tutorial", "first-agent.md")
CLASS = Page("docs", "tutorial", "a-league-for-a-class.md")
SET_UP = ["make demo", ". .venv/bin/activate"]  # what tests have done already
SLOW = """
import pathlib, time

def choose(turn):
    while not pathlib.Path("go").exists():
        time.sleep(0.05)
    return "even"
"""


def test_the_first_league_of_the_tutorial_is_played_and_looked_into(tmp_path):
    terminal = Terminal(tmp_path)
    *set_up, demo = LEAGUE.commands_of("See one")
    assert set_up == SET_UP

    assert "5 rounds, 15 matches" in terminal.type(demo)

    standings, schedule, agent, match, verify = (
        terminal.type(line) for line in LEAGUE.commands_of("Look into it")
    )
    assert "final table" in standings
    assert "R5M3" in schedule
    assert "P01" in agent
    assert "R1M1 of round 1" in match
    assert "true. The champion is" in verify


def test_the_second_league_of_the_tutorial_survives_a_stop_of_its_manager(tmp_path):
    terminal = Terminal(tmp_path)
    manager, *agents = LEAGUE.commands_of("Run one yourself")
    again, last, *asked = LEAGUE.commands_of("Stop the manager")
    assert manager == again

    first = terminal.serve(manager)
    for line in agents:
        terminal.serve(line)
    assert "nothing is lost" in terminal.interrupt(first)
    second = terminal.serve(again)
    assert "known from before: 2 players and 1 referee. Stop" in second.heard
    terminal.serve(last)
    terminal.until(second, "Begin another")
    status, match, verify = map(terminal.type, asked)

    assert "LEAGUE_COMPLETED" in status
    assert "R3M1 of round 3" in match
    assert "true. The champion is" in verify


def test_the_agents_of_the_tutorial_play_as_it_says(tmp_path):
    terminal = Terminal(tmp_path)
    broken, habit, _ = AGENT.fences("python")
    terminal.save("broken.py", broken)
    terminal.save("habit.py", habit)

    new, first = AGENT.commands_of("Write it")
    assert "ada/ada.py" in terminal.type(new)
    assert "GAME_INVITATION: ok" in terminal.type(first)
    (line,) = AGENT.commands_of("Break it")
    told = terminal.type(line)
    assert told.count("an illegal move") >= 3
    assert "lost without a game" in told
    assert "legal: 'even', 'odd'" in told
    fixed, by_chance, pattern = AGENT.commands_of("Make it better")
    score = json.loads(terminal.type(f"{fixed} --json --quiet"))
    assert wins(score, "Habit") >= 15
    for line in (by_chance, pattern):
        assert "20" in terminal.type(line)


def wins(score, name):
    return next(row["wins"] for row in score["players"] if row["display_name"] == name)


def test_the_test_of_the_tutorial_passes(tmp_path):
    terminal = Terminal(tmp_path)
    _, habit, test = AGENT.fences("python")
    guarded = habit.replace("player.run()", 'if __name__ == "__main__":\n    player.run()')
    terminal.save("habit.py", guarded)
    terminal.save("test_habit.py", test)
    install, run = AGENT.commands_of("Test it")

    assert install == "python -m pip install pytest"
    assert "2 passed" in terminal.type(run)


def test_the_league_of_the_second_page_is_played_to_its_end(tmp_path):
    terminal = Terminal(tmp_path)
    terminal.save("habit.py", AGENT.fences("python")[1])
    manager, *agents, standings, agent = AGENT.commands_of("Send it into a league")

    running = terminal.serve(manager)
    players = [terminal.serve(line) for line in agents]
    terminal.until(running, "Begin another")
    _, said = players[-1].communicate(timeout=SECONDS)

    assert "The league is over" in said
    assert "Habit" in terminal.type(standings)
    assert "P03 Habit" in terminal.type(agent)


def test_every_command_of_the_first_two_pages_is_in_a_section_that_is_run():
    assert LEAGUE.commands == [
        line
        for heading in ("See one", "Look into it", "Run one yourself", "Stop the manager")
        for line in LEAGUE.commands_of(heading)
    ]
    sections = ("Write it", "Break it", "Make it better", "Test it", "Send it into a league")
    assert AGENT.commands == [line for heading in sections for line in AGENT.commands_of(heading)]


def test_every_setting_of_the_class_is_in_the_file_that_init_writes(tmp_path):
    terminal = Terminal(tmp_path)
    (init,) = CLASS.commands_of("The evening before")
    terminal.type(init)
    (settings,) = CLASS.fences("toml")
    written = (tmp_path / "cup.toml").read_text(encoding="utf-8")

    for name in tomllib.loads(settings):
        assert f"\n# {name} = " in written


def test_the_commands_of_the_class_run_a_league_from_its_settings_to_its_export(tmp_path):
    """Here all machines are this one; tests/class_league has an address for each."""
    here = {"192.168.1.10": "127.0.0.1", "0.0.0.0": "127.0.0.1", "docs/": f"{ROOT / 'docs'}/"}
    terminal = Terminal(tmp_path, **here)
    (settings,) = CLASS.fences("toml")
    terminal.save("cup.toml", settings + 'lan = ["127.0.0.0/8"]\n')
    terminal.save("mine.py", SLOW)
    manager, code, referee_code, referee, player, built_in = CLASS.commands_of("Open the doors")

    first = terminal.serve(manager)
    terminal.type(code)
    terminal.type(referee_code)
    terminal.serve(referee)
    terminal.serve(referee)
    terminal.serve(player)
    terminal.serve(player)
    terminal.serve(built_in)
    (agents,) = CLASS.commands_of("Who is there?")
    assert "REF02" in terminal.type(agents)
    start, *asked = CLASS.commands_of("Begin")
    assert "has begun" in terminal.type(start)
    assert all(terminal.type(line) for line in asked)

    pause, again, go_on, remove = CLASS.commands_of("The bell rings")
    assert "paused" in terminal.type(pause)
    terminal.interrupt(first)
    second = terminal.serve(again)
    assert "goes on" in terminal.type(go_on)
    assert "P03 is removed" in terminal.type(remove)
    (tmp_path / "go").touch()
    terminal.until(second, "Begin another")
    agent, match = map(terminal.type, CLASS.commands_of('"Why did I lose?"'))
    assert "P01" in agent
    assert "R1M1 of round 1" in match
    verify, _, _, export, check = map(terminal.type, CLASS.commands_of("The end"))
    assert "R1M1" in (tmp_path / "cup-report.html").read_text(encoding="utf-8")
    assert (tmp_path / "public" / "index.html").exists()
    assert "seed: agrees" in check
    assert "true. The champion is" in verify
    assert list((tmp_path / "published").rglob("standings.csv"))
    assert "The table is in published/" in export


def test_every_command_of_the_class_is_in_a_section_that_is_run():
    headings = (
        "The evening before",
        "Open the doors",
        "Who is there?",
        "Begin",
        "The bell rings",
        '"Why did I lose?"',
        "The end",
    )

    assert CLASS.commands == [line for each in headings for line in CLASS.commands_of(each)]
