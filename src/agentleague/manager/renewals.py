"""How often an agent may register again: each time writes rows, and anybody may be an agent."""

from agentleague.errors import RateLimited

SECONDS = 1.0  # between two registrations of the same agent,
FREE = 8  # as often as that; then twice as long each time,
SECONDS_MAX = 600.0  # but never longer


class Renewals:
    """When each agent came back last, and how often; a restart of the manager forgets it."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, int]] = {}

    def check(self, agent_id: str, now: float) -> None:
        """Note that it comes back now.

        Raises:
            RateLimited: too soon; it says when.
        """
        when, times = self._last.get(agent_id, (now - SECONDS_MAX, 0))
        wait = min(SECONDS * 2 ** max(0, times - FREE), SECONDS_MAX)
        if now - when < wait:
            left = max(1, round(when + wait - now))
            raise RateLimited(
                f"registered a moment ago; wait {left} s and try again", retry_after=left
            )
        self._last[agent_id] = (now, times + 1)
