"""What the manager knows of its agents' end points."""

import pytest

from agentleague.errors import NoAnswer, NoConnection, PeerRefused, RateLimited
from agentleague.league.events import LeagueEnded, TokenRenewed
from agentleague.league.league import Phase
from agentleague.manager.keys import ListenersDue
from agentleague.manager.reachability import Reachability
from agentleague.manager.step import ManagerLimits
from agentleague.protocol.messages import (
    LeagueRegisterRequest,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
    RoundAnnouncementAck,
)
from agentleague.roles.effects import Call, Reply, WakeAt
from agentleague.roles.stimuli import Answered, Asked, Caller, Woken
from league.decisions import Decisions
from manager.test_role import a_manager, ask, player, referee
from memory_league import BEGAN
from rules import rule

NOBODY = NoConnection("nobody is there")


def tried(players=1, referees=0, limits=None):
    """A league whose agents were registered and are to be tried, and where they are."""
    decisions = Decisions(players, referees)
    seen = Reachability(decisions.league, limits)
    roster = decisions.league.roster
    ends = {id_: m.endpoint for id_, m in [*roster.players.items(), *roster.referees.items()]}
    for agent_id in ends:
        assert seen.registered(agent_id, "127.0.0.1") == ""
    return decisions, seen, ends


@rule("R-REG-12")
def test_an_agent_is_shown_as_reachable_or_not():
    _, seen, ends = tried(1, 1)

    assert list(seen.unchecked) == list(ends.items())
    assert seen.learnt("REF01", ends["REF01"], True) == ""
    assert f"P01 is not reachable: nobody answers at {ends['P01']}. Is it running" in (
        seen.learnt("P01", ends["P01"], False)
    )
    assert seen.known == {"P01": False, "REF01": True}


@rule("R-REG-12")
def test_an_agent_that_is_silent_is_sought_until_it_is_there_and_each_change_is_said_once():
    _, seen, ends = tried()
    end = ends["P01"]

    assert "not reachable" in seen.learnt("P01", end, False)
    assert seen.is_sought("P01", end)
    assert seen.learnt("P01", end, False) == ""
    assert seen.learnt("P01", end, True) == f"P01 is reachable now, at {end}."
    assert not seen.is_sought("P01", end)


def test_after_a_restart_that_finds_nobody_only_the_first_few_are_told_one_by_one():
    decisions = Decisions(6)
    seen = Reachability(decisions.league)
    ends = {id_: member.endpoint for id_, member in decisions.league.roster.players.items()}
    seen.resume()

    seen.learnt("P06", ends["P06"], True)
    told = [seen.learnt(id_, ends[id_], False) for id_ in ("P01", "P02", "P03", "P04", "P05")]
    later = seen.learnt("P06", ends["P06"], False)

    assert [each.partition(":")[0] for each in told] == [
        *("P01 is not reachable", "P02 is not reachable", "P03 is not reachable"),
        *("More agents are not reachable; see which with", ""),
    ]
    assert later.startswith("P06 is not reachable: nobody answers")


@rule("R-REG-12")
def test_what_was_found_at_an_end_point_that_the_agent_left_says_nothing():
    decisions, seen, ends = tried()
    seen.learnt("P01", ends["P01"], True)
    decisions.record(TokenRenewed("P01", "another", 2, "http://127.0.0.1:9/mcp"))
    seen.registered("P01", "127.0.0.1")

    assert seen.learnt("P01", ends["P01"], False) == ""
    assert not seen.is_sought("P01", ends["P01"])
    assert seen.known == {}
    assert seen.unchecked[-1] == ("P01", "http://127.0.0.1:9/mcp")


@rule("R-REG-12")
def test_no_more_end_points_wait_to_be_tried_than_agents_may_be_there():
    _, seen, _ = tried(limits=ManagerLimits(unchecked_max=3))
    for _ in range(4):
        seen.registered("P01", "127.0.0.1")

    assert len(seen.unchecked) == 3


