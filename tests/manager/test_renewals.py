"""How often an agent may register again."""

import pytest

from agentleague.errors import RateLimited
from agentleague.manager.registration import FREE, SECONDS_MAX, ReturnLimits
from rules import rule


@rule("R-REG-07")
def test_an_agent_comes_back_at_once_a_few_times_and_then_waits_longer_and_longer():
    renewals, now, waits = ReturnLimits(), 0.0, []
    for _ in range(FREE + 14):
        began = now
        while True:
            try:
                renewals.check("P01", now)
                break
            except RateLimited as refused:
                now += refused.context["retry_after"]
        waits.append(now - began)

    assert waits[: FREE + 2] == [0.0, *[1.0] * FREE, 2.0]
    assert waits[FREE + 2 : FREE + 5] == [4.0, 8.0, 16.0]
    assert waits[-1] == SECONDS_MAX


def test_others_do_not_wait_for_it():
    renewals = ReturnLimits()
    renewals.check("P01", 5.0)
    renewals.check("P02", 5.0)

    with pytest.raises(RateLimited, match="wait 1 s"):
        renewals.check("P01", 5.5)
