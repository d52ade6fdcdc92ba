"""Referees of a league in which anyone may referee: what one of them says, another confirms."""

import pytest
from msgspec import UNSET

from agentleague.errors import MatchMismatch
from agentleague.league.events import (
    MatchAssigned,
    MatchClosed,
    MatchDecided,
    RefereeApproved,
    RefereeSetAside,
)
from agentleague.manager.step import ManagerLimits
from agentleague.protocol.messages import (
    LeagueQuery,
    LockRequest,
    MatchResultAck,
    MatchResultReport,
    RefereeMeta,
    RefereeRegisterRequest,
    ReportedResult,
    ResultDetails,
)
from agentleague.records.match_story import facts_of, in_words
from agentleague.records.verify import verify
from manager.test_assignments import assert_complete, events_of
from manager.test_referee_access import CODE, ask
from memory_league import MemoryLeague
from rules import rule


def with_anyone(players=2, referees=2, **settings):
    return MemoryLeague(players, referees, referee_access="anyone", **settings)


def begun(league, *names, **of_first):
    """The league with these referees and all its players, when its first match is given out."""
    for number, name in enumerate(names):
        league.add_referee(f"Referee {name}", **(of_first if number == 0 else {}))
    for number in range(league.players):
        league.add_player(name=f"Player {number + 1}")
    league.run_until(lambda: any(host.role.matches for host in hosts_of(league).values()))
    return league


def hosts_of(league):
    return {host.role.agent_id: host for host in league.hosts[1 : 1 + league.referees]}


def says_silent(league, match_id, player_id, epoch=1):
    """The referee of a match says that this player forfeited; what it is answered."""
    token = hosts_of(league)[league.league.matches[match_id].referee_id].role.state.token
    return ask(league, LockRequest(match_id, epoch, 0, [], [(player_id, "timeout")]), token)


def checked(league):
    findings = verify(league.journal.read("league_test"), lambda name: league.game)
    assert findings.difference is None, findings.difference
    return findings


@rule("R-ACCESS-03")
def test_another_referee_is_asked_and_what_it_says_counts():
    league = begun(with_anyone(), "a", "b")
    file = league.league.matches["R1M1"]
    liar = file.referee_id

    answer = says_silent(league, "R1M1", "P01")
    league.play()

    assert isinstance(answer, MatchMismatch)
    (given,) = events_of(league, MatchAssigned)
    assert (given.claimed, given.referee_id != liar) == ([("P01", "timeout")], True)
    assert given.why == f"{liar}, for which nobody vouches, said that P01 forfeited"
    (decided,) = events_of(league, MatchDecided)
    assert (decided.forfeits, decided.unconfirmed) == ([], UNSET)
    assert league.league.contradictions == {liar: {"P01"}}
    assert_complete(league)
    checked(league)
    league.command("approve", referee_id=liar)
    assert league.league.contradictions == {}


@rule("R-ACCESS-03", "R-RESUME-03")
def test_another_referee_is_asked_after_a_loss_that_was_accepted_too():
    league = begun(with_anyone(), "a", "b")
    league.restart_manager(lost_until=league.league.seq + 1)
    epoch = league.league.matches["R1M1"].epoch

    answer = says_silent(league, "R1M1", "P01", epoch)
    league.play()

    assert isinstance(answer, MatchMismatch)
    (given,) = events_of(league, MatchAssigned)
    assert (given.claimed, given.epoch) == ([("P01", "timeout")], epoch + 1)
    (decided,) = events_of(league, MatchDecided)
    assert (decided.forfeits, decided.unconfirmed) == ([], UNSET)
    checked(league)


@rule("R-ACCESS-03")
def test_when_the_other_says_the_same_it_is_so_and_nobody_else_is_asked():
    league = begun(with_anyone(referees=3), "a", "b", "c")
    file = league.league.matches["R1M1"]
    says_silent(league, "R1M1", "P01")
    league.run_until(lambda: file.epoch == 2)

    says_silent(league, "R1M1", "P01", epoch=2)
    league.play()

    (decided,) = events_of(league, MatchDecided)
    assert (decided.forfeits, decided.unconfirmed) == ([("P01", "timeout")], UNSET)
    assert league.league.contradictions == {}
    assert league.league.unconfirmed == {}
    assert checked(league).forfeited == 1


