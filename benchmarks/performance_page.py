"""Write docs/performance.md and its charts from docs/performance.json: what was measured.

And docs/explanation/one-request-one-call.md: what was counted.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

from charts import bars, chains, lines
from page_parts import page, table
from pairs import TITLES
from request_path import LAYERS, ROLE, total

MADE = "<!-- Made from performance.json by `make figures`; do not edit. -->"
ROLES = {"manager": "manager", "referee": "referees", "player": "players"}
COLUMNS = 100
PGO = {True: " built with PGO", False: " built without PGO"}
WHAT = {"request": "a request to a player", "call": "a call of a referee"}
WHEN = {"before": "then", "after": "now"}
Found = dict[str, Any]


class Goal(NamedTuple):
    """A goal: what, how much, and the path of its figure."""

    what: str
    words: str  # OR_MORE, …
    limit: float
    unit: str
    digits: int
    path: str

    def shown(self, value: float) -> str:
        """A figure as the table has it."""
        return f"{value:,.{self.digits}f}{self.unit}"

    @property
    def wanted(self) -> str:
        """The limit in words."""
        return self.words.format(f"{self.limit:,}{self.unit}")

    def is_reached(self, value: float) -> bool:
        """Whether this is as much, or as little, as it should be."""
        if self.words == OR_MORE:
            return value >= self.limit
        return value < self.limit or (self.words == AT_MOST and value == self.limit)


OR_MORE, AT_MOST, UNDER = "{} or more", "at most {}", "under {}"
GOALS = {  # by the command that finds them
    "league bench": (
        Goal(
            "durable matches a second, 100 players",
            *(OR_MORE, 1_200, "", 0, "bench matches_per_second"),
        ),
        Goal(
            "the same as a part of what a bare HTTP pair does",
            *(OR_MORE, 0.35, "", 2, "bench ratio_to_bare_transport"),
        ),
        Goal(
            "one match alone, half of them within",
            *(UNDER, 3, " ms", 1, "bench match_alone_ms_p50"),
        ),
    ),
    "python benchmarks/against_commit.py": (
        Goal("CPU a match, as a part of that at f83ea42", AT_MOST, 0.6, "", 2, "cpu_us ratio"),
        Goal("CPU a match of the manager, likewise", AT_MOST, 0.5, "", 2, "cpu_us_manager ratio"),
    ),
    "python benchmarks/scale.py": (
        Goal("CPU a match, 1,000 players against 10", AT_MOST, 1.3, " times", 2, "growth"),
        Goal("10,000 players, a round of 5,000 matches", UNDER, 15, " s", 1, "large round_seconds"),
        Goal("until they have registered", UNDER, 20, " s", 1, "large startup_seconds"),
        Goal("memory of their manager", UNDER, 400, " MB", 0, "large peak_mb manager"),
    ),
    "league demo --json": (
        Goal("`league demo` with 4 players", UNDER, 2, " s", 2, "small demo_seconds"),
        Goal("of which the league", UNDER, 0.2, " s", 2, "small demo_league_seconds"),
    ),
    "python benchmarks/performance.py": (
        Goal("`import agentleague` for a player", UNDER, 150, " ms", 0, "small import_ms"),
        Goal("memory of its process when it plays", UNDER, 30, " MB", 0, "small loaded_mb"),
        Goal("installed with dependencies", UNDER, 40, " MB", 1, "small install_mb"),
    ),
    "python benchmarks/endurance.py": (
        Goal("restart with 100,000 results", UNDER, 3, " s", 1, "restart_seconds"),
    ),
}


def pages(found: Found) -> dict[str, str]:
    """The page and its charts, by file name."""
    return {
        "performance.md": page(
            "# How fast it is",
            MADE,
            _where(found["bench"]["machine"]),
            fill(found["bench"].get("warning", ""), COLUMNS),
            table(
                ("what", "goal", "measured", "reached", "with"),
                _goal_rows(found),
            ),
            _loading_text(found["small"]),
            _HOW_TO_MEASURE,
            table(("what", "measured by", "takes"), _REPEATED),
            "## A league of 100 players",
            _bench_text(found["bench"]),
            "## Beside an earlier version",
            _commit_text(found["commit"]),
            "## Beside a league on other libraries",
            _alternatives_text(found["alternatives"]),
            "## Where the time goes",
            _profile_text(found["profile"]),
            "## From 10 players to 10,000",
            _scale_text(found["scale"]["steps"]),
            "## A long run",
            _endurance_text(found["endurance"]),
            _WHAT_KEEPS_IT_SO,
        ),
        **_path_pages(found["path"]),
        "performance-cpu.svg": _cpu_chart(found["scale"]["steps"]),
        "performance-size.svg": _size_chart(found["scale"]["steps"]),
        "performance-memory.svg": _memory_chart(found["endurance"]),
    }


_HOW_TO_MEASURE = """
To measure on your own machine: `league bench` takes twenty seconds. In a clone, `make performance`
measures all of this for about 25 minutes and writes this page anew; `make performance ARGS="bench
commit"` measures these parts only. The scripts print a table by themselves, and take `--help`. All
of them say when other processes took the processors from what they measured.
"""

_REPEATED = (
    ("`bench`: one size, beside a bare HTTP pair", "`league bench --seconds 60`", "a minute"),
    ("`profile`: the hottest functions", "`league bench --profile`", "15 s"),
    ("`commit`: against f83ea42", "`python benchmarks/against_commit.py`", "5 min"),
    ("`alternatives`: other libraries", "`python benchmarks/alternatives.py`", "3 min"),
    ("`path`: one request, one call", "`python benchmarks/request_path.py`", "30 s"),
    ("`scale`: from 10 players to 10,000", "`python benchmarks/scale.py`", "3 min"),
    ("`endurance`: a long run", "`python benchmarks/endurance.py --seconds 600`", "10 min"),
    ("`small`: demo, import, installation", "`make performance ARGS=small`", "20 s"),
)

_AGAINST_A_COMMIT = """
`league bench` of this tree and of an earlier commit in turn, on the same interpreter, both without
the files of document 001. A ratio is that of one pair.
"""

_OTHER_LIBRARIES = """
What somebody would write who needs a league and knows the usual libraries: the same agents in as
many processes, the same exchanges of a match in the same order, on Starlette, uvicorn with uvloop
and httptools, and httpx with kept connections; a SQLite commit for each result
(`benchmarks/alternative`). It has no deadlines, retries or limits, checks nothing that
agents say, proves nothing, and does not go on after a crash. Both played in turn.
"""

_ONE_REQUEST = """
A match has fourteen exchanges, so what lies on the way of one decides what a match costs. Here it
is counted, in this tree (now) and in an earlier commit (then): calls of Python functions of this
package, and values, that is objects of its classes.

