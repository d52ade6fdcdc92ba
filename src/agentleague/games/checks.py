"""For authors of games: play a game at random and say what is wrong with it.

    from agentleague.games.checks import check_game

    def test_my_game_keeps_the_rules_of_the_league():
        check_game(my_game)

Besides the names that `agentleague.games.game.Game` lists, a game may have

    symmetric       True: with the moves of both seats exchanged, the other seat wins
    example_moves   (state, seat) -> some legal moves, where `legal_moves` gives None
    show            (state) -> Picture, and show_position(position, legal_moves) likewise

Each match is played once; then every call of it is made again, last one first, and must give what
it gave before: that finds clocks, chance, and anything remembered outside the state.
"""

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AnySet
from random import Random
from typing import Any, NamedTuple

from agentleague.errors import IllegalMove
from agentleague.games.game import (
    DETAILS_BYTES_MAX,
    DETAILS_DEPTH_MAX,
    PICTURE_MAX,
    Game,
    Outcome,
    Picture,
    Seat,
    State,
    plain_details,
)
from agentleague.games.svg import cleaned

NAME_MAX = 40
TURNS_MAX = 1_000
LOCK_BYTES_MAX = 9_216  # All moves of a match travel in one message of 10,240 bytes.
REASON_MAX = 500
MOVES_TRIED = 20  # of those that are legal, in each turn
PLAIN = frozenset({type(None), bool, int, float, str, bytes})
NEVER_LEGAL = (None, object(), {"no": "move"}, ["no move"], "no move" * 300)


class GameProblem(AssertionError):
    """A game breaks the rules for games; the sentence says which."""


class Turn(NamedTuple):
    """What was played, and the number that was drawn for it."""

    moves: Mapping[Seat, Any]
    number: int | None


def check_game(game: Game, seed: int = 0, matches: int = 200) -> None:
    """Play so many matches at random; the same seed plays the same ones.

    Raises:
        GameProblem: the first thing that is wrong, in a sentence.
    """
    check_names(game)
    rng = Random(seed)
    for _ in range(matches):
        _Trial(game, rng).run()


def check_names(game: Game) -> None:
    """Raises GameProblem unless all names are there, as they must be; nothing is played."""
    wanted = [name for name in vars(Game) if not name.startswith("_")]
    missing = [name for name in wanted if not hasattr(game, name)]
    _demand(not missing, f"the game lacks {', '.join(missing)}")
    name, seats = game.name, game.seats
    _demand(
        isinstance(name, str) and name.isidentifier() and len(name) <= NAME_MAX,
        f"name is {name!r:.80}, not a word such as tic_tac_toe of at most {NAME_MAX} letters",
    )
    _demand(
        isinstance(seats, tuple)
        and len(seats) == 2
        and all(isinstance(seat, str) and seat for seat in seats)
        and seats[0] != seats[1],
        f"seats is {seats!r}, not a tuple of two different texts",
    )


