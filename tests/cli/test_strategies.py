"""Strategies as a person meets them: listed, and played by name, a language model among them."""

import json
import re
from dataclasses import fields

import pytest

from agentleague.runtime import plugins
from agentleague.sdk.llm_client import LlmSettings
from commands import BIN, ROOT, SECONDS, first_line, free_port, league, started
from sdk.llm_stub import says, stub

BUILT_IN = ["alternating", "fixed", "frequency", "llm", "pattern", "perfect", "random"]


def listed(text):
    """The rows of the table, by their first word."""
    lines = [line for line in text.splitlines() if line.strip()]
    return {line.split()[0]: line for line in lines}


def test_strategies_lists_each_with_its_games_and_a_sentence():
    rows = listed(league("strategies").stdout)

    assert set(BUILT_IN) <= set(rows)
    assert rows["random"].split(maxsplit=3)[1:3] == ["any", "game"]
    assert "even_odd, rock_paper_scissors" in rows["frequency"]
    assert rows["perfect"].split()[1] == "tic_tac_toe"
    assert "Always the first legal move." in rows["fixed"]


def test_strategies_as_json_has_name_summary_games_and_error():
    rows = {row["name"]: row for row in json.loads(league("strategies", "--json").stdout)}

    assert set(BUILT_IN) <= set(rows)
    assert rows["perfect"] == {
        "name": "perfect",
        "summary": "Never loses at tic-tac-toe: it looks at every way the game can go on.",
        "games": ["tic_tac_toe"],
        "error": None,
    }
    assert all(row["summary"].endswith(".") for row in rows.values())
    assert rows["llm"]["games"] == []


def test_a_plug_in_that_cannot_be_loaded_is_listed_with_what_is_wrong(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, "bad = nowhere")

    rows = {row["name"]: row for row in json.loads(league("strategies", "--json").stdout)}

    assert rows["bad"]["error"] == (
        "strategy 'bad' cannot be loaded: ModuleNotFoundError: No module named 'nowhere'"
    )
    assert listed(league("strategies").stdout)["bad"].split()[:4] == [
        *("bad", "strategy", "'bad'", "cannot")
    ]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, "the strategy llm needs LEAGUE_LLM_URL and LEAGUE_LLM_MODEL; for example"),
        ({"URL": "http://127.0.0.1:9"}, "the strategy llm needs LEAGUE_LLM_MODEL; for example"),
        ({"URL": "localhost", "MODEL": "small"}, "(LEAGUE_LLM_URL) must begin with http://HOST"),
    ],
)
def test_a_player_without_a_model_does_not_begin(settings, complaint, monkeypatch):
    for name, value in settings.items():
        monkeypatch.setenv(f"LEAGUE_LLM_{name}", value)

    done = league("player", "--strategy", "llm", "--port", 0, check=False)

    assert done.returncode == 1
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_a_language_model_plays_a_league(tmp_path, monkeypatch):
    url = f"http://127.0.0.1:{free_port()}/mcp"
    player = (BIN / "league", "player", "--port", 0, "--manager", url)
    with stub(says('{"move": "odd"}')) as there:
        monkeypatch.setenv("LEAGUE_LLM_URL", there.base)
        monkeypatch.setenv("LEAGUE_LLM_MODEL", "small")
        monkeypatch.setenv("LEAGUE_LLM_KEY", "sk-very-secret")
        outputs = play(tmp_path, url, first=player, second=(*player, "--strategy", "llm", "-vv"))

    assert "R1M1: the model plays 'odd' (13 tokens, 13 so far)." in outputs[-1][1]
    assert "sk-very-secret" not in "".join(text for output in outputs for text in output)
    assert [request.body["model"] for request in there.requests] == ["small"]
    rows = json.loads(league("standings", "--dir", "league", "--json", cwd=tmp_path).stdout)
    assert [row["technical_losses"] for row in rows] == [0, 0]


PAGE = (ROOT / "docs" / "how-to" / "add-a-strategy.md").read_text(encoding="utf-8")
OF_THE_MODEL, OF_ONES_OWN = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)


def test_the_page_names_every_strategy_and_every_setting_of_the_model():
    for name in BUILT_IN:
        assert f"| `{name}` |" in PAGE
    for setting in fields(LlmSettings):
        assert f"| `LEAGUE_LLM_{setting.name.upper()}` |" in PAGE


def test_the_model_and_the_strategy_of_the_page_play_each_other(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, "stubborn = my_package:stubborn")
    (tmp_path / "my_package.py").write_text(OF_ONES_OWN)
    url = f"http://127.0.0.1:{free_port()}/mcp"
    with stub(says_a_free_cell) as there:
        mine = OF_THE_MODEL.replace("http://127.0.0.1:11434/v1", there.base)
        (tmp_path / "mine.py").write_text(mine.replace("run()", f"run({url!r}, port=0)"))
        outputs = play(
            *(tmp_path, url, "--game", "tic_tac_toe"),
            first=(
                BIN / "league",
                "player",
                "--strategy",
                "stubborn",
                "--manager",
                url,
                "--port",
                0,
            ),
            second=(BIN / "python", "mine.py"),
        )

    said, told = outputs[-1]
    assert said.startswith(f"Spent(questions={len(there.requests)}, failures=")
    assert re.search(r"R1M1: the model plays \d \(13 tokens, 13 so far\)\.", told)
    assert "The league is over" in told


def says_a_free_cell(line, request, stub):
    """A script: the model takes the first cell that it is told is legal."""
    told = request.body["messages"][-1]["content"]
    cell = re.search(r"Legal moves: \[(\d)", told)[1]
    says(cell)(line, request, stub)


def play(directory, url, *rules, first, second):
    """A league of these two, each a command; what all that took part said."""
    port = url.split(":")[2].removesuffix("/mcp")
    words = ("manager", "--players", 2, "--port", port, "--exit", *rules)
    running = [started(BIN / "league", *words, cwd=directory)]
    first_line(running[0])
    running += [
        started(BIN / "league", "referee", "--port", 0, "--manager", url),
        *(started(*player, cwd=directory) for player in (first, second)),
    ]
    outputs = [process.communicate(timeout=SECONDS) for process in running]
    assert [process.returncode for process in running] == [0] * 4, outputs
    return outputs


def install(directory, monkeypatch, entry_point):
    """A package with that strategy, as pip would install it."""
    information = directory / "mine-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (information / "entry_points.txt").write_text(f"[{plugins.STRATEGIES}]\n{entry_point}\n")
    monkeypatch.setenv("PYTHONPATH", str(directory))
