"""A match, told as the conversation that the referee has."""

import pytest

from agentleague.games import even_odd
from agentleague.match.machine import Phase
from agentleague.protocol.messages import LockRequest, MatchResultAck
from games.throwaway import THROWAWAY
from match.ann_and_bob import (
    JOINED,
    MANAGER,
    SEATS,
    OfflineLeague,
    answer,
    calls,
    choose,
    decided,
    join,
    match_of,
    only,
    playing,
    said,
    step_of,
)
from match.ann_and_bob import (
    key_of as key,
)
from rules import rule


def rows(effects):
    """Each call as (key, receiver's url, deadline)."""
    return [(call.key, call.to.url, call.until) for call in calls(effects)]


@rule("R-MATCH-01", "R-MATCH-02", "R-MATCH-03", "R-MATCH-06", "R-MATCH-09")
def test_a_match_from_the_invitation_to_the_acknowledged_report():
    match = match_of()
    ann, bob = SEATS[0].endpoint, SEATS[1].endpoint

    effects = match.start(100.0)
    assert said(effects) == [("GAME_INVITATION", "P01"), ("GAME_INVITATION", "P02")]
    assert rows(effects) == [
        (key("join", 0, 0, 1), ann, 105.0),
        (key("join", 1, 0, 1), bob, 105.0),
    ]

    assert answer(match, "join", "P02", JOINED, now=101.0) == []
    effects = answer(match, "join", "P01", JOINED, now=102.0)
    assert said(effects) == [("CHOOSE_PARITY_CALL", "P01"), ("CHOOSE_PARITY_CALL", "P02")]
    assert rows(effects) == [
        (key("move", 0, 0, 1), ann, 132.0),
        (key("move", 1, 0, 1), bob, 132.0),
    ]

    assert choose(match, "P02", "odd", now=103.0) == []
    effects = choose(match, "P01", "even", now=104.0)
    assert said(effects) == [("LOCK_REQUEST", "league_manager")]
    assert rows(effects) == [(key("lock", -1, 0, 1), MANAGER.url, 114.0)]
    lock = only(effects, LockRequest)
    assert lock.moves == [(0, "P01", "even"), (0, "P02", "odd")]  # By seat, not by arrival.
    assert (lock.match_id, lock.epoch, lock.index, lock.forfeits) == ("R1M1", 1, 0, [])

    effects = answer(match, "lock", "manager", decided(), now=105.0)
    assert said(effects) == [("GAME_OVER", "P01"), ("GAME_OVER", "P02")]
    assert rows(effects) == [
        (key("over", 0, 0, 1), ann, 109.0),
        (key("over", 1, 0, 1), bob, 109.0),
    ]

    assert answer(match, "over", "P01", None, now=106.0) == []
    assert match.woken(105.0) == []  # the time for the invitations, which is of no interest now
    effects = answer(match, "over", "P02", None, now=107.0)
    assert said(effects) == [("MATCH_RESULT_REPORT", "league_manager")]
    assert rows(effects) == [(key("report", -1, 0, 1), MANAGER.url, 117.0)]

    acknowledged = MatchResultAck(match_id="R1M1")
    assert answer(match, "report", "manager", acknowledged, now=108.0) == []
    assert match.phase is Phase.CLOSED
    assert match.closing is acknowledged


@rule("R-MATCH-02")
def test_no_move_is_asked_before_both_have_joined():
    match = match_of()
    match.start(0.0)

    assert join(match, "P01") == []
    assert match.phase is Phase.JOINING


ONE_AND_TWO = {
    "P01": lambda turn, position: 1,
    "P02": lambda turn, position: min(2, position.get("heap", 2)),
}
BOTH_MOVE = ["GAME_MOVE_CALL P01", "GAME_MOVE_CALL P02"]
LOCK = ["LOCK_REQUEST league_manager"]


def ones_and_twos(turns):
    return [(turn, who, made) for turn in range(turns) for who, made in (("P01", 1), ("P02", 2))]


@rule("R-MATCH-04", "R-MATCH-05")
@pytest.mark.parametrize(
    ("name", "between", "moves"),
    [
        # both at once, three times, and one lock at the end
        ("race", BOTH_MOVE * 3 + LOCK, ones_and_twos(3)),
        # one after the other: of 5 there are taken 1, 2, 1 and the last one
        (
            "nim",
            BOTH_MOVE * 2 + LOCK,
            [(0, "P01", 1), (1, "P02", 2), (2, "P01", 1), (3, "P02", 1)],
        ),
        # two draws: a lock after each turn
        ("dice", (BOTH_MOVE + LOCK) * 2, ones_and_twos(2)),
    ],
)
def test_other_games_have_other_turns_and_locks(name, between, moves):
    league = OfflineLeague(THROWAWAY[name])

    told = league.run(league.match.start(0.0), ONE_AND_TWO)

    assert [" ".join(call) for call in told] == [
        *("GAME_INVITATION P01", "GAME_INVITATION P02"),
        *between,
        *("GAME_OVER P01", "GAME_OVER P02"),
        "MATCH_RESULT_REPORT league_manager",
    ]
    assert league.decisions.league.matches["R1M1"].decided.moves == moves
    assert league.decisions.league.matches["R1M1"].closed
    assert league.match.phase is Phase.CLOSED


@rule("R-MATCH-05")
def test_each_lock_has_the_next_index_and_all_moves_so_far():
    league = OfflineLeague(THROWAWAY["dice"])

    league.run(league.match.start(0.0), ONE_AND_TWO)

    locks = [call.message for call in league.calls if isinstance(call.message, LockRequest)]
    assert [(lock.index, len(lock.moves)) for lock in locks] == [(0, 2), (1, 4)]


@rule("R-MATCH-04")
def test_a_move_of_another_game_is_called_for_with_turn_position_and_legal_moves():
    league = OfflineLeague(THROWAWAY["nim"])

    league.run(league.match.start(0.0), dict.fromkeys(["P01", "P02"], lambda turn, position: 1))

    asked = [call for call in league.calls if step_of(call) == "move"]
    assert [
        (c.to.agent_id, c.message.turn, c.message.position, c.message.legal_moves) for c in asked
    ] == [
        ("P01", 0, {"heap": 5}, [1, 2, 3]),
        ("P02", 1, {"heap": 4}, [1, 2, 3]),
        ("P01", 2, {"heap": 3}, [1, 2, 3]),
        ("P02", 3, {"heap": 2}, [1, 2]),
        ("P01", 4, {"heap": 1}, [1]),
    ]
    assert [call.key.turn for call in asked] == [0, 1, 2, 3, 4]


@rule("R-MATCH-04")
def test_legal_moves_too_many_to_list_are_null():
    _, asked = playing(THROWAWAY["dice"])

    assert [call.message.legal_moves for call in asked] == [None, None]


@rule("R-MATCH-03")
@pytest.mark.parametrize("game", [even_odd, *THROWAWAY.values()], ids=lambda game: game.name)
def test_the_players_are_told_what_the_league_holds(game):
    league = OfflineLeague(game)
    made = "even" if game is even_odd else 1

    league.run(league.match.start(0.0), dict.fromkeys(["P01", "P02"], lambda turn, position: made))

    held = league.decisions.league.matches["R1M1"].decided.result
    overs = [call.message for call in league.calls if step_of(call) == "over"]
    assert [over.game_result for over in overs] == [held, held]
    assert [over.reason for over in overs] == [held.reason] * 2
