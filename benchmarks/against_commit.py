"""Compare this tree with an earlier commit: `python benchmarks/against_commit.py f83ea42 --json`.

The commit is unpacked into a temporary folder. Then `league bench` of both trees runs in turn, on
the same interpreter and without the files of document 001, so that both meet the same machine. A
ratio is new to old within one pair; printed are medians, with the least and the most. With the
defaults it takes about five minutes: two measurements a pair, each a few seconds longer than asked.
"""

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentleague.cli.output import Column, counted, print_json, print_rows, say

ROOT = Path(__file__).resolve().parents[1]
COMMIT = "f83ea42"
PAIRS_MIN = 5  # fewer say little on a machine that does other work, too
TITLES = {
    "cpu_us": "CPU us a match, in all",
    "cpu_us_manager": "CPU us a match, manager",
    "cpu_us_referee": "CPU us a match, referees",
    "cpu_us_player": "CPU us a match, players",
    "matches_per_second": "matches/s, durable",
    "ratio_to_bare_transport": "ratio to the bare pair",
}
COLUMNS = (
    Column("what", "", True),
    Column("old", "Old"),
    Column("new", "New"),
    Column("ratio", "New/old"),
    Column("least", "Least"),
    Column("most", "Most"),
)
Figures = Mapping[str, float]  # of one measurement, by their names


def main() -> None:
    """Measure both in turn, then print a table or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", nargs="?", default=COMMIT, help=f"{COMMIT} unless given")
    parser.add_argument("--pairs", type=int, default=PAIRS_MIN, help=f"{PAIRS_MIN} or more")
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement, about 20")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    try:
        commit = full_name(given.commit)
    except ValueError as error:
        parser.error(str(error))
    if given.pairs < 1:
        parser.error("--pairs must be 1 or more")
    with tempfile.TemporaryDirectory(prefix="against-commit-") as folder:
        unpack(commit, Path(folder))
        found = measure(Path(folder), given.pairs, given.seconds)
    if given.json:
        print_json({"commit": commit, **summary(found)})
        return
    print_rows(
        rows(found), COLUMNS, f"This tree against {commit[:7]}, {counted(len(found), 'pair')}"
    )
    for sentence in warnings(found):
        say(sentence)


def full_name(commit: str) -> str:
    """The whole name of a commit. Raises ValueError if this clone has none of that name."""
    asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}"]
    told = subprocess.run(["git", *asked], cwd=ROOT, capture_output=True, text=True, check=False)
    if told.returncode:
        raise ValueError(
            f"this clone has no commit {commit!r}; `git log --oneline` lists those it has"
        )
    return told.stdout.strip()


def unpack(commit: str, folder: Path) -> None:
    """Put the sources of a commit there, as if it were installed: its plug-ins are its own."""
    packed = folder / "commit.zip"
    archive = ["git", "archive", f"--output={packed}", commit, "src", "pyproject.toml"]
    subprocess.run(archive, cwd=ROOT, check=True)
    shutil.unpack_archive(packed, folder)
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = folder / "src" / f"{project['name']}-{project['version']}.dist-info"
    about.mkdir()
    name = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (about / "METADATA").write_text(name, encoding="utf-8")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


def measure(old: Path, pairs: int, seconds: float) -> list[tuple[Any, Any]]:
    """What `league bench` says of the old tree and of this one, pair by pair."""
    for tree in (old, ROOT):
        compileall.compile_dir(tree / "src", quiet=2)
    found = []
    for number in range(pairs):
        order = (old, ROOT) if number % 2 == 0 else (ROOT, old)  # Neither is always the first.
        told = {tree: bench(tree, seconds) for tree in order}
        found.append((told[old], told[ROOT]))
        cpu = [figures(each)["cpu_us"] for each in found[-1]]
        say(f"pair {number + 1}: {cpu[0]:,.0f} us CPU a match, now {cpu[1]:,.0f}")
    return found


def bench(tree: Path, seconds: float) -> Any:
    """The JSON of `league bench` of this tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-m", "agentleague", "bench"]

    def said(*options: str) -> str:
        return subprocess.run(
            [*command, *options],
            cwd=tree,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

    without_files = ["--no-files"] if "--no-files" in said("--help") else []  # Else it has none.
    return json.loads(said("--seconds", str(seconds), "--json", "--quiet", *without_files))


def figures(told: Any) -> Figures:
    """What is compared, of one measurement."""
    cpu = told["cpu_us_per_match"]
    return {
        "cpu_us": sum(cpu.values()),
        **{f"cpu_us_{role}": cpu[role] for role in cpu},
        **{name: told[name] for name in ("matches_per_second", "ratio_to_bare_transport")},
    }


def summary(found: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    """The comparison as JSON: medians of both, and of the ratios with the least and the most."""
    olds, news = ([figures(pair[side]) for pair in found] for side in (0, 1))
    compared = {}
    for name in olds[0]:
        before, after = ([each[name] for each in side] for side in (olds, news))
        ratios = [new / old for old, new in zip(before, after, strict=True)]
        compared[name] = {
            "old": round(statistics.median(before), 3),
            "new": round(statistics.median(after), 3),
            "ratio": round(statistics.median(ratios), 3),
            "least": round(min(ratios), 3),
            "most": round(max(ratios), 3),
        }
    machine = found[-1][1]["machine"]
    said = list(warnings(found))
    return {"pairs": len(found), "figures": compared, "machine": machine, "warnings": said}


def rows(found: Sequence[tuple[Any, Any]]) -> list[dict[str, str]]:
    """The comparison as a table."""
    shown = []
    for name, figure in summary(found)["figures"].items():
        digits = 0 if figure["old"] >= 10 else 2
        texts = {key: f"{figure[key]:,.{digits}f}" for key in ("old", "new")}
        ratios = {key: f"{figure[key]:.2f}" for key in ("ratio", "least", "most")}
        shown.append({"what": TITLES[name], **texts, **ratios})
    return shown


def warnings(found: Sequence[tuple[Any, Any]]) -> Iterator[str]:
    """What makes the figures worth less."""
    if len(found) < PAIRS_MIN:
        yield f"Fewer than {PAIRS_MIN} pairs say little: type --pairs {PAIRS_MIN}."
    others = [new["others_share"] for _, new in found if new.get("warning")]
    if others:
        yield (
            f"Other processes took up to {100 * max(others):.0f} % of this machine's processors; "
            "the ratios suffer less from that than the rest."
        )


if __name__ == "__main__":
    main()
