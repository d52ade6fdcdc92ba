"""Players that are wrong in one way each: ours, behind a relay that changes what it says or hears.

Most are about rules that hold for an agent of any role, which are tested here for all of them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from agentleague.conformance.player_bench import TOKEN
from conformance.between import IN, nothing
from conformance.player_changes import (
    CALL,
    ENVELOPE,
    INVITATION,
    OVER,
    ROUND,
    ROUND_OVER,
    TABLE,
    after_for,
    answers,
    answers_all,
    as_bare,
    as_plain_result,
    as_rpc,
    as_text,
    asks,
    breaks,
    contains,
    cut,
    deeper_than,
    drop,
    error_as_text,
    every_answer,
    fail,
    form_is,
    has,
    head_says,
    header,
    heard,
    id_as,
    is_for,
    lacks,
    mcp,
    message_in,
    meta,
    needs_its_manager,
    no,
    no_schemas,
    on_raw,
    one_match_for_all,
    params,
    pushes_without_its_name,
    refuses,
    remembers,
    standings_in,
    swaps_ids,
    tells_the_manager,
    tires,
    with_key,
    without_id,
    without_key,
)


def one(body):
    """Register with this."""
    return [body]


@dataclass(frozen=True)
class Wrong:
    """A wrong player; `make` gives the hooks of its relay, for it may remember something."""

    says: str
    rule: str
    make: Callable  # (surroundings) -> (before, after)
    registers: Callable = one  # what it sends in place of this registration


AS_IT_IS = lambda around: (nothing, nothing)  # noqa: E731
NO_MATCH = {"match_id": "R0M0"}
LOCAL = "2026-01-15T10:30:00+02:00"
OK = {"status": "ok"}

MATCH_ROWS = [
    Wrong("answers no POST", "http.takes-post",
          lambda around: (lambda p: p.reply(status=405) if p.direction == IN else None, nothing)),
    Wrong("declines every match", "invitation.is-answered", answers({"accept": False}, INVITATION)),
    Wrong("says yes as `accepted`", "invitation.says-accept",
          answers({"accept": ..., "accepted": True}, INVITATION)),
    Wrong("calls its join JOIN", "answer.says-its-type",
          answers({"message_type": "JOIN"}, INVITATION)),
    Wrong("joins another match", "answer.repeats-the-match", answers(NO_MATCH, INVITATION)),
    Wrong("joins as another player", "answer.repeats-the-match",
          answers({"player_id": "P09"}, INVITATION)),
    Wrong("makes up conversations when it joins", "answer.repeats-the-conversation",
          answers({"conversation_id": "conv-mine"}, INVITATION)),
    Wrong("does not say who joins", "answer.has-the-envelope",
          answers({"sender": "P01"}, INVITATION)),
    Wrong("arrives in local time", "invitation.says-when",
          answers({"arrival_timestamp": LOCAL}, INVITATION)),
    Wrong("needs a player_id in the invitation", "answer.documented-fields",
          refuses(lacks("player_id", INVITATION))),
    Wrong("joins a match once", "answer.again",
          remembers(INVITATION, lambda seen: INVITATION in seen, no)),
    Wrong("chooses nothing", "choice.is-answered",
          answers_all(is_for(CALL), OK)),
    Wrong("chooses Even", "choice.is-legal", answers({"parity_choice": "Even"}, CALL)),
    Wrong("chooses 0", "choice.is-legal", answers({"parity_choice": 0}, CALL)),
    Wrong("chooses in `choice`", "choice.is-where-it-belongs",
          answers({"parity_choice": ..., "choice": "odd"}, CALL)),
    Wrong("calls its choice CHOICE", "answer.says-its-type",
          answers({"message_type": "CHOICE"}, CALL)),
    Wrong("forgets the match when it chooses", "answer.repeats-the-match",
          answers({"match_id": ...}, CALL)),
    Wrong("forgets the conversation when it chooses", "answer.repeats-the-conversation",
          answers({"conversation_id": ...}, CALL)),
    Wrong("chooses in local time", "answer.has-the-envelope", answers({"timestamp": LOCAL}, CALL)),
    Wrong("needs a league_id in the call", "answer.documented-fields",
          refuses(lacks("league_id", CALL))),
    Wrong("needs a context", "choice.without-context",
          refuses(lambda p: is_for(CALL)(p)
                  and not standings_in(message_in(p.request).get("context", {}))
                  and "deadline" in message_in(p.request))),
    Wrong("chooses once", "answer.again", remembers(CALL, lambda seen: CALL in seen, no)),
    Wrong("gives up after GAME_ERROR", "choice.after-error",
          remembers(CALL, lambda seen: "GAME_ERROR" in seen, no)),
    Wrong("mixes up matches", "choice.two-matches", one_match_for_all),
    Wrong("breaks at a call without invitation", "choice.out-of-place",
          remembers(CALL, lambda seen: INVITATION not in seen, fail)),
    Wrong("breaks at a call after the end", "choice.out-of-place",
          remembers(CALL, lambda seen: OVER in seen, fail)),
    Wrong("breaks at an odd deadline", "choice.odd-fields",
          breaks(has("deadline", lambda value: value in ("soon", None)))),
    Wrong("tells its choice to the manager", "choice.to-the-referee-alone", tells_the_manager),
    Wrong("shows its league token", "token.kept-from-referees",
          answers({"auth_token": TOKEN}, OVER)),
    Wrong("makes illegal moves", "move.is-legal", answers({"move": 99}, "GAME_MOVE_CALL")),
    Wrong("needs its manager in a match", "robust.manager-restarts", needs_its_manager),
    Wrong("brings choices without its name", "push.names-its-match", pushes_without_its_name),
    Wrong("is tired after 15 matches", "robust.many-matches", tires(15)),
]  # fmt: skip
NOTICE_ROWS = [
    Wrong("refuses rounds", "notice.round-announcement", refuses(is_for(ROUND))),
    Wrong("refuses a round without a match of its own", "notice.free-round",
          refuses(has("matches", lambda matches: not matches))),
    Wrong("refuses the table", "notice.standings", refuses(is_for(TABLE))),
    Wrong("refuses the end of the last round", "notice.round-completed",
          refuses(has("next_round_id", lambda following: following is None))),
    Wrong("says thanks", "notice.says-acknowledged", answers({"status": "thanks"}, ROUND)),
    Wrong("refuses GAME_OVER", "notice.game-over", refuses(is_for(OVER))),
    Wrong("refuses a draw", "notice.without-winner",
          refuses(has("game_result", lambda result: result["status"] == "DRAW"))),
    Wrong("refuses a result without a number", "notice.without-winner",
          refuses(has("game_result", lambda result: result["drawn_number"] is None))),
    Wrong("hears of an end once", "notice.game-over-twice",
          remembers(OVER, lambda seen: OVER in seen, no)),
    Wrong("breaks at the end of a match that it does not know", "notice.about-others",
          remembers(OVER, lambda seen: not seen, fail)),
    Wrong("refuses GAME_ERROR of its own", "notice.game-error",
          refuses(has("error_code", lambda code: code == "E001"))),
    Wrong("breaks at errors of others", "notice.about-others",
          breaks(has("error_code", lambda code: code == "E009"))),
    Wrong("breaks at a late notice", "notice.any-order",
          breaks(lambda p: is_for(ROUND_OVER)(p) and message_in(p.request)["round_id"] == 99)),
    Wrong("refuses the end of the league", "notice.league-completed",
          refuses(is_for("LEAGUE_COMPLETED"))),
]  # fmt: skip
REGISTRATION_ROWS = [
    Wrong("registers without a name", "registration.names-itself", AS_IT_IS,
          registers=meta(display_name=" ")),
    Wrong("registers a port at which nobody is", "registration.endpoint-is-right",
          AS_IT_IS, registers=meta(contact_endpoint="http://127.0.0.1:9/mcp")),
    Wrong("registers without its games", "registration.has-all-fields",
          AS_IT_IS, registers=meta(game_types=...)),
    Wrong("has a very long name", "registration.name-is-short", AS_IT_IS,
          registers=meta(display_name="x" * 51)),
    Wrong("has the version v1", "registration.version", AS_IT_IS,
          registers=meta(version="v1")),
    Wrong("speaks protocol 1", "registration.protocol-version", AS_IT_IS,
          registers=meta(protocol_version="1.9.0")),
    Wrong("plays chess alone", "registration.plays-even-odd", AS_IT_IS,
          registers=meta(game_types=["chess"])),
    Wrong("registers with a method of its own", "registration.is-json-rpc",
          AS_IT_IS, registers=lambda body: [body | {"method": "signup"}]),
    Wrong("registers without a conversation", "registration.has-the-envelope",
          AS_IT_IS, registers=params(conversation_id=None)),
    Wrong("calls itself alpha", "registration.sender", AS_IT_IS,
          registers=params(sender="alpha")),
    Wrong("registers in local time", "registration.timestamp", AS_IT_IS,
          registers=params(timestamp=LOCAL)),
    Wrong("registers twice", "registration.once", AS_IT_IS,
          registers=lambda body: [body, body]),
]  # fmt: skip
HTTP_ROWS = [
    Wrong("says that its JSON is HTML", "http.says-json", header("Content-Type", "text/html")),
    Wrong("answers GET as a message", "http.get-is-no-message",
          on_raw(rb"^GET /mcp", lambda p: p.reply({"jsonrpc": "2.0", "result": {"accept": True}}))),
    Wrong("breaks at another path", "http.other-path",
          on_raw(rb"^POST /no-such-path", fail)),
    Wrong("breaks at chunks", "http.chunked", on_raw(rb"Transfer-Encoding: chunked", fail)),
    Wrong("knows headers in lower case only", "http.header-case",
          on_raw(rb"CONTENT-TYPE", lambda p: p.reply(status=400))),
    Wrong("does not announce that it closes", "http.keep-alive",
          on_raw(rb"^(?![\s\S]*(Connection|connection|CONNECTION))POST", fail)),
    Wrong("does not know Expect", "http.expect-continue", on_raw(rb"Expect: ", cut)),
    Wrong("does not know HTTP/1.0", "http.version-1-0", on_raw(rb"^POST \S+ HTTP/1\.0", cut)),
    Wrong("says ok as text at /health", "http.health",
          on_raw(rb"^GET /health", lambda p: p.reply(body=b"ok"))),
    Wrong("has metrics in JSON", "http.metrics",
          on_raw(rb"^GET /metrics", lambda p: p.reply({"requests": 1}))),
    Wrong("lets every web page in", "http.foreign-origin",
          header("Access-Control-Allow-Origin", "*", when=head_says(rb"\r\nOrigin:"))),
]  # fmt: skip
ENVELOPE_ROWS = [
    Wrong("refuses fields that it does not know", "envelope.unknown-fields",
          refuses(contains(rb'"zz_new"'))),
    Wrong("needs the whole envelope", "envelope.missing-fields",
          refuses(lambda p: is_for(INVITATION)(p) and not any(
              name in message_in(p.request) for name in ENVELOPE)
              and "player_id" in message_in(p.request))),
    Wrong("needs exactly league.v2", "envelope.minor-version",
          refuses(contains(rb"league\.v2\.1"))),
    Wrong("calls another protocol a missing field", "envelope.other-protocol",
          refuses(contains(rb"league\.v1"), data={"error_code": "E003"})),
    Wrong("needs a colon in the sender", "envelope.any-sender",
          refuses(has("sender", lambda sender: sender == "REF01"))),
    Wrong("knows no +00:00", "time.any-utc", refuses(contains(rb'\+00:00"'))),
    Wrong("knows no fractions of seconds", "time.any-utc",
          refuses(contains(rb'"timestamp":"[^"]*\.\d'))),
    Wrong("needs separators in dates", "time.compact-date",
          refuses(contains(rb'"timestamp":"\d{8}T'))),
    Wrong("calls a local time a missing field", "time.local",
          refuses(contains(rb'"timestamp":"[^"]*\+02:00"|"timestamp":"[^"Z+]*"'),
                  data={"error_code": "E003"})),
]  # fmt: skip
RPC_ROWS = [
    Wrong("searches its JSON as text", "rpc.spelling", refuses(contains(rb"\n"))),
    Wrong("leaves jsonrpc out", "rpc.answers-2-0", every_answer(without_key("jsonrpc"))),
    Wrong("adds an error that is null", "rpc.result-or-error",
          every_answer(with_key("error", None))),
    Wrong("has always the id 0", "rpc.repeats-id", every_answer(id_as(int, lambda ident: 0))),
    Wrong("makes numbers of ids", "rpc.repeats-id", every_answer(id_as(str, len))),
    Wrong("makes 0 of the id null", "rpc.repeats-null-id",
          after_for(asks(lambda asked: "id" in asked and asked["id"] is None),
                    lambda answer, passing: with_key("id", 0)(answer, passing))),
    Wrong("answers notifications", "rpc.notification",
          answers_all(asks(lambda asked: "jsonrpc" in asked and "id" not in asked), OK)),
    Wrong("acknowledges a batch", "rpc.batch",
          answers_all(lambda p: isinstance(p.request.fields, list) and p.request.fields, OK)),
    Wrong("takes params that are a list", "rpc.params-list",
          answers_all(asks(lambda asked: not isinstance(asked.get("params", {}), dict)), OK)),
    Wrong("acknowledges what it does not know", "rpc.unknown-method",
          answers_all(asks(lambda asked: asked.get("method") == "no_such_method"), OK)),
    Wrong("calls jsonrpc 1.0 an unknown method", "rpc.wrong-version",
          refuses(asks(lambda asked: asked.get("jsonrpc") == "1.0"), -32601)),
    Wrong("acknowledges JSON-RPC without method", "rpc.no-method",
          answers_all(asks(lambda asked: "jsonrpc" in asked and type(asked.get("method")) is not str
                           and "id" in asked and asked.get("jsonrpc") == "2.0"), OK)),
    Wrong("answers HTML to what is no JSON", "rpc.parse-error",
          after_for(contains(rb"^no json"), as_text)),
    Wrong("has error codes that are texts", "rpc.error-object",
          after_for(asks(lambda asked: asked.get("method") == "no_such_method"),
                    lambda answer, passing: error_as_text(answer))),
    Wrong("forgets the id of what it refuses", "rpc.refusal-keeps-id",
          after_for(asks(lambda asked: asked.get("method") == "no_such_method"),
                    lambda answer, passing: without_id(answer))),
    Wrong("knows other methods than document 001", "forms.flat",
          refuses(form_is("flat"), -32601, data={"error_code": "E051"})),
    Wrong("answers nested messages bare", "forms.nested", after_for(form_is("nested"), as_bare)),
    Wrong("answers bare messages in JSON-RPC", "forms.bare", after_for(form_is("bare"), as_rpc)),
    Wrong("answers a message type as method bare", "forms.type-as-method",
          after_for(form_is("type"), as_bare)),
    Wrong("answers tools without content", "forms.tool",
          after_for(form_is("tool"), as_plain_result)),
]  # fmt: skip
HOSTILE_ROWS = [
    Wrong("takes no more than 8 KB", "limits.whole-message",
          lambda around: (lambda p: p.reply(status=413) if 9_000 < len(p.request.body) < 11_000
                          and b"xxxx" in p.request.body else None, nothing)),
    Wrong("takes 4 MB", "limits.too-large", heard(lambda body: re.sub(rb"x{99999,}", b"", body))),
    Wrong("reads bodies as Latin-1", "limits.unicode",
          refuses(contains("נועה|u05e0".encode()))),
    Wrong("breaks at a byte order mark", "limits.not-utf8", breaks(contains(rb"^\xef\xbb\xbf"))),
    Wrong("breaks at half a surrogate pair", "limits.lone-surrogate",
          breaks(contains(rb"\\ud800"))),
    Wrong("breaks at deep JSON", "limits.deep", breaks(deeper_than(3_000))),
    Wrong("calls a key that comes twice unknown", "limits.duplicate-key",
          refuses(contains(rb'"zz_note":1,"zz_note"'), -32601)),
    Wrong("calls NaN an unknown method", "limits.not-a-number",
          refuses(contains(rb":(NaN|-Infinity)"), -32601)),
    Wrong("breaks at huge numbers", "limits.huge-number", breaks(contains(rb"9{4999}"))),
    Wrong("breaks at numbers that should be texts", "limits.wrong-types",
          breaks(has("match_id", lambda match: match == 7))),
    Wrong("breaks at long texts", "limits.long-texts", breaks(contains(rb"c{3000}"))),
    Wrong("takes an empty body for a match", "limits.empty-body",
          answers_all(lambda p: p.request.body == b"{}", {"accept": True, "match_id": "R1M1"})),
    Wrong("mixes up the ids of requests at once", "robust.at-once", swaps_ids),
    Wrong("takes a head of any length", "robust.endless-head",
          on_raw(rb"\r\nX-Long: ", lambda p: p.reply({"accept": True}))),
    Wrong("does not say which server it is", "mcp.initialize",
          mcp("initialize", drop("serverInfo"))),
    Wrong("lists tools without what they take", "mcp.tools-list", mcp("tools/list", no_schemas)),
    Wrong("answers tools as text alone", "mcp.tools-call",
          mcp("tools/call", drop("structuredContent"))),
]  # fmt: skip
WRONG = (
    MATCH_ROWS
    + NOTICE_ROWS
    + REGISTRATION_ROWS
    + HTTP_ROWS
    + ENVELOPE_ROWS
    + RPC_ROWS
    + HOSTILE_ROWS
)
# Wrong in all that takes a command: it registers once, with whatever comes of it, and never ends.
CARELESS = """
import json, sys, threading, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

port, manager = int(sys.argv[1]), sys.argv[2]

class Player(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        match_id = asked["params"].get("match_id")
        said = {"status": "ACKNOWLEDGED", "accept": True, "match_id": match_id}
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

server = HTTPServer(("127.0.0.1", port), Player)
threading.Thread(target=server.serve_forever, daemon=True).start()
meta = {"display_name": "Careless", "contact_endpoint": f"http://127.0.0.1:{port}/mcp"}
params = {"message_type": "LEAGUE_REGISTER_REQUEST", "player_meta": meta}
body = {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": params}
answer = json.load(urllib.request.urlopen(manager, json.dumps(body).encode()))
print("I am", answer["result"]["player_id"].lower())
threading.Event().wait()
"""
TAKES_A_COMMAND = (
    "registration.manager-comes-later",
    "registration.manager-is-busy",
    "registration.rejected",
    "end.leaves",
)
