"""Where the players of a league of another make are: told with their matches, or asked for.

What a referee does at a manager of another make, which gives out matches in its own way.

    start     it calls by one of many names; the answer waits a little for the end of the match, and
              then says how it ended, for managers that look for the result there
    announce  a round's announcement, in which the matches of this referee are named
    ask       where the players are, if neither of them says so

A match is never begun twice: a repeated start is answered with the result of the first.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Struct

from agentleague.dialects import starting
from agentleague.dialects.negotiation import misunderstanding
from agentleague.errors import (
    LeagueError,
    MatchMismatch,
    MissingField,
    PeerRefused,
    RateLimited,
    TokenInvalid,
)
from agentleague.match.machine import Match
from agentleague.match.messages import RefereeIdentity
from agentleague.protocol import tokens
from agentleague.protocol.hosts import is_loopback
from agentleague.protocol.messages import (
    LeagueQuery,
    LockRequest,
    MatchResultAck,
    MatchResultReport,
    Message,
    RoundAnnouncement,
    RoundMatch,
    Seated,
    StartMatch,
    StartMatchResponse,
)
from agentleague.referee.local_adjudicator import LocalAdjudicator
from agentleague.roles.effects import Address, Call, Drop, Effect, Reply, WakeAt
from agentleague.roles.stimuli import Answered, Asked, Caller

QUERIES = ("GET_PLAYER_STATS", "GET_AGENT", "GET_PLAYERS")  # one may say where a player is


class WhereIs(Struct, frozen=True):
    """The key of a question to the manager."""

    player_id: str
    attempt: int


class Endpoints:
    """The end points of players, as far as anybody said."""

    def __init__(
        self, manager: Address, identity: RefereeIdentity, league_id: str, reply_seconds: float
    ) -> None:
        self._manager, self._identity = manager, identity
        self._league_id, self._reply_seconds = league_id, reply_seconds
        self._known: dict[str, str] = {}  # player -> end point
        self._asking: set[str] = set()

    def __getitem__(self, player_id: str) -> str:
        return self._known[player_id]

    def knows(self, *players: str) -> bool:
        """Whether it is known where all of them are."""
        return all(player_id in self._known for player_id in players)

    def note(self, match: RoundMatch) -> None:
        """A match was given out; it may say where its players are."""
        for player_id, url in (
            (match.player_A_id, match.player_A_endpoint),
            (match.player_B_id, match.player_B_endpoint),
        ):
            if url:
                self._known[player_id] = url

    def ask(self, players: Iterable[str], now: float) -> list[Call]:
        """Ask the manager for those about whom nobody was asked yet."""
        unknown = [each for each in players if not self.knows(each) and each not in self._asking]
        self._asking.update(unknown)
        return [self._question(player_id, 1, now) for player_id in unknown]

    def answered(self, key: WhereIs, message: Message | None, now: float) -> Call | None:
        """The manager has said it, or has not: then what is asked next, if anything."""
        found = starting.find_endpoint(key.player_id, msgspec.to_builtins(message))
        if found:
            self._known[key.player_id] = found
        elif key.attempt < len(QUERIES):
            return self._question(key.player_id, key.attempt + 1, now)
        self._asking.discard(key.player_id)
        return None

    def _question(self, player_id: str, attempt: int, now: float) -> Call:
        query = LeagueQuery(
            QUERIES[attempt - 1],
            self._league_id,
            {"player_id": player_id, "agent_id": player_id},
            sender=f"referee:{self._identity.referee_id}",
            timestamp=self._identity.calendar.write(now),
            conversation_id="conv-where-is",
            auth_token=self._identity.token or UNSET,
        )
        until = now + self._reply_seconds
        return Call(WhereIs(player_id, attempt), self._manager, query, until)


HOLD_SECONDS = 3.0  # for the end of a match; many callers do not wait much longer than that
WAITING_MAX = 1000  # matches that wait for a place, or for where their players are
OVER_MAX = 1000  # results that are remembered
OURS_ALONE = ("epoch", "transcript", "transcript_left_out", "silences", "dialects")  # of a report
REFUSED = frozenset({"REJECTED", "REFUSED", "ERROR", "FAILED", "INVALID"})
GAME_TYPE = "even_odd"  # where a manager does not say


class AnswerBy(Struct, frozen=True):
    """The timer of an answer that waits for the end of a match."""

    match_id: str


class Terms(NamedTuple):
    """On which terms the referee is there."""

    league_id: str
    matches_max: int
    reply_seconds: float
    secret: bytes


class Given(Struct, frozen=True):
    """A match that was given out, and in which league and round."""

    match: RoundMatch
    league_id: str
    round_id: int

    @property
    def match_id(self) -> str:
        """Its id."""
        return self.match.match_id

    @property
    def players(self) -> tuple[str, str]:
        """Who plays."""
        return self.match.player_A_id, self.match.player_B_id

    @property
    def name(self) -> tuple[str | int, ...]:
        """What is the same match, and no other that has its id."""
        return self.league_id, self.round_id, self.match_id, *self.players


class Over(NamedTuple):
    """A match that is over, and whether whoever started it was answered with its result."""

    report: MatchResultReport
    is_told: bool


class Done(NamedTuple):
    """What is to be done, and which matches begin."""

    effects: list[Effect]
    begun: Sequence[Given] = ()


class ForeignManager:
    """The matches of one referee at a manager of another make."""

    def __init__(
        self,
        manager: Address,
        identity: RefereeIdentity,
        terms: Terms,
        reply: Callable[[Asked, Message, float], Reply],
    ) -> None:
        self._manager, self._identity, self._terms, self._reply = manager, identity, terms, reply
        self.adjudicator = LocalAdjudicator(terms.secret)
        self._channel = tokens.channel_key(terms.secret.hex())
        self._where = Endpoints(manager, identity, terms.league_id, terms.reply_seconds)
        self._unplaced: dict[str, Given] = {}  # until it is known where their players are
        self._queue: deque[Given] = deque()  # until there is a place for them
        self._open: dict[str, Given] = {}
        self._over: dict[tuple[str | int, ...], Over] = {}
        self._held: dict[str, list[Asked]] = {}  # match -> who waits for its end
        self.news: list[str] = []

    def start(self, asked: Asked, message: StartMatch, now: float) -> Done:
        """The manager wants matches run.

        Raises:
            TokenInvalid: it is not the manager who says so.
            MatchMismatch: others play a match of that name.
            RateLimited: too many wait already.
        """
        given = self._given(message, message.matches)
        self._check(asked.caller, given)
        if len(given) != 1:
            done = self._take(given, now)
            answer = StartMatchResponse(referee_id=self._identity.referee_id)
            return Done([self._reply(asked, answer, now), *done.effects], done.begun)
        match_id, over = given[0].match_id, self._over.get(given[0].name)
        if over:
            return Done([self._reply(asked, self._told(over.report), now)])
        self._held.setdefault(match_id, []).append(asked)
        done = self._take(given, now)
        if asked.caller.method.lower() not in starting.BLOCKING:
            done.effects.insert(0, WakeAt(AnswerBy(match_id), now + HOLD_SECONDS))
        return done

    def announced(self, asked: Asked, message: RoundAnnouncement, now: float) -> Done:
        """A round is announced: the matches that name this referee, or none, are its own.

        What has no two players is a bye.

        Raises:
            TokenInvalid: it is not the manager who says so.
            MatchMismatch: others play a match of that name.
            RateLimited: too many wait already.
        """
        given = self._given(message, filter(self._is_own, message.matches))
        self._check(asked.caller, given)
        return self._take([each for each in given if each.name not in self._over], now)

    def answered(self, key: WhereIs, stimulus: Answered, now: float) -> Done:
        """The manager has said where a player is, or has not."""
        again = self._where.answered(key, stimulus.message, now)
        if again:
            return Done([again])
        waiting = [each for each in self._unplaced.values() if key.player_id in each.players]
        if not self._where.knows(key.player_id):
            return Done(
                [effect for each in waiting for effect in self._give_up(each, key.player_id)]
            )
        for each in waiting:
            if self._where.knows(*each.players):
                self._queue.append(self._unplaced.pop(each.match_id))
        return Done([], self._next())

    def woken(self, key: AnswerBy, now: float) -> list[Effect]:
        """The match takes long: whoever started it hears that it runs."""
        held = self._held.pop(key.match_id, ())
        answer = StartMatchResponse(match_id=key.match_id, referee_id=self._identity.referee_id)
        return [self._reply(asked, answer, now) for asked in held]

    def settled(self, match: Match, effects: Sequence[Effect], now: float) -> list[Effect]:
        """What a step of a match leads to where the manager locks nothing: we decide it."""
        done: list[Effect] = []
        for effect in effects:
            message = effect.message if isinstance(effect, Call) else None
            if isinstance(effect, Call) and isinstance(message, LockRequest):
                key: Any = effect.key
                answer = self.adjudicator.lock(message)
                done += self.settled(match, match.answered(key, answer, None, now), now)
            elif isinstance(message, MatchResultReport):
                report = msgspec.structs.replace(message, **dict.fromkeys(OURS_ALONE, UNSET))
                done += self._ended(report, now)
                done.append(msgspec.structs.replace(effect, message=report))
            else:
                done.append(effect)
        return done

    def report_failed(self, match: Match, stimulus: Answered) -> bool:
        """Whether the manager understands no report of ours; what it says against one is told."""
        over = self._over.get(self._open[match.match_id].name)
        error, ack = stimulus.error, stimulus.message
        if over is None:  # So many matches have ended since then.
            return False
        is_misunderstood = misunderstanding(over.report, error) is not None
        is_told = over.is_told and is_misunderstood  # The answer to its start said it all.
        if isinstance(ack, MatchResultAck) and ack.status.upper() in REFUSED:
            self.news.append(f"{match.match_id}: the manager answered its report: {ack.status}.")
        elif error and (isinstance(error, PeerRefused) or is_misunderstood) and not is_told:
            more = f"; {error.context['tried']}" if "tried" in error.context else ""
            self.news.append(f"{match.match_id}: its report was not taken: {error}{more}.")
        return is_misunderstood

    def closed(self, match_id: str, error: LeagueError | None = None) -> Done:
        """A match is done with, or was dropped for an error: the next one has its place."""
        self._open.pop(match_id, None)
        self.adjudicator.close(match_id)
        held = self._held.pop(match_id, ())
        effects: list[Effect] = [Reply(asked.reply, error) for asked in held if error]
        return Done(effects, self._next())

    def seated(self, given: Given) -> RoundMatch:
        """The match as one of ours is assigned: with both players in their seats."""
        match = given.match
        seats = [
            Seated(
                player_id,
                self._where[player_id],
                match_token=tokens.match_token(
                    *(self._channel, "ref>player"),
                    *(given.league_id, given.match_id, player_id, 1),
                ),
            )
            for player_id in given.players
        ]
        return msgspec.structs.replace(
            match, game_type=match.game_type or GAME_TYPE, seats=seats, epoch=1
        )

    def _given(
        self, message: StartMatch | RoundAnnouncement, matches: Iterable[RoundMatch]
    ) -> list[Given]:
        league_id = message.league_id or self._terms.league_id
        return [Given(match, league_id, message.round_id or 1) for match in matches]

    def _check(self, caller: Caller, given: Sequence[Given]) -> None:
        if not self.is_manager(caller):
            raise TokenInvalid(f"only the manager at {self._manager.url} starts matches here")
        for each in given:
            if not all((each.match_id, *each.players)):
                raise MissingField(f"match {each.match_id!r} lacks the ids of its players")
            known = self._open.get(each.match_id) or self._unplaced.get(each.match_id)
            if known and known.players != each.players:
                raise MatchMismatch(f"{each.match_id} is played by {' and '.join(known.players)}")
        if len(given) + len(self._queue) + len(self._unplaced) > WAITING_MAX:
            raise RateLimited("this referee has matches enough; give it some of them later")

    def is_manager(self, caller: Caller) -> bool:
        """By the token it gave this referee, or by its address, where the URL has one."""
        if caller.token and tokens.same(caller.token, tokens.digest(self._identity.token)):
            return True
        host = urlsplit(self._manager.url).hostname or ""
        if is_loopback(host):
            return is_loopback(caller.source)
        try:
            return ip_address(host) == ip_address(caller.source)
        except ValueError:
            return True  # A name: nobody here can tell whose address that is.

    def _is_own(self, match: RoundMatch) -> bool:
        if not (match.player_A_id and match.player_B_id):
            return False
        if match.referee_endpoint:
            return _same_place(match.referee_endpoint, self._identity.endpoint)
        return match.referee_id in (UNSET, "", self._identity.referee_id)

    def _take(self, given: Sequence[Given], now: float) -> Done:
        """Begin those matches whose players are known; ask for the others."""
        effects: list[Effect] = []
        queued = {each.match_id for each in self._queue}
        for each in given:
            if each.match_id in queued or each.match_id in self._open:
                continue
            self._where.note(each.match)
            if self._where.knows(*each.players):
                self._unplaced.pop(each.match_id, None)
                self._queue.append(each)
            else:
                self._unplaced[each.match_id] = each
                effects += self._where.ask(each.players, now)
        return Done(effects, self._next())

    def _next(self) -> list[Given]:
        """Those that begin now."""
        begun: list[Given] = []
        while self._queue and len(self._open) < self._terms.matches_max:
            given = self._queue.popleft()
            self._open[given.match_id] = given
            begun.append(given)
        return begun

    def _give_up(self, given: Given, player_id: str) -> list[Effect]:
        """Nobody says where a player is."""
        del self._unplaced[given.match_id]
        asked = ", ".join(QUERIES)
        sentence = (
            f"{given.match_id} cannot be played: nobody says where {player_id} is; put "
            f"player_A_endpoint and player_B_endpoint beside the ids, or tell it in {asked}"
        )
        self.news.append(f"{sentence}.")
        error = MissingField(sentence, field="player_A_endpoint", kind="missing")
        held = self._held.pop(given.match_id, ())
        answers: list[Effect] = [Reply(asked.reply, error) for asked in held]
        return [*answers, Drop(AnswerBy(given.match_id))] if answers else []

    def _ended(self, report: MatchResultReport, now: float) -> list[Effect]:
        """A match has ended: whoever still waits for that hears how."""
        given, held = self._open[report.match_id], self._held.pop(report.match_id, ())
        known = self._over.pop(given.name, None)
        self._over[given.name] = Over(report, bool(held) or bool(known and known.is_told))
        while len(self._over) > OVER_MAX:
            del self._over[next(iter(self._over))]
        answers: list[Effect] = [self._reply(asked, self._told(report), now) for asked in held]
        return [*answers, Drop(AnswerBy(report.match_id))] if answers else []

    def _told(self, report: MatchResultReport) -> Message:
        """How a match ended, under all the names by which that is looked for."""
        result = report.result
        return StartMatchResponse(
            "COMPLETED",
            match_id=report.match_id,
            referee_id=self._identity.referee_id,
            result=result,
            winner=result.winner,
            winner_player_id=result.winner,
            score=result.score,
            drawn_number=result.details.drawn_number,
            choices=result.details.choices,
        )


def _same_place(one: str, other: str) -> bool:
    """Whether two URLs mean the same end point, however this machine is called in them."""
    first, second = urlsplit(one), urlsplit(other)
    hosts = (first.hostname or "", second.hostname or "")
    is_same_host = hosts[0] == hosts[1] or all(map(is_loopback, hosts))
    return is_same_host and first.port == second.port
