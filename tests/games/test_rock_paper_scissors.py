"""Rock, paper, scissors: simultaneous throws, as many as it takes, within a bound."""

import pytest

from agentleague.errors import IllegalMove
from agentleague.games import rock_paper_scissors
from agentleague.runtime import plugins
from memory_league import MemoryLeague
from rules import rule

THROWS = {"r": "rock", "p": "paper", "s": "scissors"}


def thrown(throws, **options):
    """The state after throws such as "rp ss": seat A's, then seat B's."""
    state = rock_paper_scissors.start(options)
    for a, b in throws.split():
        assert tuple(rock_paper_scissors.to_move(state)) == ("A", "B")
        assert rock_paper_scissors.outcome(state) is None
        state = rock_paper_scissors.play(state, {"A": THROWS[a], "B": THROWS[b]}, None)
    return state


@rule("R-GAME-06")
@pytest.mark.parametrize("move", ["rock", "paper", "scissors"])
def test_the_three_words_are_legal_for_both_at_any_time(move):
    for seat in ("A", "B"):
        for state in (thrown(""), thrown("rr sp")):
            rock_paper_scissors.check(state, seat, move)
            assert move in rock_paper_scissors.legal_moves(state, seat)
            assert len(rock_paper_scissors.legal_moves(state, seat)) == 3


ILLEGAL = ["Rock", "ROCK", "r", "rock ", "", "lizard", 0, True, None, [], ["rock"], {"rock": 1}]
SENTENCE = "must be 'rock', 'paper' or 'scissors', got "


@rule("R-GAME-06")
def test_anything_else_is_illegal_and_the_player_is_told_what_is_legal():
    for move in ILLEGAL:
        with pytest.raises(IllegalMove, match=SENTENCE) as refused:
            rock_paper_scissors.check(thrown(""), "A", move)

        assert refused.value.code == "E004"


@rule("R-GAME-06")
@pytest.mark.parametrize(
    ("throw", "winner"),
    [
        *[("rr", None), ("rp", "B"), ("rs", "A")],
        *[("pr", "A"), ("pp", None), ("ps", "B")],
        *[("sr", "B"), ("sp", "A"), ("ss", None)],
    ],
)
def test_rock_beats_scissors_scissors_beat_paper_and_paper_beats_rock(throw, winner):
    wins = rock_paper_scissors.view(thrown(throw), "A")["wins"]

    assert wins == [int(winner == "A"), int(winner == "B")]


@rule("R-GAME-07")
@pytest.mark.parametrize(
    ("best_of", "throws", "winner", "reason"),
    [
        # More than half of best_of ends it at once.
        (1, "rs", "A", "{A} won 1 to 0 after 1 throw"),
        (3, "rs rs", "A", "{A} won 2 to 0 after 2 throws"),
        (3, "rp rs rp", "B", "{B} won 2 to 1 after 3 throws"),
        (5, "rp rp rs rs rp", "B", "{B} won 3 to 2 after 5 throws"),
        # A tie is a throw like any other.
        (3, "rr rs pp rs", "A", "{A} won 2 to 0 after 4 throws"),
        # After twice best_of throws the lead decides.
        (1, "rr rs", "A", "{A} won 1 to 0 after 2 throws"),
        (3, "rr rr rr rr rr rp", "B", "{B} won 1 to 0 after 6 throws"),
        (5, "rs rs rp rr rr rr rr rr rr rr", "A", "{A} won 2 to 1 after 10 throws"),
        # Where nobody leads, it is a draw.
        (1, "rr ss", None, "0 to 0 after 2 throws - nobody leads"),
        (3, "rs rp rr pp ss rr", None, "1 to 1 after 6 throws - nobody leads"),
    ],
)
def test_the_first_to_win_more_than_half_wins_and_after_twice_best_of_throws_the_lead_decides(
    best_of, throws, winner, reason
):
    state = thrown(throws, best_of=best_of)

    outcome = rock_paper_scissors.outcome(state)
    assert (outcome.winner, outcome.reason) == (winner, reason)
    assert tuple(rock_paper_scissors.to_move(state)) == ()


@rule("R-GAME-07")
def test_best_of_is_3_unless_said():
    assert thrown("") == thrown("", best_of=3)
    assert rock_paper_scissors.outcome(thrown("rs")) is None
    assert rock_paper_scissors.outcome(thrown("rs rs")).winner == "A"


@rule("R-GAME-07")
def test_the_longest_match_has_198_throws():
    outcome = rock_paper_scissors.outcome(thrown("rr " * 198, best_of=99))

    assert outcome.reason == "0 to 0 after 198 throws - nobody leads"


@rule("R-GAME-07")
@pytest.mark.parametrize("best_of", [0, 2, 98, 100, 101, -1, 3.0, "3", True, None, [3]])
def test_best_of_is_an_odd_whole_number_from_1_to_99(best_of):
    with pytest.raises(ValueError, match="make it an odd whole number from 1 to 99"):
        rock_paper_scissors.start({"best_of": best_of})


@rule("R-GAME-07")
def test_an_option_it_does_not_know_is_refused_by_name():
    with pytest.raises(ValueError, match="has no option 'rounds'; leave it out, there is best_of"):
        rock_paper_scissors.start({"rounds": 5, "best_of": 3})


@rule("R-GAME-08")
def test_each_player_sees_all_throws_with_its_own_first_and_never_the_one_that_is_running():
    state = thrown("rs pp sr", best_of=5)

    assert rock_paper_scissors.view(state, "A") == {
        "best_of": 5,
        "wins": [1, 1],
        "throws": [["rock", "scissors"], ["paper", "paper"], ["scissors", "rock"]],
    }
    assert rock_paper_scissors.view(thrown("rs rs"), "B") == {
        "best_of": 3,
        "wins": [0, 2],
        "throws": [["scissors", "rock"], ["scissors", "rock"]],
    }


@rule("R-GAME-06")
def test_nothing_is_drawn():
    assert rock_paper_scissors.chance(thrown("")) is None
    assert rock_paper_scissors.chance(thrown("rs")) is None


@rule("R-GAME-05")
def test_it_is_found_by_name():
    assert plugins.load_game("rock_paper_scissors") is rock_paper_scissors


@rule("R-GAME-07")
@pytest.mark.parametrize("best_of", [1, 3, 99])
def test_a_whole_league_plays_it(best_of):
    options = {"best_of": best_of}
    league = MemoryLeague(5, 2, rock_paper_scissors, game_options=options, cycles=2)
    league.fill().play()

    rows = league.league.table.rows()
    assert [row.played for row in rows] == [8] * 5
    assert [row.technical_losses for row in rows] == [0] * 5
    turns = [message.turn for _, message in league.messages if hasattr(message, "turn")]
    assert max(turns) < 2 * best_of
    assert "CHOOSE_PARITY_CALL" not in {said for said, _ in league.said}
