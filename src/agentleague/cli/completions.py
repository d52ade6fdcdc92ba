"""What the shell completes when Tab is pressed: games, strategies, messages, files."""

from collections.abc import Callable, Iterable
from glob import escape, glob
from typing import Any

import click
from click.shell_completion import CompletionItem


class Completed(click.ParamType):  # type: ignore[type-arg]  # click 8.2 takes none.
    """Any text; the shell completes these words, and Python files if `files` is true."""

    name = "text"

    def __init__(self, words: Callable[[], Iterable[str]], *, files: bool = False) -> None:
        self._words, self._files = words, files

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Accept any text."""
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The words and files that begin so; any path if there are none."""
        found = [word for word in self._words() if word.startswith(incomplete)]
        if self._files:
            found += sorted(glob(f"{escape(incomplete)}*.py"))
        items = [CompletionItem(word) for word in found]
        if self._files and not items:
            items = [CompletionItem(incomplete, type="file")]
        return items


def _games() -> Iterable[str]:
    from agentleague.runtime import plugins

    return plugins.game_names()


def _strategies() -> Iterable[str]:
    from agentleague.runtime import plugins

    return plugins.strategy_names()


def _messages() -> Iterable[str]:
    from agentleague.protocol.messages import MESSAGES

    return MESSAGES


_PLAYER = Completed(_strategies, files=True)
COMPLETIONS = {  # by the name of the parameter
    "a": _PLAYER,
    "b": _PLAYER,
    "brought": _PLAYER,
    "game": Completed(_games, files=True),
    "game_type": Completed(_games, files=True),
    "message_type": Completed(_messages),
    "strategy": Completed(_strategies),
}
