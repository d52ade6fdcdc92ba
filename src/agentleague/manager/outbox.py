"""What the manager still has to tell whom: to each agent in order, one message at a time.

An agent of a house (R-REG-16) may have several on their way: it reads them one behind another. What
is lost behind another goes once more by itself: it may have been lost only with that.
"""

from collections import deque
from typing import Any

from msgspec import Struct

from agentleague.errors import LeagueError, NoAnswer, NoConnection
from agentleague.protocol.messages import LeagueStandingsUpdate, Message
from agentleague.roles.effects import Address, Call

LOST = (NoAnswer, NoConnection)
CALLED_MAX = 1_000  # agents at a time; more would open connections and hold messages for nothing
IN_A_ROW_MAX = 4  # letters to one agent that reads them one behind another


class Outgoing(Struct, gc=False):
    """A message to one agent; `tag` says what to do when it was answered or given up."""

    message: Message
    tag: Any = None
    receipt: int | None = None
    keep: bool = False  # no other letter repeats what it says: it is never dropped
    is_behind: bool = False  # others were on their way when it went
    is_again: bool = False  # it was lost behind one of them


class Outbox:
    """Letters that wait, and letters in flight: from their Call to their answer.

    Where many are to be told, those for whom there is no room wait their turn. For an agent that
    let a letter run out only the newest of each type waits, until it answers. Letters that were
    dropped so are in `dropped`, for whoever waits for their answers.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: dict[str, list[Outgoing]] = {}  # of those who are still to be told something
        self._addresses: dict[str, Address] = {}  # of the same, the newest known
        self._in_flight: dict[str, dict[int, Outgoing]] = {}  # to whom letters go, by their number
        self._called = 0  # agents to whom letters are on their way
        self._ready: deque[str] = deque()  # to whom one is to go as soon as there is room
        self._is_ready: set[str] = set()  # the same
        self._lagging: set[str] = set()
        self._tables: dict[str, Outgoing] = {}  # the last one that went to each who is being told
        self.dropped: list[tuple[str, Outgoing]] = []

    def send(self, to: Address, outgoing: Outgoing, now: float) -> list[Call]:
        """Call at once, or wait behind what is in flight; a newer table replaces a waiting one."""
        agent_id = to.agent_id
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
        self._queue(to)
        return self._calls(now) if self._ready else []

    def answered(
        self, to: Address, number: int, now: float, error: LeagueError | None = None
    ) -> tuple[Any, list[Call]]:
        """This letter in flight is done with: its tag, and the next calls, to whomever.

        There is no tag where it goes once more.
        """
        agent_id = to.agent_id
        in_flight, waiting = self._in_flight[agent_id], self._waiting[agent_id]
        done, self._addresses[agent_id] = in_flight.pop(number), to
        if not in_flight:
            self._called -= 1
        goes_again = isinstance(error, LOST) and self._may_go_again(agent_id, done)
        if goes_again:
            done.is_again = True
            waiting.insert(sum(outgoing.is_again for outgoing in waiting), done)
        if isinstance(error, NoAnswer):
            self._lagging.add(agent_id)
            self._thin(agent_id, waiting)
        else:
            self._lagging.discard(agent_id)
        if waiting:
            self._queue(to)
        elif not in_flight:
            del self._waiting[agent_id], self._addresses[agent_id], self._in_flight[agent_id]
            self._tables.pop(agent_id, None)
        return None if goes_again else done.tag, self._calls(now) if self._ready else []

    def is_empty(self) -> bool:
        """Whether everybody was told everything, or given up."""
        return not self._waiting

    def is_behind(self) -> bool:
        """Whether somebody waits only because there is no room."""
        return bool(self._ready)

    def _queue(self, to: Address) -> None:
        """Let its next letter go as soon as there is room, if one may before an answer comes."""
        agent_id = to.agent_id
        if agent_id in self._is_ready:
            return
        in_flight = len(self._in_flight.get(agent_id, ()))
        is_next = to.house and in_flight < IN_A_ROW_MAX and agent_id not in self._lagging
        if not in_flight or is_next:
            self._ready.append(agent_id)
            self._is_ready.add(agent_id)

    def _may_go_again(self, agent_id: str, outgoing: Outgoing) -> bool:
        """Whether it may have been lost with another; no table goes after a newer one."""
        is_newest = not _is_table(outgoing) or self._tables[agent_id] is outgoing
        return outgoing.is_behind and not outgoing.is_again and is_newest

    def _calls(self, now: float) -> list[Call]:
        calls = []
        while self._ready and self._called < CALLED_MAX:
            agent_id = self._ready.popleft()
            self._is_ready.discard(agent_id)
            to, waiting = self._addresses[agent_id], self._waiting[agent_id]
            in_flight = self._in_flight.setdefault(agent_id, {})
            if not in_flight:
                self._called += 1
            is_quick = to.house and agent_id not in self._lagging
            in_a_row = IN_A_ROW_MAX if is_quick else 1
            while waiting and len(in_flight) < in_a_row:
                number, outgoing = 0, waiting.pop(0)
                while number in in_flight:
                    number += 1
                outgoing.is_behind = bool(in_flight)
                if isinstance(outgoing.message, LeagueStandingsUpdate):
                    self._tables[agent_id] = outgoing
                in_flight[number] = outgoing
                key, until = ("tell", agent_id, number), now + self._seconds
                calls.append(Call(key, to, outgoing.message, until, outgoing.receipt))
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
