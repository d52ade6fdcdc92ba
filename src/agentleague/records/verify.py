"""Is a journal true? Every row is checked against what follows from the rows before it.

Needed are the rows and the game, no secret: a result's row opens the seed that its draws follow
from. What only a referee saw (that a player was silent, what a referee that does not lock reports)
cannot be recomputed; it is counted and said. A check returns what is wrong as a sentence, or None.

Does a round have the matches that the schedule has for it?
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from agentleague.errors import Damaged
from agentleague.games.game import Game
from agentleague.league.events import (
    DialectLearnt,
    Disputed,
    LeagueEnded,
    LeagueOpened,
    LeagueStarted,
    MatchAssigned,
    MatchClosed,
    MatchDecided,
    MatchLocked,
    MatchRuled,
    PlayerRegistered,
    PlayerRemoved,
    PlayerReturned,
    RefereeRegistered,
    RoundEnded,
    RoundScheduled,
    TokenConfirmed,
    TokenMisused,
    TokenRenewed,
    TokenShown,
)
from agentleague.league.league import League
from agentleague.league.schedule import Round, Schedule
from agentleague.league.standings import TIE_BREAKS
from agentleague.records.match_check import Dossier, rules_on_nothing, score_of, what_is_wrong
from agentleague.records.reading import event_of
from agentleague.records.tally import Score, tally
from agentleague.roles.effects import Event
from agentleague.roles.ports import Row

Check = Callable[[Any, Any], str | None]


class Difference(Struct, frozen=True):
    """The first place where a journal does not say what follows."""

    row: int
    match_id: str | None
    sentence: str


class Findings(Struct):
    """What a journal was found to hold; true so far if `difference` is None."""

    league_id: str = ""
    game_type: str = ""
    rows: int = 0
    head: str = ""  # the last row as a receipt
    complete: bool = False
    aborted: bool = False
    seeded: bool = False
    champion: str = ""
    players: int = 0
    rounds_ended: int = 0
    total_rounds: int = 0
    matches_decided: int = 0
    total_matches: int = 0
    recomputed: int = 0  # matches judged again, move by move
    forfeited: int = 0  # matches that a player lost by failing, which is its referee's word
    forfeited_by_removal: int = 0  # those of players that the organiser had taken out before
    believed: list[str] = []  # reported by a referee that does not lock
    no_contests: list[str] = []
    disputed: list[str] = []
    ruled: list[str] = []  # the organiser's word counts, not the result
    difference: Difference | None = None


def verify(rows: Iterable[Row], load_game: Callable[[str], Game]) -> Findings:
    """Check a league's rows from the first to the last; stop at the first difference.

    Raises:
        UnsupportedGame: `load_game` does not find the game that was played.
    """
    inspector = Inspector(load_game)
    findings = inspector.findings
    for row in rows:
        wrong = inspector.take(row)
        if wrong:
            findings.difference = Difference(row.seq, inspector.match_id, wrong)
            return findings
        findings.rows, findings.head = row.seq, f"{row.seq}:{row.hash.hex()}"
    wrong = inspector.table_is_wrong()
    if wrong:
        findings.difference = Difference(findings.rows, None, wrong)
    return findings


def missing_receipt(rows: Sequence[Row], receipts: Iterable[tuple[int, str]]) -> Difference | None:
    """The first receipt (row and hash) that these rows, which begin with row 1, do not honour."""
    for seq, written in receipts:
        if seq > len(rows):
            sentence = f"the receipt names row {seq}, but the journal ends with row {len(rows)}"
            return Difference(seq, None, f"{sentence}: its tail was cut off")
        if rows[seq - 1].hash.hex() != written:
            sentence = f"the receipt says {written}, the journal {rows[seq - 1].hash.hex()}"
            return Difference(seq, None, f"{sentence}: it was written anew, or is another's")
    return None


class Inspector:
    """Takes in row after row of one league; keeps its own books, and the league's beside them."""

    def __init__(self, load_game: Callable[[str], Game]) -> None:
        self.findings = Findings()
        self.match_id: str | None = None  # what the row at hand is about
        self._load_game = load_game
        self._league = League()  # only to compare its table with ours
        self._opened: LeagueOpened | None = None
        self._schedule: Schedule | None = None
        self._players: dict[str, str] = {}
        self._referees: set[str] = set()
        self._removed: dict[str, int] = {}  # from which round on
        self._entered: list[str] = []  # in the order of the schedule
        self._matches: dict[str, Dossier] = {}
        self._playing: list[Dossier] = []  # the matches of the running round
        self._round_id, self._ended = 0, False
        self._decisions: dict[str, MatchDecided] = {}
        self._rulings: dict[str, MatchRuled] = {}  # the last one of each match

    def take(self, row: Row) -> str | None:
        """What is wrong with the next row."""
        self.match_id = None
        try:
            event = event_of(row)
        except Damaged as error:
            return str(error)
        self.match_id = getattr(event, "match_id", None)
        if self._opened is None and not isinstance(event, LeagueOpened):
            return f"the journal begins with {row.kind}, not with league_opened"
        if isinstance(event, LeagueOpened) and event.league_id != row.league_id:
            return f"it opens league {event.league_id!r} in the journal of {row.league_id!r}"
        return self._check(event) or self._apply(event)

    def table_is_wrong(self) -> str | None:
        """Whether the league's own table differs from the results counted by hand."""
        if self._schedule is None:
            return None
        rows = zip(self._league.table.rows(), self._table(), strict=True)
        wrong = next(((row, own) for row, own in rows if msgspec.structs.asdict(row) != own), None)
        return wrong and f"the table has the row {wrong[0]}, but counted by hand it is {wrong[1]}"

    def _check(self, event: Event) -> str | None:
        if self._ended and isinstance(event, _DECIDING):
            return "the league had ended before; nothing may change its results any more"
        if isinstance(event, _OF_A_MATCH) and event.match_id not in self._matches:
            return f"{event.match_id} is no match of the rounds scheduled so far"
        check = self._CHECKS.get(type(event))
        return check(self, event) if check else None

    def _apply(self, event: Event) -> str | None:
        try:
            self._league.apply(event)
        except (AssertionError, LookupError, ValueError) as error:
            return f"the row cannot follow those before it ({error})"
        return None

    def _open(self, event: LeagueOpened) -> str | None:
        if self._opened:
            return "the league is opened a second time"
        unknown = [name for name in event.tie_breaks if name not in TIE_BREAKS]
        if unknown:
            return f"its tie-break {unknown[0]!r} is unknown"
        self._game = self._load_game(event.game_type)
        try:
            self._game.start(event.rules.game_options)
        except Exception as error:  # The game is a plug-in.
            return f"the game refuses the league's options: {error}"
        self._opened = event
        found = self.findings
        found.league_id, found.game_type = event.league_id, event.game_type
        found.seeded = event.seeded
        return None

    def _player(self, event: PlayerRegistered) -> str | None:
        if event.player_id in self._players:
            return f"{event.player_id} is registered a second time"
        if self._schedule:
            return f"{event.player_id} is registered after the start"
        self._players[event.player_id] = event.display_name
        self.findings.players += 1
        return None

    def _referee(self, event: RefereeRegistered) -> str | None:
        if event.referee_id in self._referees:
            return f"{event.referee_id} is registered a second time"
        self._referees.add(event.referee_id)
        return None

    def _of_an_agent(
        self, event: TokenRenewed | TokenConfirmed | TokenMisused | DialectLearnt | TokenShown
    ) -> str | None:
        if event.agent_id not in self._players and event.agent_id not in self._referees:
            return f"nobody is registered as {event.agent_id}"
        return None

    def _of_a_player(self, event: PlayerReturned | PlayerRemoved) -> str | None:
        if event.player_id not in self._players:
            return f"nobody is registered as {event.player_id}"
        if isinstance(event, PlayerRemoved):
            self._removed[event.player_id] = event.from_round
        return None

    def _start(self, event: LeagueStarted) -> str | None:
        assert self._opened
        if self._schedule:
            return "the league starts a second time"
        strangers = [player_id for player_id in event.players if player_id not in self._players]
        if strangers:
            return f"{strangers[0]} starts and never registered"
        missing = self._players.keys() - self._removed.keys() - set(event.players)
        if missing:
            return f"{min(missing)} registered and does not start"
        try:
            self._schedule = Schedule(event.players, self._opened.cycles)
        except ValueError as error:
            return f"no schedule follows: {error}"
        self._entered = event.players
        self.findings.total_rounds = self._schedule.rounds_total
        self.findings.total_matches = self._schedule.matches_total
        return None

    def _round(self, event: RoundScheduled) -> str | None:
        if self._schedule is None:
            return "a round is scheduled before the league has started"
        ended = self.findings.rounds_ended
        if self._round_id != ended or event.round_id != ended + 1:
            return f"round {event.round_id} is scheduled when {ended} rounds are over"
        if event.round_id > self._schedule.rounds_total:
            return f"round {event.round_id} is scheduled, of {self._schedule.rounds_total}"
        wrong = pairings_differ(self._schedule.round(event.round_id), event)
        strangers = [m for m in event.matches if m.referee_id not in self._referees]
        if wrong or strangers:
            return wrong or f"{strangers[0].referee_id} is given a match and never registered"
        self._round_id = event.round_id
        self._playing = [
            Dossier(match.match_id, (match.player_a, match.player_b), match.commitment)
            for match in event.matches
        ]
        self._matches |= {dossier.match_id: dossier for dossier in self._playing}
        return None

    def _assigned(self, event: MatchAssigned) -> str | None:
        dossier = self._matches[event.match_id]
        if event.epoch != dossier.epoch + 1:
            return f"it is given out as epoch {event.epoch}, after epoch {dossier.epoch}"
        if event.referee_id not in self._referees:
            return f"it is given to {event.referee_id}, who never registered"
        if dossier.closed:
            return "it is given out after it was closed"
        dossier.epoch = event.epoch
        return None

    def _locked(self, event: MatchLocked) -> str | None:
        dossier = self._matches[event.match_id]
        wrong = dossier.cannot_take(event)
        if wrong is None:
            dossier.locks.append(event)
        return wrong

    def _decided(self, event: MatchDecided) -> str | None:
        assert self._opened
        dossier = self._matches[event.match_id]
        wrong = dossier.cannot_take(event) or what_is_wrong(
            dossier, event, self._game, self._opened
        )
        if wrong:
            return wrong
        dossier.decided = True
        self._note(event)
        return None

    def _note(self, event: MatchDecided) -> None:
        found = self.findings
        found.matches_decided += 1
        self._decisions[event.match_id] = event
        if event.result.no_contest is True:
            found.no_contests.append(event.match_id)
            return
        if not event.verified:
            found.believed.append(event.match_id)
        elif event.forfeits:
            now = self._round_id
            out = all(self._removed.get(player, now + 1) <= now for player, _ in event.forfeits)
            found.forfeited_by_removal += out
            found.forfeited += not out
        else:
            found.recomputed += 1

    def _closed(self, event: MatchClosed) -> str | None:
        dossier = self._matches[event.match_id]
        if not dossier.decided:
            return "it is closed and has no result"
        if dossier.closed:
            return "it is closed a second time"
        if event.epoch > dossier.epoch:
            return f"it is closed in epoch {event.epoch}, and was never given out so often"
        dossier.closed = True
        return None

    def _disputed(self, event: Disputed) -> str | None:
        self.findings.disputed.append(event.match_id)
        return None

    def _ruled(self, event: MatchRuled) -> str | None:
        dossier, found = self._matches[event.match_id], self.findings
        if not dossier.decided:
            return "the organiser rules on it and it has no result"
        wrong = rules_on_nothing(dossier, event)
        if wrong:
            return wrong
        self._rulings[event.match_id] = event
        found.ruled = [m for m, each in self._rulings.items() if each.verdict != "stand"]
        if found.champion:
            found.champion = self._table()[0]["player_id"]
        return None

    def _round_ended(self, event: RoundEnded) -> str | None:
        if event.round_id != self._round_id or event.round_id == self.findings.rounds_ended:
            over = " no more" if self._round_id == self.findings.rounds_ended else ""
            return f"round {event.round_id} ends, but round {self._round_id} is played{over}"
        for dossier in self._playing:
            if not dossier.closed:
                state = "is not closed" if dossier.decided else "has no result"
                return f"round {event.round_id} ends and its match {dossier.match_id} {state}"
        self.findings.rounds_ended = event.round_id
        return None

    def _end(self, event: LeagueEnded) -> str | None:
        found = self.findings
        if not event.aborted and found.rounds_ended != found.total_rounds:
            return f"the league ends after {found.rounds_ended} of {found.total_rounds} rounds"
        leader = self._table()[0]["player_id"] if self._schedule else ""
        if event.champion != leader and (event.champion or found.matches_decided):
            return f"its champion is {event.champion!r}, but by the results {leader!r} is first"
        self._ended = found.complete = True
        found.aborted, found.champion = event.aborted, event.champion
        return None

    def _table(self) -> list[dict[str, Any]]:
        assert self._opened
        names = {player_id: self._players[player_id] for player_id in self._entered}
        scores: list[Score] = []
        for match_id, decided in self._decisions.items():
            players = self._matches[match_id].players
            scores += score_of(players, decided.result, self._rulings.get(match_id))
        return tally(names, scores, self._opened.points, self._opened.tie_breaks)

    _CHECKS: ClassVar[dict[type[Event], Check]] = {
        LeagueOpened: _open,
        PlayerRegistered: _player,
        PlayerReturned: _of_a_player,
        PlayerRemoved: _of_a_player,
        RefereeRegistered: _referee,
        TokenRenewed: _of_an_agent,
        TokenConfirmed: _of_an_agent,
        TokenMisused: _of_an_agent,
        DialectLearnt: _of_an_agent,
        TokenShown: _of_an_agent,
        LeagueStarted: _start,
        RoundScheduled: _round,
        MatchAssigned: _assigned,
        MatchLocked: _locked,
        MatchDecided: _decided,
        MatchClosed: _closed,
        Disputed: _disputed,
        MatchRuled: _ruled,
        RoundEnded: _round_ended,
        LeagueEnded: _end,
    }


_OF_A_MATCH = (MatchAssigned, MatchLocked, MatchDecided, MatchClosed, Disputed, MatchRuled)
_DECIDING = (
    PlayerRegistered,
    PlayerRemoved,
    LeagueStarted,
    RoundScheduled,
    MatchAssigned,
    MatchLocked,
    MatchDecided,
    RoundEnded,
    LeagueEnded,
)


def pairings_differ(planned: Round, event: RoundScheduled) -> str | None:
    """The first difference in words, or None."""
    written = [(match.match_id, match.player_a, match.player_b) for match in event.matches]
    for pairing, match in zip(planned.pairings, written, strict=False):
        if tuple(pairing) != match:
            return f"the journal has {_met(match)}, but the schedule {_met(pairing)}"
    if len(written) != len(planned.pairings) or tuple(event.byes) != planned.byes:
        return (
            f"round {event.round_id} has {len(written)} matches and the byes {event.byes}, but in "
            f"the schedule it has {len(planned.pairings)} and {list(planned.byes)}"
        )
    return None


def _met(match: tuple[str, str, str]) -> str:
    return f"{match[0]} between {match[1]} and {match[2]}"
