"""The agent's end of a seat: it fetches its calls from the manager and brings the answers along."""

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import TypeVar, cast

import msgspec
from msgspec import Raw, Struct

from agentleague.errors import LeagueError
from agentleague.protocol import seats as wire
from agentleague.protocol.seats import Opened, Opening, Polled, SeatAnswer, SeatCall
from agentleague.protocol.tokens import PROOF_HEADER
from agentleague.roles.ports import Cancel, Clock
from agentleague.roles.stimuli import write_headers
from agentleague.transport.http_client import Done, HttpAnswer, HttpClient
from agentleague.transport.http_response import Handler, HttpRequest, Response

log = logging.getLogger(__name__)
# "open" or "poll", the body, until when; is told what came of it, later.
Post = Callable[[str, bytes, float, Done], Cancel]
Respond = Callable[[int, bytes], None]  # status and body
Deliver = Callable[[bytes, str, Respond], None]  # body, proof, what takes the answer
READ_BYTES = 1_048_576  # of the answer to a poll
_MARGIN_SECONDS = 5.0  # that the answer to a request may take longer than it may be held
_LINGER_SECONDS = 0.02  # in which most agents answer: their answers go with the next poll
_RETRY_SECONDS, _RETRY_SECONDS_MAX = 0.25, 2.0
_POLLS_MAX = 2  # at a time: the one that waits, and one that brings answers meanwhile
_ANSWERS_BYTES = wire.BODY_BYTES - 240  # in one poll, as they are written there
T = TypeVar("T", Opened, Polled)
_encode = msgspec.json.Encoder().encode


class _Flight(Struct, eq=False):
    """A request that is not answered yet, and the answers that it carries."""

    epoch: int
    answers: dict[str, Raw]
    cancel: Cancel = lambda: None


