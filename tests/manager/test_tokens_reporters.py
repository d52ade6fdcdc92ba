"""Who reports a match: by token, or by address where a referee never shows one."""

import pytest
from msgspec.structs import replace

from agentleague.errors import MatchMismatch, MissingField, TokenInvalid, TokenMissing
from agentleague.league.events import MatchAssigned, TokenMisused, TokenShown
from agentleague.protocol.messages import (
    LeagueQuery,
    MatchResultReport,
    RefereeMeta,
    RefereeRegisterRequest,
    ReportedResult,
)
from agentleague.protocol.tokens import digest, league_token, match_token, session
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Caller
from manager.test_foreign_starts import SECRETS, WON, League
from rules import rule

HERE, THERE = "127.0.0.1", "10.0.0.9"


def report(league, token=None, source=HERE):
    return league.ask(WON, Caller(source, token))


@rule("R-START-06")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tokenless_referees": True},
        {"network": "lan", "referee_access": "anyone", "tokenless_referees": True},
    ],
)
def test_a_referee_that_never_showed_a_token_reports_its_match_without_one(settings):
    league = League(**settings)

    assert report(league).status == "ACCEPTED"
    assert league.role.league.matches["R1M1"].decided.verified is False


@rule("R-START-06")
@pytest.mark.parametrize(
    "settings", [{"network": "lan", "referee_access": "anyone"}, {"tokenless_referees": False}]
)
def test_not_beyond_this_machine_and_not_where_the_league_does_not_want_it(settings):
    assert isinstance(report(League(**settings)), TokenMissing)


@rule("R-START-06")
def test_not_from_another_address():
    assert isinstance(report(League(), source=THERE), TokenMissing)


INVENTED = "tok_of_my_own"
BEYOND = {"network": "lan", "referee_access": "anyone"}


@rule("R-START-06")
def test_an_invented_token_counts_as_none_where_none_would_do_and_is_noted_once():
    league = League()

    league.ask(LeagueQuery("GET_STATUS"), Caller(HERE, "another"))
    assert report(league, INVENTED).status == "ACCEPTED"
    report(league, INVENTED)

    noted = [each for each in league.role.journal if isinstance(each, TokenMisused)]
    assert noted == [
        TokenMisused("REF01", "LEAGUE_QUERY", "unknown"),
        TokenMisused("REF01", "MATCH_RESULT_REPORT", "unknown"),
    ]
    assert (
        "REF01: an unknown token came with a MATCH_RESULT_REPORT of it, "
        "which counted as if with none."
    ) in league.role.news
    assert INVENTED not in repr(league.role.journal) + repr(league.role.news)


@rule("R-START-06")
@pytest.mark.parametrize(
    "settings",
    [
        {"tokenless_referees": False},
        BEYOND,
        {**BEYOND, "tokenless_referees": True},
        {"trusted_proxies": ("127.0.0.1",), "referee_access": "anyone"},
        {"locks": True},
    ],
)
@pytest.mark.parametrize("message", [WON, LeagueQuery("GET_STATUS")])
def test_everywhere_else_it_is_refused(settings, message):
    league = League(**settings)

    assert isinstance(league.ask(message, Caller(HERE, INVENTED)), TokenInvalid)
    assert not [each for each in league.role.journal if isinstance(each, TokenMisused)]


@rule("R-START-06")
@pytest.mark.parametrize("message", [WON, LeagueQuery("GET_PLAYER_DIRECTORY")])
def test_it_is_refused_from_another_address_and_from_one_that_showed_its_token(message):
    assert isinstance(League().ask(message, Caller(THERE, INVENTED)), TokenInvalid)
    league = League()
    league.ask(LeagueQuery("GET_STATUS"), Caller(HERE, league.tokens[0]))
    assert isinstance(league.ask(message, Caller(HERE, INVENTED)), TokenInvalid)


@rule("R-START-06")
@pytest.mark.parametrize(
    "token",
    [
        league_token(SECRETS.token_secret, "league_test", "P01", 1),  # a player's,
        league_token(SECRETS.token_secret, "league_test", "P01", 9),  # or one that counts no more
        league_token(b"x", "league_before", "REF01", 1),  # of another league of ours
        match_token(b"key", "ref>player", "league_test", "R1M1", "P01", 1),
        "mtok_1",
        session(SECRETS.token_secret, "league_test", "REF01", 1),
        digest(league_token(SECRETS.token_secret, "league_test", "P01", 1)),
        SECRETS.admin_token,
    ],
)
def test_what_somebody_was_given_is_never_taken_for_none(token):
    assert isinstance(report(League(), token), TokenInvalid)


@rule("R-START-06", "R-QUERY-09")
@pytest.mark.parametrize("token", [None, INVENTED])
def test_who_may_report_without_a_token_may_ask_so_where_players_are(token):
    league, query = League(), LeagueQuery("GET_PLAYER_DIRECTORY", league_id="its_own")

    told = league.ask(query, Caller(HERE, token)).data["players"]

    assert told == {"P01": "http://127.0.0.1/Ann", "P02": "http://127.0.0.1/Bob"}
    assert league.ask(LeagueQuery("GET_AGENTS"), Caller(HERE, token)).success
    agents = league.ask(LeagueQuery("GET_AGENTS"), Caller(HERE, token)).data["agents"]
    assert not [row for row in agents if row["kind"] == "player" and "endpoint" in row]


