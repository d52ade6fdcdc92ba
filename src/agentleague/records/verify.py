"""Is a journal true? Every row is checked against what follows from the rows before it.

That takes the rows and the game, and no secret: the row of a result opens the seed of its draws.
What only a referee saw cannot be recomputed (that a player was silent, or what a foreign referee
reports); it is counted and said. A check yields problems as sentences, of which the first one
counts, and changes nothing: what the rows so far say is in the league that they are applied to.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET, Struct

from agentleague.errors import Damaged
from agentleague.games.game import Game
from agentleague.league import events
from agentleague.league.formats.format import Done, Format, Players, Round
from agentleague.league.formats.stages import FORMATS, NextStage, seeded
from agentleague.league.league import League, Phase
from agentleague.league.match_result import loss_in_words
from agentleague.league.recount import Recount
from agentleague.league.season import Season
from agentleague.league.standings import TIE_BREAKS
from agentleague.protocol import draws
from agentleague.protocol.timestamps import moment
from agentleague.records.match_check import bytes_of, order_problem, result_problem, ruling_problem
from agentleague.records.reading import event_of
from agentleague.roles.effects import Event
from agentleague.roles.ports import Row

Check = Callable[[Any, Any], Iterator[str]]
SLACK_SECONDS = 60.0  # Clocks are set, and differ from machine to machine.


class Difference(Struct, frozen=True):
    """The first place where a journal does not say what follows from the rows before."""

    row: int  # 0 if it is not in one row
    match_id: str | None
    sentence: str


class Findings(Struct):
    """What a journal holds; it is true so far if `difference` is None."""

    league_id: str = ""
    game_type: str = ""
    rows: int = 0
    head: str = ""  # the last row, as a receipt
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
    not_recomputed: int = 0  # matches that were not, since the game is missing
    game_missing: bool = False
    forfeited: int = 0  # matches that a player lost by failing, as its referee says
    forfeited_by_removal: int = 0  # matches of players that the organiser had removed before
    believed: list[str] = []  # reported by a foreign referee
    no_contests: list[str] = []
    unconfirmed: list[str] = []  # lost by the word of one referee for which nobody vouches
    set_aside: list[str] = []  # referees that were contradicted too often
    disputed: list[str] = []
    ruled: list[str] = []  # the organiser's ruling counts, not the result
    losses: dict[int, str] = {}  # row -> which loss of rows the organiser accepted there
    difference: Difference | None = None


def verify(
    rows: Iterable[Row],
    load_game: Callable[[str], Game | None],
    formats: Mapping[str, Format] = FORMATS,
    season: Season | None = None,
) -> Findings:
    """Check a league's rows in order, up to the first difference.

    `load_game` takes what the journal says: it may look among what is installed, and run nothing
    else. Without a game (None) all but the results is checked. Who is who in a season, and how
    strong, can be checked with the leagues before it alone.
    """
    inspector, last = Inspector(load_game, League(formats=formats), season), None
    for row in rows:
        problem = inspector.take(row)
        if problem:
            return inspector.findings(last, Difference(row.seq, inspector.match_id, problem))
        last = row
    problem = inspector.table_problem()
    difference = Difference(last.seq if last else 0, None, problem) if problem else None
    return inspector.findings(last, difference)


def missing_receipt(rows: Sequence[Row], receipts: Iterable[tuple[int, str]]) -> Difference | None:
    """The first receipt (row and hash) that these rows, from row 1 on, do not have."""
    accepted = [row.seq for row in rows if row.kind == "loss_accepted"]
    known = f"; row {accepted[-1]} says that rows were lost before it" if accepted else ""
    for seq, written in receipts:
        if seq > len(rows):
            sentence = f"the receipt names row {seq}, but the journal ends with row {len(rows)}"
            return Difference(seq, None, f"{sentence}: its tail was cut off{known}")
        if rows[seq - 1].hash.hex() != written:
            sentence = f"the receipt says {written}, the journal {rows[seq - 1].hash.hex()}"
            return Difference(seq, None, f"{sentence}: it was written anew, or is another's{known}")
    return None


class Inspector:
    """Takes in the rows of one league in their order."""

    def __init__(
        self, load_game: Callable[[str], Game | None], league: League, season: Season | None = None
    ) -> None:
        self.match_id: str | None = None  # of the last row, if it is about a match
        self._at = ""  # when the last row was written
        self._load_game, self._season = load_game, season
        self._league = league  # as the rows so far have it
        self._recount = Recount()
        self._found = Findings()

    def take(self, row: Row) -> str | None:
        """What is wrong with the next row."""
        self.match_id = None
        try:
            event = event_of(row)
        except Damaged as error:
            return str(error)
        self.match_id, self._at = getattr(event, "match_id", None), row.at
        if self._league.opened is None and not isinstance(event, events.LeagueOpened):
            return f"the journal begins with {row.kind}, not with league_opened"
        if isinstance(event, events.LeagueOpened) and event.league_id != row.league_id:
            return f"it opens league {event.league_id!r} in the journal of {row.league_id!r}"
        return next(self._problems(event), None) or self._apply(event)

    def table_problem(self) -> str | None:
        """Whether the league's own table differs from the recounted one."""
        own = msgspec.to_builtins(self._league.table.rows())
        for row, counted in zip(own, self._recount_table(), strict=True):
            if row != counted:
                return f"the table has the row {row}, but by the results it is {counted}"
        return None

    def _recount_table(self) -> list[dict[str, Any]]:
        league = self._league
        merits = league.progress.merits(league.roster.removed.keys()) if league.has_started else {}
        return self._recount.table(merits)

    def findings(self, last: Row | None, difference: Difference | None) -> Findings:
        """What the rows hold, up to the last one that is true."""
        league, found = self._league, self._found
        if league.opened:
            found.league_id, found.game_type = league.opened.league_id, league.opened.game_type
            found.seeded = league.opened.seeded
        found.total_rounds, found.total_matches = league.total_rounds, league.total_matches
        if last:
            found.rows, found.head = last.seq, f"{last.seq}:{last.hash.hex()}"
        found.complete = league.phase is Phase.COMPLETED
        found.aborted, found.champion = league.aborted, league.champion
        found.players, found.rounds_ended = len(league.roster.players), league.rounds_ended
        found.matches_decided = league.decided_total
        found.ruled = [each for each in league.ruled if league.matches[each].is_overruled]
        found.unconfirmed, found.set_aside = [*league.unconfirmed], sorted(league.roster.set_aside)
        found.losses = {row: loss_in_words(loss) for row, loss in league.losses.items()}
        found.difference = difference
        return found

    def _problems(self, event: Event) -> Iterator[str]:
        if self._league.phase is Phase.COMPLETED and isinstance(event, _DECIDING):
            yield "the league had ended before; nothing may change its results any more"
        if self.match_id is not None and self._league.matches.get(self.match_id) is None:
            yield f"{self.match_id} is no match of the rounds scheduled so far"
        roster, who = self._league.roster, getattr(event, "agent_id", None)
        everybody = (roster.players, roster.referees, roster.waiting)
        if who is not None and not any(who in each for each in everybody):
            yield f"nobody is registered as {who}"
        yield from self._CHECKS.get(type(event), lambda self, event: iter(()))(self, event)

    def _apply(self, event: Event) -> str | None:
        try:
            self._league.apply(event)
        except (AssertionError, Damaged, LookupError, TypeError, ValueError) as error:
            return f"the row cannot follow those before it ({error})"
        self._recount.take(event)
        if isinstance(event, events.MatchDecided):
            self._classify(event)
        elif isinstance(event, events.Disputed):
            self._found.disputed.append(event.match_id)
        return None

    def _classify(self, event: events.MatchDecided) -> None:
        found = self._found
        if event.result.no_contest is True:
            found.no_contests.append(event.match_id)
        elif not event.verified:
            found.believed.append(event.match_id)
        elif event.forfeits:
            were_out = self._were_out(event)
            found.forfeited_by_removal += were_out
            found.forfeited += not were_out
        elif self._game:
            found.recomputed += 1
        else:
            found.not_recomputed += 1

    def _open(self, event: events.LeagueOpened) -> Iterator[str]:
        if self._league.opened:
            yield "the league is opened a second time"
        unknown = [name for name in event.tie_breaks if name not in TIE_BREAKS]
        if unknown:
            yield f"its tie-break {unknown[0]!r} is unknown"
        self._game = self._load_game(event.game_type)
        self._found.game_missing = self._game is None
        try:
            if self._game:
                self._game.start(event.rules.game_options)
        except Exception as error:  # The game is a plug-in.
            yield f"the game refuses the league's options: {error}"

    def _player(self, event: events.PlayerRegistered) -> Iterator[str]:
        if event.player_id in self._league.roster.players:
            yield f"{event.player_id} is registered a second time"
        if not self._league.takes_players:
            yield f"{event.player_id} is registered after the start"
        if self._season is not None:
            is_known = event.player_id in self._season.players
            if is_known != bool(event.known_by):
                was, said = ("is", "new") if is_known else ("is not", "known")
                yield f"{event.player_id} {was} of the leagues before, and registers as {said}"

    def _referee(self, event: events.RefereeRegistered) -> Iterator[str]:
        roster = self._league.roster
        if event.referee_id in roster.referees or event.referee_id in roster.waiting:
            yield f"{event.referee_id} is registered a second time"

    def _approved(self, event: events.RefereeApproved) -> Iterator[str]:
        roster = self._league.roster
        member = roster.referees.get(event.referee_id)
        if event.referee_id not in roster.waiting and not (member and member.anyone):
            yield f"{event.referee_id} is let in and did not wait"

    def _set_aside(self, event: events.RefereeSetAside) -> Iterator[str]:
        players = self._league.contradictions.get(event.referee_id, set())
        if (
            len(players) < self._league.limits.contradictions_max
            or sorted(players) != event.players
        ):
            yield f"{event.referee_id} is set aside, but contradicted about {sorted(players)}"

    def _displaced(self, event: events.RegistrationDisplaced) -> Iterator[str]:
        roster = self._league.roster
        if event.agent_id in roster.displaced:
            yield f"{event.agent_id} is displaced a second time"
        if event.by and event.by not in roster.players:
            yield f"nobody is registered as {event.by}"
        if event.agent_id in self._league.table.players:
            yield f"{event.agent_id} is displaced after the start"

    def _of_a_player(self, event: events.PlayerReturned | events.PlayerRemoved) -> Iterator[str]:
        if event.player_id not in self._league.roster.players:
            yield f"nobody is registered as {event.player_id}"

    def _player_removed(self, event: events.PlayerRemoved) -> Iterator[str]:
        yield from self._of_a_player(event)
        if event.player_id in self._league.roster.removed:
            yield f"{event.player_id} is removed a second time"
        now = self._league.round_id  # Its matches may have been handed out, or not.
        if event.from_round not in (max(now, 1), now + 1):
            yield f"{event.player_id} is removed from round {event.from_round} on, in round {now}"

    def _start(self, event: events.LeagueStarted) -> Iterator[str]:
        if self._league.has_started:
            yield "the league starts a second time"
        roster = self._league.roster
        unknown = [player_id for player_id in event.players if player_id not in roster.players]
        if unknown:
            yield f"{unknown[0]} starts and never registered"
        missing = roster.players.keys() - roster.removed.keys() - set(event.players)
        if missing:
            yield f"{min(missing)} registered and does not start"
        yield from self._seeding_problem(event)
        yield from self._time_problem(1, event)
        if event.champion_commitment and "player_id" in self._league.rules.tie_breaks:
            yield "a draw of the champion is sealed, but the player id decides all ties"

    def _seeding_problem(self, event: events.LeagueStarted) -> Iterator[str]:
        rules, roster = self._league.rules, self._league.roster
        seed = bytes_of(event.seed or "")
        sealed, league_id = rules.seeding_commitment, rules.league_id
        if (rules.seeding == "random") != bool(sealed):
            is_sealed = "sealed" if sealed else "not sealed"
            yield f"the seeding is {rules.seeding or 'order'!r}, and a draw was {is_sealed}"
        if sealed and draws.commitment(seed, league_id, draws.SEEDING) != sealed:
            yield "the seed of the seeding does not open the commitment made before"
        registered = [each for each in roster.players if each not in roster.removed]
        if self._season is not None:
            elo = self._season.elo
            known = {each: elo[each] for each in registered if each in elo}
            if known != (event.elo or {}):
                yield f"the players bring {event.elo or {}}, but by the leagues before {known}"
        order = seeded(registered, rules.seeding or "", league_id, seed, event.elo or {})
        if order != event.players:
            yield f"the players start as {event.players}, but by their seeds it is {order}"

    def _stage(self, event: events.StageStarted) -> Iterator[str]:
        league = self._league
        following = league.next_round() if self._is_between_rounds else None
        if not isinstance(following, NextStage):
            yield f"stage {event.stage} begins before the one before it is over"
        elif (event.stage, event.players) != (following.stage, [*following.players]):
            yield (
                f"stage {event.stage} begins with {event.players}, but by the results it is stage "
                f"{following.stage} with {[*following.players]}"
            )
        yield from self._time_problem(event.stage, event)

    def _time_problem(
        self, stage: int, event: events.LeagueStarted | events.StageStarted
    ) -> Iterator[str]:
        seconds = int(self._league.stages[stage - 1].options.get("seconds", 0))
        if bool(event.ends_at) != bool(seconds):
            yield f"stage {stage} has {'no ' if seconds else 'a '}time at which it ends"
        elif event.ends_at and abs((left := self._until(event.ends_at)) - seconds) > SLACK_SECONDS:
            yield f"stage {stage} has {seconds} s, but ends {left:.0f} s after it began"

    def _joined(self, event: events.PlayerJoined) -> Iterator[str]:
        joining = self._league.joining if self._is_between_rounds else []
        following = next(iter(joining), "nobody")
        if event.player_id != following:
            yield f"{event.player_id} joins, but it is the turn of {following}"
        if self._season is not None:
            brought = self._season.elo.get(event.player_id, UNSET)
            if brought != event.elo:
                yield f"{event.player_id} joins with {event.elo}, and brings {brought}"

    def _time_up(self, event: events.TimeUp) -> Iterator[str]:
        league = self._league
        if not league.ends_at or event.stage != league.progress.stage:
            yield f"the time of stage {event.stage} is up, but it has none"
        if league.progress.is_time_up:
            yield f"the time of stage {event.stage} is up a second time"
        if league.ends_at and (left := self._until(league.ends_at)) > SLACK_SECONDS:
            yield f"the time of stage {event.stage} is up {left:.0f} s too early"

    def _until(self, ends_at: int) -> float:
        """The seconds from the last row to a time."""
        try:
            return ends_at - moment(self._at)
        except ValueError:  # A row that was written by nobody of ours.
            return float("inf")

    @property
    def _is_between_rounds(self) -> bool:
        league = self._league
        return league.has_started and league.round_id == league.rounds_ended

    def _round(self, event: events.RoundScheduled) -> Iterator[str]:
        ended = self._league.rounds_ended
        if not self._league.has_started:
            yield "a round is scheduled before the league has started"
        if self._league.round_id != ended or event.round_id != ended + 1:
            yield f"round {event.round_id} is scheduled when {ended} rounds are over"
        planned = self._league.next_round()
        if not isinstance(planned, Round):
            yield f"round {event.round_id} is scheduled, of {ended}"
            return
        if self._league.joining:
            yield f"{self._league.joining[0]} came late, and round {ended + 1} begins without it"
        if (event.generation or 0) != self._league.generation:
            yield (
                f"round {event.round_id} has draws of generation {event.generation or 0}, and the "
                f"last loss accepted began generation {self._league.generation}"
            )
        referees = self._league.roster.referees
        unknown = [match.referee_id for match in event.matches if match.referee_id not in referees]
        if unknown:
            yield f"{unknown[0]} is given a match and was never let in"
        yield from _pairing_problem(planned, event)

    def _lost(self, event: events.LossAccepted) -> Iterator[str]:
        """Everything that has no result is drawn anew, and nothing else: no match is picked."""
        league = self._league
        if event.generation <= league.generation:
            yield f"it begins generation {event.generation} after {league.generation}"
        if sorted(event.commitments) != league.undecided:
            yield (
                f"{sorted(event.commitments)} are drawn anew after a loss, but {league.undecided} "
                "have no result"
            )
        matches = league.matches
        kept = [each for each, new in event.commitments.items() if matches[each].commitment == new]
        is_drawn = not league.champion_commitment or league.phase is Phase.COMPLETED
        if not is_drawn and event.champion_commitment in (UNSET, league.champion_commitment):
            yield "the draw of the champion keeps its commitment"
        if kept:
            yield f"{kept[0]} is drawn anew and keeps its commitment"

    def _assigned(self, event: events.MatchAssigned) -> Iterator[str]:
        match = self._league.matches[event.match_id]
        if event.epoch != match.epoch + 1:
            yield f"it is given out as epoch {event.epoch}, after epoch {match.epoch}"
        if event.referee_id not in self._league.roster.referees:
            yield f"it is given to {event.referee_id}, which was never let in"
        if match.closed:
            yield "it is given out after it was closed"
        if event.claimed is not UNSET:
            # Only what a referee says for which nobody vouches is confirmed, once, by another.
            is_doubted = self._league.roster.referees[match.referee_id].anyone
            if not is_doubted or match.claimed_by or event.referee_id in match.referees:
                yield f"what {match.referee_id} said is not for {event.referee_id} to confirm"

    def _decided(self, event: events.MatchDecided) -> Iterator[str]:
        match = self._league.matches[event.match_id]
        yield from order_problem(match, event)
        yield from result_problem(match, event, self._game, self._league.rules)
        # A loss is marked if one referee alone says it, and nobody vouches for that one.
        is_marked = event.unconfirmed is True
        is_said = event.result.status == "TECHNICAL_LOSS" and event.result.no_contest is not True
        by_referee = is_said and not self._were_out(event)
        is_alone = match.claimed_by in ("", match.referee_id)
        is_doubted = self._league.roster.referees[match.referee_id].anyone and is_alone
        if is_marked != (by_referee and is_doubted):
            marked = "marked" if is_marked else "not marked"
            yield f"it is {marked} as lost by the word of {match.referee_id} alone"

    def _were_out(self, event: events.MatchDecided) -> bool:
        """Whether all who forfeited it had been removed before."""
        round_id, removed = self._league.round_id, self._league.roster.removed
        out = [removed.get(each, round_id + 1) <= round_id for each, _ in event.forfeits]
        return bool(out) and all(out)

    def _closed(self, event: events.MatchClosed) -> Iterator[str]:
        match = self._league.matches[event.match_id]
        if not match.decided:
            yield "it is closed and has no result"
        if match.closed:
            yield "it is closed a second time"
        if event.epoch > match.epoch:
            yield f"it is closed in epoch {event.epoch}, and was never given out so often"

    def _round_ended(self, event: events.RoundEnded) -> Iterator[str]:
        league = self._league
        is_over = league.round_id == league.rounds_ended
        if event.round_id != league.round_id or is_over:
            over = " no more" if is_over else ""
            yield f"round {event.round_id} ends, but round {league.round_id} is played{over}"
        if league.open_matches:
            match = next(each for each in league.matches.values() if not each.closed)
            state = "is not closed" if match.decided else "has no result"
            yield f"round {event.round_id} ends and its match {match.match_id} {state}"

    def _end(self, event: events.LeagueEnded) -> Iterator[str]:
        league = self._league
        is_over = self._is_between_rounds and isinstance(league.next_round(), Done)
        if not event.aborted and league.has_started and not is_over:
            of_all = f" of {league.totals.rounds} rounds" if league.totals else " rounds, too early"
            yield f"the league ends after {league.rounds_ended}{of_all}"
        self._recount.take(event)
        leader = ""
        if league.has_started:
            first = [row for row in self._recount_table() if row["rank"] == 1]
            leader, problem = self._drawn_champion(event, first)
            if problem:
                yield problem
        if event.champion != leader and (event.champion or league.decided_total):
            yield f"its champion is {event.champion!r}, but by the results {leader!r} is first"

    def _drawn_champion(
        self, event: events.LeagueEnded, first: Sequence[dict[str, Any]]
    ) -> tuple[str, str | None]:
        """Who of those that share rank 1 is the champion by the sealed draw; and what is wrong."""
        league_id, sealed = self._league.rules.league_id, self._league.champion_commitment
        if not sealed:
            return first[0]["player_id"], None
        seed = bytes_of(event.seed or "")
        if draws.commitment(seed, league_id, draws.CHAMPION) != sealed:
            return "", "the seed of the champion's draw does not open the commitment made before"
        moves = [(1, row["player_id"], row["points"]) for row in first]
        bounds = (1, len(first))
        number = draws.number(seed, league_id, draws.CHAMPION, index=0, moves=moves, bounds=bounds)
        return first[number - 1]["player_id"], None

    _CHECKS: ClassVar[dict[type[Event], Check]] = {
        events.LeagueOpened: _open,
        events.PlayerRegistered: _player,
        events.PlayerReturned: _of_a_player,
        events.PlayerRemoved: _player_removed,
        events.RefereeRegistered: _referee,
        events.RefereeApproved: _approved,
        events.RefereeSetAside: _set_aside,
        events.RegistrationDisplaced: _displaced,
        events.LeagueStarted: _start,
        events.StageStarted: _stage,
        events.PlayerJoined: _joined,
        events.TimeUp: _time_up,
        events.RoundScheduled: _round,
        events.LossAccepted: _lost,
        events.MatchAssigned: _assigned,
        events.MatchLocked: lambda self, event: order_problem(
            self._league.matches[event.match_id], event
        ),
        events.MatchDecided: _decided,
        events.MatchClosed: _closed,
        events.MatchRuled: lambda self, event: ruling_problem(
            self._league.matches[event.match_id], event
        ),
        events.RoundEnded: _round_ended,
        events.LeagueEnded: _end,
    }


_DECIDING = (
    events.PlayerRegistered,
    events.PlayerRemoved,
    events.RegistrationDisplaced,
    events.LeagueStarted,
    events.StageStarted,
    events.PlayerJoined,
    events.TimeUp,
    events.RoundScheduled,
    events.MatchAssigned,
    events.MatchLocked,
    events.MatchDecided,
    events.RoundEnded,
    events.LeagueEnded,
)


def _pairing_problem(planned: Round, event: events.RoundScheduled) -> Iterator[str]:
    written = [(match.match_id, (match.player_a, match.player_b)) for match in event.matches]
    for pairing, match in zip(planned.matches, written, strict=False):
        if pairing != match:
            yield f"the journal has {_met(*match)}, but the schedule {_met(*pairing)}"
    if len(written) != len(planned.pairings) or tuple(event.byes) != planned.byes:
        yield (
            f"round {event.round_id} has {len(written)} matches and the byes {event.byes}, but in "
            f"the schedule it has {len(planned.pairings)} and {list(planned.byes)}"
        )


def _met(match_id: str, players: Players) -> str:
    return f"{match_id} between {' and '.join(players)}"
