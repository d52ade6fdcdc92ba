"""Dialects: how each is written, what an answer says of them, and which one is tried next."""

import msgspec
import pytest

from agentleague.dialects.table import (
    BROKEN,
    DIALECTS,
    EMPTY,
    MORE,
    OURS,
    UNFIT,
    UNKNOWN_METHOD,
    dialect_of,
    guess,
    in_words,
    is_dialect,
    order,
    search_in_words,
    tried,
    trouble,
    what_to_do,
)
from agentleague.dialects.tools import Tool
from agentleague.errors import (
    IllegalMove,
    MissingField,
    NoAnswer,
    NoConnection,
    PeerRefused,
    RateLimited,
    WrongType,
)
from agentleague.protocol import codec
from agentleague.protocol.messages import (
    ChooseParityCall,
    GameInvitation,
    GameMoveCall,
    GameOver,
    GameResult,
    LeagueRegisterRequest,
    MatchResultReport,
    MoveContext,
    PlayerMeta,
    ReportedResult,
)
from rules import rule

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


def refused(number=None, code=None, **more):
    return PeerRefused("no", number=number, code=code, data={}, **more)


def names(used, message_type, why):
    return [dialect.name for dialect in order(used, message_type, why)]


def test_every_dialect_of_the_table_has_its_test():
    assert set(WRITTEN) == {name for name in DIALECTS if "+" not in name}


@pytest.mark.parametrize("name", WRITTEN)
def test_each_dialect_writes_method_and_message_in_its_own_way(name):
    join, move, path = WRITTEN[name]

    for message, method in ((INVITATION, join), (CALL, move)):
        request = written(name, message)
        assert request.get("method") == method
        assert request.get("id", 7) == 7
        assert inside(request, path) == msgspec.to_builtins(message)


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
@pytest.mark.parametrize("name", WRITTEN)
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
    tools = {"GAME_INVITATION": Tool("come_and_play"), "CHOOSE_PARITY_CALL": Tool("do", True)}

    assert written("mcp", INVITATION, tools)["params"]["name"] == "come_and_play"
    assert written("mcp", CALL, tools)["params"]["arguments"]["message"]["match_id"] == "R1M1"
    assert written("mcp", OVER, tools)["params"]["name"] == "notify_match_result"


@rule("R-DIA-08")
@pytest.mark.parametrize(
    ("form", "method", "name"),
    [
        ("jsonrpc", "register_player", ""),
        ("jsonrpc", "LEAGUE_REGISTER_REQUEST", "type"),
        ("jsonrpc", "league_register_request", "lower"),
        ("nested", "handle_message", "message"),
        ("tool", "register_player", "mcp"),
        ("bare", "", "bare"),
        ("smoke signals", "", ""),
    ],
)
def test_the_form_of_a_registration_is_the_first_guess(form, method, name):
    assert guess(form, method) == name


@rule("R-DIA-01")
@pytest.mark.parametrize(
    ("error", "why"),
    [
        (refused(-32601), UNKNOWN_METHOD),
        (refused(-32601, "E051"), UNKNOWN_METHOD),
        (refused(-32602, "E003"), UNFIT),
        (refused(-32600), UNFIT),
        (refused(-32700), UNFIT),
        (refused(-32603), BROKEN),
        (refused(-32000), BROKEN),
        (refused(status=404), UNKNOWN_METHOD),
        (refused(status=422), UNFIT),
        (NoConnection("HTTP 500", status=500), BROKEN),
        (NoConnection("HTTP 405", status=405), UNKNOWN_METHOD),
        (MissingField("nothing in it"), EMPTY),
        (refused(), EMPTY),  # An error inside a result.
    ],
)
def test_what_complains_of_the_form_is_worth_another_form(error, why):
    assert trouble(INVITATION, error) == why


@rule("R-DIA-03")
@pytest.mark.parametrize(
    "error",
    [
        None,
        NoAnswer("silence"),
        NoConnection("nobody there"),
        NoConnection("HTTP 503", status=503),
        RateLimited("slow down"),
        WrongType("accept is no bool"),
        IllegalMove("no such move"),
        refused(-32603, "E052"),  # One of ours whose strategy failed.
        refused(4001, "E012"),
        refused(4005),
        refused(-32602, "E018"),
    ],
)
def test_what_has_a_meaning_of_its_own_is_not(error):
    assert trouble(INVITATION, error) is None


