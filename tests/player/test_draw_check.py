"""A player checks by itself that its matches were drawn as promised."""

import msgspec
import pytest

from agentleague.player.draw_check import DrawCheck, own_match
from agentleague.player.memory import PlayerLimits
from agentleague.protocol import draws
from agentleague.protocol.messages import (
    Draw,
    GameOver,
    GameResult,
    RoundAnnouncement,
    RoundMatch,
)

LEAGUE, MATCH = "league_x", "R1M1"
SEED = b"s" * 32
COMMITMENT = draws.commitment(SEED, LEAGUE, MATCH)
MOVES = [(0, "P01", "even"), (0, "P02", "odd")]
NUMBER = draws.number(SEED, LEAGUE, MATCH, index=0, moves=MOVES, bounds=(1, 10))
WINNER, LOSER = ("P01", "P02") if NUMBER % 2 == 0 else ("P02", "P01")


def over(*, result=None, draw=None, game_type="even_odd", **changes):
    sound = GameResult("WIN", WINNER, NUMBER, choices={"P01": "even", "P02": "odd"})
    return GameOver(
        msgspec.structs.replace(sound, **(result or {})),
        league_id=LEAGUE,
        match_id=MATCH,
        game_type=game_type,
        draw=msgspec.structs.replace(Draw(COMMITMENT, SEED.hex(), MOVES), **(draw or {})),
        **changes,
    )


def announced(
    commitment=COMMITMENT, match_id=MATCH, players=("P01", "P02"), generation=msgspec.UNSET
):
    return RoundMatch(
        match_id, "even_odd", *players, draw_commitment=commitment, draw_generation=generation
    )


def a_check(**fields):
    check = DrawCheck()
    check.announced(announced(**fields))
    check.moved(MATCH, 0, "even")
    return check


def test_a_draw_that_was_kept_raises_no_doubt():
    assert a_check().doubts(over(), "P01") == []


@pytest.mark.parametrize(
    ("options", "bounds"),
    [
        ({"lowest": 0, "highest": 100}, (0, 100)),
        ({}, (1, 10)),
        ({"best_of": 3}, (1, 10)),  # of another game
    ],
)
def test_the_number_is_drawn_within_what_was_agreed_when_the_player_registered(options, bounds):
    number = draws.number(SEED, LEAGUE, MATCH, index=0, moves=MOVES, bounds=bounds)
    drawn = {"drawn_number": number, "winner_player_id": "P02" if number % 2 else "P01"}
    check = a_check()

    check.agreed(options)

    assert check.doubts(over(result=drawn), "P01") == []
    assert bool(a_check().doubts(over(result=drawn), "P01")) == (number != NUMBER)


@pytest.mark.parametrize(
    ("message", "doubt"),
    [
        (over(draw={"seed": "ff" * 32}), "its seed does not fit its commitment"),
        (over(draw={"seed": "odd"}), "its seed is no hexadecimal number"),
        (
            over(result={"drawn_number": NUMBER % 10 + 1}),
            f"its number is {NUMBER % 10 + 1}, and seed and moves give {NUMBER}",
        ),
        (
            over(result={"winner_player_id": LOSER}),
            f"it says that {LOSER} won, and by these choices {WINNER} did",
        ),
        (
            over(result={"winner_player_id": None, "status": "DRAW"}),
            f"it says that nobody won, and by these choices {WINNER} did",
        ),
        (
            over(result={"choices": {"P01": "even", "P02": "even"}}),
            "its choices are not the moves that the number was drawn from",
        ),
        (
            over(draw={"moves": [(0, "P01", "odd"), (0, "P02", "odd")]}),
            "it says that you moved 'odd', and you moved 'even'",
        ),
    ],
)
def test_every_part_that_does_not_agree_is_named(message, doubt):
    assert a_check().doubts(message, "P01") == [doubt]


def test_a_commitment_that_was_changed_after_the_announcement_is_named():
    seed = b"t" * 32  # Sound in itself, but not what was promised.
    commitment = draws.commitment(seed, LEAGUE, MATCH)
    message = over(draw={"seed": seed.hex(), "commitment": commitment})

    assert a_check().doubts(message, "P01") == [
        "its commitment is not the one that was announced before the round"
    ]


