"""Players that somebody brings to a league on this machine: files, URLs, strategies."""

import asyncio
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from agentleague.cli.player_files import check_file, check_game, load_player, moves_of
from agentleague.errors import LeagueError
from agentleague.protocol.messages import LeagueRegisterRequest, LeagueRegisterResponse, PlayerMeta
from agentleague.protocol.timestamps import write
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer
from agentleague.roles.settings import PlayerSettings
from agentleague.runtime import installed_strategies as strategies
from agentleague.runtime.clock import LoopClock, wall
from agentleague.runtime.installed_games import find_game
from agentleague.runtime.local_league import (
    HOSTS,
    Cast,
    ForeignManager,
    LocalWorkers,
    Opener,
    RemoteWorkers,
    Tally,
)
from agentleague.runtime.processes import Place, Running, open_player
from agentleague.runtime.strategy_runner import Strategy
from agentleague.transport.guard import Guard, parse_url
from agentleague.transport.http import HttpTransport, TransportPolicy

IS_URL = re.compile(r"[a-z]+://", re.IGNORECASE)
REGISTER_SECONDS = 10.0
FAREWELL_SECONDS = 2.0  # for a file to hear that the league is over


def local_players(
    texts: Sequence[str], game: str, seed: str | None, *, in_full: bool = False
) -> list[ForeignManager]:
    """One guest for each text: a URL, a file that ends with .py, or the name of a strategy.

    What a file raises is said in a sentence, or `in_full` with its traceback.

    Raises:
        LeagueError: one of them cannot be; the sentence says what is wrong with it.
    """
    names: list[str] = []
    for text in texts:
        name = _name(text)
        names.append(name if name not in names else f"{name}-{len(names) + 1}")
    opener = partial(open_file, in_full=in_full)
    return [
        _foreign_manager(text, partial(_cast, text, name, game, seed), opener)
        for text, name in zip(texts, names, strict=True)
    ]


def _name(text: str) -> str:
    """Under which name it plays, unless it has one of its own."""
    if IS_URL.match(text):
        Guard("local").check_url(text)
        endpoint = parse_url(text)
        path = endpoint.path.partition("?")[0]  # What follows may be secret.
        return endpoint.authority + ("" if path == "/mcp" else path)
    if text.endswith(".py"):
        check_file(Path(text))
        return Path(text).stem
    try:
        strategies.load(text)
    except LeagueError as error:
        raise LeagueError(
            f"{error}. A player is one of these, a file that ends with .py, or a URL such as "
            "http://127.0.0.1:8101/mcp"
        ) from None
    return text


def _cast(text: str, name: str, game: str, seed: str | None, manager_url: str) -> Cast:
    return Cast(
        "player",
        0,
        1,
        manager_url=manager_url,
        game=game,
        seed=seed,
        is_private=True,
        foreign_manager=text,
        name=name,
    )


def _foreign_manager(
    text: str, cast: Callable[[str], Cast], open_its_file: Opener
) -> ForeignManager:
    if IS_URL.match(text):
        return lambda manager_url: Registration(cast(manager_url))
    if text.endswith(".py"):
        return lambda manager_url: FileWorkers(cast(manager_url), open_its_file)
    return lambda manager_url: LocalWorkers(cast(manager_url), open_strategy)


class FileWorkers(RemoteWorkers):
    """A file in a process of its own: whatever its author wrote, the league goes on."""

    async def finish(self) -> Tally:
        """Give it a moment to hear that the league is over."""
        try:
            return await asyncio.wait_for(super().finish(), FAREWELL_SECONDS)
        except (LeagueError, TimeoutError):  # It lost its matches; that is told.
            return Tally("player", 0, 0, 0, 0.0)


class Registration:
    """An agent that somebody else runs: all there is to do is to register it."""

    def __init__(self, cast: Cast) -> None:
        self._cast = cast

    async def start(self) -> None:
        """Register it, as it would do itself."""
        loop = asyncio.get_running_loop()
        transport = HttpTransport(LoopClock(loop), TransportPolicy("player", Guard("local"), wall))
        answered: asyncio.Future[Answer] = loop.create_future()
        manager, until = Address("manager", self._cast.manager_url), loop.time() + REGISTER_SECONDS
        try:
            transport.call(manager, self._request(), until, answered.set_result)
            answer = await answered
        finally:
            await transport.stop()
        message = answer.message
        if not isinstance(message, LeagueRegisterResponse) or message.status != "ACCEPTED":
            why = message.reason if isinstance(message, LeagueRegisterResponse) else answer.error
            raise LeagueError(f"{self._cast.name} cannot take part: {why}")

    async def finish(self) -> Tally:
        """It was told; what it does with it is its own affair."""
        return Tally("player", 0, 0, 0, 0.0)

    async def stop(self) -> None:
        """It goes on running."""

    def _request(self) -> LeagueRegisterRequest:
        game = find_game(self._cast.game).name
        return LeagueRegisterRequest(
            PlayerMeta(self._cast.name, self._cast.foreign_manager, "1.0.0", [game]),
            sender=f"player:{self._cast.name}"[:64],
            timestamp=write(wall()),
            conversation_id="conv-player-register",
        )


async def open_file(cast: Cast, number: int, *, in_full: bool = False) -> Running:
    """The player of a file."""
    path, game = Path(cast.foreign_manager), find_game(cast.game).name
    player = load_player(path, lambda: [game])
    check_game(player, game, path)
    agent = await _open(cast, player.name, moves_of(player, in_full=in_full))
    player.join(agent)
    return agent


async def open_strategy(cast: Cast, number: int) -> Running:
    """A player with a strategy that is installed; it may take its time."""
    return await _open(cast, cast.name, strategies.load(cast.foreign_manager))


async def _open(cast: Cast, name: str, strategy: Strategy) -> Running:
    return await open_player(
        lambda url: PlayerSettings(
            manager_url=cast.manager_url,
            display_name=name,
            endpoint=url,
            game_types=(find_game(cast.game).name,),
            seed=cast.seed or "",
        ),
        strategy,
        Place(0, hosts=HOSTS),
        threads=True,
    )
