"""The rules for referees about reports, and about all their messages."""

from agentleague.conformance.listener import Received
from agentleague.conformance.referee_bench import TOKEN, RefereeBench
from agentleague.conformance.referee_judging import (
    ENVELOPE,
    FIELDS,
    METHODS,
    PLAIN,
    REGISTERED,
    REPORTED,
    RUN,
    TOLD,
    expect_fields,
    expect_method,
    expect_utc,
    field,
    first,
    told,
    value_at,
    winner_by_rules,
)
from agentleague.conformance.referee_matches import (
    CALL,
    INVITATION,
    LEAGUE_ID,
    OVER,
    Record,
    type_of,
)
from agentleague.conformance.registering import registered
from agentleague.conformance.rules import Broken, NotReached, Rules, Tier
from agentleague.protocol.messages import PROTOCOL

REPORTS = Rules("referee", needs=REPORTED)
MUST, SHOULD, ROBUST, PLUS = Tier


@REPORTS.rule("report.is-sent", MUST, needs=RUN)
def report_is_sent(bench: RefereeBench) -> str | None:
    """A referee tells the manager how a match ended.

    R-MATCH-06: document 001 section 5.1
    Mend: Send report_match_result to the manager when the match is over.
    Leniency: the answer to the start of the match may tell it too
    """
    record = bench.record("decisive")
    if not record.is_over:
        raise Broken("MATCH_RESULT_REPORT to the manager", record.exchange())
    return None if record.reports else "it told the result in its answer to the start"


@REPORTS.rule("report.is-a-message", SHOULD)
def report_is_a_message(bench: RefereeBench) -> None:
    """The result is told by a MATCH_RESULT_REPORT.

    R-MATCH-06: document 004 section 7.1.3
    Mend: Send the result as a MATCH_RESULT_REPORT, also where the start was answered with it.
    Leniency: the result in the answer to the start is taken as a report
    """
    record = bench.record("decisive")
    if not record.reports:
        raise Broken("MATCH_RESULT_REPORT to the manager", record.start)


def reported(bench: RefereeBench, name: str = "decisive") -> tuple[Record, Received]:
    """A match and its report."""
    record = bench.played(name)
    if not record.reports:
        raise NotReached("the result was told without a report")
    return record, record.reports[0]


@REPORTS.rule("report.names-the-match", MUST)
def report_names_the_match(bench: RefereeBench) -> None:
    """A report has the `match_id` that the manager gave the match.

    R-MSG-04: document 001 section 5.1
    Mend: Use the match_id of the assignment in MATCH_RESULT_REPORT.
    """
    record, report = reported(bench)
    if report.params().get("match_id") != record.match_id:
        raise Broken(f"`match_id` {record.match_id!r}", report.exchange())


@REPORTS.rule("report.winner", MUST, implies=("referee.report.score",))
def report_winner(bench: RefereeBench) -> None:
    """A report names the winner by the rules of the game, and nobody where it is a draw.

    R-MSG-04: document 001 section 5.1
    Mend: Put the winner's id into result.winner, and null where it is a draw.
    """
    for name in ("decisive", "odd even", "draw"):
        record = bench.played(name)
        said = record.report.result.details.drawn_number if record.report else None
        over = record.result(record.seats[0])
        drawn = said or (over.drawn_number if over else None)
        if drawn is None:
            raise NotReached("neither GAME_OVER nor the report names the drawn number")
        winner = winner_by_rules(record, drawn)
        if record.winner != winner:
            raise Broken(f"the winner {winner or 'null'}", record.reported())


@REPORTS.rule("report.score", SHOULD)
def report_score(bench: RefereeBench) -> None:
    """A report gives 3 points for a win, 1 for a draw, 0 for a loss.

    R-TABLE-01: document 004 section 7.1.2
    Mend: Put the points of both players under their ids into result.score.
    Leniency: the points are computed from the winner
    """
    for name in ("decisive", "draw", "declines"):
        record, report = reported(bench, name)
        a, b = (3 if record.winner == each else 0 if record.winner else 1 for each in record.ids)
        right = dict(zip(record.ids, (a, b), strict=True))
        if value_at(report.params(), "result.score") != right:
            raise Broken(f"the score {right}", report.exchange())


