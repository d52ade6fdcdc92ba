"""What goes wrong in an author's function is said once, and where."""

import pytest

from agentleague.protocol.printable import printable
from agentleague.runtime.strategy_runner import outcome_of
from agentleague.sdk.author_errors import KINDS_MAX, AuthorErrors
from agentleague.sdk.player import Player


class Turn:
    match_id, game_type, legal_moves = "R1M1", "even_odd", ("even", "odd")


def told(function, times=1, *, in_full=False):
    """What the author of a function sees who is asked so many times."""
    said = []
    player = Player("Mine")
    player.plays("even_odd")(function)
    player.author_errors = AuthorErrors(said.append)
    player.author_errors.in_full = in_full
    heard = [outcome_of(player.move, Turn()) for _ in range(times)]
    player.author_errors.close()
    return said, heard


def choose(turn):
    return 1 // 0


def without_turn():
    return "even"


LINE = choose.__code__.co_firstlineno + 1


def test_an_exception_is_said_once_with_its_line_and_how_often_it_came_again(caplog):
    said, heard = told(choose, times=3)

    what = f"choose raised ZeroDivisionError: integer division or modulo by zero, at {FILE} line"
    assert said == [f"{what} {LINE}, in R1M1", f"{what} {LINE}, 2 more times"]
    assert {move for move, _ in heard} == {None}
    assert caplog.text == ""


def test_in_full_the_traceback_has_the_authors_frames_alone():
    (said,), _ = told(choose, in_full=True)

    assert said.count("  File ") == 1
    assert "in choose" in said
    assert "agentleague" not in said.replace(__file__, "")


@pytest.mark.parametrize("in_full", [False, True])
def test_a_function_without_a_parameter_is_told_how_it_is_called(in_full):
    (said,), _ = told(without_turn, in_full=in_full)

    assert f"at {FILE} line {without_turn.__code__.co_firstlineno}; it is called" in said
    assert "def without_turn(turn), in R1M1" in said
    assert "Traceback" not in said


def test_an_illegal_move_is_said_once_with_what_is_legal():
    said, heard = told(lambda turn: "heads", times=2)

    assert said == [
        "<lambda> returned 'heads' in R1M1; legal: 'even', 'odd'",
        "<lambda> returned 'heads', 1 more time",
    ]
    assert heard == [("heads", None)] * 2


def test_what_has_no_code_is_named_all_the_same():
    class Oracle:
        def __call__(self, turn):
            raise ValueError("two\nlines")

    assert told(Oracle())[0] == ["the function raised ValueError: two?lines, in R1M1"]


def test_one_who_fails_in_another_way_each_time_is_heard_so_often_and_no_longer():
    said = []
    author_errors = AuthorErrors(said.append)

    for number in range(KINDS_MAX + 5):
        author_errors.returned(choose, str(number), "R1M1", "legal: none")

    assert len(said) == KINDS_MAX
    assert printable(said[-1]) == said[-1]


FILE = "test_author_errors.py"
