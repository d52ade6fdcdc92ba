"""Where a manager is, as people type it."""

import re

PORT = 8000  # where a manager is unless it is told otherwise
HOST = re.compile(r"[A-Za-z0-9_.-]+|\[[0-9a-fA-F:.]+\]")
HOST_AND_PORT = re.compile(r"[^/]+:[0-9]+(/.*)?", re.DOTALL)


def manager_url(text: str) -> str:
    """A manager's URL from what a person types: a port, a host, both, or a URL.

    What looks like none of them is left as it is, for whoever checks URLs to refuse.
    """
    if text.isascii() and text.isdecimal():
        text = f"127.0.0.1:{text}"
    elif HOST.fullmatch(text):
        text = f"{text}:{PORT}"
    if HOST_AND_PORT.fullmatch(text):
        text = f"http://{text}"
    _, _, rest = text.partition("://")
    return f"{text}/mcp" if rest and "/" not in rest else text
