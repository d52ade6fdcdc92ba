"""What follows from the moves of a match: draws, results, and what is no record of a match."""

import hmac
import json
from hashlib import sha256
from types import SimpleNamespace

import msgspec
import pytest

from agentleague.errors import WrongType
from agentleague.games import even_odd
from agentleague.games.game import Outcome
from agentleague.league.match_result import MatchSetup, compute_result
from agentleague.protocol.messages import GameResult
from games.throwaway import CLUMSY, THROWAWAY
from rules import rule

SEED = bytes(range(32))


def case_of(game=even_odd, options=None, seed=SEED):
    return MatchSetup(game, options or {}, "league_x", "R1M1", ("P01", "P02"), seed)


def judged(game, moves, forfeits=(), **case):
    return compute_result(case_of(game, **case), moves, list(forfeits))


def drawn(index, moves, low, high, seed=SEED):
    """The rule of docs/protocol.md, written a second time: anybody can check a draw like this."""
    text = json.dumps([list(move) for move in moves], separators=(",", ":"))
    name = f"draw-v1|league_x|R1M1|{index}|{sha256(text.encode()).hexdigest()}"
    number = int(hmac.new(seed, name.encode(), sha256).hexdigest(), 16)
    return low + number % (high - low + 1)


BOTH = [(0, "P01", "even"), (0, "P02", "odd")]


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, True, 7.5, "7", [7]])
def test_a_number_or_parity_that_no_row_can_hold_is_left_out_of_the_result(number):
    game = SimpleNamespace(**vars(even_odd))
    details = {"drawn_number": number, "number_parity": "sideways"}
    game.outcome = lambda state: Outcome("A", "so", details) if even_odd.outcome(state) else None

    result = judged(game, BOTH).result

    assert (result.drawn_number, result.number_parity) == (None, None)
    assert msgspec.json.decode(msgspec.json.encode(result), type=GameResult) == result


@rule("R-LEAGUE-01")
def test_the_number_of_a_match_follows_from_its_seed_and_moves():
    for n in range(20):
        seed = sha256(bytes([n])).digest()
        number = drawn(0, BOTH, 1, 10, seed)

        verdict = judged(even_odd, BOTH, seed=seed)

        winner, parity = ("P02", "odd") if number % 2 else ("P01", "even")
        assert (verdict.index, verdict.value) == (0, number)
        assert verdict.result == GameResult(
            "WIN",
            winner,
            number,
            parity,
            {"P01": "even", "P02": "odd"},
            f"{winner} chose {parity}, number was {number} ({parity})",
        )


@rule("R-LEAGUE-01")
def test_two_who_choose_alike_draw():
    verdict = judged(even_odd, [(0, "P01", "odd"), (0, "P02", "odd")])

    assert (verdict.result.status, verdict.result.winner_player_id) == ("DRAW", None)
    assert verdict.result.reason.startswith("Both chose odd, number was ")


RACE = [(turn, who, made) for turn in range(3) for who, made in (("P01", 1), ("P02", 2))]
NIM = [(0, "P01", 3), (1, "P02", 2)]
DICE = [(0, "P01", 1), (0, "P02", 6), (1, "P01", 3), (1, "P02", 4)]


@rule("R-LEAGUE-02")
@pytest.mark.parametrize(
    ("name", "moves", "winner", "reason"),
    [
        ("race", RACE, "P02", "P01 has 3, P02 has 6"),  # both at once, three times
        ("nim", NIM, "P02", "P02 took the last one"),  # turn by turn
    ],
)
def test_a_game_without_draws_is_locked_once_at_its_end(name, moves, winner, reason):
    verdict = judged(THROWAWAY[name], moves)

    assert (verdict.index, verdict.value) == (0, None)
    assert verdict.result.winner_player_id == winner
    assert verdict.result.reason == reason
    assert (verdict.result.drawn_number, verdict.result.number_parity) == (None, None)


@rule("R-LEAGUE-02")
def test_a_game_with_two_draws_is_locked_twice():
    first = judged(THROWAWAY["dice"], DICE[:2])
    second = judged(THROWAWAY["dice"], DICE)

    assert (first.index, first.value, first.result) == (0, drawn(0, DICE[:2], 1, 6), None)
    assert (second.index, second.value) == (1, drawn(1, DICE, 1, 6))
    assert second.result.drawn_number == second.value


