"""What `manager`, `referee` and `player` have in common: serve until the end, or until Ctrl-C."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from typing import Any

import click

from agentleague.services.addresses import manager_url
from agentleague.services.processes import Place, Running
from agentleague.transport.guard import Guard
from agentleague.transport.http import LOCAL_HOSTS

EVERYWHERE = ("0.0.0.0", "::")  # Where to listen, but nowhere to call.


def place(port: int, bind: str | None, endpoint: str | None, *, moves_on: bool = True) -> Place:
    """Where to listen, from the options; says so if nobody could call the agent there."""
    if bind in EVERYWHERE and not endpoint:
        say(
            f"It listens on all addresses, and {bind} is none that others can call: say how they "
            f"reach it with: --endpoint http://HOST:{port or 'PORT'}/mcp"
        )
    hosts: Sequence[str] = (bind,) if bind else LOCAL_HOSTS
    return Place(port, hosts=hosts, endpoint=endpoint, guard=Guard("local"), moves_on=moves_on)


PORT = click.IntRange(0, 65535)


def read_manager(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    """The callback of every --manager."""
    return None if value is None else manager_url(value)


def check_manager(url: str) -> str:
    """The manager's URL, if it can be one. Raises EndpointNotAllowed with a sentence."""
    Guard("local").check_url(url)
    return url


def say(sentence: str) -> None:
    """Talk goes to stderr."""
    print(sentence, file=sys.stderr, flush=True)


def stop_signal() -> asyncio.Future[None]:
    """Done when somebody stops the command; ask for it before there is anything to stop."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[None] = loop.create_future()

    def stop() -> None:
        if not stopped.done():
            stopped.set_result(None)

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # Windows: Ctrl-C raises KeyboardInterrupt instead.
            break
    return stopped


async def until_stopped(agent: Running, stopped: asyncio.Future[None], *, ends: bool) -> bool:
    """Serve until the agent's work is done (if it `ends`) or somebody stops it; whether it is.

    Raises:
        LeagueError: the agent cannot go on, or the manager refused it.
    """
    waits: list[asyncio.Future[Any]] = [stopped, agent.failed, *([agent.ended] if ends else [])]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    await agent.stop()
    if agent.failed.done():
        raise agent.failed.result()
    if agent.registered.done():
        agent.registered.result()
    return agent.ended.done()


bind_option = click.option("--bind", help="The address to listen on; loopback unless given.")
endpoint_option = click.option("--endpoint", help="The URL under which others reach this agent.")
manager_option = click.option(
    "--manager",
    "manager_url",
    default="http://127.0.0.1:8000/mcp",
    envvar="LEAGUE_MANAGER",
    callback=read_manager,
    show_default=True,
    show_envvar=True,
    help="Where the manager is: its URL, HOST:PORT, or a PORT of this machine.",
)
