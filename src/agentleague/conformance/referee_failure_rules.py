"""The rules for referees about players that fail: illegal choices, refusals, silence."""

from typing import Any

from agentleague.conformance.listener import Received
from agentleague.conformance.referee_bench import RefereeBench
from agentleague.conformance.referee_judging import FIELDS, REPORTED, RUN, expect_fields, field
from agentleague.conformance.referee_matches import CALL, ERROR, INVITATION, OVER, Record
from agentleague.conformance.rules import Broken, NotReached, Rules, Tier

FAILURES = Rules("referee", needs=REPORTED)
MUST, SHOULD, ROBUST, PLUS = Tier
ASKED_MAX = 4  # at first, and three retries


def expect_error(record: Record, code: str) -> None:
    """Break the rule unless player A was sent GAME_ERROR with this code."""
    errors = record.seats[0].got(ERROR)
    if not any(each.params().get("error_code") == code for each in errors):
        text = f"GAME_ERROR with the code {code} to {record.seats[0].player_id}"
        raise Broken(text, errors[0].exchange() if errors else record.exchange())


def error_to_a(record: Record, code: str) -> Received:
    """The first GAME_ERROR with this code to player A."""
    errors = record.seats[0].got(ERROR)
    found = next((each for each in errors if each.params().get("error_code") == code), None)
    if found is None:
        raise NotReached(f"{record.seats[0].player_id} was sent no GAME_ERROR with {code}")
    return found


def ended(bench: RefereeBench, name: str) -> Record:
    """A match that comes to its end whatever its players do."""
    record = bench.record(name)
    if not record.is_over:
        raise Broken("the match ends, and is reported", record.exchange())
    return record


def a_loses(bench: RefereeBench, name: str) -> Record:
    """A match that player B wins without a number being drawn."""
    record = ended(bench, name)
    if record.winner != record.ids[1]:
        raise Broken(f"{record.ids[1]} wins by technical loss", record.reported())
    over = record.result(record.seats[1])
    if over and over.drawn_number is not None:
        raise Broken("a technical loss, for which no number is drawn", record.exchange(OVER))
    return record


def choice_of_a(record: Record) -> Any:
    """Which choice of player A counted, as GAME_OVER to the other player or the report says."""
    over = record.result(record.seats[1])
    if over:
        return over.choices.get(record.ids[0])
    if record.report:
        return (record.report.result.details.choices or {}).get(record.ids[0])
    raise NotReached("nobody was told the choices")


def counts(bench: RefereeBench, name: str) -> Record:
    """A match in which the answers of both players count."""
    record = ended(bench, name)
    made = record.seats[0].script.choice
    if choice_of_a(record) != made:
        raise Broken(f"the answers of {record.ids[0]} count: {made!r}", record.exchange())
    return record


# Illegal choices.


@FAILURES.rule("illegal.never-counts", MUST, implies=("referee.illegal.is-told",))
def illegal_never_counts(bench: RefereeBench) -> None:
    """Only the texts even and odd are choices; who makes no other choice loses.

    R-GAME-01, R-MSG-06: document 004 section 6.2.3
    Mend: Compare parity_choice with 'even' and 'odd' exactly, and give the match to the opponent.
    """
    for name in ("always illegal", "always a number"):
        a_loses(bench, name)


@FAILURES.rule("illegal.is-told", SHOULD, needs=RUN)
def illegal_is_told(bench: RefereeBench) -> None:
    """Who makes an illegal choice is told by GAME_ERROR with E004.

    R-MATCH-08, R-ERR-01: document 004 section 6.2.4
    Mend: Send GAME_ERROR with error_code E004 to the player whose choice is illegal.
    Leniency: players of ours make no illegal choice
    """
    expect_error(bench.record("illegal once"), "E004")


@FAILURES.rule("illegal.says-what-is-legal", SHOULD, needs=("referee.illegal.is-told",))
def illegal_says_what_is_legal(bench: RefereeBench) -> None:
    """That error says what came and what is legal.

    R-MATCH-08: document 004 section 9.2.1
    Mend: Put "invalid_choice" and "valid_choices": ["even", "odd"] into `context`.
    Leniency: E004 alone says what is wrong
    """
    error = error_to_a(bench.record("illegal once"), "E004")
    context = error.params().get("context")
    found = context if isinstance(context, dict) else {}
    legal = found.get("valid_choices")
    is_legal = isinstance(legal, list) and sorted(map(str, legal)) == ["even", "odd"]
    if found.get("invalid_choice") != "Even" or not is_legal:
        raise Broken("`context.invalid_choice` and `context.valid_choices`", error.exchange())


