"""Tools of a manager by which a model in an MCP host takes part: each seat has a hosted player.

A seat is the claim with which its player registered: nobody else knows it, the journal holds its
digest, and after a restart of the manager the next call with it opens the same player again.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from agentleague import errors
from agentleague.errors import LeagueError
from agentleague.games.game import Game
from agentleague.league.league import Phase
from agentleague.league.roster import Member, clean_name
from agentleague.player.role import Player
from agentleague.protocol import messages
from agentleague.protocol.mcp_tools import Respond, Tool, play_prompt
from agentleague.protocol.printable import counted, one_line_json, printable_json
from agentleague.protocol.seats import WAIT_SECONDS
from agentleague.protocol.timestamps import write
from agentleague.roles.agent import AgentState
from agentleague.roles.settings import ManagerSettings, PlayerSettings
from agentleague.roles.stimuli import Caller
from agentleague.runtime.clock import LoopClock, wall
from agentleague.runtime.host import Host
from agentleague.runtime.hosted_players import HostedPlayer, Shown
from agentleague.runtime.manager_tools import SEAT, new_seat
from agentleague.runtime.processes import Place, Running, begin
from agentleague.transport.guard import Guard, parse_url
from agentleague.transport.http import HttpTransport

NAME_MAX, CODE_MAX = 50, 64
_VERSION = "1.0.0+hosted"  # tells them from other players, also in the journal
_THEN = "Call wait_for_turn"
REFUSED = (
    "The manager refuses your player at the moment. Call wait_for_turn again with the same seat: "
    "your player then comes back. If this is said again, ask the organiser."
)

Arguments = dict[str, Any]


class McpHosts:
    """The hosts at one manager, whose own URL on this machine is `url`."""

    def __init__(
        self, manager: Running, settings: ManagerSettings, game: Game, *, url: str, admin_token: str
    ) -> None:
        role: Any = manager.host.role
        self._manager, self._settings, self._league = manager, settings, role.league
        self._url, self._admin_token = url, admin_token
        self._clock = LoopClock(asyncio.get_running_loop())
        self._players: dict[str, tuple[HostedPlayer, Running]] = {}  # by seat
        manager.hosted = self._players
        self._stopping: set[asyncio.Future[None]] = set()
        self._prompt = play_prompt(game.name, game.__doc__ or "", settings.game_options)
        manager.transport.mcp.add(self._prompt)
        for name, (act, *about) in _TOOLS.items():
            manager.transport.mcp.add(_tool(name, partial(act, self), *about))
        manager.leaving.append(self._stop)

    async def _stop(self) -> None:
        for hosted, _ in self._players.values():
            hosted.release()
        await asyncio.gather(*(running.stop() for _, running in self._players.values()))

    # Tools

    def _join(self, arguments: Arguments, caller: Caller, respond: Respond) -> None:
        seat, name, code = (arguments[key] for key in ("seat", "name", "join_code"))
        if self._league.roster.claimed(seat):
            self._welcome(self._hosted(seat)[0], seat, respond)
            return
        if seat and (seat != caller.token or not SEAT.fullmatch(seat)):  # A model's are guessable.
            raise errors.TokenInvalid("seat: no player has this one; leave it out to get a new one")
        if not 0 < len(name.strip()) <= NAME_MAX or len(code) > CODE_MAX:
            why = f"name must have 1 to {NAME_MAX} letters, and join_code at most {CODE_MAX}"
            raise errors.WrongType(why, field="name")
        self._check_place(name, caller.source if not seat else None)
        seat = seat or new_seat()
        own = {"seat": True, "claim": seat, "join_code": code, "proofs": True}
        meta = messages.PlayerMeta(name, "", _VERSION, [self._settings.game_type], "2.1.0", **own)
        request, joined = messages.LeagueRegisterRequest(meta), partial(self._joined, seat, respond)
        self._ask(request, Caller(caller.source), joined)

    def _check_place(self, name: str, source: str | None) -> None:
        """Raises LeagueFull, or DuplicateName for one from this source that may have joined."""
        most, members, name = self._settings.hosted_players, self._members(), clean_name(name)
        if not most or not self._settings.seats:
            setting = "hosted_players = 0" if self._settings.seats else "seats = false"
            why = f"this league lets no models and no persons in ({setting}); ask the organiser"
            raise errors.LeagueFull(why)
        here = (each for each in members if each.source == source)
        if name in (each.display_name.removesuffix(f" ({each.agent_id})") for each in here):
            who = f"a player {one_line_json(name)} joined from your address already"
            why = f"{who}; if that is you, send its seat, else choose another name"
            raise errors.DuplicateName(why)
        if len(members) >= most:
            raise errors.LeagueFull(
                f"this league takes {counted(most, 'hosted player')} and no more (hosted_players = "
                f"{most}); ask the organiser for more, or join with: league player"
            )

    def _joined(self, seat: str, respond: Respond, answer: Any) -> None:
        if isinstance(answer, LeagueError):
            field, own = "player_meta.join_code", "join_code"
            about = {key: own if at == field else at for key, at in answer.context.items()}
            respond(type(answer)(str(answer).replace(field, f"the argument {own}"), **about))
        elif answer.status != "REJECTED":
            self._welcome(self._hosted(seat)[0], seat, respond)
        elif self._league.phase is Phase.REGISTERING:
            respond(errors.UnexpectedMessage(answer.hint))
        else:
            then = "get_standings shows its table; ask the organiser when the next one begins"
            respond(errors.LateRegistration(f"{answer.hint}; {then}"))

    def _welcome(self, hosted: HostedPlayer, seat: str, respond: Respond) -> None:
        player_id, rules, how = hosted.player_id, self._league.rules, self._prompt.text
        name, league_id = self._name(player_id), rules.league_id
        who = {"seat": seat, "player_id": player_id, "name": name, "league_id": league_id}
        respond(
            {**who, "game": rules.game_type, "rules": how, "next": f"{_THEN}."},
            f"You are {player_id} {one_line_json(name)} in {league_id}. Your seat is {seat}: send "
            f"it with every call, and show it to nobody.\n{how}\n"
            f"You have joined: go on with 2. {_THEN}.",
        )

    def _wait(self, arguments: Arguments, caller: Caller, respond: Any) -> None:
        seconds, hosted = arguments["max_wait_seconds"], self._hosted(arguments["seat"])[0]
        seconds = min(max(seconds, 0), WAIT_SECONDS)
        hosted.wait(seconds, arguments["seen"], lambda shown: respond(shown, _in_words(shown)))
        respond.wait()

    def _submit(self, arguments: Arguments, caller: Caller, respond: Respond) -> None:
        hosted, _ = self._hosted(arguments["seat"])
        done = hosted.submit(arguments["move"], arguments["turn_id"])
        respond(done, f"You played {one_line_json(done['move'])} in {done['match_id']}. {_THEN}.")

    def _query(
        self, query_type: str, arguments: Arguments, caller: Caller, respond: Respond
    ) -> None:
        token, asked = caller.token, ("match_id", "offset", "limit")
        if arguments["seat"]:
            role: Any = self._hosted(arguments["seat"])[1].host.role
            token = role.state.token
        params = {name: value for name, value in arguments.items() if name in asked}

        def told(answer: Any) -> None:
            data = getattr(answer, "data", None)
            respond(data, printable_json(data)) if data else respond(answer)

        query = messages.LeagueQuery(query_type, query_params=params)
        self._ask(query, Caller(caller.source, token or None), told)

    def _leave(self, arguments: Arguments, caller: Caller, respond: Respond) -> None:
        def left(answer: Any) -> None:
            if not isinstance(answer, messages.LeagueCommandResponse):
                respond(answer)
                return
            hosted.leave()
            if self._league.phase is Phase.REGISTERING:  # Others may join in its place.
                self._players.pop(seat, None)
                task = asyncio.ensure_future(running.stop())
                self._stopping.add(task)
                task.add_done_callback(self._stopping.discard)
            text = "You have left: your match in play, if any, and all coming ones are lost."
            respond({"left": True, "text": text}, text)

        seat = arguments["seat"]
        hosted, running = self._hosted(seat)
        params = {"player_id": hosted.player_id}
        organiser = Caller(caller.source, self._admin_token)
        self._ask(messages.LeagueCommand("remove", params), organiser, left)

    # Players

    def _ask(self, message: Any, caller: Caller, reply: Callable[[Any], None]) -> None:
        """Ask the manager what others ask over the wire; it answers when that is on disk."""
        about = {"sender": "player:mcp", "timestamp": write(wall()), "conversation_id": "conv-mcp"}
        self._manager.host.ask(replace(message, **about), caller, reply)

    def _members(self) -> list[Member]:
        """The players of hosts who have not left, also of hosts that are away."""
        roster = self._league.roster
        there = (each for each in roster.players.values() if each.version == _VERSION)
        return [each for each in there if each.agent_id not in roster.removed]

    def _hosted(self, seat: str) -> tuple[HostedPlayer, Running]:
        """The player of this seat. Raises LeagueError."""
        roster = self._league.roster
        player_id = roster.claimed(seat) if SEAT.fullmatch(seat) else None
        if not seat:
            how = "seat: send the one that join_league returned; call join_league to get one"
            raise errors.TokenMissing(how)
        if player_id is None:
            raise errors.TokenInvalid("seat: no player has this one; call join_league to get one")
        if player_id in roster.removed:
            raise errors.UnexpectedMessage("you have left; get_standings shows the table")
        return self._players.get(seat) or self._open(seat, player_id)

    def _open(self, seat: str, player_id: str) -> tuple[HostedPlayer, Running]:
        hosted = HostedPlayer(player_id, self._clock, self._name, self._waits_for)
        about: Any = {"manager_url": self._url, "display_name": self._name(player_id)}
        games = (self._settings.game_type,)
        role = Player(PlayerSettings(**about, game_types=games, outbound=True))
        role.remember(AgentState(claim=seat))
        role.hook_calls = hosted.hooks
        policy = Place(0, guard=Guard(typed=[parse_url(self._url)])).policy("player")
        transport = HttpTransport(self._clock, policy)
        running = begin(Host(role, self._clock, transport, runner=hosted), transport, "")

        def ended(_: Any) -> None:
            if running.refusal:  # The next call with its seat tries again.
                del self._players[seat]
                hosted.hear(REFUSED)

        running.tell(hosted.hear)
        running.ended.add_done_callback(ended)
        self._players[seat] = hosted, running
        return hosted, running

    def _name(self, player_id: str) -> str:
        member = self._league.roster.players.get(player_id)
        return member.display_name if member else ""

    def _waits_for(self) -> str:
        league, wanted = self._league, self._settings.players
        if league.phase is Phase.COMPLETED:
            return "The league is over."
        if league.phase is not Phase.REGISTERING:
            return "The organiser has paused the league." if league.paused else ""
        there = counted(league.players_total, "player")
        then = f"it begins when there are {wanted}" if wanted else "its organiser starts it"
        return f"The league has not begun: {there} joined so far, and {then}."


def _in_words(shown: Shown) -> str:
    """What a model reads; names that others chose stand in quotes."""
    news = "".join(f"{each['text']}\n" for each in shown["news"])
    if shown["status"] == "league_over":
        final, own = shown["final"], shown["final"]["you"] or {}
        place = f"You are number {own.get('rank', '?')} of {final['players']}"
        return f"{news}The league is over. {place}. There is nothing more to do."
    if shown["status"] != "your_turn":
        return f"{news}{shown['waiting_for']} {_THEN} again, with seen {shown['seen']}."
    whom = f"{shown['opponent']['player_id']} {one_line_json(shown['opponent']['name'])}"
    return (
        f"{news}It is your turn in {shown['match_id']}, round {shown['round']}, against {whom}; "
        f"{shown['seconds_left']:g} seconds are left.\n"
        f"The position: {printable_json(shown['position'])}\n"
        f"Legal moves: {printable_json(shown['legal_moves'])}\n"
        f"Call submit_move with one of them and turn_id {shown['turn_id']}."
    )


def _tool(name: str, act: Callable[..., None], about: str, takes: str, gives: str) -> Tool:
    """A tool, with the names of its arguments, where * marks those it needs, and of its result."""

    def call(arguments: Arguments, caller: Caller, respond: Respond) -> None:
        bearer = caller.token or ""
        seat = arguments.get("seat") or (bearer if SEAT.fullmatch(bearer) else "")
        try:
            act({**_DEFAULTS, **arguments, "seat": seat}, caller, respond)
        except LeagueError as error:
            respond(error)

    known = {each.rstrip("*"): _ARGUMENTS[each.rstrip("*")] for each in takes.split()}
    needed = [each[:-1] for each in takes.split() if each.endswith("*")]
    is_read = name not in ("join_league", "submit_move", "leave_league")
    hints = {"readOnlyHint": is_read, "openWorldHint": False}
    hints |= {} if is_read else {"destructiveHint": name == "leave_league"}
    schema = {"type": "object", "properties": known, "required": needed}
    shown = {"type": "object", "properties": {each: {} for each in gives.split()}}
    return Tool(name, about, schema, shown, hints, call)


def _text(about: str) -> dict[str, str]:
    return {"type": "string", "description": about}


_DEFAULTS = {"join_code": "", "turn_id": "", "max_wait_seconds": WAIT_SECONDS, "seen": None}
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "name": _text("The name under which you play, at most 50 letters."),
    "join_code": _text("The code of the league, if its organiser told you one."),
    "seat": _text("Your seat, as join_league returned it. Keep it secret."),
    "max_wait_seconds": {
        **{"type": "number", "default": WAIT_SECONDS, "minimum": 0, "maximum": WAIT_SECONDS},
        "description": "How long to wait for something to happen.",
    },
    "seen": {"type": "integer", "description": "`seen` of the last answer: tells what is new."},
    "move": {"description": "One of legal_moves, exactly as it was shown there."},
    "turn_id": _text("turn_id of the turn that you answer, so that you answer no other."),
    "match_id": _text("A match, such as R1M1: the first of round 1."),
    "offset": {"type": "integer", "description": "How many places of the table to leave out."},
    "limit": {"type": "integer", "description": "How many places to show."},
}
_TOOLS: dict[str, tuple[Callable[..., None], str, str, str]] = {
    "join_league": (
        McpHosts._join,
        "Join the league as a player. Returns your seat, which every later call needs, and the "
        "rules of the game. Then call wait_for_turn. Joining again with a seat returns the same.",
        "name* join_code seat",
        "seat player_id name league_id game rules next",
    ),
    "wait_for_turn": (
        McpHosts._wait,
        "Wait until it is your turn, at most 25 seconds. status is your_turn (with the position "
        "and the legal moves: call submit_move before seconds_left are over), waiting or "
        "match_over (call wait_for_turn again) or league_over (stop). A league may take long: go "
        "on calling it.",
        "seat max_wait_seconds seen",
        "status waiting_for turn_id match_id round you opponent position legal_moves seconds_left "
        "attempt news seen final",
    ),
    "submit_move": (
        McpHosts._submit,
        "Play a move when it is your turn. If it is not legal, the error lists the legal moves and "
        "you may try again while time is left. Then call wait_for_turn.",
        "move* seat turn_id",
        "accepted match_id turn_id move",
    ),
    "get_standings": (
        lambda hosts, *asked: hosts._query("GET_STANDINGS", *asked),
        "The table of the league: rank, points, wins, draws and losses of each player.",
        "seat offset limit",
        "standings current_round total",
    ),
    "get_match": (
        lambda hosts, *asked: hosts._query("GET_MATCH", *asked),
        "How a match stands, or how it ended and why.",
        "match_id* seat",
        "match",
    ),
    "leave_league": (
        McpHosts._leave,
        "Leave the league for good: your coming matches are lost. Only if you were told to.",
        "seat",
        "left text",
    ),
}
