"""Answers to LEAGUE_QUERY: the same keys in `data` and beside it, as the documents differ."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from agentleague.errors import (
    LeagueError,
    NotStarted,
    TokenInvalid,
    TokenMissing,
    UnknownLeague,
    UnknownQuery,
)
from agentleague.league.agents import agent, agents, mark_reachable, player_of, player_stats
from agentleague.league.league import League, Phase
from agentleague.league.match_facts import described, match
from agentleague.league.match_records import MatchRecord
from agentleague.league.metrics import metrics
from agentleague.league.pages import ROOM_BYTES, ROWS_A_PAGE, fitting, page, wrong
from agentleague.league.schedule import Round
from agentleague.protocol.messages import LeagueQuery, LeagueQueryResponse, QueryError

MATCHES_A_PAGE = 16  # they are said twice, in `data` and beside it
STATUS_ROWS = 50  # of each list in a status
NEEDS_TOKEN = frozenset({"GET_NEXT_MATCH", "GET_PLAYER_STATS"})
AT_ANY_TIME = frozenset({"GET_STATUS", "GET_AGENTS", "GET_AGENT", "GET_METRICS"})
# The keys that stand beside `data` too; those of our own queries do not.
FLAT = frozenset(LeagueQueryResponse.__struct_fields__)

Answer = dict[str, Any]


def respond(
    league: League,
    query: LeagueQuery,
    token: str | None,
    reachable: Mapping[str, bool] = MappingProxyType({}),
) -> LeagueQueryResponse:
    """The whole answer; one that there is no answer to says why.

    `reachable` says of agents whether somebody listens at their end points.

    Raises:
        TokenInvalid, TokenMissing, UnknownLeague: the question is not answered at all.
    """
    asker = league.roster.owner(token)
    if token and asker is None:
        raise TokenInvalid("auth_token was not issued by this league")
    if asker is None and query.query_type in NEEDS_TOKEN:
        raise TokenMissing(f"{query.query_type} needs your auth_token")
    if query.league_id not in ("", league.rules.league_id):
        raise UnknownLeague(f"league {query.league_id!r} is not played here")
    try:
        data = answer(league, query.query_type, query.query_params, asker)
        mark_reachable(data, reachable)
    except LeagueError as error:
        refusal = QueryError(error.code, error.name, str(error)[:500])
        return LeagueQueryResponse(query.query_type, success=False, error=refusal)
    flat = {key: value for key, value in data.items() if key in FLAT}
    return LeagueQueryResponse(query.query_type, data=data, **flat)


def answer(league: League, query_type: str, params: Mapping[str, Any], asker: str | None) -> Answer:
    """The `data` of the answer.

    Raises:
        UnknownQuery, NotStarted, NotRegistered, MatchMismatch, WrongType: why there is none.
    """
    query = QUERIES.get(query_type)
    if query is None:
        raise UnknownQuery(f"query_type {query_type[:64]!r} is unknown", known=sorted(QUERIES))
    if league.schedule is None and query_type not in AT_ANY_TIME:
        if league.phase is Phase.COMPLETED:
            raise NotStarted("the league was ended before it had begun; there is nothing to tell")
        raise NotStarted("the league has not begun; ask again after the first ROUND_ANNOUNCEMENT")
    return query(league, params, asker)


def _standings(league: League, params: Mapping[str, Any], asker: str | None) -> Answer:
    rows = league.table.rows()
    return {
        "standings": fitting(page(rows, params, ROWS_A_PAGE), ROOM_BYTES // 2),
        "current_round": league.round_id,
        "total": len(rows),
    }


def _schedule(league: League, params: Mapping[str, Any], asker: str | None) -> Answer:
    """Pages are counted in matches: a round of a large league alone would be too long."""
    assert league.schedule
    schedule, total = league.schedule, league.schedule.rounds_total
    wanted = params.get("round_id")
    if wanted is not None and (type(wanted) is not int or not 1 <= wanted <= total):
        raise wrong("round_id", f"1 to {total}")
    per_round = schedule.matches_total // total
    numbers = range(per_round * total) if wanted is None else _matches_of(wanted, per_round)
    rounds: dict[int, dict[str, Any]] = {}
    computed: dict[int, Round] = {}
    for number in page(numbers, params, MATCHES_A_PAGE):
        round_id = number // per_round + 1
        if round_id not in computed:
            computed[round_id] = schedule.round(round_id)
        planned = computed[round_id]
        empty = {"round_id": planned.round_id, "matches": [], "byes": list(planned.byes)}
        pairing = planned.pairings[number % per_round]
        facts = described(league.matches.get(pairing.match_id), pairing.match_id, pairing[1:])
        rounds.setdefault(planned.round_id, empty)["matches"].append(facts)
    return {"rounds": list(rounds.values()), "total_rounds": total, "total": len(numbers)}


def _matches_of(round_id: int, per_round: int) -> range:
    return range((round_id - 1) * per_round, round_id * per_round)


def _next_match(league: League, params: Mapping[str, Any], asker: str | None) -> Answer:
    player_id = player_of(league, params, asker)
    assert league.schedule
    if league.phase is Phase.COMPLETED or player_id in league.roster.removed:
        return {"next_match": None}
    for round_id in range(max(league.round_id, 1), league.schedule.rounds_total + 1):
        for pairing in league.schedule.round(round_id).pairings:
            record = league.matches.get(pairing.match_id)
            if player_id in pairing[1:] and not (record and record.decided):
                a, b = pairing[1:]
                return {
                    "next_match": {
                        "match_id": pairing.match_id,
                        "round_id": round_id,
                        "opponent_id": b if player_id == a else a,
                        "referee_endpoint": _referee_endpoint(league, record),
                        "game_type": league.rules.game_type,
                    }
                }
    return {"next_match": None}


def _referee_endpoint(league: League, record: MatchRecord | None) -> str | None:
    return league.roster.referees[record.referee_id].endpoint if record else None


def _status(league: League, params: Mapping[str, Any], asker: str | None) -> Answer:
    schedule = league.schedule
    return {
        "status": str(league.phase),
        "current_round": league.round_id,
        "total_rounds": schedule.rounds_total if schedule else 0,
        "matches_completed": league.decided_total,
        "total_matches": schedule.matches_total if schedule else 0,
        "players": len(league.roster.players),
        "referees": len(league.roster.referees),
        "you": asker,
        "league_id": league.rules.league_id,
        "game_type": league.rules.game_type,
        "paused": league.paused,
        "aborted": league.aborted,
        "rounds_completed": league.rounds_ended,
        "champion": league.champion or None,
        "disputed_matches": [*league.disputed][:STATUS_ROWS],
        "ruled_matches": [*league.ruled][:STATUS_ROWS],
        "misused_tokens_of": [*league.misuses][:STATUS_ROWS],
    }


QUERIES: dict[str, Callable[[League, Mapping[str, Any], str | None], Answer]] = {
    "GET_STANDINGS": _standings,
    "GET_SCHEDULE": _schedule,
    "GET_NEXT_MATCH": _next_match,
    "GET_PLAYER_STATS": player_stats,
    "GET_STATUS": _status,
    "GET_AGENTS": agents,
    "GET_AGENT": agent,
    "GET_MATCH": match,
    "GET_METRICS": metrics,
}