@rule("R-REG-12")
def test_an_agent_that_cannot_be_connected_to_any_more_is_tried_once_again():
    _, seen, ends = tried()
    seen.learnt("P01", ends["P01"], True)
    seen.unchecked.clear()

    assert [seen.answered("P01", NOBODY) for _ in range(3)] == [""] * 3
    assert list(seen.unchecked) == [("P01", ends["P01"])]
    assert seen.known == {"P01": True}  # Until it was tried.
    assert "not reachable" in seen.learnt("P01", ends["P01"], False)
    assert seen.answered("P01", NOBODY) == ""
    assert len(seen.unchecked) == 1


@rule("R-REG-12")
def test_an_agent_that_takes_its_time_is_not_doubted():
    _, seen, ends = tried()
    seen.learnt("P01", ends["P01"], True)
    seen.unchecked.clear()

    assert seen.answered("P01", NoAnswer("too slow")) == ""
    assert not seen.unchecked


REFUSED = PeerRefused("no", number=1, code="E003", data={})


@rule("R-REG-12")
@pytest.mark.parametrize("answer", [None, REFUSED, RateLimited("later")])
def test_an_agent_that_answers_is_reachable(answer):
    _, seen, ends = tried()
    assert seen.answered("P01", answer) == ""  # Nobody doubted it.
    assert seen.known == {"P01": True}
    seen.learnt("P01", ends["P01"], False)

    assert "P01 is reachable now" in seen.answered("P01", answer)
    assert seen.known == {"P01": True}


@rule("R-REG-12")
def test_nobody_is_sought_when_the_league_is_over():
    decisions, seen, ends = tried(2)
    for agent_id, end in ends.items():
        seen.learnt(agent_id, end, agent_id == "P01")
    seen.unchecked.clear()
    decisions.record(LeagueEnded("", aborted=True))

    assert not seen.is_sought("P02", ends["P02"])
    assert seen.answered("P01", NOBODY) == ""
    assert not seen.unchecked


def come(manager, *ports, seconds=0.0):
    """Foreign agents register, the first of all as a referee."""
    for port in ports:
        url = f"http://127.0.0.1:{port}/mcp"
        request = LeagueRegisterRequest(PlayerMeta(f"Agent {port}", url))
        if port == REFEREE:
            request = RefereeRegisterRequest(RefereeMeta("Ref", url))
        manager.handle(Asked(request, Caller("127.0.0.1"), port), BEGAN + seconds)


def comes(manager, port, seconds=0.0, token=None, **meta):
    """A player of ours registers."""
    own = PlayerMeta(f"Agent {port}", f"http://127.0.0.1:{port}/mcp", claim="c" * 64, **meta)
    asked = Asked(LeagueRegisterRequest(own), Caller("127.0.0.1", token=token), port)
    (reply,) = (e for e in manager.handle(asked, BEGAN + seconds) if isinstance(e, Reply))
    return reply.answer.auth_token


def wake(manager, seconds):
    return manager.handle(Woken(ListenersDue()), BEGAN + seconds)


REFEREE = 8001


def tried_manager():
    manager = a_manager(referees=1)
    manager.reachability.is_tried = True
    return manager


@rule("R-REG-12")
def test_a_league_starts_as_soon_as_the_newest_can_be_connected_to():
    manager = tried_manager()
    come(manager, REFEREE, 8101, 8102)
    assert manager.league.phase is Phase.REGISTERING
    for agent_id, endpoint in manager.reachability.unchecked:
        manager.reachability.learnt(agent_id, endpoint, True)

    wake(manager, 0.02)

    assert manager.league.phase is Phase.RUNNING


@rule("R-REG-12")
def test_the_start_waits_once_and_not_for_long():
    manager = tried_manager()
    come(manager, REFEREE, 8101, 8102)

    for number, seconds in enumerate((0.02, 1.0, 4.98)):
        come(manager, 8200 + number, seconds=seconds)  # One more that does not listen.
        assert WakeAt(ListenersDue(), BEGAN + seconds + 0.02) in wake(manager, seconds)
    assert manager.league.phase is Phase.REGISTERING
    assert [each for each in manager.news if each.startswith("Waiting for")] == [
        "Waiting for REF01 Ref, P01 Agent 8101, P02 Agent 8102, P03 Agent 8200, P04 Agent 8201 "
        "to listen."
    ]
    wake(manager, 5.0)

    assert manager.league.phase is Phase.RUNNING


