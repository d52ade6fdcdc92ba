"""The settings of a language model, and one question to its end point within a time limit.

The question is asked in a thread of its own, and the caller waits for it only until the limit: the
time-out of a socket limits neither the look-up of a name nor an answer that arrives byte by byte.
A question is repeated only after 429 or 503 with Retry-After. The key is never printed.
"""

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from math import isfinite
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import SplitResult, urlsplit

from agentleague.errors import LeagueError, PeerUnavailable, RateLimited

PREFIX = "LEAGUE_LLM_"
PATH = "/chat/completions"


@dataclass(frozen=True)
class LlmSettings:
    """A model at an OpenAI-compatible end point. Raises LeagueError, which never holds the key."""

    url: str
    """The end point, such as http://127.0.0.1:11434/v1."""
    model: str
    """What the end point calls the model."""
    key: str = field(default="", repr=False)
    """The key, where the end point wants one."""
    seconds: float = 20.0
    """How long to wait for an answer at most; less if the deadline is nearer."""
    fallback: str = "random"
    """The strategy that moves if the model gives no legal move in time."""
    proxy: str = ""
    """The proxy to use; HTTP_PROXY and similar variables are ignored."""

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
    """The settings from LEAGUE_LLM_URL, LEAGUE_LLM_MODEL and so on."""
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
    """A URL may appear in an error text, so it must hold no secret."""
    try:
        parts = urlsplit(url)
        plain = parts.hostname and parts.port != 0 and parts.scheme in schemes
        bare = parts.username is None and not parts.query and not parts.fragment
    except ValueError:
        plain = bare = False
    if not plain or not bare or not all("!" <= char <= "~" for char in url):
        allowed = " or ".join(f"{scheme}://HOST" for scheme in schemes)
        raise _wrong(name, f"must begin with {allowed} and have no user, query or fragment")


def _wrong(name: str, what: str) -> LeagueError:
    return LeagueError(f"the model's {name} ({PREFIX}{name.upper()}) {what}")


ANSWER_BYTES_MAX = 262_144
EXTRA_SECONDS = 5.0  # The socket waits longer than the caller, who reports the delay.
HINTS = {
    400: "; it may not know the model",
    401: "; check the key",
    403: "; check the key",
    404: "; check the url and the model",
}


class Exchange:
    """One question; its errors never quote the end point."""

    def __init__(self, settings: LlmSettings, question: bytes) -> None:
        self._settings, self._question = settings, question
        self._outcome: SimpleQueue[bytes | PeerUnavailable] = SimpleQueue()
        self._given_up = threading.Event()
        self._socket: socket.socket | None = None

    def answer(self, seconds: float) -> bytes:
        """The answer. Raises PeerUnavailable, words that continue "the model", if it is late."""
        threading.Thread(target=self._work, args=(seconds,), name="llm", daemon=True).start()
        try:
            outcome = self._outcome.get(timeout=seconds)
        except Empty:
            self._give_up()
            raise PeerUnavailable(f"did not answer within {seconds:.1f} s") from None
        if isinstance(outcome, PeerUnavailable):
            raise outcome
        return outcome

    def _give_up(self) -> None:
        """Let the thread end; its result is dropped."""
        self._given_up.set()
        if self._socket:
            with suppress(OSError):  # It may be closed already.
                self._socket.shutdown(socket.SHUT_RDWR)

    def _work(self, seconds: float) -> None:
        try:
            self._outcome.put(self._ask(seconds))
        except PeerUnavailable as failure:
            self._outcome.put(failure)
        except HTTPException as error:
            kind = type(error).__name__
            self._outcome.put(PeerUnavailable(f"gave no whole HTTP answer ({kind})"))
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            self._outcome.put(PeerUnavailable(f"could not be asked ({reason:.100})"))
        except Exception as error:  # Whatever it is, the caller must get an outcome.
            kind = type(error).__name__
            self._outcome.put(PeerUnavailable(f"could not be asked ({kind})"))

    def _ask(self, seconds: float) -> bytes:
        """Ask, and ask again once if the end point says when."""
        try:
            return self._request(seconds)
        except RateLimited as busy:
            if busy.context["retry_after"] >= seconds:
                raise
            self._given_up.wait(busy.context["retry_after"])
            return self._request(seconds)

    def _request(self, seconds: float) -> bytes:
        connection, target = _connection(self._settings, seconds + EXTRA_SECONDS)
        try:
            connection.connect()
            self._socket = connection.sock
            if self._given_up.is_set():
                raise PeerUnavailable("was given up")
            connection.request("POST", target, self._question, self._headers())
            with connection.getresponse() as response:
                _check_head(response)
                body = response.read(ANSWER_BYTES_MAX + 1)
                missing = response.length
        finally:
            connection.close()
        if len(body) > ANSWER_BYTES_MAX:
            raise PeerUnavailable(f"answered more than {ANSWER_BYTES_MAX} bytes")
        if missing:
            raise PeerUnavailable("broke off in the middle of its answer")
        return body

    def _headers(self) -> dict[str, str]:
        key = {"Authorization": f"Bearer {self._settings.key}"} if self._settings.key else {}
        return {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": "agentleague",
            "Connection": "close",
            **key,
        }


def _connection(settings: LlmSettings, seconds: float) -> tuple[HTTPConnection, str]:
    """A connection that is not open yet, and the target of the request."""
    target, proxy = settings.target, urlsplit(settings.proxy)
    kind: Any = HTTPSConnection if target.scheme == "https" else HTTPConnection
    if not proxy.hostname:
        return kind(target.hostname, target.port, timeout=seconds), target.path
    through: HTTPConnection = kind(proxy.hostname, proxy.port or 80, timeout=seconds)
    if target.scheme == "http":
        return through, target.geturl()
    through.set_tunnel(str(target.hostname), target.port or 443)
    return through, target.path


def _check_head(response: HTTPResponse) -> None:
    """Raise PeerUnavailable unless a JSON body follows."""
    status, after = response.status, response.headers.get("Retry-After", "")
    if status in (429, 503) and after.isdecimal() and len(after) < 6:
        raise RateLimited(
            f"answered with status {status} and asks to wait {int(after)} s", retry_after=int(after)
        )
    if 300 <= status < 400:
        raise PeerUnavailable(f"answered with status {status}; redirects are not followed")
    if status != 200:
        raise PeerUnavailable(f"answered with status {status}{HINTS.get(status, '')}")
    kind = response.headers.get_content_type()
    if kind != "application/json":
        raise PeerUnavailable(f"answered {kind[:40]!r}, not 'application/json'")
