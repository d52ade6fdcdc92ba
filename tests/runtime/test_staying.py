"""An agent that stays waits for the next league, and for nothing else."""

import asyncio

import pytest
from msgspec import UNSET

from agentleague.errors import LateRegistration, LeagueFull, RegistrationAfterEnd
from agentleague.player.role import Player
from agentleague.protocol.messages import LeagueRegisterResponse
from agentleague.roles.agent import Refused, RegisterKey
from agentleague.roles.settings import PlayerSettings
from agentleague.roles.stimuli import Answered
from agentleague.runtime.clock import LoopClock
from agentleague.runtime.host import Host
from agentleague.runtime.processes import Place, Running
from agentleague.runtime.staying import Looks, may_stay, next_league
from agentleague.transport.http import HttpTransport


def an_agent(refusal="", **answered):
    """A player that was in league "one", unless it was refused; it opens no port."""
    clock, role = LoopClock(asyncio.get_running_loop()), Player(PlayerSettings(display_name="Ann"))
    transport = HttpTransport(clock, Place(0).policy("player"))
    agent = Running(Host(role, clock, transport), transport, "")
    if refusal:
        agent.host.on_end(Refused(refusal))
    else:
        answer = LeagueRegisterResponse("ACCEPTED", "P01", "one", auth_token="tok", **answered)
        role.handle(Answered(RegisterKey(), answer, None, 0.0), 0.0)
    return agent


def waited(statuses, *, refusal="", stops_after=None, match_tokens=True):
    """Whether there was a next league, how often it looked, and what was said."""
    said, answers = [], iter(statuses)

    async def run():
        stopped, seen = asyncio.get_running_loop().create_future(), []

        async def ask(where):
            seen.append(where)
            if len(seen) == stops_after:
                stopped.set_result(None)
            return next(answers)

        agent = an_agent(refusal, match_tokens=match_tokens)
        looks = Looks(ask, first_seconds=0.0)
        return await next_league(agent, "here", stopped, said.append, looks), len(seen)

    return *asyncio.run(run()), said


OVER, NEXT = ({"league_id": each, "status": "WAITING_FOR_REGISTRATIONS"} for each in ("one", "two"))
ENDED = {"league_id": "two", "status": "LEAGUE_COMPLETED"}


@pytest.mark.parametrize("before", [[], [{}], [OVER, {}, OVER], [ENDED]])
def test_it_waits_while_nobody_answers_or_a_league_that_is_over_does(before):
    is_next, looks, said = waited([*before, NEXT])

    assert (is_next, looks) == (True, len(before) + 1)
    assert said == ["Waiting at here for the next league. Stop with Ctrl-C."]


def test_it_can_be_stopped_while_it_waits():
    is_next, looks, _ = waited([OVER] * 9, stops_after=3)

    assert (is_next, looks) == (False, 3)


def test_who_came_too_late_waits_for_the_league_after_that_one():
    later = {"league_id": "three", "status": "WAITING_FOR_REGISTRATIONS"}
    is_next, looks, said = waited([NEXT, NEXT, later], refusal="Registration closed")

    assert (is_next, looks) == (True, 3)
    assert said[0] == "It is not in this league: Registration closed"


def test_at_a_manager_that_is_not_ours_it_registers_again():
    assert waited([], match_tokens=UNSET)[:2] == (True, 0)


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
    async def stays():
        return may_stay(an_agent(refusal))

    assert asyncio.run(stays()) is may
