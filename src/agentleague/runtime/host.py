"""Joins a role to clock, transport and journal; the same in production and in simulation.

A role's events are applied when it decides them and written at once; every other effect waits, in
order, until all events before it are committed. So nobody sees what a crash could undo. A call that
waited has its full time from when it goes out: a slow disk is no agent's silence. While a journal
is away its league may be another manager's: then nothing is answered, and what was decided is told
when the journal is sure again.
"""

import logging
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import msgspec

from agentleague.errors import Damaged, InternalError, LeagueError, Lost, StorageError
from agentleague.league.events import read_event
from agentleague.league.match_records import MATCHES_AT_HAND
from agentleague.protocol.messages import Message, Receipt
from agentleague.roles import effects, ports, stimuli
from agentleague.roles.effects import Broadcast, Call, Effect, Event, Record
from agentleague.roles.stimuli import Answered, Asked, Key, SeatHeard, Stimulus, Told
from agentleague.roles.tally import SECONDS, Times

log = logging.getLogger(__name__)
Done = Callable[[Any], None]
_AWAY = object()  # the key of a timer of the host's own


@dataclass(frozen=True)
class HostLimits:
    """The limits of one host."""

    hashes: int = 20_000  # of the newest rows that are kept in memory
    waiting: int = 9_000  # events on their way to disk; the journal itself takes 10,000
    replayed: int = 1_000  # rows at a time: a quarter faster than one by one
    receipts: int = 1_000  # that are not sealed again when they are given again
    telling_seconds: float = 1.0  # between two looks at who has heard a broadcast so far
    away_seconds: float = 0.2  # between two looks at whether the league is its own again


class JournalArchive:
    """The rows of old matches, which a manager reads again, in the loop: those of one round."""

    def __init__(
        self, journal: ports.JournalReader, league_id: str, at_hand: int = MATCHES_AT_HAND
    ) -> None:
        self.at_hand = at_hand
        self.hashes: Mapping[int, bytes] = {}  # of the newest rows, which its host knows
        self._journal, self._league_id = journal, league_id

    def find(self, first: int, last: int, match_id: str) -> Iterator[tuple[int, Event]]:
        """The events from row `first` to `last` that name this match, with their numbers."""
        text = f'"{match_id}"'.encode()
        for row in self._journal.find(self._league_id, first, last, text):
            yield row.seq, read_event(row.kind, row.version, row.body)

    def hash_of(self, seq: int) -> str | None:
        """The hash of a row; None if it is not there, or not what was written."""
        if known := self.hashes.get(seq):  # Agents ask for these often, and nothing waits.
            return known.hex()
        try:
            row = next(self._journal.read(self._league_id, seq - 1), None)
        except Damaged:
            return None
        return row.hash.hex() if row else None


class Ledger(NamedTuple):
    """One league's journal, and who writes the receipt of a row, by its number and hash."""

    journal: ports.Journal
    league_id: str
    limits: HostLimits = HostLimits()
    receipt: Callable[[int, str], Receipt] = Receipt


