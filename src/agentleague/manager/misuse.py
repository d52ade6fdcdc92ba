"""Tokens shown where they give no right: noted with whose they are, never with the token.

A row is written once for each agent, kind of message and kind of token, so nobody fills the
journal by trying again.
"""

import hmac
from itertools import product

from agentleague.league.events import TokenMisused
from agentleague.league.match_record import MatchFile
from agentleague.league.rulings import misuse_in_words
from agentleague.manager.keys import Keys
from agentleague.manager.step import Clerk
from agentleague.protocol.messages import (
    WIRE_NAME,
    LeagueRegisterRequest,
    Message,
    RefereeRegisterRequest,
)
from agentleague.protocol.tokens import MATCH_TOKEN, match_token
from agentleague.roles.stimuli import Asked

DIRECTIONS = ("ref>player", "player>ref")
REGISTRATIONS = (LeagueRegisterRequest, RefereeRegisterRequest)  # a wrong token counts as none


class Misuse:
    """Finds out whose token was refused; one that nobody was given is nobody's affair."""

    def __init__(self, clerk: Clerk, keys: Keys) -> None:
        self._clerk, self._keys = clerk, keys

    def refused(self, asked: Asked) -> None:
        """Note it, unless it was noted before."""
        token, league = asked.caller.token or "", self._clerk.league
        if isinstance(asked.message, REGISTRATIONS):
            return
        is_of_match = token.startswith(MATCH_TOKEN)
        agent_id = (
            self._player_of(token, asked.message) if is_of_match else league.roster.owner(token)
        )
        if agent_id is None:
            return
        scope = "match" if is_of_match else "league"
        event = TokenMisused(agent_id, WIRE_NAME[type(asked.message)], scope)
        if event not in league.misuses.get(agent_id, ()):
            self._clerk.record(event)
            self._clerk.news.append(f"{agent_id}: {misuse_in_words(event)}; it was refused.")

    def _player_of(self, token: str, message: Message) -> str | None:
        """Whose match token this is, if it is one of the match that the message is about."""
        file = self._match(message)
        if file is None:
            return None
        league_id = self._clerk.league.rules.league_id
        shown = token.encode(errors="replace")
        for player_id in file.players:
            epochs = range(1, file.epoch + 1)
            for key, epoch, direction in product(
                self._keys.channels(player_id), epochs, DIRECTIONS
            ):
                names = (league_id, file.match_id, player_id, epoch)
                own = match_token(key, direction, *names)
                if hmac.compare_digest(shown, own.encode()):
                    return player_id
        return None

    def _match(self, message: Message) -> MatchFile | None:
        """The match that it names, or the last one of whom it says it is from."""
        league = self._clerk.league
        if hasattr(message, "match_id"):
            return league.matches.get(message.match_id)
        files = league.matches.of_player.get(message.sender.rpartition(":")[2])
        return files[-1] if files else None