class SeatClient:
    """Hands each call to `deliver` once, and keeps its answer until the manager has received it.

    `name` differs from that of every other client. `ended` is told when another program has taken
    the seat, `refused` whenever the manager says no, with its status and words, `heard` that the
    manager is away, at each try, and that it is there again.
    """

    def __init__(self, clock: Clock, post: Post, deliver: Deliver, name: str) -> None:
        self._clock, self._post, self._deliver, self._name = clock, post, deliver, name
        self.ended: Callable[[], None] = lambda: None
        self.refused: Callable[[int, bytes], None] = lambda status, body: None
        self.heard: Callable[[bool], None] = lambda is_there: None
        self.wait_seconds, self.margin_seconds = wire.WAIT_SECONDS, _MARGIN_SECONDS
        self._epoch = self._ack = 0
        self._flights: list[_Flight] = []
        self._open_calls: set[str] = set()  # that were delivered and not answered
        self._fresh: set[str] = set()  # those of them that may be answered at once
        self._unsent: dict[str, Raw] = {}  # answers by the id of their call
        self._failures = 0
        self._is_over = self._is_delivering = False
        self._stop_timer: Cancel = lambda: None

    def start(self) -> None:
        """Open the seat, and fetch calls until `stop`."""
        self._epoch = self._ack = 0
        self._send("open", _encode(Opening(self._name)), {}, self._opened)

    def stop(self) -> None:
        """Leave the seat; what is answered later is lost."""
        self._is_over = True
        self._stop_timer()
        for flight in self._flights:
            flight.cancel()
        self._flights.clear()

    def finish(self, done: Callable[[], None], seconds: float) -> None:
        """Bring the answers that are ready, and leave; `done` is told when the manager has them."""
        for flight in reversed(self._flights):
            self._unsent = {**flight.answers, **self._unsent}
        self.stop()
        if self._unsent:
            poll = self._write_poll(self._pack(), wait=0.0)
            self._post("poll", poll, self._clock.now() + seconds, lambda got: done())
        else:
            done()

    def _send(
        self, what: str, body: bytes, answers: dict[str, Raw], done: Callable[..., None]
    ) -> None:
        self._stop_timer()
        flight = _Flight(self._epoch, answers)
        self._flights.append(flight)
        held = self.wait_seconds if what == "poll" else 0.0
        until = self._clock.now() + held + self.margin_seconds
        flight.cancel = self._post(what, body, until, partial(done, flight))

    def _poll(self) -> None:
        self._fresh.clear()
        answers = self._pack()
        poll = self._write_poll(answers, wait=0.0 if self._unsent else self.wait_seconds)
        self._send("poll", poll, answers, self._polled)

    def _pack(self) -> dict[str, Raw]:
        """Answers for one poll, which are unsent no more."""
        answers, size = dict[str, Raw](), 0
        for call_id, answer in list(self._unsent.items())[: wire.CALLS_MAX]:
            size += len(bytes(answer))
            if size > _ANSWERS_BYTES:
                break
            answers[call_id] = self._unsent.pop(call_id)
        return answers

    def _write_poll(self, answers: dict[str, Raw], wait: float) -> bytes:
        brought = [*answers.values()]
        return _encode({"epoch": self._epoch, "ack": self._ack, "wait": wait, "answers": brought})

    def _opened(self, flight: _Flight, got: HttpAnswer) -> None:
        if opened := self._read(flight, got, Opened):
            self._epoch = opened.epoch
            self._poll()

    def _polled(self, flight: _Flight, got: HttpAnswer) -> None:
        polled = self._read(flight, got, Polled)
        if polled is None:
            return
        for receipt in polled.receipts:
            self._unsent.pop(receipt.id, None)
        if flight.epoch != self._epoch:
            self._go_on()
        elif polled.state == "taken":
            self.stop()
            self.ended()
        elif polled.state == "reopen":
            self.start()
        elif polled.state == "superseded" and not self._current:
            self._rest()  # By a request of ours that came late: we need not be quick.
        else:
            self._deliver_all(polled.calls)
            self._go_on()

    def _read(self, flight: _Flight, got: HttpAnswer, kind: type[T]) -> T | None:
        if self._is_over:
            return None
        self._flights.remove(flight)
        self._unsent = {**flight.answers, **self._unsent}
        said = None
        if got.status == 200:
            with suppress(LeagueError):  # Something in between said it.
                said = wire.read(got.body, kind)
        elif 400 <= got.status < 500:
            self.refused(got.status, got.body)
        if not said or self._failures:
            self.heard(bool(said))
        if said:
            self._failures = 0
        elif flight.epoch == self._epoch and not self._is_over:
            self._rest(got.retry_after or 0.0)
        return said

    def _rest(self, seconds: float = 0.0) -> None:
        """Say nothing for a while: the manager is away, or will not have us."""
        self._stop_timer()
        seconds = max(seconds, min(_RETRY_SECONDS * 2**self._failures, _RETRY_SECONDS_MAX))
        self._failures = min(self._failures + 1, 8)
        again = self._poll if self._epoch else self.start
        self._stop_timer = self._clock.call_at(self._clock.now() + seconds, again)

    @property
    def _current(self) -> int:
        """Polls under way that may bring calls: not those from before the seat was opened again."""
        return sum(flight.epoch == self._epoch for flight in self._flights)

    def _go_on(self) -> None:
        is_resting = self._failures and not self._current
        if self._is_over or self._is_delivering or is_resting or not self._epoch:
            return
        if self._current:
            if self._unsent and self._current < _POLLS_MAX:
                self._poll()
        elif self._fresh:
            self._stop_timer()
            then = self._clock.now() + _LINGER_SECONDS
            self._stop_timer = self._clock.call_at(then, self._poll)
        else:
            self._poll()

    def _deliver_all(self, calls: Iterable[SeatCall]) -> None:
        self._is_delivering = True
        for call in calls:
            if call.seq > self._ack and not self._is_over:
                self._ack = call.seq
                self._open_calls.add(call.id)
                self._fresh.add(call.id)
                answer = partial(self._answer, call.id)
                try:
                    self._deliver(call.body.encode(), call.proof, answer)
                except Exception:
                    log.exception("A call at a seat failed.")
                    answer(500, b"")
        self._is_delivering = False

    def _answer(self, call_id: str, status: int, body: bytes) -> None:
        if call_id not in self._open_calls:
            return  # It was answered before.
        self._open_calls.discard(call_id)
        self._fresh.discard(call_id)
        answer = _encode(SeatAnswer(call_id, status, body.decode(errors="replace")))
        if len(answer) > _ANSWERS_BYTES:
            answer = _encode(SeatAnswer(call_id, 500, ""))
        self._unsent[call_id] = Raw(answer)
        self._go_on()


def seat_client(
    clock: Clock, client: HttpClient, seat_url: str, token: Callable[[], str], handle: Handler
) -> SeatClient:
    """What fetches the calls at a seat; `handle` gets them as if they came over a socket."""

    def post(what: str, body: bytes, until: float, done: Done) -> Cancel:
        header = write_headers([("Authorization", f"Bearer {token()}")])
        return client.post(f"{seat_url}/{what}", body, until, done, header)

    def deliver(body: bytes, proof: str, answer: Respond) -> None:
        head = b"POST /mcp HTTP/1.1" + write_headers([(PROOF_HEADER, proof)] if proof else ())
        request = HttpRequest("/mcp", body, "", head=head)
        handle(request, cast(Response, lambda status, body, headers=(): answer(status, body)))

    return SeatClient(clock, post, deliver, token_hex(8))
