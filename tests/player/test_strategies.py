"""Strategies: plain functions from a turn to a move, found by name."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from agentleague.errors import LeagueError
from agentleague.player import strategies
from agentleague.player.memory import Memory
from agentleague.protocol.messages import ChooseParityCall, GameMoveCall
from agentleague.runtime import plugins
from examples import examples
from player.playing import GAMES, Table

PARITY = ChooseParityCall(game_type="even_odd", match_id="R1M1")
NIM = GameMoveCall(game_type="nim", match_id="R1M1", legal_moves=[1, 2, 3])
BUILT_IN = ["alternating", "fixed", "frequency", "pattern", "perfect", "random"]


def turn_of(call, seed="1", history=()):
    memory = Memory(seed)
    for match in history:
        memory.history.append(match)
    return memory.turn(call, "P01", 30.0)


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("call", [PARITY, NIM], ids=["even_odd", "nim"])
def test_every_built_in_strategy_makes_legal_moves_in_any_game(name, call):
    turn = turn_of(call)

    assert plugins.load_strategy(name)(turn) in turn.legal_moves


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
@settings(max_examples=examples(10))
@given(seed=some.text(max_size=8))
def test_every_built_in_strategy_moves_legally_wherever_a_game_can_get_to(name, game, seed):
    table = Table(game, plugins.load_strategy(name), strategies.random, seed=seed)

    table.series(8)  # Each move is checked by the game.

    assert len(table.memories["P01"].history) == 8


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
    assert set(BUILT_IN) <= set(plugins.strategy_names())
    assert plugins.load_strategy("random") is strategies.random
    assert plugins.load_strategy("fixed") is strategies.fixed
    assert plugins.load_strategy("alternating") is strategies.alternating
    assert plugins.load_strategy("frequency") is strategies.frequency
    assert plugins.load_strategy("pattern") is strategies.pattern
    assert plugins.load_strategy("perfect") is strategies.perfect


def test_a_strategy_says_which_games_it_is_made_for():
    assert strategies.games_of(strategies.random) == ()
    assert strategies.games_of(strategies.pattern) == ("even_odd", "rock_paper_scissors")
    assert strategies.games_of(strategies.perfect) == ("tic_tac_toe",)


PLUG_IN = """
from agentleague.errors import LeagueError
from agentleague.player.strategies import plays

def hungry(): raise LeagueError("feed me first")

@plays("nim", ready=hungry)
def clever(turn): return 1

number = 7
"""


@pytest.fixture
def plug_in(tmp_path, monkeypatch):
    """An installed package with strategies, the last two of which are none."""
    (tmp_path / "plug_in_of_a_test.py").write_text(PLUG_IN)
    (tmp_path / "plug-1.dist-info").mkdir()
    (tmp_path / "plug-1.dist-info" / "METADATA").write_text("Name: plug\nVersion: 1\n")
    (tmp_path / "plug-1.dist-info" / "entry_points.txt").write_text(
        f"[{plugins.STRATEGIES}]\n"
        "clever = plug_in_of_a_test:clever\n"
        "number = plug_in_of_a_test:number\n"
        "nowhere = nowhere_at_all:strategy\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    plugins.find_strategy.cache_clear()


@pytest.mark.usefixtures("plug_in")
def test_a_strategy_that_is_not_ready_can_be_found_and_not_loaded():
    assert strategies.games_of(plugins.find_strategy("clever")) == ("nim",)

    with pytest.raises(LeagueError, match="feed me first"):
        plugins.load_strategy("clever")


@pytest.mark.usefixtures("plug_in")
@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("number", "plug_in_of_a_test:number is no strategy: make it a function of a turn"),
        ("nowhere", "strategy 'nowhere' cannot be loaded: ModuleNotFoundError: No module"),
    ],
)
def test_a_plug_in_that_is_no_strategy_is_refused_with_what_is_wrong(name, complaint):
    with pytest.raises(LeagueError, match=complaint):
        plugins.load_strategy(name)


@pytest.mark.parametrize("name", ["clever", "", "Random"])
def test_an_unknown_strategy_is_refused_with_what_there_is(name):
    with pytest.raises(LeagueError, match=f"no strategy '{name}' is installed; ") as no:
        plugins.load_strategy(name)

    assert str(no.value).lower().endswith(f"there are {', '.join(plugins.strategy_names())}")
    assert ("did you mean random?" in str(no.value)) is (name == "Random")


@pytest.mark.parametrize("name", BUILT_IN)
def test_where_a_game_lists_no_moves_a_built_in_strategy_says_what_is_needed(name):
    dice = GameMoveCall(game_type="dice", match_id="R1M1", legal_moves=None)

    with pytest.raises(ValueError, match="dice lists no legal moves; it needs a strategy"):
        plugins.load_strategy(name)(turn_of(dice))
