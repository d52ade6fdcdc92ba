"""A call that is not understood goes on in other forms; here without a network."""

import json

from agentleague.dialects.negotiation import is_misunderstood
from agentleague.errors import NoAnswer, NoConnection, PeerRefused, RateLimited
from agentleague.protocol.messages import (
    ChooseParityCall,
    ChooseParityResponse,
    GameInvitation,
    GameJoinAck,
    GameOver,
    GameResult,
    LeagueQuery,
    LeagueRegisterRequest,
    LeagueStandingsUpdate,
    MatchResultReport,
    PlayerMeta,
    ReportedResult,
)
from agentleague.roles.effects import Address
from agentleague.simulation.clock import VirtualClock
from agentleague.transport.fallback import PeerDialects, read
from agentleague.transport.http_connection import HttpAnswer
from rules import rule
from tables import each_row

URL = "http://ann/mcp"
INVITATION = GameInvitation(match_id="R1M1", player_id="P01", epoch=1)
CALL = ChooseParityCall(match_id="R1M1", player_id="P01")
REGISTRATION = LeagueRegisterRequest(PlayerMeta("Ann", "http://ann/mcp"))
OVER = GameOver(GameResult("DRAW"))
JOIN = {"result": {"accept": True}}
OK = {"status": "ok"}
NO_METHOD = {"error": {"code": -32601, "message": "?"}}
BAD_PARAMS = {"error": {"code": -32602, "message": "?"}}


class Ann:
    """An agent that answers by what it is asked, and those who ask it."""

    def __init__(self, answers, **limits):
        self.clock = VirtualClock(100.0)
        self.dialects = PeerDialects(self.clock, self.post, **limits)
        self.answers, self.asked, self.urls, self.heard = answers, [], [], []
        self.headers, self.session, self.seconds = [], "", 0.01

    def post(self, url, what, until, done):
        request = json.loads(what.body)
        self.headers.append(what.headers.decode())
        self.asked.append(form_of(request))
        self.urls.append(url)
        answer = self.answers(request, self)
        if answer is None:
            return self.clock.call_at(until, lambda: done(failed(NoAnswer("late"))))
        if isinstance(answer, Exception):
            return self.clock.call_at(self.clock.now(), lambda: done(failed(answer)))
        came = got(answer)._replace(session=self.session)
        return self.clock.call_at(self.clock.now() + self.seconds, lambda: done(came))

    def call(self, message, *, dialect="", seconds=10.0, url=URL, run=True):
        """Ask her; what came back last."""
        to = Address("P01", url, dialect)
        self.cancel = self.dialects.call(to, message, self.clock.now() + seconds, self.heard.append)
        if run:
            self.clock.run()
        return self.heard[-1] if self.heard else None


def form_of(request):
    if "jsonrpc" not in request:
        return "bare"
    return request["method"] + ("" if "epoch" in json.dumps(request) else " plain")


def got(answer):
    status, value = answer if isinstance(answer, tuple) else (200, answer)
    return HttpAnswer(status, json.dumps(value).encode(), None, None, 0.01)


def failed(error):
    return HttpAnswer(0, b"", None, error, 1.0)


def only(form, otherwise, content=JOIN):
    """She understands one form, and says the same to all others."""
    return lambda request, ann: content if form_of(request) == form else otherwise


@rule("R-DIA-01")
@each_row(
    ("form", "otherwise", "dialect"),
    [
        ("GAME_INVITATION", NO_METHOD, "type"),
        ("handle_message", (500, {"detail": "KeyError"}), "message"),
        ("handle_message", NO_METHOD, "message"),
        ("bare", (500, {}), "bare"),
        ("bare", (400, {}), "bare"),
        ("handle_game_invitation plain", BAD_PARAMS, "tool+plain"),
        ("handle_game_invitation plain", (422, {"detail": []}), "tool+plain"),
    ],
)
def test_an_error_of_form_is_followed_by_another_form_at_once(form, otherwise, dialect):
    ann = Ann(only(form, otherwise))

    answer = ann.call(INVITATION)

    assert answer.message == GameJoinAck(accept=True)
    assert (answer.dialect, answer.is_last) == (dialect, True)
    assert ann.clock.now() < 100.1
    assert len(ann.asked) <= 5


