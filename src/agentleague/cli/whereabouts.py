"""Where the manager of a directory is, and whether it is there: its lock says where it was."""

import shlex
from pathlib import Path

from agentleague.errors import LeagueError


def dir_option(directory: Path) -> str:
    """--dir as it is typed."""
    return f"--dir {shlex.quote(str(directory))}"


def none_runs(directory: Path) -> str:
    """What to say where no manager runs, and how to start it."""
    return f"no manager runs in {directory}; start it with: league manager {dir_option(directory)}"


def another_runs(directory: Path, address: str) -> str:
    """What to say where the manager of another league is found."""
    return (
        f"the manager at {address} is not the one of {directory}: another league runs there; start "
        f"that of {directory} with: league manager {dir_option(directory)} --port ANOTHER"
    )


def address_of(directory: Path) -> str | None:
    """Where the manager of this directory is called from this machine, or was last."""
    from agentleague.storage.lock import address_in

    address = address_in(directory)
    if address is None:
        return None
    return address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


async def is_there(directory: Path, address: str) -> bool:
    """Whether whoever answers at the address plays the league of this directory.

    Raises:
        LeagueError: nobody answers there, or the directory has no journal.
    """
    from agentleague.services.clock import wall
    from agentleague.services.inquiry import Inquiry
    from agentleague.storage.sqlite import leagues_in

    inquiry = Inquiry(address, wall)
    try:
        status = await inquiry.ask("GET_STATUS")
    finally:
        await inquiry.close()
    return status.get("league_id") in leagues_in(directory)


async def manager_in(directory: Path) -> str | None:
    """The address of the manager that runs the league of this directory now, if one does."""
    address = address_of(directory)
    try:
        return address if address and await is_there(directory, address) else None
    except LeagueError:
        return None