@rule("R-DIA-10")
def test_a_registration_that_is_not_confirmed_was_not_understood():
    registration = REGISTRATION

    assert trouble(registration, WrongType("status")) == EMPTY
    assert trouble(registration, refused()) == EMPTY
    assert trouble(registration, refused(2001, "E020")) is None


@rule("R-DIA-04")
def test_a_notice_needs_no_content():
    assert trouble(OVER, refused()) is None
    assert trouble(OVER, refused(-32601)) == UNKNOWN_METHOD
    assert trouble(OVER, refused(status=500)) == BROKEN


def test_what_came_back_decides_what_is_tried_first():
    assert names("", "GAME_INVITATION", UNKNOWN_METHOD)[:3] == ["type", "message", "mcp"]
    assert names("", "GAME_INVITATION", UNFIT)[:2] == ["tool+plain", "message"]
    assert names("type", "GAME_INVITATION", UNFIT)[:2] == ["type+plain", "tool"]
    assert names("type+plain", "GAME_INVITATION", UNFIT)[0] == "tool"
    assert names("", "GAME_INVITATION", BROKEN)[:2] == ["message", "bare"]
    assert names("bare", "GAME_INVITATION", EMPTY)[:2] == ["tool", "type"]


def test_what_is_not_taken_at_a_path_of_its_own_goes_where_all_else_goes():
    assert names("role", "MATCH_RESULT_REPORT", UNKNOWN_METHOD)[:2] == ["bare", "tool"]


def test_no_form_is_tried_twice_and_none_is_left_out():
    tried = names("", "LEAGUE_REGISTER_REQUEST", EMPTY)

    assert {*tried, "tool"} == {name for name in DIALECTS if not name.endswith(MORE)}
    assert len(tried) == len(set(tried))
    assert "choose+more" in names("", "CHOOSE_PARITY_CALL", EMPTY)  # It has a context.
    assert "path" not in names("", "CHOOSE_PARITY_CALL", EMPTY)  # It is `bare` there.
    assert "choose" not in names("", "GAME_INVITATION", EMPTY)  # It is the same there.


@rule("R-DIA-09")
def test_a_search_in_vain_is_told_with_the_form_that_was_nearest():
    forms = [
        tried(DIALECTS["tool"], UNKNOWN_METHOD, refused(-32601)),
        tried(DIALECTS["type"], UNFIT, NoConnection("HTTP 422", status=422)),
        tried(DIALECTS["bare"], EMPTY, MissingField("nothing")),
    ]

    assert search_in_words(forms) == (
        "tried tool (error -32601), type (HTTP 422), bare (nothing in it); "
        "nearest: type, which it knows, with other fields"
    )
    assert search_in_words(forms[:1]) == "tried tool (error -32601)"


@rule("R-GUEST-04")
def test_a_registration_in_vain_is_told_by_what_came_back_and_with_what_would_help():
    said = NoConnection("HTTP 422", status=422, said='{"detail": "\x1bno name"}')
    forms = [
        tried(DIALECTS["tool"], UNKNOWN_METHOD, refused(-32601)),
        tried(DIALECTS["type"], UNKNOWN_METHOD, refused(-32601)),
        tried(DIALECTS["bare"], UNFIT, said),
    ]

    assert what_to_do(forms) == (
        "error -32601 to tool, type; HTTP 422 to bare. Nearest was bare, to which it said: "
        '{"detail": "no name"}. It knows that form, and wants other fields; its organiser knows '
        "which."
    )


def test_a_dialect_has_words_for_people():
    assert in_words("type") == "message type as method"
    assert in_words("bare+plain") == "bare messages, no JSON-RPC, documented fields only"
    assert in_words("") == in_words("tool") == "tool names of the documents"


@rule("R-DIA-05")
def test_whoever_wants_the_context_under_another_name_gets_it_so():
    call = ChooseParityCall(match_id="R1M1", context=MoveContext(opponent_id="P02"))

    asked = written("type+more", call)

    assert asked["method"] == "CHOOSE_PARITY_CALL"
    assert asked["params"]["game_context"] == asked["params"]["context"]
    assert written("type+more", INVITATION) == written("type", INVITATION)
    assert names("", "CHOOSE_PARITY_CALL", UNFIT)[:2] == ["tool+plain", "tool+more"]


def test_that_answers_come_bare_is_said_and_changes_nothing_else():
    assert in_words("type~bare") == "message type as method, bare answers"
    assert dialect_of("type~bare") == DIALECTS["type"]
    assert is_dialect("type~bare")
    assert not is_dialect("start_match/tool")
    assert names("type~bare", "GAME_INVITATION", UNFIT)[0] == "type+plain"
