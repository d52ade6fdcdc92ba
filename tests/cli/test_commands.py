"""The commands, as a person types them."""

import json
import re
import signal
import socket
import subprocess
import tempfile

import pytest

from agentleague.protocol.messages import MESSAGES
from cli import in_process
from commands import BIN, SECONDS, first_line, free_port, league, read_until, started


def demo(*arguments, run=in_process.league):
    return json.loads(run("demo", "--json", *arguments).stdout)


def test_demo_plays_a_league_of_four_and_prints_the_table(tmp_path):
    done = league("demo", "--dir", tmp_path / "cup")

    heading, *rows = [line.split() for line in done.stdout.splitlines() if line.strip()][1:]
    assert heading[:3] == ["Rank", "Id", "Name"]
    assert [row[0] for row in rows[1:]][:1] == ["1"]
    assert sorted(row[1] for row in rows[1:]) == ["P01", "P02", "P03", "P04"]
    assert "3 rounds, 6 matches" in done.stderr
    assert "is the champion" in done.stderr
    assert f"league standings --dir {tmp_path / 'cup'}" in done.stderr
    assert len([*(tmp_path / "cup" / "shared").glob("data/matches/*/*.json")]) == 6


def test_demo_leaves_nothing_behind_unless_it_is_to_keep_it(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    removed = in_process.league("demo")
    failed = in_process.league("demo", "--port", "1", check=False)
    nothing = list(tmp_path.iterdir())
    kept = in_process.league("demo", "--keep")

    assert (demo()["dir"], failed.returncode, nothing) == (None, 2, [])
    (folder,) = tmp_path.iterdir()
    assert f"The journal is in {folder}; " in kept.stderr
    assert f" dashboard {folder}\n" in kept.stderr
    assert "journal" not in removed.stderr


def test_demo_takes_its_settings_from_options_and_from_the_environment():
    there = {"LEAGUE_CYCLES": "3", "LEAGUE_PLAYERS": "2", "LEAGUE_WIN_POINTS": "7"}
    closed = {"LEAGUE_JOIN_CODE": "tipuf-sajil-gikop", "LEAGUE_BIND": "192.0.2.1"}  # It is not.

    played = json.loads(in_process.league("demo", "--json", **there, **closed).stdout)
    typed = json.loads(in_process.league("demo", "--cycles", 2, "--json", **there).stdout)
    wrong = in_process.league("demo", check=False, LEAGUE_MOVE_SECONDS="soon")

    assert (played["players"], played["total_rounds"], typed["total_rounds"]) == (2, 3, 2)
    assert all(row["points"] == 7 * row["wins"] + row["draws"] for row in played["final_standings"])
    assert "LEAGUE_MOVE_SECONDS must be a number above 0" in wrong.stderr
    wrong = in_process.league("demo", check=False, LEAGUE_DRAW_POINTS="4")
    assert "LEAGUE_DRAW_POINTS is 4, and win_points is 3" in wrong.stderr


def test_demo_says_whom_it_waits_for(tmp_path):
    (tmp_path / "slow.py").write_text("import time\ndef choose(turn): time.sleep(600)\n")
    process = started(
        *(BIN / "league", "demo", "--player", "slow.py", "--players", 2, "--move-seconds", 600),
        cwd=tmp_path,
    )

    said = read_until(process, "Waiting for")

    assert re.search(
        r"Waiting for P01 'slow' to choose in R1M1: \d+ s for attempt 1 of 4, "
        r"2\d\d\d s in all\.",
        said,
    )


def test_demo_as_json_has_all_that_the_design_promises(tmp_path):
    played = demo("--seed", "7", "--dir", tmp_path, "--no-files")

    assert not (tmp_path / "shared").exists()
    assert list(played) == [
        "league_id",
        "game_type",
        "players",
        "referees",
        "total_rounds",
        "total_matches",
        "champion",
        "champions",
        "final_standings",
        "seconds",
        "matches_per_second",
        "messages",
        "dir",
    ]
    assert (played["players"], played["referees"]) == (4, 2)
    assert (played["total_rounds"], played["total_matches"]) == (3, 6)
    assert played["dir"] == str(tmp_path)
    first = played["final_standings"][0]
    assert played["champions"][0] == {k: first[k] for k in ("player_id", "display_name", "points")}
    assert played["champion"] in played["champions"]
    assert list(first) == [
        "rank",
        "player_id",
        "display_name",
        "played",
        "wins",
        "draws",
        "losses",
        "technical_losses",
        "points",
    ]
    assert played["messages"] > 6 * 8


def test_the_same_seed_gives_the_same_table_and_another_seed_another():
    first, second, other = (demo("--seed", seed, "--players", "6") for seed in ("7", "7", "8"))

    assert first["final_standings"] == second["final_standings"]
    assert first["league_id"] == second["league_id"]
    assert other["final_standings"] != first["final_standings"]


def test_the_same_seed_gives_the_same_table_in_one_process_and_in_several():
    twenty = demo("--seed", "7", "--players", "20")
    several, again = (demo("--seed", "7", "--players", "21", run=league) for _ in range(2))

    assert [row["played"] for row in twenty["final_standings"]] == [19] * 20
    assert [row["played"] for row in several["final_standings"]] == [20] * 21
    assert several["final_standings"] == again["final_standings"]


def test_any_number_of_players_meets_everybody_once():
    for players, rounds, matches in ((2, 1, 1), (3, 3, 3), (7, 7, 21)):
        played = demo("--players", players, "--referees", "1")

        assert (played["total_rounds"], played["total_matches"]) == (rounds, matches)
        assert all(row["technical_losses"] == 0 for row in played["final_standings"])


MISUSED = [
    (("demo", "--players", "1"), "--players must be a whole number from 2 to 500, not '1'"),
    (("demo", "--players", "501"), "--players must be a whole number from 2 to 500, not '501'"),
    (("demo", "--players", "four"), "--players must be a whole number from 2 to 500, not 'fo"),
    (("demo", "--referees", "0"), "--referees must be a whole number from 1"),
    (("standings", "--dir", ".", "--manager", "x"), "give either --dir DIR or --manager URL"),
    (("schema", "NOPE"), "NOPE is not a message"),
    (("schema", "game_invite"), "did you mean GAME_INVITATION?"),
    (("nope",), "there is no command 'nope'; did you mean: league "),
    (("dmeo",), "there is no command 'dmeo'; did you mean: league demo?"),
    (("demo", "--player", "3"), "Did you mean"),
    (("manager", "--players", "2", "--port", "70000"), "--port must be a whole number from 0"),
    (("player", "--port", "-1"), "--port must be a whole number from 0"),
    (("bench", "--seconds", "-1"), "--seconds must be a number of 0 or more"),
]


def test_a_misused_command_says_what_was_wrong_and_exits_with_2():
    for arguments, complaint in MISUSED:
        done = in_process.league(*arguments, check=False)

        assert done.returncode == 2, arguments
        assert complaint in done.stderr
        assert "Traceback" not in done.stderr


FAILING = [
    (("demo", "--game", "chess"), "no game 'chess' is installed; there are even_odd"),
    (("player", "--strategy", "nope"), "no strategy 'nope' is installed; there are"),
    (("standings", "--manager", "http://127.0.0.1:9/mcp"), "is it running?"),
    (("standings", "--dir", "."), "there is no league in"),
    (("player", "--manager", "banana"), "banana"),
    (("referee", "--manager", "ftp://127.0.0.1/mcp"), "ftp"),
    (("player", "--bind", "192.0.2.1"), "Cannot assign requested address"),
]


def test_a_command_that_fails_says_why_and_exits_with_1(tmp_path):
    for arguments, complaint in FAILING:
        done = in_process.league(*arguments, cwd=tmp_path, check=False)

        assert done.returncode == 1, arguments
        assert complaint in done.stderr
        assert "Traceback" not in done.stderr


def test_the_table_can_be_printed_again_from_the_directory(tmp_path):
    played = demo("--dir", tmp_path, "--players", "5")

    assert (
        json.loads(league("standings", "--dir", tmp_path, "--json").stdout)
        == (played["final_standings"])
    )
    assert "final table" in league("standings", "--dir", tmp_path).stdout


def test_a_directory_holds_one_league_and_is_not_played_over(tmp_path):
    played = demo("--dir", tmp_path)

    again = league("demo", "--dir", tmp_path, check=False)

    assert again.returncode == 1
    assert "holds a league already, which this command does not resume; see it" in again.stderr
    assert (
        json.loads(league("standings", "--dir", tmp_path, "--json").stdout)
        == (played["final_standings"])
    )


def test_files_that_hold_secrets_are_their_owners_alone(tmp_path):
    demo("--dir", tmp_path / "cup")

    for name in ("secret.key", "journal.sqlite"):
        assert (tmp_path / "cup" / name).stat().st_mode & 0o077 == 0


def test_no_token_is_written_to_disk(tmp_path):
    demo("--dir", tmp_path / "cup")

    for path in (path for path in (tmp_path / "cup").rglob("*") if path.is_file()):
        assert b"tok_" not in path.read_bytes(), path
        assert b"ses_" not in path.read_bytes(), path


def test_manager_referee_and_players_are_processes_of_their_own_and_play_the_same_league(tmp_path):
    port, url = free_port(), None
    url = f"http://127.0.0.1:{port}/mcp"
    cup = tmp_path / "cup"
    options = ("--players", "4", "--port", port, "--dir", cup, "--seed", "7", "--exit")
    manager = started(BIN / "league", "manager", *options)
    assert url in first_line(manager)
    waiting = league("standings", "--manager", url, check=False)
    assert "the league has not begun" in waiting.stderr

    agents = [started(BIN / "league", "referee", "--manager", url)]
    first_line(agents[0])
    for name in ("Ann", "Bob", "Cid", "Dan"):
        chance = ("--strategy", "random", "--seed", name)
        agents.append(started(BIN / "league", "player", "--manager", url, "--name", name, *chance))
        first_line(agents[-1])
    out, err = manager.communicate(timeout=SECONDS)

    assert manager.returncode == 0, err
    assert "final table" in out
    assert [agent.wait(timeout=SECONDS) for agent in agents] == [0] * 5
    table = json.loads(league("standings", "--dir", cup, "--json").stdout)
    assert sorted(row["display_name"] for row in table) == ["Ann", "Bob", "Cid", "Dan"]
    assert [row["played"] for row in table] == [3] * 4
    for agent in agents:
        assert "away" not in agent.communicate()[1]  # The manager was there to confirm the end.


def test_a_running_manager_shows_the_table_of_a_league_that_is_over(tmp_path):
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    options = ("--players", "2", "--port", port, "--dir", tmp_path / "cup")
    manager = started(BIN / "league", "manager", *options)
    first_line(manager)
    agents = [started(BIN / "league", "referee", "--manager", url)]
    agents += [started(BIN / "league", "player", "--manager", url) for _ in range(2)]
    for agent in agents:
        agent.communicate(timeout=SECONDS)

    table = json.loads(league("standings", "--manager", url, "--json").stdout)
    manager.send_signal(signal.SIGINT)
    out, _ = manager.communicate(timeout=SECONDS)

    assert [row["played"] for row in table] == [1, 1]
    assert manager.returncode == 0
    assert "final table" in out


def test_a_busy_port_is_said_with_what_to_do(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        done = league("manager", "--players", "2", "--port", port, cwd=tmp_path, check=False)

    assert done.returncode == 1
    assert f"port {port} cannot be opened" in done.stderr
    assert "choose another with --port" in done.stderr


def test_schema_prints_every_message_or_one():
    everything = json.loads(league("schema").stdout)
    one = json.loads(league("schema", "game_invitation").stdout)
    bodies = json.loads(league("schema", "GAME_INVITATION", "--jsonrpc").stdout)

    assert set(MESSAGES) <= set(everything["$defs"])
    assert one["properties"] == everything["$defs"]["GAME_INVITATION"]["properties"]
    assert one["properties"]["message_type"]["const"] == "GAME_INVITATION"
    assert {"GAME_INVITATION.request", "GAME_INVITATION.answer"} <= set(bodies["$defs"])


def test_bench_prints_both_rates_and_their_ratio():
    measured = json.loads(league("bench", "--players", "6", "--seconds", "0", "--json").stdout)

    assert measured["players"] == 6
    assert measured["matches"] == 3  # In no time, one round.
    ratio = measured["matches_per_second"] / measured["bare_matches_per_second"]
    assert measured["ratio_to_bare_transport"] == pytest.approx(ratio, rel=0.05, abs=0.001)
    assert set(measured["cpu_us_per_match"]) == {"manager", "referee", "player"}
    assert measured["match_alone_ms_p50"] <= measured["match_alone_ms_p99"]
    assert min(measured["peak_mb"].values()) > 10


def test_an_agent_without_a_manager_says_that_it_waits():
    url = f"http://127.0.0.1:{free_port()}/mcp"
    player = started(BIN / "league", "player", "--manager", url)

    assert "listens at" in first_line(player)
    why = "(the connection was refused: nobody listens there); trying again until it does."
    assert f"No manager answers at {url} yet {why}" in first_line(player)


def test_the_manager_says_who_comes_and_how_far_the_league_is(tmp_path):
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    options = ("--players", "2", "--port", port, "--dir", tmp_path / "cup", "--exit")
    manager = started(BIN / "league", "manager", *options)
    first_line(manager)
    for name in ("Ann", "Bob"):
        player = started(BIN / "league", "player", "--manager", url, "--name", name)
        first_line(player)
    started(BIN / "league", "referee", "--manager", url)

    _, said = manager.communicate(timeout=SECONDS)
    _, heard = player.communicate(timeout=SECONDS)

    assert "1 of 2 players, 0 of 1 referee." in said
    assert "2 of 2 players, 1 referee." in said
    assert "Round 1 of 1 is over" in said
    assert "Registered as P0" in heard
    assert "R1M1 against P0" in heard
    assert "The league is over. P0" in heard


def test_a_player_that_is_started_again_keeps_its_seat(tmp_path):
    port, own = free_port(), free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    options = ("--players", "2", "--port", port, "--dir", tmp_path / "cup", "--exit")
    manager = started(BIN / "league", "manager", *options)
    first_line(manager)
    again = ("player", "--manager", url, "--name", "Ann", "--port", own)
    for stops in (True, True, False):
        ann = started(BIN / "league", *again)
        while "Registered as P01" not in first_line(ann):
            pass
        if stops:
            ann.send_signal(signal.SIGINT)
            ann.communicate(timeout=SECONDS)
    started(BIN / "league", "player", "--manager", url, "--name", "Bob")
    started(BIN / "league", "referee", "--manager", url)

    manager.communicate(timeout=SECONDS)

    table = json.loads(league("standings", "--dir", tmp_path / "cup", "--json").stdout)
    assert sorted(row["display_name"] for row in table) == ["Ann", "Bob"]
    assert [row["technical_losses"] for row in table] == [0, 0]


def test_a_manager_that_is_stopped_early_shows_the_table_so_far_or_none(tmp_path):
    port = free_port()
    options = ("--players", "2", "--port", port, "--dir", tmp_path / "cup")
    manager = started(BIN / "league", "manager", *options)
    first_line(manager)

    manager.send_signal(signal.SIGINT)
    out, _ = manager.communicate(timeout=SECONDS)

    assert (manager.returncode, out) == (0, "")
    empty = league("standings", "--dir", tmp_path / "cup", check=False)
    assert (empty.returncode, "has not begun" in empty.stderr) == (1, True)


def test_a_busy_port_leaves_nothing_behind(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        options = ("--players", "2", "--port", port, "--seed", "7", "--dir", tmp_path / "cup")

        league("manager", *options, check=False)

    assert not (tmp_path / "cup").exists()


@pytest.mark.slow  # test_interrupts.py stops smaller ones, which may be over before the signal.
def test_ctrl_c_ends_a_demo_at_once_with_a_word_and_without_a_traceback(tmp_path):
    demo = started(BIN / "league", "demo", "--players", 300, "--dir", tmp_path / "cup")
    first_line(demo)

    demo.send_signal(signal.SIGINT)
    _, said = demo.communicate(timeout=SECONDS)

    assert demo.returncode == 130
    assert "Stopped. What was played is kept; see it with: " in said
    assert "Traceback" not in said


def test_a_reader_that_has_read_enough_is_no_error():
    done = subprocess.run(
        f"set -o pipefail; '{BIN / 'league'}' schema | head -c 10",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )

    assert done.stdout == '{"$schema"'
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("columns", ["80", "60", "200"])
def test_the_table_keeps_every_number_in_any_terminal(columns, tmp_path):
    demo_ = league("demo", "--seed", "2", "--dir", tmp_path)
    assert "Tie-break" in demo_.stdout  # That is one column more.
    command = f"COLUMNS={columns} '{BIN / 'league'}' standings --quiet --dir '{tmp_path}'"
    shown = subprocess.run(
        ["script", "-qec", command, "/dev/null"], capture_output=True, text=True, timeout=SECONDS
    ).stdout

    for heading in ("Rank", "Id", "Name", "Played", "Won", "Drawn", "Lost", "Techn.", "Points"):
        assert heading in shown
    for player_id in ("P01", "P02", "P03", "P04"):
        assert player_id in shown
    width = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line.strip("\r"))) for line in shown.split("\n"))
    assert width <= int(columns)


@pytest.mark.slow
def test_five_hundred_players_meet_in_one_league(tmp_path):
    done = subprocess.run(
        [BIN / "league", "demo", "--players", "500", "--json", "--dir", tmp_path],
        capture_output=True,
        text=True,
        timeout=1800,
        check=True,
    )
    played = json.loads(done.stdout)

    assert played["total_matches"] == 124_750
    assert {row["played"] for row in played["final_standings"]} == {499}
    assert sum(row["technical_losses"] for row in played["final_standings"]) == 0
