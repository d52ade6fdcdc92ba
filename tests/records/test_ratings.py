"""Ratings from results of leagues: which matches count, who is who, and what is said of it."""

import pytest

from agentleague.games import even_odd, tic_tac_toe
from agentleague.league.events import MatchRuled, RegistrationDisplaced, RoundEnded
from agentleague.records.ratings import (
    BY_RESULTS,
    Decided,
    RatedLeague,
    in_words,
    opens_group,
    played_in,
    results_of,
    statistics,
)
from agentleague.records.reading import folded
from league.decisions import LEAGUE_ID, Decisions
from league.staged import Staged
from records.journals import played, rows_of

ANN_AND_BOB = {"P01": ("Ann", "1.0"), "P02": ("Bob", "1.0")}


def results(*texts, players=("P01", "P02")):
    """Results in short: + won, - lost, = drawn, t lost technically, T both, x no contest."""
    one, other = players
    kinds = {
        **{"+": (one, "WIN"), "-": (other, "WIN"), "=": (None, "DRAW")},
        **{"t": (other, "TECHNICAL_LOSS"), "T": (None, "TECHNICAL_LOSS")},
        "x": (None, "NO_CONTEST"),
    }
    return [Decided(players, *kinds[each]) for text in texts for each in text]


def league(text, players=ANN_AND_BOB, name="cup", game="even_odd", **more):
    return RatedLeague(name, game, players, results(text), **more)


def row_of(facts, name):
    return next(row for row in facts["rows"] if row["name"] == name)


def test_the_results_of_a_league_that_was_played_are_rated_by_player_id():
    league = folded(rows_of(played(players=4)))
    facts = statistics([results_of(league, even_odd)])

    assert (facts["leagues"], facts["matches"], facts["is_luck"]) == ([LEAGUE_ID], 6, True)
    assert {row["player_id"] for row in facts["rows"]} == {"P01", "P02", "P03", "P04"}
    assert facts["luck"].startswith(
        "even_odd is a game of luck: no choice wins more often than it loses."
    )
    assert facts == statistics([results_of(league, even_odd)])


def test_a_match_that_is_not_decided_and_a_league_without_players_are_no_results():
    running = Decisions(4).start()
    running.play("R1M1")

    assert len(results_of(running.league).results) == 1
    assert statistics([results_of(Decisions(0).league)])["rows"] == []


def test_what_the_organiser_ruled_counts():
    ruled = Decisions(2).start()
    ruled.play("R1M1")
    ruled.record(MatchRuled("R1M1", "no_contest", None, "so"))
    ruled.record(RoundEnded(1))

    assert [each.status for each in results_of(ruled.league).results] == ["NO_CONTEST"]


# Results, matches that count, and those that count without forfeits.
@pytest.mark.parametrize(
    ("text", "all_of_them", "without"),
    [("+-=", 3, 3), ("+t", 2, 1), ("+T", 1, 1), ("+x", 1, 1), ("x", 0, 0), ("", 0, 0)],
)
def test_a_technical_loss_counts_unless_it_is_left_out_and_void_matches_never(
    text, all_of_them, without
):
    assert statistics([league(text)])["matches"] == all_of_them
    assert statistics([league(text)], with_forfeits=False)["matches"] == without


def test_it_is_said_how_technical_losses_count():
    with_them = statistics([league("+tx")])["notes"]
    without = statistics([league("+tt")], with_forfeits=False)["notes"]

    assert with_them[0] == (
        "1 technical loss counts as lost, which says little of strength; for luck none counts."
    )
    assert with_them[1] == "1 match without a contest: for nobody."
    assert without == ["2 technical losses count not at all; for luck none counts."]
    assert statistics([league("ttttttttt")])["luck"] == ""  # Nobody was lucky in those.


