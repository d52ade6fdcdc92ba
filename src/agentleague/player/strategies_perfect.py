"""The strategy that never loses at tic-tac-toe, because it looks at every way to go on."""

from functools import cache
from typing import Any, Literal

import msgspec

from agentleague.games.tic_tac_toe import name, outcome
from agentleague.player.registry import plays
from agentleague.player.strategies import random
from agentleague.roles.effects import Turn

Mark = Literal["X", "O"]
Cell = Mark | None
Board = tuple[Cell, ...]
OTHER: dict[str, Mark] = {"X": "O", "O": "X"}


class Position(msgspec.Struct):
    """What tic-tac-toe shows a player."""

    board: tuple[Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell]
    you: Mark


@plays(name)
def perfect(turn: Turn) -> Any:
    """Never loses at tic-tac-toe: it looks at every way the game can go on."""
    position = _seen(turn)
    if position is None:
        return random(turn)
    return turn.rng.choice(best_moves(position.board, position.you))


def best_moves(board: Board, mark: Mark) -> list[int]:
    """The cells after which the worst that can happen is best; there is at least one empty."""
    values = {cell: -_value(_marked(board, cell, mark), OTHER[mark]) for cell in _empty(board)}
    best = max(values.values())
    return [cell for cell, value in values.items() if value == best]


@cache
def _value(board: Board, mark: Mark) -> int:
    """What a board is worth to who moves next: above 0 a win, the sooner the more; 0 a draw."""
    empty, ended = _empty(board), outcome(board)
    if ended:
        return -1 - len(empty) if ended.winner else 0  # Who moved last has won.
    return max(-_value(_marked(board, cell, mark), OTHER[mark]) for cell in empty)


def _seen(turn: Turn) -> Position | None:
    """The position, unless it is another game's or does not go with the legal moves."""
    try:
        position = msgspec.convert(turn.position, Position)
    except msgspec.ValidationError:
        return None
    fits = turn.game_type == name and _empty(position.board) == list(turn.legal_moves)
    return position if fits and turn.legal_moves else None


def _empty(board: Board) -> list[int]:
    return [cell for cell, mark in enumerate(board) if mark is None]


def _marked(board: Board, cell: int, mark: Mark) -> Board:
    return (*board[:cell], mark, *board[cell + 1 :])
