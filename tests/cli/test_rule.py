"""`league rule`, and where disputes, rulings and misused tokens are shown."""

import csv
import json

import pytest

from agentleague.league.events import Disputed, MatchRuled, RoundEnded, TokenMisused
from cli.test_organise import a_manager, agents
from cli.test_standings import league as asked
from cli.test_standings import printed
from cli.two_sources import keep
from commands import SECONDS, league
from league.decisions import Decisions


def troubled():
    """A league of four after its first round: R1M1 is ruled on, R1M2 disputed, P02 misbehaved."""
    decisions = Decisions(4, referees=2, locks=False).start()
    decisions.report("P01", match_id="R1M1", referee="REF01")
    decisions.report("P03", match_id="R1M2", referee="REF02", details={"status": "DRAW"})
    decisions.record(MatchRuled("R1M1", "win", "P02", "P01 read P02's mail"))
    decisions.record(TokenMisused("P02", "MATCH_RESULT_REPORT", "match"))
    decisions.record(RoundEnded(1))
    return decisions


@pytest.fixture
def directory(tmp_path):
    return keep(troubled(), tmp_path / "cup")


def test_the_status_names_what_the_organiser_should_look_at(directory):
    lines = map(str.strip, printed("status", "--dir", directory).splitlines())
    words = {line.partition("  ")[0]: line.partition("  ")[2].strip() for line in lines}
    told = json.loads(printed("status", "--dir", directory, "--json"))

    assert words["Disputed"] == "R1M2"
    assert words["Ruled on"] == "R1M1"
    assert words["Misused tokens"] == "P02"
    assert (told["disputed_matches"], told["ruled_matches"]) == (["R1M2"], ["R1M1"])
    assert told["misused_tokens_of"] == ["P02"]


def test_the_table_has_footnotes(directory):
    shown = printed("standings", "--dir", directory)
    rows = json.loads(printed("standings", "--dir", directory, "--json"))

    assert shown.splitlines()[-2:] == [
        "R1M1: the organiser ruled: P02 won (P01 read P02's mail).",
        "Disputed, not ruled on yet: R1M2.",
    ]
    assert {row["player_id"]: row["points"] for row in rows} == {
        "P02": 3,
        "P03": 3,
        "P01": 0,
        "P04": 0,
    }


def test_many_rulings_are_only_counted(tmp_path):
    decisions = Decisions(24, locks=False).start()
    for match_id in sorted(decisions.league.open_matches):
        decisions.report(None, match_id=match_id, details={"status": "WIN"})
        decisions.record(MatchRuled(match_id, "no_contest", None, "a mess"))
        decisions.record(Disputed(match_id, "REF01", "another result"))

    shown = printed("standings", "--dir", keep(decisions, tmp_path)).splitlines()

    assert sum("the organiser ruled" in line for line in shown) == 10
    assert shown[-2] == "The organiser ruled on 12 matches; see all with: league schedule"
    assert shown[-1].endswith(" and more.")


def test_the_schedule_marks_matches(directory):
    lines = printed("schedule", "--dir", directory).splitlines()
    (first, *_) = json.loads(printed("schedule", "--dir", directory, "--json"))

    ends = {line.split()[1]: line for line in lines if " R1M" in line}
    assert ends["R1M1"].endswith("P02 won, ruled, not verified")
    assert ends["R1M2"].endswith("P03 won, not verified, disputed")
    assert [match.get("ruled") for match in first["matches"]] == [True, None]
    assert [match.get("disputed") for match in first["matches"]] == [None, True]


def test_a_match_tells_its_dispute_and_its_ruling(directory):
    ruled = printed("match", "R1M1", "--dir", directory).splitlines()
    disputed = printed("match", "R1M2", "--dir", directory)
    told = json.loads(printed("match", "R1M1", "--dir", directory, "--json"))

    assert ruled[-1] == (
        "The organiser ruled: P02 won (P01 read P02's mail); that counts in the table, not the "
        "result above."
    )
    assert "Disputed: REF02 reported what cannot be: the status is DRAW and the winner P03." in (
        disputed
    )
    assert told["ruling"]["verdict"] == "win"
    assert told["result"]["winner_player_id"] == "P01"


