"""Our player at a foreign manager."""

import asyncio

import pytest

from agentleague.roles.settings import PlayerSettings
from agentleague.runtime.processes import open_player
from commands import BIN, SECONDS, first_line, free_port, started
from foreign.manager import ForeignManager
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
    assert "error -32601 to tool, choose, type" in said
    assert "Is that a league manager, and is the path of its URL right?" in said
