"""Who meets whom, when, and in which seat: a round robin by the circle method.

One place is the pivot, the others lie on a ring. In each round the pivot meets the head of the
ring, and the neighbours on both sides of the head meet, then their neighbours, and so on; after
each round the ring turns by one. The seats alternate with the distance from the head, so a player
changes seats from round to round, except once, around the match against the pivot. With an odd
number of players the pivot is an empty chair, and whoever meets it has a bye.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Pairing(NamedTuple):
    """One match to come; `player_a` takes the first seat."""

    match_id: str
    player_a: str
    player_b: str


class Round(NamedTuple):
    """What is played at the same time, and who rests meanwhile."""

    round_id: int
    pairings: tuple[Pairing, ...]
    byes: tuple[str, ...]


class Schedule:
    """Every pair once per cycle; every second cycle repeats the first with seats swapped.

    Raises:
        ValueError: fewer than two players, a player twice, or no cycle.
    """

    def __init__(self, players: Sequence[str], cycles: int = 1) -> None:
        if len(players) < 2:
            raise ValueError(f"A round robin needs at least 2 players, not {len(players)}.")
        if len(set(players)) < len(players):
            raise ValueError("A round robin needs distinct players; one is named twice.")
        if cycles < 1:
            raise ValueError(f"A round robin needs at least 1 cycle, not {cycles}.")
        others = list(players)
        self._pivot = others.pop(0) if len(players) % 2 == 0 else None
        # In this order round 1 pairs the players as they come: P01 and P02, P03 and P04.
        self._ring = [others[0], *others[1::2], *reversed(others[2::2])]
        self._cycles = cycles
        self._players = len(players)

    @property
    def rounds_total(self) -> int:
        return self._cycles * len(self._ring)

    @property
    def matches_total(self) -> int:
        return self._cycles * (self._players * (self._players - 1) // 2)

    def round(self, round_id: int) -> Round:
        """One round, computed anew on each call; rounds count from 1.

        Raises:
            IndexError: there is no such round.
        """
        if not 1 <= round_id <= self.rounds_total:
            raise IndexError(f"There is no round {round_id}, only 1 to {self.rounds_total}.")
        cycle, turn = divmod(round_id - 1, len(self._ring))
        head, *rest = self._ring[turn:] + self._ring[:turn]
        pairs = [] if self._pivot is None else [_seated(self._pivot, head, turn + cycle)]
        for distance in range(len(rest) // 2):
            pairs.append(_seated(rest[distance], rest[-1 - distance], distance + cycle))
        return Round(
            round_id,
            tuple(Pairing(f"R{round_id}M{n}", a, b) for n, (a, b) in enumerate(pairs, start=1)),
            (head,) if self._pivot is None else (),
        )


def _seated(one: str, other: str, swaps: int) -> tuple[str, str]:
    return (other, one) if swaps % 2 else (one, other)
