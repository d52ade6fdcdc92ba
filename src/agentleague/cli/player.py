"""`league player`: one player, from a file or with a strategy by name."""

from pathlib import Path

import click

from agentleague.cli.membership import join_code_option, state_option
from agentleague.cli.player_files import load_player, moves_of
from agentleague.cli.serving import (
    PORT,
    bind_option,
    check_manager,
    endpoint_option,
    manager_option,
    place,
    say,
    stop_signal,
    until_stopped,
)
from agentleague.cli.verbosity import speak_up, verbose_option
from agentleague.games import registry
from agentleague.player import registry as strategies
from agentleague.services.processes import open_player, run
from agentleague.services.settings import PlayerSettings
from agentleague.services.state_file import StateFile, Whose, kept

EXAMPLES = """\b
Examples:
  league player ./mine.py --manager http://127.0.0.1:8000/mcp
  league player --strategy random --name "Agent Alpha" --manager http://127.0.0.1:8000/mcp
"""
WHAT = """
Run a player that registers at a manager.

FILE is a Python file with `player = Player(...)` or a function `choose(turn)` in it; its
`player.run()` is left out.
"""


@click.command(help=EXAMPLES + WHAT)
@click.argument("file", required=False, metavar="[FILE.py]", type=click.Path(path_type=Path))
@manager_option
@click.option(
    "--strategy",
    help="What it plays: a strategy that is installed, or a plug-in of yours.  [default: random]",
)
@click.option(
    "--port",
    default=8101,
    show_default=True,
    type=PORT,
    help="The port to listen on, or the next free one above it.",
)
@click.option("--name", help="The name to register under; the player's unless given.")
@click.option("--seed", help="Makes the strategy's chance repeatable.")
@bind_option
@endpoint_option
@join_code_option
@state_option
@verbose_option
def command(
    file: Path | None,
    verbose: int,
    manager_url: str,
    strategy: str | None,
    port: int,
    name: str | None,
    seed: str | None,
    bind: str | None,
    endpoint: str | None,
    join_code: str,
    state: Path | None,
) -> None:
    """Serve until the league is over, or until Ctrl-C."""
    if file and strategy:
        raise click.UsageError(f"say either {file} or --strategy {strategy}, not both")
    player = load_player(file, registry.names()) if file else None
    shown = name or (player.name if player else f"Player {strategy or 'random'}")

    async def serve(kept_state: StateFile | None) -> None:
        stopped = stop_signal()
        agent = await open_player(
            lambda url: PlayerSettings(
                manager_url=check_manager(manager_url),
                display_name=shown,
                endpoint=url,
                game_types=player.games if player else registry.names(),
                seed=seed or "",
                join_code=join_code,
            ),
            moves_of(player) if player else strategies.load(strategy or "random"),
            place(port, bind, endpoint),
            threads=True,
            state=kept_state,
        )
        say(f"{shown} listens at {agent.url} and registers at {manager_url}.")
        agent.tell(say)
        speak_up(agent, verbose, say)
        if player:
            player.join(agent)
        await until_stopped(agent, stopped, ends=True)

    with kept(Whose(manager_url, "player", shown, port), state, say) as kept_state:
        run(serve(kept_state))
