"""What a player answers at once: only to whom it knows, and the same as by its effects."""

import pytest

from agentleague.protocol.messages import (
    ChooseParityCall,
    GameError,
    GameInvitation,
    GameMoveCall,
    GameOver,
    GameResult,
    LeagueCompleted,
    LeagueErrorMessage,
    LeagueRegisterResponse,
    LeagueStandingsUpdate,
    RoundAnnouncement,
    RoundCompleted,
)
from agentleague.protocol.tokens import channel_key, match_token
from agentleague.roles.effects import Reply, RunStrategy
from agentleague.roles.stimuli import Asked, Caller, StrategyReturned
from memory_league import BEGAN
from player import test_proofs
from player.test_proofs import ACCEPTED, LEAGUE, TOKEN

MATCH = {
    "league_id": LEAGUE,
    "round_id": 1,
    "match_id": "R1M1",
    "player_id": "P01",
    "auth_token": match_token(channel_key(TOKEN), "ref>player", LEAGUE, "R1M1", "P01", 1),
}
FROM_MANAGER = [
    RoundAnnouncement(league_id=LEAGUE, round_id=1, conversation_id="conv-1"),
    LeagueStandingsUpdate(league_id=LEAGUE, round_id=1),
    RoundCompleted(league_id=LEAGUE, round_id=1),
    LeagueErrorMessage(error_code="E045"),
]
MOVES = [
    ChooseParityCall(**MATCH, conversation_id="conv-r1m1-001"),
    GameMoveCall(**MATCH, turn=2, legal_moves=["even"]),
]
FROM_REFEREE = [
    GameInvitation(**MATCH, conversation_id="conv-r1m1-001"),
    *MOVES,
    GameOver(game_result=GameResult("DRAW"), **MATCH),
    GameError(**MATCH, error_message="too late"),
]


def a_player(accepted=ACCEPTED, *, at_once=True):
    role = test_proofs.a_player(accepted=accepted)
    role.strategy = (lambda turn: (turn.legal_moves[0], None)) if at_once else None
    return role


def a_caller(message):
    return test_proofs.a_caller(message, TOKEN)


def a_stranger(message):
    return test_proofs.a_caller(message, "tok_of_another")


@pytest.mark.parametrize(
    "message", [*FROM_MANAGER, *FROM_REFEREE], ids=lambda it: type(it).__name__
)
def test_what_is_answered_at_once_is_what_an_effect_would_answer(message):
    answering, deciding = a_player(), a_player()

    answer = answering.answer(message, a_caller(message), BEGAN)
    effects = deciding.handle(Asked(message, a_caller(message), 1), BEGAN)

    assert answer is not None
    assert effects == [Reply(1, answer)]
    assert answering.news == deciding.news
    assert answering.memory.records() == deciding.memory.records()


@pytest.mark.parametrize("message", MOVES, ids=lambda it: type(it).__name__)
def test_a_strategy_that_answers_at_once_is_heard_as_one_that_takes_its_time(message):
    slow = a_player(at_once=False)

    at_once = a_player().answer(message, a_caller(message), BEGAN)
    assert slow.answer(message, a_caller(message), BEGAN) is None
    (run,) = slow.handle(Asked(message, a_caller(message), 1), BEGAN)
    (reply,) = slow.handle(StrategyReturned(1, run.turn.legal_moves[0]), BEGAN)

    assert isinstance(run, RunStrategy)
    assert reply.answer == at_once


@pytest.mark.parametrize("message", [*FROM_MANAGER, MOVES[0]], ids=lambda it: type(it).__name__)
def test_nobody_is_answered_at_once_before_the_manager_has_registered_it(message):
    assert a_player(accepted=None).answer(message, a_caller(message), BEGAN) is None


def test_strangers_are_not_answered_at_once():
    role = a_player()
    unknown = GameInvitation(**{**MATCH, "auth_token": "mtok_of_another"})

    assert role.answer(FROM_MANAGER[0], a_stranger(FROM_MANAGER[0]), BEGAN) is None
    assert role.answer(unknown, a_caller(unknown), BEGAN) is None


def test_the_end_of_the_league_is_not_answered_at_once_since_it_ends_the_player():
    over = LeagueCompleted(LEAGUE)

    assert a_player().answer(over, a_caller(over), BEGAN) is None


def test_a_referee_without_tokens_gets_the_move_of_a_strategy_that_answers_at_once():
    unsealed = LeagueRegisterResponse("ACCEPTED", "P01", LEAGUE, auth_token=TOKEN)
    role, call = a_player(unsealed), ChooseParityCall(**{**MATCH, "auth_token": ""})

    (reply,) = role.handle(Asked(call, Caller("127.0.0.1"), 1), BEGAN)

    assert reply.answer.parity_choice == "even"
