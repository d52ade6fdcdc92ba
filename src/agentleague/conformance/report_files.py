"""A report as files: JUnit for build servers, one HTML page for people, a badge for a README.

All that an agent wrote is escaped, and the page needs no script and no network.
"""

from collections.abc import Iterable
from html import escape
from typing import Any

from agentleague.conformance.report import BROKEN, STRICT, UNSEEN, Report, finding, leniency, safe
from agentleague.conformance.rules import Tier, Verdict
from agentleague.conformance.run import Outcome
from agentleague.dialects.table import in_words
from agentleague.protocol.messages import PROTOCOL
from agentleague.protocol.printable import counted

PASS, FAIL, WARNING, NOT_APPLICABLE, NOT_REACHED = Verdict
MARKS = {PASS: "✓", FAIL: "✗", WARNING: "!", NOT_APPLICABLE: "·", NOT_REACHED: "?"}
CLASSES = {verdict: verdict.replace(" ", "-") for verdict in Verdict}
GREEN, LIME, AMBER, ORANGE, RED, GREY = (
    "#1a7f37", "#4d7c0f", "#8a6100", "#a34a00", "#b42318", "#5f6670",
)  # fmt: skip
COLOURS = {"A+": GREEN, "A": GREEN, "B": LIME, "C": AMBER, "D": ORANGE, "F": RED, "": GREY}
LETTER, PADDING, HEIGHT = 6.8, 7, 20  # pixels of a badge, at 11 px Verdana


def junit(report: Report, tier: Tier) -> str:
    """What does not pass of this tier fails; every other doubt is skipped, with its reason."""
    wrong = report.unexpected(tier)
    cases = [_case(each, each in wrong) for each in report.outcomes]
    kinds = [kind for kind, _ in cases]
    head = _tag(
        "testsuite",
        name=f"league check {report.role}",
        tests=len(cases),
        failures=kinds.count("failure"),
        errors=kinds.count("error"),
        skipped=kinds.count("skipped"),
        time=f"{report.seconds:.3f}",
        timestamp=report.at.rstrip("Z"),
    )
    facts = {"url": safe(report.url), "grade": report.grade, "tier": tier}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites>{head}<properties>"]
    lines += [
        f"{_tag('property', name=name, value=value)}</property>" for name, value in facts.items()
    ]
    lines += ["</properties>", *(case for _, case in cases), "</testsuite></testsuites>", ""]
    return "\n".join(lines)


def junit_error(message: str) -> str:
    """That nothing could be checked, and why."""
    head = _tag("testsuite", name="league check", tests=1, failures=0, errors=1, skipped=0)
    case = _tag("testcase", classname="league", name="check") + _tag("error", message=message)
    ends = "</error></testcase></testsuite></testsuites>"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>{head}{case}{ends}\n'


def _case(outcome: Outcome, is_wrong: bool) -> tuple[str, str]:
    """Which element says what came of a rule, empty for a pass; and the whole test case."""
    found = finding(outcome)
    area, _, name = outcome.rule.id.rpartition(".")
    head = _tag("testcase", classname=area, name=name, time=f"{outcome.seconds:.3f}")
    kind = "error" if outcome.fault else "failure" if is_wrong else "skipped"
    if kind == "skipped" and outcome.verdict is PASS:
        return "", f"{head}</testcase>"
    said = f"{found['verdict']}: {found['said'] or found['says']}"
    if outcome.verdict is PASS:
        said = "it passes, though it is known to be broken: take it out of what is known"
    body = escape("\n".join(f"{name}: {value}" for name, value in facts_of(found)))
    text = "" if kind == "skipped" else body
    return kind, f"{head}{_tag(kind, message=said)}{text}</{kind}></testcase>"


def _tag(element: str, **attributes: object) -> str:
    given = "".join(f' {name}="{escape(str(value))}"' for name, value in attributes.items())
    return f"<{element}{given}>"


def badge(report: Report) -> str:
    """A flat badge: `league.v2 | A`."""
    left, right = PROTOCOL, report.grade or "not graded"
    widths = [round(len(text) * LETTER) + 2 * PADDING for text in (left, right)]
    whole, colour = sum(widths), COLOURS[report.grade]
    words = f"{left} {report.role}: {right}, {report.meaning}"
    middles = widths[0] / 2, widths[0] + widths[1] / 2
    texts = "".join(
        f'<text x="{x:g}" y="14">{escape(text)}</text>'
        for x, text in zip(middles, (left, right), strict=True)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{HEIGHT}" role="img" '
        f'aria-label="{escape(words)}"><title>{escape(words)}</title>'
        f'<rect width="{whole}" height="{HEIGHT}" rx="3" fill="#3d444d"/>'
        f'<path d="M{widths[0]} 0h{widths[1] - 3}a3 3 0 0 1 3 3v{HEIGHT - 6}a3 3 0 0 1-3 3'
        f'h-{widths[1] - 3}z" fill="{colour}"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" '
        f'font-size="11">{texts}</g></svg>\n'
    )


