"""`league play --until`: pairs are played until it is clear who is better."""

import json

import pytest

from agentleague.cli.until import MEANING, Clarity, sentences
from agentleague.league.standings import Table
from cli import in_process
from commands import ROOT, league


class Contest:
    """A league of two as far as `Clarity` looks at it."""

    def __init__(self, confidence=0.95, margin=100.0):
        self.clarity = Clarity(confidence, margin)
        self.table, self.rounds_ended = Table({"P01": "mine", "P02": "other"}), 0
        self.total_matches, self.has_started = 1_000, True

    def play(self, *winners):
        for winner in winners:
            if winner != "no contest":
                self.table.count("P01", "P02", winner=winner)
            self.rounds_ended += 1
            is_clear = self.clarity.after_round(self)
        return is_clear


class Shown:
    """What `Progress` was told to show."""

    def __init__(self, *, is_live):
        self.is_live = is_live

    def __call__(self, league, awaited, evidence):
        self.evidence = evidence


def test_pairs_are_counted_in_the_order_of_the_rounds():
    contest = Contest()

    contest.play("P01", "P01", "P01", None, "P02", "P01", None, "P02", "P02", "P02", "P01")

    assert contest.clarity.test.counts == [1, 1, 1, 1, 1]  # The eleventh waits for the twelfth.


def test_a_pair_with_a_match_that_does_not_count_says_nothing():
    contest = Contest()

    contest.play("P01", "no contest", "P01", "P01", "no contest", "no contest")

    assert contest.clarity.test.counts == [0, 0, 0, 0, 1]


def test_it_is_clear_only_at_the_end_of_a_pair():
    contest, clear = Contest(), []
    while not clear or not clear[-1]:
        clear.append(contest.play("P01"))

    assert len(clear) % 2 == 0
    assert contest.clarity.test.verdict == "first"


SHORT = "mine has 30 points in 40 matches (75.0 %)"
FULL = f"{SHORT}, Elo +191, from +3 to +420 with 95 %."
SCORE = {"matches": 40, "points": 30.0, "share": 0.75, "elo": 190.8, "elo_interval": [3.4, 420.0]}
OTHER = {"matches": 40, "points": 10, "share": 0.25, "elo": -190.8, "elo_interval": [-420, -3.4]}
BEFORE = SCORE | {"elo_interval": [None, None]}
WON = BEFORE | {"elo": None, "share": 1.0, "points": 40}
BY_HOW_MUCH = "  By how much, a fixed number of matches shows: --matches 2000, without --until."


# What is known of the difference: after a clear contest it begins near 0, which says nothing.
@pytest.mark.parametrize(
    ("verdict", "score", "said"),
    [
        ("first", SCORE, f"mine is better than it: {SHORT}, Elo +191, at most +420 with 95 %."),
        ("first", SCORE | {"elo_interval": [3, None]}, f"mine is better than it: {SHORT}."),
        (
            *("first", WON | {"elo_interval": [5, None]}),
            "mine is better than it: mine has 40 points in 40 matches (100.0 %).",
        ),
        (
            *("second", OTHER),
            "it is better than mine: it has 30 points in 40 matches (75.0 %), Elo +191, "
            "at most +420 with 95 %.",
        ),
        ("neither", SCORE, f"Neither is better by 30 Elo or more: {FULL}"),
        ("not_clear", SCORE, f"Not clear after 40 matches: {FULL}"),
        (
            *("not_clear", WON | {"elo_interval": [-9, None]}),
            "Not clear after 40 matches: mine has 40 points in 40 matches (100.0 %), "
            "Elo at least -9 with 95 %.",
        ),
        ("not_clear", BEFORE, f"Not clear after 40 matches: {SHORT}."),
    ],
)
def test_the_answer_is_a_sentence_from_the_side_of_the_better_one(verdict, score, said):
    until = {"verdict": verdict, "margin_elo": 30.0, "confidence": 0.95}

    more = [BY_HOW_MUCH] if verdict in ("first", "second") else []
    assert sentences(["mine", "it"], score, until) == [said, *more]


def test_progress_is_a_bar_for_each_test_with_its_bounds(capsys):
    contest, live = Contest(), Shown(is_live=True)
    contest.play(*["P01"] * 10)

    contest.clarity.watch(live, contest, ())

    first, second = live.evidence
    assert first.startswith("  mine is better   -3.66 #")
    assert f"+3.66  LLR {contest.clarity.test.llrs[0]:+.2f}" in first
    assert first.count("#") > second.count("#")
    contest.clarity.watch(live, contest, ())
    assert capsys.readouterr().err == f"{MEANING}\n"  # once


def test_where_nothing_can_move_a_line_is_said_after_twice_as_many_pairs_each_time(capsys):
    contest, lines = Contest(margin=1.0), Shown(is_live=False)
    for _ in range(64):
        contest.play("P01", "P02")
        contest.clarity.watch(lines, contest, ())

    lines = capsys.readouterr().err.splitlines()
    said = [line for line in lines if not line.startswith("  ")]
    assert said == [MEANING, *(f"After {n} matches:" for n in (32, 64, 128))]


def test_players_are_compared_until_it_is_clear(tmp_path):
    arguments = ("play", "random", "fixed", "--game", "tic_tac_toe", "--seed", "7")
    arguments += ("--until", "95%", "--margin", "100", "--json")
    done = json.loads(league(*arguments, "--dir", tmp_path / "kept").stdout)
    again = json.loads(league(*arguments).stdout)

    until, score = done["until"], done["score"]
    assert (until["verdict"], until["better"]) == ("second", "P02")
    assert until["llr"][1] >= until["bounds"][1]
    assert sum(until["pairs"]) * 2 == score["matches"] < until["matches_max"] == 10_000
    assert score["elo_interval"][0] < score["elo"] < score["elo_interval"][1] <= 0
    assert (score["method"], score["confidence"]) == ("gsprt", 0.95)
    assert again["until"] == until  # By its seed it ends with the same match.
    assert "matches are decided" in league("verify", tmp_path / "kept").stdout


def test_the_page_shows_what_is_printed():
    page = (ROOT / "docs" / "how-to" / "stop-when-it-is-clear.md").read_text(encoding="utf-8")
    typed = next(line for line in page.splitlines() if "--seed" in line)

    done = league(*typed.split()[1:])

    assert "luck" not in done.stderr
    assert all(f"    {line}" in page.splitlines() for line in done.stdout.splitlines())


def test_after_the_maximum_it_is_said_that_it_is_not_clear():
    done = in_process.league("play", "random", "random", "--until", "99%", "--matches", "7")

    answer, score = done.stdout.splitlines()
    assert answer.startswith("Not clear after 6 matches: random has ")
    assert "random-2 won" in score or "random won" in score
    assert "wins" not in done.stdout
    assert "is over" not in done.stderr
    assert (
        "even_odd is a game of luck: no choice wins more often than it loses, so neither"
        in done.stderr
    )


def test_a_match_without_a_game_counts_as_lost_and_the_answer_says_that_nothing_was_shown(tmp_path):
    (tmp_path / "wrong.py").write_text("def choose(turn):\n    return 'Even'\n")

    done = league("play", "random", "wrong.py", "--until", "90", "--margin", "200", cwd=tmp_path)

    assert "lost without a game; that says nothing of how well they play" in done.stdout
    assert "is better" not in done.stdout
