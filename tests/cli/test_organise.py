"""The organiser's commands, against a manager that runs."""

import http.server
import json
import threading

import pytest
from click.testing import CliRunner

from agentleague.cli.app import app
from commands import BIN, SECONDS, first_line, free_port, league, read_until, started


def a_manager(cup, *options):
    port = free_port()
    manager = started(BIN / "league", "manager", "--port", port, "--dir", cup, *options)
    first_line(manager)
    return manager, f"http://127.0.0.1:{port}/mcp"


def agents(url, players=2):
    """A referee and players, once they are registered."""
    found = [started(BIN / "league", "referee", "--manager", url, "--port", "24001")]
    found += [
        started(
            BIN / "league", "player", "--manager", url, "--name", f"Player {n}", "--port", 24101
        )
        for n in range(players)
    ]
    for agent in found:
        first_line(agent)
        assert "Registered as" in agent.stderr.readline()
    return found


def test_a_league_waits_for_its_organiser_to_start_it(tmp_path):
    cup = tmp_path / "cup"
    manager, url = a_manager(cup, "--exit")
    early = league("start", "--dir", cup, check=False)
    found = agents(url)

    said = league("start", "--dir", cup).stdout
    out, err = manager.communicate(timeout=SECONDS)

    assert early.returncode == 1
    assert "a league needs two players, and none is registered" in early.stderr
    assert said == "The league has begun: 1 round.\n"
    assert manager.returncode == 0, err
    assert "final table" in out
    for agent in found:
        agent.communicate(timeout=SECONDS)


def test_a_league_is_aborted_only_if_that_is_meant(tmp_path):
    cup = tmp_path / "cup"
    manager, _ = a_manager(cup, "--exit")

    asked = league("abort", "--dir", cup, check=False)
    said = league("abort", "--yes", "--dir", cup).stdout
    manager.communicate(timeout=SECONDS)

    assert asked.returncode == 2  # Nobody was there to answer.
    assert "for good?" in asked.stderr
    assert "is aborted" in said
    assert manager.returncode == 0
    assert json.loads(league("status", "--dir", cup, "--json").stdout)["aborted"] is True


def test_a_player_that_is_not_there_cannot_be_removed(tmp_path):
    cup = tmp_path / "cup"
    a_manager(cup)

    refused = league("remove", "Slow", "--dir", cup, check=False)
    paused = league("pause", "--dir", cup, check=False)

    assert refused.returncode == 1
    no_player = "there is no player 'Slow' in this league"
    assert f"{no_player}; see who is there with: league agents --dir {cup}\n" in refused.stderr
    assert "for good?" not in refused.stderr
    assert "only a league that runs can be paused" in paused.stderr
    assert paused.stderr.endswith(f"; look with: league status --dir {cup}\n")


def test_a_player_is_removed_by_its_id_or_by_its_name(tmp_path):
    cup = tmp_path / "cup"
    _, url = a_manager(cup)
    agents(url)
    listed = json.loads(league("agents", "--dir", cup, "--json").stdout)
    ids = {agent["display_name"]: agent["agent_id"] for agent in listed}  # In the order of arrival.
    named, other = ids["Player 1"], ids["Player 0"]

    asked = league("remove", "player 1", "--dir", cup, check=False)
    by_name = league("remove", "player 1", "--yes", "--dir", cup)
    by_id = league("remove", other.lower(), "--yes", "--dir", cup)

    assert asked.returncode == 2
    assert f"Take player 1 ({named}) out of the league in {cup}, for good?" in asked.stderr
    assert by_name.stdout.startswith(f"{named} is removed")
    assert by_id.stdout.startswith(f"{other} is removed")