- **A request** is one GAME_INVITATION at a player, from its bytes to those of the answer. *HTTP*
  finds the request in the bytes, the *codec* makes a message of its body, the *host* hands it to
  the *role*, which accepts; the answer goes back through codec and HTTP.
- **A call** is one exchange of a referee: the role says whom to call, the host passes it on, the
  codec writes it, HTTP sends it, and the answer comes back the same way. It is half of what a
  referee does when both players have joined: it reads two answers and makes two calls.

What C code does has no calls of Python: the parser of HTTP, the JSON library, the event loop.
`python benchmarks/request_path.py --functions` names every call in its order.
"""

_HOW_IT_IS_MEASURED = """
The manager, the referees and the players have processes of their own, each player its own port, and
every result is on disk before anybody hears of it. Between the leagues two bare processes exchange
as many requests of the same sizes and do nothing else. Time, messages, bytes and CPU are counted
from the start of a league to its end, without the registrations. A match is timed by its referee,
from the first invitation to the answer to its report. Agents have 60 seconds for an answer
(`reply_seconds`), not 10, so that a slow machine is measured all the same.
"""

_HOW_IT_IS_SAMPLED = """
One such league, looked at whenever the manager's or the referees' process had used a few
milliseconds of CPU (`league bench --profile`). C code counts for the function that called it; the
event loop and the kernel, to wait and to read, for `asyncio.runners.Runner.run`.
"""

_WHAT_SIZES_ARE = """
Players in four processes. Each league is ended after about 5,000 matches, since one of 10,000
players has fifty million. The last two columns are what the manager sends: a table fills at most
10 KB, to every receiver.
"""

_WHAT_KEEPS_IT_SO = """## What keeps it so

