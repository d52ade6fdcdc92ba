"""Who may referee: those here, those who know the code, or anyone; the others wait."""

import pytest
from msgspec import UNSET

from agentleague.errors import (
    LateRegistration,
    NotRegistered,
    StorageError,
    TokenInvalid,
    TokenMissing,
    WrongType,
)
from agentleague.league.events import RefereeApproved, RefereeRegistered
from agentleague.manager.step import ManagerLimits
from agentleague.protocol.messages import (
    LeagueQuery,
    LockRequest,
    MatchResultAck,
    MatchResultReport,
    RefereeMeta,
    RefereeRegisterRequest,
    RefereeStatus,
    ReportedResult,
)
from agentleague.records.verify import verify
from agentleague.roles.effects import Broadcast
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Asked, Caller
from agentleague.runtime.managers import check_rules
from manager.test_assignments import assert_complete, events_of
from memory_league import MemoryLeague
from rules import rule

AWAY = "10.0.0.9"
CODE = "maple-9042-otter"
URL = "http://10.0.0.9:8001/mcp"


def ask(league, message, token=None, source=AWAY):
    answers = []
    league.hosts[0].ask(message, Caller(source, token), answers.append)
    return answers[0]


def register(league, source=AWAY, token=None, url=URL, **meta):
    """The answer to a registration."""
    request = RefereeRegisterRequest(RefereeMeta("Ref", url, **meta))
    return ask(league, request, token, source)


def with_code(players=2, referees=1, **settings):
    return MemoryLeague(players, referees, referee_code=CODE, **settings)


def rows(league):
    return len(list(league.journal.read("league_test")))


@rule("R-ACCESS-01")
@pytest.mark.parametrize(
    ("settings", "access"),
    [
        ({}, "local"),
        ({"endpoint": "http://127.0.0.1:8000/mcp"}, "local"),
        ({"referee_access": "local"}, "local"),
        ({"referee_code": CODE}, "code"),  # Once there is one, those here need it too.
        ({"referee_code": CODE, "referee_access": "local"}, "code"),
        ({"network": "lan"}, "code"),
        ({"network": "lan", "referee_access": "local"}, "code"),
        ({"endpoint": "https://cup.example/mcp"}, "code"),  # Behind a proxy all are here.
        ({"endpoint": "http://cup.example/mcp"}, "code"),
        ({"referee_access": "code"}, "code"),
        ({"referee_access": "anyone", "network": "lan"}, "anyone"),
        ({"trusted_proxies": ("127.0.0.1",)}, "code"),
    ],
)
def test_who_may_referee_follows_from_the_settings(settings, access):
    assert ManagerSettings(**settings).who_may_referee == access


@rule("R-ACCESS-01")
def test_who_knows_the_code_may_and_needs_no_join_code():
    league = with_code(join_code="sesame-and-poppy")

    right = register(league, referee_code=CODE)
    wrong = register(league, referee_code=CODE[:-1])
    neither = register(league)
    players_code = register(league, join_code="sesame-and-poppy", referee_code="")

    assert (right.referee_id, right.waiting) == ("REF01", UNSET)
    assert isinstance(wrong, TokenInvalid)
    assert wrong.context == {"field": "referee_meta.referee_code"}
    assert isinstance(neither, TokenMissing)  # Not even to wait.
    assert players_code.waiting is True


@rule("R-ACCESS-02")
def test_a_referee_that_waits_can_neither_lock_nor_report_nor_is_it_given_a_match():
    league = with_code(referees=2)
    league.add_referee("Own", referee_code=CODE)
    waits = register(league)
    for number in (1, 2):
        league.add_player(name=f"Player {number}")
    assert league.league.round_id == 0  # It does not count as one of two.

    league.add_referee("Own 2", referee_code=CODE)
    league.run_until(lambda: league.league.round_id == 1)
    moves = [(0, "P01", "even"), (0, "P02", "odd")]
    lock = ask(league, LockRequest("R1M1", 1, 0, moves), waits.auth_token)
    report = ask(league, MatchResultReport("R1M1", ReportedResult("P01")), waits.auth_token)
    asked = ask(league, LeagueQuery("GET_STATUS"), waits.auth_token)

    assert {type(each) for each in (lock, report, asked)} == {TokenInvalid}
    assert not league.manager.is_referee(waits.auth_token)
    assert not league.manager.is_known(waits.auth_token)
    league.play()
    assert_complete(league)
    assert all("REF02" not in file.referees for file in league.league.matches.values())


