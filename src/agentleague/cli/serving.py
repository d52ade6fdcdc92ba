"""What `manager`, `referee` and `player` have in common: serve until the end, or until Ctrl-C.

Progress of a league on stderr: a bar on a terminal, a few lines elsewhere.
"""

import asyncio
import signal
import sys
from types import TracebackType
from typing import Any

from agentleague.cli.output import counted, is_plain, is_quiet, say
from agentleague.league.league import League
from agentleague.runtime.processes import Running


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


async def until_stopped(
    agent: Running, stopped: asyncio.Future[None], *, ends: bool, last_seconds: float = 0.0
) -> bool:
    """Serve until the agent's work is done (if it `ends`) or somebody stops it; whether it is.

    When its work is done it answers questions for `last_seconds` more.

    Raises:
        LeagueError: the agent cannot go on, or the manager refused it.
    """
    waits: list[asyncio.Future[Any]] = [stopped, agent.failed, *([agent.ended] if ends else [])]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    if last_seconds and agent.ended.done():
        await asyncio.wait(waits[:2], timeout=last_seconds, return_when=asyncio.FIRST_COMPLETED)
    await agent.stop()
    if agent.failed.done():
        raise agent.failed.result()
    agent.check()
    return agent.ended.done()


LINES_MAX = 10  # where there is no terminal


class Progress:
    """Shows how far a league has come; call it with the league as often as you like."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._said = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def __call__(self, league: League) -> None:
        if not league.has_started or is_quiet():
            return
        if not is_plain(sys.stderr):
            self._show_bar(league, league.total_rounds, league.total_matches)
        else:
            self._say_round(league, league.total_rounds)

    def _show_bar(self, league: League, rounds: int, matches: int) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            self._bar = Bar(*columns, TextColumn("matches"), console=Console(stderr=True))
            self._task = self._bar.add_task("", total=matches)
            self._bar.start()
        text = f"Round {league.round_id} of {rounds}"
        self._bar.update(self._task, completed=league.decided_total, description=text)

    def _say_round(self, league: League, rounds: int) -> None:
        step = max(1, rounds // LINES_MAX)
        if league.rounds_ended >= self._said + step or (league.rounds_ended == rounds > self._said):
            self._said = league.rounds_ended
            played = counted(league.decided_total, "match", "matches")
            say(f"Round {league.rounds_ended} of {rounds} is over, {played} played.")
