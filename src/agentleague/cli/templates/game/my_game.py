"""Both name a number from 1 to 5; the higher one wins, unless it is higher by one: then it loses.

A game is one module of plain functions; change them into your own game. They never change a state
but return a new one, and they remember nothing, ask no clock and draw no chance: the referee, the
manager and anybody who checks a match later all play it again and must come to the same end.
"""

from agentleague.errors import IllegalMove
from agentleague.games.game import Outcome, Picture

name = "my_game"  # as in pyproject.toml
seats = ("A", "B")  # the first and the second player of a match
symmetric = True  # No seat is better; check_game proves it. Leave it out where one begins.

NUMBERS = (1, 2, 3, 4, 5)


def start(options):
    """The first state: here the numbers by seat, none yet. It can be any value you like."""
    if options:  # An organiser may set options; refuse those that the game does not have.
        raise ValueError(f"my_game has no option {sorted(options)[0]!r}; leave it out")
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


def show(state):
    """A picture for people: text for a terminal and, if you like, an SVG for pages.

    Leave it out, and the league plays on without one. Classes colour the SVG in light and dark:
    win, loss, draw, text and muted fill a shape, tile lightly, lines is for its stroke.
    """
    a, b = state.get("A", "?"), state.get("B", "?")
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 80" role="img">'
        f"<title>A said {a}, B said {b}</title>"
        '<path class="lines" stroke-width="2" d="M100 10V70"/>'
        f'<text class="win" x="50" y="54" font-size="40" text-anchor="middle">{a}</text>'
        f'<text class="loss" x="150" y="54" font-size="40" text-anchor="middle">{b}</text></svg>'
    )
    return Picture(f"A  {a} | {b}  B", svg)
