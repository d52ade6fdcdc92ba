"""A real league of nasty names: a manager's process, and its agents over HTTP."""

import asyncio
import json
from typing import NamedTuple

from agentleague.roles.settings import PlayerSettings
from agentleague.runtime.processes import Place, open_player
from commands import BIN, environment, free_port, league
from contracts.foreign_player import ACKS, ForeignPlayer
from contracts.tap import Wire, post
from hostile.nasty_names import NASTY, NO_TEXT

SECONDS = 120  # within which everything must have happened, on however slow a machine
ROUNDS = 2
HOSTS = ("127.0.0.1",)


class Heard(NamedTuple):
    """What the manager's process and the referee's said, and where the manager's files are."""

    stdout: str
    stderr: str
    referee: str
    directory: object
    shared: object
    refused: list  # answers to what is no text


class RudePlayer(ForeignPlayer):
    """Joins under nasty names, and answers any call for a move with a nasty error."""

    def __init__(self, nasty):
        super().__init__(nasty)
        self._nasty = nasty

    async def _answer(self, request, writer):
        asked = request.get("params", {})
        if asked.get("message_type") in (*ACKS, "GAME_INVITATION"):
            asked["player_id"] = self._nasty[:64]
            await super()._answer(request, writer)
            return
        error = {"code": -32000, "message": self._nasty, "data": {"error_name": self._nasty}}
        body = json.dumps({"jsonrpc": "2.0", "error": error, "id": request.get("id")}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


async def play_nastily(folder):
    """Play two rounds, then let the organiser end it; what was heard."""
    directory, shared, port = folder / "league", folder / "shared", free_port()
    rude = [RudePlayer(NASTY[each]) for each in ("move up and write", "newline", "override")]
    process = await _started(
        *("manager", "-vv", "--exit", "--port", str(port), "--dir", directory),
        *("--players", str(len(NASTY) + len(rude)), "--shared-dir", shared),
        *("--retries", "1", "--retry-delay-seconds", "0", "--move-seconds", "10"),
    )
    agents, wire, said, processes = [], Wire(), [], [process]
    try:
        said.append(await process.stderr.readline())
        url = f"http://127.0.0.1:{port}/mcp"
        refused = [await post(url, _registration(text)) for text in NO_TEXT]
        for each in NASTY.values():  # Refused, and logged with the sender's word for itself.
            await post(url, _registration('"x"', sender=each[:64], game_types=[each[:64]]))
        name = NASTY["move up and write"]
        referee = await _started(
            "referee", "-vv", "--name", name, "--manager", url, "--port", str(free_port())
        )
        processes.append(referee)
        first = await referee.stderr.readline()
        assert b"listens at" in first, first
        noted = asyncio.ensure_future(referee.communicate())
        for number, name in enumerate(NASTY.values()):
            agents.append(await _player(url, name, name if number % 5 == 0 else "even"))
        for player in rude:
            await player.start(wire, url)
        rest = asyncio.ensure_future(_read_on(process.stderr, said, directory))
        stdout = await asyncio.wait_for(process.stdout.read(), SECONDS)
        await rest
        _, notes = await asyncio.wait_for(noted, SECONDS)
        await process.wait()
    finally:
        for each in processes:
            if each.returncode is None:
                each.kill()
            await each.wait()
        for agent in (*rude, *agents):
            await agent.stop()
        await wire.close()
    talk = (stdout.decode(), b"".join(said).decode(), (first + notes).decode())
    return Heard(*talk, directory, shared, refused)


async def _started(*arguments):
    return await asyncio.create_subprocess_exec(
        BIN / "league",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(),
    )


async def _read_on(stream, said, directory):
    """Hear the manager to its end, which comes after some rounds."""
    wanted = b"Round %d of" % ROUNDS
    while line := await stream.readline():
        said.append(line)
        if wanted in line and b"is over" in line:
            wanted = b"\0"
            await asyncio.to_thread(league, "abort", "--dir", directory, "--yes")


def _registration(text, *, sender="x", game_types=()):
    """A player whose name is what stands there as JSON."""
    message = {"message_type": "LEAGUE_REGISTER_REQUEST", "protocol": "league.v2"}
    meta = {"display_name": "NAME", "contact_endpoint": "http://127.0.0.1:9/mcp"}
    meta["game_types"] = game_types
    params = {**message, "sender": sender, "conversation_id": sender, "player_meta": meta}
    request = {"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}
    return json.dumps(request).replace('"NAME"', text).encode()


async def _player(manager_url, name, move):
    player = await open_player(
        lambda url: PlayerSettings(
            manager_url=manager_url, display_name=name, endpoint=url, version=name[:64]
        ),
        lambda turn: move,
        Place(0, hosts=HOSTS),
    )
    await player.registered
    return player
