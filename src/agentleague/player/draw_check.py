"""Whether a match was drawn as the league promised: what a player can check by itself.

The manager commits to a seed before the round; GAME_OVER opens it. The player knows which
commitment was announced and what it moved, so it finds a changed seed, a number that was not drawn
and a move that it did not make.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from agentleague.games import even_odd
from agentleague.player.memory import LIMITS, PlayerLimits, generation_of
from agentleague.protocol import draws
from agentleague.protocol.messages import Draw, GameOver, RoundAnnouncement, RoundMatch

DRAWN_ANEW = (
    "the manager says that it lost rows of its journal, and draws anew what was not decided; what "
    "you were told of such a match does not count. `league verify` shows why; if nobody knows of a "
    "loss, ask the organiser"
)

T = TypeVar("T")


class DrawCheck:
    """What was announced to one player and what it moved, match by match."""

    def __init__(self, limits: PlayerLimits = LIMITS) -> None:
        self._matches_max = limits.checked_matches
        self._announced: dict[str, tuple[int, str]] = {}  # with the generation of its draws
        self._newest = 0  # of these generations
        self._moved: dict[str, dict[int, list[Any]]] = {}
        self._bounds: tuple[int, int] | None = even_odd.State().bounds  # of even_odd's number

    def agreed(self, options: Mapping[str, Any] | None) -> None:
        """The manager said with which options the game is played; None: it has still to say."""
        with suppress(ValueError):  # Of another game.
            self._bounds = None if options is None else even_odd.start(options).bounds

    def announced(self, match: RoundMatch) -> str:
        """The commitment of a match of this player; the first one of a match binds.

        Only a later generation of draws takes its place, and never in silence: returns what there
        is to say.
        """
        match_id, commitment = match.match_id, match.draw_commitment
        if commitment is UNSET:
            return ""
        generation = match.draw_generation or 0
        if generation > self._announced.get(match_id, (generation, ""))[0]:
            del self._announced[match_id]
        self._keep(self._announced, match_id, (generation, commitment))
        if generation <= self._newest:
            return ""
        self._newest = generation
        return f"{match_id}: {DRAWN_ANEW} (generation {generation})."

    def is_lost(self, over: GameOver) -> bool:
        """Whether this result is of a match that the league has begun anew since."""
        announced = self._announced.get(over.match_id)
        return announced is not None and generation_of(over) < announced[0]

    def moved(self, match_id: str, turn: int, move: Any) -> None:
        """The player answered with this move; asked again, it may answer otherwise."""
        if type(move) is not str:
            move = msgspec.json.decode(msgspec.json.encode(move))  # A tuple comes back as a list.
        self._keep(self._moved, match_id, {}).setdefault(turn, []).append(move)

    def doubts(self, over: GameOver, player_id: str) -> list[str]:
        """What is wrong with the draw, a sentence each; empty if nothing is."""
        announced, draw = self._announced.get(over.match_id), over.draw
        if draw is UNSET:
            is_missing = announced is not None and over.game_result.drawn_number is not None
            return ["the seed of its number was not opened"] if is_missing else []
        doubts = []
        if announced and announced != (draw.generation or 0, draw.commitment):
            doubts.append(_not_announced(draw, announced[0]))
        try:
            seed = bytes.fromhex(draw.seed)
        except ValueError:
            doubts.append("its seed is no hexadecimal number")
        else:
            if draws.commitment(seed, over.league_id, over.match_id) != draw.commitment:
                doubts.append("its seed does not fit its commitment")
        turns = self._moved.get(over.match_id, {})
        doubts += [
            f"it says that you moved {move!r}, and you moved {turns[turn][-1]!r}"
            for turn, who, move in draw.moves
            if who == player_id and turn in turns and move not in turns[turn]
        ]
        is_drawn = over.game_type == even_odd.name and over.game_result.status != "TECHNICAL_LOSS"
        if is_drawn and self._bounds and not doubts:
            return _number_doubts(over, draw.moves, seed, self._bounds)
        return doubts

    def _keep(self, kept: dict[str, T], match_id: str, value: T) -> T:
        if match_id not in kept and len(kept) >= self._matches_max:
            del kept[next(iter(kept))]
        return kept.setdefault(match_id, value)


def own_match(message: RoundAnnouncement, player_id: str) -> RoundMatch | None:
    """The match of a player in a round; None if it has a bye."""
    for match in message.matches:
        if player_id in (match.player_A_id, match.player_B_id):
            return match
    return None


def _not_announced(draw: Draw, announced_generation: int) -> str:
    generation = draw.generation or 0
    if generation != announced_generation:
        return f"it was drawn anew (generation {generation}), which was not announced before"
    return "its commitment is not the one that was announced before the round"


def _number_doubts(
    over: GameOver, moves: draws.Moves, seed: bytes, bounds: tuple[int, int]
) -> list[str]:
    """The number follows from seed and moves, and the winner from the number."""
    result, names = over.game_result, (over.league_id, over.match_id)
    number = draws.number(seed, *names, index=0, moves=moves, bounds=bounds)
    if result.drawn_number != number:
        return [f"its number is {result.drawn_number}, and seed and moves give {number}"]
    doubts, choices = [], {player_id: move for _, player_id, move in moves}
    if result.choices != choices:
        doubts.append("its choices are not the moves that the number was drawn from")
    right = [who for who, move in choices.items() if move == even_odd.PARITIES[number % 2]]
    winner = right[0] if len(right) == 1 else None
    if result.winner_player_id != winner:
        said = result.winner_player_id or "nobody"
        doubts.append(f"it says that {said} won, and by these choices {winner or 'nobody'} did")
    return doubts
