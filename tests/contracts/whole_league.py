"""Whole leagues on loopback in which every message of the table is sent, written down by a tap."""

import asyncio
import json
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import NamedTuple

from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.runtime import plugins
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import open_player, open_referee
from contracts.foreign_player import ForeignPlayer
from contracts.tap import Wire, post

SECONDS = 120  # within which a league must have ended, on however slow a machine
NOW = "2026-03-04T09:00:00Z"
ENVELOPE = {
    "protocol": "league.v2",
    "sender": "player:P01",
    "timestamp": NOW,
    "conversation_id": "conv-contract",
}
NAMELESS = {"conversation_id": ""}
QUERIES = ("STANDINGS", "SCHEDULE", "NEXT_MATCH", "PLAYER_STATS", "STATUS", "AGENTS", "METRICS")
DIRECTORIES = ("PLAYER_DIRECTORY", "REGISTRATIONS", "PLAYERS")
META = {"display_name": "Late", "contact_endpoint": "http://127.0.0.1:9/mcp"}
QUERY = {**ENVELOPE, "message_type": "LEAGUE_QUERY", "query_type": "GET_STATUS"}
# What a manager refuses to read: not JSON-RPC, or no message of the protocol.
BROKEN = (
    {"method": "league_query", "params": QUERY, "id": 1},
    {"jsonrpc": "1.0", "method": "league_query", "params": QUERY, "id": 1},
    {"jsonrpc": "2.0", "method": "league_query", "params": QUERY, "id": [1]},
    {"jsonrpc": "2.0", "method": 7, "params": QUERY, "id": 1},
    {"jsonrpc": "2.0", "method": "no_such_method", "params": {}, "id": 1},
    {"jsonrpc": "2.0", "method": "league_query", "params": [], "id": 1},
    {"jsonrpc": "2.0", "method": "league_query", "params": {**QUERY, "query_type": 5}, "id": 1},
    {
        "jsonrpc": "2.0",
        "method": "league_query",
        "params": {**QUERY, "query_type": "x" * 65},
        "id": 1,
    },
    {
        "jsonrpc": "2.0",
        "method": "league_query",
        "params": {**QUERY, "protocol": "league.v3"},
        "id": 1,
    },
    {
        "jsonrpc": "2.0",
        "method": "register_player",
        "params": {**ENVELOPE, "message_type": "LEAGUE_REGISTER_REQUEST"},
        "id": 1,
    },
    {
        "jsonrpc": "2.0",
        "method": "register_player",
        "params": {
            **ENVELOPE,
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "player_meta": {**META, "display_name": "x" * 501},
        },
        "id": 1,
    },
)
BROKEN_BODIES = tuple(json.dumps(body).encode() for body in BROKEN)


class Cup(NamedTuple):
    """A league that runs."""

    manager: object
    agents: list
    directory: Path

    @property
    def league_id(self):
        return f"league_{self.directory.name}"

    async def end(self):
        waits = [self.manager.ended, self.manager.failed]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED, timeout=SECONDS)
        assert not self.manager.failed.done(), self.manager.failed.result()
        assert self.manager.ended.done()

    async def stop(self):
        for agent in (*self.agents, self.manager):
            await agent.stop()


async def play_everything(directory):
    """Play the leagues of this module, at the same time; what was said in them."""
    wire = Wire()
    try:
        await asyncio.gather(
            _with_an_organiser(wire, directory / "organised"),
            _with_a_silent_player(wire, directory / "silent"),
            _of_another_game(wire, directory / "other"),
            _that_is_aborted(wire, directory / "aborted"),
        )
    finally:
        await wire.close()
    return list(wire.exchanges())