@rule("R-DIA-13")
def test_where_an_end_point_has_no_path_the_root_is_asked_if_nothing_is_at_mcp():
    ann = Ann(lambda request, ann: JOIN if ann.urls[-1].endswith("/") else (404, {}))

    first, again = ann.call(INVITATION, url="http://ann"), ann.call(INVITATION, url="http://ann")

    assert (first.message, again.message) == (GameJoinAck(accept=True),) * 2
    assert ann.urls == ["http://ann", "http://ann/", "http://ann/"]
    assert ann.call(INVITATION, url=URL).error.context["status"] == 404  # It has a path.


def test_each_answer_decides_what_is_tried_next():
    def answers(request, ann):
        if form_of(request) == "GAME_INVITATION plain":
            return JOIN
        return BAD_PARAMS if form_of(request) == "GAME_INVITATION" else NO_METHOD

    ann = Ann(answers)

    assert ann.call(INVITATION).dialect == "type+plain"
    assert ann.asked == [
        "handle_game_invitation",
        "GAME_INVITATION",
        "GAME_INVITATION plain",
    ]


@rule("R-DIA-01", "R-DIA-11")
def test_all_forms_are_tried_once_and_then_only_the_nearest():
    def answers(request, ann):
        return (500, {}) if form_of(request) == "handle_message" else NO_METHOD

    ann = Ann(answers)
    first = ann.call(INVITATION)
    forms = [form for form in ann.asked if form != "tools/list plain"]
    ann.asked.clear()
    second = ann.call(INVITATION)
    ann.call(CALL)
    ann.call(OVER)

    assert first.error.context["number"] == -32601  # the answer to the first form
    assert first.dialect == second.dialect == "message~none"
    assert {"GAME_INVITATION", "bare", "tools/call", "game_invitation plain"} < set(forms)
    assert ann.asked == ["handle_message"] * 3


@rule("R-DIA-11")
def test_one_that_understood_nothing_is_asked_once_wherever_it_is_asked():
    ann = Ann(only("nothing", NO_METHOD))

    answer = ann.call(INVITATION, dialect="type~none")

    assert (ann.asked, answer.dialect) == (["GAME_INVITATION"], "type~none")
    ann.answers = only("GAME_INVITATION", NO_METHOD)
    assert ann.call(INVITATION, dialect="type~none").dialect == "type"
    assert ann.call(INVITATION, dialect="type").message.accept


@rule("R-DIA-11")
def test_one_that_is_said_to_be_another_now_is_searched_again():
    ann = Ann(only("nothing", NO_METHOD))
    ann.call(INVITATION)
    ann.call(INVITATION, dialect="tool~none")
    ann.answers = only("GAME_INVITATION", NO_METHOD)

    assert ann.call(INVITATION, dialect="tool~none").error
    assert ann.call(INVITATION, dialect="tool").dialect == "type"


@rule("R-DIA-03")
@each_row("trouble", [NoConnection("reset"), NoAnswer("late"), {"error": {"code": -32029}}])
def test_a_form_that_was_not_heard_is_tried_again(trouble):
    def answers(request, ann):
        if form_of(request) != "GAME_INVITATION":
            return NO_METHOD
        return trouble if ann.asked.count("GAME_INVITATION") == 1 else JOIN

    ann = Ann(answers)

    assert ann.call(INVITATION).error
    assert ann.call(INVITATION).dialect == "type"


@rule("R-DIA-11")
@each_row(
    ("message", "content"),
    [(INVITATION, JOIN), (REGISTRATION, {"result": {"status": "ACCEPTED", "player_id": "P7"}})],
)
@each_row("goes_away", [False, True])
def test_forms_at_which_it_broke_are_tried_again_when_it_answers_otherwise(
    goes_away, message, content
):
    def starting(request, ann):
        return NoConnection("reset") if goes_away and len(ann.asked) == 8 else (500, {})

    ann = Ann(starting)
    assert ann.call(message).error
    forms = len(ann.asked)
    if not goes_away:
        assert ann.call(message).error
        assert len(ann.asked) == forms + 1  # It is searched once.

    def ready(request, ann):
        return content if request.get("method") == "handle_message" else NO_METHOD

    ann.answers = ready
    assert ann.call(message).dialect == "message"


