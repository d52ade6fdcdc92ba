"""`league agents` and `league agent`."""

import json
import re

import pytest

from agentleague.cli import output
from agentleague.league.events import DialectLearnt, PlayerReturned
from cli.test_standings import in_its_second_round, league, printed
from cli.two_sources import keep, served
from league.decisions import Decisions
from records.journals import one_match


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
    shown = json.loads(printed("agents", "--json", "--dir", keep(Decisions(2), tmp_path)))

    assert [row["state"] for row in shown] == ["REGISTERED"] * 3


def test_one_player_with_its_place_and_matches(directory):
    shown = printed("agent", "p02", "--dir", directory)

    assert "P02 Beta with quite a long name" in shown
    for heading, value in (("Rank", "5"), ("Technical losses", "1"), ("Why there", "0 points")):
        assert any(
            line.split("  ")[0].strip() == heading and value in line for line in shown.splitlines()
        )
    assert "R1M1    lost by technical loss against" in shown


def test_one_referee_with_what_it_is_at(directory):
    shown = [line.split() for line in printed("agent", "REF02", "--dir", directory).splitlines()]

    assert ["Locks", "yes"] in shown
    assert ["At", "R2M2"] in shown


def test_every_way_a_match_can_end_has_words(tmp_path):
    decisions = Decisions(2, cycles=5).start()
    winner = None
    for number in range(1, 6):
        match_id = f"R{number}M1"
        if number == 1:
            decisions.lock([(0, "P01", "even"), (0, "P02", "even")])
        if number == 2:
            decisions.record(decisions.adjudicator.no_contest(match_id, "no referee"))
        if number == 3:
            decisions.lock([], [("P01", "failed")], match_id=match_id)
        if number == 4:
            locked = decisions.lock([(0, "P02", "odd"), (0, "P01", "even")], match_id=match_id)
            winner = locked.answer.result.winner
        decisions.schedule(number + 1) if number < 5 else None

    shown = printed("agent", "P02", "--dir", keep(decisions, tmp_path)).splitlines()

    result = "won" if winner == "P02" else "lost"
    matches = [line.partition("  ") for line in shown if re.match(r"R\dM1 ", line)]
    assert [match_id for match_id, _, _ in matches] == ["R1M1", "R2M1", "R3M1", "R4M1", "R5M1"]
    for (_, _, told), ended in zip(
        matches,
        [
            "drawn with Agent 1 (P01): Both chose even",
            "no contest with Agent 1 (P01): no contest: no referee.",
            "won by technical loss against Agent 1 (P01): P01 failed - P02 wins by default.",
            f"{result} against Agent 1 (P01): ",
            "still to be played, against Agent 1 (P01).",
        ],
        strict=True,
    ):
        assert told.strip().startswith(ended)
    luck = "Agent 2 (P02) could change nothing"
    assert any(luck in line for line in shown) == (result == "lost")


def test_an_agent_who_is_not_there(directory):
    done = league("agent", "P99", "--dir", directory)

    assert (done.exit_code, done.stdout) == (1, "")
    assert f"'P99' in this league; see who is there with: league agents --dir {directory}" in (
        done.stderr
    )


def test_an_agent_is_found_by_its_name_in_any_case(directory):
    by_id = json.loads(printed("agent", "p01", "--dir", directory, "--json"))
    by_name = json.loads(printed("agent", "alpha", "--dir", directory, "--json"))

    assert by_id == by_name
    assert by_name["agent_id"] == "P01"


FAILED = [
    (0, "P01", "GAME_INVITATION", 1, "ok", None, 3),
    (9, "P01", "CHOOSE_PARITY_CALL", 1, "E004", "Even", 4),
    (14, "P01", "CHOOSE_PARITY_CALL", 2, "E004", None, 5),
    (20, "P01", "CHOOSE_PARITY_CALL", 3, "E001", None, None),
    (25, "P01", "CHOOSE_PARITY_CALL", 4, "E001", None, None),
    (9, "P02", "CHOOSE_PARITY_CALL", 1, "E009", None, None),
    (30, "P01", "CHOOSE_PARITY_CALL", 5, "no content", None, 2),
    (40, "P01", "CHOOSE_PARITY_CALL", 6, "sulks", None, 2),
    (50, "P01", "CHOOSE_PARITY_CALL", 6, "dropped", None, None),
]
WHY = """\
R1M1    lost by technical loss against Agent 2 (P02): P01 made an illegal move - P02 wins by \
default.
        At 0.009 s it was asked with CHOOSE_PARITY_CALL and after 4 ms there came "Even", an \
illegal move (E004).
        At 0.014 s it was asked with CHOOSE_PARITY_CALL, attempt 2, and after 5 ms there came \
null, which is no move (E004).
        At 0.020 s it was asked with CHOOSE_PARITY_CALL, 2 times in a row, and there came no \
answer in time (E001).
        At 0.030 s it was asked with CHOOSE_PARITY_CALL, attempt 5, and after 2 ms there came an \
error, or an answer without a join or a move (no content).
        At 0.040 s it was asked with CHOOSE_PARITY_CALL, attempt 6, and after 2 ms there came \
something its referee found wrong (sulks).
        To change: send a legal move, exactly as it is named.
        To change: return a move: null is sent when its function raised an exception or returned \
nothing; its own terminal says which.
        To change: answer before the `deadline` of the call; a slow model needs a time limit of \
its own.
        To change: answer with what was asked for: a join has `accept`, a move has \
`parity_choice`, `choice` or `move`, in even_odd with the value even or odd, in lower case.
        To change: ask the referee's author."""


