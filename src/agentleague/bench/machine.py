"""On what kind of machine something was measured."""

import os
import platform
from typing import NamedTuple


class Machine(NamedTuple):
    """What of a machine matters to its speed, and nothing that says whose it is."""

    cores: int
    system: str
    python: str
    load: float | None  # of the last minute: processes that wanted to run when it began


def this_machine() -> Machine:
    """The one that measures."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    system = f"{platform.system()} {platform.machine()}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return Machine(cores(), system, python, None if load is None else round(load, 1))


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
