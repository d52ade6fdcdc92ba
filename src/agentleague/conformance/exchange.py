"""One question and its answer over HTTP, kept as they were: the evidence of a verdict."""

import json
import re
from typing import Any

from msgspec import Struct

HEAD, TAIL = 200, 120  # characters of the beginning and the end of what was sent, in a report
HEAD_OF_ANSWER, TAIL_OF_ANSWER = 400, 200
NO_REDIRECT = "nobody follows a redirect; give the URL to which it leads"
_HIDDEN = "…"
_SECRETS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r'(?<=token)(\\*"\s*:\s*\\*")[^"\\]+',  # whatever its form: agents choose their own
        r"\b((?:bearer|token)[\s=:]+)(?=\S*\d)[^\s\"',}]{6,}",
        r"\b(m?tok[_-])[\w.-]*\w",
        r"\b((?:ses|adm|seat)_)[\w-]{8,}",
        r"\b()eyJ[\w-]+\.[\w-]+\.[\w-]*",
        r"\b()(?=\d*[a-f])[0-9a-f]{32,128}\b",
    )
)


class Answer(Struct, kw_only=True):
    """What came back."""

    status: int | None = None  # None: no HTTP answer
    headers: dict[str, str] = {}  # names in lower case
    body: bytes = b""
    seconds: float = 0.0
    problem: str = ""  # why there is no HTTP answer: "the connection was refused"
    is_late: bool = False  # because the time ran out
    is_cut: bool = False  # More came than anybody reads.

    def fields(self) -> dict[str, Any] | None:
        """The body, where it is a JSON object."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    @property
    def result(self) -> dict[str, Any] | None:
        """The message in a JSON-RPC result, where there is one."""
        found = (self.fields() or {}).get("result")
        return found if isinstance(found, dict) else None

    @property
    def error(self) -> dict[str, Any] | None:
        """The JSON-RPC error, where there is one."""
        found = (self.fields() or {}).get("error")
        return found if isinstance(found, dict) else None


class Exchange(Struct, kw_only=True):
    """What was sent, and what came back; either may be the agent's."""

    what: str  # "GAME_INVITATION", "GET /health", "a body that is no JSON"
    sent: bytes
    answer: Answer
    is_from_agent: bool = False  # The agent sent it to the kit, which answered.
    header: str = ""  # of the answer, where the verdict is about it

    def shown(self) -> tuple[str, str]:
        """Both sides as text for a report: short, printable, without tokens."""
        if self.answer.status is None:
            return self._asked(), self.answer.problem
        said = [f"HTTP {self.answer.status}", self._head(), _in_words(self.answer)]
        return self._asked(), " ".join(filter(None, said))

    def _head(self) -> str:
        """The header that tells what is wrong."""
        is_redirect = 300 <= (self.answer.status or 0) < 400
        name = "Location" if is_redirect else self.header
        value = self.answer.headers.get(name.lower(), "")
        advice = f" ({NO_REDIRECT})" if is_redirect else ""
        return f"{name}: {shown(value.encode())}{advice}" if value else ""

    def _asked(self) -> str:
        if self.sent:
            return f"{self.what}: {shown(self.sent)}"
        return self.what if self.what.startswith("GET ") else f"{self.what} (an empty body)"


def _in_words(answer: Answer) -> str:
    """The body of an answer, or what it is if there is nothing to see."""
    size = f"{len(answer.body):,} bytes"
    said = shown(answer.body, HEAD_OF_ANSWER, TAIL_OF_ANSWER)
    if said:
        return f"{said}, cut off after {size}" if answer.is_cut else said
    if not answer.body:
        return "an empty body"
    what = "that cannot be shown" if answer.body.strip() else "of white space"
    return f"{size} {what}{', cut off there' if answer.is_cut else ''}"


def shown(body: bytes, head: int = HEAD, tail: int = TAIL) -> str:
    """A body as a report shows it: one line, printable, without tokens, its beginning and end."""
    text = without_secrets(body.decode(errors="replace"))
    text = "".join(each if each.isprintable() else " " for each in text)
    text = " ".join(text.split())
    if len(text) <= head + tail:
        return text
    return f"{text[:head].rstrip()} … {text[-tail:].lstrip()} ({len(body):,} bytes)"


def without_secrets(text: str) -> str:
    """The same with the tokens of agents, sessions, seats and administrators left out."""
    for secret in _SECRETS:
        text = secret.sub(rf"\g<1>{_HIDDEN}", text)
    return text
