"""Which referee has which match: handed out by capacity, taken away from silent referees.

A match is given out at most four times, to another referee if there is one. If it is undecided
after that, or finds no referee for too long, it is no contest; if it is decided, the manager itself
tells its players. While the league is paused nothing is handed out and no lease runs out.

A referee that comes back, restarted or after a silence, gets its matches anew. That is not counted
until a match has waited so for as long as one waits for a referee, so that neither four quick
restarts nor a referee that crashes again and again decide what becomes of it.

`Workload` counts what each referee has to do, `Attendance` knows which referees are there, and
`Assignments` decides.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set

import msgspec
from msgspec import UNSET

from agentleague.errors import LeagueError
from agentleague.games.game import turns_max
from agentleague.league.adjudicator import Adjudicator
from agentleague.league.events import MatchAssigned
from agentleague.league.league import Phase
from agentleague.league.match_records import MatchRecord
from agentleague.league.match_result import Forfeits
from agentleague.league.roster import Member
from agentleague.manager import keys
from agentleague.manager.broadcasts import Broadcasts
from agentleague.manager.foreign_starts import ForeignStarts
from agentleague.manager.leases import Awaited, Leases, longest_match
from agentleague.manager.notices import RefereeNotices, ResultNotices
from agentleague.manager.step import Step
from agentleague.protocol.messages import MatchResultAck, RoundMatch


class Workload:
    """The matches of a round by referee; none has more at once than it can take."""

    def __init__(self, open_matches: Set[str], weight_max: int) -> None:
        # A match that was closed while an answer was lost is not open, and not handed out again.
        self._open, self._weight_max = open_matches, weight_max
        self._capacity: dict[str, int] = {}
        self._waiting: dict[str, list[str]] = {}
        self._running: dict[str, set[str]] = {}
        self._after: dict[str, list[str]] = {}  # reported match -> what went with the answer

    @property
    def referees(self) -> Sequence[str]:
        """All that can be given matches, in order of registration."""
        return list(self._capacity)

    def join(self, referee_id: str, capacity: int) -> None:
        """A referee registered: it has no match."""
        self._capacity[referee_id] = capacity
        self._waiting[referee_id], self._running[referee_id] = [], set()

    def load(self, referee_id: str) -> float:
        """How much a referee has to do, relative to what it can do at once."""
        matches = len(self._waiting[referee_id]) + len(self._running[referee_id])
        return matches / self._capacity[referee_id]

    def weight(self, referee_id: str) -> int:
        """What it says it can take at once, limited so that it cannot get nearly all matches."""
        return min(self._capacity[referee_id], self._weight_max)

    def begin_round(self) -> None:
        """Forget what was handed out in the round before."""
        self._after = {}

    def plan(self, referee_id: str, match_id: str) -> None:
        """The referee is to have this match."""
        self._waiting[referee_id].append(match_id)

    def matches_of(self, referee_id: str) -> list[str]:
        """All open matches that it has or waits for."""
        matches = [*sorted(self._running[referee_id]), *self._waiting[referee_id]]
        return list(filter(self._open.__contains__, matches))

    def take(self, referee_id: str, at_most: int) -> list[str]:
        """Matches that the referee can have now; from here on it has them."""
        waiting, running = self._waiting[referee_id], self._running[referee_id]
        free = min(self._capacity[referee_id] - len(running), at_most)
        matches: list[str] = []
        while waiting and len(matches) < free:
            match_id = waiting.pop(0)
            if match_id in self._open:
                matches.append(match_id)
        running.update(matches)
        return matches

    def take_after(self, referee_id: str, reported: str) -> list[str]:
        """The match that goes with the answer to a report; the same if the report is repeated."""
        if reported not in self._after:
            self._after[reported] = taken = self.take(referee_id, 1)
            return taken
        still = self._open & self._running[referee_id]
        return [match_id for match_id in self._after[reported] if match_id in still]

    def give_back(self, referee_id: str, matches: Sequence[str]) -> None:
        """The referee was not reached: those it still has wait again, first of all."""
        running = self._running[referee_id]
        lost = [match_id for match_id in matches if match_id in running]
        self._waiting[referee_id][:0] = lost
        running.difference_update(lost)

    def done(self, referee_id: str, match_id: str) -> None:
        """The referee has reported a match, or lost it to another."""
        self._running[referee_id].discard(match_id)
        if match_id in self._waiting[referee_id]:
            self._waiting[referee_id].remove(match_id)


class Attendance:
    """Which referees are there, by their messages, their silence and their matches."""

    def __init__(self, step: Step, *, longest_match: Callable[[], float]) -> None:
        self._step, self._longest_match = step, longest_match
        self._lease_seconds = step.settings.lease_seconds
        self._heard: dict[str, float] = {}  # referee -> when its last message came
        self.gone: set[str] = set()  # that let a lease run out, until they are heard
        self.unfit: set[str] = set()  # that held a match too long, until they report one
        self.superseded: set[str] = set()  # that registered again as another, until they are heard

    def resume(self) -> None:
        """After a restart the last referee at each end point counts as there; others must speak."""
        league, now = self._step.league, self._step.now
        referees = league.roster.referees
        last = {member.endpoint: each for each, member in referees.items()}
        for referee_id, member in referees.items():
            is_last = last[member.endpoint] == referee_id
            self._heard[referee_id] = now - (0.0 if is_last else self._lease_seconds)
        for match_id in league.open_matches:  # Who lost one gets no more if others can take them.
            lost_it = league.matches[match_id].referees[:-1]
            self.unfit.update(each for each in lost_it if not self.is_ours(each))
        self.gone = {each for each in referees if each in league.roster.displaced}
        newest = {_identity(member): each for each, member in referees.items()}
        self.superseded = referees.keys() - newest.values()

    def join(self, referee_id: str) -> None:
        """It registered: others with its name and end point were probably the same program."""
        referees = self._step.league.roster.referees
        known = _identity(referees[referee_id])
        alike = {each for each in referees if _identity(referees[each]) == known}
        self.superseded |= alike - {referee_id}
        self.hear(referee_id)

    def hear(self, referee_id: str) -> None:
        """A message came from it: it is there, whatever was assumed before."""
        self._heard[referee_id] = self._step.now
        self.gone.discard(referee_id)
        self.superseded.discard(referee_id)

    def end_pause(self, referees: Iterable[str]) -> None:
        """Nobody had to speak during a pause."""
        self._heard.update(dict.fromkeys(referees, self._step.now))

    def is_silent(self, referee_id: str) -> bool:
        """Whether a message that was due did not come."""
        patience = self._lease_seconds if self.is_ours(referee_id) else self._longest_match()
        return self._step.now - self._heard[referee_id] >= patience * self._step.limits.silent_part

    def is_ours(self, referee_id: str) -> bool:
        """Whether it locks moves with the manager; foreign referees do not."""
        return self._step.league.roster.referees[referee_id].locks

    def available(self, referees: Iterable[str]) -> list[str]:
        """Those that are there; one of ours that was silent for a lease is not, whatever it has."""
        latest = self._step.now - self._lease_seconds
        return [
            each
            for each in referees
            if each not in self.gone
            and each not in self._step.league.roster.set_aside
            and (not self.is_ours(each) or self._heard[each] > latest)
        ]

    def trusted(self, referees: Iterable[str]) -> list[str]:
        """Those without doubts about them, as far as there are any."""
        chosen = list(referees)
        for doubtful in (self.superseded, self.unfit):
            chosen = [each for each in chosen if each not in doubtful] or chosen
        return chosen


def _identity(member: Member) -> tuple[str, str]:
    return member.endpoint, member.display_name


class Assignments:
    """The matches of the running round and their referees."""

    def __init__(
        self,
        step: Step,
        *,
        adjudicator: Adjudicator,
        broadcasts: Broadcasts,
        result_notices: ResultNotices,
    ) -> None:
        self._step, self._adjudicator, self._broadcasts = step, adjudicator, broadcasts
        self._result_notices = result_notices
        self._league, self._settings, self._limits = step.league, step.settings, step.limits
        self._workload = Workload(self._league.open_matches, self._limits.weight_max)
        self.leases = Leases(self._limits.late_seconds)
        self._unassigned: dict[str, float] = {}  # matches without a referee -> since when
        self.awaited = Awaited(step, self.leases, self._unassigned, next_referee=self._next_referee)
        self.starts = ForeignStarts(step, failed=self.not_started)
        self.referee_notices = RefereeNotices(
            step, broadcasts=broadcasts, done=self._give_to_referee
        )
        self._attendance = Attendance(step, longest_match=self._longest_match)
        self._alone_since: float | None = None  # since when no match found a referee
        self._returned: dict[str, float] = {}  # matches -> when their referee first came back
        self._is_check_set = False
        self._longest: float | None = None  # seconds a match can take

    # Referees come, speak and go

    def join(self, referee_id: str) -> None:
        """A referee registered; if it did before, the matches of that session are given out."""
        member = self._league.roster.referees[referee_id]
        is_back = referee_id in self._workload.referees
        matches = self._workload.matches_of(referee_id) if is_back else []
        self._workload.join(referee_id, member.capacity)
        self._attendance.join(referee_id)
        self._replace_former(referee_id)
        self.heard(referee_id)
        for match_id in matches:
            self.reassign(match_id, f"{referee_id} began anew", returned=True)

    def heard(self, referee_id: str) -> None:
        """A message came from a referee; matches without one may go to it."""
        self._attendance.hear(referee_id)
        for match_id in [*self._unassigned]:
            record = self._league.matches[match_id]
            if self._next_referee(record):
                had_it = record.referee_id == referee_id
                self.reassign(match_id, "no other referee was there", returned=had_it)

    def status(self, referee_id: str, matches: Sequence[str], states: Mapping[str, str]) -> None:
        """A referee says which matches it runs, and how far they are: their leases are renewed."""
        self.heard(referee_id)
        for match_id in matches:
            record = self._league.matches.get(match_id)
            if record and record.referee_id == referee_id:
                self.leases.renew(match_id, self._step.now, states.get(match_id, ""))

    def locked(self, referee_id: str, match_id: str) -> None:
        """A lock renews a lease; after the lock that decides, only the players are to be told."""
        if self._unassigned.pop(match_id, None) is not None:  # Nobody had taken it over.
            self._workload.plan(referee_id, match_id)
            self._lease(referee_id, [match_id])
        self.heard(referee_id)
        if self._league.matches[match_id].decided:
            self.leases.decide(match_id, self._step.now, self._settings.game_over_seconds)
        else:
            self.leases.renew(match_id, self._step.now, "COLLECTING_CHOICES")

    def _replace_former(self, referee_id: str) -> None:
        """A silent referee that was at the same end point before is not there any more."""
        referees = self._league.roster.referees
        endpoint = referees[referee_id].endpoint
        for other in self._workload.referees:
            is_there = other != referee_id and referees[other].endpoint == endpoint
            if is_there and self._attendance.is_silent(other):
                self.leave(other, f"{referee_id} took the place of {other}")

    def approved(self, referee_id: str) -> None:
        """The organiser vouches for a referee; one that waited comes now."""
        if referee_id in self._workload.referees:
            self.heard(referee_id)
        else:
            self.join(referee_id)

    def set_aside(self, referee_id: str) -> None:
        """It is given no more matches, and loses those that it has."""
        for match_id in self._workload.matches_of(referee_id):
            self.reassign(match_id, f"{referee_id} was set aside")

    def can_ask_another(self, record: MatchRecord) -> bool:
        """Whether a referee is there that never had this match, so that it can confirm a loss."""
        if record.given_out - record.returns >= self._limits.epochs_max:
            return False
        others = set(self._candidates(record)) - self._attendance.superseded
        return bool(others.difference(record.referees))

    def leave(self, referee_id: str, why: str) -> None:
        """A referee is not there any more: its matches go to others."""
        self._attendance.gone.add(referee_id)
        for match_id in self._workload.matches_of(referee_id):
            self.reassign(match_id, why)

    # Matches are given out

    def spread(self, matches: int) -> list[str]:
        """A referee for each of so many matches, by what each can take at once."""
        workload, attendance, chosen = self._workload, self._attendance, list[str]()
        there = attendance.available(workload.referees) or workload.referees
        planned = dict.fromkeys(attendance.trusted(there), 0)
        weights = {each: workload.weight(each) for each in planned}
        for _ in range(matches):
            least = min(planned, key=lambda each: planned[each] / weights[each])
            planned[least] += 1
            chosen.append(least)
        return chosen

    def begin_round(self) -> None:
        """Hand out the open matches of the round, each to the referee that it is planned for."""
        league, is_telling = self._league, self._result_notices.is_telling
        self._returned.clear()
        self._workload.begin_round()
        missing = self._attendance.gone | league.roster.set_aside
        for record in league.matches.of_round(league.round_id):
            if record.decided and is_telling(record.match_id):
                continue
            if record.referee_id in missing:
                self.reassign(record.match_id, f"{record.referee_id} is not there")
            elif record.match_id in league.open_matches:
                self._workload.plan(record.referee_id, record.match_id)
        for referee_id in self._workload.referees:
            self.hand_out(referee_id)

    def resume(self) -> None:
        """After a restart: take in the referees that the journal knows."""
        for referee_id, member in self._league.roster.referees.items():
            self._workload.join(referee_id, member.capacity)
        self._attendance.resume()

    def hand_out(self, referee_id: str) -> None:
        """Send a referee as many of its matches as it can take."""
        if not self._is_on:
            return
        at_most = self._limits.matches_a_message if self._attendance.is_ours(referee_id) else 1
        while matches := self._workload.take(referee_id, at_most):
            self._send(referee_id, matches)

    def after_report(self, referee_id: str, ack: MatchResultAck) -> MatchResultAck:
        """A match was reported: the answer brings the next one."""
        self.heard(referee_id)
        match_id = ack.match_id
        for each in {referee_id, self._league.matches[match_id].referee_id}:
            self._workload.done(each, match_id)
        self._unassigned.pop(match_id, None)
        self.leases.end(match_id)
        if self.starts.is_under_way(match_id):
            self.starts.learn(match_id)
            self.starts.end(match_id)
        self._result_notices.stop(match_id)
        self._attendance.unfit.discard(referee_id)
        if not self._attendance.is_ours(referee_id):
            self.hand_out(referee_id)  # It finds matches only in messages.
            return ack
        more = self._workload.take_after(referee_id, match_id) if self._is_on else []
        if more:
            self._lease(referee_id, more)
        return msgspec.structs.replace(ack, matches=self._described(more)) if more else ack

    def refresh(self, player_id: str) -> None:
        """A player has a new end point or token: the referee of its open match must know."""
        for record in self._league.matches.of_player.get(player_id, ()):
            is_ours = self._attendance.is_ours(record.referee_id)  # Others would begin anew.
            if is_ours and record.match_id in self.leases and not record.decided:
                self._send(record.referee_id, [record.match_id])

    def heard_by(self, who: Sequence[str], what: Sequence[str], error: LeagueError | None) -> None:
        """An assignment of these matches was taken, or is to be sent again."""
        again = self._step.now + self._limits.assign_again_seconds
        for referee_id in who:
            if error is None:
                self.answered(referee_id)
            else:
                self._workload.give_back(referee_id, what)
                self._step.wake(keys.AssignAgain(referee_id), again)

    def answered(self, referee_id: str) -> None:
        """A referee took a match."""
        self._alone_since = None
        self.heard(referee_id)

    # Matches are taken away

    def check_leases(self) -> None:
        """Take away matches whose leases have run out; repeated while one is handed out."""
        self._is_check_set = False
        if self._league.paused:
            return
        for match_id in self.leases.expired(self._step.now):
            if self.leases.left(match_id, self._step.now) == 0.0:  # Else it went with another.
                self._expire(match_id)
        self.awaited.tell(self.starts.refusals)
        self._set_check()

    def reassign(
        self, match_id: str, why: str, *, returned: bool = False, claimed: Forfeits = ()
    ) -> None:
        """Give a match out again: its referee has `returned`, or another is to confirm a claim."""
        former = self._league.matches[match_id].referee_id
        self._assign_again(match_id, why, returned=returned, claimed=claimed)
        if former not in self._attendance.gone:  # It has room for its next one.
            self.hand_out(former)

    def _assign_again(self, match_id: str, why: str, *, returned: bool, claimed: Forfeits) -> None:
        """Find another referee, or decide what becomes of the match without one."""
        record = self._league.matches[match_id]
        is_over = self._league.phase is not Phase.RUNNING and record.decided is None
        is_open = match_id in self._league.open_matches
        if not is_open or self._result_notices.is_telling(match_id) or is_over:
            return
        self._workload.done(record.referee_id, match_id)
        self.leases.end(match_id)
        self.starts.end(match_id)
        is_free = returned and self._is_free(match_id)
        if record.given_out - record.returns >= self._limits.epochs_max and not is_free:
            many = self._limits.epochs_max
            self._give_up(record, f"{many} referees could not bring it to an end")
            return
        referee_id = self._next_referee(record)
        if referee_id is None:
            self._wait_for_a_referee(record, why)
            return
        self._unassigned.pop(match_id, None)
        self._alone_since = None
        given = (match_id, record.epoch + 1, referee_id, why, True if is_free else UNSET)
        self._step.record(MatchAssigned(*given, list(claimed) or UNSET))
        self._step.notify(f"{match_id} goes to {referee_id}: {why}.")
        if record.decided:
            self._give_to_referee(match_id)
        else:
            self.referee_notices.tell(record)

    def _is_free(self, match_id: str) -> bool:
        """Whether its referee first came back so recently that this is not counted."""
        since = self._returned.setdefault(match_id, self._step.now)
        return self._step.now < since + self._settings.referee_wait_seconds

    def give_up_unassigned(self) -> None:
        """No referee came for as long as a match waits for one."""
        if self._league.paused:
            return
        wait = self._settings.referee_wait_seconds
        for match_id, since in list(self._unassigned.items()):
            if since + wait <= self._step.now:
                del self._unassigned[match_id]
                why = f"no other referee was there for {wait:g} seconds"
                self._give_up(self._league.matches[match_id], why)
        self._set_wait()

    def end_pause(self) -> None:
        """The league continues: no clock ran during the pause."""
        self.leases.restart_all(self._step.now)
        self._attendance.end_pause(self._workload.referees)
        for referee_id in self._workload.referees:
            self.hand_out(referee_id)
        if self._alone_since is not None:
            self._alone_since = self._step.now
        self._unassigned.update(dict.fromkeys(self._unassigned, self._step.now))
        self._returned = dict.fromkeys(self._returned, self._step.now)
        self._set_wait()
        self._set_check()

    def is_told(self, match_id: str) -> bool:
        """Whether its foreign referee was told to run it, and was not given up."""
        record = self._league.matches[match_id]
        return self.starts.is_under_way(match_id) or record.begun == record.epoch

    # How a match is handed out

    def _send(self, referee_id: str, matches: Sequence[str]) -> None:
        message = self._broadcasts.assignment(referee_id, self._described(matches))
        self._lease(referee_id, matches)
        first = self._league.matches[matches[0]]
        if self._attendance.is_ours(referee_id):
            self._step.tell(referee_id, message, keys.MatchesAssigned(tuple(matches)), keep=True)
        elif first.begun != first.epoch:  # Else it runs, as was said before a restart perhaps.
            until = self._step.now + self._longest_match()
            self.starts.begin(referee_id, first.match_id, message, until)

    def _longest_match(self) -> float:
        if self._longest is None:
            rules = self._league.rules.rules
            turns = turns_max(self._adjudicator.game, rules.game_options)
            self._longest = longest_match(rules, turns)
        return self._longest

    def _lease(self, referee_id: str, matches: Sequence[str]) -> None:
        is_ours, longest = self._attendance.is_ours(referee_id), self._longest_match()
        seconds = self._settings.lease_seconds if is_ours else longest
        for match_id in matches:
            self.leases.begin(match_id, self._step.now, seconds, longest if is_ours else 0.0)
        self._set_check()

    def _set_check(self) -> None:
        if self._is_check_set:
            return
        when = self.leases.next_check(self._step.now, self._settings.lease_seconds / 4)
        if when is not None:
            self._is_check_set = True
            self._step.wake(keys.LeaseCheck(), when)

    def _expire(self, match_id: str) -> None:
        referee_id, attendance = self._league.matches[match_id].referee_id, self._attendance
        is_ours = attendance.is_ours(referee_id)
        late = f"{referee_id} did not report {match_id} in time"  # though it answers, perhaps
        self.leases.end(match_id)
        if attendance.is_silent(referee_id) and referee_id not in attendance.gone:
            self.leave(referee_id, f"{referee_id} was silent" if is_ours else late)
        else:
            attendance.unfit.add(referee_id)
            self.reassign(match_id, f"{referee_id} did not bring it to an end" if is_ours else late)

    def not_started(self, match_id: str, why: str) -> None:
        """A foreign referee does not take a match: it goes to another."""
        record = self._league.matches[match_id]
        self._attendance.unfit.add(record.referee_id)
        self.reassign(match_id, f"{record.referee_id} {why}"[:500])

    @property
    def _is_on(self) -> bool:
        return self._league.phase is Phase.RUNNING and not self._league.paused

    def _next_referee(self, record: MatchRecord) -> str | None:
        """Who takes a match over: another than the same again if possible, and the least busy."""
        members, attendance = self._league.roster.referees, self._attendance

        def burden(referee_id: str) -> tuple[bool, bool, bool, bool, float]:
            return (
                referee_id in attendance.superseded,
                referee_id in record.referees,
                referee_id in attendance.unfit,
                members[referee_id].anyone,
                self._workload.load(referee_id),
            )

        return min(self._candidates(record), key=burden, default=None)

    def _candidates(self, record: MatchRecord) -> list[str]:
        """A referee that does not lock gets a match at most once, and none that is decided."""
        members = self._league.roster.referees
        return [
            each
            for each in self._attendance.available(self._workload.referees)
            if members[each].locks or (each not in record.referees and not record.decided)
        ]

    def _wait_for_a_referee(self, record: MatchRecord, why: str) -> None:
        if record.decided:
            self._result_notices.tell(record.match_id)
            return
        if self._alone_since is None:
            self._alone_since = self._step.now
            self._step.notify(
                "No other referee is there. Start one; without one the matches that wait are no "
                f"contest after {self._settings.referee_wait_seconds:g} seconds."
            )
        self._step.notify_of(record.match_id, why)
        self._unassigned.setdefault(record.match_id, self._alone_since)
        self._set_wait()

    def _set_wait(self) -> None:
        if self._unassigned:
            first = min(self._unassigned.values())
            self._step.wake(keys.RefereeWaitOver(), first + self._settings.referee_wait_seconds)

    def _give_up(self, record: MatchRecord, why: str) -> None:
        if record.decided is None:
            self._step.record(self._adjudicator.no_contest(record.match_id, why))
            self._step.notify(f"{record.match_id} is no contest: {why}.")
        self._result_notices.tell(record.match_id)

    def _give_to_referee(self, match_id: str) -> None:
        referee_id = self._league.matches[match_id].referee_id
        self._workload.plan(referee_id, match_id)
        self.hand_out(referee_id)

    def _described(self, matches: Sequence[str]) -> list[RoundMatch]:
        records = [self._league.matches[match_id] for match_id in matches]
        return [self._broadcasts.assigned(record) for record in records]
