"""What `league new game NAME` writes: a small complete package, its game commented for authors."""

PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "NAME"
version = "0.1.0"
description = "A game for agentleague."
requires-python = ">=3.11"
dependencies = ["agentleague"]

# This is how the league finds the game: its name, and the module it is in.
[project.entry-points."agentleague.games"]
NAME = "NAME"

[tool.hatch.build.targets.wheel]
include = ["NAME.py"]

# So that its test finds it, also in a folder of another project.
[tool.pytest.ini_options]
pythonpath = ["."]
"""

GAME = '''\
"""Both name a number from 1 to 5; the higher one wins, unless it is higher by one: then it loses.

A game is one module of plain functions; change them into your own game. They never change a state
but return a new one, and they remember nothing, ask no clock and draw no chance: the referee, the
manager and whoever checks a match later all play it again and must come to the same end.
"""

from agentleague.errors import IllegalMove
from agentleague.games.game import Outcome

name = "NAME"  # as in pyproject.toml
seats = ("A", "B")  # the first and the second player of a match
symmetric = True  # No seat is better; check_game proves it. Leave it out where one begins.

NUMBERS = (1, 2, 3, 4, 5)


def start(options):
    """The first state: here the numbers by seat, none yet. It can be any value you like."""
    if options:  # An organiser may set options; refuse those that the game does not have.
        raise ValueError(f"NAME has no option {sorted(options)[0]!r}; leave it out")
    return {}


def to_move(state):
    """Who moves now: both at once, or one seat in a game of turns; nobody when it is over."""
    return () if state else seats


def view(state, seat):
    """What that player may see, as plain JSON: the board, its own cards, never the other's."""
    return dict(state)


def legal_moves(state, seat):
    """All legal moves; numbers, texts, lists or dicts of them, but no floats.

    None if they are too many; then add example_moves(state, seat) that gives some.
    """
    return NUMBERS


def check(state, seat, move):
    """Raise IllegalMove, with a sentence for the player, unless the move is legal.

    A move is whatever JSON a player sent. `type(...) is int`, since True equals 1 in Python.
    """
    if type(move) is not int or move not in NUMBERS:
        raise IllegalMove(f"Say a number from 1 to 5, not {str(move)[:40]!r}")


def chance(state):
    """The bounds of a number to be drawn after these moves, such as (1, 6) for a die; or None."""


def play(state, moves, number):
    """The state after the moves of all who were to move, by seat; number is what was drawn."""
    return dict(moves)


def outcome(state):
    """How it ended, or None while it goes on; {A} in the reason becomes the player in seat A."""
    if not state:
        return None
    a, b = state["A"], state["B"]
    if a == b:
        return Outcome(None, f"Both said {a}")
    higher, lower = ("A", "B") if a > b else ("B", "A")
    winner = lower if abs(a - b) == 1 else higher
    return Outcome(winner, f"{{A}} said {a}, {{B}} said {b}")
'''

TEST = '''\
"""Run with: python -m pytest"""

import NAME
from agentleague.games.checks import check_game


def test_the_league_can_play_it():
    check_game(NAME)  # many matches at random; says in a sentence what is wrong


def test_the_higher_number_wins_unless_it_is_higher_by_one():
    def winner(a, b):
        return NAME.outcome(NAME.play(NAME.start({}), {"A": a, "B": b}, None)).winner

    assert winner(5, 1) == "A"
    assert winner(5, 4) == "B"
    assert winner(3, 3) is None
'''

README = """\
# NAME

A game for agentleague. Change the rules in `NAME.py`; they are plain functions.

In this folder, with the Python that has agentleague:

    pip install -e .            # once; later changes count at once
    league games                # NAME is in the list
    league demo --game NAME     # a whole league plays it
    pip install pytest          # once
    python -m pytest            # test_NAME.py

Without installing it: `league demo --game ./NAME.py`.
"""

FILES = {
    "pyproject.toml": PYPROJECT,
    "NAME.py": GAME,
    "test_NAME.py": TEST,
    "README.md": README,
}
