"""A match is started at a foreign referee: in one form, and in no other by itself."""

import pytest

from agentleague.errors import NoAnswer, PeerRefused
from agentleague.protocol.messages import MatchResultReport, RoundAnnouncementAck, RoundCompleted
from dialects.test_starting import ASSIGNMENT
from rules import rule
from transport.test_fallback import NO_METHOD, OK, Ann

WON = {"result": {"match_id": "R1M1", "winner": "P01"}}
SAME = {"result": {"match_id": "R1M1"}}


def asked(ann, way, message=ASSIGNMENT, **more):
    return ann.call(message, dialect=way, **more)


@rule("R-START-01")
def test_it_is_told_in_the_one_form_and_what_it_says_is_handed_on():
    ann = Ann(lambda request, ann: NO_METHOD)

    answer = asked(ann, "start_match/type")

    assert isinstance(answer.error, PeerRefused)
    assert (answer.dialect, answer.is_last) == ("start_match/type", True)
    assert [name.removesuffix(" plain") for name in ann.asked] == ["START_MATCH"]


@rule("R-START-02", "R-START-03")
@pytest.mark.parametrize(("said", "kind"), [(WON, MatchResultReport), (SAME, RoundAnnouncementAck)])
def test_its_answer_is_a_result_or_an_acknowledgement(said, kind):
    answer = asked(Ann(lambda request, ann: said), "start_match/tool")

    assert (answer.error, type(answer.message)) == (None, kind)


@rule("R-DIA-06")
def test_its_tools_are_asked_for_once_whatever_is_tried_next():
    def answers(request, ann):
        if request["method"] == "tools/list":
            return {"result": {"tools": [{"name": "run_it"}]}}
        return SAME if request["params"]["name"] == "run_it" else NO_METHOD

    ann = Ann(answers)
    asked(ann, "start_match/mcp")
    asked(ann, "notify_round/mcp")
    asked(ann, "start_match/mcp")

    assert sum(name.startswith("tools/list") for name in ann.asked) == 1


@rule("R-START-03")
def test_a_referee_at_a_match_is_not_cut_off_when_the_answer_is_no_longer_wanted():
    ann = Ann(lambda request, ann: WON)

    asked(ann, "start_match/tool", run=False)
    ann.cancel()
    ann.clock.run()

    assert ann.heard == []
    assert len(ann.asked) == 1


def test_a_start_that_was_given_up_while_its_tools_were_asked_for_is_not_made():
    ann = Ann(lambda request, ann: {"result": {"tools": []}})

    asked(ann, "start_match/mcp", run=False)
    ann.cancel()
    ann.clock.run()

    assert [name.removesuffix(" plain") for name in ann.asked] == ["tools/list"]


def test_silence_is_told_when_its_time_is_over():
    ann = Ann(lambda request, ann: None)

    answer = asked(ann, "start_match/tool", seconds=170.0)

    assert isinstance(answer.error, NoAnswer)
    assert ann.clock.now() == 270.0


def test_what_else_it_is_told_takes_the_same_form_and_may_be_tried_in_others():
    ann = Ann(lambda request, ann: NO_METHOD if "method" in request else OK)

    asked(ann, "start_match/type", RoundCompleted())

    assert [name.removesuffix(" plain") for name in ann.asked] == [
        *("ROUND_COMPLETED", "notify_round_completed", "handle_message"),
        *("tools/list", "tools/call"),
    ]
