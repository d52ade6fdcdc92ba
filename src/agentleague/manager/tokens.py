"""Tokens: what the manager derives from its secret, who reports a match, and misused tokens.

A referee is known by its token. Documents 002 and 003 let referees report without one: then its
address counts. On one machine everybody has the same address, so that is worth little and holds
only for matches of foreign referees. A token that such a referee invented counts as none there.

A token that was shown where it gives no right is noted with its owner, never with the token: once
for each agent, kind of message and kind of token, so that nobody can fill the journal.
"""

import hmac
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from itertools import product

import msgspec
from msgspec.structs import replace

from agentleague.dialects.negotiation import REGISTRATIONS
from agentleague.errors import MissingField, TokenInvalid
from agentleague.league import queries
from agentleague.league.adjudicator import with_player_ids
from agentleague.league.events import TokenMisused, TokenShown
from agentleague.league.league import League
from agentleague.league.match_records import MATCH_ID, MatchRecord
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
    MatchResultReport,
    Message,
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

    def session(self, referee: Member) -> str:
        """What the manager shows to a referee; each registration begins a new one."""
        names = (self._league.rules.league_id, referee.agent_id, referee.generation)
        return tokens.session(self._secret, *names)

    def channel(self, player_id: str) -> bytes:
        """What a player's match tokens are made from."""
        return self._channel(player_id, self._league.roster.players[player_id].generation)

    def channels(self, player_id: str, at_most: int) -> Iterator[bytes]:
        """The same for its last registrations, the newest first."""
        newest = self._league.roster.players[player_id].generation
        for generation in range(newest, max(0, newest - at_most), -1):
            yield self._channel(player_id, generation)

    def proof_keys(self, member: Member) -> tuple[bytes, ...]:
        """What messages to an agent are proved with, if it wants that."""
        if not member.proofs:
            return ()
        # If its last registration was not answered, it holds the token of an earlier one: until it
        # shows which, each message is proved for all of them.
        agent_id, generations = member.agent_id, self._league.roster.generations_of(member)
        kept = self._proof_keys.get(agent_id)
        if kept is None or kept[0] != generations:
            issued = [self.token(agent_id, generation) for generation in generations]
            league_id = self._league.rules.league_id
            keys = tuple(tokens.proof_key(token, league_id, agent_id) for token in issued)
            kept = self._proof_keys[agent_id] = (generations, keys)
        return kept[1]

    def _channel(self, player_id: str, generation: int) -> bytes:
        channel = self._channels.get((player_id, generation))
        if channel is None:
            channel = tokens.channel_key(self.token(player_id, generation))
            self._channels[player_id, generation] = channel
        return channel

    def token(self, agent_id: str, generation: int) -> str:
        """What an agent shows to the manager."""
        league_id = self._league.rules.league_id
        return tokens.league_token(self._secret, league_id, agent_id, generation)


