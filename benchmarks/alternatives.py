"""Compare with the league one could build on Starlette, uvicorn and httpx.

Type `python benchmarks/alternatives.py --json`. That league is in benchmarks/alternative;
`run_league.py` there says what it leaves out. Both play leagues of the same size in turn, so that
both meet the same machine, ours without the files of document 001. The libraries are installed
once, into `.venv-alternative`. With the defaults it takes about three minutes.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentleague.bench.league_run import Plan, measure_league
from agentleague.bench.measure import OtherProcesses, temporary_folder, this_machine
from agentleague.cli.bench_text import machine_text
from agentleague.cli.output import counted, print_json, print_rows, say
from agentleague.runtime.local_league import raise_descriptor_limit
from pairs import PAIRS, columns, compared, figures, rows, warnings

ROOT = Path(__file__).resolve().parents[1]
PINS = ROOT / "requirements" / "alternative.txt"
ENVIRONMENT = ROOT / ".venv-alternative"
REFEREES, PLAYER_PROCESSES = 2, 2


def main() -> None:
    """Measure both in turn, then print a table or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--players", type=int, default=100, help="an even number; 100 unless given")
    parser.add_argument("--matches", type=int, default=1_000, help="of each league, about 1,000")
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"{PAIRS} or more")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    if given.pairs < 1 or given.players < 2 or given.players % 2:
        parser.error("--pairs must be 1 or more, --players an even number")
    raise_descriptor_limit()
    python, folder = installed(), temporary_folder()
    machine, others, found = this_machine(folder), OtherProcesses(), []
    plan = Plan(given.players, REFEREES, given.matches, PLAYER_PROCESSES, directory=folder)
    for number in range(given.pairs):
        found.append((alternative(python, plan), ours(plan)))
        cpu = [figures(each)["cpu_us"] for each in found[-1]]
        say(f"pair {number + 1}: {cpu[0]:,.0f} us CPU a match, ours {cpu[1]:,.0f}")
    said = warnings(found, others.share())
    if given.json:
        shown = {"figures": compared(found), "machine": machine._asdict(), "warnings": said}
        exchanges = {"messages_per_match": [each["messages_per_match"] for each in found[-1]]}
        print_json({"players": given.players, "pairs": len(found), **exchanges, **shown})
        return
    title = f"{counted(given.players, 'player')}, {counted(len(found), 'pair')} of leagues; "
    names = ("Starlette, httpx", "agentleague")
    print_rows(rows(found), columns(*names), title + machine_text(machine))
    for sentence in said:
        say(sentence)


def installed() -> Path:
    """The interpreter that has the libraries; they are installed if they are not there."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        say(f"Installing {PINS.name} into {ENVIRONMENT.name} (once) …")
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        pins = ["--no-deps", "--require-hashes", "-r", PINS]
        subprocess.run([*install, *pins], check=True)
    return python


def alternative(python: Path, plan: Plan) -> Any:
    """The figures of the other league."""
    command = [python, ROOT / "benchmarks" / "alternative" / "run_league.py"]
    options = {"players": plan.players, "referees": plan.referees, "matches": plan.matches}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    told = subprocess.run(
        [*command, *words, "--dir", str(plan.directory)], stdout=subprocess.PIPE, check=True
    )
    return json.loads(told.stdout)


def ours(plan: Plan) -> Any:
    """The same figures of our league."""
    league = measure_league(replace(plan, has_files=False))
    cpus = league.per_match("cpu_seconds").items()
    return {
        "matches_per_second": league.matches / league.seconds,
        "messages_per_match": round(league.messages / league.matches, 2),
        "cpu_us_per_match": {role: cpu * 1e6 for role, cpu in cpus},
    }


if __name__ == "__main__":
    main()
