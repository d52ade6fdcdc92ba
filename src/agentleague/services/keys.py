"""What the manager derives from its secret: sessions of referees, channels of players."""

from agentleague.league.league import League
from agentleague.protocol import tokens


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
        generation = self._league.roster.players[player_id].generation
        key = (player_id, generation)
        if key not in self._channels:
            league_id = self._league.rules.league_id
            token = tokens.league_token(self._secret, league_id, player_id, generation)
            self._channels[key] = tokens.channel_key(token)
        return self._channels[key]
