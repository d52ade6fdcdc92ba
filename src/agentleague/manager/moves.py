"""The players of a match hear of its new referee before that one is told to run it."""

from collections.abc import Callable

from agentleague.league.match_record import MatchFile
from agentleague.manager.broadcasts import Bulletins
from agentleague.manager.step import Clerk

MOVED_SECONDS = 2.0  # for the players of a match to hear of its new referee


class Moves:
    """Matches that have another referee; `done` is told one whose players know, or had time."""

    def __init__(self, clerk: Clerk, bulletins: Bulletins, done: Callable[[str], None]) -> None:
        self._clerk, self._bulletins, self._done = clerk, bulletins, done
        self._unheard: dict[str, set[str]] = {}  # match -> players still to hear of it

    def tell(self, file: MatchFile) -> None:
        """Tell both, but for one whom the organiser took out."""
        removed = self._clerk.league.roster.removed
        players = [each for each in file.players if each not in removed]
        self._unheard[file.match_id] = set(players)
        message = self._bulletins.moved(self._clerk.now_text, file)
        for player_id in players:
            self._clerk.tell(player_id, message, ("moved", file.match_id))
        self._clerk.wake(("moved", file.match_id), self._clerk.now + MOVED_SECONDS)

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
