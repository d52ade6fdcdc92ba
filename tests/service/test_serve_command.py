"""`league serve` as real processes: workers that are killed, an orderly end."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from zipfile import ZipFile

import pytest

from agentleague.runtime.processes import Place
from commands import BIN, ROOT, environment, free_port, run
from service.service_run import agents_of, ask, ended, organiser, sql, until, verified

SLOW_ENOUGH = {"players": 4, "cycles": 25, "standings_seconds": 0.2}
PLACE = Place(0, hosts=("127.0.0.1",))


@asynccontextmanager
async def serving(database, *options, port=0):
    """The command, once it answers; its URL."""
    port = port or free_port()
    process = await asyncio.create_subprocess_exec(
        *(BIN / "league", "serve", "--port", str(port), *options),
        env={**environment(), "LEAGUE_JOURNAL": database},
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    said = asyncio.create_task(process.stderr.read())
    url = f"http://127.0.0.1:{port}"
    try:
        while not process.returncode:
            try:
                if (await ask(f"{url}/health"))[0] == 200:
                    break
            except OSError:
                await asyncio.sleep(0.05)
        yield url, process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.wait(), 20)
        print((await said).decode())
    assert process.returncode in (0, -signal.SIGKILL)


def workers_of(process):
    """The ids of its child processes."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(each) for each in children]


async def make(url, key, number, settings=SLOW_ENOUGH):
    made = []
    for _ in range(number):
        status, league = await ask(f"{url}/leagues", "POST", key, settings)
        assert status == 201, league
        made.append(league)
    return made


def check(database, made):
    for league in made:
        found = verified(database, league["league_id"])
        assert (found.complete, found.disputed, found.forfeited) == (True, [], 0)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="it looks for workers in /proc")
def test_leagues_of_a_worker_that_is_killed_go_on_at_another(database):
    async def main():
        key = organiser(database, "ann")
        async with serving(database, "--takeover-seconds", "3") as (url, process):
            made = await make(url, key, 3)
            agents = [each for league in made for each in await agents_of(league, 4, place=PLACE)]
            await until(lambda: decided(database) > 50)
            os.kill(workers_of(process)[0], signal.SIGKILL)
            await ended(agents)
            assert sorted(epochs(database)) in ([1, 1, 2], [1, 2, 2])  # Each had its share.
        return made

    check(database, asyncio.run(main()))


def test_an_organiser_types_commands_and_no_key_is_among_their_words(database, tmp_path):
    def typed(*words, check=True, **more):
        env = {**environment(), "LEAGUE_JOURNAL": database, **more}
        done = run([BIN / "league", *words], env=env, cwd=tmp_path)
        assert not check or done.returncode == 0, done.stderr
        return done

    async def main():
        type_ = lambda *words, **more: asyncio.to_thread(typed, *words, **more)  # noqa: E731
        key = (await type_("organiser", "add", "ann")).stdout.strip()
        async with serving(database) as (url, _):
            own = {"LEAGUE_SERVICE": url, "LEAGUE_ORGANISER_KEY": key}
            (tmp_path / "cup.toml").write_text('league_id = "cup"\nplayers = 2\n')
            made = json.loads((await type_("leagues", "create", "cup.toml", **own)).stdout)
            wrong = await type_("leagues", "start", "cup", check=False, **own)
            assert (wrong.returncode, "two players" in wrong.stderr) == (1, True)
            for change in ("abort", "archive"):  # It would disturb who is in it, and nobody says so
                asked = await type_("leagues", change, "cup", check=False, **own)
                assert (asked.returncode, "add --yes" in asked.stderr) == (2, True)
            moved = await type_("move", f"{database}#cup", "elsewhere", check=False)
            assert "league leagues archive cup" in moved.stderr
            await ended(await agents_of(made, 2, place=PLACE))
            served = await type_("manager", check=False, LEAGUE_JOURNAL=f"{database}#cup")
            assert "first: league leagues archive cup\n" in served.stderr
            assert "cup is archived" in (await type_("leagues", "archive", "cup", **own)).stderr
            (tmp_path / "key").write_text(key)
            file = ("leagues", "list", "--json", "--service", url, "--key-file", "key")
            assert "chmod 600" in (await type_(*file, check=False)).stderr
            (tmp_path / "key").chmod(0o600)
            assert json.loads((await type_(*file)).stdout)[0]["state"] == "archived"
            renewed = await type_("organiser", "add", "ann")
            assert "former key counts no more" in renewed.stderr
            assert key not in renewed.stdout
            assert (
                "is missing"
                in (await type_("leagues", "list", "--service", url, check=False)).stderr
            )
            assert (await type_("organiser", "add", "a b", check=False)).returncode == 2
            await type_("backup", f"{database}#cup", "cup.zip")
            with ZipFile(tmp_path / "cup.zip") as backup:  # It can go on with a manager of its own.
                assert made["join_code"] in backup.read("manager.settings").decode()
            own["LEAGUE_ORGANISER_KEY"] = renewed.stdout.strip()
            await given_back(type_, own, made)
        return made

    async def given_back(type_, own, made):
        """A league that was restored is run by the service, as one of another organiser."""
        for table in ("rows", "leagues", "kept", "owners"):
            sql(database, f"DELETE FROM agentleague.{table} WHERE league_id = 'cup'")
        for words, why in ((("cup", "ann"), "league restore"), (("cup", "bob"), "organiser add")):
            assert why in (await type_("organiser", "give", *words, check=False)).stderr
        await type_("restore", "cup.zip")
        await type_("organiser", "give", "cup", "ann")
        shown = {}
        while "round" not in shown:  # until it runs
            shown = json.loads((await type_("leagues", "show", "cup", "--codes", **own)).stdout)
        assert (shown["phase"], shown["join_code"]) == ("LEAGUE_COMPLETED", made["join_code"])
        assert "ann" in (await type_("organiser", "list")).stdout
        await type_("organiser", "remove", "ann")
        assert "organiser list" in (await type_("organiser", "remove", "ann", check=False)).stderr

    made = asyncio.run(main())

    assert verified(database, made["league_id"]).complete


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--journal", "postgresql://a:secret@127.0.0.1:1/x"), "Connection refused"),
        (("--journal", "mysql://127.0.0.1/x"), "postgresql://"),
        (("--workers", "0"), "workers must be a whole number"),
        (("--endpoint", "https://league.example.org/path"), "without a path"),
    ],
)
def test_a_service_that_cannot_begin_says_what_to_do(database, tmp_path, options, why):
    env = {**environment(), "LEAGUE_JOURNAL": database}

    done = run([BIN / "league", "serve", "--port", str(free_port()), *options], env=env)

    assert done.returncode in (1, 2)
    assert why in done.stderr
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_two_hundred_leagues_at_once_all_end_and_verify(database):
    words = ["--journal", database, "--repeats", "1", "--port", str(free_port()), "--json"]

    found = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "many_leagues.py", *words],
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
        env=environment(),
    )

    runs = json.loads(found.stdout)["runs"]
    assert [(each["leagues"], each["matches"]) for each in runs] == [(200, 1200)] * 2


def epochs(database):
    return [epoch for (epoch,) in sql(database, "SELECT epoch FROM agentleague.owners")]


def decided(database):
    rows = "SELECT count(*) FROM agentleague.rows WHERE kind = 'match_decided'"
    return sql(database, rows)[0][0]
