"""Run `league` in this process: much faster, for tests about what it prints."""

import os
from contextlib import chdir
from types import SimpleNamespace

from click.testing import CliRunner

from agentleague.cli.app import app

STATE = "LEAGUE_STATE"  # Tests must not write to the home of the person who runs them.


def league(*arguments, cwd=".", check=True, **environment):
    """One command from start to end, as `commands.league` runs it in a process."""
    unset = {name: None for name in os.environ if name[:7] == "LEAGUE_" and name != STATE}
    runner = CliRunner(env={**unset, "NO_COLOR": "1", "COLUMNS": "80", **environment})
    with chdir(cwd):
        done = runner.invoke(app, list(map(str, arguments)))
    if check:
        assert done.exit_code == 0, done.stderr
    return SimpleNamespace(returncode=done.exit_code, stdout=done.stdout, stderr=done.stderr)
