"""The organisers' API: each sees and changes own leagues alone, as if there were no others."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from agentleague.errors import Claimed, LeagueError, StorageAway, StorageError
from agentleague.protocol import codec
from agentleague.protocol.join_codes import is_guessable
from agentleague.protocol.mcp import bearer
from agentleague.protocol.messages import LeagueCommand, LeagueCommandResponse
from agentleague.protocol.timestamps import write
from agentleague.roles.settings import ManagerSettings, ServiceSettings
from agentleague.roles.stimuli import Caller
from agentleague.runtime import plugins
from agentleague.runtime.clock import wall
from agentleague.runtime.processes import Running
from agentleague.runtime.settings import Given, SettingError, check_table, read_table
from agentleague.runtime.state_files import new_join_code, new_league_id
from agentleague.service.leagues import OPERATORS, ServedLeagues
from agentleague.storage.service_view import ARCHIVED, CREATING, OPEN, LeagueRow
from agentleague.transport.http_response import HttpRequest, Response

log = logging.getLogger(__name__)
STATES = {"archive": ARCHIVED, "reopen": OPEN}
COMMANDS = {  # what a league is told
    **{name: name for name in ("start", "pause", "abort", "remove", "rule", "approve")},
    **{name: name for name in ("add_player", "add_referee", "set_endpoint")},
    "resume": "start",
}
# What is the operator's, for all leagues, or of no use here.
NOT_HERE = (*OPERATORS, "dashboard", "dashboard_bind", "dashboard_port", "files", "shared_dir")
Told = tuple[int, Mapping[str, Any]]  # HTTP status and JSON


class OrganisersApi:
    """Answers requests with an organiser's key."""

    def __init__(self, leagues: ServedLeagues, settings: ServiceSettings) -> None:
        self._leagues, self._settings = leagues, settings
        self._under_way: set[asyncio.Task[None]] = set()

    def takes(self, rest: str) -> bool:
        """Whether a path below a league is for its organiser."""
        return rest == "" or rest in STATES or rest in COMMANDS

    def needs_owner(self, rest: str) -> bool:
        """Whether only the worker that runs the league can answer."""
        return rest not in STATES

    def all(self, request: HttpRequest, respond: Response) -> None:
        """List the organiser's leagues, or make one."""
        organiser = self._leagues.organiser_of(bearer(request.head))
        if not organiser:
            respond(*_json(*_no_key()))
        elif request.method == "POST":
            self._later(self._create(organiser, request.body), respond)
        else:
            self._later(self._list(organiser), respond)

    def one(
        self,
        row: LeagueRow | None,
        running: Running | None,
        action: str,
        request: HttpRequest,
        respond: Response,
    ) -> None:
        """Show or change one league."""
        key = bearer(request.head)
        organiser = self._leagues.organiser_of(key)
        if not organiser:
            respond(*_json(*_no_key()))
        elif row is None or row.organiser != organiser:
            respond(*_json(404, {"error": "you have no league of this name"}))
        elif not action:
            respond(*_json(200, self._shown(row, running)))
        elif request.method != "POST":
            respond(*_json(405, {"error": f"send a POST to {action}"}))
        elif action in STATES:
            self._later(self._set_state(row, STATES[action]), respond)
        elif running is None:
            status = 503 if row.state in (CREATING, OPEN) else 409
            respond(*_json(status, {"error": f"this league does not run now: it is {row.state}"}))
        else:
            caller = Caller(request.source, key)
            self._later(_command(running, COMMANDS[action], request.body, caller), respond)

    def _shown(self, row: LeagueRow, running: Running | None = None) -> dict[str, Any]:
        league = getattr(running.host.role, "league", None) if running else None
        state, _, why = row.state.partition(": ")
        shown = {"league_id": row.league_id, "state": state}
        shown |= {"url": self._leagues.url_of(row.league_id)} | ({"reason": why} if why else {})
        if league:
            round_id, players = league.round_id, league.players_total
            shown |= {"phase": str(league.phase), "round": round_id, "players": players}
        return shown

    async def _list(self, organiser: str) -> Told:
        await self._leagues.look()  # What was changed at another worker a moment ago counts too.
        own = [each for each in self._leagues.view.leagues if each.organiser == organiser]
        return 200, {"leagues": [self._shown(each) for each in own]}

    async def _set_state(self, row: LeagueRow, state: str) -> Told:
        table, most = self._leagues.table, self._settings.leagues_max
        if state == OPEN:
            await asyncio.to_thread(table.reopen, row.league_id, row.organiser, most)
        else:
            await asyncio.to_thread(table.set_state, row.league_id, state)
        return 200, {"league_id": row.league_id, "state": state}

    async def _create(self, organiser: str, body: bytes) -> Told:
        given, settings = self._read(body)
        table, league_id = self._leagues.table, settings.league_id
        await asyncio.to_thread(table.create, league_id, organiser, self._settings.leagues_max)
        codes = {"join_code": settings.join_code, "referee_code": settings.referee_code}
        kept = {**given.values, "players_max": settings.players_max, **codes}
        try:
            await asyncio.to_thread(self._leagues.keep_settings, league_id, kept)
            await asyncio.to_thread(table.set_state, league_id, OPEN)
        except StorageError:  # Its name is to be free when the same is sent again.
            await asyncio.to_thread(table.forget, league_id)
            raise
        return 201, {"league_id": league_id, "url": self._leagues.url_of(league_id), **codes}

    def _read(self, body: bytes) -> tuple[Given, ManagerSettings]:
        """The settings of a new league, checked. Raises SettingError, which names the field."""
        try:
            table = msgspec.json.decode(body or b"{}", type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            raise SettingError("send the settings as a JSON object") from None
        given = read_table(ManagerSettings, table)
        for name in NOT_HERE:
            if name in given.values:
                raise given.wrong(name, "is set for all leagues of this service; leave it out")
        most = self._settings.players_max
        asked = replace(given.make(ManagerSettings), seeded=False)
        asked = asked if "players_max" in given.values else replace(asked, players_max=most)
        if asked.players_max > most:
            raise given.wrong("players_max", f"may be {most} at most in this service")
        check_table(given, asked)
        game = self._check_game(given, asked)
        codes = {}
        for name in ("join_code", "referee_code"):
            code = codes[name] = given.values.get(name, new_join_code())
            if code and is_guessable(code):
                raise given.wrong(name, f"can be guessed; leave it out, or take {new_join_code()}")
        league_id = asked.league_id or new_league_id(game, None)
        return given, replace(asked, league_id=league_id, game_type=game, **codes)

    def _check_game(self, given: Given, asked: ManagerSettings) -> str:
        name = "game_type"
        try:  # The text names what is installed, never a file.
            game = plugins.load_game(asked.game_type)
            name = "game_options"
            game.start(asked.game_options)
        except (LeagueError, ValueError) as error:
            raise given.wrong(name, f"cannot be: {error}") from None
        return game.name

    def _later(self, work: Awaitable[Told], respond: Response) -> None:
        task = asyncio.ensure_future(_answer(work, respond))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)


