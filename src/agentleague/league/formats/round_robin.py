"""Round robin: everybody meets everybody."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agentleague.league.formats.format import (
    ADVANCE,
    Done,
    Entrant,
    Entrants,
    Format,
    Late,
    Option,
    Options,
    Played,
    Players,
    Round,
    Totals,
)
from agentleague.league.formats.separation import SEATS, neighbours_are_separated


class RoundRobin(Format):
    """Every pair meets once per cycle; every second cycle repeats the first with seats swapped.

    The rounds follow the circle method. One place is the pivot, the others lie on a ring. In each
    round the pivot meets the head of the ring, the neighbours on both sides of the head meet, then
    their neighbours, and so on; after each round the ring turns by one. The seats alternate with
    the distance from the head, so a player changes seats from round to round, except once, around
    the match against the pivot. With an odd number of players there is no pivot, and the head has a
    bye.

    Who comes late is in the cycles that begin in its round or after it. Cycles before stay as they
    were.
    """

    name, version = "round_robin", 1
    about = "Everybody meets everybody, once per cycle."
    options: Mapping[str, Option] = {
        "cycles": Option(1, "How often everybody meets everybody.", least=1, most=100_000),
        "until": Option(0, "Further cycles until neighbours differ so many % surely.", most=99),
        "cycles_max": Option(20, "At most so many, with `until`.", least=2, most=1_000),
        "advance": ADVANCE,
    }
    late: Late = "cycle"

    def pairs_by_results(self, options: Options) -> bool:
        """Every round is known from the start, unless results say when it is enough."""
        return bool(options.get("until"))

    def begin(self, entrants: Entrants, options: Options) -> Totals | None:
        """See Format; fewer than two players in the first cycle is a ValueError."""
        totals = self.length(entrants, options["cycles"])
        if not options.get("until"):
            return totals
        if options["cycles_max"] < options["cycles"]:
            raise ValueError(
                f"A round robin of {options['cycles']} cycles cannot have at most "
                f"{options['cycles_max']}; give more cycles_max."
            )
        return None

    def length(self, entrants: Entrants, cycles: int) -> Totals:
        """Of so many cycles. Raises ValueError as `begin` does."""
        number = sum(each.from_round <= 1 for each in entrants)
        if number < 2:
            raise ValueError(f"A round robin needs at least 2 players, not {number}.")
        *_, last = eras = _eras(entrants, cycles)
        matches = sum(each.cycles * len(each.members) * (len(each.members) - 1) for each in eras)
        return Totals(last.first_round + last.cycles * last.turns - 1, matches // 2)

    def next_round(self, played: Played, entrants: Entrants, options: Options) -> Round | Done:
        """Rounds do not depend on results, but one ends before the next begins.

        With `until` results say after every second cycle, when all had both seats, if it is enough.
        """
        if options.get("until"):
            if self._is_enough(played, entrants, options):
                return Done()
            options = longest(options)
        return self.planned(played.rounds + 1, entrants, options) or Done()

    def ending(self, played: Played, entrants: Entrants, options: Options) -> str:
        """See Format: with `until`, whether it is clear who is better."""
        percent = options.get("until")
        if not percent:
            return ""
        if self._is_enough(played, entrants, options):
            return f"It is clear that each is better than the next in the table ({percent} %)."
        return (
            f"After {options['cycles_max']} cycles, the most there may be, it is not clear of all "
            f"neighbours in the table who is better ({percent} %)."
        )

    def _is_enough(self, played: Played, entrants: Entrants, options: Options) -> bool:
        least, most = options["cycles"], options["cycles_max"]
        looks = range(least + least % SEATS, most + 1, SEATS)
        if played.rounds not in (self.length(entrants, cycles).rounds for cycles in looks):
            return False
        matches = (match for each in played.results for match in each.matches)
        players = [each.player_id for each in entrants if each.player_id not in played.removed]
        return neighbours_are_separated(matches, players, played.points, options["until"])

    def planned(self, round_id: int, entrants: Entrants, options: Options) -> Round | None:
        """One round, without computing any other."""
        begun = [era for era in _eras(entrants, options["cycles"]) if era.first_round <= round_id]
        if not begun:
            return None
        era = begun[-1]
        cycle, turn = divmod(round_id - era.first_round, era.turns)
        if cycle >= era.cycles:
            return None
        cycle += era.first_cycle
        others = [each.player_id for each in era.members]
        pivot = others.pop(0) if len(others) % 2 == 0 else None
        # In this order round 1 pairs the players as they come: P01 and P02, P03 and P04.
        ring = [others[0], *others[1::2], *reversed(others[2::2])]
        head, *rest = ring[turn:] + ring[:turn]
        pairings = [] if pivot is None else [_seated(pivot, head, turn + cycle)]
        for distance in range(len(rest) // 2):
            pairings.append(_seated(rest[distance], rest[-1 - distance], distance + cycle))
        return Round(round_id, tuple(pairings), (head,) if pivot is None else ())


def longest(options: Options) -> Options:
    """The options of a round robin that has all the cycles that this one may have."""
    if not options.get("until"):
        return options
    return {**options, "cycles": options["cycles_max"], "until": 0}


class _Era(NamedTuple):
    """Cycles in a row with the same players."""

    first_round: int
    first_cycle: int  # counted from 0
    cycles: int
    members: Sequence[Entrant]

    @property
    def turns(self) -> int:
        """Rounds in a cycle."""
        return len(self.members) - 1 + len(self.members) % 2


def _eras(entrants: Entrants, cycles: int) -> list[_Era]:
    """All cycles. A new era begins with the first cycle in which somebody is new."""
    eras = [_Era(1, 0, cycles, [each for each in entrants if each.from_round <= 1])]
    for from_round in sorted({each.from_round for each in entrants}):
        era = eras[-1]
        before = -((era.first_round - from_round) // era.turns)  # cycles that begin before it comes
        if 0 < before < era.cycles:
            eras[-1] = era._replace(cycles=before)
            first_round = era.first_round + before * era.turns
            members = [each for each in entrants if each.from_round <= first_round]
            eras.append(_Era(first_round, era.first_cycle + before, era.cycles - before, members))
    return eras


def _seated(one: str, other: str, swaps: int) -> Players:
    return (other, one) if swaps % 2 else (one, other)


ROUND_ROBIN = RoundRobin()
