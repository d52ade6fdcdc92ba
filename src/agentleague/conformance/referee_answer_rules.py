"""The rules for referees about unusual answers, about several matches, and about their own end."""

from agentleague.conformance.bench import Fields
from agentleague.conformance.referee_bench import RefereeBench
from agentleague.conformance.referee_failure_rules import counts, ended
from agentleague.conformance.referee_judging import REGISTERED, REPORTED
from agentleague.conformance.referee_matches import (
    AGAIN,
    BESIDE,
    HELD,
    INVITATION,
    LEAGUE_ID,
    Scenario,
    Script,
    after,
    joins,
    type_of,
)
from agentleague.conformance.rules import Broken, NotApplicable, NotReached, Rules, Tier

ANSWERS = Rules("referee", needs=REPORTED)  # tried before the referee is killed
ENDINGS = Rules("referee")
MUST, SHOULD, ROBUST, PLUS = Tier


# Answers that are unusual, and right.


@ANSWERS.rule("answers.unknown-fields", ROBUST)
def answers_unknown_fields(bench: RefereeBench) -> None:
    """Fields that it does not know, and any characters in them, do not disturb a referee.

    R-ENV-04: document 004 section 14.5
    Mend: Ignore fields that you do not know, and read answers as UTF-8.
    """
    counts(bench, "unknown fields")


@ANSWERS.rule("answers.long", ROBUST)
def answers_long(bench: RefereeBench) -> None:
    """An answer of 9 KB counts like any other.

    R-HTTP-02: document 004 section 14.1
    Mend: Take answers of up to 10 KB.
    """
    counts(bench, "long answers")


@ANSWERS.rule("answers.bare", PLUS)
def answers_bare(bench: RefereeBench) -> None:
    """An answer counts also as document 004 shows it: without JSON-RPC and with few fields.

    R-FORM-08: document 004 section 6.2.1
    Mend: Read the message from `result`, or from the body itself where there is no `result`.
    """
    counts(bench, "bare answers")


@ANSWERS.rule("answers.pushed", PLUS)
def answers_pushed(bench: RefereeBench) -> None:
    """A join and a choice count also when the player sends them by requests of its own.

    R-MATCH-23: document 004 section 5.2
    Mend: Take GAME_JOIN_ACK and CHOOSE_PARITY_RESPONSE at your end point too.
    """
    counts(bench, "pushes")


@ANSWERS.rule("answers.of-strangers", ROBUST)
def answers_of_strangers(bench: RefereeBench) -> None:
    """What others push in a player's name does not take the place of what it answers itself.

    R-MATCH-23: document 003 section 4.12
    Mend: Take the answer to your own call, and pushed ones only while that has no content.
    """
    counts(bench, "impersonated")


@ANSWERS.rule("answers.first-counts", PLUS)
def answers_first_counts(bench: RefereeBench) -> None:
    """A choice that was made cannot be changed by a later one.

    R-MATCH-12: ours
    Mend: Ignore a choice of a player that has chosen.
    """
    counts(bench, "twice")


@ANSWERS.rule("game-over.needs-no-answer", ROBUST)
def game_over_needs_no_answer(bench: RefereeBench) -> None:
    """The report follows also where a player answers GAME_OVER with an error.

    R-MATCH-10: document 004 section 5.3
    Mend: Send the report whatever is answered to GAME_OVER.
    """
    ended(bench, "refuses the end")


@ANSWERS.rule("game-over.is-not-waited-for", ROBUST, is_slow=True)
def game_over_is_not_waited_for(bench: RefereeBench) -> None:
    """The report follows also where a player never answers GAME_OVER.

    R-MATCH-09: document 004 section 14.2
    Mend: Wait 5 seconds for the answer to GAME_OVER, and then report.
    """
    ended(bench, "silent at the end")


# Several matches, and several times the same.


