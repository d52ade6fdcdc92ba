"""The table: what a match is worth, who stands where, and why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from agentleague.league.recount import _number
from agentleague.league.standings import TIE_BREAKS, USUAL_TIE_BREAKS, Points, Standing, Table

BY_ID = (*USUAL_TIE_BREAKS, "player_id")


def table(*player_ids, **settings):
    return Table({player_id: f"Agent {player_id}" for player_id in player_ids}, **settings)


def play(standings, *results):
    """Each result as "P01>P02" (won), "P01=P02" (drawn), and with "!" technical."""
    for result in results:
        technical = result.endswith("!")
        sign = ">" if ">" in result else "="
        player_a, player_b = result.rstrip("!").split(sign)
        winner = player_a if sign == ">" else None
        standings.count(player_a, player_b, winner=winner, technical=technical)


def order(standings):
    return [row.player_id for row in standings.rows()]


def numbers(row):
    return row.wins, row.draws, row.losses, row.technical_losses, row.points


@pytest.mark.parametrize(
    ("result", "of_p01", "of_p02"),
    [
        # wins, draws, losses, technical losses, points
        ("P01>P02", (1, 0, 0, 0, 3), (0, 0, 1, 0, 0)),
        ("P02>P01", (0, 0, 1, 0, 0), (1, 0, 0, 0, 3)),
        ("P01=P02", (0, 1, 0, 0, 1), (0, 1, 0, 0, 1)),
        ("P01>P02!", (1, 0, 0, 0, 3), (0, 0, 1, 1, 0)),  # a technical win is a win
        ("P02>P01!", (0, 0, 1, 1, 0), (1, 0, 0, 0, 3)),
        ("P01=P02!", (0, 0, 1, 1, 0), (0, 0, 1, 1, 0)),  # both failed, both lose
    ],
)
def test_a_match_counts_for_both_players(result, of_p01, of_p02):
    standings = table("P01", "P02")

    play(standings, result)

    assert numbers(standings.row("P01")) == of_p01
    assert numbers(standings.row("P02")) == of_p02


def test_the_winner_may_sit_in_the_second_seat():
    standings = table("P01", "P02")

    standings.count("P01", "P02", winner="P02")

    assert order(standings) == ["P02", "P01"]


def test_the_points_are_a_setting():
    standings = table("P01", "P02", "P03", points=Points(win=2, draw=5, loss=-1))

    play(standings, "P01>P02", "P02=P03", "P03=P01!")

    assert [row.points for row in standings.rows()] == [4, 4, 1]
    assert order(standings) == ["P02", "P03", "P01"]


def test_a_row_says_everything_about_its_player():
    standings = table("P01", "P02")

    play(standings, "P01>P02", "P02=P01", "P01>P02!")

    assert standings.row("P02") == Standing(
        rank=2,
        player_id="P02",
        display_name="Agent P02",
        played=3,
        wins=0,
        draws=1,
        losses=2,
        technical_losses=1,
        points=1,
    )


def test_a_record_is_known_without_a_ranking():
    standings = table("P01", "P02")

    play(standings, "P01>P02", "P02=P01", "P01>P02!")

    assert standings.record("P02") == (0, 2, 1, 1)  # wins, losses, draws, points


def test_before_the_first_match_all_stand_by_their_id():
    assert order(table("P03", "P01", "P02")) == ["P01", "P02", "P03"]


def test_a_table_of_nobody_has_no_rows():
    assert list(table().rows()) == []


@pytest.mark.parametrize(
    ("results", "ranking"),
    [
        # points: one win is worth more than two draws
        (["P03>P01", "P01=P02", "P01=P04"], ["P03", "P01", "P02", "P04"]),
        # head-to-head: P02 beat P01, although P01 has more wins
        (
            ["P02>P01", "P01>P03", "P01>P04", "P02=P03", "P02=P04", "P02=P03"],
            ["P02", "P01", "P03", "P04"],
        ),
        # wins: P01 and P02 did not meet; P02 won once where P01 drew three times
        (["P01=P03", "P01=P04", "P03=P01", "P02>P04"], ["P02", "P01", "P03", "P04"]),
        # technical losses: P01 and P02 are level in all else
        (["P01>P03", "P04>P01!", "P02>P03", "P04>P02"], ["P04", "P02", "P01", "P03"]),
        # nothing separates P01 and P02, nor P03 and P04: they stand by their id
        (["P02>P04", "P01>P03"], ["P01", "P02", "P03", "P04"]),
        # both lost: worth less than a draw
        (["P01=P02!", "P03=P04"], ["P03", "P04", "P01", "P02"]),
    ],
)
def test_points_rank_first_and_then_each_tie_break_in_turn(results, ranking):
    standings = table("P01", "P02", "P03", "P04")

    play(standings, *results)

    assert order(standings) == ranking


@pytest.mark.parametrize(
    ("results", "ranking"),
    [
        # a circle: each took 3 points, so they stand by their id
        (["P03>P02", "P02>P01", "P01>P03"], ["P01", "P02", "P03", "P04", "P05"]),
        # the same circle, but all have 6 points and P03 has a win more
        (
            ["P03>P02", "P02>P01", "P01>P03", "P03>P04", *["P01=P04"] * 3, *["P02=P05"] * 3],
            ["P03", "P01", "P02", "P04", "P05"],
        ),
        # a chain: of their 6 points P03 took 6, P02 3 and P01 none among the three
        (
            ["P03>P02", "P03>P01", "P02>P01", "P02>P04", "P01>P04", "P01>P05"],
            ["P03", "P02", "P01", "P04", "P05"],
        ),
        # what P02 took from P04, who is not level, does not count against P03
        (["P03>P02", "P03>P04", "P02>P04", "P02>P04"], ["P03", "P02", "P01", "P04", "P05"]),
        # P01 and P02 took 3 each among the three; a table of these two alone would put P02 first
        (
            ["P02>P01", "P01>P03", "P01>P04", "P02>P05", "P03>P04", "P03>P05"],
            ["P01", "P02", "P03", "P04", "P05"],
        ),
    ],
)
def test_head_to_head_is_one_table_among_all_who_are_level_on_points(results, ranking):
    standings = table("P01", "P02", "P03", "P04", "P05")

    play(standings, *results)

    assert order(standings) == ranking


def test_head_to_head_adds_up_over_the_cycles():
    standings = table("P01", "P02", "P03")

    play(standings, "P01>P02", "P02>P01", "P02=P01", "P02>P01", "P01>P03")

    assert order(standings) == ["P02", "P01", "P03"]
    assert standings.why("P02") == "7 points, ahead of P01 Agent P01 by head-to-head (7 to 4)"


@pytest.mark.parametrize(
    ("tie_breaks", "ranking"),
    [
        # P02 beat P01, but has fewer wins and a technical loss
        (BY_ID, ["P02", "P01"]),
        (["head_to_head"], ["P02", "P01"]),
        (["wins", "head_to_head"], ["P01", "P02"]),
        (["technical_losses", "head_to_head"], ["P01", "P02"]),
        (["player_id", "head_to_head"], ["P01", "P02"]),
        ([], ["P01", "P02"]),
    ],
)
def test_the_order_of_the_tie_breaks_is_a_setting(tie_breaks, ranking):
    standings = table("P01", "P02", "P03", "P04", tie_breaks=tie_breaks)

    play(standings, "P02>P01", "P01>P03", "P01>P03", *["P02=P03"] * 3, "P04>P02!")

    assert [row.points for row in standings.rows()] == [6, 6, 3, 3]
    assert order(standings)[:2] == ranking


@pytest.mark.parametrize(
    ("tie_breaks", "rows"),
    [
        (
            ["head_to_head", "wins"],
            [(1, "P01", UNSET), (1, "P03", UNSET), (3, "P02", UNSET), (3, "P04", UNSET)],
        ),
        (
            ["technical_losses"],
            [
                (1, "P01", UNSET),
                (1, "P03", UNSET),
                (3, "P02", UNSET),
                (4, "P04", "technical_losses"),
            ],
        ),
        (
            ["wins", "player_id"],
            [
                (1, "P01", UNSET),
                (2, "P03", "player_id"),
                (3, "P02", UNSET),
                (4, "P04", "player_id"),
            ],
        ),
    ],
)
def test_who_is_equal_after_all_tie_breaks_shares_a_rank_unless_the_ids_decide(tie_breaks, rows):
    standings = table("P01", "P02", "P03", "P04", tie_breaks=tie_breaks)

    play(standings, "P01>P02", "P03>P04!")

    assert [(row.rank, row.player_id, row.tie_break) for row in standings.rows()] == rows
    assert [row.player_id for row in standings.first()] == [
        each[1] for each in rows if each[0] == 1
    ]


def test_rows_that_share_a_rank_name_the_same_tie_break():
    standings = table("P01", "P02", "P03", tie_breaks=["technical_losses"])

    play(standings, "P01>P02!", "P02>P03!", "P03>P01")

    assert [(row.rank, row.player_id, row.tie_break) for row in standings.rows()] == [
        (1, "P01", UNSET),
        (2, "P02", "technical_losses"),
        (2, "P03", "technical_losses"),
    ]


def test_an_old_list_that_ends_with_the_ids_says_that_they_decided():
    standings = table("P01", "P02", "P03", tie_breaks=BY_ID)

    assert (
        standings.why("P02")
        == "0 points, level with P01 Agent P01 and P03 Agent P03 until the player id decides"
    )


def test_an_unknown_tie_break_is_refused_with_the_known_ones():
    complaint = "'beauty'; known are .*, technical_losses, buchholz, sonneborn_berger, player_id"

    with pytest.raises(ValueError, match=complaint):
        table("P01", tie_breaks=["wins", "beauty"])


@pytest.mark.parametrize(
    ("given_ids", "ranking"),
    [
        (["P10", "P2", "P1"], ["P1", "P2", "P10"]),  # by number, not by text
        (["P100", "P09", "P99"], ["P09", "P99", "P100"]),
        (["P02", "P2", "P002"], ["P002", "P02", "P2"]),  # the same number: by text
        (["bob", "ann", "P1"], ["P1", "ann", "bob"]),  # no number: by text
        (["2", "10", "x2y"], ["2", "10", "x2y"]),
    ],
)
def test_player_ids_compare_by_number_and_then_as_text(given_ids, ranking):
    assert order(table(*given_ids)) == ranking


@pytest.mark.parametrize(
    ("results", "player_id", "sentence"),
    [
        (["P01>P02", "P01>P03", "P01>P04"], "P01", "9 points"),
        (["P01=P02", "P03>P01", "P03>P02", "P02>P04"], "P01", "1 point"),
        # head-to-head, seen from both sides
        (
            ["P02>P01", "P01>P03"],
            "P02",
            "3 points, ahead of P01 Agent P01 by head-to-head (3 to 0)",
        ),
        (["P02>P01", "P01>P03"], "P01", "3 points, behind P02 Agent P02 by head-to-head (0 to 3)"),
        # wins
        (
            ["P01=P03", "P01=P04", "P03=P01", "P02>P04"],
            "P02",
            "3 points, ahead of P01 Agent P01 by wins (1 to 0)",
        ),
        # technical losses: fewer is better
        (
            ["P01>P03", "P04>P01!", "P02>P03", "P04>P02"],
            "P02",
            "3 points, ahead of P01 Agent P01 by technical losses (0 to 1)",
        ),
        (
            ["P01>P03", "P04>P01!", "P02>P03", "P04>P02"],
            "P01",
            "3 points, behind P02 Agent P02 by technical losses (1 to 0)",
        ),
        # player id
        (["P02>P03", "P01>P04"], "P01", "3 points, level with P02 Agent P02 after all tie-breaks"),
        ([], "P02", "0 points, level with 3 others after all tie-breaks"),
        # between two neighbours, each for its own reason
        (
            ["P03>P01", "P01>P04", "P02>P04"],
            "P01",
            "3 points, behind P03 Agent P03 by head-to-head (0 to 3), "
            "level with P02 Agent P02 after all tie-breaks",
        ),
        (
            ["P03>P02", "P03>P01", "P02>P01", "P02>P04", "P01>P04", "P01>P04"],
            "P02",
            "6 points, behind P03 Agent P03 by head-to-head (3 to 6), "
            "ahead of P01 Agent P01 by head-to-head (3 to 0)",
        ),
    ],
)
def test_the_table_says_why_a_player_stands_where_it_stands(results, player_id, sentence):
    standings = table("P01", "P02", "P03", "P04")

    play(standings, *results)

    assert standings.why(player_id) == sentence


def test_rows_are_kept_until_the_next_match_is_counted():
    standings = table("P01", "P02")
    before = standings.rows()

    assert standings.rows() is before
    play(standings, "P02>P01")

    assert order(standings) == ["P02", "P01"]
    assert [row.player_id for row in before] == ["P01", "P02"]


@pytest.mark.parametrize("read", [Table.row, Table.why])
def test_nobody_can_be_looked_up_who_does_not_play(read):
    with pytest.raises(KeyError):
        read(table("P01", "P02"), "P09")


@pytest.mark.parametrize(
    ("player_a", "player_b", "winner", "complaint"),
    [
        ("P01", "P09", None, "'P01' and 'P09' are not two players of this table."),
        ("P09", "P01", "P01", "'P09' and 'P01' are not two players of this table."),
        ("P01", "P01", "P01", "'P01' and 'P01' are not two players of this table."),
        ("P01", "P02", "P03", "The winner 'P03' is neither 'P01' nor 'P02'."),
    ],
)
def test_an_impossible_result_is_refused_and_changes_nothing(player_a, player_b, winner, complaint):
    standings = table("P01", "P02", "P03")
    play(standings, "P03>P02")
    before = standings.rows()

    with pytest.raises(ValueError, match=complaint):
        standings.count(player_a, player_b, winner=winner)

    assert standings.rows() == before


SWISS = [  # A tournament of eight over three rounds, worked out by hand in chess points.
    *("1>5", "2>6", "3=7", "4>8"),
    *("2=1", "4>3", "7>6", "5=8"),
    *("1>4", "7=2", "3>5", "6>8"),
]


@pytest.mark.parametrize(
    ("player_id", "points", "buchholz", "sonneborn_berger"),
    [
        ("1", 2.5, 4.5, 3.5),
        ("2", 2, 5.5, 3.25),
        ("4", 2, 4.5, 2),
        ("7", 2, 4.5, 2.75),
        ("3", 1.5, 4.5, 1.5),
        ("6", 1, 4.5, 0.5),
        ("5", 0.5, 4.5, 0.25),
        ("8", 0.5, 3.5, 0.25),
    ],
)
def test_buchholz_and_sonneborn_berger_as_chess_players_know_them(
    player_id, points, buchholz, sonneborn_berger
):
    swiss = {"points": Points(2, 1, 0), "tie_breaks": ["buchholz", "sonneborn_berger"]}
    standings = table(*"12345678", **swiss)
    play(standings, *SWISS)

    found = {name: float(value) for name, value in standings.tie_breaks_of(player_id).items()}
    assert standings.row(player_id).points == 2 * points
    # A win is worth 2 here and 1 there: so are the opponents' points, and what was won of them.
    assert found == {"buchholz": 2 * buchholz, "sonneborn_berger": 2 * sonneborn_berger}
    assert order(standings) == ["1", "2", "7", "4", "3", "6", "5", "8"]


def test_why_a_player_is_ahead_by_buchholz_or_sonneborn_berger_is_said_in_halves():
    names = ["buchholz", "sonneborn_berger"]
    standings = table(*"12345678", points=Points(2, 1, 0), tie_breaks=names)
    play(standings, *SWISS)

    assert standings.why("7") == (
        "4 points, behind 2 Agent 2 by Buchholz (9 to 11), "
        "ahead of 4 Agent 4 by Sonneborn-Berger (5.5 to 4)"
    )


def test_a_match_that_is_taken_back_is_in_no_tie_break():
    names = ["buchholz", "sonneborn_berger"]
    standings = table("1", "2", "3", tie_breaks=names)
    play(standings, "1>2", "3=2")

    standings.count("3", "2", winner=None, times=-1)

    assert standings.tie_breaks_of("2") == {"buchholz": "3", "sonneborn_berger": "0"}
    assert standings.tie_breaks_of("3") == {"buchholz": "0", "sonneborn_berger": "0"}


@pytest.mark.parametrize(
    ("worth", "buchholz", "sonneborn_berger"),
    [
        (3, "5", "4.5"),  # a win against somebody with its own four points, after a draw
        (1, "3", "1.5"),  # two points of its own, of which a draw takes half
        (0, "1", "0.5"),
    ],
)
def test_a_bye_counts_as_a_match_against_somebody_with_the_same_points(
    worth, buchholz, sonneborn_berger
):
    standings = table("1", "2", "3", tie_breaks=["buchholz", "sonneborn_berger"])
    play(standings, "1=2")

    standings.count_byes(["1"], worth)

    assert standings.tie_breaks_of("1") == {
        "buchholz": buchholz,
        "sonneborn_berger": sonneborn_berger,
    }


IDS = [f"P{n}" for n in range(1, 13)]
results = st.tuples(
    st.permutations(IDS).map(lambda ids: ids[:2]),
    st.sampled_from(["first", "second", "nobody"]),
    st.booleans(),
)
tie_breaks = st.permutations(TIE_BREAKS)


def counted(matches, order_of_tie_breaks=BY_ID):
    standings = table(*IDS, tie_breaks=order_of_tie_breaks)
    for (player_a, player_b), who, technical in matches:
        winner = {"first": player_a, "second": player_b, "nobody": None}[who]
        standings.count(player_a, player_b, winner=winner, technical=technical)
    return standings


@given(st.lists(results, max_size=40), tie_breaks, st.randoms(use_true_random=False))
def test_the_order_of_counting_does_not_change_the_table(matches, order_of_tie_breaks, chance):
    shuffled = list(matches)
    chance.shuffle(shuffled)

    one, other = counted(matches, order_of_tie_breaks), counted(shuffled, order_of_tie_breaks)

    assert one.rows() == other.rows()
    assert [one.why(player) for player in IDS] == [other.why(player) for player in IDS]


@given(st.lists(results, max_size=40), tie_breaks)
def test_reading_in_between_does_not_change_the_table(matches, order_of_tie_breaks):
    standings = table(*IDS, tie_breaks=order_of_tie_breaks)
    for (player_a, player_b), who, technical in matches:
        standings.rows()
        winner = {"first": player_a, "second": player_b, "nobody": None}[who]
        standings.count(player_a, player_b, winner=winner, technical=technical)

    assert standings.rows() == counted(matches, order_of_tie_breaks).rows()


@given(st.lists(results, max_size=40), tie_breaks)
def test_ranks_are_one_to_n_and_never_rise_in_points(matches, order_of_tie_breaks):
    rows = counted(matches, order_of_tie_breaks).rows()

    assert [row.rank for row in rows] == list(range(1, len(IDS) + 1))
    assert sorted(row.player_id for row in rows) == sorted(IDS)
    assert [row.points for row in rows] == sorted((row.points for row in rows), reverse=True)


@given(st.lists(results, max_size=40))
def test_the_numbers_of_every_row_add_up(matches):
    rows = counted(matches).rows()
    won = sum(who != "nobody" for _, who, _ in matches)
    drawn = sum(who == "nobody" and not technical for _, who, technical in matches)

    for row in rows:
        assert row.played == row.wins + row.draws + row.losses
        assert row.points == 3 * row.wins + row.draws
        assert row.technical_losses <= row.losses
    assert sum(row.played for row in rows) == 2 * len(matches)
    assert sum(row.points for row in rows) == 3 * won + 2 * drawn


@given(st.lists(results, max_size=40))
def test_the_ranking_is_the_one_of_the_rule_spelt_out(matches):
    standings = counted(matches)
    rows = {row.player_id: row for row in standings.rows()}

    def rule(player):
        own = rows[player]
        among = [
            match
            for match in matches
            if player in match[0] and all(rows[each].points == own.points for each in match[0])
        ]
        won = sum((a, b)[who == "second"] == player for (a, b), who, _ in among if who != "nobody")
        drawn = sum(who == "nobody" and not technical for _, who, technical in among)
        return (
            -own.points,
            -(3 * won + drawn),
            -own.wins,
            own.technical_losses,
            int(player.removeprefix("P")),
        )

    assert order(standings) == sorted(IDS, key=rule)


def test_an_id_may_end_with_a_number_that_never_ends():
    endless = "P" + "9" * 5_000
    table = Table({"P10": "", endless: "", "P2": ""})
    table.add("P3", "")

    assert [row.player_id for row in table.rows()] == ["P2", "P3", "P10", endless]
    assert sorted(["P10", endless, "P2", "0" * 9_999 + "x"], key=_number)[1:] == [
        *("P2", "P10", endless)
    ]