def test_a_row_has_rating_intervals_range_and_chances():
    facts = statistics([league("+++++++++-")])
    ann, bob = facts["rows"]

    assert (ann["player_id"], ann["name"], ann["rank"], ann["matches"]) == ("P01", "Ann", 1, 10)
    assert ann["low_95"] < ann["low_50"] < ann["rating"] < ann["high_50"] < ann["high_95"]
    assert ann["rating"] == -bob["rating"] > 100
    assert ann["first"] == ann["chances"][0] == bob["chances"][1] > 0.9
    assert in_words(ann)["range"] in ("1 (1-1)", "1 (1-2)")


def test_of_very_many_players_chances_of_each_rank_are_left_out(monkeypatch):
    monkeypatch.setattr("agentleague.records.ratings.GRID_MAX", 1)

    assert statistics([league("++++")])["rows"][0]["chances"] == []


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("+", "Too few matches to say anything: ranks need two players with 3 or more."),
        ("+" * 30 + "-", "Ann is better than each of the others, with a chance of at least 95 %."),
        ("+-+-", "Nobody leads by rating. All players are too close to call."),
        (
            "++-" * 4,
            "Ann leads. All players are too close to call. To tell Ann from Bob takes about ",
        ),
        (
            "+-" * 60 + "+",
            "too close to call. At this difference, 10,000 more matches of each would not",
        ),
    ],
)
def test_one_sentence_says_who_leads(text, verdict):
    assert verdict in statistics([league(text)])["verdict"]


@pytest.mark.parametrize("text", ["++-" * 4, "+" * 30 + "-"])
def test_in_a_game_of_luck_nobody_is_better_and_no_more_matches_are_advised(text):
    facts = statistics([league(text, is_luck=True)])

    said = f"{facts['verdict']} {facts['luck']}"
    assert "better" not in said.replace("does not show that anybody is better", "")
    assert "more match" not in said
    assert "with 3 points for a win and 1 for a draw, fewer draws bring more points." in said
    assert [row["more_matches"] for row in facts["rows"]] == [None, None]


def test_those_who_are_close_to_the_first_are_named():
    names = {f"P0{n}": (name, "") for n, name in enumerate(("Ann", "Bob", "Cy"), 1)}
    rows = [
        *results("+-+-+-+-+-+", players=("P01", "P02")),
        *results("+" * 30, players=("P01", "P03")),
        *results("+" * 30, players=("P02", "P03")),
    ]
    verdict = statistics([RatedLeague("cup", "chess", names, rows)])["verdict"]

    assert verdict.startswith("Ann leads. Ann and Bob are too close to call.")


def test_who_played_too_little_is_last_and_it_is_said():
    names = {**ANN_AND_BOB, "P03": ("Cy", "")}
    rows = [*results("++++"), *results("+", players=("P03", "P01"))]
    facts = statistics([RatedLeague("cup", "chess", names, rows)])

    assert (facts["rows"][-1]["name"], in_words(facts["rows"][-1])["range"]) == ("Cy", "too few")
    assert facts["notes"] == ["1 player with fewer than 3 matches: too few for a rank."]


def test_who_has_no_match_that_counts_is_named():
    names = {**ANN_AND_BOB, "P03": ("Cy", ""), "P04": ("Di", "")}
    rows = [*results("++++"), *results("t", players=("P03", "P01"))]

    facts = statistics([RatedLeague("cup", "chess", names, rows)], with_forfeits=False)

    assert facts["notes"][-1] == "Without a match that counts, and so without a rating: Cy, Di."
    assert statistics([RatedLeague("cup", "chess", names, [])])["notes"] == []


def test_a_player_that_was_displaced_is_nobody():
    league = Decisions(3)
    league.record(RegistrationDisplaced("P02", "P03"))

    assert results_of(league.league).players.keys() == {"P01", "P03"}


@pytest.mark.parametrize(("name", "is_said"), [("swiss", True), ("round_robin", False)])
def test_where_winners_meet_winners_it_is_said_that_tables_show_little(name, is_said):
    staged = Staged(4, {"format": name}).begin().play_on()

    assert (BY_RESULTS in statistics([results_of(staged.league)])["notes"]) == is_said


