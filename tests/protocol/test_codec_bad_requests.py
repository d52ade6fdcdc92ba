"""What is wrong with a request, and exactly what its sender is told."""

import json

from agentleague.dialects import requests
from agentleague.protocol import codec
from agentleague.protocol.messages import LeagueErrorMessage
from protocol.wire import ENVELOPE, PLAYER_META, REGISTRATION, read, refused, registration, request
from rules import rule
from tables import each_row

LONE = "\\ud800"


def nested(brackets):
    """A registration with an unknown field of that many levels; two more are around it."""
    value = b"1"
    for bracket in brackets:
        value = b"[" + value + b"]" if bracket == "[" else b'{"a":' + value + b"}"
    return registration(extra="HERE").replace(b'"HERE"', value)


def raw(**replaced):
    """A registration in which a marker is replaced by raw text."""
    (name, text), *_ = replaced.items()
    return registration(**{name: "HERE"}).replace(b'"HERE"', text.encode())


def told(answer):
    """What matters of a refusal: numbers, kind, field, id."""
    data = answer["error"]["data"]
    context = data["context"]
    return (
        answer["error"]["code"],
        data["error_code"],
        context.get("kind"),
        context.get("field"),
        answer["id"],
    )


@rule("R-LIM-01", "R-LIM-02", "R-LIM-03", "R-LIM-04", "R-LIM-05", "R-LIM-06", "R-RPC-05")
@each_row(
    ("body", "kind"),
    [
        (b"", "syntax"),  # nothing
        (b"   ", "syntax"),  # only space
        (b"hello", "syntax"),  # no JSON
        (b"{", "syntax"),  # cut short
        (b"[", "syntax"),  # cut short, and looks like a batch
        (b'{"jsonrpc":7,', "syntax"),  # cut short, after something else was wrong
        (b"{'jsonrpc': '2.0'}", "syntax"),  # Python's quotes
        (registration() + b"x", "syntax"),  # something after the end
        (registration()[:-1] + b",}", "syntax"),  # a comma too many
        (b"<html></html>", "syntax"),  # a web page
        (raw(extra="NaN"), "number"),  # no JSON number
        (raw(extra="[NaN]"), "number"),  # nor inside a list
        (raw(extra="Infinity"), "number"),
        (raw(extra="-Infinity"), "number"),
        (b'{"a":1,"a":NaN}', "number"),  # told while looking for keys
        (raw(extra="01"), "syntax"),  # a leading zero
        (raw(extra='"a\tb"'), "syntax"),  # a tab that is not escaped
        (raw(extra=r'"\x"'), "syntax"),  # no such escape
        (registration(sender="é").replace(b"\\u00e9", b"\xe9"), "encoding"),  # Latin-1
        (registration(sender="é").replace(b"\\u00e9", b"\xed\xa0\x80"), "encoding"),  # CESU-8
        (registration().decode().encode("utf-16"), "encoding"),  # with byte order mark
        (registration().decode().encode("utf-16-le"), "encoding"),  # without
        (registration().decode().encode("utf-32-be"), "encoding"),
        (b"\xef\xbb\xbf" + registration(), "encoding"),  # UTF-8 with byte order mark
        (raw(extra=f'"{LONE}"'), "encoding"),  # the first half of a pair
        (raw(extra=r'"\udc00"'), "encoding"),  # the second half
        (raw(extra=rf'"{LONE}\u0041"'), "encoding"),  # the first half and another letter
        (raw(sender=f'"{LONE}"'), "encoding"),  # in a field that we know
        (raw(extra=f'{{"{LONE}":1}}'), "encoding"),  # in a key
        (nested("[" * 15), "depth"),  # 17 levels in all
        (nested("{" * 15), "depth"),
        (nested("[{" * 7 + "["), "depth"),  # brackets of both kinds in turn
        (
            raw(extra='["]}",' * 15 + "1" + "]" * 15),
            "depth",
        ),  # between texts that hold closing brackets
        (raw(extra=r'["\"]}",' * 15 + "1" + "]" * 15), "depth"),  # behind escaped quotes
        (nested("[" * 4000), "depth"),  # would end a recursive parser
        (b"[" * 17 + b"]" * 17, "depth"),  # deep, and no request at all
        (b'{"jsonrpc":"2.0","jsonrpc":"2.0"}', "duplicate_key"),  # at the top
        (raw(sender='"a","sender":"b"'), "duplicate_key"),  # in the message
        (raw(sender='"a" , "sender" :"b"'), "duplicate_key"),  # with space around
        (raw(extra='{"a":1,"a":1}'), "duplicate_key"),  # in a field that we do not know
        (raw(extra='[{"b":{"a":1,"a":1}}]'), "duplicate_key"),  # deep inside
        (raw(extra=r'{"a":1,"\u0061":1}'), "duplicate_key"),  # spelt in two ways
        (raw(extra="1" * 5000 + ',"extra":1'), "duplicate_key"),  # behind an endless number
    ],
)
def test_text_that_parsers_read_differently_is_no_json(body, kind):
    assert told(refused(body)) == (-32700, "E049", kind, None, None)


