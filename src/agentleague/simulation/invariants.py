"""What must hold after every simulated league, whatever went wrong in it.

    I1  a match has at most one result
    I2  what was acknowledged is in the journal for ever
    I3  the table is a fold over the results
    I4  nobody is told another result than the journal's
    I5  played is the sum of wins, draws and losses
    I6  the number of results never decreases
    I7  the league ends, and everybody who is there was told every result and the end
    I8  a player who is away loses technically, and nobody else does
    I9  what the journal holds is all there is: replay leads to the same state
    I10 nobody waits longer than the rules say
    I11 no player sees a table that counts a match of its own before it was sent its GAME_OVER
    I12 rounds, byes and stages are as their format says, and a knockout has one champion

I2, I4, I5, I6 and I11 are checked while the league runs (observer.py). Tables are recounted from
the rows (league/recount.py), never taken from the league's own sums.

Before the trouble ends a message may be lost at any time, so nobody can be sure to be told
anything. From then on (`Recovery`) everybody who is there is told results, the ends of rounds and
of the league; and in a round that begins later nobody loses, waits or is replaced but agents that
are dead or misbehave.
"""

from collections.abc import Collection, Iterator
from random import Random
from typing import NamedTuple

import msgspec

from agentleague.games.game import turns_max
from agentleague.league.events import (
    Disputed,
    LeagueEnded,
    MatchDecided,
    MatchRuled,
    RoundEnded,
    RoundScheduled,
    Told,
)
from agentleague.league.league import League, Phase
from agentleague.league.match_records import MatchRecord
from agentleague.league.recount import Recount
from agentleague.manager.leases import longest_match
from agentleague.records.verify import verify
from agentleague.roles.effects import Event
from agentleague.simulation import rules
from agentleague.simulation.agents import HANGING, HOLDING
from agentleague.simulation.league import SimulatedLeague
from agentleague.simulation.network import host_of, url_of
from agentleague.simulation.pairings import wrong_pairings
from agentleague.simulation.tampering import forge
from agentleague.storage.chain import moment

EPOCHS_MAX = 4
MEMBERS = ("players", "referees", "removed")  # of a roster
INVITATION = "GAME_INVITATION"
SETTLE_SECONDS = 25.0  # until the manager knows who is there: two leases and more
SILENCES_MAX = 5  # questions in a row without an answer, after which a player gets no retries


class Violation(AssertionError):
    """Something does not hold; the sentences say what."""


class LeagueHistory(NamedTuple):
    """What happened to a league: it decides what may be expected of it."""

    away: Collection[str] = ()  # players that were dead at some time, or misbehave
    brief: Collection[str] = ()  # players that were dead for a moment: they lose nothing by it
    referees_away: bool = False  # referees were dead at some time
    no_contests: bool = False  # there was a time without any referee
    odd: Collection[str] = ()  # agents that misbehave all the time
    silent: str = ""  # a player that never answered anybody, or no call for a move
    aborted: bool = False  # the organiser may have ended it
    lossy: bool = False  # messages were lost: anybody may lose or not be told
    disputes: bool = False  # a referee lies
    sound_disk: bool = False  # rows were written when they were decided
    steady: bool = False  # nothing ever went wrong with the manager, its network and its disk
    prompt: bool = False  # nothing went wrong but with `away`: nobody waits for anything else


CALM = LeagueHistory()


def check(simulated: SimulatedLeague, history: LeagueHistory = CALM) -> None:
    """Check a league that has run. Raises Violation if something does not hold."""
    simulated.observer.catch_up()
    found = [*simulated.bugs, *simulated.observer.violations]
    if simulated.is_over:
        found += _checked(simulated, history)
    else:
        found.append(f"I7: not over after {simulated.seconds:g} seconds{_state(simulated)}")
    if found:
        raise Violation("; ".join(found))


def _checked(simulated: SimulatedLeague, history: LeagueHistory) -> Iterator[str]:
    observer, replayed = simulated.observer, simulated.observer.league
    yield from _complete(replayed, observer.tables.recount, history)
    yield from _table(replayed, observer.tables.recount)
    yield from _technical(simulated, history)
    yield from _same_state(simulated.manager.league, replayed)
    yield from _undisputed(simulated, history)
    yield from observer.locks.unbelieved(observer.events)
    yield from _verified(simulated)
    yield from _by_the_rules(simulated, history)
    if not history.lossy:
        yield from _results_told(simulated, history)
        yield from _ended(simulated)
    if not history.lossy and not history.referees_away:
        yield from _kept(simulated, replayed)
    if simulated.healed_at is not None:
        yield from Recovery(simulated, simulated.healed_at, history.odd).found()
    if history.prompt:
        yield from _prompt(simulated, replayed)
    if history.silent:
        yield from _suspended(simulated, replayed, history.silent)


