"""Any order of appends, crashes, reopenings and full disks: a journal keeps what it confirmed.

One machine drives a journal by the port alone and knows beforehand every row, every head and every
refusal; it runs over the memory journal as it stands. What only a disk can suffer is added for
SQLite: another program that holds the file, no room, a crash, a second manager. A crash is a copy
of the files as they lie there at that instant, without a word to the journal that writes them. For
PostgreSQL: a network that is cut, also in a commit, and an owner whose machine is gone.
"""

import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import mkdtemp
from threading import Event as Flag
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agentleague.errors import Claimed, Damaged, StorageError, StorageFull
from agentleague.roles.effects import Event
from agentleague.roles.ports import Head, Journal, JournalReader, Row
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import open_reader
from agentleague.storage.memory import MemoryJournal
from agentleague.storage.sqlite import JournalLimits, SqliteJournal
from examples import examples
from postgres_proxy import Fate, Proxy
from postgres_server import PostgresServer

Result = Sequence[Row] | StorageError

LEAGUES = ("cup", "shield")
ROOM = 1_000_000  # pages, more than anything here needs
LARGE = 20_000  # characters that do not fit into the pages there are


class Noted(Event, frozen=True, kw_only=True, tag="noted"):
    text: str


class Counted(Event, frozen=True, kw_only=True, tag="counted"):
    VERSION: ClassVar[int] = 3
    number: int


EVENTS = st.lists(
    st.builds(Noted, text=st.text(st.characters(exclude_categories=["Cs"]), max_size=5))
    | st.builds(Noted, text=st.just("x" * 3000))
    | st.builds(Counted, number=st.integers(0, 9)),
    max_size=8,
)
APPENDS = st.lists(st.tuples(st.sampled_from(LEAGUES), EVENTS), min_size=1, max_size=6)
CLAIMS = st.sampled_from([LEAGUES, ("cup",), ()])


@dataclass(eq=False)
class Batch:
    """An append that was not refused: the rows it must become, and what was answered."""

    league_id: str
    rows: list[Row]
    answers: list[Result] = field(default_factory=list)


def row_after(previous: bytes, league_id: str, seq: int, at: str, event: Event) -> Row:
    """The row of an event, worked out without the code that is tested."""
    kind, version = ("noted", 1) if isinstance(event, Noted) else ("counted", 3)
    fields: tuple[Any, ...] = (league_id, seq, at, kind, version, msgspec.json.encode(event))
    text = previous
    for each in fields:
        part = each if isinstance(each, bytes) else str(each).encode()
        text += len(part).to_bytes(8, "big") + part
    return Row._make((*fields, sha256(text).digest()))


def first_hash(league_id: str) -> bytes:
    return sha256(f"agentleague-journal-v1|{league_id}".encode()).digest()


