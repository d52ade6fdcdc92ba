"""The referees and players that the kit plays for a manager, and what becomes of their matches."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import Struct

from agentleague.conformance.bench import now
from agentleague.conformance.exchange import Exchange
from agentleague.conformance.listener import Handler, Listener, Received, Reply, refuse_unknown
from agentleague.dialects.requests import read_request
from agentleague.protocol.codec import encode, taken_by
from agentleague.protocol.messages import MESSAGES, RoundAnnouncement, StartMatch

REFEREE = "referee"
ROUND, TABLE = "ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE"
COMPLETED, END = "ROUND_COMPLETED", "LEAGUE_COMPLETED"
NO_ENDPOINT = 81010  # what a player gives as its end point by mistake: not even a port
TOLD = (ROUND, TABLE, COMPLETED, END)  # acknowledged, whatever is wrong with them


class Match(Struct, frozen=True):
    """A match as it was announced."""

    match_id: str
    round_id: int
    player_a: str
    player_b: str
    referee_endpoint: str


class Outcome(Struct, frozen=True):
    """How a match ended; nobody moves, so the kit decides."""

    winner: str | None
    is_technical: bool = False  # the other player lost by default

    def result(self, match: Match) -> dict[str, Any]:
        """As a referee reports it, in the fields of documents 001 and 004."""
        a, b = match.player_a, match.player_b
        score = dict.fromkeys((a, b), 1 if self.winner is None else 0)
        choices: dict[str, str | None] = {a: "even", b: "even" if self.winner is None else "odd"}
        number: int | None = 7 if self.winner == b else 8
        status = "WIN" if self.winner else "DRAW"
        if self.winner:
            score[self.winner] = 3
        if self.is_technical:
            loser = a if self.winner == b else b
            choices[loser], number, status = None, None, "TECHNICAL_LOSS"
        details = {"drawn_number": number, "choices": choices, "status": status}
        return {"winner": self.winner, "score": score, "details": details}


class Count(Struct):
    """What the table has to say of a player."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def points(self) -> int:
        return 3 * self.wins + self.draws


class Play:
    """The rounds so far, and the results that the manager took."""

    def __init__(self) -> None:
        self.rounds: list[list[Match]] = []
        self.results: dict[str, Outcome] = {}
        self.doubtful: set[str] = set()  # what a manager may have taken from a faulty report

    def begin(self, first: Received, announcements: Iterable[Received]) -> None:
        """A round was announced: its matches are all those of which a player was told."""
        matches: dict[str, Match] = {}
        for message in (each.message for each in (first, *announcements)):
            assert isinstance(message, RoundAnnouncement)
            for row in message.matches:
                where = (row.player_A_id, row.player_B_id, row.referee_endpoint)
                matches.setdefault(row.match_id, Match(row.match_id, message.round_id, *where))
        self.rounds.append(list(matches.values()))

    def planned(self, match: Match, first: "AgentOfTheKit") -> Outcome:
        """How a match has to end: the first player wins all, so there is one champion."""
        if first.id in (match.player_a, match.player_b):
            return Outcome(first.id)
        others = [
            each.match_id
            for matches in self.rounds
            for each in matches
            if first.id not in (each.player_a, each.player_b)
        ]
        number = others.index(match.match_id) if match.match_id in others else 0
        if number == 0:
            return Outcome(None)
        return Outcome(match.player_b, is_technical=number == 1)

    def counts(self, until: int) -> dict[str, Count]:
        """What the table has to say after a round."""
        found: dict[str, Count] = {}
        for match in (each for matches in self.rounds[:until] for each in matches):
            outcome = self.results.get(match.match_id)
            for player in (match.player_a, match.player_b):
                count = found.setdefault(player, Count())
                if outcome is None:
                    continue
                if outcome.winner is None:
                    count.draws += 1
                elif outcome.winner == player:
                    count.wins += 1
                else:
                    count.losses += 1
        return found


