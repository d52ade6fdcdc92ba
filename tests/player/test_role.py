"""The player as a role: it joins, moves, listens, and is never silent."""

import asyncio
from collections import deque

import msgspec
import pytest
from msgspec import UNSET

from agentleague.errors import (
    NoAnswer,
    NoConnection,
    PeerRefused,
    RateLimited,
    TokenInvalid,
    TokenMissing,
)
from agentleague.player import strategies
from agentleague.player.memory import PlayerLimits
from agentleague.player.role import Player, seen_by
from agentleague.protocol.messages import (
    Champion,
    ChooseParityCall,
    Draw,
    GameError,
    GameInvitation,
    GameMoveCall,
    GameOver,
    GameResult,
    LeagueCompleted,
    LeagueQueryResponse,
    LeagueRegisterResponse,
    LeagueStandingsUpdate,
    MoveContext,
    PlayerRecord,
    Receipt,
    RoundAnnouncement,
    RoundCompleted,
    RoundMatch,
    StandingRow,
)
from agentleague.protocol.tokens import channel_key, match_token
from agentleague.roles.agent import AgentState, RegisterKey
from agentleague.roles.effects import End, Reply, RunStrategy, WakeAt
from agentleague.roles.settings import PlayerSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Started, StrategyReturned, Woken
from agentleague.runtime.processes import Place, open_player
from memory_league import BEGAN, MemoryLeague
from rules import rule

TOKEN = "tok_P01_x"
ACCEPTED = LeagueRegisterResponse("ACCEPTED", "P01", "league_test", auth_token=TOKEN)
GAME = {"league_id": "league_test", "round_id": 1, "match_id": "R1M1", "player_id": "P01"}
CALL = ChooseParityCall(
    **GAME,
    game_type="even_odd",
    context=MoveContext("P02", 1, PlayerRecord(2, 1, 0, 6)),
    conversation_id="conv-r1m1-001",
)


def a_player(registered=True, accepted=ACCEPTED):
    role = Player(PlayerSettings(display_name="Ann", endpoint="http://ann/mcp", seed="7"))
    role.handle(Started(0.0), BEGAN)
    if registered:
        role.handle(Answered(RegisterKey(), accepted, None, 0.1), BEGAN)
    return role


def ask(role, message, number=1):
    return role.handle(Asked(message, Caller("127.0.0.1"), number), BEGAN)


def test_it_registers_again_until_the_manager_is_there():
    role = a_player(registered=False)

    waiting = role.handle(Answered(RegisterKey(), None, NoConnection("nobody"), 0.1), BEGAN)
    (again,) = role.handle(Woken(RegisterKey()), BEGAN + 1.0)

    assert waiting == [WakeAt(RegisterKey(), BEGAN + 1.0)]
    assert again.message.player_meta.contact_endpoint == "http://ann/mcp"


def test_it_accepts_every_invitation_and_proves_who_it_is():
    (reply,) = ask(a_player(), GameInvitation(**GAME, conversation_id="conv-r1m1-001"))

    names = ("league_test", "R1M1", "P01", 1)
    assert reply.answer.accept
    assert reply.answer.auth_token == match_token(channel_key(TOKEN), "player>ref", *names)
    assert (reply.answer.sender, reply.answer.conversation_id) == ("player:P01", "conv-r1m1-001")
    assert reply.answer.arrival_timestamp == "2023-11-14T22:13:20Z"


def test_it_never_sends_its_league_token_to_a_referee():
    role = a_player()
    ask(role, CALL)
    answers = [
        *ask(role, GameInvitation(**GAME), 2),
        *role.handle(StrategyReturned(1, "even"), BEGAN),
        *ask(role, GameOver(game_result=GameResult("DRAW"), **GAME), 3),
    ]

    assert len(answers) == 3
    assert all(TOKEN not in repr(effect) for effect in answers)