@FAILURES.rule("illegal.may-choose-again", SHOULD)
def illegal_may_choose_again(bench: RefereeBench) -> None:
    """Who made an illegal choice may make a legal one within its time.

    R-MATCH-20: document 004 section 6.2.4
    Mend: After E004 ask again with CHOOSE_PARITY_CALL and the same deadline.
    Leniency: the organiser can rule on the match
    """
    counts(bench, "illegal once")


@FAILURES.rule("illegal.null", ROBUST, needs=("referee.illegal.may-choose-again",))
def illegal_null(bench: RefereeBench) -> None:
    """A choice that is null is illegal like any other, and ends no match by itself.

    R-FORM-15: document 004 section 6.2.3
    Mend: Treat null in parity_choice as an illegal choice: E004, and ask again.
    """
    if choice_of_a(bench.played("illegal once")) != "even":
        raise NotReached("it lets nobody choose again")
    counts(bench, "null once")


@FAILURES.rule("illegal.other-match", SHOULD)
def illegal_other_match(bench: RefereeBench) -> None:
    """A choice for another match does not count in this one.

    R-MATCH-20: document 004 section 10.5
    Mend: Compare match_id of the answer with that of the call: E015 if they differ.
    Leniency: players of ours repeat the match that they were asked about
    """
    record = ended(bench, "other match")
    if choice_of_a(record) == "odd":
        raise Broken("the choice for another match does not count", record.exchange())


@FAILURES.rule("errors.have-all-fields", SHOULD, needs=("referee.illegal.is-told",))
def errors_have_all_fields(bench: RefereeBench) -> None:
    """GAME_ERROR has match_id, error_code, error_description, affected_player, action_required and
    consequence.

    R-MSG-11: document 003 section 4.10.2
    Mend: Put all fields of document 003 section 4.10.2 into GAME_ERROR.
    Leniency: the code alone says what is wrong
    """
    record = bench.record("illegal once")
    error = error_to_a(record, "E004")
    expect_fields(error, FIELDS[ERROR])
    if field(error, "affected_player") != record.ids[0]:
        raise Broken(f"`affected_player` {record.ids[0]!r}", error.exchange())


# Players that decline.


@FAILURES.rule(
    "decline.loses",
    MUST,
    implies=(
        "referee.decline.tells-the-other",
        "referee.decline.is-technical",
        "referee.decline.ends-the-match",
        "referee.report.score",
    ),
)
def decline_loses(bench: RefereeBench) -> None:
    """Who declines an invitation loses, and the other wins.

    R-MATCH-07: document 004 section 5.2.3
    Mend: When `accept` is false, report the other player as winner, with 3 points.
    """
    a_loses(bench, "declines")


@FAILURES.rule("decline.tells-the-other", SHOULD)
def decline_tells_the_other(bench: RefereeBench) -> None:
    """The player that came is told by GAME_OVER that it has won.

    R-MATCH-10: document 004 section 5.3.1
    Mend: Send GAME_OVER to the other player too when one declines.
    Leniency: the table says it too
    """
    record = bench.record("declines")
    over = record.result(record.seats[1])
    if over is None or over.winner_player_id != record.ids[1]:
        raise Broken(f"GAME_OVER to {record.ids[1]}, which has won", record.exchange())


@FAILURES.rule("decline.is-technical", SHOULD, needs=("referee.decline.tells-the-other",))
def decline_is_technical(bench: RefereeBench) -> None:
    """A technical loss has that status, and null as number, parity and missing choice.

    R-MSG-07: document 004 section 5.3.2
    Mend: Set status to "TECHNICAL_LOSS", and drawn_number and number_parity to null.
    Leniency: a status that contradicts the winner is disputed, and the winner counts
    """
    record = bench.record("declines")
    over = record.result(record.seats[1])
    if over is None:
        raise NotReached(f"{record.ids[1]} was not told how the match ended")
    choice = over.choices.get(record.ids[0])
    said = (over.status, over.drawn_number, over.number_parity, choice)
    if said != ("TECHNICAL_LOSS", None, None, None):
        raise Broken("TECHNICAL_LOSS without number, parity and choice", record.exchange(OVER))


