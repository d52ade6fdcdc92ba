"""Deadlines: one timer for all of them, and none is forgotten."""

import asyncio

from agentleague.transport.event_loop import Deadlines


class Waiting:
    """Something that must be over by a certain time."""

    def __init__(self, deadlines, until, breaks=False):
        self.until, self.expired, self._breaks = until, asyncio.Event(), breaks
        self._deadlines = deadlines
        deadlines.watch(self)

    def expire(self):
        self._deadlines.open.discard(self)
        self.expired.set()
        if self._breaks:
            raise RuntimeError("a bug in the waiting code")


def test_one_that_breaks_takes_no_other_with_it_and_later_ones_follow():
    async def main():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda *_: None)
        deadlines, now = Deadlines(loop), loop.time()
        late = Waiting(deadlines, now + 0.05)
        soon = Waiting(deadlines, now + 0.01, breaks=True)
        done = Waiting(deadlines, now + 0.01)
        deadlines.open.discard(done)
        await asyncio.wait_for(soon.expired.wait(), 20)
        await asyncio.wait_for(late.expired.wait(), 20)
        return done.expired.is_set()

    assert asyncio.run(main()) is False
