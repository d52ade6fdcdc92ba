"""Which matches each referee still has to get, and which it is at."""

from collections.abc import Callable, Sequence


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
        """A referee is there."""
        self._capacity[referee_id] = capacity
        self._waiting[referee_id], self._running[referee_id] = [], set()

    def begin_round(self) -> None:
        """What was handed out in the round before is of no interest any more."""
        self._after = {}

    def plan(self, referee_id: str, match_id: str) -> None:
        """The referee is to have this match."""
        self._waiting[referee_id].append(match_id)

    def take(self, referee_id: str, at_most: int) -> list[str]:
        """Matches that the referee can have now; from here on it is at them."""
        waiting, running = self._waiting[referee_id], self._running[referee_id]
        waiting[:] = filter(self._is_open, waiting)
        matches = waiting[: min(self._capacity[referee_id] - len(running), at_most)]
        del waiting[: len(matches)]
        running.update(matches)
        return matches

    def take_after(self, referee_id: str, reported: str) -> list[str]:
        """The match that goes with the answer to a report; the same one when the report repeats."""
        if reported not in self._after:
            self._after[reported] = self.take(referee_id, 1)
        return list(filter(self._is_open, self._after[reported]))

    def give_back(self, referee_id: str, matches: Sequence[str]) -> None:
        """The referee was not reached: the matches wait again, first of all."""
        self._waiting[referee_id][:0] = matches
        self._running[referee_id].difference_update(matches)

    def done(self, referee_id: str, match_id: str) -> None:
        """The referee has reported a match."""
        self._running[referee_id].discard(match_id)
