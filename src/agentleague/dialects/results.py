"""A match's result, wherever a foreign referee puts it and whatever it calls its parts.

Only the winner is needed; of the rest, what can be read is kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Fields = Mapping[str, Any]

_INSIDE = ("result", "game_result", "match_result", "outcome", "data", "details", "message")
_WINNER = ("winner", "winner_player_id", "winner_id", "winning_player", "winner_name")
_SCORE = ("score", "scores", "points")
_NUMBER = ("drawn_number", "number", "random_number", "drawn")
_CHOICES = ("choices", "player_choices", "moves", "parity_choices")
_CHOICE = ("choice", "parity_choice", "move")
_STATUS = ("status", "outcome", "result", "result_type")
_STATUSES = {
    "WIN": "WIN",
    "DRAW": "DRAW",
    "TIE": "DRAW",
    "TECHNICAL_LOSS": "TECHNICAL_LOSS",
    "FORFEIT": "TECHNICAL_LOSS",
}
_OVER = ("COMPLETED", "FINISHED", "ENDED", "OVER", "DONE", "COMPLETE", "GAME_OVER", *_STATUSES)
RUNNING = ("IN_PROGRESS", "RUNNING", "STARTED", "ONGOING", "ACTIVE", "ASSIGNED", "PLAYING")
OPEN = (*RUNNING, "PENDING", "SCHEDULED", "WAITING", "OPEN", "ANNOUNCED", "CREATED", "READY")
_SEATS = (("player_A", "player_a", "player1"), ("player_B", "player_b", "player2"))
_DEPTH_MAX = 3
NUMBER_MAX = 2**31 - 1


def find_result(fields: Fields) -> dict[str, Any] | None:
    """The result in an answer or a report, in the documented form; None if there is none."""
    places = list(_places(fields, _DEPTH_MAX))
    status = next((word for place in places if (word := _status(place))), None)
    named = [(place, name) for place in places for name in _WINNER if name in place]
    if named:
        winner = _winner(named[0][0][named[0][1]])
    elif status == "DRAW":
        winner = None
    else:
        return None
    details = {
        "status": status,
        "drawn_number": _first(places, _NUMBER, _number),
        "choices": _first(places, _CHOICES, _choices),
    }
    score = _first(places, _SCORE, _score)
    kept = {name: value for name, value in details.items() if value is not None}
    return {"winner": winner, "details": kept} | ({"score": score} if score else {})


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


def is_open(match_id: str, fields: Any, statuses: Sequence[str] = OPEN, depth: int = 6) -> bool:
    """Whether somewhere this match is said to have one of these statuses, and no result."""
    if isinstance(fields, list):
        return any(is_open(match_id, each, statuses, depth) for each in fields)
    if not isinstance(fields, dict) or not depth:
        return False
    own = fields.get(match_id)
    row = fields if match_id in (fields.get("match_id"), fields.get("id")) else own
    if isinstance(row, dict):
        words = {str(row.get(name)).upper() for name in ("status", "state")}
        return not words.isdisjoint(statuses) and not is_over(row)
    return any(is_open(match_id, each, statuses, depth - 1) for each in fields.values())


def is_over(fields: Fields) -> bool:
    """Whether the match is over, and not one that has no winner yet."""
    for place in _places(fields, _DEPTH_MAX):
        words = (str(place[name]).upper() for name in _STATUS if isinstance(place.get(name), str))
        if any(word in _OVER for word in words):
            return True
        if any(place.get(name) for name in (*_WINNER, *_NUMBER)):
            return True
    return False


def _places(fields: Fields, depth: int) -> Iterator[Fields]:
    """The object itself, and the objects in it that may hold the result."""
    yield fields
    if depth:
        for name in _INSIDE:
            inner = fields.get(name)
            if isinstance(inner, dict):
                yield from _places(inner, depth - 1)


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


def _status(place: Fields) -> str | None:
    for name in _STATUS:
        word = place.get(name)
        if isinstance(word, str) and word.upper() in _STATUSES:
            return _STATUSES[word.upper()]
    return None


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
