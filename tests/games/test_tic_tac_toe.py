"""Tic-tac-toe: one player after the other."""

from itertools import permutations

import pytest

from agentleague.errors import IllegalMove
from agentleague.games import tic_tac_toe
from agentleague.runtime import plugins
from memory_league import MemoryLeague
from rules import rule

EMPTY = [None] * 9


def after(*cells):
    """The state after marks in these cells, X and O in turn."""
    state = tic_tac_toe.start({})
    for number, cell in enumerate(cells):
        seat = "AB"[number % 2]
        assert tuple(tic_tac_toe.to_move(state)) == (seat,)
        assert tic_tac_toe.outcome(state) is None
        tic_tac_toe.check(state, seat, cell)
        state = tic_tac_toe.play(state, {seat: cell}, None)
    return state


@rule("R-GAME-09")
def test_seat_a_is_x_and_begins_then_they_take_turns():
    assert tuple(tic_tac_toe.to_move(after())) == ("A",)
    assert tuple(tic_tac_toe.to_move(after(4))) == ("B",)
    assert tuple(tic_tac_toe.to_move(after(4, 0))) == ("A",)


@rule("R-GAME-09")
def test_both_see_the_board_and_their_own_mark():
    assert tic_tac_toe.view(after(), "A") == {"board": EMPTY, "you": "X"}
    board = ["O", None, None, None, "X", None, None, None, None]
    assert tic_tac_toe.view(after(4, 0), "A") == {"board": board, "you": "X"}
    assert tic_tac_toe.view(after(4, 0), "B") == {"board": board, "you": "O"}


@rule("R-GAME-10")
def test_the_empty_cells_are_the_legal_moves():
    assert list(tic_tac_toe.legal_moves(after(), "A")) == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert list(tic_tac_toe.legal_moves(after(4, 0, 8), "B")) == [1, 2, 3, 5, 6, 7]


@rule("R-GAME-10")
def test_a_taken_cell_is_illegal_and_the_player_is_told_the_empty_ones():
    with pytest.raises(IllegalMove, match=r"Cell 4 is taken; empty are \[1, 2, 3, 5, 6, 7, 8\]"):
        tic_tac_toe.check(after(4, 0), "A", 4)


ILLEGAL = [
    *(-1, 9, 100, 10**30),
    *(0.0, 1.0, True, False),  # equal to a cell in Python, and not on the wire
    *("0", "", None, [], [0], {}, {"cell": 0}),
]


@rule("R-GAME-10")
def test_anything_but_the_number_of_a_cell_is_illegal():
    for move in ILLEGAL:
        with pytest.raises(IllegalMove, match="a number from 0 to 8, got ") as refused:
            tic_tac_toe.check(after(), "A", move)

        assert refused.value.code == "E004"
        assert len(str(refused.value)) < 120


@rule("R-GAME-11")
@pytest.mark.parametrize(
    ("cells", "row"),
    [
        ((0, 3, 1, 4, 2), "0, 1, 2"),
        ((3, 0, 4, 1, 5), "3, 4, 5"),
        ((6, 0, 7, 1, 8), "6, 7, 8"),
        ((0, 1, 3, 2, 6), "0, 3, 6"),
        ((1, 0, 4, 2, 7), "1, 4, 7"),
        ((2, 0, 5, 1, 8), "2, 5, 8"),
        ((0, 1, 4, 2, 8), "0, 4, 8"),
        ((2, 0, 4, 1, 6), "2, 4, 6"),
    ],
)
def test_three_in_a_row_win_for_x_and_for_o(cells, row):
    first, second = (
        tic_tac_toe.outcome(after(*cells)),
        tic_tac_toe.outcome(after(*as_second(cells))),
    )

    assert (first.winner, first.reason) == ("A", f"{{A}} has three X in a row: cells {row}")
    assert (second.winner, second.reason) == ("B", f"{{B}} has three O in a row: cells {row}")
    assert tuple(tic_tac_toe.to_move(after(*cells))) == ()


def as_second(cells):
    """The same row for O: X begins elsewhere, with no row of its own."""
    row, others = cells[::2], cells[1::2]
    free = [cell for cell in range(9) if cell not in cells]
    lines = {frozenset(line) for line in tic_tac_toe.ROWS}
    mine = next(x for x in permutations([*free, *others], 3) if frozenset(x) not in lines)
    return (mine[0], row[0], mine[1], row[1], mine[2], row[2])


@rule("R-GAME-11")
def test_a_full_board_without_three_in_a_row_is_a_draw():
    outcome = tic_tac_toe.outcome(after(0, 1, 2, 4, 3, 5, 7, 6, 8))

    assert outcome.winner is None
    assert outcome.reason == "The board is full - nobody has three in a row"


@rule("R-GAME-11")
def test_three_in_a_row_with_the_last_mark_win():
    assert tic_tac_toe.outcome(after(0, 1, 2, 3, 4, 6, 5, 7, 8)).winner == "A"


@rule("R-GAME-11")
def test_it_has_the_255168_courses_of_tic_tac_toe():
    """Known figures: 131,184 courses are won by X, 77,904 by O, 46,080 are draws."""
    seen = {}

    def courses(state):
        if state not in seen:
            ended, total = tic_tac_toe.outcome(state), {"A": 0, "B": 0, None: 0}
            if ended:
                total[ended.winner] = 1
            for seat in tic_tac_toe.to_move(state):
                for cell in tic_tac_toe.legal_moves(state, seat):
                    for winner, count in courses(
                        tic_tac_toe.play(state, {seat: cell}, None)
                    ).items():
                        total[winner] += count
            seen[state] = total
        return seen[state]

    assert courses(after()) == {"A": 131_184, "B": 77_904, None: 46_080}
    assert len(seen) == 5_478


@rule("R-GAME-09")
def test_there_are_no_options_and_nothing_is_drawn():
    with pytest.raises(ValueError, match="tic_tac_toe has no option 'size'; leave it out"):
        tic_tac_toe.start({"size": 4})
    assert tic_tac_toe.chance(after()) is None


@rule("R-GAME-05")
def test_it_is_found_by_name():
    assert plugins.load_game("tic_tac_toe") is tic_tac_toe


@rule("R-GAME-09")
def test_a_whole_league_plays_it_and_the_second_cycle_swaps_seats():
    league = MemoryLeague(5, 2, tic_tac_toe, cycles=2).fill().play()

    rows = league.league.table.rows()
    assert [row.played for row in rows] == [8] * 5
    assert [row.technical_losses for row in rows] == [0] * 5
    first = [m for _, m in league.messages if getattr(m, "turn", None) == 0]
    assert all(call.position == {"board": EMPTY, "you": "X"} for call in first)
    begun = [(call.player_id, call.context.opponent_id) for call in first]
    assert len(begun) == len(set(begun)) == 20
    assert {(second, first) for first, second in begun} == set(begun)