def test_nobody_is_asked_about_a_league_that_is_over_or_has_no_manager(tmp_path):
    cup = tmp_path / "cup"
    manager, _ = a_manager(cup, "--exit")
    dead = tmp_path / "dead"
    other, _ = a_manager(dead)
    other.kill()
    other.communicate()
    league("abort", "--yes", "--dir", cup)
    manager.communicate(timeout=SECONDS)

    for command in (["abort"], ["remove", "P01"]):
        over = league(*command, "--dir", cup, check=False)
        gone = league(*command, "--dir", dead, check=False)

        assert "is over already; see it with: league standings" in over.stderr
        assert f"no manager runs in {dead}" in gone.stderr
        assert "for good?" not in over.stderr + gone.stderr


def test_without_a_manager_a_command_says_what_to_type(tmp_path):
    nothing = league("start", "--dir", tmp_path / "nowhere", check=False)
    assert nothing.returncode == 1
    assert "name the directory of a manager with --dir DIR" in nothing.stderr

    cup = tmp_path / "cup"
    manager, _ = a_manager(cup)
    manager.kill()
    manager.communicate()
    dead = league("start", "--dir", cup, check=False)
    assert dead.returncode == 1
    assert f"no manager runs in {cup}; start it with: league manager --dir {cup}\n" in dead.stderr


@pytest.mark.parametrize("options", [[], ["--seed", "same"]])
def test_the_manager_of_another_league_is_not_given_commands(options, tmp_path):
    mine, other = tmp_path / "mine", tmp_path / "other"
    manager, url = a_manager(mine, *options)
    manager.kill()
    manager.communicate()
    port = url.split(":")[2].removesuffix("/mcp")
    first_line(
        started(BIN / "league", "manager", "--port", port, "--dir", other, "--exit", *options)
    )

    refused = league("abort", "--yes", "--dir", mine, check=False)

    assert refused.returncode == 1
    assert f"no manager runs in {mine}; start it with: league manager" in refused.stderr
    assert json.loads(league("status", "--dir", other, "--json").stdout)["aborted"] is False


def test_the_organisers_key_is_not_shown_to_the_manager_of_another_league(tmp_path):
    cup = tmp_path / "cup"
    manager, _ = a_manager(cup)
    manager.kill()
    manager.communicate()
    key = (cup / "admin.token").read_text().strip()
    server, bodies = a_foreign_manager()
    (cup / "manager.lock").write_text(f"1\nhttp://127.0.0.1:{server.server_port}/mcp\n")

    done = league("start", "--dir", cup, check=False)
    server.shutdown()
    server.server_close()

    assert "no manager runs in" in done.stderr
    assert bodies == []
    assert key not in done.stderr


def test_the_organisers_key_goes_no_other_way_than_through_this_machine(tmp_path):
    """The end point of a manager may lead elsewhere by now, where anybody may be."""
    server, bodies = a_foreign_manager()
    cup, port = tmp_path / "cup", free_port()
    theirs = f"http://127.0.0.1:{server.server_port}/mcp"
    first_line(
        started(BIN / "league", "manager", "--dir", cup, "--port", port, "--endpoint", theirs)
    )

    refused = league("start", "--dir", cup, check=False)
    server.shutdown()
    server.server_close()

    assert "two players" in refused.stderr  # It was asked, and answered.
    assert bodies == []


def a_foreign_manager():
    """A manager of another league, and what it is sent."""
    bodies = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            status = {"query_type": "GET_STATUS", "success": True, "data": {"league_id": "theirs"}}
            result = {"message_type": "LEAGUE_QUERY_RESPONSE", **status}
            answer = {"jsonrpc": "2.0", "result": result, "id": json.loads(bodies[-1])["id"]}
            text = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, bodies


