"""Whether the manager can call an agent: asked for after it registered, and said aloud.

The manager opens a connection to each new end point and shows the agent as reachable or not. Who
sits at an agent behind a firewall does not see that, so the agent asks.
"""

from urllib.parse import urlsplit

from agentleague.errors import LeagueError, PeerRefused
from agentleague.protocol.messages import LeagueQuery, LeagueQueryResponse, Message
from agentleague.roles.effects import Address, Call, Effect, WakeAt

KEY = "reachable?"
FIRST_SECONDS = 1.0  # after it registered
AGAIN_SECONDS = 3.0  # while the manager still tries, or cannot reach it
UNKNOWN_MAX = 5  # answers that say neither yes nor no


class Contact:
    """One agent's question, asked until the answer is yes."""

    def __init__(self, manager: Address, endpoint: str, reply_seconds: float) -> None:
        self._manager, self._endpoint, self._reply_seconds = manager, endpoint, reply_seconds
        self._is_cut_off = False  # as it was said last
        self._unknown = 0  # answers that said neither

    def begin(self, now: float) -> list[Effect]:
        """It has registered: ask soon."""
        self._unknown = 0
        return [WakeAt(KEY, now + FIRST_SECONDS)]

    def ask(self, agent_id: str, timestamp: str, now: float) -> list[Effect]:
        """Anybody may know: no token is needed."""
        query = LeagueQuery(
            "GET_AGENT",
            query_params={"agent_id": agent_id},
            sender=f"agent:{agent_id}",
            timestamp=timestamp,
            conversation_id="conv-reachable",
        )
        return [Call(KEY, self._manager, query, now + self._reply_seconds)]

    def answered(
        self, message: Message | None, error: LeagueError | None, now: float
    ) -> tuple[str, list[Effect]]:
        """What there is to say, if anything, and when to ask again."""
        if isinstance(error, PeerRefused) or _is_unknown(message):
            return "", []  # It is no manager of ours.
        is_reachable = _reachable(message)
        again: list[Effect] = [WakeAt(KEY, now + AGAIN_SECONDS)]
        if is_reachable is None:
            self._unknown += 1
            return "", again if self._unknown < UNKNOWN_MAX else []
        if self._is_cut_off and not is_reachable:
            return "", again
        self._is_cut_off = not is_reachable
        if is_reachable:
            return f"The manager can reach it at {self._endpoint}.", []
        return self._advice(), again

    def _advice(self) -> str:
        end = urlsplit(self._endpoint)
        port = end.port or (443 if end.scheme == "https" else 80)
        return (
            f"The manager cannot reach it at {self._endpoint}; until it can, its matches are lost. "
            f"Does the firewall of this machine let others in at port {port}? Is it in the same "
            "network as the manager? If others see it elsewhere, say where with: --endpoint "
            f"http://HOST:{port}/mcp; if it should listen at another address, with: --bind ADDRESS"
        )


def _is_unknown(message: Message | None) -> bool:
    return isinstance(message, LeagueQueryResponse) and not message.success


def _reachable(message: Message | None) -> bool | None:
    data = message.data if isinstance(message, LeagueQueryResponse) else None
    agent = data.get("agent") if isinstance(data, dict) else None
    found = agent.get("reachable") if isinstance(agent, dict) else None
    return found if isinstance(found, bool) else None
