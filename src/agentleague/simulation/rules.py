"""What the rules say of seats, tokens, pauses, retries and referees, by the wire and the rows.

`TokenChecks` and `CapacityChecks` look on while the league runs; the functions when it is over.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from agentleague.league.events import (
    LeagueContinued,
    LeaguePaused,
    MatchAssigned,
    MatchClosed,
    PlayerRegistered,
    RefereeRegistered,
    RegistrationDisplaced,
    RoundScheduled,
    TokenConfirmed,
    TokenRenewed,
)
from agentleague.league.league import League
from agentleague.protocol import messages
from agentleague.protocol.tokens import digest
from agentleague.roles.effects import Event

LEASE_SECONDS = 10.0
SLACK_SECONDS = 0.2  # for messages on their way
Timed = Sequence[tuple[float, Event]]


class TokenChecks:
    """Whose token is whose, from the answers to registrations and from the rows."""

    def __init__(self, wrong: Callable[[str], None]) -> None:
        self.issued: dict[str, str] = {}  # token -> agent
        self._generations: dict[str, tuple[str, int]] = {}  # digest -> agent and generation
        self._in_use: dict[str, int] = {}  # agent -> the newest generation that was used
        self._displaced: set[str] = set()  # agents whose tokens are worth nothing
        self._wrong = wrong

    def take(self, event: Event) -> None:
        """The next row on disk."""
        if isinstance(event, PlayerRegistered):
            self._generations[event.token_digest] = event.player_id, 1
        elif isinstance(event, RefereeRegistered):
            self._generations[event.token_digest] = event.referee_id, 1
        elif isinstance(event, TokenRenewed):
            self._generations[event.token_digest] = event.agent_id, event.generation
        elif isinstance(event, TokenConfirmed):
            self._in_use[event.agent_id] = event.generation
        elif isinstance(event, RegistrationDisplaced):
            self._displaced.add(event.agent_id)

    def registered(
        self, asker: str, question: messages.Message, answer: messages.Message | None
    ) -> None:
        """An agent knows that it is registered."""
        if isinstance(answer, messages.LeagueRegisterResponse):
            agent_id = answer.player_id
        elif isinstance(answer, messages.RefereeRegisterResponse):
            agent_id = answer.referee_id
        else:
            return
        if answer.status != "REJECTED" and agent_id:
            owner = self.issued.get(question.auth_token or "", agent_id)
            if owner != agent_id and owner not in self._displaced:
                self._wrong(f"{asker} showed the token of {owner} and is {agent_id} now")
            self.issued[answer.auth_token or ""] = agent_id

    def retired(self) -> list[str]:
        """Tokens that were replaced by one that is in use: worth nothing, as attackers try."""
        return [*filter(self._is_retired, self.issued)]

    def _is_retired(self, token: str) -> bool:
        agent_id, generation = self._generations.get(digest(token), ("", 0))
        return 0 < generation < self._in_use.get(agent_id, 0)


class CapacityChecks:
    """No referee is given more matches at once than it said it takes."""

    def __init__(self, league: League, wrong: Callable[[str], None]) -> None:
        self.given: list[tuple[float, str, str]] = []  # when, to which end point, match
        self._league, self._wrong = league, wrong
        self._open: dict[str, set[tuple[str, Any]]] = {}  # referee -> matches and epochs

    def handed_out(self, at: float, url: str, matches: Sequence[messages.RoundMatch]) -> None:
        """Matches are on their way to a referee."""
        own = {(each.match_id, each.epoch) for each in matches if each.seats}
        if not own:
            return
        self.given += [(at, url, match_id) for match_id, _ in own]
        records, referee_id = self._league.matches, self._league.matches[min(own)[0]].referee_id
        held = self._open[referee_id] = {
            (match_id, epoch)
            for match_id, epoch in own | self._open.get(referee_id, set())
            if not records[match_id].decided and records[match_id].epoch == epoch
        }
        capacity = self._league.roster.referees[referee_id].capacity
        if len(held) > capacity:
            self._wrong(f"{referee_id} has {sorted(held)}, and takes {capacity} at once")

    def take(self, event: Event) -> None:
        """The next row on disk: a referee that begins anew has nothing."""
        if isinstance(event, TokenRenewed):
            self._open.pop(event.agent_id, None)

    def restart(self) -> None:
        """A manager that begins anew does not know what it has handed out."""
        self._open.clear()


def unbalanced_seats(league: League, events: Sequence[Event]) -> Iterator[str]:
    """Every second cycle has the seats of the one before it swapped."""
    seated: Counter[tuple[str, str]] = Counter(
        (match.player_a, match.player_b)
        for event in events
        if isinstance(event, RoundScheduled)
        for match in event.matches
    )
    for (a, b), times in seated.items():
        if abs(times - seated[b, a]) > league.rules.cycles % 2:
            yield f"{a} and {b} sat so {times} times, and the other way {seated[b, a]} times"


def hasty_after_pauses(rows: Timed) -> Iterator[str]:
    """When a pause ends every lease begins anew: for as long as one lasts nobody loses a match."""
    ended: float | None = None
    for at, event in rows:
        if isinstance(event, LeagueContinued):
            ended = at
        elif isinstance(event, LeaguePaused):
            ended = None
        elif isinstance(event, MatchAssigned) and ended is not None:
            is_late = event.why.endswith(("was silent", "did not bring it to an end", "in time"))
            if is_late and at - ended < LEASE_SECONDS - SLACK_SECONDS:
                yield f"{event.match_id} was taken away {at - ended:g} s after a pause: {event.why}"


def forgotten_sessions(league: League, rows: Timed, given: Any) -> Iterator[str]:
    """What a referee held when it began anew is given out at once, not when its lease is over."""
    # One that does not lock may be unfit for it now, and then the match waits for another.
    ours = {each for each, member in league.roster.referees.items() if member.locks}
    holders: dict[str, str] = {}  # match -> referee, as the rows go on
    for number, (at, event) in enumerate(rows):
        if isinstance(event, RoundScheduled):
            holders |= {match.match_id: match.referee_id for match in event.matches}
        elif isinstance(event, MatchAssigned):
            holders[event.match_id] = event.referee_id
        elif isinstance(event, MatchClosed):
            del holders[event.match_id]
        elif isinstance(event, TokenRenewed) and event.agent_id in ours:
            until = at + LEASE_SECONDS / 2
            soon = {
                each.match_id
                for when, each in rows[number:]
                if isinstance(each, MatchAssigned | MatchClosed) and when <= until
            }
            soon |= {match_id for when, _, match_id in given if at <= when <= until}
            had = {match_id for when, url, match_id in given if when < at and url == event.endpoint}
            mine = {match_id for match_id, holder in holders.items() if holder == event.agent_id}
            for match_id in sorted((had & mine) - soon):
                yield f"{event.agent_id} began anew, and nobody was given {match_id}"


def wrong_gaps(rules: messages.Rules, times: Sequence[float], seconds: float) -> Iterator[str]:
    """A question to a silent player is repeated after its time and the delay of the rules."""
    for retry, (before, after) in enumerate(pairwise(times)):
        delay = rules.retry_delay_seconds * rules.retry_backoff**retry
        for_silence, for_refusal = seconds + delay, delay
        gap = after - before
        if min(abs(gap - for_silence), abs(gap - for_refusal)) > SLACK_SECONDS:
            yield f"retry {retry + 1} came after {gap:g} s, not after {for_silence:g} s"


def told_twice(news: Sequence[str]) -> Iterator[str]:
    """In one life a player notes the result of a match once."""
    results = Counter(
        sentence.partition(".")[0]
        for sentence in news
        if sentence.partition(": ")[2].startswith(("won.", "lost.", "drawn."))
    )
    for sentence, times in results.items():
        if times > 1:
            yield f"{sentence} was noted {times} times"