def test_every_hint_names_the_directory(tmp_path):
    cup = tmp_path / "the cup"
    manager, url = a_manager(cup)
    waiting = [manager.stderr.readline() for _ in range(2)]
    thinker = tmp_path / "thinker.py"  # It holds the league up until it is paused.
    thinker.write_text("import threading\n\ndef choose(turn):\n    threading.Event().wait()\n")
    agents(url, players=1)
    other = started(BIN / "league", "player", thinker, "--manager", url, "--port", "24101")
    first_line(other)
    assert "Registered as" in other.stderr.readline()

    begun = league("start", "--dir", cup)
    paused = league("pause", "--dir", cup)
    manager.kill()
    manager.communicate()
    resumed = started(BIN / "league", "manager", "--dir", cup, "--port", "0")
    again = [first_line(resumed) for _ in range(3)]

    assert waiting[1] == f"The league starts with: league start --dir '{cup}'\n"
    assert begun.stderr == f"Watch it with: league status --dir '{cup}'\n"
    assert paused.stdout.startswith("The league is paused")
    assert paused.stderr == f"Continue with: league start --dir '{cup}'\n"
    assert again[2] == f"It is paused; continue with: league start --dir '{cup}'\n"


def test_a_manager_that_serves_on_prints_the_final_table_at_once_and_what_next(tmp_path):
    cup = tmp_path / "cup"
    manager, url = a_manager(cup, "--players", "2")
    agents(url)

    port = url.split(":")[2].removesuffix("/mcp")
    said = until(manager, "can still be read")
    title = manager.stdout.readline()
    manager.terminate()
    rest, _ = manager.communicate(timeout=SECONDS)
    again = started(BIN / "league", "manager", "--dir", cup, "--port", "0")
    told = until(again, "Begin another")

    assert "final table" in title
    assert said[-6:] == [
        f"Check it with: league verify {cup}\n",
        f"Hand it in as one file: league report {cup}\n",
        f"Publish pages of it: league report {cup} --site {cup}-pages\n",
        f"JSON and CSV for programs: league export {cup} --out {cup}-files\n",
        f"Begin another with: league manager --port {port} --players 2 --dir ANOTHER\n",
        "Its table can still be read. Stop with Ctrl-C.\n",
    ]
    assert "final table" not in rest
    assert "This league is over" in told[1]


def until(process, word):
    """What a command says up to the line with this word; it is ended if it never says it."""
    patience = threading.Timer(SECONDS, process.kill)
    patience.start()
    lines = [process.stderr.readline()]
    while lines[-1] and word not in lines[-1]:
        lines.append(process.stderr.readline())
    patience.cancel()
    return lines


def test_a_game_in_a_file_is_played_in_a_real_league(tmp_path):
    league("new", "game", "higher", cwd=tmp_path)
    (file,) = tmp_path.rglob("higher.py")
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from agentleague import Player\n\nplayer = Player('Mine')\n\n"
        "@player.plays('higher')\ndef choose(turn):\n    return turn.legal_moves[0]\n"
    )
    manager, url = a_manager(tmp_path / "cup", "--players", "2", "--exit", "--game", file)
    for command in (
        ("referee", "--game", file),
        ("player", mine, "--name", "One"),
        ("player", "--strategy", "fixed", "--game", file, "--name", "Two"),
    ):
        port = ("--port", "24201")
        first_line(started(BIN / "league", *command, "--manager", url, *port))

    out, err = manager.communicate(timeout=SECONDS)

    assert "final table" in out, err
    assert f"league verify {tmp_path}/cup --game {file}\n" in err
    assert (
        "1 of 1 round ended: all is true."
        in league("verify", tmp_path / "cup", "--game", file).stdout
    )
    rows = json.loads(league("standings", "--dir", tmp_path / "cup", "--json").stdout)
    assert [row["draws"] for row in rows] == [1, 1]


@pytest.mark.parametrize("command", ["manager", "referee"])
def test_a_game_file_that_is_missing_is_called_missing(command, tmp_path):
    done = league(command, "--game", "./nope.py", check=False, cwd=tmp_path)

    assert done.returncode == (2 if command == "manager" else 1)
    assert f"there is no file {tmp_path}/nope.py" in done.stderr


