"""Registrations as foreign agents write them: all are read alike."""

import json

from agentleague.dialects import requests
from agentleague.protocol import codec
from agentleague.protocol.jsonrpc import Form
from agentleague.protocol.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
)
from protocol.wire import ENVELOPE, NOW, PLAYER_META, read, refused, request, taken
from rules import rule
from tables import each_row

URL = PLAYER_META["contact_endpoint"]
QUOKKA = PlayerMeta("Quokka", URL)
FLAT = {"display_name": "Quokka", "contact_endpoint": URL}
TYPED = {"message_type": "LEAGUE_REGISTER_REQUEST", "player_meta": PLAYER_META}
LEAST = {"name": "Quokka", "endpoint": URL}
NAME, PLACE = "player_meta.display_name", "player_meta.contact_endpoint"
TAKEN = codec.taken_by("manager")


def tool(name, arguments):
    return request({"name": name, "arguments": arguments}, "tools/call")


def bare(**fields):
    return json.dumps(fields).encode()


def at_register(body):
    return requests.read_request(body, TAKEN, path="/register")


FORMS = [
    (request({"player_meta": PLAYER_META}, "register_player"), "/mcp", Form.JSONRPC),
    (request(TYPED, "LEAGUE_REGISTER_REQUEST"), "/mcp", Form.JSONRPC),
    (request({"player_meta": PLAYER_META}, "league_register"), "/mcp", Form.JSONRPC),
    (request({"message": TYPED}, "handle_message"), "/mcp", Form.NESTED),
    (request({"message": {**TYPED, "player_meta": LEAST}}, "handle_message"), "/mcp", Form.NESTED),
    (request({"payload": TYPED}, "protocol/message"), "/mcp", Form.NESTED),
    (request({"v": 2, "data": {"player_meta": LEAST}}, "register_player"), "/mcp", Form.NESTED),
    (tool("register_player", {"player_meta": PLAYER_META}), "/mcp", Form.TOOL),
    (tool("protocol", {"request": TYPED}), "/mcp", Form.TOOL),
    (tool("register_player", LEAST), "/mcp", Form.TOOL),
    (bare(**TYPED), "/mcp", Form.BARE),
    (bare(message_type="LEAGUE_REGISTER_REQUEST", **LEAST), "/mcp", Form.BARE),
    (bare(kind="register", payload=TYPED), "/mcp", Form.BARE),
    (bare(**TYPED), "/register", Form.BARE),
    (bare(player_meta=PLAYER_META), "/register", Form.BARE),
    (bare(**LEAST), "/register", Form.BARE),
    (request(LEAST, "register"), "/register", Form.JSONRPC),
]


@rule("R-REG-01", "R-REG-03")
@each_row(("body", "path", "form"), FORMS)
def test_every_form_of_a_registration_is_read_alike_and_answered_in_its_form(body, path, form):
    incoming = requests.read_request(body, TAKEN, path=path)

    assert incoming.error is None
    assert (incoming.envelope.form, incoming.message.player_meta) == (form, QUOKKA)
    answer = LeagueRegisterResponse(
        "ACCEPTED",
        "P07",
        "league_x",
        auth_token="tok_P07_x",
        timestamp=NOW,
        conversation_id="conv-1",
    )
    told = json.loads(codec.write_answer(incoming.envelope, answer))
    inside = told if form is Form.BARE else told["result"]
    inside = inside["structuredContent"] if form is Form.TOOL else inside
    assert inside["status"] == "ACCEPTED"
    assert (inside["player_id"], inside["auth_token"]) == ("P07", "tok_P07_x")
    assert (inside["league_id"], inside["timestamp"]) == ("league_x", NOW)
    assert inside["conversation_id"] == "conv-1"


@rule("R-REG-02")
@each_row("named", ["display_name", "name", "agent_name", "player_name"])
@each_row("found", ["contact_endpoint", "endpoint", "callback_url", "url", "contact_url"])
def test_names_and_end_points_go_by_many_names_in_the_object_and_beside_it(named, found):
    fields = {named: "Quokka", found: URL}

    assert taken(request(fields)).player_meta == QUOKKA
    assert taken(request({"player_meta": fields})).player_meta == QUOKKA
    assert taken(request({"player_meta": {named: "Quokka"}, found: URL})).player_meta == QUOKKA
    assert taken(request({"player_meta": None, **fields})).player_meta == QUOKKA


