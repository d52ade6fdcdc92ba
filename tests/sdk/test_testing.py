"""`agentleague.testing.play`: one line in an author's own tests."""

import pytest

from agentleague import Player
from agentleague.errors import LeagueError
from agentleague.testing import play


def even(turn):
    return "even"


def test_so_many_matches_are_counted_from_the_first_players_side():
    score = play(even, lambda turn: "odd", matches=50, seed=3)
    other = play(lambda turn: "odd", even, matches=50, seed=3)

    assert score.matches == 50
    assert (score.wins, score.draws) != (0, 50)
    assert score.wins + score.losses == 50
    assert (other.illegal_moves, other.opponent_illegal_moves) == ([], [])


def test_the_same_seed_gives_the_same_score_and_another_seed_another():
    scores = [play("random", "random", matches=200, seed=seed) for seed in (1, 1, 2)]

    assert scores[0] == scores[1] != scores[2]


def test_every_game_and_kind_of_player_will_do():
    player = Player("Ann")

    @player.plays("tic_tac_toe")
    def choose(turn):
        return turn.legal_moves[0]

    assert play(player, "fixed", "tic_tac_toe", matches=10).matches == 10
    assert play("random", "fixed", game="rock_paper_scissors", matches=10).matches == 10


def test_a_score_says_what_was_illegal():
    score = play(lambda turn: "Even", even, matches=3)

    assert (score.wins, score.draws, score.losses) == (0, 0, 3)
    assert len(score.illegal_moves) == 9
    assert score.opponent_illegal_moves == []
    assert str(score).splitlines()[:3] == [
        "0 won, 0 drawn, 3 lost (seed '0')",
        "9 illegal moves:",
        "  R1M1: Choice must be 'even' or 'odd', got 'Even'",
    ]
    assert str(score).endswith("... and 4 more")


def test_an_opponents_illegal_moves_are_told_apart():
    score = play(even, lambda turn: None, matches=1)

    assert (score.wins, score.illegal_moves) == (1, [])
    assert "3 illegal moves of the opponent:\n  R1M1:" in str(score)


def test_an_exception_of_the_authors_function_propagates():
    def broken(turn):
        raise KeyError("a bug")

    with pytest.raises(KeyError, match="a bug"):
        play(broken, even)


def test_a_strategy_that_is_not_there_is_said_in_a_sentence():
    with pytest.raises(LeagueError, match="there are"):
        play(even, "nobody")
