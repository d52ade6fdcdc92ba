"""Messages from hostile agents into a whole league that plays: its results are as without them.

A line of an input is one message. Mallory plays in the league, Rex referees in it, and both send
whatever they like with their own tokens, with match tokens that Mallory was sent, with others or
with none: to the manager, to the referees and to the players, between any two steps of the league.
What they have a right to (their own matches, their own registrations) is left out; all the rest
must be answered, with no secret, and must change nothing.
"""

import json
from collections import Counter
from typing import Any
from zlib import crc32

from agentleague.dialects import requests
from agentleague.games import even_odd
from agentleague.league.events import (
    Disputed,
    MatchDecided,
    PlayerReturned,
    TokenConfirmed,
    TokenMisused,
    Told,
    read_event,
)
from agentleague.protocol import codec
from agentleague.protocol.messages import RefereeStatus
from agentleague.records.verify import verify
from agentleague.roles.effects import Event
from agentleague.roles.stimuli import Stimulus
from agentleague.transport.guard import Guard
from agentleague.transport.http import REGISTRATIONS, HttpTransport, Rate, TransportPolicy
from agentleague.transport.http_server import HttpRequest
from fuzz.complaints import no_complaints
from fuzz.seeds import REQUESTS
from memory_league import MANAGER, SECRETS, MemoryLeague

OF_LINES = True
LINES_MAX = 20
STEPS_MAX = 12  # of the league, between two messages
MALLORY, REX = "P04", "REF02"
TAKEN = {kind: codec.taken_by(kind) for kind in ("manager", "referee", "player")}
PATHS = ("/mcp", "/mcp", "/", "/register")
# Rows that decide nothing; what everybody was told waits for the next row to be written with it.
MAY_BE_NOTED = (Disputed, PlayerReturned, Told, TokenConfirmed, TokenMisused)


class Contest:
    """A league with its agents, and the way in for agents that are not in it."""

    def __init__(self, players: int = 4, referees: int = 2, wanted: int = 4) -> None:
        referees_max = referees if wanted == players else 100
        guard = Guard()
        self.league = MemoryLeague(
            wanted,
            referees,
            check_endpoint=lambda url, *source: guard.check_url(url),
            referees_max=referees_max,
        )
        self.league.players = players
        self.league.fill()
        hosts = self.league.hosts
        for host in hosts:
            host._stumble = _raise  # type: ignore[method-assign]
        self.tokens = {h.role.agent_id: h.role.state.token for h in hosts[1:]}
        policy = TransportPolicy("manager", Guard(), self.league.clock.now, rate=Rate(1e9, 1e9))
        self.front = HttpTransport(self.league.clock, policy)
        self.front._ask_where = hosts[0].ask  # type: ignore[method-assign]  # No look-ups.
        self.front.listen(hosts[0].ask)
        self.sent = self.answers = 0

    def receive(self, url: str, path: str, body: bytes) -> None:
        """A message from outside comes in."""
        self.sent += 1
        if url == MANAGER:
            request = HttpRequest(path, body, "66.6.6.6")
            self.front._on_request(
                request, lambda status, answer, headers=(), /: self._heard(body, answer)
            )
        else:
            agent = self.league.network.agents[url]
            agent.receive(body, "66.6.6.6", lambda answer: self._heard(body, answer))

    def _heard(self, said: bytes, answer: bytes) -> None:
        """It is an object, with no secret in it that its reader did not say first."""
        self.answers += 1
        assert answer == b"" or isinstance(json.loads(answer), dict)
        for secret in (*self.tokens.values(), SECRETS.admin_token):
            assert secret.encode() not in answer or secret.encode() in said, "a secret"

    def events(self, after: int = 0) -> list[Event]:
        rows = self.league.journal.read("league_test", after)
        return [read_event(row.kind, row.version, row.body) for row in rows]

    def check_journal(self) -> None:
        """All that was decided follows from what was decided before it."""
        rows = list(self.league.journal.read("league_test"))
        found = verify(rows, lambda name: even_odd)
        assert found.difference is None, found.difference

    def decisions(self) -> Counter[type[Event]]:
        """How many of each kind; a match that went to another referee would be one more."""
        return Counter(type(each) for each in self.events() if not isinstance(each, MAY_BE_NOTED))

    def results(self) -> dict[str, Any]:
        """Who won what, how."""
        decided = (each for each in self.events() if isinstance(each, MatchDecided))
        return {each.match_id: (each.result, each.moves, each.forfeits) for each in decided}


def _raise(stimulus: Stimulus, bug: Exception) -> None:
    raise bug


def _undisturbed() -> tuple[Contest, list[bytes]]:
    contest = Contest()
    contest.league.play()
    shown = {
        message.auth_token
        for host, message in contest.league.messages
        if host == "player6" and isinstance(message.auth_token, str)
    }
    return contest, sorted(token.encode() for token in shown)


MODEL, MATCH_TOKENS = _undisturbed()
RESULTS = MODEL.results()
URLS = [MANAGER, MANAGER, MANAGER, *sorted(MODEL.league.network.agents)]


