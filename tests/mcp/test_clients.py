"""Clients of others, each in its own environment, use the manager of a league as an MCP server."""

import json

import pytest
from mcp.cup import Cup
from mcp.foreign_software import MCP_1, MCP_2, client_command, needs_foreign_software

from commands import BIN, first_line, free_port, run, started

pytestmark = needs_foreign_software
# A kind of client -> the environment that it runs in.
CLIENTS = {"mcp1": MCP_1, "mcp2": MCP_2, "mcp2-legacy": MCP_2, "fastmcp": MCP_2}
WITH_HANDSHAKE = {"mcp1", "mcp2-legacy"}  # The others agree on the stateless revision.


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_of_others_lists_tools_registers_and_asks(kind, tmp_path):
    port = free_port()
    first_line(started(BIN / "league", "manager", "--players", 2, "--port", port, cwd=tmp_path))

    done = run(client_command(CLIENTS[kind], "register", kind, f"http://127.0.0.1:{port}/mcp"))

    told = json.loads(done.stdout)
    assert told["version"] == ("2025-11-25" if kind in WITH_HANDSHAKE else "2026-07-28")
    assert {"register_player", "league_query"} <= set(told["tools"])
    assert ("standings" in told["resources"], told["prompts"]) == (True, ["play"])
    assert (told["joined"]["status"], told["joined"]["player_id"]) == ("ACCEPTED", "P01")
    assert told["status"]["data"]["you"] == "P01"
    assert "token" in told["refused"]


def test_clients_of_others_play_a_whole_league_as_players_who_cannot_be_called(tmp_path):
    cup = Cup(tmp_path, players=len(CLIENTS) + 1, options=())
    cup.ours("referee", "Referee")
    for kind, environment in CLIENTS.items():
        cup.start(kind, *client_command(environment, "play_league", kind, cup.url))
    cup.ours("player", "Ann", "--strategy", "random")

    told = {kind: json.loads(cup.last_words(kind)) for kind in CLIENTS}

    assert (len(cup.decided()), cup.lost()) == (10, {})
    for kind, seen in told.items():
        assert "submit_move" in seen["prompt"]
        assert seen["joined"]["name"] == kind
        assert [move["move"] for move in seen["moves"]] == ["odd"] * len(CLIENTS)
        assert seen["final"]["you"]["played"] == len(CLIENTS)
        assert seen["match"]
        assert len(seen["table"]["standings"]) == len(CLIENTS) + 1
        assert len(seen["resource"]["data"]["standings"]) == len(CLIENTS) + 1