def test_a_call_for_a_move_makes_it_think_and_the_thought_is_its_answer():
    role = a_player()

    (run,) = ask(role, CALL)
    (reply,) = role.handle(StrategyReturned(run.key, "odd"), BEGAN)

    assert isinstance(run, RunStrategy)
    assert (run.turn.opponent_id, run.turn.record["points"]) == ("P02", 6)
    assert list(run.turn.legal_moves) == ["even", "odd"]
    assert (reply.answer.parity_choice, reply.answer.match_id) == ("odd", "R1M1")


def test_other_games_are_answered_with_a_move():
    role = a_player()
    call = GameMoveCall(**GAME, game_type="nim", turn=2, position={"left": 5}, legal_moves=[1, 2])

    (run,) = ask(role, call)
    (reply,) = role.handle(StrategyReturned(run.key, 2), BEGAN)

    assert (run.turn.position, run.turn.legal_moves) == ({"left": 5}, [1, 2])
    assert reply.answer.move == 2


@rule("R-PLAYER-01")
def test_a_strategy_that_fails_costs_this_attempt_and_nothing_else():
    role = a_player()
    ask(role, CALL)
    ask(role, GameMoveCall(**GAME, game_type="nim"), 2)

    (choice,) = role.handle(StrategyReturned(1, None, "ZeroDivisionError: division by zero"), BEGAN)
    (move,) = role.handle(StrategyReturned(2, None, "ZeroDivisionError: division by zero"), BEGAN)

    assert (choice.answer.parity_choice, choice.answer.match_id) == (None, "R1M1")
    assert move.answer.move is None
    assert "ZeroDivision" not in repr([choice, move])
    assert isinstance(ask(role, CALL, 3)[0], RunStrategy)


@rule("R-PLAYER-01")
@pytest.mark.parametrize(("fails", "status"), [(2, "WIN"), (3, "TECHNICAL_LOSS")])
def test_a_strategy_that_fails_is_asked_again_at_once_three_times_in_all(fails, status):
    class FailingRunner:
        asked = 0

        def run(self, turn, done):
            self.asked += 1
            error = "it raised" if self.asked <= fails else None
            league.clock.call_at(league.clock.now(), lambda: done(None if error else "odd", error))

    league = MemoryLeague(players=2, referees=1)
    league.add_referee()
    league.add_player(lambda turn: "even")
    host = league.add_player()
    host.role.strategy, host.runner = None, FailingRunner()
    league.play()

    (file,) = league.league.matches.values()
    assert file.decided.result.status == status
    assert host.runner.asked == 3
    assert league.clock.now() - BEGAN < 1.0


def test_two_moves_may_be_thought_about_at_once():
    role = a_player()
    ask(role, CALL, 1)
    ask(role, CALL, 2)

    (second,) = role.handle(StrategyReturned(2, "odd"), BEGAN)
    (first,) = role.handle(StrategyReturned(1, "even"), BEGAN)

    assert (first.to, second.to) == (1, 2)


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        (RoundAnnouncement(round_id=1), "RoundAnnouncementAck"),
        (LeagueStandingsUpdate(round_id=1), "StandingsUpdateAck"),
        (RoundCompleted(round_id=1), "RoundCompletedAck"),
        (GameOver(game_result=GameResult("DRAW"), **GAME), "GameOverAck"),
        (GameError(**GAME), "GameErrorAck"),
        (LeagueCompleted(), "LeagueCompletedAck"),
    ],
)
def test_every_notification_is_acknowledged_in_its_own_type(message, answer):
    reply = ask(a_player(), message)[0]

    assert isinstance(reply, Reply)
    assert type(reply.answer).__name__ == answer
    assert reply.answer.player_id == "P01"


def test_it_remembers_results_and_the_table_for_its_strategy():
    role = a_player()
    result = GameResult("WIN", "P01", 8, "even", {"P01": "even", "P02": "odd"}, "P01 was right")
    ask(role, GameOver(game_result=result, **GAME), 2)
    ask(role, LeagueStandingsUpdate(standings=[StandingRow(1, "P01", "Ann", points=3)]), 3)

    turn = ask(role, CALL)[0].turn

    assert [match["won"] for match in turn.history] == [True]
    assert turn.history[0]["opponent_id"] == "P02"
    assert [row["points"] for row in turn.standings] == [3]


