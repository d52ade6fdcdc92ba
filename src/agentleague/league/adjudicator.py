"""Decides what locks and reports of referees mean.

The first lock of an index is final, and a lock that ends the game is the result. A refused lock or
report changes nothing; a repeated one gets the first one's answer.

The report of a referee that does not lock is believed: the league saw no moves. If the report
contradicts itself or the rules of the game, the winner it names still counts, and the match is
disputed.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from agentleague import errors
from agentleague.games.game import Game, Outcome
from agentleague.league.events import Disputed, LossAccepted, MatchClosed, MatchDecided, MatchLocked
from agentleague.league.league import League, Phase
from agentleague.league.match_records import MatchRecord
from agentleague.league.match_result import (
    ANOTHER_RESULT,
    NOT_ITS_REFEREE,
    Forfeits,
    MatchSetup,
    choices,
    compute_result,
    points_for,
)
from agentleague.league.standings import Points
from agentleague.protocol import draws
from agentleague.protocol.messages import (
    Draw,
    GameResult,
    LockedResult,
    LockRequest,
    LockResponse,
    MatchResultAck,
    MatchResultReport,
    ReportedResult,
    Status,
)
from agentleague.roles.effects import Event
from agentleague.roles.tally import Tally

CanAsk = Callable[[MatchRecord], bool]
_encode = msgspec.json.Encoder().encode
_nobody_else: CanAsk = lambda record: False  # noqa: E731


class Decision(Struct, frozen=True):
    """What is recorded, what is answered, and whether the answer names the result's row."""

    events: Sequence[Event]
    answer: LockResponse | MatchResultAck | errors.LeagueError
    receipt: bool = False
    again: str = ""  # why the match is to be given out again
    claimed: Forfeits = ()  # what the next referee is to confirm


