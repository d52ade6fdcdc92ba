"""How long each referee may hold each match without a word."""

from collections.abc import Iterable

from msgspec import Struct

from agentleague.protocol.messages import Rules

LATE_SECONDS = 0.25  # a look that comes so much too late was held up, as everything else was


class _Lease(Struct):
    seconds: float  # what a word from the referee is worth
    due: float
    latest: float  # no word renews it beyond this


class Leases:
    """The leases of all matches that are handed out."""

    def __init__(self) -> None:
        self._leases: dict[str, _Lease] = {}
        self._looks_at = float("inf")

    def begin(self, match_id: str, now: float, seconds: float, longest: float) -> None:
        """A match was handed out; one that was already keeps its lease."""
        if match_id not in self._leases:
            self._leases[match_id] = _Lease(seconds, now + seconds, now + longest + seconds)

    def renew(self, match_id: str, now: float) -> None:
        """Its referee was heard of."""
        lease = self._leases.get(match_id)
        if lease:
            lease.due = min(now + lease.seconds, lease.latest)

    def decide(self, match_id: str, now: float, telling_seconds: float) -> None:
        """The match is decided: only its players are still to be told."""
        lease = self._leases.get(match_id)
        if lease:
            lease.latest = now + telling_seconds + lease.seconds
            lease.due = min(now + lease.seconds, lease.latest)

    def end(self, match_id: str) -> None:
        """The match is closed, or not this referee's any more."""
        self._leases.pop(match_id, None)

    def again(self, now: float) -> None:
        """All begin anew: the manager was away, or the league stood still."""
        for lease in self._leases.values():
            lease.latest += now + lease.seconds - lease.due
            lease.due = now + lease.seconds

    def next_look(self, now: float, seconds: float) -> float | None:
        """When to look again; never while nothing is handed out."""
        if not self._leases:
            return None
        self._looks_at = now + seconds
        return self._looks_at

    def expired(self, now: float) -> list[str]:
        """The matches whose referee kept silent too long."""
        held_up = now - self._looks_at
        if held_up > LATE_SECONDS:  # The machine slept: so did the referees' words to us.
            for lease in self._leases.values():
                lease.due += held_up
                lease.latest += held_up
        return [match_id for match_id, lease in self._leases.items() if lease.due <= now]

    def is_over(self, match_id: str, now: float) -> bool:
        """Whether a lease has run out and the match was not given out again since."""
        lease = self._leases.get(match_id)
        return lease is not None and lease.due <= now

    def held(self, matches: Iterable[str]) -> list[str]:
        """Those of the matches that are handed out."""
        return [match_id for match_id in matches if match_id in self._leases]


def longest_match(rules: Rules, turns: int) -> float:
    """How long a match can take when everybody uses all the time there is."""
    joining = _question(rules, rules.join_seconds, rules.join_retries)
    moving = _question(rules, rules.move_seconds, rules.retries)
    locking = rules.reply_seconds
    return joining + turns * (moving + locking) + rules.game_over_seconds + rules.reply_seconds


def _question(rules: Rules, seconds: float, retries: int) -> float:
    delays = sum(rules.retry_delay_seconds * rules.retry_backoff**n for n in range(retries))
    return float(seconds * (retries + 1) + delays)
