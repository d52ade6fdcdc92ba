"""Run with: python -m pytest"""

import my_game
from agentleague.games.checks import check_game


def test_the_league_can_play_it():
    check_game(my_game)  # many matches at random; says in a sentence what is wrong


def test_the_higher_number_wins_unless_it_is_higher_by_one():
    def winner(a, b):
        return my_game.outcome(my_game.play(my_game.start({}), {"A": a, "B": b}, None)).winner

    assert winner(5, 1) == "A"
    assert winner(5, 4) == "B"
    assert winner(3, 3) is None
