"""`league agents` and `league agent`."""

import json

import pytest

from cli.shelf import keep
from cli.test_standings import in_its_second_round, league, printed
from league.office import Office


@pytest.fixture
def directory(tmp_path):
    return keep(in_its_second_round(), tmp_path)


def test_all_agents_with_state_and_activity(directory):
    title, heading, _, *rows = [
        line.split() for line in printed("agents", "--dir", directory).splitlines() if line.strip()
    ]

    assert " ".join(title) == "5 players, 2 referees"
    assert heading == ["Id", "Kind", "Name", "State", "Activity", "Matches", "Open"]
    assert [row[0] for row in rows] == ["P01", "P02", "P03", "P04", "P05", "REF01", "REF02"]
    assert rows[0] == ["P01", "player", "Alpha", "ACTIVE", "WAITING_FOR_ROUND", "1", "0"]
    assert rows[4][-4:] == ["ACTIVE", "IN_MATCH", "2", "1"]
    assert rows[6] == ["REF02", "referee", "Ref02", "ACTIVE", "1"]


def test_one_kind_alone(directory):
    shown = json.loads(printed("agents", "--kind", "referee", "--json", "--dir", directory))

    assert [row["agent_id"] for row in shown] == ["REF01", "REF02"]
    assert league("agents", "--kind", "nobody", "--dir", directory).exit_code == 2


def test_agents_are_there_before_the_start(tmp_path):
    shown = json.loads(printed("agents", "--json", "--dir", keep(Office(2), tmp_path)))

    assert [row["state"] for row in shown] == ["REGISTERED"] * 3


def test_one_player_with_its_place_and_matches(directory):
    shown = printed("agent", "p02", "--dir", directory)

    assert "P02 Beta with quite a long name" in shown
    for heading, value in (("Rank", "5"), ("Lost by default", "1"), ("Why there", "0 points")):
        assert any(
            line.split("  ")[0].strip() == heading and value in line for line in shown.splitlines()
        )
    assert ["R1M1", "P03", "lost", "by", "default"] in [line.split() for line in shown.splitlines()]


def test_one_referee_with_what_it_is_at(directory):
    shown = [line.split() for line in printed("agent", "REF02", "--dir", directory).splitlines()]

    assert ["Locks", "yes"] in shown
    assert ["At", "R2M2"] in shown


def test_every_way_a_match_can_end_has_words(tmp_path):
    office = Office(2, cycles=5).start()
    winner = None
    for number in range(1, 6):
        match_id = f"R{number}M1"
        if number == 1:
            office.lock([(0, "P01", "even"), (0, "P02", "even")])
        if number == 2:
            office.record(office.court.no_contest(match_id, "no referee"))
        if number == 3:
            office.lock([], [("P01", "failed")], match_id=match_id)
        if number == 4:
            locked = office.lock([(0, "P02", "odd"), (0, "P01", "even")], match_id=match_id)
            winner = locked.answer.result.winner
        office.schedule(number + 1) if number < 5 else None

    shown = [
        line.split()
        for line in printed("agent", "P02", "--dir", keep(office, tmp_path)).splitlines()
    ]

    assert [row[2:] for row in shown if row and row[0].startswith("R") and len(row) > 2] == [
        ["draw"],
        ["no", "contest"],
        ["won", "by", "default"],
        ["won" if winner == "P02" else "lost"],
        ["playing"],
    ]


def test_an_agent_who_is_not_there(directory):
    done = league("agent", "P99", "--dir", directory)

    assert (done.exit_code, done.stdout) == (1, "")
    assert "Agent ID P99 not found in registry; see who is there with: league agents" in done.stderr
