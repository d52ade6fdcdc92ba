"""What the manager still has to tell whom: to each agent one message at a time, in order."""

from collections.abc import Hashable
from typing import Any

from msgspec import Struct

from agentleague.protocol.messages import LeagueStandingsUpdate, Message
from agentleague.roles.effects import Address, Call


class Letter(Struct):
    """A message to one agent; `tag` says what to do when it was answered or given up."""

    message: Message
    tag: Hashable = None
    receipt: int | None = None


class Outbox:
    """Queues of letters; a letter is in flight from its Call to its answer."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._queues: dict[str, list[Letter]] = {}

    def send(self, to: Address, letter: Letter, now: float) -> list[Call]:
        """Call at once, or wait behind what is in flight; a newer table replaces a waiting one."""
        queue = self._queues.setdefault(to.agent_id, [])
        if len(queue) > 1 and _is_table(letter) and _is_table(queue[-1]):
            queue[-1] = letter
            return []
        queue.append(letter)
        return [self._call(to, letter, now)] if len(queue) == 1 else []

    def answered(self, to: Address, now: float) -> tuple[Any, list[Call]]:
        """The letter in flight is done with: its tag, and the next call."""
        queue = self._queues[to.agent_id]
        done = queue.pop(0)
        return done.tag, [self._call(to, queue[0], now)] if queue else []

    def is_empty(self) -> bool:
        """Whether everybody was told everything, or given up."""
        return not any(self._queues.values())

    def _call(self, to: Address, letter: Letter, now: float) -> Call:
        return Call(("tell", to.agent_id), to, letter.message, now + self._seconds, letter.receipt)


def _is_table(letter: Letter) -> bool:
    return isinstance(letter.message, LeagueStandingsUpdate)
