"""Rock, paper, scissors: both throw at once, again and again; the first to win most throws wins."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agentleague.errors import IllegalMove
from agentleague.games.game import Outcome, Seat

name = "rock_paper_scissors"
seats = ("A", "B")
defaults = {"best_of": 3}
symmetric = True
THROWS = ("rock", "paper", "scissors")  # each is beaten by the next
BEST_OF_MAX = 99
THROWS_SHOWN = 20  # the last ones, in the details of the outcome


class State(NamedTuple):
    """The throws so far, and how many of them each won; seat A first."""

    best_of: int
    throws: tuple[tuple[str, str], ...] = ()
    wins: tuple[int, int] = (0, 0)


def start(options: Mapping[str, Any]) -> State:
    """No throws yet; `best_of` is an odd number from 1 to 99."""
    unknown = sorted(set(options) - set(defaults))
    if unknown:
        raise ValueError(f"{name} has no option {unknown[0]!r}; leave it out, there is best_of")
    best_of = options.get("best_of", defaults["best_of"])
    if type(best_of) is not int or not 1 <= best_of <= BEST_OF_MAX or best_of % 2 == 0:
        raise ValueError(
            f"best_of is {str(best_of)[:40]!r}; make it an odd whole number from 1 to {BEST_OF_MAX}"
        )
    return State(best_of)


def turns_max(options: Mapping[str, Any]) -> int:
    """Ties are thrown again, but not for ever."""
    return 2 * start(options).best_of


def to_move(state: State) -> Sequence[Seat]:
    """Both at once, then nobody."""
    return () if _is_over(state) else seats


def view(state: State, seat: Seat) -> dict[str, Any]:
    """The throws and wins so far, the player's own first."""
    step = 1 if seat == "A" else -1
    return {
        "best_of": state.best_of,
        "wins": list(state.wins[::step]),
        "throws": [list(throw[::step]) for throw in state.throws],
    }


def legal_moves(state: State, seat: Seat) -> Sequence[str]:
    """Rock, paper or scissors."""
    return THROWS


def check(state: State, seat: Seat, move: Any) -> None:
    """Only the three words themselves, in lower case."""
    if move not in THROWS:
        raise IllegalMove(f"A throw must be 'rock', 'paper' or 'scissors', got {str(move)[:40]!r}")


def chance(state: State) -> None:
    """Nothing is drawn."""


def play(state: State, moves: Mapping[Seat, Any], number: int | None) -> State:
    """One throw more."""
    throw = (moves["A"], moves["B"])
    lead = (THROWS.index(throw[0]) - THROWS.index(throw[1])) % 3
    wins = (state.wins[0] + (lead == 1), state.wins[1] + (lead == 2))
    return State(state.best_of, (*state.throws, throw), wins)


def outcome(state: State) -> Outcome | None:
    """More than half of best_of wins; after twice best_of throws the lead decides, else a draw.

    The details have the wins and the last throws, seat A first.
    """
    if not _is_over(state):
        return None
    won, lost, thrown = max(state.wins), min(state.wins), len(state.throws)
    length = f"{won} to {lost} after {thrown} {'throw' if thrown == 1 else 'throws'}"
    throws = [list(throw) for throw in state.throws[-THROWS_SHOWN:]]
    details = {"wins": list(state.wins), "throws": throws}
    if won == lost:
        return Outcome(None, f"{length} - nobody leads", details)
    winner = seats[state.wins.index(won)]
    return Outcome(winner, f"{{{winner}}} won {length}", details)


def _is_over(state: State) -> bool:
    return 2 * max(state.wins) > state.best_of or len(state.throws) == 2 * state.best_of
