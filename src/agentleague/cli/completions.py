"""What the shell completes when Tab is pressed: games, strategies, messages, files."""

from collections.abc import Callable, Iterable
from glob import escape, glob
from importlib import import_module
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


def _names(module: str, name: str) -> Callable[[], Iterable[str]]:
    """The words that a module knows: it is imported when Tab is pressed."""

    def words() -> Iterable[str]:
        known = getattr(import_module(f"agentleague.{module}"), name)
        return list(known() if callable(known) else known)

    return words


_games = _names("runtime.plugins", "game_names")
_strategies = _names("runtime.plugins", "strategy_names")
_PLAYER = Completed(_strategies, files=True)
COMPLETIONS = {  # by the name of the parameter
    "a": _PLAYER,
    "b": _PLAYER,
    "brought": _PLAYER,
    "game": Completed(_games, files=True),
    "game_type": Completed(_games, files=True),
    "message_type": Completed(_names("protocol.messages", "MESSAGES")),
    "strategy": Completed(_strategies),
}
