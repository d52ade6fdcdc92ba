"""Matches that foreign referees have, of which nothing is heard before they are reported."""

from collections.abc import Callable

from agentleague.league.match_records import MatchRecord
from agentleague.manager.leases import Leases
from agentleague.manager.step import Step


class Awaited:
    """Says how long a match still waits for its foreign referee, and what happens then.

    `next_referee` says who would get a match, if anybody.
    """

    def __init__(
        self, step: Step, leases: Leases, *, next_referee: Callable[[MatchRecord], str | None]
    ) -> None:
        self._step, self._leases, self._next_referee = step, leases, next_referee

    def tell(self) -> None:
        """Tell the organiser, once, of each match that takes longer than its players may."""
        rules = self._step.league.rules.rules
        since = self._step.now - rules.join_seconds - rules.move_seconds
        for match_id in self._leases.older(since):
            words = self.in_words(match_id)
            if words:
                more = f"See it with: league match {match_id} --dir DIR"
                self._step.notify(f"{match_id} is not reported yet: {words}. {more}")

    def rows(self) -> list[str]:
        """The matches of which the organiser was told, in words."""
        found = {match_id: self.in_words(match_id) for match_id in self._leases.told}
        return [f"{match_id}: {words}" for match_id, words in found.items() if words]

    def in_words(self, match_id: str) -> str:
        """How long a match still waits, and what then; nothing if its referee sends a status."""
        league, limits = self._step.league, self._step.limits
        left = self._leases.left(match_id, self._step.now)
        if left is None:
            return ""
        record = league.matches[match_id]
        if record.decided or league.roster.referees[record.referee_id].locks:
            return ""
        other = self._next_referee(record)
        if record.given_out - record.returns >= limits.epochs_max:
            then = "it is no contest"
        elif other:
            then = f"it goes to {other}"
        else:
            wait = self._step.settings.referee_wait_seconds
            then = f"it waits {wait:g} s for another referee, and is no contest after that"
        return f"it waits for {record.referee_id}, {left:.0f} s still; then {then}"
