"""Managers that are wrong in one way each: ours, behind a relay that changes what it says or hears.

A row says what is wrong, which rule finds it, and the change.
"""

from dataclasses import dataclass, field
from itertools import count

from agentleague.conformance.manager_registration_rules import UNICODE_NAME
from conformance import wrong
from conformance.between import nothing
from conformance.manager_changes import (
    COMPLETED,
    END,
    FALSE,
    PLAYER,
    QUERY,
    REFEREE,
    REPORT,
    ROUND,
    TABLE,
    all_to_one_referee,
    another_id_if_repeated,
    answer,
    answers,
    asks,
    bare_start,
    completed_early,
    counts_more,
    data,
    first_match,
    first_token_for_the_second,
    has_error,
    hears,
    in_rows,
    is_after_the_end,
    is_late,
    is_named,
    is_technical,
    is_told,
    let_in,
    mended,
    meta,
    numbered,
    once,
    only,
    refuse,
    respelled,
    respells,
    rows,
    same_player_twice,
    say,
    sends,
    shows_the_token,
    stops_at_an_error,
    swallow,
    tables_after_rounds,
    taken,
    technical_as_draw,
    tells_referees_nothing,
    to,
    told,
    two_points,
    waits_for_ever,
    with_a_token_of,
    without_commitments,
    without_names,
)


@dataclass(frozen=True)
class Wrong(wrong.Wrong):
    """A wrong manager."""

    role = "manager"
    settings: dict = field(default_factory=dict)
    counted: float = 5.0  # seconds in which the kit expects a report to be in the table


