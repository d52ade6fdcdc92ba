"""Leagues on PostgreSQL, by the real commands: wherever a directory is named, a database may be."""

import asyncio
import json
import os
import re
import signal
import socket
import sys
import time
from contextlib import suppress
from http.client import RemoteDisconnected
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

from agentleague.cli.app import app
from agentleague.cli.standby import stand_by
from agentleague.runtime.processes import Place
from agentleague.storage.database_url import DatabaseUrl
from cli import in_process
from commands import BIN, SECONDS, environment, first_line, free_port, league, read_until, run
from commands import started as begun
from pages import Page, Terminal

PASSWORD = "s@me/zy%x#?:"
QUOTED = "s%40me%2Fzy%25x%23%3F%3A"
SLOW = """
import pathlib, time

def choose(turn):
    with open("asked", "a") as file:
        file.write("x")
    while not pathlib.Path("go").exists():
        time.sleep(0.05)
    return "even"
"""
PAGE = Page("docs", "how-to", "postgresql.md")
READING = (
    "standings",
    "status",
    "agents",
    "schedule",
    "match R1M1",
    "agent P01",
    "verify",
    "watch",
)


@pytest.fixture
def cups(postgres, database, monkeypatch, tmp_path):
    """The URL of an empty database of somebody with a difficult password; it is not typed."""
    name = database.rpartition("/")[2]
    with suppress(Exception):  # All tests of a worker share the server.
        postgres.execute(f"CREATE ROLE ann LOGIN PASSWORD '{PASSWORD}'")
    postgres.execute(f"GRANT CREATE ON DATABASE {name} TO ann")
    monkeypatch.setenv("LEAGUE_STATE", str(tmp_path / "state"))
    yield postgres.url(name, user=f"ann:{QUOTED}")
    postgres.execute("DROP OWNED BY ann CASCADE", name)


def manager(port, *options, standby=False):
    process = begun(BIN / "league", "manager", "--port", port, "--no-dashboard", *options)
    said = first_line(process)
    assert said.startswith("Standing by" if standby else "cup: the manager is at "), said
    return process


def agents(port, folder):
    """A referee, and two players that wait with their moves until there is a file `go`."""
    url = f"http://127.0.0.1:{port}/mcp"
    (folder / "slow.py").write_text(SLOW)
    found = [begun(BIN / "league", "referee", "--manager", url, "--port", 0)]
    for name in ("Ann", "Bob"):
        words = ("player", "slow.py", "--manager", url, "--name", name, "--port", 0)
        found.append(begun(BIN / "league", *words, cwd=folder))
    for agent in found:
        read_until(agent, "Registered as")
    return found


def texts_below(folder):
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def test_a_whole_league_is_played_killed_resumed_and_read(cups, monkeypatch, tmp_path):
    monkeypatch.setenv("LEAGUE_JOURNAL", f"{cups}#cup")
    port, asked = free_port(), tmp_path / "asked"
    first = manager(port, "--exit")
    found = agents(port, tmp_path)
    league("start")
    while not asked.exists() or asked.read_text() != "xx":  # Both are to choose.
        assert first.poll() is None
        time.sleep(0.02)
    first.kill()
    first.communicate()
    again = manager(port, "--exit")
    read_until(again, "Resumed in round 1")
    (tmp_path / "go").touch()
    out, err = again.communicate(timeout=SECONDS)

    assert again.returncode == 0, err
    assert "cup: final table" in out
    said = [out, err]
    for agent in found:
        said += agent.communicate(timeout=SECONDS)
    for command in (*READING, "report", f"export --out {tmp_path / 'files'}"):
        done = league(*command.split(), cwd=tmp_path)
        said += [done.stdout, done.stderr]
    assert "all is true" in "".join(said)
    assert (tmp_path / "cup-report.html").is_file()
    everything = "".join(said).encode() + b"".join(texts_below(tmp_path))
    assert PASSWORD.encode() not in everything
    assert QUOTED.encode() not in everything


