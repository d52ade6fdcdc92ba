"""One league as a fold over its events: what was decided so far, and nothing else.

Reading a journal into a League rebuilds all that the manager knows; deciding is the manager's.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, get_args

from msgspec import UNSET, UnsetType

from agentleague.league import events
from agentleague.league.formats import stage_words
from agentleague.league.formats.format import ELO, Done, Format, PlayedMatch, Round, Stage, Totals
from agentleague.league.formats.stages import FORMATS, NextStage, StageProgress, usual_stages
from agentleague.league.match_records import Archive, LeagueLimits, MatchRecord, MatchRecords
from agentleague.league.roster import Roster
from agentleague.league.standings import Points, Standing, Table, drawn_champion
from agentleague.protocol import seats
from agentleague.protocol.messages import Status
from agentleague.roles.effects import Event


class Phase(StrEnum):
    """Where a league stands: the states of document 001 section 9.2."""

    REGISTERING = "WAITING_FOR_REGISTRATIONS"
    SCHEDULING = "CREATING_SCHEDULE"
    RUNNING = "RUNNING_LEAGUE"
    COMPLETED = "LEAGUE_COMPLETED"


class League:
    """The state of a league; `apply` alone changes it, live and on replay.

    With an archive, in which their rows can be found again, it forgets the matches of old rounds.
    `formats` are those that its stages may have.
    """

    def __init__(
        self,
        archive: Archive | None = None,
        *,
        formats: Mapping[str, Format] = FORMATS,
        limits: LeagueLimits | None = None,
    ) -> None:
        self.formats = formats
        self.limits = limits or LeagueLimits()
        self.archive = archive
        self.manager_url = ""  # where its seats are, if somebody said so: no event does
        self.entrants: list[str] = []  # those who play, from the start on
        self.stages: Sequence[Stage] = ()  # from the opening on
        self.progress: StageProgress  # of its stages, from the opening on
        self.seq = 0  # rows applied so far
        self.generation = 0  # of draws that are not decided, and of new epochs and tokens
        self.losses: dict[int, events.LossAccepted] = {}  # row -> which loss it accepts
        self.phase = Phase.REGISTERING
        self.roster = Roster()
        self.matches = MatchRecords(archive, self.limits)
        self.byes: dict[int, list[str]] = {}  # without those of forgotten rounds that are planned
        self.round_id = 0  # the round that runs, or ran last
        self.rounds_ended = 0
        self.ends_at: int | UnsetType = UNSET  # no round of the running stage begins later
        self.round_ended_seq = 0
        self.open_matches: set[str] = set()  # of the running round, not closed yet
        self.decided_total = 0
        self.decided_by = dict.fromkeys(get_args(Status), 0)  # how matches ended, as they were told
        self.counts: dict[type[Event], int] = {}  # rows of each kind
        self.opened: events.LeagueOpened | None = None
        self.rules: events.LeagueOpened  # its id, game and rules, once it is opened
        self.table = Table({})
        self._reached: Mapping[str, stage_words.Reached] | None = {}  # None: to be found out
        self.champion = ""
        self.champion_commitment: str | UnsetType = UNSET
        self.champion_seed: str | UnsetType = UNSET  # once the league is over
        self.paused = self.aborted = False
        self.ending = ""  # why it was not shorter or longer, where results decide that
        self.told: set[tuple[str, int]] = set()  # what everybody was told of the last rounds
        self.disputed: dict[str, None] = {}  # matches that wait for the organiser's word, in order
        self.unconfirmed: dict[str, None] = {}  # forfeited as one referee alone says, in order
        self.contradictions: dict[str, set[str]] = {}  # referee -> players, see `contradicted`
        self.ruled: dict[str, None] = {}  # matches on which the organiser ruled, in order
        self.misuses: dict[str, list[events.TokenMisused]] = {}  # by agent: whose token it was
        self._silences: dict[str, int] = {}  # player -> attempts in a row without an answer
        self.suspended: set[str] = set()  # players that `is_suspended`
        self.timed_out: dict[str, Any] = {}  # player -> the question of which every attempt ran out

    def apply(self, event: Event) -> None:
        """Take in one decision."""
        assert self.opened or type(event) is events.LeagueOpened, "it begins with league_opened"
        self.seq += 1
        self.counts[type(event)] = self.counts.get(type(event), 0) + 1
        self._APPLY[type(event)](self, event)

    def is_suspended(self, player_id: str) -> bool:
        """Whether a player let so many attempts run out that it gets no retries."""
        return player_id in self.suspended

    def names_of(self, players: Iterable[str]) -> dict[str, str]:
        """The names of these players, by id."""
        return {each: self.roster.players[each].display_name for each in players}

    def url_of(self, agent_id: str) -> str:
        """Where an agent is called; a seat by its path, where nobody knows the manager's URL."""
        endpoint = self.roster.member(agent_id).endpoint
        is_path = seats.is_seat(endpoint) and self.manager_url
        return seats.url_at(self.manager_url, endpoint) if is_path else endpoint

    @property
    def undecided(self) -> list[str]:
        """The matches of the running round that have no result."""
        return sorted(each for each in self.open_matches if not self.matches[each].decided)

    @property
    def has_started(self) -> bool:
        """Whether registration is closed."""
        return bool(self.entrants)

    @property
    def players_total(self) -> int:
        """How many play, or would if the league started now; who was removed before does not."""
        roster = self.roster
        return len(self.entrants) or len(roster.players) - len(roster.removed)

    @property
    def totals(self) -> Totals | None:
        """How long it will be, once its last stage runs and if that is known."""
        return self.progress.totals if self.has_started else None

    @property
    def is_length_known(self) -> bool:
        """Whether `total_rounds` and `total_matches` are what there will be."""
        return self.totals is not None or self.phase is Phase.COMPLETED

    @property
    def total_rounds(self) -> int:
        """How many rounds there are; if nobody can tell, those scheduled so far."""
        totals = None if self._has_changed_length else self.totals
        return totals.rounds if totals else self.round_id

    @property
    def known_rounds(self) -> int:
        """The rounds whose matches are known: all of them, unless they depend on results."""
        return self.total_rounds if self.is_fixed else self.round_id

    @property
    def is_fixed(self) -> bool:
        """Whether all matches of a league that has started are known, as many in each round."""
        return self.has_started and self.progress.is_fixed

    @property
    def total_matches(self) -> int:
        """The matches of those rounds."""
        totals = None if self._has_changed_length else self.totals
        if totals:
            return totals.matches
        return sum(map(self.matches.size, range(1, self.round_id + 1)))

    @property
    def _has_changed_length(self) -> bool:
        """Whether it is over and may have been shorter than was thought: players may leave."""
        return self.phase is Phase.COMPLETED and not self.is_fixed and not self.aborted

    def next_round(self) -> Round | NextStage | Done | None:
        """What comes after the rounds that have ended; None: a match is not over."""
        if self.open_matches:
            return None
        removed = self.roster.removed.keys()
        following = self.progress.next_round(removed)
        if not isinstance(following, Done):
            return following
        ranked = [row.player_id for row in self.table.rows()]
        latecomers = self.latecomers if self.rules.late else []
        return self.progress.next_stage(ranked, removed, latecomers)

    @property
    def latecomers(self) -> list[str]:
        """Who registered after the start and does not play yet."""
        playing, removed = self.table.players, self.roster.removed
        return [each for each in self.roster.players if each not in playing and each not in removed]

    @property
    def joining(self) -> list[str]:
        """Those of them who play from the next round or cycle on, if no stage ends before."""
        return self.latecomers if self.entry == "now" else []

    @property
    def entry(self) -> str:
        """When somebody who comes late plays: `now` or with the next `stage`; empty: never."""
        if not self.has_started or self.phase is Phase.COMPLETED or not self.rules.late:
            return ""
        if self.rules.late == "play_remaining":
            of_stage = range(self.progress.began + 1, self.round_id + 1)
            if self.progress.has_room(self.round_id, map(self.matches.size, of_stage)):
                return "now"
        return "stage" if self.progress.stage < len(self.stages) else ""

    @property
    def takes_players(self) -> bool:
        """Whether somebody new would play."""
        return self.phase is Phase.REGISTERING or bool(self.entry)

    def is_late(self, agent_id: str) -> bool:
        """Whether it registered after the start and does not play yet."""
        is_in = agent_id in self.table.players or agent_id in self.roster.removed
        return self.has_started and agent_id in self.roster.players and not is_in

    def champions(self) -> Sequence[Standing]:
        """Who wins if it ends now: all of rank 1; nobody before the first result."""
        if not self.has_started or not self.decided_total:
            return ()
        return self.table.first()

    def champion_now(self, seed: str | UnsetType) -> str:
        """The documents' one champion if it ends now: drawn among those who share rank 1."""
        untold = self._untold()
        self._count(*untold)
        first = self.champions()
        self._count(*untold, times=-1)
        if first and seed:
            return drawn_champion(bytes.fromhex(seed), self.rules.league_id, first).player_id
        return first[0].player_id if first else ""

    def planned_round(self, round_id: int) -> Round | None:
        """A round that was scheduled, or that the format can tell before."""
        if self.is_fixed:
            return self.progress.planned(round_id)
        if not 1 <= round_id <= self.round_id:
            return None
        results = self.progress.results
        is_kept = round_id <= len(results)
        matches: Iterable[MatchRecord | PlayedMatch] = (
            results[round_id - 1].matches if is_kept else self.matches.of_round(round_id)
        )
        pairings = tuple(match.players for match in matches)
        return Round(round_id, pairings, tuple(self.byes[round_id]))

    def _opened(self, event: events.LeagueOpened) -> None:
        self.opened = self.rules = event
        self.stages = stages_of(event)
        self.progress = StageProgress(self.stages, Points(*event.points), self.formats)
        if event.late:
            self.progress.is_fixed = False

    def _started(self, event: events.LeagueStarted) -> None:
        self.phase = Phase.SCHEDULING
        self.progress.begin(event.players, event.elo or {})
        self.entrants, self.ends_at = list(event.players), event.ends_at
        self.champion_commitment = event.champion_commitment
        self.table = self.new_table()
        self._rank()

    def new_table(self) -> Table:
        """A table of those who play, in which nothing is counted yet."""
        by_id = () if self.champion_commitment else ("player_id",)
        tie_breaks = (*self.rules.tie_breaks, *by_id)
        return Table(self.names_of(self.entrants), Points(*self.rules.points), tie_breaks)

    def _stage_started(self, event: events.StageStarted) -> None:
        for player_id in event.players:
            self._enter(player_id)
        self.progress.begin(event.players, {}, self.roster.removed.keys())
        self.ends_at = event.ends_at
        self._rank()

    def _joined(self, event: events.PlayerJoined) -> None:
        self._enter(event.player_id)
        self.progress.join(event.player_id, event.elo or ELO)
        self._rank()

    def _enter(self, player_id: str) -> None:
        if player_id not in self.table.players:
            self.entrants.append(player_id)
            self.table.add(player_id, self.roster.players[player_id].display_name)

    def _time_up(self, event: events.TimeUp) -> None:
        self.progress.is_time_up = True

    def _rank(self) -> None:
        merits = self.progress.merits(self.roster.removed.keys())
        self._reached = None if merits else {}
        self.table.rank_by(merits, self._how_far)

    @property
    def reached(self) -> Mapping[str, stage_words.Reached]:
        """What ranks before points, in words; empty where nothing does."""
        if self._reached is None:
            self._reached = stage_words.reached(self.progress, self.roster.removed)
        return self._reached

    def _how_far(self, player_id: str) -> str:
        found = self.reached.get(player_id)
        return found.why if found else ""

    def _scheduled(self, event: events.RoundScheduled) -> None:
        self.phase = Phase.RUNNING
        self.round_id = event.round_id
        self.byes[event.round_id] = event.byes
        oldest = event.round_id - self.limits.told_rounds
        self.told = {each for each in self.told if each[1] >= oldest}
        self.matches.schedule(event, self.seq)
        self.open_matches.update(match.match_id for match in event.matches)

    def _lost(self, event: events.LossAccepted) -> None:
        self.generation = event.generation
        self.losses[self.seq] = event
        self.champion_commitment = event.champion_commitment or self.champion_commitment
        self.told.discard(("announcement", self.round_id))  # Its new commitments are told too.
        for match_id in event.commitments:
            self.matches[match_id].take(event, self.seq)

    def _of_match(
        self, event: events.MatchAssigned | events.MatchBegun | events.MatchLocked
    ) -> None:
        self.matches[event.match_id].take(event, self.seq)

    def _decided(self, event: events.MatchDecided) -> None:
        record = self.matches[event.match_id]
        record.take(event, self.seq)
        self.decided_total += 1
        self.decided_by[event.result.status] += 1
        if record.claimed and (players := record.contradicted):
            self.contradictions.setdefault(record.claimed_by, set()).update(players)
        if event.unconfirmed is True:
            self.unconfirmed[event.match_id] = None

    def _untold(self) -> list[MatchRecord]:
        """The matches that have a result, and that the table counts when the players know it."""
        if self.phase is Phase.COMPLETED:
            return []
        records = [self.matches[match_id] for match_id in self.open_matches]
        return [record for record in records if record.decided]

    def _count(self, *records: MatchRecord, times: int = 1) -> None:
        for record in records:
            result = record.result
            assert result
            if result.no_contest is not True:
                winner, technical = result.winner_player_id, result.status == "TECHNICAL_LOSS"
                self.table.count(*record.players, winner=winner, technical=technical, times=times)

    def _ruled(self, event: events.MatchRuled) -> None:
        record = self.matches.hold(event.match_id)
        assert record.decided, f"{event.match_id} is ruled on and has no result"
        counted = [record] if record.closed or self.phase is Phase.COMPLETED else []
        self._count(*counted, times=-1)
        record.take(event, self.seq)
        self._count(*counted)
        if record.round_id <= self.rounds_ended:
            place = int(record.match_id.partition("M")[2]) - 1
            self.progress.replace(record.round_id, place, as_played(record))
            self._rank()
        self.disputed.pop(event.match_id, None)
        self.unconfirmed.pop(event.match_id, None)
        self.ruled[event.match_id] = None
        if self.champion:
            self.champion = self.champion_now(self.champion_seed)

    def _closed(self, event: events.MatchClosed) -> None:
        record = self.matches[event.match_id]
        record.take(event, self.seq)
        self.open_matches.discard(event.match_id)
        if self.phase is not Phase.COMPLETED:
            self._count(record)
        for player_id, (unanswered, answered) in event.silences.items():
            before = 0 if answered else self._silences.get(player_id, 0)
            self._silences[player_id] = before + unanswered
            is_silent = before + unanswered >= self.limits.silences_max
            (self.suspended.add if is_silent else self.suspended.discard)(player_id)
        if event.timed_out and self.rules.rules.patience == "learning":
            known = self.timed_out | event.timed_out
            self.timed_out = {player: question for player, question in known.items() if question}

    def _disputed(self, event: events.Disputed) -> None:
        self.matches.hold(event.match_id).take(event, self.seq)
        self.disputed[event.match_id] = None

    def _misused(self, event: events.TokenMisused) -> None:
        self.misuses.setdefault(event.agent_id, []).append(event)

    def _learnt(self, event: events.DialectLearnt) -> None:
        self.roster.dialects[event.agent_id] = event.dialect

    def _round_ended(self, event: events.RoundEnded) -> None:
        self.rounds_ended, self.round_ended_seq = event.round_id, self.seq
        progress, byes = self.progress, self.byes[event.round_id]
        progress.end_round(map(as_played, self.matches.of_round(event.round_id)), byes)
        if not progress.is_fixed:
            self.table.count_byes(byes, progress.bye_points())
            self._rank()
        for forgotten in self.matches.end_round(event.round_id, self.seq):
            if progress.is_fixed:
                del self.byes[forgotten]

    def _ended(self, event: events.LeagueEnded) -> None:
        self._count(*self._untold())
        self.phase, self.champion = Phase.COMPLETED, event.champion
        self.aborted, self.paused = event.aborted, False
        self.champion_seed = event.seed
        if self.has_started and not event.aborted:
            self.ending = self.progress.ending(self.roster.removed.keys())
            self.progress.is_time_up = True  # A late ruling cannot open it again.

    def _paused(self, event: events.LeaguePaused | events.LeagueContinued) -> None:
        self.paused = isinstance(event, events.LeaguePaused)

    def _approved(self, event: events.RefereeApproved) -> None:
        self.roster.approve(event)
        self.contradictions.pop(event.referee_id, None)

    def _removed(self, event: events.PlayerRemoved) -> None:
        self.roster.removed[event.player_id] = event.from_round
        if self.has_started:
            self._rank()  # Somebody may win by it, and no further round be played.

    _APPLY: ClassVar[dict[type[Event], Callable[..., None]]] = {
        events.LeagueOpened: _opened,
        events.PlayerRegistered: lambda self, event: self.roster.add_player(event),
        events.PlayerReturned: lambda self, event: self.roster.add_token(event),
        events.RefereeRegistered: lambda self, event: self.roster.add_referee(event),
        events.RefereeApproved: _approved,
        events.RefereeSetAside: lambda self, event: self.roster.set_aside.add(event.referee_id),
        events.TokenRenewed: lambda self, event: self.roster.renew(event),
        events.TokenConfirmed: lambda self, event: self.roster.confirm(event),
        events.EndpointChanged: lambda self, event: self.roster.move(event),
        events.EndpointProved: lambda self, event: self.roster.prove(event.agent_id),
        events.RegistrationDisplaced: lambda self, event: self.roster.displace(event),
        events.PlayerRemoved: _removed,
        events.LeagueStarted: _started,
        events.StageStarted: _stage_started,
        events.PlayerJoined: _joined,
        events.TimeUp: _time_up,
        events.RoundScheduled: _scheduled,
        events.LossAccepted: _lost,
        events.MatchAssigned: _of_match,
        events.MatchBegun: _of_match,
        events.MatchLocked: _of_match,
        events.MatchDecided: _decided,
        events.MatchClosed: _closed,
        events.Disputed: _disputed,
        events.MatchRuled: _ruled,
        events.TokenMisused: _misused,
        events.DialectLearnt: _learnt,
        events.TokenShown: lambda self, event: self.roster.showing.add(event.agent_id),
        events.RoundEnded: _round_ended,
        events.Told: lambda self, event: self.told.add((event.what, event.round_id)),
        events.LeaguePaused: _paused,
        events.LeagueContinued: _paused,
        events.LeagueEnded: _ended,
    }


def stages_of(opened: events.LeagueOpened) -> Sequence[Stage]:
    """The stages of a league."""
    return usual_stages(opened.cycles) if opened.stages is UNSET else opened.stages


def as_played(record: MatchRecord) -> PlayedMatch:
    """A match that has a result, as a format knows it."""
    result = record.result
    assert result
    technical, counts = result.status == "TECHNICAL_LOSS", result.no_contest is not True
    return PlayedMatch(record.players, result.winner_player_id, technical, counts)
