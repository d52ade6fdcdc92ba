"""A backup that anybody may have made writes nothing but a league whose rows prove themselves."""

import sqlite3
import zipfile
from contextlib import closing

import pytest

from agentleague.storage import backup_file
from cli.in_process import league
from records.journals import played, written

LEAGUE = played()
MANIFEST, JOURNAL = "manifest.json", "journal.sqlite"
VIEW = "ALTER TABLE rows RENAME TO others; CREATE VIEW rows AS SELECT * FROM others"
TRIGGER = "CREATE TRIGGER evil AFTER INSERT ON rows BEGIN DELETE FROM rows; END"
COMPUTED = """DROP TABLE rows; CREATE TABLE rows (
    league_id TEXT NOT NULL, seq INTEGER NOT NULL, at TEXT NOT NULL, kind TEXT NOT NULL,
    version INTEGER NOT NULL, body BLOB NOT NULL AS (zeroblob(1000000000)), hash BLOB NOT NULL,
    PRIMARY KEY (league_id, seq)
);"""


@pytest.fixture
def backup(tmp_path):
    cup = written(tmp_path / "cup", LEAGUE)
    (cup / "secret.key").write_text("a secret")
    league("backup", cup, tmp_path / "cup.zip")
    return tmp_path / "cup.zip"


def members_of(file):
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def put(own, **changed):
    """With other members in place of its own, or beside them."""
    return [*(own | {name.replace("_", "."): data for name, data in changed.items()}).items()]


def add(own, *members):
    return [*own.items(), *members]


def sql(own, script, path):
    """With a journal that somebody has changed."""
    path.write_bytes(own[JOURNAL])
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    own[JOURNAL] = path.read_bytes()
    path.unlink()
    return [*own.items()]


def link(name):
    """A member that unzip would make a symbolic link."""
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o120777 << 16
    return info


def packed(name, method):
    info = zipfile.ZipInfo(name)
    info.compress_type = method
    return info, b"token"


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda own, at: add(own, ("../../evil", b"")), "'../../evil', which no backup does"),
        (lambda own, at: add(own, (str(at / "evil"), b"")), "which no backup does"),
        (lambda own, at: add(own, ("log/", b"")), "'log/', which no backup does"),
        (lambda own, at: add(own, ("moved", b"")), "'moved', which no backup does"),
        (lambda own, at: add(own, ("journal.sqlite-wal", b"")), "which no backup does"),
        (lambda own, at: add(own, (link("evil"), b"/etc")), "which no backup does"),
        (lambda own, at: add(own, (JOURNAL, b"x")), "'a file twice', which no backup does"),
        (lambda own, at: put(own, admin_token=bytes(2_000_000)), "at most 1,000,000 are taken"),
        (lambda own, at: [(MANIFEST, own[MANIFEST])], "no manifest.json or no journal.sqlite"),
        (lambda own, at: [(JOURNAL, own[JOURNAL])], "no manifest.json or no journal.sqlite"),
        (lambda own, at: put(own, manifest_json=b'{"format":2}'), "use a newer agentleague"),
        (lambda own, at: put(own, manifest_json=b"[" * 9000), "not a whole backup"),
        (lambda own, at: put(own, manifest_json=b"{}"), "it says row 0"),
        (
            lambda own, at: put(own, manifest_json=own[MANIFEST].replace(b'rows":', b'rows":1')),
            "it says row 127, and its journal ends with row 27",
        ),
        (lambda own, at: put(own, journal_sqlite=b"x" * 9000), "file is not a database"),
        (lambda own, at: put(own, journal_sqlite=own[JOURNAL][:8192]), "malformed"),
        (lambda own, at: sql(own, VIEW, at / "x"), "other tables than a journal"),
        (lambda own, at: sql(own, TRIGGER, at / "x"), "other tables than a journal"),
        (lambda own, at: sql(own, COMPUTED, at / "x"), "other tables than a journal"),
        (lambda own, at: add(own, packed("admin.token", zipfile.ZIP_LZMA)), "that no backup is"),
        (
            lambda own, at: sql(own, "UPDATE rows SET body = '{}' WHERE seq = 5", at / "x"),
            "row 5 of league league_2026_even_odd_office is missing or not what was written",
        ),
        (lambda own, at: sql(own, "DELETE FROM rows", at / "x"), "there is no league"),
    ],
)
def test_what_is_not_a_backup_is_refused_and_nothing_is_written(backup, tmp_path, change, said):
    own = members_of(backup)
    with zipfile.ZipFile(backup, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in change(own, tmp_path):
            archive.writestr(name, data)

    refused = league("restore", backup, tmp_path / "new", check=False)

    assert refused.returncode == 1
    assert said in refused.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cup", "cup.zip"]


@pytest.mark.parametrize("cut", [0, 10, 2000, -30])
def test_a_file_that_is_cut_off_is_refused(backup, tmp_path, cut):
    backup.write_bytes(backup.read_bytes()[:cut])

    refused = league("restore", backup, tmp_path / "new", check=False)

    assert (refused.returncode, "not a whole backup" in refused.stderr) == (1, True)
    assert not (tmp_path / "new").exists()


def test_a_bit_that_is_wrong_never_makes_another_league(backup, tmp_path):
    data = backup.read_bytes()
    for place in range(0, len(data), len(data) // 40):
        backup.write_bytes(data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :])
        done = league("restore", backup, tmp_path / f"new{place}", check=False)
        assert "fault of the program" not in done.stderr
        if done.returncode == 0:  # It was in a place that says nothing, such as a date.
            assert league("verify", tmp_path / f"new{place}").returncode == 0


def test_a_journal_that_would_fill_the_disk_is_not_unpacked(backup, tmp_path, monkeypatch):
    usage = backup_file.shutil.disk_usage(tmp_path)._replace(free=30_000)
    monkeypatch.setattr(backup_file.shutil, "disk_usage", lambda path: usage)

    refused = league("restore", backup, tmp_path / "new", check=False)

    assert "bytes, and at most 15,000 are taken here" in refused.stderr
