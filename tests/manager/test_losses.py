"""Rows that were committed and told are gone: who notices, and how the league goes on."""

import msgspec
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentleague.errors import Lost
from agentleague.league import queries
from agentleague.league.events import (
    Disputed,
    LossAccepted,
    MatchAssigned,
    MatchClosed,
    MatchDecided,
    PlayerRegistered,
    RefereeRegistered,
)
from agentleague.protocol import draws
from agentleague.protocol.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    LockRequest,
    MatchResultReport,
    PlayerMeta,
    Receipt,
    ReportedResult,
    RoundAnnouncement,
)
from agentleague.records.verify import verify
from agentleague.roles.stimuli import Caller
from games.throwaway import THREE_DRAWS
from manager.test_assignments import events_of
from memory_league import SECRETS, MemoryLeague
from rules import rule


def assert_whole_again(league):
    """The league ended, verify is content, and nobody holds another result than the journal."""
    assert league.league.phase == "LEAGUE_COMPLETED"
    decided = {event.match_id: event.result for event in events_of(league, MatchDecided)}
    assert len(decided) == len(events_of(league, MatchDecided)) == league.league.total_matches
    assert len(events_of(league, MatchClosed)) == len(decided)
    assert not events_of(league, Disputed | MatchAssigned)  # No referee waited in vain.
    assert not any(result.status == "TECHNICAL_LOSS" for result in decided.values())
    found = verify(league.journal.read("league_test"), lambda name: league.game)
    assert (found.difference, found.complete) == (None, True)
    for player in players_of(league):
        own = {
            match["match_id"]: match["result"]["drawn_number"] for match in player.memory.history
        }
        assert len(own) == len(player.memory.history)
        assert own == {each: decided[each].drawn_number for each in own}
        assert len(own) == league.league.total_rounds
        assert not [said for said in player.news if "THE DRAW IS WRONG" in said]
    return found


def results_told(league):
    """How many results of the journal both players know."""
    known = [
        (match["match_id"], match.get("draw_generation", 0))
        for player in players_of(league)
        for match in player.memory.history
    ]
    matches = league.league.matches.values()
    return sum(known.count((each.match_id, each.generation)) == 2 for each in matches)


def players_of(league):
    return [host.role for host in league.hosts[1 + league.referees :]]


def lost(league, *, kept, decided):
    """A league that was told so many results and then lost all rows but these."""
    league.run_until(lambda: results_told(league) >= decided)
    before = {event.match_id: event for event in events_of(league, MatchDecided)}
    last = league.league.seq
    league.lose_rows(kept)
    return last, before


@rule("R-RESUME-03")
@pytest.mark.parametrize("kept", [*range(7, 20), 25])
def test_after_a_loss_that_is_accepted_the_league_ends_and_everybody_holds_the_same(kept):
    league = MemoryLeague(4, 2).fill()
    last, before = lost(league, kept=kept, decided=5)

    league.restart_manager(lost_until=last)
    league.play()

    found = assert_whole_again(league)
    (accepted,) = events_of(league, LossAccepted)
    assert accepted.last == last
    assert [*found.losses] == [kept + 1]
    assert f"rows up to {last} were lost" in found.losses[kept + 1]
    after = {event.match_id: event for event in events_of(league, MatchDecided)}
    kept_before = {row.seq for row in league.journal.read("league_test") if row.seq <= kept}
    anew = [each for each in before if league.league.matches[each].decided_seq not in kept_before]
    assert all(after[each].seed != before[each].seed for each in anew)


@rule("R-RESUME-03")
def test_a_loss_may_come_twice_and_take_the_first_acceptance_with_it():
    league = MemoryLeague(4, 2).fill()
    last, _ = lost(league, kept=16, decided=4)
    league.restart_manager(lost_until=last)
    first = league.league.generation
    last, _ = lost(league, kept=14, decided=4)
    league.kill(league.hosts[0])
    league.wait(1.0)

    league.restart_manager(lost_until=last)
    league.play()

    assert_whole_again(league)
    (accepted,) = events_of(league, LossAccepted)
    assert accepted.generation > first


@rule("R-RESUME-03")
def test_a_second_loss_begins_a_further_generation():
    league = MemoryLeague(4, 2).fill()
    for kept, decided in ((12, 3), (18, 5)):
        last, _ = lost(league, kept=kept, decided=decided)
        league.restart_manager(lost_until=last)
    league.play()

    found = assert_whole_again(league)
    assert len(found.losses) == 2
    first, second = events_of(league, LossAccepted)
    assert second.generation >= first.generation + 1000


