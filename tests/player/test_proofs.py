"""A player believes its manager by proof, once the manager has promised to prove its messages."""

import msgspec
import pytest
from msgspec import UNSET

from agentleague.errors import NoConnection, TokenInvalid
from agentleague.player.role import Player
from agentleague.protocol.codec import write_request
from agentleague.protocol.draws import commitment
from agentleague.protocol.messages import (
    Champion,
    Draw,
    GameInvitation,
    GameOver,
    GameResult,
    LeagueCompleted,
    LeagueErrorAck,
    LeagueErrorMessage,
    LeagueQueryResponse,
    LeagueRegisterResponse,
    LeagueStandingsUpdate,
    RoundAnnouncement,
    RoundCompleted,
    RoundMatch,
    StandingRow,
)
from agentleague.protocol.tokens import channel_key, match_token, proof, proof_key
from agentleague.roles.agent import UNPROVED, AgentState, RegisterKey
from agentleague.roles.effects import Call, End, Reply, WakeAt
from agentleague.roles.settings import PlayerSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Started, Woken
from memory_league import BEGAN
from rules import rule

TOKEN, LEAGUE = "tok_P01_x", "league_test"
ACCEPTED = LeagueRegisterResponse(
    "ACCEPTED", "P01", LEAGUE, match_tokens=True, proofs=True, auth_token=TOKEN
)
STATE = AgentState("P01", LEAGUE, TOKEN, proofs=True, match_tokens=True)
SEED = bytes(32)
AWAY = NoConnection("the manager is away")


def row(sealed):
    return [RoundMatch("R1M1", "even_odd", "P01", "P02", draw_commitment=sealed)]


TRUE, FALSE = commitment(SEED, LEAGUE, "R1M1"), "f" * 64
ANNOUNCED = RoundAnnouncement(league_id=LEAGUE, round_id=1, matches=row(TRUE))
FORGED = RoundAnnouncement(league_id=LEAGUE, round_id=1, matches=row(FALSE))
TABLE = LeagueStandingsUpdate(league_id=LEAGUE, standings=[StandingRow(1, "P02", points=9)])
ERROR = LeagueErrorMessage(
    error_code="E045",
    error_name="LEAGUE_NOT_FOUND",
    error_message=f"{TOKEN} asked for league 'x', which is not played here",
    original_message_type="LEAGUE_QUERY",
)
OVER = LeagueCompleted(
    LEAGUE, champion=Champion("P01", "Ann", 3), final_standings=[StandingRow(1, "P01", points=3)]
)


def a_player(state=None, accepted=ACCEPTED):
    role = Player(PlayerSettings(display_name="Ann", endpoint="http://ann/mcp", seed="7"))
    if state:
        role.remember(state)
    role.handle(Started(0.0), BEGAN)
    if accepted:
        registered(role, accepted)
    return role


def registered(role, accepted=ACCEPTED):
    return role.handle(Answered(RegisterKey(), accepted, None, 0.1), BEGAN)


def a_caller(message, *tokens, league=LEAGUE, agent="P01", body=None):
    """Who sends this message, proved for each of these tokens."""
    sent = write_request(message, 1)
    keys = [proof_key(token, league, agent) for token in tokens]
    shown = proof(keys, sent) if keys else ""
    head = b"POST /mcp HTTP/1.1\r\nx-league-proof: " + shown.encode() if shown else b""
    return Caller("127.0.0.1", head=head, body=body or sent)


def tell(role, message, *tokens, **proved):
    return role.handle(Asked(message, a_caller(message, *tokens, **proved), 1), BEGAN)


def doubts(role):
    """What it says of a draw that was honest."""
    names = {"league_id": LEAGUE, "round_id": 1, "match_id": "R1M1", "player_id": "P01"}
    result = GameResult("TECHNICAL_LOSS", "P01")
    over = GameOver(result, **names, game_type="even_odd", draw=Draw(TRUE, SEED.hex()))
    token = role._tokens(over)[0]
    role.handle(Asked(msgspec.structs.replace(over, auth_token=token), Caller("x"), 2), BEGAN)
    return [sentence for sentence in role.news if "DRAW" in sentence]


