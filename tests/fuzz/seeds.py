"""Good inputs to begin with: every example of the documents, and HTTP around them."""

import json

from agentleague.protocol.field_docs import example
from agentleague.protocol.messages import MESSAGES
from protocol.wire import EXAMPLES, registration
from transport.byte_tables import ROWS

BODIES = [json.dumps(example["body"]).encode() for example in EXAMPLES.values()]
SPACELESS = [json.dumps(e["body"], separators=(",", ":")).encode() for e in EXAMPLES.values()]
NESTED = [
    json.dumps({**e["body"], "params": {"message": e["body"]["params"]}}).encode()
    for e in EXAMPLES.values()
    if "params" in e["body"]
]
TOOLS = [
    json.dumps(
        {
            **{"jsonrpc": "2.0", "id": 1, "method": "tools/call"},
            "params": {"name": e["body"].get("method"), "arguments": e["body"]["params"]},
        }
    ).encode()
    for e in EXAMPLES.values()
    if "params" in e["body"]
]
BARE = [
    json.dumps(e["body"]["params"]).encode() for e in EXAMPLES.values() if "params" in e["body"]
]
OURS = [
    json.dumps({"jsonrpc": "2.0", "method": kind.method, "params": example(name), "id": 1}).encode()
    for name, kind in MESSAGES.items()
    if kind.method
]
USUAL = [  # As our own agents write them.
    json.dumps(
        {
            **{"jsonrpc": "2.0", "method": kind.method},
            **{"params": {"message_type": name, **example(name)}, "id": 1},
        },
        separators=(",", ":"),
    ).encode()
    for name, kind in MESSAGES.items()
    if kind.method
]
REQUESTS = [*BODIES, *SPACELESS, *NESTED, *TOOLS, *BARE, *OURS, *USUAL, registration()]

ANSWERS = [
    *REQUESTS,
    *(
        b'{"jsonrpc":"2.0","result":%b,"id":1}' % text
        for text in (
            b'{"accept":true}',
            b'{"parity_choice":"even"}',
            b'{"message":{"choice":"odd"}}',
            b'{"content":[{"type":"text","text":"{\\"move\\":4}"}]}',
            b'{"structuredContent":{"accept":true}}',
            b'{"isError":true,"content":[{"text":"no"}]}',
            b'{"status":"ACK"}',
        )
    ),
    b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"rate limit","data":{"retry_after":2}}}',
    b'"{\\"accept\\": true}"',
    b"",
]


def posted(body: bytes, headers: bytes = b"", path: bytes = b"/mcp") -> bytes:
    """A request that posts this."""
    return b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\n%bContent-Length: %d\r\n\r\n%b" % (
        path,
        headers,
        len(body),
        body,
    )


def chunked(body: bytes, size: int = 100) -> bytes:
    """A request that posts this in chunks."""
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return head + b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


STREAMS = [
    *(row.sent for row in ROWS if len(row.sent) < 3_000 and b"raise" not in row.sent),
    *map(posted, BODIES[::7]),
    *map(chunked, BODIES[::11]),
    posted(BODIES[0], b"Origin: http://evil.example\r\nContent-Type: application/json\r\n"),
    posted(b"{}", b"Expect: 100-continue\r\n"),
    posted(b"{}") * 70,
    posted(b"x" * 1_500),
    chunked(b"x" * 1_500, 400),
    chunked(b"x" * 900, 1) + posted(b"{}"),
    b"GET /health HTTP/1.1\r\nHost: [::1]\r\n\r\n",
]


def answered(body: bytes, head: bytes = b"") -> bytes:
    """An HTTP answer with this body."""
    return b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body)


HTTP_ANSWERS = [
    *map(answered, ANSWERS[::9]),
    answered(b"{}", b"Content-Type: application/json\r\n"),
    answered(b"{}") * 3,
    answered(b"\x1f\x8b\x08", b"Content-Encoding: gzip\r\n"),
    answered(b"{}", b"Connection: close\r\n"),
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n{}",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + answered(b"{}"),
    b"HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 429 Slow\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 204 None\r\n\r\n",
    b"HTTP/1.1 101 Up\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
]
