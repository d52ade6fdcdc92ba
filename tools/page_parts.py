"""What the generated pages have in common."""

from collections.abc import Iterable, Sequence

GENERATED = "<!-- Made from the code by `make reference`; do not edit. -->"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a bar inside a cell does not end it."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in lines)


def code(text: str) -> str:
    """A text as it is typed, or nothing."""
    return f"`{text}`" if text else ""


def page(*blocks: str) -> str:
    """The blocks as one file."""
    return "\n\n".join(block.strip("\n") for block in blocks if block) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
