"""What the SQLite journal promises beyond the contract: disks, processes, damage, readers."""

import asyncio
import logging
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Event as Flag
from threading import current_thread
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentleague.errors
from agentleague.errors import Claimed, Damaged, StorageError, StorageFull
from agentleague.roles.effects import Event
from agentleague.roles.ports import Row
from agentleague.storage.directory import open_reader
from agentleague.storage.sqlite import JournalLimits, SqliteJournal
from agentleague.storage.sqlite_reader import FIND, SqliteReader
from storage.crashed import child

QUICK = JournalLimits(retry_seconds=0.01, follow_seconds=0.001)

Result = Sequence[Row] | StorageError


class Noted(Event, frozen=True, kw_only=True, tag="noted"):
    text: str


class Disk(NamedTuple):
    journal: SqliteJournal
    fill: Callable[[], None]
    free: Callable[[], None]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "cup"


@pytest.fixture
def journal(directory: Path) -> Iterator[SqliteJournal]:
    with closing(open_journal(directory)) as journal:
        journal.claim("cup")
        yield journal


@pytest.fixture(scope="module")
def three_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a manager that has stopped."""
    directory = tmp_path_factory.mktemp("stopped")
    with closing(open_journal(directory)) as journal:
        journal.claim("cup")
        append(journal, 0, count=3)
    return directory


@pytest.fixture(params=["page limit", "tmpfs"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """A journal on a disk that can be filled and freed."""
    if request.param == "tmpfs":
        with small_disk(tmp_path) as path, closing(open_journal(path / "cup")) as journal:
            journal.claim("cup")
            yield Disk(journal, lambda: fill(path / "ballast"), (path / "ballast").unlink)
        return

    with closing(open_journal(tmp_path)) as journal:
        journal.claim("cup")
        journal.pages_max = 1_000_000

        def limit(pages: int) -> None:
            journal.pages_max = pages

        yield Disk(journal, lambda: limit(1), lambda: limit(1_000_000))


def open_journal(directory: Path) -> SqliteJournal:
    return SqliteJournal(directory, lambda: 0.0, lambda run: run(), limits=QUICK)


@contextmanager
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(tmp_path)]
    with suppress(FileNotFoundError):
        if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
            try:
                yield tmp_path
            finally:
                subprocess.run(["umount", str(tmp_path)], check=True)
            return
    pytest.skip("only root can mount a small disk")


def fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Another program holds the file, so the writer waits."""
    with raw(directory) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def raw(directory: Path) -> Iterator[sqlite3.Connection]:
    path = directory / "journal.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def notes(count: int, size: int = 10) -> list[Noted]:
    return [Noted(text="x" * size)] * count


def append(journal: SqliteJournal, after: int, count: int = 1) -> Result:
    answers: SimpleQueue[Result] = SimpleQueue()
    journal.append("cup", after, notes(count), answers.put)
    return answers.get(timeout=20)