@REPORTS.rule(
    "report.agrees-with-game-over", SHOULD, needs=(*REPORTED, "referee.game-over.to-both")
)
def report_agrees(bench: RefereeBench) -> None:
    """A report has the number and the choices that the players were told.

    R-MATCH-03: document 001 section 5.1
    Mend: Put drawn_number and choices of the result into result.details.
    Leniency: the winner is enough
    """
    record, report = reported(bench)
    (_, over), _ = told(record)
    right = (over.drawn_number, over.choices)
    said = value_at(report.params(), "result.details")
    details = said if isinstance(said, dict) else {}
    if (details.get("drawn_number"), details.get("choices")) != right:
        raise Broken(f"the number {right[0]} and the choices {right[1]}", report.exchange())


@REPORTS.rule("report.has-all-fields", SHOULD)
def report_has_all_fields(bench: RefereeBench) -> None:
    """MATCH_RESULT_REPORT has every field of document 001, and the league and round it was given.

    R-MATCH-16: document 001 section 5.1
    Mend: Put all fields of document 001 section 5.1 into the report, with the league_id and
    round_id of the assignment.
    Leniency: match and winner are enough
    """
    record, report = reported(bench)
    expect_fields(report, FIELDS["MATCH_RESULT_REPORT"])
    said = report.params()
    if (said.get("league_id"), said.get("round_id")) != (LEAGUE_ID, record.round_id):
        text = f"`league_id` {LEAGUE_ID!r} and `round_id` {record.round_id}"
        raise Broken(text, report.exchange())


@REPORTS.rule("report.after-game-over", SHOULD, needs=(*REPORTED, "referee.game-over.to-both"))
def report_after_game_over(bench: RefereeBench) -> None:
    """The report follows when both players have been told.

    R-MATCH-06: document 001 section 5.1
    Mend: Send GAME_OVER to both players first, and then the report.
    Leniency: a report counts whenever it comes
    """
    record, report = reported(bench)
    if report.at < max(received.at for received, _ in told(record)):
        raise Broken("GAME_OVER to both players before the report", report.exchange())


@REPORTS.rule("report.is-sent-once", SHOULD)
def report_is_sent_once(bench: RefereeBench) -> None:
    """A report that was acknowledged is not sent again.

    R-LEAGUE-09: document 001 section 5.1
    Mend: Send one report a match, and again only while no answer came.
    Leniency: a report that comes again is a duplicate, and counts once
    """
    for name in PLAIN:
        record, _ = reported(bench, name)
        if len(record.reports) > 1:
            text = f"one report, not {len(record.reports)}"
            raise Broken(text, record.reports[1].exchange())


@REPORTS.rule("report.shows-the-token", SHOULD, needs=(*REPORTED, *REGISTERED))
def report_shows_the_token(bench: RefereeBench) -> None:
    """A report has the `auth_token` that the manager gave the referee.

    R-ENV-05: document 001 section 1.4
    Mend: Put the auth_token of the answer to the registration into every message to the manager.
    Leniency: on one machine a report without a token counts from the referee's own address
    """
    registered(bench)
    _, report = reported(bench)
    if report.params().get("auth_token") != TOKEN:
        raise Broken("the `auth_token` of the registration", report.exchange())


def _messages(bench: RefereeBench) -> list[Received]:
    names = ("decisive", "draw", "illegal once", "declines")
    records = [bench.record(name) for name in names]
    return [each for record in records for each in (*record.got(), *record.reports)]


@REPORTS.rule("messages.have-the-envelope", SHOULD, needs=RUN)
def messages_have_the_envelope(bench: RefereeBench) -> None:
    """Every message, its registration too, has protocol, message_type, sender, timestamp and
    conversation_id.

    R-ENV-01: document 000 section 2.4.1
    Mend: Put the five fields of the envelope into every message.
    Leniency: messages without part of the envelope are read
    """
    for each in (*bench.registrations, *_messages(bench)):
        expect_fields(each, ENVELOPE)
        if each.params()["protocol"] != PROTOCOL:
            raise Broken(f"`protocol` {PROTOCOL!r}", each.exchange())


