"""Who is let into a league, under which id and name, and what the others are told.

An agent that shows a token with which it may act is one that comes back: it keeps its id and gets a
further token. Any other token counts as none.

The manager's part in registrations: what is recorded, what is answered.

Agents that never register: the organiser brings them in, by name and end point.

They are given a token like everybody, and never told it: their end point is their identity.

How often an agent may register again: each time writes rows, and anybody may be an agent.

Refused registrations, told to the organiser: it may be the agent that everybody waits for.
"""

import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from agentleague.errors import (
    DuplicateName,
    LateRegistration,
    LeagueFull,
    MissingField,
    RateLimited,
    RefereesFull,
    RegistrationRefused,
    TokenInvalid,
    TokenMissing,
    UnexpectedMessage,
    UnsupportedGame,
    VersionMismatch,
    WrongType,
)
from agentleague.league.events import (
    PlayerRegistered,
    PlayerReturned,
    RefereeRegistered,
    TokenRenewed,
)
from agentleague.league.league import League, Phase
from agentleague.league.roster import Member, clean_name, is_marked, member_of
from agentleague.protocol import tokens
from agentleague.protocol.hosts import is_at
from agentleague.protocol.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
)
from agentleague.protocol.printable import log_text, printable
from agentleague.protocol.tokens import digest
from agentleague.roles.effects import Event
from agentleague.roles.settings import ManagerSettings, Secrets
from agentleague.roles.stimuli import Asked, Caller

PlayerAdmitted = PlayerRegistered | PlayerReturned | TokenRenewed
RefereeAdmitted = RefereeRegistered | TokenRenewed


class Terms(Struct, frozen=True):
    """What the manager brings to every admission."""

    token_secret: bytes
    players_max: int
    referees_max: int
    check_endpoint: Callable[[str, str], None]  # of whoever asks from there: EndpointNotAllowed
    unique_names: str = "suffix"  # or "reject", or "off"
    join_code: str = ""  # who comes for the first time must know it, if there is one
    foreign_referees: str = "mark"  # or "refuse"
    lease_seconds: float = 10.0
    source: str = ""  # the address from which the agent asks

    def __repr__(self) -> str:
        return "Terms(…)"


def admit_player(
    league: League,
    terms: Terms,
    request: LeagueRegisterRequest,
    source: str,
    token: str | None = None,
) -> tuple[PlayerAdmitted | None, LeagueRegisterResponse]:
    """Take a player in: the event, and the answer, which alone holds the token.

    With a token of its own it keeps its id until the league is over. Who registers again without
    one, with its name and end point, from the end point's own address, keeps its id at any time; on
    one machine everybody has that address, so its further token may only ask. There is no event
    where the same was asked before and the token then given was never used: it is given again.

    Raises:
        RegistrationRefused: why not.
        TokenMissing, TokenInvalid: the league has a join_code, and this is not it.
    """
    meta, roster = request.player_meta, league.roster
    shown = roster.players.get(roster.acting(token) or "")
    if token and shown:
        return _renewed_player(league, terms, meta, shown, token)
    _check_join_code(terms, meta, "player_meta")
    known = roster.returning(meta.display_name, meta.contact_endpoint)
    if known and is_at(meta.contact_endpoint, source):
        return _readmit(league, terms, known)
    if league.phase is not Phase.REGISTERING:
        raise LateRegistration("the league has begun; players join before its first round")
    if len(roster.players) >= terms.players_max:
        raise LeagueFull(
            f"{terms.players_max} players are registered already",
            max_players=terms.players_max,
            current_players=len(roster.players),
        )
    _check(league, terms, meta)
    player_id = roster.next_player_id()
    name = _name(league, terms, meta.display_name, player_id)
    fresh = _token(league, terms, player_id, 1)
    event = PlayerRegistered(
        player_id,
        name,
        meta.contact_endpoint,
        meta.version,
        digest(fresh),
    )
    return event, _player_answer(league, player_id, name, meta, fresh)


