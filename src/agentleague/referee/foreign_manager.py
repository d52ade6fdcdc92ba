"""The matches of a referee at a foreign manager, which assigns them in its own way.

    start     the manager calls by one of many names; the answer waits a little for the end of the
              match, and then holds the result, for managers that look for it there
    announce  a round's announcement names the matches of this referee
    poll      the referee asks for matches where none are given out (`manager_queries.py`)
    ask       where the players are, if none of these says so

A foreign manager locks no moves: the referee decides its matches itself. A match is never begun
twice: a repeated start is answered with the result of the first.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Struct

from agentleague.dialects import starting
from agentleague.errors import LeagueError, MatchMismatch, MissingField, RateLimited, TokenInvalid
from agentleague.league.match_result import MatchSetup, compute_result, points_for
from agentleague.league.standings import Points
from agentleague.match.machine import Match
from agentleague.match.messages import Conditions, RefereeIdentity
from agentleague.protocol import draws, tokens
from agentleague.protocol.hosts import is_loopback
from agentleague.protocol.messages import (
    LockedResult,
    LockRequest,
    LockResponse,
    MatchResultReport,
    Message,
    RoundAnnouncement,
    RoundMatch,
    Seated,
    StartMatch,
    StartMatchResponse,
)
from agentleague.referee import manager_queries
from agentleague.referee.foreign_reports import ForeignReports
from agentleague.roles.agent import AgentLimits
from agentleague.roles.effects import Address, Call, Drop, Effect, Reply, WakeAt
from agentleague.roles.settings import RefereeSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Woken


class LocalAdjudicator:
    """Locks moves where the manager does not; all draws follow from the referee's secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._cases: dict[str, MatchSetup] = {}
        self._begun = 0  # a match that is played again is drawn anew

    def open(self, match: RoundMatch, at: Conditions) -> None:
        """A match begins."""
        self._begun += 1
        seed = draws.seed_of(self._secret, at.league_id, f"{match.match_id}|{self._begun}")
        players, options = (match.player_A_id, match.player_B_id), at.rules.game_options
        setup = MatchSetup(at.game, options, at.league_id, match.match_id, players, seed)
        self._cases[match.match_id] = setup

    def close(self, match_id: str) -> None:
        """It is over, or dropped."""
        self._cases.pop(match_id, None)

    def lock(self, request: LockRequest) -> LockResponse:
        """What follows from the moves so far: a number, or the result."""
        case = self._cases[request.match_id]
        verdict = compute_result(case, request.moves, request.forfeits)
        names = (request.match_id, verdict.index, verdict.value, request.moves)
        if verdict.result is None:
            return LockResponse(*names)
        score = points_for(case.players, verdict.result, Points())
        winner = verdict.result.winner_player_id
        return LockResponse(*names, result=LockedResult(winner, score, verdict.result))


@dataclass(frozen=True)
class RefereeLimits(AgentLimits):
    """Handed to a referee; tests hand in smaller ones."""

    early_messages: int = 100  # that come before the registration is answered
    status_per_lease: int = 3  # signs of life
    states_max: int = 100  # matches whose states one of them can hold
    awaited_max: int = 20  # answers that a sign of life names
    # At a foreign manager:
    start_reply_seconds: float = 3.0  # how long a start waits for the result; callers give up soon
    poll: manager_queries.PollSeconds = manager_queries.PollSeconds()  # noqa: RUF009 (It is immutable.)
    waiting_matches: int = 1000  # for a place, or for the addresses of their players
    ended_matches: int = 1000  # whose results are remembered


LIMITS = RefereeLimits()


# Fields of a report that no foreign manager knows: the documents' are always there.
OUR_FIELDS = [
    field.name
    for field in msgspec.structs.fields(MatchResultReport)
    if field.default is UNSET and field.name != "auth_token"
]
GAME_TYPE = "even_odd"  # where a manager does not say


class StartReplyTimer(Struct, frozen=True):
    """The timer of a start whose answer waits for the end of the match."""

    match_id: str


class Setup(NamedTuple):
    """How the referee works at its foreign manager."""

    league_id: str
    settings: RefereeSettings
    secret: bytes
    limits: RefereeLimits


