"""Answers to LEAGUE_QUERY: the same keys in `data` and beside it, as the documents differ."""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from agentleague.errors import (
    LeagueError,
    NotRegistered,
    NotStarted,
    TokenInvalid,
    TokenMissing,
    UnknownLeague,
    UnknownQuery,
    WrongType,
)
from agentleague.league.league import League, MatchFile, Phase
from agentleague.league.schedule import Round
from agentleague.protocol.messages import LeagueQuery, LeagueQueryResponse, QueryError

# An answer is at most 10 KB and says everything twice, in `data` and beside it.
ROWS_A_PAGE = 25
MATCHES_A_PAGE = 16
ROWS_BYTES = 4_700  # names of 50 characters can be 200 bytes long
OPEN_TO_ALL = frozenset({"GET_STANDINGS", "GET_SCHEDULE", "GET_STATUS"})


LAST_MATCHES = 20
AGENT_STATES = {Phase.REGISTERING: "REGISTERED", Phase.COMPLETED: "SHUTDOWN"}


def respond(league: League, query: LeagueQuery, token: str | None) -> LeagueQueryResponse:
    """The whole answer; one that there is no answer to says why.

    Raises:
        TokenInvalid, TokenMissing, UnknownLeague: the question is not answered at all.
    """
    asker = league.roster.owner(token)
    if token and asker is None:
        raise TokenInvalid("auth_token was not issued by this league")
    if asker is None and query.query_type not in OPEN_TO_ALL:
        raise TokenMissing(f"{query.query_type[:64]} needs your auth_token")
    if query.league_id not in ("", league.rules.league_id):
        raise UnknownLeague(f"league {query.league_id!r} is not played here")
    try:
        data = answer(league, query.query_type, query.query_params, asker)
    except LeagueError as error:
        refusal = QueryError(error.code, error.name, str(error)[:500])
        return LeagueQueryResponse(query.query_type, success=False, error=refusal)
    return LeagueQueryResponse(query.query_type, data=data, **data)


def answer(
    league: League, query_type: str, params: Mapping[str, Any], asker: str | None
) -> dict[str, Any]:
    """The `data` of the answer.

    Raises:
        UnknownQuery, NotStarted, NotRegistered, WrongType: why there is none.
    """
    query = QUERIES.get(query_type)
    if query is None:
        raise UnknownQuery(f"query_type {query_type[:64]!r} is unknown", known=sorted(QUERIES))
    if league.phase is Phase.REGISTERING and query_type != "GET_STATUS":
        raise NotStarted("the league has not begun; ask again after the first ROUND_ANNOUNCEMENT")
    return query(league, params, asker)


def _standings(league: League, params: Mapping[str, Any], asker: str | None) -> dict[str, Any]:
    rows = league.table.rows()
    return {
        "standings": _fitting(_page(rows, params)),
        "current_round": league.round_id,
        "total": len(rows),
    }


def _schedule(league: League, params: Mapping[str, Any], asker: str | None) -> dict[str, Any]:
    """Pages are counted in matches: a round of a large league alone would be too long."""
    assert league.schedule
    schedule, total = league.schedule, league.schedule.rounds_total
    wanted = params.get("round_id")
    if wanted is not None and (type(wanted) is not int or not 1 <= wanted <= total):
        raise WrongType(
            f"query_params.round_id must be 1 to {total}", field="query_params.round_id"
        )
    per_round = schedule.matches_total // total
    numbers = range(per_round * total) if wanted is None else _matches_of(wanted, per_round)
    rounds: dict[int, dict[str, Any]] = {}
    computed: dict[int, Round] = {}
    for number in _page(numbers, params, at_most=MATCHES_A_PAGE):
        round_id = number // per_round + 1
        if round_id not in computed:
            computed[round_id] = schedule.round(round_id)
        planned = computed[round_id]
        empty = {"round_id": planned.round_id, "matches": [], "byes": list(planned.byes)}
        pairing = planned.pairings[number % per_round]
        described = _described(league.matches.get(pairing.match_id), pairing.match_id, pairing[1:])
        rounds.setdefault(planned.round_id, empty)["matches"].append(described)
    return {"rounds": list(rounds.values()), "total_rounds": total, "total": len(numbers)}


def _matches_of(round_id: int, per_round: int) -> range:
    return range((round_id - 1) * per_round, round_id * per_round)


def _described(file: MatchFile | None, match_id: str, players: tuple[str, ...]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "match_id": match_id,
        "player_A_id": players[0],
        "player_B_id": players[1],
    }
    if file:
        described["draw_commitment"] = file.commitment
    if file and file.decided:
        described["status"] = file.decided.result.status
        described["winner_player_id"] = file.decided.result.winner_player_id
    return described


def _next_match(league: League, params: Mapping[str, Any], asker: str | None) -> dict[str, Any]:
    player_id = _player(league, params, asker)
    assert league.schedule
    for round_id in range(max(league.round_id, 1), league.schedule.rounds_total + 1):
        for pairing in league.schedule.round(round_id).pairings:
            file = league.matches.get(pairing.match_id)
            if player_id in pairing[1:] and not (file and file.decided):
                a, b = pairing[1:]
                return {
                    "next_match": {
                        "match_id": pairing.match_id,
                        "round_id": round_id,
                        "opponent_id": b if player_id == a else a,
                        "referee_endpoint": _referee_endpoint(league, file),
                        "game_type": league.rules.game_type,
                    }
                }
    return {"next_match": None}


def _referee_endpoint(league: League, file: MatchFile | None) -> str | None:
    return league.roster.referees[file.referee_id].endpoint if file else None


def _player_stats(league: League, params: Mapping[str, Any], asker: str | None) -> dict[str, Any]:
    player_id = _player(league, params, asker)
    row = msgspec.to_builtins(league.table.row(player_id))
    recent = [
        _described(file, file.match_id, file.players)
        for file in league.files_of.get(player_id, [])[-LAST_MATCHES:]
    ]
    state = AGENT_STATES.get(league.phase, "ACTIVE")
    return {"player_stats": {**row, "state": state, "matches": recent}}


def _status(league: League, params: Mapping[str, Any], asker: str | None) -> dict[str, Any]:
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
    }


def _player(league: League, params: Mapping[str, Any], asker: str | None) -> str:
    player_id = params.get("player_id", asker)
    if not isinstance(player_id, str) or player_id not in league.roster.players:
        raise NotRegistered(f"Player ID {str(player_id)[:64]} not found in registry")
    return player_id


def _page(
    rows: Sequence[Any], params: Mapping[str, Any], at_most: int = ROWS_A_PAGE
) -> Sequence[Any]:
    offset, limit = params.get("offset", 0), params.get("limit", at_most)
    for field, value in (("offset", offset), ("limit", limit)):
        if type(value) is not int or value < 0:
            path = f"query_params.{field}"
            raise WrongType(f"{path} must be an integer from 0", field=path)
    return rows[offset : offset + min(limit, at_most)]


def _fitting(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """As many of the rows as fit; the next page begins behind them."""
    sizes = accumulate(len(msgspec.json.encode(row)) + 1 for row in rows)
    fits = sum(size <= ROWS_BYTES for size in sizes)
    return [msgspec.to_builtins(row) for row in rows[:fits]]


QUERIES: dict[str, Callable[[League, Mapping[str, Any], str | None], dict[str, Any]]] = {
    "GET_STANDINGS": _standings,
    "GET_SCHEDULE": _schedule,
    "GET_NEXT_MATCH": _next_match,
    "GET_PLAYER_STATS": _player_stats,
    "GET_STATUS": _status,
}
