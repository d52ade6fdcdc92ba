"""Rock, paper, scissors: both throw at once, again and again; the first to win most throws wins."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agentleague.errors import IllegalMove
from agentleague.games.game import Outcome, Picture, Seat
from agentleague.games.svg import button, drawing, element, words

name = "rock_paper_scissors"
seats = ("A", "B")
defaults = {"best_of": 3}
symmetric = True
THROWS = ("rock", "paper", "scissors")  # each is beaten by the next
RELATIONS = ("ties", "beats", "loses to")  # by how far the first of two throws is ahead
BEST_OF_MAX = 99
THROWS_DRAWN = 8  # the last ones, in a picture
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


def luck(options: Mapping[str, Any]) -> bool:
    """False: who sees through the other wins more often."""
    return False


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
    lead = _lead(*throw)
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


def _lead(one: str, other: str) -> int:
    """1 if the first of two throws wins, 2 if the other does, 0 for a tie."""
    return (THROWS.index(one) - THROWS.index(other)) % 3


def show(state: State) -> Picture:
    """The score and the last throws."""
    return _picture(view(state, "A"), ("A", "B"), ())


def show_position(position: Mapping[str, Any], legal_moves: Sequence[str] | None) -> Picture:
    """The same with the player's own throws first, and a button for each throw."""
    return _picture(position, ("You", "Opponent"), legal_moves or ())


def _picture(position: Mapping[str, Any], who: Sequence[str], free: Sequence[str]) -> Picture:
    throws, (won, lost) = position["throws"], position["wins"]
    score, title = f"{won} : {lost}", f"Rock, paper, scissors: best of {position['best_of']}"
    lines = [f"{who[0]}  {score}  {who[1]}   (best of {position['best_of']})"]
    parts = [
        *(words((60, 25), who[0], "muted"), words((240, 25), who[1], "muted")),
        words((150, 25), score, size=26),
    ]
    skipped = max(0, len(throws) - THROWS_DRAWN)
    for row, (one, other) in enumerate(throws[skipped:]):
        relation, y = RELATIONS[lead := _lead(one, other)], 70 + 40 * row
        lines.append(f"{skipped + row + 1:3}  {one:<8}  {relation:<8}  {other}")
        colours = (("draw", "draw"), ("win", "loss"), ("loss", "win"))[lead]
        parts += [
            *(_hand((20, y), one, colours[0]), words((76, y), one, size=18)),
            words((150, y), relation, "muted", 14),
            *(words((224, y), other, size=18), _hand((280, y), other, colours[1])),
        ]
    bottom = 60 + 40 * min(len(throws), THROWS_DRAWN)
    for column, throw in enumerate(free):
        inside = _hand((52 + 98 * column, bottom + 30), throw, "text")
        label = words((52 + 98 * column, bottom + 62), throw)
        parts.append(button((7 + 98 * column, bottom + 4), (90, 78), throw, inside + label))
    text = "\n".join(lines)
    height = bottom + (90 if free else 0)
    return Picture(text, drawing((300, height), title, text, *parts))


HANDS = {
    "rock": "M-13 4L-8 -9L3 -13L12 -5L13 6L5 12L-8 12z",
    "paper": "M-10 -13H4L10 -7V13H-10zM-6 -3V-1H6V-3zM-6 3V5H6V3z",
    "scissors": "M-8 -14L-5 -14L4 5L1 6zM8 -14L5 -14L-4 5L-1 6z"
    "M-10 9a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0zM-8 9a2.5 2.5 0 1 1 5 0a2.5 2.5 0 1 1 -5 0z"
    "M1 9a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0zM3 9a2.5 2.5 0 1 1 5 0a2.5 2.5 0 1 1 -5 0z",
}


def _hand(at: tuple[int, int], throw: str, colour: str) -> str:
    return element("path", class_=colour, d=HANDS[throw], transform=f"translate({at[0]} {at[1]})")
