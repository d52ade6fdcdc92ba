"""The rules for referees about a match: invitations, calls for a choice, and its end."""

from typing import Any

from agentleague.conformance.referee_bench import RefereeBench
from agentleague.conformance.referee_judging import (
    FIELDS,
    PLAIN,
    RUN,
    TOLD,
    expect_fields,
    expect_utc,
    field,
    first,
    told,
    winner_by_rules,
)
from agentleague.conformance.referee_matches import CALL, INVITATION, OVER, opposite, type_of
from agentleague.conformance.rules import Broken, NotApplicable, Rules, Tier

MATCHES = Rules("referee")
MUST, SHOULD, ROBUST, PLUS = Tier


@MATCHES.rule("match.is-run", MUST)
def match_is_run(bench: RefereeBench) -> str:
    """A referee that is given a match invites its players.

    R-MATCH-01: document 000 section 2.5.5
    Mend: Take start_match with match_id, player_A_id, player_B_id and their end points, and send
    both players GAME_INVITATION.
    """
    if bench.way is None:
        raise Broken("an invitation after any of the ways to give it a match")
    return f"by {bench.way.words}"


@MATCHES.rule("start.is-answered", PLUS, needs=RUN)
def start_is_answered(bench: RefereeBench) -> None:
    """A referee answers at once that it takes a match, and names it.

    R-START-02: ours
    Mend: Answer start_match with {"status": "ACCEPTED", "match_id": …} before the match is over.
    Leniency: any answer that is no error will do, and also none for as long as the match lasts
    """
    record = bench.record("decisive")
    if record.start is None or not bench.is_taken(record.start.answer):
        raise Broken("an answer that takes the match", record.start)


@MATCHES.rule(
    "invitation.to-both",
    MUST,
    needs=RUN,
    implies=("referee.move.to-both", "referee.game-over.to-both", "referee.report.is-sent"),
)
def invitation_to_both(bench: RefereeBench) -> None:
    """GAME_INVITATION goes to both players.

    R-MATCH-02: document 004 section 5.1.4
    Mend: Send GAME_INVITATION to player A and to player B.
    """
    record = bench.record("decisive")
    for seat in record.seats:
        if not seat.got(INVITATION):
            raise Broken(f"GAME_INVITATION to {seat.player_id}", record.exchange(INVITATION))


@MATCHES.rule("invitation.names-the-match", MUST, needs=RUN)
def messages_name_the_match(bench: RefereeBench) -> None:
    """Every message of a match has the `match_id` that the manager gave it.

    R-MATCH-16: document 004 section 10.5
    Mend: Use the match_id of the assignment in every message of that match.
    """
    record = bench.record("decisive")
    for each in record.got():
        if each.params().get("match_id") != record.match_id:
            raise Broken(f"`match_id` {record.match_id!r} in {each.name}", each.exchange())


@MATCHES.rule("invitation.has-all-fields", SHOULD, needs=("referee.invitation.to-both",))
def invitation_has_all_fields(bench: RefereeBench) -> None:
    """GAME_INVITATION has league_id, round_id, match_id and game_type, and says who plays.

    R-MATCH-16: document 001 section 4.1
    Mend: Put all fields of document 001 section 4.1 into the invitation: in opponent_id the other
    player's id, in role_in_match PLAYER_A or PLAYER_B.
    Leniency: players of ours miss none of them
    """
    record = bench.record("decisive")
    for seat, role in zip(record.seats, ("PLAYER_A", "PLAYER_B"), strict=True):
        found, other = first(seat, INVITATION), record.other(seat).player_id
        expect_fields(found, FIELDS[INVITATION])
        if (field(found, "opponent_id"), field(found, "role_in_match")) != (other, role):
            text = f"`opponent_id` {other!r} and `role_in_match` {role!r}"
            raise Broken(text, found.exchange())


@MATCHES.rule("invitation.at-once", PLUS, needs=("referee.invitation.to-both",))
def invitation_at_once(bench: RefereeBench) -> None:
    """Both players are invited at once: a slow one does not delay the other's invitation.

    R-MATCH-02: ours
    Mend: Send both invitations before you wait for an answer.
    """
    record = bench.record("slow join")
    slow, other = record.seats
    if first(other, INVITATION).at >= slow.answered_at(first(slow, INVITATION)):
        bench.forget("slow join")
        text = "the invitation of B before A has answered"
        raise Broken(text, record.exchange(INVITATION), is_late=True)


@MATCHES.rule(
    "move.to-both", MUST, needs=RUN, implies=("referee.game-over.to-both", "referee.report.is-sent")
)
def move_to_both(bench: RefereeBench) -> None:
    """CHOOSE_PARITY_CALL goes to both players that have joined.

    R-MATCH-02: document 001 section 4.2
    Mend: Ask both players with CHOOSE_PARITY_CALL once both have joined.
    """
    record = bench.record("decisive")
    for seat in record.seats:
        if not seat.got(CALL):
            raise Broken(f"CHOOSE_PARITY_CALL to {seat.player_id}", record.exchange())