async def _with_an_organiser(wire, directory):
    """Paused in the middle of a match and gone on with; asked everything; with odd players."""
    asked, gate = SimpleQueue(), Event()
    cup = await _open(wire, directory, lease_seconds=0.9, referees=2)
    pusher = ForeignPlayer("Pusher", pushes=True)
    try:
        await post(cup.manager.url, _command(cup, "start"))  # Too early.
        for _ in range(2):
            await _referee(wire, cup)
        await _player(wire, cup, "Careful", _waits_for(asked, gate), threads=True)
        await _player(wire, cup, "Muddled", _muddled())
        await pusher.start(wire, cup.manager.url)
        await _refused(cup)
        await post(cup.manager.url, _command(cup, "start"))
        match_id = await asyncio.to_thread(asked.get)
        await post(cup.manager.url, _command(cup, "pause"))
        await _ask_everything(wire, cup, match_id)
        await wire.until(b"REFEREE_STATUS_ACK")
        await post(cup.manager.url, _command(cup, "start"))
        gate.set()
        await cup.end()
        await _ask_everything(wire, cup, match_id)
        await post(cup.manager.url, _registration("REFEREE", "Late"))  # Too late.
    finally:
        gate.set()
        await pusher.stop()
        await cup.stop()


async def _with_a_silent_player(wire, directory):
    """It is asked again, told of the error, and loses without a game."""
    cup = await _open(wire, directory, move_seconds=0.5, retries=1, players=2)
    silent = ForeignPlayer("Silent", silent=True)
    try:
        await _referee(wire, cup)
        await _player(wire, cup, "Patient", lambda turn: "even")
        await silent.start(wire, cup.manager.url)
        await cup.end()
    finally:
        await silent.stop()
        await cup.stop()


async def _of_another_game(wire, directory):
    """With a referee that has a match at a time, and hears of the next when it reports one."""
    cup = await _open(wire, directory, players=4, game_type="tic_tac_toe")
    try:
        await _referee(wire, cup, max_concurrent_matches=1)
        for name in ("First", "Second", "Third", "Fourth"):
            await _player(wire, cup, name, lambda turn: turn.legal_moves[0])
        await cup.end()
        asked = [exchange.request for exchange in wire.exchanges() if exchange.to == "manager"]
        own = [each for each in asked if b'"league_other"' in each]  # Others are played meanwhile.
        report = next(each for each in own if b"MATCH_RESULT_REPORT" in each)
        await post(cup.manager.url, report)  # Once more, as if the answer had been lost.
    finally:
        await cup.stop()


async def _that_is_aborted(wire, directory):
    """With agents whose names are taken or cannot be shown, and a player taken out."""
    asked, gate = SimpleQueue(), Event()
    cup = await _open(wire, directory)
    try:
        await _referee(wire, cup, display_name="Ref\ttab")
        for _ in range(3):
            await _player(wire, cup, "Twin", _waits_for(asked, gate), threads=True)
        await post(cup.manager.url, _command(cup, "start"))
        await asyncio.to_thread(asked.get)
        await post(cup.manager.url, _command(cup, "remove", player_id="P03"))
        await post(cup.manager.url, _command(cup, "abort"))
        await cup.end()
    finally:
        gate.set()
        await cup.stop()


async def _open(wire, directory, **changes):
    rules = {"move_seconds": 30.0, "retries": 2, "retry_delay_seconds": 0.05, **changes}
    settings = ManagerSettings(league_id=f"league_{directory.name}", **rules)
    manager = await open_manager(settings, Home(directory), wire.place("manager"))
    return Cup(manager, [], directory)


async def _referee(wire, cup, **changes):
    fields = {"display_name": "Referee", "game_types": plugins.game_names(), **changes}
    agent = await open_referee(
        lambda url: RefereeSettings(manager_url=cup.manager.url, endpoint=url, **fields),
        wire.place("referee"),
    )
    cup.agents.append(agent)
    await agent.registered


