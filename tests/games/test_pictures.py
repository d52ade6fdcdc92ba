"""Games that draw themselves: what is seen of each, and what of a game that does not or fails."""

import re
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from agentleague.games import even_odd, rock_paper_scissors, tic_tac_toe
from agentleague.games.game import PICTURE_MAX, Picture, picture_of, picture_of_position
from agentleague.games.svg import cleaned


def after(game, *turns, number=None, **options):
    """The state after these moves, by seat."""
    state = game.start(options)
    for moves in turns:
        state = game.play(state, dict(zip(game.to_move(state), moves, strict=True)), number)
    return state


def moves_in(picture):
    """What can be clicked."""
    elements = ElementTree.fromstring(picture.svg).iter()
    return [each.attrib["data-move"] for each in elements if "data-move" in each.attrib]


def lines(picture):
    return [line.rstrip() for line in picture.text.splitlines()]


def test_a_board_has_its_marks_the_numbers_of_free_cells_and_the_winning_line():
    won = after(tic_tac_toe, [4], [1], [0], [2], [8])

    assert lines(tic_tac_toe.show(won)) == [
        *("[X]| O | O", "---+---+---"),
        *(" 3 |[X]| 5", "---+---+---"),
        " 6 | 7 |[X]",
    ]
    assert moves_in(tic_tac_toe.show(won)) == []


def test_free_cells_can_be_clicked_by_who_is_to_move():
    state = after(tic_tac_toe, [4], [0])
    picture = tic_tac_toe.show_position(tic_tac_toe.view(state, "A"), [1, 2])

    assert moves_in(picture) == ["1", "2"]
    assert "<title>You have X</title>" in picture.svg
    assert moves_in(tic_tac_toe.show_position(tic_tac_toe.view(state, "A"), None)) == []


def test_throws_and_score_are_seen_from_ones_own_side():
    state = after(rock_paper_scissors, ["rock", "paper"], ["rock", "rock"], ["rock", "scissors"])

    assert lines(rock_paper_scissors.show(state)) == [
        "A  1 : 1  B   (best of 3)",
        "  1  rock      loses to  paper",
        "  2  rock      ties      rock",
        "  3  rock      beats     scissors",
    ]
    seen = rock_paper_scissors.show_position(rock_paper_scissors.view(state, "B"), ["rock"])
    assert lines(seen)[:2] == [
        "You  1 : 1  Opponent   (best of 3)",
        "  1  paper     beats     rock",
    ]
    assert moves_in(seen) == ['"rock"']


def test_of_many_throws_the_last_ones_are_drawn():
    state = after(rock_paper_scissors, *[["rock", "rock"]] * 20, best_of=49)

    assert [line[:3] for line in lines(rock_paper_scissors.show(state))][1:] == [
        f"{number:3}" for number in range(13, 21)
    ]


def test_choices_meet_the_number_and_what_is_not_known_is_a_question_mark():
    assert lines(even_odd.show(after(even_odd))) == ["A         ?", "B         ?", "Number    ?"]
    assert lines(even_odd.show(after(even_odd, ["even", "odd"], number=4))) == [
        "A         even  right",
        "B         odd   wrong",
        "Number    4 (even)",
    ]
    long = even_odd.show(after(even_odd, ["odd", "odd"], number=123_457, highest=1_000_000))
    assert "123457" in long.svg
    assert moves_in(even_odd.show_position({}, ["even", "odd"])) == ['"even"', '"odd"']


def test_a_picture_has_words_for_who_cannot_see_it_and_colours_by_class_alone():
    svg = even_odd.show(after(even_odd, ["even", "odd"], number=4)).svg

    assert 'role="img"' in svg
    assert "<desc>A         even  right\nB " in svg
    assert not re.search(r"style=|#[0-9a-f]{3}|rgb", svg)
    assert cleaned(svg).left_out == []


def test_a_position_of_a_stranger_is_text():
    picture = tic_tac_toe.show_position({"board": [None] * 9, "you": '<script>"&'}, [])

    assert "<title>You have &lt;script&gt;&quot;&amp;</title>" in picture.svg


def raises(*arguments):
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "show",
    [
        raises,
        lambda *it: "text",
        lambda *it: Picture(7),
        lambda *it: Picture("x" * PICTURE_MAX * 2),
    ],
)
def test_a_game_that_fails_to_draw_itself_has_no_picture(show):
    assert picture_of(SimpleNamespace(show=show), {}) is None
    assert picture_of_position(SimpleNamespace(show_position=show), {}, None) is None


def test_a_game_may_have_no_pictures_or_text_alone():
    plain = SimpleNamespace(show=lambda state: Picture(f"at {state}"))

    assert picture_of(plain, 3) == Picture("at 3")
    assert picture_of_position(plain, {}, None) is None
