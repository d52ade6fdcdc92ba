"""The recounted table is the table that the league keeps, whatever was played and ruled."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agentleague.league.events import (
    LeagueOpened,
    LeagueStarted,
    MatchClosed,
    MatchDecided,
    MatchRuled,
    PlayerRegistered,
    RoundEnded,
    RoundScheduled,
    ScheduledMatch,
    Told,
)
from agentleague.league.formats.format import Stage
from agentleague.league.league import League
from agentleague.league.recount import Recount
from agentleague.league.standings import TIE_BREAKS
from agentleague.protocol.messages import GameResult, Rules

PLAYERS = [f"P{number:02}" for number in (1, 2, 3, 9, 10, 100)]


@st.composite
def matches(draw):
    """A match as it was decided, and the organiser's rulings on it."""
    a, b = draw(st.permutations(PLAYERS))[:2]
    winner = draw(st.sampled_from([a, b, None]))
    status = "TECHNICAL_LOSS" if draw(st.booleans()) else "WIN" if winner else "DRAW"
    is_contest = winner or draw(st.booleans())
    result = GameResult(status, winner, no_contest=msgspec.UNSET if is_contest else True)
    ruling = st.sampled_from([("win", a), ("win", b), ("draw", None), ("no_contest", None)])
    rulings = draw(st.lists(ruling | st.just(("stand", None)), max_size=2))
    return (a, b), result, rulings


def events(played, points, tie_breaks, sealed, resting):
    """A league of one round in which all of these matches are played, and some have a bye."""
    byes, worth = resting
    stages = [Stage("swiss", 1, {"rounds": 0, "bye": worth, "advance": 0})]
    yield LeagueOpened("cup", "even_odd", Rules(), 1, points, tie_breaks, False, stages=stages)
    for player_id in PLAYERS:
        yield PlayerRegistered(player_id, f"Agent {player_id}", "http://a/mcp", "1", "")
    yield LeagueStarted(PLAYERS, sealed)
    scheduled = [
        ScheduledMatch(f"R1M{n}", *players, "REF01", "")
        for n, (players, _, _) in enumerate(played, start=1)
    ]
    yield RoundScheduled(1, scheduled, byes)
    for number, (_, result, rulings) in enumerate(played, start=1):
        yield MatchDecided(f"R1M{number}", 1, 0, [], [], result, "")
        for verdict, winner in rulings:
            yield MatchRuled(f"R1M{number}", verdict, winner, "")
        yield MatchClosed(f"R1M{number}", 1)
    yield RoundEnded(1)
    yield Told("round_end", 1)


@given(
    st.lists(matches(), max_size=40),
    st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-3, 3)),
    st.permutations(TIE_BREAKS).flatmap(lambda names: st.sampled_from([names, names[:2], []])),
    st.sampled_from([msgspec.UNSET, "the commitment to the draw of a champion"]),
    st.tuples(st.lists(st.sampled_from(PLAYERS)), st.sampled_from(["win", "draw", "none"])),
)
def test_both_tables_are_alike(played, points, tie_breaks, sealed, resting):
    league, recount = League(), Recount()
    for event in events(played, points, tie_breaks, sealed, resting):
        league.apply(event)
        recount.take(event)

    own = list(msgspec.to_builtins(league.table.rows()))
    assert recount.table({}) == own
    for row in own:
        counts = recount.counts()[row["player_id"]]
        assert counts.items() <= row.items()
    assert set(recount.decisions) == set(recount.matches)
