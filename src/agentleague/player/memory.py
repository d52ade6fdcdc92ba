"""What a player remembers: its matches so far, the table it was last shown, and earlier leagues.

The matches that a player remembers: plain mappings to whoever looks, packed while nobody does.

A thousand of them as mappings take more than 1 MB. They are nearly alike, so packed they take some
30 KB: then a process can host a hundred players that play for ever.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from random import Random
from typing import Any

import msgspec
from msgspec import Raw

from agentleague.games.even_odd import PARITIES
from agentleague.protocol.messages import (
    ChooseParityCall,
    GameMoveCall,
    GameOver,
    LeagueStandingsUpdate,
    StandingRow,
)
from agentleague.protocol.partial_messages import read_rows
from agentleague.roles.effects import Turn

OVER_MAX = 64  # matches that are known to be over: who tells it again does so soon


class Shown(Sequence[Mapping[str, Any]]):
    """Rows of the table as plain mappings, read and written out only when somebody looks."""

    def __init__(self, rows: list[StandingRow] | Raw) -> None:
        self._rows = rows

    @property
    def rows(self) -> list[StandingRow]:
        """The rows as they were sent."""
        self._rows = read_rows(self._rows)
        return self._rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [msgspec.structs.asdict(row) for row in self.rows[number]]
        return msgspec.structs.asdict(self.rows[number])


class Memory:
    """One player's memory; `seed` is where all its chance comes from, match by match."""

    def __init__(self, seed: str) -> None:
        self.history = History()
        self.past: Sequence[Mapping[str, Any]] = ()
        self.standings = Shown([])
        self._names: dict[str, str] = {}  # as tables told them
        self._has_new_names = False
        self._seed = seed
        self._own = ("", "")  # the league that it is in, and under which id
        self._over: dict[tuple[str, str], None] = {}  # leagues and matches, the newest last

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
            history=self.history.copy(),  # It runs in a thread; matches end meanwhile.
            standings=self.standings,
            legal_moves=legal,
            position=position,
            seconds_left=seconds,
            rng=self._rng(call, player_id),
            opponent_name=self.name(call.context.opponent_id),
            past=self.past,
        )

    def recall(self, matches: Sequence[Mapping[str, Any]], league_id: str, player_id: str) -> None:
        """What earlier runs kept: this league goes on where it was, other leagues are the past."""
        own = (league_id, player_id)
        if own == self._own:  # It registered again.
            return
        self._own, self._names, self._has_new_names = own, {}, False
        self.past = [m for m in matches if (m["league_id"], m["player_id"]) != own]
        for match in matches:
            if (match["league_id"], match["player_id"]) == own:
                self._remember(match)

    def over(self, message: GameOver, player_id: str) -> bool:
        """A match is over; told twice, it is remembered once. Whether it was new."""
        result = message.game_result
        opponent_id = next((p for p in result.choices if p != player_id), None)
        return self._remember(
            {
                "league_id": message.league_id,
                "game_type": message.game_type,
                "match_id": message.match_id,
                "round_id": message.round_id,
                "player_id": player_id,
                "opponent_id": opponent_id,
                "opponent_name": self.name(opponent_id),
                "result": msgspec.to_builtins(result),
                "won": result.winner_player_id == player_id,
            }
        )

    def records(self) -> list[Mapping[str, Any]]:
        """The matches of this league for the next run, with the names that are known by now."""
        return [
            match
            if match["opponent_name"]
            else {**match, "opponent_name": self.name(match["opponent_id"])}
            for match in self.history
        ]

    def table(self, message: LeagueStandingsUpdate) -> None:
        """The table was shown."""
        self.standings = Shown(message.standings)
        self._has_new_names = True

    def name(self, player_id: str | None) -> str:
        """What a player is called; nothing until a table has told it."""
        if player_id not in self._names and self._has_new_names:
            self._has_new_names = False
            self._names |= {row.player_id: row.display_name for row in self.standings.rows}
        return self._names.get(player_id or "", "")

    def _remember(self, match: Mapping[str, Any]) -> bool:
        place = (match["league_id"], match["match_id"])
        if place in self._over:
            return False
        self._over[place] = None
        if len(self._over) > OVER_MAX:
            del self._over[next(iter(self._over))]
        self.history.append(match)
        return True

    def _rng(self, call: ChooseParityCall | GameMoveCall, player_id: str) -> Random:
        turn = 0 if isinstance(call, ChooseParityCall) else call.turn
        return Random(f"{self._seed}|{call.league_id}|{call.match_id}|{player_id}|{turn}")


HISTORY_MAX = 1000
BLOCK = 50  # matches that are packed together

Match = Mapping[str, Any]


class History(Sequence[Match]):
    """The last matches, at most a thousand, oldest first."""

    def __init__(self, packed: Sequence[bytes] = (), newest: Sequence[Match] = ()) -> None:
        self._packed = list(packed)  # a block each
        self._newest = list(newest)

    def append(self, match: Match) -> None:
        """Remember one more; a block that is not needed any more is forgotten."""
        self._newest.append(match)
        if len(self._newest) > BLOCK:
            self._packed.append(zlib.compress(msgspec.json.encode(self._newest[:BLOCK])))
            del self._newest[:BLOCK]
        if self._too_old >= BLOCK:
            del self._packed[0]

    def copy(self) -> "History":
        """As it is now: what is appended later is not in it."""
        return History(self._packed, self._newest)

    def __len__(self) -> int:
        return min(self._kept, HISTORY_MAX)

    def __iter__(self) -> Iterator[Match]:
        blocks = map(_unpacked, self._packed)
        return islice(chain.from_iterable(chain(blocks, [self._newest])), self._too_old, None)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[each] for each in range(len(self))[number]]
        place = range(len(self))[number] + self._too_old
        block = place // BLOCK
        is_packed = block < len(self._packed)
        return (_unpacked(self._packed[block]) if is_packed else self._newest)[place % BLOCK]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    @property
    def _kept(self) -> int:
        return len(self._packed) * BLOCK + len(self._newest)

    @property
    def _too_old(self) -> int:
        """How many at the beginning of the first block are shown to nobody."""
        return max(0, self._kept - HISTORY_MAX)


def _unpacked(block: bytes) -> list[Match]:
    matches: list[Match] = msgspec.json.decode(zlib.decompress(block))
    return matches
