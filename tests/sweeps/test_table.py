"""The parts that a sweep keeps while it runs, and the tables that it writes in the end."""

import csv
from pathlib import Path
from tempfile import mkdtemp

import pytest

from agentleague.errors import LeagueError
from agentleague.league.formats.stages import FORMATS
from agentleague.runtime.settings import SettingError
from agentleague.sweeps.engines import play_all
from agentleague.sweeps.table import COLUMNS, Parts, write_all
from sweeps.plans import SMALL, InProcess, plan_of
from tables import each_row


def swept(plan, folder, name, leagues=None, engine=None):
    """The bytes of both tables, after so many leagues more."""
    parts = Parts(folder / f"{name}.parts", plan)
    numbers = list(parts.missing())[:leagues]
    for each in play_all(engine or InProcess(plan), numbers, len(numbers)):
        parts.add(each.number, each.line)
    write_all(plan, parts.outcomes(), folder / name)
    parts.close()
    return [(folder / f"{name}{ending}").read_bytes() for ending in (".csv", ".summary.csv")]


def table(data):
    return list(csv.DictReader(data.decode().splitlines()))


def test_there_is_a_row_for_each_player_of_each_league_in_the_order_of_the_plan(tmp_path):
    plan = plan_of(tmp_path)

    rows = table(swept(plan, tmp_path, "a")[0])

    assert list(rows[0]) == list(COLUMNS)
    assert [row["league"] for row in rows] == [str(n) for n in range(1, 9) for _ in range(3)]
    assert [row["seed"] for row in rows[::3]] == ["5", "3"] * 4
    for start in range(0, len(rows), 3):
        league = rows[start : start + 3]
        assert {row["player"] for row in league} == {"random", "fixed", "frequency"}
        assert [row["champion"] for row in league].count("True") == 1
        assert {row["matches"] for row in league} == {str(3 * (1 + start // 6 % 2))}
        assert all(float(row["low"]) < float(row["rating"]) < float(row["high"]) for row in league)


def test_the_summary_counts_every_league_of_a_game_and_format(tmp_path):
    data, summary = swept(plan_of(tmp_path), tmp_path, "a")

    for row in table(summary):
        keys = ("game", "format", "options", "player")
        found = [each for each in table(data) if all(each[key] == row[key] for key in keys)]
        assert row["leagues"] == str(len(found)) == "2"
        for column in ("wins", "draws", "losses", "technical_losses"):
            assert row[column] == str(sum(int(each[column]) for each in found))
        assert float(row["mean_rank"]) == sum(int(each["rank"]) for each in found) / 2
    assert len(table(summary)) == 2 * 2 * 3


def test_the_summary_is_the_same_as_a_file_and_as_values(tmp_path):
    plan = plan_of(tmp_path)
    swept(plan, tmp_path, "a")
    parts = Parts(tmp_path / "a.parts", plan)

    values, _ = write_all(plan, parts.outcomes(), tmp_path / "a")
    parts.close()

    kept = table((tmp_path / "a.summary.csv").read_bytes())
    assert [{name: str(each) for name, each in row.items()} for row in values] == kept


def test_the_tables_do_not_depend_on_the_order_in_which_leagues_end(tmp_path):
    plan = plan_of(tmp_path)

    assert swept(plan, tmp_path, "a") == swept(plan, tmp_path, "b", engine=InProcess(plan, 3))


def test_every_format_is_played_and_its_tables_depend_on_no_order(tmp_path):
    text = SMALL.partition("[[")[0].replace('"frequency"', '"frequency", "random"')
    for name in FORMATS:
        text += f'[[formats]]\nformat = "{name}"\n' + ("rounds = 3\n" if name == "ladder" else "")
    text += 'stages = [{ format = "swiss", advance = 2 }, { format = "knockout" }]'.join(
        ("[[formats]]\n", "\n")
    )
    plan = plan_of(tmp_path, text)

    tables = swept(plan, tmp_path, "a")

    assert {row["format"] for row in table(tables[1])} == {*FORMATS, "swiss+knockout"}
    assert len(table(tables[0])) == 4 * plan.leagues
    assert swept(plan, tmp_path, "b", engine=InProcess(plan, 3)) == tables


def test_what_is_cut_off_anywhere_goes_on_to_the_same_tables(tmp_path):
    plan = plan_of(tmp_path)
    whole = swept(plan, tmp_path, "whole")
    parts = (tmp_path / "whole.parts").read_bytes()

    for end in range(0, len(parts), 97):
        (tmp_path / "cut.parts").write_bytes(parts[:end])
        assert swept(plan, tmp_path, "cut") == whole, end
        lines = (tmp_path / "cut.parts").read_bytes().splitlines()
        assert sorted(lines) == sorted(parts.splitlines()), end


BASE = f"players_per_league = 2\n{SMALL}"
MORE = [  # what is replaced in the plan, by what, and how many leagues are there already
    ("[5, 3]", "[7, 3, 5, 1]", 24),
    ('"frequency"]', '"frequency", "mine.py", "random"]', 24),
    ('["even_odd", "rock_paper_scissors"]', '["rock_paper_scissors", "even_odd"]', 24),
    ('["even_odd", "rock_paper_scissors"]', '["even_odd"]', 12),
    ("[1, 2]", '[3, 2, 1]\n[[formats]]\nformat = "swiss"\nrounds = 1', 24),
    ("[5, 3]", "[3]", 12),
    ('["random", "fixed"', '["fixed", "random"', 16),  # Who is seeded first is another.
    ("seeds =", 'seeding = "order"\nseeds =', 0),
]


@each_row("old, new, kept", MORE)
def test_a_plan_can_be_changed_and_what_it_still_names_is_kept(old, new, kept, tmp_path):
    (tmp_path / "mine.py").write_text("def choose(turn):\n    return turn.legal_moves[0]\n")
    swept(plan_of(tmp_path, BASE), tmp_path, "a")
    assert old in BASE
    plan = plan_of(tmp_path, BASE.replace(old, new, 1))
    parts = Parts(tmp_path / "a.parts", plan)
    parts.close()

    assert parts.done == kept
    assert swept(plan, tmp_path, "a") == swept(plan, tmp_path, "whole")
    back = Parts(tmp_path / "a.parts", plan_of(tmp_path, BASE))
    back.close()
    assert back.done == 24


def test_a_file_that_was_named_later_must_not_change_either(tmp_path):
    swept(plan_of(tmp_path), tmp_path, "a")
    text = SMALL.replace('"fixed"', '"mine.py"')
    (tmp_path / "mine.py").write_text("def choose(turn):\n    return turn.legal_moves[0]\n")
    swept(plan_of(tmp_path, text), tmp_path, "a", leagues=2)
    before = (tmp_path / "a.parts").read_bytes()
    (tmp_path / "mine.py").write_text("def choose(turn):\n    return turn.legal_moves[-1]\n")
    other = plan_of(tmp_path, text)

    with pytest.raises(LeagueError, match=r"changed since is mine.py.*--out NAME, or .* --again"):
        Parts(tmp_path / "a.parts", other)

    assert (tmp_path / "a.parts").read_bytes() == before
    Parts(tmp_path / "a.parts", plan_of(tmp_path)).close()  # It does not name that file.
    again = Parts(tmp_path / "a.parts", other, again=True)
    assert len(list(again.missing())) == 8
    again.close()


def test_parts_that_are_written_otherwise_are_not_touched(tmp_path):
    (tmp_path / "a.parts").write_bytes(b'{"agentleague":"0"}\n[1,3,[],[]]\n')

    with pytest.raises(LeagueError, match=r"changed since is this program"):
        Parts(tmp_path / "a.parts", plan_of(tmp_path))


def test_a_parquet_file_that_cannot_be_written_anew_does_not_stay(tmp_path, monkeypatch):
    monkeypatch.setattr("agentleague.sweeps.table.has_parquet", lambda: False)
    plan = plan_of(tmp_path)
    swept(plan, tmp_path, "a", 1)
    (tmp_path / "a.parquet").write_text("the table of one league")

    swept(plan, tmp_path, "a")

    assert not (tmp_path / "a.parquet").exists()


@each_row("again", [False, True])
@each_row("text", [b"spare parts: none", b'{"parts":"spare"}\n', b"\n", b'["even_odd"]\n', b"\xff"])
def test_a_file_that_no_sweep_began_is_not_touched(text, again, tmp_path):
    (tmp_path / "a.parts").write_bytes(text)

    with pytest.raises(SettingError, match=r"a\.parts is there, and nothing .*--out NAME"):
        Parts(tmp_path / "a.parts", plan_of(tmp_path), again=again)

    assert (tmp_path / "a.parts").read_bytes() == text


@each_row("again", [False, True])
@each_row("ending", [".csv", ".parquet", ".summary.csv"])
def test_a_table_without_the_parts_of_a_sweep_is_not_replaced(ending, again, tmp_path):
    folder = Path(mkdtemp(dir=tmp_path))
    (folder / f"a{ending}").write_text("mine")

    with pytest.raises(SettingError, match=rf"a\{ending} is there, and nothing .*--out NAME"):
        Parts(folder / "a.parts", plan_of(tmp_path), again=again)

    assert [file.name for file in folder.iterdir()] == [f"a{ending}"]
    (folder / "a.parts").touch()  # As after a crash.
    with pytest.raises(SettingError):
        Parts(folder / "a.parts", plan_of(tmp_path), again=again)


def test_two_sweeps_do_not_write_the_same_parts(tmp_path):
    plan = plan_of(tmp_path)
    first = Parts(tmp_path / "a.parts", plan)

    with pytest.raises(LeagueError, match="another `league sweep` writes"):
        Parts(tmp_path / "a.parts", plan)

    first.close()
    Parts(tmp_path / "a.parts", plan).close()
