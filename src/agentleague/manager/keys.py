"""What the manager derives from its secret: sessions of referees, channels of players."""

from collections.abc import Iterator

from agentleague.league.league import League
from agentleague.protocol import tokens

GENERATIONS_MAX = 8  # of a player's tokens that are still recognised


class Keys:
    """Derives, and stores nothing that a journal should not hold."""

    def __init__(self, league: League, token_secret: bytes) -> None:
        self._league, self._secret = league, token_secret
        self._channels: dict[tuple[str, int], bytes] = {}

    def session(self, referee_id: str) -> str:
        """What the manager shows to a referee; another one with each registration."""
        generation = self._league.roster.referees[referee_id].generation
        return tokens.session(self._secret, self._league.rules.league_id, referee_id, generation)

    def channel(self, player_id: str) -> bytes:
        """What a player's match tokens are made from."""
        return self._channel(player_id, self._league.roster.players[player_id].generation)

    def channels(self, player_id: str) -> Iterator[bytes]:
        """What they are and were made from, the newest first: it may have come back since."""
        newest = self._league.roster.players[player_id].generation
        for generation in range(newest, max(0, newest - GENERATIONS_MAX), -1):
            yield self._channel(player_id, generation)

    def _channel(self, player_id: str, generation: int) -> bytes:
        key = (player_id, generation)
        if key not in self._channels:
            league_id = self._league.rules.league_id
            token = tokens.league_token(self._secret, league_id, player_id, generation)
            self._channels[key] = tokens.channel_key(token)
        return self._channels[key]
