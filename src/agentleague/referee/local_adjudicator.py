"""Decides matches at a foreign manager, which locks no moves.

Game and draw follow the same rules as at our manager; but the seed is the referee's own, and its
commitment was not announced. Points are the documents'.
"""

from agentleague.games.game import Game
from agentleague.league.match_result import MatchSetup, compute_result
from agentleague.match.messages import Assignment
from agentleague.protocol import draws
from agentleague.protocol.messages import LockedResult, LockRequest, LockResponse

WIN, DRAW, LOSS = 3, 1, 0


class LocalAdjudicator:
    """Answers the locks of one referee; all draws follow from its secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._cases: dict[str, MatchSetup] = {}
        self._begun = 0  # a match that is played again is drawn anew

    def open(self, assignment: Assignment, game: Game) -> None:
        """A match begins."""
        self._begun += 1
        match_id, league_id = assignment.match.match_id, assignment.league_id
        a, b = (seat.player_id for seat in assignment.seats)
        seed = draws.seed_of(self._secret, league_id, f"{match_id}|{self._begun}")
        options = assignment.rules.game_options
        self._cases[match_id] = MatchSetup(game, options, league_id, match_id, (a, b), seed)

    def close(self, match_id: str) -> None:
        """It is over, or dropped."""
        self._cases.pop(match_id, None)

    def lock(self, request: LockRequest) -> LockResponse:
        """What follows from the moves so far: a number, or the result."""
        case = self._cases[request.match_id]
        verdict = compute_result(case, request.moves, request.forfeits)
        names = (request.match_id, verdict.index, verdict.value, request.moves)
        if verdict.result is None:
            return LockResponse(*names)
        winner = verdict.result.winner_player_id
        is_drawn = verdict.result.status == "DRAW"
        score = {
            player_id: DRAW if is_drawn else WIN if player_id == winner else LOSS
            for player_id in case.players
        }
        return LockResponse(*names, result=LockedResult(winner, score, verdict.result))
