"""On what kind of machine something was measured, and where the journal lay."""

import os
import platform
import tempfile
from pathlib import Path
from typing import NamedTuple

MOUNTS = Path("/proc/mounts")
IN_MEMORY = ("tmpfs", "ramfs")  # To sync such a file costs nothing.
OTHER_FOLDERS = ("/var/tmp", ".")  # where temporary files may lie if the usual folder is in memory


class Machine(NamedTuple):
    """What of a machine matters to its speed, and nothing that says whose it is."""

    cores: int
    system: str
    python: str
    load: float | None  # of the last minute: processes that wanted to run when it began
    file_system: str  # that holds the journal; empty where the system does not tell


def this_machine(folder: Path) -> Machine:
    """The one that measures, with its journal in this folder."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    system = f"{platform.system()} {platform.machine()}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    kind = file_system_of(folder)
    return Machine(cores(), system, python, None if load is None else round(load, 1), kind)


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def temporary_folder() -> Path:
    """Where temporary files lie: on a disk, if there is such a folder."""
    folders = [Path(name) for name in (tempfile.gettempdir(), *OTHER_FOLDERS)]
    usable = [folder for folder in folders if os.access(folder, os.W_OK)]
    on_disk = (folder for folder in usable if file_system_of(folder) not in IN_MEMORY)
    return next(on_disk, folders[0])


def file_system_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """What kind of file system a folder is on, such as ext4; empty where nobody tells."""
    try:
        rows = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return ""
    place, found = folder.resolve(), {}
    for _, point, kind, *_ in rows:  # What is mounted later hides what was there.
        found[Path(point.replace("\\040", " "))] = kind
    return next((found[above] for above in (place, *place.parents) if above in found), "")
