"""`league new player`: what it writes works at once, in a match and in a league."""

import json
import re
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from agentleague.runtime.network import manager_url
from commands import BIN, ROOT, SECONDS, environment, first_line, free_port, league, started

PYTHON = ["README.md", "mine.py", "pytest.ini", "test_mine.py"]
JAVASCRIPT = ["README.md", "choose.js", "choose.test.js", "mine.js", "package.json"]
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")


def new(folder, language):
    return league("new", "player", "mine", "--language", language, cwd=folder)


def run(*command, cwd):
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def lost_technically(rows):
    return sum(row["technical_losses"] for row in rows)


def notify(url, method, params):
    """What an agent answers to this."""
    said = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(url, said, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=SECONDS) as came:
        return json.loads(came.read())["result"]


@pytest.fixture
def listening(tmp_path):
    """The URL of a new agent in JavaScript that listens."""
    new(tmp_path, "javascript")
    port = free_port()
    agent = started("node", "mine/mine.js", "--port", port, cwd=tmp_path)
    assert first_line(agent) == f"mine listens at http://127.0.0.1:{port}/mcp\n"
    return f"http://127.0.0.1:{port}/mcp"


@pytest.mark.parametrize(("language", "files"), [("python", PYTHON), ("javascript", JAVASCRIPT)])
def test_it_says_what_it_wrote_and_what_to_type_next(tmp_path, language, files):
    done = new(tmp_path, language)

    assert done.stdout.split() == [f"mine/{name}" for name in files]
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == sorted(files)
    assert "  league play " in done.stderr
    for name in files:
        assert "my_player" not in (tmp_path / "mine" / name).read_text()


def test_a_player_is_written_in_python_unless_another_language_is_named(tmp_path):
    league("new", "player", "mine", cwd=tmp_path)

    assert (tmp_path / "mine" / "mine.py").exists()


def test_it_never_writes_into_a_folder_that_is_there(tmp_path):
    (tmp_path / "mine").mkdir()

    done = league("new", "player", "mine", cwd=tmp_path, check=False)

    assert done.returncode == 1
    assert "mine exists already; choose another name, or remove it first" in done.stderr
    assert list((tmp_path / "mine").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["my-player"], "'my-player' is not a name for a player; use letters, digits and single _"),
        (["../mine"], "'../mine' is not a name for a player"),
        (["class"], "such as my_player, at most 40"),
        (["my-player", "--language", "javascript"], "'my-player' is not a name for a player"),
        (["random"], "random is a module that is installed; choose another"),
        (["mine", "--language", "cobol"], "'cobol' is not one of 'python', 'javascript'"),
    ],
)
def test_a_name_or_language_that_cannot_be_is_refused(tmp_path, arguments, complaint):
    done = league("new", "player", *arguments, cwd=tmp_path, check=False)

    assert done.returncode == 2
    assert complaint in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_new_python_player_passes_its_test_and_our_linter(tmp_path):
    new(tmp_path, "python")

    folder = tmp_path / "mine"
    assert "passed" in run(sys.executable, "-m", "pytest", "-q", cwd=folder)
    ours = ("--config", ROOT / "pyproject.toml", "--config", f'src=["{folder}"]', ".")
    run(sys.executable, "-m", "ruff", "check", *ours, cwd=folder)
    run(sys.executable, "-m", "ruff", "format", "--check", *ours, cwd=folder)


@pytest.mark.parametrize("game", ["even_odd", "rock_paper_scissors", "tic_tac_toe"])
def test_a_new_python_player_plays_every_game(tmp_path, game):
    new(tmp_path, "python")

    told = league("play", "mine/mine.py", "random", "--game", game, "--json", cwd=tmp_path).stdout

    assert lost_technically(json.loads(told)["players"]) == 0


def test_the_commands_in_the_readme_of_a_new_python_player_run(tmp_path):
    new(tmp_path, "python")
    folder = tmp_path / "mine"

    commands = re.findall(r"^    league (.+?)(?: #.*)?$", (folder / "README.md").read_text(), re.M)

    assert [command.split()[0] for command in commands] == [
        "play",
        "play",
        "play",
        "demo",
        "player",
    ]
    for command in commands[:-1]:
        league(*command.split(), cwd=folder)


@needs_node
def test_a_new_javascript_player_passes_its_test(tmp_path):
    new(tmp_path, "javascript")

    assert "fail 0" in run("node", "--test", cwd=tmp_path / "mine")


