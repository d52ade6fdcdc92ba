"""What a referee asks a foreign manager: where the players are, and which matches it has.

Some managers give no match out: they are asked for them. A referee does that when nothing was given
to it for a while, never while it runs matches, and not any more once a match was given to it.
"""

import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Struct

from agentleague.dialects import starting
from agentleague.errors import PeerRefused, PeerUnavailable
from agentleague.match.messages import RefereeIdentity
from agentleague.protocol.messages import LeagueQuery, Message, RoundMatch, StartMatch
from agentleague.roles.effects import Address, Call, Effect, WakeAt
from agentleague.roles.stimuli import Answered, Key

FIRST_PORT = 8100  # P01 is at 8101
_NUMBERED = re.compile(r"[A-Za-z]+[_-]?0*([1-9][0-9]?)")
POLLS = (*starting.POLLS, "GET_MATCHES")  # one may bring the matches of this referee
QUERIES = ("GET_PLAYER_STATS", "GET_AGENT", "GET_PLAYERS")  # one may say where a player is


class EndpointQuery(Struct, frozen=True):
    """The key of a question to the manager: where is this player?"""

    player_id: str
    attempt: int


class ManagerQueries:
    """Writes the queries of one referee."""

    def __init__(
        self, manager: Address, identity: RefereeIdentity, league_id: str, reply_seconds: float
    ) -> None:
        self.manager, self.referee_id, self._identity = manager, identity.referee_id, identity
        self._league_id, self.reply_seconds = league_id, reply_seconds

    def call(self, key: Key, query_type: str, params: Mapping[str, Any], now: float) -> Call:
        """Ask the manager."""
        query = LeagueQuery(
            query_type,
            self._league_id,
            dict(params),
            sender=f"referee:{self._identity.referee_id}",
            timestamp=self._identity.calendar.write(now),
            conversation_id="conv-referee-asks",
            auth_token=self._identity.token or UNSET,
        )
        return Call(key, self.manager, query, now + self.reply_seconds)


class PollKey(Struct, frozen=True):
    """The key of the question which matches there are, and of the timer until the next."""


class PollSeconds(NamedTuple):
    """How long it waits before it asks for matches."""

    quiet: float = 5.0  # while the manager may still give some out
    each: float = 2.0  # where it answers
    again: float = 60.0  # where it knows none of POLLS


class MatchPolling:
    """Asks the manager for matches, and says so in `news`."""

    def __init__(self, queries: ManagerQueries, seconds: PollSeconds, news: list[str]) -> None:
        self._queries, self._seconds, self._news = queries, seconds, news
        self._poll = 0  # which of POLLS it asks with
        self._is_known = self._was_said = self._was_vain = False
        self.is_over = False  # the manager gives matches out by itself

    def wait(self, now: float) -> list[Effect]:
        """Ask later."""
        seconds = self._seconds.each if self._is_known else self._seconds.quiet
        return [] if self.is_over else [WakeAt(PollKey(), now + seconds)]

    def ask(self, now: float) -> list[Effect]:
        """Nothing was given out: ask."""
        if self.is_over:
            return []
        if not self._was_said:
            self._was_said = True
            self._news.append(
                f"No match was given to it for {self._seconds.quiet:g} s: it asks the manager for "
                f"matches, with {', '.join(POLLS)}."
            )
        params = {"referee_id": self._queries.referee_id}
        return [self._queries.call(PollKey(), POLLS[self._poll], params, now)]

    def answered(self, answer: Answered, now: float) -> tuple[list[StartMatch], list[Effect]]:
        """The matches that the manager names, and when it is asked again."""
        fields, error = msgspec.to_builtins(answer.message), answer.error
        found = starting.find_matches(fields)
        is_away = isinstance(error, PeerUnavailable) and not (
            isinstance(error, PeerRefused) or "status" in error.context
        )
        if (found or starting.speaks_of_matches(fields)) and not self._is_known:
            self._is_known = True
            each = f"asked every {self._seconds.each:g} s"
            self._news.append(f"The manager answers {POLLS[self._poll]}, and is {each}.")
        if self._is_known or is_away:
            return found, self.wait(now)
        self._poll = (self._poll + 1) % len(POLLS)
        if self._poll:
            return [], self.ask(now)
        if not self._was_vain:
            self._was_vain = True
            self._news.append("The manager knows none of them; it may still give matches out.")
        return [], [WakeAt(PollKey(), now + self._seconds.again)]

    @property
    def is_for_all(self) -> bool:
        """Whether the manager may name the matches of other referees too."""
        return POLLS[self._poll] not in starting.POLLS


