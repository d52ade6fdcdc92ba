"""How much memory processes hold, as the system tells it."""

import sys
from pathlib import Path


def peak_bytes() -> int:
    """The most that this process ever held; 0 where the system does not tell."""
    told = _status("self").get("VmHWM")
    if told is not None:
        return told
    try:
        import resource
    except ImportError:  # Windows tells by other means.
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def resident_bytes(pid: int) -> int | None:
    """What a process holds now; None where the system does not tell, or it is gone."""
    return _status(str(pid)).get("VmRSS")


def _status(process: str) -> dict[str, int]:
    try:
        text = Path("/proc", process, "status").read_text(encoding="utf-8")
    except OSError:
        return {}
    rows = (line.split() for line in text.splitlines())
    return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows if row[2:] == ["kB"]}
