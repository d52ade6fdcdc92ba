"""What a refused peer is told, and what it is never told."""

import json
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from agentleague import errors
from agentleague.errors import (
    DuplicateName,
    DuplicateReport,
    IllegalMove,
    InternalError,
    LeagueError,
    MatchMismatch,
    MissingField,
    NoAnswer,
    PeerRefused,
    StorageError,
    TokenInvalid,
    TokenMissing,
)
from agentleague.protocol import codec
from agentleague.protocol.error_messages import REMEDIES, error_data, error_message
from agentleague.protocol.messages import GameError, LeagueErrorMessage
from protocol.wire import ENVELOPE, NOW, REGISTRATION, read, refused, registration, request
from rules import rule
from tables import each_row
from wire_pages import wire_errors

TOKEN = "tok_P07_" + "0123456789abcdef" * 4


def refusal(error, body=None, sender="league_manager"):
    """The whole answer to a good request that the role refused."""
    envelope = read(body or registration()).envelope
    return json.loads(codec.write_refusal(envelope, error, sender=sender, timestamp=NOW))


def data_of(error, **where):
    return refusal(error, **where)["error"]["data"]


def pushed(**fields):
    """A player's choice, pushed to its referee."""
    body = request({"parity_choice": "odd", **fields}, "CHOOSE_PARITY_RESPONSE")
    return read(body, "referee").envelope


@rule("R-ERR-03")
def test_a_manager_and_a_player_refuse_with_a_league_error():
    for sender in ("league_manager", "player:P01"):
        message = error_message(IllegalMove("no"), "LEAGUE_QUERY", sender=sender, timestamp=NOW)

        assert type(message) is LeagueErrorMessage
        assert (message.sender, message.timestamp) == (sender, NOW)
        assert message.original_message_type == "LEAGUE_QUERY"


@rule("R-ERR-03", "R-ERR-06", "R-MSG-11")
def test_a_referee_refuses_with_a_game_error_that_has_all_its_fields():
    envelope = pushed(match_id="R4M1", player_id="P07", conversation_id="conv-r4m1-001")
    error = IllegalMove(
        "'ODD' is neither even nor odd",
        round_id=4,
        game_state="COLLECTING_CHOICES",
        retry_count=1,
        max_retries=3,
        time_remaining=12.5,
        consequence="Without a legal choice the match is lost",
        valid_choices=["even", "odd"],
    )

    answer = codec.write_refusal(envelope, error, sender="referee:REF01", timestamp=NOW)

    data = json.loads(answer)["error"]["data"]
    expected = {
        "message_type": "GAME_ERROR",
        "sender": "referee:REF01",
        "conversation_id": "conv-r4m1-001",
        "match_id": "R4M1",
        "round_id": 4,
        "player_id": "P07",
        "affected_player": "P07",
        "error_code": "E004",
        "error_name": "INVALID_PARITY_CHOICE",
        "error_description": "INVALID_PARITY_CHOICE",
        "error_message": "'ODD' is neither even nor odd",
        "action_required": REMEDIES["E004"],
        "game_state": "COLLECTING_CHOICES",
        "retryable": True,
        "retry_count": 1,
        "max_retries": 3,
        "time_remaining": 12.5,
        "retry_info": {
            "retry_count": 1,
            "max_retries": 3,
            "time_remaining": 12.5,
        },
        "consequence": "Without a legal choice the match is lost",
        "valid_choices": ["even", "odd"],
    }
    assert {name: data.get(name) for name in expected} == expected
    assert set(data) >= set(GameError.__struct_fields__) - {"auth_token"}


