"""Where a manager is, as people type it."""

import re

HOST_AND_PORT = re.compile(r"[^/]+:[0-9]+(/.*)?", re.DOTALL)


def manager_url(text: str) -> str:
    """A manager's URL from what a person types: `8000`, `localhost:8000` or a URL.

    What looks like neither is left as it is, for whoever checks URLs to refuse.
    """
    if text.isascii() and text.isdecimal():
        text = f"127.0.0.1:{text}"
    if HOST_AND_PORT.fullmatch(text):
        text = f"http://{text}"
    _, _, rest = text.partition("://")
    return f"{text}/mcp" if rest and "/" not in rest else text
