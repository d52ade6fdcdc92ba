"""Draws the stages of a simulated league: every format, its options, and several in a row."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from agentleague.league.formats.format import Entrant, Stage
from agentleague.league.formats.stages import FORMATS, misfit, plan, planned_by
from agentleague.roles.settings import ManagerSettings

Asked = Mapping[str, Any]  # one stage, as settings have it
TRIES = 20  # until stages are found that so many players can play
ONE_IN = 5  # leagues of the ordinary modes have drawn stages
PLAYS = "play_remaining"
ROUNDS_MAX = 12  # of a ladder that ends by the clock


def drawn(chance: Random, players: int) -> dict[str, Any]:
    """Settings of a league of so many players."""
    for _ in range(TRIES):
        number = chance.choice((1, 1, 2, 2, 3))
        asked = [_stage(chance, players, is_last=n == number - 1) for n in range(number)]
        if misfit(plan(asked), players) is None:
            how = {"seeding": ("order", "random"), "late": ("refuse", "next_stage", PLAYS)}
            return {
                "stages": asked,
                **{name: chance.choice(values) for name, values in how.items()},
            }
    return {}


def sometimes(seed: int, players: int) -> dict[str, Any]:
    """The same for one league in some; the others are round robins as ever."""
    chance = Random(f"format|{seed}")
    return drawn(chance, players) if chance.randrange(ONE_IN) == 0 else {}


def is_timed(settings: Mapping[str, Any]) -> bool:
    """Whether a clock ends a stage: then clocks must be right."""
    return any(each.get("seconds") for each in settings.get("stages", ()))


def rounds_most(settings: ManagerSettings, players: int) -> int:
    """As many rounds as the league can have."""
    entrants = [Entrant(f"P{number:02}") for number in range(1, players + 1)]
    return sum(_rounds_most(stage, entrants) for stage in planned_by(settings))


def _rounds_most(stage: Stage, entrants: Sequence[Entrant]) -> int:
    if stage.format == "knockout":
        games = int(stage.options["best_of"]) + int(stage.options["replays"])
        return (len(entrants) - 1).bit_length() * games
    if stage.options.get("until"):
        return int(stage.options["cycles_max"]) * len(entrants)
    if stage.format == "ladder":
        return int(stage.options["rounds"] or stage.options["matches"])
    totals = FORMATS[stage.format].begin(entrants, stage.options)
    assert totals, f"how long can a stage of {stage.format} be?"
    return totals.rounds


def _stage(chance: Random, players: int, *, is_last: bool) -> dict[str, Any]:
    name = chance.choice(list(_DRAWN))
    asked = {"format": name, **_DRAWN[name](chance, players)}
    if not is_last and name != "groups":
        asked["advance"] = chance.choice((0, max(2, players // 2)))
    return asked


def _round_robin(chance: Random, players: int) -> Asked:
    until = {"until": 80, "cycles_max": 4}
    return {"cycles": 1} if players > 5 else chance.choice(({"cycles": 1}, {"cycles": 2}, until))


def _swiss(chance: Random, players: int) -> Asked:
    bye = chance.choice(("win", "win", "draw", "none"))
    return {"rounds": chance.choice((0, 1, 3, 5)), "bye": bye}


def _knockout(chance: Random, players: int) -> Asked:
    best_of, replays = chance.choice((1, 1, 3)), chance.choice((0, 1, 2))
    return {"best_of": best_of, "replays": replays, "third_place": chance.choice((0, 1))}


def _groups(chance: Random, players: int) -> Asked:
    return {"groups": chance.choice((1, 2, 2, 3)), "advance": chance.choice((0, 1, 2))}


def _ladder(chance: Random, players: int) -> Asked:
    limits: Sequence[Asked] = (
        {"rounds": chance.randint(2, 6)},
        {"matches": chance.randint(2, 3 * players)},
        {"seconds": chance.choice((1, 4, 15)), "rounds": ROUNDS_MAX},
    )
    return chance.choice(limits)


_DRAWN: Mapping[str, Callable[[Random, int], Asked]] = {
    "round_robin": _round_robin,
    "swiss": _swiss,
    "knockout": _knockout,
    "groups": _groups,
    "ladder": _ladder,
}
