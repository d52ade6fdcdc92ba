"""Matches as foreign managers start them here, and as foreign referees are told to run them."""

import json
import sys

import msgspec
from msgspec import UNSET

from agentleague.dialects import requests, starting
from agentleague.dialects.negotiation import nonsense_start
from agentleague.dialects.results import is_open
from agentleague.dialects.starting import (
    NAMINGS,
    START_METHODS,
    is_assignment,
    namings_of,
    nonsense,
)
from agentleague.dialects.table import OURS, dialect_of, in_words, start_name
from agentleague.dialects.tools import Tool
from agentleague.errors import MissingField
from agentleague.protocol import codec
from agentleague.protocol.messages import (
    LeagueCompleted,
    RoundAnnouncement,
    RoundMatch,
    Seated,
    StartMatch,
)
from rules import rule
from tables import each_row

SEATS = [
    Seated("P01", "http://a/mcp", "Ann", match_token="mtok_a"),
    Seated("P02", "http://b/mcp", "Bob", match_token="mtok_b"),
]
MATCH = RoundMatch("R1M1", "even_odd", "P01", "P02", "http://ref/mcp", seats=SEATS)
ASSIGNMENT = RoundAnnouncement(
    league_id="league_1", round_id=1, matches=[MATCH], session="s", sender="league_manager"
)
PLACES = {
    "tool": ("params",),
    "type": ("params",),
    "lower": ("params",),
    "message": ("params", "message"),
    "mcp": ("params", "arguments"),
    "bare": (),
}


def written(name, message=ASSIGNMENT, tools=None):
    return msgspec.json.decode(dialect_of(name).write(message, 7, tools))


def inside(request, base):
    for name in PLACES[base]:
        request = request[name]
    return request


@rule("R-START-01")
@each_row("base", PLACES)
def test_each_way_names_the_match_and_its_players_in_every_naming(base):
    for start_type in START_METHODS.keys() - {"ROUND_ANNOUNCEMENT"}:
        message = inside(written(start_name(start_type, base)), base)

        assert (message["message_type"], message["match_id"]) == (start_type, "R1M1")
        for naming in NAMINGS.values():
            assert [message[name] for name in naming.ids] == ["P01", "P02"]
            assert [message[name] for name in naming.endpoints] == ["http://a/mcp", "http://b/mcp"]
        assert [player["display_name"] for player in message["players"]] == ["Ann", "Bob"]
        assert (message["game_id"], message["sender"]) == ("R1M1", starting.SENDER)
        assert "mtok" not in str(message)


@rule("R-START-01")
@each_row(
    ("name", "method"),
    [
        ("start_match/tool", "start_match"),
        ("assign_match/tool", "assign_match"),
        ("match_assignment/type", "MATCH_ASSIGNMENT"),
        ("run_match/lower", "run_match"),
        ("notify_round/tool", "notify_round"),
        ("notify_round/type", "ROUND_ANNOUNCEMENT"),
        ("start_match/message", "handle_message"),
        ("start_match/mcp", "tools/call"),
    ],
)
def test_it_is_called_by_the_tool_or_by_the_type(name, method):
    assert written(name)["method"] == method


@rule("R-START-01")
def test_a_referee_that_refuses_unknown_fields_gets_one_naming_alone():
    for naming, (ids, endpoints) in NAMINGS.items():
        flat = written(f"start_match/tool+{naming}")["params"]
        bare = written(f"start_match/bare+{naming}")

        names = {"match_id", "round_id", "league_id", "game_type", *ids, *endpoints}
        assert set(flat) == names
        assert set(bare) == {*names, "protocol", "message_type", "sender", "timestamp"}


@rule("R-START-01")
@each_row("base", PLACES)
def test_a_referee_may_want_each_player_as_an_object(base):
    message = inside(written(f"start_match/{base}+objects"), base)

    for one, other in [("player1", "player2"), ("player_a", "player_b"), ("player_A", "player_B")]:
        assert message[one]["display_name"] == message[one]["name"] == "Ann"
        assert message[other]["endpoint"] == message[other]["url"] == "http://b/mcp"
        assert {type(value) for value in message[other].values()} == {str}
    assert (message["player1_id"], message["message_type"]) == ("P01", "START_MATCH")


