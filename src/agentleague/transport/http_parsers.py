"""Which parsers read HTTP: those of `httptools`, or where it is missing those in Python alone."""

import os
from contextlib import suppress
from typing import Any

# Do without uvloop and httptools although they are installed, to try or to measure that.
PURE_PYTHON = os.environ.get("LEAGUE_PURE_PYTHON", "0") not in ("", "0")


def _find_parsers() -> Any:
    with suppress(ImportError):
        if not PURE_PYTHON:
            import httptools

            return httptools
    from agentleague.transport import pure_parsers

    return pure_parsers


parsers = _find_parsers()
