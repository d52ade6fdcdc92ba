"""The figures of `league bench` as rows of a table and as JSON."""

from collections.abc import Sequence
from typing import Any

from agentleague.bench.league_run import REPLY_SECONDS, Measurement, within
from agentleague.bench.measure import Bench, Figure, Machine
from agentleague.cli.output import Column, counted

ROLES = {"manager": "manager", "referee": "referees", "player": "players"}
BENCH = (Column("what", "", True), *(Column(name, name.capitalize()) for name in Figure._fields))
FIGURES = {  # by name: what it is, and its digits
    "matches_per_second": ("matches/s, durable", 0),
    "messages_per_second": ("messages/s", 0),
    "messages_per_match": ("messages a match", 1),
    "bare_matches_per_second": ("matches/s of a bare HTTP pair", 0),
    "ratio_to_bare_transport": ("ratio to the bare pair", 2),
    "match_ms_p50": ("a match under load, ms, half within", 1),
    "match_ms_p99": ("a match under load, ms, 99 % within", 1),
    "cpu_us": ("CPU us a match, in all", 0),
    **{f"cpu_us_{role}": (f"CPU us a match, {name}", 0) for role, name in ROLES.items()},
    **{f"peak_mb_{role}": (f"peak memory MB, {name}", 0) for role, name in ROLES.items()},
    "journal_bytes_per_match": ("journal bytes a match", 0),
}
PROFILE = (Column("percent", "%"), Column("function", "Function", True))
HOTTEST = 10  # functions that are named
OTHERS_MAX = 0.05  # of the processors' time; beyond that a measurement is worth less
PGO = {True: "built with PGO", False: "built without PGO", None: "PGO unknown"}


def bench_title(bench: Bench, machine: Machine) -> str:
    """Who played, in how many processes, on what machine."""
    plan = bench.plan
    players = counted(plan.players, "player")
    processes = counted(plan.player_processes, "process", "processes")
    rest = f"{counted(plan.referees, 'referee')} in one, {counted(len(bench.samples), 'league')}"
    return f"{players} in {processes}, {rest}; {machine_text(machine)}"


def bench_rows(bench: Bench) -> list[dict[str, str]]:
    """The figures, one a line."""
    alone = [
        {"what": f"one match alone, ms, {words} within", "median": f"{value:,.2f}"}
        for words, value in zip(("half", "99 %"), _alone(bench), strict=True)
    ]
    return alone + [
        {"what": what, **{k: f"{v:,.{digits}f}" for k, v in bench.figure(name)._asdict().items()}}
        for name, (what, digits) in FIGURES.items()
    ]


def summary(bench: Bench) -> dict[str, Any]:
    """The figures as JSON; `spread` has the least and the most of each."""
    figures = {name: bench.figure(name) for name in FIGURES}
    medians = {name: round(figure.median, 3) for name, figure in figures.items()}
    half, most = _alone(bench)
    return {
        "players": bench.plan.players,
        "referees": bench.plan.referees,
        "player_processes": bench.plan.player_processes,
        "matches": sum(sample["matches"] for sample in bench.samples),
        "leagues": len(bench.samples),
        "reply_seconds": REPLY_SECONDS,
        "match_alone_ms_p50": round(half, 3),
        "match_alone_ms_p99": round(most, 3),
        **{name: value for name, value in medians.items() if not name.endswith(tuple(ROLES))},
        "cpu_us_per_match": {role: medians[f"cpu_us_{role}"] for role in ROLES},
        "peak_mb": {role: medians[f"peak_mb_{role}"] for role in ROLES},
        "others_share": None if bench.others_share is None else round(bench.others_share, 3),
        "warning": warning(bench),
        "spread": {name: [round(f.least, 3), round(f.most, 3)] for name, f in figures.items()},
    }


def _alone(bench: Bench) -> Sequence[float]:
    return [within(bench.alone, percent) * 1e3 for percent in (50, 99)]


def warning(bench: Bench) -> str:
    """Empty unless other processes took the processors from the league."""
    if bench.others_share is None or bench.others_share <= OTHERS_MAX:
        return ""
    return (
        f"Other processes took {100 * bench.others_share:.0f} % of this machine's processors: "
        "the figures are worse than its own. Measure again when it is idle."
    )


def profile_title(role: str, measured: Measurement, machine: Machine) -> str:
    """The role, its CPU time and the machine."""
    cpu = measured.per_match("cpu_seconds")[role] * 1e6
    return f"{ROLES[role].capitalize()}, {cpu:,.0f} us CPU a match; {machine_text(machine)}"


def profile_rows(measured: Measurement) -> dict[str, list[dict[str, Any]]]:
    """By role, the functions that used most of its time themselves."""
    return {
        role: [
            {"percent": round(100 * times / sum(hits.values()), 1), "function": name}
            for name, times in sorted(hits.items(), key=lambda each: -each[1])[:HOTTEST]
        ]
        for role, hits in measured.hits.items()
    }


def plain_profile(measured: Measurement) -> dict[str, Any]:
    """The profile as JSON; `looks` is the number of samples."""
    cpus = measured.per_match("cpu_seconds")
    return {
        "matches": measured.matches,
        "cpu_us_per_match": {role: round(cpu * 1e6, 3) for role, cpu in cpus.items()},
        "looks": {role: sum(hits.values()) for role, hits in measured.hits.items()},
        "hottest": profile_rows(measured),
    }


def machine_text(machine: Machine) -> str:
    """The machine in a few words."""
    python = f"{machine.python} ({PGO[machine.is_pgo]})"
    journal = f", journal on {machine.file_system}" if machine.file_system else ""
    return f"{counted(machine.cores, 'core')}, {machine.system}, {python}{journal}"