OVER = LeagueCompleted(league_id="league_test")


@rule("R-PLAYER-04")
def test_the_end_of_the_league_is_its_end_once_the_manager_says_so():
    role = a_player()
    reply, call = ask(role, OVER)
    said = LeagueQueryResponse("GET_STATUS", status="LEAGUE_COMPLETED")

    effects = role.handle(Answered(call.key, said, None, 0.1), BEGAN)

    assert isinstance(reply, Reply)
    assert call.message.query_type == "GET_STATUS"
    assert effects == [End(OVER)]


AWAY = NoConnection("the manager is away")
OURS = msgspec.structs.replace(ACCEPTED, match_tokens=True)


def asked_in_vain(role, call, error=AWAY):
    """What the player does in the end, and after how many seconds, if the manager never says."""
    now = BEGAN
    while True:
        (effect,) = role.handle(Answered(call.key, None, error, 0.1), now)
        if not isinstance(effect, WakeAt):
            return effect, now - BEGAN
        now = effect.when
        (call,) = role.handle(Woken(effect.key), now)


@rule("R-PLAYER-04")
@pytest.mark.parametrize("error", [AWAY, NoAnswer("no answer"), PeerRefused("it is starting")])
def test_a_manager_that_does_not_say_is_asked_again_for_a_while(error):
    role = a_player(accepted=OURS)
    _, call = ask(role, OVER)

    assert asked_in_vain(role, call, error) == (End(OVER), 40.0)
    assert [sentence for sentence in role.news if "is over;" in sentence] == [
        "Told that the league is over; asking the manager, which is away."
    ]


@rule("R-PLAYER-04")
def test_a_player_that_was_taken_out_asks_without_its_token_whether_the_league_is_over():
    role = a_player(accepted=OURS)
    _, call = ask(role, OVER)
    refusal = PeerRefused("not issued by this league", code=TokenInvalid.code)

    (again,) = role.handle(Answered(call.key, None, refusal, 0.1), BEGAN)
    (wait,) = role.handle(Answered(again.key, None, refusal, 0.1), BEGAN)
    said = LeagueQueryResponse("GET_STATUS", status="LEAGUE_COMPLETED")

    assert (call.message.auth_token, again.message.auth_token) == (TOKEN, UNSET)
    assert isinstance(wait, WakeAt)
    assert "does not know the token of this player" in role.news[-2]
    assert role.handle(Answered(again.key, said, None, 0.1), BEGAN) == [End(OVER)]


@rule("R-PLAYER-04")
def test_being_told_again_does_not_end_the_doubt_sooner_or_later():
    role = a_player()
    _, call = ask(role, OVER)
    (wait,) = role.handle(Answered(call.key, None, AWAY, 0.1), BEGAN)

    _, again = ask(role, OVER, 2)

    assert isinstance(role.handle(Answered(again.key, None, AWAY, 0.1), wait.when)[0], WakeAt)
    assert role.handle(Answered(again.key, None, AWAY, 0.1), BEGAN + 40.0) == [End(OVER)]


@rule("R-PLAYER-04")
def test_a_manager_that_came_back_and_denies_the_end_is_believed():
    role = a_player()
    _, call = ask(role, OVER)
    role.handle(Answered(call.key, None, AWAY, 0.1), BEGAN)
    denied = LeagueQueryResponse("GET_STATUS", status="RUNNING_LEAGUE")

    assert role.handle(Answered(call.key, denied, None, 0.1), BEGAN + 39.0) == []
    _, call = ask(role, OVER, 2)
    assert isinstance(role.handle(Answered(call.key, None, AWAY, 0.1), BEGAN + 41.0)[0], WakeAt)


