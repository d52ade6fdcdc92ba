"""Tic-tac-toe: X and O take turns on nine cells; three in a row win, a full board is a draw."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentleague.errors import IllegalMove
from agentleague.games.game import Outcome, Picture, Seat
from agentleague.games.svg import button, drawing, element, words

State = tuple[str | None, ...]  # the nine cells, row by row

name = "tic_tac_toe"
seats = ("A", "B")
MARKS = {"A": "X", "B": "O"}
ROWS = (
    *((0, 1, 2), (3, 4, 5), (6, 7, 8)),
    *((0, 3, 6), (1, 4, 7), (2, 5, 8)),
    *((0, 4, 8), (2, 4, 6)),
)


def start(options: Mapping[str, Any]) -> State:
    """An empty board; there are no options."""
    if options:
        raise ValueError(f"{name} has no option {sorted(options)[0]!r}; leave it out")
    return (None,) * 9


def turns_max(options: Mapping[str, Any]) -> int:
    """One for each cell."""
    return 9


def luck(options: Mapping[str, Any]) -> bool:
    """False: there is no chance in it."""
    return False


def to_move(state: State) -> Sequence[Seat]:
    """Seat A begins, then in turn, then nobody."""
    if outcome(state):
        return ()
    return seats[:1] if state.count("X") == state.count("O") else seats[1:]


def view(state: State, seat: Seat) -> dict[str, Any]:
    """The board, and which mark is the player's."""
    return {"board": list(state), "you": MARKS[seat]}


def legal_moves(state: State, seat: Seat) -> Sequence[int]:
    """The empty cells."""
    return [cell for cell, mark in enumerate(state) if mark is None]


def check(state: State, seat: Seat, move: Any) -> None:
    """The number of an empty cell."""
    if type(move) is not int or not 0 <= move <= 8:  # True and 1.0 equal 1 and are no cells.
        raise IllegalMove(f"A move must be a cell, a number from 0 to 8, got {str(move)[:40]!r}")
    if state[move] is not None:
        raise IllegalMove(f"Cell {move} is taken; empty are {legal_moves(state, seat)}")


def chance(state: State) -> None:
    """Nothing is drawn."""


def play(state: State, moves: Mapping[Seat, Any], number: int | None) -> State:
    """One mark more."""
    ((seat, cell),) = moves.items()
    return (*state[:cell], MARKS[seat], *state[cell + 1 :])


def outcome(state: State) -> Outcome | None:
    """Three in a row, or no cell left; the details have the board and the winning line."""
    for row in ROWS:
        one, two, three = row
        mark = state[one]
        if mark and mark == state[two] == state[three]:
            seat = "A" if mark == MARKS["A"] else "B"
            cells = ", ".join(map(str, row))
            details = {"board": list(state), "line": list(row)}
            return Outcome(seat, f"{{{seat}}} has three {mark} in a row: cells {cells}", details)
    if None in state:
        return None
    details = {"board": list(state), "line": None}
    return Outcome(None, "The board is full - nobody has three in a row", details)


def show(state: State) -> Picture:
    """The board; the marks of a winning line in brackets."""
    return _picture(state, (), "Tic-tac-toe: A has X, B has O")


def show_position(position: Mapping[str, Any], legal_moves: Sequence[int] | None) -> Picture:
    """The board; free cells can be clicked."""
    return _picture(position["board"], legal_moves or (), f"You have {position['you']}")


def _picture(board: Sequence[str | None], free: Sequence[int], title: str) -> Picture:
    ended = outcome(tuple(board))
    line = (ended and ended.details["line"]) or ()
    cells = [
        f"[{mark}]" if cell in line else f" {mark or cell} " for cell, mark in enumerate(board)
    ]
    text = "\n---+---+---\n".join("|".join(cells[row : row + 3]) for row in (0, 3, 6))
    grid = element("path", class_="lines", stroke_width=3, d=GRID)
    drawn = [_cell(cell, mark, cell in line, cell in free) for cell, mark in enumerate(board)]
    return Picture(text, drawing((300, 300), title, text, grid, *drawn))


GRID = "M100 8V292M200 8V292M8 100H292M8 200H292"
CROSS = "M0 9L25 34L34 25L9 0L34 -25L25 -34L0 -9L-25 -34L-34 -25L-9 0L-34 25L-25 34z"
RING = "M-36 0a36 36 0 1 0 72 0a36 36 0 1 0 -72 0zM-23 0a23 23 0 1 1 46 0a23 23 0 1 1 -46 0z"


def _cell(cell: int, mark: str | None, is_won: bool, is_free: bool) -> str:
    x, y = 100 * (cell % 3), 100 * (cell // 3)
    if mark is None:
        number = words((x + 50, y + 50), cell, "muted", 20)
        return button((x + 8, y + 8), (84, 84), cell, number) if is_free else number
    colour, shape = ("win", CROSS) if mark == "X" else ("loss", RING)
    place = {"x": x + 5, "y": y + 5, "width": 90, "height": 90, "rx": 10, "fill_opacity": 0.2}
    under = element("rect", class_=colour, **place) if is_won else ""
    return under + element(
        "path", class_=colour, d=shape, transform=f"translate({x + 50} {y + 50})"
    )
