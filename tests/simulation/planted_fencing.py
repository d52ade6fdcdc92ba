"""Bugs to plant in how two managers share a database: in the statements, and in what follows them.

As in planted.py each function takes pytest's monkeypatch and breaks one rule.
"""

from agentleague.simulation import database_journal
from agentleague.simulation.database import Database
from agentleague.simulation.database_journal import DatabaseJournal
from agentleague.simulation.league import SimulatedLeague
from agentleague.simulation.standby import Contender
from agentleague.storage import chain
from simulation.planted import Hunt, release_before_commit


def appends_do_not_compare_the_epoch(monkeypatch):
    """Whoever sends rows may write them."""
    monkeypatch.setattr(Database, "insert", Database.write)


def the_epoch_is_compared_in_a_statement_before(monkeypatch):
    """Between the two statements somebody else may take the league."""

    def send(journal):
        def compared(is_current):
            if is_current is True:
                journal._ask("write", journal._sent, journal._added)
            else:
                journal._sent(is_current)

        journal._ask("is_current", compared)

    monkeypatch.setattr(DatabaseJournal, "_send", send)


def unknown_commits_are_repeated(monkeypatch):
    """Who has no answer writes the same events again, behind whatever is there."""

    def repeat(journal):
        entries = [chain.entry(event) for write in journal._batch for event in write.events]
        head, at = journal._head(journal._league_id), journal._added[0].at
        journal._added = chain.extend(head, journal._league_id, at, entries)
        journal._send()

    monkeypatch.setattr(DatabaseJournal, "_look", repeat)


def the_tail_is_not_compared(monkeypatch):
    """What is there already is sent for ever, and refused for ever."""
    monkeypatch.setattr(database_journal, "rows_found", lambda tail, before, rows: 0)


def owners_trust_a_lease_that_is_over(monkeypatch):
    """Who is cut off from the database goes on as if nobody could take the league."""
    monkeypatch.setattr(database_journal, "is_trusted", lambda *_: True)


def renewals_do_not_compare_the_epoch(monkeypatch):
    """A former owner renews the lease of the next one, and takes it for its own."""
    renew = Database.renew

    def renewed(database, league_id, epoch, *more):
        return renew(database, league_id, database.owners[league_id].epoch, *more)

    monkeypatch.setattr(Database, "renew", renewed)


def nobody_asks_for_a_league_again(monkeypatch):
    """Who does not get the league at once never asks again."""
    contend, asked = Contender._contend, set()

    def once(process, ports):
        if ports.clock not in asked:
            asked.add(ports.clock)
            contend(process, ports)

    monkeypatch.setattr(Contender, "_contend", once)


def seats_are_served_while_the_league_may_be_anothers(monkeypatch):
    """Seated players stay with a manager that is cut off, and its successor calls them in vain."""
    build = SimulatedLeague._manager

    def served(league, ports):
        host = build(league, ports)
        ports.transport.is_away = lambda: False
        return host

    monkeypatch.setattr(SimulatedLeague, "_manager", served)


HUNTS = {
    appends_do_not_compare_the_epoch: Hunt("standby", "came through in epoch", 8),
    the_epoch_is_compared_in_a_statement_before: Hunt("standby", "came through in epoch", 15),
    unknown_commits_are_repeated: Hunt("standby", "is decided twice"),
    the_tail_is_not_compared: Hunt("standby", "not over"),
    release_before_commit: Hunt("standby", "none is on disk"),
    owners_trust_a_lease_that_is_over: Hunt("standby", "when its epoch was over"),
    renewals_do_not_compare_the_epoch: Hunt("standby", "when its epoch was over"),
    seats_are_served_while_the_league_may_be_anothers: Hunt("standby", "never told", 90),
    nobody_asks_for_a_league_again: Hunt("standby", "nobody has taken the league over"),
}
