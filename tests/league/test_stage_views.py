"""Stages as they are shown: brackets, tables by rounds, groups and ladders, and in words."""

import pytest

from agentleague.errors import WrongType
from agentleague.league import stage_views
from agentleague.league.events import MatchRuled, PlayerRemoved, RoundEnded
from agentleague.league.formats.format import PlayedMatch
from league.decisions import Decisions
from league.querying import ask
from league.staged import Staged
from rules import rule

KNOCKOUT = {"format": "knockout"}
GROUPS = {"format": "groups", "groups": 2, "advance": 1}


def ties(decisions, stage=1):
    """The bracket in short: round, names, wins, winner."""
    rows = stage_views.stage_rows(decisions.league, stage)
    return [(row["round"], *row["names"], row["wins"], row["winner"]) for row in rows]


def test_a_bracket_says_who_is_in_it_who_has_a_bye_and_who_is_not_known_yet():
    league = Staged(6, KNOCKOUT | {"third_place": 1}).begin()

    assert ties(league) == [
        ("Quarter-finals", "Agent 1", "bye", [0, 0], "P01"),
        ("Quarter-finals", "Agent 4", "Agent 5", [0, 0], None),
        ("Quarter-finals", "Agent 2", "bye", [0, 0], "P02"),
        ("Quarter-finals", "Agent 3", "Agent 6", [0, 0], None),
        ("Semi-finals", "Agent 1", "winner of quarter-final 2", [0, 0], None),
        ("Semi-finals", "Agent 2", "winner of quarter-final 4", [0, 0], None),
        ("Final", "winner of semi-final 1", "winner of semi-final 2", [0, 0], None),
        ("Match for third place", "loser of semi-final 1", "loser of semi-final 2", [0, 0], None),
    ]
    live = [row for row in stage_views.stage_rows(league.league, 1) if row["is_live"]]
    assert [row["matches"] for row in live] == [["R1M1"], ["R1M2"]]


def test_a_result_of_the_running_round_is_in_the_bracket_at_once():
    league = Staged(4, KNOCKOUT).begin()

    league.decide("R1M1", "P01")

    row = stage_views.stage_rows(league.league, 1)[0]
    assert (row["winner"], row["wins"], row["is_live"], row["matches"]) == (
        *("P04", [0, 1], False),
        ["R1M1"],
    )
    assert ties(league)[2][1:3] == ("Agent 4", "winner of semi-final 2")


# The options, the losers of the games before the last one, and who goes on if that is drawn.
@pytest.mark.parametrize(
    ("options", "losers", "won"),
    [
        ({"replays": 0}, [], "P01"),
        ({"replays": 1}, [[]], "P01"),
        ({"best_of": 3, "replays": 1}, [["P01"], ["P04"], []], "P01"),
        ({"best_of": 3, "replays": 0}, [["P01"], []], "P04"),
    ],
)
def test_while_the_last_game_of_a_tie_is_played_nobody_has_won_it(options, losers, won):
    league = Staged(4, KNOCKOUT | options).begin()
    for lost in losers:
        league.decide(f"R{league.league.round_id}M1", *lost)
        league.end_round().next()

    row = stage_views.stage_rows(league.league, 1)[0]
    assert (row["is_live"], row["winner"], row["is_over"]) == (True, None, False)
    assert ties(league)[2][1] == "winner of semi-final 1"

    league.decide(f"R{league.league.round_id}M1")

    assert stage_views.stage_rows(league.league, 1)[0]["winner"] == won


def test_where_both_lost_nobody_comes_to_the_next_tie():
    league = Staged(4, KNOCKOUT).begin()

    league.decide("R1M1", "P01", "P04")

    assert ties(league)[2][1] == "nobody"


def test_how_far_somebody_came_stands_in_the_table_and_in_words():
    league = Staged(4, KNOCKOUT | {"third_place": 1}).begin()
    league.end_round().next()

    rows = stage_views.standing_rows(league.league, league.league.table.rows())
    assert [row["reached"] for row in rows] == ["Final"] * 2 + ["Match for third place"] * 2
    assert (
        league.league.table.why("P01")
        == "3 points, in the final, level with P02 Agent 2 after all tie-breaks"
    )

    league.play_on()

    rows = ask(league, "GET_STANDINGS")["standings"]
    assert [row["reached"] for row in rows] == ["Winner", "Final", "Third place", "Fourth place"]
    why = league.league.table.why
    assert why("P01") == "6 points, winner of the final"
    assert why("P02") == "3 points, out in the final"
    assert why("P03") == "3 points, winner of the match for third place"


def test_the_standings_of_a_round_robin_have_no_merits():
    league = Decisions(4).start().league

    assert stage_views.merits_in_words(league) == {}
    assert "reached" not in stage_views.standing_rows(league, league.table.rows())[0]
    assert stage_views.tab(league) is None


