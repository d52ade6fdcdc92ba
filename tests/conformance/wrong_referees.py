"""Referees that are wrong in one way each: ours, behind a relay that changes what it says or hears.

A row says what is wrong, which rule finds it, and the change: a function from the relay to hooks.
"""

from dataclasses import dataclass, field

from conformance import wrong
from conformance.referee_changes import (
    ACK,
    CALL,
    ERROR,
    FIRST,
    INVITATION,
    OVER,
    REGISTRATION,
    REPORT,
    A,
    B,
    always_8,
    answered,
    answers_once,
    does_not_wait_for_joins,
    fields,
    first_wins,
    heard,
    higher_number,
    inside,
    is_silent_about,
    keeps_the_result,
    lets_who_declines_win,
    method,
    one_after_the_other,
    other_reported,
    other_winner,
    own_match,
    reads_choices_kindly,
    refuses,
    refuses_matches,
    refuses_pushes,
    registers_nothing,
    runs_one_after_the_other,
    said,
    starts_with,
    swapped_choices,
    tells_late,
    twice,
    twice_at_once,
    winner_of_a_draw,
)
from conformance.wrong import together


@dataclass(frozen=True)
class Wrong(wrong.Wrong):
    """A wrong referee."""

    role = "referee"
    is_new: bool = False  # It is wrong from its start on, or its rule has to wait.
    waits: bool = False  # The kit has to wait for what does not come.
    more: dict = field(default_factory=dict)  # limits that are not the usual ones


