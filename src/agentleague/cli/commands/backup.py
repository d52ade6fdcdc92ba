"""`league backup`: a league as one file, also while it runs."""

import os
import shlex
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from agentleague.cli.directory import place_and_file
from agentleague.cli.output import how_far, say, shown
from agentleague.records.reading import no_league, open_league
from agentleague.runtime.clock import wall
from agentleague.storage import chain
from agentleague.storage.backup_file import Manifest, pack
from agentleague.storage.copying import copy_league
from agentleague.storage.directory import JournalPlace, has_journal
from agentleague.storage.durable import sync_directory

SECRETS = "IT CONTAINS THE LEAGUE'S SECRETS. Only you can read it; keep it so."
NO_SECRETS = "It contains no secrets, as none are there: it can be looked at, but not gone on with."


@click.command()
@place_and_file("DIR", "FILE")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
def command(directory: JournalPlace, file: Path, force: bool) -> None:
    """Write a league to one file: its journal, its secrets and its settings. The league may run;
    the file holds all that was decided when the command began.

    IT CONTAINS THE LEAGUE'S SECRETS: whoever has the file can foretell draws and speak as the
    league's manager. Only you can read it; keep it so. What agents keep is theirs, and not in it.

    league backup ./league ./league.zip
    league backup ./league /backups/league-monday.zip --force
    league backup --journal postgresql://league@db/leagues#league_2026_k3x9mp ./league.zip
    """
    if not has_journal(directory):
        raise click.UsageError(no_league(directory))
    _check(file, force)
    with TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as beside:
        copy, packed = Path(beside, "league"), Path(beside, "packed")
        copy_league(directory, copy)
        league, rows = open_league(copy)  # What cannot be read would be no backup.
        last = rows[-1]
        has_secrets = (copy / "secret.key").exists()
        manifest = Manifest(
            agentleague=version("agentleague"),
            league_id=last.league_id,
            rows=last.seq,
            hash=last.hash.hex(),
            written_at=chain.moment(wall()),
            has_secrets=has_secrets,
        )
        pack(copy, manifest, packed)
        _check(file, force)
        os.replace(packed, file)
        sync_directory(file.parent)
    size = f"{file.stat().st_size:,} bytes"
    print(shown(f"{file} ({size}) holds {how_far(league)}."))
    say(SECRETS if has_secrets else NO_SECRETS)
    say(f"Try it with: league restore {shlex.quote(str(file))} NEW")


def _check(file: Path, force: bool) -> None:
    if not file.parent.is_dir():  # A disk that is not mounted is not written beside.
        raise click.UsageError(f"there is no directory {file.parent}; make it first")
    if file.is_dir():
        raise click.UsageError(f"{file} is a directory; name a file in it")
    if file.exists() and not force:
        raise click.UsageError(
            f"{file} is there already; name another, or replace it with: --force"
        )