@rule("R-ERR-05")
@each_row(
    ("error", "keys"),
    [
        # Document 001's keys for each code, in our words.
        (DuplicateName("taken", display_name="Quokka", suggestion="Quokka 2"), "display_name"),
        (DuplicateReport("again", match_id="R4M1", previous_report_time=NOW), "match_id"),
        (NoAnswer("late", player_id="P07", timeout_seconds=5, retry_count=1), "timeout_seconds"),
        (MissingField("no", field="player_meta", kind="missing"), "field"),
    ],
)
def test_the_keys_of_the_context_stand_in_the_data_itself(error, keys):
    data = data_of(error)

    assert data[keys] == error.context[keys] == data["context"][keys]


@rule("R-ERR-05")
def test_a_key_of_the_context_never_replaces_a_field_of_the_message():
    error = IllegalMove(
        "no", error_code="E999", message_type="X", sender="me", retryable=False, auth_token=TOKEN
    )

    data = data_of(error)

    assert (data["error_code"], data["message_type"]) == ("E004", "LEAGUE_ERROR")
    assert (data["sender"], data["retryable"]) == ("league_manager", True)
    assert "auth_token" not in data
    assert data["context"]["error_code"] == "E999"


@rule("R-ERR-06")
@each_row(
    ("body", "conversation_id"),
    [
        (request({**ENVELOPE}), "conv-1"),  # flat
        (request({"message": {**ENVELOPE}}), "conv-1"),  # nested
        (request({"message": {**ENVELOPE}}, "hello"), "conv-1"),
        (request({"name": "register", "arguments": ENVELOPE}, "tools/call"), "conv-1"),
        (request(ENVELOPE, jsonrpc="1.0"), "conv-1"),  # no JSON-RPC 2.0, but readable
        (request(ENVELOPE, id=1.5), "conv-1"),
        (request(ENVELOPE | {"sender": 7}), "conv-1"),  # something else is wrong
        (request({"conversation_id": 7}), "conv-error"),  # nothing that could be repeated
        (request({"conversation_id": "x" * 129}), "conv-error"),
        (request({"conversation_id": None}), "conv-error"),
        (request({"conversation_id": ""}), "conv-error"),
        (request([]), "conv-error"),
        (b"hello", "conv-error"),
        (request({"conversation_id": "N"}).replace(b'"N"', b"1e999"), "conv-error"),
    ],
)
def test_a_refusal_repeats_the_conversation_where_it_can_be_read(body, conversation_id):
    assert refused(body)["error"]["data"]["conversation_id"] == conversation_id


@rule("R-ERR-06", "R-FORM-05")
def test_a_bare_message_is_refused_with_a_bare_one_that_repeats_its_conversation():
    answer = refused(json.dumps(ENVELOPE | {"message_type": "HELLO"}).encode())

    assert answer["message_type"] == "LEAGUE_ERROR"
    assert (answer["conversation_id"], answer["original_message_type"]) == ("conv-1", "HELLO")


def test_what_was_asked_is_cut_to_the_length_of_an_id():
    data = refused(request({"message_type": "X" * 5000}))["error"]["data"]

    assert data["original_message_type"] == "X" * 64
    json_length = len(json.dumps(data))
    assert json_length < 2000


@rule("R-TOK-05")
@each_row(
    ("token", "shown"),
    [
        (TOKEN, "tok_…"),
        ("mtok_" + "ab" * 32, "mtok…"),
        ("hunter2", "…"),  # so short that four characters would be much of it
        ("", "…"),
    ],
)
def test_a_wrong_token_is_shown_by_its_first_characters_at_most(token, shown):
    data = data_of(TokenInvalid("no", provided_token=token))

    assert data["context"]["provided_token"] == data["provided_token"] == shown