class _Trial:
    """One match at random, then all its calls once more."""

    def __init__(self, game: Game, rng: Random) -> None:
        self._game, self._rng = game, rng
        self._calls: list[tuple[str, tuple[Any, ...], str]] = []

    def run(self) -> None:
        turns: list[Turn] = []
        state = self._call("start", {})
        while not self._is_over(state):
            _demand(len(turns) < TURNS_MAX, f"the match does not end within {TURNS_MAX} turns")
            turns.append(self._turn(state))
            state = self._call("play", state, *turns[-1])
        self._check_size(turns)
        if getattr(self._game, "symmetric", False):
            self._check_symmetry(turns, self._call("outcome", state).winner)
        self._repeat()

    def _call(self, name: str, *arguments: Any) -> Any:
        before = _spelled(arguments)
        try:
            result = getattr(self._game, name)(*arguments)
        finally:
            _demand(
                _spelled(arguments) == before,
                f"{name} changes what it was given; make a new state, leave the old one as it is",
            )
        self._calls.append((name, arguments, _spelled(result)))
        return result

    def _repeat(self) -> None:
        for name, arguments, result in reversed(self._calls):
            _demand(
                _spelled(getattr(self._game, name)(*arguments)) == result,
                f"{name} does not always give the same result for the same arguments; "
                "keep everything in the state, draw numbers with chance",
            )

    def _is_over(self, state: State) -> bool:
        """Whether there is an outcome; checks it, who is to move, and what can be seen."""
        for seat in self._game.seats:
            view = self._call("view", state, seat)
            _demand(_is_json(view), f"view gives seat {seat} {view!r:.80}, which is not plain JSON")
        self._check_picture("show", (), state)
        seats, outcome = list(self._call("to_move", state)), self._call("outcome", state)
        strange = [seat for seat in seats if seat not in self._game.seats]
        _demand(not strange, f"to_move names {strange}, which is no seat")
        _demand(len(set(seats)) == len(seats), f"to_move names a seat twice: {seats}")
        if outcome is None:
            _demand(seats, "to_move names nobody, but there is no outcome")
            return False
        _demand(not seats, f"to_move still names {seats} after the outcome")
        self._check_outcome(outcome)
        return True

    def _check_outcome(self, outcome: Outcome) -> None:
        _demand(isinstance(outcome, Outcome), f"outcome gives {outcome!r:.80}, not an Outcome")
        winner, reason, details = outcome
        _demand(
            winner is None or winner in self._game.seats,
            f"the outcome's winner is {winner!r}, neither a seat nor None",
        )
        _demand(
            isinstance(reason, str) and 0 < len(reason) <= REASON_MAX,
            f"the outcome's reason is {reason!r:.80}, not a text of 1 to {REASON_MAX} characters",
        )
        _demand(_is_json(details), f"the outcome's details are {details!r:.80}, not plain JSON")
        left_out = plain_details(outcome).get("left_out")
        _demand(
            left_out is None,
            f"the outcome's details are too much, the result leaves out {left_out}; give at most "
            f"{DETAILS_BYTES_MAX} bytes of JSON, at most {DETAILS_DEPTH_MAX} levels deep",
        )

    def _check_picture(self, name: str, legal_moves: Sequence[Any] | None, *seen: Any) -> None:
        """Whether a terminal and a page can show how the game draws this, if it does."""
        if not hasattr(self._game, name):
            return
        picture = self._call(name, *seen)
        _demand(isinstance(picture, Picture), f"{name} gives {picture!r:.80}, not a Picture")
        text, svg = picture.text, picture.svg
        _demand(
            isinstance(text, str)
            and len(text) <= PICTURE_MAX
            and all(map(str.isprintable, text.split("\n"))),
            f"{name} gives the text {text!r:.80}; give at most {PICTURE_MAX} printable letters",
        )
        _demand(isinstance(svg, str), f"{name} gives the SVG {svg!r:.80}, which is no text")
        if not svg:
            return
        left_out, clickable = cleaned(svg)[1:]
        _demand(
            not left_out,
            f"a page leaves out of the SVG of {name} {', '.join(left_out[:3])}; "
            "agentleague.games.svg has what may be in it",
        )
        _demand("viewBox=" in svg, f"the SVG of {name} has no viewBox, so it has no size")
        strange = [] if legal_moves is None else {*clickable} - {*map(json.dumps, legal_moves)}
        _demand(
            not strange, f"the SVG of {name} has a data-move that is not legal: {strange!r:.80}"
        )

    def _turn(self, state: State) -> Turn:
        moves = {seat: self._move(state, seat) for seat in self._call("to_move", state)}
        bounds = self._call("chance", state)
        if bounds is None:
            return Turn(moves, None)
        _demand(
            isinstance(bounds, tuple)
            and [type(bound) for bound in bounds] == [int, int]
            and bounds[0] <= bounds[1],
            f"chance gives {bounds!r}, neither None nor two whole numbers, the lower one first",
        )
        return Turn(moves, self._rng.randint(*bounds))

    def _move(self, state: State, seat: Seat) -> Any:
        """Any legal move, after a look at some legal and illegal ones."""
        moves, source = self._call("legal_moves", state, seat), "legal_moves"
        listed = None if moves is None else list(moves)
        self._check_picture("show_position", listed, self._call("view", state, seat), listed)
        if moves is None:
            source = "example_moves"
            _demand(
                hasattr(self._game, source),
                "legal_moves gives None; add example_moves(state, seat) with some legal moves, "
                "so that the game can be checked",
            )
            moves = self._call(source, state, seat)
        _demand(len(moves), f"{source} gives nothing although seat {seat} is to move")
        tried = self._rng.sample(list(moves), min(MOVES_TRIED, len(moves)))
        for move in tried:
            _demand(_is_json(move), f"{source} gives {move!r:.80}, which is not plain JSON")
            _demand(not _has_float(move), f"{source} gives {move!r:.80}: a move has no floats")
            _demand(self._is_legal(state, seat, move), f"{source} gives {move!r}, check refuses it")
        for move in (*NEVER_LEGAL, *_twins(tried)):
            shown = f"{type(move).__name__} {move!r:.40}"
            _demand(not self._is_legal(state, seat, move), f"check accepts the {shown} as a move")
        return self._rng.choice(tried)

    def _is_legal(self, state: State, seat: Seat, move: Any) -> bool:
        try:
            self._call("check", state, seat, move)
        except IllegalMove:
            return False
        except GameProblem:
            raise
        except Exception as error:  # Whatever it is, a player must not be able to cause it.
            kind = type(error).__name__
            raise GameProblem(f"check raises {kind} for {move!r:.40}, not IllegalMove") from error
        return True

    def _check_size(self, turns: Sequence[Turn]) -> None:
        moves = [[n, "P0001", move] for n, turn in enumerate(turns) for move in turn.moves.values()]
        size = len(json.dumps(moves, separators=(",", ":")))
        _demand(
            size <= LOCK_BYTES_MAX,
            f"the moves of a match have {size} bytes, more than {LOCK_BYTES_MAX}; "
            "make moves shorter or matches end sooner",
        )

    def _check_symmetry(self, turns: Sequence[Turn], winner: Seat | None) -> None:
        a, b = self._game.seats
        other = {a: b, b: a}
        state = self._call("start", {})
        for turn in turns:
            moves = {other[seat]: move for seat, move in turn.moves.items()}
            fits = set(self._call("to_move", state)) == set(moves) and all(
                self._is_legal(state, seat, move) for seat, move in moves.items()
            )
            _demand(fits, "the game says symmetric, but the seats cannot make each other's moves")
            state = self._call("play", state, moves, turn.number)
        outcome = self._call("outcome", state)
        _demand(
            outcome and outcome.winner == (other[winner] if winner else None),
            "the game says symmetric, but exchanging the moves does not exchange the winner",
        )


