"""Run with: python -m pytest"""

import pytest
from agentleague.testing import play

from my_player import player


@pytest.mark.parametrize("game", ["even_odd", "rock_paper_scissors", "tic_tac_toe"])
def test_it_makes_only_legal_moves(game):
    score = play(player, "random", game=game, matches=20)

    assert not score.illegal_moves, score
