"""An agent that stays waits for the next league, and for nothing else."""

import asyncio
from types import SimpleNamespace

import pytest

from agentleague.errors import LateRegistration, LeagueFull, RegistrationAfterEnd
from agentleague.runtime import staying


def waited(monkeypatch, statuses, *, refusal="", stops_after=None, is_foreign=False):
    """Whether there was a next league, how often it looked, and what was said."""
    said, looks = [], iter(statuses)
    monkeypatch.setattr(staying, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(staying, "LONGEST_SECONDS", 0.001)

    async def run():
        stopped, seen = asyncio.get_running_loop().create_future(), []

        async def look(where):
            seen.append(where)
            if len(seen) == stops_after:
                stopped.set_result(None)
            return next(looks)

        monkeypatch.setattr(staying, "_look", look)
        state = SimpleNamespace(league_id="one")
        role = SimpleNamespace(state=state, has_foreign_manager=is_foreign)
        agent = SimpleNamespace(host=SimpleNamespace(role=role), refusal=refusal)
        return await staying.next_league(agent, "here", stopped, said.append), len(seen)

    return *asyncio.run(run()), said


OVER, NEXT = ({"league_id": each, "status": "WAITING_FOR_REGISTRATIONS"} for each in ("one", "two"))
ENDED = {"league_id": "two", "status": "LEAGUE_COMPLETED"}


@pytest.mark.parametrize("before", [[], [{}], [OVER, {}, OVER], [ENDED]])
def test_it_waits_while_nobody_answers_or_a_league_that_is_over_does(monkeypatch, before):
    is_next, looks, said = waited(monkeypatch, [*before, NEXT])

    assert (is_next, looks) == (True, len(before) + 1)
    assert said == ["Waiting at here for the next league. Stop with Ctrl-C."]


def test_it_can_be_stopped_while_it_waits(monkeypatch):
    is_next, looks, _ = waited(monkeypatch, [OVER] * 9, stops_after=3)

    assert (is_next, looks) == (False, 3)


def test_who_came_too_late_waits_for_the_league_after_that_one(monkeypatch):
    later = {"league_id": "three", "status": "WAITING_FOR_REGISTRATIONS"}
    is_next, looks, said = waited(monkeypatch, [NEXT, NEXT, later], refusal="Registration closed")

    assert (is_next, looks) == (True, 3)
    assert said[0] == "It is not in this league: Registration closed"


def test_at_a_manager_that_is_not_ours_it_registers_again(monkeypatch):
    assert waited(monkeypatch, [], is_foreign=True)[:2] == (True, 0)


@pytest.mark.parametrize(
    ("refusal", "may"),
    [
        ("", True),
        (f"{LateRegistration.reason}: the league has begun", True),
        (f"{RegistrationAfterEnd.reason}: the league is over", True),
        (f"{LeagueFull.reason}: 8 players are registered already", True),
        ("wrong join code", False),
    ],
)
def test_it_stays_after_the_end_or_if_it_came_too_late_and_not_if_it_is_refused(refusal, may):
    assert staying.may_stay(SimpleNamespace(refusal=refusal)) is may
