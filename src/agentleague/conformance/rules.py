"""What a rule of the kit is, and how the table of them is made.

An id is never reused: results are compared over the years. A rule cites a number of
docs/protocol.md, and the document that asks for it; what that page marks as ours is tier plus.
The numbers without a rule stand in `unseen.py`.
"""

import re
import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

from msgspec import Struct

from agentleague.conformance.exchange import Exchange
from agentleague.errors import LeagueError

Check = Callable[[Any], str | None]  # takes the bench of the role; a text is a remark on a pass
OURS = "ours"
WORDS = re.compile(  # of a check, in its docstring
    r"(?P<says>.+?) (?P<numbers>R-[A-Z]+-\d\d(?:, R-[A-Z]+-\d\d)*): (?P<source>ours|documents? .+?)"
    r"(?: Mend: (?P<mend>.+?))?(?: Leniency: (?P<leniency>.+))?"
)


class Tier(StrEnum):
    """How much depends on a rule, the weightiest first."""

    MUST = "must"  # no league without it
    SHOULD = "should"  # the documents ask for it, and a league survives without
    ROBUST = "robust"  # hostile input, floods, slow networks
    PLUS = "plus"  # optional: in no document, or said to be optional there


TIERS = tuple(Tier)


class Verdict(StrEnum):
    """What came of a rule."""

    PASS = "pass"
    FAIL = "fail"
    WARNING = "warning"  # broken, but its tier is no demand: should or plus
    NOT_APPLICABLE = "not applicable"  # about what this agent does not offer
    NOT_REACHED = "not reached"  # could not be tried


class Rule(Struct, frozen=True, kw_only=True):
    """One rule: what an agent does, who says so, and what to do about an agent that does not."""

    id: str  # player.move.is-legal
    tier: Tier
    number: str  # of docs/protocol.md
    also: tuple[str, ...] = ()  # further ones that it judges
    source: str  # "document 004 section 6.2.2", or OURS
    says: str  # one sentence: A player …
    mend: str  # one sentence: Answer …
    check: Check
    needs: tuple[str, ...] = ()  # rules without which this one cannot be tried
    implies: tuple[str, ...] = ()  # rules that whoever breaks this one may break too
    is_slow: bool = False  # it has to wait longer than a second
    leniency: str = ""  # what our league does all the same: "we read `accepted` too"

    @property
    def role(self) -> str:
        """The kind of agent that it judges."""
        return self.id.partition(".")[0]

    @property
    def numbers(self) -> tuple[str, ...]:
        """All numbers of docs/protocol.md that it judges."""
        return (self.number, *self.also)


class Broken(Exception):
    """A rule is broken: what was expected, and the exchange that shows it."""

    def __init__(
        self, expected: str, exchange: Exchange | None = None, *, is_late: bool = False
    ) -> None:
        super().__init__(expected)
        self.expected = expected
        self.exchange = exchange
        self.is_late = is_late  # Nothing came in time: worth a second try.


class NotApplicable(Exception):
    """The agent does not offer what the rule is about; the text says what."""


class NotReached(Exception):
    """The rule could not be tried; the text says why, and what would help."""


def words_of(check: Check) -> dict[str, Any]:
    """What the docstring of a check says of its rule; empty if it has no such words.

    They are a sentence; the numbers and where they stand; `Mend: …` and `Leniency: …`.
    Raises LeagueError where Python was told to leave docstrings out.
    """
    if sys.flags.optimize > 1:
        raise LeagueError("the rules stand in docstrings; type it without -OO and PYTHONOPTIMIZE")
    found = WORDS.fullmatch(" ".join((check.__doc__ or "").split()))
    if found is None:
        return {}
    said: dict[str, Any] = {name: text for name, text in found.groupdict().items() if text}
    said["number"], *also = said.pop("numbers").split(", ")
    return said | {"also": tuple(also)}


class Rules:
    """The rules of one role, in the order in which they are tried.

    Each of them needs the same, unless it says otherwise.
    """

    def __init__(self, role: str, needs: tuple[str, ...] = ()) -> None:
        self.role = role
        self._needs = needs
        self._rules: dict[str, Rule] = {}

    def rule(self, name: str, tier: Tier, **said: Any) -> Callable[[Check], Check]:
        """Add a rule whose check is the decorated function.

        Its words are those in the docstring of the function; `said` are further fields of `Rule`.
        """

        def add(check: Check) -> Check:
            given = {"needs": self._needs} | words_of(check) | said
            self.add(Rule(id=f"{self.role}.{name}", tier=tier, check=check, **given))
            return check

        return add

    def add(self, rule: Rule) -> None:
        """Add a rule; ids are unique."""
        assert rule.id not in self._rules, rule.id
        self._rules[rule.id] = rule

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def __len__(self) -> int:
        return len(self._rules)