def test_a_tool_gets_objects_or_a_list_of_matches_if_it_lists_them():
    takes = {"game_id": "string", "player1": "object", "matches": "array"}

    asked = written("start_match/mcp", tools={"START_MATCH": Tool("begin", takes)})

    arguments = asked["params"]["arguments"]
    assert (arguments["game_id"], arguments["player1"]["id"]) == ("R1M1", "P01")
    assert arguments["matches"][0]["player_B_endpoint"] == "http://b/mcp"


@rule("R-START-01")
@each_row(
    ("name", "method"),
    [
        ("by conduct_game/tool", "conduct_game"),
        ("by CONDUCT_GAME/tool+a", "CONDUCT_GAME"),
        ("by conduct_game/message", "handle_message"),
    ],
)
def test_a_method_that_a_referee_named_is_kept_in_the_name_of_its_dialect(name, method):
    asked = written(name)

    assert asked["method"] == method
    assert "R1M1" in str(asked)
    assert in_words(name).startswith(f"matches {name.partition('/')[0]}")


@each_row(
    "name",
    [
        "by rm -rf/tool",
        "conduct_game/tool",
        "by conduct_game/elsewhere",
        "by conduct_game/tool+zz",
        "game/",
        "/tool",
    ],
)
def test_what_is_no_name_of_a_method_is_no_dialect(name):
    assert dialect_of(name).name == "tool"


@rule("R-START-01")
def test_an_announcement_is_told_as_it_is_or_with_what_the_documents_show():
    whole = written("notify_round/tool")["params"]
    plain = written("notify_round/tool+plain")["params"]

    assert whole == msgspec.to_builtins(ASSIGNMENT) | {"message_type": "ROUND_ANNOUNCEMENT"}
    assert set(plain["matches"][0]) == {
        "match_id",
        "game_type",
        "player_A_id",
        "player_B_id",
        "referee_endpoint",
    }


@rule("R-DIA-06")
def test_a_tool_gets_the_parameters_that_it_says_it_takes():
    tool = Tool(
        "begin", takes=dict.fromkeys(("match_id", "player_a", "player_b_url", "colour"), "")
    )

    asked = written("start_match/mcp", tools={"START_MATCH": tool})["params"]

    assert asked == {
        "name": "begin",
        "arguments": {"match_id": "R1M1", "player_a": "P01", "player_b_url": "http://b/mcp"},
    }


def test_other_messages_are_written_in_its_form():
    assert written("start_match/type", LeagueCompleted())["method"] == "LEAGUE_COMPLETED"


def test_only_a_referees_copy_of_one_match_is_said_otherwise():
    assert is_assignment(ASSIGNMENT)
    assert not is_assignment(LeagueCompleted())
    assert not is_assignment(RoundAnnouncement(matches=[MATCH]))
    assert not is_assignment(RoundAnnouncement(matches=[MATCH, MATCH], session="s"))


@rule("R-START-02")
def test_nonsense_is_nothing_that_anybody_could_act_on():
    asked = written(nonsense_start("assign_match/type+a"), nonsense(ASSIGNMENT))

    assert asked["method"] == asked["params"]["message_type"] == "NO_SUCH_MESSAGE"
    assert "R1M1" not in str(asked)


def test_every_way_has_words_of_its_own():
    names = [
        start_name(start_type, base, naming)
        for base in (*PLACES, "protocol/message(data)", "type#text")
        for start_type in START_METHODS
        for naming in ("", *namings_of(start_type))
    ]
    words = [in_words(name) for name in names]

    assert [dialect_of(name).name for name in names] == names
    assert dialect_of("start_match/tool+Z") == dialect_of("start_match/nobody") == OURS
    assert len(set(words)) == len(words)
    assert all(each.startswith("matches by ") for each in words)


TAKEN = codec.taken_by("referee")
ANN, BOB = "http://ann/mcp", "http://bob/mcp"
IDS = ("P01", "P02")


def read(method, params):
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 1}).encode()
    return requests.read_request(body, TAKEN)