@rule("R-DIA-09")
def test_what_was_tried_in_vain_is_told_with_the_answer():
    ann = Ann(only("nothing", NO_METHOD))

    error = ann.call(INVITATION).error

    assert error.context["tried"].startswith("tried tool, type, message, mcp and ")


def test_a_call_in_one_form_only_says_nothing_of_a_search():
    ann = Ann(lambda request, ann: {"error": {"code": 4005, "message": "busy"}})

    assert "tried" not in ann.call(INVITATION).error.context


def test_a_form_that_was_not_understood_is_not_tried_again_in_the_same_call():
    def answers(request, ann):
        return BAD_PARAMS if form_of(request).startswith("GAME_INVITATION") else NO_METHOD

    forms = Ann(answers).call(INVITATION).error.context["forms"].split(", ")

    assert len(forms) == len(set(forms)) > 15


@rule("R-DIA-12")
@each_row(
    ("complaint", "wanted", "dialect"),
    [
        (
            (422, {"detail": [{"loc": ["body", "game_id"], "msg": "Field required"}]}),
            "game_id",
            "tool+.game_id",
        ),
        (
            (500, {"detail": "f() missing 1 required argument: 'opponent'"}),
            "opponent",
            "tool+.opponent",
        ),
        ((500, "KeyError: 'invitation'"), "invitation", "tool+.invitation"),
        ((400, {"error": "'your_id' is required"}), "your_id", "tool+.your_id"),
        (
            {"error": {"code": -32601, "message": "I know: invite_me, play"}},
            "invite_me",
            "tool+invite_me",
        ),
        (
            {"status": "unknown type", "message": "supported: MATCH_INVITE"},
            "MATCH_INVITE",
            "tool+MATCH_INVITE",
        ),
    ],
)
def test_what_the_agent_itself_asks_for_is_tried_next(complaint, wanted, dialect):
    ann = Ann(lambda request, ann: JOIN if f'"{wanted}"' in json.dumps(request) else complaint)

    answer = ann.call(GameInvitation(match_id="R1M1", player_id="P01", opponent_id="P02"))

    assert (answer.dialect, len(ann.asked)) == (dialect, 2)


@rule("R-DIA-12")
def test_an_agent_that_asks_for_something_else_each_time_gets_an_end_of_it():
    def answers(request, ann):
        wanted = ", ".join(f"invite_{len(ann.asked)}_{number}" for number in range(5))
        return {"error": {"code": -32601, "message": f"I only know {wanted}"}}

    ann = Ann(answers)

    assert ann.call(INVITATION).error
    assert len(ann.asked) < 45


@rule("R-DIA-12")
def test_fields_are_added_until_nothing_is_missing():
    def answers(request, ann):
        lacks = [each for each in ("game_id", "opponent") if each not in request.get("params", {})]
        return (422, {"detail": f"{lacks[0]} is missing"}) if lacks else JOIN

    ann = Ann(answers)

    answer = ann.call(GameInvitation(match_id="R1M1", player_id="P01", opponent_id="P02"))
    assert (answer.dialect, len(ann.asked)) == ("tool+.game_id.opponent", 3)


@rule("R-DIA-02")
def test_an_answer_without_content_is_told_at_once_and_followed_by_another_form_later():
    ann = Ann(only("GAME_INVITATION", OK))

    ann.call(INVITATION)

    early, late = ann.heard
    assert (early.is_last, early.message) == (False, None)
    assert (late.is_last, late.message.accept, late.dialect) == (True, True, "type")
    assert 101.0 < ann.clock.now() < 101.1


def test_it_is_told_once_however_many_forms_hold_nothing():
    ann = Ann(only("bare", OK, {"accept": True}))

    ann.call(INVITATION)

    assert [answer.is_last for answer in ann.heard] == [False, True]
    assert 101.1 < ann.clock.now() < 101.3  # Two forms, and a wait after each.