def _seeds() -> list[bytes]:
    """Good messages with the names and tokens of this league."""
    shown = [MODEL.tokens[MALLORY].encode(), MODEL.tokens[REX].encode(), *MATCH_TOKENS]
    matches = sorted(RESULTS)
    made = []
    for number, body in enumerate(REQUESTS):
        value = json.loads(body)
        inside = value.get("params", value)
        inside = inside.get("message", inside.get("arguments", inside))
        if isinstance(inside, dict):
            inside["auth_token"] = shown[number % len(shown)].decode()
            inside["match_id"] = matches[number % len(matches)]
            inside["league_id"], inside["epoch"] = "league_test", 1
        made.append(json.dumps(value).encode())
    return made


def _attacks() -> list[bytes]:
    """What would change a match, had its sender the right to; `_aimed` puts the names in."""
    shown = [None, MODEL.tokens[MALLORY], MODEL.tokens[REX], *map(bytes.decode, MATCH_TOKENS)]
    result = {"winner": "@B", "score": {"@B": 3, "@A": 0}}
    made = []
    for name, more in (
        ("LOCK_REQUEST", {"index": 0, "moves": [[0, "@A", "even"], [0, "@B", "even"]]}),
        ("LOCK_REQUEST", {"index": 0, "moves": [], "forfeits": [["@A", "TIMEOUT"]]}),
        ("MATCH_RESULT_REPORT", {"result": result, "game_type": "even_odd"}),
        ("GAME_JOIN_ACK", {"player_id": "@A", "accept": False}),
        ("CHOOSE_PARITY_RESPONSE", {"player_id": "@B", "parity_choice": "even"}),
        ("GAME_OVER", {"game_result": {"status": "WIN", "winner_player_id": "@B"}}),
        ("LEAGUE_COMPLETED", {"champion": {"player_id": "@A"}, "aborted": True}),
    ):
        for token in shown:
            message = {"message_type": name, "protocol": "league.v2", "match_id": "@M", "epoch": 1}
            message |= {**more, "auth_token": token} if token else more
            made.append(json.dumps(message).encode())
    return made


def _aimed(contest: Contest, line: bytes) -> bytes:
    """The attack at a match that is played now and that is none of the hostile two's."""
    league = contest.league.league
    for file in (league.matches[match_id] for match_id in sorted(league.open_matches)):
        if file.decided is None and MALLORY not in file.players and REX not in file.referees:
            names = (b"@M", file.match_id), (b"@A", file.players[0]), (b"@B", file.players[1])
            for sign, name in names:
                line = line.replace(sign, name.encode())
    return line


def _rows(messages: list[bytes], width: int = 8) -> list[bytes]:
    return [b"\n".join(messages[at : at + width]) for at in range(0, len(messages), 2)]


SEEDS = [*_rows(_seeds()), *_rows(_attacks()) * 4]


def one(data: bytes) -> None:
    """Play a league with these messages in between, and compare its results."""
    with no_complaints():
        _play(data)


def _play(data: bytes) -> None:
    contest = Contest()
    league = contest.league
    for number, line in enumerate(data.split(b"\n")[:LINES_MAX]):
        chance = crc32(line, number)
        for _ in range(chance % STEPS_MAX):
            league.clock.step()
        line = _aimed(contest, line)
        urls, path = _takers(line) or URLS, PATHS[chance // 1024 % len(PATHS)]
        url = urls[chance // 16 % len(urls)]
        if not _is_right(contest, line, url, path):
            _send(contest, url, path, line)
    league.play()
    assert contest.answers == contest.sent, "one was not answered, or twice"
    assert not any("dropped" in sentence for h in league.hosts[1:] for sentence in h.role.news)
    assert contest.results() == RESULTS
    assert contest.decisions() == MODEL.decisions()
    contest.check_journal()
    assert len(contest.events()) <= len(MODEL.events()) + LINES_MAX


def _takers(line: bytes) -> list[str]:
    """Who can read it: mostly it is sent to one of them."""
    if crc32(line) % 8 == 0:
        return []
    kinds = {kind for kind, taken in TAKEN.items() if requests.read_request(line, taken).message}
    return [url for url in URLS if _kind(url) in kinds]


def _kind(url: str) -> str:
    return url.removeprefix("http://").removesuffix("/mcp").rstrip("0123456789")


def _send(contest: Contest, url: str, path: str, line: bytes) -> None:
    before = len(contest.events())
    contest.receive(url, path, line)
    for event in contest.events(before):
        assert isinstance(event, MAY_BE_NOTED), event


def _is_right(contest: Contest, line: bytes, url: str, path: str) -> bool:
    """Whether the hostile two may do this: the league would rightly change by it."""
    message = requests.read_request(line, TAKEN[_kind(url)], path=path).message
    token = message.auth_token if message else None
    if message is None or token not in (contest.tokens[MALLORY], contest.tokens[REX]):
        return False
    if isinstance(message, (*REGISTRATIONS, RefereeStatus)):
        return True
    file = contest.league.league.matches.get(getattr(message, "match_id", ""))
    return file is not None and (MALLORY in file.players or REX in file.referees)