def page(report: Report, version: str) -> str:
    """The whole report as one HTML file."""
    title = f"{PROTOCOL} {report.role}: {report.grade or 'not graded'}"
    parts = [
        _head(report),
        _summary(report),
        _section("To mend", map(_told, report.of(FAIL))),
        _section("Warnings", map(_told, report.of(WARNING))),
        _section("Not reached", [_not_reached(report)]),
        _section("What our league forgives", [_leniencies(report)]),
        _section("By number of docs/protocol.md", [_numbers(report)]),
        _section("Every rule", [_rules(report.outcomes)]),
    ]
    checked = f"Checked {report.at} in {report.seconds:.1f} s by agentleague {version}."
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,">\n<style>{STYLE}</style>\n'
        f"</head><body><main>\n{''.join(parts)}</main>\n<footer>{escape(checked)}</footer>\n"
        "</body></html>\n"
    )


ANSWERS = {True: "yes", False: "no", None: "not known: not all of it could be tried"}


def facts_about(report: Report) -> dict[str, str]:
    """What is said of an agent as a whole."""
    facts = {
        "Speaks": spoken(report.speaks) or "nothing we know",
        "Plays here": ANSWERS[report.plays_here],
        f"With {STRICT.get(report.role, 'a strict manager')}": ANSWERS[report.plays_strictly],
    }
    if report.left_out:
        facts["Left out"] = f"{counted(len(report.left_out), 'slow rule')}, by --fast"
    if report.unseen:
        facts["Not seen"] = f"{counted(len(report.unseen), 'rule')} on how it registers: {UNSEEN}"
    if report.known:
        facts["Known"] = ", ".join(report.known)
    return facts


def _head(report: Report) -> str:
    facts = facts_about(report).items()
    listed = "".join(f"<dt>{escape(x)}</dt><dd>{escape(y)}</dd>" for x, y in facts)
    meaning = escape(report.meaning.capitalize())
    return (
        f'<header><p class="grade" style="background:{COLOURS[report.grade]}">'
        f"{report.grade or '?'}</p><div><h1>{report.role.capitalize()} at "
        f"<span>{escape(safe(report.url))}</span></h1><p class=lead>{meaning}.</p>"
        "</div></header>\n"
        f"<dl>{listed}</dl>\n"
    )


def spoken(names: Iterable[str]) -> str:
    """The dialects that an agent speaks, shortly."""
    return "; ".join(SHORT.get(each) or safe(in_words(each)) for each in names)


SHORT = {
    "tool": "tool names",
    "choose": "choose_parity",
    "type": "message type as method",
    "message": "handle_message",
    "bare": "bare messages",
    "lower": "message type in lower case",
    "mcp": "MCP",
}


def _summary(report: Report) -> str:
    rows = [
        [tier, *(str(number or "") for number in row.values())]
        for tier, row in report.counts().items()
    ]
    heads = ["tier", *(f"{MARKS[each]} {each}" for each in Verdict)]
    return _table(heads, [[escape(cell) for cell in row] for row in rows], "counts")


def _section(title: str, parts: Iterable[str]) -> str:
    body = "\n".join(filter(None, parts))
    return f"<section><h2>{escape(title)}</h2>\n{body}</section>\n" if body else ""


def _told(outcome: Outcome) -> str:
    found = finding(outcome)
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{_code(value) if name in RAW else _words(value)}</dd>"
        for name, value in facts_of(found)
    )
    kind = CLASSES[outcome.verdict]
    return (
        f'<article class="{kind}"><h3>{MARKS[outcome.verdict]} {escape(found["id"])}</h3>'
        f"<p>{_words(found['says'])}</p><dl>{rows}</dl></article>"
    )


def facts_of(found: dict[str, Any]) -> list[tuple[str, str]]:
    """What there is to say of a rule that does not pass, in the order in which it is read."""
    sent, came = SIDES[found["sent_by"]]
    rows = [
        ("rule", f"{found['tier']}, {found['number']}, {found['source']}"),
        (sent, found["sent"]),
        (came, found["came"]),
        ("expected" if found["verdict"] in BROKEN else "why", found["said"]),
        ("mend", found["mend"]),
        (FORGIVEN, found["leniency"]),
    ]
    return [(name, value) for name, value in rows if value]


SIDES = {"kit": ("sent", "came back"), "agent": ("it sent", "answered")}
FORGIVEN = "our league"  # what it does all the same
RAW = {name for names in SIDES.values() for name in names}


def _not_reached(report: Report) -> str:
    return "".join(
        f"<p>{_words(why)}:<br>{', '.join(map(_code, ids))}</p>"
        for why, ids in report.reasons().items()
    )


def _leniencies(report: Report) -> str:
    told = [leniency(report, each) for each in report.relied()]
    return "".join(
        f"<p>{_code(x['id'])}<br>It {_words(x['because'])}. Here: {_words(x['here'])}.</p>"
        for x in told
    )


