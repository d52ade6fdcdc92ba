"""The tree of errors, and what each error is called on the wire."""

import re

import pytest

from agentleague import errors
from agentleague.errors import LeagueError
from rules import rule
from wire_pages import wire_errors

# code -> name; the documents' codes first, then ours
CODES = {
    "E001": "TIMEOUT_ERROR",
    "E003": "MISSING_REQUIRED_FIELD",
    "E004": "INVALID_PARITY_CHOICE",
    "E005": "PLAYER_NOT_REGISTERED",
    "E009": "CONNECTION_ERROR",
    "E011": "AUTH_TOKEN_MISSING",
    "E012": "AUTH_TOKEN_INVALID",
    "E015": "MATCH_ID_MISMATCH",
    "E018": "PROTOCOL_VERSION_MISMATCH",
    "E019": "LATE_REGISTRATION",
    "E020": "LEAGUE_FULL",
    "E021": "INVALID_TIMESTAMP",
    "E030": "LEAGUE_NOT_STARTED",
    "E031": "LEAGUE_ALREADY_COMPLETE",
    "E040": "INVALID_STATE",
    "E041": "DUPLICATE_NAME",
    "E042": "UNSUPPORTED_GAME_TYPE",
    "E043": "ENDPOINT_NOT_ALLOWED",
    "E044": "DUPLICATE_REPORT",
    "E045": "LEAGUE_NOT_FOUND",
    "E046": "INVALID_QUERY_TYPE",
    "E047": "RATE_LIMITED",
    "E048": "MESSAGE_TOO_LARGE",
    "E049": "UNREADABLE_JSON",
    "E050": "INVALID_REQUEST",
    "E051": "METHOD_NOT_FOUND",
    "E052": "INTERNAL_ERROR",
    "E053": "STORAGE_UNAVAILABLE",
}


def classes():
    found = [cls for cls in vars(errors).values() if isinstance(cls, type)]
    return [cls for cls in found if issubclass(cls, LeagueError)]


def drawn_tree():
    """(class, its parent) as the docstring draws them, by the depth of each line."""
    above = []
    for line in errors.__doc__.splitlines():
        found = re.match(r"^([│ ]*(?:[├└]── )?)([A-Z]\w+)(?:\s{2,}|$)", line)
        if found:
            depth = len(found[1]) // 4
            above[depth:] = [found[2]]
            yield found[2], above[depth - 1] if depth else None


def test_the_docstring_draws_every_class_under_its_parent():
    tree = {cls.__name__: cls.__base__.__name__ for cls in classes() if cls is not LeagueError}

    assert dict(drawn_tree()) == {"LeagueError": None, **tree}


def test_every_class_says_what_happened():
    assert [cls for cls in classes() if not cls.__doc__.endswith(".")] == []


@rule("R-ERR-01")
def test_every_code_has_one_meaning():
    found = [(cls.code, cls.name) for cls in wire_errors()]

    assert found == list(CODES.items())
    assert {cls.code: cls.name for cls in classes()} == CODES  # also where classes share a code


@rule("R-ERR-01")
@pytest.mark.parametrize("cls", classes())
def test_a_code_names_one_condition_whichever_class_carries_it(cls):
    assert CODES[cls.code] == cls.name


