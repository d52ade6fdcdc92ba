"""docs/how-to/write-a-player.md keeps its promises: every snippet of it runs."""

import json
import re

import pytest

from agentleague import Player, Turn, play_league
from agentleague.runtime.state_files import FIELDS
from commands import ROOT

PAGE = (ROOT / "docs" / "how-to" / "write-a-player.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)


def run(snippet):
    """What a snippet leaves behind; a player in it does not begin to register."""
    names = {"__name__": "page"}
    exec(re.sub(r"^player\.run\(.*$", "", snippet, flags=re.MULTILINE), names)
    return names


@pytest.mark.parametrize("snippet", [text for text in SNIPPETS if "Player(" in text])
def test_every_player_of_the_page_plays(snippet, capsys):
    player = run(snippet)["player"]
    (game,) = player.games

    played = play_league([player, "random"], game, seed=1, cycles=5)

    assert isinstance(player, Player)
    assert played.illegal_moves == []
    if "on_round" in snippet:
        assert "round 1 against P02" in capsys.readouterr().out


@pytest.mark.parametrize("snippet", [text for text in SNIPPETS if "Player(" not in text])
def test_every_other_snippet_runs(snippet, capsys):
    names = run(snippet)
    tests = [value for name, value in names.items() if name.startswith("test_")]
    for test in tests:
        test()

    assert tests or "R1M1" in capsys.readouterr().out


def test_the_player_that_learns_uses_what_it_has_learnt():
    (snippet,) = [text for text in SNIPPETS if "turn.past" in text]
    throw = run(snippet)["throw"]
    turns = []
    play_league([lambda turn: turns.append(turn) or "rock", "fixed"], "rock_paper_scissors")
    (first, *_) = turns
    past = [
        {
            "game_type": "rock_paper_scissors",
            "opponent_name": "Bob",
            "opponent_id": "P09",
            "result": {"choices": {"P09": "scissors"}},
        }
    ]
    fields = {name: getattr(first, name) for name in Turn.__struct_fields__}

    turn = Turn(**{**fields, "past": past, "opponent_name": "Bob"})

    assert throw(turn) == "rock"


def test_every_field_of_a_turn_and_of_a_match_is_on_the_page():
    table = PAGE.split("| `turn.`")[1].split("One match of")[0]
    (match,) = re.findall(r"```json\n(\{\"league_id.+?)```", PAGE, re.DOTALL)

    assert set(re.findall(r"`(\w+)`", table)) >= set(Turn.__struct_fields__)
    assert json.loads(match).keys() == FIELDS
