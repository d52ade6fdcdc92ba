"""The reference page of the settings, made from the dataclasses of the roles and the service."""

from itertools import groupby

from agentleague.roles.settings import (
    ManagerSettings,
    PlayerSettings,
    RefereeSettings,
    ServiceSettings,
)
from agentleague.runtime.settings import Setting, describe
from page_parts import GENERATED, code, page, table

ROLES = {
    "manager": ("league manager cup.toml", ManagerSettings),
    "referee": ("league referee --config referee.toml", RefereeSettings),
    "player": ("league player --config player.toml", PlayerSettings),
    "service": ("league serve service.toml", ServiceSettings),
}
ABOUT = """\
A setting can be given in three ways; a later one counts more:

1. in a TOML file, by its name: `move_seconds = 10.0`. `league init cup.toml` writes a file with
   every setting of a manager, `league init referee.toml --for referee` one for a referee.
2. in the environment, in capitals behind `LEAGUE_`: `LEAGUE_MOVE_SECONDS=10`. A variable that only
   another role knows is ignored.
3. as an option, with dashes: `--move-seconds 10`. What is true or false has a twin with `no`:
   `--no-unsigned-pushes`.

A list is written with commas in the environment and in an option. `game_options` is a table of the
file, and a JSON object elsewhere: `--game-options '{"best_of": 5}'`. An unknown name or a wrong
value is an error that says where it stands and what may have been meant.

The rules of a league (times, retries, points, the game) belong to its manager. They are written to
the journal when it begins and told to every referee; a league that has begun keeps them."""


def settings_page() -> str:
    """Every setting of every role: its name, what it takes, its default, what it is for."""
    return page("# Settings", GENERATED, ABOUT, *(_role(role) for role in ROLES))


def _role(role: str) -> str:
    use, cls = ROLES[role]
    groups = groupby(describe(cls), lambda row: row.heading)
    return page(
        f"## Settings of a {role}",
        f"    {use}",
        *(page(f"### {_title(role, heading)}", _table(list(rows))) for heading, rows in groups),
    )


def _title(role: str, heading: str) -> str:
    """A heading of its own, for agents have the same groups."""
    return heading if role == "manager" else f"A {role}: {heading[0].lower()}{heading[1:]}"


def _table(rows: list[Setting]) -> str:
    return table(("name", "takes", "default", "what it is for"), map(_row, rows))


def _row(row: Setting) -> tuple[str, ...]:
    shorter = [name for name in row.options if name[2:].replace("-", "_") != row.name]
    return (
        " or ".join(map(code, (row.name, *shorter))),
        row.type,
        code(row.default) if row.default not in ("", '""', "{}", "[]") else "",
        row.sentence,
    )
