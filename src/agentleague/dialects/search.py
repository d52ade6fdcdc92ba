"""Where foreign agents put things: in any object of an answer, under names spelled in any way."""

import re
from collections.abc import Callable, Container, Iterator
from typing import Any

ID = ("player_id", "id", "agent_id")
PLAYER = (*ID, "display_name", "name")
ENDPOINT = ("contact_endpoint", "endpoint", "callback_url", "url", "contact_url", "mcp_url")

# Of squeezed names: `player_a_choice`, and `player_choice_1` or `choice_1`.
_SEATED = (
    re.compile(r"player(?P<seat>a|b|1|2|one|two)(?P<what>.*)"),
    re.compile(r"(player)?(?P<what>.*?)(?P<seat>a|b|1|2|one|two)"),
)
_DEPTH_MAX = 8  # objects and lists within each other


def objects_in(
    fields: Any, is_whole: Callable[[dict[str, Any]], bool] = lambda place: False
) -> Iterator[dict[str, Any]]:
    """All objects, the nearest first; in one that `is_whole`, no others are looked for."""
    level = [fields]
    for _ in range(_DEPTH_MAX):
        inner: list[Any] = []
        for place in level:
            if isinstance(place, dict):
                yield place
                inner += () if is_whole(place) else place.values()
            elif isinstance(place, list):
                inner += place
        level = inner


def squeezed(name: str) -> str:
    """A name in lower case, with its letters and digits alone."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def seat_of(name: str, whats: Container[str]) -> tuple[int, str] | None:
    """The seat in the name of a field, 0 or 1, and which of these it is; None if it has none."""
    for pattern in _SEATED:
        found = pattern.fullmatch(squeezed(name))
        if found and found["what"] in whats:
            return (0 if found["seat"] in ("a", "1", "one") else 1), found["what"]
    return None
