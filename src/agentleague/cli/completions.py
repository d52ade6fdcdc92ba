"""What the shell offers for a value when Tab is pressed: games, strategies, files."""

from collections.abc import Callable, Iterable
from glob import escape, glob
from typing import Any

import click
from click.shell_completion import CompletionItem


class Offered(click.ParamType):  # type: ignore[type-arg]  # click 8.2 takes none.
    """Any text; some words are offered, and Python files if they may stand there too."""

    name = "text"

    def __init__(self, words: Callable[[], Iterable[str]], *, files: bool = False) -> None:
        self._words, self._files = words, files

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Whatever was typed."""
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The words that begin so, then files; any path if there is nothing else to offer."""
        found = [word for word in self._words() if word.startswith(incomplete)]
        if self._files:
            found += sorted(glob(f"{escape(incomplete)}*.py"))
        items = [CompletionItem(word) for word in found]
        if self._files and not items:
            items = [CompletionItem(incomplete, type="file")]
        return items


def _games() -> Iterable[str]:
    from agentleague.runtime import installed_games

    return installed_games.names()


def _strategies() -> Iterable[str]:
    from agentleague.runtime import installed_strategies as strategies

    return strategies.names()


def _messages() -> Iterable[str]:
    from agentleague.protocol.messages import MESSAGES

    return MESSAGES


_PLAYER = Offered(_strategies, files=True)
OFFERS = {  # by the name of the parameter
    "a": _PLAYER,
    "b": _PLAYER,
    "brought": _PLAYER,
    "game": Offered(_games, files=True),
    "game_type": Offered(_games, files=True),
    "message_type": Offered(_messages),
    "strategy": Offered(_strategies),
}
