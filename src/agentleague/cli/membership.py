"""The options of `referee` and `player` by which a league knows them: join code and state."""

from pathlib import Path

import click

join_code_option = click.option(
    "--join-code",
    envvar="LEAGUE_JOIN_CODE",
    default="",
    help="What the organiser told those who may register, if anything.",
)
state_option = click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where its token is kept for the next run; in the user's state directory unless given.",
)
