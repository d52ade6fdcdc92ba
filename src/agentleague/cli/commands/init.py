"""`league init`: a file with every setting of a role, to change."""

import json
import shlex
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from textwrap import fill

import click

from agentleague.cli.options import Completed
from agentleague.cli.output import write_to_change
from agentleague.league.formats.stages import FOLLOWED_BY, FORMATS, find_known
from agentleague.protocol.timestamps import EXAMPLE
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
@click.option(
    "--format",
    "chosen",
    type=Completed(lambda: FORMATS),
    metavar="FORMAT",
    help="Choose a format and write its options; `league formats` lists them.",
)
def command(file: Path, role: str, chosen: str | None) -> None:
    """Write a file with every setting, its default and what it is for.

    Every line begins with #: remove it from the lines that you change.

    league init cup.toml
    league init cup.toml --format swiss
    league manager cup.toml
    """
    asked = _chosen(chosen, role)
    if file.suffix != ".toml":
        raise click.UsageError(
            f"{file} does not end with .toml; say: league init {file.with_suffix('.toml')}"
        )
    option = "" if role == "manager" else "--config "
    use = f"league {role} {option}{shlex.quote(str(file))}"
    write_to_change(file, page(role, use, asked), "start", use)


def _chosen(name: str | None, role: str) -> str | None:
    if name is not None and role != "manager":
        raise click.UsageError(f"--format is for managers; leave it out, or --for {role}")
    try:
        return name if name is None else find_known(name).name
    except ValueError as error:
        raise click.UsageError(f"--format: {error}") from None


def page(role: str, use: str, chosen: str | None = None) -> str:
    """The whole file; the format that was chosen stands in it with its options."""
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
            if chosen and row.name in OF_FORMAT:
                own = {"format": _format, "stages": _stages}.get(row.name)
                (tables if row.name == "stages" else blocks).extend(own(chosen) if own else ())
            else:
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


OF_FORMAT = ("format", "format_options", "stages")


def _format(chosen: str) -> Iterator[str]:
    """The format by its name, unless its stages are written below."""
    if chosen not in FOLLOWED_BY:
        yield f'{_comment(FORMATS[chosen].about)}\nformat = "{chosen}"'


def _stages(chosen: str) -> Iterator[str]:
    """All options of the format, one stage a table where another format follows it."""
    following = FOLLOWED_BY.get(chosen)
    if following is None:
        about = (
            f"Options of this format; the values shown are the defaults{_LIMIT.get(chosen, '')}."
        )
        yield f"{_comment(about)}\n[format_options]\n{_options(chosen)}"
        return
    yield _comment("The stages, one after the other. Add, change or remove some as you like.")
    for name in (chosen, following):
        yield f'{_comment(FORMATS[name].about)}\n[[stages]]\nformat = "{name}"\n{_options(name)}'


def _options(name: str) -> str:
    lines = []
    for option, (default, about, *_) in FORMATS[name].options.items():
        given = EXAMPLE_OPTIONS.get((name, option))
        choices = FORMATS[name].options[option].choices
        sentence = f"{about} One of: {', '.join(choices)}." if choices else about
        value = f"{option} = {json.dumps(default)}" if given is None else f"{option} = {given}"
        lines.append(f"{_comment(sentence)}\n{'' if given is not None else '# '}{value}")
    return "\n".join(lines)


_LIMIT = {"ladder": ", except for the limit, without which there is no ladder"}
EXAMPLE_OPTIONS = {("ladder", "rounds"): 20}  # Written although it is no default.
MADE = ("join_code", "referee_code")  # secrets that nobody should invent
# Shown for settings that have no default.
EXAMPLE_VALUES = {
    "players": "4",
    "start_after_seconds": "600.0",
    "start_at": f'"{EXAMPLE}"',
    "tie_breaks": '["head_to_head", "wins"]',
    "network": '"lan"',
    "outbound": "true",
    "tokenless_referees": "false",
    "referee_access": '"code"',
}


def _comment(text: str) -> str:
    return fill(text, WIDTH, initial_indent="# ", subsequent_indent="# ")
