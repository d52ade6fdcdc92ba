"""A league that goes on until its neighbours are separated: journalled, resumed, verified."""

from agentleague.games import even_odd
from agentleague.league.events import LeagueEnded, RoundEnded
from agentleague.records.reading import event_of
from agentleague.records.verify import verify
from memory_league import MemoryLeague
from records.journals import rows_of


def a_league(most=30):
    """Of two players, the second of whom never makes a legal move."""
    options = {"until": 90, "cycles_max": most}
    league = MemoryLeague(players=2, referees=1, format_options=options)
    league.add_referee()
    league.add_player(lambda turn: "even", "Able")
    league.add_player(lambda turn: "neither", "Unable")
    return league


def test_further_cycles_are_played_until_it_is_clear_also_after_a_restart():
    league = a_league()
    league.run_until(lambda: league.league.round_id == 5)
    league.restart_manager()
    league.play()

    state = league.league
    assert (state.rounds_ended, state.total_rounds, state.total_matches) == (8, 8, 8)
    assert not state.aborted
    found = verify(list(league.journal.read("league_test")), lambda name: even_odd)
    assert found.difference is None
    assert (found.complete, found.champion) == (True, "P01")
    assert state.ending == "It is clear that each is better than the next in the table (90 %)."
    assert league.manager.news[-1].endswith(state.ending)


def test_a_league_that_is_not_clear_ends_after_its_maximum():
    league = a_league(most=6).play()

    assert league.league.rounds_ended == 6
    assert not league.league.aborted
    ending = league.league.ending
    assert ending.startswith("After 6 cycles, the most there may be, it is not clear of all")
    assert league.manager.news[-1].endswith(ending)


def test_who_ends_a_league_by_hand_is_not_told_that_it_was_clear():
    league = a_league()
    league.run_until(lambda: league.league.round_id == 5)
    league.command("abort")

    assert league.league.ending == ""


def test_who_plays_until_something_else_is_clear_ends_the_league_after_that_round():
    league = a_league()
    league.manager.rounds.is_enough = lambda state: state.rounds_ended == 3
    league.play()

    assert (league.league.rounds_ended, league.league.aborted) == (3, True)


def test_an_end_before_it_was_clear_is_found():
    league = a_league().play()
    events = [event_of(row) for row in league.journal.read("league_test")]
    end = next(each for each in events if isinstance(each, LeagueEnded))
    early = next(n for n, each in enumerate(events) if each == RoundEnded(4))

    rows = rows_of([*events[: early + 1], end], "league_test")

    sentence = verify(rows, lambda name: even_odd).difference.sentence
    assert "the league ends after 4 rounds, too early" in sentence