async def _answer(work: Awaitable[Told], respond: Response) -> None:
    try:
        told = await work
    except Claimed as error:
        told = 409, {"error": str(error)}
    except StorageAway as error:  # Which names the database, its host and our role there.
        log.warning("an organiser was told that the database is away: %s", error)
        told = 503, {"error": "the database of this service is away; try again in a second"}
    except StorageError as error:
        told = 503, {"error": str(error)}
    except (SettingError, LeagueError) as error:
        told = 400, {"error": str(error)}
    except Exception:  # Else who asked would wait for ever.
        log.exception("a request of an organiser failed")
        told = 500, {"error": "this is a fault of the service, which its log shows"}
    respond(*_json(*told))


async def _command(running: Running, command: str, body: bytes, caller: Caller) -> Told:
    """Tell the league's manager what its organiser wants; the key counts as the league's own."""
    try:
        params = msgspec.json.decode(body or b"{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return 400, {"error": "send the parameters as a JSON object"}
    answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    about = {"sender": "league_command", "timestamp": write(wall()), "conversation_id": "conv-api"}
    message = LeagueCommand(command, params, **about, auth_token=str(caller.token))
    running.host.ask(message, caller, partial(_settle, answered))
    answer = await answered
    if isinstance(answer, LeagueCommandResponse):
        return 200, {"said": answer.said}
    if isinstance(answer, StorageError):
        raise answer
    return 409, {"error": str(answer)}


def _settle(answered: "asyncio.Future[Any]", answer: Any) -> None:
    if not answered.done():
        answered.set_result(answer)


def _no_key() -> Told:
    how = "this needs an organiser's key that counts, in the header Authorization: Bearer KEY"
    return 401, {"error": how}


def _json(status: int, told: Mapping[str, Any]) -> tuple[int, bytes, tuple[tuple[str, str], ...]]:
    headers = [("Cache-Control", "no-store")]
    headers += [("Retry-After", "1")] if status == 503 else []
    headers += [("WWW-Authenticate", "Bearer")] if status == 401 else []
    return status, codec.encode(told), tuple(headers)
