"""Matches as managers in the wild hand them out, put into the documented form.

Documents 001 to 004 have no message that gives a match to a referee, so every author wrote one:
who plays and where goes by many names (`player_A_id`, `player_a`, `player1_id`, `players`), flat or
one level down. What has its documented name always counts first.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from agentleague.errors import MissingField
from agentleague.protocol.messages import Message, RoundAnnouncement, StartMatch

START = "START_MATCH"
GIVING_OUT = (RoundAnnouncement, StartMatch)  # messages with matches for a referee in them
BLOCKING = frozenset({"run_match", "play_match"})  # who calls so waits for the end of the match
ROWS_MAX = 1000  # matches in one message

_SEATS = {"a": 0, "1": 0, "one": 0, "b": 1, "2": 1, "two": 1}
_WHAT = "id|endpoint|contactendpoint|url|mcpurl|contacturl|address|"  # at last nothing: the id
# On names in lower case, without what is neither letter nor digit.
_NAMED = re.compile(rf"player(a|b|1|2|one|two)({_WHAT})")
_NUMBERED = re.compile(rf"(?:player)?({_WHAT})(a|b|1|2|one|two)")
_MATCH_ID = ("match_id", "id", "game_id", "match")
_PLAYER_ID = ("player_id", "id", "agent_id")
_ENDPOINT = ("contact_endpoint", "endpoint", "url", "callback_url", "mcp_url", "address")
_PLAYERS = ("players", "player_ids", "participants")
_ENDPOINTS = ("player_endpoints", "endpoints", "player_urls")
_ROUND = ("round_id", "round", "round_number")
_WITHIN = ("match", "assignment", "match_info", "data", "payload")  # where one match may stand
_COPIED = ("game_type", "referee_endpoint", "referee_id")
_DIGITS = re.compile(r"\d{1,9}")

Fields = Mapping[str, Any]
_object = msgspec.json.Decoder(dict[str, Any])


def spelt_out(told: Fields) -> dict[str, Any]:
    """The fields of a message that starts matches, with all of them under `matches`.

    Raises:
        MissingField: a match has no id, or not two players.
    """
    found = [row_of(row) for row in _rows(told)]
    for row in found:
        for name in ("match_id", "player_A_id", "player_B_id"):
            if not row.get(name):
                path = f"matches[].{name}" if "matches" in told else name
                raise MissingField(f"{START}: missing field '{path}'", field=path, kind="missing")
    return {**told, "matches": found, "round_id": _round(told)}


def with_players(message: Message, body: bytes | Raw) -> Message:
    """The same message; if its matches name their players in other words, in ours."""
    assert isinstance(message, GIVING_OUT)
    if not message.matches or message.matches[0].player_A_id:  # One author, one way to say it.
        return message
    rows = _object.decode(body)["matches"]
    kind = type(message.matches[0])  # Who only glances at an announcement reads less of each.
    try:
        found = [msgspec.convert({**row, **row_of(row)}, kind) for row in rows]
    except msgspec.ValidationError:
        return message  # As it is; whoever has to act on it says what is missing.
    return msgspec.structs.replace(message, matches=found)


def row_of(told: Fields) -> dict[str, Any]:
    """One match, as `RoundMatch` has it; what is not said is not there."""
    ids, urls = ["", ""], ["", ""]
    for seat, what, value in _seated(told):
        place = ids if what == "id" else urls
        if not place[seat] and isinstance(value, str):
            place[seat] = value
    told_urls = _by_id(told)
    urls = [url or told_urls.get(player_id, "") for url, player_id in zip(urls, ids, strict=True)]
    named = {"player_A_id": ids[0], "player_B_id": ids[1]}
    where = {"player_A_endpoint": urls[0], "player_B_endpoint": urls[1]}
    copied = {name: told[name] for name in _COPIED if isinstance(told.get(name), str)}
    match_id = _first(told, _MATCH_ID)
    found = {"match_id": match_id, **copied, **named, **where}
    return {name: value for name, value in found.items() if value}


def where_is(player_id: str, told: Any, depth: int = 6) -> str:
    """The end point of a player, wherever an answer names it; nothing where it does not."""
    if isinstance(told, list):
        return next(filter(None, (where_is(player_id, each, depth) for each in told)), "")
    if not isinstance(told, dict) or not depth:
        return ""
    own = told.get(player_id)
    if isinstance(own, str) and "://" in own:
        return own
    named = _first(told, _PLAYER_ID)
    if named in ("", player_id) and (url := _first(told, _ENDPOINT)):
        return url
    if isinstance(own, dict) and (url := _first(own, _ENDPOINT)):
        return url
    return next(filter(None, (where_is(player_id, each, depth - 1) for each in told.values())), "")


def _rows(told: Fields) -> Sequence[Fields]:
    rows = told.get("matches")
    if isinstance(rows, list):
        return [row for row in rows[:ROWS_MAX] if isinstance(row, dict)]
    within = (told[name] for name in _WITHIN if isinstance(told.get(name), dict))
    inner = next(within, None)
    return [{**told, **inner} if inner else told]


def _seated(told: Fields) -> Iterator[tuple[int, str, Any]]:
    """Seat, whether it is the id or the end point, and what is said; the surest names first."""
    for seat, envelope in enumerate("AB"):
        yield seat, "id", told.get(f"player_{envelope}_id")
        yield seat, "url", told.get(f"player_{envelope}_endpoint")
    yield from _named(told)
    yield from _listed(told)


def _named(told: Fields) -> Iterator[tuple[int, str, Any]]:
    """What stands under a name that says which player is meant."""
    for name, value in told.items():
        squeezed = re.sub(r"[^a-z0-9]", "", name.lower())
        if found := _NAMED.fullmatch(squeezed):
            yield from _said(_SEATS[found[1]], found[2], value)
        elif found := _NUMBERED.fullmatch(squeezed):
            yield from _said(_SEATS[found[2]], found[1], value)


def _listed(told: Fields) -> Iterator[tuple[int, str, Any]]:
    """Players in a list, as ids or objects, or in an object by id or by seat."""
    for name in _PLAYERS:
        value = told.get(name)
        for seat, each in enumerate(_two(value)):
            yield from _said(seat, "", each)
        if isinstance(value, dict):
            yield from list(_named(value)) or _keyed(value)
    for name in _ENDPOINTS:
        value = told.get(name)
        yield from ((seat, "url", each) for seat, each in enumerate(_two(value)))


def _keyed(told: Fields) -> Iterator[tuple[int, str, Any]]:
    """Players by their ids."""
    for seat, (player_id, value) in enumerate(_two(list(told.items()))):
        yield seat, "id", player_id
        yield from _said(seat, "url", value)


def _two(value: Any) -> Sequence[Any]:
    return value[:2] if isinstance(value, list) else ()


def _said(seat: int, what: str, value: Any) -> Iterator[tuple[int, str, Any]]:
    if isinstance(value, dict):
        yield seat, "id", _first(value, _PLAYER_ID)
        yield seat, "url", _first(value, _ENDPOINT)
    else:
        yield seat, "id" if what in ("", "id") else "url", value


def _by_id(told: Fields) -> dict[str, str]:
    """End points that stand beside the players, by their ids."""
    found: dict[str, str] = {}
    for name in _ENDPOINTS:
        value = told.get(name)
        if isinstance(value, dict):
            found |= {key: url for key, url in value.items() if isinstance(url, str)}
    return found


def _first(told: Fields, names: Sequence[str]) -> str:
    return next((told[name] for name in names if isinstance(told.get(name), str)), "")


def _round(told: Fields) -> int:
    """The number of the round: as a number, or in a text like `R2` or the id of the match."""
    for name in (*_ROUND, *_MATCH_ID):
        value = told.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        found = _DIGITS.search(value) if isinstance(value, str) else None
        if found:
            return int(found[0])
    return 1
