"""Read the journal of a measured league: how long each round took, and how long a restart would."""

import gc
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from agentleague.bench.league_run import LEAGUE
from agentleague.league.league import League
from agentleague.records.reading import event_of
from agentleague.storage.directory import open_reader


class Replay(NamedTuple):
    """What the journal tells."""

    round_seconds: Sequence[float]
    seconds: float  # to read it, as a restarted manager does


def replay(folder: Path) -> Replay:
    """Read the journal in this folder."""
    rounds, scheduled, league = [], "", League()
    gc.disable()
    began = perf_counter()
    for row in open_reader(folder).read(LEAGUE):
        league.apply(event_of(row))
        if row.kind == "round_scheduled":
            scheduled = row.at
        elif row.kind == "round_ended":
            first, last = map(datetime.fromisoformat, (scheduled, row.at))
            rounds.append((last - first).total_seconds())
    seconds = perf_counter() - began
    gc.enable()
    return Replay(rounds, seconds)
