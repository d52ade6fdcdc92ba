"""The rules as the simulator looks at them can be broken, and that is found."""

from msgspec.structs import replace

from agentleague.league.events import (
    LeagueContinued,
    LeaguePaused,
    MatchAssigned,
    RegistrationDisplaced,
    TokenConfirmed,
    TokenRenewed,
)
from agentleague.protocol.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    PlayerMeta,
    RoundMatch,
    Rules,
    Seated,
)
from agentleague.protocol.tokens import digest
from agentleague.simulation import rules
from agentleague.simulation.modes import DRAWN, SeedReport, never_drawn
from simulation.crashing import a_league


def registered(checks, shown, agent_id, token):
    meta = PlayerMeta("Ann", "http://ann/mcp")
    answer = LeagueRegisterResponse("ACCEPTED", agent_id, auth_token=token)
    checks.registered("ann", LeagueRegisterRequest(meta, auth_token=shown), answer)


def test_who_shows_a_token_is_who_it_was_given_to():
    wrong = []
    checks = rules.TokenChecks(wrong.append)

    registered(checks, "", "P01", "one")
    registered(checks, "one", "P01", "two")
    registered(checks, "two", "P02", "three")

    assert wrong == ["ann showed the token of P01 and is P02 now"]


def test_the_token_of_a_displaced_registration_counts_as_none():
    # Found by liveness, seed 820: a late registration of the same player had displaced it.
    wrong = []
    checks = rules.TokenChecks(wrong.append)

    registered(checks, "", "P01", "one")
    checks.take(RegistrationDisplaced("P01", "P02", "Ann"))
    registered(checks, "one", "P02", "two")
    registered(checks, "two", "P03", "three")

    assert wrong == ["ann showed the token of P02 and is P03 now"]


def test_a_token_is_retired_when_a_later_one_is_in_use():
    league = a_league().run()
    checks = league.observer.tokens
    (first, agent_id), *_ = checks.issued.items()
    assert checks.retired() == []

    checks.issued["later"] = agent_id
    checks.take(TokenRenewed(agent_id, digest("later"), 2, "http://player1/mcp"))
    assert checks.retired() == []
    checks.take(TokenConfirmed(agent_id, 2))

    assert checks.retired() == [first]


def test_a_referee_with_more_matches_than_it_takes_is_found():
    league = a_league()
    league.run_until(lambda: league.has_begun)
    seats = [Seated(player_id="P01", endpoint="")]
    wrong, state = [], league.observer.league
    member = state.roster.referees["REF01"]
    checks = rules.CapacityChecks(state, wrong.append)
    own = [each for each in state.matches.values() if each.referee_id == "REF01"]
    given = [RoundMatch(each.match_id, seats=seats, epoch=1) for each in own]

    checks.handed_out(0.0, member.endpoint, given)
    assert wrong == []
    state.roster.referees["REF01"] = replace(member, capacity=0)
    checks.handed_out(0.0, member.endpoint, given)

    assert "takes 0 at once" in wrong[0]


def test_nobody_loses_a_match_right_after_a_pause():
    late = MatchAssigned("R1M1", 2, "REF02", "REF01 was silent")
    other = MatchAssigned("R1M2", 2, "REF02", "REF01 began anew")
    rows = [(0.0, LeaguePaused()), (60.0, LeagueContinued()), (62.0, other)]

    assert list(rules.hasty_after_pauses([*rows, (71.0, late)])) == []
    (found,) = rules.hasty_after_pauses([*rows, (63.0, late)])

    assert found == "R1M1 was taken away 3 s after a pause: REF01 was silent"


def test_retries_wait_as_the_rules_say():
    terms = Rules(join_seconds=5.0, retry_delay_seconds=2.0, retry_backoff=2.0)

    assert list(rules.wrong_gaps(terms, [0.0, 7.01, 16.02], 5.0)) == []
    assert list(rules.wrong_gaps(terms, [0.0, 2.01, 6.02], 5.0)) == []
    assert list(rules.wrong_gaps(terms, [0.0, 9.0], 5.0)) == [
        "retry 1 came after 9 s, not after 7 s"
    ]


def test_a_result_that_a_player_notes_twice_is_found():
    news = ["R1M1: won. Why.", "R1M2: lost. Why.", "R1M1: won. Why.", "Registered as P01."]

    assert list(rules.told_twice(news)) == ["R1M1: won was noted 2 times"]


def test_a_number_that_is_never_drawn_is_found_where_that_is_no_chance():
    def reports(numbers, times):
        draws = [tuple((f"{n}|R1M{each}", each) for each in numbers) for n in range(times)]
        return [SeedReport("chaos", 0, "", 0.0, 0, drawn) for drawn in draws]

    assert never_drawn(reports(DRAWN, 100)) == ""
    assert never_drawn(reports(DRAWN[:-1], 20)) == ""
    assert never_drawn(reports(DRAWN[:-1], 100)) == "of 900 draws none was [10]"
    assert never_drawn(reports(DRAWN[:-1], 1) * 100) == ""
    assert never_drawn(reports([11], 1)) == "the numbers [11] were drawn"