def refused(effects):
    return [type(effect.answer) for effect in effects] == [TokenInvalid]


@rule("R-PROOF-03", "R-ERR-12")
@pytest.mark.parametrize("message", [FORGED, TABLE, RoundCompleted(LEAGUE, 1), ERROR])
def test_a_message_that_its_manager_did_not_prove_changes_nothing(message):
    role = a_player()

    assert refused(tell(role, message))
    assert refused(tell(role, message, "tok_P01_guessed"))
    assert refused(tell(role, message, TOKEN, agent="P02"))  # It was meant for another agent,
    assert refused(tell(role, message, TOKEN, league="league_other"))  # of another league,
    assert refused(tell(role, message, TOKEN, body=b"{}"))  # or for another body.
    assert list(role.memory.standings) == []
    assert doubts(role) == []
    name = message.__struct_config__.tag
    assert list(role.news)[1:-1] == [f"{name}: refused one that its manager did not send."]


@rule("R-PROOF-03")
def test_a_message_that_its_manager_proved_is_believed():
    role = a_player()

    (acknowledged,) = tell(role, ANNOUNCED, "tok_P01_older", TOKEN)
    tell(role, TABLE, TOKEN)

    assert acknowledged.answer.status == "ACKNOWLEDGED"
    assert [each["player_id"] for each in role.memory.standings] == ["P02"]
    assert doubts(role) == []


@rule("R-ERR-12")
def test_what_the_manager_refused_is_acknowledged_and_told_to_the_author_once_of_each_kind():
    role = a_player()
    role.news.clear()

    (reply,) = tell(role, ERROR, TOKEN)
    for number in range(100):  # Whoever sends them does not fill the screen.
        tell(role, msgspec.structs.replace(ERROR, error_message=str(number)), TOKEN)
        tell(role, msgspec.structs.replace(ERROR, error_code=f"E{number:03}"), TOKEN)

    assert isinstance(reply.answer, LeagueErrorAck)
    assert (reply.answer.player_id, reply.answer.status) == ("P01", "ACKNOWLEDGED")
    assert role.news[0] == (
        "The manager refused LEAGUE_QUERY: E045 LEAGUE_NOT_FOUND: tok_… asked for league 'x', "
        "which is not played here"
    )
    assert len(role.news) == 20


@rule("R-ERR-12")
def test_what_comes_before_the_registration_is_answered_is_told_after_it():
    role = a_player(accepted=None)

    action = {"action": "REGISTER"}  # Document 001 has it here alone.
    (reply,) = tell(role, LeagueErrorMessage(error_description="LEAGUE_FULL", context=action))
    said = list(role.news)
    registered(role, msgspec.structs.replace(ACCEPTED, proofs=UNSET))

    assert (reply.answer.player_id, reply.answer.sender) == ("", "player:Ann")
    assert said == []
    assert role.news[-1] == "The manager refused REGISTER: LEAGUE_FULL"


@rule("R-PROOF-03")
def test_the_proved_commitment_still_finds_a_wrong_draw():
    role = a_player()
    tell(role, FORGED, TOKEN)  # The manager itself is wrong.

    assert len(doubts(role)) == 1


@rule("R-PLAYER-04")
@rule("R-PROOF-04")
def test_a_proved_end_is_its_end_at_once():
    role = a_player()

    reply, end = tell(role, OVER, TOKEN)

    assert isinstance(reply, Reply)
    assert end == End(OVER)


@rule("R-PLAYER-04")
@rule("R-PROOF-04")
def test_an_end_without_proof_is_never_believed_while_the_manager_is_away():
    role = a_player()
    (_, call), now = tell(role, OVER), BEGAN

    while now < BEGAN + 1000.0:
        (wait,) = role.handle(Answered(call.key, None, AWAY, 0.1), now)
        assert isinstance(wait, WakeAt)
        now = wait.when
        (call,) = role.handle(Woken(wait.key), now)

    assert call.message.query_type == "GET_STATUS"
    assert tell(role, OVER, TOKEN)[-1] == End(OVER)


