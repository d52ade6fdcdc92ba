"""How an agent wants to be spoken to: guessed, brought home by referees, kept, and used."""

from msgspec import UNSET

from agentleague.league.events import DialectLearnt
from agentleague.manager.keys import OutboxCall
from agentleague.protocol.messages import (
    Exchange,
    LockRequest,
    MatchResultReport,
    RefereeMeta,
    RefereeRegisterRequest,
    ReportedResult,
    RoundAnnouncement,
)
from agentleague.roles.effects import Call, Record, Reply
from agentleague.roles.stimuli import Answered, Asked, Caller
from league.decisions import Decisions
from manager.test_role import a_manager, player, referee
from memory_league import BEGAN
from rules import rule
from tables import each_row


def ask(manager, message, token=None, form="jsonrpc", method="", source="127.0.0.1", key=""):
    caller = Caller(source, token, form, rpc_method=method, nested_in=key)
    asked = Asked(message, caller, 1)
    effects = manager.handle(asked, BEGAN)
    return next(each.answer for each in effects if isinstance(each, Reply)), effects


def learnt(effects):
    events = [each.event for each in effects if isinstance(each, Record)]
    return [event for event in events if isinstance(event, DialectLearnt)]


def begun(form="bare", *, locks=True, **more):
    """A manager whose second player registered in some form, and the referee's token."""
    manager = a_manager()
    ask(manager, player("Ann"))
    ask(manager, player("Bob"), form=form, **more)
    answer, effects = ask(
        manager, RefereeRegisterRequest(RefereeMeta("Ref", "http://127.0.0.1/ref", locks=locks))
    )
    return manager, answer.auth_token, effects


def report(manager, token, dialects):
    """What P02 lost because it declined."""
    ask(manager, LockRequest("R1M1", 1, 0, [], [("P02", "declined")]), token)
    message = MatchResultReport("R1M1", ReportedResult("P01"), dialects=dialects)
    return ask(manager, message, token)


@rule("R-DIA-08")
def test_the_form_of_a_registration_is_written_down_as_a_guess():
    manager = a_manager()

    assert learnt(ask(manager, player("Ann"), form="bare")[1]) == [DialectLearnt("P01", "bare")]
    assert learnt(ask(manager, player("Bob"), method="register_player")[1]) == []
    assert learnt(ask(manager, referee(), method="REFEREE_REGISTER_REQUEST")[1]) == [
        DialectLearnt("REF01", "type")
    ]


@rule("R-DIA-08")
def test_the_managers_own_messages_are_written_in_the_dialect():
    _, _, effects = begun("nested", method="handle_message", key="message")

    told = {each.to.agent_id: each.to.dialect for each in effects if isinstance(each, Call)}
    assert told == {"P01": "", "P02": "message"}


@rule("R-DIA-08")
def test_a_method_of_its_own_is_learnt_only_from_the_machine_that_will_be_called():
    def registered(source, method):
        manager = a_manager()
        _, effects = ask(
            manager, player("Ann"), form="nested", method=method, source=source, key="message"
        )
        return learnt(effects)

    assert registered("127.0.0.1", "a2a/send") == [DialectLearnt("P01", "a2a/send(message)")]
    assert registered("10.0.0.7", "a2a/send") == []  # Whoever owns the end point may take it ill.
    assert registered("", "a2a/send") == []  # Behind a proxy nobody knows.
    assert registered("10.0.0.7", "handle_message") == [DialectLearnt("P01", "message")]


@rule("R-DIA-08")
def test_a_referee_is_told_the_dialects_that_are_known():
    manager, _, _ = begun("bare")
    for player_id in ("P01", "P02"):
        effects = manager.handle(Answered(OutboxCall(player_id), None, None, 0.1), BEGAN)

    (assignment,) = [
        each.message
        for each in effects
        if isinstance(each, Call) and isinstance(each.message, RoundAnnouncement)
    ]
    assert {s.player_id: s.dialect for s in assignment.matches[0].seats} == {
        "P01": UNSET,
        "P02": "bare",
    }


@rule("R-DIA-08")
def test_a_report_corrects_what_is_known_once():
    manager, token, _ = begun("bare")
    dialects = {"P01": "tool", "P02": "type", "P09": "type", "REF01": "bare"}

    answer, effects = report(manager, token, dialects)
    again, repeated = report(manager, token, dialects | {"P01": "bare"})

    assert (answer.status, again.status) == ("ACCEPTED", "ACCEPTED")
    assert learnt(effects) == [DialectLearnt("P02", "type")]  # Nobody knew of another for P01.
    assert learnt(repeated) == []


@rule("R-DIA-08")
@each_row(
    ("registered", "player_id", "reported", "is_learnt"),
    [
        ("message", "P02", "a2a/send(message)+more", True),  # It showed that method itself.
        ("message", "P02", "a2a/send(message)~none", True),
        ("message", "P02", "shutdown(now)", False),
        ("message", "P02", "a2a/send(now)", False),
        ("message", "P02", "handle_message_type()", True),  # It is tried with everybody.
        ("message", "P02", "tool+GAME_INVITE", True),
        ("message", "P02", "tool#secret", False),
        ("message", "P02", "klingon", False),
        ("message", "P01", "bare", True),
        ("message", "P01", "bare~none", False),  # It won.
        ("message#type", "P02", "type#type", True),
        ("message#type", "P02", "a2a/send(message)#camel", False),
    ],
)
def test_a_report_tells_only_what_a_search_can_have_found(
    registered, player_id, reported, is_learnt
):
    manager, token, _ = begun("nested", method="a2a/send", key=registered)

    found = learnt(report(manager, token, {player_id: reported})[1])

    assert found == [DialectLearnt(player_id, reported)] * is_learnt


@rule("R-DIA-08")
@each_row("reported", ["type", "bare~none", "shutdown(now)"])
def test_nothing_is_learnt_of_a_player_from_a_foreign_referee(reported):
    manager, token, _ = begun(locks=False)
    in_vain = Exchange(0, "P02", "GAME_INVITATION", 1, "no content", note="said no [asked as tool]")
    message = MatchResultReport(
        "R1M1",
        ReportedResult("P01"),
        dialects={"P02": reported},
        transcript=[in_vain],
        wrong_tokens={"P02": "GAME_JOIN_ACK"},
    )
    manager.news.clear()

    for shown in (None, token):  # On its machine everybody can report in its name.
        answer, effects = ask(manager, message, shown)

        assert answer.status == "ACCEPTED"
        assert learnt(effects) == []
        assert not [each for each in manager.news if "P02" in each]


def test_an_agent_that_comes_back_is_spoken_to_as_before():
    manager = a_manager()
    ask(manager, player("Ann"))

    assert learnt(ask(manager, player("Ann"), form="bare")[1]) == []


def test_what_was_learnt_survives_a_restart():
    league = Decisions().league
    league.roster.dialects["P01"] = "bare"

    league.apply(DialectLearnt("P01", "type"))

    assert league.roster.dialects == {"P01": "type"}