@pytest.mark.parametrize("options", [(), ("--no-files",)])
def test_the_documents_files_are_kept_current_beside_the_journal(tmp_path, options):
    cup, shared = tmp_path / "cup", tmp_path / "cup" / "shared"
    manager, url = a_manager(cup, "--players", "2", "--exit", *options)
    found = agents(url)
    manager.communicate(timeout=SECONDS)
    for agent in found:
        agent.communicate(timeout=SECONDS)

    assert shared.exists() == (not options)
    for table in shared.rglob("standings.json"):
        rows = json.loads(table.read_text())["standings"]
        shown = json.loads(league("standings", "--dir", cup, "--json").stdout)
        assert [row["player_id"] for row in rows] == [row["player_id"] for row in shown]
        registered = json.loads((shared / "config/agents/agents_config.json").read_text())
        assert len(registered["players"][0]["game_types"]) == 3  # `league player` knows them all.


def test_the_log_has_no_token_and_every_line_is_json(tmp_path):
    cup = tmp_path / "cup"
    manager, url = a_manager(cup, "--players", "2", "--exit")
    found = agents(url)
    manager.communicate(timeout=SECONDS)
    for agent in found:
        agent.communicate(timeout=SECONDS)

    text = (cup / "log" / "manager.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert {"player_registered", "match_decided", "league_ended"} <= {x["event"] for x in lines}
    assert all(secret not in text for secret in ("tok_", "ses_", "adm_"))


@pytest.mark.parametrize("command", ["start", "pause", "abort"])
def test_a_directory_is_named_with_its_option_or_without(command):
    for words in (["cup2"], ["--dir", "cup2"]):
        done = CliRunner().invoke(app, [command, *words])

        assert "there is no organiser's key in cup2" in done.stderr

    both = CliRunner().invoke(app, [command, "cup2", "--dir", "cup3"])
    assert "name one directory: either cup2 or --dir cup3" in both.stderr


def test_a_referee_without_the_code_waits_until_it_is_let_in(tmp_path, monkeypatch):
    cup = tmp_path / "cup"
    monkeypatch.setenv("LEAGUE_REFEREE_CODE", "lusab-bagod-gutuh")
    manager, url = a_manager(cup, "--exit", "--players", "2")
    monkeypatch.delenv("LEAGUE_REFEREE_CODE")
    wrong = league("referee", "--manager", url, "--referee-code", "oak", "--port", 0, check=False)
    referee = started(BIN / "league", "referee", "--manager", url, "--port", free_port())
    read_until(referee, "league approve REF01 --dir DIR")
    read_until(manager, f"league approve REF01 --dir {cup}\n")
    other = started(BIN / "league", "referee", "--manager", url, "--port", free_port())
    read_until(other, "league approve REF02 --dir DIR")

    shown = [league(command, "--dir", cup) for command in ("status", "agents")]
    unknown = league("approve", "REF07", "--dir", cup, check=False)
    said = league("approve", "ref01", "--dir", cup).stdout
    for name in ("Ann", "Bob"):
        words = ("player", "--manager", url, "--name", name, "--port", free_port())
        started(BIN / "league", *words)
    out, err = manager.communicate(timeout=SECONDS)

    assert wrong.returncode == 1
    assert "wrong referee code; give the right one with --referee-code" in wrong.stderr
    assert f"league approve REF01 --dir {cup} or league approve REF02" in shown[0].stderr
    assert all(f"league approve REF01 --dir {cup}" in each.stderr for each in shown)
    assert "WAITING" in shown[1].stdout
    assert "REF07 does not wait; waiting: REF01, REF02; look with: league agents" in unknown.stderr
    assert said.startswith("REF01 Referee at http://127.0.0.1:")
    assert (manager.returncode, "final table" in out) == (0, True), err
    assert "lusab" not in out + err
    assert "league approve" not in league("status", "--dir", cup).stderr
