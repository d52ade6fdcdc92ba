"""Two things measured in turn, so that both meet the same machine: medians, and ratios by pair."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from agentleague.cli.bench_text import OTHERS_MAX
from agentleague.cli.output import Column

TITLES = {
    "cpu_us": "CPU us a match, in all",
    "cpu_us_manager": "CPU us a match, manager",
    "cpu_us_referee": "CPU us a match, referees",
    "cpu_us_player": "CPU us a match, players",
    "matches_per_second": "matches/s, durable",
    "ratio_to_bare_transport": "ratio to the bare pair",
}
PAIRS = 5  # fewer say little on a machine that does other work, too
Pair = tuple[Any, Any]  # the JSON of two measurements


def figures(told: Mapping[str, Any]) -> dict[str, float]:
    """What is compared, of one measurement, as far as it has it."""
    cpus = {f"cpu_us_{role}": cpu for role, cpu in told["cpu_us_per_match"].items()}
    found = {**told, **cpus, "cpu_us": sum(cpus.values())}
    return {name: found[name] for name in TITLES if name in found}


def compared(pairs: Sequence[Pair]) -> dict[str, dict[str, float]]:
    """By figure: both medians, and the ratio of the second to the first with its spread."""
    firsts, seconds = ([figures(pair[side]) for pair in pairs] for side in (0, 1))
    found = {}
    for name in firsts[0].keys() & seconds[0].keys():
        first, second = ([each[name] for each in side] for side in (firsts, seconds))
        ratios = [after / before for before, after in zip(first, second, strict=True)]
        found[name] = {
            "first": round(statistics.median(first), 3),
            "second": round(statistics.median(second), 3),
            "ratio": round(statistics.median(ratios), 3),
            "least": round(min(ratios), 3),
            "most": round(max(ratios), 3),
        }
    return {name: found[name] for name in TITLES if name in found}


def columns(first: str, second: str) -> Sequence[Column]:
    """Of the table that compares these two."""
    return (
        Column("what", "", True),
        Column("first", first),
        Column("second", second),
        Column("ratio", "Ratio"),
        Column("least", "Least"),
        Column("most", "Most"),
    )


def rows(pairs: Sequence[Pair]) -> list[dict[str, str]]:
    """The comparison, one figure a line."""
    shown = []
    for name, figure in compared(pairs).items():
        digits = 0 if figure["first"] >= 10 else 2
        texts = {key: f"{figure[key]:,.{digits}f}" for key in ("first", "second")}
        ratios = {key: f"{figure[key]:.2f}" for key in ("ratio", "least", "most")}
        shown.append({"what": TITLES[name], **texts, **ratios})
    return shown


def warnings(pairs: Sequence[Pair], others_share: float | None) -> list[str]:
    """What makes the figures worth less."""
    said = []
    if len(pairs) < PAIRS:
        said.append(f"Fewer than {PAIRS} pairs say little: type --pairs {PAIRS}.")
    if others_share is not None and others_share > OTHERS_MAX:
        said.append(
            f"Other processes took {100 * others_share:.0f} % of this machine's processors; "
            "the ratios suffer less from that than the rest."
        )
    return said
