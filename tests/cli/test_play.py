"""`league play`: two agents of any kind meet, and the match is told."""

import json
import os
import signal
import socket

import pytest

from agentleague.cli.commands.play import compared, elo, score_of, wilson
from agentleague.cli.player_files import check_game, load_player
from agentleague.errors import LeagueError
from agentleague.league.standings import Table
from cli import in_process
from cli.agent_files import FUNCTION, TEN_LINES, listening_agent
from commands import BIN, SECONDS, free_port, league, started


def play(*arguments, cwd=None):
    """Of several matches only the score is printed, unless --all is given."""
    return json.loads(league("play", *arguments, "--json", cwd=cwd).stdout)


def lost_technically(played):
    return {row["display_name"]: row["technical_losses"] for row in played["players"]}


def test_a_match_of_two_strategies_is_told_with_who_won():
    lines = league("play", "fixed", "alternating", "--game", "tic_tac_toe").stdout.splitlines()

    assert lines[0] == "R1M1 of round 1, tic_tac_toe: fixed (P01) against alternating (P02)."
    assert any("fixed (P01)  GAME_MOVE_CALL: 0, ok" in line for line in lines)
    assert lines[-3].startswith("fixed (P01) won: ")
    assert lines[-1] == "fixed wins."


def test_boards_are_shown_turn_by_turn_if_wanted_and_else_the_last_one():
    told = league("play", "fixed", "alternating", "--game", "tic_tac_toe").stdout
    shown = league("play", "fixed", "alternating", "--matches", 2, "--show").stdout

    assert told.count("---+---+---") == 2
    assert shown.count("\nStart\n  A         ?\n") == 2
    assert shown.count("\nTurn 1  ") == 2
    assert "GAME_INVITATION" not in shown


def test_several_matches_are_told_one_after_another_if_wanted_and_then_the_score():
    played = play("random", "fixed", "--matches", 5, "--seed", "7", "--all")
    told = league("play", "random", "fixed", "--matches", 5, "--seed", "7", "-v").stdout

    wins = sorted((row["wins"] for row in played["players"]), reverse=True)
    assert [match["match_id"] for match in played["matches"]] == [f"R{n}M1" for n in range(1, 6)]
    assert [line[:4] for line in told.splitlines() if " against " in line] == [
        match["match_id"] for match in played["matches"]
    ]
    assert f" wins: {wins[0]} to {wins[1]} in 5 matches" in told


def test_of_several_matches_the_score_is_shown_and_what_it_says():
    done = league(
        "play", "random", "fixed", "--game", "tic_tac_toe", "--matches", 40, "--seed", "7"
    )
    played = play("random", "fixed", "--game", "tic_tac_toe", "--matches", 40, "--seed", "7")

    score, (own, _) = played["score"], played["players"]
    assert score["points"] == own["wins"] + own["draws"] / 2
    assert score["share"] == score["points"] / 40
    assert score["interval"] == list(wilson(score["share"], 40))
    assert [score["elo"], *score["elo_interval"]] == [
        elo(share) for share in (score["share"], *score["interval"])
    ]
    assert "matches" not in played
    assert len(done.stdout.splitlines()) == 4
    assert done.stdout.splitlines()[1:] == compared("random", score)
    assert "See a line for each match with: --all" in done.stderr


COMPARED = [
    ((9, 0, 1), "% to 98.2 %: mine is better", "Elo difference: +382, +67 to +696"),
    ((1, 0, 9), "1.8 % to 40.4 %: mine is weaker", "-382, -696 to -67"),
    ((4, 2, 4), "which one is better, these matches do not show", "+0, -204 to +204"),
    ((10, 0, 0), "72.2 % to 100.0 %", "more than +166: a score of 100 % has no finite one"),
    ((0, 0, 10), "0.0 % to 27.8 %", "less than -166: a score of 0 % has no finite one"),
]


def test_a_score_says_who_is_better_only_where_its_interval_does():
    for (wins, draws, losses), interval, difference in COMPARED:
        table = Table({"P01": "mine", "P02": "other"})
        for winner, times in (("P01", wins), (None, draws), ("P02", losses)):
            for _ in range(times):
                table.count("P01", "P02", winner=winner, technical=False)

        _, second, third = compared("mine", score_of(table.rows()))

        assert interval in second
        assert difference in third