@rule("R-QUERY-03", "R-QUERY-09")
@pytest.mark.parametrize(
    ("settings", "source"), [({}, THERE), (BEYOND, HERE), ({"tokenless_referees": False}, HERE)]
)
def test_others_are_not_told(settings, source):
    query = LeagueQuery("GET_PLAYER_DIRECTORY")

    assert League(**settings).ask(query, Caller(source)).data["players"] == {}


def unnamed(match_id="", winner="P01", **result):
    return MatchResultReport(match_id, ReportedResult(winner, **result))


@rule("R-START-09")
@pytest.mark.parametrize(
    "said",
    [
        unnamed(),
        unnamed(winner=None),
        unnamed(winner="Bob"),
        unnamed("game-7"),
        unnamed("game-7", None, score={"Ann": 1, "P02": 1}),
    ],
)
@pytest.mark.parametrize("token", ["own", None, INVENTED])
def test_a_report_that_names_no_match_is_about_the_only_one_that_it_can_mean(said, token):
    league = League()

    answer = league.ask(said, Caller(HERE, league.tokens[0] if token == "own" else token))

    assert (answer.status, answer.match_id) == ("ACCEPTED", "R1M1")


@rule("R-START-09")
@pytest.mark.parametrize(
    ("said", "error"),
    [
        (unnamed(winner="P09"), MissingField),
        (unnamed(score={"P09": 3}), MissingField),
        (unnamed("game-7", winner="Zoe"), MatchMismatch),
        (unnamed("game-7", None), MatchMismatch),  # That could be any match.
        (unnamed("R9M9"), MatchMismatch),
    ],
)
def test_what_it_cannot_mean_is_refused(said, error):
    league = League()

    assert isinstance(league.ask(said, Caller(HERE, league.tokens[0])), error)
    assert league.role.league.matches["R1M1"].decided is None


@rule("R-START-09")
def test_of_two_open_matches_it_is_the_one_whose_players_it_names():
    league = League(names=("Ann", "Bob", "Cleo", "Dan"), capacity=2)
    a, b = league.role.league.matches["R1M2"].players
    caller = Caller(HERE, league.tokens[0])

    unclear = league.ask(unnamed(winner=None), caller)
    clear = league.ask(unnamed(winner=a, score={a: 1, b: 0}), caller)

    assert isinstance(unclear, MissingField)
    assert clear.match_id == "R1M2"


@rule("R-START-09", "R-LEASE-01")
def test_a_referee_that_lost_its_match_is_not_heard_about_that_of_another():
    league = League(referees=2)
    league.check_leases(until=lambda: league.events(MatchAssigned))

    late = league.ask(unnamed(), Caller(HERE, league.tokens[0]))

    assert isinstance(late, MissingField)
    early = league.ask(unnamed(), Caller(HERE, league.tokens[1]))
    assert isinstance(early, MissingField)  # It was not told of the match yet.
    for player_id in ("P01", "P02"):
        league.tell(player_id)
    assert league.ask(unnamed(), Caller(HERE, league.tokens[1])).match_id == "R1M1"


@rule("R-START-09")
@pytest.mark.parametrize("own", [{"timestamp": "2025-01-01T00:00:00Z"}, {"match_id": "game-7"}])
def test_such_a_report_that_comes_again_is_not_about_the_next_match(own):
    league = League(cycles=4)
    said = replace(unnamed(score={"P01": 3, "P02": 0}), **own)

    def told(report):
        answer = league.report(report)
        if answer.duplicate is not True:
            league.settle()
        return answer.match_id, answer.duplicate is True

    assert told(said) == ("R1M1", False)
    assert told(said) == ("R1M1", True)
    assert told(unnamed()) == ("R2M1", False)
    assert told(unnamed()) == ("R3M1", False)  # Nothing tells it from one about the next match.
    assert told(said) == ("R1M1", True)


@rule("R-START-09")
@pytest.mark.parametrize("how", [{"locks": True}, {"source": THERE}, {"player": True}])
def test_nobody_else_can_report_so(how):
    league = League(locks=how.get("locks", False))
    player = league_token(SECRETS.token_secret, "league_test", "P01", 1)
    token = league.tokens[0] if "locks" in how else player if "player" in how else None

    answer = league.ask(unnamed(), Caller(how.get("source", HERE), token))

    assert isinstance(answer, MissingField)


@rule("R-START-06")
@pytest.mark.parametrize("how", ["query", "register"])
def test_a_referee_that_showed_its_token_once_must_show_it_always(how):
    league = League()
    message = {
        "query": LeagueQuery("GET_STATUS"),
        "register": RefereeRegisterRequest(RefereeMeta("Ref 0", "http://127.0.0.1/0")),
    }[how]

    league.ask(message, Caller(HERE, league.tokens[0]))
    shown = league.events(TokenShown)
    league.ask(message, Caller(HERE, league.tokens[0]))

    assert shown == [TokenShown("REF01")]
    assert not league.events(TokenShown)  # Once is enough.
    assert isinstance(report(league), TokenMissing)


@rule("R-START-06")
def test_a_match_of_a_referee_that_locks_is_never_reported_without_its_token():
    league = League(locks=True)

    assert isinstance(report(league), TokenMissing)
    league.ask(LeagueQuery("GET_STATUS"), Caller(HERE, league.tokens[0]))
    assert not league.events(TokenShown)


def test_it_is_on_for_this_machine_alone():
    assert ManagerSettings().takes_tokenless
    assert not ManagerSettings(network="lan").takes_tokenless
