"""The kit as manager and as both players of the matches that one referee runs."""

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from agentleague.conformance.bench import Fields, now
from agentleague.conformance.exchange import Answer, Exchange
from agentleague.conformance.limits import Limits
from agentleague.conformance.listener import Received, Reply, refuse_unknown
from agentleague.conformance.peer import Peer
from agentleague.conformance.referee_matches import (
    DECISIVE,
    INVITATION,
    LEAGUE_ID,
    OVER,
    Record,
    Scenario,
    Script,
    Seat,
    scenarios,
)
from agentleague.conformance.registering import RegisteringBench
from agentleague.conformance.rules import NotReached
from agentleague.conformance.target import Target, endpoint_in
from agentleague.dialects import starting
from agentleague.dialects.results import is_over
from agentleague.dialects.table import DIALECTS, OURS, Dialect, base_of, dialect_of, start_name
from agentleague.dialects.tools import Tools
from agentleague.errors import LeagueError
from agentleague.protocol import jsonrpc
from agentleague.protocol.jsonrpc import Form
from agentleague.protocol.messages import (
    PROTOCOL,
    MatchResultReport,
    Message,
    RoundAnnouncement,
    RoundMatch,
    Seated,
    StartMatch,
)
from agentleague.runtime.clock import stopwatch

REFEREE_ID = "REF01"
TOKEN = "tok_REF01_5eed1e55c0ffee"
FORMS = ("tool", "type", "bare", "lower", "message", "mcp")
CONTROLS = ("ROUND_ANNOUNCEMENT", "ROUND_COMPLETED", "START_MATCH")
REGISTRATION, REPORT = "REFEREE_REGISTER_REQUEST", "MATCH_RESULT_REPORT"
PLACES_MAX = 8  # matches at once
NO_WORDS = ("REJECTED", "REFUSED", "ERROR", "FAILED", "INVALID")


