"""What the table of a service lets an organiser have, whoever asks at the same time."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import pytest

from agentleague.errors import Claimed
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.postgres_leagues import ALL_FACTOR, PostgresLeagues
from agentleague.storage.service_view import ARCHIVED, OPEN
from service.test_service import sql

COUNT = "SELECT count(*) FROM agentleague.leagues WHERE state <> 'archived'"


def test_many_requests_at_once_make_no_more_leagues_than_an_organiser_may_have(database):
    url = DatabaseUrl.parse(database)
    tables = [PostgresLeagues(url) for _ in range(4)]  # as many workers
    tables[0].check()

    def make(number):
        with suppress(Claimed):
            tables[number % 4].create(f"cup{number}", "ann", 3)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(make, range(40)))
    for table in tables:
        table.close()

    assert sql(database, COUNT) == [(3,)]


def test_what_is_archived_is_opened_again_only_where_there_is_room_for_it(database):
    with closing(PostgresLeagues(DatabaseUrl.parse(database))) as table:
        table.create("old", "ann", 1)
        table.set_state("old", ARCHIVED)
        table.create("new", "ann", 1)

        with pytest.raises(Claimed, match="you have 1 league, and may have 1; archive one first"):
            table.reopen("old", "ann", 1)
        table.reopen("new", "ann", 1)  # It takes no more room than it has.
        table.set_state("new", ARCHIVED)
        table.reopen("old", "ann", 1)

    assert sql(database, "SELECT state FROM agentleague.leagues ORDER BY league_id") == [
        (ARCHIVED,),
        (OPEN,),
    ]


def test_archived_leagues_are_many_but_not_without_end(database):
    with closing(PostgresLeagues(DatabaseUrl.parse(database))) as table:
        for number in range(ALL_FACTOR):
            table.create(f"cup{number}", "ann", 1)
            table.set_state(f"cup{number}", ARCHIVED)

        with pytest.raises(Claimed, match="archived ones included"):
            table.create("more", "ann", 1)
        table.create("other", "bob", 1)
