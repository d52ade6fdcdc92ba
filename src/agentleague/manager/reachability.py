"""What the manager knows of its agents' end points: whether somebody listens there.

A role opens no connections: its runtime takes what is `unchecked`, tries it, and calls `learnt`.
Many foreign agents register before they listen, one of ours that cannot be called takes a seat, and
the last one completes the league: where end points are tried, the start waits for who is `new`.
"""

from collections import deque
from urllib.parse import urlsplit

from agentleague.errors import LeagueError, NoAnswer, NoConnection, RateLimited
from agentleague.league.league import League, Phase
from agentleague.manager.keys import EndpointLook
from agentleague.manager.step import ManagerLimits
from agentleague.protocol.hosts import is_loopback
from agentleague.protocol.messages import PlayerMeta, RefereeMeta
from agentleague.protocol.seats import is_seat
from agentleague.roles.stimuli import Asked

LOST_TOLD = 3  # agents that a restart does not find, each in a line of its own


class Reachability:
    """Which agents can be reached. Methods return a sentence for the organiser, or nothing."""

    def __init__(self, league: League, limits: ManagerLimits | None = None) -> None:
        self._league = league
        self._limits = limits or ManagerLimits()
        unchecked_max = self._limits.unchecked_max
        self.unchecked: deque[tuple[str, str]] = deque(maxlen=unchecked_max)  # agent, end point
        self.known: dict[str, bool] = {}
        self.is_tried = False  # whether there is somebody who tries
        self.new: dict[str, float] = {}  # agents not known to listen yet -> when they registered
        self._resumed: set[str] = set()  # agents that a restart has still to look for
        self._lost = 0  # of these
        self._doubted: set[str] = set()  # agents that were reachable and are tried again
        self.awaited: deque[tuple[EndpointLook, str]] = deque()  # end points to be tried at once,
        self._waiting: dict[int, Asked] = {}  # of registrations that are answered after that
        self._seen: int | None = None  # the reply of one where somebody listens

    def awaits(self, asked: Asked, meta: PlayerMeta | RefereeMeta) -> bool:
        """Whether a registration waits until its end point was tried. Raises RateLimited."""
        if not self.is_tried or asked.reply == self._seen:
            return False
        if len(self._waiting) >= self._limits.looks_max:
            wait = self._limits.look_again_seconds
            why = f"many agents register at once; wait {wait} s and try again"
            raise RateLimited(why, retry_after=wait)
        self._waiting[asked.reply] = asked
        self.awaited.append((EndpointLook(asked.reply), meta.contact_endpoint))
        return True

    def looked_at(self, reply: int, *, is_there: bool) -> Asked:
        """The registration that waited; it is decided now, for others may have come meanwhile."""
        asked = self._waiting.pop(reply)
        self._seen = reply if is_there else None
        return asked

    def resume(self) -> None:
        """After a restart all end points are tried, unless the league is over."""
        roster = self._league.roster
        for agent_id in () if self._is_over else (*roster.players, *roster.referees):
            self._resumed.add(agent_id)
            self._try(agent_id)

    def waited_for(self, now: float) -> list[str]:
        """Those that registered just now and cannot be connected to yet."""
        seconds = self._limits.listen_seconds
        self.new = {each: when for each, when in self.new.items() if now - when < seconds}
        return list(self.new) if self.is_tried else []

    def registered(self, agent_id: str, source: str, now: float | None = None) -> str:
        """Its end point is to be tried; a loopback address that others cannot use is told."""
        endpoint = self._endpoint(agent_id)
        self.known.pop(agent_id, None)
        self._try(agent_id)
        if now is not None and agent_id not in self.known:
            self.new[agent_id] = now
        if is_loopback(source) or not is_loopback(urlsplit(endpoint).hostname or ""):
            return ""
        return (
            f"{agent_id} asked from {source} and said that it is at {endpoint}, which is this "
            f"machine; it should register the address that others see, such as {source}."
        )

    def learnt(self, agent_id: str, endpoint: str, is_reachable: bool) -> str:
        """Take in what was found, unless the agent has another end point by now."""
        if endpoint != self._endpoint(agent_id):
            return ""
        self._doubted.discard(agent_id)
        is_resumed = agent_id in self._resumed
        self._resumed.discard(agent_id)
        was_reachable = self.known.get(agent_id)
        self.known[agent_id] = is_reachable
        if is_reachable:
            self.new.pop(agent_id, None)
            return f"{agent_id} is reachable now, at {endpoint}." if was_reachable is False else ""
        if was_reachable is False:
            return ""
        self._lost += is_resumed
        if is_resumed and self._lost > LOST_TOLD:
            more = "More agents are not reachable; see which with: league status --dir DIR"
            return more if self._lost == LOST_TOLD + 1 else ""
        return (
            f"{agent_id} is not reachable: nobody answers at {endpoint}. Is it running, is that "
            "port open in its firewall, is it in the same network?"
        )

    def answered(self, agent_id: str, error: LeagueError | None) -> str:
        """A message to it was answered or given up; without a connection it is tried again."""
        was_reachable = self.known.get(agent_id)
        if not isinstance(error, NoAnswer | NoConnection):
            return "" if was_reachable else self.learnt(agent_id, self._endpoint(agent_id), True)
        is_doubtful = isinstance(error, NoConnection) and agent_id not in self._doubted
        if is_doubtful and was_reachable and not self._is_over:
            self._doubted.add(agent_id)
            self._try(agent_id)
        return ""

    def should_listen(self, agent_id: str) -> bool:
        """Whether it is one of ours that registered just now: it listens before it registers."""
        return agent_id in self.new and bool(self._league.roster.member(agent_id).claim_digest)

    def is_sought(self, agent_id: str, endpoint: str) -> bool:
        """Whether this end point is to be tried again."""
        is_found = self.known.get(agent_id, False) or endpoint != self._endpoint(agent_id)
        return not is_found and not self._is_over

    def _try(self, agent_id: str) -> None:
        """Its end point is to be tried; who fetches its calls needs none that answers."""
        endpoint = self._endpoint(agent_id)
        if is_seat(endpoint):
            self.new.pop(agent_id, None)
            self.known[agent_id] = True
        else:
            self.unchecked.append((agent_id, endpoint))

    @property
    def _is_over(self) -> bool:
        return self._league.phase is Phase.COMPLETED

    def _endpoint(self, agent_id: str) -> str:
        return self._league.roster.member(agent_id).endpoint