@rule("R-ERR-02")
@pytest.mark.parametrize(
    ("message_type", "numbers"),
    [
        # Document 001 section 2: registration.
        ("REFEREE_REGISTER_REQUEST", {"E020": 1001, "E043": 1002, "E042": 1003}),
        ("LEAGUE_REGISTER_REQUEST", {"E020": 2001, "E041": 2002, "E043": 2003, "E042": 2004}),
        # Section 3: rounds and standings.
        ("ROUND_ANNOUNCEMENT", {"E011": 3001, "E012": 3001, "E005": 3002}),
        ("LEAGUE_STANDINGS_UPDATE", {"E012": 3001}),
        ("ROUND_COMPLETED", {"E012": 3001}),
        ("LEAGUE_COMPLETED", {"E012": 3001}),
        # Section 4: a match.
        ("GAME_INVITATION", {"E012": 4001, "E005": 4002, "E015": 4003, "E001": -1}),
        ("CHOOSE_PARITY_CALL", {"E012": 4001, "E004": 4004, "E040": 4005, "E001": -1}),
        ("GAME_OVER", {"E012": 4001}),
        # Pushed answers and our own calls belong to a match too.
        ("GAME_JOIN_ACK", {"E011": 4001, "E012": 4001, "E005": 4002, "E015": 4003}),
        ("CHOOSE_PARITY_RESPONSE", {"E012": 4001, "E015": 4003, "E004": 4004, "E040": 4005}),
        ("GAME_MOVE_CALL", {"E012": 4001, "E005": 4002}),
        ("GAME_MOVE_RESPONSE", {"E012": 4001, "E004": 4004}),
        ("GAME_ERROR", {"E012": 4001}),
        # Section 5: reports, and what our referees ask beside them.
        ("MATCH_RESULT_REPORT", {"E011": 5001, "E012": 5001, "E015": 5002, "E044": 5003}),
        ("LOCK_REQUEST", {"E011": 5001, "E012": 5001, "E015": 5002}),
        ("REFEREE_STATUS", {"E012": 5001, "E015": 5002}),
        # Section 7: queries.
        ("LEAGUE_QUERY", {"E011": 6001, "E012": 6001, "E046": 6002, "E045": 6003}),
        # Whatever was asked: section 6.1, and JSON-RPC's own.
        (
            "",
            {
                "E012": 12,
                "E003": -32602,
                "E018": -32602,
                "E021": -32602,
                "E047": -32029,
                "E048": -32600,
                "E049": -32700,
                "E050": -32600,
                "E051": -32601,
                "E052": -32603,
                "E053": -32603,
            },
        ),
    ],
)
def test_an_error_has_document_001s_number_for_the_message(message_type, numbers):
    by_code = {cls.code: cls for cls in wire_errors()}

    given = {code: by_code[code]("no").number_for(message_type) for code in numbers}

    assert given == numbers


@rule("R-ERR-07")
def test_the_http_status_is_200_but_for_what_is_wrong_with_the_transport():
    status = {cls.code: cls.http_status for cls in wire_errors() if cls.http_status != 200}

    assert status == {"E047": 429, "E048": 413, "E053": 503}


@rule("R-ERR-11")
def test_what_may_succeed_when_tried_again_says_so():
    retryable = [cls.code for cls in wire_errors() if cls.retryable]

    assert retryable == ["E001", "E004", "E009", "E030", "E047", "E053"]
    assert not errors.PeerRefused("no").retryable


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        # Document 002's table.
        ("E001", "high"),
        ("E003", "high"),
        ("E004", "high"),
        ("E005", "high"),
        ("E009", "critical"),
        ("E011", "high"),
        ("E012", "high"),
        ("E021", "medium"),
    ],
)
def test_the_severity_is_document_002s(code, severity):
    assert {cls.code: cls.severity for cls in wire_errors()}[code] == severity


@pytest.mark.parametrize(
    ("cls", "reason"),
    [
        # Document 004 section 3.4.3 has words for these.
        (errors.LateRegistration, "Registration closed - league already started"),
        (errors.UnsupportedGame, "Unsupported game type"),
        (errors.VersionMismatch, "Protocol version mismatch"),
        (errors.LeagueFull, "Maximum players reached"),
    ],
)
def test_a_refused_registration_gives_document_004s_reason(cls, reason):
    assert cls.reason == reason
    assert all(cls.reason for cls in errors.RegistrationRefused.__subclasses__())


def test_an_error_is_a_sentence_and_what_it_was_about():
    error = errors.WrongType("round_id: expected `int`", field="round_id")

    assert str(error) == "round_id: expected `int`"
    assert error.context == {"field": "round_id"}
    assert isinstance(error, errors.MissingField)