@rule("R-LIM-03")
@each_row(
    "body",
    [
        nested("[" * 14),  # 16 levels in all
        nested("{" * 14),
        nested("[{" * 7),
        registration(extra=[[[]]] * 20),  # many brackets, not deep
        raw(extra='["[{",' * 14 + "1" + "]" * 14),  # sixteen, between texts that hold brackets
        registration(sender="[" * 30),  # brackets inside a text
        registration(sender='"[{' * 10),  # and behind escaped quotes
        registration(sender="\\" * 3, extra=[["]"]] * 9),  # a text that ends in backslashes
    ],
)
def test_sixteen_levels_are_taken_however_many_brackets_there_are(body):
    assert requests.read_request(body, codec.taken_by("manager")).error is None


@rule("R-LIM-03")
@each_row("method", ["notify_game_error", "GAME_ERROR", "hello", "handle_message"])
def test_for_an_agent_that_decides_nothing_for_others_the_decoder_sets_the_limit(method):
    for depth in [17, *range(900, 1010), 5000]:
        deep = b'{"a":' * depth + b"1" + b"}" * depth
        body = request({"context": "HERE"}, method).replace(b'"HERE"', deep)

        incoming = read(body, "player", thorough=False)

        if depth > 1000 or incoming.error is not None:
            answer = refused(body, "player", thorough=False)
            assert answer["error"]["data"]["error_code"] in ("E049", "E051")


@rule("R-LIM-04")
def test_an_agent_that_decides_nothing_for_others_does_not_compare_keys():
    body = request({}, "notify_round").replace(b"{}", b'{"round_id":1,"round_id":2}')

    assert requests.read_request(body, codec.taken_by("player"), thorough=False).error is None


def test_a_player_too_refuses_what_is_no_json_number():
    body = b'{"jsonrpc":"2.0","method":"notify_round_completed","params":{"round_id":NaN},"id":1}'

    error = requests.read_request(body, codec.taken_by("player"), thorough=False).error

    assert error.context["kind"] == "number"


@rule("R-RPC-01", "R-RPC-02", "R-RPC-04", "R-RPC-05")
@each_row(
    ("body", "answered_id"),
    [
        (b"[]", None),  # an empty batch
        (b"[" + registration() + b"]", None),  # a batch
        (b"[1e999]", None),
        (b"7", None),  # a scalar
        (b'"hello"', None),
        (b"null", None),
        (b"true", None),
        (request(REGISTRATION, jsonrpc=...), 7),  # a method without jsonrpc
        (request(REGISTRATION, jsonrpc="1.0"), 7),
        (request(REGISTRATION, jsonrpc="1.0", id="a"), "a"),
        (request(REGISTRATION, jsonrpc="1.0", id=...), None),  # no notification either
        (request(REGISTRATION, jsonrpc=2.0), 7),  # a number
        (request(REGISTRATION, jsonrpc=None), 7),
        (request(REGISTRATION, method=...), 7),
        (request(REGISTRATION, method=7), 7),
        (request(REGISTRATION, method=None), 7),
        (request(REGISTRATION, method=..., id=...), None),
        (request(REGISTRATION, id=1.0), None),  # a float
        (request(REGISTRATION, id=1.5), None),
        (request(REGISTRATION, id=True), None),
        (request(REGISTRATION, id={}), None),
        (request(REGISTRATION, id=[1]), None),
        (request(REGISTRATION, id="x" * 65), None),  # too long
        (request(REGISTRATION, id=2**53 + 1), None),  # too large
        (request(REGISTRATION, id=-(2**53) - 1), None),
        (request(REGISTRATION, id="N").replace(b'"N"', b"1e999"), None),  # no number holds it
        (request(REGISTRATION, id="N").replace(b'"N"', b"1" * 5000), None),
    ],
)
def test_what_is_no_request_is_refused_as_such(body, answered_id):
    assert told(refused(body)) == (-32600, "E050", None, None, answered_id)


