"""`make fuzz`: tries every target in turn, for an hour in all unless told otherwise.

    python -m fuzz [--seconds N] [--seed N] [--target NAME]... [--keep DIR]
    python -m fuzz --reproduce FILE --target NAME

Inputs follow from the seed. The first input of a target that fails is made smaller, kept in a file,
and named with the command that tries it again; the target then rests. Where `atheris` is installed,
`--atheris` lets it look for inputs that reach new code, one target at a time.
"""

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from fuzz.mutation import mutated
from fuzz.targets import NAMES, Target, load

SLICE_SECONDS = 5.0
SHRINKING_SECONDS = 10.0
clock: Callable[[], float] = time.perf_counter


class Run:
    """One target's part of the time."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.target = name, load(name)
        self.executions, self.seconds = 0, 0.0
        self.failed: bytes | None = None
        self._rng = Random(f"{seed} {name}")

    def go_on(self, seconds: float) -> None:
        """Try inputs for so long, or until one fails."""
        began = clock()
        while self.failed is None and clock() - began < seconds:
            data = self.target.make(self._rng)
            self.executions += 1
            if fails(self.target, data):
                self.failed = data
        self.seconds += clock() - began

    def __str__(self) -> str:
        rate = self.executions / self.seconds if self.seconds else 0.0
        state = "FAILED" if self.failed is not None else "ok"
        return f"{self.name:<14}{self.executions:>12,} executions{rate:>10,.0f} a second   {state}"


def fails(target: Target, data: bytes) -> str:
    """What went wrong with this input, or nothing."""
    try:
        target.one(data)
    except Exception:
        return traceback.format_exc()
    return ""


def smaller(target: Target, data: bytes) -> bytes:
    """A shorter input that fails too, found by leaving out pieces."""
    until, size = clock() + SHRINKING_SECONDS, len(data) // 2
    while size and clock() < until:
        for start in range(0, len(data), size):
            rest = data[:start] + data[start + size :]
            if len(rest) < len(data) and fails(target, rest):
                data = rest
                break
            if clock() > until:
                break
        else:
            size //= 2
    return data


def keep(run: Run, directory: Path) -> None:
    """Write the failing input to a file and say how to try it again."""
    assert run.failed is not None
    data = smaller(run.target, run.failed)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{run.name}-{sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    print(fails(run.target, data) or "It failed once, and does not fail again.")
    print(f"{run.name} failed with {len(data)} bytes, kept in {path}. Try it again with:")
    print(f"  make fuzz ARGS='--target {run.name} --reproduce {path}'", flush=True)


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 where nothing failed."""
    options = _options(arguments)
    names = options.target or list(NAMES)
    if options.reproduce:
        trouble = fails(load(names[0]), options.reproduce.read_bytes())
        print(trouble or "This input fails no longer.")
        return 1 if trouble else 0
    if options.atheris:
        return _with_atheris(names[0], options.seconds, options.keep)
    runs = [Run(name, options.seed) for name in names]
    end = clock() + options.seconds
    while clock() < end and not all(run.failed is not None for run in runs):
        for run in runs:
            if run.failed is None:
                run.go_on(min(SLICE_SECONDS, options.seconds / len(runs), max(end - clock(), 0.0)))
                if run.failed is not None:
                    keep(run, options.keep)
    for run in runs:
        print(run)
    total = sum(run.executions for run in runs)
    print(f"{total:,} executions in {options.seconds:,.0f} s, seed {options.seed}.")
    return 1 if any(run.failed is not None for run in runs) else 0


def _with_atheris(name: str, seconds: float, directory: Path) -> int:
    """Let libFuzzer choose the inputs, by the code that they reach; it keeps what fails."""
    import atheris  # type: ignore[import-not-found]

    with atheris.instrument_imports(include=["agentleague"]):
        target = load(name)

    def change(data: bytes, size_max: int, seed: int) -> bytes:
        return mutated(Random(seed), [data, *target.seeds])[:size_max]

    directory.mkdir(parents=True, exist_ok=True)
    setup: Any = atheris.Setup
    arguments = [f"-max_total_time={seconds:.0f}", f"-artifact_prefix={directory}/{name}-"]
    setup(["fuzz", *arguments], target.one, custom_mutator=change)
    atheris.Fuzz()
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fuzz ARGS=…", description="Try hostile inputs.")
    parser.add_argument("--seconds", type=float, default=3_600.0, help="for how long, in all")
    parser.add_argument("--seed", type=int, default=None, help="what the inputs follow from")
    parser.add_argument("--target", action="append", choices=list(NAMES), help="only this one")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="for what fails")
    parser.add_argument("--reproduce", type=Path, help="try this one input again")
    parser.add_argument("--atheris", action="store_true", help="let atheris choose the inputs")
    options = parser.parse_args(arguments)
    if (options.reproduce or options.atheris) and len(options.target or ()) != 1:
        parser.error("name the one --target")
    if options.seed is None:
        options.seed = time.time_ns() % 1_000_000
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