def test_a_swiss_has_a_cell_for_each_round_and_its_tie_breaks_in_order():
    league = Staged(5, {"format": "swiss", "rounds": 3}).begin()
    league.decide("R1M1")
    league.end_round().next()

    rows = {row["player_id"]: row for row in stage_views.stage_rows(league.league, 1)}

    assert stage_views.rounds_of(league.league, 1) == [1, 2]
    assert [cell["outcome"] for cell in rows["P05"]["cells"]] == ["bye", "live"]
    assert rows["P01"]["cells"][0] == {
        **{"outcome": "drawn", "match_id": "R1M1", "opponent_id": "P03"},
    }
    assert rows["P04"]["cells"][0]["outcome"] == "forfeited"
    assert list(rows["P01"]["tie_breaks"]) == ["buchholz", "sonneborn_berger"]
    assert (rows["P05"]["points"], rows["P05"]["bye_points"], rows["P01"]["bye_points"]) == (
        3,
        3,
        0,
    )
    assert ask(league, "GET_STANDINGS")["standings"][0].get("bye_points") in (None, 3)
    standings = ask(league, "GET_STANDINGS")["standings"]
    assert all(row.keys() >= {"buchholz", "sonneborn_berger"} for row in standings)


def test_groups_have_a_mark_for_who_would_go_on_and_then_for_who_does():
    league = Staged(5, GROUPS, KNOCKOUT).begin()

    def rows():
        found = stage_views.stage_rows(league.league, 1)
        return [(row["group"], row["rank"], row["player_id"], row["goes_on"]) for row in found]

    assert [each[:2] for each in rows()] == [("A", 1), ("A", 2), ("A", 3), ("B", 1), ("B", 2)]
    assert sum(each[3] for each in rows()) == 2

    league.play_on()

    assert [each[2] for each in rows() if each[3]] == ["P01", "P02"]
    assert ties(league, 2) == [("Final", "Agent 1", "Agent 2", [1, 0], "P01")]
    reached = [row["reached"] for row in ask(league, "GET_STANDINGS")["standings"]]
    assert reached == ["Winner", "Final", "Groups", "Groups", "Groups"]
    assert league.league.table.why("P03").startswith("0 points, out after the groups, ")


def going_on(league):
    rows = stage_views.stage_rows(league.league, 1)
    return [(row["player_id"], row["goes_on"], row["by"]) for row in rows]


def test_a_stage_says_who_goes_on_and_what_decided_among_those_who_are_level():
    stages = {"format": "round_robin", "advance": 2}, KNOCKOUT
    level = Staged(4, *stages).begin()
    assert going_on(level) == [
        *(("P01", True, "id"), ("P02", True, "id"), ("P03", False, "id"), ("P04", False, "id")),
    ]
    assert [each[2] for each in going_on(level.play_on())] == ["", "", "", ""]
    assert [each[1] for each in going_on(level)] == [True, True, False, False]

    swiss = Staged(5, {"format": "swiss", "rounds": 2, "advance": 3}, KNOCKOUT).begin().play_on(2)
    assert [each for each in going_on(swiss) if each[2]] == [
        *(("P03", True, "Buchholz"), ("P04", False, "Buchholz")),
    ]


def test_who_is_removed_does_not_go_on_and_in_the_last_stage_nobody_does():
    league = Staged(4, {"format": "swiss", "rounds": 2, "advance": 2}, KNOCKOUT).begin().play_on(1)

    league.record(PlayerRemoved("P01", 2))

    assert {each[0] for each in going_on(league) if each[1]} == {"P02", "P03"}
    assert not any(each[1] for each in going_on(Staged(4, {"format": "swiss"}).begin()))


def test_tables_say_who_was_removed_and_who_came_late():
    league = Staged(4, {"format": "swiss", "rounds": 3, "advance": 2}, KNOCKOUT).begin().play_on(1)
    league.record(PlayerRemoved("P04", 2))
    league.league.progress.join("P03")
    league.league.progress.field.pop(2)
    league.end_round().next()

    of_stage = {row["player_id"]: row["note"] for row in stage_views.stage_rows(league.league, 1)}
    of_all = {
        row["player_id"]: row.get("note") for row in ask(league, "GET_STANDINGS")["standings"]
    }

    assert of_stage == {"P01": "", "P02": "", "P03": "from round 2", "P04": "removed after round 1"}
    assert of_all["P04"] == "removed after round 1"

    assert stage_views.notes(Staged(2, KNOCKOUT).league) == {}
    assert stage_views.notes(league.league, 0) == {"P03": "from round 2"}


