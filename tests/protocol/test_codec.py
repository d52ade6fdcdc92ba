"""The codec alone reads the documented form, and another spelling only as it is told."""

import msgspec

from agentleague.errors import MissingField
from agentleague.protocol import codec
from agentleague.protocol.codec import Spelling
from agentleague.protocol.messages import LeagueQuery, LeagueRegisterRequest, PlayerMeta
from protocol.wire import PLAYER_META, request

MANAGER = codec.taken_by("manager")
BESIDE = {"name": "Quokka", "endpoint": PLAYER_META["contact_endpoint"]}


def test_the_documented_form_is_read_and_no_other():
    documented = codec.read_request(request({"player_meta": PLAYER_META}), MANAGER)
    foreign = codec.read_request(request(BESIDE), MANAGER)

    assert documented.message == LeagueRegisterRequest(PlayerMeta(**PLAYER_META))
    assert isinstance(foreign.error, MissingField)
    assert foreign.error.context["field"] == "player_meta"


def test_another_spelling_is_read_by_the_function_that_is_handed_in():
    def respell(name, text):
        fields = msgspec.json.decode(text)
        return {"query_type": fields["ask"]} if name == "LEAGUE_QUERY" else fields

    incoming = codec.read_request(
        request({"ask": "GET_STATUS"}, "league_query"), MANAGER, spelling=Spelling(respell)
    )

    assert incoming.message == LeagueQuery("GET_STATUS")


def test_a_type_that_is_always_respelled_is_respelled_even_if_it_can_be_read():
    def respell(name, text):
        return {**msgspec.json.decode(text), "query_type": "GET_SCHEDULE"}

    body = codec.write_request(LeagueQuery("GET_STATUS"), 1)
    spelling = Spelling(respell, frozenset({"LEAGUE_QUERY"}))

    assert codec.read_request(body, MANAGER).message.query_type == "GET_STATUS"
    assert codec.read_request(body, MANAGER, spelling=spelling).message.query_type == "GET_SCHEDULE"
