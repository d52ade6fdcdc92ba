"""What wrong managers and wrong referees have in common, and what the kit has to find of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from agentleague.conformance.rules import Verdict
from conformance.between import nothing

BROKEN = (Verdict.FAIL, Verdict.WARNING)


@dataclass(frozen=True)
class Wrong:
    """A wrong agent: what is wrong, which rules find it, and the change that makes it so."""

    role: ClassVar[str]
    says: str
    rule: str | tuple[str, ...]
    change: Callable = lambda known: (nothing, nothing)  # (what the relay knows) -> (before, after)

    @classmethod
    def many(cls, says, changes, **how):
        """It is wrong in many ways, each of them in something else: one for each rule."""
        return cls(says, tuple(changes), together(*changes.values()), **how)

    @property
    def id(self):
        return self.says.replace(" ", "_")

    @property
    def rules(self):
        """All that find it."""
        names = (self.rule,) if isinstance(self.rule, str) else self.rule
        return [f"{self.role}.{each}" for each in names]


def together(*changes):
    """All of these changes, each of something else."""

    def of(relay):
        hooks = [change(relay) for change in changes]

        def before(passing):
            for one, _ in hooks:
                if passing.answer is None:
                    one(passing)

        def after(passing):
            for _, one in hooks:
                one(passing)

        return before, after

    return of


def expect_caught(wrong, rules, outcomes):
    """The rules meant for a wrong agent are broken, and beyond them only what they imply."""
    assert [each.fault for each in outcomes if each.fault] == []
    broken = {each.rule.id: each.said for each in outcomes if each.verdict in BROKEN}
    assert set(wrong.rules) - broken.keys() == set()
    meant = [each for each in rules if each.id in wrong.rules]
    implied = {name for each in meant for name in (each.id, *each.implies)}
    assert {name: said for name, said in broken.items() if name not in implied} == {}


def expect_passes(outcomes):
    """Nothing is wrong, and nothing was out of reach."""
    named = [(each.rule.id, each.verdict, each.said) for each in outcomes]
    allowed = (Verdict.PASS, Verdict.NOT_APPLICABLE)
    assert [each for each in named if each[1] not in allowed] == []
