"""Games as plug-ins: what is found by its entry point, and what is said of one that is broken."""

import pytest

from agentleague.errors import UnsupportedGame
from agentleague.runtime import plugins
from rules import rule

GOOD = "from agentleague.games.tic_tac_toe import *\n"


@pytest.fixture
def plug_in(tmp_path, monkeypatch):
    """Install a module as the game of that name, as pip would."""

    def install(name, text):
        (tmp_path / f"{name}_module.py").write_text(text)
        information = tmp_path / f"{name}-1.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (information / "entry_points.txt").write_text(
            f"[agentleague.games]\n{name} = {name}_module\n"
        )
        monkeypatch.syspath_prepend(tmp_path)

    return install


@rule("R-GAME-05")
def test_the_built_in_games_are_plug_ins():
    assert {"even_odd", "rock_paper_scissors", "tic_tac_toe"} <= set(plugins.game_names())


@rule("R-GAME-05")
def test_an_installed_game_is_found_by_name(plug_in):
    plug_in("good_game", f"{GOOD}name = 'good_game'\n")

    assert "good_game" in plugins.game_names()
    assert plugins.load_game("good_game").name == "good_game"


@rule("R-GAME-05")
@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("raises", "1 / 0", "game 'raises' cannot be loaded: ZeroDivisionError: division by zero"),
        ("empty", "name = 'empty'", "empty_module is no game: the game lacks seats, start"),
        ("other", GOOD, "other_module calls itself 'tic_tac_toe'; name its entry point like that"),
    ],
)
def test_a_broken_plug_in_is_refused_with_what_is_wrong_with_it(plug_in, name, text, sentence):
    plug_in(name, text)

    with pytest.raises(UnsupportedGame) as refused:
        plugins.load_game(name)

    assert sentence in str(refused.value)
