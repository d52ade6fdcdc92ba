"""`play_league`: a whole league in memory, thousands of matches a second, each repeatable.

It uses the real rules, draws, schedule and table, but sends no messages: nobody has to join and
nobody is late. A player that makes an illegal move is asked again; the third one loses the match
(R-MATCH-20).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from secrets import token_hex
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from agentleague.errors import IllegalMove, LeagueError
from agentleague.games.game import Game
from agentleague.league.events import PlayerRegistered
from agentleague.league.formats.format import Done, Players, Round, Stage
from agentleague.league.formats.format import PlayedMatch as CountedMatch
from agentleague.league.formats.stages import (
    NextStage,
    StageProgress,
    misfit,
    plan,
    usual_tie_breaks,
)
from agentleague.league.match_result import MatchSetup, compute_result
from agentleague.league.roster import Roster
from agentleague.league.standings import Points, Standing, Table, drawn_champion
from agentleague.match.answer_checks import failure_in_words
from agentleague.match.game_progress import GameProgress
from agentleague.match.question import ANSWERS_MAX
from agentleague.player.memory import Memory
from agentleague.player.role import HookCall, seen_by
from agentleague.protocol import draws, messages
from agentleague.roles.effects import Turn
from agentleague.runtime import plugins
from agentleague.runtime.author_functions import LoopThread
from agentleague.runtime.plugins import as_typed, find_game
from agentleague.runtime.query_pages import Work
from agentleague.runtime.state_files import new_league_id, new_secrets
from agentleague.sdk.player import Player

MOVE_SECONDS = 30.0  # what a turn says; no time passes
PARITY_GAME = "even_odd"
T = TypeVar("T")


Entrant = tuple[str, Callable[[Turn], Any], Callable[[HookCall], None] | None]  # name, move, hooks


class OfflinePlayer(NamedTuple):
    """A player in a league: a function that moves, and hooks if there are any."""

    player_id: str
    memory: Memory
    name: str
    move: Callable[[Turn], Any]
    hooks: Callable[[HookCall], None] | None

    def call_hook(self, name: str, what: Any) -> None:
        """Call the author's hook for this event, if there is one."""
        if self.hooks:
            self.hooks(HookCall(name, what))

    def move_in(self, turn: Turn) -> Any:
        """The move as it would arrive over the wire; an exception gets a note with the match."""
        try:
            return msgspec.json.decode(msgspec.json.encode(self.move(turn)))
        except Exception as error:
            error.add_note(f"{self.name} ({turn.player_id}) was to move in {turn.match_id}.")
            raise


class PlayedMatch(Struct, frozen=True):
    """One match: who met in it, seat A first, and how it ended; no winner is a draw."""

    match_id: str
    round_id: int
    player_ids: tuple[str, str]
    winner: str | None
    status: str  # WIN, DRAW or TECHNICAL_LOSS
    moves: Sequence[tuple[int, str, Any]]  # turn, player, move
    number: int | None
    reason: str