@needs_node
@pytest.mark.parametrize("game", ["even_odd", "rock_paper_scissors", "tic_tac_toe"])
def test_a_new_javascript_player_plays_every_game_and_goes_on_listening(listening, game):
    for _ in range(2):
        told = league("play", listening, "random", "--game", game, "--json").stdout

        assert lost_technically(json.loads(told)["players"]) == 0


@needs_node
def test_the_commands_in_the_readme_of_a_new_javascript_player_run(tmp_path, listening):
    text = (tmp_path / "mine" / "README.md").read_text()
    commands = re.findall(r"^    league (.+?)(?: #.*)?$", text, re.M)

    assert [command.split()[0] for command in commands] == ["play", "play", "play", "demo"]
    for command in commands:
        league(*command.replace("http://127.0.0.1:8101/mcp", listening).split())


@needs_node
@pytest.mark.parametrize(
    ("body", "status"),
    [(None, 405), (b"{", 400), (b" " * 70_000, 400), (b"null", 200), (b'{"id": 7}', 200)],
)
def test_a_new_javascript_player_survives_what_is_no_request(listening, body, status):
    try:
        with urllib.request.urlopen(listening, body, timeout=SECONDS) as answer:
            came = answer.status
    except urllib.error.HTTPError as error:
        came = error.code
        error.close()

    assert came == status
    told = league("play", listening, "fixed", "--json").stdout
    assert lost_technically(json.loads(told)["players"]) == 0


@needs_node
def test_a_new_javascript_player_that_finds_its_port_busy_takes_the_next_free_one(
    tmp_path, listening
):
    port = int(listening.split(":")[2].removesuffix("/mcp"))

    second = started("node", "mine/mine.js", "--port", port, cwd=tmp_path)

    taken = re.fullmatch(r"mine listens at http://127.0.0.1:(\d+)/mcp\n", first_line(second))
    assert taken
    assert int(taken[1]) > port


@needs_node
def test_a_new_javascript_player_whose_endpoint_names_a_busy_port_says_so(tmp_path, listening):
    port = listening.split(":")[2].removesuffix("/mcp")

    second = started("node", "mine/mine.js", "--port", port, "--endpoint", listening, cwd=tmp_path)

    assert "Try another --port" in first_line(second)
    assert second.wait(SECONDS) == 1


@needs_node
@pytest.mark.parametrize("address", ["127.0.0.1", "[::1]"])
def test_a_new_javascript_player_listens_where_it_reaches_its_manager_from(tmp_path, address):
    if address == "[::1]" and not has_ipv6():
        pytest.skip("there is no IPv6 here")
    new(tmp_path, "javascript")
    manager = f"http://{address}:{free_port()}/mcp"  # Nobody is there, and nothing has to be.

    agent = started("node", "mine/mine.js", "--port", 0, "--manager", manager, cwd=tmp_path)

    assert first_line(agent).startswith(f"mine listens at http://{address}:")
    assert first_line(agent).startswith(f"No manager at {manager} yet")


@needs_node
def test_a_new_javascript_player_lists_its_options(tmp_path):
    new(tmp_path, "javascript")

    told = run("node", "mine/mine.js", "--help", cwd=tmp_path)

    assert told.startswith("Usage: node mine.js [OPTIONS]\n")
    for option in ("manager", "join-code", "name", "port", "bind", "endpoint"):
        assert f"  --{option} " in told


@needs_node
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--colour", "red"], "--colour"),
        (["stray"], "stray"),
        (["--port"], "--port"),
        (["--port", "many"], "--port: 'many' is no port"),
        (["--port", "65536"], "--port: '65536' is no port"),
        (["--manager", "ftp://there/mcp"], "--manager: 'ftp://there/mcp' is no URL"),
        (["--endpoint", "192.168.1.57"], "--endpoint: '192.168.1.57' is no URL"),
    ],
)
def test_a_new_javascript_player_says_how_it_is_called(tmp_path, arguments, complaint):
    new(tmp_path, "javascript")

    wrong = started("node", "mine/mine.js", *arguments, cwd=tmp_path)
    said = wrong.communicate(timeout=SECONDS)[1]

    assert wrong.returncode == 2
    assert complaint in said.splitlines()[0]
    assert "Usage: node mine.js [OPTIONS]" in said
    assert "    at " not in said  # No traceback.


