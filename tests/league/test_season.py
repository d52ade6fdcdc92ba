"""Who is who in the leagues of a season, and its table."""

from agentleague.league.events import (
    LeagueEnded,
    MatchRuled,
    PlayerRegistered,
    PlayerReturned,
    RegistrationDisplaced,
)
from agentleague.league.league import League
from agentleague.league.roster import Roster
from agentleague.league.season import Season, season_table
from agentleague.protocol.tokens import digest
from league.decisions import Decisions, token


def after(*results, players=2):
    """A league in which these won its matches one after the other; None: a draw."""
    league = Decisions(players, cycles=len(results) if players == 2 else 1)
    league.play_to_the_end()
    for number, winner in enumerate(results, start=1):
        match_id = f"R{number}M1"
        verdict = "win" if winner else "draw"
        league.record(MatchRuled(match_id, verdict, winner, "as the test says"))
    return league.league


def totals(*arguments):
    return {row["player_id"]: row["total"] for row in season_table(*arguments)}


def test_the_table_counts_the_points_of_all_leagues_or_of_the_best():
    leagues = [after("P01"), after("P02"), after("P01"), after(None)]

    assert totals(leagues, "sum") == {"P01": 7, "P02": 4}
    assert totals(leagues, "best", 2) == {"P01": 6, "P02": 4}
    assert totals(leagues, "best", 1) == {"P01": 3, "P02": 3}


def test_the_table_says_points_and_rank_in_each_league_and_who_shares_a_rank():
    three, two = after(None, None, None, players=3), after("P02")

    first, second, third = season_table([three, two], "best", 1)

    assert [(each["player_id"], each["rank"]) for each in (first, second, third)] == [
        ("P02", 1),
        ("P01", 2),
        ("P03", 2),
    ]
    assert [first["tied"], second["tied"], third["tied"]] == [False, True, True]
    assert third["leagues"] == [{"points": 2, "rank": 3}, None]
    assert second["leagues"] == [{"points": 2, "rank": 1}, {"points": 0, "rank": 2}]
    assert third["display_name"] == "Agent 3"


def test_ratings_go_on_from_league_to_league_in_whole_numbers():
    one = Season([after("P01")]).elo
    two = Season([after("P01"), after("P01")]).elo
    drawn = Season([after(None)]).elo

    assert one == {"P01": 1516, "P02": 1484}
    assert 1516 < two["P01"] < 1532
    assert sum(two.values()) == 3000
    assert drawn == {"P01": 1500, "P02": 1500}
    assert totals([after("P01")], "rating") == one


def test_a_match_that_is_no_contest_rates_nobody():
    league = after("P01")
    league.apply(MatchRuled("R1M1", "no_contest", None, "the hall burnt"))

    assert Season([league]).elo == {}
    assert totals([league], "rating") == {"P01": 1500, "P02": 1500}


def test_a_player_is_known_by_its_token_until_it_has_come():
    season = Season([after("P01")])
    nobody = ("", frozenset())

    member, how = season.returning(Roster(), (token("P02"), ""), nobody, lambda member: True)
    assert (member.agent_id, member.display_name, how) == ("P02", "Agent 2", "token")

    here = after("P01").roster
    assert season.returning(here, (token("P02"), ""), nobody, lambda member: True) is None
    assert season.returning(Roster(), ("tok_P02_x", "c"), nobody, lambda member: True) is None


def test_a_token_that_may_only_ask_says_not_who_it_is():
    league = Decisions(1)
    league.record(PlayerReturned("P01", digest("asks"), generation=2))
    season, nobody = Season([league.league]), ("", frozenset())

    assert season.returning(Roster(), ("asks", ""), nobody, lambda member: True) is None
    assert season.returning(Roster(), (token("P01"), ""), nobody, lambda member: True)


def test_a_token_of_any_league_before_and_a_claim_say_who_it_is():
    first, second = Decisions(1), Decisions(0)
    at = ("P01", "Ann", "http://127.0.0.1:81/a/mcp", "1.0.0", digest("newer"))
    second.record(PlayerRegistered(*at, claim_digest=digest("claim")))
    season = Season([first.league, second.league])

    def who(*secrets):
        found = season.returning(Roster(), secrets, ("", frozenset()), lambda member: False)
        return found and (found[0].agent_id, found[1])

    assert who(token("P01"), "") == who("newer", "") == ("P01", "token")
    assert who("", "claim") == who("other", "claim") == ("P01", "claim")
    assert who("", "other") is None


def test_who_made_a_claim_once_is_never_known_by_its_place():
    at = ("P01", "Ann", "http://127.0.0.1:81/a/mcp", "1.0.0", digest("token"))
    claimed, later = Decisions(0), Decisions(0)
    claimed.record(PlayerRegistered(*at, claim_digest=digest("claim")))
    later.record(PlayerRegistered(*at, known_by="token"))
    like = ("Ann", later.league.roster.players["P01"].places)

    def who(*leagues):
        season = Season(each.league for each in leagues)
        return season.returning(Roster(), ("", ""), like, lambda member: True)

    assert who(claimed, later) is None
    assert who(later)[1] == "place"


def test_new_players_have_ids_and_names_that_nobody_had():
    season = Season([after(None, None, None, players=3)])

    assert season.next_player_id(Roster()) == "P04"
    assert season.is_taken("AGENT 2")
    assert not season.is_taken("Agent 4")
    assert Season().next_player_id(Roster()) == "P01"


def test_whose_end_point_was_anothers_is_not_known_but_its_id_is_given_to_nobody():
    league = Decisions(2)
    league.record(RegistrationDisplaced("P02", ""))
    season = Season([league.league])

    assert list(season.players) == ["P01"]
    assert season.next_player_id(Roster()) == "P03"


def test_a_league_that_ended_before_it_began_adds_nothing():
    league = Decisions(1)
    league.record(LeagueEnded("", True))

    assert season_table([league.league], "sum") == []
    assert isinstance(league.league, League)