@rule("R-PLAYER-04")
def test_an_end_that_came_before_it_was_taken_in_is_asked_about_again():
    role = a_player(registered=False)
    _, call = ask(role, OVER)

    unbelieved = role.handle(Answered(call.key, None, AWAY, 0.1), BEGAN)
    (again,) = role.handle(Answered(RegisterKey(), ACCEPTED, None, 0.1), BEGAN)

    assert unbelieved == []
    assert asked_in_vain(role, again) == (End(OVER), 40.0)


@rule("R-PLAYER-04")
@pytest.mark.parametrize(("error", "seconds"), [(PeerRefused("no method"), 0.0), (AWAY, 40.0)])
def test_a_foreign_manager_that_knows_no_such_question_is_asked_once(error, seconds):
    role = a_player()
    _, call = ask(role, OVER)

    assert asked_in_vain(role, call, error) == (End(OVER), seconds)


@rule("R-PLAYER-04")
def test_a_manager_that_is_too_busy_to_say_is_asked_again():
    role = a_player()
    _, call = ask(role, OVER)

    (wait,) = role.handle(Answered(call.key, None, RateLimited("slow down"), 0.1), BEGAN)
    (again,) = role.handle(Woken(wait.key), wait.when)

    assert wait.when == BEGAN + PlayerLimits().ask_again_seconds
    assert (again.key, again.message.auth_token) == (call.key, TOKEN)


@rule("R-PLAYER-04")
def test_only_its_manager_can_tell_it_that_the_league_is_over():
    role = a_player()
    _, call = ask(role, OVER)
    denied = LeagueQueryResponse("GET_STATUS", status="RUNNING_LEAGUE")

    assert role.handle(Answered(call.key, denied, None, 0.1), BEGAN) == []
    assert len(ask(role, LeagueCompleted(league_id="league_other"))) == 1
    assert isinstance(ask(role, CALL, 2)[0], RunStrategy)


@rule("R-PLAYER-04")
@pytest.mark.parametrize("is_ours", [True, False])
def test_a_foreign_manager_has_to_deny_the_end_in_our_words(is_ours):
    role = a_player(registered=False)
    accepted = msgspec.structs.replace(ACCEPTED, match_tokens=is_ours or UNSET)
    role.handle(Answered(RegisterKey(), accepted, None, 0.1), BEGAN)
    _, call = ask(role, OVER)
    told = LeagueQueryResponse(status="ok")

    effects = role.handle(Answered(call.key, told, None, 0.1), BEGAN)

    assert effects == ([] if is_ours else [End(OVER)])


def referees(message, **changes):
    """The same message with the token that only the match's referee was given."""
    names = (message.league_id, message.match_id, "P01", message.epoch)
    token = match_token(channel_key(TOKEN), "ref>player", *names)
    return msgspec.structs.replace(message, auth_token=token, **changes)


MATCHES = ["R1M1", "R2M1"]


def denied(role, message):
    """What is answered when the manager knows of no reason why the token is wrong."""
    (call,) = ask(role, message)
    assert (call.message.query_type, call.message.query_params["match_id"]) == (
        "GET_MATCH",
        message.match_id,
    )
    return role.handle(Answered(call.key, None, NoAnswer("no answer"), 0.1), BEGAN)


@rule("R-PLAYER-03")
@pytest.mark.parametrize(
    "message", [GameInvitation(**GAME), CALL, GameOver(game_result=GameResult("DRAW"), **GAME)]
)
def test_in_a_league_of_ours_it_answers_nobody_but_the_referee_of_the_match(message):
    accepted = msgspec.structs.replace(ACCEPTED, match_tokens=True)
    role = a_player(registered=False)
    role.handle(Answered(RegisterKey(), accepted, None, 0.1), BEGAN)

    (refused,) = denied(role, message)
    assert isinstance(refused.answer, TokenMissing)
    (other_match,) = denied(role, msgspec.structs.replace(referees(message), match_id="R2M1"))
    answered = ask(role, referees(message))

    assert isinstance(other_match.answer, TokenInvalid)
    said = [sentence for sentence in role.news if "token" in sentence]
    assert said == [f"{m}: refused a message without the token of its referee." for m in MATCHES]
    assert not isinstance(getattr(answered[0], "answer", None), TokenInvalid)


