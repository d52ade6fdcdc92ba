"""What a referee writes during a match: every field, and whose token is where."""

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentleague.games import even_odd
from agentleague.protocol.messages import (
    ChooseParityCall,
    Draw,
    Exchange,
    GameInvitation,
    GameMoveCall,
    GameOver,
    GameResult,
    LockRequest,
    MatchResultReport,
    MoveContext,
    PlayerRecord,
    Receipt,
    ReportedResult,
    ResultDetails,
)
from games.throwaway import THROWAWAY
from league.decisions import LEAGUE_ID
from match.ann_and_bob import (
    REFEREE_TOKEN,
    OfflineLeague,
    answer,
    calls,
    choose,
    decided,
    locking,
    match_of,
    playing,
    step_of,
)
from rules import rule

TO_ANN = {
    "protocol": "league.v2",
    "sender": "referee:REF01",
    "conversation_id": "conv-r1m1-001",
    "auth_token": "mtok_ann",
    "league_id": LEAGUE_ID,
    "round_id": 1,
    "match_id": "R1M1",
    "player_id": "P01",
    "epoch": 1,
    "referee_endpoint": "http://127.0.0.1:8001/mcp",
}
TO_MANAGER = {
    "protocol": "league.v2",
    "sender": "referee:REF01",
    "auth_token": REFEREE_TOKEN,
}
RESULT = GameResult("WIN", "P01", 8, "even", {"P01": "even", "P02": "odd"}, "P01 chose even")


@rule("R-MATCH-16")
def test_the_invitation_has_all_its_fields():
    ann, bob = (call.message for call in calls(match_of().start(1.0)))

    assert ann == GameInvitation(
        **TO_ANN,
        timestamp="1970-01-01T00:00:01Z",
        game_type="even_odd",
        role_in_match="PLAYER_A",
        opponent_id="P02",
    )
    assert (bob.role_in_match, bob.opponent_id, bob.player_id) == ("PLAYER_B", "P01", "P02")
    assert bob.auth_token == "mtok_bob"


@rule("R-MATCH-16")
def test_the_call_for_a_parity_has_the_record_so_far_and_the_deadline():
    _, asked = playing()

    assert asked[0].message == ChooseParityCall(
        **TO_ANN,
        timestamp="1970-01-01T00:00:00Z",
        game_type="even_odd",
        context=MoveContext("P02", 1, PlayerRecord(2, 1, 0, 6)),
        deadline="1970-01-01T00:00:30Z",
    )
    assert asked[1].message.context == MoveContext("P01", 1, PlayerRecord())


@rule("R-MATCH-04", "R-MATCH-16")
def test_the_call_for_any_other_move_has_the_same_and_the_position():
    _, asked = playing(THROWAWAY["race"])

    assert asked[0].message == GameMoveCall(
        **TO_ANN,
        timestamp="1970-01-01T00:00:00Z",
        game_type="race",
        turn=0,
        position={"turns": []},
        legal_moves=[1, 2],
        context=MoveContext("P02", 1, PlayerRecord(2, 1, 0, 6)),
        deadline="1970-01-01T00:00:30Z",
    )


@rule("R-MATCH-05", "R-MATCH-16")
def test_the_lock_has_the_moves_and_the_referees_token():
    match, _ = playing()
    choose(match, "P01", "even")

    (call,) = choose(match, "P02", "odd", now=2.0)

    assert call.message == LockRequest(
        "R1M1",
        1,
        0,
        [(0, "P01", "even"), (0, "P02", "odd")],
        [],
        **TO_MANAGER,
        conversation_id="conv-r1m1-001",
        timestamp="1970-01-01T00:00:02Z",
    )


@rule("R-MATCH-03", "R-MATCH-16")
def test_game_over_has_result_draw_and_receipt_as_the_league_holds_them():
    draw, receipt = Draw("commitment", "seed", [(0, "P01", "even")]), Receipt(7, "hash")
    match = locking()

    told = answer(match, "lock", "manager", replace(decided(), draw=draw, receipt=receipt))

    assert told[0].message == GameOver(
        RESULT,
        **TO_ANN,
        timestamp="1970-01-01T00:00:00Z",
        game_type="even_odd",
        reason="P01 chose even",
        draw=draw,
        receipt=receipt,
    )
    assert told[1].message.auth_token == "mtok_bob"


ANONYMOUS = "without player_id"  # as the answers of the arena are


@rule("R-MATCH-06", "R-MATCH-16")
def test_the_report_has_winner_score_and_details():
    match = locking()
    answer(match, "lock", "manager", decided())
    answer(match, "over", "P01", None)

    (call,) = answer(match, "over", "P02", None, now=4.0)

    details = ResultDetails(8, {"P01": "even", "P02": "odd"}, "WIN")
    assert call.message == MatchResultReport(
        "R1M1",
        ReportedResult("P01", {"P01": 3, "P02": 0}, details),
        LEAGUE_ID,
        1,
        "even_odd",
        1,
        [
            Exchange(0, "P01", "GAME_INVITATION", 1, "ok", None, 0, ANONYMOUS),
            Exchange(0, "P02", "GAME_INVITATION", 1, "ok", None, 0, ANONYMOUS),
            Exchange(0, "P01", "CHOOSE_PARITY_CALL", 1, "ok", "even", 0, ANONYMOUS),
            Exchange(0, "P02", "CHOOSE_PARITY_CALL", 1, "ok", "odd", 0, ANONYMOUS),
        ],
        silences={"P01": (0, True), "P02": (0, True)},
        **TO_MANAGER,
        conversation_id="conv-r1m1-report",
        timestamp="1970-01-01T00:00:04Z",
    )


@rule("R-MATCH-17")
@pytest.mark.parametrize("game", [even_odd, *THROWAWAY.values()], ids=lambda game: game.name)
def test_players_are_shown_match_tokens_and_the_manager_alone_the_referees(game):
    league = OfflineLeague(game)
    illegal = {"P01": lambda turn, position: 1 if turn == 0 else 99, "P02": lambda *_: 1}

    league.run(league.match.start(0.0), illegal)

    shown = {"P01": "mtok_ann", "P02": "mtok_bob", "league_manager": REFEREE_TOKEN}
    assert all(call.message.auth_token is not UNSET for call in league.calls)
    assert [c.message.auth_token for c in league.calls] == [
        shown[c.to.agent_id] for c in league.calls
    ]
    to_players = [call.message for call in league.calls if call.to.agent_id != "league_manager"]
    assert REFEREE_TOKEN not in repr(to_players)
    steps = {step_of(call) for call in league.calls}
    assert steps == {"join", "move", "error", "lock", "over", "report"}
