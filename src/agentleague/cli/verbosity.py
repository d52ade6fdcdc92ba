"""`-v` for `league manager`, `referee` and `player`: what is going on, in words on stderr."""

from collections.abc import Callable

import click

from agentleague.runtime.log_lines import Entry, in_words
from agentleague.runtime.processes import Running

verbose_option = click.option(
    "-v",
    "--verbose",
    count=True,
    help="Say more: -v what is decided, refused and lost, -vv every message.",
)


def speak_up(agent: Running, verbose: int, say: Callable[[str], None]) -> None:
    """Say what happens to an agent, as much as was asked for: every message if asked twice."""
    if verbose:
        agent.watch(aloud(say), every_message=verbose > 1)


def aloud(say: Callable[[str], None]) -> Callable[[Entry], None]:
    """A sink that says each entry in words."""

    def tell(entry: Entry) -> None:
        sentence = in_words(entry)
        if sentence:
            say(sentence)

    return tell
