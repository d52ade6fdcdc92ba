"""Who may write to a league in PostgreSQL, tried with a real server: of two owners only the later.

An owner is stopped by holding its thread at the point before its statement. A lease is ended by
the superuser where a test need not wait for it.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from threading import Barrier, Event, Thread
from typing import Any

import pytest

from agentleague.errors import Claimed, Lost, StorageError
from agentleague.roles.effects import Event as JournalEvent
from agentleague.roles.ports import Row
from agentleague.storage import chain
from agentleague.storage.database_url import DatabaseUrl
from postgres_proxy import proxied

pytest.importorskip("psycopg")

import psycopg

from agentleague.storage.postgres import PostgresJournal
from agentleague.storage.postgres_reader import PostgresLimits, PostgresReader

pytestmark = pytest.mark.process
NOON = 1_736_942_400.25
SECONDS = 20.0
LIMITS = PostgresLimits(retry_seconds=0.02, lease_seconds=60.0)  # However busy the machine is.
SHORT = PostgresLimits(retry_seconds=0.02, lease_seconds=2.0)  # renewed each half second
Result = Sequence[Row] | StorageError
Open = Callable[..., PostgresJournal]


class Noted(JournalEvent, frozen=True, kw_only=True, tag="noted"):
    text: str


@pytest.fixture
def journals(database: str) -> Iterator[Open]:
    opened: list[PostgresJournal] = []

    def journal(limits=LIMITS, wall=lambda: NOON, url=database) -> PostgresJournal:
        opened.append(
            PostgresJournal(DatabaseUrl.parse(url), wall, lambda run: run(), limits=limits)
        )
        return opened[-1]

    yield journal
    for each in opened:
        each.close()


def begin(journal, after, text, league_id="cup") -> Callable[[], Result]:
    """Append without waiting; what is given waits for the answer."""
    answers: SimpleQueue[Result] = SimpleQueue()
    journal.append(league_id, after, [Noted(text=text)], answers.put)
    return partial(answers.get, timeout=SECONDS)


def append(journal, after, text, league_id="cup") -> Result:
    return begin(journal, after, text, league_id)()


def texts(url, league_id="cup") -> list[str]:
    reader = PostgresReader(DatabaseUrl.parse(url))
    return [json.loads(row.body)["text"] for row in reader.read(league_id)]


def end_lease(postgres, url) -> None:
    postgres.execute("UPDATE agentleague.owners SET lease_until = '-infinity'", name_of(url))


def owners(postgres, url) -> list[Any]:
    return postgres.execute("SELECT epoch, lease_until FROM agentleague.owners", name_of(url))


def name_of(url: str) -> str:
    return url.rpartition("/")[2]


def until(is_so: Callable[[], object]) -> None:
    for _ in range(int(SECONDS / 0.01)):
        if is_so():
            return
        Event().wait(0.01)
    raise AssertionError("it never came to that")


@contextmanager
def superuser(postgres, url) -> Iterator[Any]:
    with psycopg.connect(postgres.url(name_of(url), user="postgres")) as connection:
        yield connection


def hold(journal) -> tuple[Event, Event]:
    """Stop its thread before the next rows: says when it stands, and lets it go on."""
    stands, goes_on, insert = Event(), Event(), journal._insert

    def held(*arguments):
        stands.set()
        assert goes_on.wait(SECONDS)
        insert(*arguments)

    journal._insert = held
    return stands, goes_on


def test_a_stopped_owner_writes_nothing_after_another_has_taken_over(journals, postgres, database):
    stopped, successor, lost = journals(), journals(), []
    stopped.on_ownership_lost = lambda league_id, error: lost.append((league_id, str(error)))
    stopped.claim("cup")
    append(stopped, 0, "a")
    stands, goes_on = hold(stopped)
    answer = begin(stopped, 1, "stale")
    assert stands.wait(SECONDS)
    end_lease(postgres, database)
    assert successor.claim("cup").seq == 1

    goes_on.set()

    assert isinstance(answer(), Claimed)
    assert texts(database) == ["a"]
    assert not isinstance(append(successor, 1, "b"), StorageError)
    assert [league_id for league_id, _ in lost] == ["cup"]
    assert "another manager has taken over league cup" in lost[0][1]
    assert str(append(stopped, 2, "x")) == "league cup is not claimed"
    assert stopped.state == "ok"  # Its other leagues would go on.


def test_an_owner_that_writes_while_it_is_taken_over_waits_and_then_writes_nothing(
    journals, postgres, database
):
    owner = journals()
    owner.claim("cup")
    append(owner, 0, "a")
    owner._renew_at = float("inf")  # Or the renewal would find it out.
    with superuser(postgres, database) as taking_over:
        taking_over.execute("UPDATE agentleague.owners SET epoch = epoch + 1, owner = 'another'")
        answer = begin(owner, 1, "stale")
        until(lambda: is_waiting(postgres))
        taking_over.commit()

    assert isinstance(answer(), Claimed)
    assert texts(database) == ["a"]


def test_who_takes_over_waits_for_a_statement_of_the_former_owner_and_finds_its_rows(
    journals, postgres, database
):
    owner, successor, heads = journals(), journals(), SimpleQueue()
    owner.claim("cup")
    row = chain.extend(chain.start("cup"), "cup", "", [("noted", 1, b"{}")])[0]
    with superuser(postgres, database) as other:
        # A row of the same number that is not committed: the statement waits in the middle.
        other.execute(b"INSERT INTO agentleague.rows VALUES (%s, %s, %s, %s, %s, %s, %s)", row)
        answer = begin(owner, 0, "a")
        until(lambda: is_waiting(postgres))
        end_lease_is_blocked = Thread(target=lambda: end_lease(postgres, database))
        end_lease_is_blocked.start()
        until(lambda: is_waiting(postgres, 2))
        taking_over = Thread(target=lambda: heads.put(claim_at_last(successor)))
        taking_over.start()
        other.rollback()

    assert not isinstance(answer(), StorageError)
    assert heads.get(timeout=SECONDS).seq == 1
    taking_over.join()
    end_lease_is_blocked.join()


def is_waiting(postgres, count=1) -> bool:
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    return postgres.execute(query)[0][0] >= count


def claim_at_last(journal):
    while True:
        try:
            return journal.claim("cup")
        except Claimed:
            Event().wait(0.01)


def test_of_two_that_claim_at_once_one_wins(journals, postgres, database):
    journals().claim("other")  # The tables are there.
    for number in range(10):
        rivals, start, won = [journals(), journals()], Barrier(2), []

        def claim(rival, league_id=f"cup{number}", start=start, won=won):
            start.wait()
            with suppress(Claimed):
                rival.claim(league_id)
                won.append(rival)

        threads = [Thread(target=claim, args=[rival]) for rival in rivals]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        for rival in rivals:
            rival.close()


def test_two_that_begin_in_an_empty_database_at_once_both_find_the_tables(journals):
    start, failed = Barrier(4), []

    def claim(number):
        start.wait()
        try:
            journals().claim(f"cup{number}")
        except StorageError as error:
            failed.append(error)

    threads = [Thread(target=claim, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_only_the_clock_of_the_database_counts(journals, postgres, database):
    early = journals(wall=lambda: NOON - 3600)
    late = journals(wall=lambda: NOON + 3600)
    early.claim("cup")
    append(early, 0, "a")

    with pytest.raises(Claimed, match="its lease lasts until 2"):
        late.claim("cup")
    end_lease(postgres, database)
    late.claim("cup")
    append(late, 1, "b")

    assert isinstance(append(early, 1, "stale"), Claimed)
    assert texts(database) == ["a", "b"]


def test_a_lease_is_renewed_and_keeps_its_epoch(journals, postgres, database):
    owner = journals(SHORT)
    owner.claim("cup")
    [(epoch, first)] = owners(postgres, database)

    until(lambda: owners(postgres, database)[0][1] > first)

    assert owners(postgres, database)[0][0] == epoch
    with pytest.raises(Claimed):
        journals().claim("cup")
    assert owner.state == "ok"


def test_a_renewal_finds_that_a_league_is_anothers_and_the_others_go_on(
    journals, postgres, database
):
    owner, lost = journals(SHORT), SimpleQueue()
    owner.on_ownership_lost = lambda league_id, error: lost.put(league_id)
    owner.claim("cup")
    owner.claim("shield")

    taken = "UPDATE agentleague.owners SET epoch = epoch + 1 WHERE league_id = 'cup'"
    postgres.execute(taken, name_of(database))

    assert lost.get(timeout=SECONDS) == "cup"
    assert not isinstance(append(owner, 0, "b", "shield"), StorageError)
    assert texts(database, "cup") == []


def test_in_one_batch_the_league_that_is_lost_is_refused_and_the_others_are_written(
    journals, postgres, database
):
    owner = journals()
    for league_id in ("cup", "shield", "bowl"):
        owner.claim(league_id)
    stands, goes_on = hold(owner)
    first = begin(owner, 0, "a", "bowl")
    assert stands.wait(SECONDS)
    taken = "UPDATE agentleague.owners SET epoch = epoch + 1 WHERE league_id = 'cup'"
    postgres.execute(taken, name_of(database))
    answers = [
        begin(owner, 0, "b", "cup"),
        begin(owner, 0, "c", "shield"),
        begin(owner, 1, "d", "bowl"),
    ]

    goes_on.set()

    assert not isinstance(first(), StorageError)
    assert [isinstance(answer(), Claimed) for answer in answers] == [True, False, False]
    assert [texts(database, each) for each in ("cup", "shield", "bowl")] == [[], ["c"], ["a", "d"]]


def test_an_owner_that_cannot_renew_its_lease_is_away_and_goes_on_if_nobody_took_over(
    journals, database
):
    with proxied(database) as network:
        owner = journals(SHORT, url=network.url)
        owner.claim("cup")
        append(owner, 0, "a")
        network.cut()
        answer = begin(owner, 1, "b")
        until(lambda: owner.state == "away")

        network.mend()

        assert not isinstance(answer(), StorageError)
        until(lambda: owner.state == "ok")
        assert texts(database) == ["a", "b"]
        owner.close()


def test_an_owner_that_was_cut_off_too_long_writes_nothing(journals, database):
    with proxied(database) as network:
        owner, lost = journals(SHORT, url=network.url), SimpleQueue()
        owner.on_ownership_lost = lambda league_id, error: lost.put(league_id)
        owner.claim("cup")
        append(owner, 0, "a")
        network.cut()
        answer = begin(owner, 1, "stale")
        successor = journals()
        assert claim_at_last(successor).seq == 1
        append(successor, 1, "b")

        network.mend()

        assert isinstance(answer(), Claimed)
        assert lost.get(timeout=SECONDS) == "cup"
        assert texts(database) == ["a", "b"]
        owner.close()


def test_a_league_that_is_released_is_claimed_at_once_with_all_its_rows(journals, database):
    owner, successor = journals(), journals()
    owner.claim("cup")
    answer = begin(owner, 0, "a")
    owner.release("cup")

    assert successor.claim("cup").seq == 1
    assert not isinstance(answer(), StorageError)
    assert str(append(owner, 1, "x")) == "league cup is not claimed"

    successor.release("cup")
    assert owner.claim("cup").seq == 1
    assert not isinstance(append(owner, 1, "b"), StorageError)


def test_an_address_is_published_for_the_leagues_of_a_journal_also_later_ones(
    journals, postgres, database
):
    owner = journals()
    owner.claim("cup")
    owner.publish("http://127.0.0.1:8000")
    owner.claim("shield")

    query = "SELECT DISTINCT address FROM agentleague.owners"
    assert postgres.execute(query, name_of(database)) == [("http://127.0.0.1:8000",)]
    with pytest.raises(Claimed, match=r"at http://127\.0\.0\.1:8000: its lease lasts"):
        journals().claim("cup")
    owner.close()
    assert postgres.execute(query, name_of(database)) == [("",)]


@pytest.mark.parametrize("fate", ["lost", "answered to nobody"])
def test_a_connection_that_is_cut_in_the_middle_of_a_commit_doubles_and_loses_nothing(
    journals, database, fate
):
    with proxied(database) as network:
        owner = journals(url=network.url)
        owner.claim("cup")
        append(owner, 0, "a")
        network.strike(b"marked", fate)

        answers = [begin(owner, 1, "marked"), begin(owner, 2, "c")]

        assert [len(answer()) for answer in answers] == [1, 1]
        assert network.has_struck.is_set()
        assert texts(database) == ["a", "marked", "c"]
        owner.close()


def test_a_statement_that_arrives_late_is_refused_because_its_numbers_are_taken(journals, database):
    with proxied(database) as network:
        owner = journals(url=network.url)
        owner.claim("cup")
        network.strike(b"marked", "late")
        rows = append(owner, 0, "marked")
        assert not isinstance(rows, StorageError)
        append(owner, 1, "b")

        network.let_late_arrive()

        assert b"23505" in network.late_answer
        assert texts(database) == ["marked", "b"]
        assert not isinstance(append(owner, 2, "c"), StorageError)
        owner.close()


def test_a_statement_that_arrives_after_a_take_over_writes_nothing(journals, postgres, database):
    with proxied(database) as network:
        owner, successor = journals(url=network.url), journals()
        owner.claim("cup")
        network.strike(b"marked", "late")
        answer = begin(owner, 0, "marked")
        assert network.has_struck.wait(SECONDS)
        network.cut()
        end_lease(postgres, database)
        successor.claim("cup")

        network.let_late_arrive()

        assert texts(database) == []
        append(successor, 0, "b")
        network.mend()
        assert isinstance(answer(), Claimed)
        assert texts(database) == ["b"]
        owner.close()


def test_a_database_that_says_nothing_is_away_until_it_answers(journals, database):
    with proxied(database) as network:
        limits = PostgresLimits(retry_seconds=0.02, statement_seconds=0.5)
        owner = journals(limits, url=network.url)
        owner.claim("cup")
        network.fall_silent()
        answer = begin(owner, 0, "a")
        until(lambda: owner.state == "away")

        network.mend()

        assert not isinstance(answer(), StorageError)
        assert texts(database) == ["a"]
        owner.close()


def test_rows_that_are_proved_lost_are_found_by_the_next_claim_until_that_is_accepted(
    journals, postgres, database
):
    owner, reader = journals(), PostgresReader(DatabaseUrl.parse(database))
    owner.claim("cup")
    for number in range(3):
        append(owner, number, "a")
    proof = next(reader.read("cup", 2))
    postgres.execute("DELETE FROM agentleague.rows WHERE seq > 1", name_of(database))
    said = Lost("gone", league_id="cup", seq=1, lost_until=3, hash=proof.hash.hex())

    ended = owner.end(said)

    assert "Restore a backup of the database" in str(ended)
    assert "the same command with --accept-loss" in str(ended)
    assert isinstance(append(owner, 3, "x"), Lost)
    owner.close()
    assert reader.damage() == "rows 2 to 3 of league cup were committed and are gone"
    with pytest.raises(Lost, match="rows 2 to 3 of league cup"):
        journals().claim("cup")
    goes_on = journals()
    assert goes_on.claim("cup", accept_loss=True).seq == 1
    assert goes_on.lost.context["lost_until"] == 3
    append(goes_on, 1, "b")
    goes_on.close()
    assert journals().claim("cup").seq == 2
    assert reader.damage() is None


@pytest.mark.parametrize(("hints", "seconds"), [(True, 3600.0), (False, 0.05)])
def test_a_follower_is_woken_by_a_hint_and_looks_again_without_one(
    journals, database, hints, seconds
):
    owner, limits = journals(), PostgresLimits(follow_seconds=seconds)
    owner.claim("cup")
    if not hints:
        owner._hints.add = lambda leagues: None
    append(owner, 0, "a")

    async def follow():
        rows = PostgresReader(DatabaseUrl.parse(database), limits).follow("cup")
        await anext(rows)
        later = asyncio.ensure_future(anext(rows))
        await asyncio.to_thread(append, owner, 1, "b")
        return (await asyncio.wait_for(later, SECONDS)).seq

    assert asyncio.run(follow()) == 2
