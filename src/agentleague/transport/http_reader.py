"""The reading half of the HTTP server: bytes to requests, with limits below the parser."""

import logging
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address

from agentleague import errors
from agentleague.protocol.tokens import PROOF_HEADER
from agentleague.roles.stimuli import Headers
from agentleague.transport.http_parsers import parsers
from agentleague.transport.http_response import Handler, HttpRequest, Refused

log = logging.getLogger(__name__)
# Gets a request, who answers it or why nobody does, and whether it is a HEAD, and HTTP/1.0.
HandOver = Callable[[HttpRequest, Handler | Refused, bool, bool], None]
_PIECE_BYTES = 1_024  # Given to the parser at once; a request is hardly ever longer.
_RAW_BODY_FACTOR = 8  # A chunk of one byte takes six; more than this is padding.
_HOST = re.compile(rb"(\[[0-9a-f:.]+\]|[^:\[\]]+)(?::[0-9]{1,5})?", re.IGNORECASE)
_HEADS_KEPT = 1_024
_HEAD_BYTES_KEPT = 1_024
_LENGTH = b"\r\nContent-Length: "
_LENGTH_BYTES, _DIGITS_MAX = len(_LENGTH), 7
_PROOF = b"\r\n%b: " % PROOF_HEADER.encode()
_FIELDS = b"host origin content-type content-length content-encoding transfer-encoding expect"
_FIELDS_READ = frozenset(_FIELDS.split())


@dataclass(frozen=True)
class ServerLimits:
    """What one server takes from its peers before it refuses."""

    body_bytes: int = 10_240  # Longer bodies are refused, counted while they are read.
    header_bytes: int = 8_192  # Request line and headers together, as sent.
    request_seconds: float = 5.0  # From the first byte of a request to its last.
    idle_seconds: float = 30.0  # Between requests, and while a peer does not read its answers.
    connections: int = 4_096  # Of all peers; never more than half the descriptor limit.
    connections_per_source: int = 64  # Of one address, neither this machine nor a proxy.
    connections_of_loopback: int = 3_072  # Of this machine, or a proxy; at most 3/4 of all.
    pipelined: int = 64  # Requests of a connection that wait for answers before reading pauses.
    held: int = 2_048  # Refusals of all peers that wait to be told; who adds one is dropped.


