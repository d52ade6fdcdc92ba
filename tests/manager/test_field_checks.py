"""Each rule of document 004 for messages to the manager, in a strict league and in any other."""

import json

from msgspec import UNSET

from agentleague.dialects.requests import read_request
from agentleague.errors import LeagueError
from agentleague.league.league import Phase
from agentleague.manager.step import ManagerLimits
from agentleague.protocol.codec import taken_by
from agentleague.protocol.messages import LeagueQuery
from agentleague.protocol.tokens import league_token
from agentleague.roles.stimuli import Caller
from manager.test_foreign_starts import SECRETS, League
from memory_league import MemoryLeague
from rules import rule
from tables import each_row

LEFT_OUT = object()
LEAGUE = "league_test"
MOST = "referee_meta.max_concurrent_matches"
META = {
    "display_name": "Quokka",
    "version": "1.0.0",
    "game_types": ["even_odd"],
    "contact_endpoint": "http://127.0.0.1:8199/mcp",
}
REFEREE = META | {"max_concurrent_matches": 2}
METHODS = {
    "LEAGUE_REGISTER_REQUEST": "register_player",
    "REFEREE_REGISTER_REQUEST": "register_referee",
    "LEAGUE_QUERY": "league_query",
    "MATCH_RESULT_REPORT": "report_match_result",
}
PLAYER, REF, QUERY, REPORT = METHODS
RESULT = {
    "winner": None,
    "score": {"P01": 1, "P02": 1},
    "details": {"drawn_number": 8, "choices": {"P01": "odd", "P02": "odd"}},
}
FIELDS = {
    PLAYER: {"player_meta": META},
    REF: {"referee_meta": REFEREE},
    QUERY: {
        "league_id": LEAGUE,
        "query_type": "GET_NEXT_MATCH",
        "query_params": {"player_id": "P01"},
    },
    REPORT: {
        "league_id": LEAGUE,
        "round_id": 1,
        "match_id": "R1M1",
        "game_type": "even_odd",
        "result": RESULT,
    },
}
SENDERS = {
    PLAYER: "player:quokka",
    REF: "referee:quokka",
    QUERY: "player:P01",
    REPORT: "referee:REF01",
}


def sent(league, kind, changes, method=""):
    """The answer to a message that is as document 004 has it, but for these changes by path."""
    fields = {
        "protocol": "league.v2",
        "message_type": kind,
        "sender": SENDERS[kind],
        "timestamp": "2026-01-15T10:30:00Z",
        "conversation_id": "conv-1",
        **json.loads(json.dumps(FIELDS[kind])),
    }
    if kind in (QUERY, REPORT):
        fields["auth_token"] = token(SENDERS[kind].partition(":")[2])
    for path, value in changes.items():
        *outer, last = path.split(".")
        place = fields
        for step in outer:
            place = place[step]
        place[last] = value
        if value is LEFT_OUT:
            del place[last]
    body = {"jsonrpc": "2.0", "id": 1, "method": method or METHODS[kind], "params": fields}
    incoming = read_request(json.dumps(body).encode(), taken_by("manager"))
    if incoming.error:
        return incoming.error
    told, method = incoming.message.auth_token or None, incoming.envelope.method
    caller = Caller("127.0.0.1", told, missing=incoming.missing, rpc_method=method)
    return league.ask(incoming.message, caller)


def token(agent_id):
    return league_token(SECRETS.token_secret, "league_test", agent_id, 1)


LONG = "Q" * 51
QUIET = None  # taken without a word
ENVELOPE = [
    (kind, {field: LEFT_OUT}, "E003", field, f"{field} was missing")
    for kind in METHODS
    for field in ("protocol", "sender", "timestamp", "conversation_id")
]
SAME_FOR_BOTH = [  # document 004 sections 3.1.2 and 3.3.2
    row
    for kind, meta in ((PLAYER, "player_meta"), (REF, "referee_meta"))
    for row in [
        (kind, {f"{meta}.display_name": ""}, "E003", f"{meta}.display_name", "was missing"),
        (kind, {f"{meta}.display_name": LONG}, "E003", f"{meta}.display_name", QUIET),
        (kind, {f"{meta}.version": LEFT_OUT}, "E003", f"{meta}.version", "was missing"),
        (kind, {f"{meta}.version": "1.0"}, "E003", f"{meta}.version", QUIET),
        (kind, {f"{meta}.version": "01.0.0"}, "E003", f"{meta}.version", QUIET),
        (kind, {f"{meta}.version": 1}, "E003", f"{meta}.version", "does not fit"),
        (kind, {f"{meta}.game_types": []}, "E003", f"{meta}.game_types", "was missing"),
        (kind, {"sender": "quokka"}, "E003", "sender", QUIET),
        (kind, {"protocol": "league.v2.1"}, "E018", "protocol", QUIET),
    ]
]
ROWS = [
    *ENVELOPE,
    *SAME_FOR_BOTH,
    (REF, {MOST: LEFT_OUT}, "E003", MOST, "was missing"),
    (REF, {MOST: 11}, "E003", MOST, QUIET),
    (REF, {MOST: 0}, "E003", MOST, "does not fit"),
    (QUERY, {"league_id": LEFT_OUT}, "E003", "league_id", "was missing"),  # section 8.1.2
    (QUERY, {"query_params": LEFT_OUT}, "E003", "query_params", "was missing"),
    (QUERY, {"query_params": {}}, "E003", "query_params.player_id", QUIET),
    (QUERY, {"query_type": "get_next_match"}, "E046", "query_type", QUIET),  # section 10.5 rule 1
    (REPORT, {"league_id": LEFT_OUT}, "E003", "league_id", "was missing"),  # section 7.1.2
    (REPORT, {"round_id": LEFT_OUT}, "E003", "round_id", "was missing"),
    (REPORT, {"game_type": LEFT_OUT}, "E003", "game_type", "was missing"),
    (REPORT, {"result.score": LEFT_OUT}, "E003", "result.score", "was missing"),
    (REPORT, {"result.details": LEFT_OUT}, "E003", "result.details", "was missing"),
    (REPORT, {"auth_token": LEFT_OUT}, "E011", "auth_token", QUIET),  # section 10.2
    # What contradicts the token, the match or the league.
    (QUERY, {"sender": "player:P02"}, "E012", "sender", "auth_token is that of P01"),
    (REPORT, {"sender": "referee:REF02"}, "E012", "sender", "auth_token is that of REF01"),
    (REPORT, {"league_id": "another"}, "E045", "league_id", "this is league_test"),
    (REPORT, {"round_id": 7}, "E015", "round_id", "match_id is R1M1"),
]