@REPORTS.rule("messages.name-their-sender", SHOULD, needs=("referee.messages.have-the-envelope",))
def messages_name_their_sender(bench: RefereeBench) -> None:
    """The sender of its messages is `referee:` and the id that it was given.

    R-ENV-06: document 000 section 2.4.4
    Mend: Set sender to "referee:" and the referee_id of the answer to your registration.
    Leniency: a sender may have any form
    """
    registered(bench)
    for each in _messages(bench):
        if field(each, "sender") != "referee:REF01":
            raise Broken("`sender` 'referee:REF01'", each.exchange())


@REPORTS.rule("messages.are-in-utc", SHOULD, needs=("referee.messages.have-the-envelope",))
def messages_are_in_utc(bench: RefereeBench) -> None:
    """Every timestamp is in UTC, that of its registration too.

    R-TIME-01: document 000 section 2.4.2
    Mend: Write the present time in UTC as 2026-01-31T12:00:00Z.
    Leniency: a manager of ours refuses local times; players read none
    """
    for each in (*bench.registrations, *_messages(bench)):
        expect_utc(each, "timestamp")


@REPORTS.rule(
    "messages.keep-the-conversation", SHOULD, needs=("referee.messages.have-the-envelope",)
)
def messages_keep_the_conversation(bench: RefereeBench) -> None:
    """All messages of a match to a player have the `conversation_id` of its invitation.

    R-MATCH-16: document 001 section 4.2
    Mend: Make one conversation_id for each match, and use it in all its messages.
    Leniency: nobody of ours compares them
    """
    for name in ("decisive", "illegal once"):
        for seat in bench.record(name).seats:
            wanted = field(first(seat, INVITATION), "conversation_id")
            for each in seat.got():
                if field(each, "conversation_id") != wanted:
                    raise Broken(f"`conversation_id` {wanted!r}", each.exchange())


@REPORTS.rule("messages.use-their-methods", SHOULD, needs=RUN)
def messages_use_their_methods(bench: RefereeBench) -> None:
    """Its requests are JSON-RPC 2.0, with the methods of document 001.

    R-RPC-08, R-MSG-02: document 001 section 1.1
    Mend: Send register_referee, handle_game_invitation, parity_choose, notify_match_result,
    notify_game_error and report_match_result, with the message as `params`.
    Leniency: bare messages, message types as methods and other names are read too
    """
    for each in (*bench.registrations, *_messages(bench)):
        if type_of(each) in METHODS:
            expect_method(each, type_of(each))


@REPORTS.rule(
    "messages.are-in-order",
    SHOULD,
    needs=(*TOLD, "referee.invitation.to-both", "referee.move.to-both"),
)
def messages_are_in_order(bench: RefereeBench) -> None:
    """A player is invited, then asked, then told the end, each of it once, and then no more.

    R-MATCH-01: document 001 section 4.2
    Mend: Send each message once where it was answered, in the order of document 001 section 4.
    Leniency: players of ours take messages in any order, and twice
    """
    record = bench.record("decisive")
    for seat in record.seats:
        found = seat.got()
        if [type_of(each) for each in found] != [INVITATION, CALL, OVER]:
            raise Broken("one invitation, one call, one GAME_OVER", found[-1].exchange())


@REPORTS.rule("messages.are-short", SHOULD, needs=RUN)
def messages_are_short(bench: RefereeBench) -> None:
    """No message has more than 10 KB.

    R-HTTP-02: document 004 section 14.1
    Mend: Leave out of messages what nobody needs.
    Leniency: players of ours take 64 KB
    """
    for each in _messages(bench):
        if len(each.body) > 10_240:
            raise Broken(f"10,240 bytes at most, not {len(each.body)}", each.exchange())


@REPORTS.rule("messages.hide-the-token", PLUS, needs=RUN)
def messages_hide_the_token(bench: RefereeBench) -> None:
    """A referee shows its own token to no player, who could report in its name.

    R-MATCH-17: ours
    Mend: Leave auth_token out of messages to players, or show another one there.
    """
    for each in bench.record("decisive").got():
        if TOKEN.encode() in each.body:
            raise Broken("nothing of the referee's own token", each.exchange())
