"""What the manager still has to tell whom: to each agent one message at a time, in order."""

from typing import Any

from msgspec import Struct

from agentleague.protocol.messages import LeagueStandingsUpdate, Message
from agentleague.roles.effects import Address, Call


class Letter(Struct):
    """A message to one agent; `tag` says what to do when it was answered or given up."""

    message: Message
    tag: Any = None
    receipt: int | None = None
    keep: bool = False  # no other letter repeats what it says: it is never dropped


class Outbox:
    """Queues of letters; a letter is in flight from its Call to its answer.

    For an agent that let a letter run out only the newest of each type waits, until it answers.
    Letters that were dropped so are in `dropped`, for whoever waits for their answers.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._queues: dict[str, list[Letter]] = {}  # of those who are still to be told something
        self._lagging: set[str] = set()
        self.dropped: list[tuple[str, Letter]] = []

    def send(self, to: Address, letter: Letter, now: float) -> list[Call]:
        """Call at once, or wait behind what is in flight; a newer table replaces a waiting one."""
        queue = self._queues.setdefault(to.agent_id, [])
        if len(queue) > 1 and _is_table(letter) and _is_table(queue[-1]):
            queue[-1] = letter
            return []
        if letter.keep:
            for place, waiting in enumerate(queue[1:], 1):
                if waiting.keep and waiting.tag == letter.tag:
                    queue[place] = letter
                    return []
        queue.append(letter)
        if to.agent_id in self._lagging:
            self._thin(to.agent_id, queue)
        return [self._call(to, letter, now)] if len(queue) == 1 else []

    def answered(self, to: Address, now: float, *, ran_out: bool) -> tuple[Any, list[Call]]:
        """The letter in flight is done with: its tag, and the next call."""
        queue = self._queues[to.agent_id]
        done = queue.pop(0)
        if not queue:
            del self._queues[to.agent_id]
        if ran_out:
            self._lagging.add(to.agent_id)
            self._thin(to.agent_id, queue, in_flight=0)
        else:
            self._lagging.discard(to.agent_id)
        return done.tag, [self._call(to, queue[0], now)] if queue else []

    def is_empty(self) -> bool:
        """Whether everybody was told everything, or given up."""
        return not self._queues

    def _call(self, to: Address, letter: Letter, now: float) -> Call:
        return Call(("tell", to.agent_id), to, letter.message, now + self._seconds, letter.receipt)

    def _thin(self, agent_id: str, queue: list[Letter], in_flight: int = 1) -> None:
        waiting = queue[in_flight:]
        newest = {type(letter.message): letter for letter in waiting}
        kept = [each for each in waiting if each.keep or newest[type(each.message)] is each]
        if len(kept) < len(waiting):
            self.dropped += [
                (agent_id, each) for each in waiting if not any(each is one for one in kept)
            ]
            queue[in_flight:] = kept


def _is_table(letter: Letter) -> bool:
    return isinstance(letter.message, LeagueStandingsUpdate)
