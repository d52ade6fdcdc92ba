"""The tables of a service beside its journals: leagues, organisers, workers."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentleague.errors import Claimed, StorageError
from agentleague.protocol.printable import counted
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.postgres_reader import Connection, PostgresLimits
from agentleague.storage.postgres_schema import LastingConnection
from agentleague.storage.service_view import CREATING, LeagueRow, View

_SEEN = """INSERT INTO agentleague.workers (worker, address, seen_until)
VALUES (%(worker)s, %(address)s, clock_timestamp() + %(seconds)s * interval '1 second')
ON CONFLICT (worker) DO UPDATE SET address = excluded.address, seen_until = excluded.seen_until"""
_GONE = "DELETE FROM agentleague.workers WHERE seen_until < clock_timestamp() - interval '1 minute'"
_LEAGUES = """SELECT l.league_id, l.organiser, l.state,
    coalesce(o.owner, ''), coalesce(w.address, ''), l.phase
FROM agentleague.leagues l
LEFT JOIN agentleague.owners o ON o.league_id = l.league_id AND o.lease_until > clock_timestamp()
LEFT JOIN agentleague.workers w ON w.worker = o.owner
ORDER BY l.created, l.league_id"""
_WORKERS = "SELECT worker, address FROM agentleague.workers WHERE seen_until > clock_timestamp()"
# A name that has rows is taken, also by a league that no service runs.
_CREATE = f"""INSERT INTO agentleague.leagues (league_id, organiser, state)
SELECT %(league_id)s, %(organiser)s, '{CREATING}'
WHERE NOT EXISTS (SELECT FROM agentleague.rows WHERE league_id = %(league_id)s)
AND NOT EXISTS (SELECT FROM agentleague.owners WHERE league_id = %(league_id)s)
ON CONFLICT DO NOTHING RETURNING league_id"""
_REOPEN = """UPDATE agentleague.leagues SET state = 'open'
WHERE league_id = %(league_id)s AND organiser = %(organiser)s RETURNING league_id"""
_ORGANISERS = """SELECT o.name, count(l.league_id) FROM agentleague.organisers o
LEFT JOIN agentleague.leagues l ON l.organiser = o.name AND l.state <> 'archived'
GROUP BY o.name ORDER BY o.name"""
_GIVE = """INSERT INTO agentleague.leagues (league_id, organiser, state)
SELECT league_id, %(organiser)s, 'open'
FROM agentleague.rows WHERE league_id = %(league_id)s AND seq = 1
ON CONFLICT (league_id) DO UPDATE SET organiser = excluded.organiser RETURNING league_id"""
# Held to the end of the transaction: who counts next sees what was added.
_ALONE = "SELECT pg_advisory_xact_lock(hashtext('agentleague'), hashtext(%(organiser)s))"
_COUNT = """SELECT count(*) FILTER (WHERE state <> 'archived' AND league_id <> %(league_id)s),
    count(*) FILTER (WHERE league_id <> %(league_id)s)
