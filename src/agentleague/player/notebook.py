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


class Shown(Sequence[Mapping[str, Any]]):
    """Rows of the table as plain mappings, written out only when somebody looks."""

    def __init__(self, rows: Sequence[StandingRow]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [msgspec.structs.asdict(row) for row in self._rows[number]]
        return msgspec.structs.asdict(self._rows[number])


class Notebook:
    """One player's memory; `seed` is where all its chance comes from, match by match."""

    def __init__(self, seed: str) -> None:
        self.history: list[Mapping[str, Any]] = []
        self.standings: Sequence[Mapping[str, Any]] = ()
        self._seed = seed
        self._over: set[tuple[str, str]] = set()  # leagues and matches, for ever: a few bytes each

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
        if (message.league_id, message.match_id) in self._over:
            return
        self._over.add((message.league_id, message.match_id))
        result = message.game_result
        self.history.append(
            {
                "match_id": message.match_id,
                "round_id": message.round_id,
                "opponent_id": next((p for p in result.choices if p != player_id), None),
                "result": msgspec.to_builtins(result),
                "won": result.winner_player_id == player_id,
            }
        )
        del self.history[:-HISTORY_MAX]

    def table(self, message: LeagueStandingsUpdate) -> None:
        """The table was shown."""
        self.standings = Shown(message.standings)

    def _rng(self, call: ChooseParityCall | GameMoveCall, player_id: str) -> Random:
        turn = 0 if isinstance(call, ChooseParityCall) else call.turn
        return Random(f"{self._seed}|{call.league_id}|{call.match_id}|{player_id}|{turn}")
