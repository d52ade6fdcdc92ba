"""How a registration is refused, and when: the settings `rejections` and `unreachable`."""

from msgspec.structs import replace

from agentleague.errors import NoConnection, RateLimited
from agentleague.games import even_odd
from agentleague.manager.role import Manager
from agentleague.manager.step import ManagerLimits
from agentleague.protocol.messages import LeagueRegisterRequest, PlayerMeta, tag_of
from agentleague.roles.effects import Record, Reply
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Started
from manager.test_foreign_starts import WON, League
from manager.test_role import a_manager, ask, player, referee
from memory_league import BEGAN, SECRETS
from rules import rule
from tables import each_row

NOBODY = NoConnection("nobody listens there")


def tried(limits=None, **settings):
    """A manager that looks whether somebody listens before it lets an agent in."""
    terms = ManagerSettings(league_id="league_test", unreachable="refuse", **settings)
    manager = Manager(terms, SECRETS, even_odd, limits=limits)
    manager.handle(Started(0.0), BEGAN)
    manager.reachability.is_tried = True
    return manager


def came(manager, message, reply=1, **caller):
    return list(manager.handle(Asked(message, Caller("127.0.0.1", **caller), reply), BEGAN))


def looked(manager, error=None):
    """What is done once the end point that waits longest was tried."""
    key, _ = manager.unchecked.popleft()
    return list(manager.handle(Answered(key, None, error, 0.0), BEGAN))


OTHER = "http://127.0.0.1/other"  # At its own end point a player would come back.


@rule("R-REG-18")
@each_row(
    ("message", "number", "title", "data"),
    [
        (referee("Owl"), 1001, "League full", {"max_referees": 1, "current_referees": 1}),
        (
            LeagueRegisterRequest(PlayerMeta("Ann", OTHER)),
            *(2002, "Duplicate name"),
            {"display_name": "Ann", "suggestion": "Choose a different display_name"},
        ),
        (player("Cy", game_types=["chess"]), 2004, "Unsupported game type", {}),
        (player("Cy"), 2001, "League full", {"max_players": 2, "current_players": 2}),
    ],
)
def test_with_errors_a_registration_is_refused_as_document_001_does(message, number, title, data):
    settings = {"rejections": "error", "unique_names": "reject", "players": 99}
    manager = a_manager(**settings, referees_max=1, players_max=2 if number == 2001 else 3)
    for each in (referee(), player("Ann"), player("Bob")):
        ask(manager, each)

    answer, effects = ask(manager, message)

    assert (answer.number_for(tag_of(type(message))), answer.title) == (number, title)
    assert answer.context == data
    assert not [each for each in effects if isinstance(each, Record)]
    assert str(answer) in manager.refusals.rows()[0]


@rule("R-REG-18")
@each_row(("locks", "rejections"), [(False, "error"), (False, "result"), (True, "error")])
def test_with_errors_a_foreign_referee_is_told_when_it_reported_a_match_before(locks, rejections):
    league = League(rejections=rejections)
    at = {"timestamp": "2026-01-02T03:04:05Z"}
    league.report(replace(WON, **at))
    if locks:  # One of ours asks for the answer that it did not get.
        members = league.role.league.roster.referees
        members["REF01"] = replace(members["REF01"], locks=True)

    again = league.ask(WON, Caller("127.0.0.1", league.tokens[0]))

    if locks or rejections == "result":
        assert (again.status, again.duplicate) == ("ACCEPTED", True)
    else:
        assert (again.number, again.title) == (5003, "Duplicate report")
        assert again.context == {"match_id": "R1M1", "previous_report_time": at["timestamp"]}


@rule("R-REG-19")
@each_row(
    ("message", "reason"),
    [(player(), "Contact endpoint unreachable"), (referee(), "Endpoint unreachable")],
)
def test_where_nobody_listens_a_registration_is_refused_in_the_words_of_document_004(
    message, reason
):
    manager = tried()

    assert came(manager, message) == []  # Nothing is decided, and nothing is on disk.
    (reply,) = looked(manager, NOBODY)

    assert (reply.answer.status, reply.answer.reason) == ("REJECTED", reason)
    assert (reply.answer.error_code, "nobody listens at" in reply.answer.hint) == ("E043", True)
    assert manager.league.seq == 1


@rule("R-REG-19")
def test_one_where_somebody_listens_is_let_in_after_the_look_and_others_do_not_wait_for_it():
    manager = tried()
    assert came(manager, player("Ann"), 1) == []
    assert came(manager, player("Bob"), 2) == []
    slow = manager.unchecked.popleft()

    (record, reply, *_) = looked(manager)

    assert (reply.to, record.event.display_name) == (2, "Bob")
    assert isinstance(reply.answer.auth_token, str)
    manager.unchecked.append(slow)
    assert looked(manager)[1].answer.player_id == "P02"
    # One that contradicts itself is warned, and looked at once like the others.
    assert came(manager, player("Cid"), 4, rpc_method="register_referee") == []
    assert looked(manager)[1].answer.player_id == "P03"
    assert not manager.unchecked
    # The same again, with its token: the look comes first, and it keeps its id.
    token = reply.answer.auth_token
    assert came(manager, player("Bob"), 3, token=token) == []
    assert looked(manager)[-1].answer.player_id == "P01"


@rule("R-REG-19")
def test_a_registration_is_decided_after_its_look_so_of_two_for_one_place_the_second_is_refused():
    manager = tried(players_max=2)
    for number, name in enumerate(("Ann", "Bob", "Cy"), 1):
        came(manager, player(name), number)

    last = [looked(manager) for _ in range(3)][-1]

    assert [each.answer.reason for each in last if isinstance(each, Reply)] == [
        "Maximum players reached"
    ]


@rule("R-REG-19")
def test_nobody_is_looked_for_who_is_refused_anyway_and_only_so_many_wait():
    manager = tried(ManagerLimits(looks_max=1), join_code="sesame")
    (wrong,) = came(manager, player("Eve", join_code="open"))
    assert (wrong.answer.code, len(manager.unchecked)) == ("E012", 0)

    came(manager, player("Ann", join_code="sesame"), 2)
    (busy,) = came(manager, player("Bob", join_code="sesame"), 3)

    assert isinstance(busy.answer, RateLimited)
    assert (busy.answer.retryable, busy.answer.context["retry_after"]) == (True, 2)
