"""The match makes the same of an answer in the HTTP response and of one that is pushed later.

A real manager and a real referee over the memory transport; both players are raw bytes.
"""

import json

from agentleague.protocol.messages import MatchResultReport
from memory_league import MANAGER, MemoryLeague
from rules import rule

JOIN, PARITY, MOVE = "GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE"
ANSWERED_BY = {"GAME_INVITATION": "join", "CHOOSE_PARITY_CALL": "move"}
DOCUMENTED = {"join": {"accept": True}, "move": {"parity_choice": "odd"}}
JOINED, DECLINED = ("ok", None), ("declined", None)
NO_JOIN, EMPTY = ("E003", None), ("no content", None)
EVEN, ODD, ILLEGAL = ("ok", "even"), ("ok", "odd"), ("E004", 7)

# What Ann answers -> the verdict of the referee and the move that counts.
SPELLINGS = [
    (JOIN, {"accept": True}, JOINED),
    (JOIN, {"accept": False}, DECLINED),
    (JOIN, {"accepted": True}, JOINED),
    (JOIN, {"accepted": False}, DECLINED),
    (JOIN, {"accept": True, "accepted": False}, JOINED),  # the documented field counts first
    (JOIN, {"status": "ACK"}, JOINED),
    (JOIN, {"status": "RECEIVED"}, JOINED),  # its type says so
    (JOIN, {"message_type": "game_join_ack", "accepted": False}, DECLINED),
    (JOIN, {"message_type": "Game_Join_Ack"}, JOINED),
    (JOIN, {"accept": None}, JOINED),  # null is no value; its type says so
    (JOIN, {"accept": None, "accepted": False}, DECLINED),
    (JOIN, {"accept": "false"}, DECLINED),
    (JOIN, {"accept": 0, "accepted": True}, NO_JOIN),
    (JOIN, {"accepted": 1}, NO_JOIN),
    (JOIN, {"data": {"accept": False}}, DECLINED),  # whatever its type says
    (JOIN, {"message": {"accepted": False}}, DECLINED),
    (JOIN, {"status": "ACK", "data": {"accept": False}}, DECLINED),
    (JOIN, {"status": "REJECTED"}, DECLINED),
    (JOIN, {"data": {"status": "declined"}}, DECLINED),
    (JOIN, {"structuredContent": {"accept": False}}, DECLINED),
    (PARITY, {"parity_choice": "even"}, EVEN),
    (PARITY, {"choice": "even"}, EVEN),
    (PARITY, {"move": "even"}, EVEN),
    (PARITY, {"parity_choice": "odd", "choice": "even"}, ODD),
    (PARITY, {"choice": "odd", "move": "even"}, ODD),
    (PARITY, {"message": {"choice": "even"}}, EVEN),
    (PARITY, {"data": {"parity_choice": "even"}}, EVEN),
    (PARITY, {"payload": json.dumps({"move": "even"})}, EVEN),
    (PARITY, {"message_type": "choose_parity_response", "choice": "odd"}, ODD),
    (PARITY, {"structuredContent": {"parity_choice": "even"}}, EVEN),  # a tool's result
    (PARITY, {"content": [{"type": "text", "text": '{"parity_choice":"even"}'}]}, EVEN),
    (PARITY, {"match_id": 7, "choice": "even"}, EVEN),  # what does not fit is left out
    (PARITY, {"match_id": 7, "player_id": [], "parity_choice": "even"}, EVEN),
    (PARITY, {"sender": 7, "protocol": 2, "timestamp": {}, "parity_choice": "even"}, EVEN),
    (PARITY, {"player_id": "P" * 65, "parity_choice": "even"}, EVEN),
    (PARITY, {"choice": 7}, ILLEGAL),
    (PARITY, {"choice": {"parity": "even"}}, EVEN),
    (PARITY, {"parity_choice": {"parity": "even"}}, ("E004", {"parity": "even"})),  # as it is
    (MOVE, {"move": "even"}, EVEN),
    (MOVE, {"choice": "even"}, EVEN),
    (MOVE, {"parity_choice": "even"}, EVEN),
    (MOVE, {"result": {"move": "odd"}}, ODD),
    (MOVE, {"move": 7}, ILLEGAL),
]


