"""The table counted by hand is the table that the league keeps, whatever was played."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agentleague.league.standings import TIE_BREAKS, Points, Table
from agentleague.records.tally import Score, tally

PLAYERS = {f"P{number:02}": f"Agent {number}" for number in (1, 2, 3, 9, 10, 100)}


@st.composite
def scores(draw):
    a, b = draw(st.permutations(sorted(PLAYERS)))[:2]
    winner = draw(st.sampled_from([a, b, None]))
    return Score((a, b), winner, draw(st.booleans()))


@given(
    st.lists(scores(), max_size=40),
    st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-3, 3)),
    st.permutations(TIE_BREAKS).flatmap(lambda names: st.sampled_from([names, names[:2], []])),
)
def test_both_tables_are_alike(played, points, tie_breaks):
    table = Table(PLAYERS, Points(*points), tie_breaks)
    for score in played:
        table.count(*score.players, winner=score.winner, technical=score.technical)

    counted = tally(PLAYERS, played, points, tie_breaks)

    assert counted == [msgspec.structs.asdict(row) for row in table.rows()]