@rule("R-ACCESS-02")
def test_a_referee_of_ours_waits_says_so_and_works_once_it_is_let_in():
    league = with_code()
    host = league.add_referee("Late")
    for number in (1, 2):
        league.add_player(name=f"Player {number}")
    assert "on the manager's machine, with: league approve REF01 --dir DIR" in host.role.news[-1]
    assert "--referee-code" in host.role.news[-1]
    assert any("league approve REF01 --dir DIR" in said for said in league.manager.news)
    early = league.command("start")
    assert str(early) == (
        "a league needs a referee; REF01 waits to be let in: league approve REF01 --dir DIR; "
        "then start again"
    )

    answer = league.command("approve", referee_id="REF01")
    league.play()

    assert answer.said.startswith("REF01 Late at http://")
    assert "The organiser let it in." in host.role.news
    assert_complete(league)
    kinds = [type(event) for event in events_of(league, RefereeRegistered | RefereeApproved)]
    assert kinds == [RefereeRegistered, RefereeApproved]
    findings = verify(league.journal.read("league_test"), lambda name: league.game)
    assert (findings.complete, findings.difference) == (True, None)


@rule("R-ACCESS-02")
def test_a_referee_that_waits_is_there_in_what_the_organiser_sees():
    league = with_code()
    register(league)

    status = ask(league, LeagueQuery("GET_STATUS")).data
    (row,) = ask(league, LeagueQuery("GET_AGENTS")).data["agents"]
    one = ask(league, LeagueQuery("GET_AGENT", query_params={"agent_id": "REF01"})).data["agent"]

    assert (status["referees"], status["waiting_referees"]) == (0, ["REF01"])
    assert (row["kind"], row["state"], row["endpoint"]) == ("referee", "WAITING", URL)
    assert (one["state"], one["locks"]) == ("WAITING", False)


@rule("R-ACCESS-02")
def test_strangers_fill_neither_the_journal_nor_the_place_of_others():
    league = with_code(referees_max=1)
    most = ManagerLimits().waiting_max
    before = rows(league)
    answers = [register(league, url=f"http://10.0.0.9:{port}/mcp") for port in range(1, 200)]

    assert [each.status for each in answers].count("ACCEPTED") == most
    assert rows(league) - before == most
    assert "league add-referee" in answers[-1].hint
    added = league.command("add_referee", name="Foreign", url="http://10.0.0.7:8001/mcp")
    assert added.said.startswith(f"Foreign is REF{most + 1:02}")
    full = register(league, referee_code=CODE)
    assert full.reason == "Maximum referees already registered"


@rule("R-ACCESS-02")
def test_one_that_waits_and_asks_again_writes_nothing_and_with_the_code_keeps_its_id():
    league = with_code()
    first = register(league)
    before = rows(league)

    again = register(league, token=first.auth_token)
    assert (again.referee_id, again.auth_token) == ("REF01", first.auth_token)
    assert (again.waiting, rows(league)) == (True, before)
    moved = register(league, token=first.auth_token, url="http://10.0.0.9:8009/mcp")
    assert (moved.referee_id, moved.waiting) == ("REF02", True)  # It is called somewhere else.
    let_in = register(league, token=first.auth_token, referee_code=CODE)

    assert (let_in.referee_id, let_in.auth_token) == ("REF01", first.auth_token)
    assert let_in.waiting is UNSET
    assert league.league.roster.owner(first.auth_token) == "REF01"
    elsewhere = register(league, token="tok_of_nobody")
    assert (elsewhere.referee_id, elsewhere.waiting) == ("REF03", True)


