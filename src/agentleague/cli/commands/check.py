"""`league check`: does an agent speak the protocol?"""

import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import click

from agentleague.cli.check_text import explained, print_report, print_rule, print_rules
from agentleague.cli.options import Number
from agentleague.cli.output import DEBUG, bar, counted, is_given, print_json, say
from agentleague.conformance import report_files
from agentleague.conformance.check import (
    KINDS,
    Selection,
    Tell,
    UnknownRule,
    all_rules,
    check,
    find_rules,
    rules_of,
)
from agentleague.conformance.launch import IS_POSIX
from agentleague.conformance.limits import Limits
from agentleague.conformance.report import Report, safe
from agentleague.conformance.rules import TIERS, Rule, Tier, Verdict
from agentleague.conformance.target import NEAR, Target, Unreachable, free_port, unknown_place
from agentleague.protocol.printable import nearest
from agentleague.records.export import write_file

OF_A_SHELL = {"&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1"}
EVERYWHERE = ("0.0.0.0", "::")
NOT_CONFORMING, NOT_CHECKED = 1, 2
OUT = click.Path(dir_okay=False, path_type=Path)


class NotChecked(click.ClickException):
    """Nothing can be said of the agent."""

    exit_code = NOT_CHECKED


@click.command()
@click.argument("words", metavar="[player|manager|referee] [URL]", nargs=-1)
@click.option(
    "--command",
    "typed",
    metavar="TEXT",
    help="Start the agent by this command, and stop it. In it {manager} is the URL of its manager, "
    "{port} a free port, {dir} an empty directory. A URL beside it is where that agent listens.",
)
@click.option(
    "--tier",
    type=click.Choice([str(each) for each in TIERS]),
    help="What has to pass for the exit code 0: this tier and the weightier ones.  [default: must]",
)
@click.option("--fast", is_flag=True, help="Leave out rules that wait longer than a second.")
@click.option(
    "--only",
    multiple=True,
    metavar="RULE",
    help="Only this rule and what it needs: an id, a number like R-MATCH-02, or a pattern like "
    "'player.move.*'. May be given several times.",
)
@click.option(
    "--known",
    multiple=True,
    metavar="RULE",
    help="A rule that is known to be broken: it does not count, until it passes. May be given "
    "several times.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--junit", metavar="FILE", type=OUT, help="Write a JUnit file, for a build server.")
@click.option("--html", metavar="FILE", type=OUT, help="Write the report as one HTML file.")
@click.option("--badge", metavar="FILE", type=OUT, help="Write a badge with the grade, as SVG.")
@click.option(
    "--patience",
    default=1,
    show_default=True,
    metavar="FACTOR",
    type=Number(float, 1, 100),
    help="Wait so many times as long as the protocol says, from 1 to 100.",
)
@click.option(
    "--players",
    default=4,
    show_default=True,
    type=Number(int, 2, 64),
    help="Players of the league that a manager is checked with, from 2 to 64.",
)
@click.option(
    "--bind",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="The address of this machine at which the agent can call it.",
)
@click.option(
    "--manager-port",
    type=Number(int, 1, 65_535),
    metavar="PORT",
    help="The port of the manager that the agent finds here.  [any; 8000 if --command has no "
    "{manager}]",
)
@click.option("--list", "is_list", is_flag=True, help="List the rules, and check nothing.")
@click.option("--explain", metavar="RULE", help="Say all of a rule, and check nothing.")
def command(
    words: tuple[str, ...],
    typed: str | None,
    tier: str | None,
    fast: bool,
    only: tuple[str, ...],
    known: tuple[str, ...],
    as_json: bool,
    junit: Path | None,
    html: Path | None,
    badge: Path | None,
    patience: float,
    players: int,
    bind: str,
    manager_port: int | None,
    is_list: bool,
    explain: str | None,
) -> None:
    """Check an agent in any language: does it speak the protocol? It is asked over HTTP as in a
    league, then as no league would, and each rule of the protocol gets a verdict; what fails is
    shown with what was sent, what came back, and what to change. Do not check an agent that plays
    in a league just now. Without a kind, it is found out.

    A tier says how much depends on a rule. must: no league without it. should: the documents ask
    for it. robust: hostile input, floods, slow networks. plus: optional. With --only, all that is
    named has to pass, unless --tier is given.

    It exits with 0 if the tier passes, 1 if not (a warning does not pass; what does not apply
    does), and 2 if nothing can be said: nobody listens, no rule was tried, or the kit itself
    failed.

    league check http://127.0.0.1:8101/mcp
    league check player http://127.0.0.1:8101/mcp --fast
    league check --command "node my_player.js --port {port} --manager {manager}"
    league check manager http://127.0.0.1:8000/mcp --tier should --html report.html
    league check --explain player.invitation.is-answered
    """
    kind, url = _kind_and_url(words)
    if is_list or explain:
        rules = _found((explain,), _rules(kind)) if explain else _listed(kind, only, tier, fast)
        _show_rules(rules, kind, explain, as_json)
        return
    _found((*only, *known), _rules(kind) if only or known else [])
    _check_places(junit, html, badge)
    _check_asked(kind, url, typed, badge and only)
    _check_bind(bind)
    target = Target(
        url=url, command=typed or "", bind=bind, manager_port=manager_port or 0, players=players
    )
    selection = Selection(only=only, is_fast=fast, known=known)
    asked = Tier(tier) if tier else TIERS[-1] if only else TIERS[0]
    try:
        with _progress() as tell:
            report = _checked(kind, target, selection, Limits().with_patience(patience), tell)
        _refuse_empty(report, asked)
    except NotChecked as error:
        said = safe(error.message)
        if as_json:
            print_json({"error": said})
        _write_file(junit, lambda: report_files.junit_error(said))
        raise
    if as_json:
        print_json({"tier": asked, "passes": not report.unexpected(asked), **report.as_json()})
    else:
        print_report(report, asked)
    _write(report, asked, junit, html, badge)
    if not as_json:
        _say_next(report, typed)
    _exit(report, asked)


