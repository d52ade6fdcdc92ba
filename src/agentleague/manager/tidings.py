"""The manager itself tells players how their match ended, where no referee is left to do so."""

from collections.abc import Callable

from agentleague.league.events import MatchClosed
from agentleague.league.league import Phase
from agentleague.manager.office import Office


class Tidings:
    """GAME_OVER in the referee's stead; `on_all_closed` when that closed the last match."""

    def __init__(self, office: Office) -> None:
        self.on_all_closed: Callable[[], None] = lambda: None
        self._clerk, self._court, self._bulletins, self._keys, _ = office
        self._league = self._clerk.league
        self._untold: dict[str, set[str]] = {}  # match -> players still to be told

    def tell(self, match_id: str) -> None:
        """Tell both, but for one whom the organiser took out."""
        file = self._league.matches[match_id]
        players = [each for each in file.players if each not in self._league.roster.removed]
        self._untold[match_id] = set(players)
        locked = self._court.result(match_id)
        for player_id in players:
            seat, channel = file.players.index(player_id), self._keys.channel(player_id)
            message = self._bulletins.game_over(self._clerk.now_text, file, locked, seat, channel)
            tag = ("over", match_id)
            self._clerk.tell(player_id, message, tag, receipt=file.decided_seq, keep=True)
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
            self._clerk.record(MatchClosed(match_id, epoch, told="manager"))
            if not self._league.open_matches and self._league.phase is Phase.RUNNING:
                self.on_all_closed()
