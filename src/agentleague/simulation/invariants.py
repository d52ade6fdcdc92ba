"""What must hold after every simulated league, whatever crashed in it.

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

I2, I4, I5 and I6 are watched while the league runs (witness.py and what it watches with). What is
counted here is counted from the rows (recount.py), never taken from the league's own sums.
"""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from agentleague.games.game import turns_max
from agentleague.league.events import Disputed, MatchRuled
from agentleague.league.league import League, Phase
from agentleague.manager.leases import longest_match
from agentleague.roles.effects import Event
from agentleague.simulation.league import MANAGER, SimulatedLeague, url_of
from agentleague.simulation.recount import Recount
from agentleague.simulation.recovery import Recovery

EPOCHS_MAX = 4
INVITATION = "GAME_INVITATION"
SILENCES_MAX = 5  # questions in a row without an answer, after which a player gets no retries


class Violation(AssertionError):
    """Something does not hold; the sentences say what."""


class Course(NamedTuple):
    """What befell a league: it decides what may be expected of it."""

    away: Collection[str] = ()  # players that were dead at some time, or are not as they should be
    brief: Collection[str] = ()  # players that were dead for a moment: they lose nothing by it
    referees_away: bool = False  # referees were dead at some time
    no_contests: bool = False  # there was a time without any referee
    odd: Collection[str] = ()  # who is not as it should be from the first to the last
    silent: str = ""  # a player that never answered anybody
    aborted: bool = False  # the organiser may have ended it
    lossy: bool = False  # messages were lost: anybody may lose or not be told, and all the same end
    disputes: bool = False  # a referee lies
    prompt: bool = False  # nothing went wrong but with `away`: nobody waits for anything else


CALM = Course()


def check(simulated: SimulatedLeague, course: Course = CALM) -> None:
    """Look at a league that has run.

    Raises:
        Violation: something does not hold.
    """
    simulated.witness.catch_up()
    found = [*simulated.bugs, *simulated.witness.violations]
    if simulated.is_over:
        found += _checked(simulated, course)
    else:
        found.append(f"I7: not over after {simulated.seconds:g} seconds{_standing(simulated)}")
    if found:
        raise Violation("; ".join(found))


def _checked(simulated: SimulatedLeague, course: Course) -> Iterator[str]:
    witness = simulated.witness
    replayed, events = witness.league, witness.events
    yield from _one_result_each(witness.recount)
    yield from _complete(replayed, witness.recount, course)
    yield from _table(replayed, witness.recount)
    yield from _technical(simulated, replayed, course)
    yield from _same_state(simulated.manager.league, replayed)
    yield from _peaceful(simulated, replayed, events, course)
    yield from witness.court.unbelieved(events)
    if not course.lossy:
        yield from _told(simulated, replayed, course)
        yield from _ended(simulated)
    if not course.lossy and not course.referees_away:
        yield from _kept(simulated, replayed)
    if simulated.healed_at is not None:
        yield from Recovery(simulated, simulated.healed_at, course.odd).found()
    if course.prompt:
        yield from _prompt(simulated, replayed)
    if course.silent:
        yield from _suspended(simulated, replayed, course.silent)


def _one_result_each(recount: Recount) -> Iterator[str]:
    for match_id, number in recount.results.items():
        if number > 1:
            yield f"I1: {match_id} has {number} results"


def _complete(league: League, recount: Recount, course: Course) -> Iterator[str]:
    if league.phase is not Phase.COMPLETED or (league.aborted and not course.aborted):
        yield f"I7: the league is {league.phase}, aborted: {league.aborted}"
    if league.aborted:
        return
    number = len(recount.fold)
    wanted = number * (number - 1) // 2 * league.rules.cycles
    if len(recount.results) != wanted:
        yield f"I7: {len(recount.results)} of {wanted} matches are decided"
    for file in league.matches.values():
        if file.decided and not file.closed:
            yield f"I7: {file.match_id} is decided and was never closed"


def _table(league: League, recount: Recount) -> Iterator[str]:
    counted = dict(recount.fold)
    for row in league.table.rows():
        shown = (row.played, row.wins, row.draws, row.losses, row.points)
        if counted.get(row.player_id) != shown:
            by_rows = counted.get(row.player_id)
            yield f"I3: {row.player_id} has {shown} in the table, and by its results {by_rows}"


def _technical(simulated: SimulatedLeague, league: League, course: Course) -> Iterator[str]:
    away = {simulated.player_id(name) for name in course.away if simulated.is_known(name)}
    for file in league.matches.values():
        if file.decided is None:
            continue
        result = file.decided.result
        if result.no_contest is True:
            if not course.no_contests:
                yield f"I8: {file.match_id} is no contest: {result.reason}"
        elif result.status == "TECHNICAL_LOSS":
            losers = set(file.players) - {result.winner_player_id}
            if not course.lossy and not losers <= away:
                yield f"I8: {sorted(losers - away)} lost {file.match_id}: {result.reason}"


def _told(simulated: SimulatedLeague, league: League, course: Course) -> Iterator[str]:
    witness = simulated.witness
    for name in simulated.processes:
        is_away = name in (*course.away, *course.brief)
        if not name.startswith("player") or is_away or not simulated.is_known(name):
            continue
        for file in league.matches.of_player.get(simulated.player_id(name), ()):
            is_told = (url_of(name), file.match_id) in witness.told
            if file.decided and not is_told and not witness.is_foreign(file):
                yield f"I7: {name} was never told how {file.match_id} ended"
        if url_of(name) not in witness.told_the_end:
            yield f"I7: {name} was never told that the league is over"
        yield from _told_rounds(simulated, league, name, course)