def _numbers(report: Report) -> str:
    tried: list[str] = []
    others: dict[tuple[Verdict, str], list[str]] = {}
    for number, each in report.numbers().items():
        if each.is_tried:
            said = f"{each.verdict}: {each.why}" if each.why else each.verdict
            what = f"{MARKS[each.verdict]} {escape(number)}"
            tried.append(f'<li class="{CLASSES[each.verdict]}" title="{escape(said)}">{what}</li>')
        else:
            others.setdefault((each.verdict, each.why), []).append(number)
    rows = [
        (f"{MARKS[verdict]} {verdict}", escape(why), ", ".join(map(escape, numbers)))
        for (verdict, why), numbers in others.items()
    ]
    count = sum(map(len, others.values()))
    shown = f"<summary>{counted(count, 'number')} of which nothing was tried, and why</summary>"
    table = _table(["verdict", "why", "numbers"], rows)
    return f"<ul class=numbers>{''.join(tried)}</ul>\n<details>{shown}\n{table}</details>"


def _rules(outcomes: Iterable[Outcome]) -> str:
    rows = []
    for outcome in outcomes:
        found = finding(outcome)
        mark = f'<span class="{CLASSES[outcome.verdict]}">{MARKS[outcome.verdict]} '
        says = _words(found["says"])
        if found["said"] and outcome.verdict in (PASS, NOT_APPLICABLE):
            says += f" <small>({_words(found['said'])})</small>"
        rows.append(
            (
                f"{mark}<span class=word>{found['verdict']}</span></span>",
                f"{_code(found['id'])}<br>{says}",
                found["tier"],
                escape(found["number"]),
                f"{found['seconds']:.2f} s",
            )
        )
    return _table(["verdict", "rule", "tier", "number", "time"], rows, "rules")


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "") -> str:
    """A table; its cells are HTML already."""
    top = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    return f'<div class=wide><table class="{kind}"><tr>{top}</tr>\n{body}</table></div>\n'


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _words(text: str) -> str:
    """A sentence in which backticks mark what is typed as it stands."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(_code(x) if n % 2 else escape(x) for n, x in enumerate(parts))


STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #1a1d21; --muted: #565d66; --hair: #dfe3e8;
  --tint: #eef0f2; --pass: #1a7f37; --fail: #b42318; --warning: #8a5300; }
@media screen and (prefers-color-scheme: dark) { :root { --page: #14171b; --text: #e8eaed;
  --muted: #a9b1bc; --hair: #2f353c; --tint: #23272d; --pass: #5fd07f; --fail: #ff8f85;
  --warning: #f0b35a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1.25rem 3rem; max-width: 64rem; background: var(--page);
  color: var(--text); font: 1rem/1.5 system-ui, "Segoe UI", "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: break-word; }
header { display: flex; gap: 1.25rem; align-items: center; }
header > div { min-width: 0; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0; }
h1 span { overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem; break-after: avoid; }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
p { margin: .25rem 0; }
.lead, .muted, small, footer, dt, th { color: var(--muted); }
.grade { flex: none; min-width: 4.5rem; padding: .4rem .6rem; border-radius: .5rem; color: #fff;
  font-size: 2.25rem; line-height: 1.2; font-weight: 700; text-align: center; margin: 0;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .2rem 1rem;
  margin: .75rem 0 0; }
dd { margin: 0; }
article { border-left: 4px solid var(--hair); padding: .1rem 0 .1rem 1rem; margin: 1.25rem 0;
  break-inside: avoid; }
article.fail { border-color: var(--fail); }
article.warning { border-color: var(--warning); }
.fail h3, span.fail, li.fail { color: var(--fail); }
.warning h3, span.warning, li.warning { color: var(--warning); }
span.pass, li.pass { color: var(--pass); }
code { font: .88em/1.45 ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", monospace;
  background: var(--tint); padding: .1em .35em; border-radius: .25em; overflow-wrap: anywhere;
  box-decoration-break: clone; -webkit-box-decoration-break: clone; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 500; }
th, td { padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--hair);
  vertical-align: top; }
.counts { width: auto; margin-top: 1.25rem; }
.counts :is(th, td):not(:first-child) { text-align: right; white-space: nowrap; }
.rules :is(td, th):first-child, .rules td:nth-child(n + 3) { white-space: nowrap; }
.rules tr { break-inside: avoid; }
.numbers { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr));
  gap: .1rem 1rem; padding: 0; margin: 0; list-style: none; }
details { margin-top: .75rem; }
footer { margin-top: 2.5rem; font-size: .9rem; }
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .4rem; }
  .counts :is(th, td) { padding-right: .6rem; font-size: .85rem; white-space: normal !important; }
  .rules :is(th, td):nth-child(n + 3), .rules .word { display: none; }
}
@media print { body { max-width: none; padding: 0; font-size: 10pt; } }
"""
