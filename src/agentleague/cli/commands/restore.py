"""`league restore`: a league from the file that `league backup` wrote."""

import shlex
from pathlib import Path

import click

from agentleague.cli.directory import check_new, place_and_file, start_command
from agentleague.cli.output import how_far, say, shown
from agentleague.errors import Damaged
from agentleague.records.reading import open_league
from agentleague.storage.backup_file import unpacked
from agentleague.storage.copying import copy_league
from agentleague.storage.directory import JournalPlace


@click.command()
@place_and_file("FILE", "DIR")
def command(file: Path, directory: JournalPlace) -> None:
    """Write the league of a backup to a directory, a new one or an empty one, or to a database.
    Every row is checked against the chain of its hashes, and nothing is written if one is wrong.

    A league must not run at two places at once. Agents that were told more than the backup holds
    prove it: then its manager stops, until you go on without what is lost: --accept-loss.

    league restore ./league.zip ./league-restored
    league restore ./league.zip --journal postgresql://league@db/leagues
    """
    check_new(directory)
    near = directory.resolve().parent if isinstance(directory, Path) else None
    if near:
        near.mkdir(parents=True, exist_ok=True)
    with unpacked(file, near) as (manifest, found):
        league, rows = open_league(found)
        if (manifest.rows, manifest.hash) != (len(rows), rows[-1].hash.hex()):
            said = f"it says row {manifest.rows}, and its journal ends with row {len(rows)}"
            raise Damaged(f"{file} is not as it was written: {said}")
        there = copy_league(found, directory)
    print(shown(f"{there} holds {how_far(league)}, as of {manifest.written_at}."))
    where = shlex.quote(str(there))
    say(f"Check it with: league verify {where}")
    if not manifest.has_secrets:
        say("No manager can go on with it: the backup has no secrets.")
        return
    start = start_command(there)
    say(
        f"Go on with: {start}\n"
        "First end the manager that this is a copy of, for good: a league must not run at two "
        "places at once.\n"
        "Agents that were told of later rows will stop the manager; go on without those rows with: "
        f"{start} --accept-loss"
    )
