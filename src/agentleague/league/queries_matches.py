"""What anybody may know of one match: no move and no seed before the result stands.

Also how a list that is too long for an answer is cut into pages.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from agentleague.errors import MatchMismatch, WrongType
from agentleague.league.events import MatchRuled
from agentleague.league.formats.format import Players
from agentleague.league.league import League
from agentleague.league.match_records import MatchRecord
from agentleague.league.match_result import dispute_in_words, ruling_in_words
from agentleague.protocol.messages import Exchange

EXCHANGES_A_PAGE = 100
MOVES_BYTES = 1_500  # longer moves are left out
DISPUTES_SHOWN = 10
DISPUTE_MAX = 160  # characters of each
WORD_MAX = 64  # of what a foreign referee may have put into a transcript


def described(
    record: MatchRecord | None, match_id: str, players: tuple[str, ...]
) -> dict[str, Any]:
    """A match in a list."""
    facts: dict[str, Any] = {
        "match_id": match_id,
        "player_A_id": players[0],
        "player_B_id": players[1],
    }
    if record is None:
        return facts
    facts["draw_commitment"] = record.commitment
    result = record.result
    if record.decided and result:
        facts["status"] = result.status
        facts["winner_player_id"] = result.winner_player_id
        marks = {
            "no_contest": result.no_contest is True,
            "unverified": not record.decided.verified,
            "unconfirmed": record.is_unconfirmed,
            "ruled": record.is_overruled,
        }
        facts |= {mark: True for mark, holds in marks.items() if holds}
    if record.is_disputed:
        facts["disputed"] = True
    return facts


def match(league: League, params: Mapping[str, Any], asker: str | None) -> dict[str, Any]:
    """GET_MATCH: all of one match; `offset` and `limit` are about the rows of its transcript."""
    match_id = params.get("match_id")
    if not isinstance(match_id, str) or not match_id:
        raise wrong("match_id", "the id of a match, like 'R1M1'")
    record = league.matches.get(match_id)
    if record is None:
        planned = _planned(league, match_id)
        if planned is None:
            raise MatchMismatch(f"there is no match {match_id[:WORD_MAX]!r} in this league")
        return {"match": _begun(league, match_id, planned), "total": 0}
    facts = _scheduled(league, record)
    if record.decided:
        facts |= _ended(record)
    rows = record.closing.exchanges if record.closing else []
    if record.closing:
        facts["told"], facts["transcript_left_out"] = record.closing.told, record.closing.left_out
        room = ROOM_BYTES - len(msgspec.json.encode(facts))
        shown = page(rows, params, EXCHANGES_A_PAGE)
        facts["transcript"] = fitting([exchange(row) for row in shown], room)
    return {"match": facts, "total": len(rows)}


def _planned(league: League, match_id: str) -> Players | None:
    round_text, _, number = match_id.removeprefix("R").partition("M")
    if not (round_text.isdecimal() and number.isdecimal() and len(round_text) < 10):
        return None
    planned = league.planned_round(int(round_text))
    return dict(planned.matches).get(match_id) if planned else None


def _begun(league: League, match_id: str, players: tuple[str, ...]) -> dict[str, Any]:
    names = [league.roster.players[player_id].display_name for player_id in players]
    return {
        "match_id": match_id,
        "round_id": int(match_id[1:].partition("M")[0]),
        "league_id": league.rules.league_id,
        "game_type": league.rules.game_type,
        "game_options": league.rules.rules.game_options,
        "player_A_id": players[0],
        "player_A_name": names[0],
        "player_B_id": players[1],
        "player_B_name": names[1],
        "state": None,
    }


def _scheduled(league: League, record: MatchRecord) -> dict[str, Any]:
    referee = league.roster.referees[record.referee_id]
    return {
        **_begun(league, record.match_id, record.players),
        "state": _state(record),
        "referee_id": record.referee_id,
        "referee_name": referee.display_name,
        "referee_endpoint": referee.endpoint,
        "referee_locks": referee.locks,
        "referees": record.referees,
        "epoch": record.epoch,
        "draw_commitment": record.commitment,
        **({"draw_generation": record.generation} if record.generation else {}),
        **({"drawn_anew": True} if record.drawn_anew else {}),
        "locks": len(record.locks),
        "closed": record.closed,
        "disputes": [
            {"referee_id": each.referee_id, "words": dispute_in_words(each)[:DISPUTE_MAX]}
            for each in record.disputes[-DISPUTES_SHOWN:]
        ],
        "disputed": record.is_disputed,
    }


def _ruling(event: MatchRuled) -> dict[str, Any]:
    return {
        "verdict": event.verdict,
        "winner_player_id": event.winner,
        "reason": event.reason,
        "words": ruling_in_words(event),
    }


def _state(record: MatchRecord) -> str:
    """In the words of document 001 section 9.2, as far as the journal knows."""
    if record.decided:
        return "FINISHED"
    is_locked = bool(record.locks) and record.locks[-1].epoch == record.epoch
    return "COLLECTING_CHOICES" if is_locked else "UNKNOWN"


def _ended(record: MatchRecord) -> dict[str, Any]:
    decided = record.decided
    assert decided
    result = msgspec.to_builtins(decided.result)
    result["choices"] = _if_short(result["choices"])
    return {
        "result": result,
        "forfeits": [[player_id, cause[:WORD_MAX]] for player_id, cause in decided.forfeits],
        "verified": decided.verified,
        "unconfirmed": record.is_unconfirmed,
        "ruling": _ruling(record.ruling) if record.ruling else None,
        "seq": record.decided_seq,
        "draw": {
            "commitment": record.commitment,
            "seed": decided.seed,
            "moves": _if_short([list(move) for move in decided.moves]),
        },
    }


def _if_short(value: Any) -> Any:
    return value if len(msgspec.json.encode(value)) <= MOVES_BYTES else None


def exchange(row: Exchange) -> dict[str, Any]:
    """One row with names; what is too long for a page is cut."""
    written = msgspec.json.encode(row.move)
    is_short = len(written) <= WORD_MAX * 4
    move = row.move if is_short else written[:WORD_MAX].decode(errors="replace")
    return msgspec.structs.asdict(row) | {"verdict": row.verdict[:WORD_MAX], "move": move}


# What of 10,240 bytes is left for rows beside envelope, `conversation_id`, warnings and JSON-RPC.
ROOM_BYTES = 8_500
ROWS_A_PAGE = 25


def page(rows: Sequence[Any], params: Mapping[str, Any], at_most: int) -> Sequence[Any]:
    """The rows from `offset` on, at most `limit`, and never more than a page."""
    offset, limit = params.get("offset", 0), params.get("limit", at_most)
    for field, value in (("offset", offset), ("limit", limit)):
        if type(value) is not int or value < 0:
            raise wrong(field, "an integer from 0")
    return rows[offset : offset + min(limit, at_most)]


def fitting(rows: Sequence[Any], room_bytes: int) -> list[Any]:
    """As many of the rows as fit, as JSON has them; the next page begins behind them."""
    sizes = accumulate(len(msgspec.json.encode(row)) + 1 for row in rows)
    fits = sum(size <= room_bytes for size in sizes)
    return [msgspec.to_builtins(row) for row in rows[:fits]]


def wrong(field: str, wanted: str) -> WrongType:
    """A parameter is not what it must be; the sentence has its path."""
    path = f"query_params.{field}"
    return WrongType(f"{path} must be {wanted}", field=path)
