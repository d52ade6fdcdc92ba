"""A match's result, wherever a foreign referee puts it and whatever it calls its parts.

Only the winner is needed, or how each player ended; of the rest, what can be read is kept.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentleague.dialects.search import PLAYER, objects_in, seat_of, squeezed

Fields = Mapping[str, Any]

_INSIDE = ("result", "game_result", "match_result", "outcome", "data", "details", "message")
_WINNER = ("winner", "winner_player_id", "winner_id", "winning_player", "winner_name")
_SCORE = ("score", "scores", "points")
_NUMBER = ("drawn_number", "number", "random_number", "drawn")
_CHOICES = ("choices", "player_choices", "moves", "parity_choices")
_CHOICE = ("choice", "parity_choice", "move")
_STATUS = ("status", "outcome", "result", "result_type")
_NAMES = frozenset({*_INSIDE, *_WINNER, *_NUMBER, *_CHOICE, *_STATUS, *PLAYER})
# What a field with a seat in its name tells of that player, by its squeezed name.
_SEATED = {squeezed(each): each for each in (*PLAYER, *_CHOICE, *_STATUS, "info", "details")}
_SEATED[""] = "player_id"
# What holds a row for each player of this match, not of others as `history` or `standings` does.
_OF_BOTH = re.compile(r"(player|participant|match|game|final)*(s|results?|outcomes?|status(es)?)")
_ENDS = {
    **dict.fromkeys(("WIN", "WON", "WINNER", "VICTORY"), "WIN"),
    **dict.fromkeys(("LOSS", "LOST", "LOSE", "LOSER", "DEFEAT"), "LOSS"),
    **dict.fromkeys(("DRAW", "TIE", "TIED"), "DRAW"),
}
_TECHNICAL = re.compile(r"TECHNICAL|FORFEIT|TIMEOUT|TIMEDOUT|NOSHOW|WALKOVER|BOTHLOST")
_CALLED_OFF = re.compile(
    r"(MATCH|GAME)?(ABORT|ABANDON|CANCEL|NOCONTEST|NORESULT|NOTPLAYED|POSTPON|VOID|ERROR|FAIL).*"
)
TECHNICAL_LOSS = "TECHNICAL_LOSS"
_WORD_MAX, _NAME_MAX = 32, 64  # longer ones are sentences
_OVER = ("COMPLETED", "FINISHED", "ENDED", "OVER", "DONE", "COMPLETE", "GAMEOVER")
RUNNING = ("IN_PROGRESS", "RUNNING", "STARTED", "ONGOING", "ACTIVE", "ASSIGNED", "PLAYING")
OPEN = (*RUNNING, "PENDING", "SCHEDULED", "WAITING", "OPEN", "ANNOUNCED", "CREATED", "READY")
_SEATS = (("player_A", "player_a", "player1"), ("player_B", "player_b", "player2"))
_DEPTH_MAX = 3
_ENDS_MAX = 16  # they are compared with each other
NUMBER_MAX = 2**31 - 1


def find_result(fields: Fields) -> dict[str, Any] | None:
    """The result in the documented form, or None; all `details.ends` said may be contradictory."""
    places = list(_places(fields, _DEPTH_MAX))
    players = _players(places)
    ends = {name: each["end"] for name, each in players.items() if "end" in each}
    status = _status(places, ends)
    named = [_winner(place[name]) for place in places for name in _WINNER if name in place]
    winner = named[0] if named else None
    winner = winner or _only_winner(players, ends) or winner
    off = status != TECHNICAL_LOSS and called_off(fields)
    is_both_lost = status == TECHNICAL_LOSS and len(ends) > 1
    if not winner and (off or not (named or status == "DRAW" or is_both_lost)):
        return None
    chosen = {name: each["choice"] for name, each in players.items() if "choice" in each}
    won = dict.fromkeys(each for each in named if isinstance(each, str) and each)
    said = [*((each[:_NAME_MAX], "WIN") for each in won), *ends.items(), *[("", "WIN")] * bool(off)]
    details = {
        "status": status,
        "drawn_number": _first(places, _NUMBER, _number),
        "choices": _first(places, _CHOICES, _choices) or chosen or None,
        "ends": said[:_ENDS_MAX] or None,
    }
    score = _first(places, _SCORE, _score)
    kept = {name: value for name, value in details.items() if value is not None}
    return {"winner": winner, "details": kept} | ({"score": score} if score else {})


def called_off(fields: Fields) -> str:
    """The word by which the match was called off; empty if it was not."""
    words = (place.get(name) for place in _places(fields, _DEPTH_MAX) for name in _STATUS)
    return next((str(word) for word in words if _CALLED_OFF.fullmatch(_squeezed(word))), "")


def flat_result(result: Fields) -> dict[str, Any]:
    """A result of ours under the names by which foreign managers look for it in a report."""
    winner, details = result["winner"], result["details"]
    status, choices = details["status"], details["choices"]
    flat = dict.fromkeys(_WINNER[:3], winner) | {
        "is_draw": status == "DRAW",
        "score": result["score"],
        "choices": choices,
        "drawn_number": details["drawn_number"],
    }
    for names, (player_id, points) in zip(_SEATS, result["score"].items(), strict=False):
        word = "WIN" if player_id == winner else "LOSS" if status == "WIN" else status
        held = {"id": player_id, "choice": choices.get(player_id), "result": word, "score": points}
        flat |= {f"{name}_{what}": value for name in names for what, value in held.items()}
    return flat


def is_open(match_id: str, fields: Any, statuses: Sequence[str] = OPEN) -> bool:
    """Whether somewhere this match is said to have one of these statuses, and no result."""
    for place in objects_in(fields):
        is_it = match_id in (place.get("match_id"), place.get("id"))
        row = place if is_it else place.get(match_id)
        if isinstance(row, dict):
            words = {str(row.get(name)).upper() for name in ("status", "state")}
            return not words.isdisjoint(statuses) and not is_over(row)
    return False


def is_over(fields: Fields) -> bool:
    """Whether the match is over, and not one that has no winner yet."""
    for place in _places(fields, _DEPTH_MAX):
        words = [_squeezed(place.get(name)) for name in _STATUS]
        if any(word in _OVER for word in words) or any(map(_end, words)):
            return True
        if any(place.get(name) for name in (*_WINNER, *_NUMBER)):
            return True
        if any("end" in each for each in _players([place]).values()):
            return True
    return False


def _places(fields: Fields, depth: int) -> Iterator[Fields]:
    """The documented place first, then the object itself and others in it that may hold more."""
    inner = [fields[name] for name in _INSIDE if depth and isinstance(fields.get(name), dict)]
    if inner and inner[0] is fields.get("result"):
        yield from _places(inner.pop(0), depth - 1)
    yield fields
    for each in inner:
        yield from _places(each, depth - 1)


def _first(places: list[Fields], names: tuple[str, ...], read: Any) -> Any:
    for place in places:
        for name in names:
            value = read(place[name]) if name in place else None
            if value is not None:
                return value
    return None


def _winner(value: Any) -> Any:
    """The winner's id; some referees send the whole player."""
    if isinstance(value, dict):
        return value.get("player_id", value.get("id", value.get("display_name")))
    return value


