"""The usual request: one pass gives what the long way gives, and nothing else passes."""

import msgspec

from agentleague.dialects import requests
from agentleague.errors import VersionMismatch
from agentleague.protocol import codec, jsonrpc
from agentleague.protocol.fast_path import (
    PartialAnnouncement,
    PartialTable,
    own_form,
    read_rows,
)
from agentleague.protocol.field_docs import example
from agentleague.protocol.jsonrpc import Form
from agentleague.protocol.messages import (
    MESSAGES,
    GameInvitation,
    LeagueQuery,
    LeagueStandingsUpdate,
    RoundAnnouncement,
    RoundMatch,
    StandingRow,
)
from protocol.wire import NOW, is_same
from tables import each_row

PLAYER, MANAGER = codec.taken_by("player"), codec.taken_by("manager")
INVITATION = GameInvitation(match_id="R1M1", sender="referee:REF01", conversation_id="c-1")
USUAL = codec.write_request(INVITATION, 7)


def read(body, taken=PLAYER, *, thorough=False):
    return own_form(taken, thorough=thorough).read(body)


def test_what_we_write_is_read_in_one_pass():
    envelope, message, _, _ = read(USUAL)
    assert message == INVITATION
    assert (envelope.id, envelope.method, envelope.form) == (
        7,
        "handle_game_invitation",
        Form.JSONRPC,
    )


@each_row(
    "body",
    [
        USUAL.replace(b'"params":{', b'"params":{"message":{}, '),
        USUAL.replace(b'"2.0"', b'"1.0"'),
        USUAL.replace(b"handle_game_invitation", b"handle_something_else"),
        USUAL.replace(b'"id":7', b'"id":7.5'),
        USUAL.replace(b'"R1M1"', b"5"),
        USUAL[:-1],
        USUAL + b"}",
        USUAL.replace(b"R1M1", b"\xff"),
        USUAL.replace(b'"params":{', b'"unread":"\xff","params":{'),
        USUAL.replace(b'"R1M1"', b'""'),
        USUAL.replace(b"league.v2", b"league.v3"),
        USUAL.replace(b'"conversation_id"', b'"timestamp":"noon","conversation_id"'),
        b" " + USUAL,
        b'{"jsonrpc":"2.0","method":"' + b"x" * 100,
        b"",
    ],
)
def test_whatever_looks_otherwise_or_does_not_fit_goes_the_long_way(body):
    assert read(body) is None


@each_row("beside", ['"message":{}', '"message":"x"', '"name":"y","arguments":{}'])
@each_row("name", [name for name, kind in MESSAGES.items() if kind.method])
def test_what_has_further_keys_is_read_alike_the_long_way(name, beside):
    params = msgspec.json.encode({"message_type": name, **example(name)})
    params = params.replace(b",", b",%b," % beside.encode(), 1)
    body = jsonrpc.write_request(MESSAGES[name].method, params, 1)
    taken = frozenset({name})

    quick = own_form(taken, thorough=False).read(body)
    slow = requests.read_request(body, taken, thorough=False)

    assert slow.message
    assert quick is None or is_same(quick[1], slow.message)
    assert quick is None or quick[3] == slow.missing


def test_a_message_that_is_not_for_this_agent_goes_the_long_way():
    assert read(USUAL, MANAGER, thorough=True) is None


def test_managers_and_referees_take_no_key_twice():
    said = {"sender": "player:P01", "timestamp": NOW, "conversation_id": "c-1"}
    query = codec.write_request(LeagueQuery("GET_STATUS", "cup", **said), 3)
    assert read(query, MANAGER, thorough=True)
    twice = query.replace(b'"league_id":"cup"', b'"league_id":"cup","league_id":"cap"')
    assert read(twice, MANAGER, thorough=True) is None
    assert requests.read_request(twice, MANAGER).error.context["kind"] == "duplicate_key"


def test_a_refusal_of_what_was_read_in_one_pass_still_says_what_it_was_about():
    envelope, *_ = read(USUAL)
    refusal = codec.write_refusal(
        envelope, VersionMismatch("no"), sender="player:P01", timestamp=""
    )
    data = msgspec.json.decode(refusal)["error"]["data"]
    assert (data["original_message_type"], data["conversation_id"]) == ("GAME_INVITATION", "c-1")


def test_a_player_reads_of_an_announcement_who_meets_whom():
    match = RoundMatch("R1M1", "even_odd", "P01", "P02", "http://127.0.0.1:1/mcp", "c0ffee")
    sent = RoundAnnouncement(round_id=3, matches=[match], byes=["P03"])
    _, partial, _, _ = read(codec.write_request(sent, 1))
    assert isinstance(partial, PartialAnnouncement)
    assert (partial.round_id, partial.byes) == (3, ["P03"])
    (pairing,) = partial.matches
    assert (pairing.match_id, pairing.player_A_id, pairing.player_B_id) == ("R1M1", "P01", "P02")
    assert pairing.draw_commitment == "c0ffee"


def test_who_meets_whom_in_other_words_is_read_the_long_way():
    sent = RoundAnnouncement(matches=[RoundMatch("R1M1", player_A_id="P01", player_B_id="P02")])
    body = codec.write_request(sent, 1).replace(b"player_A_id", b"player1_id")
    assert read(body) is None
    (match,) = requests.read_request(body, PLAYER, thorough=False).message.matches
    assert (match.player_A_id, match.player_B_id) == ("P01", "P02")


def test_a_referee_reads_the_whole_announcement():
    match = RoundMatch("R1M1", "", "P01", "P02", referee_endpoint="http://127.0.0.1:1/")
    sent, taken = RoundAnnouncement(matches=[match]), codec.taken_by("referee")
    assert read(codec.write_request(sent, 1), taken, thorough=True)[1] == sent


def test_a_player_reads_the_rows_of_a_table_when_it_looks():
    row = StandingRow(1, "P01", "Ada")
    _, partial, _, _ = read(codec.write_request(LeagueStandingsUpdate(standings=[row]), 1))
    assert isinstance(partial, PartialTable)
    assert read_rows(partial.standings) == [row]
    assert read_rows([row]) == [row]


@each_row("rows", [b"5", b'[{"rank":"first"}]', b'["\xff"]', b"[" * 5000])
def test_rows_that_are_none_are_no_rows(rows):
    assert read_rows(msgspec.Raw(rows)) == []
