"""The built-in strategies: plain functions from a turn to a move; the turn brings a random source.

A strategy may have these attributes:

    games   the games it is made for; without them, any game that lists its moves
    ready   a function that raises LeagueError if something that the strategy needs is missing

`frequency` and `pattern` learn from an opponent's last move of each match, in this league and (by
its name) in earlier ones, and from every throw of the current match of rock, paper, scissors. In
even/odd that gains nothing: the drawn number decides, and the other choice only makes draws rarer.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import msgspec

from agentleague.games.even_odd import PARITIES
from agentleague.games.rock_paper_scissors import THROWS
from agentleague.games.tic_tac_toe import name, outcome
from agentleague.roles.effects import Turn

Strategy = Callable[[Turn], Any]


def plays(*games: str, ready: Callable[[], object] | None = None) -> Callable[[Strategy], Strategy]:
    """Set the attributes of the strategy below."""

    def mark(strategy: Strategy) -> Strategy:
        about: Any = strategy  # A function's type knows no attributes.
        about.games, about.ready = games, ready
        return strategy

    return mark


def games_of(strategy: Strategy) -> tuple[str, ...]:
    """The games it is made for; none means any game that lists its moves."""
    return tuple(getattr(strategy, "games", ()))


def random(turn: Turn) -> Any:
    """Any legal move, each as likely as the other."""
    return turn.rng.choice(_listed(turn))


def fixed(turn: Turn) -> Any:
    """Always the first legal move."""
    return _listed(turn)[0]


def alternating(turn: Turn) -> Any:
    """Each legal move in turn, from match to match."""
    moves = _listed(turn)
    return moves[len(turn.history) % len(moves)]


def _listed(turn: Turn) -> Sequence[Any]:
    if not turn.legal_moves:
        raise ValueError(f"{turn.game_type} lists no legal moves; it needs a strategy of its own")
    return turn.legal_moves


LOOKS_BACK = 3  # moves that a pattern has at most

# What to play against each move, by game.
ANSWERS: dict[str, dict[str, str]] = {
    "even_odd": dict(zip(PARITIES, PARITIES[::-1], strict=True)),
    "rock_paper_scissors": dict(zip(THROWS, THROWS[1:] + THROWS[:1], strict=True)),
}


class Throws(msgspec.Struct):
    """The throws of this match as rock, paper, scissors shows them, the player's own first."""

    throws: list[tuple[str, str]] = []


@plays(*ANSWERS)
def frequency(turn: Turn) -> Any:
    """What is good against the opponent's most frequent move."""
    return _against(turn, opponents_moves(turn))


@plays(*ANSWERS)
def pattern(turn: Turn) -> Any:
    """What is good against what most often followed the opponent's latest moves."""
    return _against(turn, _followers(opponents_moves(turn)))


def opponents_moves(turn: Turn) -> list[str]:
    """The known moves of this opponent, oldest first."""
    made = [match["result"]["choices"].get(match["opponent_id"]) for match in _matches(turn)]
    made += [throw for _, throw in _throws(turn)]
    known = list(ANSWERS.get(turn.game_type, ()))
    return [move for move in made if move in known]


def _matches(turn: Turn) -> list[Mapping[str, Any]]:
    name, opponent_id = turn.opponent_name, turn.opponent_id
    past = turn.past if name else ()
    earlier = [m for m in past if m["opponent_name"] == name and m["game_type"] == turn.game_type]
    return earlier + [match for match in turn.history if match["opponent_id"] == opponent_id]


def _throws(turn: Turn) -> Sequence[tuple[str, str]]:
    try:
        return msgspec.convert(turn.position, Throws).throws
    except msgspec.ValidationError:  # The position of another game, or from a foreign referee.
        return ()


def _followers(moves: Sequence[str]) -> Sequence[str]:
    """What followed the longest run of latest moves that was seen before."""
    for length in range(LOOKS_BACK, 0, -1):
        places = range(len(moves) - length)
        found = [moves[n + length] for n in places if moves[n : n + length] == moves[-length:]]
        if found:
            return found
    return moves


def _against(turn: Turn, expected: Sequence[str]) -> Any:
    """The answer to the most frequent of these; without any, a random legal move."""
    if not expected:
        return random(turn)
    counts = Counter(expected)
    most = max(counts.values())
    likely = turn.rng.choice([move for move, count in counts.items() if count == most])
    return ANSWERS[turn.game_type][likely]


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
    """The best cells (minimax); at least one is empty."""
    values = {cell: -_value(_marked(board, cell, mark), OTHER[mark]) for cell in _empty(board)}
    best = max(values.values())
    return [cell for cell, value in values.items() if value == best]


@cache
def _value(board: Board, mark: Mark) -> int:
    """The value of a board for the player to move: above 0 a win, the sooner the more; 0 a draw."""
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