class Adjudicator:
    """Decides the matches of one league."""

    def __init__(self, league: League, game: Game, draw_secret: bytes) -> None:
        self.game = game
        self._league, self._secret = league, draw_secret
        self._seeds: dict[str, bytes] = {}  # of matches that are not decided yet
        self.tally = Tally()  # of what referees told of their matches

    def commitment(self, match_id: str) -> str:
        """The commitment to the draws of a match."""
        return draws.commitment(self._seed(match_id), self._league.rules.league_id, match_id)

    def begin_anew(self, generation: int, last: int) -> LossAccepted:
        """Rows up to `last` were lost: what is not decided gets new draws."""
        self._seeds.clear()
        league_id, commitments = self._league.rules.league_id, {}
        for match_id in self._league.undecided:
            seed = draws.seed_of(self._secret, league_id, match_id, generation)
            commitments[match_id] = draws.commitment(seed, league_id, match_id)
        champion: str | UnsetType = UNSET
        if self._league.champion_commitment and self._league.phase is not Phase.COMPLETED:
            seed = draws.seed_of(self._secret, league_id, draws.CHAMPION, generation)
            champion = draws.commitment(seed, league_id, draws.CHAMPION)
        return LossAccepted(generation, last, commitments, champion)

    def champion_seed(self) -> str | UnsetType:
        """What opens the commitment to the draw of the champion, if there is one."""
        return self._seed(draws.CHAMPION).hex() if self._league.champion_commitment else UNSET

    def seeding_commitment(self, league_id: str) -> str:
        """The commitment to the draw of the seeds, before the league is opened."""
        seed = draws.seed_of(self._secret, league_id, draws.SEEDING)
        return draws.commitment(seed, league_id, draws.SEEDING)

    def seeding_seed(self) -> bytes:
        """What opens it."""
        return draws.seed_of(self._secret, self._league.rules.league_id, draws.SEEDING)

    def lock(
        self, referee_id: str, request: LockRequest, *, another: CanAsk = _nobody_else
    ) -> Decision:
        """Fix the moves so far; `another` says whether another referee can be asked to confirm."""
        record = self._league.matches.get(request.match_id)
        if record is None or referee_id not in record.referees:
            return self._not_its_referee(record, referee_id, request)
        if request.epoch != record.epoch or referee_id != record.referee_id:
            return Decision((), self._old_epoch(record))
        if referee_id in self._league.roster.set_aside and not record.decided:
            return Decision((), self._set_aside(record))
        if record.decided or 0 <= request.index < len(record.locks):
            return self._standing(record, request.index)
        if request.forfeits and self._is_our_fault(record, request):
            refusal = errors.MatchMismatch(
                f"neither player of {record.match_id} was reached; it is given out again",
                epoch=record.epoch + 1,
            )
            return Decision((), refusal, again=errors.UNREACHABLE)
        try:
            event = self._decide(record, request)
        except errors.LeagueError as error:
            return Decision((), error)
        if isinstance(event, MatchLocked):
            return Decision((event,), _drawn(event))
        return self._ended(record, referee_id, event, another=another)

    def report(
        self, referee_id: str, report: MatchResultReport, *, another: CanAsk = _nobody_else
    ) -> Decision:
        """Close a match, if the report says what the league holds; `another` as for a lock."""
        record = self._league.matches.get(report.match_id)
        if record is None or referee_id not in record.referees:
            return self._not_its_referee(record, referee_id, report)
        roster, decided = self._league.roster, record.decided
        if not roster.referees[referee_id].locks:
            report = with_player_ids(report, self._league.names_of(record.players))
        if decided is not None and _agrees(report, decided):
            ack = MatchResultAck(match_id=record.match_id, round_id=record.round_id)
            if record.closed:
                return Decision((), replace(ack, duplicate=True), receipt=True)
            self.tally.take(report.transcript or ())
            return Decision((_closing(record, decided, report),), ack, receipt=True)
        if referee_id != record.referee_id or report.epoch not in (UNSET, record.epoch):
            return Decision((), self._old_epoch(record))
        if decided is not None:
            refusal = duplicate_report(record, "has another result already, which stands")
            return Decision(self._dispute(record, referee_id, ANOTHER_RESULT), refusal)
        if referee_id in roster.set_aside:
            return Decision((), self._set_aside(record))
        return self._unlocked(record, referee_id, report, another=another)

    def forfeit(self, match_id: str, forfeits: Sequence[tuple[str, str]]) -> MatchDecided:
        """The result of a match that was not begun, since these players are out of the league."""
        record = self._league.matches[match_id]
        computed = compute_result(self._setup(record), [], forfeits)
        assert computed.result
        end = (list(forfeits), computed.result, self._reveal(match_id))
        return MatchDecided(match_id, record.epoch, computed.index, [], *end)

    def no_contest(self, match_id: str, why: str) -> MatchDecided:
        """The result of a match that nobody could referee: it counts for neither player."""
        record = self._league.matches[match_id]
        moves = record.locks[-1].moves if record.locks else []
        result = GameResult(
            "TECHNICAL_LOSS",
            choices=choices(record.players, moves),
            reason=f"no contest: {why}"[:500],
            no_contest=True,
        )
        seed = self._reveal(match_id)
        return MatchDecided(match_id, record.epoch, len(record.locks), moves, [], result, seed)

    def result(self, match_id: str) -> LockResponse:
        """The result of a match, as its referee was told it."""
        record = self._league.matches[match_id]
        assert record.decided
        return self._result(record, record.decided)

    def _decide(self, record: MatchRecord, request: LockRequest) -> MatchLocked | MatchDecided:
        locked = record.locks[-1].moves if record.locks else []
        if request.moves[: len(locked)] != locked:
            raise errors.WrongType(
                "LOCK_REQUEST.moves: they differ from those of the lock before", field="moves"
            )
        computed = compute_result(self._setup(record), request.moves, request.forfeits)
        if computed.index != request.index or request.index != len(record.locks):
            raise errors.WrongType(
                f"LOCK_REQUEST.index: {request.index}, but it is lock {computed.index} "
                "of the match",
                field="index",
            )
        names = (record.match_id, record.epoch, request.index, request.moves)
        if computed.result is None:
            assert computed.value is not None
            return MatchLocked(*names, computed.value)
        seed = self._reveal(record.match_id)
        return MatchDecided(*names, request.forfeits, computed.result, seed)

    def _ended(
        self, record: MatchRecord, referee_id: str, event: MatchDecided, *, another: CanAsk
    ) -> Decision:
        """The result, unless another referee is to confirm that somebody forfeited."""
        if event.forfeits and self._is_alone(record, referee_id):
            if not record.claimed_by and another(record):
                refusal = errors.MatchMismatch(
                    f"another referee is asked about {record.match_id}", epoch=record.epoch + 1
                )
                return _to_be_confirmed(referee_id, event.forfeits, refusal)
            event = replace(event, unconfirmed=True)
        return Decision((event,), self._result(record, event), receipt=True)

    def _standing(self, record: MatchRecord, index: int) -> Decision:
        """The answer to the first lock of this index, whatever moves a second one has."""
        if 0 <= index < len(record.locks):
            return Decision((), _drawn(record.locks[index]))
        return Decision((), self.result(record.match_id), receipt=True)

    def _result(self, record: MatchRecord, event: MatchDecided) -> LockResponse:
        winner, worth = event.result.winner_player_id, Points(*self._league.rules.points)
        score = points_for(record.players, event.result, worth)
        return LockResponse(
            record.match_id,
            event.index,
            result=LockedResult(winner, score, event.result),
            draw=Draw(record.commitment, event.seed, event.moves, record.generation or UNSET),
        )

    def _unlocked(
        self, record: MatchRecord, referee_id: str, report: MatchResultReport, *, another: CanAsk
    ) -> Decision:
        """A referee that locks must lock first; any other is believed, and the match is marked."""
        if self._league.roster.referees[referee_id].locks:
            return Decision(
                (), errors.UnexpectedMessage("lock the moves before you report the result")
            )
        try:
            result, doubt = believed(self._setup(record), report)
        except errors.LeagueError as error:
            return Decision((), error)
        ack = MatchResultAck(match_id=record.match_id, round_id=record.round_id)
        is_alone = result.status == "TECHNICAL_LOSS" and self._is_alone(record, referee_id)
        if is_alone and not record.claimed_by and another(record):
            lost = [(each, "forfeited") for each in record.players if each != report.result.winner]
            return _to_be_confirmed(referee_id, lost, ack)
        decided = MatchDecided(
            *(record.match_id, record.epoch, 0, [], [], result, self._reveal(record.match_id)),
            verified=False,
            unconfirmed=True if is_alone else UNSET,
        )
        events: tuple[Event, ...] = (
            decided,
            *((Disputed(record.match_id, referee_id, doubt),) if doubt else ()),
            MatchClosed(
                *(record.match_id, record.epoch),
                told="unverified",
                reported_at=report.timestamp or UNSET,
            ),
        )
        return Decision(events, ack, receipt=True)

    def _not_its_referee(
        self, record: MatchRecord | None, referee_id: str, message: LockRequest | MatchResultReport
    ) -> Decision:
        match_id, epoch = message.match_id, message.epoch
        refusal = errors.MatchMismatch(
            f"match {match_id!r} is unknown or not assigned to {referee_id}", match_id=match_id
        )
        # It may have been assigned to it in rows that were lost.
        if record is None or (epoch is not UNSET and epoch < record.generation):
            return Decision((), refusal)
        return Decision(self._dispute(record, referee_id, NOT_ITS_REFEREE), refusal)

    def _dispute(self, record: MatchRecord, referee_id: str, why: str) -> tuple[Disputed, ...]:
        """Journalled once per referee and match, and again after a ruling."""
        of_referee = [each for each in record.disputes if each.referee_id == referee_id]
        is_open = any(each.referee_id == referee_id for each in record.disputes[record.settled :])
        if is_open or len(of_referee) >= self._league.limits.disputes_max:
            return ()
        return (Disputed(record.match_id, referee_id, why),)

    def _is_alone(self, record: MatchRecord, referee_id: str) -> bool:
        """Whether nobody vouches for this referee, and no other said so before it."""
        is_first = record.claimed_by in ("", referee_id)
        return is_first and self._league.roster.referees[referee_id].anyone

    def _set_aside(self, record: MatchRecord) -> errors.MatchMismatch:
        why = f"this referee was set aside; {record.match_id} is not its own any more"
        return errors.MatchMismatch(why)

    def _is_our_fault(self, record: MatchRecord, request: LockRequest) -> bool:
        """Neither player was reached: the first time, that is blamed on the referee."""
        return (
            {(player_id, errors.UNREACHABLE) for player_id in record.players}
            == set(request.forfeits)
            and not record.unreached
            and not any(map(self._league.is_suspended, record.players))
        )

    def _old_epoch(self, record: MatchRecord) -> errors.MatchMismatch:
        """The match has another referee; this one may still tell its players the result."""
        told: dict[str, Any] = {"epoch": record.epoch}
        if record.decided:
            standing = self._result(record, record.decided)
            told |= {"result": standing.result, "draw": standing.draw}
        return errors.MatchMismatch(f"{record.match_id} is in epoch {record.epoch} now", **told)

    def _reveal(self, match_id: str) -> str:
        """The seed, in the row that holds the result; it is not needed any more."""
        seed = self._seed(match_id)
        del self._seeds[match_id]
        return seed.hex()

    def _setup(self, record: MatchRecord) -> MatchSetup:
        rules = self._league.rules
        return MatchSetup(
            self.game,
            rules.rules.game_options,
            rules.league_id,
            record.match_id,
            record.players,
            self._seed(record.match_id),
        )

    def _seed(self, match_id: str) -> bytes:
        seed = self._seeds.get(match_id)
        if seed is None:
            league_id, generation = self._league.rules.league_id, self._league.generation
            seed = draws.seed_of(self._secret, league_id, match_id, generation)
            self._seeds[match_id] = seed
        return seed


