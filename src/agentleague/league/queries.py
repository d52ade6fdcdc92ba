"""Answers to LEAGUE_QUERY: the same keys in `data` and beside it, as the documents differ."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from agentleague.errors import (
    LeagueError,
    NotStarted,
    TokenMissing,
    UnknownLeague,
    UnknownQuery,
)
from agentleague.league.league import League, Phase
from agentleague.league.match_result import loss_in_words
from agentleague.league.queries_agents import (
    agent,
    agents,
    directory,
    mark_reachable,
    player_of,
    player_stats,
)
from agentleague.league.queries_matches import (
    ROOM_BYTES,
    ROWS_A_PAGE,
    described,
    fitting,
    match,
    page,
    wrong,
)
from agentleague.league.queries_metrics import metrics
from agentleague.protocol.messages import LeagueQuery, LeagueQueryResponse, QueryError

MATCHES_A_PAGE = 16  # they are said twice, in `data` and beside it
STATUS_ROWS = 50  # of each list in a status
LOSSES_SHOWN = 5
NEEDS_TOKEN = frozenset({"GET_NEXT_MATCH", "GET_PLAYER_STATS"})
DIRECTORY = frozenset({"GET_PLAYER_DIRECTORY", "GET_REGISTRATIONS"})
AT_ANY_TIME = DIRECTORY | {"GET_STATUS", "GET_AGENTS", "GET_AGENT", "GET_METRICS"}
# The keys that stand beside `data` too; those of our own queries do not.
FLAT = frozenset(LeagueQueryResponse.__struct_fields__)

Answer = dict[str, Any]


def respond(
    league: League,
    query: LeagueQuery,
    asker: str | None,
    reachable: Mapping[str, bool] = MappingProxyType({}),
) -> LeagueQueryResponse:
    """The whole answer; one that there is no answer to says why.

    `reachable` says of agents whether somebody listens at their end points.
    """
    name, referee = spelled(query.query_type), league.roster.referees.get(asker or "")
    if asker is None and name in NEEDS_TOKEN:
        raise TokenMissing(f"{name} needs your auth_token")
    is_foreign = referee is not None and not referee.locks  # It may have a league id of its own.
    if query.league_id not in ("", league.rules.league_id) and not is_foreign:
        raise UnknownLeague(f"league {query.league_id!r} is not played here")
    try:
        data = answer(league, name, query.query_params, asker)
        mark_reachable(data, reachable)
    except UnknownQuery:  # Document 001 has a number for it.
        raise
    except LeagueError as error:
        refusal = QueryError(error.code, error.name, str(error)[:500])
        return LeagueQueryResponse(query.query_type, success=False, error=refusal)
    is_flat = not is_directory(name)  # Beside `data`, `players` is their number.
    flat = {key: value for key, value in data.items() if is_flat and key in FLAT}
    return LeagueQueryResponse(query.query_type, data=data, **flat)


def spelled(query_type: str) -> str:
    """The documented name of a query, in whatever case and with or without GET."""
    return _BY_LETTERS.get(_letters(query_type), query_type)


def is_directory(query_type: str) -> bool:
    """Whether it asks where players are."""
    return spelled(query_type) in DIRECTORY


def _letters(query_type: str) -> str:
    return "".join(filter(str.isalpha, query_type.upper())).removeprefix("GET")


def answer(league: League, query_type: str, params: Mapping[str, Any], asker: str | None) -> Answer:
    """The `data` of the answer; if there is none, the error that is raised says why."""
    query = QUERIES.get(query_type)
    if query is None:
        raise UnknownQuery(f"query_type {query_type[:64]!r} is unknown", known=sorted(QUERIES))
    if not league.has_started and query_type not in AT_ANY_TIME:
        if league.phase is Phase.COMPLETED:
            raise NotStarted("the league was ended before it had begun; there is nothing to tell")
        raise NotStarted("the league has not begun; ask again after the first ROUND_ANNOUNCEMENT")
    return query(league, params, asker)


def _standings(league: League, params: Mapping[str, Any], asker: str | None) -> Answer:
    rows = league.table.rows()
    own = [] if params.keys() & {"offset", "limit"} else [r for r in rows if r.player_id == asker]
    chosen = [row for row in page(rows, params, ROWS_A_PAGE) if row not in own]
    shown = fitting([*own, *chosen], ROOM_BYTES // 2)
    return {
        "standings": sorted(shown, key=itemgetter("rank")),
        "current_round": league.round_id,
        "total": len(rows),
    }


def _schedule(league: League, params: Mapping[str, Any], asker: str | None) -> Answer:
    """Pages are counted in matches: a round of a large league alone would be too long."""
    total, wanted = league.total_rounds, params.get("round_id")
    if wanted is not None and (type(wanted) is not int or not 1 <= wanted <= total):
        raise wrong("round_id", f"1 to {total}")
    known = league.known_rounds
    rounds = range(1, known + 1) if wanted is None else range(wanted, min(wanted, known) + 1)
    places, length = _places(league, rounds, params)
    answered: dict[int, dict[str, Any]] = {}
    for round_id, numbers in groupby(places, key=itemgetter(0)):
        planned = league.planned_round(round_id)
        assert planned
        of_round = planned.matches
        matches = [of_round[number] for _, number in numbers]
        answered[round_id] = {
            "round_id": round_id,
            "matches": [described(league.matches.get(match[0]), *match) for match in matches],
            "byes": list(planned.byes),
        }
    return {"rounds": list(answered.values()), "total_rounds": total, "total": length}


def _places(
    league: League, rounds: range, params: Mapping[str, Any]
) -> tuple[Sequence[tuple[int, int]], int]:
    """A page of the matches of these rounds, by round and index, and how many there are."""
    if league.totals is None or league.format.pairs_by_results:
        places = [(each, n) for each in rounds for n in range(league.matches.size(each))]
        return page(places, params, MATCHES_A_PAGE), len(places)
    per_round = league.totals.matches // league.totals.rounds
    numbers = range((rounds.start - 1) * per_round, (rounds.stop - 1) * per_round)
    chosen = page(numbers, params, MATCHES_A_PAGE)
    length = numbers.stop - numbers.start  # `len` fails for what a made-up journal may say.
    return [(n // per_round + 1, n % per_round) for n in chosen], length


def _next_match(league: League, params: Mapping[str, Any], asker: str | None) -> Answer:
    player_id, referees = player_of(league, params, asker), league.roster.referees
    if league.phase is Phase.COMPLETED or player_id in league.roster.removed:
        return {"next_match": None}
    for round_id in range(max(league.round_id, 1), league.known_rounds + 1):
        planned = league.planned_round(round_id)
        assert planned
        for number, players in enumerate(planned.pairings, start=1):
            if player_id not in players:
                continue
            match_id = f"R{round_id}M{number}"
            record = league.matches.get(match_id)
            if not (record and record.decided):
                a, b = players
                return {
                    "next_match": {
                        "match_id": match_id,
                        "round_id": round_id,
                        "opponent_id": b if player_id == a else a,
                        "referee_endpoint": record and referees[record.referee_id].endpoint,
                        "game_type": league.rules.game_type,
                    }
                }
    return {"next_match": None}


def _status(league: League, params: Mapping[str, Any], asker: str | None) -> Answer:
    return {
        "status": str(league.phase),
        "current_round": league.round_id,
        "total_rounds": league.total_rounds,
        "matches_completed": league.decided_total,
        "total_matches": league.total_matches,
        "players": league.roster.players_total,
        "referees": league.roster.referees_total,
        "you": asker,
        "league_id": league.rules.league_id,
        "game_type": league.rules.game_type,
        "paused": league.paused,
        "aborted": league.aborted,
        "rounds_completed": league.rounds_ended,
        "champion": league.champion or None,
        "champions": [row.player_id for row in league.champions()] if league.champion else [],
        "champion_name": league.names_of(filter(None, [league.champion])).get(league.champion),
        "disputed_matches": [*league.disputed][:STATUS_ROWS],
        "ruled_matches": [*league.ruled][:STATUS_ROWS],
        "misused_tokens_of": [*league.misuses][:STATUS_ROWS],
        "waiting_referees": [*league.roster.waiting][:STATUS_ROWS],
        "set_aside_referees": sorted(league.roster.set_aside)[:STATUS_ROWS],
        "unconfirmed_matches": [*league.unconfirmed][:STATUS_ROWS],
        "accepted_losses": [
            f"row {row}: {loss_in_words(loss)}" for row, loss in league.losses.items()
        ][-LOSSES_SHOWN:],
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
    "GET_PLAYER_DIRECTORY": directory,
    "GET_REGISTRATIONS": directory,
}
_BY_LETTERS = {_letters(name): name for name in QUERIES} | dict.fromkeys(
    ("PLAYERS", "PLAYERLIST", "REGISTEREDPLAYERS", "PLAYERENDPOINTS"), "GET_PLAYER_DIRECTORY"
)