@FAILURES.rule("decline.ends-the-match", SHOULD)
def decline_ends_the_match(bench: RefereeBench) -> None:
    """After a decline nobody is invited again, and nobody is asked for a choice.

    R-MATCH-07: document 004 section 5.2.2
    Mend: End the match when `accept` is false.
    Leniency: who declined may be invited again
    """
    record = bench.record("declines")
    calls, invitations = record.got(CALL), record.seats[0].got(INVITATION)
    if calls or len(invitations) > 1:
        again = (calls or invitations)[-1]
        raise Broken("no invitation and no call after a decline", again.exchange())


@FAILURES.rule("decline.of-both", SHOULD)
def decline_of_both(bench: RefereeBench) -> None:
    """Where both decline nobody wins, 0-0.

    R-MATCH-07, R-LEAGUE-04: document 004 section 5.2.3
    Mend: Report winner null and 0 points for both where both fail.
    Leniency: a result of both is read in many spellings
    """
    record = ended(bench, "both decline")
    report = record.report
    score = report.result.score if report else {}
    if record.winner or any(score.values()):
        raise Broken("no winner, and no points", record.reported())


# Players that are silent, or broken.


@FAILURES.rule("join.is-retried", SHOULD, is_slow=True)
def join_is_retried(bench: RefereeBench) -> None:
    """A player that does not answer the invitation is invited again, and then takes part.

    R-MATCH-19: document 001 section 4.1
    Mend: Send GAME_INVITATION again, up to three times, where no answer came in 5 seconds.
    Leniency: a player of ours answers the first one
    """
    counts(bench, "silent at first")


@FAILURES.rule("join.has-its-time", SHOULD, needs=("referee.join.is-retried",), is_slow=True)
def join_has_its_time(bench: RefereeBench) -> None:
    """A player has 5 seconds to join before it is invited again.

    R-MATCH-09: document 000 section 2.7
    Mend: Wait 5 seconds for GAME_JOIN_ACK.
    Leniency: a player of ours joins at once
    """
    record = bench.played("silent at first")
    invitations = record.seats[0].got(INVITATION)
    if len(invitations) < 2:
        raise NotReached("it was invited once")
    one, other = invitations[:2]
    if other.at - one.at < bench.limits.join - bench.limits.quiet:
        text = f"the next invitation {bench.limits.join:g} s later, not {other.at - one.at:.1f} s"
        raise Broken(text, other.exchange())


@FAILURES.rule("timeout.is-told", SHOULD, needs=RUN, is_slow=True)
def timeout_is_told(bench: RefereeBench) -> None:
    """Who does not answer in time is told by GAME_ERROR with E001.

    R-MATCH-08: document 003 section 4.10.2
    Mend: Send GAME_ERROR with error_code E001 to a player that did not answer in time.
    Leniency: players of ours need no such message
    """
    expect_error(bench.record("silent at first"), "E001")


@FAILURES.rule("timeout.says-which-retry", SHOULD, needs=("referee.timeout.is-told",), is_slow=True)
def timeout_says_which_retry(bench: RefereeBench) -> None:
    """That error says which retry comes, of how many, and what follows.

    R-MSG-11: document 003 section 4.10.2
    Mend: Put retry_count and max_retries into `retry_info`, and write `consequence`.
    Leniency: players of ours need no such message
    """
    error = error_to_a(bench.record("silent at first"), "E001")
    said = error.params()
    info = said.get("retry_info")
    info = said if not isinstance(info, dict) else info
    if (info.get("retry_count"), info.get("max_retries")) != (1, 3) or not said.get("consequence"):
        raise Broken("retry_count 1, max_retries 3 and a consequence", error.exchange())


@FAILURES.rule("join.silence-loses", MUST, is_slow=True)
def join_silence_loses(bench: RefereeBench) -> None:
    """Who never answers the invitation loses after three retries, and the other wins.

    R-MATCH-07: document 001 section 4.1
    Mend: Give the match to the other player when all retries are over.
    """
    record = a_loses(bench, "never joins")
    _expect_at_most(record, INVITATION)