@rule("R-PROOF-04")
def test_of_an_end_without_proof_that_the_manager_confirms_nothing_else_is_believed():
    role = a_player()
    _, call = tell(role, OVER)
    said = LeagueQueryResponse("GET_STATUS", status="LEAGUE_COMPLETED")

    assert role.handle(Answered(call.key, said, None, 0.1), BEGAN) == [End(LeagueCompleted(LEAGUE))]


@rule("R-PROOF-05")
def test_after_a_restart_nothing_is_believed_without_proof_before_the_manager_answers():
    role = a_player(STATE, accepted=None)

    tell(role, FORGED)
    _, asks = tell(role, OVER)
    assert isinstance(asks, Call)
    assert role.handle(Answered(asks.key, None, AWAY, 0.1), BEGAN) == []
    registered(role)

    assert doubts(role) == []
    assert tell(a_player(STATE, accepted=None), OVER, TOKEN)[-1] == End(OVER)


@rule("R-PROOF-05")
def test_a_renewed_token_proves_and_so_does_the_one_before_it():
    role = a_player(STATE, msgspec.structs.replace(ACCEPTED, auth_token="tok_P01_new"))

    assert not refused(tell(role, ANNOUNCED, TOKEN))  # It was under way.
    assert not refused(tell(role, ANNOUNCED, TOKEN, "tok_P01_new"))
    assert role.state == msgspec.structs.replace(STATE, token="tok_P01_new")


@rule("R-PROOF-05")
@pytest.mark.parametrize("promised", [UNSET, False])
def test_a_manager_that_stops_proving_is_believed_and_that_is_said(promised):
    role = a_player(STATE, msgspec.structs.replace(ACCEPTED, proofs=promised))

    assert UNPROVED in role.news
    assert not refused(tell(role, ANNOUNCED))
    assert UNPROVED not in a_player(None, msgspec.structs.replace(ACCEPTED, proofs=UNSET)).news


@rule("R-PROOF-05")
@pytest.mark.parametrize(("promised", "is_believed"), [(True, False), (UNSET, True)])
def test_what_comes_before_the_first_answer_is_judged_after_it(promised, is_believed):
    role = a_player(accepted=None)
    early = RoundAnnouncement(league_id=LEAGUE, round_id=1, matches=row(FALSE))

    (acknowledged,) = tell(role, early)
    for _ in range(20):
        tell(role, TABLE)
    registered(role, msgspec.structs.replace(ACCEPTED, proofs=promised))

    assert acknowledged.answer.status == "ACKNOWLEDGED"
    assert bool(doubts(role)) is is_believed
    assert bool(list(role.memory.standings)) is is_believed


@rule("R-PROOF-05")
def test_a_proved_message_that_overtook_the_first_answer_counts():
    role = a_player(accepted=None)

    tell(role, FORGED, TOKEN)  # The manager itself is wrong.
    tell(role, OVER, TOKEN)

    assert registered(role) == [End(OVER)]
    assert len(doubts(role)) == 1


@rule("R-PROOF-05")
def test_a_player_that_came_back_takes_in_what_is_proved_for_its_token_before_it_is_registered():
    role = a_player(STATE, accepted=None)
    (match,) = ANNOUNCED.matches
    anew = msgspec.structs.replace(match, draw_generation=1)

    tell(role, ANNOUNCED, TOKEN)
    for _ in range(20):
        tell(role, FORGED)  # A stranger: that waits, and leaves no room for more.
    tell(role, msgspec.structs.replace(ANNOUNCED, matches=[anew]), TOKEN)
    tell(role, TABLE, TOKEN)

    assert "(generation 1)" in role.news[-1]
    assert [each["points"] for each in role.memory.standings] == [9]
    assert tell(role, OVER, TOKEN)[1:] == [End(OVER)]
    assert role.news[-1] == "The league is over. P01 is number 1, with 3 points."


