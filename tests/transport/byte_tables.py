"""Raw bytes in, answers out: the contract of the HTTP server, one row per case."""

from typing import NamedTuple

BAD, LARGE = "INVALID_REQUEST", "MESSAGE_TOO_LARGE"
HOST = b"Host: 127.0.0.1:8001\r\n"
LINE = b"POST /mcp HTTP/1.1\r\n"
POST = LINE + HOST
H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIA\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


class Row(NamedTuple):
    """An answer is a status and what its body is: echoed text, or the name of an error."""

    name: str
    sent: bytes
    answers: list[tuple[int, str]]
    is_open: bool = True
    is_quick: bool = False  # Too long to send byte by byte.


def sized(body: bytes, headers: bytes = b"", head: bytes = POST) -> bytes:
    return head + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body


def padded(size_bytes: int) -> bytes:
    head = POST + b"X: " + b"\r\n\r\n"
    return POST + b"X: " + b"a" * (size_bytes - len(head)) + b"\r\n\r\n"


def on(method: bytes, target: bytes = b"/mcp", headers: bytes = HOST) -> bytes:
    return method + b" " + target + b" HTTP/1.1\r\n" + headers + b"\r\n"


A, B = sized(b"a"), sized(b"bb")
ONE = [(200, "a")]
TWICE = [*ONE, (400, BAD)]

