"""What a check found: verdicts, a grade, and on which leniency of our league an agent relies."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from agentleague.conformance.exchange import without_secrets
from agentleague.conformance.rules import TIERS, Rule, Tier, Verdict
from agentleague.conformance.run import Outcome
from agentleague.conformance.unseen import UNSEEN as WITHOUT_RULE
from agentleague.dialects.table import in_words
from agentleague.protocol.printable import printable

MUST, SHOULD, ROBUST, PLUS = TIERS
# The grades, and up to which tier everything passes; below them D plays here all the same.
GRADES = {"A+": PLUS, "A": ROBUST, "B": SHOULD, "C": MUST}
LENIENT, FAILED = "D", "F"
MEANINGS = {
    "A+": "passes every rule",
    "A": "passes every rule but optional ones",
    "B": "passes all that the documents ask for, and not all on hostile input, floods and restarts",
    "C": "passes what no league can do without",
    LENIENT: "plays here, by leniency of this league alone",
    FAILED: "breaks what no league can do without",
    "": "not graded",
}
UNTRIED = "could not show all that no league can do without"  # F too
PASSED = (Verdict.PASS, Verdict.NOT_APPLICABLE)
BROKEN = (Verdict.FAIL, Verdict.WARNING)
UNDECIDED = (Verdict.NOT_REACHED, Verdict.NOT_APPLICABLE)
WORST = (*BROKEN, Verdict.NOT_REACHED, *PASSED)  # of several rules with one number
UNSEEN = "elsewhere or never, unless {manager} in --command or --manager-port leads it here"
STRICT = {"manager": "strict agents"}  # with whom an agent of this role would not play
NEEDS = "needs "  # as a rule says that was not tried for want of another
SAID_MAX = 600


class Judged(Struct, frozen=True):
    """What came of a number of docs/protocol.md."""

    verdict: Verdict
    why: str = ""  # it does not apply, or was not reached
    is_tried: bool = False  # one of its rules was


class Report(Struct, kw_only=True):
    """What came of all rules that were tried."""

    role: str
    url: str
    at: str = ""  # when, in UTC
    outcomes: list[Outcome]
    speaks: list[str] = []  # names of dialects
    left_out: list[str] = []  # rules that have to wait, with --fast
    unseen: list[str] = []  # rules about how it registers, where it does so elsewhere
    is_part: bool = False  # Only some rules were asked for: nothing can be said of the whole.
    known: list[str] = []  # rules of which it is known that they are broken
    has_ended: bool = False  # Nobody listens any more, as it should be after LEAGUE_COMPLETED.
    seconds: float = 0.0

    @property
    def fault(self) -> str:
        """The traceback of a fault of the kit itself; empty if there was none."""
        return next((each.fault for each in self.outcomes if each.fault), "")

    @property
    def grade(self) -> str:
        """A+ to F; empty if only some rules were tried, none at all, or the kit failed."""
        if self.is_part or self.fault or not self.outcomes:
            return ""
        passed = (grade for grade, tier in GRADES.items() if not self.unmet(tier))
        return next(passed, LENIENT if self.plays_here else FAILED)

    @property
    def meaning(self) -> str:
        """What the grade says."""
        is_cut = self.grade and (self.left_out or self.unseen)
        is_untried = self.grade == FAILED and self.plays_here is None
        meaning = UNTRIED if is_untried else MEANINGS[self.grade]
        return f"{meaning} (of what was tried)" if is_cut else meaning

    @property
    def plays_here(self) -> bool | None:
        """Whether it plays in a league of ours; None if that could not be tried."""
        return self._plays(each for each in self.unmet(MUST) if not self._is_forgiven(each))

    @property
    def plays_strictly(self) -> bool | None:
        """Whether it plays where nothing is forgiven; None if that could not be tried."""
        return self._plays(self.unmet(SHOULD))

    def _plays(self, unmet: Iterable[Outcome]) -> bool | None:
        unmet = list(unmet)
        if any(each.verdict in BROKEN for each in unmet):
            return False
        return None if unmet or self.is_part else True

    def unmet(self, tier: Tier) -> list[Outcome]:
        """What did not pass of this tier and the weightier ones; a warning is among it."""
        weighty = TIERS[: TIERS.index(tier) + 1]
        return [x for x in self.outcomes if x.rule.tier in weighty and x.verdict not in PASSED]

    def unexpected(self, tier: Tier) -> list[Outcome]:
        """The same without what is known, and with what is known and passes all the same."""
        unmet = [each for each in self.unmet(tier) if not self._is_known(each)]
        return unmet + [each for each in self.of(Verdict.PASS) if each.rule.id in self.known]

    def relied(self) -> list[Outcome]:
        """The rules that it breaks and that our league forgives."""
        return [each for each in self.of(*BROKEN) if each.rule.leniency]

    def of(self, *verdicts: Verdict) -> list[Outcome]:
        """The outcomes with these verdicts."""
        return [each for each in self.outcomes if each.verdict in verdicts]

    def counts(self) -> dict[Tier, dict[Verdict, int]]:
        """How many rules of each tier came out how."""
        found = {tier: dict.fromkeys(Verdict, 0) for tier in TIERS}
        for each in self.outcomes:
            found[each.rule.tier][each.verdict] += 1
        return found

    def numbers(self) -> dict[str, "Judged"]:
        """One verdict for each number of docs/protocol.md: the worst of its rules."""
        from agentleague.conformance.check import all_rules

        found = {
            number: Judged(Verdict.NOT_APPLICABLE, why) for number, why in WITHOUT_RULE.items()
        }
        rules = all_rules()
        for number in {number for each in rules for number in each.numbers}:
            found[number] = self._untried([each for each in rules if number in each.numbers])
        outcomes = sorted(self.outcomes, key=lambda each: WORST.index(each.verdict), reverse=True)
        for each in outcomes:  # The worst one comes last, and counts.
            why = safe(self._root(each).said) if each.verdict in UNDECIDED else ""
            found |= {number: Judged(each.verdict, why, True) for number in each.rule.numbers}
        return dict(sorted(found.items()))

    def _untried(self, rules: list[Rule]) -> "Judged":
        """What is said of a number none of whose rules was tried."""
        own = {each.id for each in rules if each.role == self.role}
        if not own:
            others = " and ".join(dict.fromkeys(f"{each.role}s" for each in rules))
            return Judged(Verdict.NOT_APPLICABLE, f"about {others}")
        if own & {*self.unseen}:
            return Judged(Verdict.NOT_REACHED, f"about how it registers: {UNSEEN}")
        why = "it has to wait; --fast leaves it out" if own & {*self.left_out} else "not asked for"
        return Judged(Verdict.NOT_REACHED, why)

    def reasons(self) -> dict[str, list[str]]:
        """Why rules were not reached, and which; what needs one of those has its reason."""
        found: dict[str, list[str]] = {}
        for each in self.of(Verdict.NOT_REACHED):
            root = self._root(each)
            is_broken = root.verdict is not Verdict.NOT_REACHED
            why = f"needs {root.rule.id}: {root.verdict}" if is_broken else safe(root.said)
            found.setdefault(why, []).append(each.rule.id)
        return found

    def _is_forgiven(self, outcome: Outcome) -> bool:
        """Broken with a leniency of ours, or not reached because of such a one."""
        root = self._root(outcome)
        return root.verdict in BROKEN and bool(root.rule.leniency)

    def _is_known(self, outcome: Outcome) -> bool:
        return {outcome.rule.id, self._root(outcome).rule.id} & set(self.known) != set()

    def _root(self, outcome: Outcome) -> Outcome:
        """What keeps a rule from being tried, and what keeps that; or the rule itself."""
        needed = outcome.said.removeprefix(NEEDS) if outcome.said.startswith(NEEDS) else ""
        is_not_tried = outcome.verdict is Verdict.NOT_REACHED
        found = [each for each in self.outcomes if is_not_tried and each.rule.id == needed]
        return self._root(found[0]) if found and found[0] is not outcome else outcome

    def as_json(self) -> dict[str, Any]:
        """All of it, safe to print."""
        return {
            "role": self.role,
            "url": safe(self.url),
            "at": self.at,
            "grade": self.grade,
            "meaning": self.meaning,
            "plays_here": self.plays_here,
            "plays_strictly": self.plays_strictly,
            "speaks": [{"name": safe(x), "words": safe(in_words(x))} for x in self.speaks],
            "leniencies": [leniency(self, each) for each in self.relied()],
            "counts": {
                str(tier): {str(verdict): n for verdict, n in row.items()}
                for tier, row in self.counts().items()
            },
            "numbers": {
                number: {"verdict": str(each.verdict), "why": each.why}
                for number, each in self.numbers().items()
            },
            "rules": [finding(each) for each in self.outcomes],
            "left_out": self.left_out,
            "unseen": self.unseen,
            "known": self.known,
            "seconds": round(self.seconds, 1),
        }


def finding(outcome: Outcome) -> dict[str, Any]:
    """What came of a rule, safe to print: the agent may be hostile."""
    rule, exchange = outcome.rule, outcome.exchange
    sent, came = exchange.shown() if exchange else ("", "")
    return {
        "id": rule.id,
        "verdict": str(outcome.verdict),
        "tier": str(rule.tier),
        "number": rule.number,
        "source": rule.source,
        "says": rule.says,
        "said": safe(outcome.said),
        "mend": rule.mend,
        "leniency": rule.leniency,
        "sent": safe(sent),
        "came": safe(came),
        "sent_by": "agent" if exchange and exchange.is_from_agent else "kit",
        "seconds": round(outcome.seconds, 3),
        "tries": outcome.tries,
    }


def leniency(report: Report, outcome: Outcome) -> dict[str, str]:
    """Why an agent plays here, and would not play elsewhere."""
    rule = outcome.rule
    breaks = f"because it breaks this: {uncapitalised(rule.says).rstrip('.')}"
    return {"id": rule.id, "because": f"{apart(report)} {breaks}", "here": rule.leniency}


def apart(report: Report) -> str:
    """How an agent fares here and elsewhere, by what our league forgives; "It" stands before it."""
    other = STRICT.get(report.role, "a strict manager")
    if report.plays_here:
        return f"plays here, would not play with {other}"
    if report.plays_here is None:
        return f"was tried in part only; {other} would refuse it"
    return f"does not play here yet; once that is mended, {other} would still refuse it"


def safe(text: str, at_most: int = 2 * SAID_MAX) -> str:
    """Text that an agent may have written, on one line, without tokens or control characters."""
    line = without_secrets(printable(" ".join(without_secrets(text).split())))
    return line if len(line) <= at_most else f"{line[:at_most]} …"


def uncapitalised(sentence: str) -> str:
    """A sentence as it goes on after a comma."""
    is_name = sentence[1:2].isupper()  # like GAME_OVER
    return sentence if is_name else sentence[:1].lower() + sentence[1:]
