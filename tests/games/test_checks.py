"""What game authors are told: good games pass, each broken one is refused with its sentence."""

from collections import deque
from dataclasses import dataclass
from enum import Enum
from itertools import count
from random import Random
from types import SimpleNamespace

import pytest

from agentleague.errors import IllegalMove
from agentleague.games.checks import GameProblem, check_game
from agentleague.games.game import Outcome, Picture
from agentleague.runtime import plugins
from games.throwaway import THROWAWAY
from rules import rule

SEATS = ("A", "B")
DICE = SimpleNamespace(**vars(THROWAWAY["dice"]), example_moves=lambda state, seat: [1, 3, 6])


def check_number(state, seat, move):
    if type(move) is not int or not 1 <= move <= 3:
        raise IllegalMove(f"{move!r} is not 1, 2 or 3")


def game(**changes):
    """Both name a number, the higher one wins; with something changed."""
    good = {
        "name": "higher",
        "seats": SEATS,
        "start": lambda options: {},
        "to_move": lambda state: () if state else SEATS,
        "view": lambda state, seat: dict(state),
        "legal_moves": lambda state, seat: [1, 2, 3],
        "check": check_number,
        "chance": lambda state: None,
        "play": lambda state, moves, number: dict(moves),
        "outcome": lambda state: Outcome(higher(state), "the higher one wins") if state else None,
        "symmetric": True,
    }
    return SimpleNamespace(**{name: x for name, x in {**good, **changes}.items() if x != "no"})


def higher(state):
    a, b = state["A"], state["B"]
    return None if a == b else "A" if a > b else "B"


def ended(**fields):
    """An outcome with something changed in it."""
    outcome = {"winner": None, "reason": "it is over", "details": {}, **fields}
    return {"outcome": lambda state: Outcome(**outcome) if state else None, "symmetric": False}


@pytest.mark.parametrize("name", plugins.game_names())
def test_every_installed_game_passes(name):
    check_game(plugins.load_game(name), matches=25)


@pytest.mark.parametrize("good", [THROWAWAY["race"], THROWAWAY["nim"], DICE, game()])
def test_good_games_pass(good):
    check_game(good, matches=25)


def test_a_game_that_draws_itself_passes_also_where_its_moves_are_too_many_to_list():
    check_game(game(**shows()), matches=5)
    check_game(game(**offers(3)), matches=5)
    check_game(SimpleNamespace(**vars(DICE), **offers(6)), matches=5)


def test_a_game_without_a_list_of_legal_moves_must_offer_examples():
    with pytest.raises(GameProblem, match=r"legal_moves gives None; add example_moves\(state, sea"):
        check_game(THROWAWAY["dice"])


def raises(error):
    def function(*arguments):
        raise error

    return function


def tick(ticks=count()):  # noqa: B008 - it shall remember.
    return next(ticks)


def spoiled_by(change):
    """A function that changes the state it was given, after which it is as good as new."""

    def start(options):
        return {"past": [], "moves": {}}

    return {
        "start": start,
        "to_move": lambda state: () if state["moves"] else SEATS,
        "view": lambda state, seat: {},
        "play": lambda state, moves, number: {"past": [], "moves": dict(moves)},
        "outcome": lambda state: Outcome(None, "over") if state["moves"] else None,
        "symmetric": False,
        **change,
    }


def append_and(result):
    def function(state, *arguments):
        state["past"].append(arguments)
        return result

    return function


def append_and_refuse(state, seat, move):
    state["past"].append(move)
    raise IllegalMove("no")


LAST = {}


def remembering():
    """The last moves are kept beside the state, where calls find them until the next match."""

    def start(options):
        LAST.clear()
        return {}

    def play(state, moves, number):
        LAST.update(moves)
        return {"over": True}

    return {
        "start": start,
        "play": play,
        "outcome": lambda state: Outcome(higher(LAST), "from memory") if state else None,
        "view": lambda state, seat: dict(LAST),
        "symmetric": False,
    }


def endless():
    return {"to_move": lambda state: SEATS, "outcome": lambda state: None}


def long_texts():
    """Ten turns with moves of 1,000 characters."""
    texts = ["x" * 1000, "y" * 1000]

    def check(state, seat, move):
        if move not in texts:
            raise IllegalMove("not one of the two")

    return {
        "start": lambda options: 0,
        "to_move": lambda state: () if state == 10 else SEATS,
        "view": lambda state, seat: state,
        "legal_moves": lambda state, seat: texts,
        "check": check,
        "play": lambda state, moves, number: state + 1,
        "outcome": lambda state: Outcome(None, "over") if state == 10 else None,
    }


def takes_turns():
    return {"to_move": lambda state: () if state else ("A",), **ended(winner="A")}


def shows(svg="", text="3", **changes):
    return {"show": lambda state: Picture(text, svg), **changes}


