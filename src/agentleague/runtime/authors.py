"""What the author of a function is told when it fails."""

import traceback

OURS = ("agentleague.", "concurrent.futures", "asyncio.")  # modules that call the function


class AuthorTold(Exception):
    """A function failed, and whoever called it has told its author."""


def traceback_of(error: BaseException) -> str:
    """From the author's function on; how it was called is no help."""
    frames = error.__traceback__
    while frames and frames.tb_frame.f_globals.get("__name__", "").startswith(OURS):
        frames = frames.tb_next
    shown = traceback.TracebackException(type(error), error, frames or error.__traceback__)
    return "".join(shown.format()).rstrip()
