"""What anybody may know of the agents of a league: who they are, and what they do now."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agentleague.dialects.table import in_words
from agentleague.errors import NotRegistered
from agentleague.league.league import League, Phase
from agentleague.league.match_records import MatchRecord
from agentleague.league.match_result import misuse_in_words
from agentleague.league.queries_matches import (
    ROOM_BYTES,
    ROWS_A_PAGE,
    described,
    fitting,
    page,
    wrong,
)
from agentleague.league.roster import Member
from agentleague.league.standings import Standing, Table

AGENTS_A_PAGE = 100
KINDS = ("player", "referee")
OPEN_MATCHES = ROWS_A_PAGE
ROOM_FOR_MARKS = 1_100  # of a page's agents


def agents(league: League, params: Mapping[str, Any], asker: str | None) -> dict[str, Any]:
    """GET_AGENTS: players in the order of their registration, then referees."""
    kind = params.get("kind")
    if kind is not None and kind not in KINDS:
        raise wrong("kind", "'player' or 'referee'")
    players = [] if kind == "referee" else [*league.roster.players]
    referees = [] if kind == "player" else [*league.roster.referees, *league.roster.waiting]
    everybody = players + referees
    wanted = page(everybody, params, AGENTS_A_PAGE)
    at_work = _open_matches(league, wanted)
    rows = [_row(league, agent_id, asker, at_work) for agent_id in wanted]
    return {"agents": fitting(rows, ROOM_BYTES - ROOM_FOR_MARKS), "total": len(everybody)}


def mark_reachable(data: Mapping[str, Any], reachable: Mapping[str, bool]) -> None:
    """Say of each agent in an answer whether somebody listens at its end point, where tried."""
    one = data.get("agent")
    for row in [*data.get("agents", ()), *([one] if one else ())]:
        if row["agent_id"] in reachable:
            row["reachable"] = reachable[row["agent_id"]]


def agent(league: League, params: Mapping[str, Any], asker: str | None) -> dict[str, Any]:
    """GET_AGENT: all of one agent; without `agent_id` of the asker itself."""
    agent_id = params.get("agent_id", asker)
    roster = league.roster
    everybody = (roster.players, roster.referees, roster.waiting)
    if not isinstance(agent_id, str) or not any(agent_id in each for each in everybody):
        raise NotRegistered(f"Agent ID {str(agent_id)[:64]} not found in registry")
    row = _row(league, agent_id, asker, _open_matches(league, [agent_id]))
    row["version"] = roster.member(agent_id).version
    if agent_id in league.misuses:
        row["misused"] = [misuse_in_words(event) for event in league.misuses[agent_id]]
    if agent_id not in roster.players:
        return {"agent": row | _of_referee(league, agent_id)}
    numbers = _standing(league, agent_id)
    why = league.table.why(agent_id) if numbers.rank else None
    more = {"why": why, "last_matches": _last_matches(league, agent_id)}
    return {"agent": row | msgspec.to_builtins(numbers) | more}


def player_stats(league: League, params: Mapping[str, Any], asker: str | None) -> dict[str, Any]:
    """GET_PLAYER_STATS: the row of the table, the state, and the last matches."""
    player_id = player_of(league, params, asker)
    stats = msgspec.to_builtins(_standing(league, player_id)) | {
        "state": state_of(league, player_id),
        "activity": activity_of(league, player_id),
        "matches": _last_matches(league, player_id),
    }
    if sees_endpoint(league, player_id, asker):
        stats["contact_endpoint"] = league.roster.players[player_id].endpoint
    return {"player_stats": stats}


def directory(league: League, params: Mapping[str, Any], asker: str | None) -> dict[str, Any]:
    """GET_PLAYER_DIRECTORY: all players, and where those are whose end points the asker may see."""
    players, wanted = league.roster.players, params.get("player_id")
    chosen = [each for each in players if wanted in (None, each)]
    rows: list[dict[str, str]] = []
    for each in page(chosen, params, AGENTS_A_PAGE):
        rows.append({"player_id": each, "display_name": players[each].display_name})
        if sees_endpoint(league, each, asker):
            rows[-1]["contact_endpoint"] = players[each].endpoint
    shown = fitting(rows, ROOM_BYTES // 2)
    seen = {row["player_id"]: row.get("contact_endpoint") for row in shown}
    where = {player_id: endpoint for player_id, endpoint in seen.items() if endpoint}
    return {"players": where, "registrations": shown, "total": len(chosen)}


def player_of(league: League, params: Mapping[str, Any], asker: str | None) -> str:
    """The player whom a query is about: `player_id`, or the asker."""
    player_id = params.get("player_id", asker)
    if not isinstance(player_id, str) or player_id not in league.roster.players:
        raise NotRegistered(f"Player ID {str(player_id)[:64]} not found in registry")
    return player_id


def state_of(league: League, agent_id: str) -> str:
    """Where an agent stands in its life: the states of document 000 section 2.8."""
    roster = league.roster
    is_out = agent_id in roster.removed or agent_id in roster.displaced
    if is_out or league.phase is Phase.COMPLETED:
        return "SHUTDOWN"
    if agent_id in league.roster.waiting:
        return "WAITING"
    if league.phase is Phase.REGISTERING:
        return "REGISTERED"
    is_silent = league.is_suspended(agent_id) or agent_id in league.timed_out
    is_suspended = is_silent or agent_id in league.roster.set_aside
    return "SUSPENDED" if is_suspended else "ACTIVE"


def activity_of(league: League, agent_id: str) -> str | None:
    """What a player that takes part does now: the states of document 001 section 9.2."""
    is_player = agent_id in league.roster.players
    if not is_player or state_of(league, agent_id) not in ("ACTIVE", "SUSPENDED"):
        return None
    record = _open_match(league, agent_id)
    if record is None:
        return "WAITING_FOR_ROUND"
    return "WAITING_FOR_RESULT" if record.decided else "IN_MATCH"


def sees_endpoint(league: League, agent_id: str, asker: str | None) -> bool:
    """A referee's end point is announced to all; a player's is its own and the referees' affair."""
    players = league.roster.players
    return agent_id not in players or asker == agent_id or asker in league.roster.referees