@rule("R-FORM-07")
@each_row(
    "body",
    [
        {},  # an empty object
        {"game_result": {"status": "DRAW"}},  # a message that does not say which
        {"message_type": 7, "player_meta": PLAYER_META},
    ],
)
def test_a_bare_object_without_message_type_is_told_what_to_add(body):
    answer = refused(json.dumps(body).encode())

    assert answer["error_code"] == "E050"
    assert answer["context"]["field"] == "message_type"
    assert "message_type" in answer["error_message"]


@rule("R-RPC-06")
@each_row(
    ("params", "field"),
    [
        ([], "params"),  # by position
        ([REGISTRATION], "params"),
        ("hello", "params"),
        (7, "params"),
        (None, "params"),
        (..., "player_meta"),  # missing params are empty ones
        ({}, "player_meta"),
    ],
)
def test_params_are_an_object(params, field):
    code, e_code, _, told_field, request_id = told(refused(request(params)))

    assert (code, e_code, told_field, request_id) == (-32602, "E003", field, 7)


@rule("R-RPC-07")
@each_row(
    ("body", "receiver"),
    [
        (request(REGISTRATION | {"message_type": "HELLO"}), "manager"),  # unknown type
        (request({}, "hello"), "manager"),  # unknown method
        (request({}, ""), "manager"),
        (request({}, "x" * 5000), "manager"),
        (request({}, "tools/call"), "manager"),  # no tool named
        (request({"name": 7}, "tools/call"), "manager"),
        (request({"name": "hello"}, "tools/call"), "manager"),
        (registration(), "player"),  # for the manager
        (registration(), "referee"),
        (request({}, "handle_game_invitation"), "manager"),  # for players
        (request({"message_type": "GAME_INVITATION"}), "manager"),  # the type decides
        (request({"message_type": "LEAGUE_ERROR"}), "manager"),  # is only ever an answer
        (request({"message_type": "GAME_OVER_ACK"}), "referee"),
    ],
)
def test_a_message_that_this_agent_does_not_take_is_unknown_to_it(body, receiver):
    answer = refused(body, receiver)

    assert told(answer) == (-32601, "E051", None, None, 7)
    assert answer["error"]["data"]["context"]["known"] == [
        *sorted(codec.taken_by(receiver)),
        *(("register_player", "register_referee") if receiver == "manager" else ()),
    ]


@rule("R-MSG-04")
@each_row(
    ("receiver", "method", "params", "field"),
    [
        ("manager", "register_player", {}, "player_meta"),
        ("manager", "register_player", {"player_meta": {}}, "player_meta.display_name"),
        (
            "manager",
            "register_player",
            {"player_meta": {"display_name": "x"}},
            "player_meta.contact_endpoint",
        ),
        ("manager", "register_referee", {}, "referee_meta"),
        (
            "manager",
            "register_referee",
            {"referee_meta": {"display_name": "x"}},
            "referee_meta.contact_endpoint",
        ),
        ("manager", "report_match_result", {"match_id": "R1M1"}, "result"),
        (
            "manager",
            "report_match_result",
            {"match_id": "R1M1", "result": {}},
            "result.winner",
        ),
        ("manager", "league_query", {}, "query_type"),
        ("manager", "lock_moves", {}, "match_id"),  # ours
        ("manager", "referee_status", {}, "session"),
        ("referee", "CHOOSE_PARITY_RESPONSE", {}, "parity_choice"),  # pushed
        ("referee", "GAME_MOVE_RESPONSE", {}, "move"),
        ("player", "notify_match_result", {}, "game_result"),
        ("player", "notify_match_result", {"game_result": {}}, "game_result.status"),
        ("player", "notify_round", {"matches": [{}]}, "matches[0].match_id"),
        ("player", "update_standings", {"standings": [{"rank": 1}]}, "standings[0].player_id"),
    ],
)
def test_a_missing_field_is_named_by_its_path(receiver, method, params, field):
    answer = refused(request(params, method), receiver)

    assert told(answer) == (-32602, "E003", "missing", field, 7)
    assert f"missing field '{field}'" in answer["error"]["message"]


