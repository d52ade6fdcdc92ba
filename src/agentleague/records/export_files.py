"""A league as the files that document 001 names, and as CSV: paths and texts, nothing written."""

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from agentleague.errors import LeagueError
from agentleague.games.game import Game
from agentleague.league.event_text import public_fields, public_url, sentence
from agentleague.league.events import MatchAssigned
from agentleague.league.league import League
from agentleague.league.match_records import MatchRecord
from agentleague.league.roster import Member
from agentleague.league.stage_views import MERITS, standing_rows
from agentleague.league.standings import Standing
from agentleague.protocol.messages import GameResult
from agentleague.protocol.printable import printable
from agentleague.records import ratings
from agentleague.records.match_story import facts_of
from agentleague.records.reading import event_of
from agentleague.roles.effects import Event
from agentleague.roles.ports import Row

File = tuple[str, str]  # a path with slashes, and its text

TABLE_FIELDS = (*Standing.__struct_fields__, "why")
# fmt: off
RESULT_FIELDS = ("status", "winner_player_id", "drawn_number")
MATCH_FIELDS = (
    "match_id", "round_id", "player_A_id", "player_A_name", "player_B_id", "player_B_name",
    "referee_id", *RESULT_FIELDS, "no_contest", "verified", "disputed", "ruled", "reason",
)
# fmt: on
_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?|.*\.", re.IGNORECASE)  # by Windows
_FORMULA = tuple("=+-@|%\uff1d\uff0b\uff0d\uff20")  # to one spreadsheet or another


RATING_FIELDS = (
    *("rank", "best", "worst", "player_id", "name", "rating", "low_95", "high_95"),
    *("low_50", "high_50", "matches", "first", "group", "more_matches", "part"),
)


def files(league: League, rows: Sequence[Row], game: Game | None = None) -> Iterator[File]:
    """All files of a league; `rows` are all of its journal; the game says whether it is luck."""
    events = [event_of(row) for row in rows]
    times = [row.at for row in rows]
    assigned = defaultdict[str, list[Event]](list)
    for event in events:
        if isinstance(event, MatchAssigned):
            assigned[event.match_id].append(event)
    yield "README.txt", readme(league)
    yield from league_files(league, times[-1])
    home = f"data/leagues/{path_part(league.rules.league_id)}"
    yield f"{home}/rounds.json", _json({**_state(league, times[-1]), "rounds": _rounds(league)})
    rated = ratings.statistics([ratings.results_of(league, game)])
    yield f"{home}/ratings.json", _json(rated)
    yield f"{home}/ratings.csv", _csv(RATING_FIELDS, rated["rows"])
    matches = [_match_row(league, match) for match in league.matches.values()]
    yield f"{home}/matches.csv", _csv(MATCH_FIELDS, matches)
    for match_id, match in league.matches.items():
        at = times[match.decided_seq - 1]
        yield match_file(league, match_id, at, assigned[match_id])
    for player_id in league.roster.players:
        decided = [each for each in league.matches.of_player.get(player_id, ()) if each.decided]
        yield history_file(
            league,
            player_id,
            [played(league, player_id, each, times[each.decided_seq - 1]) for each in decided],
        )
    yield log_path(league), "".join(map(log_line, rows, events))


def readme(league: League) -> str:
    """Where each file is, and what it holds."""
    league_id = path_part(league.rules.league_id)
    home, matches = f"data/leagues/{league_id}", f"data/matches/{league_id}"
    lines = {
        f"{home}/standings.csv": "the table, for a spreadsheet",
        f"{home}/standings.json": "the table, for a program",
        f"{home}/matches.csv": "every match in a line: who met, who won, why",
        f"{home}/ratings.csv": "how strong players are by their results, and how sure that is",
        f"{home}/ratings.json": "the same for a program, with chances of ranks and what luck does",
        f"{home}/rounds.json": "the rounds: who met whom, who had a bye",
        f"{matches}/R1M1.json": "a match in full, a file each; its draw can be checked",
        "data/players/P01/history.json": "a player's matches, a file each",
        "config/agents/agents_config.json": "who took part",
        f"{log_path(league)}": "every decision, in order",
        "export.json": "the names of all files, and the last row of the journal",
    }
    contents = "".join(f"{path}\n    {what}\n" for path, what in lines.items())
    return f"{league.rules.league_id}, a league of {league.rules.game_type}.\n\n{contents}"


def table_path(league: League) -> str:
    """The path of the table for a spreadsheet."""
    return f"data/leagues/{path_part(league.rules.league_id)}/standings.csv"


def league_files(league: League, now: str) -> Iterator[File]:
    """Agents and table; `now` is when the last row was written."""
    home = f"data/leagues/{path_part(league.rules.league_id)}"
    why, ranked = league.table.why, standing_rows(league, league.table.rows())
    table = [{**row, "why": why(row["player_id"])} for row in ranked]
    more = [name for name in MERITS if any(name in row for row in table)]
    yield "config/agents/agents_config.json", _json(_agents(league))
    yield f"{home}/standings.json", _json({**_state(league, now), "standings": table})
    yield f"{home}/standings.csv", _csv((*TABLE_FIELDS[:-1], *more, "why"), table)


def match_file(league: League, match_id: str, decided_at: str, events: Iterable[Event]) -> File:
    """One match: the facts of GET_MATCH, all its moves, and when it was decided."""
    match = league.matches[match_id]
    facts = {"league_id": league.rules.league_id, **facts_of(league, match_id, events)}
    facts["referee_endpoint"] = public_url(facts["referee_endpoint"])
    if match.decided:
        facts["result"] = msgspec.to_builtins(match.decided.result)
        facts["draw"]["moves"] = msgspec.to_builtins(match.decided.moves)
        facts["decided_at"] = decided_at
    path = f"data/matches/{path_part(league.rules.league_id)}/{path_part(match_id)}.json"
    return path, _json(facts)