def test_the_first_announcement_binds():
    check = a_check()
    check.announced(announced(commitment="another"))

    assert check.doubts(over(), "P01") == []


def test_matches_of_others_are_not_this_players_affair():
    others, own = announced(players=("P03", "P04")), announced(players=("P02", "P01"))

    assert own_match(RoundAnnouncement(matches=[others, own]), "P01") is own
    assert own_match(RoundAnnouncement(matches=[others]), "P01") is None


def test_a_round_of_a_foreign_manager_has_no_commitments():
    check = DrawCheck()
    check.announced(announced(commitment=msgspec.UNSET))

    assert check.doubts(over(), "P01") == []


def test_a_match_whose_commitment_was_never_announced_is_checked_as_far_as_it_goes():
    assert DrawCheck().doubts(over(), "P01") == []
    assert len(DrawCheck().doubts(over(draw={"seed": "ff" * 32}), "P01")) == 1


def test_two_who_are_both_right_draw():
    moves = [(0, "P01", "even"), (0, "P02", "even")]
    number = draws.number(SEED, LEAGUE, MATCH, index=0, moves=moves, bounds=(1, 10))
    result = {
        "status": "DRAW",
        "winner_player_id": None,
        "drawn_number": number,
        "choices": {"P01": "even", "P02": "even"},
    }

    assert a_check().doubts(over(result=result, draw={"moves": moves}), "P01") == []


@pytest.mark.parametrize(
    ("check", "result", "doubts"),
    [
        (a_check(), {}, ["the seed of its number was not opened"]),
        (a_check(), {"drawn_number": None}, []),  # nothing was drawn
        (DrawCheck(), {}, []),  # nothing was promised
    ],
)
def test_a_number_whose_seed_stays_sealed_is_named_where_one_was_announced(check, result, doubts):
    message = msgspec.structs.replace(over(result=result), draw=msgspec.UNSET)

    assert check.doubts(message, "P01") == doubts


@pytest.mark.parametrize(
    "message",
    [
        over(result={"status": "TECHNICAL_LOSS", "drawn_number": None}, draw={"moves": []}),
        over(result={"drawn_number": None}, game_type="tic_tac_toe"),
    ],
)
def test_where_no_number_is_drawn_only_seed_and_moves_are_checked(message):
    assert a_check().doubts(message, "P01") == []


def test_a_move_that_was_asked_for_again_may_be_either():
    check = a_check()
    check.moved(MATCH, 0, "odd")

    assert check.doubts(over(), "P01") == []


def test_a_move_is_compared_as_it_came_over_the_wire():
    check = DrawCheck()
    check.moved(MATCH, 0, (1, 2))
    message = over(game_type="nim", draw={"moves": [(0, "P01", [1, 2]), (1, "P01", 7)]})

    assert check.doubts(message, "P01") == []  # Turn 1 was before this process began.


def test_only_so_many_matches_are_remembered():
    check = DrawCheck(PlayerLimits(checked_matches=2))
    for match_id in (MATCH, "R2M1", "R3M1"):
        check.announced(announced(commitment="another", match_id=match_id))

    assert check.doubts(over(), "P01") == []


# After a loss of rows


def test_a_later_generation_takes_the_place_of_a_commitment_and_is_said_once():
    check = a_check(commitment="lost")

    said = check.announced(announced(generation=7))
    again = check.announced(announced(commitment="third", generation=7))

    assert said.startswith("R1M1: the manager says that it lost rows")
    assert "(generation 7)" in said
    assert again == ""
    assert check.doubts(over(draw={"generation": 7}), "P01") == []


def test_an_earlier_generation_binds_nobody_any_more():
    check = a_check(generation=7)

    assert check.announced(announced(commitment="old")) == ""
    assert check.doubts(over(draw={"generation": 7}), "P01") == []


def test_a_result_of_draws_that_were_lost_is_known_as_such():
    check = a_check(generation=7)

    assert check.is_lost(over())
    assert not check.is_lost(over(draw={"generation": 7}))
    assert not DrawCheck().is_lost(over())
    assert not a_check().is_lost(over(draw={"generation": 7}))


def test_draws_anew_that_nobody_announced_are_doubted():
    doubts = a_check().doubts(over(draw={"generation": 7}), "P01")

    assert doubts == ["it was drawn anew (generation 7), which was not announced before"]
