"""Write the generated reference pages: `python tools/reference.py docs/reference`."""

import sys
from pathlib import Path

from commands_page import commands_page
from conformance_page import conformance_page
from example_page import example_page
from metrics_page import metrics_page
from settings_page import settings_page
from wire_pages import errors_page, messages_page


def pages() -> dict[str, str]:
    """Every generated page by its file name."""
    return {
        "messages.md": messages_page(),
        "errors.md": errors_page(),
        "commands.md": commands_page(),
        "settings.md": settings_page(),
        "metrics.md": metrics_page(),
        "example.md": example_page(),
        "conformance.md": conformance_page(),
    }


def main(folder: Path) -> None:
    """Write them all."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
