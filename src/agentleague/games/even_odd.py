"""Even/odd: both name a parity, then a number from 1 to 10 is drawn; a lone right guess wins."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agentleague.errors import IllegalMove
from agentleague.games.game import Outcome, Seat

name = "even_odd"
seats = ("A", "B")
symmetric = True
PARITIES = ("even", "odd")


class State(NamedTuple):
    """The choices and the number, once there are any."""

    choices: Mapping[Seat, str] = {}
    number: int | None = None


def start(options: Mapping[str, Any]) -> State:
    """Nothing chosen, nothing drawn; there are no options."""
    if options:
        raise ValueError(f"even_odd has no option {sorted(options)[0]!r}")
    return State()


def turns_max(options: Mapping[str, Any]) -> int:
    """One."""
    return 1


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
    """The number, from 1 to 10."""
    return (1, 10) if state.number is None else None


def play(state: State, moves: Mapping[Seat, Any], number: int | None) -> State:
    """The choices meet the number."""
    return State(moves, number)


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
