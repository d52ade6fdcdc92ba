"""Checks an agent: finds out what it is, chooses the rules, tries them, and reports."""

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from threading import Event

from msgspec import Struct
from msgspec.structs import replace

from agentleague.conformance.bench import Bench, now
from agentleague.conformance.limits import Limits
from agentleague.conformance.manager_bench import ManagerBench
from agentleague.conformance.manager_rules import MANAGER
from agentleague.conformance.player_bench import PlayerBench
from agentleague.conformance.player_rules import PLAYER
from agentleague.conformance.referee_bench import RefereeBench
from agentleague.conformance.referee_rules import REFEREE
from agentleague.conformance.report import Report
from agentleague.conformance.rules import Rule, Rules, Verdict
from agentleague.conformance.run import Outcome, try_rules
from agentleague.conformance.target import NEAR, POLL_SECONDS, Target
from agentleague.protocol.printable import nearest
from agentleague.runtime.clock import stopwatch

LAST = "league-completed"  # in the ids of rules after which an agent ends
REGISTRATION = "registration"  # the area of rules about what an agent says to its manager first
AGENTS: dict[str, tuple[Callable[[Target, Limits], Bench], Rules]] = {
    "player": (PlayerBench, PLAYER),
    "manager": (ManagerBench, MANAGER),
    "referee": (RefereeBench, REFEREE),
}
KINDS = tuple(AGENTS)
FAST = 5  # times less than the whole time, for the rules that need not wait
PART_MIN = 4  # letters of an id by which it is found
Tell = Callable[[str, int, int], None]  # what happens now, rules tried, of how many


class UnknownRule(Exception):
    """There is no such rule; the text says what was probably meant."""


class Selection(Struct, frozen=True, kw_only=True):
    """Which rules are tried."""

    only: tuple[str, ...] = ()  # ids, numbers of docs/protocol.md, or patterns; empty: all
    is_fast: bool = False  # without those that have to wait longer than a second
    known: tuple[str, ...] = ()  # rules that are known to be broken

    def rules(self, kind: str, *, is_elsewhere: bool = False) -> "Chosen":
        """The rules to try, with what they need, in their order, and those left out.

        An agent that registers elsewhere, or never, is not judged by how it does so.
        """
        table = rules_of(kind)
        wanted = find_rules(self.only, table) if self.only else table
        ids = _with_needs((each.id for each in wanted), {each.id: each for each in table})
        chosen = [each for each in table if each.id in ids]
        unseen = _about_registration(chosen) if is_elsewhere else []
        left_out = [x.id for x in chosen if self.is_fast and x.is_slow and x.id not in unseen]
        tried = [each for each in chosen if each.id not in {*left_out, *unseen}]
        return Chosen(tried=tried, left_out=left_out, unseen=unseen)


class Chosen(Struct, frozen=True, kw_only=True):
    """The rules to try, and the ids of those that are left out."""

    tried: list[Rule]
    left_out: list[str]  # They have to wait.
    unseen: list[str]  # They are about how it registers, and it does so elsewhere.


def check(
    kind: str | None,
    target: Target,
    selection: Selection,
    limits: Limits,
    tell: Tell = lambda what, tried, total: None,
) -> Report:
    """Check an agent; without a kind, find out first what it is.

    Raises Unreachable if it cannot be checked, UnknownRule if no rule of its kind is meant.
    """
    began = stopwatch()
    if selection.is_fast:
        limits = replace(limits, whole=limits.whole / FAST)
    kind = _kind(kind, target, limits, tell)
    total = len(selection.rules(kind).tried)
    known = [each.id for each in find_rules(selection.known, rules_of(kind))]
    tell(f"{'starting' if target.command else 'reaching'} the {kind}", 0, total)
    bench = open_bench(kind, target, limits)
    is_told = target.manager_port or target.names_manager or bench.has_registered
    chosen = selection.rules(kind, is_elsewhere=not (selection.only or is_told))
    rules = chosen.tried
    tried: list[Outcome] = []

    def next_one(outcome: Outcome) -> None:
        tried.append(outcome)
        following = rules[len(tried)].id if len(tried) < len(rules) else ""
        tell(following, len(tried), len(rules))

    try:
        if rules:
            tell(rules[0].id, 0, len(rules))
        outcomes = try_rules(rules, bench, next_one, began=began)
        has_ended = not target.command and _is_over(outcomes) and _leaves(bench)
    finally:
        bench.close()
    return Report(
        role=kind,
        url=bench.peer.url,
        at=now(),
        outcomes=outcomes,
        speaks=bench.speaks,
        left_out=chosen.left_out,
        unseen=chosen.unseen,
        is_part=bool(selection.only),
        known=known,
        has_ended=has_ended,
        seconds=stopwatch() - began,
    )


