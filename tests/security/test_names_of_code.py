"""Data never names code: what a journal, a message or a lock file says is never loaded or run."""

import ast
import subprocess
import sys
from contextlib import chdir

import pytest

from agentleague.cli.app import COMMANDS
from agentleague.dashboard.league_view import LeagueView
from agentleague.errors import UnsupportedGame
from agentleague.league.events import LeagueOpened
from agentleague.runtime import plugins
from agentleague.storage.directory import open_reader
from cli.in_process import league
from records.journals import changed, played, written
from test_architecture import PACKAGE, modules

EVIL = "import pathlib\npathlib.Path(__file__).with_suffix('.ran').touch()\n"
# Every command that reads a league, as it is typed in the directory above it.
READING = [
    "agent P01 --dir cup",
    "agents --dir cup",
    "backup cup cup.zip",
    "export cup --out files",
    "manager --dir cup --port 0 --exit",
    "match R1M1 --dir cup",
    "ratings cup",
    "season spring --table",
    "report cup --out report.html",
    "bracket --dir cup",
    "schedule --dir cup",
    "standings --dir cup --statistics",
    "status --dir cup",
    "verify cup",
    "abort --dir cup --yes",
    "add-player Ann http://127.0.0.1:9/mcp --dir cup",
    "add-referee Ref http://127.0.0.1:9/mcp --dir cup",
    "approve REF01 --dir cup",
    "pause cup",
    "remove P01 --dir cup --yes",
    "rule R1M1 --draw --reason why --dir cup --yes",
    "repair cup --to saved",
    "seat Ann --dir cup",
    "set-endpoint P01 http://127.0.0.1:9/mcp --dir cup",
    "start cup",
    "watch cup",
    "move cup moved",
]
NOT_READING = {
    *(
        "bench",
        "check",
        "completion",
        "demo",
        "formats",
        "games",
        "init",
        "new",
        "play",
        "player",
        "referee",
    ),
    *("schema", "simulate", "strategies", "sweep"),
    *("leagues", "organiser", "serve"),  # A service: tests/service has its own.
    "restore",  # It copies rows, and reads none.
}
SERVING = {"dashboard"}  # It reads one until it is stopped: see below.


@pytest.fixture
def above(tmp_path):
    """A directory with a league, and with files that note that they ran."""
    (tmp_path / "cup").mkdir()
    (tmp_path / "cup" / "evil.py").write_text(EVIL)
    (tmp_path / "evil.py").write_text(EVIL)
    information = tmp_path / "evil-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[agentleague.games]\nplugin = evil\n")
    return tmp_path


def test_every_command_is_known_to_read_a_league_or_not():
    assert {line.split()[0] for line in READING} | NOT_READING | SERVING == set(COMMANDS)


@pytest.mark.parametrize(
    "name",
    [
        "cup/evil.py",
        "./evil.py",
        "{above}/evil.py",
        "evil",
        "plugin",
        "\x1b[31m$(touch {above}/x.ran)",
    ],
)
def test_no_command_runs_a_file_that_a_journal_names(above, name):
    """The journal is chained anew, as anybody can do."""
    events = changed(played(), LeagueOpened, game_type=name.format(above=above))
    written(above / "cup", events)
    (above / "cup" / "admin.token").write_text("x" * 43)

    for line in READING:
        done = league(*line.split(), cwd=above, check=False)
        assert "\x1b" not in done.stdout + done.stderr, line
        assert list(above.rglob("*.ran")) == [], line


@pytest.mark.parametrize("name", ["cup/evil.py", "./evil.py", "{above}/evil.py", "evil", "plugin"])
def test_pages_run_no_file_that_a_journal_names(above, name):
    written(above / "cup", changed(played(), LeagueOpened, game_type=name.format(above=above)))
    reader = open_reader(above / "cup")

    with chdir(above):
        view = LeagueView(reader)
        view.begin(*reader.leagues())
        for row in reader.read(view.league_id):
            view.take(row)

    assert view.league.decided_total
    assert view.game is None
    assert list(above.rglob("*.ran")) == []


