"""`league status`, and its measures."""

import asyncio
import json

import pytest

from agentleague.cli import output
from agentleague.cli.commands import status
from agentleague.errors import LeagueError
from agentleague.league.events import LeagueEnded, LeaguePaused
from agentleague.protocol import timestamps
from agentleague.protocol.messages import Exchange
from agentleague.runtime.clock import wall
from agentleague.storage.directory import SETTINGS_NAME
from agentleague.storage.lock import hold, publish, release
from cli.test_standings import in_its_second_round, league, printed
from cli.two_sources import keep
from league.decisions import Decisions


def told():
    """One match with a question that was asked twice."""
    decisions = Decisions(2).start()
    winner = decisions.lock([(0, "P01", "even"), (0, "P02", "odd")]).answer.result.winner
    rows = [
        Exchange(0, "P01", "GAME_INVITATION", 1, "E001"),
        Exchange(2_000, "P01", "GAME_INVITATION", 2, "ok", None, 12),
    ]
    decisions.report(winner, transcript=rows)
    return decisions


def lines(*arguments):
    return [line.split() for line in printed(*arguments).splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("event", "state"),
    [
        (None, ["State", "RUNNING_LEAGUE"]),
        (LeaguePaused(), ["State", "RUNNING_LEAGUE", "(paused)"]),
        (LeagueEnded("P01"), ["State", "LEAGUE_COMPLETED"]),
        (LeagueEnded("P01", aborted=True), ["State", "LEAGUE_COMPLETED", "(aborted)"]),
    ],
)
def test_the_status_in_words(event, state, tmp_path):
    decisions = in_its_second_round()
    if event:
        decisions.record(event)

    shown = lines("status", "--dir", keep(decisions, tmp_path))

    assert shown[:7] == [
        ["league_2026_even_odd_office"],
        state,
        ["Game", "even_odd"],
        ["Round", "2", "of", "5"],
        ["Matches", "3", "of", "10"],
        ["Players", "5"],
        ["Referees", "2"],
    ]
    ended = isinstance(event, LeagueEnded)
    leader = ["Leader" if ended and event.aborted else "Champion", "P01", "Alpha"]
    assert shown[7:] == [leader if ended else ["In", "play", "R2M2"]]


def test_many_matches_in_play_are_counted_after_the_first(tmp_path):
    directory = keep(Decisions(30, 3).start(), tmp_path)

    (shown,) = [line for line in lines("status", "--dir", directory) if line[0] == "In"]
    told = json.loads(printed("status", "--json", "--dir", directory))

    assert shown[2:4] == ["R1M1,", "R1M2,"]
    assert shown[-3:] == ["and", "3", "more"]
    assert told["in_play"] == [f"R1M{n}" for n in range(1, 16)]


def test_a_directory_says_when_its_manager_wrote_last_and_that_none_runs(tmp_path):
    running, over = in_its_second_round(), in_its_second_round()
    over.record(LeagueEnded("P01"))

    left = league("status", "--dir", keep(running, tmp_path / "the cup")).stderr
    (tmp_path / "the cup" / SETTINGS_NAME).touch()
    of_a_manager = league("status", "--dir", tmp_path / "the cup").stderr
    ended = league("status", "--dir", keep(over, tmp_path / "ended")).stderr

    start = f"league manager --dir '{tmp_path}/the cup'"
    assert left == (
        "The last row was written at 2023-11-14T22:13:20.000Z; "
        f"no manager runs in {tmp_path}/the cup (a demo cannot go on: its players ended with it); "
        f"start it with: {start}\n"
    )
    assert f"no manager runs in {tmp_path}/the cup; start it with: {start}\n" in of_a_manager
    assert ended.endswith(f"; no manager runs in {tmp_path}/ended.\n")


def test_a_directory_says_where_its_manager_runs_while_that_holds_its_lock(tmp_path):
    decisions = in_its_second_round()
    decisions.record(LeaguePaused())
    directory = keep(decisions, tmp_path)

    held = hold(directory)
    publish(held, "http://127.0.0.1:9/mcp")
    here = league("status", "--dir", directory).stderr
    release(held)
    elsewhere = league("status", "--dir", directory).stderr

    assert "; a manager runs, here at http://127.0.0.1:" in here
    assert here.endswith(f"; continue with: league start --dir {tmp_path}\n")
    assert f"no manager runs in {tmp_path}" in elsewhere
    assert "start it with: league manager --dir" in elsewhere