def test_a_ruling_after_a_stage_says_no_more_what_decided_who_went_on():
    league = Staged(4, {"format": "swiss", "rounds": 1, "advance": 2}, KNOCKOUT).begin().play_on(1)

    league.record(MatchRuled("R1M1", "no_contest", None, "unfair"))
    league.record(MatchRuled("R1M2", "win", "P04", "unfair"))

    assert going_on(league)[0] == ("P04", False, "")


def test_a_ladder_that_is_over_is_still_ranked_by_rating():
    league = Staged(4, {"format": "ladder", "rounds": 3, "advance": 2}, KNOCKOUT).begin().play_on()

    rows = stage_views.stage_rows(league.league, 1)

    assert [row["goes_on"] for row in rows] == [True, True, False, False]
    assert [row["elo"] for row in rows] == sorted((row["elo"] for row in rows), reverse=True)


def test_a_tie_says_when_the_seed_or_a_removal_decided_it():
    league = Staged(4, KNOCKOUT | {"best_of": 3, "replays": 0}).begin()
    for number in (1, 2, 3):
        league.decide(f"R{number}M1")
        if number == 1:
            league.end_round()
            league.record(PlayerRemoved("P03", 2))
            league.next()
        else:
            league.end_round().next()

    found = [(row["winner"], row["by"]) for row in stage_views.stage_rows(league.league, 1)]
    assert found == [("P01", "seed"), ("P02", "removal"), (None, "")]

    league.decide("R4M1", "P01", "P02")
    league.end_round().next()
    league.play_on()

    assert stage_views.stage_rows(league.league, 1)[2]["by"] == ""


def test_the_first_of_many_groups_are_letters_and_then_two():
    names = [stage_views.letters(number) for number in (0, 25, 26, 255)]

    assert names == ["A", "Z", "AA", "IV"]


def test_a_ladder_has_ratings_their_change_and_their_course():
    league = Staged(4, {"format": "ladder", "rounds": 2}).begin()
    first = stage_views.stage_rows(league.league, 1)[0]
    assert (first["elo"], first["change"], first["elos"]) == (1500, 0, [1500])

    league.play_on()

    first, *_, last = stage_views.stage_rows(league.league, 1)
    assert (first["elos"][:2], first["change"] > 0) == ([1500, 1516], True)
    assert first["elo"] == first["elos"][-1] > last["elo"]
    row = ask(league, "GET_STANDINGS")["standings"][0]
    assert (row["elo"], "reached" in row) == (first["elo"], False)
    assert f"Elo {row['elo']}" in league.league.table.why(row["player_id"])


def test_a_ladder_before_a_knockout_says_what_was_reached_and_the_rating_of_the_others():
    league = Staged(4, {"format": "ladder", "rounds": 1, "advance": 2}, KNOCKOUT).begin().play_on()

    rows = ask(league, "GET_STANDINGS")["standings"]

    assert [row["reached"] for row in rows] == ["Winner", "Final", "Ladder", "Ladder"]
    assert ["elo" in row for row in rows] == [False, False, True, True]


def test_a_round_robin_that_is_a_stage_is_shown_by_rounds_with_later_points_left_out():
    stages = [{"format": "round_robin", "advance": 2}, {"format": "round_robin"}]
    league = Staged(3, *stages).begin().play_on()

    first, *_, last = stage_views.stage_rows(league.league, 1)

    assert [each["title"] for each in stage_views.stages(league.league)] == [
        *("Round robin 1", "Round robin 2"),
    ]
    assert (first["points"], first["rank"], last["rank"]) == (6, 1, 3)
    assert len(first["cells"]) == 3
    assert stage_views.stage_rows(league.league, 2)[0]["points"] == 3
    assert stage_views.tab(league.league) == {"stage": 2, "words": "Rounds"}


def test_a_ruling_changes_the_table_of_a_stage_that_is_over():
    stages = [{"format": "swiss", "rounds": 1, "advance": 2}, KNOCKOUT]
    league = Staged(5, *stages).begin().play_on(1)

    league.record(MatchRuled("R1M1", "no_contest", None, "unfair"))

    rows = stage_views.stage_rows(league.league, 1)
    cells = {row["player_id"]: row["cells"][0]["outcome"] for row in rows}
    assert cells == {"P01": "void", "P03": "void", "P02": "won", "P04": "forfeited", "P05": "bye"}


def test_who_is_removed_later_was_not_removed_from_an_earlier_stage():
    league = Staged(4, GROUPS, KNOCKOUT).begin().play_on(1)
    league.record(PlayerRemoved("P02", 2))
    assert len(league.league.progress.begun({"P02": 2})[0].played.removed) == 0

    assert ties(league, 2)[0][-1] == "P01"


