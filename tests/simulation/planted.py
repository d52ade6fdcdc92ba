"""Bugs to plant in the real code, one for each test; the product has no switch for them.

Each function takes pytest's monkeypatch and breaks one rule. HUNTS says which mode finds it, and
words of the violation.
"""

import sqlite3
from collections import Counter
from types import SimpleNamespace
from typing import NamedTuple

import msgspec

from agentleague.errors import TokenInvalid, WrongType
from agentleague.league import match_result
from agentleague.league.adjudicator import Adjudicator, Decision
from agentleague.league.events import Disputed, MatchDecided, RoundScheduled
from agentleague.league.league import League
from agentleague.league.roster import Roster
from agentleague.league.standings import _DECIDERS, Table
from agentleague.manager.assignments import Workload
from agentleague.manager.broadcasts import Broadcasts
from agentleague.manager.claims import Claims
from agentleague.manager.leases import Leases
from agentleague.manager.outbox import Outbox
from agentleague.manager.rounds import Rounds
from agentleague.manager.step import Step
from agentleague.manager.tokens import TokenMisuse
from agentleague.match import answer_checks
from agentleague.match.machine import GameOverCall, Match, Phase
from agentleague.match.question import Failure, Question, Terms
from agentleague.player.memory import Memory
from agentleague.player.role import Player
from agentleague.protocol import draws
from agentleague.protocol.messages import GameResult, LockedResult, LockResponse
from agentleague.records import match_check
from agentleague.runtime.host import Host
from agentleague.storage.sqlite import SqliteJournal
from agentleague.transport.seats import Seats, _Seat


def release_before_commit(monkeypatch):
    """Effects go out when they are decided, whatever is on disk by then."""
    committed = property(lambda host: host._decided, lambda host, number: None)
    monkeypatch.setattr(Host, "_committed", committed, raising=False)
    monkeypatch.setattr(Host, "_with_receipt", lambda host, message, seq: message)


def no_dedupe(monkeypatch):
    """A lock that comes again decides the match again."""
    lock, decided = Adjudicator.lock, League._decided

    def forgetful(adjudicator, referee_id, request, **more):
        match = adjudicator._league.matches.get(request.match_id)
        if match and match.decided and not match.closed and not match.locks:
            match.decided, before = None, match.decided
            ruling = lock(adjudicator, referee_id, request, **more)
            match.decided = before
            return ruling
        return lock(adjudicator, referee_id, request, **more)

    def again(league, event):
        league.matches[event.match_id].decided = None
        decided(league, event)

    monkeypatch.setattr(Adjudicator, "lock", forgetful)
    monkeypatch.setitem(League._APPLY, MatchDecided, again)


def epoch_in_the_draw(monkeypatch):
    """Another referee draws another number: who does not like one gives the match away."""
    number, decide = draws.number, Adjudicator._decide
    epoch = [1]

    def decide_in(adjudicator, match, request):
        epoch[0] = match.epoch
        return decide(adjudicator, match, request)

    def redrawn(seed, league_id, match_id, **more):
        name = match_id if epoch[0] == 1 else f"{match_id}|{epoch[0]}"
        return number(seed, league_id, name, **more)

    monkeypatch.setattr(Adjudicator, "_decide", decide_in)
    of_the_judge = SimpleNamespace(**{**vars(draws), "number": redrawn})  # Players check the true.
    monkeypatch.setattr(match_result, "draws", of_the_judge)


def game_over_before_the_lock(monkeypatch):
    """The players are told what the referee thinks before the league holds it."""
    moved = Match._moved

    def hasty(match, made, now):
        players = match._progress._players
        guess = LockedResult(players[0], {}, GameResult("WIN", players[0]))
        match._result = LockResponse(match.match_id, 0, result=guess)
        match._tell(now)
        match.phase, match._result = Phase.PLAYING, None
        kept = {key: call for key, call in match._open.items() if type(key) is not GameOverCall}
        match._open = kept
        moved(match, made, now)

    monkeypatch.setattr(Match, "_moved", hasty)


def no_fence(monkeypatch):
    """A referee that lost its match may lock all the same."""
    lock = Adjudicator.lock

    def unfenced(adjudicator, referee_id, request, **more):
        match = adjudicator._league.matches[request.match_id]
        now = msgspec.structs.replace(request, epoch=match.epoch)
        holder = match.referee_id if referee_id in match.referees else referee_id
        return lock(adjudicator, holder, now, **more)

    monkeypatch.setattr(Adjudicator, "lock", unfenced)


