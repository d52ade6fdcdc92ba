"""The README keeps its promises: its commands run, its player plays, it stays short."""

import re

from commands import BIN, ROOT, SECONDS, first_line, league, started

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
    (tmp_path / "alpha.py").write_text(SNIPPET)
    manager, referee, player, alpha = [c for c in COMMANDS if "demo" not in c and "make" not in c][
        :4
    ]
    assert alpha == ".venv/bin/python alpha.py"
    running = []
    for command in (manager, referee, player, alpha):
        words = command.split()
        words[0] = str(BIN / words[0].removeprefix(".venv/bin/"))
        words[1:] = [*words[1:], "--exit"] if "manager" in command else words[1:]
        running.append(started(*words, cwd=tmp_path))
        first_line(running[-1])

    outputs = [process.communicate(timeout=SECONDS) for process in running]

    assert [process.returncode for process in running] == [0, 0, 0, 0], outputs
    assert "Agent Alpha" in outputs[0][0]
    assert "Agent Alpha" in league("standings", "--dir", "league", cwd=tmp_path).stdout