class Host:
    """Runs one role. `ledger` is for a role that records, `runner` for one with a strategy."""

    def __init__(
        self,
        role: ports.Role,
        clock: ports.Clock,
        transport: ports.Transport,
        *,
        ledger: Ledger | None = None,
        runner: ports.StrategyRunner | None = None,
    ) -> None:
        limits = ledger.limits if ledger else HostLimits()
        self.role, self.ended = role, False
        self.on_end: Done = lambda summary: None
        self.on_step: Callable[[], None] | None = None  # called after each stimulus
        self.on_seen: Callable[[Stimulus, Sequence[Effect]], None] | None = None  # shown each step
        self.sit: Callable[[str, str, Callable[[], str]], ports.Seat] | None = None  # takes a seat
        self.on_failure: Callable[[BaseException], None] = self._fail
        self._clock, self._transport, self.runner = clock, transport, runner
        self._ledger, self._limits = ledger, limits
        self.disk_times = Times()  # that steps waited for the disk
        self._has_failed = False  # If so, the role may be ahead of its journal, and decides nothing
        self._decided = self._committed = 0  # numbers of the last event decided, and on disk
        self.hashes: dict[int, bytes] = {}  # of the newest rows, which receipts name
        self._receipts: dict[int, Receipt] = {}  # given lately, by their rows
        # Effects, behind which event they wait, and since when.
        self._waiting: deque[tuple[int, float, Sequence[Effect]]] = deque()
        self._replies: dict[int, Callable[[Message | LeagueError], None]] = {}
        self._asked = 0
        self._calls: dict[Key, ports.Cancel] = {}
        self._timers: dict[Key, ports.Cancel] = {}

    def replay(self, rows: Iterable[ports.Row], read: Callable[[str, int, bytes], Event]) -> None:
        """Let the role take in what its journal holds: nothing is decided and nothing sent."""
        left = iter(rows)
        while some := list(islice(left, self._limits.replayed)):
            for event in [read(row.kind, row.version, row.body) for row in some]:
                self.role.apply(event)
            self._keep_hashes(some)
            self._decided = self._committed = some[-1].seq

    @property
    def is_written(self) -> bool:
        """Whether everything that was decided is on disk."""
        return self._decided == self._committed

    @property
    def journal(self) -> ports.Journal | None:
        """Where it records, if its role does."""
        return self._ledger.journal if self._ledger else None

    @property
    def disk(self) -> str:
        """The state of its journal, if it has one."""
        return self._ledger.journal.state if self._ledger else "ok"

    def start(self, wall_offset: float) -> None:
        """Begin: listen, and tell the role."""
        self._transport.listen(self.ask)
        self.feed(stimuli.Started(wall_offset))

    def feed(self, stimulus: Stimulus) -> None:
        """Something happened: let the role decide, write its events, then carry out the rest."""
        now = self._clock.now()
        if self._has_failed:
            self._give_up(stimulus, StorageError("this manager has stopped; try again later"))
            return
        try:
            wanted = self.role.handle(stimulus, now)
        except Exception as bug:
            self._stumble(stimulus, bug)
            return
        if self.on_seen:
            self.on_seen(stimulus, wanted)
        ledger = self._ledger
        if ledger and (events := [each.event for each in wanted if type(each) is Record]):
            after, self._decided = self._decided, self._decided + len(events)
            ledger.journal.append(ledger.league_id, after, events, self._on_committed)
            wanted = [each for each in wanted if type(each) is not Record]
        is_next = self._decided == self._committed and not self._waiting
        if is_next and not (ledger and ledger.journal.state == "away"):
            for effect in wanted:
                self._RELEASE[type(effect)](self, effect)
        else:
            self._hold(now, wanted)
        if self.on_step:
            self.on_step()

    def close(self) -> None:
        """Decide and send nothing more: it is over, or another process goes on with it."""
        self._has_failed = True
        for cancel in [*self._calls.values(), *self._timers.values()]:
            cancel()
        gone = StorageError("this manager has stopped; send the same message again later")
        for reply in self._replies.values():
            reply(gone)
        for each in (self._calls, self._timers, self._waiting, self._replies):
            each.clear()

    def _hold(self, now: float, wanted: Sequence[Effect]) -> None:
        """Carry these out when what was decided is on disk, and the league surely its own."""
        self._waiting.append((self._decided, now, wanted))
        if self._decided == self._committed:
            self._release_later()

    def _release_later(self) -> None:
        """The league may be another manager's by now: look again in a while."""
        if _AWAY not in self._timers:
            when = self._clock.now() + self._limits.away_seconds
            self._timers[_AWAY] = self._clock.call_at(when, self._come_back)

    def _come_back(self) -> None:
        del self._timers[_AWAY]
        self._on_committed(())

    def _on_committed(self, rows: Sequence[ports.Row] | StorageError) -> None:
        if isinstance(rows, StorageError):
            self._stop(rows)
            return
        if rows:
            self._keep_hashes(rows)
            self._committed = rows[-1].seq
        if self._has_failed:
            return
        if (self._ledger and self._ledger.journal.state == "away") or _AWAY in self._timers:
            self._release_later()
            return
        now, times = self._clock.now(), self.disk_times
        while self._waiting and self._waiting[0][0] <= self._committed:
            _, decided_at, wanted = self._waiting.popleft()
            times.counts[bisect_left(SECONDS, now - decided_at)] += 1  # No call: it is so often.
            times.seconds += now - decided_at
            for effect in wanted:
                kind = type(effect)
                held = (now - decided_at,) if kind is Call or kind is Broadcast else ()
                self._RELEASE[kind](self, effect, *held)

    def _reply(self, effect: effects.Reply) -> None:
        answer = effect.answer
        if effect.receipt is not None and isinstance(answer, Message):
            answer = self._with_receipt(answer, effect.receipt)
        self._replies.pop(effect.to)(answer)

    def _drop(self, effect: effects.Drop) -> None:
        for waiting in (self._calls, self._timers):
            cancel = waiting.pop(effect.key, None)
            if cancel:
                cancel()

    def _end(self, effect: effects.End) -> None:
        self.ended = True
        self.on_end(effect.summary)

    def _call(self, effect: Call, held_seconds: float = 0.0) -> None:
        key, message = effect.key, effect.message

        def done(got: ports.Answer) -> None:
            if got.is_last:
                self._calls.pop(key, None)
            self.feed(Answered(key, got.message, got.error, got.seconds, got.dialect, got.is_last))

        if effect.receipt is not None:
            message = self._with_receipt(message, effect.receipt)
        until = effect.until + held_seconds
        self._calls[key] = self._transport.call(effect.to, message, until, done)

    def _broadcast(self, effect: Broadcast, held_seconds: float = 0.0) -> None:
        key = effect.key

        def done(failed: Mapping[str, LeagueError]) -> None:
            del self._calls[key]
            self._timers.pop(key)()
            self.feed(Told(key, failed))

        def look() -> None:
            self._look_again(key, look)
            self.feed(Told(key, dict(telling.failed), set(telling.awaited)))

        telling = self._transport.broadcast(
            self._with_receipts(effect.letters), effect.until + held_seconds, done
        )
        self._calls[key] = telling.cancel
        self._look_again(key, look)

    def _look_again(self, key: Key, look: Callable[[], None]) -> None:
        when = self._clock.now() + self._limits.telling_seconds
        self._timers[key] = self._clock.call_at(when, look)

    def _wake_at(self, effect: effects.WakeAt) -> None:
        def wake() -> None:
            self._timers.pop(effect.key, None)
            self.feed(stimuli.Woken(effect.key))

        former = self._timers.pop(effect.key, None)
        if former:
            former()
        self._timers[effect.key] = self._clock.call_at(effect.when, wake)

    def _run_strategy(self, effect: effects.RunStrategy) -> None:
        assert self.runner, "a role with a strategy needs a runner"
        self.runner.run(
            effect.turn,
            lambda move, error: self.feed(stimuli.StrategyReturned(effect.key, move, error)),
        )

    def _sit(self, effect: effects.Sit) -> None:
        assert self.sit, "a role that sits needs a way to its seat"
        client = self.sit(effect.manager_url, effect.seat, lambda: effect.token)
        client.heard = lambda is_there: self.feed(SeatHeard("there" if is_there else "away"))
        client.ended = lambda: self.feed(SeatHeard("taken"))
        client.refused = lambda _, body: self.feed(
            SeatHeard("refused", body.decode("utf-8", "replace"))
        )
        client.start()

    def ask(
        self,
        message: Message,
        caller: stimuli.Caller,
        reply: Callable[[Message | LeagueError], None],
    ) -> None:
        """Let the role answer at once, unless others wait for the disk, or must see each step."""
        behind, ledger = self._decided - self._committed, self._ledger
        state = ledger.journal.state if ledger else "ok"
        if behind > self._limits.waiting or state in ("full", "away"):
            what = "database is away" if state == "away" else "disk is behind"
            reply(StorageError(f"the {what}; send the same message again later"))
            return
        answer = bug = None
        if not (behind or self.on_seen or self._has_failed):
            try:
                answer = self.role.answer(message, caller, self._clock.now())
            except Exception as raised:
                bug = raised
        if answer is None:
            self._asked += 1
            self._replies[self._asked] = reply
            asked = Asked(message, caller, self._asked)
            self._stumble(asked, bug) if bug else self.feed(asked)
            return
        reply(answer)
        if self.on_step:
            self.on_step()

    def _stumble(self, stimulus: Stimulus, bug: Exception) -> None:
        """A bug of ours: say so, and go on; but never with decisions that are not on disk."""
        if isinstance(bug, Lost):  # Nothing was decided, and nothing may be.
            self._give_up(stimulus, StorageError("rows of the journal are lost; try again later"))
            self._stop(self._ledger.journal.end(bug) if self._ledger else bug)
            return
        is_sound = isinstance(stimulus, Asked) and getattr(self.role, "applied", 0) == self._decided
        answer: LeagueError = InternalError("something went wrong here; the log says what")
        why: BaseException = InternalError(f"stopped by a bug: {type(bug).__name__}: {bug}")
        if isinstance(bug, StorageError) and not isinstance(bug, Damaged):  # No bug: it is away.
            log.info("%s: an old row cannot be read now: %s", type(stimulus).__name__, bug)
            answer = StorageError("the journal cannot be read; send the same message again later")
            why = bug
        else:
            log.error("a %s could not be handled", type(stimulus).__name__, exc_info=bug)
        self._give_up(stimulus, answer)
        if self._ledger and not is_sound:
            self._stop(why)

    def _stop(self, error: BaseException) -> None:
        self._has_failed = True
        self.on_failure(error)

    def _give_up(self, stimulus: Stimulus, error: LeagueError) -> None:
        if isinstance(stimulus, Asked) and stimulus.reply in self._replies:
            self._replies.pop(stimulus.reply)(error)

    def _with_receipt(self, message: Message, seq: int) -> Message:
        assert self._ledger, "only who writes a journal gives receipts"
        receipt = self._receipts.get(seq)
        if receipt is None:  # A lock and a report, and at the end of a round all, get the same one.
            try:
                row_hash = self.hashes.get(seq)
                if row_hash is None:
                    row_hash = next(self._ledger.journal.read(self._ledger.league_id, seq - 1)).hash
                receipt = self._ledger.receipt(seq, row_hash.hex())
            except StorageError as error:
                self._stop(error)
                return message
            if len(self._receipts) >= self._limits.receipts:
                self._receipts.clear()
            self._receipts[seq] = receipt
        return msgspec.structs.replace(message, receipt=receipt)

    def _with_receipts(
        self, letters: effects.Letters
    ) -> list[tuple[effects.Address, list[Message]]]:
        """Letters as they go out: what was one message for several stays one."""
        given: dict[int, Message] = {}
        for message, seq in [each for _, letter in letters for each in letter]:
            if seq is not None and id(message) not in given:
                given[id(message)] = self._with_receipt(message, seq)
        return [(to, [given.get(id(each), each) for each, _ in letter]) for to, letter in letters]

    def _keep_hashes(self, rows: Iterable[ports.Row]) -> None:
        hashes, most = self.hashes, self._limits.hashes
        hashes.update([(row.seq, row.hash) for row in rows])
        if len(hashes) > most:  # The older half of them is on disk.
            for seq in list(islice(hashes, len(hashes) - most // 2)):
                del hashes[seq]

    def _fail(self, error: BaseException) -> None:
        log.critical("stopped: %s", error)
        raise error

    _RELEASE: ClassVar[dict[type, Callable[..., None]]] = {
        effects.Reply: _reply,
        Call: _call,
        Broadcast: _broadcast,
        effects.Drop: _drop,
        effects.WakeAt: _wake_at,
        effects.RunStrategy: _run_strategy,
        effects.End: _end,
        effects.Sit: _sit,
    }
