"""The README keeps its promises: its commands run, its player plays, it stays short."""

import re

from commands import BIN, ROOT, SECONDS, first_line, free_port, league, started

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    ((?:make|\.venv).+)$", TEXT, re.MULTILINE)
SNIPPET = re.search(r"```python\n(.+?)```", TEXT, re.DOTALL).group(1)


def test_the_first_command_comes_before_the_hundredth_word_and_the_end_before_the_400th():
    assert len(TEXT.split("    make demo")[0].split()) < 100
    assert len(TEXT.split()) < 400


def test_the_player_has_ten_lines():
    assert len(SNIPPET.strip().splitlines()) <= 10


def test_the_demo_commands_run(tmp_path):
    demos = [command for command in COMMANDS if "league demo" in command]

    assert len(demos) == 2
    for command in demos:
        arguments = command.removeprefix(".venv/bin/league ").split()
        smaller = ["21" if word == "100" else word for word in arguments]
        done = league(*smaller, cwd=tmp_path)
        assert "Alpha" in done.stdout


def test_the_commands_and_the_player_of_the_readme_play_a_league(tmp_path):
    port = free_port()  # The README uses 8000, where somebody may be playing.
    url = f"http://127.0.0.1:{port}/mcp"
    (tmp_path / "alpha.py").write_text(SNIPPET.replace("run()", f"run({url!r})"))
    manager, referee, player, alpha = COMMANDS[-4:]
    assert alpha == ".venv/bin/python alpha.py"
    running = []
    for command, more in (
        (manager, f"--port {port} --exit"),
        (referee, f"--manager {url}"),
        (player, f"--manager {url}"),
        (alpha, ""),
    ):
        program, *words = f"{command} {more}".split()
        running.append(started(BIN / program.removeprefix(".venv/bin/"), *words, cwd=tmp_path))
        first_line(running[-1])

    outputs = [process.communicate(timeout=SECONDS) for process in running]

    assert [process.returncode for process in running] == [0, 0, 0, 0], outputs
    assert "Agent Alpha" in outputs[0][0]
    assert "Agent Alpha" in league("standings", "--dir", "league", cwd=tmp_path).stdout