ROWS = [
    # Bodies.
    Row("a body with a length", sized(b"{}"), [(200, "{}")]),
    Row("no body", POST + b"\r\n", [(200, "")]),
    Row("a chunked body", POST + CHUNKED + b"1\r\na\r\n2;x=y\r\nbc\r\n0\r\n\r\n", [(200, "abc")]),
    Row(
        "trailers are skipped, even bad ones",
        POST + CHUNKED + b"1\r\na\r\n0\r\nHost: evil\r\nExpect: 100-continue\r\n\r\n" + B,
        [(200, "a"), (200, "bb")],
    ),
    # A head that was seen before, in the same connection, with another length.
    Row("a known head, longer", A + sized(b"x" * 999) + B, [*ONE, (200, "x" * 999), (200, "bb")]),
    Row("a known head over the limit", A + sized(b"x" * 1001), [*ONE, (413, LARGE)], False),
    Row("a known head with two lengths", A + sized(b"a", b"Content-Length: 2\r\n"), TWICE, False),
    Row("a known head with no number", A + POST + b"Content-Length: 1x\r\n\r\na", TWICE, False),
    Row(
        "a known head, then chunks",
        A + POST + CHUNKED + b"2\r\nbb\r\n0\r\n\r\n",
        [*ONE, (200, "bb")],
    ),
    Row("the same length twice", sized(b"a", b"Content-Length: 1\r\n"), [(400, BAD)], False),
    Row("a body of the limit", sized(b"x" * 1000), [(200, "x" * 1000)]),
    Row("one byte over the limit", sized(b"x" * 1001), [(413, LARGE)], False),
    Row("a huge length", POST + b"Content-Length: 99999999999\r\n\r\n", [(413, LARGE)], False),
    Row(
        "chunks over the limit",
        POST + CHUNKED + b"3e8\r\n" + b"x" * 1000 + b"\r\n1\r\nx",
        [(413, LARGE)],
        False,
    ),
    Row("a huge chunk", POST + CHUNKED + b"ffffff\r\n" + b"x" * 1001, [(413, LARGE)], False),
    Row(
        "padding instead of a body",
        POST + CHUNKED + b"1;" + b"x" * 30_000,
        [(413, LARGE)],
        False,
        True,
    ),
    Row(
        "padding of a body that is all there",
        POST + CHUNKED + b"1;" + b"x" * 11_000 + b"\r\na\r\n0\r\n\r\n",
        [(413, LARGE)],
        False,
        True,
    ),
    Row(
        "a little padding",
        (POST + CHUNKED + b"1;" + b"x" * 4_000 + b"\r\na\r\n0\r\n\r\n") * 3,
        [(200, "a")] * 3,
        True,
        True,
    ),
    Row(
        "endless trailers",
        POST + CHUNKED + b"0\r\n" + b"X: y\r\n" * 5_000,
        [(413, LARGE)],
        False,
        True,
    ),
    Row(
        "a large body nobody may send there",
        sized(b"x" * 1001, head=on(b"GET", b"/no")[:-2]),
        [(413, LARGE)],
        False,
    ),
    # Framing that two parsers would read differently.
    Row(
        "length and chunked",
        POST + b"Content-Length: 5\r\n" + CHUNKED + b"0\r\n\r\n",
        [(400, BAD)],
        False,
    ),
    Row(
        "chunked and length",
        POST + CHUNKED[:-2] + b"Content-Length: 5\r\n\r\n0\r\n\r\n",
        [(400, BAD)],
        False,
    ),
    Row("two lengths", sized(b"ab", b"Content-Length: 3\r\n"), [(400, BAD)], False),
    Row("a negative length", POST + b"Content-Length: -1\r\n\r\n", [(400, BAD)], False),
    Row("a length in words", POST + b"Content-Length: two\r\n\r\n", [(400, BAD)], False),
    Row(
        "an unknown coding",
        POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        [(400, BAD)],
        False,
    ),
    Row(
        "chunked in HTTP/1.0",
        b"POST /mcp HTTP/1.0\r\n" + CHUNKED + b"0\r\n\r\n",
        [(400, BAD)],
        False,
    ),
    Row("a chunk size in words", POST + CHUNKED + b"zz\r\n", [(400, BAD)], False),
    Row("a NUL in a header", POST + b"X: a\0b\r\n\r\n", [(400, BAD)], False),
    Row("a blank before the colon", POST + b"X : a\r\n\r\n", [(400, BAD)], False),
    Row("a folded header", POST + b"X: a\r\n b\r\n\r\n", [(400, BAD)], False),
    Row(
        "lines without carriage return",
        b"POST /mcp HTTP/1.1\nHost: 127.0.0.1\n\n",
        [(400, BAD)],
        False,
    ),
    # Not HTTP/1.
    Row("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [(400, BAD)], False),
    Row("another version", b"POST /mcp HTTP/2.0\r\n" + HOST + b"\r\n", [(400, BAD)], False),
    Row("HTTP/0.9", b"GET /mcp\r\n\r\n", [(400, BAD)], False),
    Row("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", [(400, BAD)], False),
    Row("a method nobody knows", on(b"FETCH"), [(400, BAD)], False),
    # Heads.
    Row("empty lines first", b"\r\n\r\n\r\n" + A, [(200, "a")]),
    Row("empty lines between", A + b"\r\n\r\n" + B, [(200, "a"), (200, "bb")]),
    Row("a head of the limit", padded(2_000), [(200, "")]),
    Row("one byte over the head limit", padded(2_001), [(431, LARGE)], False),
    Row("an endless header", POST + b"X: " + b"a" * 20_000, [(431, LARGE)], False, True),
    Row("endless headers", POST + b"X: y\r\n" * 4_000, [(431, LARGE)], False, True),
    Row("an endless request line", b"POST /" + b"a" * 20_000, [(431, LARGE)], False, True),
    Row("endless empty lines", b"\r\n" * 20_000, [(431, LARGE)], False, True),
    Row(
        "spaces instead of a header that is all there",
        A + POST + b"X:" + b" " * 4_000 + b"a\r\n\r\n",
        [(200, "a"), (431, LARGE)],
        False,
        True,
    ),
    Row(
        "a long head after good requests",
        A * 50 + POST + b"X: " + b"a" * 20_000,
        [(200, "a")] * 50 + [(431, LARGE)],
        False,
        True,
    ),
    # Where to, and how.
    Row("a query is ignored", on(b"POST", b"/mcp?a=/b"), [(200, "")]),
    Row("the root", on(b"POST", b"/"), [(200, "")]),
    Row("an absolute URL", on(b"POST", b"http://127.0.0.1:8001/mcp"), [(200, "")]),
    Row("the absolute URL of another", on(b"POST", b"http://evil.example/mcp"), [(403, BAD)]),
    Row(
        "an unknown path",
        sized(b"{}", head=on(b"POST", b"/mcp/")[:-2]) + A,
        [(404, BAD), (200, "a")],
    ),
    Row("GET", on(b"GET") + A, [(405, BAD), (200, "a")]),
    Row("HEAD", on(b"HEAD") + A, [(405, ""), (200, "a")]),
    Row("DELETE", on(b"DELETE"), [(405, BAD)]),
    Row("TRACE", on(b"TRACE"), [(405, BAD)]),
    Row("OPTIONS for all", on(b"OPTIONS", b"*"), [(404, BAD)]),
    Row("CONNECT", on(b"CONNECT", b"127.0.0.1:443") + b"bytes", [(404, BAD)], False),
    Row("health", on(b"GET", b"/health"), [(200, '{"status":"ok"}')]),
    Row("health without body", on(b"HEAD", b"/health") + A, [(200, ""), (200, "a")]),
    Row("POST to health", on(b"POST", b"/health"), [(405, BAD)]),
    # Whom for.
    Row("no Host", LINE + b"\r\n", [(400, BAD)], False),
    Row("two Hosts", POST + HOST + b"\r\n", [(400, BAD)], False),
    Row("no port", LINE + b"Host: 127.0.0.1\r\n\r\n", [(200, "")]),
    Row("IPv6", LINE + b"Host: [::1]:8001\r\n\r\n", [(200, "")]),
    Row("localhost", LINE + b"Host: LocalHost:8001 \r\n\r\n", [(200, "")]),
    Row("a name of ours", LINE + b"Host: Player.example:8001\r\n\r\n", [(200, "")]),
    Row("a foreign name", LINE + b"Host: evil.example:8001\r\n\r\n", [(403, BAD)]),
    Row("an address in a name", LINE + b"Host: 127.0.0.1.evil.example\r\n\r\n", [(403, BAD)]),
    Row("IPv6 without brackets", LINE + b"Host: ::1\r\n\r\n", [(403, BAD)]),
    Row("an empty Host", LINE + b"Host:\r\n\r\n", [(403, BAD)]),
    # Browsers.
    Row("a foreign origin", sized(b"{}", b"Origin: http://evil.example\r\n"), [(403, BAD)]),
    Row("no origin at all", sized(b"{}", b"Origin: null\r\n"), [(403, BAD)]),
    Row("another port", sized(b"{}", b"Origin: http://127.0.0.1:9\r\n"), [(403, BAD)]),
    Row("another scheme", sized(b"{}", b"Origin: https://127.0.0.1:8001\r\n"), [(403, BAD)]),
    Row(
        "two origins",
        sized(b"{}", b"Origin: http://127.0.0.1:8001\r\nOrigin: http://evil.example\r\n"),
        [(403, BAD)],
    ),
    Row(
        "our origin with JSON",
        sized(b"{}", b"Origin: http://127.0.0.1:8001\r\nContent-Type: Application/JSON; a=b\r\n"),
        [(200, "{}")],
    ),
    Row(
        "our origin with text",
        sized(b"{}", b"Origin: http://127.0.0.1:8001\r\nContent-Type: text/plain\r\n"),
        [(415, BAD)],
    ),
    Row("an agent with text", sized(b"{}", b"Content-Type: text/plain\r\n"), [(200, "{}")]),
    Row("a compressed body", sized(b"{}", b"Content-Encoding: gzip\r\n"), [(415, BAD)]),
    Row("an identical body", sized(b"{}", b"Content-Encoding: identity\r\n"), [(200, "{}")]),
    # One connection, many requests.
    Row("requests in order", A + B + A, [(200, "a"), (200, "bb"), (200, "a")]),
    Row("the first asks to close", sized(b"a", b"Connection: close\r\n") + B, [(200, "a")], False),
    Row("HTTP/1.0", b"POST /mcp HTTP/1.0\r\n\r\n" + A, [(200, "")], False),
    Row(
        "HTTP/1.0 with keep-alive",
        b"POST /mcp HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + A,
        [(200, ""), (200, "a")],
    ),
    Row("good, then bad", A + b"nonsense\r\n\r\n" + B, [(200, "a"), (400, BAD)], False),
    Row("an error of ours", sized(b"raise") + A, [(500, "INTERNAL_ERROR"), (200, "a")]),
    Row("no content", sized(b"204") + A, [(204, ""), (200, "a")]),
    Row("accepted", sized(b"202") + A, [(202, ""), (200, "a")]),
    # Upgrades, which nobody gets.
    Row("h2c with a body", sized(b"{}", H2C) + A, [(200, "{}"), (200, "a")]),
    Row(
        "h2c with chunks",
        POST + H2C + CHUNKED + b"2\r\n{}\r\n0\r\n\r\n" + A,
        [(200, "{}"), (200, "a")],
    ),
    Row("h2c without body", POST + H2C + b"\r\n" + A, [(200, ""), (200, "a")]),
    Row("h2c twice", sized(b"{}", H2C) * 2, [(200, "{}"), (200, "{}")]),
    Row("h2c and close", sized(b"{}", b"Connection: close\r\n" + H2C) + A, [(200, "{}")], False),
    Row("h2c over the limit", sized(b"x" * 1001, H2C), [(413, LARGE)], False),
    Row(
        "h2c with too many chunks",
        POST + H2C + CHUNKED + b"3e9\r\n" + b"x" * 1001,
        [(413, LARGE)],
        False,
    ),
    Row(
        "a web socket",
        on(b"GET", headers=HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"),
        [(405, BAD)],
        False,
    ),
    # 100-continue.
    Row(
        "a word before a large body",
        POST + b"Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n",
        [(413, LARGE)],
        False,
    ),
    Row(
        "a word before a body nobody may send",
        POST + b"Origin: null\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
        [(403, BAD)],
        False,
    ),
    Row(
        "a word before nothing", POST + b"Expect: 100-continue\r\n\r\n" + A, [(200, ""), (200, "a")]
    ),
]