FROM agentleague.leagues WHERE organiser = %(organiser)s"""
ALL_FACTOR = 10  # so many times as many with the archived ones: all workers read the whole table


class PostgresLeagues:
    """These tables, for any thread."""

    def __init__(self, url: DatabaseUrl) -> None:
        self._connection = LastingConnection(url, PostgresLimits())

    def check(self) -> None:
        """Make the tables if they are not there. Raises StorageError if that cannot be."""
        self._run([])

    def look(self, worker: str, address: str, seconds: float) -> View:
        """Say that this worker lives so long, and see all leagues. Raises StorageError."""
        about = {"worker": worker, "address": address, "seconds": seconds}
        statements = [(_SEEN, about), (_GONE, {})]
        reads = [_LEAGUES, "SELECT name, key_digest FROM agentleague.organisers", _WORKERS]
        *_, leagues, organisers, workers = self._run([*statements, *((each, {}) for each in reads)])
        digests = {name: bytes(digest) for name, digest in organisers}
        return View([LeagueRow(*row) for row in leagues], digests, dict(workers))

    def leave(self, worker: str) -> None:
        """This worker is gone. Raises StorageError."""
        self._run([("DELETE FROM agentleague.workers WHERE worker = %s", (worker,))])

    def create(self, league_id: str, organiser: str, most: int) -> None:
        """A new league of this organiser. Raises Claimed: it has too many, or the name is taken."""
        if not self._add(_CREATE, league_id, organiser, most):
            raise Claimed(f"league_id {league_id!r} is taken; choose another, or leave it out")

    def reopen(self, league_id: str, organiser: str, most: int) -> None:
        """Let a league run again. Raises Claimed: its organiser has too many."""
        self._add(_REOPEN, league_id, organiser, most)

    def _add(self, statement: str, league_id: str, organiser: str, most: int) -> list[Any]:
        about = {"league_id": league_id, "organiser": organiser}

        def act(connection: Connection) -> tuple[int, int, list[Any]]:
            with connection.transaction():
                connection.execute(_ALONE, about)
                number, in_all = connection.execute(_COUNT, about).fetchone() or (0, 0)
                fits = number < most and in_all < ALL_FACTOR * most
                return number, in_all, [*connection.execute(statement, about)] if fits else []

        number, in_all, added = self._connection.ask(act)
        if number >= most:
            there = counted(number, "league")
            raise Claimed(f"you have {there}, and may have {most}; archive one first")
        if in_all >= ALL_FACTOR * most:
            raise Claimed(
                f"you have {in_all} leagues, archived ones included, and may have no more; ask "
                "who runs this service"
            )
        return added

    def forget(self, league_id: str) -> None:
        """There is no such league, since its creation failed halfway. Raises StorageError."""
        text = "DELETE FROM agentleague.leagues WHERE league_id = %s AND state = 'creating'"
        self._run([(text, (league_id,))])

    def set_state(self, league_id: str, state: str) -> None:
        """Open, archived, or failed and why. Raises StorageError."""
        self._run(
            [("UPDATE agentleague.leagues SET state = %s WHERE league_id = %s", (state, league_id))]
        )

    def set_phases(self, phases: Mapping[str, str]) -> None:
        """Where these leagues stand. Raises StorageError."""
        text = "UPDATE agentleague.leagues SET phase = %s WHERE league_id = %s"
        self._run([(text, (phase, league_id)) for league_id, phase in phases.items()])

    def give(self, league_id: str, organiser: str) -> None:
        """Let a league that lies here be this organiser's. Raises StorageError if one is not."""
        about = {"league_id": league_id, "organiser": organiser}
        if organiser not in dict(self.organisers()):
            raise StorageError(
                f"there is no such organiser; type: league organiser add {organiser}"
            )
        if not self._run([(_GIVE, about)])[0]:
            how = "bring one there with league restore, or league move"
            raise StorageError(f"no league {league_id!r} lies in this database; {how}")

    def organisers(self) -> list[tuple[str, int]]:
        """The names, and how many leagues each has that are not archived. Raises StorageError."""
        return [(name, number) for name, number in self._run([(_ORGANISERS, {})])[0]]

    def organiser_of(self, digest: bytes) -> str:
        """Whose key has this digest; empty if it is nobody's. Raises StorageError."""
        text = "SELECT name FROM agentleague.organisers WHERE key_digest = %s"
        found = self._run([(text, (digest,))])[0]
        return str(found[0][0]) if found else ""

    def remove_organiser(self, name: str) -> bool:
        """Whether there was one; the leagues stay. Raises StorageError."""
        text = "DELETE FROM agentleague.organisers WHERE name = %s RETURNING name"
        return bool(self._run([(text, (name,))])[0])

    def add_organiser(self, name: str, digest: bytes) -> bool:
        """Whether it is a new one; the key of one that is there is replaced. Raises StorageError"""
        text = """INSERT INTO agentleague.organisers (name, key_digest) VALUES (%s, %s)
            ON CONFLICT (name) DO UPDATE SET key_digest = excluded.key_digest RETURNING xmax = 0"""
        return bool(self._run([(text, (name, digest))])[0][0][0])

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()

    def _run(self, statements: Sequence[tuple[str, Any]]) -> list[list[Any]]:
        """The rows of each statement, which may be run twice. Raises StorageError."""

        def act(connection: Connection) -> list[list[Any]]:
            cursors = [connection.execute(*each) for each in statements]
            return [list(each) if each.description else [] for each in cursors]

        return self._connection.ask(act)
