"""Strategies that learn what an opponent plays, and play what is good against it.

What can be known of an opponent: its last move of each match, in this league and in earlier ones
(there it is known by its name), and in rock, paper, scissors every throw of the match that is being
played. In even/odd nothing is gained by knowing it: the number decides, and whatever both say, each
wins as often as the other. To say the other word only makes draws rarer.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agentleague.games.even_odd import PARITIES
from agentleague.games.rock_paper_scissors import THROWS
from agentleague.player.registry import plays
from agentleague.player.strategies import random
from agentleague.roles.effects import Turn

LOOKS_BACK = 3  # moves that a pattern has at most

# What to play against each move, by game.
ANSWERS: dict[str, dict[str, str]] = {
    "even_odd": dict(zip(PARITIES, PARITIES[::-1], strict=True)),
    "rock_paper_scissors": dict(zip(THROWS, THROWS[1:] + THROWS[:1], strict=True)),
}


class Throws(msgspec.Struct):
    """The throws of this match as rock, paper, scissors shows them, the player's own first."""

    throws: list[tuple[str, str]] = []


@plays(*ANSWERS)
def frequency(turn: Turn) -> Any:
    """What is good against the opponent's most frequent move."""
    return _against(turn, opponents_moves(turn))


@plays(*ANSWERS)
def pattern(turn: Turn) -> Any:
    """What is good against what most often followed the opponent's latest moves."""
    return _against(turn, _followers(opponents_moves(turn)))


def opponents_moves(turn: Turn) -> list[str]:
    """What this opponent is known to have played, oldest first."""
    made = [match["result"]["choices"].get(match["opponent_id"]) for match in _matches(turn)]
    made += [throw for _, throw in _throws(turn)]
    return [move for move in made if move in list(ANSWERS.get(turn.game_type, ()))]


def _matches(turn: Turn) -> Iterator[Mapping[str, Any]]:
    """The matches against this opponent."""
    for match in turn.past:
        name = match["opponent_name"]
        if name and name == turn.opponent_name and match["game_type"] == turn.game_type:
            yield match
    for match in turn.history:
        if match["opponent_id"] == turn.opponent_id:
            yield match


def _throws(turn: Turn) -> Sequence[tuple[str, str]]:
    try:
        return msgspec.convert(turn.position, Throws).throws
    except msgspec.ValidationError:  # Another game's position, or a strange referee's.
        return ()


def _followers(moves: Sequence[str]) -> Sequence[str]:
    """What came after the same moves as now, as many of them as were ever seen."""
    for length in range(LOOKS_BACK, 0, -1):
        places = range(len(moves) - length)
        found = [moves[n + length] for n in places if moves[n : n + length] == moves[-length:]]
        if found:
            return found
    return moves


def _against(turn: Turn, expected: Sequence[str]) -> Any:
    """The answer to the most frequent of these; with none to go by, any legal move."""
    if not expected:
        return random(turn)
    counts = Counter(expected)
    most = max(counts.values())
    likely = turn.rng.choice([move for move, count in counts.items() if count == most])
    return ANSWERS[turn.game_type][likely]
