"""What foreign managers and referees send, read leniently."""

import json

import msgspec
from msgspec import UNSET

from agentleague.dialects import lenient, requests
from agentleague.errors import InvalidRequest, MissingField, UnknownMethod, UnreadableJson
from agentleague.protocol import codec
from agentleague.protocol.jsonrpc import Envelope, Form
from agentleague.protocol.messages import (
    WIRE_NAME,
    ChooseParityCall,
    ChooseParityResponse,
    GameInvitation,
    GameJoinAck,
    GameMoveResponse,
    GameOver,
    GameOverAck,
    LeagueStandingsUpdate,
)
from rules import rule
from tables import each_row

TAKEN, REFEREE = codec.taken_by("player"), codec.taken_by("referee")


def rpc(method, params, **more):
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": 5, **more}


def read(request):
    body = request if isinstance(request, bytes) else json.dumps(request).encode()
    return lenient.read_request(body, TAKEN, thorough=False)


def told(envelope, message):
    return json.loads(lenient.write_answer(envelope, message))


def test_what_fits_is_read_as_always():
    request = json.dumps(rpc("handle_game_invitation", {"match_id": "M1", "round_id": 2})).encode()

    assert lenient.read_request(request, TAKEN) == requests.read_request(request, TAKEN)


@rule("R-GUEST-05")
@each_row(
    ("field", "value", "read_as"),
    [
        ("round_id", "R3", 3),
        ("round_id", "the final", 0),
        ("round_id", None, 0),
        ("match_id", 7, "7"),
        ("auth_token", None, UNSET),
        ("league_id", ["x"], ""),
        ("timestamp", "2025-01-15 10:30:00", ""),
        ("timestamp", 1736937000, ""),
        ("protocol", "league.v1", "league.v2"),
        ("sender", None, ""),
    ],
)
def test_a_field_that_does_not_fit_is_corrected_or_left_out(field, value, read_as):
    message = read(rpc("GAME_INVITATION", {"match_id": "M1", field: value})).message

    assert isinstance(message, GameInvitation)
    assert getattr(message, field) == read_as


def test_it_does_so_in_every_form():
    message = {"message_type": "CHOOSE_PARITY_CALL", "match_id": "M1", "context": None}
    message["timestamp"] = "2025-01-15T10:30:00Z"
    requests = [
        rpc("choose_parity", message),
        rpc("handle_message", {"message": message}),
        rpc("tools/call", {"name": "choose_parity", "arguments": message}),
        message,
    ]

    for request in requests:
        incoming = read(request)
        assert isinstance(incoming.message, ChooseParityCall)
        assert incoming.message.match_id == "M1"
        assert incoming.message.timestamp == "2025-01-15T10:30:00Z"
        assert incoming.error is None


def test_rows_that_do_not_fit_are_left_out_of_a_table():
    rows = [{"rank": 1}, {"rank": "2", "player_id": "P02"}, {"rank": 3, "player_id": "P03"}]

    message = read(rpc("update_standings", {"standings": rows})).message

    assert isinstance(message, LeagueStandingsUpdate)
    assert [(row.rank, row.player_id) for row in message.standings] == [(2, "P02"), (3, "P03")]


@rule("R-GUEST-05")
@each_row(
    ("fields", "status", "winner"),
    [
        ({"game_result": {"status": "win", "winner": "P01"}}, "WIN", "P01"),
        ({"game_result": {"winner_player_id": "P01"}, "round_id": "R1"}, "WIN", "P01"),
        ({"result": {"winner": "DRAW"}}, "DRAW", None),
        ({"winner_id": "P02", "status": "technical_loss"}, "TECHNICAL_LOSS", "P02"),
        ({"game_result": "you lost"}, "DRAW", None),
        ({"game_result": {"winner": None, "status": "technical_loss"}}, "TECHNICAL_LOSS", None),
        ({"results": {"P01": "FORFEIT", "P02": "FORFEIT"}}, "TECHNICAL_LOSS", None),
        ({"game_result": {"status": "DRAW", "winner_player_id": ""}, "round_id": []}, "DRAW", None),
    ],
)
def test_how_a_match_ended_is_found_wherever_it_stands(fields, status, winner):
    message = read(rpc("game_over", {"match_id": "M1", **fields})).message

    assert isinstance(message, GameOver)
    assert (message.game_result.status, message.game_result.winner_player_id) == (status, winner)


