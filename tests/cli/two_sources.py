"""The same league twice: as the journal of a directory, and at the end of a manager's URL."""

import asyncio
import threading
from contextlib import contextmanager

from agentleague.errors import LeagueError
from agentleague.league import queries
from agentleague.runtime.clock import LoopClock, wall
from agentleague.storage.sqlite import SqliteJournal
from agentleague.transport.guard import Guard
from agentleague.transport.http import HttpTransport, Rate, TransportPolicy
from league.decisions import LEAGUE_ID


def keep(decisions, directory):
    """Write the decisions of a league into a journal."""
    failed = []
    journal = SqliteJournal(directory, lambda: 1_700_000_000.0, lambda call: call())
    journal.claim(LEAGUE_ID)
    for number, event in enumerate(decisions.events):
        journal.append(
            LEAGUE_ID,
            number,
            [event],
            lambda heads: failed.append(heads) if isinstance(heads, LeagueError) else None,
        )
    journal.close()
    assert not failed
    return directory


@contextmanager
def served(decisions, rate=None):
    """A server that answers queries as the manager of this league would; its URL."""
    loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    found = []

    def on_ask(message, caller, reply):
        try:
            reply(queries.respond(decisions.league, message, caller.token))
        except LeagueError as error:
            reply(error)

    async def serve():
        policy = TransportPolicy("manager", Guard("local"), wall, rate=rate or Rate())
        transport = HttpTransport(LoopClock(loop), policy)
        transport.listen(on_ask)
        found.append(await transport.start(0, ("127.0.0.1",)))
        ready.set()
        await stop.wait()
        await transport.stop()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(10)
    try:
        yield f"http://127.0.0.1:{found[0]}/mcp"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