class RequestChecks:
    """Which requests a server takes, and who handles them."""

    def __init__(self, limits: ServerLimits, names: frozenset[str]) -> None:
        self.limits = limits
        self.names = {"localhost", *(name.lower() for name in names)}
        self.allows = lru_cache(maxsize=64)(self._allows)
        # Good heads of POSTs without their length, with their paths, queries and handlers, and
        # whether they say for whom they are forwarded.
        self.heads: dict[bytes, tuple[str, str, Handler, bool]] = {}
        self._routes: dict[str, dict[str, Handler]] = {}  # By path, then by method.

    def route(self, path: str, methods: Collection[str], handler: Handler) -> None:
        """Let this handler answer a path, or all that begin like it if it ends with `*`."""
        self._routes.setdefault(path, {}).update(dict.fromkeys(methods, handler))
        self.heads.clear()

    def check_framing(self, version: str, fields: dict[bytes, bytes]) -> None:
        """Refuse what leaves in doubt where the request ends or whom it is for."""
        host, coding = fields.get(b"host"), fields.get(b"transfer-encoding")
        if version not in ("1.0", "1.1"):
            raise _bad(400, f"This is HTTP/1.1, not HTTP/{version}.")
        if (host is None and version == "1.1") or (host is not None and b"," in host):
            raise _bad(400, "A request has one Host header.")
        if coding is not None and (coding.lower() != b"chunked" or version == "1.0"):
            raise _bad(400, "The only Transfer-Encoding is chunked, in HTTP/1.1.")
        if int(fields.get(b"content-length", b"0")) > self.limits.body_bytes:
            raise self.too_large()

    def check_sender(self, fields: dict[bytes, bytes]) -> None:
        """Refuse what a web page may have made a browser send."""
        host, origin = fields.get(b"host"), fields.get(b"origin")
        if host is not None and not self.allows(host):
            raise _bad(
                403,
                "The Host header names another server; call this one by its IP address, or start "
                "it with that name in --endpoint.",
            )
        if origin is not None and origin.lower() != b"http://" + (host or b"").lower():
            raise _bad(403, "Requests of other origins are refused.")

    def find_path(self, url: bytes) -> tuple[str, str]:
        """The path and the query of a request target of any form."""
        scheme, found, rest = url.partition(b"://")
        if found and scheme.lower() == b"http":
            host, slash, path = rest.partition(b"/")
            if not self.allows(host):
                raise _bad(403, "The URL names another server.")
            url = slash + path
        path_text, _, query = url.decode("latin-1").partition("?")
        return path_text, query

    def find_handler(self, path: str, method: str) -> Handler:
        """Who answers this method at this path; HEAD has the handler of GET."""
        methods = self._routes.get(path) or self._methods_below(path)
        if not methods:
            raise _bad(404, f"There is nothing at {path[:100]}.")
        handler = methods.get("GET" if method == "HEAD" else method)
        if handler is None:
            allowed = [*methods, *(["HEAD"] if "GET" in methods else [])]
            verb = "is" if len(allowed) == 1 else "are"
            sentence = f"Only {' and '.join(allowed)} {verb} allowed here."
            raise _bad(405, sentence, [("Allow", ", ".join(allowed))])
        return handler

    def _methods_below(self, path: str) -> dict[str, Handler] | None:
        for pattern, methods in self._routes.items():
            if pattern.endswith("*") and path.startswith(pattern[:-1]):
                return methods
        return None

    def check_body(self, fields: dict[bytes, bytes]) -> None:
        """Refuse a body that is not plain JSON."""
        media_type = fields.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if b"origin" in fields and media_type != b"application/json":
            raise _bad(415, "A browser must send application/json.")
        if fields.get(b"content-encoding", b"identity").lower() != b"identity":
            raise _bad(415, "Bodies are read without Content-Encoding only.")

    def too_large(self) -> Refused:
        sentence = f"A body has at most {self.limits.body_bytes} bytes."
        return Refused(413, errors.MessageTooLarge(sentence))

    def _allows(self, host: bytes) -> bool:
        match = _HOST.fullmatch(host)
        name = match[1].decode("latin-1").lower() if match else ""
        with suppress(ValueError):
            address = IPv6Address if name.startswith("[") else IPv4Address
            return name in self.names or bool(address(name.strip("[]")))
        return False


