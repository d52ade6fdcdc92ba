"""The table of dialects: how each is written."""

import msgspec

from agentleague.dialects.table import DIALECTS, OURS, dialect_of, in_words, is_dialect
from agentleague.dialects.tools import Tool
from agentleague.protocol import codec
from agentleague.protocol.messages import (
    ChooseParityCall,
    GameInvitation,
    GameMoveCall,
    GameOver,
    GameResult,
    LeagueQuery,
    LeagueRegisterRequest,
    MatchResultReport,
    MoveContext,
    PlayerMeta,
    ReportedResult,
    ResultDetails,
)
from rules import rule
from tables import each_row

INVITATION = GameInvitation(match_id="R1M1", player_id="P02", epoch=2)
CALL = ChooseParityCall(match_id="R1M1")
REGISTRATION = LeagueRegisterRequest(PlayerMeta("Ann", "http://ann/mcp"))
OVER = GameOver(GameResult("TECHNICAL_LOSS", "P01", choices={"P01": "even", "P02": None}))
# Dialect -> how it writes an invitation and a call: the method, and where the message stands.
WRITTEN = {
    "tool": ("handle_game_invitation", "parity_choose", ("params",)),
    "choose": ("handle_game_invitation", "choose_parity", ("params",)),
    "type": ("GAME_INVITATION", "CHOOSE_PARITY_CALL", ("params",)),
    "lower": ("game_invitation", "choose_parity_call", ("params",)),
    "message": ("handle_message", "handle_message", ("params", "message")),
    "mcp": ("tools/call", "tools/call", ("params", "arguments")),
    "bare": (None, None, ()),
    "path": (None, None, ()),
    "api": (None, None, ()),
    "named": (None, None, ()),
    "role": (None, None, ()),
}


def written(name, message, tools=None):
    return msgspec.json.decode(DIALECTS[name].write(message, 7, tools))


def inside(request, path):
    for name in path:
        request = request[name]
    return request


def test_every_dialect_of_the_table_has_its_test():
    assert set(WRITTEN) == {name for name in DIALECTS if "+" not in name}


@each_row("name", WRITTEN)
def test_each_dialect_writes_method_and_message_in_its_own_way(name):
    join, move, path = WRITTEN[name]

    for message, method in ((INVITATION, join), (CALL, move)):
        request = written(name, message)
        assert request.get("method") == method
        assert request.get("id", 7) == 7
        assert inside(request, path) == msgspec.to_builtins(message)


@rule("R-DIA-10")
def test_a_registration_may_stand_beside_itself_and_never_does_where_only_documented_fields_do():
    more, plain = written("type+more", REGISTRATION), written("type+plain", REGISTRATION)

    beside = {"display_name": "Ann", "endpoint": "http://ann/mcp", "version": ""}
    assert more["params"].items() >= (beside | {"agent_type": "player", "role": "player"}).items()
    assert more["params"]["player_meta"]["display_name"] == "Ann"
    assert set(plain["params"]) == {*written("type", REGISTRATION)["params"]} - {"auth_token"}


@rule("R-GUEST-03")
@each_row(
    ("winner", "status", "results"),
    [
        ("P02", "WIN", ("LOSS", "WIN")),
        (None, "DRAW", ("DRAW", "DRAW")),
        ("P01", "TECHNICAL_LOSS", ("WIN", "TECHNICAL_LOSS")),
        (None, "TECHNICAL_LOSS", ("TECHNICAL_LOSS", "TECHNICAL_LOSS")),
    ],
)
def test_a_report_also_stands_flat_unless_only_documented_fields_are_taken(winner, status, results):
    details = ResultDetails(4, {"P01": "odd", "P02": "even"}, status)
    report = MatchResultReport("R1M1", ReportedResult(winner, {"P01": 0, "P02": 3}, details))
    told = written("tool", report)["params"]

    assert [told[name] for name in ("winner", "winner_id", "drawn_number")] == [winner, winner, 4]
    for a, b in (("player_A", "player_B"), ("player_a", "player_b"), ("player1", "player2")):
        assert (told[f"{a}_id"], told[f"{b}_id"]) == ("P01", "P02")
        assert (told[f"{a}_choice"], told[f"{b}_choice"]) == ("odd", "even")
        assert (told[f"{a}_result"], told[f"{b}_result"]) == results
    assert "winner_id" not in written("tool+plain", report)["params"]


