"""What a referee and a manager need to know about any game.

A game is one module (or object) with these names. Its functions are pure: they return new states
and never change one, ask no clock and draw no chance; a number they need is drawn for them.
`checks.check_game` proves it.

A game may also have `defaults` (its options with their defaults, which `league games` shows),
`symmetric` (true if no seat is better), `example_moves(state, seat)` (some legal moves, where
`legal_moves` gives None), `turns_max(options)` (after how many turns it is over for certain; the
manager gives a referee so much time for a match) and `luck(options)` (true if no choice wins
more often than it loses, so that nobody can be better; without it that is not known).

A game that draws itself has one or both of these; without them there is no board to look at:

    show(state)                           -> Picture of all there is, for who may see everything
    show_position(position, legal_moves)  -> Picture of what `view` gave one player; elements of the
                                             SVG with `data-move` (a move as JSON) can be clicked
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

TURNS_MAX = 100  # of a game that does not say
DETAILS_BYTES_MAX = 1024  # of an outcome's details as JSON
DETAILS_DEPTH_MAX = 8  # levels of lists and objects
GAME_OVER_ROOM = 10_240 - 1_152  # for moves, choices, reasons and details; the rest has about 900
LEFT_OUT_MAX = 5  # names of details that are left out
LEFT_OUT_LETTERS = 20  # of such a name
PICTURE_MAX = 65_536  # characters of a picture's text, and of its SVG
OWN_FIELDS = {"drawn_number", "number_parity"}  # details with a place of their own in a result

Seat = str
State = Any  # the game's own; nobody else looks into it


class Outcome(NamedTuple):
    """How a game ended; `{A}` in the reason stands for the player in seat A.

    `details` is what else there is to say, as plain JSON; it becomes part of the result.
    """

    winner: Seat | None  # None is a draw
    reason: str
    details: Mapping[str, Any] = {}


class Picture(msgspec.Struct, frozen=True):
    """A state to look at: as lines of text for a terminal and, if there is one, as an SVG.

    In the SVG the classes win, loss, draw, text and muted colour the fill of an element, and lines
    its stroke, in light and dark; `agentleague.games.svg` says what a page shows of it.
    """

    text: str
    svg: str = ""


def picture_of(game: "Game", state: State) -> Picture | None:
    """All of a state; None where the game does not draw itself, or fails."""
    return _picture(game, "show", state)


def picture_of_position(
    game: "Game", position: Any, legal_moves: Sequence[Any] | None
) -> Picture | None:
    """What one player sees; None where the game does not draw it, or fails."""
    return _picture(game, "show_position", position, legal_moves)


def _picture(game: "Game", name: str, *arguments: Any) -> Picture | None:
    try:
        picture = getattr(game, name)(*arguments)
    except Exception:  # The game is a plug-in; without a picture everything else still works.
        return None
    is_one = isinstance(picture, Picture) and type(picture.text) is type(picture.svg) is str
    return picture if is_one and len(picture.text) <= PICTURE_MAX else None


def plain_details(outcome: Outcome, beside: Any = ()) -> dict[str, Any]:
    """The details as they go into a result, next to what GAME_OVER has `beside` them.

    Parts that are no JSON or too deep are left out, then the largest until the rest fits;
    `left_out` names them.
    """
    if outcome.details.keys() <= OWN_FIELDS:
        return {}
    kept, left_out = _readable(
        {name: it for name, it in outcome.details.items() if name not in OWN_FIELDS}
    )
    room = min(DETAILS_BYTES_MAX, GAME_OVER_ROOM - len(msgspec.json.encode(beside)))
    sizes = {name: len(msgspec.json.encode({name: it})) - 1 for name, it in kept.items()}
    size = 1 + sum(sizes.values())
    for name in sorted(kept, key=lambda name: -sizes[name]):
        if size > room:
            size -= sizes[name]
            left_out.append(name)
            del kept[name]
    if left_out:
        kept["left_out"] = [name[:LEFT_OUT_LETTERS] for name in left_out[:LEFT_OUT_MAX]]
    return kept


def _readable(details: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The details as a reader of the JSON finds them, and the names of those it cannot have."""
    readable: dict[str, Any] = {}
    left_out = []
    for name, it in details.items():
        try:
            part = msgspec.json.decode(msgspec.json.encode({name: it}))
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
            part = None
        if part is None or _depth(part) > DETAILS_DEPTH_MAX:
            left_out.append(_name(name))
        else:
            readable |= part
    return readable, left_out


def _name(key: Any) -> str:
    """A key of a dict as a text that can be sent, the same in every process."""
    if isinstance(key, str):
        return key.encode(errors="replace").decode()
    return type(key).__name__


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def turns_max(game: "Game", options: Mapping[str, Any]) -> int:
    """After how many turns a match of this game is over for certain."""
    own = getattr(game, "turns_max", None)
    return int(own(options)) if own else TURNS_MAX


def is_luck(game: "Game", options: Mapping[str, Any]) -> bool | None:
    """Whether nobody can be better at this game; None if it does not say, or fails."""
    try:
        said = game.luck(options)  # type: ignore[attr-defined]  # It may have none.
    except Exception:  # The game is a plug-in; without its word everything else still works.
        return None
    return said if isinstance(said, bool) else None


def luck_in_words(name: str) -> str:
    """What to know of a game of luck; a draw is less than half a win only in the points."""
    return (
        f"{name} is a game of luck: no choice wins more often than it loses. Only how often "
        "one draws can be chosen: with 3 points for a win and 1 for a draw, fewer draws bring more "
        "points."
    )


class Game(Protocol):
    """The interface, proved by every game under `agentleague.games`."""

    @property
    def name(self) -> str: ...

    @property
    def seats(self) -> tuple[Seat, Seat]: ...

    def start(self, options: Mapping[str, Any]) -> State:
        """The first state. Raises ValueError for options it does not know."""

    def to_move(self, state: State) -> Sequence[Seat]:
        """Who moves now, all at once; nobody when the game is over."""

    def view(self, state: State, seat: Seat) -> Any:
        """What that player may see, as plain JSON."""

    def legal_moves(self, state: State, seat: Seat) -> Sequence[Any] | None:
        """All legal moves, or None when they are too many to list."""

    def check(self, state: State, seat: Seat, move: Any) -> None:
        """Raise IllegalMove, with a sentence for the player, unless the move is legal."""

    def chance(self, state: State) -> tuple[int, int] | None:
        """The bounds of the number that `play` needs now, or None."""

    def play(self, state: State, moves: Mapping[Seat, Any], number: int | None) -> State:
        """The state after these legal moves of all who were to move."""

    def outcome(self, state: State) -> Outcome | None:
        """How it ended, or None while it goes on."""