@rule("R-REG-12")
@pytest.mark.parametrize(
    ("found", "later", "starts_after"),
    [
        (True, {}, 0.02),
        (None, {}, 5.0),  # Nobody knows yet.
        (False, {}, 5.0),
        (False, {"seat": True}, 1.48),
    ],
)
def test_a_player_of_ours_that_cannot_be_called_has_time_to_take_a_seat(found, later, starts_after):
    manager = tried_manager()
    come(manager, REFEREE, 8101)
    for agent_id, endpoint in manager.reachability.unchecked:
        manager.reachability.learnt(agent_id, endpoint, True)
    token = comes(manager, 8102)
    assert manager.reachability.should_listen("P02")
    assert not manager.reachability.should_listen("P01")
    if found is not None:
        manager.reachability.learnt("P02", "http://127.0.0.1:8102/mcp", found)
    for seconds in (0.02, 1.46, 1.48, 4.98, 5.0):
        if later and seconds == 1.48:
            comes(manager, 8102, seconds, token, **later)
        wake(manager, seconds)
        is_running = manager.league.phase is Phase.RUNNING
        assert is_running is (seconds >= starts_after), seconds
    waits = [each for each in manager.news if each.startswith("Waiting for")]
    assert waits == ["Waiting for P02 Agent 8102 to listen."] * (starts_after > 1)


@rule("R-REG-12")
def test_nobody_waits_where_nothing_is_tried_nor_for_those_who_came_long_ago():
    untried, manager = a_manager(referees=1), tried_manager()
    come(untried, REFEREE, 8101, 8102)
    come(manager, REFEREE, 8101)
    come(manager, 8102, seconds=5.0)
    assert list(manager.reachability.new) == ["P02"]
    manager.reachability.learnt("P02", "http://127.0.0.1:8102/mcp", True)
    wake(manager, 5.02)

    assert untried.league.phase is manager.league.phase is Phase.RUNNING


@rule("R-REG-12")
@pytest.mark.parametrize(
    ("source", "is_said"),
    [("192.168.1.22", True), ("fd12::5", True), ("127.0.0.1", False), ("::1", False)],
)
def test_an_agent_elsewhere_that_names_this_machine_is_said_to_the_organiser(source, is_said):
    decisions = Decisions(1)

    sentence = Reachability(decisions.league).registered("P01", source)

    assert bool(sentence) is is_said
    assert not is_said or f"asked from {source}" in sentence


@rule("R-REG-12")
def test_the_manager_learns_from_the_answers_to_its_messages_too():
    manager = a_manager()
    for message in (player("Ann"), player("Bob")):
        ask(manager, message)
    _, effects = ask(manager, referee())
    (ann, bob) = (effect for effect in effects if isinstance(effect, Call))
    manager.reachability.learnt("P01", "http://127.0.0.1/Ann", False)
    manager.reachability.learnt("P02", "http://127.0.0.1/Bob", True)
    manager.reachability.unchecked.clear()
    manager.news.clear()

    manager.handle(Answered(ann.key, RoundAnnouncementAck("P01", 1), None, 0.1), BEGAN)
    manager.handle(Answered(bob.key, None, NOBODY, 0.1), BEGAN)

    assert manager.reachability.known["P01"]
    assert "P01 is reachable now, at http://127.0.0.1/Ann." in manager.news
    assert list(manager.reachability.unchecked) == [("P02", "http://127.0.0.1/Bob")]


@rule("R-REG-12")
def test_a_manager_that_starts_again_tries_all_end_points_anew():
    decisions = Decisions(2, 1)
    seen = Reachability(decisions.league)

    seen.resume()

    assert [agent_id for agent_id, _ in seen.unchecked] == ["P01", "P02", "REF01"]


def test_a_league_that_is_over_is_served_without_looking_for_its_agents():
    decisions = Decisions(2, 1).start()
    decisions.record(LeagueEnded("P01"))
    seen = Reachability(decisions.league)

    seen.resume()

    assert not seen.unchecked