def _exit(report: Report, tier: Tier) -> None:
    if report.fault:
        if is_given(DEBUG):
            print(report.fault, file=sys.stderr)
        raise NotChecked(_OWN_FAULT.format("a rule could not be tried"))
    if report.unexpected(tier):
        raise click.exceptions.Exit(NOT_CONFORMING)


_OWN_FAULT = (
    "this is a fault of the kit, not of the agent: {}. Type the same again with --debug, and "
    "report what it prints"
)


def _kind_and_url(words: Sequence[str]) -> tuple[str | None, str]:
    kind = words[0] if words and words[0] in KINDS else None
    rest = words[1:] if kind else words
    if len(rest) > 1:
        near = nearest(rest[0], KINDS, NEAR)
        hint = f"; did you mean {near} {rest[1]}?" if near else ""
        raise click.UsageError(f"{rest[1]!r} is not expected after {rest[0]!r}{hint}")
    if not rest:
        return kind, ""
    if rest[0].endswith(".py") and Path(rest[0]).is_file():
        command = f'"league player {rest[0]} --port {{port}} --manager {{manager}}"'
        raise click.UsageError(f"{rest[0]} is a file; let the kit start it: --command {command}")
    url = rest[0] if "://" in rest[0] else f"http://{rest[0]}"
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_url = False
    near = nearest(rest[0], KINDS, NEAR)
    if not is_url or (near and ":" not in rest[0]):
        hint = f"did you mean {near}?" if near else "it is like http://127.0.0.1:8101/mcp"
        raise click.UsageError(f"{rest[0]!r} is no URL of an agent; {hint}")
    if parts.username is not None or parts.query:
        raise click.UsageError("a URL with a password or a query is not called by any league")
    return kind, parts._replace(path=parts.path or "/mcp").geturl()


def _listed(kind: str | None, only: Sequence[str], tier: str | None, is_fast: bool) -> list[Rule]:
    rules = _rules(kind)
    named = _found(only, rules) if only else rules
    weighty = TIERS[: TIERS.index(Tier(tier)) + 1] if tier else TIERS
    names = {x.id for x in named if x.tier in weighty and not (is_fast and x.is_slow)}
    return [each for each in rules if each.id in names]


def _show_rules(
    rules: Sequence[Rule], kind: str | None, explain: str | None, as_json: bool
) -> None:
    if as_json:
        found = [explained(each) for each in rules]
        print_json(found[0] if explain and len(found) == 1 else found)
    elif explain:
        for each in rules:
            print_rule(each)
    else:
        print_rules(rules, f"{len(rules):,} rules{f' for a {kind}' if kind else ''}")
        say("Say all of one with: league check --explain RULE")