@ANSWERS.rule("matches.do-not-wait-for-others", ROBUST)
def matches_do_not_wait(bench: RefereeBench) -> None:
    """While a player of one match is slow, another match is played.

    R-LEASE-08: document 004 section 3.1.2
    Mend: Run each match by itself, as many at once as your max_concurrent_matches says.
    """
    if bench.at_once < 2:
        raise NotApplicable("it runs one match at a time, as it says")
    held = bench.begin(HELD)
    slow = held.seats[0]
    try:
        if not slow.asked.wait(bench.limits.next_step):
            raise NotReached("it did not invite the players of the match that was to wait")
        beside = bench.begin(BESIDE)
        is_played = beside.was_told.wait(0.8 * bench.limits.join)
    finally:
        slow.opened.set()
    held.is_done.wait()
    if not is_played:
        raise Broken("the match beside it is played", beside.exchange(), is_late=True)


@ANSWERS.rule("start.comes-again", PLUS)
def start_comes_again(bench: RefereeBench) -> None:
    """A match that is given to it twice is played once.

    R-GUEST-01: ours
    Mend: Remember the ids of the matches that you run.
    """
    slow = Script(join=(after(2 * bench.limits.quiet, joins),))
    record = bench.begin(Scenario(name="told twice", a=slow))
    other = record.seats[1].listener
    if not other.wait_for(lambda each: type_of(each) == INVITATION, bench.limits.next_step):
        raise NotReached("it invited nobody")
    bench.tell_again(record)
    record.is_done.wait()
    times = max(len(seat.got(INVITATION)) for seat in record.seats)
    if times > 1 or len(record.reports) > 1:
        raise Broken("one invitation to each player, and one report", record.exchange())


@ANSWERS.rule("report.is-repeated", PLUS, is_slow=True)
def report_is_repeated(bench: RefereeBench) -> None:
    """A report that the manager did not answer is sent again.

    R-MATCH-14: ours
    Mend: Send the same report again after a second or two until the manager answers.
    """
    record = bench.record("report unanswered")
    if len(record.reports) < 2:
        raise Broken("the report once more", record.reported())


# The end.


def _expect_launched(bench: RefereeBench) -> None:
    if bench.launch is None:
        raise NotApplicable("only a referee that the kit started can be killed: use --command")


@ENDINGS.rule("restart.registers-again", ROBUST, needs=REGISTERED, is_slow=True)
def restart_registers_again(bench: RefereeBench) -> None:
    """A referee that was killed and is started again registers again.

    R-REG-05: document 001 section 9.4
    Mend: Register whenever you start.
    """
    _expect_launched(bench)
    if bench.restart() is None:
        raise Broken("a registration after it was started again", is_late=True)


@ENDINGS.rule("restart.plays-on", ROBUST, needs=REPORTED, is_slow=True)
def restart_plays_on(bench: RefereeBench) -> None:
    """A referee that was started again runs the matches that it is given.

    R-MATCH-01: document 001 section 9.4
    Mend: Do not rely on what was before you started.
    """
    _expect_launched(bench)
    record = bench.begin(AGAIN)
    record.is_done.wait()
    if not record.is_over:
        raise Broken("the match is run, and reported", record.exchange())


@ENDINGS.rule("restart.retries-to-register", SHOULD, needs=REGISTERED, is_slow=True)
def restart_retries_to_register(bench: RefereeBench) -> None:
    """A registration that was not answered is sent again.

    R-REG-05: document 001 section 9.4
    Mend: Register again after a second or two until the manager answers.
    Leniency: whoever starts the agents can start it again
    """
    _expect_launched(bench)
    bench.drops_registrations = 1
    if bench.restart() is None:
        bench.restart()
        raise Broken("a second registration")


@ENDINGS.rule("league-completed.is-taken", SHOULD)
def league_completed_is_taken(bench: RefereeBench) -> None:
    """A referee takes LEAGUE_COMPLETED, which goes to all agents.

    R-FLOW-01: document 004 section 4.3.4
    Mend: Acknowledge notify_league_completed.
    Leniency: who refuses it loses nothing by it
    """
    champion: Fields = {"player_id": "P01", "display_name": "P01", "points": 3}
    row = champion | {"rank": 1, "played": 1, "wins": 1, "draws": 0, "losses": 0}
    answer = bench.ask(
        bench.message(
            "LEAGUE_COMPLETED",
            league_id=LEAGUE_ID,
            total_rounds=1,
            total_matches=1,
            champion=champion,
            final_standings=[row],
        )
    )
    if not bench.is_taken(answer):
        raise Broken("an answer that is no error", is_late=answer.is_late)