def until(condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        if condition():
            return
        Flag().wait(0.01)
    raise AssertionError("never happened")


def seqs(directory: Path) -> list[int]:
    return [row.seq for row in open_reader(directory).read("cup")]


# One writer.


def test_a_second_process_is_refused_and_told_who_writes(directory: Path) -> None:
    second = open_journal(directory)
    with child(directory, "wait") as first, pytest.raises(Claimed) as refusal:
        second.claim("cup")

    assert str(refusal.value) == (
        f"another manager (pid {first.pid}) writes to {directory}; "
        "stop it first or use another --dir"
    )


def test_a_second_journal_of_the_same_process_is_refused(
    journal: SqliteJournal, directory: Path
) -> None:
    with closing(open_journal(directory)) as second, pytest.raises(Claimed, match="another manag"):
        second.claim("cup")

    assert append(journal, 0) != []


def test_a_killed_process_holds_no_claim(directory: Path) -> None:
    with child(directory, "wait") as first:
        first.kill()
        first.wait()
        with closing(open_journal(directory)) as second:
            second.claim("cup")

            assert append(second, 0) != []


def test_the_lock_file_names_the_writer_and_nothing_of_the_one_before(directory: Path) -> None:
    directory.mkdir()
    (directory / "manager.lock").write_text(
        "12345678901\nhttp://127.0.0.1:8000/mcp\nleague manager\n"
    )

    with closing(open_journal(directory)) as journal:
        journal.claim("cup")
        assert (directory / "manager.lock").read_text() == f"{os.getpid()}\n\n"


def test_an_event_that_cannot_be_written_leaves_no_gap(journal: SqliteJournal) -> None:
    with pytest.raises(UnicodeEncodeError):
        journal.append("cup", 0, [Noted(text="\ud800")], lambda heads: None)

    assert append(journal, 0) != []
    assert journal.waiting == 0


def test_the_lock_file_never_gives_its_room_to_a_full_disk(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []
    monkeypatch.setattr(os, "ftruncate", lambda _, length: lengths.append(length))

    with closing(open_journal(directory)) as journal:
        journal.claim("cup")

    assert lengths
    assert 0 not in lengths


def test_without_its_lock_file_the_older_manager_stops_and_tells_nobody(
    journal: SqliteJournal, directory: Path
) -> None:
    append(journal, 0, count=2)
    (directory / "manager.lock").unlink()
    with closing(open_journal(directory)) as second:
        assert second.claim("cup").seq == 2

        refused = [append(journal, seq) for seq in (2, 3)]

        assert [type(each) for each in refused] == [Claimed, Claimed]
        assert str(refused[0]).startswith(f"another manager has taken over {directory}; ")
        assert journal.state == "failed"
        assert not isinstance(append(second, 2, count=130), StorageError)
    assert seqs(directory) == list(range(1, 133))


def test_the_older_manager_writes_nothing_of_a_batch_of_several_statements(
    journal: SqliteJournal, directory: Path
) -> None:
    (directory / "manager.lock").unlink()
    with closing(open_journal(directory)) as second:
        second.claim("cup")
        assert isinstance(append(journal, 0, count=200), Claimed)

    assert list(open_reader(directory).read("cup")) == []


def test_a_journal_of_the_first_format_is_read_as_it_is_and_claimed_with_an_owner(
    directory: Path,
) -> None:
    with closing(open_journal(directory)) as journal:
        journal.claim("cup")
        append(journal, 0, count=3)
    with raw(directory) as connection:
        connection.execute("DROP TABLE owner")
        connection.execute("PRAGMA user_version = 1")
    (directory / "journal.head").unlink()

    assert seqs(directory) == [1, 2, 3]
    with closing(open_journal(directory)) as journal:
        journal.claim("cup")
        assert not isinstance(append(journal, 3), StorageError)
    with raw(directory) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    assert seqs(directory) == [1, 2, 3, 4]


def test_a_claim_that_failed_leaves_the_directory_free(directory: Path) -> None:
    directory.mkdir()
    (directory / "journal.sqlite").write_bytes(b"this is no database" * 100)
    with closing(open_journal(directory)) as first, pytest.raises(StorageError, match="not a data"):
        first.claim("cup")

    (directory / "journal.sqlite").unlink()
    with closing(open_journal(directory)) as second:
        assert second.claim("cup").seq == 0


# Durability.


def test_what_done_has_confirmed_survives_kill_9(directory: Path) -> None:
    with child(directory, "write") as process:
        assert process.stdout is not None
        confirmed = [int(process.stdout.readline()) for _ in range(300)]
        process.kill()
        confirmed += map(int, process.stdout.readlines())

    with closing(open_journal(directory)) as successor:
        head = successor.claim("cup")
        assert confirmed == list(range(1, len(confirmed) + 1))
        assert head.seq >= len(confirmed)
        assert seqs(directory) == list(range(1, head.seq + 1))
        assert append(successor, head.seq) != []
    assert seqs(directory)[-1] == head.seq + 1


def test_closing_writes_what_waits(directory: Path) -> None:
    journal = open_journal(directory)
    journal.claim("cup")
    answers: list[Result] = []
    for seq in range(100):
        journal.append("cup", seq, notes(1), answers.append)

    journal.close()

    assert [answer[0].seq for answer in answers if not isinstance(answer, StorageError)] == [
        *range(1, 101)
    ]
    assert len(seqs(directory)) == 100


def test_a_closed_journal_refuses_everything(journal: SqliteJournal) -> None:
    journal.close()
    journal.close()

    assert str(append(journal, 0)) == "the journal is closed"
    with pytest.raises(StorageError, match="the journal is closed"):
        journal.claim("shield")


# Group commit.


def test_all_that_waits_goes_into_one_transaction(journal: SqliteJournal, directory: Path) -> None:
    answers: SimpleQueue[Result] = SimpleQueue()
    with held(directory):
        for seq in range(200):
            journal.append("cup", seq, notes(1), answers.put)
    for _ in range(200):
        answers.get(timeout=20)

    # The writer may have taken the first few before the rest was there.
    assert journal.commits <= 2


def test_a_transaction_has_at_most_512_events(journal: SqliteJournal, directory: Path) -> None:
    answers: SimpleQueue[Result] = SimpleQueue()
    with held(directory):
        for seq in range(0, 1200, 2):
            journal.append("cup", seq, notes(2), answers.put)
    for _ in range(600):
        answers.get(timeout=20)

    assert journal.commits in (3, 4)


def test_an_append_is_never_split(journal: SqliteJournal) -> None:
    heads = append(journal, 0, count=1300)

    assert not isinstance(heads, StorageError)
    assert [head.seq for head in heads] == list(range(1, 1301))
    assert journal.commits == 1


def test_the_answers_of_a_commit_are_delivered_in_one_piece_by_the_loop(directory: Path) -> None:
    deliveries: SimpleQueue[Callable[[], None]] = SimpleQueue()
    answers: list[tuple[int, str]] = []

    def done(result: Result) -> None:
        assert not isinstance(result, StorageError)
        answers.append((result[-1].seq, current_thread().name))

    with closing(SqliteJournal(directory, lambda: 0.0, deliveries.put)) as journal:
        journal.claim("cup")
        with held(directory):
            for seq in range(100):
                journal.append("cup", seq, notes(1), done)
        count = 0
        while len(answers) < 100:
            delivery = deliveries.get(timeout=20)
            count += 1
            delivery()

    assert count == journal.commits
    assert deliveries.empty()
    assert answers == [(seq, current_thread().name) for seq in range(1, 101)]


# Limits.


def test_beyond_10000_waiting_events_an_append_is_refused_at_once(
    journal: SqliteJournal, directory: Path
) -> None:
    answers: SimpleQueue[Result] = SimpleQueue()
    refusals: list[Result] = []
    with held(directory):
        for seq in range(0, 10_000, 10):
            journal.append("cup", seq, notes(10), answers.put)
        assert journal.waiting == 10_000

        journal.append("cup", 10_000, notes(1), refusals.append)

        (refusal,) = refusals
        assert isinstance(refusal, StorageFull)
        assert str(refusal) == "the journal is 10,000 events behind"
        assert journal.waiting == 10_000
        assert answers.empty()
    for _ in range(1000):
        assert not isinstance(answers.get(timeout=20), StorageError)

    assert not isinstance(append(journal, 10_000), StorageError)
    assert seqs(directory) == list(range(1, 10_002))


def test_an_append_larger_than_the_limit_is_taken_when_nothing_waits(
    journal: SqliteJournal,
) -> None:
    heads = append(journal, 0, count=10_001)

    assert not isinstance(heads, StorageError)
    assert journal.waiting == 0


def test_queued_events_count_for_the_comparison(journal: SqliteJournal, directory: Path) -> None:
    answers: SimpleQueue[Result] = SimpleQueue()
    refusals: list[Result] = []
    with held(directory):
        journal.append("cup", 0, notes(2), answers.put)
        journal.append("cup", 0, notes(1), refusals.append)
        journal.append("cup", 2, notes(1), answers.put)

    assert [str(refusal) for refusal in refusals] == ["league cup ends with row 2, not with row 0"]
    assert not isinstance(answers.get(timeout=20), StorageError)
    assert not isinstance(answers.get(timeout=20), StorageError)


# Disk full, and worse.


def test_a_full_disk_is_waited_out(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    answers: SimpleQueue[Result] = SimpleQueue()
    disk.journal.append("cup", 0, notes(1), answers.put)
    answers.get(timeout=20)

    disk.fill()
    for seq in range(1, 101):
        disk.journal.append("cup", seq, notes(1, size=4000), answers.put)
    until(lambda: disk.journal.state == "full")
    Flag().wait(0.1)  # Ten more attempts.
    assert answers.empty()
    assert disk.journal.waiting == 100
    assert [record.levelno for record in caplog.records] == [logging.ERROR]

    disk.free()
    heads = [answers.get(timeout=20) for _ in range(100)]
    assert [head[0].seq for head in heads if not isinstance(head, StorageError)] == [*range(2, 102)]
    assert disk.journal.state == "ok"
    assert [row.seq for row in disk.journal.read("cup")] == list(range(1, 102))
    assert "again" in caplog.records[-1].message
    assert len(caplog.records) == 2


def test_closing_on_a_full_disk_gives_up_what_waits(disk: Disk) -> None:
    answers: list[Result] = []
    disk.fill()
    disk.journal.append("cup", 0, notes(100, size=4000), answers.append)
    until(lambda: disk.journal.state == "full")

    disk.journal.close()

    assert [type(answer) for answer in answers] == [StorageFull]
    disk.free()
    assert list(disk.journal.read("cup")) == []


def test_any_other_error_ends_the_journal(journal: SqliteJournal, directory: Path) -> None:
    answers: SimpleQueue[Result] = SimpleQueue()
    with held(directory):
        journal.append("cup", 0, notes(1), answers.put)
        journal.append("cup", 1, notes(1), answers.put)
    answers.get(timeout=20), answers.get(timeout=20)
    with raw(directory) as connection:
        connection.execute("INSERT INTO rows VALUES ('cup', 3, '', 'stolen', 1, x'', x'')")

    refused = append(journal, 2)

    assert isinstance(refused, StorageError)
    assert "UNIQUE constraint failed" in str(refused)
    assert append(journal, 3) is refused
    assert journal.state == "failed"
    assert journal.waiting == 0
    with pytest.raises(StorageError, match="UNIQUE"):
        journal.claim("shield")


@pytest.mark.parametrize("where", [2, 65, 66, 200])  # in which statement: first, second, last
def test_an_error_in_the_middle_of_a_long_batch_leaves_nothing_of_it(
    journal: SqliteJournal, directory: Path, where: int
) -> None:
    append(journal, 0)
    with raw(directory) as connection:
        condition = f"NEW.seq = {where + 1}"
        broken = "BEGIN SELECT RAISE(ABORT, 'broken'); END"
        connection.execute(f"CREATE TRIGGER t BEFORE INSERT ON rows WHEN {condition} {broken}")

    assert "broken" in str(append(journal, 1, count=200))

    journal.close()
    assert seqs(directory) == [1]
    with raw(directory) as connection:
        connection.execute("DROP TRIGGER t")
    with closing(open_journal(directory)) as successor:
        assert successor.claim("cup").seq == 1
        assert not isinstance(append(successor, 1, count=200), StorageError)
    assert seqs(directory) == list(range(1, 202))


def test_a_process_killed_in_the_middle_of_a_long_batch_leaves_nothing_of_it(
    directory: Path,
) -> None:
    with closing(open_journal(directory)) as journal:
        journal.claim("cup")
        append(journal, 0)

    with child(directory, "die in row 100") as process:
        assert process.wait(timeout=20) == 9

    assert seqs(directory) == [1]


def test_an_error_is_told_to_all_who_wait(journal: SqliteJournal, directory: Path) -> None:
    answers: SimpleQueue[Result] = SimpleQueue()
    with raw(directory) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DROP TABLE rows")
        for seq in range(600):
            journal.append("cup", seq, notes(1), answers.put)
        connection.execute("COMMIT")

    for _ in range(600):
        assert "no such table" in str(answers.get(timeout=20))
    assert journal.commits == 0


# Damage.


@pytest.mark.parametrize(
    "change",
    [
        "league_id = 'cuq'",
        "seq = 7",
        "at = '1970-01-01T00:00:00.001Z'",
        "kind = 'notee'",
        "version = 2",
        "version = 'one'",
        "body = x'00'",
        "body = CAST(body AS TEXT)",  # The same bytes as text.
        "kind = CAST(kind AS BLOB)",
        "kind = CAST(x'ff' AS TEXT)",  # No UTF-8.
        "hash = zeroblob(32)",
        "hash = 0",
    ],
)
def test_a_change_in_any_column_is_found(
    journal: SqliteJournal, directory: Path, change: str
) -> None:
    append(journal, 0, count=4)
    with raw(directory) as connection:
        connection.execute(f"UPDATE rows SET {change} WHERE seq = 3")

    rows = journal.read("cup")
    assert [next(rows).seq, next(rows).seq] == [1, 2]
    with pytest.raises(Damaged, match="row 3 of league cup") as damage:
        next(rows)
    assert damage.value.context["seq"] == 3


@pytest.mark.parametrize("change", ["hash = zeroblob(32)", "hash = 0"])
def test_a_changed_hash_is_found_by_a_reader_who_starts_behind_it(
    journal: SqliteJournal, directory: Path, change: str
) -> None:
    append(journal, 0, count=4)
    with raw(directory) as connection:
        connection.execute(f"UPDATE rows SET {change} WHERE seq = 3")

    with pytest.raises(Damaged, match=r"row [34] of league cup"):
        list(journal.read("cup", after=3))


def test_a_flipped_byte_of_a_row_in_the_file_is_found(three_rows: Path, tmp_path: Path) -> None:
    row = list(open_reader(three_rows).read("cup"))[1]
    content = (three_rows / "journal.sqlite").read_bytes()
    end = content.index(row.hash) + 32
    start = content.rindex(b"1970", 0, end)
    assert end - start > len(row.at + row.kind) + len(row.body)

    for place in range(start, end):
        flipped = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        (tmp_path / "journal.sqlite").write_bytes(flipped)
        with pytest.raises(Damaged, match="row 2 of league cup"):
            seqs(tmp_path)


@given(st.data())
def test_whatever_byte_is_flipped_nobody_reads_a_row_that_was_not_written(
    three_rows: Path, data: st.DataObject
) -> None:
    written = list(open_reader(three_rows).read("cup"))
    content = bytearray((three_rows / "journal.sqlite").read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with TemporaryDirectory() as name:
        (Path(name) / "journal.sqlite").write_bytes(content)

        found = []
        with suppress(StorageError):
            for row in open_reader(Path(name)).read("cup"):
                found.append(row)

    assert found == written[: len(found)]


def test_a_missing_row_is_found(journal: SqliteJournal, directory: Path) -> None:
    append(journal, 0, count=4)
    with raw(directory) as connection:
        connection.execute("DELETE FROM rows WHERE seq = 2")

    with pytest.raises(Damaged, match="row 2 of league cup"):
        seqs(directory)


def test_a_file_that_lost_its_pages_is_found(directory: Path) -> None:
    with closing(open_journal(directory)) as journal:
        journal.claim("cup")
        append(journal, 0, count=1000)
    path = directory / "journal.sqlite"
    path.write_bytes(path.read_bytes()[:8192] + bytes(path.stat().st_size - 8192))

    with pytest.raises(Damaged, match="cannot be read"):
        seqs(directory)


# Readers.


def test_a_reader_sees_whole_rows_while_another_process_writes(directory: Path) -> None:
    with child(directory, "write"):
        rows = list(open_reader(directory).read("cup"))
        while len(rows) < 500:
            more = list(open_reader(directory).read("cup"))
            assert more[: len(rows)] == rows
            rows = more
        assert open_reader(directory).leagues() == ["cup"]

    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))


def test_a_follower_sees_what_another_process_writes_and_reads_in_no_turn_of_the_loop(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers: list[int] = []
    connect = sqlite3.connect

    def noting(*args: Any, **more: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **more)
        connection.set_trace_callback(lambda _: readers.append(threading.get_ident()))
        return connection

    async def follow() -> list[int]:
        rows = SqliteReader(directory, QUICK).follow("cup")
        return [(await anext(rows)).seq for _ in range(500)]

    with child(directory, "write"):
        monkeypatch.setattr(sqlite3, "connect", noting)
        assert asyncio.run(follow()) == list(range(1, 501))
    assert threading.get_ident() not in readers
    assert len(set(readers)) == 1


def test_a_follower_keeps_one_connection_and_asks_only_whether_there_is_anything_new(
    journal: SqliteJournal, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    enough = threading.Event()
    connect = sqlite3.connect

    def noting(*args: Any, **more: Any) -> sqlite3.Connection:
        asked.append("connect")
        connection: sqlite3.Connection = connect(*args, **more)
        connection.set_trace_callback(note)
        return connection

    def note(statement: str) -> None:
        asked.append(statement)
        if len(asked) >= 50:
            enough.set()

    async def follow() -> list[str]:
        rows = SqliteReader(directory, QUICK).follow("cup")
        assert (await anext(rows)).seq == 1
        waiting = asyncio.ensure_future(anext(rows))
        assert await asyncio.to_thread(enough.wait, 20)
        idle = asked[10:50]
        append(journal, 1)
        assert (await waiting).seq == 2
        return idle

    append(journal, 0)
    monkeypatch.setattr(sqlite3, "connect", noting)

    assert set(asyncio.run(follow())) == {"PRAGMA data_version"}
    assert asked.count("connect") == 1


def test_a_follower_waits_for_a_journal_that_does_not_exist_yet(directory: Path) -> None:
    async def follow() -> int:
        waiting = asyncio.ensure_future(anext(SqliteReader(directory, QUICK).follow("cup")))
        await asyncio.wait([waiting], timeout=0.01)
        with closing(open_journal(directory)) as journal:
            journal.claim("cup")
            await asyncio.wait([waiting], timeout=0.01)
            append(journal, 0)
            return (await waiting).seq

    assert asyncio.run(follow()) == 1


def test_rows_are_looked_up_by_their_numbers_and_no_others_are_read(
    journal: SqliteJournal, directory: Path
) -> None:
    append(journal, 0)
    query = f"EXPLAIN QUERY PLAN {FIND}"
    with closing(sqlite3.connect(directory / "journal.sqlite")) as connection:
        plan = connection.execute(query, ("cup", 1, 1, b"x")).fetchall()

    assert len(plan) == 1
    assert "(league_id=? AND seq>? AND seq<?)" in plan[0][3]


def test_a_reader_changes_no_row_and_needs_no_claim(
    journal: SqliteJournal, directory: Path
) -> None:
    append(journal, 0)
    rows = open_reader(directory).read("cup")
    assert next(rows).seq == 1

    assert not isinstance(append(journal, 1), StorageError)

    rows.close()  # type: ignore[attr-defined]
    assert seqs(directory) == [1, 2]


def test_the_leagues_of_a_directory_are_listed(journal: SqliteJournal, directory: Path) -> None:
    journal.claim("bowl")
    append(journal, 0)
    assert journal.leagues() == open_reader(directory).leagues() == ["cup"]


def test_a_directory_without_a_journal_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=f"there is no journal in {tmp_path}"):
        seqs(tmp_path)
    with pytest.raises(StorageError, match="there is no journal"):
        open_reader(tmp_path / "nowhere").leagues()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_journal_is_named(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").touch()
    with pytest.raises(StorageError, match=f"is empty; .*: league manager --dir {tmp_path}"):
        seqs(tmp_path)

    (tmp_path / "journal.sqlite").write_bytes(b"this is no database" * 100)
    with pytest.raises(StorageError, match="not a database"):
        open_reader(tmp_path).leagues()


# The directory.


def test_a_journal_of_a_newer_format_is_left_alone(directory: Path) -> None:
    with closing(open_journal(directory)) as journal:
        journal.claim("cup")
    with raw(directory) as connection:
        connection.execute("PRAGMA user_version = 3")

    with closing(open_journal(directory)) as journal:
        with pytest.raises(StorageError, match="use a newer agentleague"):
            journal.claim("cup")
        with pytest.raises(StorageError, match="use a newer agentleague"):
            list(journal.read("cup"))


def test_where_wal_does_not_work_the_claim_says_so(directory: Path) -> None:
    # SQLite's own file system layer for disks without shared memory, made the default.
    script = """
import ctypes, sys, _sqlite3
from pathlib import Path
from agentleague.errors import StorageError
from agentleague.storage.sqlite import SqliteJournal
library = ctypes.CDLL(_sqlite3.__file__)
if not hasattr(library, "sqlite3_vfs_find"):
    sys.exit("no library")
library.sqlite3_vfs_find.restype = ctypes.c_void_p
vfs = ctypes.c_void_p(library.sqlite3_vfs_find(b"unix-dotfile"))
assert library.sqlite3_vfs_register(vfs, 1) == 0
try:
    SqliteJournal(Path(sys.argv[1]), lambda: 0.0, print).claim("cup")
except StorageError as error:
    print(error)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script, str(directory)],
        env=os.environ | {"PYTHONPATH": str(Path(agentleague.errors.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    if "no library" in ran.stderr:
        pytest.skip("SQLite is linked into Python and cannot be reached")

    assert ran.stdout == (
        f"SQLite cannot use its write-ahead log in {directory}, as on many network shares; "
        "use a --dir on a local disk\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_only_the_owner_may_look(journal: SqliteJournal, directory: Path) -> None:
    append(journal, 0)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}

    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert set(modes.values()) == {0o600}
    assert {"journal.sqlite", "journal.sqlite-wal", "manager.lock"} <= set(modes)


def test_a_directory_may_have_any_name(tmp_path: Path) -> None:
    directory = tmp_path / "50% off? #1 é"
    with closing(open_journal(directory)) as journal:
        journal.claim("cup")
        append(journal, 0)

    assert seqs(directory) == [1]
    assert (directory / "journal.sqlite").stat().st_size > 0


def test_every_commit_is_on_disk_before_it_is_confirmed(
    journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    commit = SqliteJournal._commit

    def look(self: SqliteJournal, connection: sqlite3.Connection) -> None:
        asked.append(connection.execute("PRAGMA synchronous").fetchone()[0])
        commit(self, connection)

    monkeypatch.setattr(SqliteJournal, "_commit", look)
    append(journal, 0)

    assert asked == [2]  # FULL: only this one waits for the disk at each commit of a WAL.


def test_rows_cannot_be_looked_up_when_the_journal_is_closed(tmp_path):
    journal = SqliteJournal(tmp_path, lambda: 0.0, lambda run: run())
    journal.claim("cup")
    journal.close()

    with pytest.raises(StorageError, match="cannot read the journal"):
        journal.find("cup", 1, 2, b"x")
