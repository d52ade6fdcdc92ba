"""Tokens: what the manager derives from its secret, who reports a match, and misused tokens.

A referee is known by its token. Documents 002 and 003 let referees report without one: then its
address counts. On one machine everybody has the same address, so that is worth little and holds
only for matches of foreign referees.

A token that was shown where it gives no right is noted with its owner, never with the token: once
for each agent, kind of message and kind of token, so that nobody can fill the journal.
"""

import hmac
from collections.abc import Iterator, Mapping
from itertools import product

from agentleague.league.events import TokenMisused, TokenShown
from agentleague.league.league import League
from agentleague.league.match_records import MatchRecord
from agentleague.league.match_result import UNKNOWN, misuse_in_words
from agentleague.league.roster import Member
from agentleague.manager.step import Step
from agentleague.protocol import tokens
from agentleague.protocol.hosts import is_at
from agentleague.protocol.messages import (
    WIRE_NAME,
    ChooseParityResponse,
    GameJoinAck,
    GameMoveResponse,
    LeagueRegisterRequest,
    Message,
    RefereeRegisterRequest,
    tag_of,
)
from agentleague.protocol.tokens import MATCH_TOKEN, match_token
from agentleague.roles.stimuli import Asked, Caller


class Credentials:
    """Sessions, channel keys and proof keys of agents, derived from the manager's secret."""

    def __init__(self, league: League, token_secret: bytes) -> None:
        self._league, self._secret = league, token_secret
        self._channels: dict[tuple[str, int], bytes] = {}
        self._proof_keys: dict[str, tuple[tuple[int, ...], tuple[bytes, ...]]] = {}

    def session(self, referee_id: str) -> str:
        """What the manager shows to a referee; each registration begins a new one."""
        generation = self._league.roster.member(referee_id).generation
        return tokens.session(self._secret, self._league.rules.league_id, referee_id, generation)

    def channel(self, player_id: str) -> bytes:
        """What a player's match tokens are made from."""
        return self._channel(player_id, self._league.roster.players[player_id].generation)

    def channels(self, player_id: str, at_most: int) -> Iterator[bytes]:
        """The same for its last registrations, the newest first."""
        newest = self._league.roster.players[player_id].generation
        for generation in range(newest, max(0, newest - at_most), -1):
            yield self._channel(player_id, generation)

    def proof_keys(self, agent_id: str) -> tuple[bytes, ...]:
        """What messages to an agent are proved with, if it wants that.

        An agent whose last registration was not answered holds the token of an earlier one: until
        it shows which it holds, each message is proved for all of them.
        """
        roster = self._league.roster
        member = roster.member(agent_id)
        if not member.proofs:
            return ()
        generations = roster.generations_of(member)
        kept = self._proof_keys.get(agent_id)
        if kept is None or kept[0] != generations:
            issued = [self._token(agent_id, generation) for generation in generations]
            league_id = self._league.rules.league_id
            keys = tuple(tokens.proof_key(token, league_id, agent_id) for token in issued)
            kept = self._proof_keys[agent_id] = (generations, keys)
        return kept[1]

    def _channel(self, player_id: str, generation: int) -> bytes:
        key = (player_id, generation)
        if key not in self._channels:
            self._channels[key] = tokens.channel_key(self._token(player_id, generation))
        return self._channels[key]

    def _token(self, agent_id: str, generation: int) -> str:
        league_id = self._league.rules.league_id
        return tokens.league_token(self._secret, league_id, agent_id, generation)


class Reporters:
    """Finds out which referee reports."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def of(self, caller: Caller, match_id: str) -> str:
        """Who reports this match; the token of a referee that waits gives no right, like none.

        Raises:
            TokenMissing, TokenInvalid: nobody can tell; a wrong token does not count as none.
        """
        record, roster = self._step.league.matches.get(match_id), self._step.league.roster
        if record and (not caller.token or roster.waiting_with(caller.token)):
            holder = roster.referees[record.referee_id]
            if self._may_be(holder, caller.source):
                return holder.agent_id
        referee_id = roster.referee_of(caller.token)
        self.shown(referee_id)
        return referee_id

    def shown(self, agent_id: str | None) -> None:
        """An agent showed its token: noted once of a foreign referee, which must from now on."""
        roster = self._step.league.roster
        member = roster.referees.get(agent_id or "")
        if member and not member.locks and member.agent_id not in roster.showing:
            self._step.record(TokenShown(member.agent_id))

    def _may_be(self, holder: Member, source: str) -> bool:
        is_tokenless = self._step.settings.takes_tokenless and not holder.locks
        showing = self._step.league.roster.showing
        is_allowed = holder.added or (is_tokenless and holder.agent_id not in showing)
        return is_allowed and is_at(holder.endpoint, source)


DIRECTIONS = ("ref>player", "player>ref")
PUSHED = tuple(tag_of(each) for each in (GameJoinAck, ChooseParityResponse, GameMoveResponse))
REGISTRATIONS = (LeagueRegisterRequest, RefereeRegisterRequest)  # a wrong token counts as none


class TokenMisuse:
    """Finds out whose token was refused."""

    def __init__(self, step: Step, credentials: Credentials) -> None:
        self._step, self._credentials = step, credentials

    def refused(self, asked: Asked) -> None:
        """Note whose it is, unless that was noted before."""
        token, league = asked.caller.token or "", self._step.league
        if isinstance(asked.message, REGISTRATIONS):
            return
        is_of_match = token.startswith(MATCH_TOKEN)
        agent_id = (
            self._player_of(token, asked.message) if is_of_match else league.roster.owner(token)
        )
        if agent_id is None:
            return
        scope = "match" if is_of_match else "league"
        self._note(TokenMisused(agent_id, WIRE_NAME[type(asked.message)], scope))

    def reported(self, record: MatchRecord, wrong: Mapping[str, str]) -> None:
        """A referee let an answer count as if it had no token; whose it is nobody can tell."""
        for player_id in record.players:
            if wrong.get(player_id) in PUSHED:
                self._note(TokenMisused(player_id, wrong[player_id], UNKNOWN))

    def _note(self, event: TokenMisused) -> None:
        if event not in self._step.league.misuses.get(event.agent_id, ()):
            self._step.record(event)
            refused = "" if event.scope == UNKNOWN else "; it was refused"
            self._step.notify(f"{event.agent_id}: {misuse_in_words(event)}{refused}.")

    def _player_of(self, token: str, message: Message) -> str | None:
        """Whose match token this is, if it is one of the match that the message is about."""
        record = self._match(message)
        if record is None:
            return None
        league_id = self._step.league.rules.league_id
        shown, generations = token.encode(errors="replace"), self._step.limits.token_generations_max
        for player_id in record.players:
            epochs = range(record.first_epoch, record.epoch + 1)
            channels = self._credentials.channels(player_id, generations)
            for key, epoch, direction in product(channels, epochs, DIRECTIONS):
                names = (league_id, record.match_id, player_id, epoch)
                own = match_token(key, direction, *names)
                if hmac.compare_digest(shown, own.encode()):
                    return player_id
        return None

    def _match(self, message: Message) -> MatchRecord | None:
        """The match that it names, or the last one of its sender."""
        league = self._step.league
        if hasattr(message, "match_id"):
            return league.matches.get(message.match_id)
        records = league.matches.of_player.get(message.sender.rpartition(":")[2])
        return records[-1] if records else None