@rule("R-TOK-05")
@each_row(
    "error",
    [
        TokenInvalid(f"{TOKEN} is not yours", provided_token=TOKEN),  # in sentence and context
        TokenInvalid("no", auth_token=TOKEN, token=TOKEN, match_token=TOKEN),  # other names
        TokenInvalid("no", sent={"auth_token": TOKEN, "tokens": [TOKEN]}),  # inside
        TokenInvalid("no", anything=[f"<{TOKEN}>"]),  # in a field that is not called so
        MatchMismatch("no", match_id=TOKEN),
        TokenInvalid("x" * 480 + TOKEN),  # where the sentence is cut
        PeerRefused(TOKEN, data={"x": TOKEN}),
        InternalError(TOKEN, trace=TOKEN),
    ],
)
@each_row("sender", ["league_manager", "referee:REF01"])
def test_a_token_that_was_sent_is_never_repeated(error, sender):
    body = registration(auth_token=TOKEN, sender=TOKEN[:64], conversation_id=TOKEN)

    answer = json.dumps(refusal(error, body=body, sender=sender))

    assert TOKEN not in answer
    assert TOKEN[4:16] not in answer  # nor a good part of it


@rule("R-TOK-05")
@each_row(
    "body",
    [
        request({"auth_token": TOKEN}),  # a field is missing
        registration(auth_token=TOKEN, player_meta=7),
        registration(auth_token=TOKEN, message_type=TOKEN),
        registration(auth_token=TOKEN, timestamp="now"),
        registration(auth_token=TOKEN, protocol="league.v1"),
        registration(auth_token=TOKEN * 4),  # too long
        registration(auth_token=[TOKEN]),
        request(REGISTRATION | {"auth_token": TOKEN}, id=1.5),
        request(REGISTRATION | {"auth_token": TOKEN}, jsonrpc="1.0"),
        registration(auth_token=TOKEN)[:-1],  # not even JSON
        registration(auth_token=TOKEN).replace(b'"sender"', b'"auth_token"'),  # twice
        json.dumps({"auth_token": TOKEN}).encode(),  # bare
        json.dumps({"auth_token": TOKEN, "message_type": "HELLO"}).encode(),
        request({"message": {"auth_token": TOKEN}}),
        request({"name": "register", "arguments": {"auth_token": TOKEN}}, "tools/call"),
    ],
)
def test_no_refusal_of_the_codec_holds_the_token_of_its_request(body):
    assert TOKEN[4:16] not in json.dumps(refused(body))


@rule("R-ERR-08")
@each_row(
    "error",
    [
        InternalError("division by zero in referee.py", trace="line 7"),
        LeagueError("list index out of range"),
        StorageError("/home/ann/cup/journal.sqlite is locked", path="/home/ann"),
        PeerRefused("P02 said no", data={"secret": 1}),  # another agent's business
    ],
)
def test_of_a_fault_of_our_own_nothing_is_told(error):
    answer = refusal(error)

    assert str(error) not in json.dumps(answer)
    assert answer["error"]["data"]["context"] == {"action": "LEAGUE_REGISTER_REQUEST"}
    assert answer["error"]["data"]["error_code"] in ("E052", "E053")


@rule("R-ERR-09")
@each_row(
    ("name", "sent", "context"),
    [
        # Document 003's words, and document 001's: the player by its id, or by its sender.
        ("LEAGUE_QUERY", {"player_id": "P07"}, {"expected_format": "tok_{agent_id}_{hash}"}),
        ("GAME_INVITATION", {"sender": "player:P07"}, {"expected_format": "mtok_{hash}"}),
    ],
)
def test_a_wrong_token_is_told_with_its_beginning_its_form_and_whose_it_should_be(
    name, sent, context
):
    about = {"auth_token": TOKEN, "sender": "player:Ann", "conversation_id": "conv-1", **sent}

    message = error_message(
        TokenInvalid("no"), name, sender="league_manager", timestamp=NOW, request=about
    )

    expected = {"action": name, "provided_token": "tok_…", "player_id": "P07", **context}
    assert message.context == expected
    assert message.affected_player == "P07"