INNER = {"match_id": "M1", "role_in_match": "PLAYER_A", "opponent_id": "P02"}


@rule("R-GUEST-05")
@each_row(
    "request_",
    [
        rpc("GAME_INVITATION", {"game_invitation": INNER}),
        rpc("handle_game_invitation", {"match_id": None, "payload": INNER}),
        rpc("GAME_INVITATION", {"game_id": "M1", "opponent_id": "P02"}),
        rpc("protocol/message", {"message": {"message_type": "GAME_INVITE", **INNER}}),
        rpc("protocol/message", {"type": "GAME_INVITATION", **INNER}),
        rpc("to_player", INNER),
        {"message_type": "GAME_INVITE", "invitation": INNER},
    ],
)
def test_an_invitation_is_read_wherever_its_content_stands(request_):
    message = read(request_).message

    assert isinstance(message, GameInvitation)
    assert (message.match_id, message.opponent_id) == ("M1", "P02")


@rule("R-GUEST-05")
@each_row(
    ("fields", "opponent_id"),
    [
        ({"parity_context": {"opponent_id": "P02", "round_id": "R3"}}, "P02"),
        ({"context": None, "game_context": {"opponent_id": "P02"}}, "P02"),
        ({"context": {}, "opponent_id": "P02"}, "P02"),
        ({"context": {"opponent_id": "P02"}, "opponent_id": "P03"}, "P02"),
        ({"context": {}}, ""),
    ],
)
def test_a_call_for_a_move_has_its_context_under_any_name(fields, opponent_id):
    message = read(rpc("CHOOSE_PARITY_CALL", {"match_id": "M1", **fields})).message

    assert isinstance(message, ChooseParityCall)
    assert message.context.opponent_id == opponent_id


@rule("R-GUEST-05")
@each_row(
    ("fields", "message_type"),
    [
        ({"winner_id": "P01"}, "GAME_OVER"),
        ({"error_code": "E001"}, "GAME_ERROR"),
        ({"deadline": ""}, "CHOOSE_PARITY_CALL"),
    ],
)
def test_what_nothing_names_is_known_by_its_content(fields, message_type):
    message = read(rpc("to_player", {"match_id": "M1", **fields})).message

    assert WIRE_NAME[type(message)] == message_type


@rule("R-GUEST-05")
@each_row(
    ("method", "message_type"),
    [
        ("invite_player", "GAME_INVITATION"),
        ("makeMove", "CHOOSE_PARITY_CALL"),
        ("get_parity_choice", "CHOOSE_PARITY_CALL"),
        ("on_match_result_known", "GAME_OVER"),
        ("RoundAnnounced", "ROUND_ANNOUNCEMENT"),
        ("LEAGUE_OVER", "LEAGUE_COMPLETED"),
        ("league_finished", "LEAGUE_COMPLETED"),
        ("leagueEnded", "LEAGUE_COMPLETED"),
        ("MATCH_OVER", "GAME_OVER"),
    ],
)
def test_a_name_that_nobody_knows_is_taken_for_what_it_is_most_like(method, message_type):
    for request in (
        rpc(method, {"match_id": "M1"}),
        rpc("tools/call", {"name": method, "arguments": {"match_id": "M1"}}),
        {"message_type": method, "match_id": "M1"},
    ):
        assert WIRE_NAME[type(read(request).message)] == message_type


def test_a_match_is_started_however_much_of_the_message_does_not_fit():
    told = {"match_id": "M1", "player_a": "P01", "player_b": "P02", "timestamp": "soon"}

    for method in ("start_match", "run_a_match"):
        message = lenient.read_request(json.dumps(rpc(method, told)).encode(), REFEREE).message
        assert (message.matches[0].player_B_id, message.timestamp) == ("P02", "")
    without = json.dumps(rpc("start_match", {"match_id": "M1"})).encode()
    assert isinstance(lenient.read_request(without, REFEREE).error, MissingField)


def test_a_pushed_answer_keeps_its_content_whatever_else_does_not_fit():
    def pushed(method, **fields):
        request = rpc(method, {"match_id": "M1", "timestamp": "soon", **fields})
        return lenient.read_request(json.dumps(request).encode(), REFEREE)

    assert pushed("GAME_JOIN_ACK", accepted=False).message.accept is False
    assert pushed("CHOOSE_PARITY_RESPONSE", choice="even").message.parity_choice == "even"
    assert isinstance(pushed("GAME_JOIN_ACK", status="error").error, MissingField)


