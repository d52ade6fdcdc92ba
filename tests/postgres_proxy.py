"""A network between a program and its database that a test can cut at a chosen message."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from typing import Literal

# What happens to the message in which the marker stands: it is lost with its connection; it is
# carried out and the answer is lost; it stays on the way, and its sender's connection is lost.
Fate = Literal["lost", "answered to nobody", "late"]


class Proxy:
    """Forwards connections to a port of this machine; `url` is that of the database through it."""

    def __init__(self, url: str) -> None:
        before, _, rest = url.rpartition(":")
        port, _, name = rest.partition("/")
        self._target = ("127.0.0.1", int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"{before}:{self._listener.getsockname()[1]}/{name}"
        self._moving = Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._marker: bytes | None = None
        self._fate: Fate = "lost"
        self._late: tuple[bytes, socket.socket] | None = None
        self._is_cut = False
        self._is_silent = Event()
        self.has_struck, self._has_answered = Event(), Event()
        self.late_answer = b""  # of the database, to nobody
        Thread(target=self._accept, daemon=True).start()

    def strike(self, marker: bytes, fate: Fate) -> None:
        """Let this befall the next message with this marker, once."""
        self._fate, self._marker = fate, marker
        self.has_struck.clear()

    def let_late_arrive(self) -> None:
        """Carry out what stayed on the way, and wait until the database has answered."""
        assert self._late
        data, server = self._late
        server.sendall(data)
        assert self._has_answered.wait(20)
        server.close()

    def cut(self) -> None:
        """No connection any more, and no new one."""
        self._is_cut = True
        with self._moving:
            pairs = [*self._pairs]
        for each in pairs:
            self._close(each)

    def mend(self) -> None:
        self._is_cut = False
        self._is_silent.clear()

    def fall_silent(self) -> None:
        """Take everything and forward nothing; connections stay."""
        self._is_silent.set()

    def close(self) -> None:
        self._is_silent.clear()
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_cut:
                client.close()
                continue
            pair = (client, socket.create_connection(self._target))
            with self._moving:
                self._pairs.add(pair)
            answer_is_lost = Event()
            Thread(target=self._send, args=(pair, answer_is_lost), daemon=True).start()
            Thread(target=self._answer, args=(pair, answer_is_lost), daemon=True).start()

    def _send(self, pair: tuple[socket.socket, socket.socket], answer_is_lost: Event) -> None:
        client, server = pair
        with suppress(OSError):
            while data := client.recv(1 << 20):
                if self._is_silent.is_set():
                    continue
                if self._marker is not None and self._marker in data:
                    self._marker = None
                    if self._fate == "late":
                        self._late = (data, server)
                    if self._fate != "answered to nobody":
                        self.has_struck.set()
                        break
                    answer_is_lost.set()
                server.sendall(data)
        self._close(pair)

    def _answer(self, pair: tuple[socket.socket, socket.socket], answer_is_lost: Event) -> None:
        client, server = pair
        with suppress(OSError):
            while data := server.recv(1 << 20):
                if self._late and self._late[1] is server:
                    self.late_answer += data
                    if b"Z\x00\x00\x00\x05I" in self.late_answer:  # Ready for another one.
                        self._has_answered.set()
                elif answer_is_lost.is_set():
                    self.has_struck.set()
                    break
                elif not self._is_silent.is_set():
                    client.sendall(data)
        self._close(pair)

    def _close(self, pair: tuple[socket.socket, socket.socket]) -> None:
        with self._moving:
            self._pairs.discard(pair)
        client, server = pair
        for each in [client] if self._late and self._late[1] is server else [client, server]:
            with suppress(OSError):  # The other side may be gone already.
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@contextmanager
def proxied(url: str) -> Iterator[Proxy]:
    """A proxy that ends with the test."""
    proxy = Proxy(url)
    try:
        yield proxy
    finally:
        proxy.close()
