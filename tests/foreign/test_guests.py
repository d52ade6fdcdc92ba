"""Our player as a guest at a manager of another make."""

import pytest

from commands import BIN, SECONDS, first_line, free_port, started
from foreign.manager import ForeignManager
from rules import rule

REGISTERED = {"status": "REGISTERED", "agent_id": "P07", "token": "abc"}


@rule("R-DIA-10")
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
def test_our_player_registers_and_plays_at_a_manager_of_another_make(call, more):
    manager = ForeignManager(call, **more)
    try:
        player = started(
            *(BIN / "league", "player", "--manager", manager.url, "--name", "Ann"),
            *("--port", free_port(), "--strategy", "random"),
        )
        first_line(player)
        assert manager.registered.wait(SECONDS)
        assert "Registered as P07" in player.stderr.readline()

        join, move, _ = manager.play()
    finally:
        manager.stop()

    assert join["accept"] is True
    assert move["parity_choice"] in ("even", "odd")
    assert manager.asked.count("register_player") <= 3  # In our form, and plain; not for ever.
