"""The host: decisions first, then the disk, then everybody else."""

import pytest
from msgspec import UNSET

from agentleague.errors import Claimed, InternalError, NoConnection, StorageError
from agentleague.league.events import MatchClosed
from agentleague.protocol.messages import (
    LeagueQuery,
    LeagueStandingsUpdate,
    MatchResultAck,
    RoundCompleted,
)
from agentleague.roles.effects import (
    Address,
    Broadcast,
    Call,
    Drop,
    End,
    Record,
    Reply,
    RunStrategy,
    WakeAt,
)
from agentleague.roles.ports import Answer, Head
from agentleague.roles.stimuli import (
    Answered,
    Asked,
    Caller,
    Started,
    StrategyReturned,
    Told,
    Woken,
)
from agentleague.runtime.host import Host, HostLimits, JournalArchive, Ledger
from agentleague.simulation.clock import VirtualClock
from agentleague.storage.memory import MemoryJournal

ANN = Address("P01", "http://ann/mcp")
BOB = Address("P02", "http://bob/mcp")
QUERY = LeagueQuery("GET_STATUS")
ANSWER = MatchResultAck(match_id="R1M1")


class ScriptedRole:
    """Answers each stimulus with the next effects of its script, and remembers what it was told."""

    def __init__(self, *script):
        self.script, self.told = list(script), []

    def handle(self, stimulus, now):
        self.told.append(stimulus)
        effects = self.script.pop(0) if self.script else []
        if isinstance(effects, Exception):
            raise effects
        return effects

    def answer(self, message, caller, now):
        return None

    def apply(self, event):
        pass


class AtOnce(ScriptedRole):
    """Answers each message at once with itself, unless it is told what else to do."""

    applied = 0

    def __init__(self, *script, bug=None):
        super().__init__(*script)
        self.bug, self.asked = bug, 0

    def answer(self, message, caller, now):
        self.asked += 1
        if self.bug:
            raise self.bug
        return message


class SlowDisk:
    """A journal that commits when the test says so."""

    state = "ok"

    def __init__(self):
        self.waiting, self.seq = [], 0

    def append(self, league_id, after, events, done):
        assert after == self.seq
        seqs = range(after + 1, after + len(events) + 1)
        heads = [Head(seq, bytes([seq % 256]) * 32) for seq in seqs]
        self.seq += len(events)
        self.waiting.append((done, heads))

    def commit(self):
        done, heads = self.waiting.pop(0)
        done(heads)


class Wire:
    """A transport that keeps what was sent, and lets the test answer."""

    def __init__(self):
        self.sent, self.until, self.done, self.dropped = [], [], [], 0

    def listen(self, on_ask):
        self.ask = on_ask

    def call(self, to, message, until, done):
        self.sent.append((to.agent_id, message))
        self.until.append(until)
        self.done.append(done)
        return self.drop

    def broadcast(self, letters, until, done):
        self.letters, self.awaited, self.failed = letters, [to.agent_id for to, _ in letters], {}
        self.until.append(until)
        self.done.append(done)
        return self

    def drop(self):
        self.dropped += 1

    cancel = drop


def record(match_id="R1M1"):
    return Record(MatchClosed(match_id, 1))


def hosted(*script, disk=None, runner=None, **limits):
    role, wire, clock = ScriptedRole(*script), Wire(), VirtualClock()
    ledger = Ledger(disk, "league_test", HostLimits(**limits)) if disk else None
    return Host(role, clock, wire, ledger=ledger, runner=runner), role, wire, clock


def test_a_role_that_records_nothing_is_carried_out_at_once():
    host, role, wire, _ = hosted([Call("k", ANN, QUERY, 5.0)])

    host.start(wall_offset=3.0)

    assert role.told == [Started(3.0)]
    assert wire.sent == [("P01", QUERY)]


def test_every_effect_waits_until_all_events_before_it_are_on_disk():
    disk = SlowDisk()
    host, _, wire, _ = hosted(
        [record(), Call("a", ANN, QUERY, 5.0)],
        [Call("b", ANN, QUERY, 5.0)],  # recorded nothing itself, but decided on what was
        [record(), Call("c", ANN, QUERY, 5.0)],
        disk=disk,
    )
    for _ in range(3):
        host.feed(Woken("now"))
    assert wire.sent == []

    disk.commit()
    assert len(wire.sent) == 2

    disk.commit()
    assert len(wire.sent) == 3


