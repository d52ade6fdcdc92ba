"""How long matches take, as their referee sees it: from the invitation to the answered report."""

from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from agentleague.protocol.messages import GameInvitation, MatchResultReport, Message
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer, Cancel
from agentleague.runtime.local_league import Cast, open_built_in
from agentleague.runtime.processes import Running

SUFFIX = ".times"


class MatchTimes:
    """Stands before a referee's transport and looks at two messages of each match."""

    def __init__(self, referee: Running, now: Callable[[], float]) -> None:
        self.seconds = array("d")
        self._call, self._now = referee.transport.call, now
        self._began: dict[str, float] = {}

    def call(
        self, to: Address, message: Message, until: float, done: Callable[[Answer], None]
    ) -> Cancel:
        """Ask another agent, as the transport does."""
        if isinstance(message, GameInvitation):
            self._began.setdefault(message.match_id, self._now())
        elif isinstance(message, MatchResultReport) and message.match_id in self._began:
            return self._call(to, message, until, self._ending(message.match_id, done))
        return self._call(to, message, until, done)

    def _ending(self, match_id: str, done: Callable[[Answer], None]) -> Callable[[Answer], None]:
        def answered(answer: Answer) -> None:
            if answer.error is None and match_id in self._began:  # Else it is reported again.
                self.seconds.append(self._now() - self._began.pop(match_id))
            done(answer)

        return answered


async def open_timed(folder: Path, cast: Cast, number: int) -> Running:
    """An agent of a crew; a referee leaves the times of its matches in this folder."""
    agent = await open_built_in(cast, number)
    if cast.role == "referee":
        times = MatchTimes(agent, perf_counter)  # A loop's own clock may only tell milliseconds.
        agent.transport.call = times.call  # type: ignore[method-assign]
        path = folder / f"{number}{SUFFIX}"
        agent.ended.add_done_callback(lambda _: path.write_bytes(times.seconds.tobytes()))
    return agent


def times_in(folder: Path) -> Sequence[float]:
    """The times of all matches of a league, the shortest first."""
    seconds = array("d")
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        seconds.frombytes(path.read_bytes())
    return sorted(seconds)


def within(times: Sequence[float], percent: int) -> float:
    """What so many of the sorted times do not exceed; nothing where there are none."""
    return times[(percent * len(times) + 99) // 100 - 1] if times else 0.0