def _expect_at_most(record: Record, name: str) -> None:
    asked = record.seats[0].got(name)
    if len(asked) > ASKED_MAX:
        text = f"{name} {ASKED_MAX} times at most, not {len(asked)}"
        raise Broken(text, asked[-1].exchange())


@FAILURES.rule("move.is-retried", SHOULD, is_slow=True)
def move_is_retried(bench: RefereeBench) -> None:
    """A player that does not choose in time is asked again, and its choice counts then.

    R-MATCH-19: document 001 section 4.2
    Mend: Send CHOOSE_PARITY_CALL again, up to three times, where no answer came in 30 seconds.
    Leniency: a player of ours answers the first one
    """
    counts(bench, "silent at the move")


@FAILURES.rule("move.has-its-time", SHOULD, is_slow=True)
def move_has_its_time(bench: RefereeBench) -> None:
    """Answers that come late, and within 5 seconds to join and 30 to choose, count.

    R-MATCH-09: document 004 section 14.2
    Mend: Wait 5 seconds for a join and 30 for a choice.
    Leniency: a player of ours answers at once
    """
    record = counts(bench, "late answers")
    for name in (INVITATION, CALL):
        asked = record.seats[0].got(name)
        if len(asked) > 1:
            text = f"no second {name} within the time of the first"
            raise Broken(text, asked[1].exchange())


@FAILURES.rule("move.silence-loses", MUST, implies=("referee.player.refuses",), is_slow=True)
def move_silence_loses(bench: RefereeBench) -> None:
    """Who never chooses loses after three retries, and the other wins.

    R-MATCH-07: document 001 section 4.2
    Mend: Give the match to the other player when all retries are over.
    """
    record = a_loses(bench, "never moves")
    _expect_at_most(record, CALL)


@FAILURES.rule("player.refuses", ROBUST, is_slow=True)
def player_refuses(bench: RefereeBench) -> None:
    """A player that answers its call with an error or HTTP 500 alone loses in the end.

    R-MATCH-07, R-FORM-11: document 000 section 2.9.4
    Mend: Treat both as no answer: ask again, then give the match to the other.
    """
    for name in ("refuses to move", "breaks"):
        a_loses(bench, name)


@FAILURES.rule("player.babbles", ROBUST, is_slow=True)
def player_babbles(bench: RefereeBench) -> None:
    """A player that answers with what is no JSON loses in the end.

    R-FORM-10: document 004 section 9.2.3
    Mend: Catch what your JSON parser raises: ask again, then give the match to the other.
    """
    a_loses(bench, "babbles")


@FAILURES.rule("player.is-away", ROBUST, is_slow=True)
def player_is_away(bench: RefereeBench) -> None:
    """A player that nobody can reach loses in the end, and the other wins.

    R-MATCH-07: document 001 section 9.4
    Mend: Catch refused connections: try again, then give the match to the other.
    """
    a_loses(bench, "away")


@FAILURES.rule("player.both-are-away", ROBUST, is_slow=True)
def both_are_away(bench: RefereeBench) -> None:
    """A match whose players are both away ends without a winner.

    R-MATCH-07: document 000 section 2.9.4
    Mend: Report winner null where both players fail.
    """
    record = ended(bench, "both away")
    if record.winner:
        raise Broken("no winner", record.reported())


@FAILURES.rule("errors.say-what-follows", SHOULD, needs=("referee.illegal.is-told",))
def errors_say_what_follows(bench: RefereeBench) -> None:
    """GAME_ERROR says the state of the match, and whether another try can help.

    R-ERR-11, R-MATCH-13: document 000 section 2.9.2
    Mend: Put game_state COLLECTING_CHOICES and retryable true into GAME_ERROR with E004.
    Leniency: players of ours need neither
    """
    error = error_to_a(bench.record("illegal once"), "E004")
    said = error.params()
    if (said.get("game_state"), said.get("retryable")) != ("COLLECTING_CHOICES", True):
        raise Broken("`game_state` COLLECTING_CHOICES, `retryable` true", error.exchange())