@needs_node
@pytest.mark.parametrize("address", ["0.0.0.0", "127.0.0.1"])
def test_a_new_javascript_player_listens_where_it_is_told(tmp_path, address):
    new(tmp_path, "javascript")
    agent = started("node", "mine/mine.js", "--port", 0, "--bind", address, cwd=tmp_path)

    url = first_line(agent).removeprefix("mine listens at ").strip()

    told = league("play", url, "fixed", "--json").stdout
    assert lost_technically(json.loads(told)["players"]) == 0
    agent.terminate()
    warned = agent.stderr.read()  # `communicate` would lose what was read ahead of the first line.
    assert ("where the whole network can reach it" in warned) == (address == "0.0.0.0")
    assert ("add: --endpoint http://ADDRESS:" in warned) == (address == "0.0.0.0")


@needs_node
@pytest.mark.parametrize("way", ["option", "variable"])
def test_a_new_javascript_player_shows_its_join_code_and_its_endpoint(tmp_path, monkeypatch, way):
    new(tmp_path, "javascript")
    port, own = free_port(), free_port()
    endpoint = f"http://localhost:{own}/mcp"
    monkeypatch.setenv("LEAGUE_JOIN_CODE", "tipuf-sajil-gikop")
    manager = started(BIN / "league", "manager", "--port", port, cwd=tmp_path)
    first_line(manager)
    monkeypatch.delenv("LEAGUE_JOIN_CODE")
    for code, complaint in [
        ((), "this league has a join code; give it with --join-code or LEAGUE_JOIN_CODE"),
        (("--join-code", "other"), "wrong join code; give the right one with --join-code or"),
    ]:
        wrong = ("--port", 0, "--manager", port, *code)
        refused = started("node", "mine/mine.js", *wrong, cwd=tmp_path)
        assert f"The manager refused: {complaint}" in refused.communicate(timeout=SECONDS)[1]
        assert refused.returncode == 1

    given = ["--manager", f"127.0.0.1:{port}", "--join-code", "tipuf-sajil-gikop"]
    if way == "variable":
        given = []
        monkeypatch.setenv("LEAGUE_MANAGER", str(port))
        monkeypatch.setenv("LEAGUE_JOIN_CODE", "tipuf-sajil-gikop")
    where = ("--port", own, "--endpoint", endpoint)
    agent = started("node", "mine/mine.js", *where, *given, cwd=tmp_path)

    assert [first_line(agent), first_line(agent)] == [
        f"mine listens at http://127.0.0.1:{own}/mcp; others are to call it at {endpoint}\n",
        "Registered as P01.\n",
    ]
    told = next(line for line in manager.stderr if line.startswith("P01 "))
    assert told.startswith(f"P01 mine is at {endpoint}: ")


@needs_node
@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("{port}", "http://127.0.0.1:{port}/mcp"),
        ("localhost:{port}", "http://localhost:{port}/mcp"),
        ("[::1]:{port}", "http://[::1]:{port}/mcp"),
        ("http://127.0.0.1:{port}", "http://127.0.0.1:{port}/mcp"),
        ("127.0.0.1:{port}/other", "http://127.0.0.1:{port}/other"),
    ],
)
def test_a_new_javascript_player_takes_a_manager_as_people_type_it(tmp_path, typed, meant):
    new(tmp_path, "javascript")
    port = free_port()
    assert manager_url(typed.format(port=port)) == meant.format(port=port)  # Ours does the same.

    manager = ("--manager", typed.format(port=port))
    agent = started("node", "mine/mine.js", "--port", 0, *manager, cwd=tmp_path)

    assert "mine listens at " in first_line(agent)
    assert f"No manager at {meant.format(port=port)} yet" in first_line(agent)


