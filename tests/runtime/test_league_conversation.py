"""One match and one league, told message by message, in memory and over HTTP."""

import asyncio
from collections import Counter
from functools import partial
from itertools import groupby

import pytest

from agentleague.player import strategies
from agentleague.protocol.messages import tag_of
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import Place, open_player, open_referee
from games.throwaway import THROWAWAY
from memory_league import SEED, MemoryLeague

HOSTS = ("127.0.0.1",)
MATCH = [
    "GAME_INVITATION",
    "GAME_INVITATION",
    "CHOOSE_PARITY_CALL",
    "CHOOSE_PARITY_CALL",
    "LOCK_REQUEST",
    "GAME_OVER",
    "GAME_OVER",
    "MATCH_RESULT_REPORT",
]


def test_a_league_of_two_is_one_match_told_in_the_documents_order():
    league = MemoryLeague(players=2, referees=1).fill().play()

    assert (
        [name for name, _ in league.said]
        == [
            "REFEREE_REGISTER_REQUEST",
            "LEAGUE_REGISTER_REQUEST",
            "LEAGUE_REGISTER_REQUEST",
            "ROUND_ANNOUNCEMENT",
            "ROUND_ANNOUNCEMENT",
            "ROUND_ANNOUNCEMENT",  # the referee's copy is its assignment
            *MATCH[:7],
            "MATCH_RESULT_REPORT",
            "LEAGUE_STANDINGS_UPDATE",  # when its players know the result; at the end of the round
            "LEAGUE_STANDINGS_UPDATE",
            "ROUND_COMPLETED",
            "ROUND_COMPLETED",
            "ROUND_COMPLETED",
            "LEAGUE_COMPLETED",
            "LEAGUE_COMPLETED",
            "LEAGUE_COMPLETED",  # proved: nobody has to ask its manager whether that is so
        ]
    )


def test_each_player_hears_everything_in_order():
    league = MemoryLeague(players=4, referees=2, standings_seconds=1000.0).fill().play()
    heard = [name for name, to in league.said if to == "player3"]

    one_round = [
        "ROUND_ANNOUNCEMENT",
        "GAME_INVITATION",
        "CHOOSE_PARITY_CALL",
        "GAME_OVER",
        "LEAGUE_STANDINGS_UPDATE",
        "ROUND_COMPLETED",
    ]
    assert heard == [*one_round, *one_round, *one_round, "LEAGUE_COMPLETED"]


def test_nothing_of_a_round_is_told_before_the_last_match_of_the_round_before_is_closed():
    league = MemoryLeague(players=4, referees=2).fill().play()

    events = [kind for kind in league.events() if kind.startswith(("match", "round", "league_e"))]
    rounds = [list(group) for _, group in groupby(events, key=lambda kind: kind)]
    assert [(kinds[0], len(kinds)) for kinds in rounds] == [
        *[
            ("round_scheduled", 1),
            ("match_decided", 2),
            ("match_closed", 2),
            ("round_ended", 1),
        ]
        * 3,
        ("league_ended", 1),
    ]


def test_a_finished_league_says_no_more():
    league = MemoryLeague().fill().play()
    said = len(league.said)

    league.clock.run()

    assert len(league.said) == said
    assert all(host.ended for host in league.hosts)


def test_an_odd_number_of_players_gives_byes_and_everybody_plays_everybody():
    league = MemoryLeague(players=5).fill().play()

    assert [row.played for row in league.league.table.rows()] == [4] * 5
    assert sorted(league.league.byes[n][0] for n in range(1, 6)) == [
        "P01",
        "P02",
        "P03",
        "P04",
        "P05",
    ]


def test_the_same_seed_gives_the_same_table():
    first, second = (MemoryLeague(players=6).fill().play().league.table.rows() for _ in range(2))

    assert first == second


def any_move(turn):
    """What a player of any game can do: a legal move, or where none are listed, a number."""
    return turn.rng.choice(turn.legal_moves) if turn.legal_moves else turn.rng.randint(1, 6)


@pytest.mark.parametrize("name", sorted(THROWAWAY))
def test_any_game_that_keeps_the_interface_is_played_without_a_change_elsewhere(name):
    league = MemoryLeague(players=5, referees=2, game=THROWAWAY[name])
    for number in range(2):
        league.add_referee(f"Referee {number}")
    for number in range(5):
        league.add_player(any_move, f"Player {number}")
    league.play()

    rows = league.league.table.rows()
    assert [row.played for row in rows] == [4] * 5
    assert [row.technical_losses for row in rows] == [0] * 5
    assert "GAME_MOVE_CALL" in {said for said, _ in league.said}
    locked = league.events().count("match_locked")
    assert locked == (10 if name == "dice" else 0)  # one draw of two in each of ten matches


@pytest.mark.parametrize(("players", "referees"), [(2, 1), (4, 2), (5, 1), (7, 3)])
def test_a_league_over_http_ends_as_the_same_league_in_memory(players, referees, tmp_path):
    memory = MemoryLeague(players, referees).fill().play()

    table, said = asyncio.run(play_over_http(players, referees, tmp_path))

    assert table == memory.league.table.rows()
    assert essential(said) == essential(name for name, _ in memory.said)


def essential(names):
    """How often each message was sent, without those that are sent again as time passes.

    Agents in memory make no claims, so nobody is asked for a proof there.
    """
    by_time = {"LEAGUE_STANDINGS_UPDATE", "LEAGUE_QUERY", "REFEREE_STATUS", "ENDPOINT_CHALLENGE"}
    return Counter(name for name in names if name not in by_time)


async def play_over_http(players, referees, tmp_path):
    """The same seeds and names as in memory, on real sockets and a real disk."""
    said = []
    settings = ManagerSettings(league_id="league_test", players=players, referees=referees)
    manager = await open_manager(settings, Home(tmp_path, SEED), Place(18000, hosts=HOSTS))
    agents = [manager]
    watch(manager, said)
    for number in range(referees):
        make = partial(referee_settings, manager.url, number)
        agents.append(await open_referee(make, Place(18100, hosts=HOSTS)))
        watch(agents[-1], said)
        await agents[-1].registered
    for number in range(players):
        make = partial(player_settings, manager.url, number)
        agents.append(await open_player(make, strategies.random, Place(18200, hosts=HOSTS)))
        watch(agents[-1], said)
        await agents[-1].registered
    for agent in agents:
        await asyncio.wait_for(agent.ended, 20)
    for agent in agents:
        await agent.stop()
    return manager.host.role.league.table.rows(), said


def referee_settings(manager, number, url):
    return RefereeSettings(manager_url=manager, display_name=f"Referee {number + 1}", endpoint=url)


def player_settings(manager, number, url):
    return PlayerSettings(
        manager_url=manager, display_name=f"Player {number + 1}", endpoint=url, seed="7"
    )


def watch(agent, said):
    def ask(message, caller, reply):
        said.append(tag_of(type(message)))
        agent.host.ask(message, caller, reply)

    agent.transport.listen(ask)