def only_match(method, params):
    """The one match of a message, as (players, end points)."""
    (match,) = read(method, params).message.matches
    ids = (match.player_A_id, match.player_B_id)
    return ids, (match.player_A_endpoint, match.player_B_endpoint)


@rule("R-GUEST-01")
@each_row(
    "method",
    [
        *("start_match", "assign_match", "run_match", "START_MATCH", "MATCH_ASSIGNMENT"),
        *("match_assignment", "play_match", "handle_match_assignment"),
    ],
)
def test_a_match_is_started_by_many_names(method):
    message = read(method, {"match_id": "R2M1", "player_a": "P01", "player_b": "P02"}).message

    assert isinstance(message, StartMatch)
    assert (message.round_id, message.matches[0].match_id) == (2, "R2M1")


@rule("R-GUEST-01")
@each_row(
    "players",
    [
        {"player_A_id": "P01", "player_B_id": "P02", "player_A_endpoint": ANN, "player_B_url": BOB},
        {"player_a": "P01", "player_b": "P02", "player_a_endpoint": ANN, "player_b_endpoint": BOB},
        {"player1_id": "P01", "player2_id": "P02", "player1_url": ANN, "player2_url": BOB},
        {"playerA": "P01", "playerB": "P02", "playerAEndpoint": ANN, "playerBEndpoint": BOB},
        {"player_id_1": "P01", "player_id_2": "P02", "endpoint_1": ANN, "endpoint_2": BOB},
        {"player_a": {"id": "P01", "url": ANN}, "player_b": {"player_id": "P02", "endpoint": BOB}},
        {"players": [{"id": "P01", "endpoint": ANN}, {"id": "P02", "contact_endpoint": BOB}]},
        {"players": ["P01", "P02"], "player_endpoints": {"P01": ANN, "P02": BOB}},
        {"player_ids": ["P01", "P02"], "endpoints": [ANN, BOB]},
        {"players": {"P01": ANN, "P02": BOB}},
        {"players": {"P01": {"endpoint": ANN}, "P02": {"url": BOB}}},
        {"player1": {"name": "P01", "url": ANN}, "player2": {"display_name": "P02", "url": BOB}},
        {"players": {"A": {"id": "P01", "url": ANN}, "B": {"id": "P02", "url": BOB}}},
    ],
)
def test_players_and_their_end_points_go_by_many_names(players):
    assert only_match("start_match", {"match_id": "M1", **players}) == (IDS, (ANN, BOB))


@each_row("name", ["match", "assignment", "payload"])
def test_a_match_may_stand_one_level_down(name):
    inner = {"id": "M1", "player_a": "P01", "player_b": "P02"}

    assert only_match("start_match", {name: inner}) == (IDS, (UNSET, UNSET))


def test_what_has_its_documented_name_counts_first():
    told = {"player_a": "X", "player_A_id": "P01", "player_B_id": "P02", "player_b": "Y"}

    assert only_match("start_match", {"match_id": "M1", **told})[0] == IDS


def test_several_matches_may_come_at_once():
    rows = [{"match_id": name, "player_a": "P01", "player_b": "P02"} for name in ("M1", "M2")]

    message = read("start_match", {"matches": [*rows, "rubbish"]}).message

    assert [match.match_id for match in message.matches] == ["M1", "M2"]
    assert {match.player_B_id for match in message.matches} == {"P02"}


@each_row(
    ("told", "round_id"),
    [
        ({"round_id": 3}, 3),
        ({"round": "Round 4"}, 4),
        ({"round_number": True, "match_id": "R5M2"}, 5),
        ({"match_id": "final", "round_id": None}, 1),
    ],
)
def test_the_round_is_a_number_however_it_is_written(told, round_id):
    players = {"player_a": "P01", "player_b": "P02"}

    assert read("start_match", {"match_id": "M", **players, **told}).message.round_id == round_id


@rule("R-GUEST-01")
@each_row(
    ("told", "field"),
    [
        ({"player_a": "P01", "player_b": "P02"}, "match_id"),
        ({"match_id": "M1", "player_a": "P01"}, "player_B_id"),
        ({"matches": [{"match_id": 7, "player_b": "P02", "player_a": "P01"}]}, "match_id"),
    ],
)
def test_a_match_without_two_players_is_refused_by_the_field_that_is_missing(told, field):
    error = read("start_match", told).error

    assert isinstance(error, MissingField)
    assert error.context["field"].endswith(field)


