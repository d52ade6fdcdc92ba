"""Play leagues of a plan, in whatever process: what comes of one depends on nothing but the plan.

So every league begins afresh: a player's file and what it imports from beside it are run again for
each, and what its functions draw from Python's own `random` begins with the seed of the league.
"""

import os
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from itertools import chain, repeat
from typing import NamedTuple

import msgspec
from msgspec import Struct

from agentleague.protocol.printable import one_line
from agentleague.runtime.plugins import find_game
from agentleague.sdk.offline import PlayedLeague, play_league
from agentleague.statistics.bradley_terry import Z95, Game, Strengths
from agentleague.sweeps.plan import Key, Load, Plan, SweepLeague

Pair = tuple[int, int]  # of players, seat A first
Score = Sequence[int]  # matches that the first one won, drew and lost
Rating = tuple[float, float, float]  # with the ends of its interval


class Work(NamedTuple):
    """What a process needs to play leagues of a plan."""

    plan: Plan
    load: Load


class Row(Struct, frozen=True, array_like=True):
    """A player in a league."""

    player: int  # which of those that the key names
    rank: int
    points: int
    wins: int
    draws: int
    losses: int
    technical_losses: int
    rating: Rating | None
    champion: bool


class Outcome(Struct, frozen=True, array_like=True):
    """How a league ended, as it is kept: nothing depends on the plan that names it."""

    key: Key
    matches: int
    rows: Sequence[Row]
    pairs: Sequence[tuple[Pair, Score]]


class TriedLeague(NamedTuple):
    """A league that was tried: its outcome as a line, or what went wrong."""

    number: int
    matches: int
    line: bytes
    error: str = ""


def play_batch(work: Work, numbers: Sequence[int]) -> tuple[list[TriedLeague], float]:
    """Play these leagues, and say how many seconds that took; what players print is dropped."""
    began = time.perf_counter()
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        return [_tried(work, number) for number in numbers], time.perf_counter() - began


def _tried(work: Work, number: int) -> TriedLeague:
    try:
        played = play_one(work, work.plan.league(number))
    except (Exception, SystemExit) as error:  # Players may be anybody's.
        words = "; ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
        return TriedLeague(number, 0, b"", one_line(words))
    outcome = outcome_of(work.plan, number, played)
    return TriedLeague(number, outcome.matches, msgspec.json.encode(outcome) + b"\n")


def play_one(work: Work, league: SweepLeague) -> PlayedLeague:
    """Play one league; an exception of a player is not caught."""
    plan, stages = work.plan, league.setting.stages
    game = find_game(plan.found(league.game)).name
    with plan.forgetting_imports():
        random.seed(league.seed)
        found = [plan.found(plan.players[each]) for each in league.players]
        players = [each if isinstance(each, str) else work.load(each, game) for each in found]
        return play_league(players, str(plan.found(league.game)), league.seed, stages=stages)


def outcome_of(plan: Plan, number: int, played: PlayedLeague) -> Outcome:
    """What is kept of a league."""
    registered, listed = plan.league(number).players, plan.set_of(number)
    place = {player: n for n, player in enumerate(listed)}
    which = {r.player_id: place[registered[int(r.player_id[1:]) - 1]] for r in played.table}
    pairs: dict[Pair, list[int]] = {}
    for match in played.matches:
        first, second = match.player_ids
        score = pairs.setdefault((which[first], which[second]), [0, 0, 0])
        if match.winner or match.status == "DRAW":  # Who both lost by default, said nothing.
            score[1 if match.winner is None else 0 if match.winner == first else 2] += 1
    ratings = rated(pairs.items())
    rows = [
        Row(
            which[row.player_id],
            *(row.rank, row.points, row.wins, row.draws, row.losses, row.technical_losses),
            ratings.get(which[row.player_id]),
            row.player_id == played.champion.player_id,
        )
        for row in played.table
    ]
    return Outcome(plan.key(number), len(played.matches), rows, [*pairs.items()])


def rated(pairs: Iterable[tuple[Pair, Score]]) -> Mapping[int, Rating]:
    """The ratings of players by what they scored against each other, with 95 % intervals."""
    games = chain.from_iterable(
        repeat(Game(str(first), str(second), worth), times)
        for (first, second), score in pairs
        for worth, times in zip((1.0, 0.5, 0.0), score, strict=True)
    )
    return {
        int(each.player): _rounded((each.elo, *each.within(Z95)))
        for each in Strengths(games).ratings(random.Random(0))
    }


def _rounded(rating: Rating) -> Rating:
    """As much as there is to know, and the same on every machine."""
    elo, low, high = (round(each, 1) + 0.0 for each in rating)  # Never a negative zero.
    return elo, low, high
