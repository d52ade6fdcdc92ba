"""Tries the rules one after the other, and says what came of each."""

import traceback
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from agentleague.conformance.bench import LATE_MAX, Bench
from agentleague.conformance.exchange import Exchange
from agentleague.conformance.rules import (
    Broken,
    NotApplicable,
    NotReached,
    Rule,
    Tier,
    Verdict,
)
from agentleague.runtime.clock import stopwatch

SECOND_TRIES_MAX = 5  # of rules to which the answer came too late, in a whole run
BROKEN = (Verdict.FAIL, Verdict.WARNING)
DEMANDED = (Tier.MUST, Tier.ROBUST)  # Whoever breaks such a rule fails; any other one is a warning.


class Outcome(Struct, kw_only=True):
    """What came of one rule."""

    rule: Rule
    verdict: Verdict
    said: str = ""  # what was expected, why it was not reached, or a remark on a pass
    exchange: Exchange | None = None  # the evidence
    seconds: float = 0.0
    tries: int = 1
    fault: str = ""  # of the kit itself: a traceback


def try_rules(
    rules: Iterable[Rule],
    bench: Bench,
    tell: Callable[[Outcome], None] = lambda _: None,
    *,
    began: float | None = None,
) -> list[Outcome]:
    """What came of each rule, in their order; `tell` hears of each at once."""
    outcomes: dict[str, Outcome] = {}
    trial = _Trial(bench, stopwatch() if began is None else began)
    for rule in rules:
        outcome = trial.try_one(rule, outcomes)
        outcomes[rule.id] = outcome
        tell(outcome)
    return list(outcomes.values())


class _Trial:
    """One run over the rules. It ends in bounded time, whatever the agent does."""

    def __init__(self, bench: Bench, began: float) -> None:
        self._bench = bench
        self._until = began + bench.limits.whole
        self._second_tries = SECOND_TRIES_MAX
        self._late_in_a_row = 0
        self._over = ""  # why nothing more is tried

    def try_one(self, rule: Rule, before: dict[str, Outcome]) -> Outcome:
        began = stopwatch()
        if not self._over and began > self._until:
            whole = self._bench.limits.whole
            self._over = f"the check took longer than {whole:.0f} s; --patience gives it more"
        if self._over:
            return Outcome(rule=rule, verdict=Verdict.NOT_REACHED, said=self._over)
        unmet = _unmet(rule.needs, before)
        if unmet:
            is_offered = unmet.verdict is not Verdict.NOT_APPLICABLE
            verdict = Verdict.NOT_REACHED if is_offered else unmet.verdict
            return Outcome(rule=rule, verdict=verdict, said=f"needs {unmet.rule.id}")
        outcome, is_late = _once(rule, self._bench)
        if is_late and self._second_tries:  # A busy machine may have been the reason.
            self._second_tries -= 1
            outcome, is_late = _once(rule, self._bench)
            outcome.tries = 2
        outcome.seconds = stopwatch() - began
        self._late_in_a_row = self._late_in_a_row + 1 if is_late else 0
        self._look_whether_it_crashed(outcome)
        if not self._over and outcome.verdict in BROKEN:
            self._look_whether_it_is_there(rule)
        return outcome

    def _look_whether_it_crashed(self, outcome: Outcome) -> None:
        """Put a crash on the rule that was tried; start the agent again, or try no more."""
        bench = self._bench
        ending = bench.ending()
        if not ending or not (bench.launch and bench.launch.exit_code):  # or it left in order
            return
        expected = outcome.said if outcome.verdict in BROKEN else "it goes on"
        outcome.verdict = _verdict(outcome.rule)
        outcome.said = f"{expected}; {ending}"
        outcome.exchange = outcome.exchange or next(reversed(bench.exchanges), None)
        if not bench.revive():
            self._over = f"since {outcome.rule.id} {ending}"

    def _look_whether_it_is_there(self, rule: Rule) -> None:
        bench = self._bench
        if not bench.peer.is_listening():
            self._over = f"nobody listens any more since {rule.id}"
            if ending := bench.ending():
                self._over += f": {ending}"
        elif self._late_in_a_row >= LATE_MAX:
            self._late_in_a_row = 0
            if bench.ask(bench.control(), seconds=bench.limits.reply).is_late:
                self._over = f"it answers nothing any more since {rule.id}"


def _verdict(rule: Rule) -> Verdict:
    """On whoever breaks it."""
    return Verdict.FAIL if rule.tier in DEMANDED else Verdict.WARNING


def _unmet(needs: Sequence[str], before: dict[str, Outcome]) -> Outcome | None:
    """The first rule that had to pass before, and did not."""
    passed = (Verdict.PASS, Verdict.WARNING)
    found = (before[each] for each in needs if each in before)
    return next((each for each in found if each.verdict not in passed), None)


def _once(rule: Rule, bench: Bench) -> tuple[Outcome, bool]:
    try:
        bench.begin_rule()
        remark = rule.check(bench)
    except Broken as broken:
        verdict = _verdict(rule)
        shown = broken.exchange or (bench.exchanges[-1] if bench.exchanges else None)
        outcome = Outcome(rule=rule, verdict=verdict, said=broken.expected, exchange=shown)
        return outcome, broken.is_late
    except NotApplicable as reason:
        return Outcome(rule=rule, verdict=Verdict.NOT_APPLICABLE, said=str(reason)), False
    except NotReached as reason:
        return Outcome(rule=rule, verdict=Verdict.NOT_REACHED, said=str(reason)), False
    except Exception as error:  # The kit's own fault is told apart from the agent's.
        said = f"a fault of the kit: {type(error).__name__}: {error}"
        outcome = Outcome(rule=rule, verdict=Verdict.NOT_REACHED, said=said)
        outcome.fault = traceback.format_exc()
        return outcome, False
    return Outcome(rule=rule, verdict=Verdict.PASS, said=remark or ""), False
