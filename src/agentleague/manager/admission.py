"""Who is let into a league, under which id and name, and what the others are told.

An agent that shows a token with which it may act is one that comes back: it keeps its id and gets a
further token. Any other token counts as none.
"""

import hmac
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from agentleague.errors import (
    DuplicateName,
    LateRegistration,
    LeagueFull,
    RefereesFull,
    RegistrationRefused,
    TokenInvalid,
    TokenMissing,
    UnsupportedGame,
    VersionMismatch,
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
from agentleague.protocol.tokens import digest

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
        house=meta.house or "",
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
    event = TokenRenewed(
        member.agent_id,
        digest(fresh),
        generation,
        meta.contact_endpoint,
        house=meta.house or "",
    )
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
