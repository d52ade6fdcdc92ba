"""Strategies: plain functions from a turn to a move, found by name."""

from collections import Counter
from random import Random

import pytest

from agentleague.errors import LeagueError
from agentleague.player import registry, strategies
from agentleague.player.notebook import Notebook
from agentleague.protocol.messages import ChooseParityCall, GameMoveCall

PARITY = ChooseParityCall(game_type="even_odd", match_id="R1M1")
NIM = GameMoveCall(game_type="nim", match_id="R1M1", legal_moves=[1, 2, 3])
BUILT_IN = ["alternating", "fixed", "random"]


def turn_of(call, seed="1", history=()):
    notebook = Notebook(seed)
    notebook.history.extend(history)
    return notebook.turn(call, "P01", 30.0)


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("call", [PARITY, NIM], ids=["even_odd", "nim"])
def test_every_built_in_strategy_makes_legal_moves_in_any_game(name, call):
    turn = turn_of(call)

    assert registry.load(name)(turn) in turn.legal_moves


@pytest.mark.parametrize(("call", "move"), [(PARITY, "even"), (NIM, 1)])
def test_fixed_always_makes_the_first_legal_move(call, move):
    assert {strategies.fixed(turn_of(call, seed=str(n), history=[{}] * n)) for n in range(5)} == {
        move
    }


def test_alternating_goes_through_the_legal_moves_from_match_to_match():
    made = [strategies.alternating(turn_of(NIM, history=[{}] * n)) for n in range(7)]

    assert made == [1, 2, 3, 1, 2, 3, 1]


def test_random_makes_every_legal_move_about_as_often():
    made = Counter(strategies.random(turn_of(NIM, seed=str(n))) for n in range(600))

    assert set(made) == {1, 2, 3}
    assert min(made.values()) > 150


def test_random_uses_the_chance_of_its_turn_alone():
    turn = turn_of(PARITY, seed="7")
    expected = Random("7||R1M1|P01|0").choice(["even", "odd"])

    assert strategies.random(turn) == expected


def test_the_built_in_strategies_are_plug_ins_like_any_other():
    assert set(BUILT_IN) <= set(registry.names())
    assert registry.load("random") is strategies.random
    assert registry.load("fixed") is strategies.fixed
    assert registry.load("alternating") is strategies.alternating


@pytest.mark.parametrize("name", ["clever", "", "Random"])
def test_an_unknown_strategy_is_refused_with_what_there_is(name):
    with pytest.raises(LeagueError, match=f"no strategy '{name}' is installed; there are ") as no:
        registry.load(name)

    assert str(no.value).endswith(", ".join(registry.names()))


@pytest.mark.parametrize("name", BUILT_IN)
def test_where_a_game_lists_no_moves_a_built_in_strategy_says_what_is_needed(name):
    dice = GameMoveCall(game_type="dice", match_id="R1M1", legal_moves=None)

    with pytest.raises(ValueError, match="dice lists no legal moves; it needs a strategy"):
        registry.load(name)(turn_of(dice))