@pytest.mark.process
def test_a_folder_in_which_it_is_called_installs_nothing(above):
    """`python -m` would find the plug-in there, and click.py before the real one."""
    (above / "click.py").write_text(EVIL)
    written(above / "cup", changed(played(), LeagueOpened, game_type="plugin"))

    done = subprocess.run(
        [sys.executable, "-m", "agentleague", "verify", "cup"],
        cwd=above,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "no game 'plugin' is installed" in done.stderr
    assert list(above.rglob("*.ran")) == []


def test_a_text_names_what_is_installed_and_only_a_path_is_run(above):
    (above / "evil.py").write_text("from agentleague.games.tic_tac_toe import *\n")

    with chdir(above), pytest.raises(UnsupportedGame, match=r"no game './evil.py' is installed"):
        plugins.find_game("./evil.py")
    with chdir(above):
        assert plugins.find_game(plugins.as_typed("./evil.py")).name == "tic_tac_toe"


def test_the_game_of_a_directory_is_run_only_if_its_user_names_its_file(above):
    written(above / "cup", changed(played(), LeagueOpened, game_type="mine")[:5])
    (above / "evil.py").write_text("open('run', 'w')\n")
    (above / "cup" / "manager.settings").write_text('game_type = "./evil.py"\n')

    told = league("manager", "--dir", "cup", cwd=above, check=False)

    assert told.returncode == 2
    assert (
        "game_type mine came from a file; name that again, with: league manager --dir cup --game "
        in (told.stderr)
    )
    assert not (above / "run").exists()


def test_what_a_directory_opens_that_its_user_did_not_type_is_said(above):
    written(above / "cup", played()[:5])  # Without its secrets: nothing is opened.
    (above / "cup" / "manager.settings").write_text(
        'bind = "127.0.0.2"\nnetwork = "lan"\nshared_dir = "/srv/\\u009bothers"\nport = 0\n'
        'unique_names = "off"\nreferee_access = "anyone"\nlan = ["10.0.0.0/8"]\n'
    )

    told = league("manager", "--dir", "cup", "--lan", "10.1.0.0/16", cwd=above, check=False)

    assert told.stderr.splitlines()[0] == (
        'As cup/manager.settings has it: bind = "127.0.0.2", network = "lan", '
        'referee_access = "anyone", shared_dir = "/srv/?others"'
    )


# What runs code, and the only files that may use it.
RUNNING = {
    "run_file": {"runtime/plugins.py", "cli/player_files.py"},
    "as_typed": {
        *("runtime/plugins.py", "sdk/offline.py", "cli/commands/demo.py", "cli/commands/games.py"),
        *("cli/commands/manager.py", "cli/commands/play.py", "cli/commands/player.py"),
        *("cli/commands/referee.py", "cli/commands/verify.py", "cli/commands/dashboard.py"),
    },
    "spec_from_file_location": {"runtime/plugins.py"},
    "module_from_spec": {"runtime/plugins.py"},
    "exec_module": {"runtime/plugins.py"},
    "import_module": {"__init__.py", "cli/app.py", "cli/options.py"},  # names that stand there
    # Whether a name that was typed is free, or an extra is installed.
    "find_spec": {"cli/commands/new.py", "dashboard/process.py", "sweeps/table.py"},
    # `league dashboard` with the directory and game that were typed; a worker of `league serve`.
    "create_subprocess_exec": {"dashboard/process.py", "service/processes.py"},
    # Of asyncio, for its types; and the command that was typed for `league check`.
    "subprocess": {"service/processes.py", "conformance/launch.py"},
    "system": {"bench/measure.py", "cli/bench_text.py"},  # the name of a field
}
NOBODY = {
    *("eval", "exec", "compile", "__import__", "runpy", "pickle", "marshal", "shelve", "yaml"),
    *("subprocess", "popen", "execv", "execve", "execvp", "spawnv", "startfile", "posix_spawn"),
    *("create_subprocess_exec", "create_subprocess_shell", "load_extension", "load_module"),
    *("enable_load_extension", "SourceFileLoader", "extend_path", "addsitedir"),
}


def test_only_these_files_run_code_that_is_not_their_own():
    """A new one must take what a person typed, and nothing that was read."""
    found = {name: set() for name in RUNNING.keys() | NOBODY}
    for path in [PACKAGE / "__init__.py", *(path for path, _ in modules())]:
        for name in words_of(path) & found.keys():
            found[name].add(path.relative_to(PACKAGE).as_posix())

    assert {name: files for name, files in found.items() if files} == RUNNING


def words_of(path):
    """The names and attributes that a file uses or imports."""
    words = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name):
            words.add(node.id)
        elif isinstance(node, ast.Attribute) and not _is_of_re(node):
            words.add(node.attr)
        elif isinstance(node, ast.FunctionDef):
            words.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            words.update(alias.name.split(".")[0] for alias in node.names)
            words.add((getattr(node, "module", None) or "").split(".")[0])
    return words


def _is_of_re(node):
    return isinstance(node.value, ast.Name) and node.value.id == "re"  # re.compile