def test_an_answer_waits_for_the_disk_too_and_names_its_row():
    disk, heard = SlowDisk(), []
    ack = MatchResultAck(match_id="R1M1")
    host, _, wire, _ = hosted([], [record(), Reply(1, ack, receipt=1)], disk=disk)
    host.start(0.0)

    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)
    assert heard == []

    disk.commit()
    assert (heard[0].receipt.seq, heard[0].receipt.hash) == (1, "01" * 32)


def test_a_call_names_a_row_that_was_committed_before():
    disk = SlowDisk()
    message = RoundCompleted(round_id=1)
    host, _, wire, _ = hosted([record(), record()], [Call("k", ANN, message, 5.0, 2)], disk=disk)
    host.feed(Woken("now"))
    disk.commit()

    host.feed(Woken("again"))

    assert wire.sent[0][1].receipt.hash == "02" * 32


def test_a_receipt_that_is_given_again_is_the_same_however_many_are_kept():
    disk, message, rows = SlowDisk(), RoundCompleted(round_id=1), (1, 2, 1, 1)
    calls = [Call(f"k{number}", ANN, message, 5.0, row) for number, row in enumerate(rows)]
    host, _, wire, _ = hosted([record(), record()], calls, disk=disk, receipts=1)
    host.feed(Woken("now"))
    disk.commit()

    host.feed(Woken("again"))

    assert [sent.receipt.seq for _, sent in wire.sent] == [*rows]
    assert wire.sent[0][1].receipt == wire.sent[2][1].receipt
    assert wire.sent[2][1].receipt is wire.sent[3][1].receipt


def test_while_a_league_may_be_anothers_nobody_is_told_anything():
    disk, heard = SlowDisk(), []
    first, *others = [Call(key, ANN, LeagueQuery(key), 5.0) for key in "abc"]
    host, role, wire, clock = hosted([record(), first], *[[each] for each in others], disk=disk)
    host.start(0.0)

    disk.state = "away"
    disk.commit()
    host.feed(Woken("now"))
    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)
    clock.run(until=lambda: clock.now() >= 10.0)
    assert (wire.sent, len(role.told)) == ([], 2)
    assert [type(each) for each in heard] == [StorageError]

    disk.state = "ok"
    host.feed(Woken("now"))  # Its effects do not overtake those that wait.
    assert wire.sent == []
    clock.run()
    assert [sent.query_type for _, sent in wire.sent] == ["a", "b", "c"]


def test_a_manager_that_lost_its_league_while_it_was_away_tells_nobody():
    disk = SlowDisk()
    host, _, wire, clock = hosted([Call("a", ANN, QUERY, 5.0)], [record()], disk=disk)
    host.on_failure = lambda error: None
    disk.state = "away"
    for _ in range(2):
        host.feed(Woken("now"))
    done, _ = disk.waiting.pop()

    done(Claimed("another manager has it"))
    disk.state = "ok"
    clock.run()

    assert wire.sent == []


def test_a_call_that_waited_for_the_disk_has_its_full_time_from_when_it_goes_out():
    disk = SlowDisk()
    host, _, wire, clock = hosted([record(), Call("k", ANN, QUERY, until=5.0)], disk=disk)
    clock.call_at(30.0, disk.commit)

    host.feed(Woken("now"))
    clock.run()

    assert wire.until == [35.0]


def test_what_came_of_a_call_is_told_under_its_key():
    host, role, wire, _ = hosted([Call(("join", 1), ANN, QUERY, 5.0)])
    host.start(0.0)

    wire.done[0](Answer(None, None, 0.25))

    assert role.told[-1] == Answered(("join", 1), None, None, 0.25)


def test_a_dropped_call_is_cancelled_once():
    host, _, wire, _ = hosted([Call("k", ANN, QUERY, 5.0)], [Drop("k"), Drop("k")])
    host.start(0.0)

    host.feed(Woken("now"))

    assert wire.dropped == 1


