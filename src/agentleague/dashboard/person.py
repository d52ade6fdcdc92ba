"""A person at the table: pages of one seat, which plays by the manager's tools as a model does.

What was played comes from the journal, what is live from the manager; only the last turn of each
player is kept here, to show it while the other thinks. The seat is a cookie that no script can read
and no other site can use.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import partial, wraps
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec
from markupsafe import Markup
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from agentleague.dashboard import overview
from agentleague.dashboard.following import Following
from agentleague.dashboard.live_pages import main_of
from agentleague.dashboard.pages import Facts, Page
from agentleague.dashboard.paging import with_names
from agentleague.dashboard.rendering import environment, live_link, safe_svg
from agentleague.errors import LeagueError, NoConnection, UnexpectedMessage
from agentleague.games.game import picture_of_position
from agentleague.games.svg import cleaned
from agentleague.league.league import Phase
from agentleague.protocol.printable import one_line_json
from agentleague.protocol.seats import WAIT_SECONDS
from agentleague.records.replay import steps
from agentleague.runtime.manager_tools import SEAT, ManagerTools, new_seat

TITLE = re.compile(r"<title>([^<]*)</title>")  # of a picture, escaped as it stands there
COOKIE_SECONDS = 30 * 86_400
BODY_MAX, BODY_SECONDS = 16_384, 10.0  # bytes of a form, and how long they may take
LOOK_SECONDS = 1.0  # between two looks at a turn that is open, and that the manager may hold
REST_SECONDS = 0.1  # between two other looks
TABS_MAX = 16  # of one seat that wait for news: each of them asks the manager
NAME_MAX = 50
JOURNAL_SECONDS = 5.0  # for the journal to show who has joined
LINK_SECONDS = 1.5  # for it to show whose seat a link is
RESULTS_MAX, FIRST_ROWS, NEAR_ROWS = 3, 5, 2  # matches, rows of the table, rows around one's own
PRIVATE = {"Cache-Control": "no-store", "Referrer-Policy": "same-origin"}
# A cookie is not sent along where another site led here; a page of our own leads on with it.
BOUNCE = (
    '<!doctype html><meta http-equiv="refresh" content="0;url={0}">'
    '<title>Your table</title><p><a href="{0}">Go to your table</a></p>'
)
SENT_ALONG = "cookies_are_sent"  # the cookie by which it is known that they are

Answer = Callable[[Request], Awaitable[Response]]


def routes(following: Following) -> list[Route]:
    """The pages of persons, for a dashboard."""
    table = Table(following)
    shown = {"/play": table.show, "/play/state": table.state, "/play/join": table.sit_down}
    done = {"/play/move": table.move, "/play/join": table.join, "/play/leave": table.leave}

    def route(path: str, act: Answer, **about: Any) -> Route:
        async def answer(request: Request) -> Response:
            if not await following.ready():  # The league is in the name of its cookie.
                why = following.waits_for
                return Response(why, 503, {**PRIVATE, "Refresh": "2"}, "text/plain")
            return await act(request)

        return Route(path, answer, **about)

    return [
        Route("/join", table.lead_to_seat),
        *(route(path, _same_site(act), methods=["POST"]) for path, act in done.items()),
        *(route(path, act) for path, act in shown.items()),
        route("/play/{seat}", table.enter),
    ]


def _same_site(act: Answer) -> Answer:
    """Refuse what a page of another site sends; programs that are no browser say nothing."""

    @wraps(act)
    async def checked(request: Request) -> Response:
        told, origin = (request.headers.get(name) for name in ("sec-fetch-site", "origin"))
        own = urlsplit(origin).netloc == request.headers.get("host") if origin else True
        if (told not in ("same-origin", "none")) if told else not own:
            why = "This came from a page of another site, so nothing was done. Open /play yourself."
            return Response(why, 403, PRIVATE, "text/plain")
        return await act(request)

    return checked


class Live(NamedTuple):
    """What the manager shows at a seat, or why it does not."""

    shown: Mapping[str, Any] = {}
    away: str = ""
    last: Mapping[str, Any] = {}  # the last turn that was shown, and what was `played` in it

    @property
    def is_waiting(self) -> bool:
        """Whether the manager tells when something happens."""
        return self.shown.get("status") in ("waiting", "match_over")

    @property
    def seconds_left(self) -> float:
        """For the move of this turn."""
        return float(self.shown.get("seconds_left", 0.0))


class Table:
    """What persons see and do; which of them it is, the cookie says."""

    def __init__(self, following: Following) -> None:
        self._following, self._view = following, following.view
        self._env, self._tools = environment(live_link), ManagerTools()
        self._tabs = Counter[str]()  # that wait, by player
        self._last: dict[str, dict[str, Any]] = {}  # by player: see Live

    # Pages

    async def enter(self, request: Request) -> Response:
        """The one link of a seat: it becomes a cookie, and leaves the address and the history."""
        seat, name = request.path_params["seat"], request.query_params.get("name", "")
        if not SEAT.fullmatch(seat):
            return await self._page("", problem="This is not the whole link of a seat.", status=404)
        if not _has_cookies(request):
            return await self._lead_on(request, name)
        own = self._seat(request)
        player_id = self._player(own)
        if seat != own and player_id and player_id not in self._view.league.roster.removed:
            why = f"This browser has the seat of {self._view.name_of(player_id)} and keeps it. "
            why += "Open the link of another seat in a private window, or in another browser."
            return await self._page(own, problem=why, status=409)
        if not name and self._is_open:
            await self._until(lambda: bool(self._player(seat)), LINK_SECONDS)
            if not self._player(seat):
                why = f"No player of {self._view.league_id} has the seat of this link: another "
                why += "league may have been here before. Ask the organiser where its pages are."
                return await self._page("", problem=why, status=404)
        return self._with_seat(request, seat, f"/play?name={quote(name)}" if name else "/play")

    async def lead_to_seat(self, request: Request) -> Response:
        """The address that everybody may know; the cookie is known below /play alone."""
        return RedirectResponse("/play/join", 303, PRIVATE)

    async def sit_down(self, request: Request) -> Response:
        """Give who has no seat yet a new one, with which they may join."""
        if not _has_cookies(request):
            return await self._lead_on(request)
        seat = self._seat(request)
        is_of_use = self._player(seat) or (seat and self._is_open)
        return self._with_seat(request, seat if is_of_use else new_seat(), "/play?again")

    async def show(self, request: Request) -> Response:
        """The table as it is now."""
        seat, asked = self._seat(request), request.query_params
        if not seat and "again" not in asked:
            return HTMLResponse(BOUNCE.format("/play?again"), headers=PRIVATE)
        return await self._page(seat, name=asked.get("name", "")[:NAME_MAX])

    async def state(self, request: Request) -> Response:
        """The table as JSON and HTML, as soon as it differs from the version that is known."""
        seat = self._seat(request)
        player_id = self._player(seat)
        if self._tabs[player_id] >= TABS_MAX and player_id:
            why = f"This seat is open in {TABS_MAX} tabs already; close some of them."
            return Response(why, 503, {**PRIVATE, "Retry-After": "5"}, "text/plain")
        self._tabs[player_id] += 1
        try:
            return await self._next_state(request, seat)
        finally:
            self._tabs[player_id] -= 1

    async def _next_state(self, request: Request, seat: str) -> Response:
        known = request.query_params.get("version", "")
        clock, do = asyncio.get_running_loop().time, self._following.do
        until, live = clock() + WAIT_SECONDS, await self._look(seat)
        facts = await do(self._facts, seat, live)
        while _version(facts) == known and clock() < until and not await request.is_disconnected():
            await asyncio.sleep(REST_SECONDS if live.is_waiting else LOOK_SECONDS)
            live = await self._look(seat, live)
            facts = await do(self._facts, seat, live)
        told = {"version": _version(facts), "seconds_left": live.seconds_left, "state": facts}
        told["html"] = main_of(await do(self._html, facts, live))
        return Response(msgspec.json.encode(told), 200, PRIVATE, "application/json")

    # What persons do

    async def join(self, request: Request) -> Response:
        """Join the league with the seat that the page was shown with; twice is once."""
        seat, form = self._seat(request), await _form(request)
        wanted = {name: form.get(name, "").strip() for name in ("name", "join_code")}

        async def sit() -> None:
            if not seat:
                why = "your browser did not keep the seat; allow cookies here, and open /join again"
                raise UnexpectedMessage(why)
            await self._call("join_league", seat, **wanted)
            await self._until(lambda: bool(self._player(seat)))

        return await self._do(request, seat, sit(), name=wanted["name"])

    async def move(self, request: Request) -> Response:
        """Play a move; one that is not legal may be corrected while time is left."""
        seat, form = self._seat(request), await _form(request)

        async def play() -> None:
            try:
                move = msgspec.json.decode(form.get("move", ""))
            except (msgspec.DecodeError, RecursionError):
                why = 'move: this is no JSON; write 4 for a number, "rook" for a text'
                raise UnexpectedMessage(why) from None
            turn = {"turn_id": form.get("turn_id", "")}
            done = await self._call("submit_move", seat, move=move, **turn)
            if turn.items() <= self._last.get(self._player(seat), {}).items():
                self._last[self._player(seat)]["played"] = [done["move"]]
            await self._look(seat, await self._look(seat))  # Most opponents answer at once.

        return await self._do(request, seat, play())

    async def leave(self, request: Request) -> Response:
        """Leave the league for good."""
        seat = self._seat(request)

        async def go() -> None:
            await self._call("leave_league", seat)
            removed = self._view.league.roster.removed
            await self._until(lambda: self._player(seat) in removed)

        return await self._do(request, seat, go())

    async def _do(
        self, request: Request, seat: str, work: Awaitable[None], name: str = ""
    ) -> Response:
        problem = ""
        try:
            await work
        except LeagueError as error:
            problem = str(error).replace(" Call wait_for_turn.", "")
        if "json" in request.headers.get("accept", ""):
            told = msgspec.json.encode({"problem": problem})
            return Response(told, 409 if problem else 200, PRIVATE, "application/json")
        if problem:
            return await self._page(seat, name=name, problem=problem, status=409)
        return RedirectResponse("/play?again", 303, PRIVATE)

    async def _until(self, is_so: Callable[[], bool], seconds: float = JOURNAL_SECONDS) -> None:
        for _ in range(int(seconds / REST_SECONDS)):
            if is_so():
                return
            await asyncio.sleep(REST_SECONDS)

    async def _call(self, tool: str, seat: str, **arguments: Any) -> dict[str, Any]:
        url = await asyncio.to_thread(self._following.manager_url)
        if not url:
            raise NoConnection("no manager runs this league at the moment")
        return await self._tools.call(url, tool, seat, **arguments)

    # What there is to see

    @property
    def _is_open(self) -> bool:
        return self._view.league.takes_players

    def _player(self, seat: str) -> str:
        return self._view.league.roster.claimed(seat) or ""

    async def _look(self, seat: str, before: Live = Live()) -> Live:  # noqa: B008
        """What the manager shows now or, if nothing has changed since, in a moment."""
        player_id, league = self._player(seat), self._view.league
        if not player_id or player_id in league.roster.removed or league.phase is Phase.COMPLETED:
            return Live()
        wait = LOOK_SECONDS if before.is_waiting else 0
        asked = {"max_wait_seconds": wait, "seen": before.shown.get("seen", 0)}
        try:
            shown = await self._call("wait_for_turn", seat, **asked)
        except UnexpectedMessage as error:
            return Live(away=str(error))
        except LeagueError as error:
            away = f"{error}. No clock runs; this page tries again by itself."
            return Live(away=away, last=self._last.get(player_id, {}))
        now = asyncio.get_running_loop().time()
        if shown.get("status") == "your_turn":
            self._last[player_id] = {**shown, "until": now + shown["seconds_left"], "played": []}
        last = self._last.get(player_id)
        return Live(shown, last={**last, "is_late": now >= last["until"]} if last else {})

    def _facts(self, seat: str, live: Live) -> Facts:
        """All that the page shows, as plain JSON; the seconds that are left run by themselves."""
        view, player_id, shown = self._view, self._player(seat), live.shown
        league, legal = view.league, shown.get("legal_moves", [])
        status, last = self._status(seat, player_id, live), live.last
        rows = league.table.rows()
        own = next((n for n, row in enumerate(rows) if row.player_id == player_id), -9)
        return {
            "status": status,
            "you": {"player_id": player_id, "name": view.name_of(player_id)},
            "game": league.rules.game_type.replace("_", " ") if league.opened else "",
            "rules": self._rules(),
            "is_open": self._is_open,
            "needs_code": bool(league.opened and league.rules.has_join_code is True),
            "round": shown.get("round", league.round_id),
            "rounds": league.total_rounds,
            **{key: shown.get(key) for key in ("turn_id", "match_id", "opponent", "position")},
            "moves": [{"json": _json(each), "label": _label(each)} for each in legal],
            "attempt": shown.get("attempt", 1),
            "attempts": self._attempts(player_id),
            "waiting_for": self._waiting_for(player_id, live),
            "last": {key: last[key] for key in ("match_id", "position", "played")}
            if status == "waiting" and last.get("match_id") in league.undecided
            else None,
            "away": "" if status == "over" else live.away,
            "results": self._results(player_id),
            "table": [
                {"rank": row.rank, "player_id": row.player_id, "played": row.played}
                | {"name": row.display_name, "points": row.points, "is_you": n == own}
                for n, row in enumerate(rows)
                if n < FIRST_ROWS or abs(n - own) <= NEAR_ROWS
            ],
            "place": rows[own].rank if own >= 0 else None,
            "players": league.players_total,
            "verdict": overview.verdict(view) if league.phase is Phase.COMPLETED else "",
        }

    def _rules(self) -> str:
        """How the game is played: what it says of itself first, and the options of this league."""
        league, about = self._view.league, getattr(self._view.game, "__doc__", None) or ""
        options = league.rules.rules.game_options.items() if league.opened else ()
        here = ", ".join(f"{name} = {one_line_json(value)}" for name, value in options)
        told = " ".join(about.partition("\n\n")[0].split())
        return f"{told} In this league: {here}." if here else told

    def _attempts(self, player_id: str) -> int:
        league = self._view.league
        if not league.opened or league.is_suspended(player_id) or player_id in league.timed_out:
            return 1
        return league.rules.rules.retries + 1

    def _waiting_for(self, player_id: str, live: Live) -> str:
        """What is waited for: while rounds are played by the journal, which knows the names."""
        league, said = self._view.league, str(live.shown.get("waiting_for", ""))
        if not said or league.phase is not Phase.RUNNING or league.paused or not league.round_id:
            return said
        if player_id in league.byes.get(league.round_id, ()):
            return f"You have no match in round {league.round_id}: the others play."
        own = next((m for m in league.undecided if player_id in league.matches[m].players), "")
        if not own:
            return "Your match of this round is over. The next begins when the whole round is."
        other = next(each for each in league.matches[own].players if each != player_id)
        last, state = live.last if live.last.get("match_id") == own else {}, "It begins."
        if last.get("played"):
            state = f"You played {_label(last['played'][0])}."
        elif last.get("is_late"):
            n, attempts = last["attempt"], self._attempts(player_id)
            again = f"; you are asked again soon ({n + 1} of {attempts})" if n < attempts else ""
            state = f"Too late: your time for this move was over{again}."
        elif last:
            state = "It goes on."
        return f"Round {league.round_id}: you meet {self._view.name_of(other)} in {own}. {state}"

    def _status(self, seat: str, player_id: str, live: Live) -> str:
        league, shown = self._view.league, live.shown.get("status", "waiting")
        if not player_id:
            unclaimed = "free" if self._is_open else "unknown"
            return unclaimed if seat else "no_seat"
        if player_id in league.roster.removed:
            return "left"
        if league.phase is Phase.COMPLETED:
            return "over"
        # The manager may know the end a moment before the journal is read so far.
        return "your_turn" if shown == "your_turn" else "waiting"

    def _results(self, player_id: str) -> list[Facts]:
        view, told = self._view, []
        matches = view.log_of(player_id).matches[-RESULTS_MAX:] if player_id else []
        for match_id in reversed(matches):
            ended, ending = view.ended[match_id], view.match_facts(match_id)["ending"] or {}
            whole, _, why = str(ending.get("sentence", "")).partition(" won: ")
            sentence = with_names(view, why or whole.removeprefix("A draw: "), ended.players)
            opponent = next(each for each in ended.players if each != player_id)
            won = {player_id: "You won", None: "A draw"}.get(ended.winner, "You lost")
            result = "No contest" if ended.status == "NO_CONTEST" else won
            row = {"match_id": match_id, "round": ended.round_id, "result": result}
            told.append({**row, "opponent": view.name_of(opponent), "sentence": sentence})
        return told

    # HTML and cookies

    async def _page(
        self, seat: str, *, name: str = "", problem: str = "", status: int = 200
    ) -> Response:
        do = self._following.do
        live = await self._look(seat)
        facts = await do(self._facts, seat, live)
        html = await do(self._html, facts, live, name, problem)
        return HTMLResponse(html, status, PRIVATE)

    def _html(self, facts: Facts, live: Live, name: str = "", problem: str = "") -> str:
        view, position = self._view, facts["position"]
        legal = [msgspec.json.decode(each["json"]) for each in facts["moves"]]
        picture, last = None, facts["last"]
        if view.game and facts["status"] == "your_turn":
            picture = picture_of_position(view.game, position, legal)
        elif view.game and last:
            picture = picture_of_position(view.game, last["position"], last["played"])
        board = cleaned(picture.svg if picture else "")
        return self._env.get_template("play.html").render(
            page=PAGE,
            view=view,
            facts=facts,
            params={},
            version=_version(facts),
            seconds=live.seconds_left,
            name=name,
            problem=problem,
            board=Markup(board.svg),
            caption=Markup("".join(TITLE.findall(board.svg)[:1])),
            on_board={each["json"] for each in facts["moves"]} <= set(board.moves),
            ended=(ended := self._last_board(facts)),
            seats=self._seats_on(ended, facts),
            position=msgspec.json.format(_json(position)) if position else "",
        )

    def _last_board(self, facts: Facts) -> Markup:
        if not facts["results"] or not self._view.game:
            return Markup()
        played = steps(self._view.game, self._view.match_facts(facts["results"][0]["match_id"]))
        picture = played[-1].picture if played else None
        return safe_svg(picture.svg) if picture else Markup()

    def _seats_on(self, board: str, facts: Facts) -> list[str]:
        seats = self._view.game.seats if self._view.game and board else ()
        players = self._view.ended[facts["results"][0]["match_id"]].players if board else ()
        said = [*zip(seats, map(self._view.name_of, players), strict=True)]
        return [f"{seat} is {name}" for seat, name in said if f">{seat}<" in board]

    @property
    def _cookie(self) -> str:
        """Another league on this host has another: a port makes no difference to browsers."""
        return f"seat_{sha256(self._view.league_id.encode()).hexdigest()[:12]}"

    def _seat(self, request: Request) -> str:
        seat = request.cookies.get(self._cookie, "")
        return seat if SEAT.fullmatch(seat) else ""

    def _with_seat(self, request: Request, seat: str, path: str) -> Response:
        secure = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
        answer = RedirectResponse(path, 303, {**PRIVATE, "Referrer-Policy": "no-referrer"})
        own = partial(answer.set_cookie, self._cookie, seat, COOKIE_SECONDS, path="/play")
        own(secure=secure, httponly=True, samesite="strict")
        answer.delete_cookie(SENT_ALONG, path="/play")
        return answer

    async def _lead_on(self, request: Request, name: str = "") -> Response:
        """Come here again with cookies: a seat that is there must not be lost to a link."""
        if "again" in request.query_params:
            why = "Your browser did not keep a cookie; allow cookies here, and open the link again."
            return await self._page("", problem=why, status=409)
        again = BOUNCE.format(f"?again&amp;name={quote(name)}" if name else "?again")
        answer = HTMLResponse(again, headers=PRIVATE)
        answer.set_cookie(SENT_ALONG, "yes", path="/play", httponly=True, samesite="strict")
        return answer


def _has_cookies(request: Request) -> bool:
    """Whether a browser sent what cookies it has: not where another site led here."""
    return SENT_ALONG in request.cookies or request.headers.get("sec-fetch-site") in (
        "none",
        "same-origin",
    )


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; one that is too long, or does not come to its end, has none."""
    body = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > BODY_MAX:
                    return {}
    except (TimeoutError, ClientDisconnect):
        return {}
    return dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))


def _version(facts: Facts) -> str:
    return sha256(msgspec.json.encode(facts)).hexdigest()[:16]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _label(move: Any) -> str:
    return move if isinstance(move, str) and move.strip() else one_line_json(move)


PAGE = Page("play", "/play", "Your table", lambda view, params: {})
