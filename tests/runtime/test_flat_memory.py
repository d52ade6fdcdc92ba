"""A league that goes on for ever takes no more memory the longer it lasts.

What each role holds is weighed after so many rounds and after twice as many. The limits within
which old things are kept are made small, so that they are reached by then.
"""

import gc
import sys
from types import FunctionType, MethodType, ModuleType

from msgspec import Raw

from agentleague.league.match_records import LeagueLimits
from agentleague.player.memory import PlayerLimits
from agentleague.runtime.host import Host, HostLimits
from agentleague.simulation.clock import VirtualClock
from agentleague.storage.memory import MemoryJournal
from memory_league import MemoryLeague
from memory_network import MemoryNetwork

# The test's own world holds every row and message; functions and classes are not data.
NOT_WEIGHED = (type, FunctionType, ModuleType, VirtualClock, MemoryJournal, MemoryNetwork)
BYTES_A_MATCH = 40  # where the rows of each round lie, and what the malloc of a list rounds up
ROUNDS = 30


def weight(host):
    """The bytes of all that a host and its role hold, but for news that nobody reads here."""
    host.role.news.clear()
    seen, todo, total = {id(None)}, [vars(host)], 0
    while todo:
        thing = todo.pop()
        if id(thing) in seen or isinstance(thing, NOT_WEIGHED):
            continue
        seen.add(id(thing))
        if isinstance(thing, MethodType) and not isinstance(thing.__self__, Host):
            continue
        total += len(bytes(thing)) if isinstance(thing, Raw) else sys.getsizeof(thing)
        todo += gc.get_referents(thing)
    return total


def test_no_role_grows_with_the_number_of_matches():
    league = MemoryLeague(
        players=4,
        at_hand=10,
        league_limits=LeagueLimits(recalled_max=4),
        host_limits=HostLimits(hashes=100, receipts=10),
        player_limits=PlayerLimits(
            history_matches=20, history_block=5, ended_matches=10, checked_matches=10
        ),
        cycles=1_000,
        round_notice_seconds=60,
    ).fill()
    weights = []
    for rounds in (ROUNDS, 2 * ROUNDS):
        league.run_until(lambda rounds=rounds: league.league.rounds_ended == rounds)
        weights.append([weight(each) for each in league.hosts])

    for early, late, each in zip(*weights, league.hosts, strict=True):
        grown = (late - early) / (2 * ROUNDS)
        assert grown <= BYTES_A_MATCH, f"{type(each.role).__name__}: {grown} bytes a match"