class Reader:
    """Bytes to requests: the callbacks of the parser, and the limits below it."""

    def __init__(self, checks: RequestChecks) -> None:
        self._checks, self._limits = checks, checks.limits
        self.source = ""  # The peer's address.
        self._parser = parsers.HttpRequestParser(self)
        self.complete: list[tuple[HttpRequest, Handler | Refused, bool, bool]] = []
        self._raw_bytes = 0  # Since the last request ended, without the piece it ended in.
        self._in_head = self._upgrades = False
        self._start = b""  # What is being fed, while it is the first request in it.
        self._part = b""  # Of a request with a head that is known: what is here of it.
        self.begun = False  # The first byte of a request is here, the last is not.
        self.moved = False  # A request has begun or ended since somebody cleared this.
        self.ended = False  # No more bytes become requests.
        self.continue_due = False  # The peer waits for a word before it sends the body.

    def feed(self, data: bytes, hand_over: HandOver) -> Refused | None:
        """Read a slice; what comes back must be answered last, nothing can be read after it."""
        if self._part or not self.begun:
            self._start = data = self.recall(data, hand_over)
        if self.ended or not data:
            return None
        refused = None
        for start in range(0, len(data), _PIECE_BYTES):
            refused = self._feed(data[start : start + _PIECE_BYTES])
            if refused is not None or self.ended:
                break
        self._start = b""
        return refused

    def _feed(self, piece: bytes) -> Refused | None:
        """Read what is small enough that padding is counted by the message, not by the slice."""
        self._raw_bytes += len(piece)
        try:
            self._parse(piece)
        except parsers.HttpParserError as error:
            return self._refusal_of(error)
        if self.begun and not self._in_head:
            return self._checks.too_large() if self._is_padded() else None
        return _long_head() if self._raw_bytes > self._limits.header_bytes else None

    def _is_padded(self) -> bool:
        limits = self._limits
        return self._raw_bytes > limits.header_bytes + _RAW_BODY_FACTOR * limits.body_bytes

    def end(self) -> None:
        """Read no more requests."""
        self.ended, self._part = True, b""
        self.begun = self.continue_due = False

    def close(self) -> None:
        """End for good; call it once."""
        self.end()
        del self._parser  # It holds our methods: without that cycle the memory is free at once.

    def recall(self, data: bytes, hand_over: HandOver) -> bytes:
        """Hand over what has the head of an earlier request but for its length; return the rest."""
        was_begun, self.begun = self.begun, False
        if self._part:
            data, self._part = self._part + data, b""
        start, heads, most = 0, self._checks.heads, self._limits.body_bytes
        while data.startswith(b"POST ", start) and not self.ended:
            body = data.find(b"\r\n\r\n", start) + 4
            at = data.rfind(_LENGTH, start, body)
            head, digits = data[start:at], data[at + _LENGTH_BYTES : body - 4]
            known = heads.get(head) or heads.get(_without_proof(head))
            if known is None or not digits.isdigit() or len(digits) > _DIGITS_MAX:
                break
            end = body + int(digits)
            if end - body > most:
                break
            if end > len(data):
                self._part, self.begun = data[start:], True  # It waits for the rest of it.
                self.moved = self.moved or not was_begun
                return b""
            path, query, handler, is_forwarded = known
            request = HttpRequest(
                path, data[body:end], self.source, "POST", head, query, is_forwarded
            )
            start, self.moved, self._raw_bytes = end, True, 0
            hand_over(request, handler, False, False)
        return data[start:]

    def _learn(self, handler: Handler) -> None:
        """Remember a good head whose bytes, with its length, say where its request ends."""
        fields, heads = self._fields, self._checks.heads
        end = self._start.find(b"\r\n\r\n")
        head, _, digits = self._start[: max(end, 0)].rpartition(_LENGTH)
        is_special = self._is_old or self._is_final or self._upgrades or self.continue_due
        if is_special or b"transfer-encoding" in fields or len(head) > _HEAD_BYTES_KEPT:
            return
        if not head.startswith(b"POST ") or fields.get(b"content-length") != digits:
            return  # It began in an earlier slice, or says its length elsewhere too.
        if len(heads) >= _HEADS_KEPT:
            heads.clear()
        known = (self._path, self._query, handler, _is_forwarded(head))
        heads[_without_proof(head)] = known

    def _parse(self, data: bytes) -> None:
        while data:
            try:
                self._parser.feed_data(data)
                return
            except parsers.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
            # The parser gives up at an upgrade, body and all (httptools issue 124). We never
            # upgrade: a fresh parser gets a head that says only how long the body is.
            self._parser = parsers.HttpRequestParser(self)
            length = b"Content-Length: " + self._fields.get(b"content-length", b"0")
            if b"transfer-encoding" in self._fields:
                length = b"Transfer-Encoding: chunked"
            mode = b"close" if self._is_final else b"keep-alive"
            head = b"POST / HTTP/1.1\r\nConnection: %b\r\n%b\r\n\r\n" % (mode, length)
            self._parser.feed_data(head)

    def _refusal_of(self, error: Exception) -> Refused | None:
        if isinstance(error.__context__, Refused):
            return error.__context__
        if isinstance(error, parsers.HttpParserCallbackError):
            log.error("A request could not be read.", exc_info=error.__context__)
            return Refused(500, errors.InternalError("Our own fault."))
        # Bytes after "Connection: close" are an error to the parser and nothing to us.
        return None if self.ended else _bad(400, f"Malformed HTTP: {error}.")

    def on_message_begin(self) -> None:
        if not self.begun:  # Else this is our own head after an upgrade.
            self.begun = self.moved = self._in_head = True
            self._url, self._head_bytes, self._body_bytes = b"", 0, 0
            self._fields: dict[bytes, bytes] = {}
            self._head = b""  # All lines as they were sent, but for the length.
            self._pieces: list[bytes] = []

    def on_url(self, piece: bytes) -> None:
        if self._in_head:
            self._url += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return  # Trailers, and our own head after an upgrade.
        self._head_bytes += len(name) + len(value) + 4
        name = name.lower()
        if name != b"content-length":
            self._head += b"\r\n%b: %b" % (name, value)
        if name in _FIELDS_READ:
            value = value.strip()
            before = self._fields.get(name)
            self._fields[name] = value if before is None else before + b", " + value

    def on_headers_complete(self) -> None:
        if not self._in_head:
            return
        self._in_head = False
        method, version = self._parser.get_method(), self._parser.get_http_version()
        self._upgrades = self._parser.should_upgrade()
        self._is_final = not self._parser.should_keep_alive()
        self._path = self._query = ""
        self._method = method.decode("latin-1")
        self._is_head, self._is_old = method == b"HEAD", version == "1.0"
        # The request line holds two blanks, "HTTP/1.1" and a line end; one more ends the head.
        if self._head_bytes + len(method) + len(self._url) + 14 > self._limits.header_bytes:
            raise _long_head()
        self._checks.check_framing(version, self._fields)
        self.continue_due = self._fields.get(b"expect", b"").lower() == b"100-continue"
        try:
            self._handler: Handler | Refused = self._judge()
        except Refused as refused:
            if self.continue_due or self._upgrades:
                raise  # What follows may be a body or not: nothing after it can be read.
            self._handler = refused
        self._start = b""

    def _judge(self) -> Handler:
        checks, method = self._checks, self._method
        checks.check_sender(self._fields)
        self._path, self._query = checks.find_path(self._url)
        handler = checks.find_handler(self._path, method)
        if method not in ("GET", "HEAD"):
            checks.check_body(self._fields)
            self._learn(handler)
        return handler

    def on_body(self, piece: bytes) -> None:
        self._body_bytes += len(piece)
        if self._body_bytes > self._limits.body_bytes:
            raise self._checks.too_large()
        self._pieces.append(piece)

    def on_message_complete(self) -> None:
        if self._upgrades:
            self._upgrades = False  # The body is yet to come, see `_parse`.
            return
        if self._is_padded():
            raise self._checks.too_large()
        self.begun = self.continue_due = False
        self.moved, self.ended, self._raw_bytes = True, self._is_final, 0
        body, head = b"".join(self._pieces), self._head
        where = (self._path, body, self.source, self._method, head, self._query)
        request = HttpRequest(*where, _is_forwarded(head))
        self.complete.append((request, self._handler, self._is_head, self._is_old))


def _is_forwarded(head: bytes) -> bool:
    return b"forwarded" in head.lower()


def _without_proof(head: bytes) -> bytes:
    """A head without the proof at its end, which differs from request to request."""
    before, found, proofs = head.rpartition(_PROOF)
    is_proof = len(proofs) <= _HEAD_BYTES_KEPT and proofs.replace(b",", b"").isalnum()
    return before if found and is_proof else head


def _bad(status: int, sentence: str, headers: Headers = ()) -> Refused:
    return Refused(status, errors.InvalidRequest(sentence), headers)


def _long_head() -> Refused:
    return Refused(431, errors.MessageTooLarge("The headers are too long."))
