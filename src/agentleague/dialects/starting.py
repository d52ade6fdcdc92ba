"""Starting a match: how foreign managers tell our referees, and how foreign referees are told.

Documents 001 to 004 have no message that gives a match to a referee, so every author wrote one. The
ids and end points of the players go by many names (`player_A_id`, `player_a`, `player1_id`,
`players`), flat or one level down. Reading, the documented name counts first. Writing, all known
names are sent at once; a referee that refuses unknown fields is sent one naming only.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw

from agentleague.dialects.results import is_over
from agentleague.dialects.search import ENDPOINT, ID, PLAYER, objects_in, seat_of, squeezed
from agentleague.errors import MissingField
from agentleague.protocol import messages
from agentleague.protocol.jsonrpc import UNREADABLE
from agentleague.protocol.messages import Message, RoundAnnouncement, RoundMatch

Fields = Mapping[str, Any]
_object = msgspec.json.Decoder(dict[str, Any])

# Reading what a foreign manager sends.
START = "START_MATCH"
WITH_MATCHES = (RoundAnnouncement, messages.StartMatch)  # what gives matches to a referee
BLOCKING = frozenset({"run_match", "play_match"})  # their caller waits for the end
ROWS_MAX = 1000  # matches in one message

_MATCH_ID = ("match_id", "id", "game_id", "match")
_ENDPOINT = (*ENDPOINT, "address")
_SEATED = ("", "id", *map(squeezed, _ENDPOINT))  # what a seat in a name is about; empty: the id
_PLAYERS = ("players", "player_ids", "participants")
_ENDPOINTS = ("player_endpoints", "endpoints", "player_urls")
_ROUND = ("round_id", "round", "round_number")
_WITHIN = ("match", "assignment", "match_info", "data", "payload")  # where one match may stand
_COPIED = ("game_type", "referee_endpoint", "referee_id")
_DIGITS = re.compile(r"\d{1,9}")


def respell_start(fields: Fields) -> dict[str, Any]:
    """All matches under `matches`. Raises MissingField if one has no id, or not two players."""
    rows = [read_match(row) for row in _rows(fields)]
    for row in rows:
        for name in ("match_id", "player_A_id", "player_B_id"):
            if not row.get(name):
                path = f"matches[].{name}" if "matches" in fields else name
                raise MissingField(f"{START}: missing field '{path}'", field=path, kind="missing")
    return {**fields, "matches": rows, "round_id": _round(fields)}


def with_players(message: Message, text: bytes | Raw) -> Message:
    """The same message; if its matches name their players otherwise, in the documented fields."""
    assert isinstance(message, WITH_MATCHES)
    if not message.matches or message.matches[0].player_A_id:  # All rows have one author.
        return message
    try:
        rows = _object.decode(text)["matches"]
        found = [msgspec.convert({**row, **read_match(row)}, RoundMatch) for row in rows]
    except UNREADABLE:
        return message  # The role that has to act on it says what is missing.
    return msgspec.structs.replace(message, matches=found)


def read_match(fields: Fields) -> dict[str, Any]:
    """One match in the fields of `RoundMatch`, as far as they are given."""
    ids, urls = ["", ""], ["", ""]
    for seat, what, value in _seated(fields):
        place = ids if what == "id" else urls
        if not place[seat] and isinstance(value, str):
            place[seat] = value
    urls_by_id = _by_id(fields)
    urls = [url or urls_by_id.get(player_id, "") for url, player_id in zip(urls, ids, strict=True)]
    named = {"player_A_id": ids[0], "player_B_id": ids[1]}
    where = {"player_A_endpoint": urls[0], "player_B_endpoint": urls[1]}
    copied = {name: fields[name] for name in _COPIED if isinstance(fields.get(name), str)}
    match_id = _first(fields, _MATCH_ID)
    found = {"match_id": match_id, **copied, **named, **where}
    return {name: value for name, value in found.items() if value}


def find_endpoint(player_id: str, fields: Any) -> str:
    """The end point of a player, wherever an answer names it; empty if it does not."""
    for place in objects_in(fields):
        own = place.get(player_id)
        if isinstance(own, str) and "://" in own:
            return own
        named = _first(place, ID)
        if named in ("", player_id) and (url := _first(place, _ENDPOINT)):
            return url
        if isinstance(own, dict) and (url := _first(own, _ENDPOINT)):
            return url
    return ""


def find_matches(fields: Any) -> list[messages.StartMatch]:
    """The matches without a result that an answer gives to a referee, wherever they stand."""
    found = []
    for place in objects_in(fields, _is_match):
        if _is_match(place) and not is_over(place):
            with suppress(msgspec.ValidationError):  # Such ids are too long.
                row = msgspec.convert(read_match(place), RoundMatch)
                league_id = _first(place, ("league_id",))
                found.append(messages.StartMatch([row], league_id, _round(place)))
    return found[:ROWS_MAX]


def _is_match(fields: Fields) -> bool:
    return read_match(fields).keys() >= {"match_id", "player_A_id", "player_B_id"}


def speaks_of_matches(fields: Any, depth: int = 8) -> bool:
    """Whether an answer says which matches there are, though it be none."""
    if not isinstance(fields, dict) or not depth:
        return False
    return any(
        ("match" in name and not isinstance(value, str | int))
        or (name in ("list", "data") and isinstance(value, list))
        or speaks_of_matches(value, depth - 1)
        for name, value in fields.items()
    )


def _rows(fields: Fields) -> Sequence[Fields]:
    rows = fields.get("matches")
    if isinstance(rows, list):
        return [row for row in rows[:ROWS_MAX] if isinstance(row, dict)]
    within = (fields[name] for name in _WITHIN if isinstance(fields.get(name), dict))
    inner = next(within, None)
    return [{**fields, **inner} if inner else fields]


def _seated(fields: Fields) -> Iterator[tuple[int, str, Any]]:
    """Seat, `id` or `url`, and the value; the surest names first."""
    for seat, letter in enumerate("AB"):
        yield seat, "id", fields.get(f"player_{letter}_id")
        yield seat, "url", fields.get(f"player_{letter}_endpoint")
    yield from _named(fields)
    yield from _listed(fields)


def _named(fields: Fields) -> Iterator[tuple[int, str, Any]]:
    """Values under a name that says which player is meant."""
    for name, value in fields.items():
        if found := seat_of(name, _SEATED):
            yield from _id_or_url(*found, value)


def _listed(fields: Fields) -> Iterator[tuple[int, str, Any]]:
    """Players in a list, as ids or objects, or in an object by id or by seat."""
    for name in _PLAYERS:
        value = fields.get(name)
        for seat, each in enumerate(_two(value)):
            yield from _id_or_url(seat, "", each)
        if isinstance(value, dict):
            yield from list(_named(value)) or _keyed(value)
    for name in _ENDPOINTS:
        value = fields.get(name)
        yield from ((seat, "url", each) for seat, each in enumerate(_two(value)))


def _keyed(fields: Fields) -> Iterator[tuple[int, str, Any]]:
    for seat, (player_id, value) in enumerate(_two(list(fields.items()))):
        yield seat, "id", player_id
        yield from _id_or_url(seat, "url", value)


def _two(value: Any) -> Sequence[Any]:
    return value[:2] if isinstance(value, list) else ()


def _id_or_url(seat: int, what: str, value: Any) -> Iterator[tuple[int, str, Any]]:
    if isinstance(value, dict):
        yield seat, "id", _first(value, PLAYER)
        yield seat, "url", _first(value, _ENDPOINT)
    else:
        yield seat, "id" if what in ("", "id") else "url", value


def _by_id(fields: Fields) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _ENDPOINTS:
        value = fields.get(name)
        if isinstance(value, dict):
            found |= {key: url for key, url in value.items() if isinstance(url, str)}
    return found


def _first(fields: Fields, names: Sequence[str]) -> str:
    return next((fields[name] for name in names if isinstance(fields.get(name), str)), "")


def _round(fields: Fields) -> int:
    """The number of the round: as a number, or in a text like `R2` or the id of the match."""
    for name in (*_ROUND, *_MATCH_ID):
        value = fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        found = _DIGITS.search(value) if isinstance(value, str) else None
        if found:
            return int(found[0])
    return 1


# Asking a foreign manager for matches: by a method of its own, or else by a query.
POLLS = {"GET_ASSIGNED_MATCHES": "get_assigned_matches", "GET_NEXT_MATCH": "get_next_match"}


def is_poll(message: messages.LeagueQuery) -> bool:
    """Whether a referee asks for its matches by a method of its own."""
    return "referee_id" in message.query_params and message.query_type in POLLS


def poll_fields(message: messages.LeagueQuery, *, has_envelope: bool) -> dict[str, Any]:
    """Who asks; where the method does not say for what, with an envelope."""
    token = {} if message.auth_token is UNSET else {"auth_token": message.auth_token}
    fields = {**message.query_params, **token}
    return with_envelope(message, message.query_type, fields) if has_envelope else fields


# Writing to a foreign referee.
ANNOUNCED = "ROUND_ANNOUNCEMENT"
NONSENSE = "NO_SUCH_MESSAGE"  # unknown to all: an answer to it shows what other answers are worth
DOCUMENTED = "plain"  # the naming of an announcement with the fields of document 001 only
OBJECTS = "objects"  # all namings at once, in which `player1` and its like are objects
# Of a start, and of the answer to a referee's registration: some referees compare the two.
SENDER = "league_manager:LM01"

# Message type that starts a match -> its method.
START_METHODS = {
    "START_MATCH": "start_match",
    "ASSIGN_MATCH": "assign_match",
    "MATCH_ASSIGNMENT": "match_assignment",
    "RUN_MATCH": "run_match",
    "START_MATCH_COMMAND": "start_match_command",
    ANNOUNCED: "notify_round",
}
METHODS = START_METHODS | {NONSENSE: "no_such_method"}


class Naming(NamedTuple):
    """The fields in which the ids and the end points of the two players are sent."""

    ids: tuple[str, str]
    endpoints: tuple[str, str]


# The first of each pair is the player A of the documents.
NAMINGS = {
    "A": Naming(("player_A_id", "player_B_id"), ("player_A_endpoint", "player_B_endpoint")),
    "a": Naming(("player_a", "player_b"), ("player_a_endpoint", "player_b_endpoint")),
    "1": Naming(("player1_id", "player2_id"), ("player1_endpoint", "player2_endpoint")),
}
_MORE = (
    Naming(("player_A", "player_B"), ("player_A_url", "player_B_url")),
    Naming(("player_a_id", "player_b_id"), ("player_a_url", "player_b_url")),
    Naming(("player1", "player2"), ("player1_url", "player2_url")),
    Naming(("player_1_id", "player_2_id"), ("player_1_endpoint", "player_2_endpoint")),
)
_NAMES = ("player_A_name", "player_B_name")
# What such an object stands under: `player1`, where its id would be `player1_id`.
_OBJECTS = {
    tuple(name.removesuffix("_id") for name in each.ids) for each in (*NAMINGS.values(), *_MORE)
}


def namings_of(start_type: str) -> tuple[str, ...]:
    """The namings that this message can have alone, besides all at once."""
    if start_type == NONSENSE:
        return ()
    return (DOCUMENTED,) if start_type == ANNOUNCED else (*NAMINGS, OBJECTS)


def describe_naming(naming: str) -> str:
    """A naming in words."""
    if naming == DOCUMENTED:
        return "documented fields only"
    return "players as objects" if naming == OBJECTS else f"players as {NAMINGS[naming].ids[0]}"


def is_assignment(message: Message) -> bool:
    """Whether this announcement gives a referee one match, or none."""
    return (
        isinstance(message, RoundAnnouncement)
        and message.session is not UNSET
        and len(message.matches) <= 1
    )


def nonsense(message: RoundAnnouncement) -> RoundAnnouncement:
    """An assignment of nothing."""
    return msgspec.structs.replace(message, matches=[])


def start_fields(message: RoundAnnouncement, start_type: str, naming: str = "") -> dict[str, Any]:
    """The fields of a message of this type that starts the match of an assignment."""
    if not message.matches:
        return with_envelope(message, start_type, {})
    match = message.matches[0]
    names = {
        "match_id": match.match_id,
        "round_id": message.round_id,
        "league_id": message.league_id,
        "game_type": match.game_type,
    }
    if naming in NAMINGS:
        return names | _players(match, NAMINGS[naming])
    fields = with_envelope(message, start_type, names)
    fields |= {
        "game_id": match.match_id,
        "conversation_id": message.conversation_id,
        "referee_endpoint": match.referee_endpoint,
    }
    for each in (*NAMINGS.values(), *_MORE):
        fields |= _players(match, each)
    seats = _seats(match)
    fields |= {name: seat.display_name for name, seat in zip(_NAMES, seats, strict=True)}
    players = [_player(seat) for seat in seats]
    for pair in _OBJECTS if naming == OBJECTS else ():
        fields |= dict(zip(pair, players, strict=True))
    row = {"match_id": match.match_id, "referee_endpoint": match.referee_endpoint}
    return fields | {"players": players, "matches": [row | _players(match, NAMINGS["A"])]}


def takes_objects(parameters: Mapping[str, str]) -> bool:
    """Whether a tool lists a player as an object, by the JSON types of its parameters."""
    names = {name for pair in _OBJECTS for name in pair}
    return any(kind == "object" and name in names for name, kind in parameters.items())


def with_envelope(message: Message, start_type: str, fields: Fields) -> dict[str, Any]:
    """The fields with the envelope and the message type."""
    return {
        "protocol": message.protocol,
        "message_type": start_type,
        "sender": SENDER,
        "timestamp": message.timestamp,
        **fields,
    }


def _seats(match: RoundMatch) -> list[messages.Seated]:
    assert match.seats is not UNSET
    return match.seats


def _players(match: RoundMatch, naming: Naming) -> dict[str, str]:
    fields: dict[str, str] = {}
    for seat, name, endpoint in zip(_seats(match), *naming, strict=True):
        fields |= {name: seat.player_id, endpoint: seat.endpoint}
    return fields


def _player(seat: messages.Seated) -> dict[str, str]:
    return {
        **dict.fromkeys(("player_id", "id"), seat.player_id),
        **dict.fromkeys(("display_name", "name"), seat.display_name),
        **dict.fromkeys(("endpoint", "contact_endpoint", "url"), seat.endpoint),
        "version": "",  # Some cannot do without.
    }
