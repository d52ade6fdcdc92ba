"""Results of leagues as statistics read them."""

import math
from itertools import combinations

from hypothesis import strategies as st

from agentleague.statistics.bradley_terry import ELO, Game

_names = st.sampled_from("ABCDE")
any_games = st.lists(
    st.tuples(_names, _names, st.sampled_from([0, 0.5, 1]))
    .filter(lambda each: each[0] != each[1])
    .map(lambda each: Game(*each)),
    max_size=20,
)


def played(rng, strengths, meetings):
    """Results as players of these strengths, in Elo, would get them; players are numbers."""
    for one, other in meetings:
        chance = 1 / (1 + math.exp((strengths[other] - strengths[one]) / ELO))
        yield Game(str(one), str(other), float(rng.random() < chance))


def round_robin(rng, strengths, cycles=1):
    """A league in which everybody met everybody."""
    return [*played(rng, strengths, [*combinations(range(len(strengths)), 2)] * cycles)]
