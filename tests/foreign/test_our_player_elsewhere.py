"""Our player at a foreign manager, and under the referees of a foreign league."""

import asyncio
import json
import sys

import pytest

from agentleague.roles.settings import PlayerSettings
from agentleague.runtime.processes import open_player
from commands import BIN, SECONDS, first_line, free_port, started
from foreign.http_agent import post
from foreign.league import REFEREES, start_agents
from foreign.manager import ForeignManager
from foreign.test_foreign_referees import SPEAKERS
from foreign.test_our_referee_elsewhere import FOREIGN_LEAGUES
from hostile.contest import place
from rules import rule

REGISTERED = {"status": "REGISTERED", "agent_id": "P07", "token": "abc"}


async def visit(manager):
    """Our player there: what it answered in its match, and what it said."""
    said = []
    player = await open_player(
        lambda url: PlayerSettings(manager_url=manager.url, endpoint=url, display_name="Ann"),
        lambda turn: "odd",
        place(),
    )
    try:
        player.tell(said.append)
        await asyncio.wait_for(player.registered, SECONDS)
        return await asyncio.to_thread(manager.play), said
    finally:
        await player.stop()


@rule("R-DIA-10", "R-GUEST-05")
@pytest.mark.parametrize(
    ("call", "more"),
    [
        ("tool", {}),
        ("league", {"unknown": 404}),
        ("type", {"unknown": "ok", "answer": REGISTERED}),
        ("lower", {"unknown": 500}),
        ("message", {"unknown": 200}),
        ("bare", {"unknown": 400}),
        ("mcp", {"unknown": 200}),
    ],
)
def test_our_player_registers_and_plays_at_a_foreign_manager(call, more):
    manager = ForeignManager(call, **more)
    try:
        (join, move, _), said = asyncio.run(visit(manager))
    finally:
        manager.stop()

    assert (join["accept"], join["accepted"], join["match_id"]) == (True, True, "M1")
    assert (move["parity_choice"], move["choice"]) == ("odd", "odd")
    assert any(sentence.startswith("M1: drawn.") for sentence in said)
    assert manager.asked.count("register_player") <= 3  # In our form, and plain; not for ever.


@rule("R-GUEST-04")
def test_a_player_that_nobody_understands_says_what_was_tried_and_what_would_help():
    manager = ForeignManager("nobody", unknown=404)
    try:
        player = started(
            *(BIN / "league", "player", "--manager", manager.url, "--name", "Ann"),
            *("--port", free_port(), "--strategy", "random"),
        )
        first_line(player)
        said = player.communicate(timeout=SECONDS)[1]
    finally:
        manager.stop()

    assert player.returncode == 1
    assert said.startswith("Error: the manager refused to register the agent:")
    assert "it said: HTTP 404: error -32601: Method not found. " in said
    assert "tool, choose, type" not in said  # What was tried is in its log.
    assert "Is that a league manager, and is the path of its URL right?" in said


MOVES = {"P01": "even", "P02": "odd", "P03": "even"}


async def play_under(referees):
    """A foreign league with each of these referees and three of our players, and what they said."""
    leagues = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(FOREIGN_LEAGUES), "3"),
        *(["rounds=told"] * len(referees)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    urls = [(await leagues.stdout.readline()).decode().strip() for _ in referees]
    ours, said, apart = [], [], None
    try:
        for url in urls:
            for move in MOVES.values():
                ours.append(await a_player_at(url, move))
                ours[-1].tell(said.append)
                await asyncio.wait_for(ours[-1].registered, SECONDS)
        apart = await start_agents("+".join(urls), "{}", *referees, program=REFEREES)
        told = [json.loads(await leagues.stdout.readline()) for _ in referees]
        await asyncio.wait([agent.ended for agent in ours], timeout=SECONDS)
        assert all(agent.ended.done() for agent in ours)
    finally:
        for process in filter(None, (apart, leagues)):
            process.kill()
            await process.wait()
        for agent in ours:
            await agent.stop()
    return told, said


async def a_player_at(manager_url, move):
    return await open_player(
        lambda url: PlayerSettings(manager_url=manager_url, endpoint=url, display_name="Ann"),
        lambda turn: move,
        place(),
    )


@rule("R-GUEST-05", "R-PLAYER-06")
def test_our_players_play_whole_foreign_leagues_under_foreign_referees():
    referees = [*SPEAKERS, "calls=type,sends=where,reads=push"]

    leagues, said = asyncio.run(play_under(referees))

    for referee, matches in zip(referees, leagues, strict=True):
        print(referee)
        pairs = [match["players"] for match in matches.values()]
        assert pairs == [["P01", "P02"], ["P01", "P03"], ["P02", "P03"]]
        for match in matches.values():
            (result,) = match["results"]
            assert result["details"]["choices"] == {who: MOVES[who] for who in match["players"]}
    calls = {sentence for sentence in said if "a referee calls from 127.0.0.1 with" in sentence}
    assert any("GAME_INVITATION" in sentence for sentence in calls)
    assert not any("TOLD ANOTHER RESULT" in sentence for sentence in said)


async def invited_to(urls):
    """Our player in a foreign league, called by type, with each of these as `referee_endpoint`."""
    manager = ForeignManager("tool")
    player = await a_player_at(manager.url, "odd")
    try:
        await asyncio.wait_for(player.registered, SECONDS)
        answers = []
        for number, url in enumerate(urls):
            fields = {"match_id": f"M{number}", "referee_endpoint": url}
            request = {"jsonrpc": "2.0", "method": "GAME_INVITATION", "params": fields, "id": 1}
            answers.append(await asyncio.to_thread(post, player.url, request))
        return answers, player.transport.calls, player.failed.done()
    finally:
        await player.stop()
        manager.stop()


@rule("R-PLAYER-06")
def test_what_is_no_end_point_is_not_called_and_breaks_nothing():
    urls = ["http://127.0.0.1:99999/", "http://[", "file:///etc/passwd", "http://10.0.0.1/mcp"]
    urls += ["http://127.0.0.1@10.0.0.1/mcp", "http://127.0.0.1.example/mcp", "gopher://127.0.0.1/"]

    answers, calls, has_failed = asyncio.run(invited_to(urls))

    assert [answer["accept"] for answer in answers] == [True] * len(urls)
    assert not has_failed
    assert calls <= 3  # The registration, and what looked like the caller's own machine.
