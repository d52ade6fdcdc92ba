"""No referee can pick, re-roll or suppress a number: the first lock is final."""

import pytest

from agentleague.errors import MatchMismatch
from agentleague.league.events import MatchAssigned, MatchDecided, MatchLocked
from agentleague.protocol import draws
from agentleague.protocol.messages import LockRequest
from agentleague.roles.stimuli import Caller
from games.throwaway import THREE_DRAWS
from manager.test_assignments import assert_complete, events_of
from memory_league import MemoryLeague
from rules import rule

MOVES = [(0, "P01", "even"), (0, "P02", "odd")]
OTHER = [(0, "P01", "odd"), (0, "P02", "even")]


def lock(league, token, moves, epoch=1, index=0):
    answers = []
    request = LockRequest("R1M1", epoch, index, moves)
    league.hosts[0].ask(request, Caller("127.0.0.1", token), answers.append)
    return answers[0]


def holding(players=2, referees=2, **settings):
    """A league, the referee that has R1M1, and the token of it and of another one."""
    league = MemoryLeague(players, referees, **settings).fill()
    league.run_until(lambda: any(host.role.matches for host in league.hosts[1 : referees + 1]))
    hosts = league.hosts[1 : referees + 1]
    holder = next(host for host in hosts if host.role.matches)
    other = next((host for host in hosts if host is not holder), None)
    return league, holder, other


@rule("R-LEAGUE-06")
def test_a_referee_that_dislikes_a_result_cannot_make_it_go_away():
    """It locks, sees the number, and never tells nor reports; the result stands all the same."""
    league, holder, _ = holding()
    seen = lock(league, holder.role.state.token, MOVES)
    league.kill(holder)

    league.play()

    assert_complete(league)
    (decided,) = events_of(league, MatchDecided)
    assert decided.result == seen.result.game_result


@rule("R-LEAGUE-06")
def test_a_repeated_lock_with_other_moves_gets_the_first_ones_result():
    league, holder, _ = holding()
    token = holder.role.state.token
    first = lock(league, token, MOVES)

    again = lock(league, token, OTHER)

    assert (again.moves, again.result, again.draw) == (first.moves, first.result, first.draw)
    assert len(events_of(league, MatchDecided)) == 1


@rule("R-LEASE-02")
def test_of_two_referees_with_different_moves_only_the_current_one_locks():
    league, holder, other = holding()
    old = holder.role.state.token
    league.kill(holder)
    league.run_until(lambda: events_of(league, MatchAssigned))
    late = lock(league, old, OTHER)

    league.play()

    assert isinstance(late, MatchMismatch)
    (decided,) = events_of(league, MatchDecided)
    assert (decided.epoch, league.league.matches["R1M1"].referee_id) == (2, other.role.agent_id)


@rule("R-LEAGUE-05")
@pytest.mark.parametrize("locks", [0, 1, 2])
def test_a_game_with_three_draws_goes_on_with_another_referee_from_the_last_lock(locks):
    league = MemoryLeague(2, 2, game=THREE_DRAWS)
    for number in (1, 2):
        league.add_referee(f"Referee {number}")
    for number in (1, 2):
        league.add_player(lambda turn: 1 + (turn.rng.randrange(6)), name=f"Player {number}")
    league.run_until(lambda: league.league.round_id == 1)
    holder = next(
        h for h in league.hosts[1:3] if h.role.agent_id == league.league.matches["R1M1"].referee_id
    )
    league.run_until(lambda: len(events_of(league, MatchLocked)) == locks and holder.role.matches)
    league.kill(holder)

    league.play()

    assert_complete(league)
    locked, (decided,) = events_of(league, MatchLocked), events_of(league, MatchDecided)
    assert [event.index for event in locked] == [0, 1]
    for event in locked:
        assert decided.moves[: len(event.moves)] == event.moves
        seed = bytes.fromhex(decided.seed)
        names = (seed, "league_test", "R1M1")
        bounds = {"index": event.index, "moves": event.moves, "bounds": (1, 6)}
        assert draws.number(*names, **bounds) == event.value


@rule("R-LEASE-02")
def test_a_referee_that_lost_a_match_cannot_lock_it_by_naming_the_epoch_of_the_next():
    """Each number of an epoch follows from the one before it: anybody can guess it."""
    league, holder, other = holding()
    old = holder.role.state.token
    league.kill(holder)
    league.run_until(lambda: events_of(league, MatchAssigned))
    late = lock(league, old, OTHER, epoch=2)

    assert isinstance(late, MatchMismatch)
    assert late.context == {"epoch": 2}
    assert league.league.matches["R1M1"].referee_id == other.role.agent_id
    assert not events_of(league, MatchDecided)
