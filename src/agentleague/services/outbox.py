"""What the manager still has to tell whom: to each agent one message at a time, in order."""

from collections import deque
from typing import Any

from msgspec import Struct

from agentleague.protocol.messages import LeagueStandingsUpdate, Message
from agentleague.roles.effects import Address, Call

IN_FLIGHT_MAX = 1_000  # letters; more would open connections and hold messages for nothing


class Letter(Struct, gc=False):
    """A message to one agent; `tag` says what to do when it was answered or given up."""

    message: Message
    tag: Any = None
    receipt: int | None = None
    keep: bool = False  # no other letter repeats what it says: it is never dropped


class Outbox:
    """Queues of letters; a letter is in flight from its Call to its answer.

    Where many are to be told, those for whom there is no room wait their turn. For an agent that
    let a letter run out only the newest of each type waits, until it answers. Letters that were
    dropped so are in `dropped`, for whoever waits for their answers.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._queues: dict[str, list[Letter]] = {}  # of those who are still to be told something
        self._addresses: dict[str, Address] = {}  # of the same, the newest known
        self._in_flight: set[str] = set()  # to whom a letter is on its way
        self._ready: deque[str] = deque()  # to whom one is to go as soon as there is room
        self._lagging: set[str] = set()
        self.dropped: list[tuple[str, Letter]] = []

    def send(self, to: Address, letter: Letter, now: float) -> list[Call]:
        """Call at once, or wait behind what is in flight; a newer table replaces a waiting one."""
        agent_id = to.agent_id
        queue, self._addresses[agent_id] = self._queues.setdefault(agent_id, []), to
        sent = int(agent_id in self._in_flight)
        if len(queue) > sent and _is_table(letter) and _is_table(queue[-1]):
            queue[-1] = letter
            return []
        if letter.keep:
            for place, waiting in enumerate(queue[sent:], sent):
                if waiting.keep and waiting.tag == letter.tag:
                    queue[place] = letter
                    return []
        is_first = not queue
        queue.append(letter)
        if agent_id in self._lagging:
            self._thin(agent_id, queue, in_flight=sent)
        if is_first:
            self._ready.append(agent_id)
        return self._calls(now)

    def answered(self, to: Address, now: float, *, ran_out: bool) -> tuple[Any, list[Call]]:
        """The letter in flight is done with: its tag, and the next calls, to whomever."""
        agent_id = to.agent_id
        queue, self._addresses[agent_id] = self._queues[agent_id], to
        done = queue.pop(0)
        self._in_flight.discard(agent_id)
        if ran_out:
            self._lagging.add(agent_id)
            self._thin(agent_id, queue, in_flight=0)
        else:
            self._lagging.discard(agent_id)
        if queue:
            self._ready.append(agent_id)
        else:
            del self._queues[agent_id], self._addresses[agent_id]
        return done.tag, self._calls(now)

    def is_empty(self) -> bool:
        """Whether everybody was told everything, or given up."""
        return not self._queues

    def _calls(self, now: float) -> list[Call]:
        calls = []
        while self._ready and len(self._in_flight) < IN_FLIGHT_MAX:
            agent_id = self._ready.popleft()
            self._in_flight.add(agent_id)
            to, letter = self._addresses[agent_id], self._queues[agent_id][0]
            until = now + self._seconds
            calls.append(Call(("tell", agent_id), to, letter.message, until, letter.receipt))
        return calls

    def _thin(self, agent_id: str, queue: list[Letter], in_flight: int) -> None:
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
