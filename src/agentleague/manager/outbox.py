"""What the manager still has to tell: to each agent in order.

An agent of ours gets all that waits for it at once, in one broadcast with the others; its
connection keeps the order. Every other agent gets one message at a time, and so does one that did
not answer in time.
"""

from collections import deque
from collections.abc import Callable, Collection, Hashable

from msgspec import Struct

from agentleague.manager.keys import BroadcastCall, Key, OutboxCall
from agentleague.protocol.messages import LeagueStandingsUpdate, Message
from agentleague.roles.effects import Address, Broadcast, Call


class Outgoing(Struct, gc=False):
    """A message to one agent; `subject` says what to do when it was answered or given up."""

    message: Message
    subject: Key | None = None
    receipt: int | None = None
    keep: bool = False  # no other message repeats what it says: it is never dropped


class Outbox:
    """Messages that wait, and messages in flight: from their effect to their answer.

    At most `called_max` agents are called at a time; the others wait their turn. For an agent that
    did not answer a message in time only the newest of each type waits, until it answers one.
    Messages that are dropped for that reason are in `dropped`; the manager counts them as given up.
    """

    def __init__(
        self, address: Callable[[str], Address], seconds: float, called_max: int = 1_000
    ) -> None:
        self._address, self._seconds, self._called_max = address, seconds, called_max
        self._waiting: dict[str, list[Outgoing]] = {}  # agent -> messages; also with none waiting
        self._in_flight: dict[str, list[Outgoing]] = {}
        self._ready: deque[str] = deque()  # agents to call as soon as there is room
        self._lagging: set[str] = set()  # agents that let their last message run out
        self._broadcasts: dict[Hashable, list[str]] = {}  # in flight -> who did not answer yet
        self._last_broadcast = 0
        self.dropped: list[tuple[str, Outgoing]] = []

    def send(self, agent_id: str, outgoing: Outgoing) -> None:
        """It goes out next, or behind what is in flight; a newer table replaces a waiting one."""
        is_first = agent_id not in self._waiting
        waiting = self._waiting.setdefault(agent_id, [])
        if waiting and _is_table(outgoing) and _is_table(waiting[-1]):
            waiting[-1] = outgoing
            return
        if outgoing.keep:  # It takes the place of what tells the same, behind what is told first.
            waiting[:] = [other for other in waiting if other.subject != outgoing.subject]
        waiting.append(outgoing)
        if agent_id in self._lagging:
            self._thin(agent_id, waiting)
        if is_first:
            self._ready.append(agent_id)

    def calls(self, now: float) -> list[Call | Broadcast]:
        """What goes out now, to all for whom there is room."""
        until, letters = now + self._seconds, []
        calls: list[Call | Broadcast] = []
        while self._ready and len(self._in_flight) < self._called_max:
            agent_id = self._ready.popleft()
            to, waiting = self._address(agent_id), self._waiting[agent_id]
            if to.proof_keys and not to.dialect and agent_id not in self._lagging:
                self._in_flight[agent_id], self._waiting[agent_id] = waiting, []
                letters.append((to, [(each.message, each.receipt) for each in waiting]))
            else:
                first = waiting.pop(0)
                self._in_flight[agent_id] = [first]
                calls.append(Call(OutboxCall(agent_id), to, first.message, until, first.receipt))
        if letters:
            self._last_broadcast += 1
            key = BroadcastCall(self._last_broadcast)
            self._broadcasts[key] = [to.agent_id for to, _ in letters]
            calls.append(Broadcast(key, letters, until))
        return calls

    def heard(self, key: Hashable, awaited: Collection[str]) -> list[str]:
        """Those of a broadcast who answered or failed since the last time."""
        agents = self._broadcasts.pop(key)
        if awaited:
            self._broadcasts[key] = [each for each in agents if each in awaited]
        return [each for each in agents if each not in awaited]

    def answered(self, agent_id: str, *, ran_out: bool) -> list[Outgoing]:
        """The messages that are done with; of those that ran out only the first was surely sent."""
        done, waiting = self._in_flight.pop(agent_id), self._waiting[agent_id]
        if ran_out:
            self._lagging.add(agent_id)
            waiting[:0] = done[1:]
            del done[1:]
            self._thin(agent_id, waiting)
        else:
            self._lagging.discard(agent_id)
        if waiting:
            self._ready.append(agent_id)
        else:
            del self._waiting[agent_id]
        return done

    def is_empty(self) -> bool:
        """Whether every message was answered or given up."""
        return not self._waiting

    def is_behind(self) -> bool:
        """Whether an agent waits only because too many others are called."""
        return bool(self._ready)

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