def _kind(kind: str | None, target: Target, limits: Limits, tell: Tell) -> str:
    """The kind of agent, found out or confirmed."""
    from agentleague.conformance.identify import expect, identify

    if kind is None:
        tell("finding out what it is", 0, 0)
        return identify(target, limits)
    if target.url and not target.command:
        tell(f"reaching the {kind}", 0, 0)
        expect(kind, target.url, limits)
    return kind


def _is_over(outcomes: Iterable[Outcome]) -> bool:
    """Whether the agent was told that its league is over."""
    told = [each for each in outcomes if LAST in each.rule.id]
    return any(each.verdict is not Verdict.NOT_REACHED for each in told)


def _leaves(bench: Bench) -> bool:
    """Whether nobody listens any more, soon after it was told."""
    until, never = stopwatch() + bench.limits.quiet, Event()
    while bench.peer.is_listening():
        if stopwatch() > until:
            return False
        never.wait(POLL_SECONDS)
    return True


def open_bench(kind: str, target: Target, limits: Limits) -> Bench:
    """The kit in all the roles around an agent of this kind. Raises Unreachable."""
    open_, _ = AGENTS[kind]
    return open_(target, limits)


def rules_of(kind: str) -> list[Rule]:
    """The rules for agents of this kind, in their order."""
    _, rules = AGENTS[kind]
    return list(rules)


def all_rules() -> list[Rule]:
    """The rules of every kind."""
    return [rule for kind in KINDS for rule in rules_of(kind)]


def find_rules(patterns: Iterable[str], rules: Sequence[Rule]) -> list[Rule]:
    """The rules with these ids, numbers or patterns. Raises UnknownRule."""
    return [rule for pattern in patterns for rule in _find(pattern, rules)]


def _find(pattern: str, rules: Sequence[Rule]) -> list[Rule]:
    wanted = pattern.upper() if pattern[:2].upper() == "R-" else pattern.lower()
    found = [x for x in rules if fnmatchcase(x.id, wanted) or fnmatchcase(x.number, wanted)]
    if not found:
        names = dict.fromkeys(name for each in rules for name in (each.id, each.number))
        parts = (x.id for x in rules if len(wanted) >= PART_MIN and wanted in x.id)
        near = nearest(wanted, names, NEAR) or next(parts, "")
        roles = {each.role for each in rules}
        whose = f" for a {min(roles)}" if len(roles) == 1 else ""
        meant = f"did you mean {near}? List" if near else "list"
        listed = f"league check {min(roles)}" if len(roles) == 1 else "league check"
        raise UnknownRule(f"there is no rule {pattern!r}{whose}; {meant} all with: {listed} --list")
    return found


def _about_registration(rules: Iterable[Rule]) -> list[str]:
    """Rules about how an agent registers, and all that need one of them."""
    found: list[str] = []
    for each in rules:
        is_one = each.role != "manager" and each.id.split(".")[1] == REGISTRATION
        if is_one or set(each.needs) & set(found):
            found.append(each.id)
    return found


def _with_needs(ids: Iterable[str], table: dict[str, Rule]) -> set[str]:
    found: set[str] = set()
    left = list(ids)
    while left:
        each = left.pop()
        if each not in found and each in table:
            found.add(each)
            left += table[each].needs
    return found
