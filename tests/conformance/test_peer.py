"""The kit's own client and server, with peers that do not keep to HTTP."""

import socket
import threading
from contextlib import contextmanager

import pytest

from agentleague.conformance.exchange import Answer, Exchange
from agentleague.conformance.limits import Limits
from agentleague.conformance.listener import BODY_MAX, KEPT_MAX, Listener, acknowledge
from agentleague.conformance.peer import Peer
from tables import each_row

QUICK = Limits(reply=0.5, connect=0.5)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@contextmanager
def saying(*pieces, closes=True, ends=False):
    """The URL of a server that says this to whoever connects, whatever it is asked."""
    server = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def serve():
        with server.accept()[0] as connection:
            connection.recv(65_536)
            for piece in pieces:
                connection.sendall(piece)
            if ends:
                connection.shutdown(socket.SHUT_WR)
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


@each_row(
    "answer, said",
    [
        (b"200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP 200 an empty body"),
        (b"200 OK\r\nContent-Length: 4\r\n\r\n \n \n", "HTTP 200 4 bytes of white space"),
        (b"200 OK\r\n\r\n" + b" " * 99, "HTTP 200 32 bytes of white space, cut off there"),
        (b"200 OK\r\n\r\n" + b"{" * 33, f"HTTP 200 {'{' * 32}, cut off after 32 bytes"),
        (b"200 OK\r\nContent-Length: 3\r\n\r\n\0\1\2", "HTTP 200 3 bytes that cannot be shown"),
        (
            b"307 There\r\nLocation: /a\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP 307 Location: /a (nobody follows a redirect; give the URL to which it leads) {}",
        ),
    ],
)
def test_what_came_back_is_shown_as_what_it_is(answer, said):
    with saying(b"HTTP/1.1 " + answer, ends=True) as url:
        found = Peer(url, Limits(body_max=32)).post(b"{}")

    assert Exchange(what="", sent=b"", answer=found).shown()[1] == said


def test_a_header_that_a_rule_is_about_is_shown():
    answer = Answer(status=200, body=b"{}", headers={"content-type": "text/html"})

    found = Exchange(what="", sent=b"", answer=answer, header="Content-Type").shown()[1]

    assert found == "HTTP 200 Content-Type: text/html {}"


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
