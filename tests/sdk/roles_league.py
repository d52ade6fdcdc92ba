"""The league of `play_league` as manager, referee and players play it, message by message."""

from functools import partial

from agentleague.manager.role import Manager
from agentleague.player.role import Player
from agentleague.referee.role import Referee
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.runtime import plugins
from agentleague.runtime.host import Host, Ledger
from agentleague.runtime.state_files import new_league_id, new_secrets
from agentleague.runtime.strategy_runner import outcome_of
from agentleague.simulation.clock import VirtualClock
from agentleague.storage.memory import MemoryJournal
from memory_network import MemoryNetwork

MANAGER = "http://manager/mcp"


def with_messages(players, rules, seed, cycles):
    """The league, when it is over; players are functions or names of strategies."""
    clock, game = VirtualClock(1_700_000_000.0), rules.name
    network = MemoryNetwork(clock)
    settings = ManagerSettings(
        league_id=new_league_id(game, seed), game_type=game, players=len(players), cycles=cycles
    )
    manager = Manager(settings, new_secrets(seed), rules)

    journal = MemoryJournal(clock.now)
    journal.claim(settings.league_id)
    ledger = Ledger(journal, settings.league_id, receipt=manager.receipt)

    def agent(role, url, kind, **more):
        Host(role, clock, network.join(url, kind), **more).start(0.0)
        clock.run(until=lambda: role is manager or bool(role.agent_id))

    def terms(kind, name, url, **more):
        return kind(
            manager_url=MANAGER, display_name=name, endpoint=url, game_types=(game,), **more
        )

    agent(manager, MANAGER, "manager", ledger=ledger)
    referee = terms(RefereeSettings, "Referee", "http://referee/mcp")
    agent(Referee(referee, lambda name: rules), referee.endpoint, "referee")
    for number, player in enumerate(players):
        name, strategy = (
            (player, plugins.load_strategy(player)) if isinstance(player, str) else ("", player)
        )
        own = terms(
            PlayerSettings, name or player.__name__, f"http://player{number}/mcp", seed=seed
        )
        role = Player(own)
        role.strategy = partial(outcome_of, strategy)
        agent(role, own.endpoint, "player")
    clock.run(until=lambda: manager.league.phase == "LEAGUE_COMPLETED")
    return manager.league
