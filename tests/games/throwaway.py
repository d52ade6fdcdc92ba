"""Three games that nobody will play: they prove that the interface carries more than even/odd.

Each is an object with the names that `agentleague.games.game.Game` lists, as a module would have.
"""

from types import SimpleNamespace

from agentleague.errors import IllegalMove
from agentleague.games.game import Outcome

SEATS = ("A", "B")


def legal_or_not(game, state, seat, move):
    if type(move) is not int or move not in game.legal_moves(state, seat):
        raise IllegalMove(f"{move!r} is not possible now")


def race():
    """Simultaneous, without chance: three times both add 1 or 2 to their own sum at once."""
    goal = 3

    def start(options):
        return ()

    def outcome(state):
        if len(state) < goal:
            return None
        a, b = (sum(moves[seat] for moves in state) for seat in SEATS)
        winner = None if a == b else "A" if a > b else "B"
        return Outcome(winner, f"{{A}} has {a}, {{B}} has {b}")

    game = SimpleNamespace(
        name="race",
        seats=SEATS,
        start=start,
        to_move=lambda state: () if outcome(state) else SEATS,
        view=lambda state, seat: {"turns": [dict(moves) for moves in state]},
        legal_moves=lambda state, seat: [1, 2],
        check=lambda state, seat, move: legal_or_not(game, state, seat, move),
        chance=lambda state: None,
        play=lambda state, moves, number: (*state, dict(moves)),
        outcome=outcome,
    )
    return game


def nim():
    """Turn by turn, without chance: take 1 to 3 of the heap; who takes the last one wins."""

    def legal_moves(state, seat):
        return list(range(1, min(3, state[0]) + 1))

    def outcome(state):
        heap, last = state
        return Outcome(last, f"{{{last}}} took the last one") if heap == 0 else None

    def next_seat(state):
        return "A" if state[1] in (None, "B") else "B"

    def play(state, moves, number):
        ((seat, taken),) = moves.items()
        return state[0] - taken, seat

    game = SimpleNamespace(
        name="nim",
        seats=SEATS,
        start=lambda options: (options.get("heap", 5), None),
        to_move=lambda state: () if outcome(state) else (next_seat(state),),
        view=lambda state, seat: {"heap": state[0]},
        legal_moves=legal_moves,
        check=lambda state, seat, move: legal_or_not(game, state, seat, move),
        chance=lambda state: None,
        play=play,
        outcome=outcome,
    )
    return game


def dice(rolls=2, name="dice"):
    """A draw a turn: both guess a die at once; who was nearer more often wins."""

    def check(state, seat, move):
        if type(move) is not int or not 1 <= move <= 6:
            raise IllegalMove(f"{move!r} is not on the die")

    def nearer(moves, number):
        a, b = (abs(moves[seat] - number) for seat in SEATS)
        return None if a == b else "A" if a < b else "B"

    def outcome(state):
        if len(state) < rolls:
            return None
        won = [nearer(moves, number) for moves, number in state]
        a, b = won.count("A"), won.count("B")
        winner = None if a == b else "A" if a > b else "B"
        return Outcome(winner, f"{a} to {b}", {"drawn_number": state[-1][1]})

    return SimpleNamespace(
        name=name,
        seats=SEATS,
        start=lambda options: (),
        to_move=lambda state: () if outcome(state) else SEATS,
        view=lambda state, seat: {"rolled": [number for _, number in state]},
        legal_moves=lambda state, seat: None,
        check=check,
        chance=lambda state: (1, 6),
        play=lambda state, moves, number: (*state, (dict(moves), number)),
        outcome=outcome,
    )


THROWAWAY = {"race": race(), "nim": nim(), "dice": dice()}

THREE_DRAWS = dice(3, "three_dice")


def clumsy():
    """A plug-in as careless authors write them: it trips over whatever is not a text."""
    game = nim()
    game.name = "clumsy"
    game.check = lambda state, seat, move: move.lower()
    return game


CLUMSY = clumsy()
