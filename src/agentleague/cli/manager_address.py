"""Where the manager of a directory is, and whether it is there: its lock says both."""

import shlex
from pathlib import Path


def dir_option(directory: Path) -> str:
    """--dir as it is typed."""
    return f"--dir {shlex.quote(str(directory))}"


def none_runs(directory: Path) -> str:
    """What to say where no manager runs, and how to start it."""
    return f"no manager runs in {directory}; start it with: {_command(directory)}"


def _command(directory: Path) -> str:
    """How the manager was begun: another command may mean other rules, or no join code."""
    from agentleague.storage.lock import command_in

    return command_in(directory) or f"league manager {dir_option(directory)}"


def address_of(directory: Path) -> str | None:
    """Where the manager of this directory is called from this machine, if one runs.

    Its lock tells: what only stands in a file may be another program's address by now.
    """
    from agentleague.storage.lock import address_in, is_held

    return address_in(directory) if is_held(directory) else None