@rule("R-REG-11")
@each_row(("kind", "changes", "code", "field", "warning"), ROWS)
def test_what_document_004_forbids_is_refused_by_its_code_in_a_strict_league_and_taken_in_others(
    kind, changes, code, field, warning
):
    strict, lenient = League(missing_fields="refuse"), League()

    error = sent(strict, kind, changes)
    answer = sent(lenient, kind, changes)

    assert isinstance(error, LeagueError), error
    assert (error.code, error.context["field"]) == (code, field)
    assert not isinstance(answer, LeagueError), answer
    said = getattr(answer, "warnings", None) or []
    assert any(field in each and warning in each for each in said) if warning else not said
    assert not strict.role.league.misuses  # The token is the right one.


@rule("R-REG-11")
def test_a_strict_league_takes_what_document_004_has_and_whatever_our_own_commands_ask():
    for kind in METHODS:
        answer = sent(League(missing_fields="refuse"), kind, {})
        assert not isinstance(answer, LeagueError), answer
        assert not answer.warnings
    league = League(missing_fields="refuse")
    ours = {"sender": "league_command", "auth_token": LEFT_OUT, "league_id": LEFT_OUT}
    assert sent(league, QUERY, {**ours, "query_type": "GET_STATUS"}).success
    assert sent(league, REF, {MOST: 64, "referee_meta.locks": True}).status == "ACCEPTED"
    assert sent(league, REF, {"sender": "agent:x"}).code == "E003"  # Nobody else gets round it.


@rule("R-SEAT-11")
def test_who_asks_for_a_seat_is_not_told_that_its_end_point_is_missing_and_others_are():
    nowhere = {"player_meta.contact_endpoint": ""}

    for mode in ("refuse", "warn"):
        answer = sent(League(missing_fields=mode), PLAYER, {**nowhere, "player_meta.seat": True})
        assert answer.warnings is UNSET
    answer = sent(League(), PLAYER, {**nowhere, "player_meta.seat": False})
    assert answer.warnings == ["player_meta.contact_endpoint was missing"]


@rule("R-REG-20")
@each_row(
    ("method", "kind", "is_contradiction"),
    [
        ("register_referee", PLAYER, True),
        ("report_match_result", QUERY, True),
        ("register", REF, False),  # of both
        ("LEAGUE_QUERY", QUERY, False),
        ("anything", QUERY, False),
    ],
)
def test_a_method_that_contradicts_the_message_is_a_warning_or_refused(
    method, kind, is_contradiction
):
    answer = sent(League(), kind, {}, method)
    error = sent(League(missing_fields="refuse"), kind, {}, method)

    why = f"method ({method}, and message_type is {kind}) does not fit"
    assert (answer.warnings == [why]) is is_contradiction
    assert isinstance(error, LeagueError) is is_contradiction


@rule("R-REG-20")
def test_the_organiser_is_told_of_a_contradiction_once_and_sees_how_often_it_came():
    league, command = League(), LeagueQuery("GET_STATUS", sender="league_command")
    league.role.news.clear()

    for _ in range(3):
        sent(league, QUERY, {"sender": "player:P02"})
    status = league.ask(command, Caller("127.0.0.1", SECRETS.admin_token)).data

    said = "P01: sender (P02, and auth_token is that of P01) (E012)"
    assert list(league.role.news) == [f"Contradiction of {said}."]
    assert status["contradictions"] == [f"{said}, 3 times by now"]
    assert "contradictions" not in league.ask(command, Caller("127.0.0.1")).data


@rule("R-REG-20")
def test_a_stranger_fills_neither_screen_nor_status():
    league = League()
    league.role.news.clear()

    for number in range(100):
        sent(league, QUERY, {"league_id": f"league_{number}"})
        sent(league, PLAYER, {"sender": f"player:P{number:02}"}, "register_referee")

    assert len(league.role.news) <= ManagerLimits().refusals_max + 30


@rule("R-REG-11", "R-MATCH-32")
def test_a_strict_league_of_our_own_agents_is_played_as_any_other():
    strict = MemoryLeague(3, 1, missing_fields="refuse").fill().play()

    assert strict.league.phase is Phase.COMPLETED
    assert {row.technical_losses for row in strict.league.table.rows()} == {0}
    assert not [each for each in strict.manager.news if "Contradiction" in each]
