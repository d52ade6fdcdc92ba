"""Even/odd: both name a parity, then a number from 1 to 10 is drawn; a lone right guess wins."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agentleague.errors import IllegalMove
from agentleague.games.game import Outcome, Picture, Seat
from agentleague.games.svg import button, drawing, element, words

name = "even_odd"
seats = ("A", "B")
defaults = {"lowest": 1, "highest": 10}
symmetric = True
NUMBER_MAX = 1_000_000
PARITIES = ("even", "odd")


class State(NamedTuple):
    """The choices and the number, once there are any, and within what it is drawn."""

    choices: Mapping[Seat, str] = {}
    number: int | None = None
    bounds: tuple[int, int] = (1, 10)


def start(options: Mapping[str, Any]) -> State:
    """Nothing chosen, nothing drawn; the number is drawn from `lowest` to `highest`."""
    if not options:
        return State()
    unknown = options.keys() - defaults.keys()
    if unknown:
        raise ValueError(
            f"{name} has no option {min(unknown)!r}; leave it out, there are lowest and highest"
        )
    low, high = bounds = tuple({**defaults, **options}.values())
    if not (type(low) is type(high) is int and 0 <= low < high <= NUMBER_MAX):
        raise ValueError(
            f"the number would be drawn from {str(low)[:40]!r} to {str(high)[:40]!r}; make lowest "
            f"and highest whole numbers from 0 to {NUMBER_MAX}, and lowest the smaller one"
        )
    return State(bounds=bounds)


def turns_max(options: Mapping[str, Any]) -> int:
    """One."""
    return 1


def luck(options: Mapping[str, Any]) -> bool:
    """True if there are as many even numbers as odd ones: no choice wins more than it loses."""
    low, high = start(options).bounds
    return (high - low) % 2 == 1


def to_move(state: State) -> Sequence[Seat]:
    """Both at once, then nobody."""
    return seats if state.number is None else ()


def view(state: State, seat: Seat) -> dict[str, Any]:
    """There is nothing to see before the number."""
    return {}


def legal_moves(state: State, seat: Seat) -> Sequence[str]:
    """Even or odd."""
    return PARITIES


def check(state: State, seat: Seat, move: Any) -> None:
    """Only the two words themselves, in lower case (document 004 section 6.2.3)."""
    if move not in PARITIES:
        raise IllegalMove(f"Choice must be 'even' or 'odd', got {str(move)[:40]!r}")


def chance(state: State) -> tuple[int, int] | None:
    """The number; from 1 to 10 unless the league has it otherwise."""
    return state.bounds if state.number is None else None


def play(state: State, moves: Mapping[Seat, Any], number: int | None) -> State:
    """The choices meet the number."""
    return State(moves, number, state.bounds)


def outcome(state: State) -> Outcome | None:
    """Who alone named the number's parity wins; two right or two wrong draw."""
    if state.number is None:
        return None
    parity = PARITIES[state.number % 2]
    right = [seat for seat in seats if state.choices[seat] == parity]
    details = {"drawn_number": state.number, "number_parity": parity}
    drawn = f"number was {state.number} ({parity})"
    if len(right) == 1:
        return Outcome(right[0], f"{{{right[0]}}} chose {parity}, {drawn}", details)
    judged = "correct" if right else "incorrect"
    return Outcome(None, f"Both chose {state.choices['A']}, {drawn} - both {judged}", details)


def show(state: State) -> Picture:
    """The choices and the number, and who is right; a question mark for what is not known."""
    chosen = [state.choices.get(seat, "?") for seat in seats]
    return _picture(chosen, state.number, seats, ())


def show_position(position: Mapping[str, Any], legal_moves: Sequence[str] | None) -> Picture:
    """Nothing is known before the number; a button for each choice."""
    return _picture(("?", "?"), None, ("You", "Opponent"), legal_moves or ())


def _picture(
    chosen: Sequence[str], number: int | None, who: Sequence[str], free: Sequence[str]
) -> Picture:
    parity = "" if number is None else PARITIES[number % 2]
    lines, parts = [], [element("circle", class_="lines", cx=150, cy=65, r=40, stroke_width=3)]
    for x, name, choice in zip((4, 200), who, chosen, strict=True):
        judged = "" if not parity else "right" if choice == parity else "wrong"
        lines.append(f"{name:<8}  {choice:<4}  {judged}".rstrip())
        colour = {"right": "win", "wrong": "loss"}.get(judged, "draw")
        place = {"x": x, "y": 15, "width": 96, "height": 100, "rx": 10, "fill_opacity": 0.15}
        parts += [
            element("rect", class_=colour, **place),
            words((x + 48, 36), name, "muted"),
            words((x + 48, 66), choice, size=24),
            words((x + 48, 95), judged, colour),
        ]
    drawn = "?" if number is None else number
    parts.append(words((150, 57 if parity else 65), drawn, size=30 if len(str(drawn)) < 4 else 16))
    parts.append(words((150, 84), parity, "muted"))
    for column, move in enumerate(free):
        inside = words((75 + 150 * column, 156), move, size=20)
        parts.append(button((5 + 150 * column, 130), (140, 52), move, inside))
    text = "\n".join([*lines, f"Number    {drawn} {parity and f'({parity})'}".rstrip()])
    return Picture(text, drawing((300, 190 if free else 130), "Even or odd", text, *parts))
