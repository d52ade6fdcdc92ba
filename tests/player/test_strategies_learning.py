"""Strategies that learn: they beat players that repeat themselves, but not chance."""

import pytest
from msgspec.structs import replace

from agentleague.games import even_odd, rock_paper_scissors
from agentleague.games.even_odd import PARITIES
from agentleague.games.rock_paper_scissors import THROWS
from agentleague.player import strategies
from agentleague.player.memory import Memory
from agentleague.player.strategies import frequency, opponents_moves, pattern
from agentleague.protocol.messages import GameMoveCall, MoveContext
from player.playing import Table


def turn_of(throws=(), *, game_type="rock_paper_scissors", position=None, **facts):
    shown = {"best_of": 3, "wins": [0, 0], "throws": [["rock", throw] for throw in throws]}
    call = GameMoveCall(
        game_type=game_type,
        match_id="R9M1",
        position=shown if position is None else position,
        legal_moves=list(PARITIES if game_type == "even_odd" else THROWS),
        context=MoveContext(opponent_id="P02"),
    )
    return replace(Memory("1").turn(call, "P01", 30.0), **facts)


def met(move, opponent_id="P02", **facts):
    choices = {"P01": "paper", opponent_id: move}
    return {"opponent_id": opponent_id, "result": {"choices": choices}, "won": False, **facts}


def kept(move, opponent_name="Beta", game_type="rock_paper_scissors"):
    """A match of an earlier league, where everybody had another id."""
    return met(move, "P77", opponent_name=opponent_name, game_type=game_type)


def mostly_rock(turn):
    return turn.rng.choices(THROWS, weights=(6, 2, 2))[0]


def in_a_circle(turn):
    """Mostly the next throw after its last one, so that each is as frequent as the other."""
    last = (turn.position["throws"] or [(None, "rock")])[-1][0]
    following = THROWS[(THROWS.index(last) + 1) % 3] if last else "rock"
    return following if turn.rng.random() < 0.8 else turn.rng.choice(THROWS)


@pytest.mark.parametrize("seed", ["1", "2", "3"])
@pytest.mark.parametrize("learning", [frequency, pattern])
def test_a_player_that_throws_one_thing_too_often_is_beaten(learning, seed):
    won, lost = Table(rock_paper_scissors, learning, mostly_rock, seed=seed).series(300)

    assert won > 1.5 * lost


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_a_player_that_goes_in_a_circle_is_beaten_by_its_pattern_alone(seed):
    long = {"best_of": 15}

    won, lost = Table(rock_paper_scissors, pattern, in_a_circle, seed=seed).series(100, long)
    assert won > 5 * lost

    won, lost = Table(rock_paper_scissors, frequency, in_a_circle, seed=seed).series(100, long)
    assert won < 2 * lost


@pytest.mark.parametrize("learning", [frequency, pattern])
def test_nothing_is_won_from_chance(learning):
    won, lost = Table(rock_paper_scissors, learning, strategies.random).series(400)

    assert abs(won - lost) < 3 * (won + lost) ** 0.5  # three times what chance deviates by


@pytest.mark.parametrize("mine", PARITIES)
@pytest.mark.parametrize("theirs", PARITIES)
def test_in_even_odd_whatever_both_say_each_wins_with_as_many_numbers(mine, theirs):
    state, (low, high) = even_odd.start({}), even_odd.chance(even_odd.start({}))
    ends = [
        even_odd.outcome(even_odd.play(state, {"A": mine, "B": theirs}, number)).winner
        for number in range(low, high + 1)
    ]

    assert ends.count("A") == ends.count("B")


@pytest.mark.parametrize(
    ("seen", "answer"),
    [
        ("rock", "paper"),
        ("paper", "scissors"),
        ("scissors", "rock"),
        ("even", "odd"),
        ("odd", "even"),
    ],
)
@pytest.mark.parametrize("learning", [frequency, pattern])
def test_what_the_opponent_is_expected_to_play_is_answered(learning, seen, answer):
    game_type = "even_odd" if seen in PARITIES else "rock_paper_scissors"

    assert learning(turn_of(game_type=game_type, history=[met(seen)] * 3)) == answer


def test_frequency_counts_all_and_pattern_only_what_came_after_the_same():
    seen = ["rock", "paper", "rock", "paper", "rock", "rock", "scissors", "paper"]

    assert frequency(turn_of(seen)) == "paper"  # against rock, thrown four times
    assert pattern(turn_of(seen[:4])) == "paper"  # rock, paper came before, then rock
    assert pattern(turn_of(seen)) == "paper"  # paper came before, and rock followed it twice
    assert pattern(turn_of(["rock", "rock", "paper"])) == "paper"  # Nothing ever followed paper.


def test_the_longest_pattern_that_was_seen_before_counts():
    seen = ["paper", "rock", "rock", "scissors", "rock", "paper", "rock", "paper", "rock", "rock"]

    assert pattern(turn_of(seen)) == "rock"  # scissors came after paper, rock, rock


def test_what_is_equally_likely_is_left_to_chance():
    turns = [turn_of(["rock", "paper"], seed=str(n)) for n in range(40)]

    assert {frequency(turn) for turn in turns} == {"paper", "scissors"}


def test_only_this_opponent_counts_in_this_league_by_id_and_in_earlier_ones_by_name():
    history = [met("rock"), met("paper", "P03"), met(None), met("scissors")]
    past = [kept("paper"), kept("rock", "Gamma"), kept("rock", game_type="chess"), kept("rock", "")]

    assert opponents_moves(turn_of(["paper"], history=history)) == ["rock", "scissors", "paper"]
    assert opponents_moves(turn_of(history=history, past=past)) == ["rock", "scissors"]
    known = turn_of(history=history, past=past, opponent_name="Beta")
    assert opponents_moves(known) == ["paper", "rock", "scissors"]


@pytest.mark.parametrize("learning", [frequency, pattern])
@pytest.mark.parametrize("position", [[], {"throws": "rock"}, {"throws": [["rock"]]}, 7])
def test_a_position_that_makes_no_sense_is_left_alone(learning, position):
    assert learning(turn_of(position=position)) in THROWS


@pytest.mark.parametrize("learning", [frequency, pattern])
def test_in_a_game_they_are_not_made_for_they_move_at_random(learning):
    moves = {
        learning(turn_of(["rock"] * 9, game_type="nim", seed=str(n), history=[met("rock")]))
        for n in range(40)
    }

    assert moves == set(THROWS)
