"""The rules for managers about reports: which are taken, which are refused, and with what words."""

import re
from typing import Any

from agentleague.conformance.exchange import Answer
from agentleague.conformance.manager_agents import Match, Outcome
from agentleague.conformance.manager_bench import ManagerBench
from agentleague.conformance.manager_checks import (
    FALSE_HASH,
    MISSING,
    OTHER_MATCH,
    WRONG_TOKEN,
    expect_reason,
    other_referee,
    reason_of,
    settled,
    shown,
    sums,
)
from agentleague.conformance.manager_query_rules import ANSWERS
from agentleague.conformance.manager_registration_rules import MANAGER
from agentleague.conformance.manager_round_rules import SOUND
from agentleague.conformance.rules import Broken, NotReached, Tier

MUST, SHOULD, ROBUST, PLUS = Tier
TOLD = (*SOUND, "manager.registration.gives-a-token")
TAKEN = ("manager.report.is-taken",)
REFUSED = ("manager.report.wrong-token",)
COUNTS = (
    "manager.standings.points",
    "manager.round.summary",
    "manager.standings.technical-loss",
    "manager.league.final-table",
    "manager.league.champion",
    "manager.end.table-stays",
)


def _refused(
    bench: ManagerBench, meant: tuple[str | int, ...], words: str = "", **changed: Any
) -> Match:
    """Break the rule unless an otherwise right report is refused for this reason."""
    match = bench.open_match()
    answer = bench.ask(bench.report(match, **changed))
    bench.expect_answer(answer)
    if bench.is_acknowledged(match, answer):
        if {"match_id", "result"} & changed.keys():
            bench.play.doubtful.add(match.match_id)
        else:
            bench.play.results[match.match_id] = bench.play.planned(match, bench.players[0])
        raise Broken(f"a refusal with {meant[0]}, and not that it is taken")
    expect_reason(bench, answer, meant, words)
    return match


def _false_token(bench: ManagerBench) -> str:
    """In the form of document 004, and given to nobody."""
    return f"tok_{bench.referees[0].id}_{FALSE_HASH}"