def test_matches_that_both_lost_count_half_for_each():
    table = Table({"P01": "mine", "P02": "other"})
    table.count("P01", "P02", winner=None, technical=True)

    assert score_of(table.rows())["share"] == 0.5


def test_where_no_match_counts_there_is_no_score():
    with pytest.raises(LeagueError, match="no match counts"):
        score_of(Table({"P01": "mine", "P02": "other"}).rows())


def test_the_journal_is_kept_if_wanted_and_can_be_verified(tmp_path):
    done = league("play", "random", "fixed", "--matches", 3, "--dir", tmp_path / "kept")
    again = league("play", "random", "fixed", "--dir", tmp_path / "kept", check=False)

    assert f"league verify --dir {tmp_path / 'kept'}" in done.stderr
    assert "3 of 3 matches are decided" in league("verify", tmp_path / "kept").stdout
    assert again.returncode == 1
    assert "holds a league already" in again.stderr


def test_all_matches_are_a_table_with_a_line_for_each_if_wanted():
    done = league("play", "random", "fixed", "--matches", 12, "--seed", "7", "--all")

    title, _, heading, _, *rows, _, score, _, _, _ = done.stdout.splitlines()
    assert title == "even_odd: random (P01) against fixed (P02)"
    assert heading.split() == ["Match", "First", "Winner", "Why"]
    assert [row.split()[:2] for row in rows] == [
        [f"R{n}M1", f"P0{1 + (n + 1) % 2}"] for n in range(1, 13)
    ]
    assert "in 12 matches" in score


def test_a_player_that_lost_by_silence_is_told_what_a_league_would_have_granted(tmp_path):
    (tmp_path / "wrong.py").write_text("def choose(turn):\n    return 'Even'\n")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # It accepts, and never answers.
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        done = league("play", "random", url, "--move-seconds", "0.5")

    wrong = league("play", "random", "wrong.py", cwd=tmp_path)

    assert "at most 2 times, and a move had 0.5 s; a league calls 4 times" in done.stderr
    assert "and a move has 30 s" in done.stderr
    assert "made an illegal move" in wrong.stdout
    assert "a league calls" not in wrong.stderr


def test_matches_without_a_game_are_counted_and_give_no_elo(tmp_path):
    (tmp_path / "wrong.py").write_text("def choose(turn):\n    return 'Even'\n")
    (tmp_path / "once.py").write_text(
        "def choose(turn):\n    return 'even' if turn.match_id == 'R1M1' else 'Even'\n"
    )

    never = league("play", "wrong.py", "random", "--matches", 3, cwd=tmp_path).stdout
    once = league("play", "once.py", "random", "--matches", 3, cwd=tmp_path).stdout
    score = play("wrong.py", "random", "--matches", 3, cwd=tmp_path)["score"]

    assert never.splitlines() == [
        "random wins: 3 to 0 in 3 matches.",
        "  3 were lost without a game; that says nothing of how well they play. "
        "In R1M1 wrong made an illegal move.",
    ]
    assert "  2 were lost without a game. In R2M1 once made an illegal move.\n" in once
    assert "Elo difference" in once
    assert (score["without_game"], score["elo"], score["elo_interval"]) == (3, None, [None, None])


def test_seats_change_from_match_to_match():
    played = play("fixed", "fixed", "--matches", 2, "--all")

    assert [match["player_A_name"] for match in played["matches"]] == ["fixed", "fixed-2"]


def test_a_match_that_nobody_wins_says_so():
    played = play("fixed", "fixed")

    assert played["winner"] is None
    assert league("play", "fixed", "fixed").stdout.splitlines()[-1] == "Nobody wins."


def test_the_same_seed_gives_the_same_matches(tmp_path):
    (tmp_path / "mine.py").write_text(FUNCTION)

    first, second = (
        play("mine.py", "random", "--matches", 8, "--seed", "7", "--all", cwd=tmp_path)
        for _ in range(2)
    )

    assert first["players"] == second["players"]
    moves = [[match["draw"] for match in played["matches"]] for played in (first, second)]
    assert moves[0] == moves[1]


def test_a_file_plays_under_its_players_name_although_it_ends_with_run(tmp_path):
    (tmp_path / "alpha.py").write_text(TEN_LINES)

    played = play("./alpha.py", "random", cwd=tmp_path)

    assert lost_technically(played) == {"Agent Alpha": 0, "random": 0}