class AssignedMatch(Struct, frozen=True):
    """A match that the manager assigned, and its league and round."""

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
    def full_id(self) -> tuple[str | int, ...]:
        """What tells it from another match with the same id."""
        return self.league_id, self.round_id, self.match_id, *self.players


class EndedMatch(NamedTuple):
    """The report of a match, and whether its start was answered with the result."""

    report: MatchResultReport
    is_start_answered: bool


class ForeignManager:
    """The matches of one referee there; who calls a method begins those in `begun`, says `news`."""

    def __init__(
        self,
        manager: Address,
        identity: RefereeIdentity,
        setup: Setup,
        reply: Callable[[Asked, Message, float], Reply],
    ) -> None:
        self._manager, self._identity, self._setup, self._reply = manager, identity, setup, reply
        self.adjudicator = LocalAdjudicator(setup.secret)
        self.begun: deque[AssignedMatch] = deque()
        self.news: list[str] = []
        self._channel = tokens.channel_key(setup.secret.hex())
        seconds, given = setup.settings.reply_seconds, setup.settings.player_endpoints
        queries = manager_queries.ManagerQueries(manager, identity, setup.league_id, seconds)
        self._endpoints = manager_queries.PlayerEndpoints(queries, given, self.news)
        self.unchecked = self._endpoints.unchecked  # where players may be, to be tried
        self._reports = ForeignReports(queries)
        self._polling = manager_queries.MatchPolling(queries, setup.limits.poll, self.news)
        self._unlocated: dict[str, AssignedMatch] = {}  # whose players' end points are unknown
        self._queue: deque[AssignedMatch] = deque()  # until there is a place for them
        self._open: dict[str, AssignedMatch] = {}
        self._ended: dict[tuple[str | int, ...], EndedMatch] = {}
        self._given_up: deque[tuple[str | int, ...]] = deque(maxlen=setup.limits.ended_matches)
        self._unanswered: dict[str, list[Asked]] = {}  # match -> starts that wait for its end

    def start(self, asked: Asked, message: StartMatch, now: float) -> list[Effect]:
        """Matches are to be run.

        Raises TokenInvalid (it is not the manager), MatchMismatch (others play a match with that
        id) or RateLimited (too many wait already).
        """
        assigned = self._assigned(message, message.matches)
        self._check(asked.caller, assigned)
        if len(assigned) != 1:
            effects = self._enqueue(assigned, now)
            answer = StartMatchResponse(referee_id=self._identity.referee_id)
            return [self._reply(asked, answer, now), *effects]
        match_id, ended = assigned[0].match_id, self._ended.get(assigned[0].full_id)
        if ended:
            return [self._reply(asked, self._result_of(ended.report), now)]
        self._unanswered.setdefault(match_id, []).append(asked)
        effects = self._enqueue(assigned, now)
        if asked.caller.rpc_method.lower() in starting.BLOCKING:
            return effects
        rings_at = now + self._setup.limits.start_reply_seconds
        return [WakeAt(StartReplyTimer(match_id), rings_at), *effects]

    def announced(self, asked: Asked, message: RoundAnnouncement, now: float) -> list[Effect]:
        """A round is announced: matches that name this referee, or none, are its own."""
        assigned = self._assigned(message, filter(self._is_own, message.matches))
        self._check(asked.caller, assigned)
        return self._enqueue([each for each in assigned if each.full_id not in self._ended], now)

    def wait(self, now: float) -> list[Effect]:
        """The referee has registered: matches are given to it, or else asked for."""
        return self._polling.wait(now)

    def poll(self, now: float) -> list[Effect]:
        """Ask for matches, unless there are some."""
        is_busy = self._open or self._queue or self._unlocated
        return self._polling.wait(now) if is_busy else self._polling.ask(now)

    def polled(self, answer: Answered, now: float) -> list[Effect]:
        """The manager has said which matches there are, or has not."""
        found, effects = self._polling.answered(answer, now)
        matches = [each for start in found for each in self._assigned(start, start.matches)]
        new = [
            each
            for each in matches[: self._setup.limits.waiting_matches]
            if self._is_own(each.match, is_named=self._polling.is_for_all)
            and each.full_id not in self._ended
            and each.full_id not in self._given_up
        ]
        return [*self._enqueue(new, now), *effects]

    def endpoint_answered(self, answer: Answered, now: float) -> list[Effect]:
        """The manager, or a connection, has said where a player is, or has not."""
        key = answer.key
        if isinstance(key, manager_queries.EndpointQuery):
            more = self._endpoints.answered(key, answer.message, now)
            if more is not None:
                return [*more]
        else:
            assert isinstance(key, manager_queries.EndpointCheck)
            self._endpoints.checked(key.player_id, is_there=answer.error is None)
        waiting = [each for each in self._unlocated.values() if key.player_id in each.players]
        if not self._endpoints.knows(key.player_id):
            return [effect for each in waiting for effect in self._give_up(each)]
        for each in waiting:
            if self._endpoints.knows(*each.players):
                self._queue.append(self._unlocated.pop(each.match_id))
        self._begin()
        return []

    def start_reply_due(self, timer: Woken, now: float) -> list[Effect]:
        """The match takes long: its start is answered before its end."""
        key = timer.key
        assert isinstance(key, StartReplyTimer)
        unanswered = self._unanswered.pop(key.match_id, ())
        answer = StartMatchResponse(match_id=key.match_id, referee_id=self._identity.referee_id)
        return [self._reply(asked, answer, now) for asked in unanswered]

    def decide(self, match: Match, effects: Sequence[Effect], now: float) -> list[Effect]:
        """The effects of a match, its locks answered by our own adjudicator."""
        decided: list[Effect] = []
        for effect in effects:
            message = effect.message if isinstance(effect, Call) else None
            if isinstance(effect, Call) and isinstance(message, LockRequest):
                answer = Answered(effect.key, self.adjudicator.lock(message), None, 0.0)
                decided += self.decide(match, match.answered(answer, now), now)
            elif isinstance(effect, Call) and isinstance(message, MatchResultReport):
                report = msgspec.structs.replace(message, **dict.fromkeys(OUR_FIELDS, UNSET))
                decided += self._match_ended(report, now)
                decided.append(self._reports.tell(msgspec.structs.replace(effect, message=report)))
            else:
                decided.append(effect)
        return decided

    def report_answered(
        self, match: Match, answer: Answered, now: float
    ) -> Sequence[Effect] | None:
        """What to tell or to ask next; nothing: the match is over. None: it goes on as at ours."""
        more = self._reports.answered(answer, now)
        ended = self._ended.get(self._open[match.match_id].full_id)
        is_known = more == [] and ended and ended.is_start_answered  # From the answer to the start.
        said = "" if more or is_known else self._reports.objection(answer, is_over=more == [])
        if said:
            self.news.append(f"{match.match_id}: {said}.")
        return more

    def closed(self, match_id: str, error: LeagueError | None = None) -> list[Effect]:
        """A match is closed, or was dropped for an error: the next one gets its place."""
        self._open.pop(match_id, None)
        self._reports.forget(match_id)
        self.adjudicator.close(match_id)
        unanswered = self._unanswered.pop(match_id, ())
        self._begin()
        return [Reply(asked.reply, error) for asked in unanswered if error]

    def seated(self, assigned: AssignedMatch) -> RoundMatch:
        """The match as our own manager would assign it: with both players in their seats."""
        match = assigned.match
        seats = [
            Seated(
                player_id,
                self._endpoints[player_id],
                match_token=tokens.match_token(
                    *(self._channel, "ref>player"),
                    *(assigned.league_id, assigned.match_id, player_id, 1),
                ),
            )
            for player_id in assigned.players
        ]
        game_type = match.game_type or GAME_TYPE
        return msgspec.structs.replace(match, game_type=game_type, seats=seats, epoch=1)

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
            return True  # A host name: a pure role cannot tell whose address it is.

    def _assigned(
        self, message: StartMatch | RoundAnnouncement, matches: Iterable[RoundMatch]
    ) -> list[AssignedMatch]:
        league_id = message.league_id or self._setup.league_id
        return [AssignedMatch(match, league_id, message.round_id or 1) for match in matches]

    def _check(self, caller: Caller, assigned: Sequence[AssignedMatch]) -> None:
        if not self.is_manager(caller):
            raise TokenInvalid(f"only the manager at {self._manager.url} starts matches here")
        for each in assigned:
            if not all((each.match_id, *each.players)):
                raise MissingField(f"match {each.match_id!r} lacks the ids of its players")
            known = self._open.get(each.match_id) or self._unlocated.get(each.match_id)
            if known and known.players != each.players:
                raise MatchMismatch(f"{each.match_id} is played by {' and '.join(known.players)}")
        waiting = len(assigned) + len(self._queue) + len(self._unlocated)
        if waiting > self._setup.limits.waiting_matches:
            raise RateLimited("this referee has matches enough; give it some of them later")
        self._polling.is_over |= bool(assigned)

    def _is_own(self, match: RoundMatch, *, is_named: bool = False) -> bool:
        """Whether it is for this referee: it names it, or, unless `is_named`, no other."""
        if not (match.player_A_id and match.player_B_id):  # It is a bye.
            return False
        if match.referee_endpoint:
            return _same_place(match.referee_endpoint, self._identity.endpoint)
        own = self._identity.referee_id
        return match.referee_id == own or (not is_named and not match.referee_id)

    def _enqueue(self, assigned: Sequence[AssignedMatch], now: float) -> list[Effect]:
        """Begin matches whose players' end points are known; ask for the others."""
        effects: list[Effect] = []
        queued = {each.match_id for each in self._queue}
        for each in assigned:
            if each.match_id in queued or each.match_id in self._open:
                continue
            self._endpoints.note(each.match)
            if self._endpoints.knows(*each.players):
                self._unlocated.pop(each.match_id, None)
                self._queue.append(each)
            else:
                self._unlocated[each.match_id] = each
                effects += self._endpoints.ask(each.players, now)
        self._begin()
        return effects

    def _begin(self) -> None:
        """Begin as many matches as there are places."""
        while self._queue and len(self._open) < self._setup.settings.max_concurrent_matches:
            assigned = self._queue.popleft()
            self._open[assigned.match_id] = assigned
            self.begun.append(assigned)

    def _give_up(self, assigned: AssignedMatch) -> list[Effect]:
        missing = [each for each in assigned.players if not self._endpoints.knows(each)]
        options, who = " ".join(f"--player {each}=URL" for each in missing), " and ".join(missing)
        del self._unlocated[assigned.match_id]
        self._given_up.append(assigned.full_id)
        queries = ", ".join(manager_queries.QUERIES)
        sentence = (
            f"{assigned.match_id} cannot be played: nobody says where to call {who}; "
            f"put player_A_endpoint and player_B_endpoint beside the ids, tell it in {queries}, or "
            f"start the referee with: {options}"
        )
        self.news.append(f"{sentence}.")
        error = MissingField(sentence, field="player_A_endpoint", kind="missing")
        unanswered = self._unanswered.pop(assigned.match_id, ())
        answers: list[Effect] = [Reply(asked.reply, error) for asked in unanswered]
        return [*answers, Drop(StartReplyTimer(assigned.match_id))] if answers else []

    def _match_ended(self, report: MatchResultReport, now: float) -> list[Effect]:
        """A match has ended: starts that still wait are answered with the result."""
        full_id = self._open[report.match_id].full_id
        unanswered = self._unanswered.pop(report.match_id, ())
        known = self._ended.pop(full_id, None)
        if known is None:
            winner = report.result.winner or "nobody"
            pair = " against ".join(self._open[report.match_id].players)
            self.news.append(f"{report.match_id}: {pair}, {winner} won.")
        is_answered = bool(unanswered) or bool(known and known.is_start_answered)
        self._ended[full_id] = EndedMatch(report, is_answered)
        while len(self._ended) > self._setup.limits.ended_matches:
            del self._ended[next(iter(self._ended))]
        result = self._result_of(report)
        answers: list[Effect] = [self._reply(asked, result, now) for asked in unanswered]
        return [*answers, Drop(StartReplyTimer(report.match_id))] if answers else []

    def _result_of(self, report: MatchResultReport) -> Message:
        """The result, under all the names by which foreign managers look for it."""
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