def test_what_is_one_message_for_several_stays_one_when_its_row_is_named():
    disk, over, table = SlowDisk(), RoundCompleted(round_id=1), LeagueStandingsUpdate()
    letter = [(table, None), (over, 1)]
    broadcast = Broadcast("k", [(ANN, letter), (BOB, letter)], until=5.0)
    host, _, wire, clock = hosted([record(), broadcast], disk=disk)
    clock.call_at(30.0, disk.commit)

    host.feed(Woken("now"))
    clock.run(until=lambda: bool(wire.until))

    assert wire.until == [35.0]  # Its full time, from when it goes out.
    (to_ann, (first, told)), (to_bob, others) = wire.letters
    assert (to_ann, to_bob, told.receipt.hash) == (ANN, BOB, "01" * 32)
    assert first is table
    assert all(each is other for each, other in zip((first, told), others, strict=True))


def test_a_role_hears_every_second_who_is_still_awaited_and_once_that_all_have_heard():
    host, role, wire, clock = hosted([Broadcast("k", [(ANN, []), (BOB, [])], 5.0)])
    host.start(0.0)
    refused = NoConnection("nobody listens")

    wire.failed, wire.awaited = {"P01": refused}, ["P02"]
    clock.run(until=lambda: clock.now() >= 2.0)
    wire.done[0]({"P01": refused})
    clock.run()

    assert clock.now() == 2.0
    early = Told("k", {"P01": refused}, {"P02"})
    assert role.told[1:] == [early, early, Told("k", {"P01": refused})]


def test_a_dropped_broadcast_is_cancelled_and_heard_of_no_more():
    host, role, wire, clock = hosted([Broadcast("k", [(ANN, [])], 5.0)], [Drop("k")])
    host.start(0.0)

    host.feed(Woken("now"))
    clock.run()

    assert (wire.dropped, clock.now()) == (1, 0.0)
    assert not any(isinstance(each, Told) for each in role.told)


def test_a_timer_rings_under_its_key_and_a_second_one_replaces_the_first():
    host, role, _, clock = hosted([WakeAt("k", 5.0)], [WakeAt("k", 7.0)])
    host.start(0.0)
    host.feed(Woken("other"))

    clock.run()

    assert clock.now() == 7.0
    assert role.told[2:] == [Woken("k")]


def test_a_dropped_timer_never_rings():
    host, role, _, clock = hosted([WakeAt("k", 5.0)], [Drop("k")])
    host.start(0.0)
    host.feed(Woken("other"))

    clock.run()

    assert clock.now() == 0.0
    assert role.told[2:] == []


def test_a_strategy_is_asked_and_its_move_is_told():
    class StrategyRunner:
        def run(self, turn, done):
            done("even", None)

    host, role, _, _ = hosted([RunStrategy("k", "the turn")], runner=StrategyRunner())

    host.start(0.0)

    assert role.told[-1] == StrategyReturned("k", "even", None)


def test_the_end_is_told_to_the_owner_of_the_host():
    ended = []
    host, _, _, _ = hosted([End("all is said")])
    host.on_end = ended.append

    host.start(0.0)

    assert host.ended
    assert ended == ["all is said"]


def test_a_bug_in_a_role_is_answered_as_our_fault_and_the_next_request_is_served(caplog):
    heard = []
    host, role, wire, _ = hosted([], ZeroDivisionError("a bug"), [Reply(2, QUERY)])
    host.start(0.0)

    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)
    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)

    assert isinstance(heard[0], InternalError)
    assert "a bug" not in str(heard[0])
    assert "a bug" in caplog.text
    assert heard[1] is QUERY
    assert isinstance(role.told[-1], Asked)


def test_what_a_role_answers_at_once_is_no_stimulus():
    heard, steps = [], []
    host, _, wire, _ = hosted()
    host.role = role = AtOnce()
    host.on_step = lambda: steps.append(1)
    host.start(0.0)

    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)

    assert heard == [QUERY]
    assert role.told == [Started(0.0)]
    assert len(steps) == 2  # One for the start, one for the answer.