@rule("R-DIA-02")
def test_after_a_refusal_nothing_is_waited_for():
    ann = Ann(lambda request, ann: NO_METHOD if len(ann.asked) == 1 else OK)

    answer = ann.call(INVITATION)

    assert isinstance(answer.error, PeerRefused)
    assert [each.is_last for each in ann.heard] == [True]
    assert ann.clock.now() < 101.0


@rule("R-DIA-02")
def test_an_agent_that_acknowledges_another_form_and_pushes_is_asked_in_that_form():
    ann = Ann(only("GAME_INVITATION", NO_METHOD, OK))
    ann.call(INVITATION, run=False)
    ann.clock.run(lambda: len(ann.asked) == 3)
    assert ann.clock.now() > 100.1  # It was given time to push.
    ann.cancel()  # It pushed.
    ann.asked.clear()
    ann.answers = only("CHOOSE_PARITY_CALL", NO_METHOD, OK)

    ann.call(CALL)
    assert ann.asked == ["CHOOSE_PARITY_CALL"]

    ann.call(CALL)  # It pushed nothing.
    assert len(ann.asked) > 2


@rule("R-DIA-02")
def test_an_agent_that_pushes_before_it_acknowledges_is_told_the_rest_in_that_form():
    ann = Ann(lambda request, ann: None if form_of(request) == "GAME_INVITATION" else NO_METHOD)
    ann.call(INVITATION, run=False)
    ann.clock.run(lambda: len(ann.asked) == 2)
    ann.cancel()  # It pushed.
    ann.asked.clear()

    ann.call(OVER)

    assert ann.asked == ["GAME_OVER"]


@rule("R-DIA-02")
def test_an_agent_that_pushes_and_does_not_know_a_method_is_asked_by_others():
    ann = Ann(only("handle_game_invitation", NO_METHOD, OK))
    ann.call(INVITATION, run=False)
    ann.clock.run(lambda: len(ann.heard) == 1)
    ann.cancel()  # It pushed.
    ann.answers = only("CHOOSE_PARITY_CALL", NO_METHOD, {"result": {"parity_choice": "odd"}})

    assert ann.call(CALL).message == ChooseParityResponse("odd")


def test_a_call_that_is_dropped_after_another_brought_content_says_nothing_of_pushes():
    ann = Ann(only("nothing", OK))
    ann.call(INVITATION, run=False)
    slow = ann.cancel
    ann.clock.step()
    ann.answers = only("handle_game_invitation", OK)
    ann.call(INVITATION, run=False)
    ann.clock.run(lambda: len(ann.heard) == 2)

    slow()

    assert not ann.dialects.known[URL].pushes


@rule("R-DIA-02")
def test_with_little_time_left_the_wait_for_a_push_is_a_fifth_of_it():
    ann = Ann(only("GAME_INVITATION", OK))

    ann.call(INVITATION, seconds=1.0)

    assert 100.2 < ann.clock.now() < 100.3


@rule("R-DIA-02")
def test_an_agent_that_pushed_is_not_asked_in_other_forms_any_more():
    ann = Ann(only("nothing", OK))
    ann.call(INVITATION, run=False)
    ann.clock.step()
    ann.cancel()  # It pushed: nobody waits for the call any more.
    ann.clock.run()

    answer = ann.call(CALL)

    assert ann.asked == ["handle_game_invitation", "parity_choose"]
    assert answer.is_last


def test_a_push_that_waited_for_the_answer_ends_the_search_within_it():
    ann = Ann(only("nothing", OK))
    stops = []
    stops.append(
        ann.dialects.call(Address("P01", URL), INVITATION, 110.0, lambda answer: stops[0]())
    )

    ann.clock.run()

    assert ann.asked == ["handle_game_invitation"]


def test_a_call_that_nobody_waits_for_tries_nothing_more():
    ann = Ann(only("nothing", OK))
    ann.call(INVITATION, run=False)
    ann.clock.step()
    ann.cancel()
    ann.clock.run()

    assert ann.asked == ["handle_game_invitation"]
    assert [answer.is_last for answer in ann.heard] == [False]


