"""--journal for commands that need a database."""

from typing import Any

import click

from agentleague.storage.database_url import DatabaseUrl


class _Database(click.ParamType):  # type: ignore[type-arg]  # click 8.2 takes none.
    name = "URL"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, DatabaseUrl):
            return value
        try:
            return DatabaseUrl.parse(value)
        except ValueError as error:
            return self.fail(str(error), param, ctx)


database_option = click.option(
    "--journal",
    required=True,
    type=_Database(),
    metavar="URL",
    envvar="LEAGUE_JOURNAL",
    help="The database, such as postgresql://USER@HOST/DATABASE; LEAGUE_JOURNAL hides a password.",
)