@rule("R-ACCESS-03")
def test_with_one_referee_it_counts_and_is_marked():
    league = begun(with_anyone(referees=1), "a")

    says_silent(league, "R1M1", "P01")
    league.play()

    (decided,) = events_of(league, MatchDecided)
    assert (decided.result.winner_player_id, decided.unconfirmed) == ("P02", True)
    assert any(
        "R1M1 is lost by default by the word of REF01 alone" in s for s in league.manager.news
    )
    story = in_words(facts_of(league.league, "R1M1"))
    assert "Unconfirmed: it is the word of REF01 alone, for which nobody vouches." in story
    assert checked(league).unconfirmed == ["R1M1"]
    league.command("rule", match_id="R1M1", verdict="stand", reason="so it was")
    assert league.league.unconfirmed == {}


@rule("R-ACCESS-03")
@pytest.mark.parametrize("how", ["code", "approve"])
def test_the_word_of_a_referee_that_somebody_vouches_for_counts_at_once(how):
    league = with_anyone(referees=1, referee_code=CODE)
    begun(league, "one", referee_code=CODE if how == "code" else "")
    if how == "approve":
        assert "may referee now" in league.command("approve", referee_id="REF01").said

    says_silent(league, "R1M1", "P01")
    league.play()

    (decided,) = events_of(league, MatchDecided)
    assert (decided.forfeits, decided.unconfirmed) == ([("P01", "timeout")], UNSET)
    assert len(events_of(league, RefereeApproved)) == (how == "approve")
    assert "referees already" in str(league.command("approve", referee_id="REF01"))
    checked(league)


@rule("R-ACCESS-03")
def test_one_that_somebody_vouches_for_is_asked_first():
    league = with_anyone(referees=4, referee_code=CODE)
    begun(league, "a", "b", "c", "d")
    league.command("approve", referee_id="REF04")
    file = league.league.matches["R1M1"]
    assert file.referee_id == "REF01"

    says_silent(league, "R1M1", "P01")

    assert file.referee_id == "REF04"


@rule("R-ACCESS-03")
@pytest.mark.parametrize("says_it_again", [True, False])
def test_a_second_referee_that_dies_leaves_the_first_alone_with_its_word(says_it_again):
    league = begun(with_anyone(), "a", "b")
    file, hosts = league.league.matches["R1M1"], hosts_of(league)
    first = file.referee_id
    says_silent(league, "R1M1", "P01")
    league.kill(hosts[file.referee_id])
    league.run_until(lambda: file.epoch == 3)

    if says_it_again:
        says_silent(league, "R1M1", "P01", epoch=3)
    league.play()

    (decided,) = events_of(league, MatchDecided)
    assert (file.referee_id, decided.unconfirmed is True) == (first, says_it_again)
    assert league.league.contradictions == {}  # Nobody contradicted it but itself.
    checked(league)


@rule("R-ACCESS-03")
def test_what_was_probably_the_same_program_before_is_not_asked():
    league = with_anyone(referees=2)
    host = league.add_referee("Same", url="http://same/mcp")
    league.kill(host)
    league.add_referee("Same", url="http://same/mcp")
    begun(league)
    assert league.league.matches["R1M1"].referee_id == "REF02"

    says_silent(league, "R1M1", "P01")

    assert league.league.matches["R1M1"].decided.unconfirmed is True


@rule("R-ACCESS-03")
def test_the_organiser_vouches_for_a_referee_that_it_adds():
    league = with_anyone()

    league.command("add_referee", name="Theirs", url="http://theirs/mcp")

    assert not league.league.roster.referees["REF01"].anyone


@rule("R-ACCESS-03")
def test_a_match_that_was_given_out_often_enough_is_not_given_out_to_confirm_it():
    league = begun(with_anyone(limits=ManagerLimits(epochs_max=1)), "a", "b")

    says_silent(league, "R1M1", "P01")
    league.play()

    (decided,) = events_of(league, MatchDecided)
    assert (decided.forfeits, decided.unconfirmed) == ([("P01", "timeout")], True)


def liar(league):
    """A foreign referee that takes one match at a time; its id, its token and where it is."""
    url = "http://liar/mcp"
    request = RefereeRegisterRequest(RefereeMeta("Liar", url))
    answer = ask(league, request, source="liar")
    return answer.referee_id, answer.auth_token


def forfeited(match_id, winner):
    result = ReportedResult(winner, details=ResultDetails(status="TECHNICAL_LOSS"))
    return MatchResultReport(match_id, result)


def match_of(league, referee_id):
    """The open match that this referee has now."""
    matches = league.league.matches
    found = [m for m in sorted(league.league.open_matches) if matches[m].referee_id == referee_id]
    return found[0] if found else None