def test_content_after_all_says_that_it_does_not_only_push():
    ann = Ann(only("nothing", OK))
    ann.call(INVITATION, run=False)
    ann.clock.step()
    ann.cancel()
    ann.answers = only("handle_game_invitation", OK)
    ann.call(INVITATION)
    ann.answers = only("CHOOSE_PARITY_CALL", NO_METHOD, {"result": {"choice": "odd"}})

    assert ann.call(CALL).message.parity_choice == "odd"


@rule("R-DIA-03")
def test_a_rate_limit_is_told_at_once_whatever_the_form():
    limit = {"error": {"code": -32029, "message": "slow"}}
    ann = Ann(lambda request, ann: NO_METHOD if len(ann.asked) == 1 else limit)

    assert isinstance(ann.call(INVITATION).error, RateLimited)
    assert len(ann.asked) == 2


@rule("R-FORM-15")
def test_an_answer_of_the_right_type_without_its_field_shows_that_the_form_is_understood():
    typed = {"result": {"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": "R1M1"}}
    ann = Ann(only("CHOOSE_PARITY_CALL plain", NO_METHOD, typed))

    first = ann.call(CALL)
    assert (first.error.code, first.error.context["field"]) == ("E003", "parity_choice")
    tried = len(ann.asked)
    ann.call(CALL)

    assert ann.asked[tried:] == ["CHOOSE_PARITY_CALL plain"]
    assert [answer.is_last for answer in ann.heard] == [True, True]
    assert ann.clock.now() < 101.0  # Nothing was waited for.


def test_silence_in_another_form_counts_as_what_the_first_one_said():
    ann = Ann(lambda request, ann: NO_METHOD if len(ann.asked) == 1 else None)

    assert isinstance(ann.call(INVITATION).error, PeerRefused)
    assert len(ann.asked) == 2


@rule("R-DIA-07")
def test_what_was_understood_is_used_the_next_time_for_other_messages_too():
    ann = Ann(only("GAME_INVITATION", NO_METHOD))
    ann.call(INVITATION)
    ann.answers = only("CHOOSE_PARITY_CALL", NO_METHOD, {"result": {"choice": "odd"}})
    ann.asked.clear()

    assert ann.call(CALL).dialect == "type"
    assert ann.asked == ["CHOOSE_PARITY_CALL"]


def test_an_agent_may_want_each_message_in_a_form_of_its_own():
    ann = Ann(only("GAME_INVITATION", NO_METHOD))
    ann.call(INVITATION)
    ann.answers = only("bare", NO_METHOD, {"choice": "odd"})
    ann.call(CALL)
    ann.answers = only("GAME_INVITATION", NO_METHOD)
    ann.asked.clear()

    ann.call(INVITATION)

    assert ann.asked == ["GAME_INVITATION"]


def test_the_dialect_of_the_address_is_the_first():
    ann = Ann(only("bare", NO_METHOD))

    assert ann.call(INVITATION, dialect="bare").dialect == "bare"
    assert ann.asked == ["bare"]


def test_a_wrong_guess_is_corrected_by_the_content():
    ann = Ann(only("handle_game_invitation", (400, {})))

    assert ann.call(INVITATION, dialect="bare").dialect == "tool"


def test_an_address_with_another_dialect_is_another_agent():
    ann = Ann(only("GAME_INVITATION", NO_METHOD))
    ann.call(INVITATION, dialect="type")
    ann.answers = only("bare", NO_METHOD)
    ann.asked.clear()

    ann.call(INVITATION, dialect="bare")

    assert ann.asked == ["bare"]


def test_a_dialect_that_nobody_knows_is_ours():
    ann = Ann(only("handle_game_invitation", NO_METHOD))

    assert ann.call(INVITATION, dialect="klingon").message.accept


@rule("R-DIA-10")
def test_a_registration_goes_through_all_forms_at_once():
    ann = Ann(only("nothing", OK))

    answer = ann.call(REGISTRATION)

    assert answer.is_last
    assert [each.is_last for each in ann.heard] == [True]
    assert ann.clock.now() < 101.0
    assert {"register_player plain", "league_register plain", "handle_message plain"} < set(
        ann.asked
    )
    assert "bare" in ann.asked


