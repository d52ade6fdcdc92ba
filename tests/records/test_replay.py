"""Decided matches step by step: whole ones, forfeits, and those of which little is known."""

import pytest

from agentleague.games import even_odd, rock_paper_scissors, tic_tac_toe
from agentleague.records.match_story import facts_of
from agentleague.records.replay import steps
from games.throwaway import THREE_DRAWS, THROWAWAY
from league.decisions import Decisions
from records.journals import one_match

BOTH = [(0, "P01", "even"), (0, "P02", "odd")]
WON_BY_X = [(n, ("P01", "P02")[n % 2], cell) for n, cell in enumerate([0, 3, 1, 4, 2])]


def replayed(decisions, game=even_odd, **changes):
    return steps(game, facts_of(decisions.league, "R1M1") | changes)


def test_every_turn_is_a_step_with_its_moves_and_the_board_after_it():
    start, *turns = replayed(one_match(WON_BY_X, game=tic_tac_toe), tic_tac_toe)

    assert (start.turn, start.moves, start.note) == (0, {}, "")
    assert [step.turn for step in turns] == [1, 2, 3, 4, 5]
    assert [step.moves for step in turns][:2] == [{"P01": 0}, {"P02": 3}]
    assert "[X]|[X]|[X]" in turns[-1].picture.text
    assert turns[-1].note == "P01 has three X in a row: cells 0, 1, 2"


def test_the_number_is_the_one_that_was_drawn():
    decisions = one_match(BOTH)
    last = replayed(decisions)[-1]

    assert last.moves == {"P01": "even", "P02": "odd"}
    assert last.number == decisions.league.matches["R1M1"].result.drawn_number == 9
    assert "9 (odd)" in last.picture.text


def test_numbers_of_earlier_locks_are_drawn_too():
    decisions = Decisions(game=THREE_DRAWS).start()
    moves = []
    for turn in range(3):
        moves += [(turn, "P01", 2), (turn, "P02", 5)]
        decisions.lock(moves, index=turn)
    record = decisions.league.matches["R1M1"]

    found = replayed(decisions, THREE_DRAWS)

    drawn = [*(lock.value for lock in record.locks), record.result.drawn_number]
    assert [step.number for step in found] == [None, *drawn]
    assert {step.picture for step in found} == {None}  # It does not draw itself.


def test_options_of_the_league_count():
    best_of_one = one_match(
        [(0, "P01", "rock"), (0, "P02", "paper")],
        game=rock_paper_scissors,
        options={"best_of": 1},
    )

    assert "best of 1" in replayed(best_of_one, rock_paper_scissors)[-1].picture.text


def test_nothing_of_an_undecided_match_is_shown():
    decisions = Decisions(game=THREE_DRAWS).start()
    decisions.lock([(0, "P01", 2), (0, "P02", 5)])

    assert replayed(decisions, THREE_DRAWS) == []


def test_who_forfeits_makes_no_move_and_the_board_stays():
    start, last = replayed(one_match(BOTH[:1], [("P02", "timed out")]))

    assert last.moves == {"P01": "even"}
    assert last.picture == start.picture
    assert last.note == "P02 timed out - P01 wins by default"


def test_a_foreign_referees_choices_are_shown_where_one_turn_decides():
    details = {"drawn_number": 8, "choices": {"P01": "even", "P02": "odd"}}
    decisions = Decisions(locks=False).start()
    decisions.report("P01", details=details)

    assert replayed(decisions)[-1].number == 8
    result = facts_of(decisions.league, "R1M1")["result"]
    for number in (None, 11):
        (only,) = replayed(decisions, result=result | {"drawn_number": number})
        assert only.note.startswith("No more is known: the number that was drawn is not known. The")


@pytest.mark.parametrize("game", [THROWAWAY["race"], tic_tac_toe])
def test_of_a_longer_game_a_foreign_referees_last_moves_are_not_taken_for_the_first(game):
    decisions = Decisions(game=game, locks=False).start()
    decisions.report("P01", details={"choices": {"P01": 2, "P02": 1}})

    (only,) = replayed(decisions, game)

    assert "its referee reported the last moves alone" in only.note


def broken(state, moves, number):
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("moves", "why"),
    [
        ([[0, "P01", "five"]], "Choice must be 'even' or 'odd'"),  # such as of another version
        ([[0, "P03", "even"]], "P03 was not to move"),
        ([[10**9, "P01", "even"]], "turn 1 has no moves"),
        (None, "its moves are too long for an answer; read its journal with --dir"),
    ],
)
def test_what_the_game_refuses_ends_the_steps_with_a_sentence(moves, why):
    (only,) = replayed(one_match(BOTH), draw={"moves": moves, "seed": "00"})

    assert only.note.startswith(f"No more is known: {why}")
    assert "number was 9" in only.note


def test_a_game_that_fails_ends_the_steps_and_one_that_cannot_start_has_none(monkeypatch):
    decisions = one_match(BOTH)
    monkeypatch.setattr(even_odd, "play", broken)
    (only,) = replayed(decisions)

    assert "the game failed (ZeroDivisionError)" in only.note
    assert replayed(decisions, tic_tac_toe, game_options={"size": 4}) == []


def test_moves_that_are_too_long_for_an_answer_are_in_the_journal():
    throws = [(n, p, "scissors") for n in range(98) for p in ("P01", "P02")]
    decisions = one_match(throws, game=rock_paper_scissors, options={"best_of": 49})

    assert len(replayed(decisions, rock_paper_scissors)) == 99