@rule("R-MSG-04")
@each_row(
    ("receiver", "method"),
    [
        ("player", "notify_round"),
        ("player", "update_standings"),
        ("player", "notify_round_completed"),
        ("player", "notify_league_completed"),
        ("player", "handle_game_invitation"),
        ("player", "parity_choose"),
        ("player", "choose_move"),
        ("player", "notify_game_error"),
        ("referee", "GAME_JOIN_ACK"),
    ],
)
def test_all_other_fields_may_be_missing(receiver, method):
    assert requests.read_request(request({}, method), codec.taken_by(receiver)).error is None


def player(**meta):
    return registration(player_meta={**PLAYER_META, **meta})


def referee(**meta):
    return request({"referee_meta": {**PLAYER_META, **meta}}, "register_referee")


def report(**changes):
    result = {"winner": None, **changes}
    return request({"match_id": "R1M1", "result": result}, "report_match_result")


def lock(**changes):
    lean = {"match_id": "R1M1", "epoch": 1, "index": 0, "moves": [[0, "P01", "even"]]}
    return request({**lean, **changes}, "lock_moves")


def of_a_round(**changes):
    return request(
        {"match_id": "R1M1", "result": {"winner": None}, **changes}, "MATCH_RESULT_REPORT"
    )


@rule("R-MSG-05", "R-LIM-07", "R-LIM-08")
@each_row(
    ("body", "field"),
    [
        # What nobody can act without.
        (registration(player_meta=[]), "player_meta"),  # an object that is a list
        (registration(player_meta="Quokka"), "player_meta"),
        (registration(player_meta=None), "player_meta"),  # null where it is needed
        (player(display_name=False), "player_meta.display_name"),
        (player(display_name="x" * 501), "player_meta.display_name"),  # one over the bound
        (player(contact_endpoint="x" * 257), "player_meta.contact_endpoint"),
        (report(winner=7), "result.winner"),
        (lock(moves=[[0, "P01"]]), "moves[0]"),  # a tuple too short
        (lock(moves=[["0", "P01", 1]]), "moves[0][0]"),
        (lock(epoch=True), "epoch"),  # true is no integer
        (lock(epoch=1.0), "epoch"),  # nor is 1.0
        (lock(epoch=2**31), "epoch"),  # 32 bits
        (lock(match_id=None), "match_id"),
        # What decides something, or gives a right.
        (lock(forfeits=[["P01", 7]]), "forfeits[0][1]"),
        (of_a_round(epoch="1"), "epoch"),
        (raw(protocol="1e999"), "protocol"),  # a number that no parser holds
        (raw(protocol="1e999").replace(b'"player:quokka"', b"null"), "protocol"),
        (registration(auth_token=7), "auth_token"),
        (registration(auth_token="x" * 257), "auth_token"),
        (player(join_code=1234), "player_meta.join_code"),
        (referee(locks=1), "referee_meta.locks"),  # a truth that is a number
        (referee(locks="true"), "referee_meta.locks"),
        (registration(message_type=7), "message_type"),
    ],
)
def test_a_field_of_another_type_or_out_of_bounds_is_named_by_its_path(body, field):
    assert told(refused(body)) == (-32602, "E003", "type", field, 7)


SCORE = "result.score[...]"
TYPES, SENDER, ROUND = "player_meta.game_types", "sender", "round_id"
CAPACITY, STATUS = "referee_meta.max_concurrent_matches", "result.details.status"


