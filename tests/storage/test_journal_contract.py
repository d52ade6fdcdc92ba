"""What every journal promises, whatever it keeps its rows in."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from typing import ClassVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentleague.errors import Claimed, Damaged, StorageError
from agentleague.roles.effects import Event
from agentleague.roles.ports import Head, Journal, Row
from agentleague.storage import chain
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.memory import MemoryJournal
from agentleague.storage.sqlite import JournalLimits, SqliteJournal

NOON = 1_736_942_400.25  # 2025-01-15T12:00:00.250Z

QUICK = JournalLimits(follow_seconds=0.001, followed=2)

Open = Callable[[], Journal]


class Noted(Event, frozen=True, kw_only=True, tag="noted"):
    text: str


class Counted(Event, frozen=True, kw_only=True, tag="counted"):
    VERSION: ClassVar[int] = 3
    number: int


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.process)])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """A function that ends the former manager, if there was one, and gives its successor."""
    if request.param == "memory":
        memory = MemoryJournal(lambda: NOON)

        def reopen_memory() -> Journal:
            memory.close()
            return memory

        yield reopen_memory
        return

    opened: list[Journal] = []
    url = request.getfixturevalue("database") if request.param == "postgres" else ""

    def reopen_stored() -> Journal:
        for journal in opened:
            journal.close()
        opened.append(open_postgres(url) if url else open_sqlite(tmp_path / "cup"))
        return opened[-1]

    yield reopen_stored
    for journal in opened:
        journal.close()


def open_sqlite(directory: Path) -> Journal:
    return SqliteJournal(directory, lambda: NOON, lambda run: run(), limits=QUICK)


def open_postgres(url: str) -> Journal:
    from agentleague.storage.postgres import PostgresJournal
    from agentleague.storage.postgres_reader import PostgresLimits

    limits = PostgresLimits(followed=2, follow_seconds=0.01)
    return PostgresJournal(DatabaseUrl.parse(url), lambda: NOON, lambda run: run(), limits=limits)


def append(
    journal: Journal, after: int, *texts: str, league_id: str = "cup"
) -> Sequence[Row] | StorageError:
    answers: SimpleQueue[Sequence[Row] | StorageError] = SimpleQueue()
    journal.append(league_id, after, [Noted(text=text) for text in texts], answers.put)
    return answers.get(timeout=20)


def texts(journal: Journal, league_id: str = "cup", after: int = 0) -> list[str]:
    return [json.loads(row.body)["text"] for row in journal.read(league_id, after)]


def test_what_was_appended_is_read_in_order(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")

    append(journal, 0, "a", "b")
    append(journal, 2, "c")

    assert texts(journal) == ["a", "b", "c"]
    assert [row.seq for row in journal.read("cup")] == [1, 2, 3]
    assert texts(journal, after=1) == ["b", "c"]
    assert texts(journal, after=3) == []


def test_a_row_says_what_happened_when_and_in_which_version(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")
    journal.append("cup", 0, [Noted(text="é"), Counted(number=7)], lambda _: None)
    append(journal, 2)  # Answered in order: the rows before it are there.

    noted, counted = journal.read("cup")

    assert noted[:6] == (
        *("cup", 1, "2025-01-15T12:00:00.250Z", "noted", 1),
        '{"kind":"noted","text":"é"}'.encode(),
    )
    assert counted[:6] == (
        *("cup", 2, "2025-01-15T12:00:00.250Z", "counted", 3),
        b'{"kind":"counted","number":7}',
    )


def test_done_gets_the_rows_as_they_are_stored(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")

    answer = append(journal, 0, "a", "b", "c")

    assert answer == [*journal.read("cup")]
    assert append(journal, 3) == []


def test_anyone_can_recompute_the_chain_in_a_few_lines(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")
    append(journal, 0, "a", "", "c")

    previous = sha256(b"agentleague-journal-v1|cup").digest()
    for row in journal.read("cup"):
        text = previous
        for field in row[:6]:
            part = field if isinstance(field, bytes) else str(field).encode()
            text += len(part).to_bytes(8, "big") + part
        previous = sha256(text).digest()
        assert row.hash == previous


def test_a_wrong_after_is_refused_and_changes_nothing(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")
    append(journal, 0, "a")

    for wrong in (0, 2, -1):
        assert isinstance(append(journal, wrong, "x"), StorageError)

    assert str(append(journal, 0, "x")) == "league cup ends with row 1, not with row 0"
    assert texts(journal) == ["a"]
    assert not isinstance(append(journal, 1, "b"), StorageError)


def test_an_append_without_a_claim_is_refused(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")

    answer = append(journal, 0, "a", league_id="shield")

    assert str(answer) == "league shield is not claimed"
    assert texts(journal, "shield") == []


def test_a_claim_answers_the_head(reopen: Open) -> None:
    journal = reopen()
    assert journal.claim("cup") == Head(0, sha256(b"agentleague-journal-v1|cup").digest())
    rows = append(journal, 0, "a", "b")
    assert not isinstance(rows, StorageError)

    assert reopen().claim("cup") == Head(rows[-1].seq, rows[-1].hash)


def test_a_league_is_claimed_once(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")

    with pytest.raises(Claimed, match="league cup is claimed already"):
        journal.claim("cup")

    reopen().claim("cup")


def test_the_next_manager_continues_the_chain(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")
    append(journal, 0, "a", "b")

    successor = reopen()
    head = successor.claim("cup")
    append(successor, head.seq, "c")

    assert texts(successor) == ["a", "b", "c"]


def test_each_league_has_a_chain_of_its_own(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")
    journal.claim("shield")

    append(journal, 0, "a")
    append(journal, 0, "b", league_id="shield")
    append(journal, 1, "c")

    assert texts(journal, "cup") == ["a", "c"]
    assert texts(journal, "shield") == ["b"]
    assert next(journal.read("cup")).hash != next(journal.read("shield")).hash


def test_reading_after_a_row_that_is_not_there_finds_the_cut_tail(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")
    append(journal, 0, "a")

    with pytest.raises(Damaged, match="row 2 of league cup"):
        list(journal.read("cup", after=2))


Fields = st.tuples(st.text(), st.integers(0), st.text(), st.text(), st.integers(0), st.binary())


@given(Fields, Fields)
def test_two_rows_hash_alike_only_if_they_are_alike(one: chain.Fields, two: chain.Fields) -> None:
    assert (chain.link(b"", one) == chain.link(b"", two)) == (one == two)


def test_a_boundary_moved_between_two_fields_changes_the_hash() -> None:
    assert chain.link(b"", ("ab", 1, "", "", 1, b"")) != chain.link(b"", ("a", 1, "b", "", 1, b""))
    assert chain.link(b"", ("a", 11, "", "", 1, b"")) != chain.link(b"", ("a", 1, "1", "", 1, b""))


@given(st.floats(-1e9, 4e9))
@example(1_700_000_000.9999996)
@example(-0.0000004)
def test_a_row_is_dated_in_utc_with_milliseconds(unix_seconds: float) -> None:
    time = datetime.fromtimestamp(unix_seconds, UTC).replace(tzinfo=None)

    assert chain.moment(unix_seconds) == time.isoformat(timespec="milliseconds") + "Z"


def test_a_gap_is_found_even_if_the_hashes_were_made_to_fit() -> None:
    start = chain.start("cup")
    forged = chain.extend(Head(1, start.hash), "cup", "", [chain.entry(Noted(text="a"))])

    with pytest.raises(Damaged, match="row 1 of league cup"):
        list(chain.verified(start, forged))


def test_rows_are_found_by_what_stands_in_them(reopen: Open) -> None:
    journal = reopen()
    for league_id in ("cup", "other"):
        journal.claim(league_id)
        append(journal, 0, "a", "b", "é a", "c", "a", league_id=league_id)

    def found(first: int, last: int, text: str, league_id: str = "cup") -> list[int]:
        return [row.seq for row in journal.find(league_id, first, last, text.encode())]

    assert found(1, 5, '"a"') == [1, 5]
    assert found(2, 4, '"a"') == []
    assert found(1, 5, "é") == [3]
    assert found(1, 99, '"c"', "other") == [4]
    assert found(1, 5, '"a"', "nobody's") == []


def test_a_row_that_is_found_is_the_one_that_is_read(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")
    append(journal, 0, "a", "b")

    assert [*journal.find("cup", 1, 2, b'"b"')] == [*journal.read("cup", 1)]


def test_a_journal_names_the_leagues_that_have_rows(reopen: Open) -> None:
    journal = reopen()
    for league_id in ("shield", "cup", "bowl"):
        journal.claim(league_id)
    append(journal, 0, "a", league_id="shield")
    append(journal, 0, "b", league_id="cup")
    append(journal, 0, league_id="bowl")

    assert [*journal.leagues()] == ["cup", "shield"]


def test_a_journal_says_how_much_room_it_takes_and_that_it_is_sound(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")
    append(journal, 0, "a" * 10_000)

    assert journal.size_bytes() > 0
    assert journal.damage() is None


async def take(rows: AsyncIterator[Row], count: int) -> list[int]:
    return [(await anext(rows)).seq for _ in range(count)]


def test_a_follower_gets_old_rows_then_each_new_one(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")
    append(journal, 0, "a", "b", "c")

    async def follow() -> tuple[list[int], list[int], list[int]]:
        all_rows, later = journal.follow("cup"), journal.follow("cup", after=3)
        first = await take(all_rows, 3)
        waiting = asyncio.ensure_future(take(later, 2))
        await asyncio.sleep(0)
        assert not waiting.done()
        append(journal, 3, "d")
        append(journal, 4, "e")
        return first, await waiting, await take(all_rows, 2)

    assert asyncio.run(follow()) == ([1, 2, 3], [4, 5], [4, 5])


def test_a_reader_that_stops_following_leaves_nothing_behind(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")
    append(journal, 0, "a")

    async def follow() -> list[int]:
        left, stays = journal.follow("cup"), journal.follow("cup")
        await take(left, 1)
        gone = asyncio.ensure_future(anext(left))
        await asyncio.sleep(0)
        gone.cancel()
        append(journal, 1, "b")
        return await take(stays, 2)

    assert asyncio.run(follow()) == [1, 2]


def test_a_follower_is_told_of_damage(reopen: Open) -> None:
    journal = reopen()
    journal.claim("cup")
    append(journal, 0, "a")

    async def follow() -> None:
        await take(journal.follow("cup", after=2), 1)

    with pytest.raises(Damaged, match="row 2 of league cup"):
        asyncio.run(follow())
