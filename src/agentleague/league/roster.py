"""Who takes part: ids, names, end points, and whose token is whose."""

import re
import unicodedata
from collections.abc import Callable, Sequence, Set
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from agentleague.errors import TokenInvalid, TokenMissing
from agentleague.league import events
from agentleague.protocol.hosts import Place, places
from agentleague.protocol.printable import UNSEEN
from agentleague.protocol.seats import is_seat
from agentleague.protocol.tokens import MATCH_TOKEN, digest

NAME_MAX = 50
_REST_OF_SUFFIX = re.compile(r"(-\d+)?\)")
_FILLERS = dict.fromkeys(map(ord, UNSEEN), " ")
TOKENS_MAX = 4  # of one agent that count at a time

_Issued = tuple[int, str]  # generation and digest of a token


class Member(Struct, frozen=True):
    """A registered agent."""

    agent_id: str
    display_name: str
    endpoint: str
    token_digest: str
    version: str = ""
    capacity: int = 0  # a referee's: matches at once
    locks: bool = False  # a referee's: asks the manager to decide
    generation: int = 1  # of its newest token that may do everything; of a referee's session
    added: bool = False  # a referee's: by the organiser, and never told its token
    proofs: bool = False  # whether it wants the manager's messages proved
    anyone: bool = False  # a referee's: nobody vouches for it
    claim_digest: str = ""  # of the claim it registered with, if any
    source: str | None = None  # from where; None: by the organiser, or before that was noted
    places: frozenset[Place] = frozenset()  # where its end point is
    game_types: Sequence[str] = ()  # that it says it knows, if it was noted

    @property
    def is_seated(self) -> bool:
        """Whether it fetches its calls from a seat at the manager."""
        return is_seat(self.endpoint)


def member_of(event: events.PlayerRegistered | events.RefereeRegistered) -> Member:
    """An agent as it was taken in."""
    own: dict[str, Any] = {}
    if isinstance(event, events.RefereeRegistered):
        own = {"capacity": event.capacity, "locks": event.locks}
        own |= {"added": event.added is True, "anyone": event.anyone is True}
    return Member(
        event.referee_id if isinstance(event, events.RefereeRegistered) else event.player_id,
        event.display_name,
        event.endpoint,
        event.token_digest,
        event.version,
        generation=event.generation,
        proofs=event.proofs is True,
        claim_digest=event.claim_digest or "",
        source=None if event.source is UNSET else event.source,
        places=places(event.endpoint, event.addresses or ()),
        game_types=event.game_types or (),
        **own,
    )


