"""A real end point on loopback that answers for a model as a script says, well or badly."""

import json
import socket
import threading
from contextlib import contextmanager, suppress


class Request:
    """One question as it came."""

    def __init__(self, head, body):
        self.line, *lines = head.decode().split("\r\n")
        pairs = (line.partition(": ") for line in lines)
        self.headers = {name.lower(): value for name, _, value in pairs}
        self.body = json.loads(body) if body else None


class Stub:
    """What a test sees of the end point."""

    def __init__(self, port):
        self.port = port
        self.base = f"http://127.0.0.1:{port}/v1"
        self.requests = []
        self.closing = threading.Event()  # The test is over.
        self.left = threading.Event()  # The other side has ended a connection that was kept open.


@contextmanager
def stub(script, tls=None):
    """Serves each connection by `script(line, request, stub)`; it is closed afterwards."""
    listening = socket.create_server(("127.0.0.1", 0))
    there, threads = Stub(listening.getsockname()[1]), []

    def accept():
        while True:
            try:
                line, _ = listening.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=serve, args=(line,)))
            threads[-1].start()

    def serve(plain):
        with suppress(OSError), plain, tls.wrap_socket(plain, True) if tls else plain as line:
            request = read(line)
            there.requests.append(request)
            script(line, request, there)

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield there
    finally:
        there.closing.set()
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for thread in [accepting, *threads]:
            thread.join(20)


def read(line):
    """The request that comes over a connection."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += _more(line)
    head, _, body = got.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
    while len(body) < length:
        body += _more(line)
    return Request(head, body)


def _more(line):
    got = line.recv(65536)
    if not got:
        raise OSError("the other side has gone")
    return got


def http(body, status="200 OK", kind="application/json", *more):
    """An answer as bytes."""
    body = body if isinstance(body, bytes) else body.encode()
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *more]
    return "\r\n".join([*head, "", ""]).encode() + body


def completion(content, usage=(11, 2), **more):
    """A chat completion as an end point writes it."""
    answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]}
    if usage:
        prompt, done = usage
        counted = {"prompt_tokens": prompt, "completion_tokens": done}
        answer["usage"] = {**counted, "total_tokens": prompt + done}
    return json.dumps(answer | more)


def says(content, **more):
    """A script: the model says this."""
    return sends(http(completion(content, **more)))


def sends(data):
    """A script: these bytes."""
    return lambda line, request, stub: line.sendall(data)


def silent(line, request, stub):
    """A script: not one byte, until the other side goes or the test is over."""
    _wait_for_the_end(line, stub)


def trickling(line, request, stub):
    """A script: a good answer byte by byte, for much longer than anybody waits."""
    line.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n"
    )
    try:
        for byte in completion("odd", padding="-" * 4000).encode()[:4000]:
            line.sendall(bytes([byte]))
            if stub.closing.wait(0.02):
                return
    except OSError:
        stub.left.set()


def endless(line, request, stub):
    """A script: a body that never ends."""
    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while not stub.closing.is_set():
        line.sendall(b" " * 65536)


def broken_off(line, request, stub):
    """A script: half a body."""
    line.sendall(http(completion("odd"))[:-20])


def slams_the_door(line, request, stub):
    """A script: closes without a byte."""


def _wait_for_the_end(line, stub):
    while not stub.closing.is_set():
        line.settimeout(0.05)
        with suppress(TimeoutError):
            if not line.recv(1):
                stub.left.set()
                return
