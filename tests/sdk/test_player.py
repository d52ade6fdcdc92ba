"""`Player`: from an author's file to the end of a league, over real HTTP."""

import json
import re
import sys
from types import SimpleNamespace

import pytest

from agentleague import Player
from agentleague.errors import LeagueError
from agentleague.runtime.author_functions import AuthorTold
from commands import BIN, SECONDS, first_line, free_port, started


class Cup:
    """A manager that waits for so many players."""

    def __init__(self, directory, players=2):
        self.directory, self.port, self.players = directory, free_port(), players
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def manager(self, *more):
        process = started(
            *(BIN / "league", "manager", "--port", self.port, "--players", self.players, "--exit"),
            *("--dir", self.directory / f"league{self.port}", *more),
        )
        first_line(process)
        return process

    def referee(self):
        return started(BIN / "league", "referee", "--manager", self.url, "--port", 0)

    def player(self, name, code):
        (self.directory / name).write_text(
            f"{code}\nplayer.run({self.url!r}, 0, state={str(self.directory / 'state')!r})\n"
            "print('the league is over for us')\n"
        )
        return started(sys.executable, self.directory / name)

    def others(self):
        for number in range(2, self.players + 1):
            named = ("--name", f"Other {number}", "--strategy", "fixed", "--port", 0)
            started(BIN / "league", "player", "--manager", self.url, *named)


def ended(process):
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    return out, err


def history_of(cup, name):
    (path,) = (cup.directory / "state").glob(f"history-{name}-*.json")
    return json.loads(path.read_text())["matches"]


HOOKS = """
import asyncio, json, sys
from agentleague import Player

player = Player("Ann")
tried = []

@player.plays("even_odd")
async def choose(turn):
    await asyncio.sleep(0)
    tried.append(turn.match_id)
    if len(tried) == 1:
        raise ValueError("the first time it fails")
    return "even"

@player.on_round
def round_begins(what):
    print("round", what["round_id"], what["opponent_id"], flush=True)
    raise KeyError("a bug in a hook")

@player.on_result
async def match_ended(match):
    print("result", match["match_id"], match["won"], flush=True)

@player.on_standings
def table(rows):
    print("table", len(rows), flush=True)

@player.on_league_end
def over(what):
    print("end", what["champion"]["display_name"], flush=True)
"""


def test_async_functions_hooks_and_exceptions_in_a_real_league(tmp_path):
    cup = Cup(tmp_path)
    cup.manager()
    cup.referee()
    mine = cup.player("ann.py", HOOKS)
    cup.others()

    out, err = ended(mine)

    lines = out.splitlines()
    assert lines[0] == "round 1 " + ("P02" if "Registered as P01" in err else "P01")
    assert "result R1M1 False" in lines  # The table may overtake it.
    assert "table 2" in lines
    assert lines[-2] in ("end Ann", "end Other 2")
    assert lines[-1] == "the league is over for us"
    assert "ValueError: the first time it fails" in err
    assert "in choose" in err
    assert "on_round failed" in err
    assert "KeyError: 'a bug in a hook'" in err
    (match,) = history_of(cup, "ann")
    assert match["result"]["status"] == "DRAW"  # The exception cost that attempt and no more.
    assert match["opponent_name"] == "Other 2"
    assert "WRONG" not in err
    assert "tok_" not in out + err


LEARNS = """
from agentleague import Player

player = Player("Ann")

@player.plays("even_odd")
def choose(turn):
    known = [match["opponent_name"] for match in turn.past]
    print(turn.match_id, "past", len(turn.past), known, "history", len(turn.history), flush=True)
    return "even"
"""


def test_what_was_played_is_known_in_the_next_league(tmp_path):
    said = []
    for _ in range(2):
        cup = Cup(tmp_path)  # At another address.
        cup.manager()
        cup.referee()
        mine = cup.player("ann.py", LEARNS)
        cup.others()
        said.append(ended(mine)[0].splitlines()[0])

    assert said == [
        "R1M1 past 0 [] history 0",
        "R1M1 past 1 ['Other 2'] history 0",
    ]