No test looks at a clock. `tests/bench` counts what one match costs (requests, bytes, rows and
commits of the journal, calls of functions) against a table of ceilings, in leagues of 10, 100 and
1,000 players, and that no request has a task of its own.
"""


def _where(machine: Found) -> str:
    load, kind = machine["load"], machine.get("file_system")
    plural = "process" if load == 1 else "processes"
    busy = f" When it began, {load:g} {plural} wanted to run." if load is not None else ""
    journal = f" The journal lay on {kind}." if kind else ""
    python = machine["python"] + PGO.get(machine.get("is_pgo"), "")
    return fill(
        f"Measured on a machine with {machine['cores']} cores ({machine['system']}, "
        f"{python}), all processes on it, over loopback.{journal}{busy} Other work "
        "on the machine makes every figure worse but for the counts and, in part, the ratios.",
        COLUMNS,
    )


def _loading_text(small: Found) -> str:
    return fill(
        f"Most of what a player needs is loaded when it runs, not when it is imported: all of it, "
        f"with asyncio and uvloop, takes {small['loaded_ms']:,.0f} ms of CPU.",
        COLUMNS,
    )


def _goal_rows(found: Found) -> Iterator[tuple[str, ...]]:
    figures = {**found, **_derived(found)}
    for command, goals in GOALS.items():
        for goal in goals:
            value = _at(figures, goal.path.split())
            shown, reached = "not measured", ""
            if value is not None:
                shown, reached = goal.shown(value), "yes" if goal.is_reached(value) else "no"
            yield goal.what, goal.wanted, shown, reached, f"`{command}`"


def _derived(found: Found) -> Found:
    """Figures that are made from others, where those are there."""
    steps = {step["players"]: step for step in found["scale"]["steps"]}
    run, derived = found["endurance"], {"large": steps.get(10_000, {})}
    derived |= found["commit"]["figures"]
    derived["restart_seconds"] = run["replay_seconds"] / run["matches"] * 1e5
    if {10, 1_000} <= steps.keys():
        derived["growth"] = steps[1_000]["cpu_us"] / steps[10]["cpu_us"]
    return derived


def _at(found: Any, path: Sequence[str]) -> Any:
    """What stands there, if anything does."""
    for name in path:
        found = found.get(name, {})
    return None if found == {} else found


def _bench_text(bench: Found) -> str:
    def row(what: str, name: str, shown: str) -> tuple[str, ...]:
        least, most = bench["spread"].get(name, ("", ""))
        spread = f"{shown.format(least)} to {shown.format(most)}" if least != "" else ""
        return what, shown.format(bench[name]), spread

    rows = [
        row("matches/s, durable", "matches_per_second", "{:,.0f}"),
        row("messages/s", "messages_per_second", "{:,.0f}"),
        row("messages a match", "messages_per_match", "{:.1f}"),
        row("matches/s of a bare HTTP pair", "bare_matches_per_second", "{:,.0f}"),
        row("ratio", "ratio_to_bare_transport", "{:.2f}"),
        row("one match alone, ms, half within", "match_alone_ms_p50", "{:.2f}"),
        row("one match alone, ms, 99 % within", "match_alone_ms_p99", "{:.2f}"),
        row("a match under load, ms, half within", "match_ms_p50", "{:.1f}"),
        row("a match under load, ms, 99 % within", "match_ms_p99", "{:.1f}"),
        row("bytes of the journal a match", "journal_bytes_per_match", "{:,.0f}"),
    ]
    in_all = sum(bench["cpu_us_per_match"].values())
    rows.append(("CPU us a match, in all", f"{in_all:,.0f}", ""))
    for role, name in ROLES.items():
        cpu, peak = bench["cpu_us_per_match"][role], bench["peak_mb"][role]
        rows.append((f"CPU us a match, {name}", f"{cpu:,.0f}", ""))
        rows.append((f"peak memory of a process, MB, {name}", f"{peak:,.0f}", ""))
    return page(
        _HOW_IT_IS_MEASURED,
        table((f"median of {bench['leagues']} leagues", "", "least to most"), rows),
    )


def _commit_text(run: Found) -> str:
    return page(_AGAINST_A_COMMIT, _pairs_table(run, run["commit"][:7], "this tree"))


def _alternatives_text(run: Found) -> str:
    return page(_OTHER_LIBRARIES, _pairs_table(run, "Starlette, uvicorn, httpx", "agentleague"))


def _pairs_table(run: Found, first: str, second: str) -> str:
    rows = []
    for name in (each for each in TITLES if each in run["figures"]):
        figure = run["figures"][name]
        shown = "{:,.2f}" if figure["first"] < 10 else "{:,.0f}"
        spread = f"{figure['least']:.2f} to {figure['most']:.2f}"
        both = [shown.format(figure[key]) for key in ("first", "second")]
        rows.append((TITLES[name], *both, f"{figure['ratio']:.2f}", spread))
    titles = (f"median of {run['pairs']} pairs", first, second, "ratio", "least to most")
    return page(table(titles, rows), fill(" ".join(run["warnings"]), COLUMNS))


def _path_pages(path: Found) -> dict[str, str]:
    """What one request and one call pass through, with its pictures."""
    counted = {f"{WHAT[what]}, {WHEN[when]}": path[when][what] for what in WHAT for when in WHEN}
    layers = (*LAYERS, ROLE)
    rows = [
        (
            name,
            f"{each['calls']:g}",
            *(f"{each['layers'][layer]:g}" for layer in layers),
            f"{total(each):g}",
        )
        for name, each in counted.items()
    ]
    labels = [f"{what}, {WHEN[when]}" for what in WHAT for when in WHEN]
    parts = {layer: [each["layers"][layer] for each in counted.values()] for layer in layers}
    chain = {
        f"{name}: {total(each):g}": [
            value if number == 1 else f"{value} x {number:g}" for value, number in each["values"]
        ]
        for name, each in counted.items()
    }
    text = page(
        "# What one request and one call pass through",
        MADE.replace("performance.json", "../performance.json"),
        _ONE_REQUEST,
        table((f"then: {path['commit'][:7]}", "calls", *layers, "values"), rows),
        "![Python calls by layer](one-request-calls.svg)",
        "![The values, in the order in which they are made](one-request-values.svg)",
    )
    title = "Values, in the order in which they are made"
    return {
        "explanation/one-request-one-call.md": text,
        "explanation/one-request-calls.svg": bars("Python calls", "calls", labels, parts),
        "explanation/one-request-values.svg": chains(title, "objects of our classes", chain),
    }


def _profile_text(profile: Found) -> str:
    parts = [_HOW_IT_IS_SAMPLED]
    for role, hottest in profile["hottest"].items():
        cpu, looks = profile["cpu_us_per_match"][role], profile["looks"][role]
        title = f"{ROLES[role]}: {cpu:,.0f} us a match, {looks:,} looks"
        rows = [(f"`{row['function']}`", f"{row['percent']:.1f} %") for row in hottest]
        parts.append(table((title, "own time"), rows))
    return page(*parts)


def _scale_text(steps: list[Found]) -> str:
    titles = (
        "players",
        "start s",
        "rounds",
        "round s",
        "matches/s",
        "CPU us a match",
        "manager MB",
        "bytes a message",
        "sent MB a round",
    )
    rows = [
        (
            f"{step['players']:,}",
            f"{step['startup_seconds']:.1f}",
            f"{step['rounds']:,}",
            f"{step['round_seconds']:.3f}",
            f"{step['matches_per_second']:,.0f}",
            f"{step['cpu_us']:,.0f}",
            f"{step['peak_mb']['manager']:,.0f}",
            f"{step['broadcast_bytes']:,.0f}",
            f"{step['round_broadcast_mb']:,.2f}",
        )
        for step in steps
    ]
    return page(
        _WHAT_SIZES_ARE,
        table(titles, rows),
        "![CPU of a match by size of the league](performance-cpu.svg)",
        "![Memory, start and round by size of the league](performance-size.svg)",
    )


def _endurance_text(run: Found) -> str:
    memory = "is flat" if run["is_flat"] else "grows"
    speed = "cost no more in the end" if run["is_steady"] else "slow down"
    grown = ", ".join(f"{ROLES[role]} {mb:+.1f} MB" for role, mb in run["grown_mb"].items())
    first, last = run["cpu_us_per_match"][1], run["cpu_us_per_match"][-1]
    text = fill(
        f"One league of {run['players']} players for {run['seconds']:,.0f} s, "
        f"{run['matches']:,} matches. Memory {memory} (from the second tenth of the time to the "
        f"last: {grown}); matches {speed} ({first:,.0f} us of CPU in the second tenth, "
        f"{last:,.0f} in the last). The journal has "
        f"{run['journal_bytes_per_match']:,.0f} bytes a match; a restart reads it in "
        f"{run['replay_seconds']:.1f} s.",
        COLUMNS,
    )
    return page(text, "![Memory over time](performance-memory.svg)")


def _cpu_chart(steps: list[Found]) -> str:
    parts = {
        name: [step["cpu_us_per_match"][role] for step in steps] for role, name in ROLES.items()
    }
    labels = [f"{step['players']:,} players" for step in steps]
    return bars("CPU of a match", "microseconds", labels, parts)


def _size_chart(steps: list[Found]) -> str:
    def over(value: Callable[[Found], float]) -> list[tuple[float, float]]:
        return [(step["players"], max(value(step), 0.001)) for step in steps]

    series = {
        "manager, MB": over(lambda step: step["peak_mb"]["manager"]),
        "start, s": over(lambda step: step["startup_seconds"]),
        "round, s": over(lambda step: step["round_seconds"]),
    }
    title = "Memory, start and round by size of the league"
    return lines(title, "logarithmic", series, "players", logarithmic=True)


def _memory_chart(run: Found) -> str:
    series = {
        name: [(sample["seconds"], sample["resident_mb"][role]) for sample in run["samples"]]
        for role, name in ROLES.items()
    }
    return lines("Memory of a long league", "MB, all processes of a kind", series, "seconds")


def main(file: Path) -> None:
    """Write them beside the file."""
    for name, text in pages(json.loads(file.read_text(encoding="utf-8"))).items():
        (file.parent / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
