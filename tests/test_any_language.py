"""docs/how-to/any-language.md keeps its promises: its commands work, and are answered so."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from commands import BIN, ROOT, SECONDS, environment, first_line, free_port, league, started

TEXT = (ROOT / "docs" / "how-to" / "any-language.md").read_text(encoding="utf-8")
EXCHANGES = re.findall(r"```sh\n(curl .+?)```\n```json\n(.+?)```", TEXT, re.DOTALL)
TO_AGENT = [exchange for exchange in EXCHANGES if ":8101/mcp -H" in exchange[0]]
TO_MANAGER = [exchange for exchange in EXCHANGES if ":8000/mcp -H" in exchange[0]]

pytestmark = pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")


def sent(command, port):
    """What a command of the page prints, when it is sent to this port instead."""
    said = re.sub(r"http://127.0.0.1:\d+/mcp -H", f"http://127.0.0.1:{port}/mcp -H", command)
    done = subprocess.run(
        ["sh", "-c", said], capture_output=True, text=True, timeout=SECONDS, env=environment()
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def shown(answer):
    return json.loads(answer)


@pytest.fixture(params=["javascript", "python"])
def agent(request, tmp_path):
    """The port of an agent that nobody has registered."""
    port = free_port()
    command = [BIN / "league", "player", "mine/mine.py", "--port", port]
    if request.param == "javascript":
        if not shutil.which("node"):
            pytest.skip("node is not installed")
        command = ["node", "mine/mine.js", "--port", port]
    else:
        command += ["--manager", f"http://127.0.0.1:{free_port()}/mcp"]
    league("new", "player", "mine", "--language", request.param, cwd=tmp_path)
    assert "listens at" in first_line(started(*command, cwd=tmp_path))
    return port


def test_every_command_has_an_answer_beside_it():
    assert len(EXCHANGES) == TEXT.count("curl -s") == len(TO_AGENT) + len(TO_MANAGER)
    assert (len(TO_AGENT), len(TO_MANAGER)) == (4, 1)


def test_an_agent_answers_the_commands_as_the_page_says(agent):
    for command, answer in TO_AGENT:
        came, wanted = sent(command, agent), shown(answer)

        assert (came["jsonrpc"], came["id"]) == ("2.0", wanted["id"])
        asked = json.loads(re.search(r"-d '(.+)'", command, re.DOTALL).group(1))["params"]
        for field, value in wanted["result"].items():
            legal = {"parity_choice": ["even", "odd"], "move": asked.get("legal_moves")}
            assert came["result"][field] in legal.get(field, [value])


def test_a_manager_answers_the_registration_as_the_page_says(tmp_path):
    port = free_port()
    manager = started(BIN / "league", "manager", "--players", 2, "--port", port, cwd=tmp_path)
    first_line(manager)
    ((command, answer),) = TO_MANAGER

    came, wanted = sent(command, port), shown(answer)

    assert came["id"] == wanted["id"]
    assert wanted["result"].items() <= came["result"].items()
    assert came["result"]["auth_token"]
    assert "warnings" not in came["result"]


@pytest.mark.parametrize("agent", ["javascript"], indirect=True)  # Ours ends with its league.
def test_the_commands_to_try_an_agent_run(agent):
    commands = re.findall(r"^    league (play|demo)( .+)$", TEXT, re.MULTILINE)

    assert [name for name, _ in commands] == ["play", "play", "demo"]
    for name, words in commands:
        words = words.replace(":8101/", f":{agent}/").split()
        told = json.loads(league(name, *words, "--json").stdout)
        rows = told["players" if name == "play" else "final_standings"]
        assert sum(row["technical_losses"] for row in rows) == 0


@pytest.fixture
def seated_player(tmp_path):
    """Where the player of the page without a port stands."""
    (program,) = re.findall(r"```python\n(.+?)```", TEXT, re.DOTALL)
    (tmp_path / "seated.py").write_text(program, encoding="utf-8")
    return tmp_path / "seated.py"


def test_the_player_of_the_page_without_a_port_says_its_usage_and_why_it_is_refused(
    tmp_path, seated_player
):
    port = free_port()
    where = ("--players", 2, "--port", port, "--no-seats")
    first_line(started(BIN / "league", "manager", *where, cwd=tmp_path))

    alone = started(sys.executable, seated_player, cwd=tmp_path)
    refused = started(sys.executable, seated_player, f"http://127.0.0.1:{port}/mcp", cwd=tmp_path)

    assert first_line(alone) == "usage: python seated.py http://192.168.1.10:8000\n"
    assert first_line(refused).startswith("refused: this league gives no seats; ")
    assert (alone.wait(SECONDS), refused.wait(SECONDS)) == (1, 1)


def test_the_player_of_the_page_without_a_port_plays_a_league(tmp_path, seated_player):
    port = free_port()
    where = ("--players", 2, "--port", port, "--dir", "cup", "--exit")
    manager = started(BIN / "league", "manager", *where, cwd=tmp_path)
    first_line(manager)
    seated = started(sys.executable, seated_player, f"http://127.0.0.1:{port}", cwd=tmp_path)
    for kind in ("referee", "player"):
        own = ("--manager", port, "--port", free_port(), "--state", tmp_path / "state")
        started(BIN / "league", kind, *own, cwd=tmp_path)

    _, said = seated.communicate(timeout=SECONDS)

    assert seated.returncode == 0, said
    manager.communicate(timeout=SECONDS)
    rows = json.loads(league("standings", "--dir", "cup", "--json", cwd=tmp_path).stdout)
    assert sorted((row["display_name"], row["technical_losses"]) for row in rows) == [
        ("Player random", 0),
        ("Seated", 0),
    ]
