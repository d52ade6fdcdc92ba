"""Referees that are wrong in one way each: ours, behind a relay that changes what it says or hears.

A row says what is wrong, which rule finds it, and the change: a function from the relay to hooks.
"""

import re
import threading
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from conformance.between import IN, OUT, Passing, nothing

FIRST = "decisive"  # the match in which nobody does anything unusual
A, B = 0, 1  # its players
REGISTRATION, REPORT = "REFEREE_REGISTER_REQUEST", "MATCH_RESULT_REPORT"
INVITATION, CALL, OVER, ERROR = (
    "GAME_INVITATION",
    "CHOOSE_PARITY_CALL",
    "GAME_OVER",
    "GAME_ERROR",
)


@dataclass(frozen=True)
class Wrong:
    """A wrong referee."""

    says: str
    rule: str
    change: Callable  # (relay) -> (before, after)
    is_new: bool = False  # It is wrong from its start on, or its rule has to wait.
    waits: bool = False  # The kit has to wait for what does not come.
    quiet: float = 0.1  # seconds in which the kit sees what it does; a busy machine takes longer

    @property
    def id(self):
        return self.says.replace(" ", "_")


def said(name, change, *, match="", to=None):
    """Before: change requests of the agent of this type; of one match, to one player, if given."""

    def of(relay):
        def before(passing: Passing):
            message = passing.request.message
            if passing.direction != OUT or passing.request.name != name:
                return
            is_meant = not match or message.get("match_id") == relay.matches[match]
            if is_meant and (to is None or message.get("player_id") == relay.players[to]):
                change(passing)

        return before, nothing

    return of


def fields(**changed):
    """A change of fields of the message."""
    return lambda passing: passing.request.say(**changed)


def inside(path, **changed):
    """A change of fields of an object in the message."""

    def change(passing):
        message = passing.request.message
        place = message
        for name in path.split("."):
            place = place[name]
        place.update(changed)
        for name in [name for name, value in place.items() if value is ...]:
            del place[name]
        passing.request.say(**message)

    return change


def answered(**message):
    """It is not sent, and the agent believes it was answered so."""
    return lambda passing: passing.result(**message)


def other_winner(passing):
    """The winner of a GAME_OVER is the other player."""
    result = passing.request.message["game_result"]
    if result["status"] == "WIN":
        winner = _other(result["winner_player_id"], result["choices"])
        inside("game_result", winner_player_id=winner)(passing)


def other_reported(passing):
    """The winner of a report is the other player."""
    result = passing.request.message["result"]
    if result["winner"]:
        inside("result", winner=_other(result["winner"], result["score"]))(passing)


def winner_of_a_draw(passing):
    result = passing.request.message["game_result"]
    if result["status"] == "DRAW":
        winner = next(iter(result["choices"]))
        inside("game_result", status="WIN", winner_player_id=winner)(passing)


def higher_number(passing):
    drawn = passing.request.message["game_result"]["drawn_number"]
    if drawn:
        inside("game_result", drawn_number=drawn + 10)(passing)


def swapped_choices(passing):
    choices = passing.request.message["game_result"]["choices"]
    one, other = choices
    swapped = {one: choices[other], other: choices[one]}
    inside("game_result", choices=swapped)(passing)


def _other(player, players):
    return next(each for each in players if each != player)


def registers_nothing(relay):
    """It registers without saying what it is, and goes on as if it were in."""

    def before(passing):
        if passing.direction == OUT and "referee_meta" in passing.request.message:
            passing.request.say(referee_meta=...)

    def after(passing):
        if passing.direction == OUT and passing.request.name == REGISTRATION:
            passing.result(status="ACCEPTED", referee_id="REF01", league_id="l", auth_token="t")

    return before, after


def refuses_matches(relay):
    """It takes no match."""

    def before(passing):
        if passing.direction == IN and b'M1"' in passing.request.body:
            passing.reply({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}})

    return before, nothing


def keeps_the_result(relay):
    """It plays, and tells nobody of it but the players."""

    def before(passing):
        if passing.direction == OUT and passing.request.name == REPORT:
            passing.result(status="ACCEPTED")

    def after(passing):
        if passing.direction == IN and b'M1"' in passing.request.body:
            passing.result(status="ACCEPTED")

    return before, after


def does_not_wait_for_joins(relay):
    """A player that takes its time to join is taken to have joined."""

    def before(passing):
        is_invitation = passing.direction == OUT and passing.request.name == INVITATION
        if is_invitation and passing.request.message["match_id"] == relay.matches["slow join"]:
            threading.Thread(target=_pass_on, args=(relay, passing), daemon=True).start()
            passing.result(accept=True)

    return before, nothing


def _pass_on(relay, passing):
    port = int(re.search(rb"(?i)host: *[\w.]+:(\d+)", passing.head)[1])
    behind = next(each.behind for each in list(relay._fronts.values()) if each.port == port)
    urllib.request.urlopen(f"http://127.0.0.1:{behind}/mcp", passing.request.body, 5).close()


