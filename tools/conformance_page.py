"""The reference page of the rules that `league check` tries, made from the tables of rules."""

import re
from functools import cache
from itertools import groupby
from pathlib import Path

from agentleague.conformance.check import KINDS, all_rules, rules_of
from agentleague.conformance.rules import OURS, TIERS, Rule
from agentleague.conformance.unseen import OURS_ALONE, UNSEEN
from page_parts import GENERATED, code, page, table

PROTOCOL = Path(__file__).parents[1] / "docs" / "protocol.md"
ABOUT = """\
What [`league check`](../how-to/check-an-agent.md) asks of an agent. An id is never reused, so that
results can be compared. A number is a rule of [the protocol](../protocol.md), and a document the
one that asks for it; what no document asks for is ours, and optional.

| tier | how much depends on it |
|---|---|
| must | there is no league without it |
| should | the documents ask for it, and a league survives without |
| robust | hostile input, floods, slow networks, restarts |
| plus | optional |

Rules that one *needs* are tried before it; if they fail it is not reached. Whoever breaks a rule
may break those too that it *implies*. *Slow* ones wait longer than a second, and `--fast` leaves
them out. *Forgiven* is what our league does all the same."""
TITLES = ("rule", "tier", "number", "what it says", "what to change", "more")


def conformance_page() -> str:
    """Every rule, role by role, and every number of the protocol."""
    return page("# Conformance rules", GENERATED, ABOUT, *map(_role, KINDS), _numbers())


def _role(kind: str) -> str:
    rules = rules_of(kind)
    counts = [(sum(rule.tier is tier for rule in rules), tier) for tier in TIERS]
    counted = ", ".join(f"{number} {tier}" for number, tier in counts if number)
    order = list(dict.fromkeys(map(_area, rules)))
    by_area = sorted(rules, key=lambda rule: order.index(_area(rule)))
    areas = [
        page(f"### {kind}.{area}", table(TITLES, map(_row, of_it)))
        for area, of_it in groupby(by_area, key=_area)
    ]
    return page(f"## Rules for a {kind}", f"{len(rules)} rules: {counted}.", *areas)


def _area(rule: Rule) -> str:
    return rule.id.split(".")[1]


def _row(rule: Rule) -> tuple[str, ...]:
    number = ", ".join(map(_link, rule.numbers))
    source = "" if rule.source == OURS else f", {rule.source}"
    return code(rule.id), rule.tier, number + source, rule.says, rule.mend, _more(rule)


def _more(rule: Rule) -> str:
    """All else that there is to say of a rule; names without their role."""
    facts = [
        f"{word} {', '.join(code(name.partition('.')[2]) for name in names)}"
        for word, names in (("needs", rule.needs), ("implies", rule.implies))
        if names
    ]
    facts += ["slow"] * rule.is_slow + [f"forgiven: {rule.leniency}"] * bool(rule.leniency)
    return "; ".join(facts)


def _link(number: str) -> str:
    return f"[{number}](../protocol.md#{_sections()[number]})"


def _numbers() -> str:
    """Which rules judge a number, or why none does."""
    rows = [(_link(x), _judges(x)) for x in _sections() if UNSEEN.get(x) != OURS_ALONE]
    ours = ", ".join(number for number in _sections() if UNSEEN.get(number) == OURS_ALONE)
    return page(
        "## By number of the protocol",
        "A rule without a role is one for a player, a manager and a referee.",
        table(("number", "rules, or why there is none"), rows),
        f"All others have none, since they are {OURS_ALONE}: {ours}.",
    )


def _judges(number: str) -> str:
    """The rules that judge it, those of all roles once; or the reason."""
    names: dict[str, list[Rule]] = {}
    for rule in all_rules():
        if number in rule.numbers:
            names.setdefault(rule.id.partition(".")[2], []).append(rule)
    told = [
        code(name) if len(found) == len(KINDS) else ", ".join(code(each.id) for each in found)
        for name, found in names.items()
    ]
    return ", ".join(told) or UNSEEN[number]


@cache
def _sections() -> dict[str, str]:
    """In which section of the protocol a number stands, as a link writes it."""
    found, section = {}, ""
    for line in PROTOCOL.read_text(encoding="utf-8").splitlines():
        if title := re.match(r"#+ (.+)", line):
            section = re.sub(r"[^\w\- ]", "", title[1].lower()).replace(" ", "-")
        if number := re.match(r"- \*\*(R-\w+-\d+)\*\*", line):
            found[number[1]] = section
    return found
