"""`league completion`: let the shell complete what is typed."""

import sys

import click

from agentleague.cli.output import say

# How the scripts of bash and fish call it; without `league` on the PATH, Tab must print nothing.
CALLS = ("_LEAGUE_COMPLETE=bash_complete $1)", "COMP_CWORD=(commandline -t) league)")


@click.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script for SHELL (bash, zsh or fish) that completes commands, options, games,
    strategies and files when Tab is pressed. Put it where the examples say, then open a new
    terminal. bash must be 4.4 or newer; zsh needs `autoload -U compinit && compinit` above it.

    league completion bash >> ~/.bashrc
    league completion zsh >> ~/.zshrc
    league completion fish > ~/.config/fish/completions/league.fish
    """
    from click.shell_completion import get_completion_class

    from agentleague.cli.app import COMPLETION_VARIABLE, app

    kind = get_completion_class(shell)
    assert kind
    script = kind.source_template % kind(app, {}, "league", COMPLETION_VARIABLE).source_vars()
    for call in CALLS:
        script = script.replace(call, f"{call[:-1]} 2>/dev/null)")
    print(script, end="")
    if sys.stdout.isatty():
        say("That is the script; where to put it: league completion --help")
