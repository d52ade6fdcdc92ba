"""Which model plays, where it is asked and with which key; the key is never printed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from typing import Any
from urllib.parse import SplitResult, urlsplit

from agentleague.errors import LeagueError

PREFIX = "LEAGUE_LLM_"
PATH = "/chat/completions"


@dataclass(frozen=True)
class LlmSettings:
    """A model at an OpenAI-compatible end point.

    Raises:
        LeagueError: a value cannot be what it must be; the sentence never holds the key.
    """

    url: str
    """The end point, such as http://127.0.0.1:11434/v1."""
    model: str
    """What the end point calls the model."""
    key: str = field(default="", repr=False)
    """The key, where the end point wants one."""
    seconds: float = 20.0
    """How long to wait for an answer at most; less where the deadline is nearer."""
    fallback: str = "random"
    """The strategy that moves where the model gives no legal move in time."""
    proxy: str = ""
    """The proxy to go through; HTTP_PROXY and its like are not heeded."""

    def __post_init__(self) -> None:
        _check_url("url", self.url, ("http", "https"))
        if self.proxy:
            _check_url("proxy", self.proxy, ("http",))
        if not self.model:
            raise _wrong("model", "is missing; say which model is to play")
        if not all("!" <= char <= "~" for char in self.key):
            raise _wrong("key", "has spaces, line ends or letters that no key has")
        if not isfinite(self.seconds) or self.seconds <= 0:
            raise _wrong("seconds", "must be a number above 0")
        if self.fallback == "llm":
            raise _wrong("fallback", "must be another strategy than llm")

    @property
    def target(self) -> SplitResult:
        """The address that questions are sent to."""
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        return parts._replace(path=path if path.endswith(PATH) else path + PATH)


def read_settings(environment: Mapping[str, str]) -> LlmSettings:
    """The settings from LEAGUE_LLM_URL, LEAGUE_LLM_MODEL and so on.

    Raises:
        LeagueError: one is missing, or is not what it must be.
    """
    names = {known.name: PREFIX + known.name.upper() for known in fields(LlmSettings)}
    given: dict[str, Any] = {
        name: environment[variable].strip()
        for name, variable in names.items()
        if environment.get(variable, "").strip()
    }
    missing = [names[name] for name in ("url", "model") if name not in given]
    if missing:
        raise LeagueError(
            f"the strategy llm needs {' and '.join(missing)}; for example "
            "LEAGUE_LLM_URL=http://127.0.0.1:11434/v1 LEAGUE_LLM_MODEL=llama3.2, "
            "and LEAGUE_LLM_KEY where the end point wants a key"
        )
    if "seconds" in given:
        try:
            given["seconds"] = float(given["seconds"])
        except ValueError:
            raise _wrong("seconds", "must be a number above 0") from None
    return LlmSettings(**given)


def _check_url(name: str, url: str, schemes: tuple[str, ...]) -> None:
    """What stands in a URL may be said in a sentence, so no secret may stand there."""
    try:
        parts = urlsplit(url)
        plain = parts.hostname and parts.port != 0 and parts.scheme in schemes
        bare = parts.username is None and not parts.query and not parts.fragment
    except ValueError:
        plain = bare = False
    if not plain or not bare or not all("!" <= char <= "~" for char in url):
        told = " or ".join(f"{scheme}://HOST" for scheme in schemes)
        raise _wrong(name, f"must begin with {told} and have no user, query or fragment")


def _wrong(name: str, what: str) -> LeagueError:
    return LeagueError(f"the model's {name} ({PREFIX}{name.upper()}) {what}")