@pytest.mark.parametrize(
    ("players", "stages", "words"),
    [
        (4, [{"format": "swiss", "rounds": 1}], "round 1 of 1"),
        (8, [KNOCKOUT], "round 1, quarter-finals"),
        (40, [KNOCKOUT], "round 1, round of 64"),
        (4, [GROUPS, KNOCKOUT], "round 1 (stage 1 of 2: groups)"),
        (4, [{"format": "ladder", "matches": 9}], "round 1"),
    ],
)
def test_the_running_round_in_words(players, stages, words):
    league = Staged(players, *stages).begin()

    assert stage_views.round_in_words(league.league) == words
    status = ask(league, "GET_STATUS")
    assert status["round_in_words"] == words
    assert status["stages"] == [each["format"] for each in stages]
    assert status["is_length_known"] == (" of 1" in words)


def test_between_the_rounds_of_a_knockout_the_next_one_is_named_and_at_the_end_the_number():
    league = Staged(4, GROUPS, KNOCKOUT).begin().play_on(1)
    assert stage_views.round_in_words(league.league) == "round 2, final (stage 2 of 2: knockout)"

    league.end_round()
    assert stage_views.round_in_words(league.league) == "round 2, final (stage 2 of 2: knockout)"

    league.next()
    assert stage_views.round_in_words(league.league) == "round 2 of 2"


@rule("R-QUERY-11")
def test_a_stage_is_asked_for_by_its_number():
    league = Staged(4, GROUPS, KNOCKOUT).begin()

    answer = ask(league, "GET_STAGE")
    assert (answer["stage"], answer["total"], len(answer["rows"])) == (1, 4, 4)
    assert [each["state"] for each in answer["stages"]] == ["running", "to come"]
    assert ask(league, "GET_STAGE", stage=2)["rows"] == []
    assert ask(league, "GET_STAGE", stage=2)["shown_rounds"] == []
    for wrong in (0, 3, "x", "9" * 50):
        with pytest.raises(WrongType, match="1 to 2"):
            ask(league, "GET_STAGE", stage=wrong)


def test_a_bracket_of_256_is_read_in_pages_that_fit():
    league = Staged(256, KNOCKOUT, name=lambda number: "🦊" * 46 + f"{number:04}").begin()

    rows = []
    while len(rows) < 255:
        rows += (page := ask(league, "GET_STAGE", offset=len(rows)))["rows"]
        assert page["rows"]

    assert [row["round"] for row in rows].count("Round of 256") == 128


@pytest.mark.parametrize(
    ("match", "found"),
    [
        (PlayedMatch(("P01", "P02"), "P01"), ("won", "lost")),
        (PlayedMatch(("P01", "P02"), "P02", technical=True), ("forfeited", "won")),
        (PlayedMatch(("P01", "P02"), None), ("drawn", "drawn")),
        (PlayedMatch(("P01", "P02"), None, technical=True), ("forfeited", "forfeited")),
        (PlayedMatch(("P01", "P02"), "P01", counts=False), ("void", "void")),
    ],
)
def test_how_a_match_went_in_a_word(match, found):
    assert tuple(stage_views.outcome(match, each) for each in match.players) == found


def test_a_later_stage_ranks_by_its_own_points_before_those_of_all_stages():
    swiss = {"format": "swiss", "rounds": 1}
    league = Staged(4, {"format": "round_robin"}, swiss, {"format": "knockout"}).begin()
    league.play_on(3)
    assert league.league.progress.stage == 2

    for match_id in sorted(league.league.open_matches):
        league.decide(match_id, min(league.league.matches[match_id].players))
    league.record(RoundEnded(4))

    first, second = (stage_views.stage_rows(league.league, stage) for stage in (1, 2))
    assert [(row["player_id"], row["points"]) for row in first] == [
        *(("P01", 9), ("P02", 6)),
        *(("P03", 3), ("P04", 0)),
    ]
    assert [(row["player_id"], row["played"], row["points"]) for row in second] == [
        *(("P03", 1, 3), ("P04", 1, 3)),
        *(("P01", 1, 0), ("P02", 1, 0)),
    ]
    table = league.league.table.rows()
    assert [(row.rank, row.player_id, row.points) for row in table] == [
        *((1, "P03", 6), (2, "P04", 3)),
        *((3, "P01", 9), (4, "P02", 6)),
    ]
    assert stage_views.merits_in_words(league.league)["P03"] == {"reached": "Swiss, 3 points"}
    assert "3 points in the swiss" in league.league.table.why("P03")
    assert league.next().league.progress.stage == 3
    rows = stage_views.stage_rows(league.league, 2)
    assert [(row["player_id"], row["points"]) for row in rows] == [
        (row["player_id"], row["points"]) for row in second
    ]
    assert [each.player_id for each in league.league.progress.field] == ["P03", "P04", "P01", "P02"]
