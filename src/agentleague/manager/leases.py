"""How long each referee may hold each match without a message, and what happens then."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from msgspec import Struct

from agentleague.league.match_records import MatchRecord
from agentleague.manager.step import Step
from agentleague.protocol.messages import AwaitedAnswer, Rules

TO_DO = {"GAME_INVITATION": "join", "CHOOSE_PARITY_CALL": "choose", "GAME_MOVE_CALL": "move"}
AWAITED_MAX = 10  # answers that a status names

STATES = ("WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER")  # without a result


class _Lease(Struct):
    seconds: float  # for how long a message from the referee renews it
    due: float
    latest: float  # no message renews it beyond this
    is_told: bool = False  # whether the organiser knows that it takes long
    state: str = ""  # of the match, as its referee last said it


class Leases:
    """The leases of all matches that are handed out."""

    def __init__(self, late_seconds: float) -> None:
        self._late_seconds = late_seconds  # a check that is later was held up, as everything was
        self._leases: dict[str, _Lease] = {}
        self._checks_at = float("inf")

    def begin(self, match_id: str, now: float, seconds: float, longest: float) -> None:
        """A match was handed out; one that was already keeps its lease."""
        if match_id not in self._leases:
            self._leases[match_id] = _Lease(seconds, now + seconds, now + longest + seconds)

    def renew(self, match_id: str, now: float, state: str = "") -> None:
        """Its referee sent a message about it, and may have said how far the match is."""
        lease = self._leases.get(match_id)
        if lease:
            lease.due = min(now + lease.seconds, lease.latest)
            lease.state = state if state in STATES else lease.state

    def decide(self, match_id: str, now: float, telling_seconds: float) -> None:
        """The match is decided: only its players are still to be told."""
        lease = self._leases.get(match_id)
        if lease:
            lease.due = now + lease.seconds
            lease.latest = lease.due + telling_seconds

    def end(self, match_id: str) -> None:
        """The match is closed, or goes to another referee."""
        self._leases.pop(match_id, None)

    def restart_all(self, now: float) -> None:
        """All begin anew after a pause."""
        for lease in self._leases.values():
            lease.latest += now + lease.seconds - lease.due
            lease.due = now + lease.seconds

    def next_check(self, now: float, seconds: float) -> float | None:
        """When to check again; never while nothing is handed out."""
        if not self._leases:
            return None
        self._checks_at = now + seconds
        return self._checks_at

    def expired(self, now: float) -> list[str]:
        """The matches whose leases have run out."""
        held_up = now - self._checks_at
        if held_up > self._late_seconds:  # The machine slept, so referees could not speak.
            for lease in self._leases.values():
                lease.due += held_up
                lease.latest += held_up
        return [match_id for match_id, lease in self._leases.items() if lease.due <= now]

    def older(self, since: float) -> list[str]:
        """The matches that were handed out before then, each only once."""
        found = []
        for match_id, lease in self._leases.items():
            if lease.due - lease.seconds <= since and not lease.is_told:
                lease.is_told = True
                found.append(match_id)
        return found

    @property
    def told(self) -> list[str]:
        """Those that `older` gave."""
        return [match_id for match_id, lease in self._leases.items() if lease.is_told]

    def left(self, match_id: str, now: float) -> float | None:
        """For how long a match is still handed out; None if it is not."""
        lease = self._leases.get(match_id)
        return max(0.0, lease.due - now) if lease else None

    def state(self, match_id: str) -> str:
        """How far a match without a result is; nothing if its referee did not say."""
        lease = self._leases.get(match_id)
        return lease.state if lease else STATES[0]

    def __contains__(self, match_id: str) -> bool:
        return match_id in self._leases


class Awaited:
    """Says how long a match still waits for its foreign or any referee, and what happens then."""

    def __init__(
        self,
        step: Step,
        leases: Leases,
        unassigned: Mapping[str, float],
        *,
        next_referee: Callable[[MatchRecord], str | None],
    ) -> None:
        self._step, self._leases, self._next_referee = step, leases, next_referee
        self._unassigned = unassigned  # matches without a referee -> since when
        # Referee -> when it said so, and for which answers it waits; those the organiser knows of.
        self._answers: dict[str, tuple[float, Iterable[AwaitedAnswer]]] = {}
        self._told: set[tuple[str, str, str]] = set()

    def hear(self, referee_id: str, rows: Iterable[AwaitedAnswer]) -> None:
        """A referee says what it waits for; the organiser hears, once, of what is half over."""
        is_open = self._step.league.open_matches
        own = (row for row in rows if self._is_asked(referee_id, row))
        said = {(row.match_id, row.player_id, row.message): row for row in own}
        self._answers[referee_id] = self._step.now, said.values()
        for asked, row in said.items():
            is_long = row.attempt > 1 or row.time_remaining < self._terms(row)[0] / 2
            if is_long and asked not in self._told:
                self._told = {asked, *(each for each in self._told if each[0] in is_open)}
                self._step.notify(f"Waiting for {self._words(row, 0.0)}.")

    def answers(self, now: float) -> list[str]:
        """For which answers of players referees wait, in words."""
        found = (
            self._words(row, now - heard_at)
            for referee_id, (heard_at, rows) in self._answers.items()
            for row in rows
            if self._is_asked(referee_id, row)
        )
        return list(islice(found, AWAITED_MAX))

    def _is_asked(self, referee_id: str, row: AwaitedAnswer) -> bool:
        """Whether this referee may wait for that: it can send anything."""
        league = self._step.league
        if row.match_id not in league.open_matches:
            return False
        record = league.matches[row.match_id]
        is_its = record.referee_id == referee_id and row.player_id in record.players
        is_possible = 1 <= row.attempt <= row.attempts <= self._terms(row)[1] + 1
        return is_its and is_possible and not record.decided

    def _words(self, row: AwaitedAnswer, waited: float) -> str:
        league, rules = self._step.league, self._step.league.rules.rules
        seconds, retries = self._terms(row)
        later = _question(rules, seconds, row.attempts - 1, row.attempt - 1) - seconds
        longest = min(later + row.time_remaining, _question(rules, seconds, retries))
        now = min(row.time_remaining, seconds)
        name = league.roster.players[row.player_id].display_name
        who = f"{row.player_id} '{name}' to {TO_DO[row.message]} in {row.match_id}"
        attempt = f"{max(0.0, now - waited):.0f} s for attempt {row.attempt} of {row.attempts}"
        return f"{who}: {attempt}, {max(0.0, longest - waited):.0f} s in all"

    def _terms(self, row: AwaitedAnswer) -> tuple[float, int]:
        """For how long such a question is open at each attempt, and how often it is retried."""
        rules = self._step.league.rules.rules
        if TO_DO[row.message] == "join":
            return rules.join_seconds, rules.join_retries
        return rules.move_seconds, rules.retries

    def tell(self, refusals: Callable[[str], str]) -> None:
        """Tell the organiser, once, of each match that takes longer than its players may."""
        rules = self._step.league.rules.rules
        since = self._step.now - rules.join_seconds - rules.move_seconds
        for match_id in self._leases.older(since):
            words = self.in_words(match_id)
            if words:
                said = refusals(match_id)  # what its referee said of forms that it did not take
                more = f"{said[:1].upper()}{said[1:]}. " if said else ""
                more += f"See it with: league match {match_id} --dir DIR"
                self._step.notify(f"{match_id} is not reported yet: {words}. {more}")

    def rows(self) -> list[str]:
        """The matches of which the organiser was told, in words."""
        found = {each: self.in_words(each) for each in (*self._unassigned, *self._leases.told)}
        return [f"{match_id}: {words}" for match_id, words in found.items() if words]

    def in_words(self, match_id: str) -> str:
        """How long a match still waits, and what then; nothing if its referee sends a status."""
        league, limits = self._step.league, self._step.limits
        wait, record = self._step.settings.referee_wait_seconds, league.matches.get(match_id)
        if record is None:
            return ""
        if match_id in self._unassigned:
            left = max(0.0, self._unassigned[match_id] + wait - self._step.now)
            other = f"another referee than {record.referee_id}"
            return f"it waits for {other}, {left:.0f} s still; then it is no contest"
        held = self._leases.left(match_id, self._step.now)
        if held is None or record.decided or league.roster.referees[record.referee_id].locks:
            return ""
        other = self._next_referee(record) or ""
        if record.given_out - record.returns >= limits.epochs_max:
            then = "it is no contest"
        elif other:
            then = f"it goes to {other}"
        else:
            then = f"it waits {wait:g} s for another referee, and is no contest after that"
        return f"it waits for {record.referee_id}, {held:.0f} s still; then {then}"


def longest_match(rules: Rules, turns: int) -> float:
    """How long a match can take if both players use all their time."""
    joining = _question(rules, rules.join_seconds, rules.join_retries)
    turn = _question(rules, rules.move_seconds, rules.retries) + rules.reply_seconds
    return joining + turns * turn + rules.game_over_seconds + rules.reply_seconds


def _question(rules: Rules, seconds: float, retries: int, made: int = 0) -> float:
    """How long a question can still be open, at the beginning of an attempt."""
    delays = (rules.retry_delay_seconds * rules.retry_backoff**n for n in range(made, retries))
    return float(seconds * (retries - made + 1) + sum(delays))
