"""What one player may take."""

from dataclasses import dataclass

from agentleague.roles.agent import AgentLimits


@dataclass(frozen=True)
class PlayerLimits(AgentLimits):
    """Handed to a player; tests hand in smaller ones."""

    strategies_running: int = 64  # moves that are thought about at once
    move_seconds: float = 30.0  # what a strategy is told it has where the call does not say
    # What it remembers:
    history_matches: int = 1000
    history_block: int = 50  # matches that are packed together
    ended_matches: int = 64  # a match that is told twice is told again soon
    checked_matches: int = 64  # for the draw check: what was announced and moved
    # The end of the league:
    ask_again_seconds: float = 2.0  # a manager that is too busy to say, or away
    doubt_seconds: float = 40.0  # how long a silent manager is asked; it may just be restarting
    # Messages without a match token:
    waiting_messages: int = 16  # that wait until the manager has said whose match it is
    waiting_from_one_source: int = 4  # so that no single address takes all the places
    denied_seconds: float = 1.0  # within which it does not ask again about the same match
    foreign_matches: int = 1000  # whose referees are remembered
    refusals_said: int = 20  # matches of which a refused message is worth a sentence


LIMITS = PlayerLimits()