@pytest.fixture
def lost():
    return one_match([], [("P01", "made an illegal move")], transcript=FAILED)


def test_each_failure_is_told_with_what_came_how_long_and_what_to_change(lost, tmp_path):
    directory = keep(lost, tmp_path)

    shown = printed("agent", "P01", "--dir", directory).splitlines()
    with_rules = printed("agent", "P01", "--dir", directory, "-v")

    at = next(number for number, line in enumerate(shown) if line.startswith("R1M1"))
    assert shown[at:] == WHY.splitlines()
    assert "P02 wins by default (R-MATCH-07)." in with_rules
    assert "an illegal move (E004, R-MATCH-20, R-GAME-01)." in with_rules


def test_a_manager_tells_the_same(lost, tmp_path):
    with served(lost) as url:
        there = json.loads(printed("agent", "P01", "--manager", url, "--json"))
    here = json.loads(printed("agent", "P01", "--dir", keep(lost, tmp_path), "--json"))

    assert there["told"] == here["told"]
    assert here["told"][0]["failures"][0]["rules"] == ["R-MATCH-20", "R-GAME-01"]


def test_before_the_start_there_is_nothing_to_tell(tmp_path):
    shown = printed("agent", "P01", "--all", "--dir", keep(Decisions(2), tmp_path))

    assert "REGISTERED" in shown
    assert "R1M1" not in shown


def test_the_last_matches_are_told_and_all_if_wanted(tmp_path):
    decisions = Decisions(2, cycles=23).play_to_the_end()
    keep(decisions, tmp_path)

    done = league("agent", "P01", "--dir", tmp_path)
    last = done.stdout.splitlines()
    every = printed("agent", "P01", "--dir", tmp_path, "--all").splitlines()

    assert sum(line.startswith("R") and "M1 " in line for line in last) == 20
    assert done.stderr == "These are the last 20 of 23 matches; see all with: --all\n"
    assert sum(line.startswith("R") and "M1 " in line for line in every) == 23


def test_an_agent_that_speaks_otherwise_is_shown_with_how(tmp_path):
    decisions = Decisions(2)
    decisions.record(DialectLearnt("P02", "bare"))
    directory = keep(decisions, tmp_path)

    table = printed("agents", "--dir", directory)
    one = printed("agent", "P02", "--dir", directory)

    assert "Speaks" in table
    assert "bare messages, no JSON-RPC" in table
    assert re.search(r"Speaks +bare messages, no JSON-RPC", one)


@pytest.mark.parametrize("columns", [80, 110])
def test_ids_and_names_are_never_cut_for_a_long_dialect(tmp_path, monkeypatch, columns):
    decisions = Decisions(2)
    decisions.record(DialectLearnt("P02", "no_such_dialect_of_ours" * 5))
    decisions.record(DialectLearnt("REF01", "start_match/tool"))
    monkeypatch.setattr(output, "WIDTH_ELSEWHERE", columns)

    table = printed("agents", "--dir", keep(decisions, tmp_path))

    rows = [line.split()[:4] for line in table.splitlines()]
    assert ["P02", "player", "Agent", "2"] in rows
    assert ["REF01", "referee", "Ref01", "REGISTERED"] in rows
    assert max(map(len, table.splitlines())) <= columns


def test_a_player_that_came_back_without_its_token_is_shown(tmp_path):
    decisions = Decisions(2)
    decisions.record(PlayerReturned("P02", "digest", 2))

    table = printed("agents", "--dir", keep(decisions, tmp_path))

    assert table.count("REGISTERED, lost its token") == 1