def admit_referee(
    league: League, terms: Terms, request: RefereeRegisterRequest, token: str | None = None
) -> tuple[RefereeAdmitted, RefereeRegisterResponse]:
    """Take a referee in, at any time until the league is over; with its token it keeps its id.

    Each registration begins a session.

    Raises:
        RegistrationRefused: why not.
        TokenMissing, TokenInvalid: the league has a join_code, and this is not it.
    """
    meta, roster = request.referee_meta, league.roster
    shown = roster.referees.get(roster.acting(token) or "")
    if shown:
        return _renewed_referee(league, terms, meta, shown)
    _check_join_code(terms, meta, "referee_meta")
    _check_not_over(league)
    if len(roster.referees) >= terms.referees_max:
        raise RefereesFull(
            f"{terms.referees_max} referees are registered already",
            max_referees=terms.referees_max,
            current_referees=len(roster.referees),
        )
    if terms.foreign_referees == "refuse" and meta.locks is not True:
        raise VersionMismatch(
            "this league takes only referees that lock the moves with its manager; "
            "one that does says so with referee_meta.locks true",
            field="referee_meta.locks",
        )
    _check(league, terms, meta)
    referee_id = roster.next_referee_id()
    fresh = _token(league, terms, referee_id, 1)
    event = RefereeRegistered(
        referee_id,
        clean_name(meta.display_name) or referee_id,
        meta.contact_endpoint,
        meta.version,
        digest(fresh),
        meta.max_concurrent_matches,
        meta.locks is True,
    )
    return event, _referee_answer(league, terms, member_of(event), meta.display_name, fresh)


def rejection(error: RegistrationRefused, message_type: str) -> dict[str, Any]:
    """The fields of an answer that says no: document 004's words, and ours beside them."""
    return {
        "status": "REJECTED",
        "reason": error.reason,
        "hint": str(error)[:500],
        "error_code": error.code,
        "code": error.number_for(message_type),
    }


def _renewed_player(
    league: League, terms: Terms, meta: PlayerMeta, member: Member, token: str
) -> tuple[TokenRenewed | None, LeagueRegisterResponse]:
    """A player that shows a token of its own."""
    _check_not_over(league)
    _check(league, terms, meta)
    was_given = digest(token) != member.token_digest and meta.contact_endpoint == member.endpoint
    generation = member.generation if was_given else _next_generation(league, member)
    fresh = _token(league, terms, member.agent_id, generation)
    answer = _player_answer(league, member.agent_id, member.display_name, meta, fresh)
    if was_given:
        return None, answer
    event = TokenRenewed(member.agent_id, digest(fresh), generation, meta.contact_endpoint)
    return event, answer


def _renewed_referee(
    league: League, terms: Terms, meta: RefereeMeta, member: Member
) -> tuple[TokenRenewed, RefereeRegisterResponse]:
    """A referee that shows a token of its own: its old session is over."""
    _check_not_over(league)
    _check(league, terms, meta)
    generation = _next_generation(league, member)
    fresh = _token(league, terms, member.agent_id, generation)
    event = TokenRenewed(
        member.agent_id,
        digest(fresh),
        generation,
        meta.contact_endpoint,
        meta.max_concurrent_matches,
    )
    renewed = msgspec.structs.replace(member, generation=generation)
    return event, _referee_answer(league, terms, renewed, meta.display_name, fresh)


def _readmit(
    league: League, terms: Terms, player_id: str
) -> tuple[PlayerReturned | None, LeagueRegisterResponse]:
    """A player that lost its token; asked again, it is given the same one again."""
    member, given = league.roster.players[player_id], league.roster.asking.get(player_id)
    generation = given or _next_generation(league, member)
    fresh = _token(league, terms, player_id, generation)
    answer = LeagueRegisterResponse(
        "ACCEPTED",
        player_id,
        league.rules.league_id,
        display_name_effective=member.display_name,
        match_tokens=False,  # They are made from the token that it lost.
        auth_token=fresh,
    )
    return None if given else PlayerReturned(player_id, digest(fresh), generation), answer


def _player_answer(
    league: League, player_id: str, name: str, meta: PlayerMeta, token: str
) -> LeagueRegisterResponse:
    return LeagueRegisterResponse(
        "ACCEPTED",
        player_id,
        league.rules.league_id,
        match_tokens=True,
        display_name_effective=name if name != meta.display_name else UNSET,
        auth_token=token,
    )


def _referee_answer(
    league: League, terms: Terms, member: Member, wanted: str, token: str
) -> RefereeRegisterResponse:
    league_id, name = league.rules.league_id, member.display_name
    return RefereeRegisterResponse(
        "ACCEPTED",
        member.agent_id,
        league_id,
        session=tokens.session(terms.token_secret, league_id, member.agent_id, member.generation),
        lease_seconds=terms.lease_seconds if member.locks else UNSET,
        display_name_effective=name if name != wanted else UNSET,
        auth_token=token,
    )


def _name(league: League, terms: Terms, wanted: str, player_id: str) -> str:
    """Under which name a new player is shown."""
    name = clean_name(wanted) or player_id
    if terms.unique_names == "reject" and league.roster.is_taken(name):
        raise DuplicateName(f"a player is called {name!r} already; register under another name")
    if terms.unique_names == "suffix" or is_marked(name, player_id):
        return league.roster.effective_name(wanted, player_id)
    return name


