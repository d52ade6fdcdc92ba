"""The kit's own client and server, with peers that do not keep to HTTP."""

import socket
import threading
from contextlib import contextmanager

import pytest

from agentleague.conformance.limits import Limits
from agentleague.conformance.listener import BODY_MAX, KEPT_MAX, Listener, acknowledge
from agentleague.conformance.peer import Peer

QUICK = Limits(reply=0.5, connect=0.5)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@contextmanager
def saying(*pieces, closes=True):
    """The URL of a server that says this to whoever connects, whatever it is asked."""
    server = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def serve():
        with server.accept()[0] as connection:
            connection.recv(65_536)
            for piece in pieces:
                connection.sendall(piece)
            if not closes:
                done.wait(5)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.getsockname()[1]}/mcp"
    done.set()
    thread.join(5)
    server.close()


def test_answers_before_the_real_one_are_passed_over():
    with saying(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 3 + OK) as url:
        answer = Peer(url, QUICK).post(b"{}")

    assert (answer.status, answer.body) == (200, b"{}")


def test_an_answer_shorter_than_it_says_is_none():
    with saying(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{}") as url:
        answer = Peer(url, QUICK).post(b"{}")

    assert answer.status is None
    assert answer.problem == "the connection ended within the answer, after 2 bytes"


def test_two_answers_are_read_on_one_connection():
    with saying(OK + OK) as url:
        answers = Peer(url, QUICK).post_again([b"{}", b"{}"])

    assert [answer.status for answer in answers] == [200, 200]


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
def test_an_agent_that_goes_silent_on_an_open_connection_is_not_waited_for(begun):
    with saying(begun, closes=False) as url:
        (answer,) = Peer(url, QUICK).post_again([b"{}"])

    assert answer.is_late


@pytest.mark.parametrize(
    "url", ["http://[::1/mcp", "http://127.0.0.1:99999/", "http://a..b:80/mcp", "", "file:///x"]
)
def test_what_is_no_url_is_where_nobody_listens(url):
    peer = Peer(url, QUICK)

    assert not peer.is_listening()
    assert peer.post(b"{}").problem


@pytest.fixture
def listener():
    listener = Listener("manager", acknowledge)
    yield listener
    listener.close()


@pytest.mark.parametrize(
    "head",
    [
        b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % (BODY_MAX + 1),
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: %d\r\n\r\n" % (BODY_MAX + 1),
    ],
)
def test_a_size_that_cannot_be_ends_the_connection(listener, head):
    answer = Peer(listener.url, QUICK).send(b"POST /mcp HTTP/1.1\r\nHost: x\r\n" + head)

    assert answer.problem == "the connection was closed without an answer"
    assert listener.received == []


def test_a_flood_is_not_kept(listener):
    listener.received = [None] * KEPT_MAX

    assert Peer(listener.url, QUICK).post(b"{}").status == 503
    assert len(listener.received) == KEPT_MAX