def test_an_announcement_may_name_its_players_in_other_words():
    told = {"match_id": "M1", "player1": "P01", "player2": "P02", "referee_id": "REF01"}

    incoming = read("notify_round", {"round_id": 1, "matches": [told]})

    assert isinstance(incoming.message, RoundAnnouncement)
    (match,) = incoming.message.matches
    assert (match.player_A_id, match.player_B_id, match.referee_id) == ("P01", "P02", "REF01")


def test_an_announcement_that_cannot_be_read_so_stays_as_it_is():
    told = {"match_id": "M1", "player_a": "P" * 65, "player_b": "P02"}

    (match,) = read("notify_round", {"matches": [told]}).message.matches

    assert (match.match_id, match.player_A_id) == ("M1", "")


@rule("R-GUEST-02")
@each_row(
    "told",
    [
        {"data": {"player_stats": {"player_id": "P01", "endpoint": ANN}}},
        {"player": {"name": "?", "url": ANN}},
        {"players": [{"id": "P02", "endpoint": BOB}, {"id": "P01", "endpoint": ANN}]},
        {"data": {"endpoints": {"P02": BOB, "P01": ANN}}},
        {"data": {"P02": {"endpoint": BOB}, "P01": {"name": "Ann", "contact_endpoint": ANN}}},
    ],
)
def test_where_a_player_is_is_found_wherever_it_is_said(told):
    assert starting.find_endpoint("P01", told) == ANN


@each_row(
    "told",
    [
        None,
        [],
        {},
        {"player_id": "P02", "endpoint": BOB},
        {"P01": "soon"},
        {"P01": {"name": "Ann"}},
    ],
)
def test_where_nobody_says_it_nothing_is_found(told):
    assert starting.find_endpoint("P01", told) == ""


NAMED = {"player1_id": "P01", "player2_id": "P02"}


@rule("R-GUEST-02")
@each_row("wrap", [lambda told: {"data": told}, lambda told: [told]])
def test_nothing_is_looked_for_too_deep(wrap):
    told = {"player_id": "P01", "endpoint": ANN, "match_id": "M1", "status": "open", **NAMED}
    for _ in range(2 * sys.getrecursionlimit()):
        told = wrap(told)

    assert starting.find_endpoint("P01", told) == ""
    assert starting.find_matches(told) == []
    assert not starting.speaks_of_matches({"x": {"y": told}} if isinstance(told, list) else told)
    assert not is_open("M1", told)


@rule("R-GUEST-07")
@each_row(
    ("answer", "found"),
    [
        ({"matches": [{"match_id": "R2M1", **NAMED}]}, [("R2M1", 2, "")]),
        ({"data": {"match": {"game_id": "M1", "players": ["P01", "P02"]}}}, [("M1", 1, "")]),
        ({"id": "M1", "round": 3, "league_id": "cup", **NAMED}, [("M1", 3, "cup")]),
        ([{"id": "M1", **NAMED}, {"id": "M2", **NAMED, "winner": "P01"}], [("M1", 1, "")]),
        ({"matches": [{"match_id": "M1"}]}, []),
        ({"match_id": "M" * 1000, **NAMED}, []),
        ({"matches": [], "match": None}, []),
        ("none", []),
    ],
)
def test_the_matches_in_an_answer_are_found_wherever_they_stand(answer, found):
    starts = starting.find_matches(answer)

    assert [(each.matches[0].match_id, each.round_id, each.league_id) for each in starts] == found


@each_row(
    ("answer", "is_so"),
    [
        ({"matches": []}, True),
        ({"data": {"next_match": None}}, True),
        ({"data": []}, True),
        ({"status": "ok", "total_matches": 3}, False),
        ({"message": "no such method: get_next_match"}, False),
        (None, False),
    ],
)
def test_an_answer_may_say_that_there_are_no_matches(answer, is_so):
    assert starting.speaks_of_matches(answer) == is_so
