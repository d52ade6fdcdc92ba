"""Tab, in real shells."""

import shutil
import subprocess

import pytest

from cli.in_process import league
from commands import BIN, SECONDS, environment

ASK = """
source <('{league}' completion bash)
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=()
_league_completion '{league}'
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")


def completed(words, cwd):
    """What bash offers after these words; the last is the one that is being typed."""
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK.format(league=BIN / "league", words=words)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=cwd,
        env=environment(),
    )
    assert "Traceback" not in done.stderr
    return done.stdout.split()


COMPLETED = [
    ("league sta", ["start", "status", "standings"]),
    ("league new ''", ["game", "player"]),
    ("league demo --pl", ["--players", "--player"]),
    ("league -q demo --refe", ["--referees"]),
    ("league demo --game t", ["tic_tac_toe"]),
    ("league demo --game m", ["mine.py"]),
    ("league play ./mine.py pa", ["pattern"]),
    ("league play m", ["mine.py"]),
    ("league player --strategy fr", ["frequency"]),
    ("league agents --kind ''", ["player", "referee"]),
    ("league manager --network ''", ["local", "lan"]),
    ("league manager --unique-names r", ["reject"]),
    ("league schema GAME_I", ["GAME_INVITATION"]),
    ("league completion ''", ["bash", "zsh", "fish"]),
    ("league nonsense --q", ["--quiet"]),
    ("league --versi", ["--version"]),
]


def test_commands_options_and_values_are_completed(tmp_path):
    (tmp_path / "mine.py").touch()
    (tmp_path / "notes.txt").touch()

    for words, found in COMPLETED:
        typed = words.replace("''", "").split(" ")
        asked = {"COMP_WORDS": " ".join(typed), "COMP_CWORD": str(len(typed) - 1)}
        answer = league(cwd=tmp_path, _LEAGUE_COMPLETE="bash_complete", **asked).stdout

        assert [line.partition(",")[2] for line in answer.split()] == found, words


@needs_bash
def test_bash_shows_what_is_completed(tmp_path):
    (tmp_path / "mine.py").touch()

    assert completed("league sta", tmp_path) == ["start", "status", "standings"]
    assert completed("league play m", tmp_path) == ["mine.py"]


@needs_bash
def test_bash_leaves_it_to_itself_to_find_a_file_elsewhere(tmp_path):
    script = ASK.replace("COMPREPLY=()\n", 'COMPREPLY=()\ncompopt() {{ echo asked for "$@"; }}\n')
    words = "league play ../elsewhere/"
    done = subprocess.run(
        ["bash", "--norc", "-c", script.format(league=BIN / "league", words=words)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=tmp_path,
        env=environment(),
    )

    assert done.stdout.strip() == "asked for -o default"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_can_read_its_script(shell):
    script = league("completion", shell).stdout

    assert "_LEAGUE_COMPLETE" in script
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell} to read it")
    subprocess.run([shell, "-n"], input=script, text=True, check=True, timeout=SECONDS)


def test_the_script_alone_goes_to_stdout():
    assert league("completion", "bash").stderr == ""


def test_help_says_where_the_script_goes():
    shown = league("completion", "--help").stdout

    for place in ("~/.bashrc", "~/.zshrc", "~/.config/fish/completions/league.fish"):
        assert place in shown


@needs_bash
def test_where_the_command_is_not_on_the_path_bash_says_nothing(tmp_path):
    script = tmp_path / "script"
    script.write_text(league("completion", "bash").stdout)
    ask = f". {script}; COMP_WORDS=(league sta); COMP_CWORD=1; _league_completion no-league-here"

    done = subprocess.run(
        ["bash", "--norc", "-c", ask], capture_output=True, text=True, timeout=SECONDS
    )

    assert (done.stdout, done.stderr) == ("", "")