def _token(league: League, terms: Terms, agent_id: str, generation: int) -> str:
    league_id = league.rules.league_id
    return tokens.league_token(terms.token_secret, league_id, agent_id, generation)


def _next_generation(league: League, member: Member) -> int:
    return league.roster.generations.get(member.agent_id, 1) + 1


def _check_join_code(terms: Terms, meta: PlayerMeta | RefereeMeta, path: str) -> None:
    if not terms.join_code:
        return
    if meta.join_code is UNSET or not meta.join_code:
        raise TokenMissing(
            f"this league has a join_code: ask the organiser, and send it as {path}.join_code",
            field=f"{path}.join_code",
        )
    said, wanted = (code.encode(errors="replace") for code in (meta.join_code, terms.join_code))
    if not hmac.compare_digest(said, wanted):
        raise TokenInvalid(
            f"{path}.join_code is not this league's; ask the organiser for it",
            field=f"{path}.join_code",
        )


def _check_not_over(league: League) -> None:
    if league.phase is Phase.COMPLETED:
        raise LateRegistration("the league is over")


def _check(league: League, terms: Terms, meta: PlayerMeta | RefereeMeta) -> None:
    """The agent can play this league's game, speaks its protocol, and may be called."""
    _check_game(league, meta.game_types)
    _check_version(meta.protocol_version)
    terms.check_endpoint(meta.contact_endpoint, terms.source)


def _check_game(league: League, games: Sequence[str]) -> None:
    game = league.rules.game_type
    if games and game not in games:
        raise UnsupportedGame(
            f"this league plays {game!r}, and game_types has only {list(games)[:5]}; "
            f"add {game!r} if the agent knows it"
        )


def _check_version(version: str | UnsetType) -> None:
    spoken = version if version is not UNSET and version else "2.1.0"
    major = spoken.removeprefix("league.v").split(".")[0]
    if major != "2":
        raise VersionMismatch(
            f"protocol_version is {spoken!r}; this league speaks 2.1.0 and takes 2.0.0 and later",
            field="protocol_version",
        )


class Admission(Struct, frozen=True):
    """What comes of a registration: events to record in this order, and then the answer."""

    answer: LeagueRegisterResponse | RefereeRegisterResponse
    events: tuple[Event, ...] = ()
    agent_id: str = ""  # who is in; nobody where it was refused
    came_back: bool = False  # whether it was in before, and may act
    refusal: RegistrationRefused | None = None  # why it is not in


def terms_of(
    settings: ManagerSettings, secrets: Secrets, check_endpoint: Callable[[str, str], None]
) -> Terms:
    """On which terms a league of these settings takes agents in."""
    return Terms(
        secrets.token_secret,
        settings.players_max,
        settings.referees_max,
        check_endpoint,
        settings.unique_names,
        settings.join_code,
        settings.foreign_referees,
        settings.lease_seconds,
    )


def take_player(
    league: League, terms: Terms, message: LeagueRegisterRequest, caller: Caller
) -> Admission:
    """Let a player in, or say why not.

    Raises:
        TokenMissing, TokenInvalid: its join_code is missing or wrong.
    """
    came_back = league.roster.acting(caller.token) in league.roster.players
    try:
        terms = replace(terms, source=caller.source)
        event, answer = admit_player(league, terms, message, caller.source, caller.token)
    except RegistrationRefused as error:
        no = LeagueRegisterResponse(**rejection(error, "LEAGUE_REGISTER_REQUEST"))
        return Admission(no, refusal=error)
    events = _with_use_of_token(league, caller, event)
    return Admission(answer, events, answer.player_id or "", came_back)


def take_referee(
    league: League, terms: Terms, message: RefereeRegisterRequest, caller: Caller
) -> Admission:
    """Let a referee in, or say why not.

    Raises:
        TokenMissing, TokenInvalid: its join_code is missing or wrong.
    """
    came_back = league.roster.acting(caller.token) in league.roster.referees
    try:
        terms = replace(terms, source=caller.source)
        event, answer = admit_referee(league, terms, message, caller.token)
    except RegistrationRefused as error:
        no = RefereeRegisterResponse(**rejection(error, "REFEREE_REGISTER_REQUEST"))
        return Admission(no, refusal=error)
    events = _with_use_of_token(league, caller, event)
    return Admission(answer, events, answer.referee_id or "", came_back)