class OfflineLeague:
    """One league; `table` and `illegal_moves` grow while its matches are played."""

    def __init__(
        self, game: Game, seed: str, entrants: Sequence[Entrant], stages: Sequence[Stage]
    ) -> None:
        self.illegal_moves: list[tuple[str, str]] = []  # player, and what was wrong in which match
        self._game = game
        self._league_id = new_league_id(game.name, seed)
        self._secret = new_secrets(seed).draw_secret
        self._players: dict[str, OfflinePlayer] = {}
        names = {}
        roster = Roster()
        for entrant in entrants:
            player_id = roster.next_player_id()
            names[player_id] = roster.effective_name(entrant[0], player_id)
            roster.add_player(PlayerRegistered(player_id, names[player_id], "", "", ""))
            self._players[player_id] = OfflinePlayer(player_id, Memory(seed), *entrant)
        self.player_ids, self._matches = list(names), 0
        self.progress = StageProgress(stages, Points())
        self.progress.begin(self.player_ids, {})
        self.table = Table(names, tie_breaks=usual_tie_breaks(stages))

    def play(self) -> Iterator[PlayedMatch]:
        """Every match, in order."""
        while not isinstance(planned := self._next_round(), Done):
            self._announce(planned)
            rows = {row.player_id: row for row in self.table.rows()}
            matches = [self._match(match_id, ids, rows) for match_id, ids in planned.matches]
            yield from matches
            self._matches += len(matches)
            self.progress.end_round(map(_counted, matches), planned.byes)
            self.table.count_byes(planned.byes, self.progress.bye_points())
            self.table.rank_by(self.progress.merits())
            self._show_table(planned.round_id)
        self._end()

    def _next_round(self) -> Round | Done:
        following = self.progress.next_round(frozenset())
        if isinstance(following, Done):
            ranked = [row.player_id for row in self.table.rows()]
            stage = self.progress.next_stage(ranked, frozenset(), ())
            if isinstance(stage, NextStage):
                self.progress.begin(stage.players, {})
                self.table.rank_by(self.progress.merits())
                return self._next_round()
        return following

    def _match(self, match_id: str, players: Players, rows: dict[str, Standing]) -> PlayedMatch:
        round_id, ids = int(match_id[1:].partition("M")[0]), (players[0], players[1])
        seed = draws.seed_of(self._secret, self._league_id, match_id)
        case = MatchSetup(self._game, {}, self._league_id, match_id, ids, seed)
        progress = GameProgress(self._game, {}, players)
        result = self._play_game(case, progress, round_id, rows)
        winner = result.winner_player_id
        self.table.count(*ids, winner=winner, technical=result.status == "TECHNICAL_LOSS")
        over = messages.GameOver(
            result,
            league_id=self._league_id,
            round_id=round_id,
            match_id=match_id,
            game_type=self._game.name,
        )
        for player_id in ids:
            player = self._players[player_id]
            player.memory.over(over, player_id)
            player.call_hook("result", player.memory.history[-1])
        facts = (winner, result.status, progress.moves, result.drawn_number, result.reason)
        return PlayedMatch(match_id, round_id, ids, *facts)

    def _play_game(
        self, case: MatchSetup, progress: GameProgress, round_id: int, rows: dict[str, Standing]
    ) -> messages.GameResult:
        while True:
            made, forfeits = {}, []
            for seat in progress.to_move():
                call = self._call(case, progress, (seat, round_id), rows[case.players[seat]])
                try:
                    made[seat] = self._ask(case.players[seat], call, progress, seat)
                except IllegalMove as error:
                    forfeits.append((case.players[seat], failure_in_words(error)))
            if forfeits or progress.wants_number:
                progress.note(made)
            else:
                progress.play(made)
                if not progress.is_over:
                    continue
            verdict = compute_result(case, progress.moves, forfeits)
            if verdict.result:
                return verdict.result
            assert verdict.value is not None
            progress.adopt(progress.moves, verdict.value)

    def _ask(
        self, player_id: str, call: messages.MoveCall, progress: GameProgress, seat: int
    ) -> Any:
        """The move of a player. Raises IllegalMove after too many illegal ones."""
        player = self._players[player_id]
        for _ in range(ANSWERS_MAX):
            move = player.move_in(player.memory.turn(call, player_id, MOVE_SECONDS))
            try:
                progress.check(seat, move)
            except IllegalMove as error:
                self.illegal_moves.append((player_id, f"{call.match_id}: {error}"))
            else:
                return move
        raise IllegalMove(f"{ANSWERS_MAX} moves in a row were illegal")

    def _call(
        self, case: MatchSetup, progress: GameProgress, where: tuple[int, int], row: Standing
    ) -> messages.MoveCall:
        seat, round_id = where
        record = messages.PlayerRecord(row.wins, row.losses, row.draws, row.points)
        context = messages.MoveContext(case.players[1 - seat], round_id, record)
        fields: dict[str, Any] = {
            "league_id": case.league_id,
            "match_id": case.match_id,
            "round_id": round_id,
            "game_type": self._game.name,
            "context": context,
        }
        if self._game.name == PARITY_GAME:
            return messages.ChooseParityCall(**fields)
        name = self._game.seats[seat]
        legal = self._game.legal_moves(progress.state, name)
        fields["legal_moves"] = None if legal is None else list(legal)
        return messages.GameMoveCall(
            **fields, turn=progress.turn, position=self._game.view(progress.state, name)
        )

    def _announce(self, planned: Round) -> None:
        with_hooks = [player for player in self._players.values() if player.hooks]
        if with_hooks:
            matches = [
                messages.RoundMatch(match_id, self._game.name, player_a, player_b)
                for match_id, (player_a, player_b) in planned.matches
            ]
            message = messages.RoundAnnouncement(
                league_id=self._league_id,
                round_id=planned.round_id,
                matches=matches,
                byes=list(planned.byes),
            )
            for player in with_hooks:
                player.call_hook("round", seen_by(player.player_id, message))

    def _show_table(self, round_id: int) -> None:
        message = messages.LeagueStandingsUpdate(round_id=round_id, standings=self._rows())
        for player in self._players.values():
            player.memory.table(message)
            player.call_hook("standings", player.memory.standings)

    def _end(self) -> None:
        first = [messages.Champion(r.player_id, r.display_name, r.points) for r in self.champions]
        message = messages.LeagueCompleted(
            league_id=self._league_id,
            total_rounds=self.progress.rounds,
            total_matches=self._matches,
            champion=first[0],
            champions=first,
            final_standings=self._rows(),
        )
        for player in self._players.values():
            player.call_hook("league_end", msgspec.to_builtins(message))

    @property
    def champions(self) -> list[Standing]:
        """All who share rank 1; the champion, drawn by lot, comes first."""
        first = self.table.first()
        seed = draws.seed_of(self._secret, self._league_id, draws.CHAMPION)
        drawn = drawn_champion(seed, self._league_id, first)
        return [drawn, *(row for row in first if row is not drawn)]

    def _rows(self) -> list[messages.StandingRow]:
        return [messages.StandingRow(**msgspec.structs.asdict(row)) for row in self.table.rows()]


