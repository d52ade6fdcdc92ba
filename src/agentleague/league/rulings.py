"""What counts of a match when the organiser has ruled on it, and what its disputes say in words."""

from msgspec import UNSET
from msgspec.structs import replace

from agentleague.league.events import Disputed, MatchDecided, MatchRuled, TokenMisused
from agentleague.protocol.messages import GameResult, Status

STAND = "stand"
VERDICTS = ("win", "draw", "no_contest", STAND)
NOT_ITS_REFEREE = "not its referee"
ANOTHER_RESULT = "another result"
_IN_WORDS = {
    NOT_ITS_REFEREE: "spoke for it and is not its referee; that was refused",
    ANOTHER_RESULT: "reported another result than the one that stands; that was refused",
}
_STATUS: dict[str, Status] = {"win": "WIN", "draw": "DRAW"}  # and any other verdict: no contest


def counted(decided: MatchDecided, ruling: MatchRuled | None) -> GameResult:
    """The result that the table counts: the organiser's, or the one that was decided."""
    if ruling is None or ruling.verdict == STAND:
        return decided.result
    first, reason = decided.result, f"ruled by the organiser: {ruling.reason}"[:500]
    status: Status = _STATUS.get(ruling.verdict, "TECHNICAL_LOSS")
    return replace(
        first,
        status=status,
        winner_player_id=ruling.winner if status == "WIN" else None,
        reason=reason,
        no_contest=True if status == "TECHNICAL_LOSS" else UNSET,
    )


def dispute_in_words(event: Disputed) -> str:
    """Who did what, for the organiser."""
    return f"{event.referee_id} {_IN_WORDS.get(event.why, event.why)}"


def ruling_in_words(event: MatchRuled) -> str:
    """What the organiser ruled, and why."""
    ruled = {
        "win": f"{event.winner} won",
        "draw": "a draw",
        "no_contest": "no contest",
    }.get(event.verdict, "the result stands")
    return f"the organiser ruled: {ruled}" + (f" ({event.reason})" if event.reason else "")


def misuse_in_words(event: TokenMisused) -> str:
    """Whose token was shown where it gives no right."""
    what = "a match token" if event.scope == "match" else "its token"
    return f"{what} came with {event.message}, which it gives no right to"
