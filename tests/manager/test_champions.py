"""Players that nothing separates share rank 1, and the champion is drawn among them."""

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentleague.games import even_odd
from agentleague.league.events import LeagueEnded, LeagueStarted, LossAccepted
from agentleague.protocol import draws
from agentleague.protocol.messages import LeagueCompleted
from agentleague.records.reading import event_of
from agentleague.records.verify import verify
from memory_league import MemoryLeague
from records.journals import changed, place, rows_of
from rules import rule


@pytest.fixture(scope="module")
def cup():
    """Two players that always choose the same, so their only match is a draw."""
    return MemoryLeague(2, 1).fill().play()


def events_of(cup):
    return [event_of(row) for row in cup.journal.read("league_test")]


def only(cup, kind):
    (event,) = (each for each in events_of(cup) if isinstance(each, kind))
    return event


def check(events):
    return verify(rows_of(events, "league_test"), lambda name: even_odd).difference


def lie(events):
    return check(events).sentence


@rule("R-TABLE-04", "R-TABLE-09")
def test_of_those_who_share_rank_1_one_is_drawn_and_everybody_can_check_it(cup):
    message = next(each for _, each in cup.messages if isinstance(each, LeagueCompleted))
    sealed = only(cup, LeagueStarted).champion_commitment
    draw, league_id = message.champion_draw, cup.league.rules.league_id

    assert [each.player_id for each in message.champions] == ["P01", "P02"]
    assert draw.commitment == sealed
    assert draws.commitment(bytes.fromhex(draw.seed), league_id, "champion") == sealed
    assert draw.moves == [(1, "P01", 1), (1, "P02", 1)]
    number = draws.number(
        bytes.fromhex(draw.seed), league_id, "champion", index=0, moves=draw.moves, bounds=(1, 2)
    )
    assert message.champion == message.champions[number - 1]
    assert cup.league.champion == message.champion.player_id
    assert f"{message.champion.player_id} " in cup.manager.news[-1]
    assert "drawn by lot among the 2 who share rank 1" in cup.manager.news[-1]


@rule("R-TABLE-09")
def test_verify_finds_a_champion_who_was_not_drawn(cup):
    events = events_of(cup)
    end = only(cup, LeagueEnded)
    other = {"P01": "P02", "P02": "P01"}[end.champion]

    assert check(events) is None
    assert "its champion is" in lie(changed(events, LeagueEnded, champion=other))
    assert "does not open the commitment" in lie(changed(events, LeagueEnded, seed="00" * 32))
    for seed in (UNSET, "no hexadecimal digits"):
        assert "does not open the commitment" in lie(changed(events, LeagueEnded, seed=seed))


@rule("R-TABLE-09")
def test_of_many_champions_the_drawn_one_is_named_first_and_its_draw_can_be_checked_by_the_table():
    terms = {"win_points": 0, "draw_points": 0, "tie_breaks": ()}
    cup = MemoryLeague(12, 1, **terms).fill().play()

    message = next(each for _, each in cup.messages if isinstance(each, LeagueCompleted))
    assert len(message.champions) == 10
    assert message.champions[0] == message.champion
    assert cup.league.champion == message.champion.player_id
    assert (message.champion_draw.moves, len(cup.league.champions())) == ([], 12)


@rule("R-TABLE-09")
def test_after_a_loss_the_champion_is_drawn_anew_too(cup):
    events = events_of(cup)
    started = place(events, LeagueStarted)
    sealed = events[started].champion_commitment
    begun = events[: started + 1]

    for kept in (UNSET, sealed):
        assert "keeps its commitment" in lie([*begun, LossAccepted(7, 9, {}, kept)])
    anew = replace(events[started], champion_commitment="1" * 64)
    lost = LossAccepted(7, 9, {}, anew.champion_commitment)
    assert check([*begun, lost]) is None
    assert "does not open the commitment" in lie([*begun, lost, LeagueEnded("", True, "00" * 32)])


def test_where_the_player_id_decides_nothing_is_drawn():
    cup = MemoryLeague(2, 1, tie_breaks=["wins", "player_id"]).fill().play()

    assert only(cup, LeagueStarted).champion_commitment is UNSET
    assert cup.league.champion == "P01"
    assert [row.rank for row in cup.league.table.rows()] == [1, 2]
    sealed = changed(events_of(cup), LeagueStarted, champion_commitment="1" * 64)
    assert lie(sealed) == "a draw of the champion is sealed, but the player id decides all ties"