class RefereeBench(RegisteringBench):
    """A referee, whose manager and whose players are the kit."""

    role = "referee"
    sender = "league_manager"
    registers_with = REGISTRATION

    def __init__(self, target: Target, limits: Limits) -> None:
        self.records: dict[str, Record] = {}
        self.others: list[Record] = []  # of matches that nobody judges any more
        self.drops_registrations = 0  # so many are left unanswered from now on
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._calls: list[_Call] = []
        self._is_mute = False  # It reports nothing: that is not waited for in each match.
        self._seats: tuple[Seat, Seat] | None = None
        self._control = CONTROLS[0]
        self._table = scenarios(limits)
        super().__init__(target, limits, self.manage)

    def open(self) -> None:
        self._free = threading.Semaphore(self.at_once)
        self.way = self._find_way()
        self.speaks = self._find_ways(self.way) if self.way else []
        self._find_control()

    @property
    def at_once(self) -> int:
        """How many matches it runs at once, as it says, and no more than the kit wants."""
        meta = getattr(self.registration and self.registration.message, "referee_meta", None)
        return min(meta.max_concurrent_matches, PLACES_MAX) if meta else 1

    def control(self) -> Fields:
        number = next(self._numbers)
        if self._control == CONTROLS[2]:
            return self._start_of(number)
        fields: Fields = {"league_id": LEAGUE_ID, "round_id": number}
        if self._control == CONTROLS[0]:
            return self.message(self._control, **fields, matches=[])
        return self.message(self._control, **fields, matches_played=1, next_round_id=number + 1)

    def is_taken(self, answer: Answer) -> bool:
        if answer.status is None or answer.status >= 300 or answer.error is not None:
            return False
        try:
            jsonrpc.read_response(answer.body)
        except (LeagueError, *jsonrpc.UNREADABLE):
            return not answer.body.strip()
        said = self.said(answer)
        is_no = bool(said.get("error") or said.get("error_code"))
        is_no |= str(said.get("status", "")).upper() in NO_WORDS
        return not is_no and (answer.result or {}).get("isError") is not True

    # What the kit's manager does.

    def manage(self, received: Received) -> Reply:
        """Answer the referee: no more than the documents have."""
        if received.message is None:
            return refuse_unknown(received)
        if received.name == REGISTRATION:
            if self.drops_registrations:
                self.drops_registrations -= 1
                raise ConnectionAbortedError
            return received.result(_registered())
        if received.name == REPORT:
            return self._take_report(received)
        if received.name == "LEAGUE_QUERY":
            return received.result(self._answer_query(received))
        return refuse_unknown(received)

    def _take_report(self, received: Received) -> Reply:
        record = self._match_of(received)
        if record is None:
            return received.error(4003, "Match not found")
        record.reports.append(received)
        if record.scenario.hangs_up and len(record.reports) == 1:
            raise ConnectionAbortedError
        record.was_told.set()
        ack = {"message_type": "MATCH_RESULT_ACK", "protocol": PROTOCOL, "timestamp": now()}
        known: Fields = {"match_id": record.match_id, "round_id": record.round_id}
        return received.result(ack | known | {"status": "ACCEPTED"})

    def _match_of(self, received: Received) -> Record | None:
        """The match of a report: by its id, or else by its players."""
        report = received.message
        assert isinstance(report, MatchResultReport)
        with self._lock:
            known = [*self.records.values(), *self.others]
        by_id = (each for each in known if each.match_id == report.match_id)
        by_player = (each for each in known if set(each.ids) & set(report.result.score))
        return next(by_id, None) or next(by_player, None)

    def _answer_query(self, received: Received) -> Fields:
        """Where the players are, for whoever asks."""
        with self._lock:
            known = [*self.records.values(), *self.others]
        seats = [seat for each in known for seat in each.seats]
        asked = received.params().get("query_params")
        wanted = asked.get("player_id") if isinstance(asked, dict) else None
        urls = {seat.player_id: seat.url for seat in seats if wanted in (None, seat.player_id)}
        rows = [{"player_id": name, "contact_endpoint": url} for name, url in urls.items()]
        data: Fields = {"players": urls, "registrations": rows, "matches": []}
        answer = {"message_type": "LEAGUE_QUERY_RESPONSE", "success": True, "data": data}
        return answer | {"query_type": received.params().get("query_type", "")}

    # Matches.

    def record(self, name: str) -> Record:
        """What came of this scenario; at the first need all that are as slow as it begin."""
        scenario = self._table[name]
        if self.way is None:
            raise NotReached(
                "it ran no match that it was given; let it take start_match with match_id, "
                "player_A_id, player_B_id, player_A_endpoint and player_B_endpoint"
            )
        if name not in self.records:
            each_like_it = [x for x in self._table.values() if x.is_slow == scenario.is_slow]
            for each in each_like_it:
                if each.name not in self.records:
                    self.begin(each)
        record = self.records[name]
        record.is_done.wait()
        return record

    def played(self, name: str) -> Record:
        """The same, of a match that came to its end."""
        record = self.record(name)
        if not record.is_over:
            raise NotReached(f"the match with the players {name!r} was never reported")
        return record

    def forget(self, name: str) -> None:
        """Play this scenario once more when it is needed next: a busy machine was in its way."""
        with self._lock:
            self.others.append(self.records.pop(name))

    def begin(self, scenario: Scenario) -> Record:
        """Give the referee a match, as soon as it has a place; `is_done` says when it is over."""
        record = self._new_record(scenario)
        with self._lock:
            self.records[scenario.name] = record
        threading.Thread(target=self._play, args=(record,), daemon=True).start()
        return record

    def tell_again(self, record: Record) -> None:
        """Give the referee the same match once more."""
        if self.way:
            self._tell(record, self.way)

    def _new_record(self, scenario: Scenario) -> Record:
        number = next(self._numbers)
        scripts, bind = (scenario.a, scenario.b), self.target.bind
        a, b = (
            Seat(f"P{2 * number - 1 + which:02}", script, bind, self.peer)
            for which, script in enumerate(scripts)
        )
        return Record(scenario, number, (a, b))

    def _play(self, record: Record) -> None:
        try:
            with self._free:
                if not self._closing.is_set() and self.way:
                    self._tell(record, self.way)
                    self._wait(record, record.scenario.seconds(self.limits))
        finally:
            record.close()

    def _wait(self, record: Record, seconds: float) -> None:
        """Wait for the report, and a little longer for what may not come.

        On a busy machine a match may take twice as long, if it does not stand still.
        """
        until = stopwatch() + seconds
        latest = until + seconds
        while not record.is_over and stopwatch() < until and not self._closing.is_set():
            record.was_told.wait(self.limits.quiet)
            said = record.got()[-1:]
            is_told = all(seat.got(OVER) for seat in record.seats)
            if self._is_mute and is_told:
                break
            if is_told:
                more = self.limits.game_over + self.limits.connect
                until = min(until, stopwatch() + more)
            elif said:
                until = min(latest, max(until, said[0].at + seconds))
        self._closing.wait(self.limits.quiet)

    def _tell(self, record: Record, way: Dialect) -> "_Call":
        """Give the match to the referee in this way; its answer is not waited for."""
        record.began = stopwatch()
        body = way.write(self._assignment(record, way), self.next_id(), self.tools)
        call = _Call(self.peer, body, record)
        with self._lock:
            self._calls.append(call)
        call.start(record.scenario.seconds(self.limits))
        return call

    def _assignment(self, record: Record, way: Dialect) -> RoundAnnouncement:
        a, b = record.seats
        is_announced = way.starts == starting.ANNOUNCED
        seats = [Seated(each.player_id, each.url, each.player_id) for each in record.seats]
        match = RoundMatch(
            record.match_id,
            "even_odd",
            *record.ids,
            referee_endpoint=self.endpoint,
            player_A_endpoint=a.url,
            player_B_endpoint=b.url,
            seats=UNSET if is_announced else seats,
        )
        return RoundAnnouncement(
            LEAGUE_ID,
            record.round_id,
            [match],
            session=UNSET if is_announced else "check",
            sender=self.sender,
            timestamp=now(),
            conversation_id=record.conversation_id,
        )

    @property
    def endpoint(self) -> str:
        """Where the referee says it is."""
        named = endpoint_in(self.registration) if self.registration else ""
        return named or self.peer.url

    # What it understands.

    def _find_way(self) -> Dialect | None:
        """The first way to give a match that makes it invite somebody."""
        until = stopwatch() + self.limits.start
        for name in _ways():
            if stopwatch() > until or self._closing.is_set():
                break
            record = self._new_record(DECISIVE)
            with self._lock:
                self.records[DECISIVE.name] = record
            way = dialect_of(name)
            if way.form is Form.TOOL and not self.tools:
                self.list_tools()
            if self._is_understood(record, way, self.limits.connect):
                self._wait(record, DECISIVE.seconds(self.limits))
                self._is_mute = not record.is_over
                record.close()
                return way
            record.close()
        return None

    def _is_understood(self, record: Record, way: Dialect, seconds: float) -> bool:
        call, until = self._tell(record, way), stopwatch() + seconds
        while stopwatch() < until and not record.got(INVITATION):
            if call.answer and not self.is_taken(call.answer):
                return False
            if record.was_told.is_set() or self._closing.wait(0.01):
                break
        return bool(record.got(INVITATION))

    def _find_ways(self, known: Dialect) -> list[str]:
        """The names of all ways that it understands, the known one first."""
        base = base_of(known.name)
        names = [start_name(known.starts, form) for form in FORMS]
        names += [start_name(start_type, base) for start_type in starting.START_METHODS]
        names = [each for each in dict.fromkeys(names) if each != known.name]
        with ThreadPoolExecutor(self.at_once) as pool:
            found = pool.map(self._try_way, map(dialect_of, names))
            understood = [name for name, is_one in zip(names, found, strict=True) if is_one]
        return [known.name, *understood]

    def _try_way(self, way: Dialect) -> bool:
        record = self._new_record(DECISIVE)
        with self._lock:
            self.others.append(record)
        try:
            is_understood = self._is_understood(record, way, 3 * self.limits.quiet)
            if is_understood:
                self._wait(record, self.limits.next_step)
            return is_understood
        finally:
            record.close()

    def _find_control(self) -> None:
        """A message that it takes at any time, and the form in which it does."""
        forms = [DIALECTS[form] for form in FORMS]
        if self.way:
            forms.insert(0, DIALECTS[base_of(self.way.name)])
        for self._control in CONTROLS:
            if self._control == CONTROLS[2]:
                forms = [OURS if forms[0] is OURS else _starter(self.way)] if self.way else []
            for form in forms:
                self.speak(form)
                if self.is_taken(self.ask(self.control(), seconds=self.limits.join)):
                    return
                if not self.way:
                    self.refuse_silence()
        self._control, self.dialect = CONTROLS[0], OURS

    def _idle_seats(self) -> tuple[Seat, Seat]:
        """The players of matches that nobody judges."""
        if self._seats is None:
            a, b = (Seat(name, Script(), self.target.bind, self.peer) for name in ("P901", "P902"))
            self._seats = (a, b)
        return self._seats

    def _start_of(self, number: int) -> Fields:
        """A match of players whom nobody judges, in the way that the referee understands."""
        way = self.way or dialect_of(start_name(starting.START))
        written = self._assignment(Record(DECISIVE, number, self._idle_seats()), way)
        if way.starts == starting.ANNOUNCED:
            found: Fields = msgspec.to_builtins(written)
            return found
        if self.dialect is OURS:
            return self.message(way.starts) | starting.start_fields(written, way.starts, way.naming)
        return starting.start_fields(written, starting.START)

    def request(self, message: Fields, **changed: Any) -> Fields:
        method = starting.METHODS.get(message.get("message_type", ""))
        return super().request(message, **({"method": method} if method else {}) | changed)

    # The end.

    def restart(self) -> Received | None:
        """Kill the referee that was started here, and start it again; the registration then."""
        assert self.launch
        before = len(self.manager.received)
        wanted = self.drops_registrations
        self.launch.kill()
        self.launch.start()

        def is_taken(received: Received) -> bool:
            return received.name == REGISTRATION and received.reply.body != b""

        found = self.manager.wait_for(is_taken, (1 + wanted) * self.limits.start, after=before)
        self.drops_registrations = 0
        if found:
            self._closing.wait(self.limits.quiet)  # The answer has to reach it.
            self.peer = Peer(self._find(self.limits), self.limits)
            self.speak(self.dialect)
        return found

    def close(self) -> None:
        self._closing.set()
        with self._lock:
            records = [*self.records.values(), *self.others]
        for call in self._calls:
            call.stop()
        with ThreadPoolExecutor(PLACES_MAX) as pool:
            list(pool.map(_close, records))
        for seat in self._seats or ():
            seat.close()
        super().close()


