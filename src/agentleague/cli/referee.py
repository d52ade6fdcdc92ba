"""`league referee`: one referee."""

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
from agentleague.services.processes import open_referee, run
from agentleague.services.settings import RefereeSettings
from agentleague.services.state_file import StateFile, Whose, kept

EXAMPLES = """\b
Example:
  league referee --manager http://127.0.0.1:8000/mcp
"""


@click.command(help=EXAMPLES + "\nRun a referee that registers at a manager.")
@manager_option
@click.option(
    "--port",
    default=8001,
    show_default=True,
    type=PORT,
    help="The port to listen on, or the next free one above it.",
)
@click.option("--name", default="Referee", show_default=True, help="The name to register under.")
@bind_option
@endpoint_option
@join_code_option
@state_option
@verbose_option
def command(
    verbose: int,
    manager_url: str,
    port: int,
    name: str,
    bind: str | None,
    endpoint: str | None,
    join_code: str,
    state: Path | None,
) -> None:
    """Serve until the league is over, or until Ctrl-C."""

    async def serve(kept_state: StateFile | None) -> None:
        stopped = stop_signal()
        agent = await open_referee(
            lambda url: RefereeSettings(
                manager_url=check_manager(manager_url),
                display_name=name,
                endpoint=url,
                game_types=registry.names(),
                join_code=join_code,
            ),
            place(port, bind, endpoint),
            state=kept_state,
        )
        say(f"{name} listens at {agent.url} and registers at {manager_url}.")
        agent.tell(say)
        speak_up(agent, verbose, say)
        if await until_stopped(agent, stopped, ends=True):
            say("The league is over.")

    with kept(Whose(manager_url, "referee", name, port), state, say) as kept_state:
        run(serve(kept_state))