@rule("R-ACCESS-02")
def test_after_a_restart_of_the_manager_it_still_waits_and_nobody_gets_its_token():
    league = with_code()
    waits = register(league)
    league.restart_manager()

    other = register(league, referee_code=CODE, url="http://10.0.0.7:8001/mcp")
    status = ask(league, RefereeStatus(""), waits.auth_token)
    league.command("approve", referee_id="REF01")
    later = ask(league, RefereeStatus(""), waits.auth_token)

    assert (other.referee_id, other.auth_token != waits.auth_token) == ("REF02", True)
    assert (status.waiting, later.waiting) == (True, UNSET)


@rule("R-ACCESS-02")
@pytest.mark.parametrize("when", ["told", "asks later"])
def test_one_of_ours_that_waits_hears_that_the_league_is_over(when):
    league = with_code()
    league.add_referee("Own", referee_code=CODE)
    waits = league.add_referee("Waits")
    if when == "asks later":
        league.kill(waits)
    for number in (1, 2):
        league.add_player(name=f"Player {number}")

    league.play()

    assert_complete(league)
    if when == "told":
        assert waits.ended
    else:
        asked = Asked(RefereeStatus(""), Caller(AWAY, waits.role.state.token), 1)
        effects = league.manager.handle(asked, league.clock.now())
        (broadcast,) = [each for each in effects if isinstance(each, Broadcast)]
        assert [to.agent_id for to, _ in broadcast.letters] == ["REF02"]
    assert isinstance(league.command("approve", referee_id="REF02"), LateRegistration)


@rule("R-ACCESS-02")
def test_what_the_organiser_names_wrongly_lets_nobody_in():
    league = with_code(referees_max=1)
    register(league, referee_code=CODE)
    register(league, url="http://10.0.0.9:8002/mcp")

    unnamed = league.command("approve")
    unknown = league.command("approve", referee_id="REF09")
    known = league.command("approve", referee_id="REF01")
    full = league.command("approve", referee_id="REF02")

    assert isinstance(unnamed, WrongType)
    assert (type(unknown), str(unknown)) == (NotRegistered, "REF09 does not wait; waiting: REF02")
    assert str(known) == "REF01 referees already; waiting: REF02"
    assert full.reason == "Maximum referees already registered"
    assert not events_of(league, RefereeApproved)


@rule("R-ACCESS-02")
def test_a_foreign_referee_that_waits_and_is_added_at_its_end_point_reports_with_its_token():
    """Its token gives no right; but it may report from there without one."""
    league = with_code()
    waits = register(league)
    league.command("add_referee", name="Foreign", url=URL)
    for number in (1, 2):
        league.add_player(name=f"Player {number}")
    league.run_until(lambda: league.league.round_id == 1)
    report = MatchResultReport("R1M1", ReportedResult("P01"))

    elsewhere = ask(league, report, waits.auth_token, source="10.0.0.7")
    there = ask(league, report, waits.auth_token)

    assert isinstance(elsewhere, TokenInvalid)
    assert isinstance(there, MatchResultAck)
    assert league.league.matches["R1M1"].referee_id == "REF02"


def test_a_league_begun_with_a_referee_code_does_not_go_on_without_one():
    league = with_code()
    rows = list(league.journal.read("league_test"))

    check_rules(league.settings, iter(rows), "cup")
    with pytest.raises(StorageError, match="was begun with a referee code, and now there is none"):
        check_rules(ManagerSettings(players=2), iter(rows), "cup")


@rule("R-ACCESS-01")
def test_one_whose_address_is_hidden_by_a_proxy_is_not_local():
    league = MemoryLeague(2, 1)

    assert register(league, source="", url="http://127.0.0.1:9/mcp").waiting is True
