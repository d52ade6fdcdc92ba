"""How a manager is named: by its URL, by host and port, or by a port alone."""

import json

import pytest
from click.testing import CliRunner

from agentleague.cli.app import app
from agentleague.runtime.network import manager_url
from cli.test_standings import in_its_second_round, league, printed
from cli.two_sources import keep, served
from commands import BIN, first_line, free_port, started
from commands import league as run_league

TYPED = [
    ("26000", "http://127.0.0.1:26000/mcp"),
    ("localhost:26000", "http://localhost:26000/mcp"),
    ("[::1]:26000", "http://[::1]:26000/mcp"),
    ("127.0.0.1:26000/elsewhere", "http://127.0.0.1:26000/elsewhere"),
    ("http://127.0.0.1:26000", "http://127.0.0.1:26000/mcp"),
    ("https://cup.example", "https://cup.example/mcp"),
    ("http://127.0.0.1:26000/", "http://127.0.0.1:26000/"),
    ("http://127.0.0.1:26000/mcp", "http://127.0.0.1:26000/mcp"),
    ("26000/leagues/cup", "26000/leagues/cup"),
    ("localhost:26000/leagues/cup", "http://localhost:26000/leagues/cup/mcp"),
    ("https://cup.example/leagues/cup/", "https://cup.example/leagues/cup/mcp"),
    ("https://cup.example/leagues/cup/mcp", "https://cup.example/leagues/cup/mcp"),
    ("https://cup.example/leagues/", "https://cup.example/leagues/"),
    ("ftp://127.0.0.1/mcp", "ftp://127.0.0.1/mcp"),
    ("banana", "http://banana:8000/mcp"),
    ("192.168.1.10", "http://192.168.1.10:8000/mcp"),
    ("[::1]", "http://[::1]:8000/mcp"),
    ("26000, banana,26000,", "http://127.0.0.1:26000/mcp,http://banana:8000/mcp"),
    ("two words", "two words"),
    ("http://", "http://"),
    ("", ""),
]


def test_what_a_person_types_becomes_a_url():
    for typed, url in TYPED:
        assert manager_url(typed) == url


def test_a_reading_command_takes_a_port_a_host_and_the_environment(monkeypatch, tmp_path):
    decisions = in_its_second_round()
    directory = keep(decisions, tmp_path)
    with served(decisions) as url:
        port = url.split(":")[2].removesuffix("/mcp")
        whole = printed("standings", "--manager", url)
        for typed in (port, f"127.0.0.1:{port}", f"http://127.0.0.1:{port}"):
            assert printed("standings", "--manager", typed) == whole
        monkeypatch.setenv("LEAGUE_MANAGER", port)
        assert printed("standings") == whole

    assert printed("standings", "--dir", directory) == whole  # The flag beats the environment.


@pytest.mark.parametrize("command", ["referee", "player"])
def test_an_agent_takes_a_port_and_the_environment(command, monkeypatch):
    port = free_port()

    agent = started(BIN / "league", command, "--port", "0", "--manager", port)
    assert f"registers at http://127.0.0.1:{port}/mcp." in first_line(agent)

    monkeypatch.setenv("LEAGUE_MANAGER", f"localhost:{port}")
    agent = started(BIN / "league", command, "--port", "0")
    assert f"registers at http://localhost:{port}/mcp." in first_line(agent)


def test_an_agent_that_is_no_manager_is_called_so():
    port = free_port()
    player = started(BIN / "league", "player", "--port", port, "--manager", free_port())
    first_line(player)

    done = league("status", "--manager", port)

    assert done.exit_code == 1
    assert f"the server at http://127.0.0.1:{port}/mcp is no manager" in done.stderr


def test_https_where_http_is_spoken_is_said():
    with served(in_its_second_round()) as url:
        done = league("status", "--manager", url.replace("http:", "https:"))

    assert done.exit_code == 1
    assert f"try: {url}\n" in done.stderr


def test_a_manager_that_listens_everywhere_says_so_and_at_which_address(tmp_path):
    port = free_port()
    cup = ("manager", "--bind", "0.0.0.0", "--port", port, "--dir", tmp_path / "cup")

    manager = started(BIN / "league", *cup)
    assert "It listens on all addresses of this machine" in first_line(manager)
    assert "add: --network lan\n" in first_line(manager)
    assert f"to name another, add: --endpoint http://HOST:{port}/mcp\n" in first_line(manager)
    assert "//0.0.0.0" not in first_line(manager)
    early = run_league("start", "--dir", tmp_path / "cup", check=False)
    assert "a league needs two players" in early.stderr  # It is called at an address that works.
    manager.kill()
    manager.communicate()

    named = started(
        BIN / "league", *cup, "--network", "lan", "--endpoint", f"http://127.0.0.1:{port}/mcp"
    )
    assert "It listens on all addresses" in first_line(named)
    assert "the manager is at" in first_line(named)
    told = "There is no join code: anybody who reaches it may register.\n"
    assert first_line(named) == told


def test_help_names_the_variable():
    for command in ("status", "referee"):
        done = CliRunner().invoke(app, [command, "--help"])
        assert "LEAGUE_MANAGER" in done.stdout


def test_the_status_is_json_for_a_port_too():
    with served(in_its_second_round()) as url:
        told = json.loads(printed("status", "--json", "--manager", url.split(":")[2][:-4]))

    assert told["in_play"] == ["R2M2"]