class _Call(Peer):
    """A start of a match, which may be answered at once, at the match's end, or never."""

    def __init__(self, peer: Peer, body: bytes, record: Record) -> None:
        super().__init__(peer.url, peer.limits)
        self.headers = peer.headers
        self._body, self._record = body, record
        self._connection: Any = None
        self.answer: Answer | None = None

    def start(self, seconds: float) -> None:
        """Ask, and go on."""
        threading.Thread(target=self._ask, args=(seconds,), daemon=True).start()

    def _ask(self, seconds: float) -> None:
        answer = self.post(self._body, seconds=seconds)
        self._record.start = Exchange(what="START_MATCH", sent=self._body, answer=answer)
        self.answer = answer
        fields = answer.fields()
        if fields and self._record.started_result() and is_over(fields):
            self._record.was_told.set()

    def connect(self, until: float) -> Any:
        self._connection = super().connect(until)
        return self._connection

    def stop(self) -> None:
        """Do not wait for the answer any more."""
        if self._connection:
            with suppress(OSError):
                self._connection.shutdown(2)


class _Starter(Dialect, frozen=True):
    """Writes START_MATCH, which has no documented form, as the referee understands it."""

    def write(self, message: Message, request_id: int, tools: Tools | None = None) -> bytes:
        if isinstance(message, StartMatch):
            match = message.matches[0]
            ends = (match.player_A_endpoint or "", match.player_B_endpoint or "")
            who = zip((match.player_A_id, match.player_B_id), ends, strict=True)
            match = replace(match, seats=[Seated(*each) for each in who])
            message = RoundAnnouncement(
                message.league_id, message.round_id, [match], session="check"
            )
        return super().write(message, request_id, tools)


def _starter(way: Dialect) -> Dialect:
    return _Starter(**{name: getattr(way, name) for name in way.__struct_fields__})


def _close(record: Record) -> None:
    """See to it that nobody listens there any more."""
    if record.is_done.is_set():
        record.is_closed.wait()
    else:
        record.close()


def _ways() -> Iterator[str]:
    """The names of all ways to give a match, the likeliest first."""
    for form in FORMS:
        for start_type in starting.START_METHODS:
            yield start_name(start_type, form)
    for form in ("tool", "bare"):
        for start_type in starting.START_METHODS:
            for naming in starting.namings_of(start_type):
                yield start_name(start_type, form, naming)


def _registered() -> Fields:
    return {
        "protocol": PROTOCOL,
        "message_type": "REFEREE_REGISTER_RESPONSE",
        "sender": "league_manager",
        "timestamp": now(),
        "status": "ACCEPTED",
        "referee_id": REFEREE_ID,
        "league_id": LEAGUE_ID,
        "auth_token": TOKEN,
        "reason": None,
    }
