"""`league backup` and `league restore`, as a person types them."""

import stat
import zipfile

import msgspec
import pytest

from agentleague.records.reading import read_rows
from agentleague.storage.backup_file import MANIFEST, Manifest
from agentleague.storage.sqlite import SqliteJournal
from cli.in_process import league
from league.decisions import LEAGUE_ID
from records.journals import played, written

LEAGUE = played()
KEPT = {"secret.key": "a secret", "admin.token": "adm_1", "manager.settings": "port = 0\n"}


@pytest.fixture
def cup(tmp_path):
    directory = written(tmp_path / "cup", LEAGUE)
    for name, text in KEPT.items():
        (directory / name).write_text(text)
    (directory / "log").mkdir()
    return directory


def test_a_backup_holds_the_rows_and_the_secrets_says_so_and_is_restored(cup, tmp_path):
    file, new = tmp_path / "cup.zip", tmp_path / "new"

    made = league("backup", cup, file)
    restored = league("restore", file, new)

    how_far = f"{len(LEAGUE)} rows of {LEAGUE_ID}: 4 players, round 3 of 3, 6 of 6 matches decided"
    assert made.stdout == f"{file} ({file.stat().st_size:,} bytes) holds {how_far}.\n"
    assert "IT CONTAINS THE LEAGUE'S SECRETS." in made.stderr
    assert f"league restore {file} NEW" in made.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert restored.stdout.startswith(f"{new} holds {how_far}, as of 20")
    assert f"Go on with: league manager --dir {new}\n" in restored.stderr
    assert "must not run at two places at once" in restored.stderr
    assert read_rows(new) == read_rows(cup)
    assert {name: (new / name).read_text() for name in KEPT} == KEPT
    assert {stat.S_IMODE(path.stat().st_mode) for path in new.iterdir()} == {0o600}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cup", "cup.zip", "new"]
    assert league("verify", new).stdout == league("verify", cup).stdout


def test_a_backup_of_a_league_that_is_being_written_ends_with_a_row_of_it(cup, tmp_path):
    journal = SqliteJournal(cup, lambda: 0.0, lambda call: call())
    journal.claim(LEAGUE_ID)
    rows = []
    journal.append(LEAGUE_ID, len(LEAGUE), [], rows.append)

    league("backup", cup, tmp_path / "cup.zip")
    journal.close()

    with zipfile.ZipFile(tmp_path / "cup.zip") as archive:
        manifest = msgspec.json.decode(archive.read(MANIFEST), type=Manifest)
    last = read_rows(cup)[-1]
    assert (manifest.rows, manifest.hash) == (last.seq, last.hash.hex())
    assert (manifest.league_id, manifest.has_secrets) == (LEAGUE_ID, True)


def test_nothing_that_is_there_is_overwritten(cup, tmp_path):
    file = tmp_path / "cup.zip"
    file.write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")

    refused = league("backup", cup, file, check=False)
    assert (refused.returncode, file.read_text()) == (2, "mine")
    assert "replace it with: --force" in refused.stderr
    assert "name a file in it" in league("backup", cup, tmp_path, check=False).stderr
    away = league("backup", cup, tmp_path / "away" / "cup.zip", check=False)
    assert f"there is no directory {tmp_path / 'away'}; make it first" in away.stderr
    league("backup", cup, file, "--force")
    for to in (tmp_path / "full", file, cup):
        refused = league("restore", file, to, check=False)
        assert (refused.returncode, "is there already" in refused.stderr) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cup", "cup.zip", "full"]


def test_what_is_damaged_or_no_league_makes_no_backup(cup, tmp_path):
    (cup / "journal.head").rename(tmp_path / "head")
    older = written(tmp_path / "older", LEAGUE[:-2])
    (tmp_path / "head").rename(older / "journal.head")

    damaged = league("backup", older, tmp_path / "cup.zip", check=False)
    nothing = league("backup", tmp_path / "none", tmp_path / "cup.zip", check=False)

    assert (damaged.returncode, nothing.returncode) == (1, 2)
    assert "were committed and are gone" in damaged.stderr
    assert f"league repair {older}" in damaged.stderr
    assert "there is no league" in nothing.stderr
    assert not (tmp_path / "cup.zip").exists()


def test_a_league_without_secrets_can_be_restored_but_not_gone_on_with(cup, tmp_path):
    (cup / "secret.key").unlink()

    made = league("backup", cup, tmp_path / "cup.zip")
    restored = league("restore", tmp_path / "cup.zip", tmp_path / "new")

    assert "It contains no secrets" in made.stderr
    assert "No manager can go on with it" in restored.stderr
