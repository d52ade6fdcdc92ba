"""Games as a person meets them: listed, played by name, played from a file, begun anew."""

import json
import site
import subprocess
import venv

import commands
from cli.in_process import league
from commands import BIN, SECONDS, environment

HIGHER = '''
"""Both name a number; the higher one wins.
The rest is not told."""
from __future__ import annotations
from dataclasses import dataclass
from agentleague.errors import IllegalMove
from agentleague.games.game import Outcome

name, seats, symmetric = "higher", ("A", "B"), True

@dataclass(frozen=True)
class State:
    a: int = 0
    b: int = 0

def start(options): return State()
def to_move(state): return () if state.a else seats
def view(state, seat): return {}
def legal_moves(state, seat): return [1, 2, 3]
def check(state, seat, move):
    if type(move) is not int or not 1 <= move <= 3: raise IllegalMove("1, 2 or 3")
def chance(state): pass
def play(state, moves, number): return State(moves["A"], moves["B"])
def outcome(state):
    if state.a:
        return Outcome("A" if state.a > state.b else "B" if state.b > state.a else None, "done")
'''


def demo(*arguments, cwd=".", run=league):
    return json.loads(run("demo", "--json", *arguments, cwd=cwd).stdout)


def lost_technically(played):
    return sum(row["technical_losses"] for row in played["final_standings"])


def test_games_lists_each_game_in_a_line_with_its_options():
    lines = league("games").stdout.splitlines()

    assert [line.split()[0] for line in lines[:3]] == [
        "even_odd",
        "rock_paper_scissors",
        "tic_tac_toe",
    ]
    assert "then a number from 1 to 10 is drawn; a lone right guess wins." in lines[0]
    assert "(lowest=1, highest=10) [luck alone] [draws itself]" in lines[0]
    assert lines[1].endswith("the first to win most throws wins. (best_of=3) [draws itself]")


def test_games_as_json_has_name_summary_and_options():
    games = {game["name"]: game for game in json.loads(league("games", "--json").stdout)}

    assert list(games["tic_tac_toe"]) == [
        *("name", "summary", "options", "luck", "draws_itself", "error")
    ]
    assert [game["luck"] for game in games.values()] == [True, False, False]
    assert games["rock_paper_scissors"]["options"] == {"best_of": 3}
    assert games["even_odd"]["options"] == {"lowest": 1, "highest": 10}
    assert games["even_odd"]["summary"].startswith("Even/odd: both name a parity")
    assert {game["error"] for game in games.values()} == {None}


def test_a_plug_in_that_cannot_be_loaded_is_listed_with_what_is_wrong(tmp_path, monkeypatch):
    information = tmp_path / "bad-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[agentleague.games]\nbad = nowhere\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    lines = commands.league("games").stdout.splitlines()

    told = "game 'bad' cannot be loaded: ModuleNotFoundError: No module named 'nowhere'"
    assert lines[0].split(maxsplit=1) == ["bad", told]
    assert len(lines) == 4


def test_demo_plays_every_game_and_the_same_seed_gives_the_same_table():
    for game in ("even_odd", "rock_paper_scissors", "tic_tac_toe"):
        first, second = (demo("--game", game, "--seed", "7") for _ in range(2))

        assert first["game_type"] == game
        assert first["league_id"].startswith(f"league_{game}_")
        assert first["final_standings"] == second["final_standings"]
        assert [row["played"] for row in first["final_standings"]] == [3] * 4
        assert lost_technically(first) == 0


