"""The calls that wait at the manager for agents that can only call out.

Handing a call out changes nothing: it waits until it is answered or its time is over, so a lost
poll repeats itself. The first answer to a call counts; a receipt tells what became of each.
"""

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TypeVar

from msgspec import Struct

from agentleague.errors import WrongType
from agentleague.protocol import seats as wire
from agentleague.protocol.seats import Poll, Polled, Receipt, SeatAnswer, SeatCall, State, Taken
from agentleague.roles.ports import Cancel, Clock

Done = Callable[[int, bytes], None]  # HTTP status and body; ours have no body
Respond = Callable[[Polled], None]
BAD, LATE, AGENT_FAILED, FULL = 400, 408, 424, 429
HANDED_BYTES = 65_536  # of calls in one answer to a poll, if there are several
_REMEMBERED = 64  # calls that are over, and programs that opened a seat
V = TypeVar("V")


class _Waiting(Struct, eq=False):
    """A call that waits for its answer."""

    id: str
    seq: int
    body: str
    proof: str
    until: float
    done: Done
    stop_timer: Cancel


class _Held(Struct, eq=False):
    """A poll that waits for a call."""

    respond: Respond
    receipts: tuple[Receipt, ...]
    stop_timer: Cancel = lambda: None


class _Seat(Struct, eq=False):
    """One agent's queue."""

    epoch: int = 0  # until it is opened
    last: int = 0  # seq of the last call
    offered: int = 0
    acked: int = 0
    waiting: dict[str, _Waiting] = {}
    over: dict[str, Taken] = {}  # what an answer to a call that is over is
    clients: dict[str, int] = {}  # epochs by name
    held: _Held | None = None


class Seats:
    """The seats of all agents; `first_epoch` is higher in each later process."""

    def __init__(self, clock: Clock, first_epoch: int) -> None:
        self._clock, self._first_epoch = clock, first_epoch
        self._epochs = count(first_epoch + 1)
        self._seats: dict[str, _Seat] = {}

    def call(self, seat: str, body: bytes, proof: str, until: float, done: Done) -> Cancel:
        """Let a call wait for its answer; `done` is told once, later, unless it is cancelled."""
        place, now = self._place(seat), self._clock.now()
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return self._clock.call_at(now, partial(done, BAD, b""))
        if len(place.waiting) >= wire.CALLS_MAX:
            return self._clock.call_at(now, partial(done, FULL, b""))
        place.last += 1
        # No later process gives the same id: an answer must not meet another call.
        call_id = f"c{self._first_epoch}-{place.last}"
        stop_timer = self._clock.call_at(until, partial(self._late, place, call_id))
        call = _Waiting(call_id, place.last, text, proof, until, done, stop_timer)
        place.waiting[call_id] = call
        if place.held:  # What else is called in this turn goes along.
            self._clock.call_at(now, partial(self._wake, place, place.held))
        return partial(self._end, place, call_id, "late")

    def open(self, seat: str, client: str = "") -> int:
        """Give the seat to an agent; the newest has it, unless it repeats itself."""
        place = self._place(seat)
        if client in place.clients:
            return place.clients[client]
        if place.held:
            self._release(place, "taken")
        place.epoch, place.acked = next(self._epochs), 0
        if client:
            _keep(place.clients, client, place.epoch)
        return place.epoch

    def poll(self, seat: str, poll: Poll, respond: Respond) -> Cancel:
        """Take an agent's answers and hand out its calls, now or when there is one.

        Raises: WrongType, and nothing has changed.
        """
        place = self._place(seat)
        state = self._state(place, poll.epoch)
        if state != "open":
            stale = [Receipt(each.id, "stale") for each in poll.answers if state == "taken"]
            respond(Polled(poll.epoch, state, (), tuple(stale)))
            return lambda: None
        if poll.ack > place.offered:
            raise WrongType(
                f"poll.ack: {poll.ack} is ahead of {place.offered}, the last call that was handed "
                "out; send the seq of the last call you got",
                field="ack",
            )
        if place.held:
            self._release(place, "superseded")
        receipts = tuple([Receipt(each.id, self._take(place, each)) for each in poll.answers])
        place.acked = max(place.acked, poll.ack)
        held = place.held = _Held(respond, receipts)
        wait = min(poll.wait, wire.WAIT_SECONDS)
        if not wait or any(call.seq > place.acked for call in place.waiting.values()):
            self._release(place, "open")
        else:
            wake, until = partial(self._wake, place, held), self._clock.now() + wait
            held.stop_timer = self._clock.call_at(until, wake)
        return partial(self._drop, place, held)

    def end_polls(self) -> None:
        """Answer every poll that is held: this process ends."""
        for place in self._seats.values():
            if place.held:
                self._release(place, "open")

    def _place(self, seat: str) -> _Seat:
        return self._seats.get(seat) or self._seats.setdefault(seat, _Seat())

    def _state(self, place: _Seat, epoch: int) -> State:
        if epoch == place.epoch and epoch:
            return "open"
        return "taken" if self._first_epoch < epoch < place.epoch else "reopen"

    def _take(self, place: _Seat, answer: SeatAnswer) -> Taken:
        call = place.waiting.get(answer.id)
        if call is None:
            return place.over.get(answer.id, "unknown")
        if self._clock.now() >= call.until:  # Its timer is late.
            self._late(place, answer.id)
            return "late"
        self._end(place, answer.id, "duplicate")
        body, status = answer.body.encode(), answer.status
        if (
            len(body) > wire.BODY_BYTES
        ):  # Who asked would drop the connection, and blame the manager.
            status, body = AGENT_FAILED, b""
        elif status not in (200, 202) and not 400 <= status < 500:
            status = AGENT_FAILED
        call.done(status, body)
        return "taken"

    def _late(self, place: _Seat, call_id: str) -> None:
        call = place.waiting[call_id]
        self._end(place, call_id, "late")
        call.done(LATE, b"")

    def _end(self, place: _Seat, call_id: str, state: Taken) -> None:
        call = place.waiting.pop(call_id, None)
        if call:
            call.stop_timer()
            _keep(place.over, call_id, state)

    def _wake(self, place: _Seat, held: _Held) -> None:
        if place.held is held:
            self._release(place, "open")

    def _drop(self, place: _Seat, held: _Held) -> None:
        if place.held is held:
            place.held = None
            held.stop_timer()

    def _release(self, place: _Seat, state: State) -> None:
        held, epoch = place.held, place.epoch
        assert held
        self._drop(place, held)
        calls = self._due(place) if state == "open" else ()
        held.respond(Polled(epoch, state, calls, held.receipts))

    def _due(self, place: _Seat) -> tuple[SeatCall, ...]:
        due: list[SeatCall] = []
        size, now = 0, self._clock.now()
        for call in place.waiting.values():
            if call.seq > place.acked:
                size += len(call.body)
                if due and size > HANDED_BYTES:
                    break
                seconds = round(max(0.0, call.until - now), 3)
                due.append(SeatCall(call.id, call.seq, call.body, call.proof, seconds))
        if due:
            place.offered = max(place.offered, due[-1].seq)
        return tuple(due)


def _keep(kept: dict[str, V], name: str, value: V) -> None:
    kept[name] = value
    if len(kept) > _REMEMBERED:
        del kept[next(iter(kept))]