WRONG = [
    Wrong(
        "it registers without a name and an end point",
        "registration.is-understood",
        registers_nothing,
        is_new=True,
    ),
    Wrong(
        "it registers an end point where nobody listens",
        "registration.end-point-listens",
        said(REGISTRATION, inside("referee_meta", contact_endpoint="http://127.0.0.1:9/mcp")),
        is_new=True,
    ),
    Wrong("it takes no match", "match.is-run", refuses_matches, is_new=True),
    Wrong(
        "it invites one player only",
        "invitation.to-both",
        said(INVITATION, answered(accept=True), match=FIRST, to=B),
    ),
    Wrong(
        "it calls a match otherwise than the manager",
        "invitation.names-the-match",
        said(INVITATION, fields(match_id="R9M9"), match=FIRST),
    ),
    Wrong(
        "it asks one player only",
        "move.to-both",
        said(CALL, answered(parity_choice="odd"), match=FIRST, to=B),
    ),
    Wrong(
        "it asks for a choice before both have joined",
        "move.after-both-joined",
        does_not_wait_for_joins,
    ),
    Wrong(
        "it tells a player what the other chose",
        "move.hides-the-other-choice",
        said(CALL, fields(opponent_choice="odd"), match=FIRST, to=A),
    ),
    Wrong(
        "it tells one player only how the match ended",
        "game-over.to-both",
        said(OVER, answered(**ACK), match=FIRST, to=B),
    ),
    Wrong(
        "it tells each player another winner",
        "game-over.is-the-same",
        said(OVER, other_winner, match=FIRST, to=B),
    ),
    Wrong("it tells both the wrong winner", "game-over.winner", said(OVER, other_winner)),
    Wrong("it names a winner of a draw", "game-over.draw", said(OVER, winner_of_a_draw)),
    Wrong("it draws numbers above 10", "game-over.number", said(OVER, higher_number)),
    Wrong(
        "it exchanges the choices",
        "game-over.choices",
        said(OVER, swapped_choices, match=FIRST),
    ),
    Wrong(
        "it never says how a match ended",
        "report.is-sent",
        keeps_the_result,
        is_new=True,
        waits=True,
    ),
    Wrong(
        "it reports another match",
        "report.names-the-match",
        said(REPORT, fields(match_id="R9M9"), match=FIRST),
    ),
    Wrong(
        "it reports the wrong winner", "report.winner", said(REPORT, other_reported, match=FIRST)
    ),
    Wrong("it takes Even for even", "illegal.never-counts", reads_choices_kindly),
    Wrong("who declines wins", "decline.loses", lets_who_declines_win),
    Wrong.many(
        "it leaves out what most can do without",
        {
            "move.has-its-deadline": said(
                CALL, fields(deadline="2999-01-01T00:00:00Z"), match=FIRST
            ),
            "invitation.has-all-fields": said(
                INVITATION, fields(role_in_match="PLAYER_A"), match=FIRST, to=B
            ),
            "move.has-all-fields": said(CALL, fields(player_id="P999"), match=FIRST, to=B),
            "report.has-all-fields": said(REPORT, fields(league_id="another"), match=FIRST),
            "game-over.has-a-reason": said(OVER, inside("game_result", reason=""), match=FIRST),
            "report.score": said(REPORT, inside("result", score={}), match=FIRST),
            "report.shows-the-token": said(REPORT, fields(auth_token=...)),
            "messages.are-in-utc": said(
                OVER, fields(timestamp="2026-01-31T12:00:00+02:00"), match="draw"
            ),
            "messages.keep-the-conversation": said(
                OVER, fields(conversation_id="conv-other"), match=FIRST, to=A
            ),
            "messages.hide-the-token": said(
                OVER, fields(auth_token="tok_REF01_5eed1e55c0ffee"), match=FIRST, to=B
            ),
            "illegal.says-what-is-legal": said(
                ERROR, inside("context", valid_choices=...), match="illegal once"
            ),
        },
    ),
    Wrong.many(
        "it tells results in its answers alone",
        {
            "registration.has-all-fields": said(REGISTRATION, inside("referee_meta", version=...)),
            "report.is-a-message": said(REPORT, answered(status="ACCEPTED")),
        },
        is_new=True,
    ),
    Wrong(
        "it runs one match after the other",
        "matches.do-not-wait-for-others",
        runs_one_after_the_other,
        more={"join": 2.5},
    ),
    Wrong.many(
        "it registers wrongly",
        {
            "messages.have-the-envelope": said(REGISTRATION, fields(conversation_id=...)),
            "registration.has-a-version": said(REGISTRATION, inside("referee_meta", version="v1")),
            "registration.names-the-game": said(
                REGISTRATION, inside("referee_meta", game_types=["chess"])
            ),
            "registration.says-how-many-matches": said(
                REGISTRATION, inside("referee_meta", max_concurrent_matches="two")
            ),
            "messages.are-in-utc": said(REGISTRATION, fields(timestamp=1768473000)),
            "messages.use-their-methods": said(REGISTRATION, method("referee_register")),
        },
        is_new=True,
    ),
    Wrong.many(
        "it has a fault in each of its messages",
        {
            "start.is-answered": starts_with(FIRST, status="REFUSED"),
            "invitation.has-all-fields": said(INVITATION, fields(game_type=...), match=FIRST, to=A),
            "move.has-all-fields": said(
                CALL, inside("context", your_standings=...), match=FIRST, to=A
            ),
            "game-over.has-all-fields": said(OVER, fields(game_type=...), match=FIRST),
            "report.has-all-fields": said(REPORT, fields(game_type=...), match=FIRST),
            "report.agrees-with-game-over": said(
                REPORT, inside("result.details", choices={}), match=FIRST
            ),
            "messages.have-the-envelope": said(REPORT, fields(protocol=...), match="draw"),
            "messages.name-their-sender": said(OVER, fields(sender="REF01"), match="draw"),
            "messages.use-their-methods": said(REPORT, method(REPORT), match="declines"),
            "messages.are-short": said(OVER, fields(notes="x" * 11_000), match="draw", to=A),
            "errors.say-what-follows": said(ERROR, fields(game_state=...), match="illegal once"),
            "errors.have-all-fields": said(ERROR, fields(consequence=...), match="illegal once"),
            "illegal.null": heard(CALL, match="null once", parity_choice=None),
            "decline.is-technical": said(
                OVER, inside("game_result", status="WIN"), match="declines"
            ),
            "decline.of-both": said(
                REPORT, inside("result", winner="P01", score={"P01": 3}), match="both decline"
            ),
        },
    ),
    Wrong.many(
        "it takes answers, and goes on, as it likes",
        {
            "invitation.at-once": one_after_the_other(INVITATION, "slow join"),
            "move.at-once": one_after_the_other(CALL, "slow move"),
            "game-over.number-varies": together(said(OVER, always_8), said(REPORT, always_8)),
            "report.after-game-over": tells_late,
            "report.is-sent-once": twice(REPORT, match="odd even"),
            "messages.are-in-order": twice(OVER, match=FIRST, to=A),
            "illegal.is-told": said(ERROR, answered(**ACK), match="illegal once"),
            "illegal.may-choose-again": heard(CALL, match="illegal once", parity_choice="Even"),
            "illegal.other-match": own_match("other match"),
            "decline.tells-the-other": said(OVER, answered(**ACK), match="declines"),
            "decline.ends-the-match": twice(INVITATION, match="declines", to=A),
            "answers.unknown-fields": heard(CALL, match="unknown fields", parity_choice="odd"),
            "answers.long": heard(CALL, match="long answers", parity_choice="odd"),
            "answers.bare": heard(CALL, match="bare answers", parity_choice="odd"),
            "answers.of-strangers": heard(CALL, match="impersonated", parity_choice="odd"),
            "answers.first-counts": heard(CALL, match="twice", parity_choice="odd"),
            "game-over.needs-no-answer": is_silent_about("refuses the end"),
            "start.comes-again": twice(REPORT, match="told twice"),
            "league-completed.is-taken": refuses("LEAGUE_COMPLETED"),
        },
        more={"quiet": 0.5, "connect": 1.0, "game_over": 1.0},
    ),
    Wrong.many(
        "it has patience with nobody, and lets the silent win",
        {
            "join.silence-loses": said(REPORT, other_reported, match="never joins"),
            "move.silence-loses": said(REPORT, other_reported, match="never moves"),
            "player.refuses": said(REPORT, other_reported, match="breaks"),
            "player.babbles": said(REPORT, other_reported, match="babbles"),
            "player.is-away": said(REPORT, other_reported, match="away"),
            "player.both-are-away": said(REPORT, first_wins, match="both away"),
            "timeout.says-which-retry": said(
                ERROR, inside("retry_info", max_retries=9), match="silent at first"
            ),
            "move.is-retried": heard(CALL, match="silent at the move", parity_choice="odd"),
            "move.has-its-time": twice_at_once(CALL, match="late answers", to=A),
            "game-over.is-not-waited-for": is_silent_about("silent at the end"),
            "report.is-repeated": answers_once(REPORT, "report unanswered"),
        },
        is_new=True,
        waits=True,
    ),
    Wrong.many(
        "it says nothing to who is late, and takes no later answer",
        {
            "join.is-retried": heard(CALL, match="silent at first", parity_choice="odd"),
            "join.has-its-time": twice_at_once(INVITATION, match="silent at first", to=A),
            "timeout.is-told": said(ERROR, answered(**ACK), match="silent at first"),
            "answers.pushed": refuses_pushes,
        },
        is_new=True,
        waits=True,
    ),
]
