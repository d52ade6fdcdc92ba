"""The commands of `league`, each in a module of its own that is imported when it is called."""

from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from agentleague.errors import LeagueError

COMMANDS = {
    "demo": "Play a whole league on this machine and print the table.",
    "play": "Play a match between two agents and tell how it went.",
    "manager": "Run a league manager: it registers agents and keeps the table.",
    "referee": "Run a referee that registers at a manager.",
    "player": "Run a player that registers at a manager.",
    "status": "Say how far a league is, and how well it goes.",
    "standings": "Print the table of a league that runs or was played.",
    "schedule": "Print who meets whom, and how it ended.",
    "agents": "Print who takes part, and what they do now.",
    "agent": "Print all of one agent.",
    "match": "Tell how a match went, and why it ended so.",
    "verify": "Recompute a league from its journal: draws, results, table.",
    "export": "Write a league as files: JSON, CSV, logs.",
    "start": "Start a league, or let it go on after a pause.",
    "pause": "Pause a league: nothing new begins, no clock runs.",
    "abort": "End a league as it stands.",
    "remove": "Take a player out of a league.",
    "games": "List the games that are installed.",
    "strategies": "List the strategies that are installed, and their games.",
    "new": "Write a player or a game of your own to begin with.",
    "schema": "Print the JSON Schema of the messages.",
    "bench": "Measure how many matches a second this machine plays.",
}

ORGANISER = ("start", "pause", "abort", "remove")  # one module for what is so much alike


class Commands(click.Group):
    """Lists the commands without importing them; errors of ours end in a sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            near = get_close_matches(name, COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else " `league --help` lists them."
            raise click.UsageError(f"No such command {name!r}.{hint}", ctx)
        module, attribute = ("organise", name) if name in ORGANISER else (name, "command")
        command: click.Command = getattr(import_module(f"agentleague.cli.{module}"), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except LeagueError as error:
            raise click.ClickException(str(error)) from None
        except BrokenPipeError:
            raise  # Whoever read has read enough: see main().
        except OSError as error:
            raise click.ClickException(str(error)) from None


EXAMPLES = """\b
Examples:
  league demo                          a league of 4 players, start to end
  league demo --players 12 --seed 7    the same table every time
  league manager --players 4           then, in other terminals:
  league referee --manager http://127.0.0.1:8000/mcp
  league player --strategy random --manager http://127.0.0.1:8000/mcp
"""


@click.group(
    cls=Commands,
    help=EXAMPLES + "\nLeagues of AI agents that talk JSON-RPC over HTTP.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="agentleague", prog_name="league")
def app() -> None:
    """The whole command line."""