def test_agents_that_cannot_be_reached_are_named():
    class Answers:
        async def ask(self, query_type, **params):
            return {
                "GET_AGENTS": {
                    "agents": [
                        {"agent_id": "P01", "kind": "player", "reachable": True},
                        {"agent_id": "P02", "kind": "player", "reachable": False},
                        {"agent_id": "REF01", "kind": "referee", "open_matches": 0},
                    ],
                    "total": 3,
                }
            }[query_type]

    assert asyncio.run(status._now(Answers())) == {"in_play": [], "not_reachable": ["P02"]}


def test_the_status_of_a_manager_that_tells_no_agents_is_the_rest_of_it():
    class Answers:
        async def ask(self, query_type, **params):
            raise LeagueError("query_type 'GET_AGENTS' is unknown")

    assert asyncio.run(status._now(Answers())) == {}


def test_the_status_before_the_start(tmp_path):
    shown = json.loads(printed("status", "--json", "--dir", keep(Decisions(3), tmp_path)))

    assert shown["status"] == "WAITING_FOR_REGISTRATIONS"
    assert (shown["players"], shown["referees"], shown["total_rounds"]) == (3, 1, 0)
    assert "you" not in shown


def test_before_the_start_the_status_says_that_a_referee_is_missing(tmp_path, monkeypatch):
    async def asked(directory, ask):
        return {"players_wanted": 3, "referees_wanted": 1}

    monkeypatch.setattr(status, "ask_manager", asked)
    done = league("status", "--dir", keep(Decisions(2, 0), tmp_path))

    shown = [line.split() for line in done.stdout.splitlines()]
    assert ["Players", "2", "of", "3"] in shown
    assert ["Referees", "0", "of", "1;", "start", "one", "with:", "league", "referee"] in shown


def test_the_status_says_when_an_announced_round_begins():
    in_three_hours = timestamps.write(wall() + 3 * 3_600 + 60)
    for begins_at, shown in ((in_three_hours, "in 3 h"), ("noon", "at noon")):  # or a foreign one's
        facts = status._facts({"current_round": 1, "total_rounds": 3, "round_begins_at": begins_at})

        assert facts["Begins"].startswith(shown)
    assert "Round" not in status._facts({"status": "WAITING_FOR_REGISTRATIONS"})


@pytest.mark.parametrize(
    ("start_at", "shown"),
    [
        ("2126-12-01T18:00:00+01:00", "at 2126-12-01 18:00 UTC+01:00 (in "),
        ("2020-12-01T18:00:00Z", "at 18:00 UTC (as soon as all are there that it needs), 4"),
        ("tomorrow", "at tomorrow"),
    ],
)
def test_the_time_of_the_start_is_told_as_persons_read_it(start_at, shown):
    assert output.starting(start_at, 4).startswith(shown)


def test_the_measures_say_what_is_wanted_and_whether_it_is_kept(tmp_path):
    shown = printed("status", "--metrics", "--dir", keep(told(), tmp_path))

    table = shown.partition("Measured over the last 1 match")[2]
    assert [line.split()[-4:] for line in table.splitlines() if "timed out" in line] == [
        ["50.0%", "<", "5%", "NO"]
    ]
    trip = next(line.split() for line in table.splitlines() if "round trip" in line)
    assert trip[-6:] == ["12", "ms", "<", "500", "ms", "yes"]
    assert "moves that were illegal" in table


def test_the_measures_as_json_stand_beside_the_status(tmp_path):
    shown = json.loads(printed("status", "--metrics", "--json", "--dir", keep(told(), tmp_path)))

    assert shown["status"] == "RUNNING_LEAGUE"
    assert shown["matches_measured"] == 1
    kept = {row["metric"]: row["kept"] for row in shown["metrics"]}
    assert (kept["timeout_rate"], kept["retry_success_rate"], kept["retries"]) == (
        False,
        True,
        None,
    )