class EndpointCheck(Struct, frozen=True):
    """The key of the question whether somebody listens where the documents put this player."""

    player_id: str


class PlayerEndpoints:
    """The end points of players: given by who runs the referee, told with a match, or asked for.

    Where nobody says it, a player may be where the documents put it, on the manager's machine: P01
    at port 8101, P02 at 8102 and so on. That is tried by opening a connection.
    """

    def __init__(self, queries: ManagerQueries, given: Mapping[str, str], news: list[str]) -> None:
        self._queries, self._given, self._news = queries, given, news
        if given:
            listed = ", ".join(f"{player_id} at {url}" for player_id, url in given.items())
            news.append(f"As --player says, it calls {listed}.")
        self._known: dict[str, str] = {}  # player -> end point
        self._asking: set[str] = set()
        self.unchecked: deque[tuple[EndpointCheck, str]] = deque()  # where players may be

    def __getitem__(self, player_id: str) -> str:
        return self._given.get(player_id) or self._known[player_id]

    def knows(self, *players: str) -> bool:
        """Whether the end points of all of them are known."""
        return all(each in self._given or each in self._known for each in players)

    def note(self, match: RoundMatch) -> None:
        """Keep the end points that were told with a match."""
        if match.player_A_endpoint:
            self._known[match.player_A_id] = match.player_A_endpoint
        if match.player_B_endpoint:
            self._known[match.player_B_id] = match.player_B_endpoint

    def ask(self, players: Iterable[str], now: float) -> list[Call]:
        """Ask the manager for those that are unknown and were not asked for yet."""
        unknown = [each for each in players if not self.knows(each) and each not in self._asking]
        self._asking.update(unknown)
        return [self._query(player_id, 1, now) for player_id in unknown]

    def answered(
        self, key: EndpointQuery, message: Message | None, now: float
    ) -> list[Call] | None:
        """What to ask next, if anything, while it is not known; None: that was all."""
        found = starting.find_endpoint(key.player_id, msgspec.to_builtins(message))
        if found:
            self._known[key.player_id] = found
        elif key.attempt < len(QUERIES):
            return [self._query(key.player_id, key.attempt + 1, now)]
        elif url := self._documented(key.player_id):
            self.unchecked.append((EndpointCheck(key.player_id), url))
            return []
        self._asking.discard(key.player_id)
        return None

    def checked(self, player_id: str, *, is_there: bool) -> None:
        """Somebody listens where the documents put this player, or nobody does."""
        self._asking.discard(player_id)
        if is_there:
            self._known[player_id] = url = self._documented(player_id)
            self._news.append(
                f"Nobody says where {player_id} is; somebody listens at {url}, the port of the "
                f"documents, and is taken for it. If it is elsewhere: --player {player_id}=URL"
            )

    def _documented(self, player_id: str) -> str:
        """Where the documents put a player, as far as its id says that; else empty."""
        found, manager = _NUMBERED.fullmatch(player_id), urlsplit(self._queries.manager.url)
        if not found or not manager.hostname:
            return ""
        host = f"[{manager.hostname}]" if ":" in manager.hostname else manager.hostname
        return f"http://{host}:{FIRST_PORT + int(found[1])}/mcp"

    def _query(self, player_id: str, attempt: int, now: float) -> Call:
        params = {"player_id": player_id, "agent_id": player_id}
        key = EndpointQuery(player_id, attempt)
        return self._queries.call(key, QUERIES[attempt - 1], params, now)
