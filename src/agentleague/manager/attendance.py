"""Which referees are there, and which of them are to be doubted."""

from collections.abc import Callable, Iterable

from agentleague.league.roster import Member
from agentleague.manager.step import Clerk

SILENT_PART = 0.6  # of a lease: one of ours speaks every third of it


class Attendance:
    """What is known of each referee from its words, its silence and its matches."""

    def __init__(
        self, clerk: Clerk, lease_seconds: float, longest_match: Callable[[], float]
    ) -> None:
        self._clerk, self._lease_seconds, self._longest_match = clerk, lease_seconds, longest_match
        self._heard: dict[str, float] = {}  # referee -> when it last said a word
        self.gone: set[str] = set()  # that let a lease run out, until they are heard
        self.unfit: set[str] = set()  # that held a match too long, until they report one
        self.ghosts: set[str] = set()  # that came again as others, until they are heard

    def resume(self) -> None:
        """After a restart who was last at an end point is taken to be there; others must speak.

        One of another make that lost a match that is still open gets no more where others can.
        """
        league, now = self._clerk.league, self._clerk.now
        referees = league.roster.referees
        last = {member.endpoint: each for each, member in referees.items()}
        for referee_id, member in referees.items():
            is_last = last[member.endpoint] == referee_id
            self._heard[referee_id] = now - (0.0 if is_last else self._lease_seconds)
        for match_id in league.open_matches:
            lost_it = league.matches[match_id].referees[:-1]
            self.unfit.update(each for each in lost_it if not self.is_ours(each))
        newest = {_known_by(member): each for each, member in referees.items()}
        self.ghosts = referees.keys() - newest.values()

    def join(self, referee_id: str) -> None:
        """It registered: others with its name at its end point were, as a rule, the same."""
        referees = self._clerk.league.roster.referees
        known = _known_by(referees[referee_id])
        alike = {each for each in referees if _known_by(referees[each]) == known}
        self.ghosts |= alike - {referee_id}
        self.hear(referee_id)

    def hear(self, referee_id: str) -> None:
        """It said a word, or had no chance to: whatever was thought of it, it is there."""
        self._heard[referee_id] = self._clerk.now
        self.gone.discard(referee_id)
        self.ghosts.discard(referee_id)

    def go_on(self, referees: Iterable[str]) -> None:
        """No clock ran in a pause, and nobody had to speak."""
        self._heard.update(dict.fromkeys(referees, self._clerk.now))

    def is_silent(self, referee_id: str) -> bool:
        """Whether it missed a word that it owed."""
        is_ours = self.is_ours(referee_id)
        patience = self._lease_seconds if is_ours else self._longest_match()
        return self._clerk.now - self._heard[referee_id] >= patience * SILENT_PART

    def is_ours(self, referee_id: str) -> bool:
        """Whether it locks; one that does not is of another make."""
        return self._clerk.league.roster.referees[referee_id].locks

    def available(self, referees: Iterable[str]) -> list[str]:
        """Who is there; one of ours that was silent for a lease is not, whatever it holds."""
        latest = self._clerk.now - self._lease_seconds
        return [
            each
            for each in referees
            if each not in self.gone and (not self.is_ours(each) or self._heard[each] > latest)
        ]

    def trusted(self, referees: Iterable[str]) -> list[str]:
        """Those whom nothing speaks against, as far as there are any."""
        chosen = list(referees)
        for doubtful in (self.ghosts, self.unfit):
            chosen = [each for each in chosen if each not in doubtful] or chosen
        return chosen


def _known_by(member: Member) -> tuple[str, str]:
    return member.endpoint, member.display_name