def test_an_agent_shows_its_rulings_and_where_its_token_was_refused(directory):
    everybody = printed("agents", "--dir", directory)
    one = printed("agent", "P02", "--dir", directory)

    (line,) = [line for line in everybody.splitlines() if "misused a token" in line]
    assert line.split()[0] == "P02"
    assert "a match token came with MATCH_RESULT_REPORT, which it gives no right to" in (
        " ".join(one.split())
    )
    assert "won by a ruling against Agent 1 (P01): P01 read P02's mail" in one
    lost = printed("agent", "P01", "--dir", directory)
    assert "lost by a ruling against Agent 2 (P02)" in lost


@pytest.mark.parametrize(
    ("verdict", "words"),
    [("draw", "drawn by a ruling with"), ("no_contest", "no contest by a ruling with")],
)
def test_an_agent_shows_the_other_rulings_too(verdict, words, tmp_path):
    decisions = troubled()
    decisions.record(MatchRuled("R1M1", verdict, None, "well"))

    assert words in printed("agent", "P02", "--dir", keep(decisions, tmp_path))


def test_an_export_has_what_counts_and_what_was_decided(directory, tmp_path):
    out = tmp_path / "out"
    printed("export", directory, "--out", out)

    (table,) = out.glob("data/leagues/*/matches.csv")
    rows = {
        row["match_id"]: row
        for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    }
    (match,) = out.glob("data/matches/*/R1M1.json")
    history = json.loads((out / "data/players/P02/history.json").read_text())

    assert (rows["R1M1"]["winner_player_id"], rows["R1M1"]["ruled"]) == ("P02", "True")
    assert rows["R1M1"]["reason"] == "ruled by the organiser: P01 read P02's mail"
    assert (rows["R1M2"]["disputed"], rows["R1M2"]["verified"]) == ("True", "False")
    told = json.loads(match.read_text())
    assert told["result"]["winner_player_id"] == "P01"
    assert told["ruling"]["winner_player_id"] == "P02"
    assert (history["matches"][0]["outcome"], history["matches"][0]["ruled"]) == ("WIN", True)


def test_verify_says_what_counts_as_the_organiser_ruled(directory):
    lines = printed("verify", directory).splitlines()

    assert "Counted as the organiser ruled: R1M1." in lines
    assert "Disputed by a referee: R1M2." in lines


UNCLEAR = [
    ([], "say what counts with one of: --winner PLAYER, --draw, --no-contest, --let-stand"),
    (["--draw", "--no-contest", "--reason", "x"], "say what counts with one of"),
    (["--winner", "P01", "--let-stand"], "say what counts with one of"),
    (["--draw"], "give a reason, which everybody will see: --reason"),
    (["--winner", "P01", "--reason", " "], "give a reason, which everybody will see"),
]


def test_a_ruling_must_say_what_and_why(tmp_path):
    for arguments, why in UNCLEAR:
        done = asked("rule", "R1M1", *arguments, "--dir", tmp_path)

        assert done.exit_code == 2
        assert why in done.stderr


def test_a_whole_ruling_against_a_manager_that_runs(tmp_path):
    cup = tmp_path / "cup"
    manager, url = a_manager(cup)
    found = agents(url)
    early = league("rule", "R1M1", "--draw", "--reason", "x", "--yes", "--dir", cup, check=False)
    league("start", "--dir", cup)
    for agent in found:
        agent.communicate(timeout=SECONDS)  # The league is over.
    first, second = json.loads(league("standings", "--manager", url, "--json").stdout)

    asked_first = league("rule", "R1M1", "--draw", "--reason", "x", "--dir", cup, check=False)
    said = league(
        *("rule", "r1m1", "--winner", second["player_id"].lower(), "--reason", "seen on video"),
        *("--yes", "--dir", cup),
    )
    after = json.loads(league("standings", "--manager", url, "--json").stdout)
    wrong = league(
        "rule", "R1M1", "--winner", "P09", "--reason", "x", "--yes", "--dir", cup, check=False
    )
    table = league("standings", "--dir", cup).stdout
    verified = league("verify", cup).stdout

    assert early.returncode == 1
    assert "there is no match 'R1M1' that has begun; look with: league schedule" in early.stderr
    assert "Rule on R1M1 of the league in" in asked_first.stderr
    assert asked_first.returncode != 0
    assert f"R1M1: the organiser ruled: {second['player_id']} won (seen on video)." in said.stdout
    assert "LEAGUE_COMPLETED was sent before that" in said.stdout
    assert after[0]["player_id"] == second["player_id"] != first["player_id"]
    assert "there is no player 'P09' in this league" in wrong.stderr
    assert "R1M1: the organiser ruled:" in table
    assert f"The champion is {second['player_id']}." in verified
    manager.terminate()
    manager.communicate(timeout=SECONDS)
