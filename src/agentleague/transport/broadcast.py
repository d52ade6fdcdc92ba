"""A broadcast as separate calls: each agent gets its messages one after another."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from agentleague.errors import LeagueError, NoAnswer
from agentleague.protocol.messages import Message
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer, Cancel, OnAnswer, OnTold

CallOne = Callable[[Address, Message, float, OnAnswer], Cancel]


class SeparateCalls:
    """One broadcast under way."""

    def __init__(
        self,
        call: CallOne,
        letters: Sequence[tuple[Address, Sequence[Message]]],
        until: float,
        done: OnTold,
    ) -> None:
        self._call, self._until, self._done = call, until, done
        self._calls: dict[str, Cancel] = {}  # agent that has not answered its last message
        self.failed: dict[str, LeagueError] = {}
        for to, messages in letters:
            self._send(to, iter(messages))

    @property
    def awaited(self) -> Collection[str]:
        """Those who have not answered all their messages."""
        return self._calls.keys()

    def cancel(self) -> None:
        """Stop waiting."""
        for cancel in self._calls.values():
            cancel()

    def _send(self, to: Address, left: Iterator[Message]) -> None:
        for message in left:
            done = partial(self._answered, to, left)
            self._calls[to.agent_id] = self._call(to, message, self._until, done)
            return
        del self._calls[to.agent_id]
        if not self._calls:
            self._done(self.failed)

    def _answered(self, to: Address, left: Iterator[Message], answer: Answer) -> None:
        if answer.error:
            self.failed[to.agent_id] = answer.error
        self._send(to, iter(()) if isinstance(answer.error, NoAnswer) else left)
