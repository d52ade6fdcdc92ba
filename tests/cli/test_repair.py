"""`league repair`, as a person types it."""

import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner

from agentleague.cli.app import app
from agentleague.league.events import MatchDecided
from agentleague.records.reading import read_rows
from agentleague.runtime.state_files import write_secrets
from agentleague.storage.directory import FILE_NAME
from league.decisions import LEAGUE_ID
from records.journals import place, played, written

LEAGUE = played()


def run(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture
def cup(tmp_path):
    directory = written(tmp_path / "cup", LEAGUE)
    for name in ("secret.key", "admin.token"):
        (directory / name).write_text(name)
    (directory / "manager.settings").write_text("port = 0\n")
    return directory


def damage(directory, seq):
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE rows SET body = x'00' WHERE seq = ?", (seq,))


def test_it_says_what_is_saved_what_is_lost_and_what_to_type_next(cup, tmp_path):
    decided = [at for at, event in enumerate(LEAGUE, 1) if isinstance(event, MatchDecided)]
    damage(cup, decided[3])
    new = tmp_path / "new"

    done = run("repair", cup, "--to", new)

    assert done.exit_code == 0
    saved, lost, undecided, unproved, *rows = done.stdout.splitlines()
    last = decided[3] - 1
    assert saved == (
        f"{new} holds {last} rows of {LEAGUE_ID}: 4 players, round 2 of 3, 3 of 6 matches decided."
    )
    assert lost == f"Rows {last + 1} to {len(LEAGUE)} are lost."
    assert undecided == "Without a result now, whatever their players were told: R2M2."
    assert unproved == "Of what is lost this can still be read, but nothing proves it:"
    assert rows[0] == f"  row {last + 1}: match_decided, which cannot be read"
    assert len(rows) == len(LEAGUE) - last
    assert "The league is over" in rows[-1]
    assert done.stderr == (
        f"Check it with: league verify {new}\n"
        f"Go on with: league manager --dir {new} --accept-loss\n"
    )
    assert read_rows(new) == read_rows(written(tmp_path / "again", LEAGUE))[:last]
    kept = ("secret.key", "admin.token", "manager.settings")
    assert [(new / name).read_text() for name in kept] == [*kept[:2], "port = 0\n"]
    assert run("verify", new).exit_code == 3


def test_what_is_damaged_is_told_with_its_repair_and_what_is_repaired_without(cup, tmp_path):
    write_secrets(cup, None)
    damage(cup, len(LEAGUE) - 1)
    command = f"league repair {cup} --to {cup}-repaired"

    told = run("manager", "--dir", cup, "--port", 0, "--players", 4)
    verified = run("verify", cup)
    run("repair", cup, "--to", f"{cup}-repaired")
    refused = run("manager", "--dir", f"{cup}-repaired", "--port", 0, "--players", 4)
    again = run("verify", f"{cup}-repaired")

    assert f"save what is left of it with: {command}" in told.stderr
    assert verified.stderr == f"Save what is left with: {command}\n"
    assert "--accept-loss" in refused.stderr
    assert "league repair" not in refused.stderr
    assert (again.exit_code, again.stderr) == (3, "")


def test_of_a_league_that_is_whole_nothing_is_lost(cup, tmp_path):
    (tmp_path / "new").mkdir()
    (cup / "admin.token").unlink()

    done = run("repair", cup, "--to", tmp_path / "new")

    assert done.exit_code == 0
    assert ": 4 players, round 3 of 3, 6 of 6 matches decided. Nothing is lost.\n" in done.stdout
    assert "no manager can go on with it: there is no admin.token to copy." in done.stderr
    assert run("verify", tmp_path / "new").exit_code == 0


def test_many_rows_that_nothing_proves_are_not_all_listed(tmp_path):
    many = played(players=14)
    cup = written(tmp_path / "cup", many)
    first = place(many, MatchDecided) + 1
    damage(cup, first)

    done = run("repair", cup, "--to", tmp_path / "new")

    assert len(many) - first > 100
    assert f"  and {len(many) - first + 1 - 100} more rows\n" in done.stdout


def test_no_place_that_is_taken_is_written_to(cup, tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    before = sorted(path.name for path in cup.iterdir())

    for to, why in (
        (tmp_path / "file", "is there already"),
        (tmp_path / "full", "is there already"),
        (cup, "is there already"),
        (cup / "new", "which stays as it is"),
    ):
        done = run("repair", cup, "--to", to)
        assert done.exit_code == 2
        assert why in done.stderr

    assert sorted(path.name for path in cup.iterdir()) == before
    assert (tmp_path / "full" / "file").read_text() == "mine"


def test_where_no_league_is_it_is_misuse(tmp_path):
    done = run("repair", tmp_path, "--to", tmp_path / "new")

    assert done.exit_code == 2
    assert f"there is no league in {tmp_path}" in done.stderr