def _by_the_rules(simulated: SimulatedLeague, history: LeagueHistory) -> Iterator[str]:
    observer = simulated.observer
    timed = observer.timed
    if history.sound_disk:
        yield from rules.hasty_after_pauses(timed)
    yield from wrong_pairings(observer.league, timed, is_punctual=history.sound_disk)
    if not observer.league.aborted and not observer.league.rules.stages:
        yield from rules.unbalanced_seats(observer.league, observer.events)
    if history.steady:
        yield from rules.forgotten_sessions(observer.league, timed, observer.capacity.given)
    for name in simulated.players:
        process = simulated.processes[name]
        if not process.crashes:
            yield from (f"{name}: {each}" for each in rules.told_twice(process.news))


def _verified(simulated: SimulatedLeague) -> Iterator[str]:
    """`league verify` agrees, and notices a change; a damaged file is noticed, or does no harm."""
    difference = verify(simulated.observer.rows, simulated.load_game).difference
    if difference:
        yield f"verify: row {difference.row}: {difference.sentence}"
    observer = simulated.observer
    if not difference and not observer.league.aborted:
        chance = Random(f"forger|{simulated.seed}")  # Not from the rows: they change with the code.
        forgery = forge(observer.rows, observer.events, chance)
        if forgery and verify(forgery.rows, simulated.load_game).difference is None:
            yield f"verify does not see: {forgery.what} (row {forgery.seq})"
    yield from filter(None, [simulated.disk.flip_bits()])


def _complete(league: League, recount: Recount, history: LeagueHistory) -> Iterator[str]:
    for match_id, number in recount.decisions.items():
        if number > 1:
            yield f"I1: {match_id} has {number} results"
    if league.phase is not Phase.COMPLETED or (league.aborted and not history.aborted):
        yield f"I7: the league is {league.phase}, aborted: {league.aborted}"
    if league.aborted:
        return
    if len(recount.decisions) != league.total_matches:
        yield f"I7: {len(recount.decisions)} of {league.total_matches} matches are decided"
    for match in league.matches.values():
        if match.decided and not match.closed:
            yield f"I7: {match.match_id} is decided and was never closed"


def _table(league: League, recount: Recount) -> Iterator[str]:
    own = msgspec.to_builtins(league.table.rows())
    merits = league.progress.merits(league.roster.removed.keys()) if league.has_started else {}
    for row, counted in zip(own, recount.table(merits), strict=True):
        if row != counted:
            yield f"I3: the table has the row {row}, and by the results {counted}"


def _technical(simulated: SimulatedLeague, history: LeagueHistory) -> Iterator[str]:
    away = {simulated.player_id(name) for name in history.away if simulated.is_known(name)}
    for match in simulated.observer.league.matches.values():
        if match.decided is None:
            continue
        result = match.decided.result
        if result.no_contest is True:
            if not history.no_contests:
                yield f"I8: {match.match_id} is no contest: {result.reason}"
        elif result.status == "TECHNICAL_LOSS":
            losers = set(match.players) - {result.winner_player_id}
            if not history.lossy and not losers <= away:
                yield f"I8: {sorted(losers - away)} lost {match.match_id}: {result.reason}"


def _results_told(simulated: SimulatedLeague, history: LeagueHistory) -> Iterator[str]:
    observer, league = simulated.observer, simulated.observer.league
    for name in simulated.players:
        if name in (*history.away, *history.brief) or not simulated.is_known(name):
            continue
        for match in league.matches.of_player.get(simulated.player_id(name), ()):
            is_told = (url_of(name), match.match_id) in observer.results_told
            if match.decided and not is_told and not observer.is_foreign(match):
                yield f"I7: {name} was never told how {match.match_id} ended"
        if url_of(name) not in observer.end_told:
            yield f"I7: {name} was never told that the league is over"
        for round_id in range(1, league.rounds_ended + 1):
            yield from _round_end_is_told(simulated, name, round_id)


def _round_end_is_told(simulated: SimulatedLeague, name: str, round_id: int) -> Iterator[str]:
    tables, end = simulated.observer.tables, (url_of(name), round_id)
    if end not in tables.rounds_told:
        yield f"I7: {name} was never told that round {round_id} is over"
    elif end in tables.unshown:
        yield f"I7: {name} was told that round {round_id} is over before it saw the table"


def _ended(simulated: SimulatedLeague) -> Iterator[str]:
    for name, process in simulated.processes.items():
        is_holding = simulated.agents.traits.get(name) == HOLDING or process.is_doubled
        if name not in simulated.managers and process.is_alive and not is_holding:
            yield f"I7: {name} goes on after the end of the league"