@rule("R-DIA-10")
def test_a_registration_is_understood_by_its_content():
    accepted = {"result": {"status": "REGISTERED", "id": "P07"}}
    ann = Ann(only("league_register plain", OK, accepted))

    assert ann.call(REGISTRATION).message.player_id == "P07"
    ann.call(LeagueQuery("GET_STATUS"))
    assert ann.asked[-1] == "league_query plain"


@rule("R-DIA-10")
def test_a_registration_is_tried_at_other_paths_too():
    def answers(request, ann):
        is_there = ann.urls[-1] == "http://ann/register"
        return {"status": "ok", "id": "P07"} if is_there else (404, {"detail": "Not Found"})

    ann = Ann(answers)

    assert ann.call(REGISTRATION).dialect == "path"
    ann.call(LeagueQuery("GET_STATUS"))
    assert (ann.asked[-1], ann.urls[-1]) == ("bare", URL)


@rule("R-DIA-10")
def test_a_refusal_that_means_something_counts_more_than_those_that_mean_nothing():
    late = {"error": {"code": 12, "message": "too late", "data": {"error_code": "E019"}}}
    ann = Ann(only("LEAGUE_REGISTER_REQUEST plain", NO_METHOD, late))

    error = ann.call(REGISTRATION).error

    assert error.context["code"] == "E019"
    assert "what_to_do" not in error.context


@rule("R-GUEST-04")
def test_a_registration_that_nobody_understands_says_what_would_help():
    ann = Ann(only("bare", NO_METHOD, (422, {"detail": "no name"})))

    error = ann.call(REGISTRATION).error

    assert "it said: HTTP 422: no name" in error.context["what_to_do"]


@rule("R-GUEST-03")
def test_a_report_goes_through_all_forms_and_then_begins_with_the_one_that_was_understood():
    report = MatchResultReport("R1M1", ReportedResult(None), epoch=1)
    ann = Ann(only("match_result_report", NO_METHOD, OK))

    assert ann.call(report).error is None
    ann.asked.clear()

    assert ann.call(report).error is None
    assert ann.asked == ["match_result_report"]


@rule("R-GUEST-06")
@each_row("error", [(500, {}), {"error": {"code": -32603, "message": "?"}}, {"error": "locked"}])
def test_a_report_that_may_count_goes_through_no_other_form(error):
    ann = Ann(lambda request, ann: error)

    assert ann.call(MatchResultReport("R1M1", ReportedResult("P01"), epoch=1)).error is not None
    assert ann.asked == ["report_match_result"]


@rule("R-GUEST-06")
def test_a_draw_that_is_refused_stays_in_the_form_in_which_it_was_understood():
    no_winner = (422, {"detail": [{"loc": ["result", "winner"], "msg": "not null"}]})
    extra = (422, {"detail": [{"loc": ["winner_id"], "msg": "Extra inputs are not permitted"}]})
    answers = only("report_match_result plain", extra, no_winner)
    ann, report = Ann(answers), MatchResultReport("R1M1", ReportedResult("P01"), epoch=1)
    ann.call(report)  # It is no draw: all forms are tried.
    assert len(ann.asked) > 2

    ann = Ann(answers)
    for winner in (None, ""):
        ann.call(MatchResultReport("R1M1", ReportedResult(winner), epoch=1), dialect="tool")

    assert ann.asked == ["report_match_result", *["report_match_result plain"] * 2]


def test_what_is_no_registration_is_said_to_a_manager_in_one_form_only():
    ann = Ann(only("nothing", NO_METHOD))
    ann.call(REGISTRATION)
    ann.asked.clear()

    assert isinstance(ann.call(LeagueQuery("GET_STATUS")).error, PeerRefused)
    assert ann.asked == ["league_query plain"]


@rule("R-DIA-04")
def test_a_notice_that_is_refused_is_tried_in_other_forms_once():
    ann = Ann(only("LEAGUE_STANDINGS_UPDATE plain", NO_METHOD, OK))

    assert ann.call(LeagueStandingsUpdate()).error is None
    ann.call(LeagueStandingsUpdate())
    ann.call(OVER)

    assert ann.asked == [
        "update_standings plain",
        "LEAGUE_STANDINGS_UPDATE plain",
        "LEAGUE_STANDINGS_UPDATE plain",
        "GAME_OVER",
    ]
    assert isinstance(ann.heard[-1].error, PeerRefused)


