"""The limits of a league that are no settings; tests hand in smaller ones."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class LeagueLimits:
    """Limits of one league's state and of what is decided about its matches."""

    silences_max: int = 5  # attempts in a row without an answer that make a player SUSPENDED
    disputes_max: int = 10  # of one referee about one match, each after a ruling
    told_rounds: int = 2  # before the running one: a restart tells nothing older again
    rounds_at_hand: int = 2  # rounds that have ended and are not forgotten, whatever their size
    recalled_max: int = 256  # matches that were looked up and may be asked for again
    last_matches: int = 20  # of each player, that can be named without their rounds
