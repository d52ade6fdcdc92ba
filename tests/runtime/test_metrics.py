"""What `/metrics` of each role says, read by the parser of the official client of Prometheus."""

import asyncio
import json
import re
from itertools import pairwise

import pytest
from prometheus_client.parser import text_string_to_metric_families

from agentleague.protocol.messages import Exchange
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.roles.tally import SECONDS, Tally
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.metrics import METRICS, SERVICE, kind_of
from agentleague.runtime.processes import Place, open_player, open_referee
from agentleague.runtime.state_files import read_secrets
from agentleague.transport.http import Rate
from commands import ROOT
from rules import rule

PLACE = Place(0, hosts=("127.0.0.1",))
NAME = "Ann <Lee>"


async def request(url, path="/metrics", method="GET"):
    host, _, port = url.removeprefix("http://").removesuffix("/mcp").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return head.decode(), body.decode()


class Scrape:
    """The samples of one scrape: by name, or by name and the value of its one label."""

    def __init__(self, text):
        self.text, self.families = text, list(text_string_to_metric_families(text))
        samples = [sample for family in self.families for sample in family.samples]
        self.samples = {(each.name, *each.labels.values()): each.value for each in samples}

    def __getitem__(self, key):
        name, *labels = key if isinstance(key, tuple) else (key,)
        return self.samples.get((f"agentleague_{name}", *labels), 0)

    def total(self, name):
        return sum(count for key, count in self.samples.items() if key[0] == f"agentleague_{name}")


async def scrape(agent):
    head, text = await request(agent.url)
    assert "200 OK" in head
    assert "Content-Type: text/plain; version=0.0.4; charset=utf-8" in head
    assert "application/json" not in head
    return Scrape(text)


async def play(folder):
    """Scrapes of manager, referee and player during a league and after it, and the table."""
    settings = ManagerSettings(league_id="league_test", players=4, referees=1, cycles=3)
    manager = await open_manager(settings, Home(folder), PLACE)
    referee = await open_referee(
        lambda url: RefereeSettings(manager_url=manager.url, endpoint=url), PLACE
    )
    players = [
        await open_player(
            lambda url, number=number: PlayerSettings(
                manager_url=manager.url, endpoint=url, display_name=f"{NAME} {number}"
            ),
            lambda turn: "even",
            PLACE,
            threads=number == 0,
        )
        for number in range(4)
    ]
    agents, seen = (manager, referee, players[0], players[1]), []
    league = manager.host.role.league
    while not manager.ended.done():
        seen.append([await scrape(agent) for agent in agents])
    refused = await request(manager.url, "/nowhere")
    seen.append([await scrape(agent) for agent in agents])
    tokens = [agent.host.role.state.token for agent in (referee, *players)]
    table = league.table.rows()
    for agent in (*players, referee, manager):
        await agent.stop()
    secrets = read_secrets(folder)
    tokens += [secrets.admin_token]
    return seen, table, tokens, refused


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    return asyncio.run(play(tmp_path_factory.mktemp("metrics")))


@rule("R-HTTP-05")
def test_every_metric_of_the_table_is_there_with_its_type_and_its_words(played):
    manager, referee, player, _ = played[0][-1]

    for role, got in (("manager", manager), ("referee", referee), ("player", player)):
        wanted = METRICS["every agent"] | METRICS[role]
        families = {family.name: family for family in got.families}
        assert len(families) == len(wanted)
        for name, metric in wanted.items():
            family = families[f"agentleague_{name}".removesuffix("_total")]
            assert (family.type, family.documentation) == (kind_of(name), metric.words)


def test_counters_only_grow_while_a_league_runs(played):
    for earlier, later in pairwise(played[0]):
        for before, after in zip(earlier, later, strict=True):
            for family in before.families:
                for sample in family.samples if family.type != "gauge" else ():
                    key = (sample.name, *sample.labels.values())
                    assert after.samples[key] >= sample.value, key


def test_the_buckets_of_a_histogram_are_cumulative_and_the_last_one_is_its_count(played):
    for got in played[0][-1]:
        histograms = [family for family in got.families if family.type == "histogram"]
        for family in histograms:
            of = [each for each in family.samples if each.name.endswith("_bucket")]
            assert [float(each.labels["le"]) for each in of] == [*SECONDS, float("inf")]
            counts = [each.value for each in of]
            assert counts == sorted(counts)
            assert counts[-1] == got.samples[(f"{family.name}_count",)]
        assert got["call_seconds_count"] > 0


