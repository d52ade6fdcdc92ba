"""What `league new player NAME` writes: a small complete player in Python."""

PLAYER = '''\
"""NAME, a player for agentleague."""

from agentleague import Player

player = Player("NAME")


@player.plays("even_odd")
@player.plays("rock_paper_scissors")
@player.plays("tic_tac_toe")
def choose(turn):
    """Make a move: one of turn.legal_moves. This is the function to change.

    turn.game_type says which game it is, turn.position what there is to see, turn.history what
    became of the matches before. Chance comes from turn.rng: so a league with a seed can be played
    again.
    """
    return turn.rng.choice(turn.legal_moves)


if __name__ == "__main__":
    player.run()  # Registers at http://127.0.0.1:8000/mcp; returns when the league is over.
'''

TEST = '''\
"""Run with: python -m pytest"""

import pytest
from agentleague.testing import play

from NAME import player


@pytest.mark.parametrize("game", ["even_odd", "rock_paper_scissors", "tic_tac_toe"])
def test_it_makes_only_legal_moves(game):
    score = play(player, "random", game=game, matches=20)

    assert not score.illegal_moves, score
'''

README = """\
# NAME

A player for agentleague. `choose` in `NAME.py` makes its moves: change it.

In this folder, with the Python that has agentleague:

    league play NAME.py random                       # one match, told line by line
    league play NAME.py random --matches 20          # and who is better
    league play NAME.py fixed --game tic_tac_toe     # in another game
    league demo --player NAME.py --players 8         # in a whole league
    python -m pip install pytest                     # once
    python -m pytest                                 # test_NAME.py

In a league that somebody else runs:

    league player NAME.py --manager http://127.0.0.1:8000/mcp
"""

PYTEST = """\
[pytest]
pythonpath = .
"""

FILES = {
    "NAME.py": PLAYER,
    "test_NAME.py": TEST,
    "pytest.ini": PYTEST,
    "README.md": README,
}