@MATCHES.rule("move.after-both-joined", MUST, needs=("referee.move.to-both",))
def move_after_both_joined(bench: RefereeBench) -> None:
    """No player is asked for its choice before both have joined.

    R-MATCH-02: document 004 section 6.1.4
    Mend: Wait for both GAME_JOIN_ACK, then send CHOOSE_PARITY_CALL.
    """
    record = bench.record("slow join")
    joined = max(seat.answered_at(first(seat, INVITATION)) for seat in record.seats)
    for each in record.got(CALL):
        if each.at < joined:
            text = "no call for a choice while a player has not joined"
            raise Broken(text, each.exchange())


@MATCHES.rule("move.at-once", SHOULD, needs=("referee.move.to-both",))
def move_at_once(bench: RefereeBench) -> None:
    """Both players are asked for their choice at once, not one after the other.

    R-MATCH-02: document 004 section 6.1.4
    Mend: Send both CHOOSE_PARITY_CALL before you wait for an answer.
    Leniency: one after the other is waited for
    """
    record = bench.record("slow move")
    slow, other = record.seats
    if first(other, CALL).at >= slow.answered_at(first(slow, CALL)):
        bench.forget("slow move")
        text = "the call of B before A has answered"
        raise Broken(text, record.exchange(CALL), is_late=True)


@MATCHES.rule("move.has-all-fields", SHOULD, needs=("referee.move.to-both",))
def move_has_all_fields(bench: RefereeBench) -> None:
    """CHOOSE_PARITY_CALL has game_type, deadline, and who is asked in which match; its `context`
    has the opponent, the round and the player's record.

    R-MATCH-16: document 001 section 4.2
    Mend: Put all fields of document 001 section 4.2 into the call: in player_id the receiver's id,
    in context.opponent_id the other's.
    Leniency: a player takes what is sent to its end point as its own
    """
    record = bench.record("decisive")
    for seat in record.seats:
        found, who, other = first(seat, CALL), seat.player_id, record.other(seat).player_id
        expect_fields(found, FIELDS[CALL])
        if (field(found, "player_id"), field(found, "context.opponent_id")) != (who, other):
            text = f"`player_id` {who!r} and the opponent {other!r}"
            raise Broken(text, found.exchange())


@MATCHES.rule("move.has-its-deadline", SHOULD, needs=("referee.move.has-all-fields",))
def move_has_its_deadline(bench: RefereeBench) -> None:
    """The deadline of a call is 30 seconds after it was made, in UTC.

    R-MATCH-09: document 004 section 6.1.2
    Mend: Set `deadline` to the present time in UTC and 30 seconds.
    Leniency: players of ours answer as soon as they can
    """
    found = first(bench.record("decisive").seats[0], CALL)
    seconds = expect_utc(found, "deadline") - expect_utc(found, "timestamp")
    if abs(seconds - bench.limits.move) > 2.0:
        text = f"a deadline {bench.limits.move:g} s after the timestamp, not {seconds:g} s"
        raise Broken(text, found.exchange())


@MATCHES.rule("move.hides-the-other-choice", MUST, needs=RUN)
def move_hides_the_other_choice(bench: RefereeBench) -> None:
    """No player learns the other's choice before the match is over.

    R-GAME-02: document 004 section 6.1.4
    Mend: Say nothing of a choice to the other player before GAME_OVER.
    """
    for name in ("decisive", "odd even", "slow move", "illegal once"):
        record = bench.record(name)
        for seat in record.seats:
            other = opposite(seat.script.choice)
            for each in seat.got():
                if type_of(each) != OVER and _tells(each.params(), other):
                    raise Broken("nothing of the other's choice", each.exchange())


def _tells(fields: Any, choice: str) -> bool:
    """Whether a field is this choice; those that stand in a list are what is legal."""
    if isinstance(fields, dict):
        return any(_tells(value, choice) for value in fields.values())
    return bool(fields == choice)


@MATCHES.rule("game-over.to-both", MUST, needs=RUN)
def game_over_to_both(bench: RefereeBench) -> None:
    """GAME_OVER goes to both players, with a `game_result`.

    R-MATCH-10: document 004 section 5.3.4
    Mend: Send GAME_OVER to both players when the result is there.
    """
    record = bench.record("decisive")
    for seat in record.seats:
        if not record.result(seat):
            raise Broken(f"GAME_OVER to {seat.player_id}", record.exchange(OVER))


