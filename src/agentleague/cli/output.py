"""What is said beside the result: on stderr, plainly where it must be, not at all with --quiet."""

import os
import sys
from typing import Any

import click

from agentleague.protocol.printable import harmless

QUIET = "agentleague.quiet"  # in the `meta` that the contexts of a command line share
DEBUG = "agentleague.debug"  # likewise
DULL = ("dumb", "unknown")  # terminals that would show escape codes as rubbish


def say(sentence: str) -> None:
    """Talk goes to stderr, and nowhere with --quiet."""
    if not is_quiet():
        print(harmless(sentence), file=sys.stderr, flush=True)


def is_quiet() -> bool:
    """Whether --quiet was given."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))


def is_debugging() -> bool:
    """Whether --debug was given."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(DEBUG))


def is_plain(stream: Any) -> bool:
    """Whether nothing but text may be written there: no colour, no bar that moves."""
    return (
        not stream.isatty()
        or bool(os.environ.get("NO_COLOR"))
        or os.environ.get("TERM", "").lower() in DULL
    )


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 match`, `2 matches`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