def no_retry(monkeypatch):
    """One silence, and the player has lost."""

    def at_once(question, error, now):
        question.result = Failure(error, is_final=False)
        return []

    monkeypatch.setattr(Question, "_failed", at_once)


def no_deadline(monkeypatch):
    """A player that never answers is waited for."""

    ask = Question.ask

    def for_ever(question, now, **more):
        question.deadline = now + 1_000_000.0
        return ask(question, now, is_fresh=False)

    monkeypatch.setattr(Question, "ask", for_ever)


def leases_never_expire(monkeypatch):
    """A referee that died keeps its matches."""
    monkeypatch.setattr(Leases, "expired", lambda leases, now: [])


def replay_counts_twice(monkeypatch):
    """After a restart every result counts once more."""
    replay = Host.replay

    def twice(host, rows, read):
        rows = list(rows)
        replay(host, rows, read)
        for row in rows:
            event = read(row.kind, row.version, row.body)
            if isinstance(event, MatchDecided):
                league, result = host.role.league, event.result
                players = league.matches[event.match_id].players
                league.table.count(*players, winner=result.winner_player_id)

    monkeypatch.setattr(Host, "replay", twice)


def any_token_will_do(monkeypatch):
    """Any token of the league counts as a referee's."""

    def referee_of(roster, token):
        owner = roster.owner(token)
        if owner is None:
            raise TokenInvalid("auth_token is of nobody in this league")
        return owner if owner in roster.referees else next(iter(roster.referees))

    monkeypatch.setattr(Roster, "referee_of", referee_of)


def match_tokens_will_do(monkeypatch):
    """The manager takes what a referee shows to players for the referee's own token."""
    referee_of = Roster.referee_of

    def taken(roster, token):
        if token and token.startswith("mtok_"):
            return next(iter(roster.referees))
        return referee_of(roster, token)

    monkeypatch.setattr(Roster, "referee_of", taken)


def reports_are_sent_once(monkeypatch):
    """A report whose answer was lost is not sent again."""
    retry = Match._retry

    def never(match, error, now):
        if match.phase is not Phase.REPORTING:
            retry(match, error, now)

    monkeypatch.setattr(Match, "_retry", never)


def nothing_is_handed_out_after_a_restart(monkeypatch):
    """A manager that comes back waits for reports of matches that nobody has."""
    monkeypatch.setattr(Rounds, "_resume_round", lambda rounds: None)


def the_end_is_told_once(monkeypatch):
    """A manager that dies while it tells the end believes that everybody knows."""
    monkeypatch.setattr(Rounds, "_resume_end", lambda rounds: rounds.end())


def referees_make_numbers_up(monkeypatch):
    """Players are told another number than the league has drawn."""
    tell = Match._tell

    def made_up(match, now):
        locked = match._result
        wrong = msgspec.structs.replace(locked.result.game_result, drawn_number=11)
        result = msgspec.structs.replace(locked.result, game_result=wrong)
        match._result = msgspec.structs.replace(locked, result=result)
        tell(match, now)
        match._result = locked

    monkeypatch.setattr(Match, "_tell", made_up)


def a_lost_message_blocks_the_queue(monkeypatch):
    """An agent that once left a message unanswered is sent nothing any more."""
    answered = Outbox.answered

    def stuck(outbox, agents, *, ran_out, is_cut=False):
        done = answered(outbox, agents, ran_out=ran_out, is_cut=is_cut)
        for agent_id in agents:
            if ran_out and agent_id in outbox.ready:
                outbox.ready.remove(agent_id)
        return done

    monkeypatch.setattr(Outbox, "answered", stuck)


def disputes_are_forgotten(monkeypatch):
    """A report that contradicts the result is refused and not journalled."""
    monkeypatch.setattr(Adjudicator, "_dispute", lambda self, match, referee_id, why: ())


def every_false_report_is_another_dispute(monkeypatch):
    """A referee that repeats a false report fills the journal."""

    def noted(adjudicator, match, referee_id, why):
        return (Disputed(match.match_id, referee_id, why),)

    monkeypatch.setattr(Adjudicator, "_dispute", noted)


def misuse_is_forgotten(monkeypatch):
    """A token shown to the wrong audience is refused and not journalled."""
    monkeypatch.setattr(TokenMisuse, "refused", lambda misuse, asked: None)