@rule("R-GUEST-07")
def test_a_referee_asks_for_matches_by_a_method_of_its_own():
    poll = LeagueQuery("GET_ASSIGNED_MATCHES", "cup", {"referee_id": "REF01"}, auth_token="tok")
    own = {"referee_id": "REF01", "auth_token": "tok"}
    bare = written("bare", poll)

    assert written("tool", poll) | {"id": 0} == {
        **{"jsonrpc": "2.0", "id": 0},
        **{"method": "get_assigned_matches", "params": own},
    }
    assert written("type", poll)["method"] == "GET_ASSIGNED_MATCHES"
    assert (bare["message_type"], bare["referee_id"]) == ("GET_ASSIGNED_MATCHES", "REF01")
    without_token = msgspec.structs.replace(poll, auth_token=msgspec.UNSET)
    assert written("tool", without_token)["params"] == {"referee_id": "REF01"}
    assert written("tool", LeagueQuery("GET_NEXT_MATCH"))["method"] == "league_query"


@rule("R-DIA-10")
def test_some_dialects_register_at_a_path_of_their_own_and_also_say_the_least_there_is():
    request = written("path", REGISTRATION)
    plain = written("path+plain", REGISTRATION)
    report = MatchResultReport("R1M1", ReportedResult(None))

    assert (request["name"], request["endpoint"]) == ("Ann", "http://ann/mcp")
    assert request["player_meta"] == plain["player_meta"] | {"version": "", "game_types": []}
    assert "name" not in plain
    url = "http://there:8000/mcp"
    assert DIALECTS["path"].where(url, "LEAGUE_REGISTER_REQUEST") == "http://there:8000/register"
    assert DIALECTS["path"].where(url, "MATCH_RESULT_REPORT") == url
    assert DIALECTS["api"].where(url, "MATCH_RESULT_REPORT") == "http://there:8000/api/report"
    assert written("api", report)["match_id"] == "R1M1"


def test_a_plain_report_says_that_nobody_won():
    report = MatchResultReport("R1M1", ReportedResult(None, {"P01": 1}), epoch=1)

    plain = written("type+plain", report)["params"]

    assert plain["result"] == {
        "winner": None,
        "score": {"P01": 1},
        "details": {"choices": {}},
    }
    assert "epoch" not in plain


def test_our_own_dialect_writes_what_the_codec_writes():
    assert OURS.write(INVITATION, 3) == codec.write_request(INVITATION, 3)


@rule("R-DIA-05")
@each_row("name", WRITTEN)
def test_a_plain_variant_has_documented_fields_only_and_no_nulls(name):
    invitation = inside(written(f"{name}+plain", INVITATION), WRITTEN[name][2])
    over = inside(written(f"{name}+plain", OVER), WRITTEN[name][2])

    assert "epoch" not in invitation
    assert (invitation["match_id"], "player_id" in invitation) == ("R1M1", False)
    assert over["game_result"]["choices"] == {"P01": "even"}
    assert "drawn_number" not in over["game_result"]


def test_a_plain_message_of_a_game_that_no_document_has_loses_its_nulls_only():
    message = GameMoveCall(match_id="R1M1", position={"board": [1, None]}, epoch=3)

    plain = written("type+plain", message)["params"]

    assert "legal_moves" not in plain
    assert (plain["epoch"], plain["position"]) == (3, {"board": [1, None]})


def test_a_tool_is_called_by_the_agents_own_name_for_it():
    do = Tool("do", {"message": "object"})
    tools = {"GAME_INVITATION": Tool("come_and_play"), "CHOOSE_PARITY_CALL": do}

    assert written("mcp", INVITATION, tools)["params"]["name"] == "come_and_play"
    assert written("mcp", CALL, tools)["params"]["arguments"]["message"]["match_id"] == "R1M1"
    assert written("mcp", OVER, tools)["params"]["name"] == "notify_match_result"


@rule("R-DIA-08")
@each_row(
    ("name", "join", "move", "path"),
    [
        ("MessageType()", "GameInvitation", "ChooseParityCall", ("params",)),
        ("messageType(data)", "gameInvitation", "chooseParityCall", ("params", "data")),
        ("on-message-type()", "on-game-invitation", "on-choose-parity-call", ("params",)),
        ("league.toolName()", "league.handleGameInvitation", "league.parityChoose", ("params",)),
        ("a2a/send(payload)", "a2a/send", "a2a/send", ("params", "payload")),
        ("tools/call(req)", "tools/call", "tools/call", ("params", "arguments", "req")),
        ("(payload)", None, None, ("payload",)),
    ],
)
def test_what_an_agent_showed_is_written_as_it_showed_it(name, join, move, path):
    for message, method in ((INVITATION, join), (CALL, move)):
        request = msgspec.json.decode(dialect_of(name).write(message, 7))

        assert request.get("method") == method
        assert inside(request, path) == msgspec.to_builtins(message)
    assert is_dialect(name)