def offers(move, **changes):
    """A position in whose picture this move can be clicked."""
    picture = Picture("", f"<svg viewBox='0 0 9 9'><rect data-move='{move}'/></svg>")
    return {"show_position": lambda position, legal_moves: picture, **changes}


ROWS = {
    # Names.
    "the game lacks chance": {"chance": "no"},
    "the game lacks seats, view": {"seats": "no", "view": "no"},
    "name is 7, not a word such as tic_tac_toe of at most 40 letters": {"name": 7},
    "name is '', not a word": {"name": ""},
    "name is 'my game', not a word": {"name": "my game"},
    "name is 'xxxxx": {"name": "x" * 41},
    "seats is ('A', 'A'), not a tuple of two different texts": {"seats": ("A", "A")},
    "seats is ('A', 'B', 'C'), not a tuple": {"seats": ("A", "B", "C")},
    "seats is (0, 1), not a tuple": {"seats": (0, 1)},
    "seats is ('', 'B'), not a tuple": {"seats": ("", "B")},
    "seats is 'AB', not a tuple": {"seats": "AB"},
    # Purity.
    "view changes what it was given": spoiled_by({"view": append_and({})}),
    "to_move changes what it was given": spoiled_by({"to_move": append_and(SEATS)}),
    "check changes what it was given": spoiled_by({"check": append_and_refuse}),
    "play changes what it was given": {
        "play": lambda state, moves, number: state.update(moves) or state
    },
    "start changes what it was given": {"start": lambda options: options.setdefault("moves", {})},
    "play does not always give the same result for the same arguments; keep everything in": {
        "play": lambda state, moves, number: {**moves, "at": tick()}
    },
    "view does not always give the same result": remembering(),
    "legal_moves does not always give the same result": {
        "legal_moves": lambda *_: deque([1 + tick() % 3])
    },
    # The course of a match.
    "the match does not end within 1000 turns": endless(),
    "to_move names ['C'], which is no seat": {"to_move": lambda state: ["A", "C"]},
    "to_move names a seat twice: ['A', 'A']": {"to_move": lambda state: ["A", "A"]},
    "to_move names nobody, but there is no outcome": {"to_move": lambda state: ()},
    "to_move still names ['A', 'B'] after the outcome": {"to_move": lambda state: SEATS},
    "the moves of a match have 20301 bytes, more than 9216; make moves shorter": long_texts(),
    # Pictures.
    "show gives 'X O', not a Picture": {"show": lambda state: "X O"},
    "show does not always give the same result": {"show": lambda state: Picture(str(tick()))},
    "show gives the text 7; give at most 65536 printable letters": shows(text=7),
    "show gives the text 'a\\tb'; give": shows(text="a\tb"),
    "show gives the text 'xxx": shows(text="x" * 65_537),
    "show gives the SVG None, which is no text": shows(None),
    "a page leaves out of the SVG of show all: it is no XML": shows("<svg>"),
    "a page leaves out of the SVG of show <script>; agentleague.games.svg has": shows(
        "<svg viewBox='0 0 9 9'><script/></svg>"
    ),
    "a page leaves out of the SVG of show fill='url(#a)'; ": shows("<svg fill='url(#a)'/>"),
    "the SVG of show has no viewBox, so it has no size": shows("<svg/>"),
    "the SVG of show has a data-move that is not legal: {'1'}": shows(
        "<svg viewBox='0 0 9 9' data-move='1'/>"
    ),
    "the SVG of show_position has a data-move that is not legal: {'4'}": offers(4),
    # Moves.
    "legal_moves gives nothing although seat A is to move": {"legal_moves": lambda *_: []},
    "example_moves gives nothing although seat A is to move": {
        "legal_moves": lambda *_: None,
        "example_moves": lambda *_: [],
    },
    "legal_moves gives 4, check refuses it": {"legal_moves": lambda *_: [4]},
    "legal_moves gives 2.0: a move has no floats": {"legal_moves": lambda *_: [2.0]},
    "legal_moves gives [1, {'x': 0.5}]: a move has no": {
        "legal_moves": lambda *_: [[1, {"x": 0.5}]]
    },
    "legal_moves gives (1, 2), which is not plain JSON": {"legal_moves": lambda *_: [(1, 2)]},
    "legal_moves gives nan, which is not plain JSON": {"legal_moves": lambda *_: [float("nan")]},
    "check accepts the NoneType None as a move": {"check": lambda *_: None},
    "check accepts the dict {'no': 'move'} as a move": {
        "check": lambda state, seat, move: (
            None if isinstance(move, dict) else check_number(state, seat, move)
        )
    },
    "check accepts the str 'no moveno": {
        "check": lambda state, seat, move: (
            None if isinstance(move, str) else check_number(state, seat, move)
        )
    },
    "check accepts the bool True as a move": {
        "check": lambda state, seat, move: None if move is True else check_number(state, seat, move)
    },
    "check raises TypeError for None, not IllegalMove": {
        "check": lambda state, seat, move: None if 1 <= move <= 3 else check_number({}, "A", None)
    },
    "check raises TypeError for {'no': 'move'}, not IllegalMove": {
        "check": lambda state, seat, move: (
            None if move in {1, 2, 3} else check_number(state, seat, move)
        )
    },
    # What is seen, drawn and decided.
    "view gives seat A {1, 2}, which is not plain JSON": {"view": lambda *_: {1, 2}},
    "view gives seat A {1: 2}, which is not plain JSON": {"view": lambda *_: {1: 2}},
    "view gives seat A inf, which is not plain JSON": {"view": lambda *_: float("inf")},
    "chance gives (6, 1), neither None nor two whole numbers": {"chance": lambda state: (6, 1)},
    "chance gives (1, 6.0), neither None": {"chance": lambda state: (1, 6.0)},
    "chance gives 6, neither None": {"chance": lambda state: 6},
    "outcome gives 'A', not an Outcome": {"outcome": lambda state: "A" if state else None},
    "the outcome's winner is 'Ann', neither a seat nor None": ended(winner="Ann"),
    "the outcome's reason is '', not a text of 1 to 500 characters": ended(reason=""),
    "the outcome's reason is None, not a text": ended(reason=None),
    "the outcome's reason is 'xxxxx": ended(reason="x" * 501),
    "the outcome's details are {'at': object}, not plain JSON": ended(details={"at": object}),
    # Symmetry, where it is claimed.
    "symmetric, but exchanging the moves does not exchange the winner": {
        "outcome": lambda state: Outcome("A", "always") if state else None
    },
    "symmetric, but the seats cannot make each other's moves": {**takes_turns(), "symmetric": True},
}


