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
from agentleague.conformance.rules import OURS, Broken, NotApplicable, NotReached, Rules, Tier

ANSWERS = Rules("referee", needs=REPORTED)  # tried before the referee is killed
ENDINGS = Rules("referee")
MUST, SHOULD, ROBUST, PLUS = Tier


# Answers that are unusual, and right.


@ANSWERS.rule(
    "answers.unknown-fields",
    ROBUST,
    number="R-ENV-04",
    source="document 004 section 14.5",
    says="Fields that it does not know, and any characters in them, do not disturb a referee.",
    mend="Ignore fields that you do not know, and read answers as UTF-8.",
)
def answers_unknown_fields(bench: RefereeBench) -> None:
    counts(bench, "unknown fields")


@ANSWERS.rule(
    "answers.long",
    ROBUST,
    number="R-HTTP-02",
    source="document 004 section 14.1",
    says="An answer of 9 KB counts like any other.",
    mend="Take answers of up to 10 KB.",
)
def answers_long(bench: RefereeBench) -> None:
    counts(bench, "long answers")


@ANSWERS.rule(
    "answers.bare",
    PLUS,
    number="R-FORM-08",
    source="document 004 section 6.2.1",
    says="An answer counts also as document 004 shows it: without JSON-RPC and with few fields.",
    mend="Read the message from `result`, or from the body itself where there is no `result`.",
)
def answers_bare(bench: RefereeBench) -> None:
    counts(bench, "bare answers")


@ANSWERS.rule(
    "answers.pushed",
    PLUS,
    number="R-MATCH-23",
    source="document 004 section 5.2",
    says="A join and a choice count also when the player sends them by requests of its own.",
    mend="Take GAME_JOIN_ACK and CHOOSE_PARITY_RESPONSE at your end point too.",
)
def answers_pushed(bench: RefereeBench) -> None:
    counts(bench, "pushes")


@ANSWERS.rule(
    "answers.of-strangers",
    ROBUST,
    number="R-MATCH-23",
    source="document 003 section 4.12",
    says="What others push in a player's name does not take the place of what it answers itself.",
    mend="Take the answer to your own call, and pushed ones only while that has no content.",
)
def answers_of_strangers(bench: RefereeBench) -> None:
    counts(bench, "impersonated")


@ANSWERS.rule(
    "answers.first-counts",
    PLUS,
    number="R-MATCH-12",
    source=OURS,
    says="A choice that was made cannot be changed by a later one.",
    mend="Ignore a choice of a player that has chosen.",
)
def answers_first_counts(bench: RefereeBench) -> None:
    counts(bench, "twice")


@ANSWERS.rule(
    "game-over.needs-no-answer",
    ROBUST,
    number="R-MATCH-10",
    source="document 004 section 5.3",
    says="The report follows also where a player answers GAME_OVER with an error.",
    mend="Send the report whatever is answered to GAME_OVER.",
)
def game_over_needs_no_answer(bench: RefereeBench) -> None:
    ended(bench, "refuses the end")


@ANSWERS.rule(
    "game-over.is-not-waited-for",
    ROBUST,
    number="R-MATCH-09",
    source="document 004 section 14.2",
    says="The report follows also where a player never answers GAME_OVER.",
    mend="Wait 5 seconds for the answer to GAME_OVER, and then report.",
    is_slow=True,
)
def game_over_is_not_waited_for(bench: RefereeBench) -> None:
    ended(bench, "silent at the end")


# Several matches, and several times the same.


@ANSWERS.rule(
    "matches.do-not-wait-for-others",
    ROBUST,
    number="R-LEASE-08",
    source="document 004 section 3.1.2",
    says="While a player of one match is slow, another match is played.",
    mend="Run each match by itself, as many at once as your max_concurrent_matches says.",
)
def matches_do_not_wait(bench: RefereeBench) -> None:
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


@ANSWERS.rule(
    "start.comes-again",
    PLUS,
    number="R-GUEST-01",
    source=OURS,
    says="A match that is given to it twice is played once.",
    mend="Remember the ids of the matches that you run.",
)
def start_comes_again(bench: RefereeBench) -> None:
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


@ANSWERS.rule(
    "report.is-repeated",
    PLUS,
    number="R-MATCH-14",
    source=OURS,
    says="A report that the manager did not answer is sent again.",
    mend="Send the same report again after a second or two until the manager answers.",
    is_slow=True,
)
def report_is_repeated(bench: RefereeBench) -> None:
    record = bench.record("report unanswered")
    if len(record.reports) < 2:
        raise Broken("the report once more", record.reported())


# The end.


def _expect_launched(bench: RefereeBench) -> None:
    if bench.launch is None:
        raise NotApplicable("only a referee that the kit started can be killed: use --command")


@ENDINGS.rule(
    "restart.registers-again",
    ROBUST,
    number="R-REG-05",
    source="document 001 section 9.4",
    says="A referee that was killed and is started again registers again.",
    mend="Register whenever you start.",
    needs=REGISTERED,
    is_slow=True,
)
def restart_registers_again(bench: RefereeBench) -> None:
    _expect_launched(bench)
    if bench.restart() is None:
        raise Broken("a registration after it was started again", is_late=True)


@ENDINGS.rule(
    "restart.plays-on",
    ROBUST,
    number="R-MATCH-01",
    source="document 001 section 9.4",
    says="A referee that was started again runs the matches that it is given.",
    mend="Do not rely on what was before you started.",
    needs=REPORTED,
    is_slow=True,
)
def restart_plays_on(bench: RefereeBench) -> None:
    _expect_launched(bench)
    record = bench.begin(AGAIN)
    record.is_done.wait()
    if not record.is_over:
        raise Broken("the match is run, and reported", record.exchange())


@ENDINGS.rule(
    "restart.retries-to-register",
    SHOULD,
    number="R-REG-05",
    source="document 001 section 9.4",
    says="A registration that was not answered is sent again.",
    mend="Register again after a second or two until the manager answers.",
    needs=REGISTERED,
    is_slow=True,
    leniency="whoever starts the agents can start it again",
)
def restart_retries_to_register(bench: RefereeBench) -> None:
    _expect_launched(bench)
    bench.drops_registrations = 1
    if bench.restart() is None:
        bench.restart()
        raise Broken("a second registration")


@ENDINGS.rule(
    "league-completed.is-taken",
    SHOULD,
    number="R-FLOW-01",
    source="document 004 section 4.3.4",
    says="A referee takes LEAGUE_COMPLETED, which goes to all agents.",
    mend="Acknowledge notify_league_completed.",
    leniency="who refuses it loses nothing by it",
)
def league_completed_is_taken(bench: RefereeBench) -> None:
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
