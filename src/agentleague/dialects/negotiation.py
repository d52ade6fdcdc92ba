"""In which way a referee of another make is told to run a match, and in which next.

First by messages that can mean nothing else; the announcement, which many acknowledge and do not
act on, comes last. Whoever knows no such method may know another one; whoever breaks at it may want
it wrapped otherwise, or with fewer fields.
"""

from collections.abc import Iterator, Sequence

from agentleague.dialects.starting import ANNOUNCED, NONSENSE, START_METHODS, namings_of
from agentleague.dialects.table import (
    BROKEN,
    EMPTY,
    OURS,
    UNFIT,
    Tried,
    base_of,
    dialect_of,
    nearest,
    start_name,
)

_BASES = ("tool", "type", "message", "bare", "mcp", "lower")
_FIRST = "START_MATCH"
ADVICE = "start_match with match_id, player_A_id, player_A_endpoint, player_B_id, player_B_endpoint"


def first_way(known: str) -> str:
    """How to begin with a referee of which this is known: its dialect, guessed or learnt."""
    if dialect_of(known).starts:
        return known
    base = base_of(known)
    return start_name(_FIRST, base if base in _BASES else OURS.name)


def control_of(used: str) -> str:
    """How the same referee is told nonsense, to see what its answers are worth."""
    return start_name(NONSENSE, base_of(used))


def next_way(used: str, tried: Sequence[Tried]) -> str | None:
    """What to try after the last of these, the first of which was `used`; None: that was all."""
    over = [dialect_of(each.name) for each in tried]
    for name in _order(used, tried):
        dialect = dialect_of(name)
        is_same = (
            dialect.starts == each.starts
            and dialect.manner == each.manner
            and dialect.says_the_same(each, dialect.starts)
            for each in over
        )
        if not any(is_same):
            return name
    return None


def _order(used: str, tried: Sequence[Tried]) -> Iterator[str]:
    own, last = base_of(used), tried[-1]
    doubted = [each for each in tried if each.why in (UNFIT, BROKEN) and not _manner(each)]
    for each in doubted:
        if any(each.came != other.came for other in tried):  # It says so of this way alone.
            yield from _lean(each)
    if last.why == BROKEN and not _manner(last):
        yield from (start_name(_way(last), base) for base in ("message", "bare", "type"))
    if last.why == EMPTY:
        yield from (start_name(way, own) for way in (_FIRST, ANNOUNCED))
    for base in (own, *_BASES):
        yield from (start_name(way, base) for way in START_METHODS)
    for each in doubted:
        yield from _lean(each)


def _lean(each: Tried) -> Iterator[str]:
    """The same way with fewer fields."""
    base, way = base_of(each.name), _way(each)
    return (start_name(way, base, manner) for manner in namings_of(way))


def _way(each: Tried) -> str:
    return dialect_of(each.name).starts


def _manner(each: Tried) -> str:
    return dialect_of(each.name).manner


def search_in_words(tried: Sequence[Tried]) -> str:
    """What was tried and what came back, the nearest, and what would work."""
    came: dict[str, dict[str, None]] = {}  # what came back -> by what it was called
    for each in tried:
        came.setdefault(each.came, {})[START_METHODS[dialect_of(each.name).starts]] = None
    listed = "; ".join(f"{', '.join(tools)}: {what}" for what, tools in came.items())
    forms = len({base_of(each.name) for each in tried})
    best = nearest(tried)
    near = f"; nearest: {best.name}, {best.means}" if best else ""
    return f"tried in {forms} forms {listed}{near}; it would work if it took {ADVICE}"
