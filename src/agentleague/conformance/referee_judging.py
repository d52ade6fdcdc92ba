"""What the rules for referees have in common: fields, and what is expected of them."""

from collections.abc import Iterable
from typing import Any

from agentleague.conformance.listener import Received
from agentleague.conformance.referee_bench import REGISTRATION
from agentleague.conformance.referee_matches import CALL, ERROR, INVITATION, OVER, Record, Seat
from agentleague.conformance.rules import Broken, NotReached
from agentleague.errors import LeagueError
from agentleague.protocol import timestamps
from agentleague.protocol.messages import MESSAGES, GameResult

RUN = ("referee.match.is-run",)
REGISTERED = ("referee.registration.is-understood",)
REPORTED = (*RUN, "referee.report.is-sent")
TOLD = (*RUN, "referee.game-over.to-both")

ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id")
FIELDS = {
    REGISTRATION: [
        f"referee_meta.{name}"
        for name in (
            *("display_name", "version", "game_types", "contact_endpoint"),
            "max_concurrent_matches",
        )
    ],
    INVITATION: [
        *("league_id", "round_id", "match_id", "game_type", "role_in_match"),
        "opponent_id",
    ],
    CALL: [
        *("match_id", "player_id", "game_type", "deadline", "context.opponent_id"),
        *("context.round_id", "context.your_standings.wins", "context.your_standings.losses"),
        "context.your_standings.draws",
    ],
    OVER: [
        *("match_id", "game_type"),
        *(
            f"game_result.{name}"
            for name in (
                *("status", "winner_player_id", "drawn_number", "number_parity"),
                *("choices", "reason"),
            )
        ),
    ],
    "MATCH_RESULT_REPORT": [
        *("league_id", "round_id", "match_id", "game_type", "result.winner", "result.score"),
        *("result.details.drawn_number", "result.details.choices"),
    ],
    ERROR: [
        *("match_id", "error_code", "error_description", "affected_player"),
        *("action_required", "consequence"),
    ],
}
METHODS = {name: MESSAGES[name].method for name in FIELDS}  # of document 001
PLAIN = ("decisive", "draw", "odd even")  # matches in which both players do what is expected


def value_at(fields: Any, path: str) -> Any:
    """The value at a path of names; ... if there is none."""
    for name in path.split("."):
        if not isinstance(fields, dict) or name not in fields:
            return ...
        fields = fields[name]
    return fields


def field(received: Received, path: str) -> Any:
    """The value of a field that a rule is about; whether it is there is another rule's matter."""
    found = value_at(received.params(), path)
    if found is ...:
        raise NotReached(f"there is no {path} in {received.name}")
    return found


def expect_fields(received: Received, paths: Iterable[str]) -> None:
    """Break the rule unless these fields are there."""
    missing = [path for path in paths if value_at(received.params(), path) is ...]
    if missing:
        raise Broken(f"{', '.join(missing)} in {received.name}", received.exchange())


def expect_utc(received: Received, path: str) -> float:
    """The moment in a field; break the rule unless it is one in UTC."""
    found = field(received, path)
    try:
        if not isinstance(found, str):
            raise ValueError
        return timestamps.parse(found, path).timestamp()
    except (LeagueError, ValueError):
        text = f"`{path}` as YYYY-MM-DDTHH:MM:SSZ, in UTC"
        raise Broken(text, received.exchange()) from None


def first(seat: Seat, name: str) -> Received:
    """The first such message to a player."""
    found = seat.got(name)
    if not found:
        raise NotReached(f"{seat.player_id} was sent no {name}")
    return found[0]


def told(record: Record) -> list[tuple[Received, GameResult]]:
    """GAME_OVER to each of both players, leniently read."""
    found = [(seat, record.result(seat)) for seat in record.seats]
    if not all(over for _, over in found):
        raise NotReached("not both players were sent GAME_OVER with a `game_result`")
    return [(first(seat, OVER), over) for seat, over in found if over]


def winner_by_rules(record: Record, drawn: int) -> str | None:
    """Who wins with this number: who alone named its parity."""
    parity = "odd" if drawn % 2 else "even"
    right = [seat.player_id for seat in record.seats if seat.script.choice == parity]
    return right[0] if len(right) == 1 else None


def expect_method(received: Received, name: str) -> None:
    """Break the rule unless it is JSON-RPC as document 001 shows it."""
    body = received.fields() or {}
    request_id, is_flat = body.get("id"), "message_type" in received.params()
    has_id = isinstance(request_id, str | int) and not isinstance(request_id, bool)
    if (body.get("jsonrpc"), body.get("method")) != ("2.0", METHODS[name]) or not has_id:
        raise Broken(f"JSON-RPC 2.0 with an id and the method {METHODS[name]}", received.exchange())
    if not is_flat:
        raise Broken("the message itself as `params`", received.exchange())
