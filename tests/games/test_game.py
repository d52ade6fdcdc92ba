"""What every game must offer, and where it is found by name."""

import json
from types import SimpleNamespace

import pytest

from agentleague.errors import IllegalMove, UnsupportedGame
from agentleague.games import even_odd, rock_paper_scissors, tic_tac_toe
from agentleague.games.game import Game, is_luck
from agentleague.runtime import plugins
from games.throwaway import THROWAWAY
from rules import rule

GAMES: dict[str, Game] = {"even_odd": even_odd, **THROWAWAY}


def first_move(game, state, seat):
    legal = game.legal_moves(state, seat)
    return 1 if legal is None else legal[0]


def histories(game):
    """Each state of a game in which everybody plays the first move, and who moved."""
    state = game.start({})
    while game.to_move(state):
        moves = {seat: first_move(game, state, seat) for seat in game.to_move(state)}
        yield state, moves
        state = game.play(state, moves, max(game.chance(state)) if game.chance(state) else None)
    yield state, {}


@rule("R-GAME-04")
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_a_game_has_all_that_the_interface_lists(game):
    wanted = {name for name in vars(Game) if not name.startswith("_")}

    assert wanted == {
        *("name", "seats", "start", "to_move", "view", "legal_moves"),
        *("check", "chance", "play", "outcome"),
    }
    assert all(hasattr(game, name) for name in wanted)
    assert isinstance(game.name, str)
    assert len(game.seats) == 2


@rule("R-GAME-04")
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_a_game_ends_when_nobody_is_to_move_and_not_before(game):
    *before, (end, _) = histories(game)

    assert [game.outcome(state) for state, _ in before] == [None] * len(before)
    assert game.outcome(end).winner in (*game.seats, None)
    assert game.outcome(end).reason


@rule("R-GAME-04")
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_what_a_game_lists_as_legal_is_legal_and_null_never_is(game):
    for state, moves in histories(game):
        for seat in moves:
            for move in game.legal_moves(state, seat) or []:
                game.check(state, seat, move)
            with pytest.raises(IllegalMove):
                game.check(state, seat, None)


@rule("R-GAME-04")
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_a_player_sees_plain_json(game):
    for state, _ in histories(game):
        for seat in game.seats:
            view = game.view(state, seat)
            assert json.loads(json.dumps(view)) == view


@rule("R-GAME-04")
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_the_same_moves_and_numbers_give_the_same_states(game):
    assert list(histories(game)) == list(histories(game))


@pytest.mark.parametrize(
    ("name", "to_move", "draws"),
    [
        ("even_odd", ["AB"], 1),
        ("race", ["AB", "AB", "AB"], 0),  # several turns at once
        ("nim", ["A", "B", "A", "B", "A"], 0),  # turn by turn
        ("dice", ["AB", "AB"], 2),  # two draws
    ],
)
def test_the_interface_carries_every_kind_of_game(name, to_move, draws):
    game = GAMES[name]
    states = list(histories(game))[:-1]

    assert ["".join(game.to_move(state)) for state, _ in states] == to_move
    assert sum(game.chance(state) is not None for state, _ in states) == draws


@rule("R-GAME-05")
def test_even_odd_is_found_by_name_among_the_plug_ins():
    assert "even_odd" in plugins.game_names()
    assert plugins.load_game("even_odd") is even_odd


@rule("R-GAME-05")
@pytest.mark.parametrize("name", ["chess", "", "Even_Odd", "even_odd\n"])
def test_an_unknown_game_is_refused_with_what_there_is(name):
    with pytest.raises(UnsupportedGame) as refused:
        plugins.load_game(name)

    assert repr(name) in str(refused.value)
    assert str(refused.value).lower().endswith(f"there are {', '.join(plugins.game_names())}")
    is_near = name.strip().lower() == "even_odd"
    assert ("did you mean even_odd?" in str(refused.value)) is is_near
    assert refused.value.code == "E042"


@pytest.mark.parametrize(
    ("luck", "said"),
    [
        (lambda options: True, True),
        (lambda options: False, False),
        (lambda options: "perhaps", None),  # no answer
        (lambda options: options["faces"], None),  # It fails.
        (True, None),  # no function
        (None, None),
    ],
)
def test_a_game_may_say_whether_it_is_luck_alone(luck, said):
    assert is_luck(SimpleNamespace(luck=luck), {}) is said
    assert is_luck(SimpleNamespace(), {}) is None


@pytest.mark.parametrize(("game", "said"), [(rock_paper_scissors, False), (tic_tac_toe, False)])
def test_a_game_in_which_one_can_be_better_says_so(game, said):
    assert is_luck(game, {}) is said
