"""Text of other agents, safe to print."""

import json

import pytest

from agentleague.protocol.printable import (
    duration,
    log_text,
    nearest,
    one_line,
    one_line_json,
    printable,
    printable_json,
    there_are,
)

CONTROLS = "a\x1b[31m\u202eb\x9b"


def test_what_is_invisible_or_controls_a_terminal_is_a_question_mark_and_line_ends_stay():
    assert printable("Zoë\n日本") == "Zoë\n日本"
    assert printable(CONTROLS) == "a?[31m?b?"
    assert printable("a\u3164b\u2800") == "a?b?"  # a filler, and the Braille blank
    assert printable("e" + "\u0301" * 9) == "e" + "\u0301" * 3
    assert printable("a\ufe0fb\u034fc\u180bd\U000e0100") == "abcd"  # variation selectors


def test_one_line_has_no_line_end_and_is_shortened():
    assert one_line("a\nb") == "a?b"
    assert one_line("x" * 300) == "x" * 197 + "..."
    assert one_line_json({"é": [1]}) == '{"\\u00e9": [1]}'
    assert len(one_line_json("x" * 300)) == 60


def test_printable_json_says_the_same_as_the_value():
    value = {"Zoë": CONTROLS, "n": [1, None]}

    for indent in (None, 2):
        text = printable_json(value, indent)
        assert json.loads(text) == value
        assert "Zoë" in text
        assert all(char.isprintable() or char == "\n" for char in text)
    assert printable_json([1]) == "[1]"


def test_a_log_has_no_token_no_line_end_and_no_long_text():
    assert log_text("sent tok_P01_abcdef and " + "0f" * 20) == "sent *** and ***"
    assert log_text("a\nb") == "a?b"
    assert len(log_text("x_" * 500)) == 200


def test_a_slip_is_answered_with_the_nearest_name_and_with_all_names():
    assert nearest("randm", ["fixed", "random"]) == "random"
    assert nearest("x", ["fixed", "random"]) == ""
    assert nearest("dome", ["demo"], 0.9) == ""
    assert there_are("randm", ["fixed", "random"]) == "did you mean random? There are fixed, random"
    assert there_are("x", ["R1M1", "R1M2"], "R1M1 to R1M2") == "there are R1M1 to R1M2"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (7_380, "2 h 3 min"),
        (7_200, "2 h"),
        (273_700, "3 d 4 h"),
    ],
)
def test_how_long_it_is_till_then_is_said_in_two_units(seconds, words):
    assert duration(seconds) == words