def _to_be_confirmed(
    referee_id: str, claimed: Forfeits, answer: MatchResultAck | errors.LeagueError
) -> Decision:
    """A match is taken from a player by the word of two, if nobody vouches for the first."""
    lost = " and ".join(player_id for player_id, _ in claimed)
    why = f"{referee_id}, for which nobody vouches, said that {lost} forfeited"
    return Decision((), answer, again=why, claimed=claimed)


def _drawn(event: MatchLocked) -> LockResponse:
    return LockResponse(event.match_id, event.index, event.value, event.moves)


def duplicate_report(record: MatchRecord, why: str) -> errors.DuplicateReport:
    """The refusal of a further report, with the time of the one that counts, where it is known."""
    at = record.closing.reported_at if record.closing else UNSET
    known = {"previous_report_time": at} if at else {}
    return errors.DuplicateReport(f"{record.match_id} {why}", match_id=record.match_id, **known)


def _closing(record: MatchRecord, decided: MatchDecided, report: MatchResultReport) -> MatchClosed:
    """The referee's account of the match, without rows about other players."""
    players, rows = record.players, report.transcript or []
    late: dict[str, Any] = {}
    if report.timed_out:  # It costs a player retries in later matches: only after a forfeit.
        lost, said = dict(decided.forfeits), report.timed_out.items()
        late = {each: what for each, what in said if each in (lost if what else players)}
    return MatchClosed(
        record.match_id,
        record.epoch,
        Raw(_encode([row for row in rows if row.player_id in players])),
        max(report.transcript_left_out or 0, 0),
        {
            player_id: (max(unanswered, 0), answered)
            for player_id, (unanswered, answered) in (report.silences or {}).items()
            if player_id in players
        },
        timed_out=late or UNSET,
    )


