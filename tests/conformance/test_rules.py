"""The tables of rules: every rule cites what there is, and is tried after what it needs."""

import re
import sys

import pytest
from msgspec.structs import replace

from agentleague.conformance.check import KINDS, all_rules, rules_of
from agentleague.conformance.limits import Limits
from agentleague.conformance.player_bench import PlayerBench
from agentleague.conformance.rules import OURS, Rules, Tier, Verdict
from agentleague.conformance.run import try_rules
from agentleague.conformance.target import Target
from agentleague.conformance.unseen import OURS_ALONE, UNSEEN
from commands import BIN, ROOT, environment, run
from conformance.wrong_players import CARELESS, TAKES_A_COMMAND, WRONG
from tables import each_row

PROTOCOL = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
TEXTS = dict(re.findall(r"^- \*\*(R-\w+-\d+)\*\* (.+)$", PROTOCOL, re.MULTILINE))


@each_row("kind, least", [("player", 60), ("manager", 60), ("referee", 40)])
def test_there_are_enough_rules_and_each_is_of_its_role(kind, least):
    rules = rules_of(kind)

    assert len(rules) >= least
    assert {rule.role for rule in rules} == {kind}
    assert all(re.fullmatch(r"[a-z]+(\.[a-z0-9-]+){2}", rule.id) for rule in rules)
    assert any(rule.tier is Tier.MUST for rule in rules)


def is_ours(number):
    """Whether the page marks it so."""
    return bool(re.search(r"\((Ours)[^()]*(\([^()]*\)[^()]*)*\)$", TEXTS[number]))


def test_every_number_has_a_rule_or_a_reason_why_not():
    judged = {number for rule in all_rules() for number in rule.numbers}

    assert judged & UNSEEN.keys() == set()
    assert judged | UNSEEN.keys() == TEXTS.keys()
    assert {number for number, why in UNSEEN.items() if why == OURS_ALONE} == {
        number for number in UNSEEN if is_ours(number)
    }


@each_row("rule", all_rules())
def test_a_rule_cites_a_number_and_a_document_and_says_what_to_change(rule):
    ours = any(map(is_ours, rule.numbers))

    assert ours <= (rule.tier is Tier.PLUS), "what is ours is asked of nobody"
    assert ours <= (rule.source == OURS)
    assert rule.source == OURS or rule.source.startswith("document")
    assert (rule.source == OURS) <= (rule.tier is Tier.PLUS)
    for sentence in (rule.says, rule.mend):
        assert re.fullmatch(r"[A-Z`].+[.:Z}]", sentence), sentence


@each_row("kind", KINDS)
def test_what_a_rule_needs_is_tried_before_it_and_what_it_implies_is_there(kind):
    before = set()
    for rule in rules_of(kind):
        assert set(rule.needs) <= before, rule.id
        before.add(rule.id)
    for rule in rules_of(kind):
        assert set(rule.implies) <= before - {rule.id}, rule.id


def test_what_a_rule_says_stands_in_the_docstring_of_its_check():
    table = Rules("player")

    @table.rule("move.is-legal", Tier.MUST, is_slow=True)
    def check(bench):
        """A player chooses `even` or `odd`,
        and nothing else.

        R-GAME-01, R-MSG-06: document 004 section 6.2.3
        Mend: Answer: even.
        Leniency: we read EVEN too
        """

    (rule,) = table
    assert (rule.says, rule.mend) == (
        "A player chooses `even` or `odd`, and nothing else.",
        "Answer: even.",
    )
    assert (rule.number, rule.also) == ("R-GAME-01", ("R-MSG-06",))
    assert (rule.source, rule.leniency) == ("document 004 section 6.2.3", "we read EVEN too")


# What only floods and broken connections show; nothing between the kit and a player can make them.
UNBROKEN = {
    "player.robust.in-pieces",
    "player.robust.slow-request",
    "player.robust.silent-connections",
    "player.robust.leaves",
    "player.robust.no-http",
    "player.robust.wrong-length",
}


@pytest.mark.process
def test_without_docstrings_it_says_how_to_start_it_instead():
    done = run([BIN / "league", "check", "--list"], env={**environment(), "PYTHONOPTIMIZE": "2"})

    assert done.returncode == 1
    assert "type it without -OO and PYTHONOPTIMIZE" in done.stderr


def test_every_rule_is_broken_by_a_wrong_player():
    broken = {*(wrong.rule for wrong in WRONG), *TAKES_A_COMMAND}

    assert {rule.id for rule in rules_of("player")} - {f"player.{x}" for x in broken} == UNBROKEN


@pytest.mark.process
def test_a_player_that_registers_once_and_never_ends_breaks_the_rules_about_that(tmp_path):
    (tmp_path / "careless.py").write_text(CARELESS)
    command = f"{sys.executable} {tmp_path}/careless.py {{port}} {{manager}}"
    bench = PlayerBench(Target(command=command), Limits(connect=1.0))
    table = {rule.id: rule for rule in rules_of("player")}
    verdicts = {}
    try:
        for name in TAKES_A_COMMAND:
            is_first = name == TAKES_A_COMMAND[0]  # which waits an eighth of the time for its end
            bench.limits = replace(bench.limits, start=24.0 if is_first else 2.0, next_step=0.5)
            (outcome,) = try_rules([table[f"player.{name}"]], bench)
            verdicts[name] = outcome.verdict
    finally:
        bench.close()

    assert verdicts == dict.fromkeys(TAKES_A_COMMAND, Verdict.FAIL) | {
        TAKES_A_COMMAND[-1]: Verdict.WARNING
    }