def _same_state(live: League, replayed: League) -> Iterator[str]:
    for name in ("seq", "phase", "round_id", "rounds_ended", "open_matches", "told", "champion"):
        if getattr(live, name) != getattr(replayed, name):
            yield f"I9: {name} is {getattr(live, name)}, by replay {getattr(replayed, name)}"
    if any(live.matches.get(match_id) != match for match_id, match in replayed.matches.items()):
        yield "I9: the matches differ from those by replay"
    for name in ("stage", "field", "results", "is_time_up") if replayed.has_started else ():
        if getattr(live.progress, name) != getattr(replayed.progress, name):
            yield f"I9: the {name} of the stages differs from that by replay"
    if live.table.rows() != replayed.table.rows():
        yield "I9: the table differs from that by replay"
    if any(getattr(live.roster, name) != getattr(replayed.roster, name) for name in MEMBERS):
        yield "I9: the roster differs from that by replay"


def _undisputed(simulated: SimulatedLeague, history: LeagueHistory) -> Iterator[str]:
    """Honest referees contradict nobody and drop nothing, and every draw can be checked."""
    observer, league = simulated.observer, simulated.observer.league
    yield from _disputes(observer.events, league, history)
    for match in league.matches.values():
        if match.epoch - match.returns > EPOCHS_MAX:
            yield f"{match.match_id} was given out {match.epoch} times"
    for name, process in simulated.processes.items():
        for sentence in process.news:
            match_id = sentence.partition(":")[0] if "THE DRAW IS WRONG" in sentence else None
            is_wrong = match_id and not observer.is_foreign(league.matches[match_id])
            if is_wrong or "was dropped" in sentence:
                yield f"{name}: {sentence}"


def _disputes(events: Collection[Event], league: League, history: LeagueHistory) -> Iterator[str]:
    """Only false referees dispute, and each of them a match once, until the organiser rules."""
    noted: set[tuple[str, str]] = set()
    for event in events:
        if isinstance(event, MatchRuled):
            noted = {each for each in noted if each[0] != event.match_id}
        elif isinstance(event, Disputed):
            if not history.disputes and not _went_on(event, league):
                yield f"{event.referee_id} disputed {event.match_id}: {event.why}"
            if (event.match_id, event.referee_id) in noted:
                yield f"{event.match_id} is disputed by {event.referee_id} again"
            noted.add((event.match_id, event.referee_id))


def _went_on(event: Disputed, league: League) -> bool:
    """Whether a foreign referee ended the match of a player that was removed meanwhile."""
    players = set(league.matches[event.match_id].players)
    is_removed = not players.isdisjoint(league.roster.removed)
    return is_removed and not league.roster.referees[event.referee_id].locks


def _kept(simulated: SimulatedLeague, league: League) -> Iterator[str]:
    """Without a crash of its referee no match changes hands."""
    # A referee whose registration was not answered is registered twice, once superseded.
    referees = [name for name in simulated.processes if name.startswith("referee")]
    if len(league.roster.referees) == len(referees):
        for match in league.matches.values():
            if match.epoch > 1 and not match.unreached:
                yield f"I7: {match.match_id} was given out {match.epoch} times for no reason"


def _prompt(simulated: SimulatedLeague, league: League) -> Iterator[str]:
    """A match takes as long as its players may take to join and to move, and no longer."""
    terms, game = league.rules.rules, simulated.agents.game
    turns = turns_max(game, terms.game_options)
    for match_id, waited in simulated.observer.waits.items():
        record = league.matches[match_id]
        if not record.decided:
            continue
        rows = record.closing.exchanges if record.closing else ()
        is_joined = any(row.message != INVITATION for row in rows)
        longest = longest_match(terms, turns if record.decided.moves else int(is_joined))
        if waited > longest:
            yield f"I10: the players of {match_id} waited {waited:g} seconds, not {longest:g}"


def _suspended(simulated: SimulatedLeague, league: League, name: str) -> Iterator[str]:
    """A silent player is asked as often as the rules say, until it is suspended; then once."""
    terms, silences = league.rules.rules, 0
    trait = simulated.agents.traits.get(name)  # Without one it is dead, and nothing times out.
    joins, retries, seconds = 0, terms.join_retries, terms.join_seconds
    if trait == HANGING:
        joins, retries, seconds = 1, terms.retries, terms.move_seconds
    for match in league.matches.of_player.get(simulated.player_id(name), ()):
        is_known = silences > 0 and trait is not None and terms.patience == "learning"
        is_suspended = is_known or (silences >= SILENCES_MAX and not joins)
        wanted = 1 if is_suspended else 1 + retries
        times = simulated.observer.attempts.get((url_of(name), match.match_id), [])[joins:]
        if len(times) != wanted:
            yield f"{name} was asked {len(times)} times in {match.match_id}, not {wanted}"
        for wrong in rules.wrong_gaps(terms, times, seconds):
            yield f"{name} in {match.match_id}: {wrong}"
        silences += len(times)