class Roster:
    """All agents of a league, by id and by token."""

    def __init__(self) -> None:
        self.players: dict[str, Member] = {}
        self.referees: dict[str, Member] = {}
        self.waiting: dict[str, Member] = {}  # referees that the organiser has not let in yet
        self.set_aside: set[str] = set()  # referees that are given no matches any more
        self.generations: dict[str, int] = {}  # agent -> its newest token, where not the first
        self.removed: dict[str, int] = {}  # players the organiser took out, from which round on
        self.asking: dict[str, int] = {}  # player that came back without its token -> which it got
        self.known_by: dict[str, str] = {}  # player of an earlier league of a season -> how
        self.dialects: dict[str, str] = {}  # agent -> how it is spoken to, where that is known
        self.showing: set[str] = set()  # referees that do not lock and have shown their token
        self.displaced: set[str] = set()  # agents whose end point turned out to be another's
        self._proved: dict[str, tuple[str, str]] = {}  # agent -> end point and claim it proved last
        self._by_claim: dict[str, str] = {}
        self._by_digest: dict[str, str] = {}
        self._tokens: dict[str, list[_Issued]] = {}  # renewed agent -> those that count, in order
        self.unused: dict[str, events.TokenConfirmed] = {}  # digest -> what its first use confirms
        self._at: dict[Place, list[str]] = {}  # players, in the order in which they came there
        self._names: set[str] = set()

    def add_player(self, event: events.PlayerRegistered) -> None:
        """Take a player in."""
        member = member_of(event)
        self.players[member.agent_id] = member
        if event.known_by:
            self.known_by[member.agent_id] = event.known_by
        self._settle(member)
        self._names.add(folded(member.display_name))
        self._by_digest[member.token_digest] = member.agent_id

    def _settle(self, member: Member) -> None:
        if member.claim_digest:
            self._by_claim[member.claim_digest] = member.agent_id
        for place in member.places:
            self._at.setdefault(place, []).append(member.agent_id)

    def _unsettle(self, member: Member) -> None:
        self._by_claim.pop(member.claim_digest, None)
        for place in member.places:
            self._at[place].remove(member.agent_id)

    def add_token(self, event: events.PlayerReturned) -> None:
        """A further token for a player that is here already: it may only ask."""
        self.generations[event.player_id] = self.asking[event.player_id] = event.generation
        self._by_digest[event.token_digest] = event.player_id

    def renew(self, event: events.TokenRenewed) -> None:
        """A new token beside the old one, which counts until the new one is first used."""
        agent_id = event.agent_id
        members = self.players if agent_id in self.players else self.referees
        member = members[agent_id]
        is_there = event.endpoint == member.endpoint
        members[agent_id] = renewed = msgspec.structs.replace(
            member,
            token_digest=event.token_digest,
            endpoint=event.endpoint,
            generation=event.generation,
            capacity=event.capacity or member.capacity,
            proofs=event.proofs is True,
            claim_digest=event.claim_digest or member.claim_digest,
            places=member.places if is_there else places(event.endpoint, event.addresses or ()),
        )
        self.generations[agent_id] = event.generation
        self._by_digest[event.token_digest] = agent_id
        self.unused[event.token_digest] = events.TokenConfirmed(agent_id, event.generation)
        issued = self._tokens.setdefault(agent_id, [(member.generation, member.token_digest)])
        issued.append((event.generation, event.token_digest))
        if len(issued) > TOKENS_MAX:
            self._forget(issued.pop(1)[1])  # The first is in use; of the others the oldest goes.
        if (renewed.places, renewed.claim_digest) != (member.places, member.claim_digest):
            self._unsettle(member)
            self._settle(renewed)

    def move(self, event: events.EndpointChanged) -> None:
        """The organiser moved an agent."""
        member = self.member(event.agent_id)
        moved = msgspec.structs.replace(
            member, endpoint=event.endpoint, places=places(event.endpoint)
        )
        (self.players if event.agent_id in self.players else self.referees)[event.agent_id] = moved
        self._unsettle(member)
        self._settle(moved)

    def unconfirmed(self, token: str | None) -> events.TokenConfirmed | None:
        """What is to be recorded when this token, renewed and never used yet, is used."""
        return self.unused.get(digest(token)) if token and self.unused else None

    def confirm(self, event: events.TokenConfirmed) -> None:
        """This token is in use: those before it are worth nothing from here on."""
        agent_id, generation = event.agent_id, event.generation
        issued = self._tokens[agent_id]
        while issued[0][0] < generation:
            self._forget(issued.pop(0)[1])
        self.unused.pop(issued[0][1], None)
        if agent_id in self.referees:  # A later session may never have reached it.
            member = self.referees[agent_id]
            self.referees[agent_id] = msgspec.structs.replace(member, generation=generation)

    def _forget(self, token_digest: str) -> None:
        self._by_digest.pop(token_digest, None)
        self.unused.pop(token_digest, None)

    def digests_of(self, member: Member) -> list[str]:
        """The digests of all tokens with which this agent may act."""
        issued = self._tokens.get(member.agent_id)
        return [each for _, each in issued] if issued else [member.token_digest]

    def generations_of(self, member: Member) -> tuple[int, ...]:
        """Those of all tokens that this agent may hold, also of one that may only ask."""
        agent_id = member.agent_id
        if agent_id not in self.generations:  # It has its first token.
            return (member.generation,)
        issued, asking = self._tokens.get(agent_id), self.asking.get(agent_id)
        acting = [each for each, _ in issued] if issued else [member.generation]
        return (*acting, asking) if asking else tuple(acting)

    def lost_token(self, agent_id: str) -> bool:
        """Whether a player registered last without its token: it has one that may only ask."""
        asking = self.asking.get(agent_id)
        return asking is not None and asking == self.generations[agent_id]

    def acting(self, token: str | None) -> str | None:
        """Whose token this is, if it may do everything and not only ask."""
        agent_id = self.owner(token)
        if token and agent_id and digest(token) in self.digests_of(self.member(agent_id)):
            return agent_id
        return None

    def claimed(self, claim: str) -> str | None:
        """Who registered with this claim."""
        return self._by_claim.get(digest(claim)) if claim else None

    def prove(self, agent_id: str) -> None:
        """The one who listens at its end point said that the registration is its own."""
        member = self.member(agent_id)
        self._proved[agent_id] = (member.endpoint, member.claim_digest)

    def is_proved(self, agent_id: str) -> bool:
        """Whether it proved that it listens where it is registered now; a seat needs no proof."""
        member = self.member(agent_id)
        return member.is_seated or self._proved.get(agent_id) == (
            member.endpoint,
            member.claim_digest,
        )

    def was_proved(self, agent_id: str) -> bool:
        """Whether it proved that there or anywhere before."""
        return agent_id in self._proved

    def member(self, agent_id: str) -> Member:
        """An agent that registered, also a referee that waits."""
        return self.players.get(agent_id) or self.referees.get(agent_id) or self.waiting[agent_id]

    def players_at(self, where: frozenset[Place]) -> list[str]:
        """The players whose end point is there, in the order in which they came."""
        found = {each: None for place in sorted(where) for each in self._at.get(place, ())}
        return [each for each in found if each in self.players]

    def displace(self, event: events.RegistrationDisplaced) -> None:
        """Take a registration out; one that came in its place may get its name."""
        agent_id = event.agent_id
        member = self.member(agent_id)
        for each in [each for each, owner in self._by_digest.items() if owner == agent_id]:
            self._forget(each)
        self._unsettle(member)
        self.displaced.add(agent_id)
        if agent_id not in self.players:
            return
        self.removed[agent_id] = 1
        self._names.discard(folded(member.display_name))
        if event.name:
            other = self.players[event.by]
            self._names.discard(folded(other.display_name))
            self._names.add(folded(event.name))
            self.players[event.by] = msgspec.structs.replace(other, display_name=event.name)

    def wanted_name_of(self, player_id: str, other_id: str) -> bool:
        """Whether the other one would be shown under this player's name, had that been free."""
        name = self.players[player_id].display_name
        return _is_suffixed(self.players[other_id].display_name, name, other_id)

    def returning(self, name: str, where: frozenset[Place]) -> list[Member]:
        """Who registered with this name and end point before; those who were removed come last."""
        wanted, found = clean_name(name), list[Member]()
        for player_id in sorted(self.players_at(where), key=self.removed.__contains__):
            shown = self.players[player_id].display_name
            if shown == (wanted or player_id) or _is_suffixed(shown, wanted, player_id):
                found.append(self.players[player_id])
        return found

    def add_referee(self, event: events.RefereeRegistered) -> None:
        """Take a referee in; or let it wait, with a token that gives no right yet."""
        member = member_of(event)
        self._settle(member)
        if event.waiting is True:
            self.waiting[member.agent_id] = member
        else:
            self._let_in(member)

    def approve(self, event: events.RefereeApproved) -> None:
        """Somebody vouches for a referee: it may do what others do."""
        referee_id = event.referee_id
        member = self.waiting.pop(referee_id, None) or self.referees[referee_id]
        self._let_in(msgspec.structs.replace(member, anyone=False))
        self.set_aside.discard(referee_id)

    def _let_in(self, referee: Member) -> None:
        self.referees[referee.agent_id] = referee
        self._by_digest[referee.token_digest] = referee.agent_id

    def waiting_with(self, token: str | None, claim: str = "") -> Member | None:
        """The referee that waits and has this token, or this claim."""
        shown = digest(token) if token and self.waiting else ""
        found = (each for each in self.waiting.values() if each.token_digest == shown)
        return next(found, None) or self.waiting.get(self.claimed(claim) or "")

    def owner(self, token: str | None) -> str | None:
        """Whose league token this is; a match token is nobody's here."""
        if not token or token.startswith(MATCH_TOKEN):
            return None
        return self._by_digest.get(digest(token))

    def referee_of(self, token: str | None) -> str:
        """Which referee shows this token. Raises TokenMissing or TokenInvalid if none does."""
        if not token:
            raise TokenMissing("locks and reports need the referee's auth_token")
        referee_id = self.owner(token)
        if referee_id not in self.referees:
            raise TokenInvalid("auth_token is no referee's token of this league")
        return referee_id

    @property
    def referees_total(self) -> int:
        """How many referees registered and were not displaced."""
        return len(self.referees) - len(self.displaced & self.referees.keys())

    def next_player_id(self, given: Set[str] = frozenset()) -> str:
        """The id of the player who comes next, which is none of those given before."""
        number = len(self.players) + 1
        while (player_id := f"P{number:02}") in given or player_id in self.players:
            number += 1
        return player_id

    def next_referee_id(self) -> str:
        """The id of the referee who comes next."""
        return f"REF{len(self.referees) + len(self.waiting) + 1:02}"

    def effective_name(
        self, wanted: str, player_id: str, is_kept: Callable[[str], bool] = lambda name: False
    ) -> str:
        """The name as it is shown: cleaned, at most 50 characters, and unlike any other's."""
        name = free = clean_name(wanted) or player_id
        tries = 0
        while self.is_taken(free) or is_kept(free) or (not tries and is_marked(name, player_id)):
            tries += 1
            suffix = f" ({player_id}-{tries})" if tries > 1 else f" ({player_id})"
            free = name[: NAME_MAX - len(suffix)].rstrip() + suffix
        return free

    def is_taken(self, name: str) -> bool:
        """Whether a player is shown under this name, or one that looks the same."""
        return folded(name) in self._names


def clean_name(wanted: str) -> str:
    """A name that is harmless to print: no control, format or private characters, no fillers."""
    kept = "".join(
        char
        for char in wanted.translate(_FILLERS)
        if unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    )
    shown = unicodedata.normalize("NFC", " ".join(kept.split()))
    return shown[:NAME_MAX].strip()


def is_marked(name: str, player_id: str) -> bool:
    """Whether a name ends like one that got the id as a suffix; a player may have chosen it so."""
    _, mark, rest = name.rpartition(f" ({player_id}")
    return bool(mark and _REST_OF_SUFFIX.fullmatch(rest))


def _is_suffixed(shown: str, wanted: str, player_id: str) -> bool:
    """Whether a name is the wanted one, cut short where it had to be, with the player's id."""
    kept = shown.rpartition(f" ({player_id}")[0]
    is_cut = len(shown) >= NAME_MAX - 1 and wanted.startswith(kept)
    return is_marked(shown, player_id) and (kept == wanted or is_cut)


def folded(name: str) -> str:
    """One text for all names that look alike: Unicode's caseless compatibility match."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFD", name).casefold()).casefold()
    return unicodedata.normalize("NFKD", folded)
