"""What the manager still has to tell: to each agent in order, one message at a time."""

from collections import deque

from msgspec import Struct

from agentleague.manager.keys import Key, OutboxCall
from agentleague.protocol.messages import LeagueStandingsUpdate, Message
from agentleague.roles.effects import Address, Call


class Outgoing(Struct, gc=False):
    """A message to one agent; `subject` says what to do when it was answered or given up."""

    message: Message
    subject: Key | None = None
    receipt: int | None = None
    keep: bool = False  # no other message repeats what it says: it is never dropped


class Outbox:
    """Messages that wait, and messages in flight: from their Call to their answer.

    At most `called_max` agents are called at a time; the others wait their turn. For an agent that
    did not answer a message in time only the newest of each type waits, until it answers one.
    Messages that are dropped for that reason are in `dropped`; the manager counts them as given up.
    """

    def __init__(self, seconds: float, called_max: int = 1_000) -> None:
        self._seconds, self._called_max = seconds, called_max
        self._waiting: dict[str, list[Outgoing]] = {}  # agent -> messages; also with none waiting
        self._addresses: dict[str, Address] = {}  # of the same agents, the newest known
        self._in_flight: dict[str, Outgoing] = {}
        self._ready: deque[str] = deque()  # agents to call as soon as there is room
        self._lagging: set[str] = set()  # agents that let their last message run out
        self.dropped: list[tuple[str, Outgoing]] = []

    def send(self, to: Address, outgoing: Outgoing, now: float) -> list[Call]:
        """Call at once, or wait behind what is in flight; a newer table replaces a waiting one."""
        agent_id = to.agent_id
        is_first = agent_id not in self._waiting
        waiting, self._addresses[agent_id] = self._waiting.setdefault(agent_id, []), to
        if waiting and _is_table(outgoing) and _is_table(waiting[-1]):
            waiting[-1] = outgoing
            return []
        if outgoing.keep:  # It takes the place of what tells the same, behind what is told first.
            waiting[:] = [other for other in waiting if other.subject != outgoing.subject]
        waiting.append(outgoing)
        if agent_id in self._lagging:
            self._thin(agent_id, waiting)
        if is_first:
            self._ready.append(agent_id)
        return self._calls(now) if self._ready else []

    def answered(self, to: Address, now: float, *, ran_out: bool) -> tuple[Key | None, list[Call]]:
        """The message in flight is done with: its subject, and the next calls, to any agent."""
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
        return done.subject, self._calls(now) if self._ready else []

    def is_empty(self) -> bool:
        """Whether every message was answered or given up."""
        return not self._waiting

    def is_behind(self) -> bool:
        """Whether an agent waits only because too many others are called."""
        return bool(self._ready)

    def _calls(self, now: float) -> list[Call]:
        calls = []
        while self._ready and len(self._in_flight) < self._called_max:
            agent_id = self._ready.popleft()
            outgoing = self._in_flight[agent_id] = self._waiting[agent_id].pop(0)
            to, until = self._addresses[agent_id], now + self._seconds
            calls.append(Call(OutboxCall(agent_id), to, outgoing.message, until, outgoing.receipt))
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