def _only_winner(players: Fields, ends: Mapping[str, str]) -> str | None:
    """The one that won, or the other one if only one was lost; None if that is not clear."""
    won = [name for name, end in ends.items() if end == "WIN"]
    if not won and len(ends) == 1 and TECHNICAL_LOSS in ends.values():
        won = [name for name in players if name not in ends]
    return won[0] if len(won) == 1 else None


def _status(places: list[Fields], ends: Mapping[str, str]) -> str | None:
    """How it ended: by what is said of the players, where one of them lost without playing."""
    said_of_all = {*ends.values()}
    if TECHNICAL_LOSS in said_of_all or (len(ends) > 1 and said_of_all == {"LOSS"}):
        return TECHNICAL_LOSS
    words = (_squeezed(place.get(name)) for place in places for name in _STATUS)
    said = (TECHNICAL_LOSS if _TECHNICAL.search(word) else _ENDS.get(word) for word in words)
    found = next((word for word in said if word not in (None, "LOSS")), None)
    is_draw = found is None and len(ends) > 1 and said_of_all == {"DRAW"}
    return "DRAW" if is_draw else found


def _squeezed(word: Any) -> str:
    """A word of a referee in capitals, without what joins its parts; empty if it is none."""
    is_word = isinstance(word, str) and len(word) <= _WORD_MAX
    return re.sub(r"[^A-Z]", "", word.upper()) if is_word else ""


