"""Agents that never register: the organiser brings them in, by name and end point.

They are given a token like everybody, and never told it: their end point is their identity.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from agentleague.errors import UnexpectedMessage, WrongType
from agentleague.league.events import PlayerRegistered, RefereeRegistered
from agentleague.league.league import League
from agentleague.manager.admission import Terms, admit_player, admit_referee
from agentleague.protocol.messages import (
    LeagueRegisterRequest,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
)

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