NUMBERS = count()
NOTHING = dict.fromkeys(("played", "wins", "draws", "losses", "points"), 0)
WRONG = [
    Wrong(
        "takes no referees",
        "registration.referee-is-accepted",
        lambda known: (
            lambda p: refuse(-32601)(p) if b"referee_meta" in p.request.body else None,
            nothing,
        ),
    ),
    Wrong(
        "takes no players",
        "registration.player-is-accepted",
        hears(PLAYER, refuse(-32601, "Method not found")),
    ),
    Wrong(
        "gives referees no token",
        "registration.gives-a-token",
        answers(REFEREE, answer(auth_token=...)),
    ),
    Wrong(
        "gives two players one id",
        "registration.ids-differ",
        answers(
            PLAYER, answer(player_id="P01"), lambda p: p.answer.message.get("player_id") == "P03"
        ),
    ),
    Wrong("gives two players one token", "registration.tokens-differ", first_token_for_the_second),
    Wrong(
        "has ids of its own",
        "registration.ids-are-documented",
        respelled((rb"\bP0(\d)", rb"pl-\1"), (rb"\bpl-(\d)", rb"P0\1")),
    ),
    Wrong(
        "makes a conversation of its own for each answer",
        "query.repeats-the-conversation",
        answers(PLAYER, answer(conversation_id="conv-mine")),
    ),
    Wrong(
        "takes players without an end point",
        "registration.no-endpoint",
        only(lambda x: "contact_endpoint" not in x, mended(contact_endpoint="")),
    ),
    Wrong(
        "takes players without a name",
        "registration.no-name",
        only(lambda x: x and "display_name" not in x, mended(display_name="Anybody")),
    ),
    Wrong(
        "takes null for an end point",
        "registration.endpoint-is-no-text",
        only(lambda x: x.get("contact_endpoint", "") is None, mended(contact_endpoint="")),
    ),
    Wrong(
        "takes a number for an end point",
        "registration.endpoint-is-no-text",
        only(lambda x: type(x.get("contact_endpoint")) is int, mended(contact_endpoint="")),
    ),
    Wrong(
        "takes players of version 1",
        "registration.other-version",
        mended(protocol_version="2.0.0"),
    ),
    Wrong("takes players of chess", "registration.other-game", mended(game_types=["even_odd"])),
    Wrong(
        "gives who registers again another id",
        "registration.repeated",
        another_id_if_repeated,
    ),
    Wrong(
        "has a table before the league begins",
        "query.before-the-start",
        answers(QUERY, told(data={"standings": []}), lambda p: b"E030" in p.answer.body),
    ),
    Wrong(
        "never begins",
        "league.starts",
        sends(ROUND, swallow),
    ),
    Wrong(
        "forgets one player",
        "announcement.reaches-everybody",
        sends(ROUND, swallow, to("P03")),
    ),
    Wrong(
        "announces players whom nobody knows",
        "announcement.names-the-matches",
        sends(ROUND, first_match(player_B_id="P55")),
    ),
    Wrong(
        "lets a player play twice in a round",
        "announcement.nobody-plays-twice",
        sends(ROUND, same_player_twice),
    ),
    Wrong(
        "names matches in its own way",
        "announcement.match-ids",
        respelled((rb"\bR(\d)M(\d)", rb"match-\1-\2"), (rb"\bmatch-(\d)-(\d)", rb"R\1M\2")),
    ),
    Wrong(
        "tells each player its own match alone",
        "announcement.same-for-all",
        sends(ROUND, lambda p: p.request.say(matches=p.request.message["matches"][:1]), to("P02")),
    ),
    Wrong(
        "tells referees nothing",
        "assignment.referee-is-told",
        tells_referees_nothing,
    ),
    Wrong(
        "knows no token of a player that comes back",
        "registration.with-its-token",
        hears(PLAYER, refuse(), lambda p: "auth_token" in p.request.message),
    ),
    Wrong(
        "answers no queries",
        "query.standings",
        answers(QUERY, refuse(-32601), lambda p: p.answer.message.get("success") is True),
    ),
    Wrong(
        "takes any token in a report",
        "report.wrong-token",
        with_a_token_of(lambda x: FALSE in x.get("auth_token", "")),
    ),
    Wrong(
        "lets players report",
        "report.token-of-a-player",
        with_a_token_of(lambda x: "tok_P" in x.get("auth_token", "")),
    ),
    Wrong(
        "takes reports from any referee",
        "report.of-another-referee",
        with_a_token_of(
            lambda x: (
                str(x.get("auth_token")).startswith("tok_REF") and FALSE not in x["auth_token"]
            )
        ),
    ),
    Wrong(
        "says no more than a number in an error",
        "error.is-a-league-error",
        answers(REPORT, data(), has_error),
    ),
    Wrong(
        "takes no reports",
        "report.is-taken",
        answers(REPORT, refuse(-32603), lambda p: not has_error(p)),
    ),
    Wrong(
        "takes reports without a token",
        "report.without-token",
        with_a_token_of(lambda x: "auth_token" not in x),
    ),
    Wrong(
        "counts a report twice",
        "report.counts-once",
        counts_more(lambda p: "duplicate" in p.answer.message),
    ),
    Wrong(
        "believes the last report",
        "report.first-counts",
        counts_more(lambda p: b"E044" in p.answer.body),
    ),
    Wrong(
        "says yes to a report that contradicts another",
        "report.contradiction",
        answers(REPORT, taken, lambda p: b"E044" in p.answer.body and b"R3" not in p.request.body),
    ),
    Wrong("ends a round with its first match", "round.is-not-completed-early", completed_early),
    Wrong(
        "stops after the first round",
        "round.is-followed",
        sends(ROUND, swallow, lambda p, known: p.request.message["round_id"] == 2),
    ),
    Wrong("sends no tables", "standings.are-sent", sends(TABLE, swallow)),
    Wrong("counts two points for a win", "standings.points", rows(two_points)),
    Wrong(
        "does not count what was played",
        "standings.played",
        rows(lambda found, known: [row | {"played": row["played"] + 1} for row in found]),
    ),
    Wrong("stops when a player refuses a message", "flow.player-that-refuses", stops_at_an_error),
    Wrong(
        "ends no round",
        "round.is-completed",
        sends(COMPLETED, swallow, lambda p, known: known.called(p).startswith("P")),
    ),
    Wrong(
        "does not tell referees that a round is over",
        "round.is-completed-for-referees",
        sends(COMPLETED, swallow, to("REF01")),
    ),
    Wrong(
        "counts a technical loss as a draw",
        "standings.technical-loss",
        hears(REPORT, technical_as_draw, is_technical),
    ),
    Wrong(
        "never ends",
        "league.completed",
        sends(END, swallow, lambda p, known: known.called(p).startswith("P")),
    ),
    Wrong(
        "does not tell referees the end",
        "league.completed-for-referees",
        sends(END, swallow, to("REF02")),
    ),
    Wrong("lets everybody meet twice", "schedule.everybody-meets-once", settings={"cycles": 2}),
    Wrong(
        "makes the last one champion",
        "league.champion",
        sends(END, say(champion={"player_id": "P04", "display_name": "x", "points": 9})),
    ),
    Wrong.many(
        "gets much of what it sends wrong",
        {
            "registration.answer-is-complete": answers(REFEREE, answer(league_id=...)),
            "registration.rejection-is-documented": answers(
                PLAYER, answer(reason=None), lambda p: "chess" in meta(p).get("game_types", ())
            ),
            "announcement.is-complete": sends(ROUND, say(league_id=...)),
            "announcement.method": sends(
                ROUND, lambda p: setattr(p.request, "fields", p.request.fields | {"method": ROUND})
            ),
            "assignment.names-the-players": sends("START_MATCH", bare_start),
            "query.answer-is-documented": answers(
                QUERY, answer(success=...), lambda p: p.answer.message.get("success") is True
            ),
            "error.has-the-number": answers(REPORT, numbered),
            "error.names-the-message": answers(REPORT, data(original_message_type=...), has_error),
            "report.answer-is-documented": answers(REPORT, answer(match_id=...)),
            "standings.have-everybody": sends(
                TABLE,
                lambda p: p.request.say(standings=without_names(p.request.message["standings"])),
            ),
            "standings.order": sends(
                TABLE, lambda p: p.request.say(standings=p.request.message["standings"][::-1])
            ),
            "round.summary": sends(COMPLETED, say(summary=...)),
            "league.end-is-complete": sends(END, say(total_rounds=99)),
            "league.final-table": sends(
                END,
                lambda p: p.request.say(final_standings=p.request.message["final_standings"][:3]),
            ),
            "messages.have-the-envelope": sends(COMPLETED, say(sender=...)),
            "messages.have-the-time-in-utc": sends(
                TABLE, say(timestamp="2026-01-15T10:30:00+02:00")
            ),
        },
    ),
    Wrong.many(
        "takes what it should refuse",
        {
            "query.unknown-type": answers(QUERY, told(), asks("GET_WEATHER_FORECAST")),
            "query.unknown-player": answers(
                QUERY, told(data={"player_stats": {}}), asks("GET_PLAYER_STATS")
            ),
            "query.without-token": answers(
                QUERY, told(), lambda p: "auth_token" not in p.request.message
            ),
            "query.wrong-token": answers(
                QUERY, told(), lambda p: FALSE in p.request.message.get("auth_token", "")
            ),
            "report.unknown-match": answers(
                REPORT, taken, lambda p: "M77" in p.request.message["match_id"]
            ),
            "report.without-result": answers(
                REPORT, taken, lambda p: "result" not in p.request.message
            ),
            "registration.late": answers(PLAYER, let_in, is_late),
            "end.registration": answers(PLAYER, let_in, is_after_the_end),
            "end.report": answers(REPORT, taken, lambda p: b"E031" in p.answer.body),
        },
    ),
    Wrong.many(
        "is wrong in many answers",
        {
            "registration.after-a-refusal": respelled((rb"\bP02\b", b"P12"), (rb"\bP12\b", b"P02")),
            "registration.name-in-unicode": hears(PLAYER, refuse(), is_named(UNICODE_NAME)),
            "registration.all-at-once": hears(PLAYER, once(refuse()), is_named("Kit player 4")),
            "announcement.tells-the-commitment": sends(ROUND, without_commitments),
            "query.repeats-the-conversation": answers(
                QUERY, answer(conversation_id="conv-mine"), is_told("GET_STANDINGS")
            ),
            "query.schedule": answers(QUERY, respells(b"R1M1", b"R9M9"), is_told("GET_SCHEDULE")),
            "query.schedule-of-a-round": answers(
                QUERY, respells(b"R1M1", b"R9M9"), is_told("GET_SCHEDULE", round_id=1)
            ),
            "query.next-match": answers(
                QUERY,
                respells(rb'("opponent_id": ?)"P\d+"', rb'\1"P77"'),
                is_told("GET_NEXT_MATCH"),
            ),
            "query.player-stats": answers(
                QUERY, answer(data={}, player_stats=...), is_told("GET_PLAYER_STATS")
            ),
            "query.status": answers(
                QUERY, respells(b"RUNNING_LEAGUE", b"RUNNING"), is_told("GET_STATUS")
            ),
            "query.agents": answers(QUERY, answer(data={"agents": []}), is_told("GET_AGENTS")),
            "query.without-type": answers(
                QUERY, told(), lambda p: "query_type" not in p.request.message
            ),
            "query.changes-nothing": answers(
                QUERY, in_rows(lambda: {"asked": next(NUMBERS)}), is_told("GET_STANDINGS")
            ),
            "report.winner-of-another-match": answers(
                REPORT, taken, lambda p: b'"winner":"P98"' in p.request.body.replace(b" ", b"")
            ),
            "error.repeats-the-conversation": answers(
                REPORT, data(conversation_id="conv-mine"), has_error
            ),
            "error.repeats-its-context": answers(
                REPORT, data(context={"action": REPORT, "hint": "another"}), has_error
            ),
            "error.hides-the-token": answers(REPORT, shows_the_token, has_error),
        },
    ),
    Wrong.many(
        "is wrong about the table, and uses one referee",
        {
            "registration.name-is-shown": answers(
                QUERY, in_rows(lambda: {"display_name": "a player"}), is_told("GET_STANDINGS")
            ),
            "assignment.is-spread": all_to_one_referee,
            "round.order": tables_after_rounds,
            **dict.fromkeys(
                (
                    "standings.within-5-seconds",
                    "standings.same-when-asked",
                    "end.table-stays",
                ),
                answers(QUERY, in_rows(lambda: NOTHING), is_told("GET_STANDINGS")),
            ),
        },
        counted=0.2,
    ),
    Wrong(
        "waits for a player that hangs",
        "flow.player-that-hangs",
        waits_for_ever,
        settings={"reply_seconds": 1.0},
    ),
]