def _agrees(report: MatchResultReport, decided: MatchDecided) -> bool:
    """Same winner; same status, choices, number and, if they were kept, details where given."""
    details, result = report.result.details, decided.result
    status = details.status if decided.verified else status_of(report.result)
    return (
        report.result.winner == result.winner_player_id
        and (details.status is None or status == result.status)
        and details.drawn_number in (None, result.drawn_number)
        and details.choices in ({}, result.choices)
        and (not decided.verified or details.game_details in (UNSET, result.game_details))
    )


_NOBODY = frozenset({"", "draw", "tie", "none", "null", "nobody"})  # in the place of a winner
_SEATS = {"player_a": 0, "player_b": 1, "player1": 0, "player2": 1, "player_1": 0, "player_2": 1}


def believed(setup: MatchSetup, report: MatchResultReport) -> tuple[GameResult, str]:
    """The result as it counts, and what contradicts it in words, or nothing.

    Raises WrongType if the winner does not play the match: nothing can be made of that.
    """
    winner, details = report.result.winner, report.result.details
    if winner is not None and winner not in setup.players:
        raise errors.WrongType(
            f"MATCH_RESULT_REPORT.result.winner: {winner!r} does not play this match",
            field="result.winner",
        )
    result = GameResult(
        status_of(report.result),
        winner,
        details.drawn_number,
        choices=details.choices or dict.fromkeys(setup.players),
        reason="as the referee reported it",
    )
    doubt = _doubt(setup, report.result)
    return result, f"reported what cannot be: {doubt}"[:500] if doubt else ""


def with_player_ids(report: MatchResultReport, names: Mapping[str, str]) -> MatchResultReport:
    """The report with the ids of its players: some name a player, or its seat; null: nobody won.

    `names` are those of the two players, by id in seat order; a name that both have counts as none.
    """
    result = report.result
    winner, details = result.winner, result.details
    if winner is not None and winner not in names and winner.casefold() in _NOBODY:
        winner = None
    by_id = {_player(each, names) or each: value for each, value in details.choices.items()}
    ends = details.ends and [(_player(each, names) or each, end) for each, end in details.ends]
    found = ReportedResult(
        winner and (_player(winner, names) or winner),
        {_player(each, names) or each: points for each, points in result.score.items()},
        replace(details, choices=by_id, ends=ends),
    )
    return report if found == result else replace(report, result=found)