@rule("R-ACCESS-03", "R-ACCESS-04")
def test_a_foreign_referee_that_is_contradicted_about_three_players_is_set_aside():
    league = with_anyone(players=6)
    league.add_referee("Honest", max_concurrent_matches=1)
    liar_id, token = liar(league)
    for number in range(6):
        league.add_player(name=f"Player {number + 1}")
    told = []
    while liar_id not in league.league.roster.set_aside:
        league.run_until(lambda: match_of(league, liar_id) or liar_id in roster(league).set_aside)
        match_id = match_of(league, liar_id)
        if match_id is None:
            continue
        file = league.league.matches[match_id]
        said = ask(league, forfeited(match_id, file.players[1]), token, source="liar")
        told.append((file.players[0], type(said)))
        league.run_until(lambda file=file: file.closed)
    assert {kind for _, kind in told} == {MatchResultAck}
    league.play()

    (aside,) = events_of(league, RefereeSetAside)
    assert (aside.referee_id, len(aside.players)) == (liar_id, 3)
    assert set(aside.players) <= {player_id for player_id, _ in told}
    assert any(f"league approve {liar_id} --dir DIR" in said for said in league.manager.news)
    losses = sum(row.technical_losses for row in league.league.table.rows())
    assert (losses, league.league.phase) == (0, "LEAGUE_COMPLETED")
    assert checked(league).set_aside == [liar_id]


def roster(league):
    return league.league.roster


def test_what_a_foreign_referee_alone_says_counts_and_is_marked():
    league = with_anyone(referees=1)
    liar_id, token = liar(league)
    for number in (1, 2):
        league.add_player(name=f"Player {number}")
    league.run_until(lambda: match_of(league, liar_id))

    answer = ask(league, forfeited("R1M1", "P02"), token, source="liar")

    assert isinstance(answer, MatchResultAck)
    (decided,) = events_of(league, MatchDecided)
    assert (decided.verified, decided.unconfirmed) == (False, True)
    assert len(events_of(league, MatchClosed)) == 1
    checked(league)


def set_aside(league, referee_id):
    """As if it had been contradicted about three players."""

    def obey(params):
        league.manager._step.record(RefereeSetAside(referee_id, ["P01", "P02", "P03"]))
        league.manager._assignments.set_aside(referee_id)
        return "done"

    league.manager.organiser._commands["set_aside"] = obey
    league.command("set_aside")


@rule("R-ACCESS-04")
@pytest.mark.parametrize("is_foreign", [False, True])
def test_a_referee_that_was_set_aside_decides_nothing_until_it_is_let_in_again(is_foreign):
    league = with_anyone(referees=1, referee_wait_seconds=60.0)
    if is_foreign:
        referee_id, token = liar(league)
    else:
        host = league.add_referee("Own")
        referee_id, token = host.role.agent_id, host.role.state.token
        league.kill(host)
    for number in (1, 2):
        league.add_player(name=f"Player {number}")
    league.run_until(lambda: match_of(league, referee_id))
    set_aside(league, referee_id)
    moves = [(0, "P01", "even"), (0, "P02", "odd")]
    lock = LockRequest("R1M1", 1, 0, moves)
    words = MatchResultReport("R1M1", ReportedResult("P01")) if is_foreign else lock

    refused = ask(league, words, token, source="liar")
    state = ask(league, LeagueQuery("GET_AGENT", query_params={"agent_id": referee_id}))
    league.command("approve", referee_id=referee_id)
    taken = ask(league, words, token, source="liar")

    assert "was set aside" in str(refused)
    assert state.data["agent"]["state"] == "SUSPENDED"
    assert not isinstance(taken, Exception)
    assert len(events_of(league, MatchDecided)) == 1


@rule("R-ACCESS-04")
def test_without_another_the_matches_of_one_that_was_set_aside_wait_and_are_no_contest():
    league = with_anyone(players=4, referees=1, referee_wait_seconds=60.0)
    host = league.add_referee("Own")
    for number in range(4):
        league.add_player(name=f"Player {number + 1}")
    league.run_until(lambda: len(host.role.matches) == 2)
    set_aside(league, "REF01")
    before = len(league.said)

    league.play()

    told = [kind for kind, to in league.said[before:] if to.startswith("referee")]
    assert set(told) == {"ROUND_COMPLETED", "LEAGUE_COMPLETED"}
    results = [event.result for event in events_of(league, MatchDecided)]
    assert [result.no_contest for result in results] == [True] * 6
    assert not events_of(league, MatchAssigned)
    assert league.league.phase == "LEAGUE_COMPLETED"
