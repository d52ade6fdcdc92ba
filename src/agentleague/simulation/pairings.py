"""What holds of rounds and stages in any format, from the rows alone.

It has no code in common with the formats: `verify` computes every pairing again with them, and so
would miss what they themselves do wrong.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

from agentleague.league import events as rows
from agentleague.league.formats.format import Stage
from agentleague.league.league import League, stages_of
from agentleague.league.recount import Recount
from agentleague.roles.effects import Event
from agentleague.simulation.rules import Timed

BY_POINTS = ("round_robin", "swiss")  # Nothing else ranks their players.
NO_CONTEST = "no_contest"
SLACK_SECONDS = 0.5  # from a decision to its row


def wrong_pairings(league: League, timed: Timed, *, is_punctual: bool) -> Iterator[str]:
    """Sentences about rounds and stages that cannot be; `is_punctual` if rows are never late."""
    course = Course(is_punctual)
    for at, event in timed:
        course.recount.take(event)
        yield from course.take(at, event)
    for round_id, played in enumerate(league.progress.results, start=1):
        for number, match in enumerate(played.matches, start=1):
            known = course.results[f"R{round_id}M{number}"]
            if known != (match.winner if match.counts else NO_CONTEST):
                yield f"I12: R{round_id}M{number} is paired by {match}, and its result is {known}"
    if not league.aborted and league.stages[-1].format == "knockout":
        first = [row.player_id for row in league.table.first()]
        is_reached = course.stage == len(league.stages)
        if is_reached and first != [league.champion]:
            yield f"I12: {first} are first in a knockout, and the champion is {league.champion}"


class Course:
    """Takes in the rows of a league in their order."""

    def __init__(self, is_punctual: bool) -> None:
        self.recount = Recount()
        self.stage = 0
        self.results: dict[str, str | None] = {}  # match -> who won, or NO_CONTEST
        self._before_rulings: dict[str, str | None] = {}  # the same before any ruling
        self._is_punctual = is_punctual
        self._stages: Sequence[Stage] = ()
        self._field: set[str] = set()
        self._removed: set[str] = set()
        self._late: set[str] = set()  # registered after the start, and do not play yet
        self._policy = ""
        self._pairs: dict[str, tuple[str, str]] = {}  # match -> who meets
        self._round = self._ended = self._before_stage = 0
        self._ruled = False
        self._begin_stage(())

    def _begin_stage(self, players: Sequence[str], ends_at: float = 0.0) -> None:
        self.stage += bool(players)
        self._before_stage = self._ended
        self._field = set(players)
        self._late -= self._field
        self._met: Counter[frozenset[str]] = Counter()  # in this stage
        self._seated: Counter[tuple[str, ...]] = Counter()
        self._rested: Counter[str] = Counter()
        self._beaten: set[str] = set()  # by a result on which nobody ruled
        self._resting: Sequence[str] = ()  # in the last round
        self._is_time_up, self._ends_at = False, ends_at
        self._is_joined = False

    def take(self, at: float, event: Event) -> Iterator[str]:
        """What is wrong with the next row."""
        check = self._CHECKS.get(type(event))
        if check:
            yield from (f"I12: {sentence}" for sentence in check(self, at, event) or ())

    @property
    def _now(self) -> Stage:
        return self._stages[self.stage - 1]

    def _opened(self, at: float, event: rows.LeagueOpened) -> None:
        self._stages, self._policy = stages_of(event), event.late or ""

    def _registered(self, at: float, event: rows.PlayerRegistered) -> Iterator[str]:
        if self.stage:
            self._late.add(event.player_id)
            if not self._policy:
                yield f"{event.player_id} registered after the start"

    def _started(self, at: float, event: rows.LeagueStarted) -> None:
        self._begin_stage(event.players, event.ends_at or 0.0)

    def _stage_started(self, at: float, event: rows.StageStarted) -> Iterator[str]:
        players, before = event.players, self._now
        if event.stage != self.stage + 1 or self._round != self._ended:
            yield f"stage {event.stage} begins in stage {self.stage}, round {self._round}"
        strange = set(players) - self._field - self._late
        if strange or not self._removed.isdisjoint(players):
            yield f"{players} are in stage {event.stage}, {sorted(self._removed)} are removed"
        if self._late - self._removed - set(players):
            yield f"{sorted(self._late)} came late, and stage {event.stage} is without them"
        if before.format in BY_POINTS:
            own = self.recount.counts(self._before_stage) if self.stage > 1 else {}
            won = {each: (self.stage, row["points"]) for each, row in own.items()}
            table = [row["player_id"] for row in self.recount.table(won)]
            best = [each for each in table if each in self._field - self._removed]
            best = best[: int(before.options["advance"]) or len(best)]
            if players[: len(best)] != best:
                yield f"stage {event.stage} begins with {players}, and the best are {best}"
        self._begin_stage(players, event.ends_at or 0.0)

    def _joined(self, at: float, event: rows.PlayerJoined) -> Iterator[str]:
        if event.player_id not in self._late or self._round != self._ended:
            yield f"{event.player_id} joins round {self._round}, of {sorted(self._late)}"
        self._late.discard(event.player_id)
        self._field.add(event.player_id)
        self._is_joined = True

    def _time_up(self, at: float, event: rows.TimeUp) -> Iterator[str]:
        if event.stage != self.stage or self._is_time_up:
            yield f"the time of stage {event.stage} is up in stage {self.stage}, or again"
        if at < self._ends_at - SLACK_SECONDS:
            yield f"the time of stage {event.stage} is up {self._ends_at - at:g} s too early"
        self._is_time_up = True

    def _scheduled(self, at: float, event: rows.RoundScheduled) -> Iterator[str]:
        pairs = [(match.player_a, match.player_b) for match in event.matches]
        there = [*event.byes, *(each for pair in pairs for each in pair)]
        name = f"round {event.round_id}"
        if self._round != self._ended or event.round_id != self._round + 1:
            yield f"{name} is scheduled after {self._round}, of which {self._ended} are over"
        if len(set(there)) < len(there) or not self._field.issuperset(there) or not pairs:
            yield f"{name} has {there}, and the stage {sorted(self._field)}"
        if self._is_time_up:
            yield f"{name} is scheduled after the time of its stage"
        if self._ends_at and self._is_punctual and at > self._ends_at + SLACK_SECONDS:
            yield f"{name} begins {at - self._ends_at:g} s after the time of its stage"
        self._met.update(map(frozenset, pairs))
        self._seated.update(pairs)
        self._rested.update(event.byes)
        check = self._OF_FORMAT[self._now.format]
        yield from (f"{name}: {each}" for each in check(self, there, event.byes))
        self._round, self._resting = event.round_id, event.byes
        ids = [match.match_id for match in event.matches]
        self._pairs |= dict(zip(ids, pairs, strict=True))

    def _round_ended(self, at: float, event: rows.RoundEnded) -> Iterator[str]:
        if event.round_id != self._round or self._ended == self._round:
            yield f"round {event.round_id} ends in round {self._round}"
        self._ended = event.round_id

    def _decided(self, at: float, event: rows.MatchDecided) -> None:
        winner = event.result.winner_player_id
        if event.result.no_contest is True:
            winner = NO_CONTEST
        elif winner:
            self._beaten |= set(self._pairs[event.match_id]) - {winner}
        self._before_rulings[event.match_id] = self.results[event.match_id] = winner

    def _match_ruled(self, at: float, event: rows.MatchRuled) -> None:
        self._ruled = True
        stands = {"stand": self._before_rulings[event.match_id], NO_CONTEST: NO_CONTEST}
        self.results[event.match_id] = stands.get(event.verdict, event.winner)

    def _is_planned(self, there: Sequence[str], byes: Sequence[str]) -> Iterator[str]:
        """Two meet once a cycle, and swap seats from one to the next."""
        for pair, times in self._seated.items():
            back = self._seated[pair[::-1]]
            options = self._now.options
            cycles = options["cycles_max"] if options.get("until") else options["cycles"]
            is_often = times + back > int(cycles) or times - back > 1
            if is_often and not self._is_joined:
                yield f"{pair} sat so {times} times, and the other way {back} times"

    def _is_swiss(self, there: Sequence[str], byes: Sequence[str]) -> Iterator[str]:
        yield from self._has_all(there)
        yield from (f"{sorted(pair)} meet again" for pair, n in self._met.items() if n > 1)
        yield from (f"{each} has its bye number {n}" for each, n in self._rested.items() if n > 1)

    def _is_knockout(self, there: Sequence[str], byes: Sequence[str]) -> Iterator[str]:
        """Who lost is out, where one game decides; later it may play for the third place alone."""
        if not self._removed.isdisjoint(there):
            yield f"{sorted(self._removed.intersection(there))} are paired and were removed"
        options = self._now.options
        may_play = there[-2:] if options["third_place"] else ()
        back = self._beaten.intersection(there).difference(may_play)
        if options["best_of"] == 1 and not self._ruled and back:
            yield f"{sorted(back)} lost before, and are out"

    def _is_ladder(self, there: Sequence[str], byes: Sequence[str]) -> Iterator[str]:
        yield from self._has_all(there)
        yield from (f"{each} has a bye again" for each in byes if each in self._resting)

    def _has_all(self, there: Sequence[str]) -> Iterator[str]:
        if set(there) != self._field - self._removed:
            yield f"of {sorted(self._field)} without {sorted(self._removed)} it has {sorted(there)}"

    _CHECKS: ClassVar[Mapping[type[Event], Callable[..., Iterator[str] | None]]] = {
        rows.LeagueOpened: _opened,
        rows.PlayerRegistered: _registered,
        rows.PlayerRemoved: lambda self, at, event: self._removed.add(event.player_id),
        rows.LeagueStarted: _started,
        rows.StageStarted: _stage_started,
        rows.PlayerJoined: _joined,
        rows.TimeUp: _time_up,
        rows.RoundScheduled: _scheduled,
        rows.RoundEnded: _round_ended,
        rows.MatchDecided: _decided,
        rows.MatchRuled: _match_ruled,
    }
    _OF_FORMAT: ClassVar[Mapping[str, Callable[..., Iterator[str]]]] = {
        "round_robin": _is_planned,
        "groups": _is_planned,
        "swiss": _is_swiss,
        "knockout": _is_knockout,
        "ladder": _is_ladder,
    }