def _demand(fact: object, otherwise: str) -> None:
    if not fact:
        raise GameProblem(otherwise)


def _is_json(value: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError, RecursionError):
        return False


def _has_float(move: Any) -> bool:
    """Draws follow from the text of the moves, and a float has more than one."""
    if isinstance(move, dict):
        return any(map(_has_float, move.values()))
    return any(map(_has_float, move)) if isinstance(move, list) else isinstance(move, float)


def _twins(moves: Sequence[Any]) -> list[Any]:
    """Values that equal a legal number in Python and are not legal: 1.0 and True for 1."""
    numbers = [move for move in moves if type(move) is int]
    return [*map(float, numbers[:1]), *(bool(number) for number in numbers if number in (0, 1))]


def _spelled(value: Any, within: tuple[int, ...] = ()) -> str:
    """All that a value holds, however deep, so that two spellings tell whether it changed."""
    if type(value) in PLAIN:
        return repr(value)
    if id(value) in within:
        return "itself"
    within = (*within, id(value))
    if isinstance(value, Mapping):
        pairs = [f"{_spelled(key, within)}:{_spelled(value[key], within)}" for key in value]
        return f"{{{','.join(sorted(pairs))}}}"
    if isinstance(value, Sequence):
        return f"[{','.join(_spelled(item, within) for item in value)}]"
    if isinstance(value, AnySet):
        return f"({','.join(sorted(_spelled(item, within) for item in value))})"
    return type(value).__qualname__ + _spelled(_inside(value), within)


def _inside(value: Any) -> Any:
    """What an object would be pickled as, without the functions that make it again."""
    try:
        reduced = value.__reduce_ex__(4)
    except TypeError:
        return None  # A function or the like: nothing can be said of it.
    return [part if isinstance(part, tuple | dict) else None for part in reduced[1:3]]
