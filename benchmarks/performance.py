"""Measure what docs/performance.md shows: `python benchmarks/performance.py docs/performance.json`.

Measures the named parts, or all: `bench`, `profile`, `commit`, `alternatives`, `path`, `scale`,
`endurance`, `small`.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

PARTS = ("bench", "profile", "commit", "alternatives", "path", "scale", "endurance", "small")
PYTHON = sys.executable
HERE = Path(__file__).parent
BENCH = [PYTHON, "-m", "agentleague", "bench"]
REPEATS = 10
COMPILED = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # as what is installed is
IMPORT = "from agentleague import Player"
LOAD = f"{IMPORT}; import agentleague.sdk.joining, uvloop"  # all that one needs to play


def main() -> None:
    """Measure, and keep the figures of the other parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all unless given")
    parser.add_argument("--seconds", default="60", help="of the bench")
    parser.add_argument("--long-seconds", default="600", help="of the long run")
    parser.add_argument("--largest", default="10000", help="players of the largest league")
    given = parser.parse_args()
    if not set(given.parts) <= set(PARTS):
        parser.error(f"the parts are {', '.join(PARTS)}")
    commands = {
        "bench": [*BENCH, "--seconds", given.seconds],
        "profile": [*BENCH, "--profile"],
        "commit": [PYTHON, HERE / "against_commit.py"],
        "alternatives": [PYTHON, HERE / "alternatives.py"],
        "path": [PYTHON, HERE / "request_path.py"],
        "scale": [PYTHON, HERE / "scale.py", "--players", given.largest],
        "endurance": [PYTHON, HERE / "endurance.py", "--seconds", given.long_seconds],
    }
    for part in given.parts or PARTS:
        print(f"{part} …", file=sys.stderr, flush=True)
        found = figures(commands[part]) if part in commands else small()
        known = json.loads(given.file.read_text()) if given.file.exists() else {}
        text = json.dumps({**known, part: found}, indent=1, sort_keys=True)
        given.file.write_text(text + "\n", encoding="utf-8")


def figures(command: list[Any]) -> Any:
    """The JSON of a benchmark; a long run that fails prints its figures all the same."""
    done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout)


def small() -> dict[str, Any]:
    """A demo, an import, and what is installed."""
    demos = [_demo() for _ in range(REPEATS)]
    nothing, importing, loading = (
        min(_timed(program) for _ in range(REPEATS)) * 1e3 for program in ("pass", IMPORT, LOAD)
    )
    return {
        "demo_seconds": round(min(wall for wall, _ in demos), 3),
        "demo_league_seconds": round(min(league for _, league in demos), 3),
        "import_ms": round(importing - nothing, 1),
        "loaded_ms": round(loading - nothing, 1),
        "loaded_mb": round(_player_memory(), 1),
        "install_mb": round(sum(map(_size, _needed("agentleague"))) / 1e6, 1),
    }


def _demo() -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="performance-") as folder:
        command = [PYTHON, "-m", "agentleague", "demo", "--json", "--quiet", "--dir", "cup"]
        began = time.perf_counter()
        said = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=folder).stdout
        return time.perf_counter() - began, json.loads(said)["seconds"]


def _timed(program: str) -> float:
    """CPU time, which depends little on other work on the machine."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PYTHON, "-c", program], check=True, env=COMPILED)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _player_memory() -> float:
    """The peak memory of a process that has loaded all of a player, in MB; 0 without /proc."""
    program = f"{LOAD}; print(open('/proc/self/status').read())"
    said = subprocess.run([PYTHON, "-c", program], stdout=subprocess.PIPE, text=True).stdout
    peak = re.search(r"VmHWM:\s+(\d+) kB", said)
    return int(peak.group(1)) * 1024 / 1e6 if peak else 0.0


def _needed(name: str) -> set[str]:
    """A distribution and its dependencies, without extras."""
    found, waiting = set(), [name]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            for wanted in metadata.requires(name) or ():
                if "extra ==" not in wanted:
                    waiting.append(re.match(r"[\w.-]+", wanted).group())
    return found


def _size(name: str) -> int:
    """Bytes of a distribution's files; of one installed in place, of its sources."""
    if name == "agentleague":
        files = (Path(__file__).parents[1] / "src").rglob("*.py")
        return sum(path.stat().st_size for path in files)
    places = (Path(file.locate()) for file in metadata.files(name) or ())
    return sum(place.stat().st_size for place in places if place.is_file())


if __name__ == "__main__":
    main()
