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
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from agentleague.bench.measure import OtherProcesses
from agentleague.cli.output import counted, print_json, print_rows, say
from pairs import PAIRS, Pair, columns, compared, figures, rows, warnings

ROOT = Path(__file__).resolve().parents[1]
COMMIT = "f83ea42"


def main() -> None:
    """Measure both in turn, then print a table or JSON."""
    parser = commit_parser(__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"{PAIRS} or more")
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement, about 20")
    given = parser.parse_args()
    if given.pairs < 1:
        parser.error("--pairs must be 1 or more")
    commit, others = given.commit, OtherProcesses()
    with tempfile.TemporaryDirectory(prefix="against-commit-") as folder:
        unpack(commit, Path(folder))
        found = measure(Path(folder), given.pairs, given.seconds)
    said = warnings(found, others.share())
    if given.json:
        machine = found[-1][1]["machine"]
        shown = {"figures": compared(found), "machine": machine, "warnings": said}
        print_json({"commit": commit, "pairs": len(found), **shown})
        return
    title = f"This tree against {commit[:7]}, {counted(len(found), 'pair')}"
    print_rows(rows(found), columns(commit[:7], "This tree"), title)
    for sentence in said:
        say(sentence)


def commit_parser(description: str | None) -> argparse.ArgumentParser:
    """Reads the commit to compare with, and --json."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    about = f"{COMMIT} unless given"
    parser.add_argument("commit", nargs="?", default=COMMIT, type=full_name, help=about)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def full_name(commit: str) -> str:
    """The whole name of a commit. Raises ArgumentTypeError if this clone has none of that name."""
    asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}"]
    told = subprocess.run(["git", *asked], cwd=ROOT, capture_output=True, text=True, check=False)
    if told.returncode:
        raise argparse.ArgumentTypeError(
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


def measure(old: Path, pairs: int, seconds: float) -> list[Pair]:
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


if __name__ == "__main__":
    main()