def test_a_manager_that_stands_by_takes_over_and_the_former_one_ends(cups, monkeypatch, tmp_path):
    monkeypatch.setenv("LEAGUE_JOURNAL", f"{cups}#cup")
    first, port = manager(free_port()), free_port()
    refused = league("manager", "--port", free_port(), check=False)
    assert refused.returncode == 1
    assert "a manager runs the league in postgresql://ann@" in refused.stderr
    assert "stand by for it with: --standby" in refused.stderr
    waits, at = ("manager", "--standby", "--port", 0), {"LEAGUE_JOURNAL": f"{cups}#cup"}
    unfit = in_process.league(*waits, "--cycles", 7, check=False, **at)
    assert (unfit.returncode, "was begun with cycles = 1" in unfit.stderr) == (1, True)
    (tmp_path / "another.key").write_text("ab" * 32)
    at["LEAGUE_SERVICE_KEY_FILE"] = str(tmp_path / "another.key")
    keyless = in_process.league(*waits, check=False, **at)
    assert (keyless.returncode, "is not the service key" in keyless.stderr) == (2, True)
    second = manager(port, "--standby", standby=True)
    with pytest.raises(HTTPError, match="503") as health:
        urlopen(f"http://127.0.0.1:{port}/health")
    assert json.load(health.value)["status"] == "standby"
    with pytest.raises(RemoteDisconnected):  # As an agent or a proxy, which then asks another.
        urlopen(f"http://127.0.0.1:{port}/mcp")
    os.kill(first.pid, signal.SIGSTOP)
    took = read_until(second, "cup: the manager is at")
    os.kill(first.pid, signal.SIGCONT)
    _, why = first.communicate(timeout=SECONDS)
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=SECONDS)

    assert "Taking over postgresql://ann@" in took
    assert first.returncode == 1
    assert why.count("another manager has taken over league cup") == 1
    assert b"another manager has taken over" in (tmp_path / "state/log/cup.jsonl").read_bytes()


def test_a_manager_that_stands_by_waits_for_its_port(cups, capsys):
    async def wait(listener):
        waiting = asyncio.create_task(stand_by(DatabaseUrl.parse(f"{cups}#cup"), Place(port)))
        said = ""
        while "Port" not in said:
            await asyncio.sleep(0.02)
            assert not waiting.done()
            said += capsys.readouterr().err
        listener.close()
        await waiting
        return said

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        said = asyncio.run(wait(listener))

    assert f"#cup. Port {port} is busy: it waits until that is free" in said
    assert "Taking over postgresql://ann@" in capsys.readouterr().err
    with pytest.raises(OSError, match="requested address"):
        asyncio.run(stand_by(DatabaseUrl.parse(cups), Place(port, hosts=["192.0.2.1"])))


def test_a_database_that_goes_away_is_said_and_waited_for(own_postgres, monkeypatch, tmp_path):
    server, port = own_postgres(), free_port()
    server.execute("CREATE DATABASE cups OWNER league")
    monkeypatch.setenv("LEAGUE_STATE", str(tmp_path))
    monkeypatch.setenv("LEAGUE_JOURNAL", server.url("cups#cup"))
    running = manager(port)
    server.stop()
    said = read_until(running, "the journal waits: the database")
    with pytest.raises(OSError, match="503"):
        urlopen(f"http://127.0.0.1:{port}/health")
    early = league("manager", "--port", free_port(), check=False)
    asked = in_process.league("status", "--manager", port, check=False)
    server.start()
    read_until(running, "can be written to again")
    with urlopen(f"http://127.0.0.1:{port}/health") as answer:
        assert json.load(answer)["status"] == "ok"
    server.stop()
    read_until(running, "the journal waits: the database")
    running.send_signal(signal.SIGINT)
    _, stopped = running.communicate(timeout=SECONDS)

    assert "sesame" not in said + stopped
    assert running.returncode == 0
    assert early.returncode == 1
    assert "failed: Connection refused; is PostgreSQL running there" in early.stderr
    assert "refused GET_STATUS: it cannot reach its journal now" in asked.stderr
    assert "What was told to anybody is kept. Continue with: league manager --journal" in stopped


def test_several_leagues_in_one_database_want_one_named(cups, monkeypatch):
    for name in ("cup", "second"):
        league("demo", "--players", 2, "--journal", f"{cups}#{name}")
    unclear = league("standings", cups, check=False)
    clear = league("standings", "--dir", f"{cups}#second")
    monkeypatch.setenv("LEAGUE_JOURNAL", cups)
    chosen = league("standings", "--journal", f"{cups}#cup")
    twice = league("demo", "--players", 2, "--journal", f"{cups}#cup", check=False)

    assert unclear.returncode == 1
    assert "several leagues; add one of these to the URL: #cup, #second" in unclear.stderr
    assert "second" in clear.stdout
    assert "cup" in chosen.stdout
    assert twice.returncode == 1
    assert "holds a league already" in twice.stderr


