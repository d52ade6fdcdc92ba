"""Answers to LEAGUE_QUERY: the same keys in `data` and beside it, as the documents differ."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import Any

import msgspec

from agentleague.dialects.table import in_words
from agentleague.errors import (
    LeagueError,
    NotRegistered,
    NotStarted,
    TokenMissing,
    UnknownLeague,
    UnknownQuery,
)
from agentleague.league import stage_views
from agentleague.league.league import League, Phase
from agentleague.league.match_records import MatchRecord
from agentleague.league.match_result import loss_in_words, misuse_in_words
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
from agentleague.league.roster import Member
from agentleague.league.standings import Standing
from agentleague.protocol.messages import LeagueQuery, LeagueQueryResponse, QueryError

MATCHES_A_PAGE = 16  # they are said twice, in `data` and beside it
STATUS_ROWS = 50  # of each list in a status
LOSSES_SHOWN = 5
RESULTS_SHOWN = 5
AGENTS_A_PAGE = 100
KINDS = ("player", "referee")
OPEN_MATCHES = ROWS_A_PAGE
ROOM_FOR_MARKS = 1_100  # of a page's agents
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
    """The whole answer, or why there is none; `reachable` says who listens at its end point."""
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
        known = sorted(QUERIES)
        why = f"query_type {query_type[:64]!r} is unknown; known are {', '.join(known)}"
        raise UnknownQuery(why, known=known)
    if not league.has_started and query_type not in AT_ANY_TIME:
        if league.phase is Phase.COMPLETED:
            raise NotStarted("the league was ended before it had begun; there is nothing to tell")
        raise NotStarted("the league has not begun; ask again after the first ROUND_ANNOUNCEMENT")
    return query(league, params, asker)


def _standings(league: League, params: Mapping[str, Any], asker: str | None) -> Answer:
    rows = league.table.rows()
    places = {row.player_id: place for place, row in enumerate(rows)}
    own = [] if params.keys() & {"offset", "limit"} else [r for r in rows if r.player_id == asker]
    chosen = [row for row in page(rows, params, ROWS_A_PAGE) if row not in own]
    shown = fitting(stage_views.standing_rows(league, [*own, *chosen]), ROOM_BYTES // 2)
    return {
        "standings": sorted(shown, key=lambda row: places[row["player_id"]]),
        "current_round": league.round_id,
        "total": len(rows),
    }


def _stage(league: League, params: Mapping[str, Any], asker: str | None) -> Answer:
    """The bracket, table, groups or ladder of a stage: the running one, unless one is named."""
    number = stage_views.shown_stage(league, params.get("stage"))
    if not number:
        raise wrong("stage", f"1 to {len(league.stages)}")
    rows = stage_views.stage_rows(league, number)
    return {
        "stage": number,
        "stages": stage_views.stages(league),
        "shown_rounds": stage_views.rounds_of(league, number),
        "rows": fitting(page(rows, params, ROWS_A_PAGE), ROOM_BYTES),
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
    if not league.is_fixed or not league.totals:
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
        for match_id, (a, b) in planned.matches:
            record = league.matches.get(match_id) if player_id in (a, b) else None
            if player_id in (a, b) and not (record and record.decided):
                following = {
                    "match_id": match_id,
                    "round_id": round_id,
                    "opponent_id": b if player_id == a else a,
                    "referee_endpoint": record and referees[record.referee_id].endpoint,
                    "game_type": league.rules.game_type,
                }
                return {"next_match": following}
    return {"next_match": None}


def _status(league: League, params: Mapping[str, Any], asker: str | None) -> Answer:
    return {
        "status": str(league.phase),
        "current_round": league.round_id,
        "total_rounds": league.total_rounds,
        "matches_completed": league.decided_total,
        "total_matches": league.total_matches,
        "players": league.players_total,
        "referees": league.roster.referees_total,
        "you": asker,
        "league_id": league.rules.league_id,
        "game_type": league.rules.game_type,
        "stages": [each.format for each in league.stages],
        "stage": league.progress.stage,
        "round_in_words": stage_views.round_in_words(league),
        "is_length_known": league.is_length_known,
        "paused": league.paused,
        "aborted": league.aborted,
        "rounds_completed": league.rounds_ended,
        "ending": league.ending,
        "champion": league.champion or None,
        "champions": [row.player_id for row in league.champions()[:STATUS_ROWS] if league.champion],
        "champion_name": league.names_of(filter(None, [league.champion])).get(league.champion),
        "disputed_matches": [*league.disputed][:STATUS_ROWS],
        "ruled_matches": [*league.ruled][:STATUS_ROWS],
        "misused_tokens_of": [*league.misuses][:STATUS_ROWS],
        "latecomers": league.latecomers[:STATUS_ROWS] if league.entry else [],
        "waiting_referees": [*league.roster.waiting][:STATUS_ROWS],
        "set_aside_referees": sorted(league.roster.set_aside)[:STATUS_ROWS],
        "unconfirmed_matches": [*league.unconfirmed][:STATUS_ROWS],
        "accepted_losses": [
            f"row {row}: {loss_in_words(loss)}" for row, loss in league.losses.items()
        ][-LOSSES_SHOWN:],
        "last_results": _last_results(league),
    }


def _last_results(league: League) -> list[dict[str, Any]]:
    """The newest results of this round and the last, the newest first."""
    at_hand = league.matches.values()
    recent = [m for m in at_hand if m.decided and m.round_id >= league.round_id - 1]
    return [
        described(m, m.match_id, m.players) | {"names": league.names_of(m.players)}
        for m in sorted(recent, key=attrgetter("decided_seq"), reverse=True)[:RESULTS_SHOWN]
    ]


def agents(league: League, params: Mapping[str, Any], asker: str | None) -> dict[str, Any]:
    """GET_AGENTS: players in the order of their registration, then referees."""
    kind, name = params.get("kind"), params.get("name")
    if kind is not None and kind not in KINDS:
        raise wrong("kind", "'player' or 'referee'")
    if not isinstance(name, str | None):
        raise wrong("name", "an id or a display name")
    players = [] if kind == "referee" else [*league.roster.players]
    referees = [] if kind == "player" else [*league.roster.referees, *league.roster.waiting]
    everybody = players + referees
    if name is not None:
        member, called = league.roster.member, name.lower()
        everybody = [e for e in everybody if called in (e.lower(), member(e).display_name.lower())]
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
        stats["contact_endpoint"] = league.url_of(player_id)
    return {"player_stats": stats}


def directory(league: League, params: Mapping[str, Any], asker: str | None) -> dict[str, Any]:
    """GET_PLAYER_DIRECTORY: all players, and where those are whose end points the asker may see."""
    players, wanted = league.roster.players, params.get("player_id")
    chosen = [each for each in players if wanted in (None, each)]
    rows: list[dict[str, str]] = []
    for each in page(chosen, params, AGENTS_A_PAGE):
        rows.append({"player_id": each, "display_name": players[each].display_name})
        if sees_endpoint(league, each, asker):
            rows[-1]["contact_endpoint"] = league.url_of(each)
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
    if league.phase is Phase.REGISTERING or league.is_late(agent_id):
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
        row["endpoint"] = league.url_of(agent_id)
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
    if member.is_seated:
        return {"seat": True}
    is_unknown = member.source is None or member.agent_id in roster.waiting
    return {} if is_unknown else {"proved": roster.is_proved(member.agent_id)}


def _standing(league: League, player_id: str) -> Standing:
    try:
        return league.table.row(player_id)
    except KeyError:  # Before the start the table is empty; players removed then never enter it.
        names = ("rank", "played", "wins", "draws", "losses", "technical_losses", "points")
        counts: dict[str, Any] = dict.fromkeys(names, 0)
        name = league.roster.players[player_id].display_name
        return Standing(player_id=player_id, display_name=name, **counts)


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


QUERIES: dict[str, Callable[[League, Mapping[str, Any], str | None], Answer]] = {
    "GET_STANDINGS": _standings,
    "GET_SCHEDULE": _schedule,
    "GET_STAGE": _stage,
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
