"""Whether a directory is free for a new league: it does not spread its files among others."""

from pathlib import Path

import click

from agentleague.storage.directory import FILE_NAME

OURS = (FILE_NAME, "secret.key", "admin.token", "manager.lock", "log")
SETTINGS = ".toml"  # A league may lie beside its settings.
SHOWN_MAX = 3


def check_room(directory: Path) -> None:
    """Raises UsageError if the directory holds other things and no league."""
    if not directory.is_dir() or (directory / FILE_NAME).exists():
        return
    others = sorted(path.name for path in directory.iterdir() if not _may_be_there(path.name))
    if others:
        more = ", ..." if len(others) > SHOWN_MAX else ""
        raise click.UsageError(
            f"--dir {directory} holds other things and no league "
            f"({', '.join(others[:SHOWN_MAX])}{more}); name a new directory, or an empty one"
        )


def _may_be_there(name: str) -> bool:
    return name.startswith((".", *OURS)) or name.endswith(SETTINGS)
