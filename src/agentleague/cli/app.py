"""The commands of `league`; the module of a command is imported when the command is called."""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from agentleague.cli import exits
from agentleague.cli.options import common_options, prepare
from agentleague.protocol.printable import nearest

SECTIONS = {
    "Play on this machine": {
        "demo": "Play a whole league and print the table.",
        "play": "Play matches between two agents and show how they went.",
        "sweep": "Play many leagues by a plan, and write one table.",
    },
    "Take part": {
        "new": "Write a player or a game that works, for you to change.",
        "check": "Check an agent in any language against the protocol.",
        "player": "Run a player that registers at a manager.",
        "referee": "Run a referee that registers at a manager.",
    },
    "Run a league": {
        "init": "Write a file with every setting, for you to change.",
        "manager": "Run a league manager: it registers agents and keeps the table.",
        "season": "Run a series of leagues with the same players.",
        "start": "Start a league, or continue it after a pause.",
        "pause": "Pause a league: no match begins, no clock runs.",
        "add-player": "Add a player that does not register itself.",
        "seat": "Make a seat for a person who plays in the browser.",
        "add-referee": "Add a referee that does not register itself.",
        "approve": "Let in a referee that waits.",
        "set-endpoint": "Say where an agent is called from now on.",
        "remove": "Take a player out of a league.",
        "rule": "Decide what counts of a match in the table.",
        "abort": "End a league as it stands.",
        "backup": "Write a league to one file, secrets and all; it may run.",
        "restore": "Write the league of a backup to a directory or a database.",
        "move": "Let a league go on in another directory, or in a database.",
        "repair": "Save what is left of a damaged league, in a new directory.",
    },
    "Run a service of many leagues": {
        "serve": "Run a service of many leagues, on PostgreSQL.",
        "organiser": "Say who may organise leagues of a service.",
        "leagues": "Make and run leagues of a service, as their organiser.",
    },
    "Look at a league": {
        "status": "Show how far a league is, and how well it works.",
        "standings": "Print the table of a league, running or over.",
        "ratings": "Print how strong players are, and how sure that is.",
        "schedule": "Print who meets whom, and how each match ended.",
        "bracket": "Print the bracket, the Swiss table, the groups or the ladder.",
        "agents": "Print who takes part, and what they are doing.",
        "agent": "Print everything about one agent, and why it lost matches.",
        "match": "Show how a match went, and why it ended that way.",
        "watch": "Follow a league until its end, in this terminal.",
        "dashboard": "Show a league in the browser, live or when it is over.",
        "verify": "Recompute a league from its journal: draws, results, table.",
        "report": "Write a league as one HTML file, or as pages to publish.",
        "export": "Write a league as files: JSON, CSV, logs.",
    },
    "Know more": {
        "games": "List the games that are installed.",
        "formats": "List the formats of leagues: who meets whom.",
        "strategies": "List the strategies that are installed, and their games.",
        "schema": "Print the JSON Schema of the messages.",
        "simulate": "Try to break the league, in virtual time.",
        "bench": "Measure how many matches a second this machine plays.",
        "completion": "Print a script that lets your shell complete commands.",
    },
}
COMMANDS = {name: what for section in SECTIONS.values() for name, what in section.items()}
OWN_MODULES = {"init", "manager", "season", "backup", "restore", "move", "repair"}
ORGANISER = SECTIONS["Run a league"].keys() - OWN_MODULES  # in one module
ALIASES = {  # what people type, and the command they mean
    **dict.fromkeys(("conformance", "lint", "test", "validate"), "check"),
    "create": "new",
    **dict.fromkeys(("cross-table", "groups", "knockout", "ladder", "swiss"), "bracket"),
    "follow": "watch",
    "join": "player",
    "live": "watch",
    "players": "agents",
    "rounds": "schedule",
    "results": "schedule",
    "resume": "start",
    "run": "demo",
    "show": "status",
    "stop": "pause",
    "table": "standings",
    "version": "--version",
}
CALLED = "agentleague.called"  # in the `meta` of a context: the command and its name
COMPLETION_VARIABLE = "_LEAGUE_COMPLETE"  # click's name; the completion script sets it
SIMILARITY_MIN = 0.5  # Commands are short words.


class Commands(click.Group):
    """Lists the commands without importing them; every error ends in a sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name = cmd_name, "command"
        if cmd_name in ORGANISER:
            module, name = "organise", cmd_name.replace("-", "_")
        return prepare(getattr(import_module(f"agentleague.cli.commands.{module}"), name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            raise click.UsageError(f"there is no command {args[0]!r}{_suggestion(args[0])}", ctx)
        found = super().resolve_command(ctx, args)
        ctx.meta[CALLED] = found[:2]
        return found

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command; give an error of the parser the context of that command."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            if error.ctx is None:
                name, command = ctx.meta.get(CALLED, ("league", self))
                error.ctx = click.Context(command, parent=ctx, info_name=name)
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{width}}", what) for name, what in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin so, or the options."""
        found = [
            CompletionItem(name, help=what)
            for name, what in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found if incomplete[:1] != "-" else super().shell_complete(ctx, incomplete)

    def main(  # type: ignore[override]  # It always exits, so it needs no mode.
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        """Run a command line and exit with its code."""
        arguments = list(sys.argv[1:] if args is None else args)
        if arguments[:1] == ["help"]:  # As in git: `league help play`.
            arguments = [*arguments[1:], "--help"]
        if COMPLETION_VARIABLE in os.environ:  # The shell asks for completions.
            super().main(arguments, "league", **extra)
        sys.exit(exits.run(lambda: self._run(arguments, extra), arguments))

    def _run(self, arguments: list[str], extra: Mapping[str, Any]) -> int:
        try:
            with self.make_context("league", list(arguments), **extra) as context:
                self.invoke(context)
        except click.exceptions.Exit as end:
            return end.exit_code
        return 0


def _suggestion(name: str) -> str:
    near = ALIASES.get(name.lower()) or nearest(name.lower(), COMMANDS, SIMILARITY_MIN)
    return f"; did you mean: league {near}?" if near else ""


EXAMPLES = """\b
Examples:
  league demo                          a league of 4 players, start to end
  league demo --players 12 --seed 7    the same table every time
  league new player my_player          a player of your own, to change
  league play random pattern           a match between two agents

\b
  league manager --players 4           a league of agents in other terminals:
  league referee --manager http://127.0.0.1:8000/mcp
  league player --strategy random --manager http://127.0.0.1:8000/mcp
"""
DESCRIPTION = """
Leagues of AI agents that talk JSON-RPC over HTTP. Each command has a --help of its own.

Results go to stdout, all else to stderr. Exit codes: 0 done, 1 failed, 2 misused, 3 verification
found a difference, 130 stopped by Ctrl-C.
"""


@click.group(
    cls=Commands,
    help=EXAMPLES + DESCRIPTION,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=common_options(),
)
@click.version_option(package_name="agentleague", prog_name="league")
def app() -> None:
    """The whole command line."""
