"""The parsers in Python alone take nothing that `httptools` refuses, and read the rest alike."""

from random import Random

import httptools
import pytest

from agentleague.transport import pure_parsers
from examples import examples
from fuzz.mutation import mutated
from fuzz.seeds import HTTP_ANSWERS, STREAMS
from transport.byte_tables import CHUNKED, H2C, POST

# What a library that reads heads and chunks more kindly would take.
HOSTILE_REQUESTS = [
    *(POST + CHUNKED + end for end in (
        b"1;a\rb\r\nx\r\n0\r\n\r\n", b"1;a\x01b\r\nx\r\n0\r\n\r\n", b"1;\r\nx\r\n0\r\n\r\n",
        b"1 \r\nx\r\n0\r\n\r\n", b"0\r\n\n", b"1\nx\r\n0\r\n\r\n", b"0\r\nX: y\n\n",
        b"0\r\nX: y\r\n z\r\n\r\n", b"0\r\nContent-Length: 5\r\n\r\n", b"1\r\nxy0\r\n\r\n",
        b"+1\r\nx\r\n0\r\n\r\n", b"0x1\r\nx\r\n0\r\n\r\n", b"f" * 17 + b"\r\n", b"\r\n\r\n",
        b'1;a="b;c"\r\nx\r\n0\r\n\r\n', b'1;a=b;c\r\nx\r\n0\r\nConnection: close\r\n\r\n' + POST,
    )),
    *(POST + line + b"\r\n\r\n" for line in (
        b"X: a\x01b", b"X: a\x7fb", b"X: a\rb", b"X:\ta\t\xff", b" X: a", b": a", b"X",
        b"Content-Length: 1, 1", b"Content-Length: +1", b"Content-Length:", b"Content-Length: 1_0",
        b"Content-Length: 0\r\nContent-Length: 0", b"Transfer-Encoding:",
        b"Transfer-Encoding: chunked,", b"Transfer-Encoding: \x0bchunked",
        b"Transfer-Encoding: identity", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        b"Connection: close, keep-alive", b"Connection: x,\tClose ,", b"Connection: upgrade",
        b"Upgrade: h2c", H2C + b"Content-Length: 2", b"Proxy-Connection: close",
    )),
    *(line + b"\r\nHost: a\r\n\r\n" for line in (
        b"GET /\xff HTTP/1.1", b"GET abc HTTP/1.1", b"GET / HTTP/1.2", b"post / HTTP/1.1",
        b"GET  / HTTP/1.1", b"GET /\tHTTP/1.1", b"GET / HTTP/1.1 ", b"GET /#a?b HTTP/1.1",
        b"GET http://a HTTP/1.1", b"OPTIONS * HTTP/1.0", b"CONNECT a:1 HTTP/1.1", b"GET / ICE/1.0",
            b"GET / HTTP/1.0\r\nConnection: close, keep-alive", b"GET / HTTP/2.0",
        b"GET http://a/\"<>\\^`{|} HTTP/1.1",
    )),
]  # fmt: skip
HOSTILE_ANSWERS = [
    start + b"\r\nContent-Length: 1\r\n\r\nx"
    for start in (
        b"HTTP/1.1 200", b"HTTP/1.1 20", b"HTTP/1.1 2000 OK", b"HTTP/1.2 200 OK", b"HTTP/1.1  200",
        b"http/1.1 200 OK", b"HTTP/1.1 200 a\x01b", b"HTTP/1.0 200 OK\r\nConnection: keep-alive",
        b"HTTP/1.1 304 Not", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", b"ICY 200 OK",
    )
]  # fmt: skip


class Heard:
    """All that a parser told, cut as finely as it can be."""

    def __init__(self, parsers, kind):
        self.parsers, self.told = parsers, []
        self.parser = getattr(parsers, kind)(self)

    def feed(self, pieces):
        """Read these until the parser gives up."""
        read = 0
        for piece in pieces:
            try:
                self.parser.feed_data(piece)
            except self.parsers.HttpParserError:
                return
            except self.parsers.HttpParserUpgrade as upgrade:
                self.told.append(("upgrade", read + (*upgrade.args, 0)[0]))
                return
            read += len(piece)

    def on_message_begin(self):
        self.told.append(("begin",))

    def on_url(self, piece):
        self.told += [("url", byte) for byte in piece]

    def on_header(self, name, value):
        self.told.append((name.lower(), value.strip(b" \t")))

    def on_headers_complete(self):
        parser = self.parser
        if hasattr(parser, "get_method"):
            line = (parser.get_method(), parser.get_http_version(), parser.should_upgrade())
        else:
            line = (parser.get_status_code(),)
        self.told.append(("head", *line))

    def on_body(self, piece):
        self.told += [("body", byte) for byte in piece]

    def on_message_complete(self):
        self.told.append(("complete",))
        if self.parser.should_keep_alive():
            self.told.append(("more may follow",))


def without_last_headers(told):
    """One of them tells a header when the next line has come, the other when its own has."""
    last = next((n for n, (what, *_) in enumerate(told[::-1]) if isinstance(what, str)), len(told))
    return told[: len(told) - last]


def compare(kind, data, rng):
    """Whether both took all of it."""
    theirs = Heard(httptools, kind)
    theirs.feed([data])
    for size in (len(data) + 1, 1, rng.randint(1, 60)):
        ours = Heard(pure_parsers, kind)
        ours.feed([data[at : at + size] for at in range(0, len(data), size)])
        told = without_last_headers(ours.told)
        assert told == theirs.told[: len(told)], data
    return ours.told == theirs.told


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [
        ("HttpRequestParser", [*STREAMS, *HOSTILE_REQUESTS]),
        ("HttpResponseParser", [*HTTP_ANSWERS, *HOSTILE_ANSWERS]),
    ],
)
def test_what_the_parsers_in_python_tell_httptools_tells_too(kind, seeds):
    rng = Random(24)

    alike = [compare(kind, seed, rng) for seed in seeds]
    alike += [compare(kind, mutated(rng, seeds), rng) for _ in range(examples(3_000))]

    assert sum(alike) > len(alike) / 2  # Else one that refuses everything would pass.