class RawPlayer:
    """Answers with the bytes it is told to; `pushes` sends them later, in a request of its own."""

    def __init__(self, league, url, *, fields=None, step="", pushes=False):
        self._league, self._url, self._pushes = league, url, pushes
        self._answers = {**DOCUMENTED, **({step: fields} if step else {})}
        self._odd_one, self.refusals, self._token = step, [], ""
        league.network.agents[url] = self
        meta = {"display_name": url, "contact_endpoint": url, "game_types": ["even_odd"]}
        self._post(MANAGER, "register_player", {"player_meta": meta}, self._registered)

    def receive(self, body, source, respond, head=b""):
        request = json.loads(body)
        step = ANSWERED_BY.get(request.get("params", {}).get("message_type"), "")
        answer = self._answers.pop(step, {"status": "ok"})
        if step == self._odd_one and self._pushes and answer != {"status": "ok"}:
            params = {"match_id": "R1M1", "auth_token": self._token, **answer}
            method = params["message_type"] or params.pop("message_type") or PARITY
            self._later(lambda: self._post(source, method, params, self._heard))
            answer = {"status": "ok"}
        respond(json.dumps({"jsonrpc": "2.0", "result": answer, "id": request.get("id")}).encode())

    def _post(self, url, method, params, heard):
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 1})
        self._league.network.agents[url].receive(
            body.encode(), self._url, lambda text: heard(json.loads(text))
        )

    def _later(self, act):
        clock = self._league.clock
        clock.call_at(clock.now() + 0.1, act)

    def _registered(self, answer):
        self._token = answer["result"]["auth_token"]

    def _heard(self, answer):
        self.refusals += [answer["error"]] if "error" in answer else []


def what_the_match_makes_of(message_type, fields, *, pushes):
    """The first verdict and move of Ann in the transcript, the result, and what was refused."""
    league = MemoryLeague(players=2, referees=1, retries=0, join_retries=0)
    league.add_referee()
    step = "join" if message_type == JOIN else "move"
    answer = {"message_type": message_type, **fields}
    ann = RawPlayer(league, "http://ann/mcp", fields=answer, step=step, pushes=pushes)
    RawPlayer(league, "http://bob/mcp")
    league.play()
    (report,) = [each for _, each in league.messages if isinstance(each, MatchResultReport)]
    asked = "GAME_INVITATION" if step == "join" else "CHOOSE_PARITY_CALL"
    rows = [row for row in report.transcript if (row.player_id, row.message) == ("P01", asked)]
    taken = "pushed" if pushes else "ok"  # The transcript says how it came.
    verdict = "ok" if rows[0].verdict == taken else rows[0].verdict
    result = (report.result.details.status, report.result.details.choices)
    return (verdict, rows[0].move), result, ann.refusals


@rule("R-FORM-09")
def test_every_spelling_counts_alike_whether_it_is_returned_or_pushed():
    differences = []
    for message_type, fields, expected in SPELLINGS:
        returned = what_the_match_makes_of(message_type, fields, pushes=False)
        pushed = what_the_match_makes_of(message_type, fields, pushes=True)
        is_refused = expected[0] in ("E003", "E004")  # Who pushes is told so at once.
        alike = returned[:2] == pushed[:2] and bool(pushed[2]) is is_refused
        if not (alike and returned[0] == expected and not returned[2]):
            differences.append((message_type, fields, returned, pushed))

    assert differences == []


@rule("R-MATCH-25")
def test_a_push_without_content_is_refused_and_changes_nothing():
    for message_type, fields in (
        (PARITY, {"status": "thinking"}),
        (PARITY, {"status": "error", "message": "boom"}),
        (PARITY, {"content": [{"text": "boom"}], "isError": True}),
        (JOIN, {"status": "error"}),  # whatever its type says
        (JOIN, {"error": "busy"}),
        (JOIN, {"data": {"error": "busy"}}),
        (JOIN, {"content": [{"text": "boom"}], "isError": True}),
    ):
        returned, *_ = what_the_match_makes_of(message_type, fields, pushes=False)
        pushed, _, (refusal,) = what_the_match_makes_of(message_type, fields, pushes=True)

        assert refusal["data"]["error_code"] == "E003", fields
        assert returned == pushed == EMPTY, fields


@rule("R-FORM-09")
def test_a_nested_push_takes_the_ids_and_the_token_from_beside_it():
    inside = {"message_type": PARITY, "choice": "even"}
    nested = {"message_type": None, "message": inside}

    seen, _, refusals = what_the_match_makes_of(PARITY, nested, pushes=True)

    assert (seen, refusals) == (EVEN, [])
