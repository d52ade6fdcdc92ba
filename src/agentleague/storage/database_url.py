"""Where a league on PostgreSQL lies: a URL that is never shown with its password."""

import re
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from agentleague.errors import StorageError

SCHEMES = ("postgresql", "postgres")
# Of PostgreSQL's options, and of those who misspell one: what is secret is named like this.
SECRET_OPTION = re.compile("pass(?!file)|secret|scram_", re.IGNORECASE)
FORM = "postgresql://USER@HOST:5432/DATABASE#LEAGUE_ID"
MALFORMED = (
    f"a database is named as {FORM}; in a password, write each of @ : / ? # % and the space by "
    "its number, such as %40 for @, or leave the password to PGPASSWORD or ~/.pgpass"
)


@dataclass(frozen=True, repr=False)
class DatabaseUrl:
    """A database, and the league in it; `str` of it may be printed, `conninfo` never."""

    conninfo: str  # for psycopg alone: it may hold a password
    league_id: str = ""  # empty: the only one that is there

    @classmethod
    def parse(cls, text: str) -> "DatabaseUrl":
        """Raises StorageError, whose text does not repeat what may be a password."""
        text = text.strip()
        scheme, _, rest = text.partition("://")
        rest, _, league_id = rest.partition("#")
        try:
            parts = urlsplit(f"//{rest}")
        except ValueError:
            raise StorageError(MALFORMED) from None
        user, _, hosts = parts.netloc.rpartition("@")
        ports = [host.rpartition("]")[2].partition(":")[2] for host in hosts.split(",")]
        # A password that is not written by numbers ends too early: the rest stands elsewhere.
        others = f"{user}{parts.path}{parts.query}{league_id}"
        is_whole = user.count(":") <= 1 and parts.path.count("/") <= 1
        is_clear = not re.search("@|%(?![0-9a-fA-F]{2})|%00", others) and text.isprintable()
        is_port = all(port.isdecimal() for port in ports if port)
        if not (scheme in SCHEMES and is_whole and is_clear and is_port):
            raise StorageError(MALFORMED)
        return cls(f"{SCHEMES[0]}://{rest}", unquote(league_id))

    def of(self, league_id: str) -> "DatabaseUrl":
        """The same database, and this league."""
        return replace(self, league_id=league_id)

    def __str__(self) -> str:
        parts = urlsplit(self.conninfo)
        user, at, hosts = parts.netloc.rpartition("@")
        options = [each for each in parse_qsl(parts.query) if not SECRET_OPTION.search(each[0])]
        query = f"?{urlencode(options, safe='/,')}" if options else ""
        league = f"#{quote(self.league_id)}" if self.league_id else ""
        netloc = f"{user.partition(':')[0]}{at}{hosts}"
        return f"{SCHEMES[0]}://{netloc}{parts.path}{query}{league}"

    def __repr__(self) -> str:
        return f"DatabaseUrl({str(self)!r})"
