"""Which dialect is tried first and which next, by what came back."""

from agentleague.dialects.negotiation import (
    BROKEN,
    EMPTY,
    UNFIT,
    UNKNOWN_METHOD,
    Attempt,
    Negotiation,
    Next,
    PeerDialect,
    describe_search,
    describe_start_search,
    failed_attempt,
    first_start,
    guess,
    misunderstanding,
    next_start,
    other_dialects,
    what_to_do,
)
from agentleague.dialects.table import DIALECTS, MORE, PLAIN, dialect_of, is_dialect
from agentleague.errors import (
    IllegalMove,
    MissingField,
    NoAnswer,
    NoConnection,
    PeerRefused,
    RateLimited,
    WrongType,
)
from agentleague.protocol.messages import (
    GameInvitation,
    GameOver,
    GameResult,
    LeagueRegisterRequest,
    PlayerMeta,
)
from dialects.test_starting import written
from rules import rule
from tables import each_row

INVITATION = GameInvitation(match_id="R1M1", player_id="P02", epoch=2)
REGISTRATION = LeagueRegisterRequest(PlayerMeta("Ann", "http://ann/mcp"))
OVER = GameOver(GameResult("DRAW"))


def refused(number=None, code=None, **more):
    return PeerRefused("no", number=number, code=code, data={}, **more)


def names(used, message_type, problem):
    return [dialect.name for dialect in other_dialects(used, message_type, problem)]


@rule("R-DIA-08")
@each_row(
    ("form", "method", "key", "name"),
    [
        ("jsonrpc", "register_player", "", ""),
        ("jsonrpc", "league_register", "", ""),
        ("jsonrpc", "register", "", ""),
        ("jsonrpc", "player.register", "", ""),  # It names this message, in words of its own.
        ("jsonrpc", "LEAGUE_REGISTER_REQUEST", "", "type"),
        ("jsonrpc", "league_register_request", "", "lower"),
        ("nested", "handle_message", "message", "message"),
        ("tool", "register_player", "", "mcp"),
        ("bare", "", "", "bare"),
        # What is not in the table.
        ("jsonrpc", "LeagueRegisterRequest", "", "MessageType()"),
        ("jsonrpc", "leagueRegisterRequest", "", "messageType()"),
        ("jsonrpc", "league-register-request", "", "message-type()"),
        ("jsonrpc", "league.v2/LEAGUE_REGISTER_REQUEST", "", "league.v2/MESSAGE_TYPE()"),
        ("jsonrpc", "LEAGUE_REGISTER", "", "type"),
        ("jsonrpc", "registerPlayer", "", "toolName()"),
        ("jsonrpc", "league.register_player", "", "league.tool_name()"),
        ("jsonrpc", "protocol", "", "protocol()"),
        ("nested", "protocol/message", "message", "protocol/message(message)"),
        ("nested", "a2a.send", "payload", "a2a.send(payload)"),
        ("nested", "LEAGUE_REGISTER_REQUEST", "data", "MESSAGE_TYPE(data)"),
        ("tool", "register_player", "request", "tools/call(request)"),
        ("bare", "", "payload", "(payload)"),
        ("nested", "handle_message", "envelope.payload", "handle_message(envelope.payload)"),
        # What cannot be a name is not learnt.
        ("jsonrpc", "x" * 33, "", ""),
        ("nested", 'rm", "id', "message", ""),
        ("nested", "protocol/message", 'a": "', ""),
        ("nested", "protocol/message", "k" * 13, ""),
        ("nested", "привет", "message", ""),
    ],
)
def test_the_form_of_a_registration_is_the_first_guess(form, method, key, name):
    found = guess("LEAGUE_REGISTER_REQUEST", form, method, key, has_text_id=False)
    with_text = guess("LEAGUE_REGISTER_REQUEST", form, method, key, has_text_id=True)

    assert found == name
    assert is_dialect(found or "tool")
    is_unknown = not name and with_text == ""
    assert is_unknown or with_text == f"{name or 'tool'}#text"


