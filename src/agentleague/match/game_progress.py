"""How far a game is: the moves made, the numbers drawn, and the state they lead to."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agentleague.errors import IllegalMove, LeagueError
from agentleague.games.game import Game, State
from agentleague.match.transcript import LIMITS, MatchLimits, depth

Moves = Sequence[tuple[int, str, Any]]  # turn, player, move


class GameProgress:
    """How far one match is; the game is a plug-in, and whatever it raises is its own bug."""

    def __init__(
        self,
        game: Game,
        options: Mapping[str, Any],
        players: Sequence[str],
        limits: MatchLimits = LIMITS,
    ) -> None:
        self.game = game
        self.state: State = game.start(options)
        self.turn = 0
        self.moves: list[tuple[int, str, Any]] = []
        self.numbers: list[int] = []
        self._options, self._players, self._limits = options, players, limits

    @property
    def is_over(self) -> bool:
        """Whether the game has an outcome."""
        return self.game.outcome(self.state) is not None

    @property
    def wants_number(self) -> bool:
        """Whether a number is drawn before the next turn."""
        return self.game.chance(self.state) is not None

    def to_move(self) -> list[int]:
        """The seats whose turn it is."""
        return list(map(self.game.seats.index, self.game.to_move(self.state)))

    def check(self, seat: int, move: Any) -> None:
        """Raise IllegalMove unless the player may make this move now."""
        limits = self._limits
        if len(msgspec.json.encode(move)) > limits.move_bytes:
            raise IllegalMove(f"a move is at most {limits.move_bytes} bytes long")
        if not isinstance(move, str) and depth(move) > limits.move_depth:
            raise IllegalMove(f"a move is nested at most {limits.move_depth} levels deep")
        try:
            self.game.check(self.state, self.game.seats[seat], move)
        except LeagueError:
            raise
        except Exception as error:  # The game is a plug-in, and the move comes from outside.
            name = type(error).__name__
            raise IllegalMove(f"the game stumbled over the move ({name})") from None

    def note(self, made: Mapping[int, Any]) -> None:
        """Keep the moves of this turn, by seat."""
        for seat in sorted(made):
            self.moves.append((self.turn, self._players[seat], made[seat]))

    def play(self, made: Mapping[int, Any]) -> None:
        """Play the moves of this turn, which needs no number."""
        self.note(made)
        moves = {self.game.seats[seat]: made[seat] for seat in sorted(made)}
        self.state = self.game.play(self.state, moves, None)
        self.turn += 1

    def adopt(self, moves: Moves, number: int) -> bool:
        """Play on with the moves that the league holds and its number; False if impossible."""
        if not moves or list(moves) == self.moves:
            reached = self._reach((self.state, self.turn), self.moves, [number])
        else:  # They are not ours: the game is played again, with all numbers drawn so far.
            start = self.game.start(self._options)
            reached = self._reach((start, 0), moves, [*self.numbers, number])
        if reached is None:
            return False
        self.state, self.turn = reached
        self.moves = list(moves) or self.moves
        self.numbers.append(number)
        return True

    def _reach(
        self, begun: tuple[State, int], moves: Moves, numbers: Sequence[int]
    ) -> tuple[State, int] | None:
        """State and turn after these moves and numbers, if the game wants them all and goes on."""
        state, turn = begun
        made: dict[int, dict[str, Any]] = {}
        for when, player_id, move in moves:
            made.setdefault(when, {})[self.game.seats[self._players.index(player_id)]] = move
        waiting = list(numbers)
        while waiting:
            seats = set(self.game.to_move(state))
            if not seats or seats != made.get(turn, {}).keys():
                return None
            number = waiting.pop(0) if self.game.chance(state) else None
            state, turn = self.game.play(state, made[turn], number), turn + 1
        goes_on = len(made) == turn and self.game.outcome(state) is None
        return (state, turn) if goes_on else None