def _state(simulated: SimulatedLeague) -> str:
    league = simulated.observer.league
    left = {
        match_id: (league.matches[match_id].epoch, league.matches[match_id].decided is not None)
        for match_id in sorted(league.open_matches)
    }
    alive = [name for name, process in simulated.processes.items() if process.is_alive]
    is_done = simulated.owner.is_done
    return f": {league.phase} round {league.round_id}, open {left}, alive {alive}, done {is_done}"


class Recovery:
    """The checks of what happened after the trouble."""

    def __init__(self, league: SimulatedLeague, healed_at: float, odd: Collection[str]) -> None:
        self._league, self._observer, self._odd = league, league.observer, odd
        self._healed_at = healed_at
        known = filter(league.is_known, league.players)
        self._names = {league.player_id(name): name for name in known}

    def found(self) -> Iterator[str]:
        """Sentences about what does not hold."""
        yield from self._end_is_told()
        for event in self._since(self._healed_at):
            if isinstance(event, MatchDecided):
                yield from self._result_is_told(self._observer.league.matches[event.match_id])
        for event in self._since(self._healed_at + SETTLE_SECONDS):
            if isinstance(event, RoundEnded):
                # Agents that misbehave are left out: only the newest message is kept for them.
                for name in [each for each in self._there().values() if each not in self._odd]:
                    yield from _round_end_is_told(self._league, name, event.round_id)
        yield from self._later_rounds()

    def _since(self, when: float) -> list[Event]:
        first, observer = moment(when), self._observer
        return [
            event
            for row, event in zip(observer.rows, observer.events, strict=True)
            if row.at >= first
        ]

    def _there(self) -> dict[str, str]:
        """Players that are alive and take part, by id."""
        gone, removed = self._league.gone, self._observer.league.roster.removed
        known = self._names.items()
        return {each: name for each, name in known if name not in gone and each not in removed}

    def _end_is_told(self) -> Iterator[str]:
        """The end was decided after the trouble, or its manager came back and had to tell it."""
        since = self._since(self._healed_at)
        is_decided = any(isinstance(event, LeagueEnded) for event in since)
        is_told = any(isinstance(event, Told) and event.what == "league_end" for event in since)
        is_back = self._league.owner.born_at >= self._healed_at
        if not is_decided and not (is_told and is_back):
            return
        for name in self._there().values():
            if url_of(name) not in self._observer.end_told:
                yield f"I7: {name} was there and never told that the league is over"
        for name, process in self._league.processes.items():
            if name not in (*self._league.managers, *self._odd) and process.is_alive:
                yield f"I7: {name} goes on after the end of the league"

    def _result_is_told(self, match: MatchRecord) -> Iterator[str]:
        there = self._there()
        for player_id in match.players:
            name = there.get(player_id)
            is_told = name is None or (url_of(name), match.match_id) in self._observer.results_told
            if not is_told and not self._observer.is_foreign(match):
                yield f"I7: {name} was there and never told how {match.match_id} ended"

    def _later_rounds(self) -> Iterator[str]:
        since = self._since(self._healed_at + SETTLE_SECONDS)
        rounds = [event.round_id for event in since if isinstance(event, RoundScheduled)]
        for match in self._observer.league.matches.values():
            if match.round_id in rounds:
                yield from self._as_in_a_calm_league(match)

    def _as_in_a_calm_league(self, match: MatchRecord) -> Iterator[str]:
        result = match.decided.result if match.decided else None
        if result and result.status == "TECHNICAL_LOSS" and result.no_contest is not True:
            there = self._there()
            losers = [each for each in match.players if each != result.winner_player_id]
            sound = [each for each in losers if each in there and there[each] not in self._odd]
            if sound:
                yield f"I8: {sound} lost {match.match_id}: {result.reason}"
        if result and result.no_contest is True:
            yield f"I8: {match.match_id} is no contest: {result.reason}"
        referees = self._observer.league.roster.referees
        ends = [referees[each].endpoint for each in set(match.referees)]
        # A foreign referee may hold a match for long; a false one may never be believed.
        is_odd = any(host_of(end) in self._odd for end in ends)
        if match.epoch > 1 and not match.unreached and not is_odd:
            yield f"I7: {match.match_id} was given out {match.epoch} times for no reason"
        if len(set(ends)) < len(ends):
            yield f"I7: {match.match_id} was given to one referee under two ids: {match.referees}"
