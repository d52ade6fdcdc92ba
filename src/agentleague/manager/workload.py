"""Which matches each referee still has to get, and which it is at."""

from collections.abc import Callable, Iterable, Sequence

WEIGHT_MAX = 64  # matches at once, as far as they count when matches are spread


class Workload:
    """The matches of a round by referee; none has more at once than it can take.

    `is_open` says whether a match is still to be played: one that was closed while an answer was
    lost is not handed out again.
    """

    def __init__(self, is_open: Callable[[str], bool]) -> None:
        self._is_open = is_open
        self._capacity: dict[str, int] = {}
        self._waiting: dict[str, list[str]] = {}
        self._running: dict[str, set[str]] = {}
        self._after: dict[str, list[str]] = {}  # reported match of this round -> what came with it

    @property
    def referees(self) -> Sequence[str]:
        """All who can be given matches, in order of registration."""
        return list(self._capacity)

    def join(self, referee_id: str, capacity: int) -> None:
        """A referee is there, or is there anew: it is at nothing."""
        self._capacity[referee_id] = capacity
        self._waiting[referee_id], self._running[referee_id] = [], set()

    def load(self, referee_id: str) -> float:
        """How much a referee has to do, as a part of what it can do at once."""
        matches = len(self._waiting[referee_id]) + len(self._running[referee_id])
        return matches / self._capacity[referee_id]

    def weight(self, referee_id: str) -> int:
        """What it says it can take at once, within reason: nobody gets nearly all by saying so."""
        return min(self._capacity[referee_id], WEIGHT_MAX)

    def begin_round(self) -> None:
        """What was handed out in the round before is of no interest any more."""
        self._after = {}

    def plan(self, referee_id: str, match_id: str) -> None:
        """The referee is to have this match."""
        self._waiting[referee_id].append(match_id)

    def matches_of(self, referee_id: str) -> list[str]:
        """All that it is to have or is at, and that are still open."""
        matches: Iterable[str] = [*sorted(self._running[referee_id]), *self._waiting[referee_id]]
        return list(filter(self._is_open, matches))

    def take(self, referee_id: str, at_most: int) -> list[str]:
        """Matches that the referee can have now; from here on it is at them."""
        waiting, running = self._waiting[referee_id], self._running[referee_id]
        waiting[:] = filter(self._is_open, waiting)
        free = max(self._capacity[referee_id] - len(running), 0)
        matches = waiting[: min(free, at_most)]
        del waiting[: len(matches)]
        running.update(matches)
        return matches

    def take_after(self, referee_id: str, reported: str) -> list[str]:
        """The match that goes with the answer to a report; the same one when the report repeats."""
        if reported not in self._after:
            self._after[reported] = self.take(referee_id, 1)
        running = self._running[referee_id]
        still = filter(self._is_open, self._after[reported])
        return [match_id for match_id in still if match_id in running]

    def give_back(self, referee_id: str, matches: Sequence[str]) -> None:
        """The referee was not reached: those it is still at wait again, first of all."""
        running = self._running[referee_id]
        lost = [match_id for match_id in matches if match_id in running]
        self._waiting[referee_id][:0] = lost
        running.difference_update(lost)

    def done(self, referee_id: str, match_id: str) -> None:
        """The referee has reported a match, or lost it to another."""
        if match_id in self._running[referee_id]:
            self._running[referee_id].discard(match_id)
        elif match_id in self._waiting[referee_id]:
            self._waiting[referee_id].remove(match_id)