def check_complete(asked: Asked, missing_fields: str) -> None:
    """Refuse a message that lacks documented fields, where the league wants them all.

    Raises:
        MissingField: and which.
    """
    missing = asked.caller.missing
    if missing and missing_fields == "refuse":
        raise MissingField(
            f"this league wants every documented field, and these were missing: "
            f"{', '.join(missing)}"[:500],
            field=missing[0],
            missing=list(missing),
            kind="missing",
        )


def _with_use_of_token(league: League, caller: Caller, event: Event | None) -> tuple[Event, ...]:
    """A token that is shown is used: those before it end here, before a further one is given."""
    confirmed = league.roster.unconfirmed(caller.token)
    return tuple(each for each in (confirmed, event) if each)


NAME_MAX = 500  # characters, as in a registration
URL_MAX = 256
NOWHERE = ""  # the address that a registration comes from that nobody sent
HERE = "127.0.0.1"  # from where the organiser commands


def bring_player(league: League, terms: Terms, params: Mapping[str, Any]) -> PlayerRegistered:
    """A player that will be called at its end point.

    Raises:
        LeagueError: why not.
    """
    name, url = _wanted(params)
    known = league.roster.returning(name, url)
    if known:
        raise UnexpectedMessage(f"{known} is that player already")
    request = LeagueRegisterRequest(PlayerMeta(name, url, join_code=terms.join_code))
    event, _ = admit_player(league, replace(terms, source=HERE), request, NOWHERE)
    assert isinstance(event, PlayerRegistered)
    return event


def bring_referee(league: League, terms: Terms, params: Mapping[str, Any]) -> RefereeRegistered:
    """A referee that will be given one match at a time, and may report without a token.

    Raises:
        LeagueError: why not.
    """
    name, url = _wanted(params)
    for known in league.roster.referees.values():
        if known.endpoint == url:
            raise UnexpectedMessage(f"{known.agent_id} is at that end point already")
    request = RefereeRegisterRequest(RefereeMeta(name, url, join_code=terms.join_code))
    event, _ = admit_referee(league, replace(terms, source=HERE), request)
    assert isinstance(event, RefereeRegistered)
    return replace(event, added=True)


def _wanted(params: Mapping[str, Any]) -> tuple[str, str]:
    name, url = params.get("name"), params.get("url")
    if not isinstance(name, str) or not 0 < len(name) <= NAME_MAX:
        raise WrongType("params.name must be the agent's name", field="params.name")
    if not isinstance(url, str) or not 0 < len(url) <= URL_MAX:
        raise WrongType("params.url must be the agent's end point", field="params.url")
    return name, url


SECONDS = 1.0  # between two registrations of the same agent,
FREE = 8  # as often as that; then twice as long each time,
SECONDS_MAX = 600.0  # but never longer


class ReturnLimits:
    """When each agent came back last, and how often; a restart of the manager forgets it."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, int]] = {}

    def check(self, agent_id: str, now: float) -> None:
        """Note that it comes back now.

        Raises:
            RateLimited: too soon; it says when.
        """
        when, times = self._last.get(agent_id, (now - SECONDS_MAX, 0))
        wait = min(SECONDS * 2 ** max(0, times - FREE), SECONDS_MAX)
        if now - when < wait:
            left = max(1, round(when + wait - now))
            raise RateLimited(
                f"registered a moment ago; wait {left} s and try again", retry_after=left
            )
        self._last[agent_id] = (now, times + 1)


QUIET_SECONDS = 60.0  # before the same agent is named again for the same reason
TOLD_MAX = 20  # sentences in that time, whoever asks: names cost nothing
MORE = "More registrations were refused in the last minute; all are in the log of the manager."


class RefusedRegistrations:
    """What was said of whom, and when; a restart of the manager forgets it."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], float] = {}  # reason and agent -> when

    def sentence(self, asked: Asked, code: str, why: str, now: float) -> str:
        """What to say of a refused registration; nothing of other messages, or too soon again."""
        message = asked.message
        if isinstance(message, LeagueRegisterRequest):
            kind, name = "player", message.player_meta.display_name
        elif isinstance(message, RefereeRegisterRequest):
            kind, name = "referee", message.referee_meta.display_name
        else:
            return ""
        self._told = {key: at for key, at in self._told.items() if now - at < QUIET_SECONDS}
        key = (code, f"{kind} {name} {asked.caller.source}")
        if key in self._told or len(self._told) > TOLD_MAX:
            return ""
        self._told[key] = now
        if len(self._told) > TOLD_MAX:
            return MORE
        about = f"{kind} {log_text(name)!r} from {asked.caller.source}"
        return printable(f"Refused {about}: {log_text(why)} ({code}).")
