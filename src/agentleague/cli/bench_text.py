"""The figures of `league bench` as rows of a table and as JSON."""

from collections.abc import Mapping
from typing import Any

from agentleague.bench.league_run import REPLY_SECONDS, Measurement, within
from agentleague.bench.measure import Bench, Figure, Machine
from agentleague.cli.output import Column, counted

ROLES = {"manager": "manager", "referee": "referees", "player": "players"}
BENCH = (
    Column("what", "", True),
    Column("median", "Median"),
    Column("least", "Least"),
    Column("most", "Most"),
)
PROFILE = (Column("percent", "%"), Column("function", "Function", True))
HOTTEST = 10  # functions that are named
OTHERS_MAX = 0.05  # of the processors' time; beyond that a measurement is worth less
PGO = {True: "built with PGO", False: "built without PGO", None: "PGO unknown"}


def bench_title(bench: Bench, machine: Machine) -> str:
    """Who played, in how many processes, on what machine."""
    plan = bench.plan
    processes = counted(plan.player_processes, "process", "processes")
    return (
        f"{counted(plan.players, 'player')} in {processes}, "
        f"{counted(plan.referees, 'referee')} in "
        f"one, {counted(len(bench.samples), 'league')}; {machine_text(machine)}"
    )


def bench_rows(bench: Bench) -> list[dict[str, str]]:
    """The figures, one a line."""
    half, most = (within(bench.alone, percent) * 1e3 for percent in (50, 99))
    rows = [
        _row("matches/s, durable", bench.figure("matches_per_second")),
        _row("messages/s", bench.figure("messages_per_second")),
        _row("messages a match", bench.figure("messages_per_match"), 1),
        _row("matches/s of a bare HTTP pair", bench.figure("bare_matches_per_second")),
        _row("ratio to the bare pair", bench.figure("ratio"), 2),
        {"what": "one match alone, ms, half within", "median": f"{half:,.2f}"},
        {"what": "one match alone, ms, 99 % within", "median": f"{most:,.2f}"},
        _row("a match under load, ms, half within", bench.figure("match_ms_p50"), 1),
        _row("a match under load, ms, 99 % within", bench.figure("match_ms_p99"), 1),
    ]
    rows.append(_row("CPU us a match, in all", bench.figure("cpu_us")))
    for role, figure in bench.by_role("cpu_us_per_match").items():
        rows.append(_row(f"CPU us a match, {ROLES[role]}", figure))
    for role, figure in bench.by_role("peak_mb").items():
        rows.append(_row(f"peak memory MB of a process, {ROLES[role]}", figure))
    rows.append(_row("journal bytes a match", bench.figure("journal_bytes_per_match")))
    return rows


def summary(bench: Bench) -> dict[str, Any]:
    """The figures as JSON; `spread` has the least and the most of each."""
    names = {
        "matches_per_second": 1,
        "messages_per_second": 1,
        "messages_per_match": 2,
        "bare_matches_per_second": 1,
        "match_ms_p50": 3,
        "match_ms_p99": 3,
        "journal_bytes_per_match": 1,
        "cpu_us": 1,
    }
    figures = {name: bench.figure(name) for name in names}
    ratio = bench.figure("ratio")
    return {
        "players": bench.plan.players,
        "referees": bench.plan.referees,
        "player_processes": bench.plan.player_processes,
        "matches": sum(sample.matches for sample in bench.samples),
        "leagues": len(bench.samples),
        "reply_seconds": REPLY_SECONDS,
        **{name: round(figures[name].median, digits) for name, digits in names.items()},
        "ratio_to_bare_transport": round(ratio.median, 3),
        "match_alone_ms_p50": round(within(bench.alone, 50) * 1e3, 3),
        "match_alone_ms_p99": round(within(bench.alone, 99) * 1e3, 3),
        "cpu_us_per_match": _medians(bench.by_role("cpu_us_per_match")),
        "peak_mb": _medians(bench.by_role("peak_mb")),
        "others_share": None if bench.others_share is None else round(bench.others_share, 3),
        "warning": warning(bench),
        "spread": {
            "ratio_to_bare_transport": [round(ratio.least, 3), round(ratio.most, 3)],
            **{name: [round(f.least, 3), round(f.most, 3)] for name, f in figures.items()},
        },
    }


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
    text = f"{counted(machine.cores, 'core')}, {machine.system}, {machine.python} "
    text += f"({PGO[machine.is_pgo]})"
    return f"{text}, journal on {machine.file_system}" if machine.file_system else text


def _row(what: str, figure: Figure, digits: int = 0) -> dict[str, str]:
    return {"what": what, **{k: f"{v:,.{digits}f}" for k, v in figure._asdict().items()}}


def _medians(figures: Mapping[str, Figure]) -> dict[str, float]:
    return {role: round(figure.median, 1) for role, figure in figures.items()}
