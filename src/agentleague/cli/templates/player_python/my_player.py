"""my_player, a player for agentleague."""

from agentleague import Player

player = Player("my_player")


@player.plays("even_odd")
@player.plays("rock_paper_scissors")
@player.plays("tic_tac_toe")
def choose(turn):
    """Make a move: one of turn.legal_moves. This is the function to change.

    turn.game_type says which game it is, turn.position what there is to see, turn.history what
    became of the matches before. Chance comes from turn.rng: so a league with a seed can be played
    again. player.standings() and player.stats(turn.opponent_id) ask the manager.
    """
    return turn.rng.choice(turn.legal_moves)


if __name__ == "__main__":
    player.run()  # Registers at http://127.0.0.1:8000/mcp; returns when the league is over.