def test_nothing_is_answered_at_once_while_a_decision_before_it_is_not_on_disk():
    disk, heard = SlowDisk(), []
    host, _, wire, _ = hosted(disk=disk)
    host.role = role = AtOnce([record()], [Reply(1, ANSWER)])
    host.start(0.0)

    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)
    assert (heard, role.asked) == ([], 0)

    disk.commit()
    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)
    assert heard == [ANSWER, QUERY]


def test_whoever_watches_a_role_sees_every_message_and_its_answer():
    seen, heard = [], []
    host, _, wire, _ = hosted()
    host.role = role = AtOnce([], [Reply(1, ANSWER)])
    host.on_seen = lambda stimulus, effects: seen.append((type(stimulus), effects))
    host.start(0.0)

    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)

    assert seen == [(Started, []), (Asked, [Reply(1, ANSWER)])]
    assert (heard, role.asked) == ([ANSWER], 0)


@pytest.mark.parametrize(("applied", "stops"), [(0, False), (1, True)])
def test_a_bug_in_an_answer_at_once_is_handled_like_any_other(applied, stops, caplog):
    failures, heard = [], []
    host, _, wire, _ = hosted(disk=SlowDisk())
    host.role = role = AtOnce(bug=ZeroDivisionError("a bug"))
    host.on_failure = failures.append
    host.start(0.0)
    role.applied = applied

    for _ in range(2):
        wire.ask(QUERY, Caller("127.0.0.1"), heard.append)

    assert [type(each) for each in heard] == [
        InternalError,
        StorageError if stops else InternalError,
    ]
    assert "a bug" in caplog.text
    assert (bool(failures), role.asked) == (stops, 1 if stops else 2)


def test_a_bug_after_a_decision_stops_a_role_that_records():
    failures, heard = [], []

    class Ahead(ScriptedRole):
        applied = 1  # One event more than was handed to the journal.

    host, _, wire, _ = hosted(disk=SlowDisk())
    host.role = Ahead([], ZeroDivisionError("a bug"))
    host.on_failure = failures.append
    host.start(0.0)

    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)

    assert isinstance(heard[0], InternalError)
    assert "ZeroDivisionError" in str(failures[0])

    told = len(host.role.told)
    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)

    assert len(host.role.told) == told  # It may be ahead of its journal: it decides nothing more.
    assert isinstance(heard[1], StorageError)


def test_a_bug_before_any_decision_costs_the_request_alone():
    failures, heard = [], []

    class Sound(ScriptedRole):
        applied = 0

    host, _, wire, _ = hosted(disk=SlowDisk())
    host.role = Sound([], ZeroDivisionError("a bug"))
    host.on_failure = failures.append
    host.start(0.0)

    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)

    assert isinstance(heard[0], InternalError)
    assert failures == []


def test_a_row_that_cannot_be_read_now_is_asked_for_again_later():
    failures, heard = [], []
    host, _, wire, _ = hosted(disk=SlowDisk())
    host.role = AtOnce([], bug=StorageError("the connection is gone"))
    host.on_failure = failures.append
    host.start(0.0)

    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)
    assert (type(heard[0]), heard[0].retryable, failures) == (StorageError, True, [])

    host.role.script = [host.role.bug]
    host.feed(Woken("now"))  # What it would have decided then is lost with it.
    assert failures == [host.role.bug]


def test_a_bug_at_a_timer_stops_a_role_that_records_and_only_costs_the_timer_elsewhere(caplog):
    failures = []
    recording, _, _, _ = hosted(ZeroDivisionError("a bug"), disk=SlowDisk())
    recording.on_failure = failures.append
    other, role, _, _ = hosted(ZeroDivisionError("a bug"), [])

    recording.feed(Woken("now"))
    other.feed(Woken("now"))
    other.feed(Woken("then"))

    assert len(failures) == 1
    assert len(role.told) == 2
    assert caplog.text.count("a bug") >= 2