@rule("R-DIA-08")
def test_ids_may_be_texts():
    assert msgspec.json.decode(dialect_of("type#text").write(INVITATION, 7))["id"] == "7"
    assert "id" not in msgspec.json.decode(dialect_of("bare#text").write(INVITATION, 7))


@rule("R-DIA-13")
def test_names_are_written_as_the_agent_showed_them():
    camel = msgspec.json.decode(dialect_of("tool#camel").write(INVITATION, 7))["params"]
    typed = msgspec.json.decode(dialect_of("bare#type").write(INVITATION, 7))
    parts = msgspec.json.decode(dialect_of("handle(envelope.payload)#camel").write(INVITATION, 7))

    assert (camel["messageType"], camel["matchId"]) == ("GAME_INVITATION", INVITATION.match_id)
    assert (typed["type"], "message_type" in typed) == ("GAME_INVITATION", False)
    assert parts["params"]["envelope"]["messageType"] == "GAME_INVITATION"
    assert parts["params"]["payload"]["matchId"] == INVITATION.match_id


def test_what_is_not_the_name_of_a_dialect_is_ours():
    for name in (
        "klingon",
        "tool+klingon",
        'a"(b)',
        "a(b c)",
        "start_match/klingon",
        "a(b)+x",
        "tool+.",
        "tool+.a.b.c.d",
        "tool+.a-b",
        "tool+." + "a" * 60,
    ):
        assert dialect_of(name) == OURS
        assert not is_dialect(name)


def test_a_dialect_has_words_for_people():
    assert in_words("protocol/message(message)") == "method protocol/message, in message"
    assert in_words("MessageType()+plain") == "method GameInvitation, documented fields only"
    assert in_words("(payload)") == "bare messages, in payload"
    assert in_words("type#text") == "message type as method, ids as text"
    assert in_words("bare#camel") == "bare messages, no JSON-RPC, names in camel case"
    assert in_words("bare#msg_type") == "bare messages, no JSON-RPC, type in msg_type"
    assert in_words("type") == "message type as method"
    assert in_words("bare+plain") == "bare messages, no JSON-RPC, documented fields only"
    assert in_words("") == in_words("tool") == "tool names of the documents"


@rule("R-DIA-05")
def test_an_agent_may_get_the_context_under_other_names_too():
    call = ChooseParityCall(match_id="R1M1", context=MoveContext(opponent_id="P02"))

    asked = written("type+more", call)

    assert asked["method"] == "CHOOSE_PARITY_CALL"
    others = ("game_context", "match_context", "parity_context", "game_state", "state", "info")
    assert [asked["params"][name] for name in others] == [asked["params"]["context"]] * 6
    joined = written("type+more", INVITATION)["params"]
    assert joined["game_invitation"]["match_id"] == joined["match_id"] == "R1M1"
    assert not {"sender", "auth_token", "message_type"} & set(joined["game_invitation"])


@rule("R-DIA-12")
@each_row(
    ("name", "method", "message_type"),
    [
        ("type+GAME_INVITE", "GAME_INVITE", "GAME_INVITE"),
        ("MessageType()+GAME_INVITE", "GameInvite", "GAME_INVITE"),
        ("message+GAME_INVITE", "handle_message", "GAME_INVITE"),
        ("tool+invite_player", "invite_player", "GAME_INVITATION"),
    ],
)
def test_a_message_may_be_called_otherwise(name, method, message_type):
    request = msgspec.json.decode(dialect_of(name).write(INVITATION, 7))
    other = msgspec.json.decode(dialect_of(name).write(OVER, 7))

    message = request["params"].get("message", request["params"])
    assert (request["method"], message["message_type"]) == (method, message_type)
    assert other["params"].get("message", other["params"])["message_type"] == "GAME_OVER"


@rule("R-DIA-12")
def test_a_message_may_have_fields_that_the_agent_named():
    request = msgspec.json.decode(dialect_of("tool+.game_id.invitation.x9").write(INVITATION, 7))

    assert request["params"]["game_id"] == request["params"]["invitation"]["match_id"] == "R1M1"
    assert "x9" not in request["params"]
    assert in_words("tool+.game_id.x9") == "tool names of the documents, with game_id, x9"
    assert in_words("type+GAME_INVITE") == "message type as method, as GAME_INVITE"


def test_that_answers_come_bare_is_said_and_changes_nothing_else():
    assert in_words("type~bare") == "message type as method, bare answers"
    assert dialect_of("type~bare") == DIALECTS["type"]
    assert is_dialect("type~bare")
    assert not is_dialect("start_match/tool")
