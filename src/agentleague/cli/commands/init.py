"""`league init`: a file with every setting of a role, to change."""

import shlex
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from textwrap import fill

import click

from agentleague.cli.output import say
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.runtime.settings import Setting, describe
from agentleague.runtime.state_files import new_join_code

ROLES = {"manager": ManagerSettings, "referee": RefereeSettings, "player": PlayerSettings}
WIDTH = 96


@click.command()
@click.argument("file", metavar="FILE.toml", type=click.Path(path_type=Path))
@click.option(
    "--for",
    "role",
    type=click.Choice(list(ROLES)),
    default="manager",
    show_default=True,
    help="Whose settings.",
)
def command(file: Path, role: str) -> None:
    """Write a file with every setting, its default and what it is for.

    Every line begins with #: remove it from the lines that you change.

    league init cup.toml
    league manager cup.toml
    """
    if file.suffix != ".toml":
        raise click.UsageError(
            f"{file} does not end with .toml; say: league init {file.with_suffix('.toml')}"
        )
    option = "" if role == "manager" else "--config "
    use = f"league {role} {option}{shlex.quote(str(file))}"
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(page(role, use))
    except FileExistsError:
        raise click.ClickException(
            f"{file} exists already and is not changed; choose another name"
        ) from None
    say(f"{file} is written. Change it as you like, then start with:")
    say(f"  {use}")


def page(role: str, use: str) -> str:
    """The whole file."""
    about = (
        f"Settings of a {role}; start it with: {use}. The values shown are the defaults: to "
        "change one, remove its # and write another. The environment (LEAGUE_MOVE_SECONDS=10) "
        "overrides this file, an option (--move-seconds 10) overrides both."
    )
    if role != "manager":
        about = about.replace("MOVE_SECONDS", "PORT").replace("move-seconds", "port")
    blocks = [_comment(about)]
    tables: list[str] = []
    for heading, rows in groupby(describe(ROLES[role]), key=attrgetter("heading")):
        blocks.append(f"# ---- {heading} ----")
        for row in rows:
            (tables if row.type == "a table" else blocks).append(_block(row, role))
    return "\n\n".join([*blocks, *tables]) + "\n"


def _block(row: Setting, role: str) -> str:
    sentence = row.sentence
    if row.choices:
        sentence += f" Takes {row.type}."
    if row.type == "a table":
        return f"{_comment(sentence)}\n# [{row.name}]"
    if row.name in MADE and role == "manager":
        made = f'# {row.name} = "{new_join_code()}"'
        return f"{_comment(f'{sentence} Not set by default; made for this file alone:')}\n{made}"
    if not row.default:
        sentence += " Not set by default; for example:"
    return f"{_comment(sentence)}\n# {row.name} = {row.default or EXAMPLE_VALUES[row.name]}"


MADE = ("join_code", "referee_code")  # secrets that nobody should invent
# Shown for settings that have no default.
EXAMPLE_VALUES = {
    "players": "4",
    "start_after_seconds": "600.0",
    "network": '"lan"',
    "outbound": "true",
    "tokenless_referees": "false",
    "referee_access": '"code"',
}


def _comment(text: str) -> str:
    return fill(text, WIDTH, initial_indent="# ", subsequent_indent="# ")
