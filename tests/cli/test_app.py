"""What all commands have in common: quiet, debug, version, and how errors end."""

import errno
from importlib.metadata import version

import click
import pytest
from click.testing import CliRunner

from agentleague.cli import app as app_module
from agentleague.cli.app import ALIASES, COMMANDS, app
from agentleague.cli.commands import games
from agentleague.cli.options import Number
from agentleague.errors import LeagueError
from commands import league


def typed(*words):
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def failing(monkeypatch):
    """Makes `league games` fail with this error."""

    def fail_with(error):
        def names():
            raise error

        monkeypatch.setattr(games.plugins, "game_names", names)

    return fail_with


def test_the_version_is_that_of_the_package():
    assert typed("--version").stdout == f"league, version {version('agentleague')}\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (LeagueError("it rains; take a coat"), "it rains; take a coat"),
        (click.ClickException("it snows"), "it snows"),
        (
            OSError(errno.ENOENT, "No such file or directory", "/x"),
            "/x: No such file or directory; check the path",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "/x"),
            "/x: Permission denied; you have no right to it; choose another place, or ask its "
            "owner",
        ),
        (OSError(errno.EADDRINUSE, "In use"), "In use; choose another port with --port"),
        (OSError("no port from 1 on is free"), "no port from 1 on is free"),
        (LeagueError("\x1b[2Jgone\x07"), "?[2Jgone?"),
    ],
)
def test_an_error_is_one_sentence_that_harms_no_terminal(error, said, failing):
    failing(error)

    done = typed("games")

    assert (done.exit_code, done.stdout, done.stderr) == (1, "", f"Error: {said}\n")


def test_an_error_that_nobody_foresaw_is_called_a_fault_of_the_program(failing):
    failing(KeyError("seat"))

    done = typed("games")

    assert done.exit_code == 1
    assert done.stderr == (
        "Error: this is a fault of the program, not of what you typed: KeyError: 'seat'. Type the "
        "same again with --debug, and report what it prints.\n"
    )


@pytest.mark.parametrize("error", [KeyError("seat"), LeagueError("x"), OSError("y")])
@pytest.mark.parametrize("words", [("games", "--debug"), ("--debug", "games")])
def test_debug_shows_where_any_error_came_from(error, words, failing):
    failing(error)

    done = typed(*words)

    assert done.exit_code == 1
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert "in names\n" in done.stderr
    assert "\nError: " in done.stderr


@pytest.mark.parametrize("words", [("-q", "demo"), ("demo", "--quiet"), ("demo", "-q")])
def test_quiet_leaves_the_result_alone(words, tmp_path):
    done = league(*words, "--dir", tmp_path / "cup")

    assert "final table" in done.stdout
    assert done.stderr == ""


def test_quiet_is_not_about_errors():
    done = typed("-q", "games", "-q", "--jsno")

    assert done.exit_code == 2
    assert "there is no option --jsno; did you mean --json?" in done.stderr


def test_quiet_holds_for_one_command_line_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quiet, loud = typed("new", "player", "two", "-q"), typed("new", "player", "one")

    assert "Play a match" in loud.stderr
    assert quiet.stderr == ""
    assert "two.py" in quiet.stdout


SUGGESTED = [("standing", "standings"), ("Demo", "demo"), ("mangaer", "manager"), *ALIASES.items()]


def test_the_nearest_command_is_suggested():
    for wrong, meant in SUGGESTED:
        done = typed(wrong)

        assert done.exit_code == 2
        assert f"there is no command {wrong!r}; did you mean: league {meant}?\n" in done.stderr


def test_what_is_suggested_is_there():
    options = {name for option in app.params for name in option.opts} | {"--help"}

    assert set(ALIASES.values()) <= {*COMMANDS, *options}
    assert not set(ALIASES) & set(COMMANDS)


BAD_NUMBERS = [
    (Number(int, 2, 5), "1", "must be a whole number from 2 to 5, not '1'"),
    (Number(int, 2, 5), "6", "must be a whole number from 2 to 5, not '6'"),
    (Number(int, 2), "1", "must be a whole number of 2 or more, not '1'"),
    (Number(int, 2), "2.5", "must be a whole number of 2 or more, not '2.5'"),
    (Number(float, 0.1, 3600), "nan", "must be a number from 0.1 to 3,600, not 'nan'"),
    (Number(float, 0.1), "x", "must be a number of 0.1 or more, not 'x'"),
]


def test_a_number_that_cannot_be_is_refused_in_words():
    for kind, value, complaint in BAD_NUMBERS:
        with pytest.raises(click.BadParameter) as refused:
            kind.convert(value, None, None)

        assert refused.value.message == complaint


@pytest.mark.parametrize(("kind", "value"), [(Number(int, 2, 5), "2"), (Number(int, 2, 5), "5")])
def test_a_number_at_its_bounds_is_taken(kind, value):
    assert kind.convert(value, None, None) == int(value)


def test_every_command_of_the_list_is_there_and_in_one_section_only():
    names = [name for section in app_module.SECTIONS.values() for name in section]

    assert len(names) == len(set(names)) == len(COMMANDS)
    for name in names:
        assert app.get_command(click.Context(app), name) is not None