@pytest.mark.parametrize(
    ("rows", "champion", "said"),
    [
        ("1 P01, 1 P02", "P01", "1, with 3 points, level with 1 other; it was drawn by lot as the"),
        ("1 P01, 1 P02", "P02", "1, with 3 points, level with 1 other; P02 Ann was drawn by lot"),
        ("1 P02, 2 P01, 2 P03, 2 P04", "P02", "2, with 3 points, level with 2 others."),
        ("1 P02, 2 P01", "P02", "2, with 3 points."),
    ],
)
def test_at_the_end_a_player_hears_who_shares_its_rank_and_whom_the_lot_made_champion(
    rows, champion, said
):
    role = a_player()
    table = [StandingRow(int(row[0]), row[2:], points=3) for row in rows.split(", ")]
    drawn = Champion(champion, "Ann", 3)
    over = LeagueCompleted(LEAGUE, champion=drawn, final_standings=table)

    tell(role, over, TOKEN)

    assert role.news[-1].startswith(f"The league is over. P01 is number {said}")


@rule("R-PLAYER-02")
def test_a_number_is_not_doubted_before_its_bounds_are_known():
    role = a_player(STATE, accepted=None)
    sealed = commitment(SEED, LEAGUE, "R1M1")
    result = GameResult("WIN", "P01", drawn_number=77)
    over = GameOver(
        result,
        **{"league_id": LEAGUE, "match_id": "R1M1", "player_id": "P01"},
        **{"game_type": "even_odd", "draw": Draw(sealed, SEED.hex())},
    )
    over = msgspec.structs.replace(over, auth_token=role._tokens(over)[0])

    role.handle(Asked(over, Caller("x"), 2), BEGAN)
    assert "DRAW" not in role.news[-1]
    registered(role)
    role.handle(Asked(over, Caller("x"), 3), BEGAN)
    assert "THE DRAW IS WRONG" in role.news[-1]


def test_a_player_that_came_back_without_its_token_says_what_that_means():
    role = a_player(None, msgspec.structs.replace(ACCEPTED, match_tokens=False))

    assert role.news[-1].startswith("It came back without the token of its earlier run")
    assert refused(tell(role, FORGED))  # The manager proves its messages all the same.


INVITED = GameInvitation(league_id=LEAGUE, round_id=1, match_id="R1M1", player_id="P01", epoch=1)


def invite(role, token, number=7):
    """An invitation with the match token that follows from this league token."""
    names = (LEAGUE, "R1M1", "P01", 1)
    shown = match_token(channel_key(token), "ref>player", *names)
    message = msgspec.structs.replace(INVITED, auth_token=shown)
    return role.handle(Asked(message, Caller("127.0.0.1"), number), BEGAN)


@rule("R-PLAYER-03")
def test_after_a_restart_it_answers_its_referee_before_the_manager_is_there():
    role = a_player(STATE, accepted=None)
    role.handle(Answered(RegisterKey(), None, AWAY, 0.1), BEGAN)

    (joined,) = invite(role, TOKEN)

    assert joined.answer.accept is True


@rule("R-PLAYER-03")
def test_after_a_restart_others_wait_until_the_manager_has_said_which_token_it_has():
    role = a_player(STATE, accepted=None)

    assert invite(role, "tok_P01_new", 7) == []
    assert invite(role, "tok_P01_strange", 8) == []
    joined, asks = registered(role, msgspec.structs.replace(ACCEPTED, auth_token="tok_P01_new"))

    assert (joined.to, joined.answer.accept) == (7, True)
    assert asks.message.query_type == "GET_MATCH"  # Whose match that is.


@rule("R-PLAYER-03")
def test_after_a_restart_it_keeps_only_so_many_waiting():
    role = a_player(STATE, accepted=None)

    answers = [invite(role, "tok_P01_strange", number) for number in range(20)]

    assert answers[:16] == [[]] * 16
    assert refused(answers[16])


def test_it_keeps_whether_its_referees_show_match_tokens():
    assert a_player().state == STATE
    assert a_player(None, msgspec.structs.replace(ACCEPTED, match_tokens=UNSET)).state == (
        msgspec.structs.replace(STATE, match_tokens=False)
    )
