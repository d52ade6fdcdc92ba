"""Journals for the tests of records: true ones, and ones that lie with a valid chain."""

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from agentleague.league.events import (
    MatchClosed,
    MatchDecided,
    RoundEnded,
)
from agentleague.protocol.messages import Exchange
from agentleague.storage import chain
from agentleague.storage.sqlite import SqliteJournal
from league.decisions import LEAGUE_ID, Decisions

AT = "2026-11-15T10:00:00.000Z"


def played(players=4, **terms):
    """The events of a league from its opening to its champion."""
    return Decisions(players, referees=2, **terms).play_to_the_end().events


def rows_of(events, league_id=LEAGUE_ID, at=AT):
    """The events as a journal holds them."""
    return chain.extend(chain.start(league_id), league_id, at, map(chain.entry, events))


def written(directory, events, league_id=LEAGUE_ID):
    """A real journal with these events, on disk."""
    journal = SqliteJournal(directory, lambda: 1_763_200_800.0, lambda call: call())
    journal.claim(league_id)
    failures = []
    journal.append(league_id, 0, events, lambda heads: failures.append(heads))
    journal.close()
    assert len(failures[0]) == len(events)
    return directory


def place(events, kind, match_id=None):
    """Where the first event of a kind stands, or that of a match."""
    return next(
        index
        for index, event in enumerate(events)
        if isinstance(event, kind) and match_id in (None, getattr(event, "match_id", None))
    )


def changed(events, kind, match_id=None, **fields):
    """The journal with one event changed."""
    index = place(events, kind, match_id)
    return [*events[:index], replace(events[index], **fields), *events[index + 1 :]]


def otherwise(events, match_id, **fields):
    """The journal with one result changed."""
    decided = events[place(events, MatchDecided, match_id)]
    return changed(events, MatchDecided, match_id, result=replace(decided.result, **fields))


def without(events, kind, match_id=None):
    index = place(events, kind, match_id)
    return events[:index] + events[index + 1 :]


def twice(events, kind, match_id=None):
    index = place(events, kind, match_id)
    return [*events[: index + 1], *events[index:]]


def one_match(moves=(), forfeits=(), transcript=(), **decisions):
    """A league of two whose match went so, closed with this transcript."""
    league = Decisions(**decisions).start()
    league.lock(moves, forfeits)
    exchanges = [Exchange(*row) for row in transcript]
    league.record(MatchClosed("R1M1", 1, Raw(msgspec.json.encode(exchanges))))
    league.record(RoundEnded(1))
    return league
