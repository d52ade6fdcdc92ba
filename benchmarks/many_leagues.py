"""Many small leagues at once in one service: `python benchmarks/many_leagues.py --journal URL`.

Starts `league serve` with one and with two workers in turn, on the same database, and plays the
leagues with agents in a few processes of ours. All leagues are created first; the clock runs from
the first agent's start to the last league's end. Every league is verified afterwards.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from agentleague.cli.output import counted, print_json, say
from agentleague.player import strategies
from agentleague.records.verify import verify
from agentleague.roles.settings import PlayerSettings, RefereeSettings
from agentleague.runtime.clock import stopwatch
from agentleague.runtime.local_league import raise_descriptor_limit
from agentleague.runtime.plugins import load_game
from agentleague.runtime.processes import Place, open_player, open_referee, run
from agentleague.service.leagues import digest_of
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import open_reader
from agentleague.storage.postgres_leagues import PostgresLeagues

KEY = "org_benchmark"
SECONDS = 600.0
LISTENING = Place(0, hosts=("127.0.0.1",))
SEATED = Place(0, hosts=("127.0.0.1",), listens=False)


def main() -> None:
    """Measure in turn, then print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--journal", required=True, help="a PostgreSQL database to fill")
    parser.add_argument("--leagues", type=int, default=200)
    parser.add_argument("--players", type=int, default=4)
    parser.add_argument("--cycles", type=int, default=1)
    parser.add_argument("--workers", default="1,2", help="in turn")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--hosts", type=int, default=2, help="processes that hold the agents")
    parser.add_argument("--seats", action="store_true", help="players only call out")
    parser.add_argument("--port", type=int, default=8790)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = [
        measure(given, int(workers))
        for _ in range(given.repeats)
        for workers in given.workers.split(",")
    ]
    if given.json:
        print_json({"runs": found})


def measure(given: argparse.Namespace, workers: int) -> dict[str, Any]:
    """One service with so many workers; how fast its leagues were played."""
    url = f"http://127.0.0.1:{given.port}"
    with_database = {**os.environ, "LEAGUE_JOURNAL": given.journal}
    table = PostgresLeagues(DatabaseUrl.parse(given.journal))
    table.add_organiser("benchmark", digest_of(KEY))
    table.close()
    league = Path(sys.executable).with_name("league")
    limits = ["--leagues-max", "100000", "--workers", str(workers), "--port", str(given.port)]
    service = subprocess.Popen([league, "-q", "serve", *limits], env=with_database)
    try:
        _wait(f"{url}/health")
        settings = {"players": given.players, "cycles": given.cycles}
        made = [_ask(f"{url}/leagues", settings) for _ in range(given.leagues)]
        began = stopwatch()
        hosts = [
            subprocess.Popen(
                [sys.executable, __file__, "--journal", "", "host"],
                stdin=subprocess.PIPE,
                text=True,
            )
            for _ in range(given.hosts)
        ]
        for number, host in enumerate(hosts):
            assert host.stdin
            orders = {"leagues": made[number :: given.hosts], "players": given.players}
            host.stdin.write(json.dumps({**orders, "seats": given.seats}))
            host.stdin.close()
        codes = [host.wait(SECONDS) for host in hosts]
        seconds = stopwatch() - began
        assert not any(codes), codes
        for each in made:
            _ask(f"{url}/leagues/{each['league_id']}/archive", {})
    finally:
        service.terminate()
        service.wait(30)
    matches = sum(_verified(given.journal, each["league_id"]) for each in made)
    rate = matches / seconds
    own = {"workers": workers, "leagues": len(made), "matches": matches}
    about = f"{len(made)} leagues, {matches} matches in {seconds:.1f} s"
    say(f"{counted(workers, 'worker')}: {about}, {rate:.0f} matches/s")
    return {**own, "seconds": seconds, "per_second": rate}


def _wait(url: str) -> None:
    for _ in range(600):
        try:
            urlopen(url, timeout=5).close()
            return
        except OSError:
            subprocess.run(["sleep", "0.1"], check=True)
    raise SystemExit(f"there is no service at {url}")


def _ask(url: str, body: Any) -> Any:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    for _ in range(100):
        try:
            with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=60) as answer:
                return json.loads(answer.read())
        except OSError as error:
            if getattr(error, "code", 0) not in (429, 503):
                raise
            subprocess.run(["sleep", "0.2"], check=True)
    raise SystemExit(f"{url} does not answer")


def _verified(journal: str, league_id: str) -> int:
    rows = open_reader(DatabaseUrl.parse(journal).of(league_id)).read(league_id)
    findings = verify(rows, load_game)
    assert findings.complete, findings
    assert findings.difference is None, findings
    return findings.recomputed


async def host(orders: dict[str, Any]) -> None:
    """The agents of some leagues, until they are over."""
    agents = []
    place = SEATED if orders["seats"] else LISTENING
    for league in orders["leagues"]:
        codes = {"manager_url": league["url"], "join_code": league["join_code"]}
        referee = {**codes, "referee_code": league["referee_code"]}
        agents.append(
            await open_referee(
                lambda url, own=referee: RefereeSettings(endpoint=url, **own), LISTENING
            )
        )
        for number in range(orders["players"]):
            own = {**codes, "display_name": f"Player {number}"}
            agents.append(
                await open_player(
                    lambda url, own=own: PlayerSettings(endpoint=url, **own),
                    strategies.random,
                    place,
                )
            )
    await asyncio.gather(*(each.ended for each in agents))
    await asyncio.gather(*(each.stop() for each in agents))


if __name__ == "__main__":
    raise_descriptor_limit()
    if "host" in sys.argv[-1:]:
        run(host(json.loads(sys.stdin.read())))
    else:
        main()
