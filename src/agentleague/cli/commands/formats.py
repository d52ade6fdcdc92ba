"""`league formats`: the formats that a league may have."""

from typing import Any

import click

from agentleague.cli.output import Column, print_json, print_rows
from agentleague.league.formats.format import Format
from agentleague.league.formats.stages import FOLLOWED_BY, FORMATS, find_known

FITS = {  # for whom a format is
    "round_robin": "up to about 20 players, or time for n/2 matches each round, n - 1 rounds",
    "swiss": "any number of players in few rounds: 1,000 in 10",
    "knockout": "one winner, soon: 256 players in 8 rounds, more if draws are many; half play once",
    "groups": "20 to 200 players: everybody plays some matches, then a knockout decides",
    "ladder": "a given time or number of matches; players may come late",
}


@click.command()
@click.argument("name", metavar="[FORMAT]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str | None, as_json: bool) -> None:
    """List the formats: who meets whom, and for how many players each is. With FORMAT, list its
    options, which go into `format_options` or a table of `stages`.

    league formats
    league formats swiss
    league init cup.toml --format swiss
    """
    try:
        chosen = [find_known(name)] if name else [*FORMATS.values()]
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if as_json:
        print_json([described(each) for each in chosen])
    elif not name:
        rows = [{"name": each.name, "about": each.about, "for": FITS[each.name]} for each in chosen]
        columns = [
            Column("name", "Format", True),
            Column("about", "Who meets whom", True, True, True),
            Column("for", "For", True, True, True),
        ]
        print_rows(rows, columns, "Formats")
    else:
        rows = [
            {"name": option, **facts} for option, facts in described(chosen[0])["options"].items()
        ]
        columns = [
            Column("name", "Option", True),
            Column("default", "Default", True),
            Column("takes", "Takes", True, True, True),
            Column("about", "What for", True, True, True),
        ]
        print_rows(rows, columns, f"{chosen[0].name}: {chosen[0].about}")


def described(each: Format) -> dict[str, Any]:
    """A format as JSON: what it is, for whom, and its options."""
    options = {
        name: {
            "default": option.default,
            "takes": ", ".join(option.choices) or f"{option.least:,} to {option.most:,}",
            "about": option.about,
        }
        for name, option in each.options.items()
    }
    return {
        "name": each.name,
        "about": each.about,
        "for": FITS[each.name],
        "tie_breaks": [*each.tie_breaks],
        "followed_by": FOLLOWED_BY.get(each.name),
        "options": options,
    }
