"""`league move`, as a person types it: one place goes on, with every row as it was."""

import os
from contextlib import closing

import pytest

from agentleague.records.reading import read_rows
from agentleague.runtime.state_files import write_secrets
from agentleague.storage.sqlite import SqliteJournal
from cli.in_process import league
from league.decisions import LEAGUE_ID
from records.journals import played, written

LEAGUE = played()
KEPT = ("secret.key", "admin.token", "manager.settings")


@pytest.fixture
def cup(tmp_path):
    directory = written(tmp_path / "cup", LEAGUE)
    write_secrets(directory, None)
    (directory / "manager.settings").write_text("port = 0\n")
    return directory


def kept_in(directory):
    return {name: (directory / name).read_bytes() for name in KEPT}


def test_a_league_goes_on_where_it_was_moved_and_nowhere_else(cup, tmp_path):
    there = tmp_path / "there"
    verified = league("verify", cup).stdout

    done = league("move", cup, there)
    refused = league("manager", "--dir", cup, "--exit", check=False)
    again = [
        league(*words, check=False).stderr
        for words in (
            ("move", cup, tmp_path / "elsewhere"),
            ("backup", cup, tmp_path / "cup.zip"),
        )
    ]

    assert done.stdout.startswith(f"{there} holds {len(LEAGUE)} rows of {LEAGUE_ID}: 4 players")
    assert f"league manager --dir {there}\n" in done.stderr
    assert read_rows(there) == read_rows(cup)
    assert kept_in(there) == kept_in(cup)
    assert league("verify", there).stdout == league("verify", cup).stdout == verified
    assert refused.returncode == 1
    for said in (refused.stderr, *again):
        assert f"the league in {cup} was moved to {there}; go on with it there" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cup", "there"]
    assert "This league is over" in league("manager", "--dir", there, "--exit").stderr


def test_a_league_whose_manager_runs_is_not_moved_nor_is_any_overwritten(cup, tmp_path):
    with closing(SqliteJournal(cup, lambda: 0.0, lambda call: call())) as journal:
        journal.claim(LEAGUE_ID)
        runs = league("move", cup, tmp_path / "there", check=False)
    taken = league("move", cup, written(tmp_path / "taken", LEAGUE[:3]), check=False)
    nothing = league("move", tmp_path / "nothing", tmp_path / "there", check=False)

    assert f"another manager (pid {os.getpid()}) writes to {cup}; stop it first" in runs.stderr
    assert (taken.returncode, "is there already" in taken.stderr) == (2, True)
    assert "there is no journal in" in nothing.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cup", "taken"]
    assert not (cup / "moved").exists()


def test_a_move_that_is_cut_off_at_its_last_step_leaves_one_place_and_says_what_to_do(
    cup, tmp_path, monkeypatch
):
    there, replace = tmp_path / "there", os.replace

    def cut_off(source, to):
        if to == there:
            raise OSError("the machine stopped")
        replace(source, to)

    monkeypatch.setattr("agentleague.storage.durable.os.replace", cut_off)
    assert "the machine stopped" in league("move", cup, there, check=False).stderr
    monkeypatch.undo()
    refused = league("manager", "--dir", cup, "--exit", check=False).stderr
    assert f"If it did not arrive there, delete {cup / 'moved'}" in refused
    (cup / "moved").unlink()

    league("move", cup, there)

    assert read_rows(there) == read_rows(cup)


def test_a_league_goes_through_a_database_and_verify_agrees_everywhere(cup, database, tmp_path):
    verified, rows, url = league("verify", cup).stdout, read_rows(cup), f"{database}#{LEAGUE_ID}"
    file = tmp_path / "cup.zip"

    moved = league("move", cup, database)
    made = league("backup", file, LEAGUE_JOURNAL=database)
    taken = league("restore", file, "--journal", database, check=False)
    verified_there = league("verify", "--journal", url).stdout
    back = league("move", url, tmp_path / "back")
    refused = league("manager", "--journal", url, "--exit", check=False)
    league("restore", file, tmp_path / "restored")

    assert verified_there == verified
    for there in (tmp_path / "back", tmp_path / "restored"):
        assert league("verify", there).stdout == verified
        assert read_rows(there) == rows
        assert kept_in(there) == kept_in(cup)
    assert (taken.returncode, "is there already; nothing was copied" in taken.stderr) == (1, True)
    assert f"was moved to {tmp_path / 'back'}; go on with it there" in refused.stderr
    for done in (moved, made, taken, back, refused):
        assert "sesame" not in done.stdout + done.stderr


def test_a_backup_is_restored_to_an_empty_database(cup, database, tmp_path):
    league("backup", cup, tmp_path / "cup.zip")

    restored = league("restore", tmp_path / "cup.zip", "--journal", database)

    where = f"{database.replace(':sesame', '')}#{LEAGUE_ID}"
    assert restored.stdout.startswith(f"{where} holds {len(LEAGUE)} rows of {LEAGUE_ID}")
    assert f"Go on with: league manager --journal '{where}'\n" in restored.stderr
    assert league("verify", f"{database}#{LEAGUE_ID}").stdout == league("verify", cup).stdout


def test_what_is_typed_wrong_is_answered_with_what_to_type(cup, tmp_path):
    for words, right in (
        (("backup",), "type: league backup DIR FILE"),
        (("backup", tmp_path / "cup.zip"), "type: league backup DIR FILE"),
        (("backup", cup, "postgresql://league:sesame@host/db"), "type: league backup DIR FILE"),
        (("restore", tmp_path / "cup.zip"), "type: league restore FILE DIR"),
        (("restore", "a", "b", "c"), "type: league restore FILE DIR"),
        (("move", cup, "mysql://league:sesame@host/db"), "a database is named as postgresql://"),
    ):
        done = league(*words, check=False)
        assert (done.returncode, right in done.stderr) == (2, True), done.stderr
        assert "sesame" not in done.stderr
