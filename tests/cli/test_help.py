"""Every --help, word by word."""

import subprocess
import sys
from functools import cache

import click
from click.testing import CliRunner

from agentleague.cli.app import COMMANDS, app
from cli import snapshot


def every_command():
    """The words of each command and sub-command."""
    context = click.Context(app)
    for name in ["", *COMMANDS]:
        yield name
        command = app.get_command(context, name) if name else None
        if isinstance(command, click.Group):
            yield from (f"{name} {sub}" for sub in command.list_commands(context))


@cache
def shown(words):
    done = CliRunner().invoke(app, [*words.split(), "--help"], terminal_width=80)
    assert done.exit_code == 0
    assert done.stderr == ""
    return done.stdout


WORDS = list(every_command())


def test_every_help_is_as_it_was_read_last():
    for words in WORDS:
        snapshot.check(f"help/{words.replace(' ', '-') or 'league'}", shown(words))


def test_there_is_no_snapshot_of_a_command_that_is_gone():
    assert snapshot.names("help") == {words.replace(" ", "-") or "league" for words in WORDS}


def test_help_begins_with_examples_that_call_this_very_command():
    for words in WORDS:
        usage, _, heading, example, *_ = shown(words).splitlines()

        assert usage.startswith(f"Usage: league {words}".rstrip())
        assert heading.strip() in ("Example:", "Examples:"), words
        assert example.strip().startswith(f"league {words}".rstrip())


def test_help_keeps_within_a_narrow_terminal_and_leaves_out_what_only_programmers_read():
    for words in WORDS:
        lines = shown(words).splitlines()

        text = " ".join(lines)
        for noise in ("INTEGER", "FLOAT", "<=", "DIRECTORY", " PATH ", "BOOLEAN"):
            assert noise not in text, words
        prose = [line for line in lines if not line.strip().startswith("league ")]
        assert max(map(len, prose)) <= 80, words


def test_every_command_can_be_told_to_be_quiet_and_to_show_tracebacks():
    for words in WORDS:
        assert "  -q, --quiet" in shown(words), words
        assert "  --debug" in shown(words), words


def test_the_list_of_commands_imports_nothing_slow():
    slow = ("rich", "uvloop", "sqlite3", "asyncio", "msgspec", "multiprocessing")
    program = (
        "import sys; from agentleague.cli import main; sys.argv = ['league', '--help']\n"
        "try: main()\n"
        f"finally: print(*[name for name in {slow} if name in sys.modules], file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert "Usage: league" in done.stdout
    assert done.stderr == "\n"
