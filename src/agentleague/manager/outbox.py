"""What the manager still has to tell: to each agent in order.

An agent of ours gets all that waits for it at once, in one broadcast with the others; its
connection keeps the order. Every other agent gets one message at a time, and so does one that did
not answer in time.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable

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
    Messages that are dropped for that reason count as given up.
    """

    def __init__(
        self, address: Callable[[str], Address], seconds: float, called_max: int = 1_000
    ) -> None:
        self._address, self._seconds, self._called_max = address, seconds, called_max
        self._waiting: dict[str, list[Outgoing]] = {}  # agent -> messages; also with none waiting
        self._in_flight: dict[str, list[Outgoing]] = {}
        self.ready = deque[str]()  # agents that wait only for room, or for the end of the step
        self._lagging: set[str] = set()  # agents that let their last message run out
        self._broadcasts: dict[Hashable, list[str]] = {}  # in flight -> who did not answer yet
        self._last_broadcast = 0
        self._settled = defaultdict[Key | None, list[str]](list)  # whose message about what is done

    def send(
        self,
        messages: Iterable[tuple[str, Message]],
        subject: Key | None = None,
        receipt: int | None = None,
        *,
        keep: bool = False,
    ) -> None:
        """They go out next, or behind what is in flight; a newer table replaces a waiting one."""
        for agent_id, message in messages:
            outgoing = Outgoing(message, subject, receipt, keep)
            waiting = self._waiting.get(agent_id)
            if waiting is None:
                self._waiting[agent_id] = [outgoing]
                self.ready.append(agent_id)
                continue
            is_table = type(message) is LeagueStandingsUpdate
            if is_table and waiting and type(waiting[-1].message) is LeagueStandingsUpdate:
                waiting[-1] = outgoing
                continue
            if keep:  # It takes the place of what tells the same, behind what is told first.
                waiting[:] = [other for other in waiting if other.subject != subject]
            waiting.append(outgoing)
            if agent_id in self._lagging:
                self._thin(agent_id, waiting)

    def calls(self, now: float) -> list[Call | Broadcast]:
        """What goes out now, to all for whom there is room."""
        until, letters = now + self._seconds, []
        calls: list[Call | Broadcast] = []
        while self.ready and len(self._in_flight) < self._called_max:
            agent_id = self.ready.popleft()
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

    def answered(
        self, agents: Iterable[str], *, ran_out: bool, is_cut: bool = False
    ) -> dict[Key, list[str]]:
        """The subjects of messages that are done with or dropped, each with its agents."""
        for agent_id in agents:
            done, waiting = self._in_flight.pop(agent_id), self._waiting[agent_id]
            if ran_out or is_cut:  # Only the first was surely sent: the others wait again.
                waiting[:0] = _newest_tables(done[1:])
                del done[1:]
            if ran_out:
                self._lagging.add(agent_id)
                self._thin(agent_id, waiting)
            else:
                self._lagging.discard(agent_id)
            if waiting:
                self.ready.append(agent_id)
            else:
                del self._waiting[agent_id]
            for outgoing in done:
                self._settled[outgoing.subject].append(agent_id)
        settled = {subject: who for subject, who in self._settled.items() if subject is not None}
        self._settled.clear()
        return settled

    def is_empty(self) -> bool:
        """Whether every message was answered or given up."""
        return not self._waiting

    def _thin(self, agent_id: str, waiting: list[Outgoing]) -> None:
        newest = {type(outgoing.message): outgoing for outgoing in waiting}
        kept = [each for each in waiting if each.keep or newest[type(each.message)] is each]
        for each in waiting:
            if not any(each is one for one in kept):
                self._settled[each.subject].append(agent_id)
        waiting[:] = kept


def _newest_tables(again: list[Outgoing]) -> list[Outgoing]:
    """Messages to be told again: all may have been seen, so no older table follows the newest."""
    tables = [each for each in again if type(each.message) is LeagueStandingsUpdate]
    for each in tables:
        each.message = tables[-1].message
    return again
