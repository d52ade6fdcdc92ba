"""Seats: who gets one at the manager, who fetches calls there, and who may call."""

import hmac
from urllib.parse import unquote

from msgspec.structs import replace

from agentleague.errors import EndpointNotAllowed
from agentleague.league.match_records import MatchRecord
from agentleague.league.roster import Member
from agentleague.manager.step import Step
from agentleague.manager.tokens import Credentials, Reporters, TokenMisuse
from agentleague.protocol import seats
from agentleague.protocol.messages import Message, PlayerMeta
from agentleague.protocol.tokens import match_token
from agentleague.roles.stimuli import Caller


def at_seat(step: Step, meta: PlayerMeta, known: Member | None) -> PlayerMeta:
    """What a player says that asks for a seat, with the end point there."""
    if not step.settings.seats and not (known and known.is_seated):
        raise EndpointNotAllowed(
            "this league gives no seats; listen where the manager can call you, and register "
            "with that URL as contact_endpoint and without player_meta.seat",
            field="player_meta.seat",
        )
    player_id = known.agent_id if known else step.league.roster.next_player_id()
    return replace(meta, contact_endpoint=seats.endpoint_of(player_id))


def check_no_seat(url: str) -> None:
    """Nobody is called at another's seat, and only who asks for its own has one."""
    if seats.PREFIX in unquote(url):
        raise EndpointNotAllowed(
            "a path that begins with /seats/ is a seat at a manager; a player gets its own if it "
            "registers with player_meta.seat true, and others listen at another path",
            field="contact_endpoint",
        )


class SeatRights:
    """Whose seat a token opens, and whether a caller may say something to a seated player."""

    def __init__(
        self, step: Step, credentials: Credentials, reporters: Reporters, misuse: TokenMisuse
    ) -> None:
        self._league, self._channel = step.league, credentials.channel
        self._reporters, self._misuse = reporters, misuse

    def seat_of(self, token: str | None) -> str | None:
        """The player that fetches its calls with this token."""
        roster = self._league.roster
        player = roster.players.get(roster.acting(token) or "")
        return player.agent_id if player and player.is_seated else None

    def may_call(self, player_id: str, message: Message, caller: Caller) -> bool:
        """Whether a caller may say this to a seated player: only the referee of its match may."""
        player = self._league.roster.players.get(player_id)
        if player is None or not player.is_seated:
            return False
        # Many report before they say how it ended: that may come when the next match is given out.
        recent = self._league.matches.of_player.get(player_id, ())[-2:]
        is_allowed = any(self._is_referee_of(record, player_id, caller) for record in recent)
        if not is_allowed:
            self._misuse.refused_at_seat(player_id, message, caller)
        return is_allowed

    def _is_referee_of(self, record: MatchRecord, player_id: str, caller: Caller) -> bool:
        league, token = self._league, caller.token or ""
        names = (league.rules.league_id, record.match_id, player_id, record.epoch)
        own = match_token(self._channel(player_id), "ref>player", *names)
        return (
            hmac.compare_digest(token.encode(errors="replace"), own.encode())
            or league.roster.owner(token) == record.referee_id
            or self._reporters.may_be_without(league.roster.referees[record.referee_id], caller)
        )