def history_file(league: League, player_id: str, matches: Iterable[dict[str, Any]]) -> File:
    """One player: its record, and its matches as `played` has them."""
    history = {
        "player_id": player_id,
        "display_name": league.roster.players[player_id].display_name,
        "league_id": league.rules.league_id,
        "record": _record(league, player_id),
        "matches": list(matches),
    }
    return f"data/players/{path_part(player_id)}/history.json", _json(history)


def log_path(league: League) -> str:
    """The path of the log."""
    return f"logs/league/{path_part(league.rules.league_id)}/league.log.jsonl"


def log_line(row: Row, event: Event) -> str:
    """One row of the journal as a line of JSON, without secrets."""
    head = {"timestamp": row.at, "seq": row.seq, "event": row.kind, "words": sentence(event)}
    return json.dumps({**head, "data": public_fields(event), "hash": row.hash.hex()}) + "\n"


def path_part(name: str) -> str:
    """An id as part of a path. Raises LeagueError if it could lead out of the folder."""
    if not _ID.fullmatch(name) or _RESERVED.fullmatch(name):
        raise LeagueError(f"the id {name[:64]!r} cannot be part of a file's name")
    return name


def cell(value: Any) -> Any:
    """A value that no spreadsheet reads as a formula, and no terminal as a control sequence."""
    if not isinstance(value, str):
        return value
    text = printable(value.replace("\n", "?"))
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _state(league: League, now: str) -> dict[str, Any]:
    return {
        "league_id": league.rules.league_id,
        "game_type": league.rules.game_type,
        "status": str(league.phase),
        "rounds_completed": league.rounds_ended,
        "total_rounds": league.total_rounds,
        "champion": league.champion or None,
        "champions": [row.player_id for row in league.champions()] if league.champion else [],
        "last_updated": now,
    }


def _agents(league: League) -> dict[str, Any]:
    roster = league.roster
    return {
        "league_id": league.rules.league_id,
        "referees": [
            {
                "referee_id": each.agent_id,
                **_agent(league, each),
                "max_concurrent_matches": each.capacity,
                "locks": each.locks,
            }
            for each in roster.referees.values()
        ],
        "players": [
            {
                "player_id": each.agent_id,
                **_agent(league, each),
                "removed": each.agent_id in roster.removed,
            }
            for each in roster.players.values()
        ],
    }


def _agent(league: League, member: Member) -> dict[str, Any]:
    return {
        "display_name": member.display_name,
        "version": member.version,
        "game_types": list(member.game_types) or [league.rules.game_type],
        "contact_endpoint": public_url(league.url_of(member.agent_id)),
    }


def _rounds(league: League) -> list[dict[str, Any]]:
    matches: dict[int, list[dict[str, Any]]] = {round_id: [] for round_id in league.byes}
    for match in league.matches.values():
        matches[match.round_id].append(_match_row(league, match))
    return [
        {
            "round_id": round_id,
            "status": "COMPLETED" if round_id <= league.rounds_ended else "RUNNING",
            "matches": rows,
            "byes": league.byes[round_id],
        }
        for round_id, rows in matches.items()
    ]


def _match_row(league: League, match: MatchRecord) -> dict[str, Any]:
    players = league.roster.players
    a, b = match.players
    result = match.result
    return {
        "match_id": match.match_id,
        "round_id": match.round_id,
        "player_A_id": a,
        "player_A_name": players[a].display_name,
        "player_B_id": b,
        "player_B_name": players[b].display_name,
        "referee_id": match.referee_id,
        **{name: getattr(result, name, None) for name in RESULT_FIELDS},
        "no_contest": bool(result and result.no_contest is True),
        # Whether the result follows from the moves; a forfeit is only what a referee says.
        "verified": match.decided and (match.decided.verified and not match.decided.forfeits),
        "disputed": match.is_disputed,
        "ruled": match.is_overruled,
        "reason": result.reason if result else None,
    }


def _record(league: League, player_id: str) -> dict[str, Any] | None:
    """What it has done so far; not its rank, which changes with every match of the others."""
    if not league.has_started:
        return None
    try:
        row: dict[str, Any] = msgspec.to_builtins(league.table.row(player_id))
    except KeyError:  # Removed before the start.
        return None
    return {name: value for name, value in row.items() if type(value) is int and name != "rank"}


def played(league: League, player_id: str, match: MatchRecord, decided_at: str) -> dict[str, Any]:
    """A match that is decided, as its player sees it."""
    result = match.result
    assert result
    opponent = match.players[match.players[0] == player_id]
    return {
        "match_id": match.match_id,
        "round_id": match.round_id,
        "opponent_id": opponent,
        "opponent_name": league.roster.players[opponent].display_name,
        "outcome": _outcome(player_id, result),
        "ruled": match.is_overruled,
        "status": result.status,
        "my_choice": result.choices.get(player_id),
        "opponent_choice": result.choices.get(opponent),
        "drawn_number": result.drawn_number,
        "reason": result.reason,
        "decided_at": decided_at,
    }


def _outcome(player_id: str, result: GameResult) -> str:
    if result.no_contest is True:
        return "NO_CONTEST"
    if result.winner_player_id == player_id:
        return "WIN"
    return "DRAW" if result.status == "DRAW" else "LOSS"


def _json(value: Any) -> str:
    return msgspec.json.format(json.dumps(value)) + "\n"  # Four times as fast as `indent`.


def _csv(fields: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: cell(row.get(name)) for name in fields} for row in rows)
    return text.getvalue()
