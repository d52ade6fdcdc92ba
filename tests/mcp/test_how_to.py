"""docs/how-to/mcp.md keeps its promises: its host connects, its player plays."""

import json
import re

import pytest
from mcp.foreign_software import (
    MCP_2,
    MCP_NODE,
    client_command,
    finished_league,
    needs_foreign_software,
    needs_node,
)

from commands import RUNNING, free_port, popen, read_until, run
from pages import Page, Terminal

PAGE = Page("docs", "how-to", "mcp.md")

pytestmark = needs_foreign_software


def test_a_model_can_do_what_the_page_says(tmp_path):
    terminal = Terminal(tmp_path)
    manager, *agents = PAGE.commands_of("Let a model play")
    terminal.serve(manager)
    for agent in agents:
        terminal.serve(agent)

    url = f"http://127.0.0.1:{terminal.port}/mcp"
    told = json.loads(run(client_command(MCP_2, "play_league", "mcp2", url)).stdout)

    assert told["final"]["you"]["technical_losses"] == 0
    for tool in re.findall(r"^\| `(\w+)`", PAGE.text, re.MULTILINE):
        assert tool in told["tools"]


def test_the_player_has_ten_lines_and_plays(tmp_path):
    (lines,) = PAGE.fences("python")
    port = str(free_port())
    terminal = Terminal(tmp_path, **{"8101": port})
    terminal.save("ann.py", lines)
    ann = popen([MCP_2 / "bin" / "python", tmp_path / "ann.py"])
    RUNNING.append(ann)
    read_until(ann, "Uvicorn running on")
    terminal.serve("league manager --dir league")

    *_, play, add = PAGE.commands_of("A player with FastMCP in ten lines")

    assert len(lines.strip().splitlines()) <= 10
    played = json.loads(terminal.type(f"{play} --json --quiet"))
    assert [row["technical_losses"] for row in played["players"]] == [0, 0]
    assert "Ann is P01" in terminal.type(add)


@pytest.mark.slow
@needs_node
def test_a_desktop_host_that_starts_programs_reaches_the_league(tmp_path):
    _, shown = PAGE.fences("json")
    manager = finished_league(tmp_path)
    bridge = [str(MCP_NODE / "node_modules" / ".bin" / "mcp-remote"), manager]
    entry = json.loads(shown)["mcpServers"]["league"]
    assert (entry["command"], entry["args"]) == (
        "npx",
        ["-y", "mcp-remote", "http://127.0.0.1:8000/mcp"],
    )
    own = {"MCP_REMOTE_CONFIG_DIR": str(tmp_path / "bridge")}
    here = {"command": str(MCP_NODE / "bin" / "node"), "args": bridge, "env": own}
    (tmp_path / "host.json").write_text(json.dumps({"mcpServers": {"league": here}}))

    done = run(client_command(MCP_2, "desktop_host", tmp_path / "host.json", "league"))

    told = json.loads(done.stdout)
    assert "league_query" in told["tools"]
    assert told["status"] == "LEAGUE_COMPLETED"
