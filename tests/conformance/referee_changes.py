"""Changes of what a referee says or hears, for a relay in front of it.

Each is a function from the relay to a hook before a request passes, and one after.
"""

import re
import threading
import urllib.request
from collections import defaultdict
from contextlib import suppress

from conformance.between import IN, OUT, Passing, Said, nothing
from conformance.wrong import together

FIRST = "decisive"  # the match in which nobody does anything unusual
A, B = 0, 1  # its players
REGISTRATION, REPORT = "REFEREE_REGISTER_REQUEST", "MATCH_RESULT_REPORT"
INVITATION, CALL, OVER, ERROR = (
    "GAME_INVITATION",
    "CHOOSE_PARITY_CALL",
    "GAME_OVER",
    "GAME_ERROR",
)
ACK = {"status": "ACKNOWLEDGED"}


def is_about(relay, passing, name, match="", to=None):
    """Whether the agent sends this type; in one match and to one player, if given."""
    if passing.direction != OUT or passing.request.name != name:
        return False
    message = passing.request.message
    if match and message.get("match_id") != relay.playing.match(match):
        return False
    return to is None or message.get("player_id") == relay.playing.player(match, to)


def said(name, change, *, match="", to=None):
    """Before: change requests of the agent of this type; of one match, to one player, if given."""

    def of(relay):
        def before(passing: Passing):
            if is_about(relay, passing, name, match, to):
                change(passing)

        return before, nothing

    return of


def heard(name, *, match="", to=A, **changed):
    """After: change what a player answers."""

    def of(relay):
        def after(passing):
            if is_about(relay, passing, name, match, to):
                passing.answer.say(**changed)

        return nothing, after

    return of


def refuses(name):
    """Before: such a message to the agent is refused."""

    def of(relay):
        def before(passing):
            if passing.direction == IN and passing.request.name == name:
                id_ = passing.request.fields.get("id")
                error = {"code": -32601, "message": "no"}
                passing.reply({"jsonrpc": "2.0", "id": id_, "error": error})

        return before, nothing

    return of


def twice(name, **where):
    """It is sent once more, just before."""
    return lambda relay: said(name, lambda passing: pass_on(relay, passing), **where)(relay)


def twice_at_once(name, **where):
    """It is sent once more, at the same moment."""

    def change(relay):
        def begin(passing):
            args = (relay, Passing(OUT, passing.head, Said(passing.request.body)))
            threading.Thread(target=pass_on, args=args, daemon=True).start()

        return said(name, begin, **where)(relay)

    return change


def one_after_the_other(name, match):
    """Player B is asked when player A has answered."""

    def of(relay):
        answered_in = defaultdict(threading.Event)  # by match

        def before(passing):
            if is_about(relay, passing, name, match, B):
                answered_in[relay.playing.match(match)].wait(10)

        def after(passing):
            if is_about(relay, passing, name, match, A):
                answered_in[relay.playing.match(match)].set()

        return before, after

    return of


def starts_with(match, **message):
    """After: a start of this match is answered so."""

    def of(relay):
        def after(passing):
            name = f'"{relay.playing.match(match)}"'.encode()
            if passing.direction == IN and name in passing.request.body:
                passing.result(**message)

        return nothing, after

    return of


def is_silent_about(match):
    """The manager is not told how this match ended."""
    report = said(REPORT, answered(status="ACCEPTED"), match=match)
    return together(report, starts_with(match, status="ACCEPTED"))


def tells_late(relay):
    """Player B is told the end when the manager was."""
    held = []

    def before(passing):
        if is_about(relay, passing, OVER, FIRST, B):
            held.append(Passing(OUT, passing.head, Said(passing.request.body)))
            passing.result(**ACK)

    def after(passing):
        if is_about(relay, passing, REPORT, FIRST):
            pass_on(relay, held.pop())

    return before, after


def own_match(name):
    """An answer about another match is taken for one about this."""

    def of(relay):
        def after(passing):
            if is_about(relay, passing, CALL, name, A):
                passing.answer.say(match_id=relay.playing.match(name))

        return nothing, after

    return of


def first_wins(passing):
    """Where both failed the first player wins."""
    inside("result", winner=next(iter(passing.request.message["result"]["score"])))(passing)


def answers_once(name, match):
    """Only the first such request of the agent goes on."""

    def of(relay):
        seen = []

        def before(passing):
            if is_about(relay, passing, name, match):
                seen.append(passing)
                if len(seen) > 1:
                    passing.result(status="ACCEPTED")

        return before, nothing

    return of


def method(name):
    """A change of the method."""

    def change(passing):
        passing.request.fields = passing.request.fields | {"method": name}

    return change


def always_8(passing):
    """Whatever was drawn, it was 8."""
    found = passing.request.message
    result = found["game_result"] if "game_result" in found else found["result"]["details"]
    if not result.get("drawn_number"):
        return
    even = [player for player, choice in result["choices"].items() if choice == "even"]
    winner = even[0] if len(even) == 1 else None
    result |= {"drawn_number": 8, "status": "WIN" if winner else "DRAW"}
    if result is found.get("game_result"):
        result |= {"number_parity": "even", "winner_player_id": winner}
    else:
        points = {each: 3 * (each == winner) if winner else 1 for each in result["choices"]}
        found["result"] |= {"winner": winner, "score": points}
    passing.request.say(**found)


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
    """A player is taken to have joined, and hears of the match when it is asked for its choice."""
    held = []

    def before(passing):
        if is_about(relay, passing, INVITATION, "slow join", A):
            held.append(Passing(OUT, passing.head, Said(passing.request.body)))
            passing.result(accept=True)

    def after(passing):
        if is_about(relay, passing, CALL, "slow join", B):
            pass_on(relay, held.pop())

    return before, after


def pass_on(relay, passing):
    """Send it where it goes, from here."""
    port = int(re.search(rb"(?i)host: *[\w.]+:(\d+)", passing.head)[1])
    behind = next(each.behind for each in list(relay._fronts.values()) if each.port == port)
    with suppress(OSError):
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


def runs_one_after_the_other(relay):
    """It begins no match before the last one is reported."""
    turn, begun = threading.Semaphore(1), set()

    def before(passing):
        found = re.search(rb'"match_id": ?"([^"]+)"', passing.request.body)
        is_start = passing.direction == IN and b"player_A_id" in passing.request.body
        if is_start and found and found[1] not in begun:
            begun.add(found[1])
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