class Reporters:
    """Finds out which referee reports or asks, and about which match.

    `is_known`: whether a token is of this league; `is_told`: whether a match's referee knows of it.
    """

    def __init__(
        self, step: Step, is_known: Callable[[str | None], bool], is_told: Callable[[str], bool]
    ) -> None:
        self._step, self._is_known, self._is_told = step, is_known, is_told
        self._last: dict[str, tuple[bytes, str]] = {}  # referee -> its report without match, which

    def of(self, caller: Caller, match_id: str) -> str:
        """Who reports this match; the token of a referee that waits gives no right, like none.

        Raises TokenMissing or TokenInvalid: a wrong token does not count as none.
        """
        record, roster = self._step.league.matches.get(match_id), self._step.league.roster
        holder = roster.referees[record.referee_id] if record else None
        is_foreign = holder and (holder.added or not holder.locks)
        if holder and is_foreign and self.may_be_without(holder, caller):
            self._note_invented(holder, caller, "MATCH_RESULT_REPORT")
            return holder.agent_id
        referee_id = roster.referee_of(caller.token)
        if not roster.referees[referee_id].locks:
            self.shown(referee_id)
        return referee_id

    def with_match(self, caller: Caller, report: MatchResultReport) -> MatchResultReport:
        """The report with its match: if it names none of this league, the one that it can mean.

        A repeated one means the same match again, if a time or an id of its own tells it from one
        about the next match. Raises MissingField if it could mean none or several.
        """
        if report.match_id in self._step.league.open_matches or MATCH_ID.fullmatch(report.match_id):
            return report
        league, shown = self._step.league, self._step.league.roster.owner(caller.token)
        referees = {
            each.agent_id
            for each in league.roster.referees.values()
            if not each.locks and (each.agent_id == shown or self.may_be_without(each, caller))
        }
        told = filter(self._is_told, league.open_matches if referees else ())
        held = [
            league.matches[each] for each in told if league.matches[each].referee_id in referees
        ]
        meant = [record for record in held if self._may_mean(report, record)]
        written = sha256(msgspec.json.encode(report)).digest()
        lasts = (self._last.get(each, (b"", "")) for each in referees)
        again = next((match_id for last, match_id in lasts if last == written), "")
        if again or len(meant) == 1:
            found = again or meant[0].match_id
            if report.timestamp or report.match_id:
                self._last[league.matches[found].referee_id] = (written, found)
            return replace(report, match_id=found)
        if report.match_id:
            return report
        said = "MATCH_RESULT_REPORT: missing field 'match_id'"
        raise MissingField(said, field="match_id", kind="missing")

    def asker(self, caller: Caller, query_type: str) -> str | None:
        """Who asks; TokenInvalid if the token is nobody's."""
        roster, is_directory = self._step.league.roster, queries.is_directory(query_type)
        agent_id = roster.owner(caller.token)
        self.shown(agent_id)
        if agent_id or not (caller.token or is_directory):
            return agent_id
        referees = roster.referees.values()  # Who may report without a token may ask so.
        guest = next((each for each in referees if self.may_be_without(each, caller)), None)
        if guest:
            self._note_invented(guest, caller, "LEAGUE_QUERY")
        elif caller.token:
            raise TokenInvalid("auth_token was not issued by this league")
        return guest.agent_id if guest and is_directory else None

    def shown(self, agent_id: str | None) -> None:
        """An agent showed its token: noted once of a foreign referee, which must from now on."""
        roster = self._step.league.roster
        member = roster.referees.get(agent_id or "")
        if member and not member.locks and member.agent_id not in roster.showing:
            self._step.record(TokenShown(member.agent_id))

    def may_be_without(self, holder: Member, caller: Caller) -> bool:
        """Whether this referee may be the caller, who shows no token that is worth anything."""
        roster, token = self._step.league.roster, caller.token
        is_tokenless = self._step.settings.takes_tokenless and not holder.locks
        is_allowed = holder.added or (is_tokenless and holder.agent_id not in roster.showing)
        if not is_allowed or not is_at(holder.endpoint, caller.source):
            return False
        return not token or bool(roster.waiting_with(token)) or self._is_invented(token)

    def _is_invented(self, token: str | None) -> bool:
        """Whether nobody was given this token, where no more harm is done by it than by none."""
        settings = self._step.settings
        is_on_one_machine = settings.network == "local" and not settings.is_behind_proxy
        is_foreign = token and not self._is_known(token) and not tokens.is_made_here(token)
        return bool(is_foreign) and settings.takes_tokenless and is_on_one_machine

    def _note_invented(self, referee: Member, caller: Caller, message_type: str) -> None:
        if self._is_invented(caller.token):
            _note(self._step, TokenMisused(referee.agent_id, message_type, UNKNOWN))

    def _may_mean(self, report: MatchResultReport, record: MatchRecord) -> bool:
        """Whether all players that it names play this match; an id of its own is not enough."""
        names = self._step.league.names_of(record.players)
        result = with_player_ids(report, names).result
        told = {*result.score, *result.details.choices, result.winner} - {None}
        return told <= set(record.players) and bool(told or not report.match_id)


def _note(step: Step, event: TokenMisused, *, later: bool = False) -> None:
    """Record a misuse and tell the organiser, once; between two steps nothing can be recorded."""
    if event not in step.league.misuses.get(event.agent_id, ()) and not step.is_awaited(event):
        (step.record_later if later else step.record)(event)
        refused = "" if event.scope == UNKNOWN else "; it was refused"
        step.notify(f"{event.agent_id}: {misuse_in_words(event)}{refused}.")


DIRECTIONS = ("ref>player", "player>ref")
PUSHED = tuple(tag_of(each) for each in (GameJoinAck, ChooseParityResponse, GameMoveResponse))


class TokenMisuse:
    """Finds out whose token was refused."""

    def __init__(self, step: Step, credentials: Credentials) -> None:
        self._step, self._credentials = step, credentials

    def refused(self, asked: Asked) -> None:
        """Note whose it is, unless that was noted before."""
        if isinstance(asked.message, REGISTRATIONS):  # There a wrong token counts as none.
            return
        misuse = self._found(asked.caller.token or "", asked.message)
        if misuse:
            _note(self._step, misuse)

    def refused_at_seat(self, player_id: str, message: Message, caller: Caller) -> None:
        """Note it too, unless it is of the player's own match: a former referee comes late."""
        misuse = self._found(caller.token or "", message)
        if misuse and misuse.agent_id != player_id:
            _note(self._step, misuse, later=True)

    def _found(self, token: str, message: Message) -> TokenMisused | None:
        scope, agent_id = "league", self._step.league.roster.owner(token)
        if token.startswith(MATCH_TOKEN):
            scope, agent_id = "match", self._player_of(token, message)
        return TokenMisused(agent_id, WIRE_NAME[type(message)], scope) if agent_id else None

    def reported(self, record: MatchRecord, wrong: Mapping[str, str]) -> None:
        """A referee let an answer count as if it had no token; whose it is nobody can tell."""
        for player_id in record.players:
            if wrong.get(player_id) in PUSHED:
                _note(self._step, TokenMisused(player_id, wrong[player_id], UNKNOWN))

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