@rule("R-RESUME-03", "R-DRAW-06")
def test_new_draws_are_announced_by_their_generation_and_the_player_says_so():
    league = MemoryLeague(2, 1).fill()
    last, before = lost(league, kept=6, decided=1)
    told = len(league.messages)

    league.restart_manager(lost_until=last)
    league.play()

    (accepted,) = events_of(league, LossAccepted)
    assert [*accepted.commitments] == ["R1M1"]
    seed = draws.seed_of(SECRETS.draw_secret, "league_test", "R1M1", accepted.generation)
    assert events_of(league, MatchDecided)[0].seed == seed.hex() != before["R1M1"].seed
    again = [
        message
        for host, message in league.messages[told:]
        if isinstance(message, RoundAnnouncement) and host.startswith("player")
    ]
    rows = [row for m in again for row in msgspec.json.decode(m.matches)]
    assert {row["draw_commitment"] for row in rows} == {accepted.commitments["R1M1"]}
    assert {row["draw_generation"] for row in rows} == {accepted.generation}
    for player in players_of(league):
        said = " ".join(player.news)
        assert "draws anew what was not decided" in said
        assert ": again, since its first result was lost: " in said


def test_a_game_that_had_drawn_numbers_begins_again_from_its_first_turn():
    league = MemoryLeague(2, 1, game=THREE_DRAWS)
    league.add_referee()
    for name in ("Ann", "Bob"):
        league.add_player(lambda turn: 1 + turn.rng.randrange(6), name=name)
    league.run_until(lambda: "match_locked" in league.events())
    last = league.league.seq

    league.restart_manager(lost_until=last + 3)

    assert league.league.matches["R1M1"].locks == []
    league.play()
    assert league.league.phase == "LEAGUE_COMPLETED"
    found = verify(league.journal.read("league_test"), lambda name: THREE_DRAWS)
    assert found.difference is None


def test_who_registered_in_lost_rows_holds_no_token_of_who_registers_after_them():
    league = MemoryLeague(4, 1)
    league.add_referee()
    league.add_player(name="Stays")
    gone = league.add_player(name="Gone")
    last = league.league.seq
    league.lose_rows(after=3)

    league.restart_manager(lost_until=last)
    new = league.add_player(name="New")
    referee = league.add_referee(name="New too")

    assert new.role.agent_id == gone.role.agent_id == "P02"
    assert new.role.state.token != gone.role.state.token
    assert league.league.roster.owner(gone.role.state.token) is None
    assert events_of(league, PlayerRegistered)[-1].generation == league.league.generation
    assert events_of(league, RefereeRegistered)[-1].generation == league.league.generation
    assert referee.role.agent_id == "REF02"


def test_a_referee_whose_assignment_was_lost_disputes_nothing():
    league = MemoryLeague(4, 1).fill()
    last, _ = lost(league, kept=8, decided=1)
    league.restart_manager(lost_until=last)
    other = league.add_referee("Latecomer").role
    answers = []

    for message in (
        LockRequest("R1M1", 2, 0, []),
        MatchResultReport(match_id="R1M1", epoch=2, result=ReportedResult("P01")),
    ):
        caller = Caller("127.0.0.1", other.state.token)
        league.hosts[0].ask(message, caller, answers.append)

    assert [answer.name for answer in answers] == ["MATCH_ID_MISMATCH"] * 2
    assert not events_of(league, Disputed)


def test_a_match_from_before_a_loss_is_found_again_when_it_was_forgotten():
    league = MemoryLeague(4, 2, at_hand=0, cycles=3).fill()
    last, _ = lost(league, kept=9, decided=1)
    league.restart_manager(lost_until=last)
    generation = league.league.generation
    league.play()

    assert "R1M1" not in [*league.league.matches]
    record = league.league.matches["R1M1"]
    assert (record.generation, record.given_out) == (generation, 1)
    assert league.league.matches["R2M1"].generation == generation
    facts, later = (
        queries.answer(league.league, "GET_MATCH", {"match_id": match_id}, None)["match"]
        for match_id in ("R1M1", "R2M1")
    )
    assert (facts["draw_generation"], facts["drawn_anew"]) == (generation, True)
    assert (later["draw_generation"], "drawn_anew" in later) == (generation, False)
    status = queries.answer(league.league, "GET_STATUS", {}, None)
    assert f"rows up to {last} were lost" in status["accepted_losses"][0]


# Receipts


def receipt_of(league):
    """The newest receipt that a player holds."""
    held = [player.state.receipt for player in players_of(league) if player.state.receipt]
    return max(held, key=lambda receipt: (receipt.generation or 0, receipt.seq))


def shows(league, receipt, token=UNSET):
    """What an agent is answered that registers and shows this receipt."""
    answers = []
    meta = PlayerMeta("Returns", "http://returns/mcp", game_types=["even_odd"], receipt=receipt)
    request = LeagueRegisterRequest(meta)
    caller = Caller("127.0.0.1", None if token is UNSET else token)
    league.hosts[0].ask(request, caller, answers.append)
    return answers[0]


