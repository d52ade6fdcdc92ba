"""`journal.head` says outside the journal how far it went: what is gone is noticed."""

import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from agentleague.errors import Lost, StorageError
from agentleague.roles.effects import Event
from agentleague.roles.ports import Head, Row
from agentleague.storage import chain
from agentleague.storage.directory import HEAD_NAME, open_reader
from agentleague.storage.head import BLOCK, HeadFile, read_heads
from agentleague.storage.sqlite import JournalLimits, SqliteJournal

QUICK = JournalLimits(retry_seconds=0.01, sync_seconds=0.01)


class Noted(Event, frozen=True, kw_only=True, tag="noted"):
    text: str


def open_journal(directory: Path) -> SqliteJournal:
    return SqliteJournal(directory, lambda: 0.0, lambda run: run(), limits=QUICK)


def append(journal: SqliteJournal, after: int, count: int = 1) -> Sequence[Row]:
    answers: SimpleQueue[Sequence[Row] | StorageError] = SimpleQueue()
    journal.append("cup", after, [Noted(text="x")] * count, answers.put)
    answer = answers.get(timeout=20)
    assert not isinstance(answer, StorageError), answer
    return answer


def written(directory: Path, rows: int) -> Head:
    """A journal of so many rows whose manager has stopped; its head."""
    with closing(open_journal(directory)) as journal:
        seq = journal.claim("cup").seq
        last = append(journal, seq, rows)[-1]
        return Head(last.seq, last.hash)


def cut(directory: Path, seq: int) -> None:
    """Lose the rows after this one, as a damaged or older file does."""
    with closing(sqlite3.connect(directory / "journal.sqlite")) as connection, connection:
        connection.execute("DELETE FROM rows WHERE seq > ?", (seq,))


def seqs(directory: Path) -> list[int]:
    return [row.seq for row in open_reader(directory).read("cup")]


# The file.


def test_the_head_is_noted_before_anybody_is_told(tmp_path: Path) -> None:
    noted: SimpleQueue[Head] = SimpleQueue()
    with closing(open_journal(tmp_path)) as journal:
        journal.claim("cup")

        journal.append(
            "cup", 0, [Noted(text="x")] * 3, lambda _: noted.put(read_heads(tmp_path)["cup"])
        )
        told = noted.get(timeout=20)

    assert told == Head(3, [*open_reader(tmp_path).read("cup")][-1].hash)


def test_each_league_of_a_journal_has_a_head_of_its_own(tmp_path: Path) -> None:
    heads = {name: chain.start(name) for name in ("cup", "bowl", "shield")}
    with closing(HeadFile(tmp_path)) as file:
        for seq in range(1, 4):
            for name in heads:
                if seq == 1:
                    file.add(name)
                heads[name] = Head(seq, bytes([seq]) * 32)
                file.write(name, heads[name])

    with closing(HeadFile(tmp_path)) as again:
        again.add("bowl")
        heads["bowl"] = Head(9, bytes(32))
        again.write("bowl", heads["bowl"])

    assert read_heads(tmp_path) == heads
    assert (tmp_path / HEAD_NAME).stat().st_size == 6 * BLOCK


@pytest.mark.parametrize("block", [0, 1])
def test_a_write_that_is_cut_off_leaves_the_one_before(tmp_path: Path, block: int) -> None:
    with closing(HeadFile(tmp_path)) as file:
        file.add("cup")
        for seq in range(1, 6):
            file.write("cup", Head(seq, bytes(32)))
    (newest,) = (each for each in (0, 1) if b",5," in block_of(tmp_path, each))

    damage(tmp_path, block)

    assert read_heads(tmp_path)["cup"].seq == (4 if block == newest else 5)


def block_of(directory: Path, number: int) -> bytes:
    return (directory / HEAD_NAME).read_bytes()[number * BLOCK : (number + 1) * BLOCK]


def damage(directory: Path, block: int) -> None:
    with (directory / HEAD_NAME).open("r+b") as file:
        file.seek(block * BLOCK + 20)
        file.write(b"\0\0")


def test_a_head_that_cannot_be_read_at_all_accuses_nobody(tmp_path: Path) -> None:
    written(tmp_path, 3)
    for block in (0, 1):
        damage(tmp_path, block)

    assert written(tmp_path, 2).seq == 5
    assert read_heads(tmp_path)["cup"].seq == 5


def test_a_head_file_that_was_not_copied_is_written_anew(tmp_path: Path) -> None:
    written(tmp_path, 3)
    (tmp_path / HEAD_NAME).unlink()

    with closing(open_journal(tmp_path)) as journal:
        journal.claim("cup")
        assert read_heads(tmp_path)["cup"].seq == 3


def test_writing_the_head_needs_no_room(tmp_path: Path) -> None:
    with closing(open_journal(tmp_path)) as journal:
        journal.claim("cup")
        before = (tmp_path / HEAD_NAME).stat().st_size
        for seq in range(20):
            append(journal, seq)

    assert (tmp_path / HEAD_NAME).stat().st_size == before


def test_a_head_that_cannot_be_written_fails_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("the disk is broken")

    with closing(open_journal(tmp_path)) as journal:
        journal.claim("cup")
        monkeypatch.setattr(HeadFile, "write", fail)
        assert append(journal, 0, 2)[-1].seq == 2

    assert "journal.head cannot be written: the disk is broken" in caplog.text
    assert seqs(tmp_path) == [1, 2]


