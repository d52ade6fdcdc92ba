"""`league schedule`."""

import json

from agentleague.league.events import RoundEnded
from cli.test_standings import in_its_second_round, league, printed
from cli.two_sources import keep
from league.decisions import Decisions


def rows(text):
    lines = [line.split() for line in text.splitlines()]
    return [line for line in lines if line and line[0].isdecimal() and line[1] != "rounds"]


def test_each_match_says_who_meets_whom_and_how_it_ended(tmp_path):
    shown = rows(printed("schedule", "--dir", keep(in_its_second_round(), tmp_path)))

    assert len(shown) == 15
    assert shown[0][:4] == ["1", "R1M1", "P02", "Beta"]
    assert shown[0][-8:] == ["P03", "🦊", "Fox", "P03", "won", "by", "technical", "loss"]
    assert shown[2] == ["1", "bye", "P01", "Alpha"]
    assert shown[3][:2] == ["2", "R2M1"]
    assert shown[4][-1] == "playing"
    assert shown[6][:4] == ["3", "R3M1", "P05", "Epsilon"]


def test_every_way_a_match_can_end_has_words(tmp_path):
    decisions = Decisions(8).start()
    decisions.play("R1M1", forfeits=["P01", "P02"])
    decisions.record(decisions.adjudicator.no_contest("R1M2", "no referee"))
    for match_id, moves in (("R1M3", ("even", "even")), ("R1M4", ("even", "odd"))):
        players = decisions.league.matches[match_id].players
        decisions.lock([(0, players[0], moves[0]), (0, players[1], moves[1])], match_id=match_id)
    winner = decisions.league.matches["R1M4"].decided.result.winner_player_id
    decisions.record(RoundEnded(1))

    shown = printed("schedule", "--round", "1", "--dir", keep(decisions, tmp_path))

    assert [" ".join(row[8:]) for row in rows(shown)] == [
        "both lost",
        "no contest",
        "draw",
        f"{winner} won",
    ]


def test_one_round_alone(tmp_path):
    directory = keep(in_its_second_round(), tmp_path)

    (only,) = json.loads(printed("schedule", "--round", "2", "--json", "--dir", directory))
    beyond = league("schedule", "--round", "9", "--dir", directory)
    zero = league("schedule", "--round", "0", "--dir", directory)

    assert (only["round_id"], only["byes"]) == (2, ["P02"])
    assert [match["match_id"] for match in only["matches"]] == ["R2M1", "R2M2"]
    assert (beyond.exit_code, "there are rounds 1 to 5" in beyond.stderr) == (1, True)
    assert zero.exit_code == 2