@rule("R-DIA-01")
@each_row(
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
    assert misunderstanding(INVITATION, error) == why


@rule("R-DIA-03")
@each_row(
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
    assert misunderstanding(INVITATION, error) is None


@rule("R-DIA-10")
def test_a_registration_that_is_not_confirmed_was_not_understood():
    registration = REGISTRATION

    assert misunderstanding(registration, WrongType("status")) == EMPTY
    assert misunderstanding(registration, refused()) == EMPTY
    assert misunderstanding(registration, refused(2001, "E020")) is None


@rule("R-DIA-04")
def test_a_notice_needs_no_content():
    assert misunderstanding(OVER, refused()) is None
    assert misunderstanding(OVER, refused(-32601)) == UNKNOWN_METHOD
    assert misunderstanding(OVER, refused(status=500)) == BROKEN


def test_what_came_back_decides_what_is_tried_first():
    assert names("", "GAME_INVITATION", UNKNOWN_METHOD)[:3] == ["type", "message", "mcp"]
    assert names("", "GAME_INVITATION", UNFIT)[:3] == ["tool+plain", "tool+more", "message"]
    assert names("type", "GAME_INVITATION", UNFIT)[:3] == ["type+plain", "type+more", "tool"]
    assert names("type+plain", "GAME_INVITATION", UNFIT)[:2] == ["type+more", "tool"]
    assert names("type~bare", "GAME_INVITATION", UNFIT)[0] == "type+plain"
    assert names("type+plain", "GAME_OVER", UNFIT)[0] == "tool"  # It has no more to say.
    assert names("", "CHOOSE_PARITY_CALL", UNFIT)[:2] == ["tool+plain", "tool+more"]
    assert names("", "GAME_INVITATION", BROKEN)[:2] == ["message", "bare"]
    assert names("bare", "GAME_INVITATION", EMPTY)[:2] == ["tool", "type"]


def test_one_that_showed_how_it_speaks_gets_variants_of_that_and_then_the_others():
    shown = "protocol/message(message)"

    assert names(shown, "CHOOSE_PARITY_CALL", UNFIT)[:3] == [shown + PLAIN, shown + MORE, "tool"]
    assert shown + PLAIN in names(shown, "GAME_INVITATION", UNKNOWN_METHOD)
    assert names("type#text", "GAME_INVITATION", UNFIT)[:2] == ["type", "type#text+plain"]
    like = ["handle_message_type()", "on_message_type()"]  # as in handle_game_invitation
    assert names("", "CHOOSE_PARITY_CALL", UNKNOWN_METHOD)[-2:] == like
    assert "tool#text" in names("type#text", "GAME_INVITATION", UNKNOWN_METHOD)[:3]


def test_what_is_not_taken_at_a_path_of_its_own_goes_where_all_else_goes():
    assert names("role", "MATCH_RESULT_REPORT", UNKNOWN_METHOD)[:2] == ["bare", "tool"]


def test_no_form_is_tried_twice_and_none_is_left_out():
    tried = names("", "LEAGUE_REGISTER_REQUEST", UNFIT)

    at_a_path = {f"{name}{MORE}" for name in ("path", "api", "named", "role")}  # as without it
    assert {*tried, "tool"} == {*DIALECTS} - at_a_path
    assert len(tried) == len(set(tried))
    assert "choose+more" in names("", "CHOOSE_PARITY_CALL", EMPTY)  # It has a context.
    # Without a complaint it may have been taken: it is not repeated with other fields.
    assert not any("+" in name for name in names("", "LEAGUE_REGISTER_REQUEST", EMPTY))
    assert "path" not in names("", "CHOOSE_PARITY_CALL", EMPTY)  # It is `bare` there.
    assert "choose" not in names("", "GAME_INVITATION", EMPTY)  # It is the same there.


@rule("R-DIA-09")
def test_a_search_in_vain_is_told_with_the_form_that_was_nearest():
    forms = [
        failed_attempt("tool", UNKNOWN_METHOD, refused(-32601)),
        failed_attempt("type", UNFIT, NoConnection("HTTP 422", status=422)),
        failed_attempt("bare", EMPTY, MissingField("nothing")),
    ]

    assert describe_search(forms) == (
        "tried tool (error -32601), type (HTTP 422), bare (nothing in it); "
        "nearest: type, which it knows, with other fields"
    )
    assert describe_search(forms[:1]) == "tried tool (error -32601)"
    missing = [NoConnection(f"no {each}", status=422) for each in ("type", "type", "game_id")]
    alike = [failed_attempt("type", UNFIT, each) for each in missing]
    assert describe_start_search(alike).startswith("it said: no game_id; ")


@rule("R-GUEST-04")
def test_a_registration_in_vain_is_told_by_what_came_back_and_with_what_would_help():
    said = NoConnection("HTTP 422", status=422, said="HTTP 422: no name")
    forms = [
        failed_attempt("tool", UNKNOWN_METHOD, refused(-32601)),
        failed_attempt("type", UNKNOWN_METHOD, refused(-32601)),
        failed_attempt("bare", UNFIT, said),
    ]

    assert what_to_do(forms) == (
        "it said: HTTP 422: no name. It knows that form, and wants other fields; its organiser "
        "knows which."
    )


@rule("R-START-01")
@each_row(
    ("known", "first"),
    [
        ("", "start_match/tool"),
        ("type", "start_match/type"),
        ("bare+plain", "start_match/bare"),
        ("choose", "start_match/tool"),
        ("run_match/bare+1", "run_match/bare+1"),
        ("protocol/message(data)+plain", "start_match/protocol/message(data)"),
    ],
)
def test_it_begins_with_what_is_known(known, first):
    assert first_start(known) == first


def search(first, answer):
    """All that is tried, where `answer` says what comes of each."""
    tried, way = [], first
    while way:
        tried.append(Attempt(way, answer(way), "no"))
        way = next_start(first, tried)
    return [each.dialect for each in tried]


@rule("R-START-01")
@each_row(
    ("first", "why", "then"),
    [
        (
            "start_match/tool",
            UNKNOWN_METHOD,
            [
                *("assign_match/tool", "match_assignment/tool", "run_match/tool"),
                *("start_match_command/tool", "notify_round/tool"),
            ],
        ),
        ("start_match/type", UNKNOWN_METHOD, ["assign_match/type", "match_assignment/type"]),
        ("start_match/tool", UNFIT, ["assign_match/tool", "match_assignment/tool"]),
        ("start_match/tool", BROKEN, ["start_match/message", "start_match/bare"]),
        ("start_match/tool", EMPTY, ["notify_round/tool", "assign_match/tool"]),
        ("notify_round/tool", UNFIT, ["start_match/tool", "assign_match/tool"]),
    ],
)
def test_what_comes_next_depends_on_what_came_back(first, why, then):
    found = search(first, lambda way: why)

    assert found[: len(then) + 1] == [first, *then]


@rule("R-START-01")
def test_fewer_fields_follow_once_it_shows_that_the_fields_are_what_is_wrong():
    def answer(way):
        return UNFIT if way.startswith("start_match/tool") else UNKNOWN_METHOD

    tried = [
        Attempt("start_match/tool", UNFIT, "HTTP 422"),
        Attempt("assign_match/tool", UNKNOWN_METHOD, "error -32601"),
    ]
    silent = [tried[0], Attempt("assign_match/tool", UNFIT, "HTTP 422")]

    assert next_start("start_match/tool", tried) == "start_match/tool+A"
    assert next_start("start_match/tool", silent) == "match_assignment/tool"
    assert {"start_match/tool+A", "start_match/tool+1"} <= set(search("start_match/tool", answer))
    broken = [Attempt(f"{each}_match/tool", BROKEN, "HTTP 500") for each in ("start", "assign")]
    known = Attempt("run_match/tool", UNFIT, "error -32602")
    assert next_start("start_match/tool", [*broken, known]) == "run_match/tool+A"


@rule("R-START-01")
@each_row(
    ("asked", "said", "then"),
    [
        ("start_match/tool", "expected one of: get_state, conduct_game", "by conduct_game/tool"),
        ("start_match/type", "'START_MATCH' is unknown, not BeginMatch", "by BeginMatch/tool"),
        ("start_match/tool", "known: ['RUN_MATCH', 'GAME_OVER']", "run_match/type"),
        ("start_match/type", "known: run_match, report_match_result", "run_match/tool"),
        ("start_match/message", "message_type must be LAUNCH_GAME", "by LAUNCH_GAME/message"),
        (
            "start_match/tool",
            "no method start_match",
            "assign_match/tool",
        ),  # Only what it was asked.
        ("start_match/tool", "start now; " + "x" * 50 + "_match_start", "assign_match/tool"),
    ],
)
def test_a_method_that_it_says_it_has_is_tried_next(asked, said, then):
    for error in (
        PeerRefused(said, number=-32601, code=None, data={}),
        PeerRefused("no", number=-32601, code=None, data={"methods": [said]}),
    ):
        tried = [failed_attempt(asked, UNKNOWN_METHOD, error)]

        assert next_start(asked, tried) == then
        assert dialect_of(then).starts


@rule("R-START-01")
@each_row("why", [UNKNOWN_METHOD, UNFIT, BROKEN, EMPTY])
def test_a_search_ends_and_tries_nothing_twice(why):
    found = search("start_match/tool", lambda way: why)

    asked = {str(written(name) | {"id": 0}) for name in found}
    assert len(asked) == len(found) > 20


@rule("R-START-04")
def test_a_search_in_vain_says_what_came_back_the_nearest_and_what_would_do():
    forms = [
        Attempt("start_match/tool", UNKNOWN_METHOD, "error -32601"),
        Attempt("start_match/type", UNKNOWN_METHOD, "error -32601"),
        Attempt("run_match/type", UNFIT, "HTTP 422"),
    ]

    assert describe_start_search(forms) == (
        "tried in 2 forms start_match: error -32601; run_match: HTTP 422; nearest: run_match/type, "
        "which it knows, with other fields; it would work if it took start_match with match_id, "
        "player_A_id, player_A_endpoint, player_B_id, player_B_endpoint"
    )
    assert "nearest" not in describe_start_search(forms[:2])


@rule("R-DIA-07")
def test_a_negotiation_is_told_what_came_back_and_says_what_to_do_next():
    peer = PeerDialect("", "http://ann/mcp")
    negotiation = Negotiation(peer, INVITATION)

    assert negotiation.begin().name == "tool"
    assert negotiation.failed(MissingField("nothing in it")) is Next.WAIT
    assert negotiation.go_on() is Next.ASK
    assert negotiation.dialect.name == "type"
    assert negotiation.understood(is_bare=True) == "type~bare"
    assert peer.first_for("CHOOSE_PARITY_CALL").name == "type"
    assert negotiation.failed(RateLimited("slow down")) is Next.LAST