def test_the_head_is_synced_soon_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: SimpleQueue[int] = SimpleQueue()
    sync = HeadFile.sync

    def note(self: HeadFile) -> None:
        sync(self)
        synced.put(read_heads(tmp_path).get("cup", Head(0, b"")).seq)

    monkeypatch.setattr(HeadFile, "sync", note)
    journal = open_journal(tmp_path)
    journal.claim("cup")
    append(journal, 0, 2)
    while synced.get(timeout=20) != 2:  # Without a further append.
        pass
    append(journal, 2)
    journal.close()

    assert [synced.get(timeout=20) for _ in range(synced.qsize())][-1] == 3


# A journal that is behind it.


def test_a_journal_that_has_lost_rows_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    written(tmp_path, 5)
    cut(tmp_path, 3)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    with closing(open_journal(tmp_path)) as journal, pytest.raises(Lost) as refusal:
        journal.claim("cup")

    assert str(refusal.value).startswith("rows 4 to 5 of league cup were committed and are gone; ")
    assert "league repair" not in str(refusal.value)  # There is no log in which they could be.
    assert "--accept-loss" in str(refusal.value)
    assert refusal.value.context == {"league_id": "cup", "seq": 3, "lost_until": 5}
    left = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {name: left[name] for name in ("journal.sqlite", HEAD_NAME)} == {
        name: before[name] for name in ("journal.sqlite", HEAD_NAME)
    }


def test_one_lost_row_is_named_as_one(tmp_path: Path) -> None:
    written(tmp_path, 5)
    cut(tmp_path, 4)

    with closing(open_journal(tmp_path)) as journal, pytest.raises(Lost) as refusal:
        journal.claim("cup")

    assert "row 5 of league cup was committed and is gone" in str(refusal.value)


@pytest.mark.parametrize("what_is_left", ["nothing", "an empty file", "no tables"])
def test_a_journal_without_its_league_is_no_free_place(tmp_path: Path, what_is_left: str) -> None:
    written(tmp_path, 5)
    for path in tmp_path.glob("journal.sqlite*"):
        path.unlink()
    if what_is_left == "an empty file":
        (tmp_path / "journal.sqlite").touch()
    elif what_is_left == "no tables":
        with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as connection:
            connection.execute("PRAGMA journal_mode = WAL")

    for accept in (False, True):
        with (
            closing(open_journal(tmp_path)) as journal,
            pytest.raises(Lost, match="rows 1 to 5 of league cup"),
        ):
            journal.claim("bowl", accept_loss=accept)


def test_another_journal_of_the_same_league_is_not_taken_for_this_one(tmp_path: Path) -> None:
    written(tmp_path / "one", 5)
    with closing(SqliteJournal(tmp_path / "two", lambda: 1.0, lambda run: run())) as journal:
        journal.claim("cup")
        append(journal, 0, 6)
    shutil.copy(tmp_path / "two" / "journal.sqlite", tmp_path / "one")

    with (
        closing(open_journal(tmp_path / "one")) as journal,
        pytest.raises(Lost, match="row 5 of league cup is not the one that was committed"),
    ):
        journal.claim("cup")


def test_a_loss_is_accepted_with_the_next_row_and_not_before(tmp_path: Path) -> None:
    written(tmp_path, 9)
    cut(tmp_path, 3)

    with closing(open_journal(tmp_path)) as journal:
        assert journal.claim("cup", accept_loss=True).seq == 3
        assert journal.lost is not None
        assert journal.lost.context == {"league_id": "cup", "seq": 3, "lost_until": 9}
    with closing(open_journal(tmp_path)) as journal, pytest.raises(Lost):
        journal.claim("cup")
    with closing(open_journal(tmp_path)) as journal:
        journal.claim("cup", accept_loss=True)
        append(journal, 3)
        assert read_heads(tmp_path)["cup"].seq == 4

    with closing(open_journal(tmp_path)) as journal:
        assert journal.claim("cup").seq == 4
        assert journal.lost is None


def test_where_nothing_is_lost_there_is_nothing_to_accept(tmp_path: Path) -> None:
    written(tmp_path, 2)

    with closing(open_journal(tmp_path)) as journal:
        journal.claim("cup", accept_loss=True)
        assert journal.lost is None


def test_a_head_that_lags_behind_accuses_nobody(tmp_path: Path) -> None:
    written(tmp_path, 2)
    shutil.copy(tmp_path / HEAD_NAME, tmp_path / "older")
    written(tmp_path, 2)
    os.replace(tmp_path / "older", tmp_path / HEAD_NAME)

    assert written(tmp_path, 1).seq == 5


def test_a_loss_that_somebody_proves_ends_the_journal_and_is_found_again(tmp_path: Path) -> None:
    written(tmp_path, 3)
    proof = {"league_id": "cup", "seq": 3, "lost_until": 9, "hash": "ab" * 32}
    with closing(open_journal(tmp_path)) as journal:
        journal.claim("cup")

        told = journal.end(Lost("somebody holds a receipt of row 9", **proof))
        refused: list[Any] = []
        journal.append("cup", 3, [Noted(text="x")], refused.append)

    assert refused == [told]
    assert "--accept-loss" in str(told)
    with pytest.raises(Lost, match="rows 4 to 9 of league cup were committed and are gone"):
        open_journal(tmp_path).claim("cup")
    assert seqs(tmp_path) == [1, 2, 3]
