"""Where foreign agents put things: in any object of an answer, under names spelled in any way."""

import re
from collections.abc import Callable, Iterator
from typing import Any

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
