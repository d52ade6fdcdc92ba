"""The rules for agents of any role: HTTP, from the first POST to old and slow clients."""

from agentleague.conformance.bench import Bench
from agentleague.conformance.exchange import Answer
from agentleague.conformance.rules import Broken, NotApplicable, Rules, Tier
from agentleague.conformance.wire import (
    ANY,
    as_usual,
    body_of,
    expect_taken,
    head,
    soon,
    spelled,
)

HTTP = Rules(ANY)
MUST, SHOULD, ROBUST, PLUS = Tier
NO_GET = (400, 403, 404, 405, 501)  # of a server that does not offer what is asked for


@HTTP.rule("http.takes-post", MUST)
def takes_post(bench: Bench) -> None:
    """An agent answers POST at its end point.

    R-HTTP-01: document 001 section 1.1
    Mend: Listen for HTTP POST at the end point that you register, /mcp unless you say otherwise.
    """
    answer = bench.ask(bench.control())
    bench.expect_answer(answer)
    if answer.status in (404, 405, 501) or 300 <= (answer.status or 0) < 400:
        raise Broken("HTTP 200: POST at its end point")


@HTTP.rule("message.is-taken", MUST)
def message_is_taken(bench: Bench) -> None:
    """An agent takes an ordinary message, in one of the forms that the documents show.

    R-FORM-01: document 001 section 1.1
    Mend: Take JSON-RPC 2.0 with the method of document 001, and the message in `params`.
    """
    expect_taken(bench, bench.ask(bench.control()), "an ordinary message is taken")


@HTTP.rule("http.says-json", SHOULD)
def says_json(bench: Bench) -> None:
    """An agent answers with the content type application/json.

    R-HTTP-01: document 001 section 1.1
    Mend: Set the header Content-Type: application/json in every answer.
    Leniency: the content type of an answer is not looked at
    """
    answer = bench.ask(bench.control())
    bench.expect_answer(answer)
    kind = answer.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() not in ("application/json", "text/event-stream"):
        bench.exchanges[-1].header = "Content-Type"
        said = f", not {kind}" if kind else "; it is missing"
        raise Broken(f"Content-Type: application/json{said}")


@HTTP.rule("http.get-is-no-message", PLUS)
def get_is_no_message(bench: Bench) -> None:
    """An agent does not answer GET at its end point as if that were a message.

    R-HTTP-01: document 001 section 1.1
    Mend: Answer any method but POST with 405.
    """
    answer = _got(bench, bench.peer.path)
    if answer.status in NO_GET:
        return
    if answer.status is None or answer.status >= 500 or bench.is_taken(answer):
        raise Broken("HTTP 405", is_late=answer.is_late)
    if answer.status == 200 and "result" in (answer.fields() or {}):
        raise Broken("HTTP 405")


def _got(bench: Bench, path: str) -> Answer:
    what = "GET at the end point" if path == bench.peer.path else f"GET {path}"
    return bench.keep(what, b"", bench.peer.get(path, seconds=soon(bench)))


def _offered(bench: Bench, path: str) -> Answer:
    """What it answers there; the rule does not apply to an agent that has nothing there."""
    answer = _got(bench, path)
    if answer.status is None or answer.status in NO_GET or answer.error:
        raise NotApplicable(f"it has no {path}")
    return answer


@HTTP.rule("http.other-path", PLUS)
def other_path(bench: Bench) -> None:
    """An agent answers 404 to messages at a path that is not its own.

    R-HTTP-01: document 001 section 1.1
    Mend: Answer 404 at any path but your end point's.
    """
    what, body = "a message at /no-such-path", body_of(bench)
    answer = bench.post(what, body, path="/no-such-path")
    if answer.status == 200:
        raise NotApplicable("it takes messages at any path")
    if answer.status not in (403, 404, 405):
        raise Broken("HTTP 404")


@HTTP.rule("http.chunked", PLUS)
def chunked(bench: Bench) -> None:
    """An agent takes a body in chunks, or says that it needs its length.

    R-HTTP-01: ours
    Mend: Read Transfer-Encoding: chunked, or answer 411; most web servers do it for you.
    """
    body = body_of(bench)
    half = len(body) // 2
    chunks = [b"%x\r\n%b\r\n" % (len(each), each) for each in (body[:half], body[half:], b"")]
    sent = head(bench, None, "Transfer-Encoding: chunked") + b"".join(chunks)
    answer = bench.send("a body in chunks", sent, seconds=as_usual(bench))
    if answer.status in (400, 411, 501):
        raise NotApplicable(f"it refuses bodies in chunks with HTTP {answer.status}")
    expect_taken(bench, answer, "a body in chunks is taken, or refused with HTTP 411")