@rule("R-LEAGUE-02")
def test_the_first_number_stays_whatever_follows_it():
    """The judge plays all again; moves of the second turn must not change the first draw."""
    seen = []
    dice = THROWAWAY["dice"]
    spy = type("Spy", (), vars(dice))
    spy.play = staticmethod(lambda *at: seen.append(at[2]) or dice.play(*at))

    for last in (1, 6):
        judged(spy, [*DICE[:3], (1, "P02", last)])

    assert seen[0] == seen[2] == drawn(0, DICE[:2], 1, 6)


@rule("R-LEAGUE-02")
def test_after_a_draw_a_game_may_go_on_and_end_without_one():
    """Dice, and then a turn in which nothing is rolled: the end is the second lock."""
    dice = THROWAWAY["dice"]
    mixed = type("Mixed", (), vars(dice))
    mixed.chance = staticmethod(lambda state: None if state else (1, 6))
    mixed.play = staticmethod(lambda state, moves, number: (*state, (moves, number or 3)))

    assert judged(mixed, DICE[:2]).index == 0
    assert judged(mixed, DICE).index == 1
    assert judged(mixed, DICE).result.status in ("WIN", "DRAW")


def test_options_reach_the_game():
    assert judged(THROWAWAY["nim"], [(0, "P01", 2)], options={"heap": 2}).result.status == "WIN"


@rule("R-LEAGUE-03")
def test_what_is_no_record_of_a_match_is_refused():
    for game, moves, complaint in [
        (even_odd, [], "nothing follows"),
        (even_odd, BOTH[:1], "turn 0 lacks a move"),
        (even_odd, BOTH[1:], "turn 0 lacks a move"),
        (even_odd, [*BOTH, (1, "P01", "odd")], "seat A was not to move"),  # after the end
        (even_odd, [BOTH[1], BOTH[0]], r"\[0, 'P01'\] is out of order"),  # not in seat order
        (even_odd, [BOTH[0], BOTH[0]], r"\[0, 'P01'\] is out of order"),  # twice
        (even_odd, [*BOTH, (0, "P01", "odd")], r"\[0, 'P01'\] is out of order"),
        (even_odd, [(1, *move[1:]) for move in BOTH], r"\[1, 'P01'\] is out of order"),
        (even_odd, [(-1, *move[1:]) for move in BOTH], r"\[-1, 'P01'\] is out of order"),
        (even_odd, [(-1, "P02", "odd")], r"\[-1, 'P02'\] is out of order"),
        (even_odd, [BOTH[0], (0, "P03", "odd")], "'P03'. is out of order or not of this match"),
        (even_odd, [BOTH[0], (0, "A", "odd")], "'A'. is out of order or not of this match"),
        (even_odd, [BOTH[0], (0, "P02", "Odd")], "Choice must be 'even' or 'odd', got 'Odd'"),
        (even_odd, [BOTH[0], (0, "P02", None)], "Choice must be 'even' or 'odd', got 'None'"),
        (THROWAWAY["nim"], [(0, "P02", 1)], "seat B was not to move"),
        (THROWAWAY["nim"], [(0, "P01", 1), (0, "P02", 1)], "seat B was not to move"),
        (THROWAWAY["nim"], [(0, "P01", 4)], "4 is not possible now"),
        (THROWAWAY["nim"], NIM[:1], "nothing follows from these moves yet"),
        (THROWAWAY["nim"], [*NIM, (2, "P01", 1)], "seat A was not to move"),
        (THROWAWAY["race"], RACE[:5], "turn 2 lacks a move"),
        (THROWAWAY["race"], [RACE[0], *RACE[2:]], "turn 0 lacks a move"),
        (THROWAWAY["race"], [*RACE[:2], *RACE[4:]], r"\[2, 'P01'\] is out of order"),
        (THROWAWAY["dice"], DICE[:3], "turn 1 lacks a move"),
    ]:
        with pytest.raises(WrongType, match=f"LOCK_REQUEST.moves: .*{complaint}") as refused:
            judged(game, moves)

        assert refused.value.context["field"] == "moves"