def _league_error(bench: ManagerBench) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was asked, and the LEAGUE_ERROR with which it was refused."""
    asked, answer = _refusal_of_a_token(bench)
    data = (answer.error or {}).get("data")
    if not isinstance(data, dict):
        raise NotReached("there is no LEAGUE_ERROR in the error")
    return asked, data


def _refusal_of_a_token(bench: ManagerBench) -> tuple[dict[str, Any], Answer]:
    asked = bench.report(bench.open_match(), auth_token=_false_token(bench))
    answer = bench.ask(asked)
    if reason_of(bench, answer) is None:
        raise NotReached("a report with a wrong token was not refused")
    return asked, answer


@MANAGER.rule("report.wrong-token", MUST, needs=TOLD)
def wrong_token(bench: ManagerBench) -> None:
    """A manager refuses a report whose token it gave to nobody, with E012.

    R-ERR-09: document 001 section 5.1
    Mend: Compare auth_token with the token that the referee was given; else error 5001, E012.
    """
    _refused(bench, WRONG_TOKEN, "token", auth_token=_false_token(bench))


@MANAGER.rule("report.token-of-a-player", SHOULD, needs=TOLD)
def token_of_a_player(bench: ManagerBench) -> None:
    """A manager refuses a report with the token of a player.

    R-ERR-09: document 001 section 5.1
    Mend: Look whose token it is: only the referee of the match may report.
    """
    bench.started()
    token = bench.players[0].token
    _refused(bench, (*WRONG_TOKEN, *OTHER_MATCH), "token|referee", auth_token=token)


@MANAGER.rule("report.of-another-referee", SHOULD, needs=TOLD)
def report_of_another_referee(bench: ManagerBench) -> None:
    """A manager refuses a report of a referee that was not given the match, with 5002.

    R-LEAGUE-07: document 001 section 5.1
    Mend: Compare the referee of the token with the one of the match; else error 5002, E015.
    """
    other = other_referee(bench, bench.open_match())
    changed = {"sender": other.sender, "auth_token": other.token}
    _refused(bench, OTHER_MATCH, "assigned|referee", **changed)


@MANAGER.rule("report.unknown-match", SHOULD, needs=TOLD)
def unknown_match(bench: ManagerBench) -> None:
    """A manager refuses a report of a match that does not exist, with 5002.

    R-LEAGUE-07: document 001 section 5.1
    Mend: Answer with the error 5002 (E015) where match_id is unknown.
    """
    _refused(bench, OTHER_MATCH, "match", match_id="R1M77")


@MANAGER.rule("report.without-result", SHOULD, needs=TOLD)
def report_without_result(bench: ManagerBench) -> None:
    """A manager refuses a report without `result`, with E003.

    R-MSG-04: document 004 section 10.5 rule 3
    Mend: Answer with the error E003 (-32602) where result is missing.
    """
    _refused(bench, MISSING, "result|winner", result=...)


@MANAGER.rule("report.winner-of-another-match", PLUS, needs=TOLD)
def winner_of_another_match(bench: ManagerBench) -> None:
    """A manager refuses a winner who does not play the match.

    R-LEAGUE-33: ours
    Mend: Answer with the error E003 where result.winner is neither player of the match.
    """
    match = bench.open_match()
    result = Outcome(match.player_a).result(match) | {"winner": "P98"}
    _refused(bench, MISSING, "winner|player", result=result)


@MANAGER.rule("error.is-a-league-error", SHOULD, needs=REFUSED)
def error_is_a_league_error(bench: ManagerBench) -> None:
    """The `data` of an error is a LEAGUE_ERROR with its code, its name and what it is about.

    R-ERR-03: document 001 section 6.1
    Mend: Say message_type, error_code, error_description and context in error.data.
    Leniency: the number and the code are found wherever they stand
    """
    _, answer = _refusal_of_a_token(bench)
    data = (answer.error or {}).get("data")
    if not isinstance(data, dict) or data.get("message_type") != "LEAGUE_ERROR":
        raise Broken("`error.data`, a LEAGUE_ERROR")
    if not re.fullmatch(r"E\d{3}", str(data.get("error_code"))):
        raise Broken("`error_code` like E012")
    if not isinstance(data.get("error_description"), str):
        raise Broken("`error_description`, the name of the error")
    if not isinstance(data.get("context"), dict):
        raise Broken("`context`, an object")


@MANAGER.rule("error.has-the-number", SHOULD, needs=REFUSED)
def error_has_the_number(bench: ManagerBench) -> None:
    """`error.code` is the number of document 001: 5001 for a bad token in a report.

    R-ERR-02: document 001 section 5.1
    Mend: Use document 001's number for the message that is refused.
    Leniency: any number is read, if the words or the code say what it is
    """
    _, answer = _refusal_of_a_token(bench)
    if (answer.error or {}).get("code") != 5001:
        raise Broken("`error.code` 5001")


@MANAGER.rule("error.names-the-message", SHOULD, needs=("manager.error.is-a-league-error",))
def error_names_the_message(bench: ManagerBench) -> None:
    """An error names the message that it refuses in `original_message_type`.

    R-ERR-04: document 004 section 9.1.2
    Mend: Copy message_type of what you refuse into original_message_type.
    """
    _, data = _league_error(bench)
    if data.get("original_message_type") != "MATCH_RESULT_REPORT":
        raise Broken("`original_message_type` MATCH_RESULT_REPORT")


@MANAGER.rule("error.repeats-the-conversation", SHOULD, needs=("manager.error.is-a-league-error",))
def error_repeats_the_conversation(bench: ManagerBench) -> None:
    """An error has the `conversation_id` of what it refuses.

    R-ERR-06: document 004 section 10.2
    Mend: Copy conversation_id from the request into error.data.
    """
    asked, data = _league_error(bench)
    if data.get("conversation_id") != asked["conversation_id"]:
        raise Broken(f"`conversation_id` {asked['conversation_id']}")


@MANAGER.rule("error.hides-the-token", PLUS, needs=REFUSED)
def error_hides_the_token(bench: ManagerBench) -> None:
    """An error does not repeat the token that was shown.

    R-TOK-05: ours
    Mend: Show at most the first four characters of a token in context.provided_token.
    """
    asked, answer = _refusal_of_a_token(bench)
    if str(asked["auth_token"]).encode() in answer.body:
        raise Broken("at most the first characters of the token")


@MANAGER.rule("report.is-taken", MUST, needs=TOLD)
def report_is_taken(bench: ManagerBench) -> None:
    """A manager takes the report of the referee to which it gave the match.

    R-LEAGUE-09, R-LEAGUE-12: document 001 section 5.1
    Mend: Answer report_match_result with `status` ACCEPTED.
    """
    match = bench.open_match()
    try:
        bench.tell(match)
    except NotReached:
        raise Broken("`status` ACCEPTED") from None


@MANAGER.rule("report.answer-is-documented", SHOULD, needs=TAKEN)
def report_answer_is_documented(bench: ManagerBench) -> None:
    """The answer to a report is MATCH_RESULT_ACK with `status`, `match_id` and `round_id`.

    R-LEAGUE-09: document 001 section 5.1
    Mend: Answer with message_type MATCH_RESULT_ACK, status ACCEPTED, match_id and round_id.
    Leniency: any answer that refuses nothing is taken for a yes
    """
    match = bench.open_match()
    said = bench.said(bench.tell(match))
    expected = {
        "message_type": "MATCH_RESULT_ACK",
        "status": "ACCEPTED",
        "match_id": match.match_id,
        "round_id": match.round_id,
    }
    for name, value in expected.items():
        if said.get(name) != value:
            raise Broken(f"`{name}` {shown(value)}")


@MANAGER.rule("report.without-token", SHOULD, needs=TAKEN)
def report_without_token(bench: ManagerBench) -> None:
    """A manager refuses a report without a token, with E011.

    R-ENV-05, R-START-06: document 001 section 1.4
    Mend: Refuse a report without auth_token with the error 5001, E011.
    Leniency: a referee that never showed its token need not, on one machine
    """
    for referee in bench.referees:  # Now the manager has seen the token of both.
        bench.ask(bench.query("GET_STANDINGS", referee))
    _refused(bench, WRONG_TOKEN, "token", auth_token=...)


@MANAGER.rule("report.counts-once", MUST, needs=(*TAKEN, *ANSWERS), implies=COUNTS)
def report_counts_once(bench: ManagerBench) -> None:
    """A report that comes twice counts once, and is ACCEPTED again or refused with 5003.

    R-LEAGUE-09: document 001 section 5.1
    Mend: Keep the result of each match; answer a repeated report without counting it.
    """
    match, outcome = _reported(bench)
    before = sums(settled(bench))
    answer = bench.ask(bench.report(match, outcome))
    if not bench.is_acknowledged(match, answer):
        expect_reason(bench, answer, ("E044", 5003), "duplicate|already")
    if sums(settled(bench)) != before:
        raise Broken("the same table as before the second report")


@MANAGER.rule(
    "report.first-counts",
    MUST,
    needs=(*TAKEN, *ANSWERS),
    implies=(*COUNTS, "manager.report.contradiction"),
)
def report_first_counts(bench: ManagerBench) -> None:
    """A later report that contradicts the first changes nothing in the table.

    R-LEAGUE-10: document 001 section 5.1
    Mend: Keep the first result of each match, whatever comes later.
    """
    match, outcome = _reported(bench)
    before = sums(settled(bench))
    bench.ask(bench.report(match, _contrary(match, outcome)))
    if sums(settled(bench)) != before:
        raise Broken("the same table as before the second report")


@MANAGER.rule("report.contradiction", SHOULD, needs=TAKEN)
def report_contradiction(bench: ManagerBench) -> None:
    """A report that contradicts an earlier one is refused with 5003.

    R-LEAGUE-10: document 001 section 5.1
    Mend: Answer with the error 5003 (E044), `match_id` and `previous_report_time`.
    """
    match, outcome = _reported(bench)
    answer = bench.ask(bench.report(match, _contrary(match, outcome)))
    expect_reason(bench, answer, ("E044", 5003), "duplicate|already")


def _reported(bench: ManagerBench) -> tuple[Match, Outcome]:
    """A match that was reported, while another one is open: the league goes on."""
    bench.open_match()
    for match in (each for matches in reversed(bench.play.rounds) for each in matches):
        if match.match_id in bench.play.results:
            return match, bench.play.results[match.match_id]
    match = bench.open_match()
    bench.tell(match)
    return match, bench.play.results[match.match_id]


def _contrary(match: Match, outcome: Outcome) -> Outcome:
    return Outcome(match.player_b if outcome.winner == match.player_a else match.player_a)


@MANAGER.rule("error.repeats-its-context", PLUS, needs=("manager.error.is-a-league-error",))
def error_repeats_its_context(bench: ManagerBench) -> None:
    """What stands in the `context` of an error stands beside it too.

    R-ERR-05: document 001 section 3.1
    Mend: Copy the keys of context, but `action`, into error.data, where document 001 has them.
    """
    _, data = _league_error(bench)
    context = data.get("context")
    if lacking := {*(context if isinstance(context, dict) else ())} - {*data, "action"}:
        raise Broken(f"`{min(lacking)}` in `error.data`")
