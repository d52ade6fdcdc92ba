"""A match as referees of other makes are told of it: each way, form and manner."""

import msgspec
import pytest

from agentleague.dialects.negotiation import control_of, first_way, next_way, search_in_words
from agentleague.dialects.starting import NAMINGS, START_METHODS, is_assignment, nonsense
from agentleague.dialects.table import (
    BROKEN,
    EMPTY,
    STARTING,
    UNFIT,
    UNKNOWN_METHOD,
    Tried,
    dialect_of,
    in_words,
    start_name,
)
from agentleague.dialects.tools import Tool
from agentleague.protocol.messages import (
    LeagueCompleted,
    RoundAnnouncement,
    RoundMatch,
    Seated,
)
from rules import rule

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
@pytest.mark.parametrize("way", [way for way in START_METHODS if way != "ROUND_ANNOUNCEMENT"])
@pytest.mark.parametrize("base", PLACES)
def test_each_way_names_the_match_and_its_players_in_every_manner(way, base):
    message = inside(written(start_name(way, base)), base)

    assert (message["message_type"], message["match_id"]) == (way, "R1M1")
    for manner in NAMINGS.values():
        assert [message[name] for name in manner.ids] == ["P01", "P02"]
        assert [message[name] for name in manner.endpoints] == ["http://a/mcp", "http://b/mcp"]
    assert [player["display_name"] for player in message["players"]] == ["Ann", "Bob"]
    assert "mtok" not in str(message)


@rule("R-START-01")
@pytest.mark.parametrize(
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
@pytest.mark.parametrize("manner", NAMINGS)
def test_who_takes_no_more_than_it_knows_gets_one_manner_alone(manner):
    ids, endpoints = NAMINGS[manner]

    flat = written(f"start_match/tool+{manner}")["params"]
    bare = written(f"start_match/bare+{manner}")

    names = {"match_id", "round_id", "league_id", "game_type", *ids, *endpoints}
    assert set(flat) == names
    assert set(bare) == {*names, "protocol", "message_type", "sender", "timestamp"}


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
    tool = Tool("begin", takes=("match_id", "player_a", "player_b_url", "colour"))

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
    asked = written(control_of("assign_match/type+a"), nonsense(ASSIGNMENT))

    assert asked["method"] == asked["params"]["message_type"] == "NO_SUCH_MESSAGE"
    assert "R1M1" not in str(asked)


@pytest.mark.parametrize("name", STARTING)
def test_every_way_has_words_of_its_own(name):
    others = [each for each in STARTING if each != name]

    assert in_words(name).startswith("matches by ")
    assert in_words(name) not in map(in_words, others)


@rule("R-START-01")
@pytest.mark.parametrize(
    ("known", "first"),
    [
        ("", "start_match/tool"),
        ("type", "start_match/type"),
        ("bare+plain", "start_match/bare"),
        ("choose", "start_match/tool"),
        ("run_match/bare+1", "run_match/bare+1"),
    ],
)
def test_it_begins_with_what_is_known(known, first):
    assert first_way(known) == first


def search(first, answer):
    """All that is tried, where `answer` says what comes of each."""
    tried, way = [], first
    while way:
        tried.append(Tried(way, answer(way), "no"))
        way = next_way(first, tried)
    return [each.name for each in tried]


@rule("R-START-01")
@pytest.mark.parametrize(
    ("first", "why", "then"),
    [
        (
            "start_match/tool",
            UNKNOWN_METHOD,
            ["assign_match/tool", "match_assignment/tool", "run_match/tool", "notify_round/tool"],
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
        Tried("start_match/tool", UNFIT, "HTTP 422"),
        Tried("assign_match/tool", UNKNOWN_METHOD, "error -32601"),
    ]
    silent = [tried[0], Tried("assign_match/tool", UNFIT, "HTTP 422")]

    assert next_way("start_match/tool", tried) == "start_match/tool+A"
    assert next_way("start_match/tool", silent) == "match_assignment/tool"
    assert {"start_match/tool+A", "start_match/tool+1"} <= set(search("start_match/tool", answer))


@rule("R-START-01")
@pytest.mark.parametrize("why", [UNKNOWN_METHOD, UNFIT, BROKEN, EMPTY])
def test_a_search_ends_and_tries_nothing_twice(why):
    found = search("start_match/tool", lambda way: why)

    asked = {str(written(name) | {"id": 0}) for name in found}
    assert len(asked) == len(found) > 20


@rule("R-START-04")
def test_a_search_in_vain_says_what_came_back_the_nearest_and_what_would_do():
    forms = [
        Tried("start_match/tool", UNKNOWN_METHOD, "error -32601"),
        Tried("start_match/type", UNKNOWN_METHOD, "error -32601"),
        Tried("run_match/type", UNFIT, "HTTP 422"),
    ]

    assert search_in_words(forms) == (
        "tried in 2 forms start_match: error -32601; run_match: HTTP 422; nearest: run_match/type, "
        "which it knows, with other fields; it would work if it took start_match with match_id, "
        "player_A_id, player_A_endpoint, player_B_id, player_B_endpoint"
    )
    assert "nearest" not in search_in_words(forms[:2])
