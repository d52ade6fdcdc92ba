"""The README keeps its promises: its commands run, its player plays, it stays short."""

import http.server
import json
import re
import threading
import urllib.request

from commands import BIN, ROOT, SECONDS, first_line, free_port, league, started

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    ((?:make|\.venv).+)$", TEXT, re.MULTILINE)
SNIPPET = re.search(r"```python\n(.+?)```", TEXT, re.DOTALL).group(1)


def test_the_first_command_comes_before_the_hundredth_word_and_the_end_before_the_400th():
    assert len(TEXT.split("    make demo")[0].split()) < 100
    assert len(TEXT.split()) < 400


def test_the_player_has_ten_lines():
    assert len(SNIPPET.strip().splitlines()) <= 10


def test_the_demo_commands_run(tmp_path):
    demos = [command for command in COMMANDS if "league demo" in command]

    assert len(demos) == 2
    for command in demos:
        arguments = command.removeprefix(".venv/bin/league ").split()
        smaller = ["21" if word == "100" else word for word in arguments]
        done = league(*smaller, cwd=tmp_path)
        assert "Alpha" in done.stdout


def test_the_commands_and_the_player_of_the_readme_play_a_league(tmp_path):
    port = free_port()  # The README uses 8000, where somebody may be playing.
    url = f"http://127.0.0.1:{port}/mcp"
    (tmp_path / "alpha.py").write_text(SNIPPET.replace("run()", f"run({url!r})"))
    alpha = ".venv/bin/python alpha.py"
    at = COMMANDS.index(alpha)
    manager, referee, player = COMMANDS[at - 3 : at]
    running = []
    for command, more in (
        (manager, f"--port {port} --exit"),
        (referee, f"--manager {url}"),
        (player, f"--manager {url}"),
        (alpha, ""),
    ):
        program, *words = f"{command} {more}".split()
        running.append(started(BIN / program.removeprefix(".venv/bin/"), *words, cwd=tmp_path))
        first_line(running[-1])

    outputs = [process.communicate(timeout=SECONDS) for process in running]

    assert [process.returncode for process in running] == [0, 0, 0, 0], outputs
    assert "Agent Alpha" in outputs[0][0]
    assert "Agent Alpha" in league("standings", "--dir", "league", cwd=tmp_path).stdout
    asked = COMMANDS[at + 2 :]  # The one before them asks a manager on port 8000.
    for command, said in zip(asked, ("R1M1 of round 1", ": true."), strict=True):
        assert said in league(*command.split()[1:], cwd=tmp_path).stdout


def test_the_players_page_plays_too(tmp_path):
    page = (ROOT / "docs" / "player.md").read_text(encoding="utf-8")
    snippet = re.search(r"```python\n(.+?)```", page, re.DOTALL).group(1)
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    (tmp_path / "alpha.py").write_text(re.sub(r"run\(\).*", f"run({url!r})", snippet))
    manager = started(BIN / "league", "manager", "--players", "2", "--port", port, cwd=tmp_path)
    first_line(manager)
    started(BIN / "league", "referee", "--manager", url)
    mine = started(BIN / "python", "alpha.py", cwd=tmp_path)
    other = json.loads(re.search(r"```json\n(\{\"jsonrpc.+?)```", page, re.DOTALL).group(1))
    asked = serve_by_the_table(page, other, url)

    _, heard = mine.communicate(timeout=SECONDS)

    assert "The league is over" in heard
    assert "TECHNICAL_LOSS" not in league("standings", "--manager", url, "--json").stdout
    assert asked[:3] == ["notify_round", "handle_game_invitation", "parity_choose"]
    rows = json.loads(league("standings", "--manager", url, "--json").stdout)
    assert [row["technical_losses"] for row in rows] == [0, 0]


def serve_by_the_table(page, registration, url):
    """A player of the standard library alone that answers as the page's table says."""
    answers = dict(re.findall(r"^\| `(\w+)`[^|]*\|[^|]*\| `(\{.+\})` \|$", page, re.MULTILINE))
    assert set(answers) == {"handle_game_invitation", "parity_choose"}
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body["method"])
            result = json.loads(answers.get(body["method"], "{}"))
            text = json.dumps({"jsonrpc": "2.0", "result": result, "id": body["id"]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    meta = registration["params"]["player_meta"]
    meta["contact_endpoint"] = f"http://127.0.0.1:{server.server_port}/mcp"
    request = urllib.request.Request(url, json.dumps(registration).encode())
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert json.load(answer)["result"]["player_id"]
    return asked