def rounds_end_without_a_table(monkeypatch):
    """Players hear that a round is over, and not where they stand."""

    tell, tell_table = Rounds._tell_round_end, Rounds.tell_table

    def tell_round_end(rounds, round_id, *, is_last):
        monkeypatch.setattr(Rounds, "tell_table", lambda rounds: None)
        tell(rounds, round_id, is_last=is_last)
        monkeypatch.setattr(Rounds, "tell_table", tell_table)

    monkeypatch.setattr(Rounds, "_tell_round_end", tell_round_end)


def tables_go_back(monkeypatch):
    """Every third table is the first one."""
    rows, shown = Broadcasts.table_rows, {}

    def table_rows(broadcasts, is_short=False, room=0):
        tables = shown.setdefault(broadcasts, [])
        tables.append(rows(broadcasts, is_short, room=room))
        return tables[-1 if len(tables) % 3 else 0]

    monkeypatch.setattr(Broadcasts, "table_rows", table_rows)


def draws_count_as_wins(monkeypatch):
    """The table gives the first seat a win for a draw."""
    count = Table.count

    def generous(table, a, b, *, winner, technical=False, times=1):
        winner = winner or (None if technical else a)
        count(table, a, b, winner=winner, technical=technical, times=times)

    monkeypatch.setattr(Table, "count", generous)


def nobody_is_suspended(monkeypatch):
    """A dead player is waited for in every match as if it were there."""
    monkeypatch.setattr(League, "is_suspended", lambda league, player_id: False)


def suspended_at_the_first_silence(monkeypatch):
    """One question without an answer, and a player gets no retries any more."""
    monkeypatch.setattr(
        League, "is_suspended", lambda league, player_id: bool(league._silences.get(player_id))
    )


def who_hangs_keeps_its_retries(monkeypatch):
    """That a player let every attempt run out is forgotten."""
    nothing = property(lambda league: {}, lambda league, known: None)
    monkeypatch.setattr(League, "timed_out", nothing, raising=False)


def referees_are_not_believed(monkeypatch):
    """The adjudicator decides by other moves than it was sent: both choose as the first did."""
    decide = Adjudicator._decide

    def doubting(adjudicator, match, request):
        moves = [(turn, who, request.moves[0][2]) for turn, who, _ in request.moves]
        return decide(adjudicator, match, msgspec.structs.replace(request, moves=moves))

    monkeypatch.setattr(Adjudicator, "_decide", doubting)


def honest_locks_are_refused(monkeypatch):
    """Every second lock is refused, for no reason."""
    lock, asked = Adjudicator.lock, Counter()

    def moody(adjudicator, referee_id, request, **more):
        asked[adjudicator, request.match_id] += 1
        if asked[adjudicator, request.match_id] % 2:
            return Decision((), WrongType("LOCK_REQUEST.moves: not today", field="moves"))
        return lock(adjudicator, referee_id, request, **more)

    monkeypatch.setattr(Adjudicator, "lock", moody)


def rows_are_written_with_the_next_ones(monkeypatch):
    """The journal confirms what it has not committed yet."""
    insert = SqliteJournal._insert

    def behind(journal, connection, rows):
        held, journal.held = getattr(journal, "held", []), rows
        return not held or insert(journal, connection, held)

    monkeypatch.setattr(SqliteJournal, "_insert", behind)


def errors_of_the_disk_are_swallowed(monkeypatch):
    """What could not be written is confirmed."""
    insert = SqliteJournal._insert

    def hopeful(journal, connection, rows):
        try:
            return insert(journal, connection, rows)
        except sqlite3.OperationalError:
            return True

    monkeypatch.setattr(SqliteJournal, "_insert", hopeful)


def nobody_is_written_to_have_a_bye(monkeypatch):
    """Rounds are journalled without their byes."""
    record = Step.record

    def without_byes(step, event):
        is_round = isinstance(event, RoundScheduled)
        record(step, msgspec.structs.replace(event, byes=[]) if is_round else event)

    monkeypatch.setattr(Step, "record", without_byes)


def verify_ignores_the_number(monkeypatch):
    """`verify` does not draw again."""
    compare = match_check._compare

    def blind(what, written, follows):
        return () if what == "number drawn" else compare(what, written, follows)

    monkeypatch.setattr(match_check, "_compare", blind)