def test_it_waits_for_the_manager_and_is_itself_again_after_a_crash(tmp_path):
    cup = Cup(tmp_path, players=4)
    crash = f"""
    import glob, os, time
    while turn.round_id == 2:
        time.sleep(0.01)  # The history is written beside the match.
        if glob.glob({str(tmp_path / "state" / "history-ann-*.json")!r}):
            os._exit(9)
    return"""
    first = cup.player("ann.py", LEARNS.replace("    return", crash))
    assert "listens" in first_line(first)
    assert "No manager answers" in first_line(first)
    cup.manager()
    assert "Registered as P01" in first_line(first)
    cup.referee()
    cup.others()
    first.communicate(timeout=SECONDS)
    assert first.returncode == 9

    again = cup.player("ann.py", LEARNS)
    out, err = ended(again)

    assert "Registered as P01" in err
    assert re.fullmatch(r"R2M\d past 0 \[\] history 1", out.splitlines()[0])
    assert [match["round_id"] for match in history_of(cup, "ann")] == [1, 2, 3]


def test_a_player_without_a_function_says_what_to_write():
    with pytest.raises(SystemExit, match=r"Ann: put @player.plays"):
        Player("Ann").run()


def test_a_game_that_it_does_not_play_is_said_in_a_sentence():
    player = Player("Ann")
    player.plays("even_odd")(lambda turn: "even")

    with pytest.raises(LeagueError, match="Ann plays even_odd, not nim"):
        player.function_for("nim")


def test_who_is_asked_for_a_move_in_another_game_says_so_in_a_line(capsys):
    player = Player("Ann")
    player.plays("even_odd")(lambda turn: "even")

    with pytest.raises(AuthorTold, match="in nim, which it does not play"):
        player.move(SimpleNamespace(game_type="nim"))

    assert capsys.readouterr().err == "Ann: asked for a move in nim, which it does not play\n"


def test_the_manager_of_the_environment_is_the_default(monkeypatch, tmp_path):
    player = Player("Agent Alpha")
    player.plays("even_odd")(lambda turn: "even")
    monkeypatch.setenv("LEAGUE_MANAGER", "ftp://127.0.0.1:1/mcp")

    with pytest.raises(SystemExit, match=r"Agent Alpha: .*ftp"):
        player.run(state=tmp_path)


WRONG_SETTINGS = [
    ({"manager": "169.254.169.254:8000"}, "nobody can; say the address that others see"),
    ({"lan": ["192.168.1.7/24"]}, r"did you mean 192\.168\.1\.0/24"),
    ({"network": "wan"}, r"run\(network=\.\.\.\) must be"),
    ({"endpoint": "me:8101"}, "http://"),
    ({"bnd": "0.0.0.0"}, "run\\(\\) knows no bnd"),
]


def test_a_setting_that_cannot_be_is_said_in_a_sentence(tmp_path):
    for given, problem in WRONG_SETTINGS:
        player = Player("Ann")
        player.plays("even_odd")(lambda turn: "even")

        with pytest.raises(SystemExit, match=problem):
            player.run(state=tmp_path, **given)


def test_what_a_league_needs_is_named_as_run_takes_it(tmp_path):
    """Options are those of `league player`, and this is another program."""
    cup = Cup(tmp_path)
    cup.manager("--join-code", "tipuf-sajil-gikop")
    player = Player("Ann")
    player.plays("even_odd")(lambda turn: "even")

    with pytest.raises(
        SystemExit, match=r"give it with run\(join_code=\.\.\.\) or LEAGUE_JOIN_CODE"
    ):
        player.run(cup.url, 0, state=tmp_path)


def test_its_settings_may_stand_in_the_environment(monkeypatch, tmp_path):
    player = Player("Ann")
    player.plays("even_odd")(lambda turn: "even")
    monkeypatch.setenv("LEAGUE_MANAGER", "192.168.1.10:8000")
    monkeypatch.setenv("LEAGUE_BIND", "300.1.1.1")

    with pytest.raises(SystemExit, match=r"'300\.1\.1\.1' is no address"):
        player.run(state=tmp_path)