async def _player(wire, cup, name, strategy, *, threads=False):
    agent = await open_player(
        lambda url: PlayerSettings(
            manager_url=cup.manager.url,
            display_name=name,
            endpoint=url,
            game_types=plugins.game_names(),
        ),
        strategy,
        wire.place("player"),
        threads=threads,
    )
    cup.agents.append(agent)
    await agent.registered


def _waits_for(asked, gate):
    def choose(turn):
        asked.put(turn.match_id)
        assert gate.wait(SECONDS)
        return "even"

    return choose


def _muddled():
    moves = iter(("maybe", None))
    return lambda turn: next(moves, "odd")


def _request(method, message_type, **fields):
    message = {**ENVELOPE, "message_type": message_type, **fields}
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": message, "id": 5}).encode()


def _registration(kind, name, **meta):
    """Of a player (LEAGUE) or a REFEREE, by hand."""
    field, method = ("player_meta", "register_player")
    if kind == "REFEREE":
        field, method = ("referee_meta", "register_referee")
    whole = {field: {**META, "display_name": name, **meta}}
    return _request(method, f"{kind}_REGISTER_REQUEST", **whole)


def _command(cup, command, **params):
    token = (cup.directory / "admin.token").read_text(encoding="utf-8").strip()
    return _request(
        "league_command", "LEAGUE_COMMAND", command=command, params=params, auth_token=token
    )


async def _refused(cup):
    """Registrations and commands that are understood, but not granted."""
    url = cup.manager.url
    for kind in ("LEAGUE", "REFEREE"):
        await post(url, _registration(kind, "Chess", game_types=["chess"]))
        await post(url, _registration(kind, "Outside", contact_endpoint="http://192.0.2.1/mcp"))
    await post(url, _request("league_command", "LEAGUE_COMMAND", command="start", auth_token="x"))


async def _ask_everything(wire, cup, match_id):
    """Every query, as a player and without a token; what an unknown caller can ask of agents."""
    url = cup.manager.url
    first = next(agent for agent in cup.agents if agent.host.role.KIND == "player")
    token = first.host.role.state.token
    about = {"match_id": match_id, "agent_id": "REF01", "player_id": first.host.role.agent_id}
    for query in (*QUERIES, *DIRECTORIES, "MATCH", "AGENT", "STAGE", "WEATHER"):
        fields = {"query_type": f"GET_{query}", "query_params": about, "league_id": cup.league_id}
        await post(url, _request("league_query", "LEAGUE_QUERY", auth_token=token, **fields))
        del fields["league_id"]  # Which is missed, but not needed.
        await post(url, _request("get_standings", "LEAGUE_QUERY", **fields))
    await post(url, _request("league_query", "LEAGUE_QUERY", query_type="STATUS", **NAMELESS))
    await post(url, _request("league_query", "LEAGUE_QUERY", query_type="GET_MATCH", **NAMELESS))
    await post(
        url, _request("league_query", "LEAGUE_QUERY", query_type="GET_STATUS", auth_token="x")
    )
    # Refused, and nothing is answered: so LEAGUE_ERROR goes to whoever sent it.
    lost = json.loads(
        _request("league_query", "LEAGUE_QUERY", query_type="GET_WEATHER", auth_token=token)
    )
    del lost["id"]
    await post(url, json.dumps(lost).encode())
    await wire.until(b"LEAGUE_ERROR_ACK")
    for body in BROKEN_BODIES:
        await post(url, body)
    await post(url, json.dumps(QUERY).encode())
    await post(url, b"{no JSON")
    for agent in cup.agents:
        if agent.host.role.KIND == "referee":
            for wanted in (match_id, "R9M9"):
                ask = _request("get_match_state", "MATCH_STATE_REQUEST", match_id=wanted)
                await post(agent.url, ask)
        else:  # Nobody's invitation.
            for fields in ({}, dict(NAMELESS)):
                fields |= {"match_id": match_id}
                ask = _request("handle_game_invitation", "GAME_INVITATION", **fields)
                await post(agent.url, ask)