def _end(word: Any) -> str | None:
    squeezed = _squeezed(word)
    if _TECHNICAL.search(squeezed):
        return "WIN" if "WIN" in squeezed else TECHNICAL_LOSS
    return _ENDS.get(squeezed)


def _players(places: list[Fields]) -> dict[str, dict[str, Any]]:
    """Player -> its choice and how it ended, where that is said of each player by itself."""
    rows = list(_seats(places).values())
    for place in places:
        rows += _rows(place)
        for name, value in place.items():
            rows += _rows(value) if _OF_BOTH.fullmatch(squeezed(name)) else ()
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        names = (row[each] for each in (*PLAYER, "seat") if isinstance(row.get(each), str))
        name = next(filter(None, names), "")[:_NAME_MAX]
        end = next(filter(None, (_end(row.get(each)) for each in _STATUS)), None)
        said = {"end": end, "choice": _choice(row)}
        kept = {what: value for what, value in said.items() if value is not None}
        if name:
            found[name] = kept | found.get(name, {})
    return found


def _seats(places: list[Fields]) -> dict[str, dict[str, Any]]:
    """What fields such as `player_a_choice` say, by seat; the first that says it counts."""
    seats: dict[str, dict[str, Any]] = {}
    for place in places:
        for name, value in place.items():
            found = seat_of(name, _SEATED) if "player" in name.lower() else None
            if found and value is not None:
                said = value if isinstance(value, dict) else {_SEATED[found[1]]: value}
                seat = ("player_a", "player_b")[found[0]]
                seats[seat] = {**said, **seats.get(seat, {"seat": seat})}
    return seats


def _rows(value: Any) -> list[dict[str, Any]]:
    """Two players in a list, or by their names, each with how it ended or with more."""
    if isinstance(value, list):
        return [row for row in value if isinstance(row, dict)] if len(value) <= 2 else []
    if not isinstance(value, dict) or len(value) != 2 or value.keys() & _NAMES:
        return []
    rows = [
        {**(said if isinstance(said, dict) else {"status": said}), "player_id": name}
        for name, said in value.items()
    ]
    return rows if all(any(_end(row.get(name)) for name in _STATUS) for row in rows) else []


def _number(value: Any) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= NUMBER_MAX else None


def _choices(value: Any) -> dict[str, Any] | None:
    """Choices by player; some referees send a list of players with their choices."""
    if isinstance(value, dict):
        return {name: _choice(each) for name, each in value.items() if len(name) <= 64}
    if not isinstance(value, list):
        return None
    rows = [row for row in value if isinstance(row, dict) and isinstance(row.get("player_id"), str)]
    return {row["player_id"]: _choice(row) for row in rows} or None


def _choice(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return next((value[name] for name in _CHOICE if name in value), None)


def _score(value: Any) -> dict[str, int] | None:
    if not isinstance(value, dict):
        return None
    whole = {name: int(each) for name, each in value.items() if _is_whole(each)}
    return whole if len(whole) == len(value) else None


def _is_whole(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= NUMBER_MAX and int(value) == value