class AgentOfTheKit:
    """A player or a referee. It acknowledges what it is told, and a referee waits to report."""

    def __init__(self, kind: str, name: str, bind: str) -> None:
        self.kind, self.name = kind, name
        self.id = self.token = self.league_id = ""
        self.is_in = False
        self.fault = ""  # with which it registered, if the manager took it all the same
        self.exchange: Exchange | None = None  # its registration
        self.handler: Handler = self.reply
        self.listener = Listener(kind, self._take, bind=bind)
        self.url = self.listener.url

    @property
    def is_referee(self) -> bool:
        return self.kind == REFEREE

    @property
    def sender(self) -> str:
        return f"{self.kind}:{self.id or self.name}"

    def _take(self, received: Received) -> Reply:
        if received.message is None:  # It may be about a player that has no end point.
            said = received.fields()
            if (mended := _mended(said)) != said:
                body = encode(mended)
                received.incoming = read_request(body, taken_by(self.kind), path=received.path)
        return self.handler(received)

    def reply(self, received: Received) -> Reply:
        """What it says to the manager: no more than the documents have."""
        message, name = received.message, name_of(received)
        kind = MESSAGES.get(name)
        is_start = name not in TOLD
        if kind is None or not kind.method or (message is None and is_start):
            return refuse_unknown(received)
        answer: dict[str, Any] = {
            "protocol": "league.v2",
            "message_type": kind.answer or "PUSH_ACK",
            "sender": self.sender,
            "timestamp": now(),
            "conversation_id": said_in(received).get("conversation_id", ""),
            "status": "ACKNOWLEDGED",
            f"{self.kind}_id": self.id,
        }
        if isinstance(message, StartMatch):
            answer["match_id"] = message.matches[0].match_id
        else:
            answer["round_id"] = said_in(received).get("round_id", 0)
        return received.result(answer)

    @contextmanager
    def answering(self, reply: Handler) -> Iterator[None]:
        """Answer otherwise for a while."""
        self.handler = reply
        try:
            yield
        finally:
            self.handler = self.reply

    def heard(self, found: Callable[[Received], bool]) -> Received | None:
        """The first request of that kind so far."""
        return next((each for each in list(self.listener.received) if found(each)), None)

    def all(self, name: str) -> list[Received]:
        """All messages of a type so far."""
        return [each for each in list(self.listener.received) if name_of(each) == name]

    def told_by(self, received: Received) -> list[str]:
        """The ids of the matches that a message gives to this referee."""
        message = received.message
        if isinstance(message, StartMatch):
            return [row.match_id for row in message.matches]
        if not isinstance(message, RoundAnnouncement):
            return []
        own = ("", self.url)
        rows = message.matches
        return [r.match_id for r in rows if r.referee_endpoint in own or r.referee_id == self.id]


def is_about_round(number: int) -> Callable[[Received], bool]:
    """Whether a request announces a round to a player."""

    def is_it(received: Received) -> bool:
        message = received.message
        is_known = isinstance(message, RoundAnnouncement) and message.round_id == number
        return is_known and bool(message.matches)  # type: ignore[union-attr]

    return is_it


def said_in(received: Received) -> dict[str, Any]:
    """The message as the manager wrote it, in whatever form; empty if it is none."""
    try:
        found = msgspec.json.decode(received.incoming.envelope.body)
    except msgspec.MsgspecError:
        return {}
    return found if isinstance(found, dict) else {}


def _mended(found: Any, name: str = "") -> Any:
    """The same with texts for the end points of players that registered without one."""
    if isinstance(found, dict):
        return {key: _mended(value, str(key)) for key, value in found.items()}
    if isinstance(found, list):
        return [_mended(each, name) for each in found]
    is_missing = found is None and name.endswith("endpoint")
    return "" if is_missing or (type(found) is int and found == NO_ENDPOINT) else found


def name_of(received: Received) -> str:
    """The type of a message, also where something is wrong with it."""
    return str(said_in(received).get("message_type") or received.name)