def _counted(match: PlayedMatch) -> CountedMatch:
    return CountedMatch(match.player_ids, match.winner, match.status == "TECHNICAL_LOSS")


class OfflineQuestions(NamedTuple):
    """Where a player of such a league asks; there is no manager, but a table."""

    league: OfflineLeague
    player_id: str

    async def run(self, work: Work[T]) -> T:
        """Do what asks."""
        return await work(self)

    async def ask(self, query_type: str, **params: Any) -> dict[str, Any]:
        """The `data` of the answer, as far as there is one."""
        rows = {row.player_id: msgspec.to_builtins(row) for row in self.league.table.rows()}
        if query_type == "GET_STANDINGS":
            return {"standings": list(rows.values())}
        if query_type == "GET_PLAYER_STATS" and params.get("player_id") in rows:
            return {"player_stats": rows[params["player_id"]]}
        if query_type == "GET_STATUS":
            played = sum(row["played"] for row in rows.values()) // 2
            totals = {"matches_completed": played, "players": len(rows), "you": self.player_id}
            return {"status": "RUNNING_LEAGUE", **totals}
        raise LeagueError(f"play_league has no manager, and no answer to {query_type} {params}")


class PlayedLeague(Struct, frozen=True):
    """The result of a league: the table, best first, and every match in order."""

    game: str
    seed: str
    table: Sequence[Standing]
    matches: Sequence[PlayedMatch]
    illegal_moves: Sequence[tuple[str, str]]  # player, and what was wrong in which match
    champions: Sequence[Standing]  # all who share rank 1, the champion first

    @property
    def champion(self) -> Standing:
        """Who won it; if several share rank 1, drawn by lot among them."""
        return self.champions[0]

    def __str__(self) -> str:
        rows = [f"{r.rank:4}  {r.points:6}  {r.player_id}  {r.display_name}" for r in self.table]
        return "\n".join([f"{self.game}, seed {self.seed}", "rank  points  player", *rows])


def play_league(
    players: Sequence[Player | Callable[[Turn], Any] | str],
    game: str = "even_odd",
    seed: int | str | None = None,
    cycles: int = 1,
    stages: Sequence[Mapping[str, Any]] = ({"format": "round_robin"},),
) -> PlayedLeague:
    """Everybody against everybody, `cycles` times, in memory and without a clock.

    `stages` are other formats, each with its options: `[{"format": "swiss", "rounds": 5}]`.

    A player is a function, the name of a strategy, or a Player; a game may also be a file. An
    exception in a function is not caught; it gets a note that names the match. Without a seed one
    is drawn; the result holds it.

    Raises:
        LeagueError: there are too few players, or one of them or the game cannot be found, or the
            stages cannot be.
    """
    if len(players) < 2:
        raise LeagueError(f"a league needs at least two players, not {len(players)}")
    if cycles < 1:
        raise LeagueError(f"a league needs at least one cycle, not {cycles}")
    planned = offline_stages(stages, len(players), cycles)
    rules, loop = find_game(as_typed(game)), LoopThread()
    drawn = token_hex(8) if seed is None else str(seed)
    entrants = [_entrant(player, rules.name, loop) for player in players]
    offline = OfflineLeague(rules, drawn, entrants, planned)
    for player_id, player in zip(offline.player_ids, players, strict=True):
        if isinstance(player, Player):
            player.questions = OfflineQuestions(offline, player_id)
    try:
        matches = list(offline.play())
    finally:
        loop.close()
        for player in players:
            if isinstance(player, Player):
                player.questions = None
                player.close()
    table, illegal_moves, champions = offline.table.rows(), offline.illegal_moves, offline.champions
    return PlayedLeague(rules.name, drawn, table, matches, illegal_moves, champions)


def offline_stages(
    asked: Sequence[Mapping[str, Any]], players: int, cycles: int = 1
) -> Sequence[Stage]:
    """The stages for so many players, with all options. Raises LeagueError if they cannot be."""
    if any("seconds" in each for each in asked):
        raise LeagueError("no time passes here, so seconds have no end; set rounds or matches")
    try:
        stages = plan(asked, cycles)
    except ValueError as error:
        raise LeagueError(str(error)) from None
    problem = misfit(stages, players)
    if problem:
        raise LeagueError(f"{players} players cannot play that: {problem}")
    return stages


def _entrant(player: Player | Callable[[Turn], Any] | str, game: str, loop: LoopThread) -> Entrant:
    if isinstance(player, str):
        return player, plugins.load_strategy(player), None
    if isinstance(player, Player):
        call_hook = player.call_hook if player.has_hooks else None
        return player.name, player.function_for(game), call_hook
    if callable(player):
        name = getattr(player, "__name__", type(player).__name__)
        return name, lambda turn: loop.finish(player(turn)), None
    raise LeagueError(
        f"{player!r} is not a player: give a function, the name of a strategy, or a Player"
    )
