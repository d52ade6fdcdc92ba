"""The README keeps its promises: its commands run, its player plays, it stays short."""

import http.server
import json
import re
import threading
import urllib.request

from commands import BIN, ROOT, SECONDS, first_line, free_port, league, started
from pages import Page, Terminal

README = Page("README.md")
(SNIPPET,) = README.fences("python")
MAKE_DEMO, MAKE_TEST, ACTIVATE, *DEMOS = README.commands[:5]
PLAY, MANAGER, REFEREE, PLAYER, ALPHA, STATUS, MATCH, VERIFY = README.commands[5:]


def test_the_first_command_comes_before_the_hundredth_word_and_the_end_before_the_400th():
    assert len(README.text.split("    make demo")[0].split()) < 100
    assert len(README.text.split()) < 400


def test_the_player_has_ten_lines():
    assert len(SNIPPET.strip().splitlines()) <= 10


def test_a_clone_is_set_up_by_what_the_makefile_has():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert MAKE_DEMO.startswith("make demo ")
    assert MAKE_TEST.startswith("make test ")
    assert "\ndemo: .venv/run " in makefile
    assert f"own: {ACTIVATE} && league new player " in makefile  # the next step
    assert "\ntest: .venv/dev " in makefile


def test_the_short_name_of_the_command_is_found_once_the_environment_is_activated(tmp_path):
    (tmp_path / ".venv").symlink_to(BIN.parent)

    assert "league, version" in Terminal(tmp_path).type(
        f"PATH=/usr/bin:/bin; {ACTIVATE}; league --version"
    )


def test_the_demo_commands_run(tmp_path):
    assert len(DEMOS) == 2
    for line in DEMOS:
        assert "Alpha" in Terminal(tmp_path).type(line.replace("100", "21"))


def test_the_player_of_the_readme_plays_a_match_at_once(tmp_path):
    terminal = Terminal(tmp_path)
    terminal.save("alpha.py", SNIPPET)

    told = terminal.type(PLAY)

    assert "R1M1 of round 1, even_odd: Agent Alpha (P01) against random (P02)." in told
    assert "without a game" not in told


def test_the_commands_and_the_player_of_the_readme_play_a_league(tmp_path):
    terminal = Terminal(tmp_path)
    terminal.save("alpha.py", SNIPPET)
    manager, referee, other, alpha = map(terminal.serve, (MANAGER, REFEREE, PLAYER, ALPHA))

    terminal.until(manager, "Begin another")

    for process in (referee, other, alpha):
        assert process.wait(SECONDS) == 0
    assert "Agent Alpha" in terminal.type("league standings --dir league")
    assert "LEAGUE_COMPLETED" in terminal.type(STATUS)
    assert "R1M1 of round 1" in terminal.type(MATCH)
    assert "true. The champion is" in terminal.type(VERIFY)


def test_the_players_page_plays_too(tmp_path):
    page = (ROOT / "docs" / "how-to" / "write-a-player.md").read_text(encoding="utf-8")
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
