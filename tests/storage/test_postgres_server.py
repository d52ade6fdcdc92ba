"""The PostgreSQL of the tests itself."""

import pytest

psycopg = pytest.importorskip("psycopg")


def ask(url: str, statement: str) -> object:
    with psycopg.connect(url) as connection:
        (answer,) = connection.execute(statement).fetchone()
    return answer


def test_each_test_has_a_database_of_its_own(postgres, database):
    tables = "SELECT count(*) FROM pg_class WHERE relname = 'kept'"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (x int)")

    assert ask(database, tables) == 1
    assert ask(postgres.url("postgres"), tables) == 0
    assert ask(database, "SELECT usesuper FROM pg_user WHERE usename = current_user") is False


def test_a_server_of_the_tests_is_stopped_and_started_again_with_its_data(own_postgres):
    server = own_postgres()
    server.execute("CREATE TABLE kept (x int)")

    server.stop()
    server.start()

    assert server.execute("SELECT * FROM kept") == []