def test_demo_plays_a_single_file_under_the_games_own_name(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(HIGHER)

    for number, game in enumerate(("./mine.py", "mine.py", path)):
        check_single_file(game, tmp_path / f"cup{number}", 4, league)
    check_single_file("mine.py", tmp_path / "large", 21, commands.league)  # in several processes


def check_single_file(game, directory, players, run):
    options = ("--game", game, "--players", players, "--dir", directory)
    played = demo(*options, cwd=directory.parent, run=run)

    assert played["game_type"] == "higher"
    assert "_higher_" in played["league_id"]
    assert [row["played"] for row in played["final_standings"]] == [players - 1] * players
    assert lost_technically(played) == 0
    table = league("standings", "--dir", directory, "--json").stdout
    assert json.loads(table) == played["final_standings"]


NO_GAMES = [
    ("", "mine.py: the game lacks name, seats, start, to_move, view, legal_moves, check"),
    (HIGHER.replace("def chance", "def luck"), "mine.py: the game lacks chance"),
    (HIGHER.replace('"higher"', '"./x"'), "mine.py: name is './x', not a word such as"),
    (HIGHER.replace("(state): pass", "(state)"), "SyntaxError: expected ':'"),
    ("\nimport nowhere\n", "No module named 'nowhere' (line 2)"),
    (HIGHER.replace('moves["A"]', 'moves["a"]'), "mine.py does not work: KeyError: 'a' (line "),
    (HIGHER.replace("<= 3:", "<= 2:"), "mine.py: legal_moves gives 3, check refuses it"),
]


def test_a_file_that_is_no_game_is_refused_with_what_is_wrong(tmp_path):
    for number, (text, complaint) in enumerate(NO_GAMES):
        assert text != HIGHER
        folder = tmp_path / str(number)  # A file is loaded once.
        folder.mkdir()
        (folder / "mine.py").write_text(text)

        done = league("demo", "--game", "./mine.py", cwd=folder, check=False)

        assert done.returncode == 1
        assert complaint in done.stderr
        assert "Traceback" not in done.stderr


UNKNOWN_GAMES = [
    ("./nowhere.py", "nowhere.py; games that are installed: even_odd, rock_paper_scissors, ti"),
    ("nowhere", "no game 'nowhere' is installed; there are even_odd, rock_paper_scissors, tic"),
]


def test_a_game_that_is_not_there_is_told_with_those_that_are(tmp_path):
    for game, complaint in UNKNOWN_GAMES:
        done = league("demo", "--game", game, cwd=tmp_path, check=False)

        assert done.returncode == 1
        assert complaint in done.stderr
        assert "Traceback" not in done.stderr


def test_one_game_is_told_with_its_moves_and_its_position():
    shown = league("games", "tic_tac_toe").stdout
    told = json.loads(league("games", "rock_paper_scissors", "--json").stdout)

    assert "three in a row win" in shown
    assert "0, 1, 2, 3, 4, 5, 6, 7, 8" in shown
    assert '"you": "X"' in shown
    assert told["options"] == {"best_of": 3}
    assert told["at_once"] is True
    assert told["moves"] == ["rock", "paper", "scissors"]
    assert told["position"] == {"best_of": 3, "wins": [0, 0], "throws": []}
    assert told["position_later"]["throws"] == [["rock", "rock"]]
    assert json.loads(league("games", "even_odd", "--json").stdout)["position_later"] is None


def test_new_game_says_what_it_wrote_and_what_to_type_next(tmp_path):
    done = league("new", "game", "undercut", cwd=tmp_path)

    wrote = done.stdout.split()
    assert wrote == [
        "undercut/README.md",
        "undercut/undercut.py",
        "undercut/pyproject.toml",
        "undercut/test_undercut.py",
    ]
    assert sorted(path.name for path in (tmp_path / "undercut").iterdir()) == sorted(
        path.split("/")[1] for path in wrote
    )
    assert "  league demo --game undercut/undercut.py\n" in done.stderr
    assert "  python -m pip install -e undercut\n  league demo --game undercut\n" in done.stderr
    assert lost_technically(demo("--game", "undercut/undercut.py", cwd=tmp_path)) == 0
    for command in ("python -m pip install -e .", "league games", "league demo --game undercut"):
        assert f"    {command} " in (tmp_path / "undercut" / "README.md").read_text()
    # An index would answer with another project.
    assert "dependencies = []" in (tmp_path / "undercut" / "pyproject.toml").read_text()
    for path in wrote:
        assert "my_game" not in (tmp_path / path).read_text()


def test_a_new_game_passes_its_test_inside_another_project(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--nonsense"\n')
    league("new", "game", "undercut", cwd=tmp_path)

    done = subprocess.run(
        [BIN / "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"],
        cwd=tmp_path / "undercut",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment(),
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_new_game_never_writes_into_a_folder_that_is_there(tmp_path):
    league("new", "game", "undercut", cwd=tmp_path)
    (tmp_path / "undercut" / "undercut.py").write_text("mine")

    done = league("new", "game", "undercut", cwd=tmp_path, check=False)

    assert done.returncode == 1
    assert "undercut exists already; choose another name, or remove it" in done.stderr
    assert (tmp_path / "undercut" / "undercut.py").read_text() == "mine"


BAD_NAMES = [
    ("my-game", "'my-game' is not a name for a game"),
    ("../mine", "'../mine' is not a name for a game"),
    ("2048", "'2048' must begin with a letter, as in my_2048"),
    ("class", "'class' is not a name for a game"),  # a word of Python
    ("_game", "'_game' is not a name for a game"),  # no name for a project
    ("x" * 41, "at most 40"),
    ("random", "random is a game or module that is installed"),
    ("tic_tac_toe", "tic_tac_toe is a game or module that is installed"),
]


def test_a_name_that_python_or_pip_would_not_take_is_refused(tmp_path):
    for name, complaint in BAD_NAMES:
        done = league("new", "game", name, cwd=tmp_path, check=False)

        assert done.returncode == 2
        assert complaint in done.stderr
        assert list(tmp_path.iterdir()) == []


def test_a_new_game_that_is_installed_is_found_played_and_passes_its_own_test(tmp_path):
    league("new", "game", "undercut", cwd=tmp_path)
    python = environment_beside_ours(tmp_path / "env")

    def run(*arguments, cwd=tmp_path):
        done = subprocess.run(
            [python, *arguments],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=environment(),
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "-e", "undercut")

    assert "undercut  " in run(BIN / "league", "games")
    assert "undercut" not in league("games").stdout
    for players in ("4", "21"):
        command = ("demo", "--game", "undercut", "--players", players, "--json")
        played = json.loads(run(BIN / "league", *command))
        assert played["game_type"] == "undercut"
        assert lost_technically(played) == 0
    assert "2 passed" in run("-m", "pytest", "-q", cwd=tmp_path / "undercut")
    ours = ("--config", BIN.parents[1] / "pyproject.toml", "undercut")
    run("-m", "ruff", "check", *ours)
    run("-m", "ruff", "format", "--check", *ours)


def environment_beside_ours(folder):
    """An environment of its own that also sees what is installed in ours; its python."""
    venv.create(folder)
    python = folder / "bin" / "python"
    (packages,) = folder.glob("lib/python*/site-packages")
    ours = [path for path in site.getsitepackages() if "site-packages" in path]
    lines = [f"import site; site.addsitedir({path!r})" for path in ours]
    (packages / "ours.pth").write_text("\n".join(lines))
    return python


def test_a_game_is_told_its_options(tmp_path):
    options = ("--game", "rock_paper_scissors", "--game-options", '{"best_of": 1}', "--seed", "1")

    played = json.loads(league("play", "random", "fixed", *options, "--json").stdout)
    league("demo", "--players", 2, *options, "--dir", tmp_path / "cup")
    told = league("match", "R1M1", "--dir", tmp_path / "cup").stdout

    assert " won 1 to 0 after " in played["matches"][0]["result"]["reason"]
    assert " won: 1 to 0 after " in told


BAD_OPTIONS = [
    ('{"best": 5}', "--game-options cannot be: rock_paper_scissors has no option 'best'"),
    ("best_of=5", '--game-options must be a JSON object like {"name": 1}, not'),
]


def test_an_option_that_a_game_does_not_have_is_misuse():
    for words in ("play random fixed", "demo"):
        for typed, problem in BAD_OPTIONS:
            options = ("--game", "rock_paper_scissors", "--game-options", typed)
            done = league(*words.split(), *options, check=False)

            assert done.returncode == 2
            assert problem in done.stderr