@rule("R-REG-02")
def test_the_one_url_is_the_end_point_and_where_it_is_is_the_object_whatever_they_are_called():
    fields = {"name": "Quokka", "base_url": URL}
    camel = {"agentInfo": {"agentName": "Quokka", "mcpAddress": URL}, "matchId": None}

    assert taken(request(fields)).player_meta == QUOKKA
    assert taken(request({"agent_info": fields, "stats": {"x": 1}})).player_meta == QUOKKA
    assert taken(request(camel, "LeagueRegisterRequest")).player_meta == QUOKKA
    two = request({"agent_info": {**fields, "home_page": "http://quokka.example"}})
    assert (
        requests.read_request(two, TAKEN).error.context["field"] == "player_meta"
    )  # Which of them is it?


@rule("R-FORM-06", "R-DIA-13")
@each_row("method", ["MatchResultReport", "reportMatchResult", "league.match_result_report"])
def test_a_method_is_known_however_its_words_are_joined(method):
    report = {"match_id": "R1M1", "result": {"winner": "P01"}}

    assert requests.read_request(request(report, method), TAKEN).message.match_id == "R1M1"


@rule("R-REG-02")
def test_all_that_an_agent_says_of_itself_may_stand_flat():
    said = {
        "version": "0.9",
        "game_types": ["even_odd"],
        "protocol_version": "2.1",
        "join_code": "quokka-7",
    }

    assert taken(request({**LEAST, **said})).player_meta == PlayerMeta("Quokka", URL, **said)
    other = {**LEAST, "agent_version": "0.9", "supported_games": ["even_odd"]}
    assert taken(request(other)).player_meta == PlayerMeta("Quokka", URL, "0.9", ["even_odd"])


@rule("R-REG-02")
def test_what_stands_beside_an_object_that_would_do_without_it_is_read_too():
    least = {"display_name": "Quokka", "contact_endpoint": URL}
    fields = {"player_meta": least, "agent_version": "0.9", "join_code": "quokka-7"}
    wanted = PlayerMeta("Quokka", URL, "0.9", join_code="quokka-7")

    assert taken(request(fields)).player_meta == wanted
    assert taken(request({**TYPED, **fields})).player_meta == wanted
    assert taken(request({**TYPED, **fields, "message": {}})).player_meta == wanted


@rule("R-REG-02")
@each_row("method", ["register_referee", "REFEREE_REGISTER_REQUEST"])
def test_referees_register_just_as_loosely(method):
    said = {"max_concurrent_matches": 3, "locks": True, "version": "2.0"}
    meta = RefereeMeta("Owl", URL, **said)

    for fields in (
        {"referee_meta": {"display_name": "Owl", "contact_endpoint": URL, **said}},
        {"referee_meta": {"referee_name": "Owl", "url": URL, **said}},
        {"name": "Owl", "endpoint": URL, **said},
    ):
        message = taken(request(fields, method))
        assert type(message) is RefereeRegisterRequest
        assert message.referee_meta == meta


@rule("R-REG-03")
def test_a_bare_referee_at_register_is_known_by_its_object():
    incoming = at_register(bare(referee_meta={"name": "Owl", "endpoint": URL}))

    assert incoming.message == RefereeRegisterRequest(RefereeMeta("Owl", URL))
    answer = RefereeRegisterResponse("ACCEPTED", "REF01", "league_x")
    assert json.loads(codec.write_answer(incoming.envelope, answer))["referee_id"] == "REF01"


@rule("R-REG-03")
def test_a_message_at_register_that_says_what_it_is_is_that():
    query = at_register(bare(message_type="LEAGUE_QUERY", query_type="GET_STATUS"))
    called = at_register(request({"query_type": "GET_STATUS"}, "league_query"))

    assert query.message.query_type == called.message.query_type == "GET_STATUS"
    assert at_register(bare(message_type=7, **LEAST)).error.code == "E050"
    assert at_register(bare(message_type=None, **LEAST)).message.player_meta == QUOKKA


