"""Who listens at an end point: the manager shows each registration's claim there, and asks.

An agent of ours registers with a claim that nobody else knows. The manager shows its digest at the
end point, and the listener says yes only to its own. So nobody can register an agent of ours in its
place, or register at its end point and let it play. Foreign agents make no claims: they play, and
are marked as unproved.

| the listener | and then |
|---|---|
| says yes | players there that never proved it are displaced |
| says no, or knows no such question | the registration is displaced, unless it was proved before |
| says something else | it is asked again; any other who comes from there displaces it |
| does not answer | it is asked again for a while; then a player that came second is displaced |

A player is displaced only before it plays; after that, the organiser is told and decides. Who
comes late must be the only one at its end point.

Many agents register before they listen. Nobody waits for an answer: the league goes on meanwhile.
Only a player at whose end point another was before does not count as one more until it is decided,
and is not in a league that starts before that.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from agentleague import errors
from agentleague.errors import LeagueError, MissingField, PeerRefused, UnknownMethod
from agentleague.league.events import EndpointProved, RegistrationDisplaced
from agentleague.league.league import Phase
from agentleague.league.roster import Member
from agentleague.manager.keys import ProofAgain, ProofCall
from agentleague.manager.step import SENDER, Step
from agentleague.protocol.hosts import Place, is_home, owns
from agentleague.protocol.messages import EndpointChallenge, EndpointProof, PlayerMeta, RefereeMeta
from agentleague.protocol.tokens import digest
from agentleague.roles.effects import Address, Call
from agentleague.roles.stimuli import Answered, Caller


class Claims:
    """Asks at end points; `left` is called with a referee that was displaced."""

    def __init__(self, step: Step, *, left: Callable[[str], None]) -> None:
        self._step, self._left = step, left
        self._tries: dict[str, int] = {}  # agents whose claim is open -> how often it was shown
        self._waiting: deque[str] = deque()  # of those, the ones to ask when there is room
        self._asking: dict[str, tuple[str, str]] = {}  # of those -> where, and with which claim
        self.doubtful: set[str] = set()  # where an answer said neither yes nor no

    def resume(self) -> None:
        """After a restart all open claims are shown again."""
        roster = self._step.league.roster
        for agent_id in (*roster.players, *roster.referees):
            self.registered(agent_id)

    def registered(self, agent_id: str) -> None:
        """Ask who listens at its end point, unless that is known or cannot be found out."""
        roster = self._step.league.roster
        is_open = roster.member(agent_id).claim_digest and not roster.is_proved(agent_id)
        if roster.member(agent_id).is_seated:  # What is answered where it was counts no more.
            self._tries.pop(agent_id, None)
        is_out = any(
            agent_id in each for each in (roster.waiting, roster.removed, roster.displaced)
        )
        if is_open and not is_out and self._step.league.phase is not Phase.COMPLETED:
            if agent_id not in self._tries:
                self._waiting.append(agent_id)
            self._tries[agent_id] = 0
            self._ask()

    def came_home(self, player_id: str) -> None:
        """A foreign player registered from its end point's own address; others there had not."""
        for other in self._others_at(player_id):
            self._displace(other, player_id)

    # What may be registered

    def known(self, meta: PlayerMeta | RefereeMeta, caller: Caller) -> str | None:
        """Who registers again, by a token with which it may act or by its claim."""
        roster = self._step.league.roster
        return roster.acting(caller.token) or roster.claimed(meta.claim or "")

    def is_back(self, member: Member, where: frozenset[Place], caller: Caller) -> bool:
        """Whether it asks from its end point's own address, or from where it asked before."""
        is_known = bool(caller.source) and caller.source == member.source
        return is_known or is_home(where, caller.source)

    def is_stronger(
        self, meta: PlayerMeta, where: frozenset[Place], caller: Caller, *, than: Member
    ) -> bool:
        """Whether the end point may be its own, and not that of one who was there before."""
        if self._step.league.roster.was_proved(than.agent_id):
            return False
        shared = where & than.places  # The owner of a name can give it any address besides.
        was_home = than.source is None or is_home(shared, than.source)
        is_weak = not was_home or than.agent_id in self.doubtful
        return bool(meta.claim) or (is_home(shared, caller.source) and is_weak)

    def check_free(self, where: frozenset[Place], meta: PlayerMeta, caller: Caller) -> None:
        """A player without a claim is the only one at its end point."""
        for other in self._players_at(where):
            member = self._step.league.roster.players[other]
            if not self.is_stronger(meta, where, caller, than=member):
                raise errors.EndpointTaken(
                    f"{other} {member.display_name!r} is registered at that end point; listen at "
                    "another port, or ask the organiser to take that player out with: league "
                    f"remove {other}"
                )

    def check_alone(self, where: frozenset[Place]) -> None:
        """Who comes late is the only one at its end point: those who play are not displaced."""
        for other in self._players_at(where):
            why = f"{other} is registered at that end point; listen at another port"
            raise errors.EndpointTaken(why)

    def check_move(
        self, meta: PlayerMeta, member: Member, where: frozenset[Place], *, is_there: bool = False
    ) -> None:
        """Only a player that has proved its end point leaves it, and not for a foreign one's.

        Nor for a seat if somebody `is_there` who may be another; where nobody is, its token counts.
        """
        roster, player_id = self._step.league.roster, member.agent_id
        # Until the start one of ours may: that gains nobody more than to register anew. Of those
        # who came before sources were noted nobody could prove anything.
        is_new = self._step.league.phase is Phase.REGISTERING
        if member.claim_digest:
            is_open = is_new or member.is_seated or meta.seat is True
        else:
            is_open = not is_there if meta.seat is True else is_new and member.is_seated
        if member.source is not None and not is_open and not roster.was_proved(player_id):
            raise errors.EndpointTaken(
                f"{player_id} never proved that it listens at {member.endpoint}: it stays there; "
                "start it there again, or ask the organiser to change it with: league set-endpoint "
                f"{player_id} {'URL' if meta.seat is True else meta.contact_endpoint}"
            )
        for other in self._players_at(where):
            if not roster.was_proved(other) or not (meta.claim or member.claim_digest):
                self.check_alone(where)

    # Claims are shown

    def again(self, agent_id: str) -> None:
        """It is time to show the claim once more."""
        if agent_id in self._tries and agent_id not in self._asking:
            self._waiting.append(agent_id)
            self._ask()

    def answered(self, agent_id: str, stimulus: Answered) -> None:
        """Somebody answered at the end point, or nobody did."""
        member = self._step.league.roster.member(agent_id)
        is_there = self._asking.pop(agent_id, None) == (member.endpoint, member.claim_digest)
        if not is_there:  # It left where it was asked, and that says nothing of where it is now.
            self._waiting.append(agent_id)
        self._ask()
        is_over = self._step.league.phase is Phase.COMPLETED or agent_id not in self._tries
        if is_over or not is_there:
            return
        message, error = stimulus.message, stimulus.error
        if isinstance(message, EndpointProof) and message.proved:
            self._proved(agent_id)
        elif isinstance(message, EndpointProof) or _is_ignorant(error):
            self._denied(agent_id)
        else:
            if isinstance(error, MissingField):
                self.doubtful.add(agent_id)
            self._try_again(agent_id)

    def undecided(self) -> list[str]:
        """The players that came to an end point where another was before, and wait for proof."""
        was_proved = self._step.league.roster.was_proved
        return [each for each in self._tries if self._is_second(each) and not was_proved(each)]

    def leave_out_undecided(self) -> None:
        """The league starts: who was second and proved nothing so far is not in it."""
        for player_id in self.undecided():
            others = self._others_at(player_id)
            # With the first one's name and machine it is probably the same agent, started anew.
            if others and self._is_like(player_id, others[0]):
                self._displace(others[0], player_id)
            elif others:  # Else it was second to one that has been displaced just now.
                self._displace(player_id, "")

    def _is_like(self, player_id: str, first: str) -> bool:
        roster = self._step.league.roster
        source, wanted = roster.players[player_id].source, roster.wanted_name_of(first, player_id)
        former = roster.players[first]
        is_same = source is not None and source == former.source and bool(former.claim_digest)
        return wanted and is_same and not roster.was_proved(first)

    def _ask(self) -> None:
        while self._waiting and len(self._asking) < self._step.limits.challenges_max:
            agent_id = self._waiting.popleft()
            if agent_id not in self._tries or agent_id in self._asking:
                continue
            member, step = self._step.league.roster.member(agent_id), self._step
            self._asking[agent_id] = (member.endpoint, member.claim_digest)
            self._tries[agent_id] += 1
            challenge = EndpointChallenge(
                member.claim_digest,
                sender=SENDER,
                timestamp=step.now_text,
                conversation_id=f"conv-prove-{agent_id}",
            )
            until = step.now + step.settings.reply_seconds
            to = Address(agent_id, member.endpoint)
            step.effects.append(Call(ProofCall(agent_id), to, challenge, until))

    def _proved(self, agent_id: str) -> None:
        del self._tries[agent_id]
        self.doubtful.discard(agent_id)
        self._step.record(EndpointProved(agent_id))
        roster = self._step.league.roster
        if agent_id not in roster.players or self._step.league.has_started:
            return
        own = roster.member(agent_id).endpoint
        for other in self._others_at(agent_id):
            member = roster.member(other)
            if not roster.was_proved(other) and owns(own, member.endpoint, member.places):
                self._displace(other, agent_id)

    def _denied(self, agent_id: str) -> None:
        del self._tries[agent_id]
        step = self._step
        if step.league.roster.was_proved(agent_id):
            return
        if agent_id in step.league.table.players:
            step.notify(
                f"Whoever listens at the end point of {agent_id} says that it is not {agent_id}. "
                f"See league agent {agent_id}; take it out with: league remove {agent_id}"
            )
        else:
            self._displace(agent_id, "")

    def _try_again(self, agent_id: str) -> None:
        step, tries = self._step, self._tries[agent_id]
        if tries < step.limits.challenges:
            pause = min(2.0 ** (tries - 1), step.limits.challenge_seconds_max)
            step.wake(ProofAgain(agent_id), step.now + pause)
            return
        is_second = self._is_second(agent_id)
        del self._tries[agent_id]
        if is_second and not step.league.roster.was_proved(agent_id):
            self._displace(agent_id, "")

    def _is_second(self, player_id: str) -> bool:
        roster = self._step.league.roster
        return player_id in self._players_at(roster.member(player_id).places)[1:]

    def _others_at(self, player_id: str) -> list[str]:
        there = self._players_at(self._step.league.roster.players[player_id].places)
        return [each for each in there if each != player_id]

    def _players_at(self, where: frozenset[Place]) -> list[str]:
        roster = self._step.league.roster
        return [each for each in roster.players_at(where) if each not in roster.removed]

    def _displace(self, agent_id: str, by: str) -> None:
        step = self._step
        roster = step.league.roster
        member = roster.member(agent_id)
        self._tries.pop(agent_id, None)
        renamed = by and roster.wanted_name_of(agent_id, by)
        name = member.display_name if renamed else ""
        step.record(RegistrationDisplaced(agent_id, by, name))
        whose = f"which is {by}'s" if by else "where another agent listens"
        step.notify(
            f"{agent_id} {member.display_name} is taken out: it registered at {member.endpoint}, "
            f"{whose}."
        )
        if agent_id in roster.referees:
            self._left(agent_id)


def _is_ignorant(error: LeagueError | None) -> bool:
    """Whether somebody answered who does not know the question, and so never made a claim."""
    if not isinstance(error, PeerRefused):
        return False
    number, code = error.context.get("number"), error.context.get("code")
    return number == UnknownMethod.number or (number is not None and code is None)


def origin(meta: PlayerMeta | RefereeMeta, caller: Caller) -> dict[str, Any]:
    """What the journal keeps of who registered: never the claim itself."""
    return {
        "claim_digest": digest(meta.claim) if meta.claim else UNSET,
        "source": caller.source,
        "addresses": list(caller.addresses) or UNSET,
        "game_types": meta.game_types or UNSET,
    }


def renewal_of(meta: PlayerMeta | RefereeMeta, caller: Caller, member: Member) -> dict[str, Any]:
    """What of that is new when an agent registers again."""
    changed: dict[str, Any] = {}
    if meta.claim and digest(meta.claim) != member.claim_digest:
        changed["claim_digest"] = digest(meta.claim)
    if meta.contact_endpoint != member.endpoint and caller.addresses:
        changed["addresses"] = list(caller.addresses)
    return changed
