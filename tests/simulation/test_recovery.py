"""What is expected after all trouble can fail: it is broken in a league that is otherwise sound."""

import msgspec
import pytest

from agentleague.protocol.messages import GameResult
from agentleague.simulation.faults import Fault, Faults
from agentleague.simulation.invariants import LeagueHistory, Violation, check
from simulation.crashing import running

LOSSY = LeagueHistory(lossy=True, referees_away=True, no_contests=True)


def recovered():
    """A league that had trouble until its second round, and none since."""
    league = running(settings={"round_notice_seconds": 40.0})
    faults = Faults(league, seed=0)
    faults.happen(Fault(0, "partition", ("player1", "referee1"), 10.0))
    faults.end_at(12.0)
    return league.run(2000.0)


def tell_nobody_the_end(league):
    league.observer.end_told.clear()


def tell_nobody_a_result(league):
    league.observer.results_told.clear()


def tell_nobody_that_a_round_is_over(league):
    league.observer.tables.rounds_told.clear()


def show_no_table(league):
    rounds = range(1, 4)
    league.observer.tables.unshown += [("http://player2/mcp", each) for each in rounds]


def give_a_match_out_again(league):
    league.observer.league.matches["R3M1"].epoch = 2


BROKEN = {
    tell_nobody_the_end: "player1 was there and never told that the league is over",
    tell_nobody_a_result: "was there and never told how R3M1 ended",
    tell_nobody_that_a_round_is_over: "player1 was never told that round 3 is over",
    show_no_table: "player2 was told that round 3 is over before it saw the table",
    give_a_match_out_again: "R3M1 was given out 2 times for no reason",
}


@pytest.mark.parametrize("break_it", BROKEN)
def test_what_does_not_hold_after_the_trouble_is_named(break_it):
    league = recovered()
    check(league, LOSSY)

    break_it(league)

    with pytest.raises(Violation, match=BROKEN[break_it]):
        check(league, LOSSY)


def test_before_the_end_of_the_trouble_nothing_of_that_is_expected():
    league = recovered()
    league.healed_at = league.clock.now() + 1.0

    for break_it in (tell_nobody_the_end, tell_nobody_a_result, show_no_table):
        break_it(league)

    check(league, LOSSY)


def test_a_player_that_loses_later_is_named_unless_it_is_odd():
    league = recovered()
    match = league.observer.league.matches["R3M1"]
    names = [name for name in league.processes if name.startswith("player")]
    loser = next(name for name in names if league.player_id(name) == match.players[0])

    lost = GameResult("TECHNICAL_LOSS", match.players[1])
    match.decided = msgspec.structs.replace(match.decided, result=lost)

    with pytest.raises(Violation, match=r"I8: .* lost R3M1"):
        check(league, LOSSY)
    with pytest.raises(Violation) as raised:
        check(league, LOSSY._replace(odd=[loser]))
    assert "I8" not in str(raised.value)
