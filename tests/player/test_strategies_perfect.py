"""The strategy that never loses at tic-tac-toe, against everything that can be played."""

import pytest

from agentleague.games import tic_tac_toe
from agentleague.player import strategies
from agentleague.player.memory import Memory
from agentleague.player.strategies import best_moves, perfect
from agentleague.protocol.messages import GameMoveCall
from player.playing import Table


def turn_of(board, you, **facts):
    known = {
        "game_type": "tic_tac_toe",
        "position": {"board": board, "you": you},
        "legal_moves": [cell for cell, mark in enumerate(board) if mark is None],
    }
    call = GameMoveCall(match_id="R1M1", **known | facts)
    return Memory("1").turn(call, "P01", 30.0)


def board(text):
    return [None if mark == "." else mark for mark in text.replace(" ", "")]


def ends_against_everything(seat):
    """Every way a match can end where this seat makes any of its best moves, and the other any."""
    ends, known, open_states = set(), set(), [tic_tac_toe.start({})]
    while open_states:
        state = open_states.pop()
        ended = tic_tac_toe.outcome(state)
        if ended:
            ends.add(ended.winner)
            continue
        (mover,) = tic_tac_toe.to_move(state)
        ours = mover == seat
        moves = (best_moves if ours else tic_tac_toe.legal_moves)(
            state, tic_tac_toe.MARKS[mover] if ours else mover
        )
        after = {tic_tac_toe.play(state, {mover: move}, None) for move in moves} - known
        known |= after
        open_states += after
    return ends


@pytest.mark.parametrize(("seat", "other"), [("A", "B"), ("B", "A")])
def test_whatever_the_opponent_plays_it_never_loses_and_wins_where_it_can(seat, other):
    ends = ends_against_everything(seat)

    assert other not in ends
    assert ends == {seat, None}


def test_two_that_are_perfect_always_draw():
    assert Table(tic_tac_toe, perfect, perfect).series(100) == (0, 0)


def test_it_beats_chance_nearly_always():
    won, lost = Table(tic_tac_toe, perfect, strategies.random).series(200)

    assert lost == 0
    assert won > 150


@pytest.mark.parametrize(
    ("cells", "you", "move"),
    [
        ("XX. OO. ...", "X", 2),  # three in a row now, rather than later
        ("XX. OO. ...", "O", 5),  # the same for the other
        ("X.. .O. ..X", "O", {1, 3, 5, 7}),  # a corner would lose
        ("XO. ... ...", "X", {3, 4, 6}),  # each of these wins for certain
    ],
)
def test_it_finds_the_only_good_moves(cells, you, move):
    made = {perfect(turn_of(board(cells), you)) for _ in range(3)}

    assert made <= (move if isinstance(move, set) else {move})
    assert set(best_moves(tuple(board(cells)), you)) == (move if isinstance(move, set) else {move})


def test_among_moves_that_are_equally_good_chance_decides():
    turn = turn_of([None] * 9, "X")

    assert {perfect(turn) for _ in range(200)} == set(range(9))


OPEN = board("XX. OO. ...")  # where X has only one good move


@pytest.mark.parametrize(
    "facts",
    [
        {"game_type": "nim"},
        {"position": {"board": OPEN[1:], "you": "X"}},
        {"position": {"board": OPEN * 1000, "you": "X"}},
        {"position": {"board": OPEN, "you": "Z"}},
        {"position": {"board": OPEN}},
        {"position": None},
        {"legal_moves": [0, 1, 2]},
    ],
)
def test_where_the_position_is_not_tic_tac_toe_it_moves_at_random(facts):
    turn = turn_of(OPEN, "X", **facts)

    assert {perfect(turn) for _ in range(100)} == set(turn.legal_moves)


def test_a_full_board_leaves_nothing_to_move():
    with pytest.raises(ValueError, match="lists no legal moves"):
        perfect(turn_of(board("XOX XOX OXO"), "X"))
