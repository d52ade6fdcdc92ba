"""`league status`, and its measures."""

import json

import pytest

from agentleague.league.events import LeagueEnded, LeaguePaused
from agentleague.protocol.messages import Exchange
from cli.shelf import keep
from cli.test_standings import in_its_second_round, printed
from league.office import Office


def told():
    """One match with a question that was asked twice."""
    office = Office(2).start()
    winner = office.lock([(0, "P01", "even"), (0, "P02", "odd")]).answer.result.winner
    rows = [
        Exchange(0, "P01", "GAME_INVITATION", 1, "E001"),
        Exchange(2_000, "P01", "GAME_INVITATION", 2, "ok", None, 12),
    ]
    office.report(winner, transcript=rows)
    return office


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
    office = in_its_second_round()
    if event:
        office.record(event)

    shown = lines("status", "--dir", keep(office, tmp_path))

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
    leader = ["Leader" if ended and event.aborted else "Champion", "P01"]
    assert shown[7:] == ([leader] if ended else [])


def test_the_status_before_the_start(tmp_path):
    shown = json.loads(printed("status", "--json", "--dir", keep(Office(3), tmp_path)))

    assert shown["status"] == "WAITING_FOR_REGISTRATIONS"
    assert (shown["players"], shown["referees"], shown["total_rounds"]) == (3, 1, 0)
    assert "you" not in shown


def test_the_measures_say_what_is_wanted_and_whether_it_is_kept(tmp_path):
    shown = printed("status", "--metrics", "--dir", keep(told(), tmp_path))

    table = shown.partition("Measured over the last 1 matches")[2]
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