@rule("R-ERR-05", "R-ERR-09")
def test_what_was_wanted_stands_in_the_context_alone_and_nothing_is_null():
    data = data_of(TokenMissing("send it"), body=registration(sender="somebody"))

    assert data["context"] == {"action": "LEAGUE_REGISTER_REQUEST"}
    assert "action" not in data
    assert None not in data.values()
    assert "affected_player" not in data  # Nobody knows whom it is about.


class Strange:
    """Nothing that JSON knows."""


def endless():
    value = []
    value.append(value)
    return value


@rule("R-ERR-10")
@each_row(
    ("value", "written"),
    [
        (Strange(), "Strange"),
        ([Strange()], ["Strange"]),
        ({(1, 2): 3}, {"tuple": 3}),  # keys that are no texts
        ("half \ud800 pair", "str"),
        (endless(), "list"),
        (float("nan"), None),
        (10**5000, "int"),
        (date(2026, 3, 4), "2026-03-04"),
        ({"P01", "P02"} & {"P01"}, ["P01"]),
        (LeagueErrorMessage(error_code="E1"), "E1"),
        ({1: 2}, {"1": 2}),
    ],
)
def test_a_context_that_json_cannot_carry_does_not_break_the_refusal(value, written):
    data = data_of(IllegalMove("no", odd=value))

    shown = data["odd"]["error_code"] if isinstance(value, LeagueErrorMessage) else data["odd"]
    assert shown == written


@rule("R-ERR-10")
def test_a_sentence_with_half_a_surrogate_pair_does_not_break_the_refusal():
    data = data_of(IllegalMove("half \ud800 pair", player_id="\ud800"))

    assert data["error_message"] == "half ? pair"


@rule("R-ERR-10")
@each_row("value", [7, None, "x" * 65, ["P01"], {}])
def test_a_value_of_the_context_that_does_not_fit_its_field_stays_in_the_context(value):
    error = IllegalMove("no", player_id=value, match_id=value, round_id="four", retry_count="two")

    message = error_message(error, "GAME_JOIN_ACK", sender="referee:REF01", timestamp=NOW)

    assert (message.player_id, message.match_id, message.affected_player) == ("", "", "")
    assert (message.round_id, message.retry_count, message.retry_info.retry_count) == (0, 0, 0)
    assert message.context["round_id"] == "four"


@rule("R-ERR-10")
@given(
    st.dictionaries(
        st.sampled_from(
            ["player_id", "match_id", "odd", "provided_token", "context", "retry_info"]
        ),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
            ),
            max_leaves=5,
        ),
    ),
    st.text(),
)
def test_whatever_the_context_holds_the_refusal_is_a_message(context, sentence):
    for sender, cls in (("league_manager", LeagueErrorMessage), ("referee:REF01", GameError)):
        message = error_message(IllegalMove(sentence, **context), "X", sender=sender, timestamp=NOW)

        assert type(message) is cls
        json.loads(codec.encode(error_data(message)))


@rule("R-ERR-11")
@each_row(
    ("error", "action", "retryable"),
    [
        (errors.TokenMissing("?"), "Send your token as auth_token.", False),
        (errors.TokenMissing("?", field="player_meta.join_code"), "Ask the organiser for", False),
        (errors.TokenInvalid("?", field="referee_meta.referee_code"), "Ask the organiser", False),
        (errors.EndpointNotAllowed("?"), "Register an http or https end point", False),
        (errors.EndpointTaken("?"), "Listen at an end point of your own", False),
        (errors.EndpointUnreachable("?"), "Start the server of your end point, then", True),
        (errors.RefereeUnreachable("?"), "Start the server of your end point, then", True),
    ],
)
def test_what_to_do_fits_what_was_refused(error, action, retryable):
    told = error_message(error, "LEAGUE_REGISTER_REQUEST", sender="league_manager", timestamp=NOW)

    assert told.action_required.startswith(action)
    assert told.retryable is retryable


@each_row("cls", wire_errors())
def test_every_error_says_what_to_do_about_it(cls):
    assert REMEDIES[cls.code].endswith(".")
