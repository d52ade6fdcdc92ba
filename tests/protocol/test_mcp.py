"""Which requests are MCP, and what is wrong with one whose headers and body differ."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentleague.protocol.mcp import (
    STATELESS,
    VERSIONS,
    WITH_HANDSHAKE,
    Request,
    bearer,
    may_be_mcp,
    read,
)
from agentleague.protocol.mcp_tools import Call, Catalogue
from rules import rule

NOW, LAST = STATELESS[0], WITH_HANDSHAKE[0]
SERVER = {"name": "agentleague-manager", "version": "1"}
VERSION = "io.modelcontextprotocol/protocolVersion"
META = {VERSION: NOW, "io.modelcontextprotocol/clientCapabilities": {}}
CALL = {"name": "league_query", "arguments": {}}
OF_CALL = {"MCP-Protocol-Version": NOW, "Mcp-Method": "tools/call", "Mcp-Name": "league_query"}


def head(*headers):
    lines = ["POST /mcp HTTP/1.1", "Host: here", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join(lines).encode("latin-1")


def body(method="tools/list", params=..., **more):
    request = {"jsonrpc": "2.0", "id": 1, "method": method, **more}
    request |= {} if params is ... else {"params": params}
    return json.dumps(request).encode()


def stateless(params=(), meta=META, **headers):
    """A tools/call of the stateless revision, with these headers or, if None, without them."""
    named = {name.lower(): value for name, value in OF_CALL.items()}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    sent = [(name, value) for name, value in named.items() if value is not None]
    return head(*sent), body("tools/call", {**CALL, "_meta": meta, **dict(params)})


def refusal(head, body):
    status, text = read(head, body, SERVER).refusal
    return status, json.loads(text)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (head(), body("initialize")),
        (head(), body("ping")),
        (head(), body("tools/list")),
        (head(), rb'{"jsonrpc":"2.0","id":1,"method":"resources\/list"}'),  # as PHP writes it
        (head(), b'{"jsonrpc":"2.0","method":"notifications/initialized"}'),
        (head(("MCP-Protocol-Version", LAST)), body("tools/call", CALL)),
        stateless(),
        stateless(mcp_name="  league_query\t"),
        stateless(mcp_name="=?base64?bGVhZ3VlX3F1ZXJ5?="),
        stateless({"name": "=?base64?"}, mcp_name="=?base64?"),  # no end: it is meant literally
        stateless({"name": "größe"}, mcp_name="=?base64?Z3LDtsOfZQ==?="),
        (head(*OF_CALL.items()), b'{"jsonrpc":"2.0","method":"notifications/cancelled"}'),
    ],
)
def test_a_request_of_either_era_is_read(head, body):
    assert may_be_mcp(head, body)
    asked = read(head, body, SERVER)
    assert (asked.method, asked.refusal) == (json.loads(body)["method"], None)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (head(), body("league_query", {"method": "ping"})),
        (head(), body("tools/call", CALL)[:-2]),  # broken
        (head(), b'[{"method": "ping"}]'),
        (head(), body(7)),
        (head(("MCP-Protocol-Version", LAST)), body("league_query")),
    ],
)
def test_what_is_no_mcp_is_left_to_the_dialects_of_the_league(head, body):
    assert read(head, body, SERVER) is None


def test_an_ordinary_message_is_not_even_read_as_mcp():
    assert not may_be_mcp(head(), body("league_query", {"query_type": "GET_STANDINGS"}))
    assert not may_be_mcp(head(), body("tools/call", CALL))


@rule("R-MCP-02")
@pytest.mark.parametrize(
    ("request_", "code", "said"),
    [
        (stateless(mcp_method=None), -32020, "mcp-method is missing"),
        (stateless(mcp_method="TOOLS/CALL"), -32020, "mcp-method is 'TOOLS/CALL'"),
        (stateless(mcp_name=None), -32020, "mcp-name is missing; the body says 'league_query'"),
        (stateless(mcp_name="other"), -32020, "mcp-name is 'other'"),
        (stateless(mcp_name="=?base64?bGVhZ3VlX3F1ZXJ5Cg?="), -32020, "mcp-name"),  # no padding
        (stateless(mcp_name="=?base64?b!!!?="), -32020, "mcp-name"),
        (stateless(mcp_name="=?base64?/w==?="), -32020, "mcp-name"),  # no UTF-8
        (stateless({"name": "a"}, mcp_name="=?base64?YR==?="), -32020, "mcp-name"),  # not shortest
        (stateless(mcp_protocol_version=None), -32020, "mcp-protocol-version is missing"),
        (stateless(mcp_protocol_version=LAST), -32020, f"mcp-protocol-version is '{LAST}'"),
        (stateless(meta={}), -32602, "protocolVersion and io.modelcontextprotocol/clientCapab"),
        (stateless(meta=7), -32602, "lacks"),
        (stateless(meta={VERSION: NOW}), -32602, "clientCapabilities"),
        (stateless({"name": 7}), -32602, "params.name"),
        ((head(*OF_CALL.items(), ("mcp-name", "x")), stateless()[1]), -32020, "mcp-name occurs 2"),
        ((head(*OF_CALL.items()), body("tools/call", [])), -32602, "params.name"),
        ((head(*OF_CALL.items()), body("tools/list", [])), -32602, "params must be an object"),
        ((head(*OF_CALL.items()), b"[" + stateless()[1] + b"]"), -32600, "one request alone"),
        ((head(*OF_CALL.items()), b"{"), -32700, "cannot be read"),
        ((head(*OF_CALL.items()), b'{"id": 1, "id": 2}'), -32700, "twice"),
        ((head(*OF_CALL.items()), body("x", id=None)), -32600, "id must be"),
        ((head(*OF_CALL.items()), body("x", id=1.5)), -32600, "id must be"),
        ((head(*OF_CALL.items()), body("x", id=2**53 + 1)), -32600, "id must be"),
        ((head(*OF_CALL.items()), b'{"jsonrpc":"2.0","method":"tools/call"}'), -32600, "an id"),
        ((head(*OF_CALL.items()), b'{"jsonrpc":"2.0","id":1,"result":{}}'), -32600, "method"),
        ((head(*OF_CALL.items()), body("x", jsonrpc="1.0")), -32600, "JSON-RPC 2.0"),
        ((head(), body("ping", jsonrpc="1.0")), -32600, "JSON-RPC 2.0"),
    ],
)
def test_a_fault_is_a_bad_request_that_names_it(request_, code, said):
    status, told = refusal(*request_)

    assert (status, told["error"]["code"]) == (400, code)
    assert said in told["error"]["message"]


@rule("R-MCP-02")
def test_a_version_that_is_not_known_is_answered_with_those_that_are():
    head, body = stateless(meta={**META, VERSION: "2099-01-01"}, mcp_protocol_version="2099-01-01")

    status, told = refusal(head, body)

    assert (status, told["id"], told["error"]["code"]) == (400, 1, -32022)
    assert told["error"]["data"] == {"supported": list(VERSIONS), "requested": "2099-01-01"}


def test_an_answer_has_the_fields_and_the_status_of_its_revision():
    old, new = (Request(SERVER, {}, "m", {}, 1, each) for each in (False, True))

    assert json.loads(old.result({"a": 1}, fresh_ms=5)[1])["result"] == {"a": 1}
    told = json.loads(new.result({"a": 1}, fresh_ms=5)[1])["result"]
    assert told.pop("_meta") == {"io.modelcontextprotocol/serverInfo": SERVER}
    assert told == {"resultType": "complete", "a": 1, "ttlMs": 5, "cacheScope": "private"}
    assert "ttlMs" not in json.loads(new.result({})[1])["result"]
    statuses = [(each.error(code, "")[0]) for each in (old, new) for code in (-32601, -32602)]
    assert statuses == [200, 200, 404, 400]


def test_the_token_of_a_caller_is_in_its_authorization_header():
    assert bearer(head(("AUTHORIZATION", "bearer  tok_p01_abc"))) == "tok_p01_abc"
    assert bearer(head(("Authorization", "Basic tok_p01_abc"))) == ""


WORDS = st.sampled_from(["_meta", "name", VERSION, "message", "message_type", "x"])
METHODS = ("initialize", "ping", "tools/list", "resources/read", "prompts/get", "server/discover")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | VALUES,
        "id": st.integers() | VALUES,
        "method": st.sampled_from([*METHODS, "tools/call"]) | VALUES,
        "params": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["league_query", "play"]) | VALUES,
                "uri": st.just("league://standings") | VALUES,
                "arguments": VALUES,
                "protocolVersion": VALUES,
                "_meta": st.just(META) | st.fixed_dictionaries({VERSION: VALUES}) | VALUES,
            },
        )
        | VALUES,
    },
)
SENT = st.lists(
    st.tuples(
        st.sampled_from([*OF_CALL, "mcp-name", "Authorization"]),
        st.sampled_from([NOW, LAST, "tools/call", "league_query", "=?base64?bGVhZ3Vl?=", "", "ÿ"]),
    ),
    max_size=4,
)


@given(REQUESTS | VALUES, SENT)
def test_whatever_is_sent_is_refused_answered_called_or_left_alone(value, headers):
    asked = read(head(*headers), json.dumps(value).encode(), SERVER)

    answer = (200, b"{}")
    if asked:
        answer = asked.refusal or Catalogue("manager").answer(asked)
    assert isinstance(answer, Call) or answer[0] in (200, 400, 404)
