"""The tables of rules: every rule cites what there is, and is tried after what it needs."""

import re

from agentleague.conformance.check import KINDS, all_rules, rules_of
from agentleague.conformance.rules import OURS, Tier
from commands import ROOT
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


@each_row("rule", all_rules())
def test_a_rule_cites_a_number_and_a_document_and_says_what_to_change(rule):
    ours = re.search(r"\((Ours)[^()]*(\([^()]*\)[^()]*)*\)$", TEXTS[rule.number])

    assert bool(ours) <= (rule.tier is Tier.PLUS), "what is ours is asked of nobody"
    assert bool(ours) <= (rule.source == OURS)
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