@rule("R-REG-02")
@each_row(
    ("params", "field", "kind"),
    [
        ({}, "player_meta", "missing"),
        ({"version": "1.0"}, "player_meta", "missing"),  # nothing that one could act on
        ({"player_meta": {}}, NAME, "missing"),
        ({"name": "Quokka"}, PLACE, "missing"),
        ({"url": URL}, NAME, "missing"),
        ({"player_meta": {"version": "1.0"}}, NAME, "missing"),
        ({"name": None, "url": URL}, NAME, "missing"),
        ({"name": 7, "url": URL}, NAME, "type"),
        ({"player_meta": {**FLAT, "display_name": 7}, "name": "Q"}, NAME, "type"),
        ({"player_meta": {**FLAT, "display_name": None}}, NAME, "type"),
        ({"player_meta": "Quokka", **FLAT}, "player_meta", "type"),
        ({"player_meta": [FLAT]}, "player_meta", "type"),
        ({"name": "Quokka", "url": "http://" + "x" * 300}, PLACE, "type"),
    ],
)
def test_what_nobody_can_act_without_is_named_by_its_documented_place(params, field, kind):
    data = refused(request(params))["error"]["data"]

    assert (data["error_code"], data["context"]["kind"]) == ("E003", kind)
    assert data["context"]["field"] == field


@rule("R-REG-02")
@each_row(
    ("fields", "name", "place"),
    [
        # An empty or a null name is none.
        ({"player_meta": {**FLAT, "display_name": None}, "name": "Quokka"}, "Quokka", URL),
        ({"player_meta": {**FLAT, "display_name": ""}, "name": "", "agent_id": "q1"}, "q1", URL),
        ({"player_id": "q1", "url": URL}, "q1", URL),
        ({"sender": "player:q1", "player_id": "", "url": URL}, "q1", URL),
        ({"sender": "q1", "player_meta": {"url": URL}}, "q1", URL),
        # An end point without a scheme, or in parts.
        ({"name": "Quokka", "url": "127.0.0.1:8177/mcp"}, "Quokka", URL),
        ({"name": "Quokka", "url": "my-box.local:8177"}, "Quokka", "http://my-box.local:8177"),
        ({"name": "Quokka", "port": 8177}, "Quokka", URL),
        ({"name": "Quokka", "host": "0.0.0.0", "port": "8177"}, "Quokka", URL),
        ({"meta": {"name": "Q", "host": "box", "port": 80}}, "Q", "http://box:80/mcp"),
        ({"name": "Quokka", "url": URL, "port": 9}, "Quokka", URL),
    ],
)
def test_whom_it_names_and_where_is_found_in_other_words_too(fields, name, place):
    assert taken(request(fields)).player_meta == PlayerMeta(name, place)


@rule("R-REG-02")
@each_row(
    ("fields", "name"),
    [
        ({"sender": "referee:REF07"}, "REF07"),
        ({"sender": None, "referee_id": "REF07"}, "REF07"),
        ({"sender": 7}, "7"),
        ({}, ""),  # It is called by the id that it is given.
    ],
)
def test_a_referee_needs_no_name(fields, name):
    for meta in ({"contact_endpoint": URL}, {"contact_endpoint": URL, "display_name": None}):
        message = taken(request({**fields, "referee_meta": meta}, "register_referee"))
        assert message.referee_meta == RefereeMeta(name, URL)


@rule("R-REG-03")
@each_row("said", [{"agent_type": "referee"}, {"role": "REFEREE"}, {"referee_id": "REF07"}])
def test_a_registrant_that_says_it_is_a_referee_is_one_wherever_and_however_it_says_so(said):
    fields = {**LEAST, **said}
    for incoming in (
        at_register(bare(**fields)),
        at_register(bare(message_type="REGISTER", **fields)),
        at_register(request(fields, "register")),
        read(request(fields, "register")),
        read(request(fields, "register_agent")),
        read(request({"message": {**fields, "message_type": "AGENT_REGISTRATION"}}, "x")),
        read(tool("register", fields)),
        at_register(bare(agent_meta={**LEAST}, **said)),
    ):
        assert isinstance(incoming.message, RefereeRegisterRequest)
        assert incoming.message.referee_meta == RefereeMeta("Quokka", URL)


