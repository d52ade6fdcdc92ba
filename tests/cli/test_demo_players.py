"""`league demo --player`: agents of anybody's mixed with ours in a private league."""

import json

import pytest

from cli.agent_files import FUNCTION, TEN_LINES, listening_agent
from commands import league


def demo(*arguments, cwd=None):
    return json.loads(league("demo", *arguments, "--json", cwd=cwd).stdout)


def names(played):
    """Names by player id, in the order of registration."""
    return [row["display_name"] for row in sorted(played["final_standings"], key=by_id)]


def by_id(row):
    return row["player_id"]


def lost_technically(played):
    return sum(row["technical_losses"] for row in played["final_standings"])


def test_a_file_a_url_and_a_strategy_play_a_league_among_themselves(tmp_path):
    (tmp_path / "alpha.py").write_text(TEN_LINES)

    with listening_agent() as (url, _):
        players = ("--player", "./alpha.py", "--player", url, "--player", "random")
        played = demo(*players, cwd=tmp_path)

    address = url.removeprefix("http://").removesuffix("/mcp")
    assert names(played) == ["Agent Alpha", address, "random"]
    assert [row["played"] for row in played["final_standings"]] == [2, 2, 2]
    assert lost_technically(played) == 0


def test_a_single_player_meets_three_built_in_ones(tmp_path):
    (tmp_path / "mine.py").write_text(FUNCTION)

    played = demo("--player", "mine.py", cwd=tmp_path)

    assert names(played) == ["mine", "Alpha (random)", "Beta (alternating)", "Gamma (random)"]


@pytest.mark.parametrize("players", [6, 21])  # in one process, and in several
def test_built_in_players_fill_up(tmp_path, players):
    (tmp_path / "mine.py").write_text(FUNCTION)

    given = ("--player", "mine.py", "--player", "fixed", "--players", players)
    played = demo(*given, "--game", "tic_tac_toe", cwd=tmp_path)

    assert played["players"] == players
    assert names(played)[:3] == ["mine", "fixed", "Alpha (random)"]
    assert lost_technically(played) == 0


def test_players_with_the_same_name_are_told_apart(tmp_path):
    (tmp_path / "mine.py").write_text(TEN_LINES)

    same = ("mine.py", "mine.py", "fixed", "fixed")
    played = demo(*(word for each in same for word in ("--player", each)), cwd=tmp_path)

    assert names(played) == ["Agent Alpha", "Agent Alpha (P02)", "fixed", "fixed-4"]


def test_the_same_seed_gives_the_same_table_with_a_file_in_it(tmp_path):
    (tmp_path / "mine.py").write_text(FUNCTION)

    given = ("--player", "mine.py", "--players", 6, "--seed", "7")
    first, second = (demo(*given, cwd=tmp_path) for _ in range(2))

    assert first["final_standings"] == second["final_standings"]


def test_a_player_that_lost_without_a_game_is_named_with_what_to_type_to_see_why(tmp_path):
    (tmp_path / "wrong.py").write_text("def choose(turn):\n    return 'Even'\n")
    wrong = ("--player", tmp_path / "wrong.py", "--player", "random")

    done = league("demo", *wrong, "--dir", tmp_path / "cup")

    assert "wrong lost 1 of its matches without a game; see why with:" in done.stderr
    command = done.stderr.splitlines()[-1].split()[1:]
    assert command == ["agent", "P01", "--dir", str(tmp_path / "cup")]
    assert '"Even", an illegal move' in league(*command).stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--player", "3"), "a file, a URL or a strategy. Did you mean --players 3?"),
        (
            ("--player", "random", "--player", "fixed", "--player", "fixed", "--players", "2"),
            "--player is given 3 times, --players says 2; give --players 3 or more, or leave",
        ),
    ],
)
def test_numbers_that_do_not_fit_are_refused_before_anything_is_played(arguments, complaint):
    done = league("demo", *arguments, check=False)

    assert done.returncode == 2
    assert complaint in done.stderr
