"""What a model is told of a turn, and which answers are moves."""

import pytest
from msgspec.structs import replace

from agentleague.errors import IllegalMove
from agentleague.player.memory import Memory
from agentleague.protocol.messages import ChooseParityCall, GameMoveCall, MoveContext
from agentleague.sdk.llm import MATCHES_SHOWN, MOVE_MAX, RULE, TEXT_MAX, question, read_move

WORDS = ("even", "odd")


def told(call, **facts):
    turn = replace(Memory("1").turn(call, "P01", 30.0), **facts)
    system, user = question(turn)
    assert system == {"role": "system", "content": RULE}
    assert user["role"] == "user"
    return user["content"].splitlines()


def met(mine, theirs, winner, opponent_id="P02"):
    result = {"winner_player_id": winner, "choices": {"P01": mine, opponent_id: theirs}}
    return {"opponent_id": opponent_id, "result": result, "won": winner == "P01"}


def test_a_model_is_told_the_rules_the_position_the_moves_and_who_plays():
    call = GameMoveCall(
        game_type="tic_tac_toe",
        match_id="R1M1",
        position={"board": ["X", None], "you": "O"},
        legal_moves=[1, 8],
        context=MoveContext(opponent_id="P02"),
    )

    assert told(call) == [
        "Game: tic_tac_toe. Tic-tac-toe: X and O take turns on nine cells; three in a row win, "
        "a full board is a draw. You see: The board, and which mark is the player's. "
        "A move: The number of an empty cell.",
        "You are P01, your opponent is P02.",
        'Position: {"board": ["X", null], "you": "O"}',
        "Legal moves: [1, 8]",
    ]


def test_a_game_that_is_not_installed_is_told_by_its_name_alone():
    call = GameMoveCall(game_type="hexapawn", legal_moves=["a"])

    assert told(call)[0] == "Game: hexapawn."


def test_the_latest_matches_against_this_opponent_are_told():
    call = ChooseParityCall(game_type="even_odd", context=MoveContext(opponent_id="P02"))
    history = [met("even", "odd", "P01"), met("odd", None, None), met("odd", "even", "P02")]
    others = [met("even", "even", None, "P03")] * 5

    assert told(call, history=[*others, *history])[4:] == [
        "Earlier matches against this opponent, oldest first:",
        '- your last move "even", your opponent\'s "odd": you won',
        '- your last move "odd", your opponent\'s null: drawn',
        '- your last move "odd", your opponent\'s "even": you lost',
    ]
    assert len(told(call, history=history * 50)) == 5 + MATCHES_SHOWN
    assert len(told(call, history=others)) == 4


def test_a_huge_position_is_cut():
    call = GameMoveCall(game_type="hexapawn", position="x" * 50_000, legal_moves=["a"])

    assert told(call)[2].endswith("x … (cut)")
    assert len(told(call)[2]) < TEXT_MAX + 50


MOVES = [
    "odd",
    " odd\n",
    '"odd"',
    '{"move": "odd"}',
    '{"move": "odd", "why": "even is odd"}',
    '```json\n{"move": "odd"}\n```',
    "```\nodd\n```",
    '<think>\neven? {"move": "even"}\n</think>\n\n{"move": "odd"}',
]


def test_an_answer_that_is_one_legal_move_is_that_move():
    for text in MOVES:
        assert read_move(text, WORDS) == "odd"


NO_MOVES = [
    "",
    "Odd",
    "odd.",
    "odd or even",
    "I play odd",
    '{"move": "Odd"}',
    '{"choice": "odd"}',
    '["odd"]',
    '{"move": ["odd"]}',
    '{"move": {"move": "odd"}}',
    '{"move": "odd"} {"move": "odd"}',
    'Sure!\n```json\n{"move": "odd"}\n```',
    "odd <think>or even</think>",
    "<think>odd",
    "[" * MOVE_MAX,
    " odd " + "." * MOVE_MAX,
    "NaN",
]


def test_any_other_answer_is_no_move():
    for text in NO_MOVES:
        with pytest.raises(IllegalMove, match="which is no legal move") as refused:
            read_move(text, WORDS)

        assert len(str(refused.value)) < 120


NUMBERS_AND_LISTS = [("4", 4), ('{"move": 4}', 4), ('{"move": [1, 2]}', [1, 2]), ("1", 1)]


def test_numbers_and_lists_are_moves_too():
    for text, move in NUMBERS_AND_LISTS:
        assert read_move(text, [1, 4, [1, 2]]) == move


def test_what_only_equals_a_number_is_another_move():
    for text in ("true", "1.0", '"1"', '{"move": true}', "9" * 5000):
        with pytest.raises(IllegalMove):
            read_move(text, [1, 0])


def test_a_move_that_is_a_text_of_digits_is_found_as_it_stands():
    assert read_move("12", ["12", "21"]) == "12"
