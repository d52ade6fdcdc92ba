"""The table of messages: which there are, what they are called, who asks whom."""

import json

import msgspec

from agentleague.protocol import codec
from agentleague.protocol.messages import MESSAGES, METHODS, WIRE_NAME
from rules import rule
from tables import each_row

DOCUMENTS = {
    "REFEREE_REGISTER_REQUEST",
    "REFEREE_REGISTER_RESPONSE",
    "LEAGUE_REGISTER_REQUEST",
    "LEAGUE_REGISTER_RESPONSE",
    "ROUND_ANNOUNCEMENT",
    "ROUND_COMPLETED",
    "LEAGUE_COMPLETED",
    "GAME_INVITATION",
    "GAME_JOIN_ACK",
    "CHOOSE_PARITY_CALL",
    "CHOOSE_PARITY_RESPONSE",
    "GAME_OVER",
    "MATCH_RESULT_REPORT",
    "LEAGUE_STANDINGS_UPDATE",
    "LEAGUE_ERROR",
    "GAME_ERROR",
    "LEAGUE_QUERY",
    "LEAGUE_QUERY_RESPONSE",
}
ACKNOWLEDGEMENTS = {
    "ROUND_ANNOUNCEMENT_ACK",
    "STANDINGS_UPDATE_ACK",
    "ROUND_COMPLETED_ACK",
    "LEAGUE_COMPLETED_ACK",
    "GAME_OVER_ACK",
    "MATCH_RESULT_ACK",
    "GAME_ERROR_ACK",
}
OURS = {
    "GAME_MOVE_CALL",
    "GAME_MOVE_RESPONSE",
    "LOCK_REQUEST",
    "LOCK_RESPONSE",
    "REFEREE_STATUS",
    "REFEREE_STATUS_ACK",
    "MATCH_STATE_REQUEST",
    "MATCH_STATE_RESPONSE",
    "LEAGUE_COMMAND",
    "LEAGUE_COMMAND_RESPONSE",
    "PUSH_ACK",
    "START_MATCH",
    "START_MATCH_RESPONSE",
    "ENDPOINT_CHALLENGE",
    "ENDPOINT_PROOF",
    "LEAGUE_ERROR_ACK",
}

# message type, method, further aliases, answer
ASKED = [
    (
        "REFEREE_REGISTER_REQUEST",
        "register_referee",
        ["referee_register"],
        "REFEREE_REGISTER_RESPONSE",
    ),
    (
        "LEAGUE_REGISTER_REQUEST",
        "register_player",
        ["league_register", "register", "register_request"],
        "LEAGUE_REGISTER_RESPONSE",
    ),
    ("ROUND_ANNOUNCEMENT", "notify_round", ["round_announcement"], "ROUND_ANNOUNCEMENT_ACK"),
    (
        "LEAGUE_STANDINGS_UPDATE",
        "update_standings",
        ["standings_update"],
        "STANDINGS_UPDATE_ACK",
    ),
    ("ROUND_COMPLETED", "notify_round_completed", [], "ROUND_COMPLETED_ACK"),
    ("LEAGUE_COMPLETED", "notify_league_completed", [], "LEAGUE_COMPLETED_ACK"),
    ("GAME_INVITATION", "handle_game_invitation", ["game_invitation"], "GAME_JOIN_ACK"),
    ("CHOOSE_PARITY_CALL", "parity_choose", ["choose_parity"], "CHOOSE_PARITY_RESPONSE"),
    ("GAME_MOVE_CALL", "choose_move", [], "GAME_MOVE_RESPONSE"),
    ("GAME_OVER", "notify_match_result", ["game_over"], "GAME_OVER_ACK"),
    ("MATCH_RESULT_REPORT", "report_match_result", ["match_result_report"], "MATCH_RESULT_ACK"),
    ("GAME_ERROR", "notify_game_error", [], "GAME_ERROR_ACK"),
    ("LEAGUE_QUERY", "league_query", ["get_standings"], "LEAGUE_QUERY_RESPONSE"),
    ("LOCK_REQUEST", "lock_moves", [], "LOCK_RESPONSE"),
    ("REFEREE_STATUS", "referee_status", [], "REFEREE_STATUS_ACK"),
    ("MATCH_STATE_REQUEST", "get_match_state", [], "MATCH_STATE_RESPONSE"),
    (
        "START_MATCH",
        "start_match",
        ["assign_match", "run_match", "match_assignment"],
        "START_MATCH_RESPONSE",
    ),
    ("LEAGUE_COMMAND", "league_command", [], "LEAGUE_COMMAND_RESPONSE"),
    ("ENDPOINT_CHALLENGE", "prove_endpoint", [], "ENDPOINT_PROOF"),
    ("LEAGUE_ERROR", "notify_league_error", [], "LEAGUE_ERROR_ACK"),
]
PUSHED = ["GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE"]


