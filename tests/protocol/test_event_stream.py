"""The answer is taken from a stream of events, however it is written and cut."""

from agentleague.protocol.event_stream import EventStream
from tables import each_row

REQUEST = b'POST /mcp\r\n\r\n{"jsonrpc":"2.0","method":"tools/call","params":{},"id":7}'
ANSWER = b'{"jsonrpc":"2.0","id":7,"result":{}}'


def read(stream, *, size=1, request=REQUEST):
    """What comes of a stream in pieces of this size."""
    events = EventStream(request)
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    return next(filter(None, map(events.feed, pieces)), None)


@each_row("line_end", [b"\n", b"\r\n", b"\r"])
@each_row("size", [1, 2, 1000])
def test_the_answer_is_found_behind_comments_notices_and_requests(line_end, size):
    lines = [
        *(b": a comment", b"", b"event: message", b"id: 1", b"retry: 5", b"data:", b""),
        *(b'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}', b""),
        *(b'data: {"jsonrpc":"2.0","method":"ping","id":7}', b""),
        *(b'data: {"jsonrpc":"2.0","id":6,"result":{}}', b""),
        *(b"data: no JSON", b"", b"data: []", b"", b'data: {"id":7}', b""),
        *(b'data:{"jsonrpc":"2.0",', b'data: "id":7,"result":{}}', b"", b""),
    ]

    assert read(line_end.join(lines), size=size) == b'{"jsonrpc":"2.0",\n"id":7,"result":{}}'


@each_row(
    ("event", "request", "is_answer"),
    [
        (ANSWER, REQUEST, True),
        (ANSWER.replace(b"7", b'"7"'), REQUEST, True),  # Some ids are texts.
        (ANSWER.replace(b"7", b"8"), REQUEST, False),
        (b'{"id":"server-error","error":{"code":-32600}}', REQUEST, True),  # It names none.
        (ANSWER, b'{"message_type":"GAME_INVITATION"}', True),  # A bare message has no id.
    ],
)
def test_an_answer_is_known_by_the_id_of_its_request(event, request, is_answer):
    assert read(b"data: " + event + b"\n\n", request=request) == (event if is_answer else None)


def test_an_event_that_does_not_end_is_no_answer():
    assert read(b"data: " + ANSWER + b"\n") is None
