"""The manager itself tells players how their match ended, where no referee is left to do so.

The players of a match hear of its new referee before that one is told to run it.
"""

from collections.abc import Callable

from agentleague.league.events import MatchClosed
from agentleague.league.league import Phase
from agentleague.league.match_records import MatchRecord
from agentleague.manager.broadcasts import Broadcasts
from agentleague.manager.office import Office
from agentleague.manager.step import Step


class ResultNotices:
    """GAME_OVER in the referee's stead; `on_all_closed` when that closed the last match."""

    def __init__(self, office: Office) -> None:
        self.on_all_closed: Callable[[], None] = lambda: None
        self._step, self._adjudicator, self._broadcasts, self._keys, _ = office
        self._league = self._step.league
        self._untold: dict[str, set[str]] = {}  # match -> players still to be told

    def tell(self, match_id: str) -> None:
        """Tell both, but for one whom the organiser took out."""
        record = self._league.matches[match_id]
        players = [each for each in record.players if each not in self._league.roster.removed]
        self._untold[match_id] = set(players)
        locked = self._adjudicator.result(match_id)
        for player_id in players:
            seat, channel = record.players.index(player_id), self._keys.channel(player_id)
            message = self._broadcasts.game_over(self._step.now_text, record, locked, seat, channel)
            tag = ("over", match_id)
            self._step.tell(player_id, message, tag, receipt=record.decided_seq, keep=True)
        self.told("", match_id)

    def tell_all_decided(self) -> None:
        """The league ends before its time: what is decided is not left to referees."""
        for match_id in sorted(self._league.open_matches):
            if self._league.matches[match_id].decided and match_id not in self._untold:
                self.tell(match_id)

    def told(self, player_id: str, match_id: str) -> None:
        """A player knows how its match ended, or was given up; the last one closes the match."""
        untold = self._untold.get(match_id)
        if untold is None:
            return
        untold.discard(player_id)
        if not untold:
            del self._untold[match_id]
            self._close(match_id)

    def is_telling(self, match_id: str) -> bool:
        """Whether the players of a match are being told."""
        return match_id in self._untold

    def stop(self, match_id: str) -> None:
        """A referee has told them after all."""
        self._untold.pop(match_id, None)

    def _close(self, match_id: str) -> None:
        if match_id in self._league.open_matches:
            epoch = self._league.matches[match_id].epoch
            self._step.record(MatchClosed(match_id, epoch, told="manager"))
            if not self._league.open_matches and self._league.phase is Phase.RUNNING:
                self.on_all_closed()


MOVED_SECONDS = 2.0  # for the players of a match to hear of its new referee


class RefereeNotices:
    """Matches that have another referee; `done` is told one whose players know, or had time."""

    def __init__(self, step: Step, broadcasts: Broadcasts, done: Callable[[str], None]) -> None:
        self._step, self._broadcasts, self._done = step, broadcasts, done
        self._unheard: dict[str, set[str]] = {}  # match -> players still to hear of it

    def tell(self, record: MatchRecord) -> None:
        """Tell both, but for one whom the organiser took out."""
        removed = self._step.league.roster.removed
        players = [each for each in record.players if each not in removed]
        self._unheard[record.match_id] = set(players)
        message = self._broadcasts.moved(self._step.now_text, record)
        for player_id in players:
            self._step.tell(player_id, message, ("moved", record.match_id))
        self._step.wake(("moved", record.match_id), self._step.now + MOVED_SECONDS)

    def heard(self, player_id: str, match_id: str) -> None:
        """A player knows of the new referee, or was given up."""
        unheard = self._unheard.get(match_id)
        if unheard is not None:
            unheard.discard(player_id)
            if not unheard:
                self.stop_waiting(match_id)

    def stop_waiting(self, match_id: str) -> None:
        """The players had time enough to hear of it."""
        if match_id in self._unheard:
            del self._unheard[match_id]
            self._done(match_id)
