"""One league as pages need it: folded from its rows, with what no fold keeps, and what is live."""

import sys
from array import array
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec import Struct

from agentleague.errors import Damaged, LeagueError
from agentleague.games.game import Game
from agentleague.league import event_text, events
from agentleague.league.league import League
from agentleague.match.transcript import LATE, OK
from agentleague.protocol import timestamps
from agentleague.protocol.printable import one_line
from agentleague.records import explanations, match_story
from agentleague.records.reading import event_of
from agentleague.roles.effects import Event
from agentleague.roles.ports import JournalReader, Row
from agentleague.runtime.host import JournalArchive
from agentleague.runtime.plugins import load_game

HAPPENINGS_MAX = 50  # of what just happened
RATE_SECONDS = 10.0  # over which matches a second are counted
# Nobody wants to hear of these. A lock tells a number of a match that is not decided, and a change
# of an end point where an agent listens.
QUIET = (
    *(events.TokenRenewed, events.TokenConfirmed, events.TokenShown, events.Told),
    *(events.MatchLocked, events.MatchBegun, events.MatchClosed, events.EndpointProved),
    events.EndpointChanged,
)


class Happening(NamedTuple):
    """A row that people want to hear of."""

    seq: int
    at: str
    sentence: str
    match_id: str
    kind: str = ""  # of the row, such as match_decided


class Ended(NamedTuple):
    """A decided match in short; what counts in the table, with the organiser's word."""

    match_id: str
    round_id: int
    players: tuple[str, str]
    winner: str | None  # None: a draw, or nobody
    status: str  # WIN, DRAW, TECHNICAL_LOSS, NO_CONTEST
    at: str  # when it was decided
    referee_id: str = ""

    def outcome(self, player_id: str) -> str:
        """How it went for one of its players: a word that templates have a mark for."""
        if self.status == "NO_CONTEST":
            return "void"
        if self.status == "DRAW":
            return "drawn"
        if player_id == self.winner:
            return "won"
        return "forfeited" if self.status == "TECHNICAL_LOSS" else "lost"


class Choice(NamedTuple):
    """A move of a player as JSON text."""

    round_id: int
    move: str


class PlayerLog(Struct):
    """What is kept of one player beside the table."""

    matches: list[str] = msgspec.field(default_factory=list)  # decided ones, in order
    choices: list[Choice] = msgspec.field(default_factory=list)
    move_ms: "array[int]" = msgspec.field(default_factory=lambda: array("L"))  # times for moves
    # What went wrong in matches that it did not lose by it: verdict, whether it was to join.
    spared: Counter[tuple[str, bool]] = msgspec.field(default_factory=Counter)


class RefereeLog(Struct):
    """What is kept of one referee."""

    matches: list[str] = msgspec.field(default_factory=list)  # decided with it, in order
    taken: list[events.MatchAssigned] = msgspec.field(default_factory=list)  # given to others


def at_once(work: Callable[[], Any]) -> Future[Any]:
    """Do this now: nobody else waits."""
    done = Future[Any]()
    done.set_result(work())
    return done