def _player(word: str, names: Mapping[str, str]) -> str | None:
    """Whom a report means by that: the id, the name or the seat of one of the two."""
    if word in names:
        return word
    called = [player_id for player_id, name in names.items() if name == word]
    seat = _SEATS.get(word.casefold())
    if seat is not None:  # A player may be called like the other's seat.
        called = [*dict.fromkeys([*called, list(names)[seat]])]
    return called[0] if len(called) == 1 else None


def status_of(result: ReportedResult) -> Status:
    """The status that goes with the winner: what a report says, unless that contradicts it."""
    said, winner = result.details.status, result.winner
    if said == "TECHNICAL_LOSS":
        return said
    return "DRAW" if winner is None else "WIN"


def _doubt(setup: MatchSetup, result: ReportedResult) -> str:
    """What is wrong with a report, in words; nothing if it may be true."""
    winner, details = result.winner, result.details
    if details.status not in (None, status_of(result)):
        return f"the status is {details.status} and the winner {_who(winner)}"
    for who, end in details.ends or ():
        is_known = who in setup.players or who.casefold() in _NOBODY
        if is_known and _contradicts(who, end, result):
            return f"{_who(winner)} won, but it says {end} of {_who(who)}"
    if {*result.score, *details.choices} - set(setup.players):
        return "it tells of players who do not play this match"
    most = max(result.score.values(), default=0)
    ahead = [player_id for player_id, points in result.score.items() if points == most]
    if result.score and ahead != [winner] and (winner or len(ahead) < len(result.score)):
        return f"{_who(winner)} won, but the score does not say so"
    if details.status == "TECHNICAL_LOSS":
        return _against_a_forfeit(setup, result)
    return _against_the_rules(setup, result)


def _contradicts(who: str, end: str, result: ReportedResult) -> bool:
    """Whether this player cannot have ended so if the result is right."""
    is_winner = who == result.winner if result.winner else who.casefold() in _NOBODY
    is_lost_draw = end == "LOSS" and status_of(result) == "DRAW"
    is_won_draw = end == "DRAW" and result.winner is not None
    return is_winner != (end == "WIN") or is_lost_draw or is_won_draw


def _against_a_forfeit(setup: MatchSetup, result: ReportedResult) -> str:
    """If one turn decides and the report has a legal move of each player, nobody failed."""
    number = result.details.drawn_number
    bounds = setup.game.chance(setup.game.start(setup.options))
    if bounds and number is None:
        number = bounds[0]  # Any will do: it does not decide whether the game is over.
    with suppress(Exception):  # An illegal move is what such a loss may be for.
        if _played(setup, _moves(setup, result), number) is not None:
            return "everybody made a legal move, so nobody lost by default"
    return ""


def _against_the_rules(setup: MatchSetup, result: ReportedResult) -> str:
    """What the game says, if one turn of it decides and the report has all of that turn."""
    try:
        outcome = _played(setup, _moves(setup, result), result.details.drawn_number)
    except errors.IllegalMove as error:
        return str(error)
    except Exception:  # The game is a plug-in, and the moves come from outside.
        return "the game stumbled over its choices"
    if outcome is None:
        return ""
    won = dict(zip(setup.game.seats, setup.players, strict=True)).get(outcome.winner or "")
    is_so = won == result.winner
    return "" if is_so else f"by the rules {_who(won)} won, not {_who(result.winner)}"


def _moves(setup: MatchSetup, result: ReportedResult) -> dict[str, Any]:
    """What the report says that was chosen, by seat."""
    chosen = result.details.choices
    seats = zip(setup.players, setup.game.seats, strict=True)
    return {seat: chosen[p] for p, seat in seats if chosen.get(p) is not None}


def _who(player_id: str | None) -> str:
    return player_id or "nobody"


def _played(setup: MatchSetup, moves: Mapping[str, Any], number: int | None) -> Outcome | None:
    """How the game ends after these moves, if all of its first turn is there and it does."""
    state = setup.game.start(setup.options)
    movers, bounds = set(setup.game.to_move(state)), setup.game.chance(state)
    for seat in sorted(movers & moves.keys()):
        setup.game.check(state, seat, moves[seat])
    if bounds and number is not None and not bounds[0] <= number <= bounds[1]:
        raise errors.IllegalMove(f"the number {number} is not within {bounds[0]} to {bounds[1]}")
    if set(moves) != movers or (bounds and number is None):
        return None
    return setup.game.outcome(setup.game.play(state, moves, number if bounds else None))