def test_wrong_tokens_are_said_aloud_once_a_match_and_not_for_ever():
    accepted = msgspec.structs.replace(ACCEPTED, match_tokens=True)
    role = a_player(registered=False)
    role.handle(Answered(RegisterKey(), accepted, None, 0.1), BEGAN)

    for number in range(30):
        message = GameInvitation(**{**GAME, "match_id": f"R{number}M1"})
        denied(role, message)
        ask(role, message)

    assert len([sentence for sentence in role.news if "token" in sentence]) == 20


ANNOUNCED = RoundAnnouncement(
    league_id="league_test",
    round_id=1,
    matches=[
        RoundMatch("R1M1", "even_odd", "P02", "P01", draw_commitment="c" * 64),
        RoundMatch("R1M2", "even_odd", "P03", "P04"),
    ],
    byes=["P05"],
)


@rule("R-PLAYER-02")
def test_a_wrong_draw_is_said_aloud_and_acknowledged_all_the_same():
    role = a_player()
    ask(role, ANNOUNCED)
    over = GameOver(GameResult("DRAW"), **GAME, game_type="even_odd", draw=Draw("c", "00"))

    (reply,) = ask(role, over)

    wrong = [sentence for sentence in role.news if sentence.startswith("R1M1: THE DRAW IS WRONG")]
    assert len(wrong) == 2
    assert "not the one that was announced" in wrong[0]
    assert reply.answer.status == "ACKNOWLEDGED"


@rule("R-PLAYER-02")
def test_a_move_that_the_player_did_not_make_is_said_aloud():
    role = a_player()
    ask(role, CALL)
    role.handle(StrategyReturned(1, "even"), BEGAN)
    draw = Draw("c", "00", [(0, "P01", "odd")])

    ask(role, GameOver(GameResult("DRAW"), **GAME, game_type="even_odd", draw=draw))

    assert any("you moved 'odd', and you moved 'even'" in sentence for sentence in role.news)


@rule("R-PLAYER-02")
def test_in_a_league_of_ours_every_draw_agrees():
    league = MemoryLeague(players=4, referees=2).fill().play()

    news = [sentence for host in league.hosts[3:] for sentence in host.role.news]
    assert [sentence for sentence in news if "WRONG" in sentence] == []
    assert sum("The league is over" in sentence for sentence in news) == 4


def test_hooks_hear_of_rounds_results_tables_and_the_end():
    role = a_player()
    role.hook_calls = deque()
    result = GameResult("WIN", "P01", choices={"P01": "even", "P02": "odd"})
    table = LeagueStandingsUpdate(round_id=1, standings=[StandingRow(1, "P01", "Ann", points=3)])
    end = LeagueCompleted(league_id="league_test", champion=Champion("P01", "Ann", 3))
    for message in (ANNOUNCED, ANNOUNCED, GameOver(result, **GAME), GameOver(result, **GAME)):
        ask(role, message)
    ask(role, table)
    _, call = ask(role, end)
    role.handle(
        Answered(call.key, LeagueQueryResponse(status="LEAGUE_COMPLETED"), None, 0.1), BEGAN
    )

    heard = dict(role.hook_calls)
    assert [name for name, _ in role.hook_calls] == ["round", "result", "standings", "league_end"]
    assert (heard["round"]["league_id"], heard["round"]["opponent_id"]) == ("league_test", "P02")
    assert heard["round"]["matches"][1] == {"match_id": "R1M2", "player_ids": ["P03", "P04"]}
    assert heard["result"]["won"]
    assert heard["standings"][0]["points"] == 3
    assert heard["league_end"]["champion"]["display_name"] == "Ann"


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (GameResult("WIN", "P01", reason="Even."), "R1M1: won. Even."),
        (GameResult("WIN", "P02", reason="Odd."), "R1M1: lost. Odd."),
        (GameResult("DRAW", None, reason="Both even."), "R1M1: drawn. Both even."),
        (GameResult("DRAW", None), "R1M1: drawn."),
        (GameResult("TECHNICAL_LOSS", None, reason="Both silent."), "R1M1: lost. Both silent."),
    ],
)
def test_how_a_match_ended_is_said_as_its_player_sees_it(result, said):
    role = a_player()

    ask(role, GameOver(result, **GAME))

    assert role.news[-1] == said


