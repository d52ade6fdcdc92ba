"""`league player`: one player with a strategy by name."""

from pathlib import Path

import click

from agentleague.cli.membership import join_code_option, state_option
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
Example:
  league player --strategy random --name "Agent Alpha" --manager http://127.0.0.1:8000/mcp
"""


@click.command(help=EXAMPLES + "\nRun a player that registers at a manager.")
@manager_option
@click.option(
    "--strategy",
    default="random",
    show_default=True,
    help="What it plays: random, fixed, alternating, or a plug-in of yours.",
)
@click.option(
    "--port",
    default=8101,
    show_default=True,
    type=PORT,
    help="The port to listen on, or the next free one above it.",
)
@click.option("--name", help="The name to register under; the strategy's unless given.")
@click.option("--seed", help="Makes the strategy's chance repeatable.")
@bind_option
@endpoint_option
@join_code_option
@state_option
@verbose_option
def command(
    verbose: int,
    manager_url: str,
    strategy: str,
    port: int,
    name: str | None,
    seed: str | None,
    bind: str | None,
    endpoint: str | None,
    join_code: str,
    state: Path | None,
) -> None:
    """Serve until the league is over, or until Ctrl-C."""

    shown = name or f"Player {strategy}"

    async def serve(kept_state: StateFile | None) -> None:
        stopped = stop_signal()
        agent = await open_player(
            lambda url: PlayerSettings(
                manager_url=check_manager(manager_url),
                display_name=shown,
                endpoint=url,
                game_types=registry.names(),
                seed=seed or "",
                join_code=join_code,
            ),
            strategies.load(strategy),
            place(port, bind, endpoint),
            state=kept_state,
        )
        say(f"{shown} listens at {agent.url} and registers at {manager_url}.")
        agent.tell(say)
        speak_up(agent, verbose, say)
        await until_stopped(agent, stopped, ends=True)

    with kept(Whose(manager_url, "player", shown, port), state, say) as kept_state:
        run(serve(kept_state))