@rule("R-RESUME-04")
def test_agents_keep_the_receipt_of_the_last_result_that_they_were_told():
    league = MemoryLeague(4, 2).fill().play()

    rows = {row.seq: row for row in league.journal.read("league_test")}
    for host in league.hosts[1:]:
        kept = host.role.state.receipt
        assert rows[kept.seq].hash.hex() == kept.hash
        assert rows[kept.seq].kind == "match_decided"
        assert league.manager.receipt(kept.seq, kept.hash) == kept


@rule("R-RESUME-04")
def test_a_sealed_receipt_of_a_row_that_is_missing_stops_the_manager():
    league = MemoryLeague(4, 2).fill()
    lost(league, kept=12, decided=5)
    receipt = receipt_of(league)
    league.restart_manager()
    before = league.league.seq
    answers = []

    with pytest.raises(Lost) as stop:
        shows(league, receipt)

    assert f"rows 13 to {receipt.seq} are lost" in str(stop.value)
    assert stop.value.context["lost_until"] == receipt.seq
    assert league.league.seq == before == 12
    assert not answers


@rule("R-RESUME-04")
def test_a_sealed_receipt_of_a_row_that_is_another_now_stops_the_manager():
    league = MemoryLeague(4, 2).fill()
    lost(league, kept=12, decided=5)
    receipt = receipt_of(league)
    for host in league.hosts[1:3]:
        host.role._registration.receipt = None  # Else its referee stops the manager earlier.
    league.restart_manager()
    league.run_until(lambda: league.league.seq >= receipt.seq)

    with pytest.raises(Lost, match=f"row {receipt.seq} is another one now"):
        shows(league, receipt)


@rule("R-RESUME-04")
def test_a_receipt_of_rows_whose_loss_was_accepted_stops_nobody():
    league = MemoryLeague(4, 2).fill()
    last, _ = lost(league, kept=12, decided=5)
    receipt = receipt_of(league)
    league.restart_manager(lost_until=last)
    league.run_until(lambda: league.league.seq > receipt.seq)

    assert isinstance(shows(league, receipt), LeagueRegisterResponse)


@rule("R-RESUME-04")
def test_a_receipt_whose_acceptance_was_lost_too_stops_the_manager():
    league = MemoryLeague(4, 2).fill()
    last, _ = lost(league, kept=12, decided=2)
    league.restart_manager(lost_until=last)
    lost(league, kept=12, decided=4)
    receipt = receipt_of(league)
    assert receipt.generation > 0
    league.restart_manager()

    with pytest.raises(Lost):
        shows(league, receipt)


@rule("R-RESUME-04")
def test_a_receipt_that_holds_or_is_invented_changes_nothing():
    league = MemoryLeague(4, 2).fill()
    league.run_until(lambda: league.league.decided_total == 3)
    true = receipt_of(league)
    invented = [
        Receipt(9_999, "0" * 64),
        Receipt(9_999, "0" * 64, seal="0" * 40),
        Receipt(9_999, "é", seal="é\ud800"),
        replace(true, seq=9_999),
        replace(true, generation=5),
        replace(true, hash="0" * 64),
        true,
    ]

    for receipt in invented:
        assert isinstance(shows(league, receipt), LeagueRegisterResponse), receipt

    assert not [said for said in league.manager.news if "receipt" in said]


@rule("R-RESUME-04")
def test_the_organiser_is_told_once_of_an_agent_that_shows_a_false_receipt():
    league = MemoryLeague(2, 1, unique_names="allow").fill()
    token = players_of(league)[0].state.token

    for seq in (1, 2):
        shows(league, Receipt(seq, "0" * 64, seal="0" * 40), token)

    said = [each for each in league.manager.news if "receipt" in each]
    assert said == ["P01 showed a receipt that was not given here; it is ignored."]


@rule("R-RESUME-04")
def test_a_referee_that_runs_on_proves_the_loss_with_its_next_sign_of_life():
    league = MemoryLeague(4, 1).fill()
    lost(league, kept=12, decided=5)
    for player in league.hosts[2:]:
        league.kill(player)

    league.restart_manager()

    with pytest.raises(Lost):
        league.play()


@rule("R-RESUME-04")
def test_a_referee_to_which_a_round_is_announced_again_proves_the_loss_before_a_match_is_decided():
    league = MemoryLeague(4, 1).fill()
    lost(league, kept=12, decided=5)
    decided = len(events_of(league, MatchDecided))

    league.restart_manager()

    with pytest.raises(Lost, match="rows 13 to"):
        league.play()
    assert len(events_of(league, MatchDecided)) == decided
