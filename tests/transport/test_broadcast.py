"""A broadcast: each agent gets its messages in order, and nobody waits for another."""

from agentleague.errors import NoAnswer, NoConnection, PeerRefused, TokenMissing
from agentleague.protocol.messages import (
    LeagueStandingsUpdate,
    RoundCompleted,
    RoundCompletedAck,
    StandingsUpdateAck,
)
from agentleague.roles.effects import Address
from agentleague.simulation.clock import VirtualClock
from memory_network import MemoryNetwork

TABLE, OVER = LeagueStandingsUpdate(round_id=1), RoundCompleted(round_id=1)


class Village:
    """A manager and players, each with its own way to answer."""

    def __init__(self, **players):
        self.clock = VirtualClock(100.0)
        self.network = MemoryNetwork(self.clock)
        self.manager = self.network.join("http://manager/mcp", "manager")
        self.heard, self.told = [], []
        for name, answer in players.items():
            self.network.join(f"http://{name}/mcp", "player").listen(self._listener(name, answer))

    def _listener(self, name, answer):
        def on_ask(message, caller, reply):
            self.heard.append((name, type(message)))
            answer(message, reply)

        return on_ask

    def broadcast(self, *names):
        letters = [
            (Address(each, f"http://{each}/mcp", "", (b"key",)), [TABLE, OVER]) for each in names
        ]
        return self.manager.broadcast(letters, 110.0, self.told.append)


def acknowledges(message, reply):
    reply(
        StandingsUpdateAck() if isinstance(message, LeagueStandingsUpdate) else RoundCompletedAck()
    )


def refuses_the_table(message, reply):
    is_table = isinstance(message, LeagueStandingsUpdate)
    reply(TokenMissing("who asks?") if is_table else RoundCompletedAck())


def hangs(message, reply):
    pass


def test_all_have_heard_everything_in_order_before_the_end_is_told_once():
    village = Village(ann=acknowledges, bob=acknowledges)

    telling = village.broadcast("ann", "bob")
    assert (village.told, list(telling.awaited)) == ([], ["ann", "bob"])
    village.clock.run()

    assert (village.told, list(telling.awaited), village.clock.now()) == ([{}], [], 100.0)
    for name in ("ann", "bob"):
        kinds = [kind for who, kind in village.heard if who == name]
        assert [kind.__name__ for kind in kinds] == ["PartialTable", "RoundCompleted"]


def test_who_hangs_refuses_or_is_away_is_named_and_costs_the_others_nothing():
    village = Village(ann=acknowledges, bob=hangs, carl=refuses_the_table)

    telling = village.broadcast("ann", "bob", "carl", "dora")
    village.clock.run(until=lambda: village.clock.now() > 100.0)
    assert list(telling.awaited) == []

    assert village.clock.now() == 110.0
    (failed,) = village.told
    kinds = {name: type(error) for name, error in failed.items()}
    assert kinds == {"bob": NoAnswer, "carl": PeerRefused, "dora": NoConnection}
    heard = [name for name, _ in village.heard]
    assert [heard.count(name) for name in ("ann", "bob", "carl")] == [2, 1, 2]


def test_who_has_not_answered_yet_is_known_at_any_time():
    village = Village(ann=acknowledges, bob=hangs)

    telling = village.broadcast("ann", "bob", "dora")
    village.clock.call_at(101.0, lambda: village.heard.append("a second later"))
    village.clock.run(until=lambda: village.heard[-1:] == ["a second later"])

    assert (list(telling.awaited), list(telling.failed), village.told) == (["bob"], ["dora"], [])


def test_a_broadcast_that_is_cancelled_tells_nothing():
    village = Village(ann=hangs, bob=acknowledges)

    telling = village.broadcast("ann", "bob")
    village.clock.run(until=lambda: list(telling.awaited) == ["ann"])
    telling.cancel()
    village.clock.run()

    assert village.told == []
