"""Answers to queries have at most 10 KB: how longer lists are cut into pages."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from agentleague.errors import WrongType

# What of 10,240 bytes is left for rows beside envelope, `conversation_id`, warnings and JSON-RPC.
ROOM_BYTES = 8_500
ROWS_A_PAGE = 25


def page(rows: Sequence[Any], params: Mapping[str, Any], at_most: int) -> Sequence[Any]:
    """The rows from `offset` on, at most `limit`, and never more than a page.

    Raises:
        WrongType: `offset` or `limit` is no integer from 0.
    """
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
