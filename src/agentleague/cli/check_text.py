"""What `league check` prints of a report, for people."""

import sys
from collections.abc import Iterable
from typing import Any

from agentleague.cli.output import (
    WIDTH_ELSEWHERE,
    Column,
    counted,
    is_plain,
    listed,
    print_facts,
    print_rows,
)
from agentleague.conformance.report import Report, apart, finding, safe
from agentleague.conformance.report_files import ANSWERS, FORGIVEN, RAW, facts_about, facts_of
from agentleague.conformance.rules import TIERS, Rule, Tier, Verdict
from agentleague.conformance.run import Outcome

PASS, FAIL, WARNING, NOT_APPLICABLE, NOT_REACHED = Verdict
STYLES = {FAIL: "bold red", WARNING: "bold yellow", NOT_REACHED: "bold"}
WARNINGS_MAX = 5  # that are told in full
NAMED_MAX = 6  # rules that could not be tried, of those with one reason
RULES = (
    Column("id", "Rule", True),
    Column("tier", "Tier", True),
    Column("number", "Number", True),
    Column("says", "What it says", True, True, True),
)
COUNTS = (Column("tier", "Tier", True), *(Column(each, each.capitalize()) for each in Verdict))


def print_report(report: Report, tier: Tier) -> None:
    """The verdict, failures, warnings, what was not reached, and the summary."""
    print_told(_verdict(report), _counted(report), (), "bold")
    warnings = report.of(WARNING)
    for outcome in (*report.of(FAIL), *warnings[:WARNINGS_MAX]):
        found = finding(outcome)
        title = f"{outcome.verdict.upper()} {found['id']}"
        facts = [row for row in facts_of(found) if row[0] != FORGIVEN]  # That comes below.
        print_told(title, found["says"], facts, STYLES[outcome.verdict])
    _print_briefly(warnings[WARNINGS_MAX:])
    unreached = report.reasons()
    if unreached:
        rows = [
            (why, f"{counted(len(ids), 'rule')}: {listed(ids, NAMED_MAX)}")
            for why, ids in unreached.items()
        ]
        print_told("NOT REACHED", "", rows, STYLES[NOT_REACHED], is_stacked=True)
    forgiven = [(x.rule.id, f"Here: {x.rule.leniency}.") for x in report.relied()]
    if forgiven:
        print_told(f"It {apart(report)}, because it breaks:", "", forgiven, "bold")
    rows_of = [
        {"tier": each, **{name: number or "" for name, number in row.items()}}
        for each, row in report.counts().items()
    ]
    print_rows(rows_of, COUNTS, f"{report.role.capitalize()} at {safe(report.url)}")
    print_facts(_facts(report, tier), _verdict(report))


def _counted(report: Report) -> str:
    counts = {each: len(report.of(each)) for each in Verdict}
    found = ", ".join(f"{number:,} {each}" for each, number in counts.items() if number)
    rules = counted(len(report.outcomes), "rule")
    return f"Plays here: {ANSWERS[report.plays_here]}. {rules}: {found}."


def _print_briefly(outcomes: list[Outcome]) -> None:
    if outcomes:
        rows = [(each.rule.id, safe(each.said)) for each in outcomes]
        title = f"{counted(len(outcomes), 'more warning')}, and what was expected"
        hint = "In full with --html FILE; one of them with --only RULE, or --explain RULE."
        print_told(title, hint, rows, STYLES[WARNING])


def _verdict(report: Report) -> str:
    if report.grade:
        return f"Grade {report.grade}: it {report.meaning}."
    return "Not graded: " + ("the kit itself failed." if report.fault else "only a part was tried.")


def _facts(report: Report, tier: Tier) -> dict[str, str]:
    unmet = len(report.unexpected(tier))
    broken = counted(unmet, "rule does", "rules do") + " not pass"
    is_named = report.is_part and tier is TIERS[-1]
    asked = "What was named" if is_named else f"Tier {tier}"
    passes = {asked: broken if unmet else "passes"}
    return passes | facts_about(report) | {"Time": f"{report.seconds:.1f} s"}


def print_rules(rules: Iterable[Rule], title: str) -> None:
    """All rules, a row each."""
    rows = [{name: getattr(each, name) for name, *_ in RULES} for each in rules]
    print_rows(rows, RULES, title)


def explained(rule: Rule) -> dict[str, Any]:
    """A rule as JSON."""
    names = ("id", "tier", "number", "source", "says", "mend", "leniency", "needs", "implies")
    return {name: getattr(rule, name) for name in names} | {"slow": rule.is_slow}


def print_rule(rule: Rule) -> None:
    """A rule in full."""
    rows = [
        ("tier", f"{rule.tier}: {TIER_WORDS[rule.tier]}"),
        ("number", f"{rule.number} of docs/protocol.md"),
        (
            "source",
            "this project's own; no document asks for it" if rule.source == "ours" else rule.source,
        ),
        ("mend", rule.mend),
        (FORGIVEN, rule.leniency),
        ("needs", ", ".join(rule.needs)),
        ("implies", ", ".join(rule.implies)),
        ("slow", "it has to wait; --fast leaves it out" if rule.is_slow else ""),
    ]
    print_told(rule.id, rule.says, [row for row in rows if row[1]], "bold")


TIER_WORDS = {
    Tier.MUST: "there is no league without it",
    Tier.SHOULD: "the documents ask for it, and a league survives without",
    Tier.ROBUST: "hostile input, floods, slow networks, restarts",
    Tier.PLUS: "optional",
}


def print_told(
    title: str,
    sentence: str,
    rows: Iterable[tuple[str, str]],
    style: str,
    *,
    is_stacked: bool = False,
) -> None:
    """A title, a sentence, and rows below it: beside their names, or each below the other."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = Console(
        width=None if sys.stdout.isatty() else WIDTH_ELSEWHERE,
        force_terminal=False if is_plain(sys.stdout) else None,
        highlight=False,
    )
    rows = list(rows)
    beside = 0 if is_stacked else max((len(name) for name, _ in rows), default=0) + 2
    room = max(20, console.width - beside - 2)
    table = Table.grid(padding=(0, 2, 0, 0))
    if not is_stacked:
        table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, value in rows:
        if is_stacked:
            table.add_row(Text(name))
            table.add_row(Padding(Text(value, style="dim"), (0, 0, 0, 2), expand=False))
        else:
            lines = _wrapped(value, room) if name in RAW else [value]
            table.add_row(name, Text("\n".join(lines)))
    with console.capture() as captured:  # Rich itself would exit with 1 at a broken pipe.
        console.print(Text(title, style=style))
        if sentence:
            console.print(Padding(Text(sentence), (0, 0, 0, 2), expand=False))
        console.print(Padding(table, (0, 0, 0, 2), expand=False))
    print("\n".join(line.rstrip() for line in captured.get().splitlines()), end="\n\n")


def _wrapped(text: str, room: int) -> list[str]:
    """Lines of text of a machine: broken at a space or comma that is in their second half."""
    from rich.cells import chop_cells

    lines: list[str] = []
    while True:
        line = next(iter(chop_cells(text, room)), "")
        if line == text:
            return [*lines, text]
        if text[len(line)] != " ":
            ends = (line.rfind(each, len(line) // 2) + 1 for each in " ,")
            line = line[: max(ends) or len(line)]
        lines.append(line.rstrip())
        text = text[len(line) :].lstrip()
