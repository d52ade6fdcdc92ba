"""What `league bench` says of its figures: rows of a table, sentences, and JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from agentleague.bench.endurance import GROWTH_MB, PARTS, SLOWING, Endurance
from agentleague.bench.league_run import REPLY_SECONDS, Outcome, within
from agentleague.bench.machine import Machine
from agentleague.bench.measure import Bench, Figure
from agentleague.bench.scale import RATIO_MAX, Step, growth
from agentleague.cli.output import Column, counted

ROLES = {"manager": "manager", "referee": "referees", "player": "players"}
BENCH = (
    Column("what", "", True),
    Column("median", "Median"),
    Column("least", "Least"),
    Column("most", "Most"),
)
SCALE = (
    Column("players", "Players"),
    Column("startup", "Start s"),
    Column("rounds", "Rounds"),
    Column("round", "Round s"),
    Column("rate", "Matches/s"),
    Column("cpu", "CPU us/match"),
    Column("manager", "manager"),
    Column("referee", "referees"),
    Column("player", "players"),
    Column("memory", "Manager MB"),
    Column("broadcast", "Bytes/message"),
    Column("sent", "Sent MB/round"),
)
PROFILE = (Column("percent", "%"), Column("function", "Function", True))
HOTTEST = 10  # functions that are named


def bench_title(bench: Bench, machine: Machine) -> str:
    """Who played where."""
    plan = bench.plan
    processes = counted(plan.player_processes, "process", "processes")
    return (
        f"{counted(plan.players, 'player')} in {processes}, "
        f"{counted(plan.referees, 'referee')} in "
        f"one, {counted(len(bench.samples), 'league')}; {_machine(machine)}"
    )


def bench_rows(bench: Bench) -> list[dict[str, str]]:
    """The figures, one a line."""
    half, most = (within(bench.alone, percent) * 1e3 for percent in (50, 99))
    rows = [
        _row("matches/s, durable", bench.figure("matches_per_second")),
        _row("messages/s", bench.figure("messages_per_second")),
        _row("messages a match", bench.figure("messages_per_match"), 1),
        _row("matches/s of a naked HTTP pair", bench.figure("bare_matches_per_second")),
        _row("ratio to the naked pair", bench.figure("ratio"), 2),
        {"what": "one match alone, ms, half within", "median": f"{half:,.2f}"},
        {"what": "one match alone, ms, 99 % within", "median": f"{most:,.2f}"},
        _row("a match under load, ms, half within", bench.figure("match_ms_p50"), 1),
        _row("a match under load, ms, 99 % within", bench.figure("match_ms_p99"), 1),
    ]
    for role, figure in bench.by_role("cpu_us_per_match").items():
        rows.append(_row(f"CPU us a match, {ROLES[role]}", figure))
    for role, figure in bench.by_role("peak_mb").items():
        rows.append(_row(f"peak memory MB of a process, {ROLES[role]}", figure))
    rows.append(_row("journal bytes a match", bench.figure("journal_bytes_per_match")))
    return rows


def summary(bench: Bench) -> dict[str, Any]:
    """The same as JSON; `spread` has the least and the most of each figure."""
    names = {
        "matches_per_second": 1,
        "messages_per_second": 1,
        "messages_per_match": 2,
        "bare_matches_per_second": 1,
        "match_ms_p50": 3,
        "match_ms_p99": 3,
        "journal_bytes_per_match": 1,
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
        "spread": {
            "ratio_to_bare_transport": [round(ratio.least, 3), round(ratio.most, 3)],
            **{name: [round(f.least, 3), round(f.most, 3)] for name, f in figures.items()},
        },
    }


def profile_title(role: str, outcome: Outcome, machine: Machine) -> str:
    """Whose time it was."""
    cpu = outcome.per_match("cpu_seconds")[role] * 1e6
    return f"{ROLES[role].capitalize()}, {cpu:,.0f} us CPU a match; {_machine(machine)}"


def profile_rows(outcome: Outcome) -> dict[str, list[dict[str, Any]]]:
    """By role, the functions that used most of its time themselves."""
    return {
        role: [
            {"percent": round(100 * times / sum(hits.values()), 1), "function": name}
            for name, times in sorted(hits.items(), key=lambda each: -each[1])[:HOTTEST]
        ]
        for role, hits in outcome.hits.items()
    }


def plain_profile(outcome: Outcome) -> dict[str, Any]:
    """As JSON has it, with how often it was looked."""
    return {
        "matches": outcome.matches,
        "cpu_us_per_match": _rounded(
            {role: cpu * 1e6 for role, cpu in outcome.per_match("cpu_seconds").items()}
        ),
        "looks": {role: sum(hits.values()) for role, hits in outcome.hits.items()},
        "hottest": profile_rows(outcome),
    }


def scale_title(machine: Machine) -> str:
    """Where."""
    return f"Leagues by size, players in 4 processes; {_machine(machine)}"


def step_rows(steps: Sequence[Step]) -> list[dict[str, str]]:
    """One league a line."""
    return [
        {
            "players": f"{step.players:,}",
            "startup": f"{step.startup_seconds:.1f}",
            "rounds": f"{step.rounds:,}",
            "round": f"{step.round_seconds:.3f}",
            "rate": f"{step.matches_per_second:,.0f}",
            "cpu": f"{step.cpu_us:,.0f}",
            **{role: f"{cpu:,.0f}" for role, cpu in step.cpu_us_per_match.items()},
            "memory": f"{step.peak_mb['manager']:.0f}",
            "broadcast": f"{step.broadcast_bytes:,.0f}",
            "sent": f"{step.round_broadcast_mb:,.2f}",
        }
        for step in steps
    ]


def plain_steps(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """As JSON has them."""
    return [_rounded({**asdict(step), "cpu_us": step.cpu_us}) for step in steps]


def scale_verdicts(steps: Sequence[Step]) -> Iterator[str]:
    """Whether a match costs as much in a large league."""
    ratio = growth(steps)
    if ratio is not None:
        word = "passed" if ratio <= RATIO_MAX else "failed"
        yield (
            f"CPU of a match, 1,000 players against 10: {ratio:.2f} times, {word} "
            f"(at most {RATIO_MAX})."
        )


def endurance_verdicts(run: Endurance) -> Iterator[str]:
    """What became of memory and speed, and whether that is as it should be."""
    yield f"{counted(run.matches, 'match', 'matches')} in {run.glances[-1].seconds:,.0f} s."
    for role, grown in run.grown_mb().items():
        word = "passed" if grown <= GROWTH_MB else "failed"
        early, late = run.part(1)[0], run.part(PARTS - 1)[-1]
        each = grown * 1e6 / max(1, late.matches - early.matches)
        yield (
            f"memory, {ROLES[role]}: {grown:+.1f} MB from the second tenth to the last "
            f"({each:,.0f} bytes a match), {word} (at most {GROWTH_MB:g} MB)."
        )
    word = "passed" if run.is_steady else "failed"
    first, last = run.cpu_us_per_match(1), run.cpu_us_per_match(PARTS - 1)
    yield (
        f"CPU of a match: {first:,.0f} us in the second tenth, {last:,.0f} us in the last "
        f"({run.slowing:+.1%}), {word} (at most {SLOWING:.0%} more)."
    )
    yield (
        f"journal: {run.journal_bytes_per_match:,.0f} bytes a match; "
        f"a restart reads it in {run.replay_seconds:.1f} s."
    )


def plain_endurance(run: Endurance, players: int) -> dict[str, Any]:
    """As JSON has it; of the glances, a hundred at most."""
    step = max(1, len(run.glances) // 100)
    return {
        "players": players,
        "matches": run.matches,
        "seconds": round(run.glances[-1].seconds, 1),
        "grown_mb": _rounded(run.grown_mb()),
        "is_flat": run.is_flat,
        "cpu_us_per_match": [round(run.cpu_us_per_match(number), 1) for number in range(PARTS)],
        "is_steady": run.is_steady,
        "journal_bytes_per_match": round(run.journal_bytes_per_match, 1),
        "replay_seconds": round(run.replay_seconds, 3),
        "glances": [_rounded(asdict(glance)) for glance in run.glances[::step]],
    }


def _machine(machine: Machine) -> str:
    told = f"{counted(machine.cores, 'core')}, {machine.system}, {machine.python}"
    return f"{told}, journal on {machine.file_system}" if machine.file_system else told


def _row(what: str, figure: Figure, digits: int = 0) -> dict[str, str]:
    return {"what": what, **{k: f"{v:,.{digits}f}" for k, v in figure._asdict().items()}}


def _medians(figures: Mapping[str, Figure]) -> dict[str, float]:
    return {role: round(figure.median, 1) for role, figure in figures.items()}


def _rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    def shorter(value: Any) -> Any:
        if isinstance(value, dict):
            return _rounded(value)
        return round(value, 3) if isinstance(value, float) else value

    return {name: shorter(value) for name, value in values.items()}