@pytest.mark.parametrize("game", ["even_odd", "rock_paper_scissors", "tic_tac_toe"])
def test_a_file_with_a_mere_function_plays_any_game_under_the_files_name(tmp_path, game):
    (tmp_path / "mine.py").write_text(FUNCTION)

    played = play("mine.py", "random", "--game", game, cwd=tmp_path)

    assert played["game_type"] == game
    assert lost_technically(played) == {"mine": 0, "random": 0}


def test_a_file_imports_from_its_own_folder_and_not_from_another_players(tmp_path):
    for folder, move in (("one", "even"), ("two", "odd")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "moves.py").write_text(f"MOVE = {move!r}\n")
        (tmp_path / folder / f"{folder}.py").write_text(
            "from moves import MOVE\ndef choose(turn):\n    return MOVE\n"
        )

    played = play("one/one.py", "two/two.py", cwd=tmp_path)

    assert played["matches"][0]["result"]["choices"] == {"P01": "even", "P02": "odd"}


def test_what_a_file_prints_is_talk_and_its_hooks_are_called(tmp_path):
    (tmp_path / "mine.py").write_text(
        TEN_LINES.replace("player.run()", "print('loaded')").replace("def", "async def")
        + "@player.on_result\ndef heard(result):\n    print('heard of', result['match_id'])\n"
    )

    done = league("play", "mine.py", "random", "--json", cwd=tmp_path)

    assert lost_technically(json.loads(done.stdout)) == {"Agent Alpha": 0, "random": 0}
    assert "loaded\n" in done.stderr
    assert "heard of R1M1\n" in done.stderr


def test_an_agent_at_a_url_is_added_by_the_organiser():
    with listening_agent() as (url, asked):
        played = play(url, "random")

    name = url.removeprefix("http://").removesuffix("/mcp")
    assert lost_technically(played) == {name: 0, "random": 0}
    assert asked[:3] == ["notify_round", "handle_game_invitation", "parity_choose"]
    assert asked[-1] == "notify_league_completed"


def test_an_agent_at_a_url_can_play_itself():
    with listening_agent() as (url, _):
        played = play(url, url)

    assert played["matches"][0]["result"]["choices"] == {"P01": "even", "P02": "even"}


def test_what_follows_the_path_of_a_url_is_never_told():
    with listening_agent() as (url, _):
        told = league("play", f"{url}?key=sesame", "random")

    name = url.removeprefix("http://").removesuffix("/mcp")
    assert "sesame" not in told.stdout + told.stderr
    assert (
        f"{name}: It plays even_odd, and understands: tool names of the documents." in told.stderr
    )


def test_where_nobody_listens_there_is_no_match_and_the_error_says_what_to_do():
    port = free_port()

    for command in ("play random", "demo --player random --player"):
        done = league(*command.split(), f"http://127.0.0.1:{port}/mcp", check=False)

        assert done.returncode == 1
        assert done.stderr == (
            f"Error: 127.0.0.1:{port}: the connection was refused: nobody listens there; start the "
            "agent first, in a terminal of its own\n"
        )


@pytest.mark.parametrize(
    ("body", "why", "shown"),
    [
        ("return turn.nothing", "lost without a game", "AttributeError: 'Turn' object has no attr"),
        ("return 'Even'", "made an illegal move", "returned 'Even' in R1M1; legal: 'even', 'odd'"),
        (
            "import os; os._exit(3)",
            "mine (P01) should go on running until the league is over",
            "mine.py: its process ended with exit code 3. It loses all matches that are left.",
        ),
        ("import time; time.sleep(600)", "failed to respond within timeout", ""),
    ],
)
def test_a_function_that_fails_loses_the_match_and_not_the_league(tmp_path, body, why, shown):
    (tmp_path / "mine.py").write_text(f"def choose(turn):\n    {body}\n")

    done = league("play", "mine.py", "random", "--move-seconds", "0.5", cwd=tmp_path)

    assert why in done.stdout
    assert shown in done.stderr
    assert done.stdout.splitlines()[-1] == "random wins."


