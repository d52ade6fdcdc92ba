"""What an MCP agent wants around a call."""

import json

import pytest

from agentleague.dialects.sessions import (
    ID_MAX,
    INITIALIZED,
    LISTING,
    Session,
    is_gone,
    read_session,
    wants_handshake,
)
from agentleague.errors import NoConnection
from rules import rule
from tables import each_row

CALL = b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"choose","arguments":{}},"id":1}'


def begun(session_id="", **result):
    return read_session(json.dumps({"result": result}).encode(), session_id)


@rule("R-DIA-14")
def test_a_call_that_stands_alone_says_in_head_and_body_what_it_is():
    session = Session()

    body, headers = session.write(CALL)
    params, lines = json.loads(body)["params"], headers.decode().split("\r\n")

    assert params["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert params["name"] == "choose"
    assert lines[1:] == [
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        "Mcp-Name: choose",
    ]
    body, headers = session.write(LISTING % 1)
    assert list(json.loads(body)["params"]) == ["_meta"]
    assert b"Mcp-Name" not in headers


@rule("R-DIA-14")
def test_a_call_in_a_session_has_its_id_and_is_not_changed():
    session = begun("abc", protocolVersion="2025-06-18")

    lines = b"\r\nMCP-Protocol-Version: 2025-06-18\r\nMcp-Session-Id: abc"
    assert session.write(CALL) == (CALL, lines)
    assert b"Session" not in begun(protocolVersion="2025-06-18").write(CALL)[1]


def test_who_answers_a_handshake_with_the_revision_that_has_none_is_called_as_that_one_has_it():
    body, headers = begun(protocolVersion="2026-07-28").write(INITIALIZED)

    assert list(json.loads(body)["params"]) == ["_meta"]
    assert b"Mcp-Method: notifications/initialized" in headers


@each_row("name", ["a b", "a\r\nX: y", "é", "=?base64?YQ==?="])
def test_a_tool_cannot_write_lines_into_our_head(name):
    body = json.dumps({"method": "tools/call", "params": {"name": name}}).encode()

    line = Session().write(body)[1].decode().split("\r\n")[3]

    assert line.startswith("Mcp-Name: =?base64?")


@each_row(
    ("session_id", "revision", "field"),
    [
        ("a" * (ID_MAX + 1), "2025-11-25", "Mcp-Session-Id"),
        ("a\r\nX: y", "2025-11-25", "Mcp-Session-Id"),
        ("a b", "2025-11-25", "Mcp-Session-Id"),
        ("a", "2025-11-25\r\nX: y", "protocolVersion"),
        ("a", 7, "protocolVersion"),
    ],
)
def test_what_could_not_stand_in_a_head_is_refused_by_name(session_id, revision, field):
    with pytest.raises(NoConnection, match=field):
        begun(session_id, protocolVersion=revision)


@each_row("body", [b"", b"[]", b'{"error":{"code":-32601}}', b'{"result":"ok"}'])
def test_an_agent_that_knows_no_handshake_has_no_session(body):
    assert read_session(body, "abc") is None


@each_row(
    ("status", "body", "is_wanted"),
    [
        (400, b'{"error":{"code":-32600,"message":"Bad Request: Missing session ID"}}', True),
        (406, b"Not Acceptable", True),
        (200, b'{"error":{"code":-32002,"message":"not initialized"}}', True),
        (200, b'{"error":"no"}', True),
        (200, b'{"error":{"code":-32601}}', False),  # It is no MCP agent.
        (200, b'{"status":"ok"}', False),
        (404, b"", False),
        (500, b"", False),
    ],
)
def test_a_handshake_is_for_agents_that_complain_of_something_else(status, body, is_wanted):
    assert wants_handshake(status, body) is is_wanted


@each_row(
    ("session", "status", "body", "gone"),
    [
        (Session("2025-11-25", "abc"), 404, b"", True),
        (Session("2025-11-25", "abc"), 400, b"Bad Request: No valid session ID provided", True),
        (Session("2025-11-25", "abc"), 400, b"parity_choice", False),
        (Session("2025-11-25"), 404, b"", False),
        (None, 404, b"", False),
    ],
)
def test_a_session_that_a_server_forgot_is_known_by_its_answer(session, status, body, gone):
    assert is_gone(session, status, body) is gone