def test_one_who_alone_played_enough_is_not_first_with_certainty():
    """As the champion of a small knockout, who plays more matches than anybody else."""
    names = {**ANN_AND_BOB, "P03": ("Cy", "")}
    rows = [*results("++"), *results("+", players=("P01", "P03"))]
    facts = statistics([RatedLeague("cup", "chess", names, rows)])

    assert {in_words(row)["range"] for row in facts["rows"]} == {"too few"}
    assert {in_words(row)["first"] for row in facts["rows"]} == {""}
    assert facts["verdict"].endswith("ranks need two players with 3 or more.")


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("+-+-+", "Ann leads. All with 3 matches or more are too close to call."),
        ("+" * 30 + "-", "Ann is better than each of the others with 3 matches or more, with"),
    ],
)
def test_a_verdict_says_nothing_of_those_who_played_too_little(text, verdict):
    names = {**ANN_AND_BOB, "P03": ("Cy", "")}
    rows = [*results(text), *results("+", players=("P03", "P01"))]

    assert statistics([RatedLeague("cup", "chess", names, rows)])["verdict"].startswith(verdict)


def test_groups_that_never_met_are_said():
    names = {f"P0{n}": (f"Player {n}", "") for n in range(1, 5)}
    rows = [*results("+++"), *results("+++", players=("P03", "P04"))]
    facts = statistics([RatedLeague("cup", "chess", names, rows)])

    assert facts["verdict"] == (
        "These are 2 groups that never met, not even through others, like that of Player 1 and "
        "that of Player 3: each is ranked by itself."
    )
    assert [(row["part"], row["rank"]) for row in facts["rows"]] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert all(sum(row["chances"]) == pytest.approx(1) for row in facts["rows"])
    assert [opens_group(facts["rows"][2], row) for row in (facts["rows"][1], None)] == [False] * 2


def test_over_several_leagues_players_with_the_same_name_are_one():
    swapped = {"P01": ("Bob", "1.0"), "P02": ("Ann", "1.0")}
    facts = statistics([league("+++"), league("---", swapped, "second")])

    assert row_of(facts, "Ann")["matches"] == 6
    assert row_of(facts, "Ann")["rating"] > 100
    assert facts["notes"] == [
        "Players with the same name count as one player: 2 names are in several leagues."
    ]


def test_the_same_matches_in_another_order_give_the_same_numbers():
    facts = [statistics([league(order)]) for order in ("++-+=-+=+--+", "--=+++=-++-+")]

    assert facts[0] == facts[1]
    assert 0 < facts[0]["luck_share"] < 1


def test_where_one_name_may_mean_two_players_it_is_said():
    newer = {"P01": ("Ann", "2.0"), "P02": ("Bob", "1.0")}
    twins = {"P01": ("Ann", "1.0"), "P02": ("Ann", "1.0")}
    facts = statistics([league("+++"), league("+++", newer, "2nd"), league("+++", twins, "3rd")])

    assert "Perhaps not one player, since its version differs: Ann." in facts["notes"]
    assert "A name that several of one league have counts apart: Ann." in facts["notes"]
    assert row_of(facts, "Ann (P02 of 3rd)")["matches"] == 3


def test_an_identity_that_is_given_says_who_is_who():
    facts = statistics(
        [league("+++"), league("+++", name="second")],
        identity=lambda league_id, player_id, name: f"{league_id} {player_id}",
    )

    assert len(facts["rows"]) == 4
    assert [row["name"] for row in facts["rows"]].count("Ann") == 2
    assert facts["notes"] == []
    assert facts["verdict"].startswith("These are 2 groups that never met")


def test_different_games_are_said_and_are_not_called_luck():
    chess = league("+++", name="second", game="chess", is_luck=False)
    facts = statistics([league("+++", is_luck=True), chess])

    assert facts["is_luck"] is None
    assert facts["notes"][0] == (
        "The leagues play different games, chess, even_odd: one rating says little."
    )


def test_a_game_says_whether_it_is_luck_by_its_options():
    odd = Decisions(2, options={"highest": 9}).league

    assert played_in(odd, (), even_odd).is_luck is False
    assert played_in(odd, (), tic_tac_toe).is_luck is False
    assert played_in(odd, (), None).is_luck is None