@rule("R-LEAGUE-04")
@pytest.mark.parametrize(
    ("moves", "forfeits", "winner", "reason"),
    [
        ([], [("P02", "left")], "P01", "P02 left - P01 wins by default"),
        ([], [("P01", "left")], "P02", "P01 left - P02 wins by default"),
        (BOTH[:1], [("P02", "failed")], "P01", "P02 failed - P01 wins by default"),
        (BOTH[1:], [("P01", "failed")], "P02", "P01 failed - P02 wins by default"),
        ([], [("P01", "x"), ("P02", "y")], None, "P01 x, P02 y - nobody wins"),
    ],
)
def test_a_player_that_forfeits_loses_and_two_that_do_both_lose(moves, forfeits, winner, reason):
    verdict = judged(even_odd, moves, forfeits)

    made = {who: choice for _, who, choice in moves}
    assert (verdict.index, verdict.value) == (0, None)
    assert verdict.result == GameResult(
        "TECHNICAL_LOSS",
        winner,
        choices={"P01": made.get("P01"), "P02": made.get("P02")},
        reason=reason,
    )


@rule("R-LEAGUE-04")
@pytest.mark.parametrize(
    ("name", "moves", "index"),
    [
        ("nim", NIM[:1], 0),  # in its second turn
        ("race", RACE[:3], 0),
        ("dice", DICE[:2], 1),  # after the first draw
        ("dice", DICE[:3], 1),
    ],
)
def test_a_later_turn_can_be_forfeited_with_the_next_lock(name, moves, index):
    verdict = judged(THROWAWAY[name], moves, [("P02", "failed")])

    assert (verdict.index, verdict.result.winner_player_id) == (index, "P01")
    assert verdict.result.status == "TECHNICAL_LOSS"


@rule("R-LEAGUE-04")
def test_players_of_other_matches_and_the_same_player_twice_cannot_forfeit():
    for game, moves, forfeits, complaint in [
        (even_odd, [], ["P03"], r"forfeits name \['P03'\]"),
        (even_odd, [], ["P01", "P03"], "forfeits name"),
        (even_odd, [], ["P01", "P01"], r"forfeits name \['P01', 'P01'\]"),
        (even_odd, [], ["P01", "P02", "P01"], "forfeits name"),
        (even_odd, [], [""], "forfeits name"),
        (even_odd, BOTH, ["P01"], "nobody can forfeit a game that is over"),
        (THROWAWAY["nim"], NIM, ["P02"], "nobody can forfeit a game that is over"),
        (even_odd, [(0, "P01", "Even")], ["P02"], "Choice must be"),
        (THROWAWAY["race"], RACE[1:3], ["P02"], "turn 0 lacks a move"),
    ]:
        with pytest.raises(WrongType, match=complaint):
            judged(game, moves, [(who, "failed") for who in forfeits])


@rule("R-LEAGUE-04")
def test_a_reason_has_at_most_500_characters():
    long = type("Long", (), vars(THROWAWAY["nim"]))
    long.outcome = staticmethod(lambda state: Outcome("A", "x" * 600) if state[0] == 0 else None)
    by_game = judged(long, [(0, "P01", 3)], options={"heap": 3})
    by_default = judged(even_odd, [], [("P01", "y" * 500), ("P02", "z" * 500)])

    assert by_game.result.reason == "x" * 500
    assert len(by_default.result.reason) == 500


def test_a_reason_names_the_players_where_the_game_names_seats():
    both = type("Both", (), vars(THROWAWAY["nim"]))
    both.outcome = staticmethod(
        lambda state: Outcome(None, "{A} and {B}, not {C}") if state[0] == 0 else None
    )

    verdict = judged(both, [(0, "P01", 3)], options={"heap": 3})

    assert verdict.result.reason == "P01 and P02, not {C}"
    assert verdict.result.status == "DRAW"


@rule("R-LEAGUE-01")
def test_a_lock_with_a_move_that_the_game_trips_over_is_refused():
    with pytest.raises(WrongType, match="the game stumbled over a move"):
        judged(CLUMSY, [(0, "P01", 5)])