@MATCHES.rule(
    "game-over.is-the-same",
    MUST,
    needs=TOLD,
    implies=(
        "referee.game-over.winner",
        "referee.game-over.draw",
        "referee.game-over.number",
        "referee.game-over.choices",
    ),
)
def game_over_is_the_same(bench: RefereeBench) -> None:
    """Both players are told the same result.

    R-MATCH-03: document 004 section 5.3.4
    Mend: Send the same game_result to both players.
    """
    (one, _), (other, _) = told(bench.record("decisive"))
    if one.params().get("game_result") != other.params().get("game_result"):
        raise Broken("the `game_result` that the other player got", other.exchange())


@MATCHES.rule("game-over.winner", MUST, needs=TOLD)
def game_over_winner(bench: RefereeBench) -> None:
    """Who alone named the parity of the drawn number wins.

    R-GAME-03, R-MSG-08: document 001 section 4.3
    Mend: Set winner_player_id to the player whose choice is the parity of drawn_number.
    """
    for name in ("decisive", "odd even"):
        record = bench.record(name)
        for received, over in told(record):
            result = over
            winner = winner_by_rules(record, result.drawn_number or 0)
            if (result.winner_player_id, result.status) != (winner, "WIN"):
                raise Broken(f"WIN by {winner}, by the rules", received.exchange())


@MATCHES.rule("game-over.draw", MUST, needs=TOLD)
def game_over_draw(bench: RefereeBench) -> None:
    """Two right and two wrong are a DRAW, without a winner.

    R-GAME-03: document 004 section 5.3.1
    Mend: Set status to DRAW and winner_player_id to null where both chose the same.
    """
    for received, over in told(bench.record("draw")):
        if (over.winner_player_id, over.status) != (None, "DRAW"):
            raise Broken("status DRAW and no winner", received.exchange())


@MATCHES.rule(
    "game-over.number",
    MUST,
    needs=TOLD,
    implies=("referee.game-over.winner", "referee.report.agrees-with-game-over"),
)
def game_over_number(bench: RefereeBench) -> None:
    """The drawn number is from 1 to 10, and number_parity is its parity.

    R-GAME-02: document 004 section 5.3.2
    Mend: Draw a whole number from 1 to 10, and name its parity.
    """
    for name in PLAIN:
        for received, over in told(bench.record(name)):
            drawn, parity = over.drawn_number, over.number_parity
            if drawn is None or not 1 <= drawn <= 10:
                raise Broken("a drawn number from 1 to 10", received.exchange())
            if parity not in (None, "odd" if drawn % 2 else "even"):
                raise Broken(f"the parity of {drawn}", received.exchange())


@MATCHES.rule("game-over.number-varies", SHOULD, needs=TOLD)
def game_over_number_varies(bench: RefereeBench) -> None:
    """The number is drawn at random, for each match anew.

    R-GAME-02: document 001 section 4.2
    Mend: Draw from a good source of chance in each match.
    Leniency: a manager of ours draws the numbers itself where the referee locks moves
    """
    records = [each for each in (*bench.records.values(), *bench.others) if each.is_over]
    overs = [record.result(record.seats[0]) for record in records]
    drawn = [over.drawn_number for over in overs if over]
    numbers = [each for each in drawn if each is not None]
    if len(numbers) < 10:
        raise NotApplicable("too few matches were played to tell")
    if len(set(numbers)) == 1:
        raise Broken(f"not {numbers[0]} in all of {len(numbers)} matches")


@MATCHES.rule(
    "game-over.choices", MUST, needs=TOLD, implies=("referee.report.agrees-with-game-over",)
)
def game_over_choices(bench: RefereeBench) -> None:
    """The result has the choices that the players made.

    R-MATCH-03: document 004 section 5.3.2
    Mend: Put each player's choice under its id into `choices`.
    """
    for name in ("decisive", "draw"):
        record = bench.record(name)
        made = {seat.player_id: seat.script.choice for seat in record.seats}
        for received, over in told(record):
            if over.choices != made:
                raise Broken(f"the choices {made}", received.exchange())


@MATCHES.rule("game-over.has-all-fields", SHOULD, needs=TOLD)
def game_over_has_all_fields(bench: RefereeBench) -> None:
    """GAME_OVER has match_id, game_type and all six fields of `game_result`.

    R-MATCH-16: document 001 section 4.3
    Mend: Put all fields of document 001 section 4.3 into GAME_OVER.
    Leniency: what is missing counts as null
    """
    for received, _ in told(bench.record("decisive")):
        expect_fields(received, FIELDS[OVER])


@MATCHES.rule("game-over.has-a-reason", SHOULD, needs=("referee.game-over.has-all-fields",))
def game_over_has_a_reason(bench: RefereeBench) -> None:
    """The result says in words why it is so.

    R-MSG-09: document 004 section 5.3.2
    Mend: Write `reason` into game_result, such as "P01 chose even, number was 8 (even)".
    Leniency: nobody of ours reads it but people
    """
    for received, over in told(bench.record("decisive")):
        if not over.reason.strip():
            raise Broken("a sentence in `game_result.reason`", received.exchange())