@rule("R-DIA-04")
def test_a_notice_does_not_shake_what_content_has_proved():
    ann = Ann(only("GAME_INVITATION", NO_METHOD))
    ann.call(INVITATION)
    ann.asked.clear()

    assert ann.call(LeagueStandingsUpdate()).error
    ann.call(INVITATION)

    assert ann.asked == ["LEAGUE_STANDINGS_UPDATE plain", "GAME_INVITATION"]


@rule("R-DIA-06")
def test_the_tools_of_an_mcp_agent_are_asked_for_before_the_first_call():
    def answers(request, ann):
        if request["method"] == "tools/list":
            return {"result": {"tools": [{"name": "on_invite"}]}}
        return JOIN if request["params"].get("name") == "on_invite" else NO_METHOD

    ann = Ann(answers)

    assert ann.call(INVITATION, dialect="mcp").dialect == "mcp"
    ann.call(INVITATION, dialect="mcp")
    assert ann.asked == ["tools/list plain", "tools/call", "tools/call"]


@rule("R-DIA-08")
def test_an_answer_without_json_rpc_is_told_with_the_dialect():
    ann = Ann(lambda request, ann: {"accept": True})

    assert ann.call(INVITATION, dialect="type").dialect == "type~bare"
    assert ann.call(INVITATION, dialect="type~bare").dialect == "type~bare"
    assert ann.call(INVITATION, dialect="bare").dialect == "bare"  # It could not be otherwise.
    assert ann.asked[:2] == ["GAME_INVITATION", "GAME_INVITATION"]


def test_an_agent_that_lists_no_tools_is_asked_by_our_names():
    def answers(request, ann):
        if request["method"] == "tools/list":
            return NO_METHOD
        return JOIN if request["params"]["name"] == "handle_game_invitation" else NO_METHOD

    assert Ann(answers).call(INVITATION, dialect="mcp").message.accept


@rule("R-DIA-06")
@each_row("trouble", [NoConnection("refused"), NoAnswer("late"), (502, {}), (500, {})])
def test_an_agent_that_could_not_be_asked_for_its_tools_is_asked_again(trouble):
    def answers(request, ann):
        if request.get("method") == "tools/list":
            return (
                trouble if len(ann.asked) == 1 else {"result": {"tools": [{"name": "on_invite"}]}}
            )
        return JOIN if "on_invite" in json.dumps(request) else NO_METHOD

    ann = Ann(answers)
    ann.call(INVITATION, dialect="mcp", seconds=1.0)

    assert ann.call(INVITATION, dialect="mcp").message.accept


def test_only_so_many_addresses_are_remembered():
    ann = Ann(only("handle_game_invitation", NO_METHOD), addresses_max=2)

    for number in range(5):
        ann.call(INVITATION, url=f"http://ann:{number}/mcp")

    assert len(ann.dialects.known) <= 2


def test_what_has_nothing_to_do_with_form_is_not_misunderstood():
    refused = read(INVITATION, got(NO_METHOD)).error

    assert is_misunderstood(INVITATION, refused)
    assert not is_misunderstood(GameJoinAck(), refused)
    assert not is_misunderstood(INVITATION, NoAnswer("late"))


def test_what_never_arrived_is_read_as_it_is():
    assert isinstance(read(INVITATION, failed(NoAnswer("late"))).error, NoAnswer)


@rule("R-MATCH-33")
@each_row(
    "status, said, told",
    [
        (503, {"error": {"code": -32603, "message": "starting", "data": {}}}, 503),
        (502, {"error": "bad gateway"}, 502),
        (424, {"error": {"code": -32603, "message": "my own fault", "data": {}}}, None),
    ],
)
def test_an_error_says_that_its_server_was_not_there(status, said, told):
    assert read(CALL, got((status, said))).error.context.get("status") == told


TOOLS = {"result": {"tools": [{"name": "handle_game_invitation"}, {"name": "parity_choose"}]}}
BEGUN = {"result": {"protocolVersion": "2025-11-25"}}
NO_SESSION = (400, {"error": {"code": -32600, "message": "Bad Request: Missing session ID"}})
CHOICE = {"result": {"content": [{"type": "text", "text": "odd"}]}}


