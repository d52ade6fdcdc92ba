"""What a player remembers of its league: its matches so far and the table it was last shown."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from agentleague.games.even_odd import PARITIES
from agentleague.protocol.messages import (
    ChooseParityCall,
    GameMoveCall,
    GameOver,
    LeagueStandingsUpdate,
    StandingRow,
)
from agentleague.roles.effects import Turn

HISTORY_MAX = 1000


class Notebook:
    """One player's memory; `seed` makes its chance repeatable, match by match."""

    def __init__(self, seed: str | None = None) -> None:
        self.history: list[Mapping[str, Any]] = []
        self._table: list[StandingRow] = []
        self._shown: Sequence[Mapping[str, Any]] | None = ()
        self._seed = seed

    @property
    def standings(self) -> Sequence[Mapping[str, Any]]:
        """The table as it was last shown; written out when somebody looks."""
        if self._shown is None:
            self._shown = [msgspec.structs.asdict(row) for row in self._table]
        return self._shown

    def turn(self, call: ChooseParityCall | GameMoveCall, player_id: str, seconds: float) -> Turn:
        """What the strategy is shown."""
        legal: Sequence[Any] = PARITIES
        position: Any = {}
        if isinstance(call, GameMoveCall):
            legal, position = call.legal_moves or (), call.position
        return Turn(
            game_type=call.game_type,
            league_id=call.league_id,
            match_id=call.match_id,
            round_id=call.round_id,
            player_id=player_id,
            opponent_id=call.context.opponent_id,
            record=msgspec.structs.asdict(call.context.your_standings),
            history=self.history,
            standings=self.standings,
            legal_moves=legal,
            position=position,
            seconds_left=seconds,
            rng=self._rng(call, player_id),
        )

    def over(self, message: GameOver, player_id: str) -> None:
        """A match is over; told twice, it is remembered once."""
        if any(match["match_id"] == message.match_id for match in self.history[-3:]):
            return
        result = message.game_result
        self.history.append(
            {
                "match_id": message.match_id,
                "round_id": message.round_id,
                "opponent_id": next((p for p in result.choices if p != player_id), None),
                "result": msgspec.structs.asdict(result),
                "won": result.winner_player_id == player_id,
            }
        )
        del self.history[:-HISTORY_MAX]

    def table(self, message: LeagueStandingsUpdate) -> None:
        """The table was shown."""
        self._table, self._shown = message.standings, None

    def _rng(self, call: ChooseParityCall | GameMoveCall, player_id: str) -> Random:
        if self._seed is None:
            return Random()
        turn = 0 if isinstance(call, ChooseParityCall) else call.turn
        return Random(f"{self._seed}|{call.league_id}|{call.match_id}|{player_id}|{turn}")
