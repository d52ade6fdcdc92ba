"""Which referee has which match: handed out by capacity, taken away from who falls silent.

A match is given out at most four times, to another referee where there is one. Undecided after
that, or without a referee for too long, it is no contest; decided, the manager itself tells its
players. While the league is paused nothing is handed out and no lease runs out.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from agentleague.errors import LeagueError
from agentleague.games.game import turns_max
from agentleague.league.events import MatchAssigned
from agentleague.league.league import Phase
from agentleague.league.match_records import MatchRecord
from agentleague.league.roster import Member
from agentleague.manager.foreign_starts import ForeignStarts
from agentleague.manager.leases import Leases, longest_match
from agentleague.manager.notices import RefereeNotices, ResultNotices
from agentleague.manager.office import Office
from agentleague.manager.step import Step
from agentleague.protocol.messages import MatchResultAck, RoundMatch

WEIGHT_MAX = 64  # matches at once, as far as they count when matches are spread


class Workload:
    """The matches of a round by referee; none has more at once than it can take.

    `is_open` says whether a match is still to be played: one that was closed while an answer was
    lost is not handed out again.
    """

    def __init__(self, is_open: Callable[[str], bool]) -> None:
        self._is_open = is_open
        self._capacity: dict[str, int] = {}
        self._waiting: dict[str, list[str]] = {}
        self._running: dict[str, set[str]] = {}
        self._after: dict[str, list[str]] = {}  # reported match of this round -> what came with it

    @property
    def referees(self) -> Sequence[str]:
        """All who can be given matches, in order of registration."""
        return list(self._capacity)

    def join(self, referee_id: str, capacity: int) -> None:
        """A referee is there, or is there anew: it is at nothing."""
        self._capacity[referee_id] = capacity
        self._waiting[referee_id], self._running[referee_id] = [], set()

    def load(self, referee_id: str) -> float:
        """How much a referee has to do, as a part of what it can do at once."""
        matches = len(self._waiting[referee_id]) + len(self._running[referee_id])
        return matches / self._capacity[referee_id]

    def weight(self, referee_id: str) -> int:
        """What it says it can take at once, within reason: nobody gets nearly all by saying so."""
        return min(self._capacity[referee_id], WEIGHT_MAX)

    def begin_round(self) -> None:
        """What was handed out in the round before is of no interest any more."""
        self._after = {}

    def plan(self, referee_id: str, match_id: str) -> None:
        """The referee is to have this match."""
        self._waiting[referee_id].append(match_id)

    def matches_of(self, referee_id: str) -> list[str]:
        """All that it is to have or is at, and that are still open."""
        matches: Iterable[str] = [*sorted(self._running[referee_id]), *self._waiting[referee_id]]
        return list(filter(self._is_open, matches))

    def take(self, referee_id: str, at_most: int) -> list[str]:
        """Matches that the referee can have now; from here on it is at them."""
        waiting, running = self._waiting[referee_id], self._running[referee_id]
        waiting[:] = filter(self._is_open, waiting)
        free = max(self._capacity[referee_id] - len(running), 0)
        matches = waiting[: min(free, at_most)]
        del waiting[: len(matches)]
        running.update(matches)
        return matches

    def take_after(self, referee_id: str, reported: str) -> list[str]:
        """The match that goes with the answer to a report; the same one when the report repeats."""
        if reported not in self._after:
            self._after[reported] = self.take(referee_id, 1)
        running = self._running[referee_id]
        still = filter(self._is_open, self._after[reported])
        return [match_id for match_id in still if match_id in running]

    def give_back(self, referee_id: str, matches: Sequence[str]) -> None:
        """The referee was not reached: those it is still at wait again, first of all."""
        running = self._running[referee_id]
        lost = [match_id for match_id in matches if match_id in running]
        self._waiting[referee_id][:0] = lost
        running.difference_update(lost)

    def done(self, referee_id: str, match_id: str) -> None:
        """The referee has reported a match, or lost it to another."""
        if match_id in self._running[referee_id]:
            self._running[referee_id].discard(match_id)
        elif match_id in self._waiting[referee_id]:
            self._waiting[referee_id].remove(match_id)


SILENT_PART = 0.6  # of a lease: one of ours speaks every third of it


class Attendance:
    """What is known of each referee from its words, its silence and its matches."""

    def __init__(
        self, step: Step, lease_seconds: float, longest_match: Callable[[], float]
    ) -> None:
        self._step, self._lease_seconds, self._longest_match = step, lease_seconds, longest_match
        self._heard: dict[str, float] = {}  # referee -> when it last said a word
        self.gone: set[str] = set()  # that let a lease run out, until they are heard
        self.unfit: set[str] = set()  # that held a match too long, until they report one
        self.superseded: set[str] = set()  # that came again as others, until they are heard

    def resume(self) -> None:
        """After a restart who was last at an end point is taken to be there; others must speak.

        One of another make that lost a match that is still open gets no more where others can.
        """
        league, now = self._step.league, self._step.now
        referees = league.roster.referees
        last = {member.endpoint: each for each, member in referees.items()}
        for referee_id, member in referees.items():
            is_last = last[member.endpoint] == referee_id
            self._heard[referee_id] = now - (0.0 if is_last else self._lease_seconds)
        for match_id in league.open_matches:
            lost_it = league.matches[match_id].referees[:-1]
            self.unfit.update(each for each in lost_it if not self.is_ours(each))
        newest = {_known_by(member): each for each, member in referees.items()}
        self.superseded = referees.keys() - newest.values()

    def join(self, referee_id: str) -> None:
        """It registered: others with its name at its end point were, as a rule, the same."""
        referees = self._step.league.roster.referees
        known = _known_by(referees[referee_id])
        alike = {each for each in referees if _known_by(referees[each]) == known}
        self.superseded |= alike - {referee_id}
        self.hear(referee_id)

    def hear(self, referee_id: str) -> None:
        """It said a word, or had no chance to: whatever was thought of it, it is there."""
        self._heard[referee_id] = self._step.now
        self.gone.discard(referee_id)
        self.superseded.discard(referee_id)

    def go_on(self, referees: Iterable[str]) -> None:
        """No clock ran in a pause, and nobody had to speak."""
        self._heard.update(dict.fromkeys(referees, self._step.now))

    def is_silent(self, referee_id: str) -> bool:
        """Whether it missed a word that it owed."""
        is_ours = self.is_ours(referee_id)
        patience = self._lease_seconds if is_ours else self._longest_match()
        return self._step.now - self._heard[referee_id] >= patience * SILENT_PART

    def is_ours(self, referee_id: str) -> bool:
        """Whether it locks; one that does not is of another make."""
        return self._step.league.roster.referees[referee_id].locks

    def available(self, referees: Iterable[str]) -> list[str]:
        """Who is there; one of ours that was silent for a lease is not, whatever it holds."""
        latest = self._step.now - self._lease_seconds
        return [
            each
            for each in referees
            if each not in self.gone and (not self.is_ours(each) or self._heard[each] > latest)
        ]

    def trusted(self, referees: Iterable[str]) -> list[str]:
        """Those whom nothing speaks against, as far as there are any."""
        chosen = list(referees)
        for doubtful in (self.superseded, self.unfit):
            chosen = [each for each in chosen if each not in doubtful] or chosen
        return chosen


def _known_by(member: Member) -> tuple[str, str]:
    return member.endpoint, member.display_name


MATCHES_A_MESSAGE = 20
EPOCHS_MAX = 4
AGAIN_SECONDS = 1.0  # before an assignment is sent again to a referee that did not answer


class Assignments:
    """The matches of the running round and their referees."""

    def __init__(self, office: Office, result_notices: ResultNotices) -> None:
        self._step, self._adjudicator, self._broadcasts, self._keys, self._settings = office
        self._result_notices = result_notices
        self._league = self._step.league
        self._workload = Workload(lambda match_id: match_id in self._league.open_matches)
        self._leases = Leases()
        self.starts = ForeignStarts(self._step)  # of referees that do not lock
        self.starts.heard, self.starts.failed = self._answers, self._not_started
        self.referee_notices = RefereeNotices(self._step, self._broadcasts, self._moved)
        lease_seconds = self._settings.lease_seconds
        self._attendance = Attendance(self._step, lease_seconds, self._longest_match)
        self._alone_since: float | None = None  # since when no match found a referee
        self._orphans: dict[str, float] = {}  # matches that no referee is there for, since when
        self._is_looking = False
        self._longest: float | None = None  # seconds a match can take

    # Referees come, speak and go

    def join(self, referee_id: str) -> None:
        """A referee registered, or did so again: what its former session held is given out."""
        member = self._league.roster.referees[referee_id]
        is_back = referee_id in self._workload.referees
        matches = self._workload.matches_of(referee_id) if is_back else []
        self._workload.join(referee_id, member.capacity)
        self._attendance.join(referee_id)
        self._replace_former(referee_id)
        self.heard(referee_id)
        for match_id in matches:
            self.reassign(match_id, f"{referee_id} began anew")

    def heard(self, referee_id: str) -> None:
        """A word from a referee: whatever was thought of it, it is there."""
        self._attendance.hear(referee_id)
        for match_id in list(self._orphans):
            if self._next_referee(self._league.matches[match_id]):
                self.reassign(match_id, "no referee was there")

    def status(self, referee_id: str, matches: Sequence[str]) -> None:
        """A referee says which matches it is at: their leases begin anew."""
        self.heard(referee_id)
        for match_id in matches:
            if self._is_at(referee_id, match_id):
                self._leases.renew(match_id, self._step.now)

    def locked(self, referee_id: str, match_id: str) -> None:
        """A lock renews a lease; one that decided the match leaves it only time to tell."""
        if self._orphans.pop(match_id, None) is not None:  # It is back at what nobody took over.
            self._workload.plan(referee_id, match_id)
            self._lease(referee_id, [match_id])
        self.heard(referee_id)
        self._leases.renew(match_id, self._step.now)
        if self._league.matches[match_id].decided:
            seconds = self._settings.game_over_seconds
            self._leases.decide(match_id, self._step.now, seconds)

    def _replace_former(self, referee_id: str) -> None:
        """Who listened at the same end point before, and is silent, is not there any more."""
        referees = self._league.roster.referees
        endpoint = referees[referee_id].endpoint
        for other in self._workload.referees:
            is_there = other != referee_id and referees[other].endpoint == endpoint
            if is_there and self._attendance.is_silent(other):
                self._leave(other, f"{referee_id} took the place of {other}")

    def _leave(self, referee_id: str, why: str) -> None:
        self._attendance.gone.add(referee_id)
        for match_id in self._workload.matches_of(referee_id):
            self.reassign(match_id, why)

    # Matches are given out

    def spread(self, matches: int) -> list[str]:
        """Who is to have each of so many matches: by what each can take at once."""
        workload, attendance, chosen = self._workload, self._attendance, list[str]()
        there = attendance.available(workload.referees) or workload.referees
        planned = dict.fromkeys(attendance.trusted(there), 0)
        for _ in range(matches):
            least = min(planned, key=lambda each: planned[each] / workload.weight(each))
            planned[least] += 1
            chosen.append(least)
        return chosen

    def begin_round(self) -> None:
        """Hand out the open matches of the round, each to the referee it is planned for."""
        league = self._league
        assert league.schedule
        self._workload.begin_round()
        for pairing in league.schedule.round(league.round_id).pairings:
            record = league.matches[pairing.match_id]
            if self._result_notices.is_telling(record.match_id):
                continue
            if record.referee_id in self._attendance.gone:
                self.reassign(record.match_id, f"{record.referee_id} is not there")
            elif record.match_id in league.open_matches:
                self._workload.plan(record.referee_id, record.match_id)
        for referee_id in self._workload.referees:
            self.hand_out(referee_id)

    def resume(self) -> None:
        """Go on after a restart."""
        for referee_id, member in self._league.roster.referees.items():
            self._workload.join(referee_id, member.capacity)
        self._attendance.resume()

    def hand_out(self, referee_id: str) -> None:
        """As many of its matches as the referee can take."""
        if not self._is_on:
            return
        at_most = MATCHES_A_MESSAGE if self._attendance.is_ours(referee_id) else 1
        while matches := self._workload.take(referee_id, at_most):
            self._send(referee_id, matches)

    def after_report(self, referee_id: str, ack: MatchResultAck) -> MatchResultAck:
        """A match was reported: the next one goes with the answer."""
        self.heard(referee_id)
        match_id = ack.match_id
        for each in {referee_id, self._league.matches[match_id].referee_id}:
            self._workload.done(each, match_id)
        self._leases.end(match_id)
        self.starts.learn(match_id)
        self.starts.end(match_id)
        self._result_notices.stop(match_id)
        self._attendance.unfit.discard(referee_id)
        if not self._attendance.is_ours(referee_id):
            self.hand_out(referee_id)  # It looks for matches in letters only.
            return ack
        more = self._workload.take_after(referee_id, match_id) if self._is_on else []
        self._lease(referee_id, more)
        return msgspec.structs.replace(ack, matches=self._described(more)) if more else ack

    def refresh(self, player_id: str) -> None:
        """A player has a new end point or token: the referee of its open match must know."""
        for record in self._league.matches.of_player.get(player_id, ()):
            is_ours = self._attendance.is_ours(
                record.referee_id
            )  # Any other would begin the match anew.
            if is_ours and self._leases.held([record.match_id]) and not record.decided:
                self._send(record.referee_id, [record.match_id])

    def assignment_answered(
        self, referee_id: str, matches: Sequence[str], error: LeagueError | None
    ) -> None:
        """An assignment was taken, or is to be sent again."""
        if error is None:
            self._answers(referee_id)
            return
        self._workload.give_back(referee_id, matches)
        self._step.wake(("assign", referee_id), self._step.now + AGAIN_SECONDS)

    def _answers(self, referee_id: str) -> None:
        self._alone_since = None
        self.heard(referee_id)

    # Matches are taken away

    def look(self) -> None:
        """The leases are looked at, again and again while a match is handed out."""
        self._is_looking = False
        if self._league.paused:
            return
        for match_id in self._leases.expired(self._step.now):
            if self._leases.is_over(match_id, self._step.now):  # Else it went with another.
                self._expire(match_id)
        self._look_again()

    def reassign(self, match_id: str, why: str) -> None:
        """Give a match to a referee again, or decide what becomes of it without one."""
        record = self._league.matches[match_id]
        is_over = self._league.phase is not Phase.RUNNING and record.decided is None
        if (
            match_id not in self._league.open_matches
            or self._result_notices.is_telling(match_id)
            or is_over
        ):
            return
        self._workload.done(record.referee_id, match_id)
        self._leases.end(match_id)
        self.starts.end(match_id)
        if record.epoch >= EPOCHS_MAX:
            self._give_up(record, f"{EPOCHS_MAX} referees could not bring it to an end")
            return
        referee_id = self._next_referee(record)
        if referee_id is None:
            self._wait_for_a_referee(record)
            return
        self._orphans.pop(match_id, None)
        self._alone_since = None
        self._step.record(MatchAssigned(match_id, record.epoch + 1, referee_id, why))
        self._step.news.append(f"{match_id} goes to {referee_id}: {why}.")
        if record.decided:
            self._moved(match_id)
        else:
            self.referee_notices.tell(record)

    def alone(self) -> None:
        """No referee came for as long as the league waits for one."""
        if self._league.paused:
            return
        wait = self._settings.referee_wait_seconds
        for match_id, since in list(self._orphans.items()):
            if since + wait <= self._step.now:
                del self._orphans[match_id]
                why = f"no referee was there for {wait:g} seconds"
                self._give_up(self._league.matches[match_id], why)

    def continued(self) -> None:
        """The league goes on after a pause: no clock ran meanwhile."""
        self._leases.again(self._step.now)
        self._attendance.go_on(self._workload.referees)
        for referee_id in self._workload.referees:
            self.hand_out(referee_id)
        if self._alone_since is not None:
            self._alone_since = self._step.now
        if self._orphans:
            self._orphans = dict.fromkeys(self._orphans, self._step.now)
            self._step.wake("alone", self._step.now + self._settings.referee_wait_seconds)
        self._look_again()

    # Small things

    def _send(self, referee_id: str, matches: Sequence[str]) -> None:
        described, session = self._described(matches), self._keys.session(referee_id)
        message = self._broadcasts.assignment(self._step.now_text, described, session)
        self._lease(referee_id, matches)
        if self._attendance.is_ours(referee_id):
            self._step.tell(referee_id, message, ("matches", *matches), keep=True)
        elif not self._runs(matches[0]):
            until = self._step.now + self._longest_match()
            self.starts.begin(referee_id, matches[0], message, until)

    def _runs(self, match_id: str) -> bool:
        """Whether its referee, of another make, said so before the manager started again."""
        record = self._league.matches[match_id]
        return record.begun == record.epoch

    def _longest_match(self) -> float:
        if self._longest is None:
            rules = self._league.rules.rules
            self._longest = longest_match(
                rules, turns_max(self._adjudicator.game, rules.game_options)
            )
        return self._longest

    def _lease(self, referee_id: str, matches: Sequence[str]) -> None:
        is_ours, longest = self._attendance.is_ours(referee_id), self._longest_match()
        seconds = self._settings.lease_seconds if is_ours else longest
        for match_id in matches:
            self._leases.begin(match_id, self._step.now, seconds, longest if is_ours else 0.0)
        self._look_again()

    def _look_again(self) -> None:
        if self._is_looking:
            return
        when = self._leases.next_look(self._step.now, self._settings.lease_seconds / 4)
        if when is not None:
            self._is_looking = True
            self._step.wake("leases", when)

    def _expire(self, match_id: str) -> None:
        referee_id, attendance = self._league.matches[match_id].referee_id, self._attendance
        self._leases.end(match_id)
        if attendance.is_silent(referee_id) and referee_id not in attendance.gone:
            self._leave(referee_id, f"{referee_id} was silent")
        elif match_id in self._league.open_matches:
            attendance.unfit.add(referee_id)
            self.reassign(match_id, f"{referee_id} did not bring it to an end")

    def _not_started(self, match_id: str, why: str) -> None:
        """A referee does not take a match: it goes to another."""
        record = self._league.matches[match_id]
        self._attendance.unfit.add(record.referee_id)
        if self._next_referee(record) is None:  # Else it is said when the other one gets it.
            self._step.news.append(f"{match_id}: {record.referee_id} {why}.")
        self.reassign(match_id, f"{record.referee_id} {why}"[:500])

    @property
    def _is_on(self) -> bool:
        return self._league.phase is Phase.RUNNING and not self._league.paused

    def _next_referee(self, record: MatchRecord) -> str | None:
        """Who takes a match over: rather another than the same again, rather one with less to do.

        A referee that does not lock gets a match at most once, and none that is decided.
        """
        members = self._league.roster.referees
        candidates = [
            each
            for each in self._attendance.available(self._workload.referees)
            if members[each].locks or (each not in record.referees and not record.decided)
        ]
        if not candidates:
            return None
        attendance, workload = self._attendance, self._workload

        def burden(referee_id: str) -> tuple[bool, bool, bool, float]:
            is_doubtful = referee_id in attendance.superseded, referee_id in record.referees
            return *is_doubtful, referee_id in attendance.unfit, workload.load(referee_id)

        return min(candidates, key=burden)

    def _wait_for_a_referee(self, record: MatchRecord) -> None:
        if record.decided:
            self._result_notices.tell(record.match_id)
            return
        if self._alone_since is None:
            self._alone_since = self._step.now
            self._step.news.append(
                "No referee is there. Start one; without one the matches that wait are no contest "
                f"after {self._settings.referee_wait_seconds:g} seconds."
            )
        self._orphans.setdefault(record.match_id, self._alone_since)
        first = min(self._orphans.values())
        self._step.wake("alone", first + self._settings.referee_wait_seconds)

    def _give_up(self, record: MatchRecord, why: str) -> None:
        if record.decided is None:
            self._step.record(self._adjudicator.no_contest(record.match_id, why))
            self._step.news.append(f"{record.match_id} is no contest: {why}.")
        self._result_notices.tell(record.match_id)

    def _moved(self, match_id: str) -> None:
        referee_id = self._league.matches[match_id].referee_id
        self._workload.plan(referee_id, match_id)
        self.hand_out(referee_id)

    def _described(self, matches: Sequence[str]) -> list[RoundMatch]:
        records = [self._league.matches[match_id] for match_id in matches]
        return [self._broadcasts.assigned(record, self._keys.channel) for record in records]

    def _is_at(self, referee_id: str, match_id: str) -> bool:
        record = self._league.matches.get(match_id)
        return record is not None and record.referee_id == referee_id
