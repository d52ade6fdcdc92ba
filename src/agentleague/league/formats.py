"""Formats: who meets whom next, from what was played. Round robin is the only one so far.

A format is a pure function of what was played, is being played, the players, its options and a
seed; `verify` computes every round again. It is found by name in one table, never loaded by what a
journal says.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple, Protocol

from msgspec import UNSET, Struct, UnsetType

from agentleague.errors import Damaged

Players = tuple[str, ...]  # of one match, in seat order: two to eight; the games so far take two
Options = Mapping[str, Any]  # integers and strings; of round robin: cycles
SEED = 0  # No format draws chance yet; the seed of one that does must be journalled.


class Round(NamedTuple):
    """What is played at the same time, and who has a bye."""

    round_id: int
    pairings: tuple[Players, ...]
    byes: Players = ()

    @property
    def matches(self) -> list[tuple[str, Players]]:
        """The pairings with the ids of their matches."""
        round_id = self.round_id
        return [(f"R{round_id}M{n}", players) for n, players in enumerate(self.pairings, start=1)]


class Wait(Struct, frozen=True):
    """The next round depends on matches that are not over."""


class Done(Struct, frozen=True):
    """There is no further round."""


class PlayedMatch(NamedTuple):
    """How a match ended, by its result or the organiser's ruling."""

    players: Players
    winner: str | None
    technical: bool = False  # lost by default
    counts: bool = True  # False: no contest


class Played(NamedTuple):
    """The rounds that have ended, and whom the organiser has removed so far."""

    rounds: int
    results: Sequence[Sequence[PlayedMatch]] = ()  # of each round, if the format pairs by results
    removed: Set[str] = frozenset()  # their further matches are technical losses


class Totals(NamedTuple):
    """How long a league will be; every round has as many matches."""

    rounds: int
    matches: int


class Format(Protocol):
    """One way to pair the players of a league. It keeps no state.

    Today a round begins when all matches before it are over: a manager asks for the next round only
    then, so `Wait` while no match is open is an error. Rounds that overlap do not exist yet.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int:
        """Another one for every change after which a league would be paired differently."""

    @property
    def pairs_by_results(self) -> bool:
        """Whether rounds depend on results, which are kept for it; if not, `planned` knows all."""

    def begin(self, entrants: Sequence[str], options: Options) -> Totals | None:
        """How long a league of these will be, if known. Raises ValueError if there can be none."""

    def next_round(
        self,
        played: Played,
        playing: Sequence[Players],
        entrants: Sequence[str],
        options: Options,
        seed: int,
    ) -> Round | Wait | Done:
        """The round after those that were played, while the matches in `playing` are not over."""

    def planned(
        self, round_id: int, entrants: Sequence[str], options: Options, seed: int
    ) -> Round | None:
        """A round that does not depend on results; None if there is none or it does."""

    def champion(self, played: Played, entrants: Sequence[str], options: Options) -> str | None:
        """Who wins the league if it ends after these rounds; None: the first of the table.

        It is asked again after a ruling, so it may not assume that the rounds follow from the
        results as they are now.
        """


class RoundRobin:
    """Every pair meets once per cycle; every second cycle repeats the first with seats swapped.

    The rounds follow the circle method. One place is the pivot, the others lie on a ring. In each
    round the pivot meets the head of the ring, the neighbours on both sides of the head meet, then
    their neighbours, and so on; after each round the ring turns by one. The seats alternate with
    the distance from the head, so a player changes seats from round to round, except once, around
    the match against the pivot. With an odd number of players there is no pivot, and the head has a
    bye.
    """

    name, version, pairs_by_results = "round_robin", 1, False

    def begin(self, entrants: Sequence[str], options: Options) -> Totals:
        """See Format; fewer than two players, a player twice, or no cycle is a ValueError."""
        number, cycles = len(entrants), options["cycles"]
        if number < 2:
            raise ValueError(f"A round robin needs at least 2 players, not {number}.")
        if len(set(entrants)) < number:
            raise ValueError("A round robin needs distinct players; one is named twice.")
        if cycles < 1:
            raise ValueError(f"A round robin needs at least 1 cycle, not {cycles}.")
        return Totals(cycles * _turns(number), cycles * (number * (number - 1) // 2))

    def next_round(
        self,
        played: Played,
        playing: Sequence[Players],
        entrants: Sequence[str],
        options: Options,
        seed: int,
    ) -> Round | Wait | Done:
        """Rounds do not depend on results, but one ends before the next begins."""
        if playing:
            return Wait()
        return self.planned(played.rounds + 1, entrants, options, seed) or Done()

    def planned(
        self, round_id: int, entrants: Sequence[str], options: Options, seed: int
    ) -> Round | None:
        """One round, without computing any other."""
        cycle, turn = divmod(round_id - 1, _turns(len(entrants)))
        if not 0 <= cycle < options["cycles"]:
            return None
        others = list(entrants)
        pivot = others.pop(0) if len(entrants) % 2 == 0 else None
        # In this order round 1 pairs the players as they come: P01 and P02, P03 and P04.
        ring = [others[0], *others[1::2], *reversed(others[2::2])]
        head, *rest = ring[turn:] + ring[:turn]
        pairings = [] if pivot is None else [_seated(pivot, head, turn + cycle)]
        for distance in range(len(rest) // 2):
            pairings.append(_seated(rest[distance], rest[-1 - distance], distance + cycle))
        return Round(round_id, tuple(pairings), (head,) if pivot is None else ())

    def champion(self, played: Played, entrants: Sequence[str], options: Options) -> None:
        """The first of the table wins."""


def _turns(players: int) -> int:
    """Rounds in a cycle."""
    return players - 1 if players % 2 == 0 else players


def _seated(one: str, other: str, swaps: int) -> Players:
    return (other, one) if swaps % 2 else (one, other)


ROUND_ROBIN = RoundRobin()
FORMATS: Mapping[str, Format] = {each.name: each for each in (ROUND_ROBIN,)}


def find_format(journalled: tuple[str, int] | UnsetType, given: Format = ROUND_ROBIN) -> Format:
    """The format that a journal names by name and version: the given one, or one of the table.

    Journals of round robins do not name it. Raises Damaged if there is no such format here.
    """
    if journalled is UNSET:
        return ROUND_ROBIN
    for each in (given, *FORMATS.values()):
        if (each.name, each.version) == journalled:
            return each
    name, version = journalled
    raise Damaged(f"the league has the format {name!r} version {version}, which is not known here")