class AnyJournal(RuleBasedStateMachine):
    """What holds for every journal; a subclass says how it is opened and closed."""

    journal: Journal

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 1_736_942_400
        self.claimed: set[str] = set()
        self.kept: dict[str, list[Row]] = {league_id: [] for league_id in LEAGUES}
        self.waiting: list[Batch] = []  # not answered yet, in order

    def wall(self) -> float:
        return float(self.seconds)

    def reopen(self) -> None:
        """End this manager and begin its successor."""
        raise NotImplementedError

    def hear(self, *, all_of_it: bool) -> None:
        """Let answers arrive: those that are there, or all that are due."""

    # What the model knows.

    def rows(self, league_id: str) -> list[Row]:
        """All rows that a league has when everything that waits is written."""
        waiting = [row for batch in self.of(league_id) for row in batch.rows]
        return self.kept[league_id] + waiting

    def of(self, league_id: str) -> list[Batch]:
        return [batch for batch in self.waiting if batch.league_id == league_id]

    def head(self, league_id: str) -> Head:
        rows = self.rows(league_id)
        return Head(rows[-1].seq, rows[-1].hash) if rows else Head(0, first_hash(league_id))

    def promise(self, league_id: str, events: Sequence[Event]) -> Batch:
        """The batch that these events must become."""
        seq, previous = self.head(league_id)
        at = datetime.fromtimestamp(self.seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        rows: list[Row] = []
        for event in events:
            seq += 1
            rows.append(row_after(previous, league_id, seq, at, event))
            previous = rows[-1].hash
        return Batch(league_id, rows)

    def settle(self) -> None:
        """Take in what was answered: once each, and exactly what was promised."""
        while self.waiting and self.waiting[0].answers:
            batch = self.waiting.pop(0)
            assert batch.answers == [batch.rows]
            self.kept[batch.league_id] += batch.rows

    def boundaries(self, league_id: str) -> list[list[Row]]:
        """All that may be read now: what was confirmed, then whole appends that wait."""
        allowed = [self.kept[league_id]]
        for batch in self.of(league_id):
            allowed.append(allowed[-1] + batch.rows)
        return allowed

    # What happens.

    @initialize()
    def begin(self) -> None:
        self.claim("cup")

    @rule(league_id=st.sampled_from(LEAGUES))
    def claim(self, league_id: str) -> None:
        if league_id in self.claimed:
            with pytest.raises(Claimed):
                self.journal.claim(league_id)
            return
        assert self.journal.claim(league_id) == self.head(league_id)
        self.claimed.add(league_id)

    @rule(appends=APPENDS)
    def append_several(self, appends: list[tuple[str, list[Event]]]) -> None:
        for league_id, events in appends:
            if league_id in self.claimed:
                self.append(league_id, events)
            else:
                self.refused(league_id, self.head(league_id).seq, events, "is not claimed")
        self.settle()

    def append(self, league_id: str, events: list[Event]) -> None:
        self.seconds += 1
        batch, after = self.promise(league_id, events), self.head(league_id).seq
        self.waiting.append(batch)
        self.journal.append(league_id, after, events, partial(self.answered, batch))

    def answered(self, batch: Batch, result: Result) -> None:
        before = self.waiting[: self.waiting.index(batch)]
        assert all(each.answers for each in before), "answered out of order"
        batch.answers.append(result)

    @rule(
        league_id=st.sampled_from(LEAGUES),
        events=EVENTS,
        wrong=st.integers(-3, 3).filter(bool),
    )
    def append_behind_a_wrong_row(self, league_id: str, events: list[Event], wrong: int) -> None:
        last = self.head(league_id).seq
        why = f"ends with row {last}, not with row {last + wrong}"
        known = league_id in self.claimed
        self.refused(league_id, last + wrong, events, why if known else "is not claimed")

    def refused(self, league_id: str, after: int, events: list[Event], why: str) -> None:
        answers: list[Result] = []
        self.journal.append(league_id, after, events, answers.append)
        assert [str(answer) for answer in answers] == [f"league {league_id} {why}"]

    @rule()
    def commit(self) -> None:
        self.hear(all_of_it=True)
        self.settle()

    @rule()
    def hear_what_is_there(self) -> None:
        self.hear(all_of_it=False)
        self.settle()

    @rule(leagues=CLAIMS)
    def close_and_reopen(self, leagues: Sequence[str]) -> None:
        self.reopen()
        self.claim_anew(leagues)

    def claim_anew(self, leagues: Sequence[str]) -> None:
        self.claimed.clear()
        for league_id in leagues:
            self.claim(league_id)

    @rule(league_id=st.sampled_from(LEAGUES), place=st.integers(0, 99))
    def read_from_the_middle(self, league_id: str, place: int) -> None:
        after = place % (len(self.rows(league_id)) + 2)
        allowed = [rows[after:] for rows in self.boundaries(league_id) if after <= len(rows)]
        if not allowed:
            with pytest.raises(Damaged, match=f"row {after} of league {league_id}"):
                list(self.journal.read(league_id, after))
        elif after <= len(self.kept[league_id]):
            assert list(self.journal.read(league_id, after)) in allowed

    @invariant()
    def what_was_confirmed_is_there_and_nothing_else(self) -> None:
        for league_id in LEAGUES:
            assert list(self.journal.read(league_id)) in self.boundaries(league_id)


class MemoryStates(AnyJournal):
    def __init__(self) -> None:
        super().__init__()
        self.memory = self.journal = MemoryJournal(self.wall)

    def reopen(self) -> None:
        self.memory.close()

    @invariant()
    def nothing_waits_in_memory(self) -> None:
        assert self.waiting == []
        assert self.journal.state == "ok"


class StoredStates(AnyJournal):
    """A journal that answers later, by a queue; while it is full, or stuck, it does not."""

    full = False
    deliveries: SimpleQueue[Any]

    def is_stuck(self) -> bool:
        return self.full

    def hear(self, *, all_of_it: bool) -> None:
        may_wait = all_of_it and not self.is_stuck()
        while may_wait and not all(batch.answers for batch in self.waiting):
            self.deliveries.get(timeout=20)()
        self.hear_the_rest()

    def hear_the_rest(self) -> None:
        while True:
            try:
                self.deliveries.get_nowait()()
            except Empty:
                return

    def close_former(self) -> None:
        """What waits is written, unless there is no room: then it is given up, and told so."""
        former = self.journal
        former.close()
        self.hear_the_rest()
        if self.full and self.waiting:
            assert all(isinstance(each.answers[0], StorageFull) for each in self.waiting)
            assert all(len(each.answers) == 1 for each in self.waiting)
            self.waiting.clear()
        self.settle()
        assert self.waiting == []
        answers: list[Result] = []
        former.append("cup", self.head("cup").seq, [Noted(text="late")], answers.append)
        assert isinstance(answers[0], StorageError)

    def survive(self, reader: JournalReader) -> None:
        """Of the appends that waited whole ones are there, the first ones, and no other."""
        found = {league_id: list(reader.read(league_id)) for league_id in LEAGUES}
        for batch in self.waiting:
            rows = self.kept[batch.league_id]
            if batch.rows and len(found[batch.league_id]) <= len(rows):
                break
            rows += batch.rows
        self.waiting.clear()
        assert found == self.kept

    def until_it_is(self, state: str) -> None:
        for _ in range(2000):
            if self.journal.state == state:
                return
            Flag().wait(0.01)
        raise AssertionError(f"the journal never said that it is {state}")


class SqliteStates(StoredStates):
    """A journal in a directory; a crash goes on in the next one."""

    journal: SqliteJournal

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(mkdtemp(prefix="journal-states-"))
        self.names = count(1)
        self.directory = self.base / "0"
        self.holder: sqlite3.Connection | None = None
        self.descriptors: list[int] = []
        self.journal = self.open(self.directory)

    def open(self, directory: Path) -> SqliteJournal:
        self.deliveries: SimpleQueue[Any] = SimpleQueue()
        limits = JournalLimits(retry_seconds=0.005)
        journal = SqliteJournal(directory, self.wall, self.deliveries.put, limits=limits)
        journal.pages_max = ROOM
        self.full = False
        return journal

    def is_stuck(self) -> bool:
        return self.full or self.holder is not None

    def reopen(self) -> None:
        self.let_go()
        self.close_former()
        self.forget_descriptors()
        self.journal = self.open(self.directory)

    # What only a disk can suffer.

    @precondition(lambda self: self.holder is None and not self.full)
    @rule()
    def another_program_holds_the_file(self) -> None:
        self.holder = sqlite3.connect(
            self.directory / "journal.sqlite", isolation_level=None, check_same_thread=False
        )
        self.holder.execute("BEGIN IMMEDIATE")

    @precondition(lambda self: self.holder is None and not self.full)
    @rule(appends=APPENDS)
    def append_while_another_program_holds_the_file(
        self, appends: list[tuple[str, list[Event]]]
    ) -> None:
        self.another_program_holds_the_file()
        self.append_several(appends)

    @rule()
    def let_go(self) -> None:
        if self.holder is not None:
            self.holder.execute("ROLLBACK")
            self.holder.close()
            self.holder = None

    @precondition(lambda self: self.claimed and not self.full)
    @rule()
    def the_disk_fills_up(self) -> None:
        """Nothing is confirmed from here on: a large event waits, and the rest behind it."""
        self.let_go()
        self.commit()
        self.journal.pages_max = 1
        self.full = True
        self.append(sorted(self.claimed)[0], [Noted(text="x" * LARGE)])
        self.until_it_is("full")

    @precondition(lambda self: self.full)
    @rule()
    def there_is_room_again(self) -> None:
        self.journal.pages_max = ROOM
        self.full = False
        self.commit()
        assert self.waiting == []
        assert self.journal.state == "ok"

    @rule(leagues=CLAIMS)
    def crash(self, leagues: Sequence[str]) -> None:
        """Everything ends at once; the next manager finds the files as they were."""
        copy = self.base / str(next(self.names))
        self.copy_files(copy)
        self.let_go()
        self.journal.close()
        self.forget_descriptors()
        self.directory = copy
        self.journal = self.open(copy)
        self.survive(open_reader(self.directory))
        self.claim_anew(leagues)

    def copy_files(self, copy: Path) -> None:
        """Copy the head, the database, its log: the database is not written while the log is short.

        The copies stay open until the journal is closed: to close any descriptor of a file drops
        the locks that SQLite holds on it in this process.
        """
        copy.mkdir()
        for name in ("journal.head", "journal.sqlite", "journal.sqlite-wal"):
            if (self.directory / name).exists():
                descriptor = os.open(
                    self.directory / name, os.O_RDONLY | getattr(os, "O_BINARY", 0)
                )
                self.descriptors.append(descriptor)
                with (copy / name).open("wb") as file:
                    while part := os.read(descriptor, 1 << 20):
                        file.write(part)

    def forget_descriptors(self) -> None:
        while self.descriptors:
            os.close(self.descriptors.pop())

    @rule(league_id=st.sampled_from(LEAGUES))
    def a_second_manager_comes(self, league_id: str) -> None:
        with closing(SqliteJournal(self.directory, self.wall, lambda run: run())) as rival:
            if self.claimed:
                with pytest.raises(Claimed, match="another manager"):
                    rival.claim(league_id)
            else:
                self.let_go()  # Or it would wait for that program, as long as it may.
                assert rival.claim(league_id) == self.head(league_id)
                with pytest.raises(Claimed, match="another manager"):
                    self.journal.claim(league_id)

    @invariant()
    def the_journal_says_how_it_is(self) -> None:
        assert self.journal.state == ("full" if self.full else "ok")
        with_rows = {league_id for league_id in LEAGUES if self.kept[league_id]}
        waiting = {batch.league_id for batch in self.waiting if batch.rows}
        assert with_rows <= set(open_reader(self.directory).leagues()) <= with_rows | waiting

    def teardown(self) -> None:
        self.let_go()
        self.journal.close()
        self.forget_descriptors()
        shutil.rmtree(self.base)


def test_a_journal_in_memory_keeps_what_it_confirmed_whatever_happens() -> None:
    run_state_machine_as_test(
        MemoryStates, settings=settings(max_examples=examples(50), stateful_step_count=30)
    )


def test_a_journal_on_disk_keeps_what_it_confirmed_whatever_happens() -> None:
    run_state_machine_as_test(
        SqliteStates, settings=settings(max_examples=examples(30), stateful_step_count=30)
    )


FULL = """
CREATE TABLE disk (is_full boolean);
INSERT INTO disk VALUES (false);
GRANT SELECT ON disk TO public;
CREATE FUNCTION check_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF (SELECT is_full FROM public.disk) THEN
        RAISE EXCEPTION USING ERRCODE = 'disk_full', MESSAGE = 'could not extend file';
    END IF;
    RETURN new;
END $$;
CREATE TRIGGER room BEFORE INSERT ON agentleague.rows FOR EACH ROW EXECUTE FUNCTION check_room();
"""


class PostgresStates(StoredStates):
    """A journal in a database, behind a network that fails; a crash is a cut one for ever."""

    def __init__(self, url: str, server: PostgresServer) -> None:
        from agentleague.storage.postgres_reader import PostgresReader

        super().__init__()
        self.url, self.server = url, server
        self.reader = PostgresReader(DatabaseUrl.parse(url))
        self.network = Proxy(url)
        self.is_cut = False
        with closing(self.open_rival()) as rival:
            rival.claim("bowl")  # Makes the tables.
        self.execute("DROP TABLE IF EXISTS disk; DROP FUNCTION IF EXISTS check_room CASCADE;")
        self.execute(f"TRUNCATE agentleague.rows, agentleague.owners; {FULL}")
        self.journal = self.open()

    def open(self) -> Journal:
        from agentleague.storage.postgres import PostgresJournal
        from agentleague.storage.postgres_reader import PostgresLimits

        self.deliveries = SimpleQueue()
        self.full = False
        journal = PostgresJournal(
            DatabaseUrl.parse(self.network.url),
            self.wall,
            self.deliveries.put,
            limits=PostgresLimits(retry_seconds=0.005, lease_seconds=60.0, followed=3),
        )
        journal.read = self.reader.read  # As others read it, whatever its own network does.
        return journal

    def execute(self, statement: str) -> None:
        self.server.execute(statement, self.url.rpartition("/")[2])

    def is_stuck(self) -> bool:
        return self.full or self.is_cut

    def claim(self, league_id: str) -> None:
        self.the_network_is_mended()
        super().claim(league_id)

    def reopen(self) -> None:
        self.the_network_is_mended()
        self.close_former()
        self.execute("UPDATE disk SET is_full = false")
        self.journal = self.open()

    @precondition(lambda self: not self.full)
    @rule()
    def the_network_is_cut(self) -> None:
        self.network.cut()
        self.is_cut = True

    @rule()
    def the_network_is_mended(self) -> None:
        self.network.mend()
        self.is_cut = False

    @precondition(lambda self: not self.is_stuck() and "cup" in self.claimed)
    @rule(fate=st.sampled_from(["lost", "answered to nobody"]), appends=APPENDS)
    def a_connection_breaks_in_a_commit(
        self, fate: Fate, appends: list[tuple[str, list[Event]]]
    ) -> None:
        self.network.strike(b"marked", fate)
        self.append("cup", [Noted(text="marked")])
        self.append_several(appends)
        self.commit()
        assert self.network.has_struck.is_set()

    @rule()
    def the_operator_ends_all_connections(self) -> None:
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename='league'"
        )

    @precondition(lambda self: self.claimed and not self.is_stuck())
    @rule()
    def the_disk_fills_up(self) -> None:
        self.commit()
        self.execute("UPDATE disk SET is_full = true")
        self.full = True
        self.append(sorted(self.claimed)[0], [Noted(text="x")])
        self.until_it_is("full")

    @precondition(lambda self: self.full)
    @rule()
    def there_is_room_again(self) -> None:
        self.execute("UPDATE disk SET is_full = false")
        self.full = False
        self.commit()
        assert self.waiting == []
        assert self.journal.state == "ok"

    @rule(leagues=CLAIMS)
    def crash(self, leagues: Sequence[str]) -> None:
        """Its machine is gone; when the lease is over another one goes on."""
        self.network.close()
        former, self.network = self.journal, Proxy(self.url)
        self.the_network_is_mended()
        # Waits for a statement under way; a later one is fenced.
        self.execute("UPDATE agentleague.owners SET epoch = epoch + 1, lease_until = '-infinity'")
        self.execute("UPDATE disk SET is_full = false")
        self.survive(self.reader)
        self.journal = self.open()
        former.close()
        self.claim_anew(leagues)

    @rule(league_id=st.sampled_from(LEAGUES))
    def a_second_manager_comes(self, league_id: str) -> None:
        if league_id in self.claimed:
            rival_is_refused = pytest.raises(Claimed, match="is run by another manager")
            with closing(self.open_rival()) as rival, rival_is_refused:
                rival.claim(league_id)

    def open_rival(self) -> Journal:
        from agentleague.storage.postgres import PostgresJournal

        return PostgresJournal(DatabaseUrl.parse(self.url), self.wall, lambda run: run())

    @invariant()
    def the_journal_says_how_it_is(self) -> None:
        allowed = {"full", "away"} if self.full else {"ok", "away"}  # As it noticed last.
        assert self.journal.state in allowed

    def teardown(self) -> None:
        self.network.close()
        self.journal.close()


@pytest.mark.process
def test_a_journal_in_a_database_keeps_what_it_confirmed_whatever_happens(
    postgres: PostgresServer, database: str
) -> None:
    run_state_machine_as_test(
        lambda: PostgresStates(database, postgres),
        settings=settings(max_examples=examples(6), stateful_step_count=20),
    )