def test_matches_and_moves_agree_with_the_table_at_every_role(played):
    seen, table, _, _ = played
    manager, referee, player, another = seen[-1]
    matches = 3 * 6

    assert manager.total("league_matches_decided_total") == matches == manager["league_matches"]
    assert manager["journal_rows_total", "match_decided"] == matches
    assert manager["league_matches_open"] == 0
    assert manager["league_phase", "LEAGUE_COMPLETED"] == 1
    assert manager["league_move_seconds_count"] == 2 * matches
    assert manager["league_attempts_total", "good"] == 4 * matches
    assert referee["referee_matches_ended_total"] == matches
    assert referee["referee_attempts_total", "good"] == 4 * matches
    rows = {row.player_id: row for row in table}
    for got in (player, another):
        (own,) = (sample.labels["agent_id"] for sample in got.families[0].samples)
        row = rows[own]
        results = [got["player_matches_total", each] for each in ("won", "drawn", "lost")]
        assert results == [row.wins, row.draws, row.losses]
        assert got["player_strategy_seconds_count"] == sum(results)
    assert manager["journal_state", "ok"] == 1
    assert manager["journal_bytes"] > 0
    assert manager["journal_wait_seconds_count"] > 0


def test_a_refused_request_is_counted_by_its_status_and_its_error(played):
    *_, before, after = (each[0] for each in played[0])

    assert after["http_requests_total", "404"] == before["http_requests_total", "404"] + 1
    assert after.total("http_refusals_total") > before.total("http_refusals_total")


@rule("R-HTTP-05")
def test_no_token_name_or_address_is_in_it(played):
    seen, _, tokens, _ = played
    text = "".join(got.text for scrapes in seen for got in scrapes)

    assert [token for token in tokens if token in text] == []
    assert "Ann" not in text
    assert "127.0.0.1" not in text


@rule("R-HTTP-05")
def test_as_at_health_another_method_and_another_host_are_refused(tmp_path):
    async def main():
        manager = await open_manager(ManagerSettings(), Home(tmp_path), PLACE)
        posted, _ = await request(manager.url, method="POST")
        foreign, _ = await request(manager.url, "http://elsewhere.example/metrics")
        empty, body = await request(manager.url, method="HEAD")
        await manager.stop()
        return posted, foreign, empty, body

    posted, foreign, empty, body = asyncio.run(main())

    assert "405" in posted
    assert "403" in foreign
    assert "200 OK" in empty
    assert body == ""


def test_who_asks_too_often_is_told_to_slow_down_and_health_is_still_said(tmp_path):
    async def main():
        place = Place(0, hosts=("127.0.0.1",), rate=Rate(per_second=0.01, burst=2.0))
        manager = await open_manager(ManagerSettings(), Home(tmp_path), place)
        heads = [(await request(manager.url))[0].split()[1] for _ in range(3)]
        heads.append((await request(manager.url, "/health"))[0].split()[1])
        await manager.stop()
        return heads, manager.transport.refusals

    assert asyncio.run(main()) == (["200", "200", "429", "200"], {"E047": 1})


def test_what_a_foreign_referee_tells_makes_no_label_and_no_counter_smaller():
    tally = Tally()
    rows = [("CHOOSE_PARITY_CALL", 1, "E004", -7), ("GAME_MOVE_CALL", 2, "made up", 31_000)]
    tally.take([Exchange(0, "P01", *row[:3], None, row[3]) for row in rows])
    tally.take([Exchange(0, "P01", "GAME_INVITATION", 1, "ok")])

    assert tally.attempts.pop("illegal") == tally.attempts.pop("other") == 1
    assert sum(tally.attempts.values()) == tally.attempts["good"] == 1
    assert tally.retries == 1
    assert tally.moves.counts == [1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert tally.moves.seconds == 31


HOW_TO = ROOT / "docs" / "how-to"
BOARD = json.loads((HOW_TO / "grafana-dashboard.json").read_text(encoding="utf-8"))


def test_the_dashboard_and_the_alerts_name_only_what_a_scrape_has(played):
    there = {key[0] for got in played[0][-1] for key in got.samples}
    there |= {f"agentleague_{name}" for name in ("call_failures_total", "http_refusals_total")}
    there |= {f"agentleague_{name}" for name in SERVICE}
    page = (HOW_TO / "monitor.md").read_text(encoding="utf-8")
    asked = " ".join([json.dumps(BOARD), *re.findall(r"expr:.+?annotations", page, re.DOTALL)])
    named = set(re.findall(r"agentleague_\w+", asked))

    assert len(named) > 20
    assert named - there == set()
    assert page.count("- alert:") == 5


def test_every_panel_of_the_dashboard_asks_the_chosen_data_source_and_has_a_place_of_its_own():
    choice, manager = BOARD["templating"]["list"]
    places = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        for part in (panel, manager, *panel["targets"]):
            assert part["datasource"] == {"type": "prometheus", "uid": f"${{{choice['name']}}}"}
        assert at["x"] + at["w"] <= 24
        assert not places & cells
        places |= cells

    assert (choice["type"], choice["query"]) == ("datasource", "prometheus")
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