def the_fence_is_the_epoch(monkeypatch):
    """A referee that had a match once may lock it again, if it guesses the epoch."""
    lock = Adjudicator.lock

    def fenced(adjudicator, referee_id, request, **more):
        match = adjudicator._league.matches.get(request.match_id)
        had_it = match and referee_id in match.referees and request.epoch == match.epoch
        return lock(adjudicator, match.referee_id if had_it else referee_id, request, **more)

    monkeypatch.setattr(Adjudicator, "lock", fenced)


def leases_have_no_cap(monkeypatch):
    """A referee may hold a match for ever, if it says so often enough."""

    def renew(leases, match_id, now, state=""):
        lease = leases._leases.get(match_id)
        if lease:
            lease.due = now + lease.seconds

    monkeypatch.setattr(Leases, "renew", renew)


def referees_are_given_all_they_can_get(monkeypatch):
    """What a referee says it takes at once is not looked at."""
    join = Workload.join
    monkeypatch.setattr(Workload, "join", lambda load, referee_id, _: join(load, referee_id, 99))


def pauses_let_leases_run_out(monkeypatch):
    """A referee that was silent during a pause has lost its matches when it ends."""
    monkeypatch.setattr(Leases, "restart_all", lambda leases, now: None)


def tokens_are_compared_by_their_beginning(monkeypatch):
    """Part of a match token is enough for a player."""

    def check(player, asked):
        shown, own = player._tokens(asked.message)
        if not shown.startswith(asked.message.auth_token or "none"):
            raise TokenInvalid("auth_token is not the match token of this match")
        return own

    monkeypatch.setattr(Player, "_token_for_referee", check)


def anybody_may_come_back(monkeypatch):
    """Whoever knows a name and an end point is given a token."""
    monkeypatch.setattr(Claims, "is_back", lambda claims, known, where, caller: True)


def old_tokens_stay_valid(monkeypatch):
    """A token that was replaced counts for ever."""

    def confirm(roster, event):
        for generation, digest in roster._tokens[event.agent_id]:
            if generation == event.generation:
                roster.unused.pop(digest, None)

    monkeypatch.setattr(Roster, "confirm", confirm)


def the_fifth_token_ends_the_one_in_use(monkeypatch):
    """An agent that hears no answer for long is not known any more, nor is its claim."""
    renew = Roster.renew

    def forgetful(roster, event):
        issued = roster._tokens.get(event.agent_id, [])
        if len(issued) == 4:
            roster._forget(issued.pop(0)[1])
        renew(roster, event)

    monkeypatch.setattr(Roster, "renew", forgetful)
    monkeypatch.setattr(Roster, "claimed", lambda roster, claim: None)


def retries_wait_too_long(monkeypatch):
    """The first retry waits as long as the second should."""
    monkeypatch.setattr(
        Terms, "wait", lambda terms, retry: float(terms.delay * terms.backoff**retry)
    )


def results_are_noted_as_often_as_they_are_told(monkeypatch):
    """A player that is told a result twice has two more matches."""

    def remember(memory, match, known):
        memory.history.append(match)
        return True

    monkeypatch.setattr(Memory, "_remember", remember)


def more_technical_losses_are_better(monkeypatch):
    """A tie-break counts the wrong way round."""
    right = _DECIDERS["technical_losses"]
    wrong = right._replace(values=lambda *given: [-value for value in right.values(*given)])
    monkeypatch.setitem(_DECIDERS, "technical_losses", wrong)


def referees_report_what_they_told_nobody(monkeypatch):
    """The table counts a match when it is reported, and its players do not know how it ended."""

    def mute(match, now):
        match.phase, match._open = Phase.TELLING, {}
        match._report(now)

    monkeypatch.setattr(Match, "_tell", mute)


SEEDS = 30  # to try of a mode; a bug that they do not find is not found


def calls_are_taken_when_they_are_written(monkeypatch):
    """What a seated agent was sent once is not sent again, whether it came or not."""
    due = Seats._due

    def marked(seats, place):
        calls = due(seats, place)
        place.acked = place.offered
        return calls

    monkeypatch.setattr(Seats, "_due", marked)


def old_agents_keep_their_seat(monkeypatch):
    """Who opened a seat before another did is believed there as ever."""
    poll = Seats.poll

    def open_to_all(seats, seat, said, respond):
        newest = seats._seats[seat].epoch
        is_taken = seats._first_epoch < said.epoch < newest
        return poll(
            seats, seat, msgspec.structs.replace(said, epoch=newest) if is_taken else said, respond
        )

    monkeypatch.setattr(Seats, "poll", open_to_all)