@needs_node
def test_new_players_of_both_languages_play_a_strict_league_and_end_with_it(tmp_path):
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    for name, language in (("snake", "python"), ("script", "javascript")):
        league("new", "player", name, "--language", language, cwd=tmp_path)
    file = tmp_path / "script" / "script.js"  # The manager may be gone when it asks at the end.
    file.write_text(file.read_text().replace("DOUBT_MS = 40_000", "DOUBT_MS = 4_000"))
    script = started("node", "script/script.js", "--port", 0, "--manager", url, cwd=tmp_path)
    own = re.search(r"script listens at (\S+)", first_line(script))[1]
    assert f"No manager at {url} yet" in first_line(script)
    options = ("--players", 2, "--port", port, "--missing-fields", "refuse", "--exit")
    manager = started(BIN / "league", "manager", *options, cwd=tmp_path)
    first_line(manager)
    assert first_line(script) == "The manager is there.\n"  # It is told once that it was away.
    assert "Registered as" in first_line(script)
    for forged in ({}, {"league_id": "another"}):  # Not from the manager: it plays on.
        assert notify(own, "notify_league_completed", forged)["status"] == "ACKNOWLEDGED"
    manager.kill()
    manager.communicate()
    assert notify(own, "notify_league_completed", {})["status"] == "ACKNOWLEDGED"
    assert "asking the manager, which is away" in first_line(script)
    manager = started(BIN / "league", "manager", *options, cwd=tmp_path)
    first_line(manager)
    snake = started(
        BIN / "league", "player", "snake/snake.py", "--manager", url, "--port", 0, cwd=tmp_path
    )
    referee = started(BIN / "league", "referee", "--manager", url, "--port", 0, cwd=tmp_path)

    running = [manager, script, snake, referee]
    said = [process.communicate(timeout=SECONDS) for process in running]

    assert [process.returncode for process in running] == [0, 0, 0, 0], said
    table = json.loads(league("standings", "--dir", "league", "--json", cwd=tmp_path).stdout)
    assert {row["display_name"] for row in table} == {"snake", "script"}
    assert lost_technically(table) == 0
    assert "does not say" not in said[1][1]  # It asked as such a league wants it.


@needs_node
@pytest.mark.parametrize(
    ("body", "losses"),
    [
        ("async (legal) => { await null; return legal[0]; }", 0),
        ("() => { throw new Error('no idea'); }", 1),
        ("() => {}", 1),
    ],
)
def test_a_new_javascript_player_may_be_async_and_is_asked_again_at_once_when_it_throws(
    tmp_path, body, losses
):
    new(tmp_path, "javascript")
    (tmp_path / "mine" / "choose.js").write_text(f"export const choose = {body};\n")
    port = free_port()
    first_line(started("node", "mine.js", "--port", port, cwd=tmp_path / "mine"))

    url = f"http://127.0.0.1:{port}/mcp"
    told = json.loads(league("play", url, "random", "--move-seconds", "600", "--json").stdout)

    assert lost_technically(told["players"]) == losses


@needs_node
@pytest.mark.parametrize("is_told", [True, False])
def test_a_new_javascript_player_plays_through_a_seat_told_to_or_by_itself(tmp_path, is_told):
    new(tmp_path, "javascript")
    port = free_port()
    manager = started(
        *(BIN / "league", "manager", "--players", 2, "--port", port, "--exit", "--dir", "cup"),
        cwd=tmp_path,
    )
    first_line(manager)
    # Nobody listens there.
    options = ["--outbound"] if is_told else ["--endpoint", f"http://127.0.0.1:{free_port()}/mcp"]
    own = ["--manager", port, "--port", free_port(), *options]
    agent = started("node", "mine/mine.js", *own, cwd=tmp_path)
    if not is_told:
        until(agent, "joining through a seat")
    for kind in ("referee", "player"):
        own = ("--manager", port, "--port", free_port(), "--state", tmp_path / "state")
        started(BIN / "league", kind, *own, cwd=tmp_path)

    _, said = agent.communicate(timeout=SECONDS)

    assert agent.returncode == 0, said
    assert "R1M1: " in said
    assert said.rstrip().endswith("The league is over.")
    manager.communicate(timeout=SECONDS)
    rows = json.loads(league("standings", "--dir", "cup", "--json", cwd=tmp_path).stdout)
    assert [row["technical_losses"] for row in rows] == [0, 0]


@needs_node
def test_a_new_javascript_player_in_a_league_without_seats_says_what_to_do(tmp_path):
    new(tmp_path, "javascript")
    port, nowhere = free_port(), f"http://127.0.0.1:{free_port()}/mcp"
    where = ("--players", 2, "--port", port, "--no-seats")
    first_line(started(BIN / "league", "manager", *where, cwd=tmp_path))
    command = ("node", "mine/mine.js", "--manager", port, "--port", 0)

    refused = started(*command, "--no-outbound", "--outbound", cwd=tmp_path)  # The last counts.
    listens = started(*command, "--outbound", "--no-outbound", cwd=tmp_path)
    unreachable = started(*command, "--endpoint", nowhere, cwd=tmp_path)

    assert "gives no seats; start it without --outbound, where" in first_line(refused)
    assert refused.wait(SECONDS) == 1
    assert "mine listens at " in first_line(listens)
    until(unreachable, f"The manager cannot reach it at {nowhere}; until it can, its matches are")


def until(process, words):
    """Read what it says until it has said this."""
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"it never said {words!r}")
