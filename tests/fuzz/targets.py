"""The table of what is fuzzed: a module each, with good inputs to begin with and `one(data)`."""

from collections.abc import Callable, Sequence
from importlib import import_module
from random import Random
from typing import NamedTuple

from fuzz.mutation import mutated, mutated_lines


class Target(NamedTuple):
    """Code that reads input of unknown agents; `one(data)` raises if it handles the input badly."""

    one: Callable[[bytes], None]
    seeds: Sequence[bytes]
    of_lines: bool = False  # an input is several messages, a line each

    def make(self, rng: Random) -> bytes:
        """The next input."""
        return mutated_lines(rng, self.seeds) if self.of_lines else mutated(rng, self.seeds)


# name -> how many inputs `make test` tries; the slower, the fewer
NAMES = {
    "server": 150,
    "client": 1_000,
    "json": 1_000,
    "requests": 250,
    "answers": 1_000,
    "events": 1_000,
    "journals": 250,
    "settings": 80,
    "files": 60,
    "urls": 1_500,
    "registrations": 30,
    "hostile_agents": 25,
}


def load(name: str) -> Target:
    """A target by its name; what it needs is made when it is asked for."""
    module = import_module(f"fuzz.target_{name}")
    return Target(module.one, module.SEEDS, getattr(module, "OF_LINES", False))