def a_manager_that_is_away_costs_an_attempt(monkeypatch):
    """A referee takes a manager that is away for a player that does not answer."""
    monkeypatch.setattr(answer_checks, "is_manager_away", lambda *_: False)


def seats_are_mixed_up(monkeypatch):
    """All calls wait in one queue."""
    begin = Seats.__init__

    def begin_with_one(seats, *given):
        begin(seats, *given)
        seats._seats.default_factory = lambda: first
        first = seats._seats["P01"] = _Seat()

    monkeypatch.setattr(Seats, "__init__", begin_with_one)


class Hunt(NamedTuple):
    """Where to look for a bug, and what shows it."""

    mode: str
    words: str  # of the violation
    first: int = 0  # the seed to begin with, so that it is found soon


HUNTS = {
    release_before_commit: Hunt("chaos", "on disk"),
    no_dedupe: Hunt("chaos", "results", 1),
    epoch_in_the_draw: Hunt("chaos", "THE DRAW IS WRONG"),
    game_over_before_the_lock: Hunt("chaos", "none is on disk"),
    no_fence: Hunt("chaos", "had lost it"),
    no_retry: Hunt("exhaustive", "lost R", 39),
    no_deadline: Hunt("calm", "waited", 11),
    leases_never_expire: Hunt("chaos", "not over", 22),
    replay_counts_twice: Hunt("chaos", "the table"),
    any_token_will_do: Hunt("calm", "by a player was taken", 5),
    match_tokens_will_do: Hunt("calm", "by a player was taken", 5),
    reports_are_sent_once: Hunt("chaos", "for no reason", 60),
    nothing_is_handed_out_after_a_restart: Hunt("chaos", "not over", 4),
    the_end_is_told_once: Hunt("liveness", "never told that the league is over"),
    referees_make_numbers_up: Hunt("chaos", "is told"),
    a_lost_message_blocks_the_queue: Hunt("chaos", "I7", 30),
    disputes_are_forgotten: Hunt("chaos", "no dispute is on disk", 22),
    every_false_report_is_another_dispute: Hunt("chaos", "again", 22),
    misuse_is_forgotten: Hunt("calm", "misused a token, which is not on disk", 5),
    rounds_end_without_a_table: Hunt("calm", "before it saw the table"),
    tables_go_back: Hunt("calm", "I6"),
    draws_count_as_wins: Hunt("calm", "I3"),
    nobody_is_suspended: Hunt("calm", "was asked 4 times"),
    suspended_at_the_first_silence: Hunt("calm", "was asked 1 times"),
    who_hangs_keeps_its_retries: Hunt("calm", "was asked 4 times"),
    referees_are_not_believed: Hunt("calm", "that no referee locked"),
    honest_locks_are_refused: Hunt("calm", "was refused"),
    rows_are_written_with_the_next_ones: Hunt("chaos", "confirmed before it was on disk"),
    errors_of_the_disk_are_swallowed: Hunt("chaos", "confirmed before it was on disk", 21),
    nobody_is_written_to_have_a_bye: Hunt("chaos", "verify: row"),
    verify_ignores_the_number: Hunt("chaos", "verify does not see", 80),
    the_fence_is_the_epoch: Hunt("hostile", "had lost it was accepted"),
    leases_have_no_cap: Hunt("hostile", "not over"),
    referees_are_given_all_they_can_get: Hunt("hostile", "at once"),
    pauses_let_leases_run_out: Hunt("hostile", "after a pause", 11),
    tokens_are_compared_by_their_beginning: Hunt("hostile", "took a GameOver of a thief"),
    anybody_may_come_back: Hunt("hostile", "took a LeagueRegisterRequest of a thief"),
    old_tokens_stay_valid: Hunt("hostile", "of a thief"),
    the_fifth_token_ends_the_one_in_use: Hunt("hostile", "showed the token", 4),
    retries_wait_too_long: Hunt("calm", "retry 1 came after"),
    results_are_noted_as_often_as_they_are_told: Hunt("chaos", "was noted"),
    more_technical_losses_are_better: Hunt("hostile", "I3", 20),
    referees_report_what_they_told_nobody: Hunt("calm", "I11"),
    calls_are_taken_when_they_are_written: Hunt("seats", "I8"),
    old_agents_keep_their_seat: Hunt("seats", "has lost the seat"),
    a_manager_that_is_away_costs_an_attempt: Hunt("seats", "I8"),
    seats_are_mixed_up: Hunt("seats", "is handed out"),
}