def test_what_a_function_raises_is_said_in_a_line_and_shown_if_wanted(tmp_path):
    (tmp_path / "mine.py").write_text("def choose(turn):\n    return 1 / 0\n")

    done = league("play", "mine.py", "random", cwd=tmp_path)
    in_full = league("play", "mine.py", "random", "-v", cwd=tmp_path)

    what = "mine: choose raised ZeroDivisionError: division by zero, at mine.py line 2"
    assert done.stderr == f"{what}, in R1M1\n{what}, 2 more times\n"
    assert "lost without a game (technical loss): no move was sent, only null" in done.stdout
    assert in_full.stderr.count("Traceback") == 1
    assert "agentleague" not in in_full.stderr


NO_PLAYERS = [
    ("", "mine.py has neither `player = Player(...)` nor a function `choose(turn)`; write"),
    ("choose = 7", "mine.py has neither `player = Player(...)` nor a function `choose(turn)`"),
    ("def choose(turn)\n", "mine.py cannot be loaded: SyntaxError: expected ':'"),
    ("\nimport nowhere\n", "ModuleNotFoundError: No module named 'nowhere' (line 2)"),
    ("\n\nimport sys; sys.exit(4)", "mine.py cannot be loaded: SystemExit: 4 (line 3)"),
    (
        TEN_LINES.replace('@player.plays("even_odd")', ""),
        'mine.py: put @player.plays("even_odd") above the function that moves',
    ),
    (
        TEN_LINES.replace("even_odd", "chess"),
        'mine.py plays chess, and there is no such game; did you mean @player.plays("even_odd")?',
    ),
    (
        TEN_LINES.replace("even_odd", "tic_tac_toe"),
        'mine.py plays tic_tac_toe, not even_odd; put @player.plays("even_odd") above a '
        "function in it, or say: --game tic_tac_toe",
    ),
]


def test_a_file_that_holds_no_player_is_refused_with_what_is_wrong(tmp_path):
    path = tmp_path / "mine.py"
    for text, complaint in NO_PLAYERS:
        path.write_text(text)

        with pytest.raises(LeagueError) as refused:
            check_game(load_player(path, lambda: ["even_odd"]), "even_odd", path)

        assert complaint in str(refused.value)


def test_a_league_with_a_file_that_holds_no_player_does_not_begin(tmp_path):
    (tmp_path / "mine.py").write_text("choose = 7")

    for command in ("play mine.py random", "demo --player mine.py"):
        done = league(*command.split(), cwd=tmp_path, check=False)

        assert done.returncode == 1
        assert "mine.py has neither `player = Player(...)` nor a function" in done.stderr
        assert "Traceback" not in done.stderr


NO_AGENTS = [
    ("nowhere.py", "there is no file nowhere.py; write a player to begin with: league new"),
    ("rndom", "no strategy 'rndom' is installed; did you mean random? There are alternating,"),
    ("rndom", "a file that ends with .py, or a URL such as http://127.0.0.1:8101/mcp"),
    ("ftp://127.0.0.1/mcp", "does not begin with http:// or https://"),
    ("http://192.0.2.1:8101/mcp", "lies where this league does not call"),
]


def test_what_is_no_agent_is_refused_with_what_there_is(tmp_path):
    for agent, complaint in NO_AGENTS:
        done = in_process.league("play", "random", agent, cwd=tmp_path, check=False)

        assert done.returncode == 1
        assert complaint in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")
def test_ctrl_c_ends_it_and_leaves_no_process_behind(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import os, sys, time\n"
        "def choose(turn):\n"
        "    print(os.getpid(), file=sys.stderr, flush=True)\n"
        "    time.sleep(600)\n"
    )
    command = ("play", "mine.py", "random", "--move-seconds", 600)
    process = started(BIN / "league", *command, cwd=tmp_path)
    author = int(process.stderr.readline())

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SECONDS)

    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(author, 0)


def test_a_file_ends_with_the_league_even_if_that_is_killed(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import sys, time\n"
        "def choose(turn):\n"
        "    print('thinking', file=sys.stderr, flush=True)\n"
        "    time.sleep(600)\n"
    )
    command = ("play", "mine.py", "random", "--move-seconds", 600)
    process = started(BIN / "league", *command, cwd=tmp_path)
    assert process.stderr.readline() == "thinking\n"

    process.kill()

    process.communicate(timeout=SECONDS)  # Not before everybody has let go of stderr.


def test_help_begins_with_an_example_and_says_what_an_agent_is():
    lines = league("play", "--help").stdout.splitlines()

    assert lines[0].startswith("Usage: league play")
    assert lines[2].strip() == "Examples:"
    assert "`choose(turn)`" in " ".join(lines)