class LeagueView:
    """A league that grows row by row; `take` alone changes what the journal says of it."""

    def __init__(
        self, reader: JournalReader, league_id: str = "", game: Game | None = None
    ) -> None:
        self.reader, self.game = reader, game
        self.directory, self.game_file = "DIR", ""  # as commands on its pages name them
        self.begin(league_id)
        self.version = 0  # the number of the last row that was taken
        self.first_at = self.last_at = ""  # when its first and its last row were written
        self.happenings: deque[Happening] = deque(maxlen=HAPPENINGS_MAX)
        self.ended: dict[str, Ended] = {}
        self.logs: dict[str, PlayerLog] = {}
        self.referee_logs: dict[str, RefereeLog] = {}
        self.round_began: list[str] = []  # when each round was scheduled
        self.points: list[dict[str, tuple[int, int]]] = []  # by round: player -> points, rank
        self.assigned: dict[str, list[events.MatchAssigned]] = {}  # matches given out again
        self.results = 0  # goes up when a match is decided or ruled on
        self.strength: tuple[object, dict[str, Any]] | None = None  # kept by `strength.facts`
        self.awaited: tuple[object, Future[dict[str, Any]]] | None = None  # the next of these
        self.aside: Callable[[Callable[[], Any]], Future[Any]] = at_once  # for what takes long
        self.live: dict[str, Any] = {}  # what the manager answered to GET_STATUS, if it did
        self.live_error = ""  # why it did not, since when
        self.problem = ""  # why the journal cannot be read on
        self.changes = 0  # goes up when a page may look different
        self._decided_at: deque[float] = deque(maxlen=10_000)

    def begin(self, league_id: str) -> None:
        """Show this league; none yet if it is empty."""
        self.league_id = league_id
        self.league = League(JournalArchive(self.reader, league_id))

    def hear(self, live: dict[str, Any], error: str) -> None:
        """Take in what the manager answered, or why it did not."""
        if live or (live, error) != (self.live, self.live_error):
            self.live, self.live_error = live, error
            self.changes += 1

    @property
    def game_option(self) -> str:
        """What commands need beside the directory, if the game is not installed."""
        is_missing = self.league.opened and not self.game
        file = self.game_file or ("FILE.py" if is_missing else "")
        return f" --game {file}" if file else ""

    @property
    def notices(self) -> list[str]:
        """What every page says at its top: what is wrong, and what to do."""
        return [each for each in (self.problem, self.live_error) if each]

    def take(self, row: Row) -> None:
        """Take in the next row. Raises Damaged if it cannot follow those before it."""
        event = event_of(row)
        try:
            self.league.apply(event)
        except (AssertionError, LookupError, ValueError):
            raise Damaged(f"row {row.seq} ({row.kind}) cannot follow those before it") from None
        self.version, self.last_at = row.seq, row.at
        self.changes += 1
        self.first_at = self.first_at or row.at
        if not isinstance(event, QUIET):
            match_id = getattr(event, "match_id", "")
            said = event_text.sentence(event)
            self.happenings.append(Happening(row.seq, row.at, said, match_id, row.kind))
        note = self._NOTED.get(type(event))
        if note:
            note(self, event, row.at)

    def _scheduled(self, event: events.RoundScheduled, at: str) -> None:
        self.round_began.append(at)
        for number, match in enumerate(event.matches, 1):  # Pages find matches by these ids.
            if match.match_id != f"R{event.round_id}M{number}":
                raise Damaged(f"a match of round {event.round_id} is {one_line(match.match_id)!r}")

    def _decided(self, event: events.MatchDecided, at: str) -> None:
        ended = self._short(event.match_id, at)
        self.ended[event.match_id] = ended
        self.results += 1
        self._decided_at.append(timestamps.parse(at).timestamp())
        for player_id in ended.players:
            self.log_of(player_id).matches.append(event.match_id)
        referee_id = self.league.matches[event.match_id].referee_id
        self.referee_log_of(referee_id).matches.append(event.match_id)
        for _, player_id, move in event.moves:  # Those that were locked before are among them.
            text = sys.intern(msgspec.json.encode(move).decode())
            self.log_of(player_id).choices.append(Choice(ended.round_id, text))

    def _ruled(self, event: events.MatchRuled, at: str) -> None:
        self.results += 1
        self.ended[event.match_id] = self._short(event.match_id, self.ended[event.match_id].at)

    def _assigned(self, event: events.MatchAssigned, at: str) -> None:
        self.assigned.setdefault(event.match_id, []).append(event)
        former = self.league.matches[event.match_id].referees[-2]
        self.referee_log_of(former).taken.append(event)

    def _closed(self, event: events.MatchClosed, at: str) -> None:
        ended = self.ended[event.match_id]
        for row in event.exchanges:
            log = self.log_of(row.player_id)
            if row.move is not None and row.answered_after is not None:
                log.move_ms.append(row.answered_after)
            if row.verdict != OK and ended.outcome(row.player_id) != "forfeited":
                verdict = explanations.detailed(row.verdict, row.message, row.move, row.note)
                if verdict == LATE or verdict in explanations.CAUSES:
                    log.spared[verdict, row.message == "GAME_INVITATION"] += 1

    def _opened(self, event: events.LeagueOpened, at: str) -> None:
        if self.game is None:
            with suppress(LeagueError):  # Pages show no boards of a game that is not installed.
                self.game = load_game(event.game_type)

    def _round_ended(self, event: events.RoundEnded, at: str) -> None:
        rows = self.league.table.rows()
        self.points.append({row.player_id: (row.points, row.rank) for row in rows})

    def _league_ended(self, event: events.LeagueEnded, at: str) -> None:
        self.live_error = ""  # Its manager may be gone now.

    def _short(self, match_id: str, at: str) -> Ended:
        record = self.league.matches[match_id]
        result = record.result
        assert result
        status = "NO_CONTEST" if result.no_contest is True else result.status
        winner = result.winner_player_id
        at_match = (match_id, record.round_id, record.players)
        return Ended(*at_match, winner, status, at, record.referee_id)

    def log_of(self, player_id: str) -> PlayerLog:
        """What is kept of a player."""
        return self.logs.setdefault(player_id, PlayerLog())

    def referee_log_of(self, referee_id: str) -> RefereeLog:
        """What is kept of a referee."""
        return self.referee_logs.setdefault(referee_id, RefereeLog())

    def name_of(self, agent_id: str) -> str:
        """The name of a player or referee; its id where nobody of that id is known."""
        roster = self.league.roster
        known = (roster.players, roster.referees, roster.waiting)
        found = next((each[agent_id] for each in known if agent_id in each), None)
        return found.display_name if found else agent_id

    def match_facts(self, match_id: str) -> dict[str, Any]:
        """A match as GET_MATCH has it. Raises MatchMismatch for one that is not there.

        Of an undecided match nothing stands in it that one of its players may not see.
        """
        return match_story.facts_of(self.league, match_id, self.assigned.get(match_id, ()))

    def rate(self, now: float) -> float:
        """Matches decided a second, of late."""
        recent = sum(1 for at in self._decided_at if at > now - RATE_SECONDS)
        return recent / RATE_SECONDS

    _NOTED: ClassVar[dict[type[Event], Callable[["LeagueView", Any, str], None]]] = {
        events.RoundScheduled: _scheduled,
        events.MatchAssigned: _assigned,
        events.MatchDecided: _decided,
        events.MatchRuled: _ruled,
        events.MatchClosed: _closed,
        events.RoundEnded: _round_ended,
        events.LeagueEnded: _league_ended,
        events.LeagueOpened: _opened,
    }