def reads_choices_kindly(relay):
    """Any other spelling of a choice counts too."""

    def after(passing):
        choice = passing.answer.message.get("parity_choice") if passing.answer else None
        if passing.request.name == CALL and choice in ("Even", 0):
            passing.answer.say(parity_choice="even")

    return nothing, after


def lets_who_declines_win(relay):
    """The report of a match in which a player declined names the wrong winner."""
    declined = set()

    def before(passing):
        message = passing.request.message
        if passing.request.name == REPORT and message["match_id"] in declined:
            other_reported(passing)

    def after(passing):
        has_declined = passing.answer and passing.answer.message.get("accept") is False
        if passing.request.name == INVITATION and has_declined:
            declined.add(passing.request.message["match_id"])

    return before, after


def lets_the_silent_win(action):
    """The report of a match in which a player was silent names the wrong winner."""

    def change(relay):
        silent = set()

        def before(passing):
            name, message = passing.request.name, passing.request.message
            if name == ERROR and (message["error_code"], message["action_required"]) == (
                "E001",
                action,
            ):
                silent.add(message["match_id"])
            is_lost = name == REPORT and message["result"]["details"]["status"] != "WIN"
            if is_lost and message["match_id"] in silent:
                other_reported(passing)

        return before, nothing

    return change


def runs_one_after_the_other(relay):
    """It begins no match before the last one is reported."""
    turn = threading.Semaphore(1)

    def before(passing):
        if passing.direction == IN and b"player_A_id" in passing.request.body:
            turn.acquire(timeout=10)

    def after(passing):
        if passing.request.name == REPORT:
            turn.release()

    return before, after


def refuses_pushes(relay):
    """It takes no answers but those to its own calls."""

    def before(passing):
        names = ("GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE")
        if passing.direction == IN and passing.request.name in names:
            passing.reply({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}})

    return before, nothing


ACK = {"status": "ACKNOWLEDGED"}
PLAYER_MESSAGES = (INVITATION, CALL, OVER, ERROR)
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
    Wrong(
        "it registers without a version",
        "registration.has-all-fields",
        said(REGISTRATION, inside("referee_meta", version=...)),
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
        is_new=True,
        quiet=2.0,
    ),
    Wrong(
        "it tells a player what the other chose",
        "move.hides-the-other-choice",
        said(CALL, fields(opponent_choice="odd"), match=FIRST, to=A),
    ),
    Wrong(
        "its deadline lies an hour ahead",
        "move.has-its-deadline",
        said(CALL, fields(deadline="2999-01-01T00:00:00Z"), match=FIRST),
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
        "it gives no reason",
        "game-over.has-a-reason",
        said(OVER, inside("game_result", reason="")),
    ),
    Wrong(
        "it never says how a match ended",
        "report.is-sent",
        keeps_the_result,
        is_new=True,
        waits=True,
    ),
    Wrong(
        "it tells the result in its answer to the start alone",
        "report.is-a-message",
        said(REPORT, answered(status="ACCEPTED")),
    ),
    Wrong(
        "it reports another match",
        "report.names-the-match",
        said(REPORT, fields(match_id="R9M9"), match=FIRST),
    ),
    Wrong(
        "it reports the wrong winner", "report.winner", said(REPORT, other_reported, match=FIRST)
    ),
    Wrong(
        "it reports no points",
        "report.score",
        said(REPORT, inside("result", score={}), match=FIRST),
    ),
    Wrong(
        "it reports without its token",
        "report.shows-the-token",
        said(REPORT, fields(auth_token=...)),
    ),
    Wrong(
        "its clock is not in UTC",
        "messages.are-in-utc",
        said(OVER, fields(timestamp="2026-01-31T12:00:00+02:00")),
    ),
    Wrong(
        "each message begins a conversation",
        "messages.keep-the-conversation",
        said(OVER, fields(conversation_id="conv-other")),
    ),
    Wrong(
        "it shows its own token to players",
        "messages.hide-the-token",
        said(OVER, fields(auth_token="tok_REF01_5eed1e55c0ffee")),
    ),
    Wrong("it takes Even for even", "illegal.never-counts", reads_choices_kindly),
    Wrong(
        "it does not say what is legal",
        "illegal.says-what-is-legal",
        said(ERROR, inside("context", valid_choices=...)),
    ),
    Wrong("who declines wins", "decline.loses", lets_who_declines_win),
    Wrong(
        "it runs one match after the other",
        "matches.do-not-wait-for-others",
        runs_one_after_the_other,
    ),
    Wrong("it takes no pushed answers", "answers.pushed", refuses_pushes),
    Wrong(
        "who never joins wins",
        "join.silence-loses",
        lets_the_silent_win("GAME_JOIN_ACK"),
        is_new=True,
        waits=True,
    ),
    Wrong(
        "who never chooses wins",
        "move.silence-loses",
        lets_the_silent_win("CHOOSE_PARITY_RESPONSE"),
        is_new=True,
        waits=True,
    ),
]