def test_how_a_match_ended_names_the_opponent_as_far_as_it_is_known():
    role, result = a_player(), GameResult("WIN", "P01", choices={"P01": "even", "P02": "odd"})

    ask(role, GameOver(result, **GAME))
    ask(role, LeagueStandingsUpdate(round_id=1, standings=[StandingRow(1, "P02", "Bob")]))
    ask(role, GameOver(result, **GAME | {"match_id": "R2M1"}))

    first, second = [each for each in role.news if "against" in each]
    assert (first, second) == ("R1M1 against P02: won.", "R2M1 against P02 Bob: won.")


def test_a_round_with_a_bye_has_no_opponent():
    seen = seen_by("P05", ANNOUNCED)

    assert (seen["match_id"], seen["opponent_id"], seen["byes"]) == (None, None, ["P05"])


def test_what_earlier_runs_kept_is_there_when_it_has_registered():
    role = a_player(registered=False)
    role.kept = [
        {"league_id": league_id, "player_id": "P01", "match_id": "R1M1", "opponent_name": "Bob"}
        for league_id in ("league_old", "league_test")
    ]
    role.handle(Answered(RegisterKey(), ACCEPTED, None, 0.1), BEGAN)

    turn = ask(role, CALL)[0].turn

    assert [match["league_id"] for match in turn.past] == ["league_old"]
    assert [match["league_id"] for match in turn.history] == ["league_test"]


def test_it_thinks_about_no_more_than_64_moves_at_once():
    role = a_player()
    for number in range(64):
        assert isinstance(ask(role, CALL, number)[0], RunStrategy)

    (reply,) = ask(role, CALL, 64)

    assert isinstance(reply.answer, RateLimited)


def test_each_match_has_a_token_of_its_own():
    role = a_player()

    tokens = [
        ask(role, GameInvitation(**{**GAME, "match_id": match_id}))[0].answer.auth_token
        for match_id in ("R1M1", "R1M1", "R2M1")
    ]

    assert tokens[0] == tokens[1] != tokens[2]


@pytest.mark.parametrize(
    ("deadline", "seconds"), [("2023-11-14T22:13:45Z", 25.0), ("", 30.0), ("soon", 30.0)]
)
def test_a_strategy_is_told_how_long_it_has(deadline, seconds):
    call = msgspec.structs.replace(CALL, deadline=deadline)

    assert ask(a_player(), call)[0].turn.seconds_left == seconds


def test_asked_before_it_knows_its_id_it_answers_under_the_one_it_is_called_by():
    (reply,) = ask(a_player(registered=False), GameInvitation(**GAME))

    assert reply.answer.player_id == "P01"


def test_without_a_seed_nobody_can_foretell_a_players_chance():
    async def seeds():
        found = []
        for _ in range(2):
            agent = await open_player(
                lambda url: PlayerSettings(
                    display_name="Ann", endpoint=url, manager_url="http://127.0.0.1:9/mcp"
                ),
                strategies.random,
                Place(18600, hosts=("127.0.0.1",)),
            )
            found.append(agent.host.role.memory.turn(CALL, "P01", 1.0).rng.random())
            await agent.stop()
        return found

    first, second = asyncio.run(seeds())

    assert first != second


