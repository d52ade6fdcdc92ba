"""Even/odd: the game that the documents describe."""

import pytest

from agentleague.errors import IllegalMove
from agentleague.games import even_odd
from rules import rule


def played(choice_a, choice_b, number):
    moves = {"A": choice_a, "B": choice_b}
    return even_odd.play(even_odd.start({}), moves, number)


@rule("R-GAME-01")
def test_even_and_odd_are_legal():
    for seat in ("A", "B"):
        even_odd.check(even_odd.start({}), seat, "even")
        even_odd.check(even_odd.start({}), seat, "odd")

        assert list(even_odd.legal_moves(even_odd.start({}), seat)) == ["even", "odd"]


ILLEGAL = [
    *("Even", "EVEN", "e", "maybe", 0, False, None, ""),  # document 004 section 6.2.3
    *(1, True, 2.0, "even ", " odd", "even\x00", "ev\u0435n"),  # nearly right; a Cyrillic e
    *(["even"], {"even": 1}, [], {}, ["even", "odd"], {"choice": "odd"}),  # any JSON
    "x" * 1000,
]


@rule("R-GAME-01")
def test_anything_else_is_illegal_and_the_player_is_told_what_is_legal():
    for choice in ILLEGAL:
        with pytest.raises(IllegalMove, match="Choice must be 'even' or 'odd', got ") as refused:
            even_odd.check(even_odd.start({}), "A", choice)

        assert (refused.value.code, refused.value.name) == ("E004", "INVALID_PARITY_CHOICE")
        assert len(str(refused.value)) < 100


@rule("R-GAME-02")
def test_both_choose_at_once_and_then_a_number_from_1_to_10_is_drawn():
    state = even_odd.start({})

    assert tuple(even_odd.to_move(state)) == ("A", "B")
    assert even_odd.chance(state) == (1, 10)
    assert even_odd.outcome(state) is None
    assert even_odd.view(state, "A") == {}


@rule("R-GAME-03")
@pytest.mark.parametrize(
    ("choice_a", "choice_b", "number", "winner", "reason"),
    [
        ("even", "odd", 8, "A", "{A} chose even, number was 8 (even)"),
        ("even", "odd", 7, "B", "{B} chose odd, number was 7 (odd)"),
        ("odd", "even", 7, "A", "{A} chose odd, number was 7 (odd)"),
        ("odd", "even", 8, "B", "{B} chose even, number was 8 (even)"),
        ("even", "even", 2, None, "Both chose even, number was 2 (even) - both correct"),
        ("odd", "odd", 1, None, "Both chose odd, number was 1 (odd) - both correct"),
        ("even", "even", 9, None, "Both chose even, number was 9 (odd) - both incorrect"),
        ("odd", "odd", 4, None, "Both chose odd, number was 4 (even) - both incorrect"),
    ],
)
def test_a_player_that_alone_names_the_parity_wins(choice_a, choice_b, number, winner, reason):
    outcome = even_odd.outcome(played(choice_a, choice_b, number))

    assert (outcome.winner, outcome.reason) == (winner, reason)


@rule("R-GAME-03")
@pytest.mark.parametrize("number", range(1, 11))
def test_the_outcome_names_the_number_and_its_parity(number):
    outcome = even_odd.outcome(played("even", "odd", number))

    parity = "odd" if number in (1, 3, 5, 7, 9) else "even"
    assert outcome.details == {"drawn_number": number, "number_parity": parity}
    assert outcome.winner == {"even": "A", "odd": "B"}[parity]


@rule("R-GAME-02")
def test_after_the_number_nobody_moves_and_nothing_is_drawn():
    state = played("even", "even", 10)

    assert tuple(even_odd.to_move(state)) == ()
    assert even_odd.chance(state) is None


@rule("R-GAME-04")
@pytest.mark.parametrize("options", [{"numbers": 20}, {"z": 1, "a": 2}])
def test_options_that_even_odd_does_not_have_are_an_error(options):
    with pytest.raises(ValueError, match=f"even_odd has no option '{sorted(options)[0]}'"):
        even_odd.start(options)


@rule("R-GAME-02")
@pytest.mark.parametrize(
    ("options", "bounds"),
    [
        ({"lowest": 0, "highest": 100}, (0, 100)),
        ({"highest": 100}, (1, 100)),
        ({"highest": 9, "lowest": 8}, (8, 9)),
    ],
)
def test_a_league_says_from_where_to_where_the_number_is_drawn(options, bounds):
    state = even_odd.start(options)

    assert even_odd.chance(state) == bounds
    assert even_odd.play(state, {"A": "even", "B": "odd"}, bounds[0]).bounds == bounds


@pytest.mark.parametrize(
    "options",
    [{"lowest": 10}, {"highest": 0}, {"lowest": -1}, {"highest": True}, {"highest": 10**7}],
)
def test_a_range_without_two_numbers_or_without_an_end_is_an_error(options):
    with pytest.raises(ValueError, match="make lowest and highest whole numbers from 0 to"):
        even_odd.start(options)


def test_a_state_is_never_changed():
    state = even_odd.start({})

    even_odd.play(state, {"A": "even", "B": "odd"}, 3)

    assert state == even_odd.start({})


@pytest.mark.parametrize(
    ("options", "is_luck"),
    [({}, True), ({"highest": 9}, False), ({"lowest": 0, "highest": 9}, True)],
)
def test_it_is_luck_alone_where_there_are_as_many_even_numbers_as_odd_ones(options, is_luck):
    assert even_odd.luck(options) is is_luck
