"""The players of others are right: when one loses to us, it is our fault."""

import json

import pytest
from mcp.foreign_software import (
    MCP_2,
    PLAYERS,
    client_command,
    needs_foreign_software,
    player_command,
)

from commands import RUNNING, free_port, popen, read_until, run

pytestmark = needs_foreign_software


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYERS)
def test_a_player_of_others_answers_the_client_of_others(name):
    port = free_port()
    player = popen(player_command(name, port))
    RUNNING.append(player)
    read_until(player, "Uvicorn running on")

    asked = run(client_command(MCP_2, "ask_player", f"http://127.0.0.1:{port}/mcp"))

    answer = json.loads(asked.stdout)
    assert not answer["is_error"]
    assert "parity_choose" in answer["tools"]
    assert any(word in json.dumps(answer["said"]) for word in ("even", "odd"))
