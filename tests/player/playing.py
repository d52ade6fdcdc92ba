"""Play matches between two strategies, with real memories and every move checked by the game."""

from random import Random

from agentleague.games import even_odd, rock_paper_scissors, tic_tac_toe
from agentleague.player.memory import Memory
from agentleague.protocol.messages import (
    ChooseParityCall,
    GameMoveCall,
    GameOver,
    GameResult,
    MoveContext,
)

GAMES = {game.name: game for game in (even_odd, rock_paper_scissors, tic_tac_toe)}
PLAYERS = ("P01", "P02")


class Table:
    """Two strategies that meet again and again, each with its memory; the seats change."""

    def __init__(self, game, *strategies, seed="1"):
        self.game, self.rng, self.matches = game, Random(seed), 0
        self.strategies = dict(zip(PLAYERS, strategies, strict=True))
        self.memories = {player: Memory(f"{seed}|{player}") for player in PLAYERS}

    def series(self, matches, options=None):
        """How often the first won, and the second."""
        winners = [self.match(options or {}) for _ in range(matches)]
        return tuple(winners.count(player) for player in PLAYERS)

    def match(self, options):
        """One match; its winner."""
        self.matches += 1
        order = PLAYERS if self.matches % 2 else PLAYERS[::-1]
        seated = dict(zip(self.game.seats, order, strict=True))
        state, turn, last = self.game.start(options), 0, dict.fromkeys(PLAYERS)
        while not (ended := self.game.outcome(state)):
            moves = {s: self.move(state, s, seated, turn) for s in self.game.to_move(state)}
            last |= {seated[seat]: move for seat, move in moves.items()}
            bounds = self.game.chance(state)
            number = self.rng.randint(*bounds) if bounds else None
            state, turn = self.game.play(state, moves, number), turn + 1
        winner = seated.get(ended.winner)
        result = GameResult("WIN" if winner else "DRAW", winner, choices=last)
        over = GameOver(result, match_id=f"R{self.matches}M1", game_type=self.game.name)
        for player in PLAYERS:
            self.memories[player].over(over, player)
        return winner

    def move(self, state, seat, seated, turn):
        player, other = seated[seat], next(p for p in PLAYERS if p != seated[seat])
        names = {"match_id": f"R{self.matches}M1", "game_type": self.game.name}
        if self.game is even_odd:
            call = ChooseParityCall(context=MoveContext(opponent_id=other), **names)
        else:
            call = GameMoveCall(
                turn=turn,
                position=self.game.view(state, seat),
                legal_moves=list(self.game.legal_moves(state, seat)),
                context=MoveContext(opponent_id=other),
                **names,
            )
        move = self.strategies[player](self.memories[player].turn(call, player, 30.0))
        self.game.check(state, seat, move)
        return move
