"""A database that managers share: what becomes of statements, and who may write."""

from functools import partial
from random import Random

import pytest

from agentleague.errors import Claimed, StorageError
from agentleague.league.events import RoundEnded
from agentleague.simulation.clock import Lifetime, VirtualClock
from agentleague.simulation.database import DATABASE, Database, NotConnected
from agentleague.simulation.database_journal import DatabaseJournal
from agentleague.simulation.network import Links


class Managers:
    """Two managers and a database; `told` has what became of their writes."""

    def __init__(self):
        self.clock = VirtualClock(100.0)
        self.links = Links(Random(0))
        self.database = Database(self.clock, self.links, seed=0)
        self.told, self.wrong, self.lost = [], [], []
        self.database.wrong = self.wrong.append
        self.lifetimes = {name: Lifetime(self.clock) for name in ("one", "two")}

    def claimed(self, name):
        journal, claims = DatabaseJournal(self.database, name, self.lifetimes[name], "cup"), []
        journal.on_lost = self.lost.append
        journal.contend(claims.append)
        self.until(lambda: claims)
        return journal if claims == [True] else None

    def append(self, journal, after=0):
        journal.append("cup", after, [RoundEnded(after + 1)], self.told.append)

    def until(self, enough):
        self.clock.run(until=enough)

    def after(self, seconds):
        then = self.clock.now() + seconds
        self.clock.call_after(seconds, lambda: None)
        self.until(lambda: self.clock.now() >= then)

    @property
    def rows(self):
        return [row.seq for row in self.database.read("cup")]


def test_a_league_has_one_owner_until_its_lease_is_over():
    managers = Managers()
    managers.claimed("one")

    assert managers.claimed("two") is None

    managers.lifetimes["one"].stall(10.0)
    managers.after(5.0)
    assert managers.claimed("two").epoch == 2


def test_an_owner_that_lets_go_need_not_be_waited_for():
    managers = Managers()
    managers.claimed("one").release()
    managers.lifetimes["one"].end()
    managers.after(0.2)

    assert managers.claimed("two").epoch == 2


def test_an_owner_keeps_its_lease_and_writes():
    managers = Managers()
    journal = managers.claimed("one")
    managers.after(60.0)

    managers.append(journal)
    assert not journal.is_clean
    managers.until(lambda: managers.told)

    assert (managers.rows, [row.seq for row in managers.told[0]]) == ([1], [1])
    assert (journal.state, journal.is_clean) == ("ok", True)


@pytest.mark.parametrize("way", [("one", DATABASE), (DATABASE, "one")])
def test_after_a_commit_that_nobody_knows_of_the_rows_are_there_once(way):
    managers = Managers()
    journal = managers.claimed("one")
    (mend,) = managers.links.cut([way])
    managers.append(journal)
    managers.after(2.5)
    assert managers.told == []
    assert managers.rows == ([1] if way[0] == DATABASE else [])

    mend()
    managers.until(lambda: managers.told)

    assert ([row.seq for row in managers.told[0]], managers.rows) == ([1], [1])


def test_a_statement_may_be_carried_out_when_nobody_waits_for_it_any_more():
    managers = Managers()
    journal = managers.claimed("one")
    managers.database.sync_seconds = 3.0
    managers.append(journal)
    managers.after(2.5)

    managers.database.sync_seconds = 0.001
    managers.after(30.0)

    assert ([row.seq for row in managers.told[0]], managers.rows) == ([1], [1])


def test_a_restart_loses_what_was_not_carried_out_and_ends_all_connections():
    managers = Managers()
    managers.database.sync_seconds, told = 1.0, []
    asker = ("one", managers.lifetimes["one"])
    managers.database.send(asker, partial(managers.database.take, "cup", "one"), told.append)
    managers.after(0.5)

    managers.database.restart()
    managers.database.mend()

    assert [type(each) for each in told] == [NotConnected]
    managers.after(20.0)
    assert managers.database.owners == {}


def test_a_lost_connection_loses_what_is_on_its_way():
    managers = Managers()
    journal = managers.claimed("one")
    managers.append(journal)
    managers.until(lambda: managers.database.statements)

    managers.database.cut("two")
    assert managers.database.statements
    managers.database.cut("one")
    assert not managers.database.statements

    managers.until(lambda: managers.told)
    assert managers.rows == [1]


def test_while_the_database_is_full_rows_wait_and_the_lease_lasts():
    managers = Managers()
    journal = managers.claimed("one")
    managers.database.state = "full"
    managers.append(journal)
    managers.after(10.0)
    assert (journal.state, managers.told) == ("full", [])

    managers.database.mend()
    managers.until(lambda: managers.told)

    assert (journal.state, managers.rows) == ("ok", [1])


def test_an_owner_without_its_database_is_away_before_another_can_take_the_league():
    managers = Managers()
    journal = managers.claimed("one")
    managers.database.is_away = True
    lease_until = managers.database.owners["cup"].lease_until

    managers.until(lambda: journal.state == "away")
    assert managers.clock.now() < lease_until
    with pytest.raises(NotConnected):
        journal.read("cup")

    managers.database.mend()
    managers.until(lambda: journal.state == "ok")
    assert journal.epoch == 1


def test_a_lease_counts_from_when_its_renewal_was_sent():
    managers = Managers()
    journal = managers.claimed("one")
    managers.until(lambda: managers.database.statements)

    managers.lifetimes["one"].stall(3.5)
    managers.until(lambda: not managers.database.statements)

    assert journal.state == "away"


def test_an_owner_that_was_stopped_writes_nothing_when_it_wakes_up():
    managers = Managers()
    former = managers.claimed("one")
    managers.append(former)
    managers.lifetimes["one"].stall(10.0)
    managers.after(5.0)
    managers.claimed("two")

    managers.until(lambda: managers.lost)

    assert [type(each) for each in managers.lost] == [Claimed]
    assert (managers.rows, managers.told, managers.wrong) == ([], [], [])


def test_an_owner_with_nothing_to_write_learns_from_its_renewal_that_the_league_is_anothers():
    managers = Managers()
    managers.claimed("one")
    managers.lifetimes["one"].stall(10.0)
    managers.after(5.0)
    managers.claimed("two")

    managers.until(lambda: managers.lost)

    assert [type(each) for each in managers.lost] == [Claimed]


def test_no_number_stands_twice_whoever_writes_and_a_former_owner_is_noticed():
    managers = Managers()
    managers.append(managers.claimed("one"))
    managers.until(lambda: managers.told)
    row = next(managers.database.read("cup"))

    with pytest.raises(StorageError, match="there is a row 1"):
        managers.database.write("cup", 0, [row])

    assert managers.wrong == ["row 1 came through in epoch 0, which is over"]
