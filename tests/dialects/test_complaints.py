"""What a peer says of a message that it did not take, in its own words."""

from agentleague.dialects.complaints import SAID_MAX, in_its_words, note_of, read_note
from agentleague.errors import NoConnection
from rules import rule
from tables import each_row

MATCH_TOKEN = "mtok_" + "0123456789abcdef" * 4
MISSING = b'{"detail":[{"type":"missing","loc":["body","game_invitation"],"msg":"Field required"}]}'


@rule("R-DIA-09")
@each_row(
    ("status", "body", "said"),
    [
        (422, MISSING, "HTTP 422: game_invitation: Field required"),
        (422, b'{"detail":[{"loc":["body",0,"x"],"msg":"a"},{"msg":"b"}]}', "HTTP 422: 0.x: a; b"),
        (422, b'{"detail":[{"loc":"x","msg":"a"},null,7]}', "HTTP 422: a"),
        (400, b'{"detail":"no"}', "HTTP 400: no"),
        (200, b'{"error":{"code":-32601,"message":"Unknown"},"id":1}', "error -32601: Unknown"),
        (
            200,
            b'{"error":{"code":-32602,"message":"Invalid params","data":"team: required"}}',
            "error -32602: Invalid params: team: required",
        ),
        (200, b'{"result":{"error":"Unknown method"}}', "Unknown method"),
        (200, b'{"result":{"content":[{"type":"text","text":"boom"}]}}', "boom"),
        # What is no complaint is repeated as it is: the first line of it.
        (200, b'{"status":"ok"}', '{"status":"ok"}'),
        (
            500,
            b"\n\n  Traceback (most recent call last):\n  File",
            "HTTP 500: Traceback (most recent call last):",
        ),
        (404, b"", "HTTP 404 with an empty body"),
        (200, b" ", "HTTP 200 with an empty body"),
        # What is no JSON is told with the place, and a page by what is seen first.
        (200, b"Hello", "text that is not JSON, from byte 0 on: Hello"),
        (200, b'{"a": 1, b}', 'text that is not JSON, from byte 9 on: {"a": 1, b}'),
        (200, b'{"accept": tru', 'JSON that breaks off after 14 bytes: {"accept": tru'),
        (200, b"event: message\ndata: {", "event: message"),
        (
            500,
            b"<!doctype html>\n<title>500 Server Error</title>\n<h1>Server Error</h1>\n<p>x</p>",
            "HTTP 500: 500 Server Error",
        ),
        (
            500,
            b"<html><style>p {}</style><title>Error</title><pre>TypeError: no<br>at x.js",
            "HTTP 500: Error: TypeError: no",
        ),
        (502, b"<html>", "HTTP 502"),
        (502, b"<title>Down</title><script>never closed", "HTTP 502: Down"),
        (502, b"<" * 60_000, f"HTTP 502: {'<' * 190}"),
        (200, b'{"error":{"error":{"error":{"error":{"error":[1]}}}}}', "[1]"),
    ],
)
def test_the_complaint_is_found_wherever_it_is(status, body, said):
    assert in_its_words(status, body) == said


@rule("R-DIA-09")
@each_row(
    "body",
    [
        b'{"detail":"%b is wrong"}' % MATCH_TOKEN.encode(),  # It echoes what it was sent.
        b"you sent tok_P01_%b" % (b"0a" * 32),
        b'{"detail":[{"loc":["%b"],"msg":"x"}]}' % MATCH_TOKEN.encode(),
        b"\x1b[2J\x00\r%b" % MATCH_TOKEN.upper().encode(),
        b"%b%b" % (b"x" * (SAID_MAX - 10), MATCH_TOKEN.encode()),  # It is cut within the token.
        b"[" * 100_000,
    ],
)
def test_it_is_short_can_be_printed_and_holds_no_token(body):
    said = in_its_words(500, body)

    assert len(said) <= SAID_MAX
    assert said.isprintable()
    assert "0123456789abcdef" not in said.lower()
    assert "0a0a0a" not in said


def test_a_note_can_be_read_again():
    error = NoConnection("no", said="HTTP 422: a [asked as b]")
    searched = NoConnection("no", said="HTTP 422: a", forms="tool, type")

    assert read_note(note_of(searched)) == ("HTTP 422: a", ["tool", "type"])
    assert read_note(note_of(error))[0] == "HTTP 422: a"  # It is not ours, and only less is shown.
    assert read_note(note_of(NoConnection("no", said="HTTP 500"))) == ("HTTP 500", [])
    assert note_of(NoConnection(f"no {MATCH_TOKEN}")) == "came no ***"
    assert read_note("came no") == ("", [])
    assert read_note("as P07") == ("", [])