@pytest.mark.parametrize(
    ("code", "name", "said"),
    [
        ("E004", "INVALID_PARITY_CHOICE", "R1M1: an illegal move: A throw must be 'rock'"),
        ("E001", "TIMEOUT_ERROR", "R1M1: TIMEOUT_ERROR: A throw must be 'rock'"),
        ("E001", "", "R1M1: A throw must be 'rock'"),
    ],
)
def test_an_error_is_told_without_the_name_that_speaks_of_one_game(code, name, said):
    role = a_player()
    words = {"error_code": code, "error_name": name, "error_message": "A throw must be 'rock'"}

    ask(role, GameError(**GAME, **words))

    assert list(role.news)[-1] == said


# After a loss of rows

PROVED = msgspec.structs.replace(ACCEPTED, match_tokens=True)
SIGNED = match_token(channel_key(TOKEN), "ref>player", "league_test", "R1M1", "P01", 1)
FIRST = GameOver(
    GameResult("WIN", "P01", 8),
    **GAME,
    auth_token=SIGNED,
    receipt=Receipt(41, "ab" * 32, seal="cd" * 20),
)


def test_a_player_that_is_told_another_result_says_so_and_keeps_the_first_receipt():
    role = a_player(accepted=PROVED)
    ask(role, FIRST)
    later = Receipt(12, "ef" * 32, seal="01" * 20)
    other = msgspec.structs.replace(FIRST, game_result=GameResult("WIN", "P02", 7), receipt=later)

    for message in (FIRST, other):
        ask(role, message)

    assert sum("TOLD ANOTHER RESULT" in sentence for sentence in role.news) == 1
    assert len(role.memory.history) == 1
    assert role.state.receipt == FIRST.receipt


def test_a_result_of_lost_draws_is_acknowledged_and_forgotten():
    role = a_player(accepted=PROVED)
    anew = [msgspec.structs.replace(ANNOUNCED.matches[0], draw_generation=7)]
    ask(role, msgspec.structs.replace(ANNOUNCED, matches=anew))

    (reply,) = ask(role, FIRST)

    assert reply.answer.status == "ACKNOWLEDGED"
    assert len(role.memory.history) == 0
    assert role.state.receipt is None


@pytest.mark.parametrize(
    ("accepted", "message"),
    [
        (ACCEPTED, FIRST),  # Anybody could have sent it.
        (PROVED, msgspec.structs.replace(FIRST, receipt=Receipt(41, "ab" * 32))),  # No seal.
        (PROVED, msgspec.structs.replace(FIRST, receipt=UNSET)),
    ],
)
def test_only_a_sealed_receipt_of_a_proved_result_is_kept(accepted, message):
    role = a_player(accepted=accepted)

    ask(role, message)

    assert len(role.memory.history) == 1
    assert role.state.receipt is None


def test_before_it_is_registered_again_no_empty_names_and_token_are_a_referee_s():
    role = Player(PlayerSettings(display_name="Ann", endpoint="http://ann/mcp", seed="7"))
    role.remember(AgentState("P01", "league_test", TOKEN, match_tokens=True))
    role.handle(Started(0.0), BEGAN)

    names = dict.fromkeys(("league_id", "match_id", "player_id", "auth_token"), "")
    ask(role, GameOver(GameResult("WIN", "P01", 8), **names, epoch=0))

    assert not role.memory.history


def test_before_it_is_registered_again_no_new_receipt_takes_the_place_of_the_kept_one():
    role = Player(PlayerSettings(display_name="Ann", endpoint="http://ann/mcp", seed="7"))
    kept = Receipt(99, "12" * 32, seal="34" * 20)
    role.remember(AgentState("P01", "league_test", TOKEN, match_tokens=True, receipt=kept))
    role.handle(Started(0.0), BEGAN)

    ask(role, FIRST)
    (again,) = role.handle(Woken(RegisterKey()), BEGAN + 1.0)

    assert len(role.memory.history) == 1
    assert again.message.player_meta.receipt == kept