@rule("R-MSG-01")
def test_there_are_eighteen_messages_seven_acknowledgements_and_sixteen_of_ours():
    assert len(DOCUMENTS) == 18
    assert set(MESSAGES) == DOCUMENTS | ACKNOWLEDGEMENTS | OURS
    assert {name for name, kind in MESSAGES.items() if kind.ours} == OURS


@rule("R-MSG-02", "R-FORM-06", "R-RPC-08")
@each_row(("name", "method", "aliases", "answer"), ASKED)
def test_a_message_that_asks_has_its_method_its_aliases_and_its_answer(
    name, method, aliases, answer
):
    kind = MESSAGES[name]

    assert (kind.method, kind.answer) == (method, answer)
    assert {METHODS.get(alias) for alias in [method, name.lower(), *aliases]} == {name}
    assert answer in MESSAGES


@rule("R-MSG-02")
def test_all_that_has_a_method_asks_or_is_an_answer_that_may_be_pushed():
    pushed = {name for name, kind in MESSAGES.items() if kind.method and not kind.answer}

    assert pushed == set(PUSHED)
    assert {name for name, kind in MESSAGES.items() if kind.answer} == {row[0] for row in ASKED}
    assert [MESSAGES[name].method for name in PUSHED] == PUSHED


@rule("R-MSG-02")
def test_no_name_means_two_messages():
    names = [
        alias.lower()
        for name, kind in MESSAGES.items()
        if kind.method
        for alias in {kind.method.lower(), name.lower(), *kind.aliases}
    ]

    assert sorted(names) == sorted(set(names))


@each_row("name", MESSAGES)
def test_a_class_knows_its_wire_name_and_says_what_it_is_for(name):
    cls = MESSAGES[name].cls

    assert WIRE_NAME[cls] == name
    assert cls.__doc__.endswith(".")


@rule("R-RPC-07")
@each_row(
    ("receiver", "takes"),
    [
        (
            "manager",
            {
                "REFEREE_REGISTER_REQUEST",
                "LEAGUE_REGISTER_REQUEST",
                "MATCH_RESULT_REPORT",
                "LEAGUE_QUERY",
                "LOCK_REQUEST",
                "REFEREE_STATUS",
                "LEAGUE_COMMAND",
            },
        ),
        (
            "referee",
            {
                "ROUND_ANNOUNCEMENT",
                "ROUND_COMPLETED",
                "LEAGUE_COMPLETED",
                "MATCH_STATE_REQUEST",
                "START_MATCH",
                "ENDPOINT_CHALLENGE",
                "LEAGUE_ERROR",
                *PUSHED,
            },
        ),
        (
            "player",
            {
                "ROUND_ANNOUNCEMENT",
                "LEAGUE_STANDINGS_UPDATE",
                "ROUND_COMPLETED",
                "LEAGUE_COMPLETED",
                "GAME_INVITATION",
                "CHOOSE_PARITY_CALL",
                "GAME_MOVE_CALL",
                "GAME_OVER",
                "GAME_ERROR",
                "ENDPOINT_CHALLENGE",
                "LEAGUE_ERROR",
            },
        ),
    ],
)
def test_each_kind_of_agent_takes_its_own_messages(receiver, takes):
    assert codec.taken_by(receiver) == takes


@rule("R-MSG-09", "R-MSG-10", "R-MSG-11")
@each_row(
    ("name", "at_once"),
    [
        ("GAME_OVER", ["reason", "game_result.reason"]),
        ("ROUND_COMPLETED", ["matches_played", "matches_completed", "summary.total_matches"]),
        ("GAME_ERROR", ["retry_count", "retry_info.retry_count", "player_id", "affected_player"]),
    ],
)
def test_where_documents_differ_both_places_are_sent(name, at_once):
    least = {"game_result": {"status": "DRAW"}} if name == "GAME_OVER" else {}
    message = msgspec.convert(least, MESSAGES[name].cls)
    sent = json.loads(codec.encode(message))

    for path in at_once:
        inside = sent
        for step in path.split("."):
            assert step in inside, path
            inside = inside[step]
