"""Several addresses of one manager: one is used at a time, and the next one after a failure.

Who calls names the first of them, whichever is used, so that roles, dialects and state files know
one manager. Nobody is called twice by this: the failure goes to who called, who tries again.
"""

from collections.abc import Callable, Sequence

from agentleague.errors import UNREACHABLE, LeagueError, NoAnswer, NoConnection
from agentleague.protocol.seats import PREFIX, url_at

SEPARATOR = ","
ADDRESSES_MAX = 8
POLL_SECONDS = 3.0  # that a seat's poll is held: a process that is stopped says nothing
MARGIN_SECONDS = 2.0  # that its answer may take longer
_AWAY, _GONE = (502, 503, 504), (404, 410)
_GONE_SECONDS = 10.0  # in which all have to say that no league is there, to be believed


def addresses_in(manager: str) -> Sequence[str]:
    """The URLs of a manager, as they stand in settings. Raises LeagueError if there are many."""
    urls = manager.split(SEPARATOR)
    if len(urls) > ADDRESSES_MAX:
        raise LeagueError(f"--manager names {len(urls)} addresses; give at most {ADDRESSES_MAX}")
    return urls


Moved = Callable[[float, LeagueError], None]  # when, and what became of earlier calls


class ManagerAddresses:
    """Where calls to the manager go: to the address that worked last."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = urls
        self._seats = [url_at(url, PREFIX) for url in urls]
        self._current, self._since = 0, float("-inf")
        self._gone: dict[int, float] = {}  # When an address said that no league is there.
        self._moved = NoConnection("it goes on at another address", kind=UNREACHABLE)
        self.watchers: list[Moved] = []

    @property
    def in_order(self) -> Sequence[str]:
        """All, the one that is used first."""
        return [*self._urls[self._current :], *self._urls[: self._current]]

    def where(self, url: str) -> str | None:
        """Where a call to the manager or one of its seats goes now; None: it is to another."""
        if url == self._urls[0]:
            return self._urls[self._current]
        seats = self._seats[0]
        return self._seats[self._current] + url[len(seats) :] if url.startswith(seats) else None

    def answered(self, status: int, started: float, now: float) -> LeagueError | None:
        """The error that an HTTP answer stands for, if it is not the manager's."""
        if status in _AWAY:
            self._move(started, now)
        elif status in _GONE and started > self._since:
            self._gone = {at: when for at, when in self._gone.items() if when > now - _GONE_SECONDS}
            self._gone[self._current] = now
            self._move(started, now)
            if len(self._gone) < len(self._urls):
                return NoConnection(f"no league is there: HTTP {status}", kind=UNREACHABLE)
        return None

    def failed(self, error: LeagueError | None, started: float, now: float) -> None:
        """There was no answer."""
        if error is not self._moved:
            self._move(started, now)

    def player_failed(self, error: LeagueError | None, started: float, now: float) -> None:
        """The same of a call to a player at its seat, whose silence is not the manager's."""
        if not isinstance(error, NoAnswer):
            self.failed(error, started, now)

    def _move(self, started: float, now: float) -> None:
        """Use the next one, unless that was done since the call was sent."""
        if started > self._since:
            self._current, self._since = (self._current + 1) % len(self._urls), now
            for moved in self.watchers:
                moved(now, self._moved)