@HTTP.rule("http.header-case", ROBUST)
def header_case(bench: Bench) -> None:
    """An agent reads the names of headers in upper and lower case.

    R-HTTP-01: document 001 section 1.1
    Mend: Compare the names of headers without their case.
    """
    for in_case in (str.lower, str.upper):
        body = body_of(bench)
        lines = head(bench, len(body)).decode().splitlines()
        names = [line.partition(":") for line in lines[1:] if line]
        said = [lines[0], *(f"{in_case(name)}:{value}" for name, _, value in names), "", ""]
        sent = "\r\n".join(said).encode() + body
        answer = bench.send("headers in another case", sent)
        expect_taken(bench, answer, "a message with headers in upper or lower case is taken")


@HTTP.rule("http.keep-alive", ROBUST)
def keep_alive(bench: Bench) -> str | None:
    """An agent answers a second request on a connection, or says that it closes it.

    R-HTTP-01: document 001 section 1.1
    Mend: Read the body of a request whole, and keep the connection open or say Connection: close.
    """
    bodies = [body_of(bench, each) for each in bench.controls(2)]
    answers = bench.peer.post_again(bodies)
    for body, answer in zip(bodies, answers, strict=False):
        bench.keep("on a connection that stays open", body, answer)
    expect_taken(bench, answers[0], "a message on a connection that stays open is taken")
    if answers[0].headers.get("connection", "").lower() == "close":
        return "it closes the connection after each answer"
    if not bench.is_served(answers[-1]):
        expect_taken(bench, answers[-1], "the second message on a connection is taken as well")
    return None


@HTTP.rule("http.expect-continue", PLUS)
def expect_continue(bench: Bench) -> None:
    """An agent answers a client that announces its body with Expect: 100-continue.

    R-HTTP-01: ours
    Mend: Answer 100 Continue, or ignore the header; most web servers do it for you.
    """
    body = body_of(bench)
    sent = head(bench, len(body), "Expect: 100-continue") + body
    answer = bench.send("a body announced with Expect: 100-continue", sent, seconds=as_usual(bench))
    if answer.status == 417:
        return
    expect_taken(bench, answer, "a body announced with Expect: 100-continue is taken")


@HTTP.rule("http.version-1-0", PLUS)
def version_1_0(bench: Bench) -> None:
    """An agent answers clients of HTTP/1.0.

    R-HTTP-01: ours
    Mend: Answer HTTP/1.0 requests, and close the connection after it.
    """
    body = body_of(bench)
    sent = head(bench, len(body), version="1.0") + body
    answer = bench.send("a request of HTTP/1.0", sent, seconds=as_usual(bench))
    if answer.status == 505:
        raise NotApplicable("it refuses HTTP/1.0 with HTTP 505")
    expect_taken(bench, answer, "a message by HTTP/1.0 is taken")


@HTTP.rule("http.health", PLUS)
def health(bench: Bench) -> str | None:
    """An agent that answers GET /health says its status and role in JSON.

    R-HTTP-04: ours
    Mend: Answer GET /health with {"status": "ok", "role": …}.
    """
    answer = _offered(bench, "/health")
    said = answer.fields() or {}
    if answer.status != 200 or not isinstance(said.get("status"), str):
        raise Broken("HTTP 200 and JSON with `status`")
    if "role" not in said:
        return "it does not say its `role`"
    if said["role"] != bench.role:
        raise Broken(f"`role`: {spelled(bench.role)}, not {spelled(said['role'])}")
    return None


@HTTP.rule("http.metrics", PLUS)
def metrics(bench: Bench) -> None:
    """An agent that answers GET /metrics does so in the text format of Prometheus.

    R-HTTP-05: ours
    Mend: Answer GET /metrics with lines of `name value`, as text/plain; version=0.0.4.
    """
    answer = _offered(bench, "/metrics")
    lines = answer.body.decode(errors="replace").splitlines()
    values = [line.rpartition(" ")[2] for line in lines if line and not line.startswith("#")]
    kind = answer.headers.get("content-type", "")
    if answer.status != 200 or not kind.startswith("text/plain") or not all(map(_number, values)):
        bench.exchanges[-1].header = "Content-Type"
        raise Broken("HTTP 200, text/plain and lines of `name value`")


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@HTTP.rule("http.foreign-origin", PLUS)
def foreign_origin(bench: Bench) -> None:
    """An agent refuses what a web page of another origin makes a browser send.

    R-HTTP-03: ours
    Mend: Answer 403 to a request with an Origin that is not your own.
    """
    body, origin = body_of(bench), {"Origin": "http://elsewhere.example"}
    answer = bench.post("a message with a foreign Origin", body, headers=origin)
    if answer.headers.get("access-control-allow-origin") in ("*", origin["Origin"]):
        bench.exchanges[-1].header = "Access-Control-Allow-Origin"
        raise Broken("HTTP 403, and no Access-Control-Allow-Origin for foreign pages")
    if bench.is_taken(answer):
        raise NotApplicable("it does not look at Origin: any web page can make a browser call it")
    if answer.status is None or answer.status >= 500:
        raise Broken("HTTP 403")