def _rules(kind: str | None) -> list[Rule]:
    return rules_of(kind) if kind else all_rules()


def _found(patterns: Sequence[str], rules: Sequence[Rule]) -> list[Rule]:
    try:
        return find_rules(patterns, rules)
    except UnknownRule as error:
        raise click.UsageError(str(error)) from None


def _check_asked(kind: str | None, url: str, typed: str | None, has_part_badge: object) -> None:
    try:
        words = shlex.split(typed or "", posix=IS_POSIX)
    except ValueError as error:
        problem = str(error).lower()
        raise click.UsageError(f"--command {typed!r} cannot be read: {problem}") from None
    if not url and not words:
        raise click.UsageError("no agent is named; give its URL, or a --command that starts it")
    if has_part_badge:
        raise click.UsageError("a badge is for all rules; leave out --badge or --only")
    if typed and (words[:1] == ["cd"] or not OF_A_SHELL.isdisjoint(words)):
        raise click.UsageError(f"--command: no shell reads it; write bash -c {shlex.quote(typed)}")
    if problem := next(filter(None, (unknown_place(each, kind) for each in words)), ""):
        raise click.UsageError(f"--command: {problem}")
    if words and not shutil.which(words[0]):
        raise NotChecked(f"cannot start {words[0]!r}: there is no such program; check the path")


def _check_bind(address: str) -> None:
    try:
        free_port(address)
    except OSError:
        raise click.UsageError(f"--bind: this machine has no address {address}") from None
    if address in EVERYWHERE:
        raise click.UsageError(
            f"--bind: nobody can call {address}; give the address at which the agent calls you"
        )


def _check_places(*files: Path | None) -> None:
    for file in filter(None, files):
        if not file.parent.is_dir():
            raise click.UsageError(f"there is no directory {file.parent} for {file.name}; make it")


def _checked(
    kind: str | None, target: Target, selection: Selection, limits: Limits, tell: Tell
) -> Report:
    try:
        return check(kind, target, selection, limits, tell)
    except Unreachable as error:
        raise NotChecked(f"it cannot be checked: {error}") from None
    except UnknownRule as error:
        raise click.UsageError(str(error)) from None
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise NotChecked(_OWN_FAULT.format(said)) from error


def _refuse_empty(report: Report, tier: Tier) -> None:
    """Nothing that was tried is nothing that passed."""
    weighty = TIERS[: TIERS.index(tier) + 1]
    if any(each.rule.tier in weighty for each in report.outcomes):
        return
    why = f"no rule of tier {tier} was tried"
    if report.left_out:
        why += f": --fast leaves out {', '.join(report.left_out)}"
    raise NotChecked(why)


def _write(
    report: Report, tier: Tier, junit: Path | None, html: Path | None, badge: Path | None
) -> None:
    _write_file(junit, lambda: report_files.junit(report, tier))
    _write_file(html, lambda: report_files.page(report, version("agentleague")))
    _write_file(badge, lambda: report_files.badge(report))


def _write_file(file: Path | None, text: Callable[[], str]) -> None:
    if not file:
        return
    try:
        write_file(file.parent, (file.name, text()))
    except OSError as error:
        raise NotChecked(f"{file} cannot be written: {error.strerror}") from None
    say(f"{file} is written.")


def _say_next(report: Report, typed: str | None) -> None:
    broken = report.of(Verdict.FAIL) or report.of(Verdict.WARNING)
    if report.left_out:
        say(f"--fast left out {counted(len(report.left_out), 'rule')}: try them before a league.")
    if report.has_ended:
        say("The agent has ended, as it should after LEAGUE_COMPLETED; start it again for more.")
    if broken:
        say(f"More of a rule: league check --explain {broken[0].rule.id}")
        say(f"Only that one again: add --only {broken[0].rule.id}")
    elif not typed and report.unmet(TIERS[-1]):
        say("More can be tried if the kit starts the agent itself: --command")


@contextmanager
def _progress() -> Iterator[Tell]:
    """One line that changes on a terminal, gone at the end; elsewhere nothing."""
    with bar("rules") as shown:
        shown.live.transient = True
        task = shown.add_task("", total=None)
        yield lambda what, tried, total: shown.update(
            task, description=what, completed=tried, total=total or None
        )
