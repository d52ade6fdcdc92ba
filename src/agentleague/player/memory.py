"""What a player remembers: its matches, the last table, and matches of earlier leagues.

Matches are packed until somebody looks at them: a thousand of them take some 1.5 MB as mappings,
and 30 KB packed, since they are nearly alike. So one process can host a hundred players.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw

from agentleague.games.even_odd import PARITIES
from agentleague.protocol import messages
from agentleague.protocol.fast_path import Pairing, read_rows
from agentleague.protocol.messages import GameMoveCall, GameOver, MoveCall, StandingRow
from agentleague.roles.agent import AgentLimits
from agentleague.roles.effects import Turn


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
    early_messages: int = 16  # of the manager, that come before the registration is answered
    # Messages without a match token:
    waiting_messages: int = 16  # that wait until the manager has said whose match it is
    waiting_from_one_source: int = 4  # so that no single address takes all the places
    denied_seconds: float = 1.0  # within which it does not ask again about the same match
    foreign_matches: int = 1000  # whose referees are remembered


LIMITS = PlayerLimits()


Match = Mapping[str, Any]


class History(Sequence[Match]):
    """The last matches, oldest first; a copy shares the blocks, and so what was unpacked."""

    def __init__(self, limits: PlayerLimits = LIMITS) -> None:
        self._limits = limits
        self._blocks: list[list[Any]] = []  # each packed, in one item, or its matches
        self._newest: list[Match] = []

    def append(self, match: Match) -> None:
        """Remember one more, and forget the oldest block of too many."""
        self._newest.append(match)
        size, blocks = self._limits.history_block, self._blocks
        if len(self._newest) > size:
            block, self._newest = self._newest[:size], self._newest[size:]
            # Who looked at the block before will look at this one.
            is_read = bool(blocks) and not isinstance(blocks[-1][0], bytes)
            blocks.append(block if is_read else [zlib.compress(msgspec.json.encode(block))])
            if self._too_old >= size:
                del blocks[0]

    def forget(self, match_id: str) -> None:
        """A match is played again."""
        kept = [match for match in self if match["match_id"] != match_id]
        self._blocks, self._newest = [], []
        for match in kept:
            self.append(match)

    def copy(self) -> "History":
        """As it is now, without what is appended later."""
        copy = History(self._limits)
        copy._blocks, copy._newest = self._blocks.copy(), self._newest.copy()
        return copy

    def __len__(self) -> int:
        return min(self._kept, self._limits.history_matches)

    def __iter__(self) -> Iterator[Match]:
        blocks = chain(map(_unpacked, self._blocks), [self._newest])
        return islice(chain.from_iterable(blocks), self._too_old, None)

    def __getitem__(self, number: Any) -> Any:
        found = range(self._too_old, self._kept)[number]
        return self._at(found) if isinstance(found, int) else [self._at(place) for place in found]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def _at(self, place: int) -> Match:
        block, index = divmod(place, self._limits.history_block)
        is_newest = block == len(self._blocks)
        return (self._newest if is_newest else _unpacked(self._blocks[block]))[index]

    @property
    def _kept(self) -> int:
        return len(self._blocks) * self._limits.history_block + len(self._newest)

    @property
    def _too_old(self) -> int:
        """How many matches of the first block are too old to be shown."""
        return max(0, self._kept - self._limits.history_matches)


class TableRows(Sequence[Mapping[str, Any]]):
    """The rows of a table as plain mappings, read only when somebody looks."""

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
        return msgspec.to_builtins(self.rows[number])


class _Known(NamedTuple):
    """What is remembered of a match that is told a second time."""

    generation: int  # of its draws
    end: tuple[Any, Any] | None  # who won, and the number drawn, if that is known


class Memory:
    """One player's memory; the random numbers of each match follow from `seed`."""

    def __init__(self, seed: str, limits: PlayerLimits = LIMITS) -> None:
        self.history = History(limits)
        self.results = {"won": 0, "drawn": 0, "lost": 0}  # of the matches of this run
        self.past: Sequence[Mapping[str, Any]] = ()
        self.standings = TableRows([])
        self._names: dict[str, str] = {}  # player -> display name, from tables
        self._has_new_names = False
        self._seed = seed
        self._own = ("", "")  # its league, and its id there
        self._ended: dict[tuple[str, str], _Known] = {}  # league and match, the newest last
        self._ended_max = limits.ended_matches

    def turn(self, call: MoveCall, player_id: str, seconds: float) -> Turn:
        """What the strategy is shown."""
        legal: Sequence[Any] = PARITIES
        position, turn = {}, 0
        if isinstance(call, GameMoveCall):
            legal, position, turn = call.legal_moves or (), call.position, call.turn
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
            seed=f"{self._seed}|{call.league_id}|{call.match_id}|{player_id}|{turn}",
            opponent_name=self.name(call.context.opponent_id),
            number=turn,
            past=self.past,
        )

    def recall(self, matches: Sequence[Mapping[str, Any]], league_id: str, player_id: str) -> None:
        """Take what earlier runs kept: this league goes on, other leagues are the past."""
        own = (league_id, player_id)
        if own == self._own:  # It registered again.
            return
        self._own, self._names, self._has_new_names = own, {}, False
        self.past = [m for m in matches if (m["league_id"], m["player_id"]) != own]
        for match in matches:
            if (match["league_id"], match["player_id"]) == own:
                self._remember(match, _known(match))

    def over(self, message: GameOver, player_id: str) -> tuple[Match | None, bool]:
        """Remember a match: it, if it is new or drawn anew, and whether it ended otherwise."""
        result, former = message.game_result, self._ended.get((message.league_id, message.match_id))
        others = [each for each in result.choices if each != player_id]
        opponent_id = others[0] if others else None
        match = {
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
        generation = generation_of(message)
        if generation:
            match["draw_generation"] = generation
        known = _Known(generation, (result.winner_player_id, result.drawn_number))
        is_another = former is not None and former.end is not None and former != known
        is_new = self._remember(match, known)
        lost = "lost" if result.winner_player_id else "drawn"
        self.results["won" if match["won"] else lost] += is_new
        return match if is_new else None, is_another

    def records(self) -> list[Mapping[str, Any]]:
        """The matches of this league for the next run, with the names that are known by now."""
        return [
            match
            if match["opponent_name"]
            else {**match, "opponent_name": self.name(match["opponent_id"])}
            for match in self.history
        ]

    def table(self, message: messages.LeagueStandingsUpdate) -> None:
        """The table was shown."""
        self.standings = TableRows(message.standings)
        self._has_new_names = True

    def paired(self, match: messages.RoundMatch | Pairing) -> None:
        """Its next match was announced; in a large league that tells the names, too."""
        if match.player_A_name and match.player_B_name:
            self._names[match.player_A_id] = match.player_A_name
            self._names[match.player_B_id] = match.player_B_name

    def name(self, player_id: str | None) -> str:
        """The display name of a player; empty until the manager has told it."""
        if player_id not in self._names and self._has_new_names:
            self._has_new_names = False
            self._names |= {row.player_id: row.display_name for row in self.standings.rows}
        return self._names.get(player_id or "", "")

    def _remember(self, match: Mapping[str, Any], known: _Known) -> bool:
        if not match["match_id"]:  # A foreign referee does not say which: it is a new one.
            self.history.append(match)
            return True
        name = (match["league_id"], match["match_id"])
        former = self._ended.get(name)
        if former and known.generation <= former.generation:
            return False
        if former:
            del self._ended[name]
            self.history.forget(match["match_id"])
        self._ended[name] = known
        if len(self._ended) > self._ended_max:
            del self._ended[next(iter(self._ended))]
        self.history.append(match)
        return True


def _known(match: Mapping[str, Any]) -> _Known:
    """What a match from a file says, which may hold anything."""
    said, result = match.get("draw_generation"), match.get("result")
    generation = said if isinstance(said, int) else 0
    if isinstance(result, dict) and result.keys() >= {"winner_player_id", "drawn_number"}:
        return _Known(generation, (result["winner_player_id"], result["drawn_number"]))
    return _Known(generation, None)


def generation_of(message: GameOver) -> int:
    """How often the draws of its match were made anew, in the manager's numbers."""
    return 0 if message.draw is UNSET else message.draw.generation or 0


def _unpacked(block: list[Any]) -> list[Match]:
    """The matches of a block, which stay; strategies look from several threads."""
    packed = block[0]
    if isinstance(packed, bytes):
        block[:] = msgspec.json.decode(zlib.decompress(packed))
    return block