def _told_rounds(
    simulated: SimulatedLeague, league: League, name: str, course: Course
) -> Iterator[str]:
    tables, url = simulated.witness.tables, url_of(name)
    for round_id in range(1, league.rounds_ended + 1):
        if (url, round_id) not in tables.rounds_told:
            yield f"I7: {name} was never told that round {round_id} is over"
        elif (url, round_id) in tables.unshown:
            yield f"I7: {name} was told that round {round_id} is over before it saw the table"


def _ended(simulated: SimulatedLeague) -> Iterator[str]:
    for name, process in simulated.processes.items():
        if name != MANAGER and process.is_alive:
            yield f"I7: {name} goes on after the end of the league"


def _same_state(live: League, replayed: League) -> Iterator[str]:
    for name in ("seq", "phase", "round_id", "rounds_ended", "open_matches", "told", "champion"):
        if getattr(live, name) != getattr(replayed, name):
            yield f"I9: {name} is {getattr(live, name)}, by replay {getattr(replayed, name)}"
    if any(live.matches.get(match_id) != file for match_id, file in replayed.matches.items()):
        yield "I9: the matches differ from those by replay"
    if live.table.rows() != replayed.table.rows():
        yield "I9: the table differs from that by replay"
    if _members(live) != _members(replayed):
        yield "I9: the roster differs from that by replay"


def _members(league: League) -> tuple[Any, ...]:
    return league.roster.players, league.roster.referees, league.roster.removed


def _peaceful(
    simulated: SimulatedLeague, league: League, events: Collection[Event], course: Course
) -> Iterator[str]:
    """Honest referees contradict nobody and drop nothing, and every draw can be checked."""
    yield from _disputes(events, league, course)
    for file in league.matches.values():
        if file.epoch > EPOCHS_MAX:
            yield f"{file.match_id} was given out {file.epoch} times"
    for name, process in simulated.processes.items():
        for sentence in process.news:
            is_wrong_draw = "THE DRAW IS WRONG" in sentence and not _is_foreign(simulated, sentence)
            if "was dropped" in sentence or is_wrong_draw:
                yield f"{name}: {sentence}"


def _disputes(events: Collection[Event], league: League, course: Course) -> Iterator[str]:
    """Only liars dispute, and each of them a match once, until the organiser rules on it."""
    noted: set[tuple[str, str]] = set()
    for event in events:
        if isinstance(event, MatchRuled):
            noted = {each for each in noted if each[0] != event.match_id}
        elif isinstance(event, Disputed):
            if not course.disputes and not _went_on(event, league):
                yield f"{event.referee_id} disputed {event.match_id}: {event.why}"
            if (event.match_id, event.referee_id) in noted:
                yield f"{event.match_id} is disputed by {event.referee_id} again"
            noted.add((event.match_id, event.referee_id))


def _went_on(event: Disputed, league: League) -> bool:
    """Whether a referee of another make ended the match of a player that was removed meanwhile."""
    players = set(league.matches[event.match_id].players)
    is_removed = not players.isdisjoint(league.roster.removed)
    return is_removed and not league.roster.referees[event.referee_id].locks


def _is_foreign(simulated: SimulatedLeague, sentence: str) -> bool:
    """Whether it is about a match of a referee that draws by itself."""
    file = simulated.witness.league.matches[sentence.partition(":")[0]]
    return simulated.witness.is_foreign(file)


def _kept(simulated: SimulatedLeague, league: League) -> Iterator[str]:
    """Without a crash of its referee no match changes hands.

    A referee whose registration was not answered is there twice, and once it is a ghost.
    """
    referees = [name for name in simulated.processes if name.startswith("referee")]
    if len(league.roster.referees) == len(referees):
        for file in league.matches.values():
            if file.epoch > 1 and not file.unreached:
                yield f"I7: {file.match_id} was given out {file.epoch} times for no reason"


def _prompt(simulated: SimulatedLeague, league: League) -> Iterator[str]:
    """A match takes as long as its players may take to join and to move, and no longer."""
    rules, game = league.rules.rules, simulated.agents.game
    turns = turns_max(game, rules.game_options)
    joining = longest_match(rules, 0)
    for match_id, waited in simulated.witness.waits.items():
        decided = league.matches[match_id].decided
        longest = longest_match(rules, turns) if decided and decided.moves else None
        if decided and longest is None:
            is_joined = _was_asked_to_move(league, match_id)
            longest = longest_match(rules, 1) if is_joined else joining
        if longest is not None and waited > longest:
            yield f"I10: the players of {match_id} waited {waited:g} seconds, not {longest:g}"


def _suspended(simulated: SimulatedLeague, league: League, name: str) -> Iterator[str]:
    """Who never answers is asked as often as the rules say, until it is suspended; then once."""
    rules, silences = league.rules.rules, 0
    for file in league.matches.of_player.get(simulated.player_id(name), ()):
        wanted = 1 if silences >= SILENCES_MAX else 1 + rules.join_retries
        asked = simulated.witness.attempts[url_of(name), file.match_id]
        if asked != wanted:
            yield f"{name} was asked {asked} times in {file.match_id}, not {wanted}"
        silences += asked


def _was_asked_to_move(league: League, match_id: str) -> bool:
    closing = league.matches[match_id].closing
    return bool(closing and any(row.message != INVITATION for row in closing.exchanges))


def _standing(simulated: SimulatedLeague) -> str:
    league = simulated.witness.league
    left = {
        match_id: (league.matches[match_id].epoch, league.matches[match_id].decided is not None)
        for match_id in sorted(league.open_matches)
    }
    alive = [name for name, process in simulated.processes.items() if process.is_alive]
    is_done = simulated.processes[MANAGER].is_done
    return f": {league.phase} round {league.round_id}, open {left}, alive {alive}, done {is_done}"
