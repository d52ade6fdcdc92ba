"""Join codes: which are the same, which can be guessed, and which we make."""

import pytest

from agentleague.protocol import join_codes

GOOD = "tipuf-sajil-gikop"


@pytest.mark.parametrize(
    "typed", [GOOD, "TIPUF Sajil gikop", "tipufsajilgikop", " tipuf-saji lgikop\n"]
)
def test_case_spaces_and_dashes_do_not_count(typed):
    assert join_codes.is_same(typed, GOOD)


@pytest.mark.parametrize(
    "typed",
    [
        *("", "t", "tipuf", "tipuf-sajil-giko", "ipuf-sajil-gikop"),  # a part of it
        *("tipuf-sajil-gikopp", f"{GOOD} {GOOD}", "x" + GOOD),  # more than it
        *("tipuf-sajil-gikob", "sajil-tipuf-gikop", "\ud800", "-"),
    ],
)
def test_a_code_that_is_nearly_right_is_wrong(typed):
    assert not join_codes.is_same(typed, GOOD)
    assert not join_codes.is_same(GOOD, typed)


def test_a_code_of_dashes_is_no_empty_one():
    assert join_codes.is_same("---", "---")
    assert not join_codes.is_same("-", "---")


@pytest.mark.parametrize(
    "code",
    [
        *("", "-", "4711", "123456789012", "1234-5678-9012"),  # digits alone
        *("sesame", "Open Sesame", "chocolate", "correcthorsebatterystaple"),  # one word, or two
        *("password123", "classroom2026", "maple-4711", "quokka-7"),  # a word and a number
        *("aaaa-bbbb-cccc", "moon-moon-moon", "a1a1a1a1a1a1", "qwertyuiop"),  # again and again
    ],
)
def test_a_code_that_people_come_upon_can_be_guessed(code):
    assert join_codes.is_guessable(code)


@pytest.mark.parametrize(
    "code",
    [GOOD, "correct horse battery", "река-окно-шоколад", "d91ca9d68ecaf99c", "Tr0ub4dor&3!x"],
)
def test_three_words_or_groups_cannot_be_guessed(code):
    assert not join_codes.is_guessable(code)


def test_the_examples_of_the_documentation_are_known():
    assert join_codes.is_published("Tipuf Sajil Gikop")
    assert not join_codes.is_published("tipuf-sajil-gikob")
    assert not join_codes.is_published("")


def test_a_number_is_spelled_as_proquints_are():
    assert join_codes.spelled(0x7F00_0001_3F54) == "lusab-babad-gutih"  # as published
    assert join_codes.spelled(2**join_codes.BITS - 1) == "zuzuz-zuzuz-zuzuz"