def test_only_a_machine_with_the_service_key_runs_or_organises_the_league(
    cups, monkeypatch, tmp_path
):
    url = f"{cups}#cup"
    running = manager(free_port(), "--journal", url)
    monkeypatch.setenv("LEAGUE_SERVICE_KEY_FILE", str(tmp_path / "missing.key"))
    paused = league("pause", "--journal", url, check=False)
    read = league("status", "--journal", url)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=SECONDS)
    (tmp_path / "missing.key").write_text("ab" * 32)
    begun_elsewhere = league("manager", "--port", free_port(), "--journal", url, check=False)

    assert paused.returncode == 2
    assert "copy that file from the machine" in paused.stderr
    assert "WAITING_FOR_REGISTRATIONS" in read.stdout
    assert begun_elsewhere.returncode == 2
    assert "is not the service key of postgresql://ann@" in begun_elsewhere.stderr


def test_no_child_of_a_manager_has_the_password_on_its_command_line(cups, monkeypatch):
    monkeypatch.setenv("LEAGUE_JOURNAL", f"{cups}#cup")
    monkeypatch.setenv("LEAGUE_DASHBOARD", "true")
    port = free_port()
    words = ("manager", "--port", port, "--dashboard-port", free_port())
    running = begun(BIN / "league", *words)
    read_until(running, "See it in a browser: ")
    listed = run(["ps", "-eo", "args", "-ww"]).stdout
    with urlopen(f"http://127.0.0.1:{port}/") as page:
        shown = page.read().decode()
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=SECONDS)

    assert "dashboard --beside" in listed
    assert QUOTED not in listed
    assert "cup" in shown


def test_a_role_that_may_only_look_reads_a_league_and_none_of_its_secrets(cups, postgres):
    league("demo", "--players", 2, "--journal", f"{cups}#cup")
    name = cups.rpartition("/")[2]
    (rights,) = PAGE.fences("sql")
    postgres.execute(rights.replace("…", "sesame"), name)
    try:
        url = postgres.url(name, user="bo:sesame")
        for command in ("standings", "verify"):
            assert "cup" in league(command, "--journal", url).stdout
        aborted = league("abort", "--yes", "--journal", url, check=False)
    finally:
        postgres.execute("DROP OWNED BY bo; DROP ROLE bo", name)

    assert aborted.returncode == 1
    assert "permission denied for table kept" in aborted.stderr
    assert "GRANT ALL ON ALL TABLES IN SCHEMA agentleague" in aborted.stderr


def test_the_page_leads_to_a_league(cups, tmp_path):
    *as_root, _, export, manage = PAGE.commands_of("From nothing to a league")[:5]
    assert [words.split()[3] for words in as_root] == ["createuser", "createdb"]
    assert export.startswith("export LEAGUE_JOURNAL=postgresql://")
    typed = Terminal(tmp_path)
    typed.environment["LEAGUE_JOURNAL"] = f"{cups}#cup"
    typed.serve(manage)
    for line in PAGE.commands_of("From nothing to a league")[5:]:
        line = re.sub(r"postgresql://\S+", f"'{cups}#cup'", line)
        if "standings" not in line:  # There is no table before the league begins.
            assert "cup" in typed.type(line)


WITHOUT = """
import sys
sys.modules["psycopg"] = None
sys.argv = ["league", "standings", "postgresql://ann@127.0.0.1/cups"]
from agentleague.cli import main
main()
"""


def test_without_the_extra_the_command_says_what_to_install():
    done = run([sys.executable, "-c", WITHOUT], env=environment())

    assert "python -m pip install cryptography 'psycopg[binary]' (with pipx" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("standings postgresql://ann:pa@zyx@db/cups", "%40 for @"),
        ("standings --journal cups", "a database is named as postgresql://"),
        ("repair postgresql://ann:zyx@db/cups --to x", "this is for a directory"),
        ("serve --journal postgresql://ann@db/cups#gold", "with: --default-league gold"),
        ("manager --standby --dir x", "--standby is for a league on PostgreSQL"),
        ("manager --journal postgresql://ann@db/cups#a --league-id b", "name two leagues"),
        ("watch x --journal postgresql://ann:zyx@db/cups", "name one place: either x or --journal"),
    ],
)
def test_a_mistake_about_a_database_is_said_without_a_password(words, said):
    done = CliRunner().invoke(app, words.split())

    assert done.exit_code == 2, done.stderr
    assert said in done.stderr
    assert "zyx" not in done.stderr


def test_a_manager_in_a_directory_says_that_the_database_of_the_environment_does_not_count():
    database = {"LEAGUE_JOURNAL": "postgresql://ann:zyx@db/cups"}
    done = CliRunner().invoke(app, ["manager", "--standby", "--dir", "x"], env=database)

    assert "LEAGUE_JOURNAL is set and does not count: --dir x was typed." in done.stderr
    assert "zyx" not in done.stderr
