"""The calls that wait at the manager for agents that can only call out.

Handing a call out changes nothing: it waits until it is answered or its time is over, so a lost
poll repeats itself. The first answer to a call counts; a receipt tells what became of each.
"""

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, TypeVar

from msgspec import Struct

from agentleague.errors import InvalidTimestamp, WrongType
from agentleague.protocol import seats as wire
from agentleague.protocol.messages import Message
from agentleague.protocol.seats import Poll, Polled, Receipt, SeatAnswer, SeatCall, State, Taken
from agentleague.protocol.timestamps import Calendar
from agentleague.roles.ports import Cancel, Clock

Done = Callable[[int, bytes], None]  # HTTP status and body; ours have no body
Respond = Callable[[Polled], None]
BAD, LATE, AGENT_FAILED, FULL, AWAY = 400, 408, 424, 429, 503
CALL_SECONDS = 3_600.0  # that a referee may wait; it leaves when its own time is over
OPENING_SECONDS = 10.0  # in which agents notice that there is a new process: they try every 2 s
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
    due: float  # when an answer is of no use any more; 0 if that is not known
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
        self.began = clock.now()  # to take agents and calls
        self._calendar = Calendar(first_epoch / 1e6 - self.began)
        self._epochs = count(first_epoch + 1)
        self._seats: defaultdict[str, _Seat] = defaultdict(_Seat)

    @property
    def opened(self) -> int:
        """How many agents have taken their seats."""
        return sum(place.epoch > 0 for place in self._seats.values())

    def call(self, seat: str, body: bytes, proof: str, until: float, done: Done) -> Cancel:
        """Let a call wait for its answer; `done` is told once, later, unless it is cancelled."""
        return self._call(self._seats[seat], body, (proof, until, until), done)

    def refer(self, seat: str, body: bytes, message: Message, done: Done) -> Cancel:
        """The same for a referee, to whom we are away until the agent can know that we are back."""
        place, now, due = self._seats[seat], self._clock.now(), 0.0
        if not place.epoch and now < self.began + OPENING_SECONDS:
            return self._clock.call_at(now, partial(done, AWAY, b""))
        with suppress(InvalidTimestamp):  # Most have none.
            due = now + self._calendar.seconds_until(getattr(message, "deadline", ""), now)
        return self._call(place, body, ("", now + CALL_SECONDS, due), done)

    def _call(
        self, place: _Seat, body: bytes, terms: tuple[str, float, float], done: Done
    ) -> Cancel:
        now, (proof, until, due) = self._clock.now(), terms
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return self._clock.call_at(now, partial(done, BAD, b""))
        if len(place.waiting) >= wire.CALLS_MAX:
            return self._clock.call_at(now, partial(done, FULL, b""))
        place.last += 1
        # No later process gives the same id: an answer must not meet another call.
        call_id = f"c{self._first_epoch}-{place.last}"
        late = partial(self._end, place, call_id, "late", LATE)
        stop_timer = self._clock.call_at(until, late)
        call = _Waiting(call_id, place.last, text, proof, until, due, done, stop_timer)
        place.waiting[call_id] = call
        if place.held:  # What else is called in this turn goes along.
            self._clock.call_at(now, partial(self._release, place, place.held, "open"))
        return partial(self._end, place, call_id, "late")

    def serve(self, seat: str, action: str, body: bytes, say: Callable[[Any], None]) -> Cancel:
        """Open a seat for its agent, or take its poll. Raises LeagueError: nothing has changed."""
        if action == "poll":
            return self.poll(seat, wire.read(body, Poll), say)
        say(wire.Opened(self.open(seat, wire.read(body, wire.Opening).client)))
        return lambda: None

    def open(self, seat: str, client: str = "") -> int:
        """Give the seat to an agent; the newest has it, unless it repeats itself."""
        place = self._seats[seat]
        if client in place.clients:
            return place.clients[client]
        self._release(place, place.held, "taken")
        place.epoch, place.acked = next(self._epochs), 0
        if client:
            _keep(place.clients, client, place.epoch)
        return place.epoch

    def poll(self, seat: str, poll: Poll, respond: Respond) -> Cancel:
        """Take an agent's answers and hand out its calls, now or when there is one.

        Raises: WrongType, and nothing has changed.
        """
        place = self._seats[seat]
        if poll.epoch != place.epoch or not poll.epoch:
            is_taken = self._first_epoch < poll.epoch < place.epoch
            stale = tuple([Receipt(each.id, "stale") for each in poll.answers if is_taken])
            respond(Polled(poll.epoch, "taken" if is_taken else "reopen", (), stale))
            return lambda: None
        if poll.ack > place.offered:
            raise WrongType(
                f"poll.ack: {poll.ack} is ahead of {place.offered}, the last call that was handed "
                "out; send the seq of the last call you got",
                field="ack",
            )
        self._release(place, place.held, "superseded")
        receipts = tuple([Receipt(each.id, self._take(place, each)) for each in poll.answers])
        place.acked = max(place.acked, poll.ack)
        held = place.held = _Held(respond, receipts)
        wait = min(poll.wait, wire.WAIT_SECONDS)
        if not wait or any(call.seq > place.acked for call in place.waiting.values()):
            self._release(place, held, "open")
        else:
            release, until = partial(self._release, place, held, "open"), self._clock.now() + wait
            held.stop_timer = self._clock.call_at(until, release)
        return partial(self._drop, place, held)

    def end_polls(self) -> None:
        """Answer every poll that is held: this process ends."""
        for place in self._seats.values():
            self._release(place, place.held, "open")

    def _take(self, place: _Seat, answer: SeatAnswer) -> Taken:
        call = place.waiting.get(answer.id)
        if call is None:
            return place.over.get(answer.id, "unknown")
        if self._clock.now() >= call.until:  # Its timer is late.
            self._end(place, answer.id, "late", LATE)
            return "late"
        body, status = answer.body.encode(), answer.status
        if len(body) > wire.BODY_BYTES:  # Who asked would drop the connection, and blame us.
            status, body = AGENT_FAILED, b""
        elif status not in (200, 202) and not 400 <= status < 500:
            status = AGENT_FAILED
        self._end(place, answer.id, "duplicate", status, body)
        return "taken"

    def _end(
        self, place: _Seat, call_id: str, state: Taken, status: int = 0, body: bytes = b""
    ) -> None:
        """A call is over; without a status who asked is not told."""
        if call := place.waiting.pop(call_id, None):
            call.stop_timer()
            _keep(place.over, call_id, state)
            if status:
                call.done(status, body)

    def _drop(self, place: _Seat, held: _Held) -> None:
        if place.held is held:
            place.held = None
            held.stop_timer()

    def _release(self, place: _Seat, held: _Held | None, state: State) -> None:
        if held and place.held is held:
            self._drop(place, held)
            calls = self._due(place) if state == "open" else ()
            held.respond(Polled(place.epoch, state, calls, held.receipts))

    def _due(self, place: _Seat) -> tuple[SeatCall, ...]:
        due: list[SeatCall] = []
        size, now = 0, self._clock.now()
        for call in place.waiting.values():
            if call.seq > place.acked:
                size += len(call.body)
                if due and size > HANDED_BYTES:
                    break
                seconds = round(max(0.0, call.due - now), 3)
                due.append(SeatCall(call.id, call.seq, call.body, call.proof, seconds))
        if due:
            place.offered = max(place.offered, due[-1].seq)
        return tuple(due)


def _keep(kept: dict[str, V], name: str, value: V) -> None:
    kept[name] = value
    if len(kept) > _REMEMBERED:
        del kept[next(iter(kept))]