@pytest.mark.parametrize("sentence", ROWS)
def test_a_broken_game_is_refused_with_a_sentence(sentence):
    with pytest.raises(GameProblem) as refused:
        check_game(game(**ROWS[sentence]))

    told = str(refused.value).replace(repr(object), "object")
    assert sentence in told
    assert len(told) < 200


def test_a_seat_that_moves_alone_is_fine_where_no_symmetry_is_claimed():
    check_game(game(**takes_turns()), matches=5)


class Colour(Enum):
    RED = 1


@dataclass
class Board:
    cells: list
    colour: Colour = Colour.RED


class Slotted:
    __slots__ = ("cells",)

    def __init__(self, cells):
        self.cells = cells


def board_game(board, change):
    """A game whose state is an object; `change` is what view does to it."""

    def view(state, seat):
        change(state)
        return {}

    return game(
        start=lambda options: board([]),
        to_move=lambda state: () if state.cells else SEATS,
        view=view,
        play=lambda state, moves, number: board([moves]),
        outcome=lambda state: Outcome(None, "over") if state.cells else None,
    )


def looped(cells):
    cells = [*cells]
    return SimpleNamespace(
        cells=cells, own=[cells], itself=cells.append, parts={1, 2}, rng=Random(7)
    )


def in_a_ring(cells):
    made = looped(cells)
    made.made = made
    return made


@pytest.mark.parametrize("board", [Board, Slotted, looped, in_a_ring])
def test_a_state_may_be_any_object_as_long_as_nobody_changes_it(board):
    check_game(board_game(board, lambda state: None), matches=5)

    with pytest.raises(GameProblem, match="view changes what it was given"):
        check_game(board_game(board, lambda state: state.cells.append(None)))


def test_equal_sets_are_equal_in_whatever_order_they_were_filled():
    def start(options):
        parts = [0, 8] if tick() % 2 else [8, 0]
        return SimpleNamespace(cells=[], parts=set(parts))

    assert list({0, 8}) != list({8, 0})
    good = vars(board_game(Board, lambda state: None))
    check_game(SimpleNamespace(**{**good, "start": start}), matches=5)


def test_drawing_from_a_random_in_the_state_is_a_change():
    with pytest.raises(GameProblem, match="view changes what it was given"):
        check_game(board_game(looped, lambda state: state.rng.getrandbits(1)))


def test_the_same_seed_plays_the_same_matches():
    def played(seed):
        moves = []
        check_game(game(play=lambda state, made, _: moves.append(made) or dict(made)), seed, 10)
        return moves

    assert played(1) == played(1)
    assert played(1) != played(2)


def test_an_error_of_the_game_itself_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        check_game(game(play=raises(ZeroDivisionError())))


@rule("R-GAME-04")
def test_a_whole_match_is_found_wrong_even_when_it_is_rare():
    """One of nine courses has a wrong winner; 200 matches meet it."""
    odd = {"A": 3, "B": 3}
    with pytest.raises(GameProblem, match="the outcome's winner is 'nobody'"):
        check_game(
            game(
                outcome=lambda state: (
                    Outcome("nobody" if state == odd else None, "over") if state else None
                )
            )
        )
