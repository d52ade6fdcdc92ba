"""What one referee may take."""

from dataclasses import dataclass

from agentleague.roles.agent import AgentLimits


@dataclass(frozen=True)
class RefereeLimits(AgentLimits):
    """Handed to a referee; tests hand in smaller ones."""

    early_messages: int = 100  # that come before the registration is answered
    status_per_lease: int = 3  # signs of life
    # At a foreign manager:
    start_reply_seconds: float = 3.0  # how long a start waits for the result; callers give up soon
    waiting_matches: int = 1000  # for a place, or for the addresses of their players
    ended_matches: int = 1000  # whose results are remembered


LIMITS = RefereeLimits()
