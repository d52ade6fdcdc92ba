"""A new league does not spread its files among other things."""

import click
import pytest

from agentleague.cli.directory import check_free
from commands import league


@pytest.mark.parametrize(
    "names",
    [
        [],
        [".git", ".DS_Store"],  # hidden
        ["cup.toml"],  # its settings
        ["secret.key", "admin.token", "manager.lock", "log"],  # of a manager that was stopped early
        ["journal.sqlite", "notes.txt"],  # A league is there.
    ],
)
def test_a_league_may_begin_or_go_on_there(tmp_path, names):
    for name in names:
        (tmp_path / name).touch()

    check_free(tmp_path)
    check_free(tmp_path / "new")


def test_a_directory_of_other_things_is_refused_by_name(tmp_path):
    for name in ("duel.py", "README.md", "test_duel.py", "notes.txt"):
        (tmp_path / name).touch()

    with pytest.raises(click.UsageError) as refused:
        check_free(tmp_path)

    assert str(tmp_path) in refused.value.message
    assert "(README.md, duel.py, notes.txt, ...); name a new directory" in refused.value.message


def test_a_demo_writes_nothing_among_other_things(tmp_path):
    (tmp_path / "mine.py").touch()

    done = league("demo", "--dir", tmp_path, check=False)

    assert done.returncode == 2
    assert "holds other files and no league (mine.py)" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]
