"""What the manager still has to tell whom: to each agent in order, one message at a time."""

from collections import deque
from typing import Any

from msgspec import Struct

from agentleague.protocol.messages import LeagueStandingsUpdate, Message
from agentleague.roles.effects import Address, Call

CALLED_MAX = 1_000  # agents at a time; more would open connections and hold messages for nothing


class Outgoing(Struct, gc=False):
    """A message to one agent; `tag` says what to do when it was answered or given up."""

    message: Message
    tag: Any = None
    receipt: int | None = None
    keep: bool = False  # no other message repeats what it says: it is never dropped


class Outbox:
    """Messages that wait, and messages in flight: from their Call to their answer.

    At most `CALLED_MAX` agents are called at a time; the others wait their turn. For an agent that
    did not answer a message in time only the newest of each type waits, until it answers one.
    Messages that are dropped for that reason are in `dropped`, because a tag may wait for them.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: dict[str, list[Outgoing]] = {}  # of those who are still to be told something
        self._addresses: dict[str, Address] = {}  # of the same, the newest known
        self._in_flight: dict[str, Outgoing] = {}
        self._ready: deque[str] = deque()  # to whom one is to go as soon as there is room
        self._lagging: set[str] = set()
        self.dropped: list[tuple[str, Outgoing]] = []

    def send(self, to: Address, outgoing: Outgoing, now: float) -> list[Call]:
        """Call at once, or wait behind what is in flight; a newer table replaces a waiting one."""
        agent_id = to.agent_id
        is_first = agent_id not in self._waiting
        waiting, self._addresses[agent_id] = self._waiting.setdefault(agent_id, []), to
        if waiting and _is_table(outgoing) and _is_table(waiting[-1]):
            waiting[-1] = outgoing
            return []
        if outgoing.keep:
            for place, other in enumerate(waiting):
                if other.keep and other.tag == outgoing.tag:
                    waiting[place] = outgoing
                    return []
        waiting.append(outgoing)
        if agent_id in self._lagging:
            self._thin(agent_id, waiting)
        if is_first:
            self._ready.append(agent_id)
        return self._calls(now) if self._ready else []

    def answered(self, to: Address, now: float, *, ran_out: bool) -> tuple[Any, list[Call]]:
        """The message in flight is done with: its tag, and the next calls, to any agent."""
        agent_id = to.agent_id
        waiting, self._addresses[agent_id] = self._waiting[agent_id], to
        done = self._in_flight.pop(agent_id)
        if ran_out:
            self._lagging.add(agent_id)
            self._thin(agent_id, waiting)
        else:
            self._lagging.discard(agent_id)
        if waiting:
            self._ready.append(agent_id)
        else:
            del self._waiting[agent_id], self._addresses[agent_id]
        return done.tag, self._calls(now) if self._ready else []

    def is_empty(self) -> bool:
        """Whether everybody was told everything, or given up."""
        return not self._waiting

    def is_behind(self) -> bool:
        """Whether somebody waits only because there is no room."""
        return bool(self._ready)

    def _calls(self, now: float) -> list[Call]:
        calls = []
        while self._ready and len(self._in_flight) < CALLED_MAX:
            agent_id = self._ready.popleft()
            outgoing = self._in_flight[agent_id] = self._waiting[agent_id].pop(0)
            to, until = self._addresses[agent_id], now + self._seconds
            calls.append(Call(("tell", agent_id), to, outgoing.message, until, outgoing.receipt))
        return calls

    def _thin(self, agent_id: str, waiting: list[Outgoing]) -> None:
        newest = {type(outgoing.message): outgoing for outgoing in waiting}
        kept = [each for each in waiting if each.keep or newest[type(each.message)] is each]
        if len(kept) < len(waiting):
            self.dropped += [
                (agent_id, each) for each in waiting if not any(each is one for one in kept)
            ]
            waiting[:] = kept


def _is_table(outgoing: Outgoing) -> bool:
    return isinstance(outgoing.message, LeagueStandingsUpdate)