class Stateful:
    """An MCP server that wants a handshake, and forgets sessions when it is told to."""

    def __init__(self, session="s", tools=TOOLS):
        self.session, self.tools, self.methods = session, tools, []

    def __call__(self, request, ann):
        headers, method = ann.headers[-1], request["method"]
        self.methods.append(method)
        if method == "initialize":
            ann.session = self.session
            return BEGUN
        if f"Mcp-Session-Id: {self.session}" not in headers:
            return (
                (404, {"error": {"code": -32600, "message": "?"}})
                if "-Id" in headers
                else NO_SESSION
            )
        answers = {"notifications/initialized": (202, {}), "tools/list": self.tools}
        tool = JOIN if "invitation" in json.dumps(request) else CHOICE
        return answers.get(method, tool)


@rule("R-DIA-14")
def test_a_server_that_wants_a_handshake_gets_one_and_each_later_call_is_one_request():
    server = Stateful()
    ann = Ann(server)

    first = ann.call(INVITATION)

    assert (first.message, first.dialect) == (GameJoinAck(accept=True), "mcp")
    assert server.methods == [
        *("handle_game_invitation", "tools/list", "initialize", "notifications/initialized"),
        *("tools/list", "tools/call"),
    ]
    server.methods.clear()
    assert ann.call(CALL, dialect="mcp").message.parity_choice == "odd"
    assert server.methods == ["tools/call"]


@rule("R-DIA-14")
def test_a_session_that_is_gone_is_begun_anew_within_the_call():
    server = Stateful()
    ann = Ann(server)
    ann.call(INVITATION, dialect="mcp")
    server.session = "t"
    server.methods.clear()

    assert ann.call(CALL, dialect="mcp").message.parity_choice == "odd"
    assert server.methods.count("tools/call") == 2
    assert len(server.methods) == 6


@rule("R-DIA-14")
def test_calls_at_the_same_time_wait_for_one_handshake():
    server = Stateful()
    ann = Ann(server)
    for _ in range(5):
        ann.call(INVITATION, dialect="mcp", run=False)
    ann.clock.run()

    assert [answer.message.accept for answer in ann.heard] == [True] * 5
    assert (server.methods.count("initialize"), len(server.methods)) == (1, 9)


@rule("R-DIA-14")
def test_a_slow_handshake_goes_on_when_the_time_of_a_call_is_over():
    server = Stateful()
    ann = Ann(server)
    ann.seconds = 1.0

    late = ann.call(INVITATION, dialect="mcp", seconds=2.5)
    server.methods.clear()
    ann.seconds = 0.01

    assert "tools/list" in str(late.error)
    assert ann.call(INVITATION, dialect="mcp").message.accept
    assert server.methods == ["tools/call"]


@rule("R-DIA-14")
def test_a_session_that_cannot_stand_in_a_head_is_refused_clearly():
    answer = Ann(Stateful(session="s\r\nX: y")).call(INVITATION, dialect="mcp")

    assert "Mcp-Session-Id" in str(answer.error)


@rule("R-DIA-14")
def test_who_lists_a_tool_for_moves_joins_by_being_there_and_hears_no_notices():
    server = Stateful(tools={"result": {"tools": [{"name": "parity_choose"}]}})
    ann = Ann(server)

    assert ann.call(INVITATION, dialect="mcp").message.accept
    server.methods.clear()
    assert ann.call(OVER, dialect="mcp").error is None
    assert server.methods == []
    assert ann.call(INVITATION, dialect="mcp").message.accept
    assert server.methods == ["tools/list"]  # It is there.


@rule("R-DIA-15")
def test_a_tool_that_fails_is_not_asked_in_other_forms():
    failed = {"result": {"content": [{"type": "text", "text": "out of memory"}], "isError": True}}
    ann = Ann(lambda request, ann: TOOLS if request["method"] == "tools/list" else failed)

    answer = ann.call(CALL, dialect="mcp")

    assert "out of memory" in str(answer.error)
    assert ann.asked == ["tools/list plain", "tools/call"]