def _row(league: League, agent_id: str, asker: str | None, at_work: Counter[str]) -> dict[str, Any]:
    member, is_player = league.roster.member(agent_id), agent_id in league.roster.players
    row: dict[str, Any] = {
        "agent_id": agent_id,
        "kind": "player" if is_player else "referee",
        "display_name": member.display_name,
        "state": state_of(league, agent_id),
        "activity": activity_of(league, agent_id),
        "matches": league.matches.total_of(agent_id) if is_player else None,
        "open_matches": at_work[agent_id],
    }
    if sees_endpoint(league, agent_id, asker):
        row["endpoint"] = member.endpoint
    if agent_id in league.roster.dialects:
        row["speaks"] = in_words(league.roster.dialects[agent_id])
    if agent_id in league.misuses:
        row["misuses"] = len(league.misuses[agent_id])
    if league.roster.lost_token(agent_id):
        row["lost_token"] = True
    return row | _of_endpoint(league, member)


def _of_endpoint(league: League, member: Member) -> dict[str, Any]:
    """Whether it proved that it listens at its end point; nothing where nobody could ask."""
    roster = league.roster
    if member.agent_id in roster.displaced:
        return {"displaced": True}
    is_unknown = member.source is None or member.agent_id in roster.waiting
    return {} if is_unknown else {"proved": roster.is_proved(member.agent_id)}


def _standing(league: League, player_id: str) -> Standing:
    try:
        return league.table.row(player_id)
    except KeyError:  # Before the start the table is empty; players removed then never enter it.
        first = Table(league.names_of([player_id])).row(player_id)
        return msgspec.structs.replace(first, rank=0)


def _last_matches(league: League, player_id: str) -> list[dict[str, Any]]:
    files = league.matches.last_of(player_id)
    return [described(record, record.match_id, record.players) for record in files]


def _of_referee(league: League, referee_id: str) -> dict[str, Any]:
    member = league.roster.member(referee_id)
    is_at = [m for m in league.open_matches if league.matches[m].referee_id == referee_id]
    return {
        "locks": member.locks,
        "max_concurrent_matches": member.capacity,
        "at_matches": sorted(is_at, key=lambda match_id: (len(match_id), match_id))[:OPEN_MATCHES],
    }


def _open_match(league: League, player_id: str) -> MatchRecord | None:
    files = league.matches.of_player.get(player_id)
    return files[-1] if files and not files[-1].closed else None


def _open_matches(league: League, agents: Sequence[str]) -> Counter[str]:
    """How many matches each is in, or at; all are looked at only where a referee is asked about."""
    found = Counter(each for each in agents if _open_match(league, each))
    if any(agent_id in league.roster.referees for agent_id in agents):
        found.update(league.matches[match_id].referee_id for match_id in league.open_matches)
    return found
