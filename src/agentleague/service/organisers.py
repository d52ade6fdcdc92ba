"""The organisers' API: each sees and changes own leagues alone, as if there were no others."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from agentleague import errors
from agentleague.errors import Claimed, LeagueError, StorageError
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
from agentleague.service.leagues import NOT_HERE, ServedLeagues, phase_of
from agentleague.storage.service_view import ARCHIVED, CREATING, OPEN, LeagueRow
from agentleague.transport.event_loop import settle
from agentleague.transport.http import Buckets, Rate
from agentleague.transport.http_response import HttpRequest, Response

log = logging.getLogger(__name__)
UNKNOWN_KEYS = Rate(per_second=5.0, burst=20.0)  # that are looked up, of all sources together
STATES = {"archive": ARCHIVED, "reopen": OPEN}
COMMANDS = {  # what a league is told
    **{name: name for name in ("start", "pause", "abort", "remove", "rule", "approve")},
    **{name: name for name in ("add_player", "add_referee", "set_endpoint")},
    "resume": "start",
}
ACTIONS = (*COMMANDS, *STATES, "codes")
OF_AGENTS = ("mcp", "register", "health", "metrics", "seats")
READS = ("GET", "HEAD")
Told = tuple[int, Mapping[str, Any]]  # HTTP status and JSON


class OrganisersApi:
    """Answers requests with an organiser's key."""

    def __init__(self, leagues: ServedLeagues, settings: ServiceSettings) -> None:
        self._leagues, self._settings = leagues, settings
        self._under_way: set[asyncio.Task[None]] = set()
        self._lookups = Buckets(UNKNOWN_KEYS)

    def takes(self, rest: str, request: HttpRequest) -> bool:
        """Whether a path below a league is for its organiser, or thought to be by one."""
        if rest == "" or rest in ACTIONS:
            return True
        is_of_agents = rest.partition("/")[0] in OF_AGENTS
        return not is_of_agents and bearer(request.head).startswith("org_")

    def needs_owner(self, rest: str) -> bool:
        """Whether only the worker that runs the league can answer."""
        return rest == "" or rest in COMMANDS

    def all(self, request: HttpRequest, respond: Response) -> None:
        """List the organiser's leagues, or make one."""
        self._later(self._all(request), respond)

    async def _all(self, request: HttpRequest) -> Told:
        organiser = await self._organiser(bearer(request.head))
        if request.method == "POST":
            return await self._create(organiser, request.body)
        if request.method not in READS:
            return 405, {"error": "send a GET to list your leagues, a POST to make one"}
        return await self._list(organiser)

    async def _organiser(self, key: str) -> str:
        """Whose key this is, also if it was made a moment ago. Raises NotAuthorised."""
        if not key:
            raise errors.TokenMissing("your organiser's key is missing: Authorization: Bearer KEY")
        found, now = self._leagues.organiser_of(key), asyncio.get_running_loop().time()
        if not found and self._lookups.take("", now) is not None:
            found = await asyncio.to_thread(self._leagues.look_up, key)
        if not found:
            raise errors.TokenInvalid("the service does not know this key; ask who runs it")
        return found

    def one(
        self,
        row: LeagueRow | None,
        running: Running | None,
        action: str,
        request: HttpRequest,
        respond: Response,
    ) -> None:
        """Show or change one league."""
        self._later(self._one(row, running, action, request), respond)

    async def _one(
        self, row: LeagueRow | None, running: Running | None, action: str, request: HttpRequest
    ) -> Told:
        key = bearer(request.head)
        organiser = await self._organiser(key)
        if row is None or row.organiser != organiser:
            return 404, {"error": "you have no league of this name"}
        if action and action not in ACTIONS:
            return 404, {"error": f"there is no {action[:64]!r}; there are {', '.join(ACTIONS)}"}
        methods = READS if action in ("", "codes") else ("POST",)
        if request.method not in methods:
            return 405, {"error": f"send a {methods[0]} to {request.path[:200]}"}
        if action in STATES:
            return await self._set_state(row, STATES[action])
        if action == "codes":
            return await asyncio.to_thread(self._codes, row.league_id)
        if not action:
            return 200, self._shown(row, running)
        if running is None:
            return _not_running(row)
        caller = Caller(request.source, key)
        return await _command(running, COMMANDS[action], request.body, caller)

    def _codes(self, league_id: str) -> Told:
        chosen = self._leagues.chosen(league_id)
        return 200, {name: chosen.get(name, "") for name in ("join_code", "referee_code")}

    def _shown(self, row: LeagueRow, running: Running | None = None) -> dict[str, Any]:
        league = getattr(running.host.role, "league", None) if running else None
        state, _, why = row.state.partition(": ")
        shown = {"league_id": row.league_id, "state": state}
        shown["phase"] = phase_of(running) if running else row.phase
        shown |= {"url": self._leagues.url_of(row.league_id)} | ({"reason": why} if why else {})
        if league:
            shown |= {"round": league.round_id, "players": league.players_total}
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
    except errors.NotAuthorised as error:
        told = 401, {"error": str(error)}
    except Claimed as error:
        told = 409, {"error": str(error)}
    except StorageError as error:  # Which may name the database, its host and our role there.
        log.warning("an organiser was told that the database is away: %s", error)
        told = 503, {"error": "the database of this service is away; try again in a second"}
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
    running.host.ask(message, caller, partial(settle, answered))
    answer = await answered
    if isinstance(answer, LeagueCommandResponse):
        return 200, {"said": answer.said}
    if isinstance(answer, StorageError):
        raise answer
    return 400 if isinstance(answer, errors.MissingField) else 409, {"error": str(answer)}


def _not_running(row: LeagueRow) -> Told:
    if row.state in (CREATING, OPEN):
        return 503, {"error": "this league is about to begin here; try again in a second"}
    how = f"serve it again with: league leagues reopen {row.league_id}"
    return 409, {"error": f"this league does not run now, it is {row.state}; {how}"}


def _json(status: int, told: Mapping[str, Any]) -> tuple[int, bytes, tuple[tuple[str, str], ...]]:
    headers = [("Cache-Control", "no-store")]
    headers += [("Retry-After", "1")] if status == 503 else []
    headers += [("WWW-Authenticate", "Bearer")] if status == 401 else []
    return status, codec.encode(told), tuple(headers)
