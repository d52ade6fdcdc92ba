"""For an agent author's own tests: two players, many matches, one line.

def test_it_beats_random():
    score = play(choose, "random", matches=200, seed=1)
    assert score.wins > score.losses and not score.illegal_moves, score
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from agentleague.roles.effects import Turn
from agentleague.sdk.offline import play_league
from agentleague.sdk.player import Player

SHOWN_MAX = 5  # illegal moves in the text of a score


class Score(Struct, frozen=True):
    """How the first player did; its text says what went wrong."""

    wins: int
    draws: int
    losses: int
    illegal_moves: Sequence[str]  # of the first player: in which match, and what was wrong
    opponent_illegal_moves: Sequence[str]
    seed: str

    @property
    def matches(self) -> int:
        """How many were played."""
        return self.wins + self.draws + self.losses

    def __repr__(self) -> str:
        text = f"{self.wins} won, {self.draws} drawn, {self.losses} lost (seed {self.seed!r})"
        for whose, moves in (
            ("illegal moves", self.illegal_moves),
            ("illegal moves of the opponent", self.opponent_illegal_moves),
        ):
            more = f"\n  ... and {len(moves) - SHOWN_MAX} more" if len(moves) > SHOWN_MAX else ""
            if moves:
                text += f"\n{len(moves)} {whose}:\n  " + "\n  ".join(moves[:SHOWN_MAX]) + more
        return text


def play(
    a: Player | Callable[[Turn], Any] | str,
    b: Player | Callable[[Turn], Any] | str,
    game: str = "even_odd",
    matches: int = 100,
    seed: int | str = 0,
) -> Score:
    """So many matches of `a` against `b`, who change seats after each; how `a` did.

    A player is a function, the name of a strategy, or a Player. An exception in a function comes
    out of here as it is. The same seed gives the same score.

    Raises:
        LeagueError: a player or the game cannot be found.
    """
    played = play_league([a, b], game, seed, cycles=matches)
    row = next(row for row in played.table if row.player_id == "P01")
    own = [text for player_id, text in played.illegal_moves if player_id == "P01"]
    others = [text for player_id, text in played.illegal_moves if player_id != "P01"]
    return Score(row.wins, row.draws, row.losses, own, others, played.seed)
