"""One league of a sweep: it begins afresh, and what its players do wrong is told."""

import sys
from pathlib import Path
from tempfile import mkdtemp

import msgspec

from agentleague.cli.player_files import load_for
from agentleague.sdk.offline import play_league
from agentleague.sweeps.leagues import Outcome, Work, play_batch
from sweeps.plans import plan_of
from tables import each_row

TEXT = 'players = ["random", "mine.py"]\ngames = ["even_odd"]\nseeds = 8\n'


def played(folder, source, numbers=range(1, 9)):
    (folder / "mine.py").write_text(source)
    return play_batch(Work(plan_of(folder, TEXT), load_for), numbers)[0]


def test_a_league_is_the_one_that_play_league_plays_with_its_seed(tmp_path):
    plan = plan_of(tmp_path)
    (found,), _ = play_batch(Work(plan, load_for), [8])

    players = [plan.players[each] for each in plan.league(8).players]
    league = play_league(players, "rock_paper_scissors", seed=3, cycles=2)

    outcome = msgspec.json.decode(found.line, type=Outcome)
    rows = [(plan.names[row.player], row.rank, row.points, row.wins) for row in outcome.rows]
    assert rows == [(r.display_name, r.rank, r.points, r.wins) for r in league.table]
    assert found.matches == len(league.matches) == sum(sum(score) for _, score in outcome.pairs)


def test_a_league_depends_on_none_before_it_though_players_keep_state_and_draw(tmp_path):
    source = (
        "import random\nseen = []\n"
        "def choose(turn):\n"
        "    seen.append(turn)\n"
        "    return 'odd' if len(seen) > 1 else random.choice(['even', 'odd'])\n"
    )

    together = played(tmp_path, source)
    alone = [played(tmp_path, source, [number])[0] for number in range(1, 9)]

    assert together == alone
    assert len({each.line for each in together}) > 2


IMPORTS = [  # what a player imports, and the file that is then run
    ("import habits", "habits.py"),
    ("import habits", "habits/__init__.py"),
    ("from deep import habits", "deep/habits.py"),  # A folder without __init__.py.
    ("import sys\nsys.path.insert(0, FOLDER + '/deep')\nimport habits", "deep/habits.py"),
]


@each_row("imports, file", IMPORTS)
def test_a_file_that_a_player_imports_is_run_afresh_for_each_league(imports, file, tmp_path):
    folder = Path(mkdtemp(dir=tmp_path))
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text("import random\nseen = []\nfirst = random.choice(['even', 'odd'])")
    source = f"FOLDER = {str(folder)!r}\n{imports}\n" + (
        "def choose(turn):\n"
        "    habits.seen.append(turn)\n"
        "    return habits.first if len(habits.seen) == 1 else 1 / 0\n"
    )

    together = played(folder, source)
    alone = [played(folder, source, [number])[0] for number in range(1, 9)]

    assert {each.error for each in together} == {""}
    assert together == alone
    assert len({each.line for each in together}) > 2


def test_an_installed_library_that_a_player_imports_is_loaded_once(tmp_path):
    place = tmp_path / ".venv" / "site-packages"
    place.mkdir(parents=True)
    (place / "heavy_library.py").write_text("")
    source = "import sys\nsys.path.append({!r})\nimport heavy_library\n{}".format(
        str(place), "def choose(turn):\n    return 'odd'\n"
    )

    played(tmp_path, source, [1])
    library = sys.modules["heavy_library"]
    played(tmp_path, source, [2])

    assert sys.modules.pop("heavy_library") is library


def test_a_player_that_raises_or_exits_costs_its_league_alone(tmp_path, capsys):
    source = (
        "import random, sys\nCHANCE = random.random()\n"
        "def choose(turn):\n"
        "    print('noise')\n"
        "    if CHANCE < 0.3:\n        raise ValueError('no luck')\n"
        "    if CHANCE > 0.7:\n        sys.exit('enough')\n"
        "    return 'even'\n"
    )
    (tmp_path / "mine.py").write_text(source)
    work, path = Work(plan_of(tmp_path, TEXT), load_for), list(sys.path)

    found, _ = play_batch(work, range(1, 9))

    assert {each.error for each in found} == {
        "",
        "ValueError: no luck; mine (P02) was to move in R1M1.",
        "SystemExit: enough",
    }
    assert all(bool(each.line) is not bool(each.error) for each in found)
    assert capsys.readouterr().out == ""
    assert sys.path == path