@rule("R-REG-03")
@each_row(
    "body",
    [
        request({**LEAST, "referee_id": None}, "register"),
        request({**LEAST, "referee_id": "REF07"}, "register_player"),
        request({**LEAST, "message_type": "LEAGUE_REGISTER_REQUEST", "referee_name": "Owl"}, "x"),
        request({**LEAST, "agent_type": "player", "referee_meta": {}}, "register"),
        bare(agent_type="player", referees=[], referee_id="REF07", **LEAST),
        bare(message_type="LEAGUE_REGISTER_REQUEST", referee_endpoint=URL, **LEAST),
    ],
)
def test_a_player_that_speaks_of_a_referee_is_none(body):
    assert isinstance(at_register(body).message, LeagueRegisterRequest)


@rule("R-REG-03")
def test_what_else_looks_like_a_registration_is_one_and_the_rest_is_unknown():
    bare_agent = read(bare(agent_type="player", **LEAST))

    assert bare_agent.message == read(request(LEAST, "register_agent")).message
    assert bare_agent.message.player_meta == QUOKKA
    assert read(request(LEAST, "referee_registration")).message.referee_meta.display_name
    said_in_it = {"player_meta": {**FLAT, "role": "referee"}, "referee_note": "x"}
    assert isinstance(read(request(said_in_it)).message, RefereeRegisterRequest)
    has_both = {"player_meta": FLAT, "referee_note": "x"}
    assert isinstance(read(request(has_both)).message, LeagueRegisterRequest)
    for other in (request({}, "get_registrations"), request([], "register_agent")):
        assert read(other).error.code in ("E051", "E003")


@rule("R-REG-02")
def test_a_number_that_no_parser_holds_is_no_end_point():
    body = request({"name": "Quokka", "port": "HERE"}).replace(b'"HERE"', b"1e999")

    assert read(body).error.context["field"] == PLACE


@rule("R-REG-02")
def test_what_stands_in_its_documented_place_counts_first():
    inside = {**FLAT, "name": "Inner", "url": "http://inner/mcp", "max_concurrent_matches": 0}
    outside = {"display_name": "Outer", "contact_endpoint": "http://outer/mcp"}
    message = taken(request({"player_meta": inside, **outside}, "LEAGUE_REGISTER"))

    assert message.player_meta == QUOKKA


@rule("R-REG-02")
def test_the_envelope_of_a_loose_registration_is_kept():
    message = taken(request({**ENVELOPE, **LEAST, "auth_token": "tok_P01_old"}))

    assert message == LeagueRegisterRequest(QUOKKA, auth_token="tok_P01_old", **ENVELOPE)


@rule("R-REG-11")
@each_row(
    ("params", "missing"),
    [
        ({**TYPED, **ENVELOPE}, ()),
        ({**FLAT, **ENVELOPE}, ("message_type", "player_meta")),
        (
            {**ENVELOPE, "message_type": "x", "player_meta": LEAST},
            ("player_meta.display_name", "player_meta.contact_endpoint"),
        ),
    ],
)
def test_documented_places_that_were_not_used_are_named(params, missing):
    params["message_type"] = "LEAGUE_REGISTER_REQUEST" if "message_type" in params else ...
    incoming = read(request({name: at for name, at in params.items() if at is not ...}))

    optional = ("player_meta.version", "player_meta.game_types")
    assert set(incoming.missing) == {*missing, *optional}


@rule("R-QUERY-09")
@each_row(
    ("asked", "params"),
    [
        ({"query_type": "GET_MATCH", "query_params": {"match_id": "M1"}}, {"match_id": "M1"}),
        ({"query": "GET_MATCH", "params": {"match_id": "M1"}}, {"match_id": "M1"}),
        ({"type": "GET_MATCH", "query_params": None}, {}),
        ({"query": "GET_MATCH", "type": "query", "params": None}, {}),
    ],
)
def test_a_query_may_go_by_other_names(asked, params):
    message = read(request(asked, "league_query")).message

    assert (message.query_type, message.query_params) == ("GET_MATCH", params)


@rule("R-REG-03")
def test_no_other_message_is_looked_at_for_the_places_of_a_registration():
    incoming = read(request({**ENVELOPE, "query_type": "GET_STATUS"}, "league_query"))

    assert incoming.missing == ("message_type", "league_id", "query_params")