def test_a_corrected_announcement_names_its_players_too():
    rows = [{"match_id": "M1", "player1": "P01", "player2": "P02"}]

    (match,) = read(rpc("notify_round", {"matches": rows, "round_id": "R2"})).message.matches

    assert (match.player_A_id, match.player_B_id) == ("P01", "P02")


@each_row(
    ("request_", "error"),
    [
        (rpc("sing", {}), UnknownMethod),
        (rpc("display_players", {}), UnknownMethod),
        (rpc("LOCK_REQUEST", {"match_id": 7}), UnknownMethod),
        (rpc("game_over", []), MissingField),
        (rpc("sing", []), MissingField),
        (b'{"jsonrpc":"2.0","method":"sing","x":1e999}', UnknownMethod),
        (b"{", UnreadableJson),
        ([], InvalidRequest),
        ({"match_id": "M1"}, InvalidRequest),
    ],
)
def test_what_is_no_message_is_refused_all_the_same(request_, error):
    incoming = read(request_)

    assert incoming.message is None
    assert isinstance(incoming.error, error)


def test_a_message_of_which_too_little_is_left_is_refused():
    misfit = {"match_id": 1.5}
    few, many = [misfit] * 5, [misfit] * lenient.MISFITS_MAX

    assert read(rpc("notify_round", {"matches": few})).message.matches == []
    assert isinstance(read(rpc("notify_round", {"matches": many})).error, MissingField)


def test_what_lacks_a_field_that_nobody_can_act_without_is_refused(monkeypatch):
    incoming = lenient.read_request(
        json.dumps(rpc("lock_moves", {"match_id": "M1"})).encode(), codec.taken_by("manager")
    )

    assert isinstance(incoming.error, MissingField)


@rule("R-GUEST-05")
def test_a_message_beside_its_method_is_read_and_answered_on_both_levels():
    request = {"jsonrpc": "2.0", "method": "GAME_INVITATION", "id": 5, "match_id": "M1"}

    incoming = read(request)

    assert incoming.envelope.form is Form.HYBRID
    assert incoming.message.match_id == "M1"
    answer = told(incoming.envelope, GameJoinAck("M1", "P01"))
    assert (answer["id"], answer["accept"], answer["result"]["accept"]) == (5, True, True)
    assert lenient.write_answer(Envelope(Form.HYBRID, UNSET), GameJoinAck("M1")) == b""


@rule("R-PLAYER-05")
def test_a_join_without_our_token_is_answered_on_both_levels_and_one_with_it_as_always():
    flat, unsigned = Envelope(id=5), GameJoinAck("M1", "P01", auth_token="mtok_0_1")
    signed = msgspec.structs.replace(unsigned, auth_token="mtok_1")

    both = json.loads(lenient.write_reply(flat, unsigned))

    for place in (both, both["result"]):
        assert (place["accept"], place["accepted"], place["status"]) == (True, True, "ACK")
        assert place["auth_token"] == "mtok_0_1"
    assert both["id"] == 5
    for form in (Form.JSONRPC, Form.BARE, Form.TOOL, Form.NESTED):
        envelope = Envelope(form, "a")
        assert lenient.write_reply(envelope, signed) == codec.write_answer(envelope, signed)
    heard = GameOverAck(match_id="M1")
    assert lenient.write_reply(flat, heard) == codec.write_answer(flat, heard)


@rule("R-GUEST-05")
def test_an_answer_says_the_same_in_several_words():
    flat = Envelope(id=5)

    joined = told(flat, GameJoinAck("M1", "P01"))["result"]
    declined = told(flat, GameJoinAck("M1", "P01", accept=False))["result"]
    chosen = told(flat, ChooseParityResponse("odd", "M1"))["result"]
    moved = told(Envelope(Form.BARE), GameMoveResponse(4, "M1"))
    heard = told(flat, GameOverAck(match_id="M1"))["result"]

    assert (joined["accept"], joined["accepted"], joined["status"]) == (True, True, "ACK")
    assert (declined["accept"], declined["accepted"], declined["status"]) == (
        *(False, False, "DECLINED"),
    )
    assert (chosen["parity_choice"], chosen["choice"]) == ("odd", "odd")
    assert (moved["move"], moved["choice"]) == (4, 4)
    assert heard["status"] == "ACKNOWLEDGED"
