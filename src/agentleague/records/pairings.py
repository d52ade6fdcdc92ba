"""Does a round have the matches that the schedule has for it?"""

from agentleague.league.events import RoundScheduled
from agentleague.league.schedule import Round


def pairings_differ(planned: Round, event: RoundScheduled) -> str | None:
    """The first difference in words, or None."""
    written = [(match.match_id, match.player_a, match.player_b) for match in event.matches]
    for pairing, match in zip(planned.pairings, written, strict=False):
        if tuple(pairing) != match:
            return f"the journal has {_met(match)}, but the schedule {_met(pairing)}"
    if len(written) != len(planned.pairings) or tuple(event.byes) != planned.byes:
        return (
            f"round {event.round_id} has {len(written)} matches and the byes {event.byes}, but in "
            f"the schedule it has {len(planned.pairings)} and {list(planned.byes)}"
        )
    return None


def _met(match: tuple[str, str, str]) -> str:
    return f"{match[0]} between {match[1]} and {match[2]}"