@rule("R-MSG-05", "R-MSG-08", "R-LIM-05", "R-LIM-07", "R-LIM-08", "R-LIM-09")
@each_row(
    ("body", "field", "lean"),
    [
        (registration(sender=7), SENDER, registration(sender=...)),
        (registration(sender=["a"]), SENDER, registration(sender=...)),
        (registration(sender="x" * 65), SENDER, registration(sender=...)),  # one over each bound
        (registration(timestamp=1767225600), "timestamp", registration(timestamp=...)),
        (
            registration(conversation_id="x" * 129),
            "conversation_id",
            registration(conversation_id=...),
        ),
        (player(game_types="even_odd"), TYPES, player()),  # a list that is a text
        (player(game_types=[7]), f"{TYPES}[0]", player()),  # a member
        (player(version="x" * 65), "player_meta.version", player()),
        (referee(max_concurrent_matches="3"), CAPACITY, referee()),
        (referee(max_concurrent_matches=0), CAPACITY, referee()),
        (referee(max_concurrent_matches=1001), CAPACITY, referee()),
        (of_a_round(round_id=True), ROUND, of_a_round()),
        (of_a_round(round_id=1.0), ROUND, of_a_round()),
        (of_a_round(round_id="1"), ROUND, of_a_round()),
        (of_a_round(round_id=2**31), ROUND, of_a_round()),
        (of_a_round(round_id=10**30), ROUND, of_a_round()),
        (report(score={"P01": "even"}), SCORE, report()),  # a value of a map
        (report(score={"P" * 65: 3}), "result.score", report()),  # a key of a map
        (report(details={"status": "LOSS"}), STATUS, report(details={})),  # none of those there are
        (report(details={"status": "LOSS"}, score=[]), STATUS, report(details={})),  # and more
    ],
)
def test_what_does_not_fit_a_field_on_which_nothing_depends_is_left_out(body, field, lean):
    incoming = read(body)

    assert incoming.message == read(lean).message
    assert incoming.missing[0].startswith(f"{field} (")


@rule("R-LIM-05", "R-MSG-05")
@each_row(("value", "is_taken"), [('"soon"', True), ("true", True), ("1e999", False)])
def test_a_float_that_is_none_is_left_out_but_beyond_any_float_the_message_is_refused(
    value, is_taken
):
    body = request({"retry_info": {"time_remaining": "HERE"}}, "notify_game_error")

    incoming = read(body.replace(b'"HERE"', value.encode()), "player")

    assert (incoming.message is not None) is is_taken


def test_a_message_in_which_very_much_does_not_fit_is_refused():
    row = {"rank": 1, "player_id": "P01"} | dict.fromkeys(("wins", "draws", "losses"), "many")

    incoming = read(request({"standings": [row] * 10}, "update_standings"), "player")

    assert incoming.error.context["kind"] == "type"


@rule("R-LIM-07", "R-LIM-08", "R-LIM-09")
@each_row(
    "body",
    [
        registration(sender="x" * 64),  # exactly at each bound
        registration(conversation_id="x" * 128),
        registration(auth_token="x" * 256),
        player(contact_endpoint="x" * 256),
        player(display_name="x" * 500),
        player(display_name="é" * 500),  # counted in characters, not in bytes
        referee(max_concurrent_matches=1),
        referee(max_concurrent_matches=1000),
        lock(epoch=2**31 - 1),
        lock(epoch=-(2**31)),
        request(REGISTRATION, id=2**53),
        request(REGISTRATION, id="x" * 64),
    ],
)
def test_what_lies_exactly_on_a_bound_is_taken(body):
    assert requests.read_request(body, codec.taken_by("manager")).error is None


@rule("R-ENV-03")
@each_row(
    "protocol",
    ["league.v1", "league.v3", "league.v22", "league", "LEAGUE.V2", "2.1.0", "", "league.v2x"],
)
def test_another_protocol_is_a_version_mismatch(protocol):
    assert told(refused(registration(protocol=protocol))) == (-32602, "E018", None, "protocol", 7)


@rule("R-ERR-03", "R-ERR-04")
def test_every_refusal_carries_a_complete_league_error():
    asked = {**ENVELOPE, "sender": "player:P07", "query_type": 7}
    data = refused(request(asked, "league_query"))["error"]["data"]

    assert data["message_type"] == "LEAGUE_ERROR"
    assert set(data) >= {"message_type", *LeagueErrorMessage.__struct_fields__} - {
        "auth_token",
        "retry_info",
        "consequence",
    }
    assert (data["error_name"], data["error_description"]) == ("MISSING_REQUIRED_FIELD",) * 2
    assert data["error_message"] == "LEAGUE_QUERY.query_type: expected `str`, got `int`"
    assert data["original_message_type"] == data["context"]["action"] == "LEAGUE_QUERY"
    assert data["action_required"]
    assert data["retryable"] is False