def test_requests_are_refused_while_the_disk_is_far_behind():
    disk, heard = SlowDisk(), []
    host, role, wire, _ = hosted([record()] * 9_001, disk=disk)
    host.start(0.0)
    told = len(role.told)

    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)
    disk.commit()
    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)

    assert (heard[0].code, heard[0].http_status, heard[0].retryable) == ("E053", 503, True)
    assert len(heard) == 1
    assert len(role.told) == told + 1


def test_requests_are_refused_while_the_database_is_away():
    disk, heard = SlowDisk(), []
    host, role, wire, _ = hosted([], disk=disk)
    host.start(0.0)
    told = len(role.told)

    disk.state = "away"
    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)
    disk.state = "ok"
    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)

    assert [str(error) for error in heard] == [
        "the database is away; send the same message again later"
    ]
    assert (heard[0].http_status, heard[0].retryable) == (503, True)
    assert len(role.told) == told + 1


def test_a_storage_error_ends_the_work_and_releases_nothing():
    failures = []

    class BrokenDisk:
        def append(self, league_id, after, events, done):
            done(StorageError("the disk is gone"))

    host, _, wire, _ = hosted([record(), Call("k", ANN, QUERY, 5.0)], disk=BrokenDisk())
    host.on_failure = failures.append

    host.start(0.0)

    assert [str(error) for error in failures] == ["the disk is gone"]
    assert wire.sent == []


def test_a_storage_error_that_nobody_handles_is_raised():
    class BrokenDisk:
        def append(self, league_id, after, events, done):
            done(StorageError("the disk is gone"))

    host, _, _, _ = hosted([record()], disk=BrokenDisk())

    with pytest.raises(StorageError, match="the disk is gone"):
        host.start(0.0)


def test_after_an_answer_that_is_not_the_last_the_call_can_still_be_dropped():
    host, role, wire, _ = hosted([Call("k", ANN, QUERY, 5.0)], [], [Drop("k")])
    host.feed(Woken("now"))

    wire.done[0](Answer(None, None, 0.1, is_last=False))
    assert role.told[-1] == Answered("k", None, None, 0.1, is_last=False)

    host.feed(Woken("enough"))
    assert wire.dropped == 1


def asked_for_an_old_row(journal):
    """What is answered with the receipt of row 1, when that row is not at hand any more."""
    heard, ack = [], MatchResultAck(match_id="R1M1")
    host, _, wire, _ = hosted(
        [record() for _ in range(9)],
        [Reply(1, ack, receipt=1)],
        disk=journal,
        hashes=2,
    )
    host.on_failure = heard.append
    host.start(0.0)
    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)
    return heard


def test_the_receipt_of_an_old_row_is_looked_up():
    journal = MemoryJournal(lambda: 0.0)
    journal.claim("league_test")

    (heard,) = asked_for_an_old_row(journal)

    assert heard.receipt.hash == next(journal.read("league_test")).hash.hex()


def test_a_host_whose_journal_cannot_be_read_any_more_stops():
    class Broken(MemoryJournal):
        def read(self, league_id, after=0):
            raise StorageError("disk I/O error")

    journal = Broken(lambda: 0.0)
    journal.claim("league_test")

    failure, answer = asked_for_an_old_row(journal)

    assert isinstance(failure, StorageError)
    assert answer.receipt is UNSET


def test_a_closed_host_calls_off_what_it_began_and_tells_who_waits_to_come_again():
    disk, heard = SlowDisk(), []
    asked = [record(), WakeAt("late", 5.0)]
    began = [Call("k", ANN, QUERY, 5.0), WakeAt("soon", 1.0)]
    host, role, wire, clock = hosted(began, asked, disk=disk)
    host.start(0.0)
    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)
    told = len(role.told)

    host.close()
    disk.commit()
    clock.run()

    assert wire.dropped == 1
    assert [error.http_status for error in heard] == [503]
    assert len(role.told) == told
    wire.ask(QUERY, Caller("127.0.0.1"), heard.append)
    assert [error.http_status for error in heard] == [503, 503]


def test_an_archive_reads_no_journal_for_a_row_that_its_host_knows():
    archive = JournalArchive(None, "league_test")
    archive.hashes = {7: b"\x01\x02"}

    assert archive.hash_of(7) == "0102"
