"""Who is let into a league, under which id and name, and what the others are told."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec import UNSET, Struct, UnsetType

from agentleague.errors import (
    LateRegistration,
    LeagueFull,
    RefereesFull,
    RegistrationRefused,
    UnsupportedGame,
    VersionMismatch,
)
from agentleague.league.events import PlayerRegistered, PlayerReturned, RefereeRegistered
from agentleague.league.league import League, Phase
from agentleague.league.roster import clean_name
from agentleague.protocol import tokens
from agentleague.protocol.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
)
from agentleague.protocol.tokens import digest


class Terms(Struct, frozen=True):
    """What the manager brings to every admission."""

    token_secret: bytes
    players_max: int
    referees_max: int
    check_endpoint: Callable[[str], None]  # raises EndpointNotAllowed


def admit_player(
    league: League, terms: Terms, request: LeagueRegisterRequest, source: str
) -> tuple[PlayerRegistered | PlayerReturned, LeagueRegisterResponse]:
    """Take a player in: the event, and the answer, which alone holds the token.

    Who registers again with its name and end point, from the end point's own address, keeps its id
    at any time; on one machine everybody has that address, so its further token may only ask.

    Raises:
        RegistrationRefused: why not.
    """
    meta, roster = request.player_meta, league.roster
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
    _check(league, meta.game_types, meta.protocol_version)
    terms.check_endpoint(meta.contact_endpoint)
    player_id = roster.next_player_id()
    name = roster.effective_name(meta.display_name, player_id)
    token = tokens.league_token(terms.token_secret, league.rules.league_id, player_id, 1)
    event = PlayerRegistered(player_id, name, meta.contact_endpoint, meta.version, digest(token))
    answer = LeagueRegisterResponse(
        "ACCEPTED",
        player_id,
        league.rules.league_id,
        match_tokens=True,
        display_name_effective=name if name != meta.display_name else UNSET,
        auth_token=token,
    )
    return event, answer


def is_at(endpoint: str, source: str) -> bool:
    """Whether a request from this address may come from that end point's machine."""
    host = urlsplit(endpoint).hostname
    is_loopback = source == "::1" or source.startswith("127.")
    return host == source or (host == "localhost" and is_loopback)


def _readmit(
    league: League, terms: Terms, player_id: str
) -> tuple[PlayerReturned, LeagueRegisterResponse]:
    generation = league.roster.generations.get(player_id, 1) + 1
    league_id = league.rules.league_id
    token = tokens.league_token(terms.token_secret, league_id, player_id, generation)
    name = league.roster.players[player_id].display_name
    answer = LeagueRegisterResponse(
        "ACCEPTED", player_id, league_id, display_name_effective=name, auth_token=token
    )
    return PlayerReturned(player_id, digest(token), generation), answer


def admit_referee(
    league: League, terms: Terms, request: RefereeRegisterRequest
) -> tuple[RefereeRegistered, RefereeRegisterResponse]:
    """Take a referee in, at any time until the league is over.

    Raises:
        RegistrationRefused: why not.
    """
    meta, roster = request.referee_meta, league.roster
    if league.phase is Phase.COMPLETED:
        raise LateRegistration("the league is over")
    if len(roster.referees) >= terms.referees_max:
        raise RefereesFull(
            f"{terms.referees_max} referees are registered already",
            max_referees=terms.referees_max,
            current_referees=len(roster.referees),
        )
    _check(league, meta.game_types, meta.protocol_version)
    terms.check_endpoint(meta.contact_endpoint)
    referee_id, league_id = roster.next_referee_id(), league.rules.league_id
    name = clean_name(meta.display_name) or referee_id
    token = tokens.league_token(terms.token_secret, league_id, referee_id, 1)
    event = RefereeRegistered(
        referee_id,
        name,
        meta.contact_endpoint,
        meta.version,
        digest(token),
        meta.max_concurrent_matches,
        meta.locks is True,
    )
    answer = RefereeRegisterResponse(
        "ACCEPTED",
        referee_id,
        league_id,
        session=tokens.session(terms.token_secret, league_id, referee_id, 1),
        display_name_effective=name if name != meta.display_name else UNSET,
        auth_token=token,
    )
    return event, answer


def rejection(error: RegistrationRefused, message_type: str) -> dict[str, Any]:
    """The fields of an answer that says no: document 004's words, and ours beside them."""
    return {
        "status": "REJECTED",
        "reason": error.reason,
        "hint": str(error)[:500],
        "error_code": error.code,
        "code": error.number_for(message_type),
    }


def _check(league: League, games: Sequence[str], version: str | UnsetType) -> None:
    game = league.rules.game_type
    if games and game not in games:
        raise UnsupportedGame(
            f"this league plays {game!r}, and game_types has only {list(games)[:5]}; "
            f"add {game!r} if the agent knows it"
        )
    spoken = version if version is not UNSET and version else "2.1.0"
    major = spoken.removeprefix("league.v").split(".")[0]
    if major != "2":
        raise VersionMismatch(
            f"protocol_version is {spoken!r}; this league speaks 2.1.0 and takes 2.0.0 and later",
            field="protocol_version",
        )
