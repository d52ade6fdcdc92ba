"""The rules about a player's choice: in time, legal, where it belongs, whatever is asked when."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agentleague.conformance.bench import Fields
from agentleague.conformance.exchange import Answer
from agentleague.conformance.player_bench import (
    CHOICE,
    JOIN,
    OPPONENT_ID,
    PLAYER_ID,
    Match,
    PlayerBench,
    Said,
)
from agentleague.conformance.rules import Broken, NotApplicable, Rules, Tier
from agentleague.conformance.wire import instead, spelled
from agentleague.errors import LeagueError
from agentleague.protocol import timestamps

MUST, SHOULD, ROBUST, PLUS = Tier
JOINS, CHOOSES, LEGAL = (
    "player.invitation.is-answered",
    "player.choice.is-answered",
    "player.choice.is-legal",
)
CHOICES = Rules("player", needs=(LEGAL,))
INVITED = (  # the fields of document 004
    *("message_type", "match_id", "game_type", "league_id", "round_id", "role_in_match"),
    *("opponent_id", "conversation_id"),
)
CALLED = ("message_type", "match_id", "player_id", "game_type", "context", "deadline")


def joined(bench: PlayerBench, match: Match, **fields: Any) -> Said:
    """Its join; the rule is broken without."""
    said = bench.invite(match, **fields)
    if not said.joins:
        raise Broken("a join: `accept` true", is_late=said.answer.is_late)
    return said


def chosen(bench: PlayerBench, match: Match, **fields: Any) -> Said:
    """Its choice; the rule is broken without a legal one."""
    said = bench.choose(match, **fields)
    if not said.is_legal:
        raise Broken('`parity_choice`: exactly "even" or "odd"', is_late=said.answer.is_late)
    return said


def is_utc(value: Any) -> bool:
    """Whether it is a time in UTC."""
    try:
        timestamps.parse(value if isinstance(value, str) else "")
    except LeagueError:
        return False
    return True


def expect_any(answer: Answer, expected: str = "any answer") -> None:
    """Break the rule unless it answered, be it with a refusal."""
    if answer.status is None or answer.status >= 500:
        raise Broken(expected, is_late=answer.is_late)


def expect(fields: Fields, **wanted: Any) -> None:
    for name, value in wanted.items():
        if fields.get(name) != value:
            raise Broken(f"`{name}`: {spelled(value)}{instead(fields, name)}")


def expect_envelope(fields: Fields) -> None:
    expect(fields, protocol="league.v2")
    if not str(fields.get("sender", "")).startswith("player:"):
        raise Broken(f'`sender`: "player:{PLAYER_ID}"{instead(fields, "sender")}')
    expect_utc(fields, "timestamp")


def expect_conversation(bench: PlayerBench, match: Match, fields: Fields) -> None:
    said = match.conversation_id.encode()
    if not any(said in each.sent for each in bench.exchanges):
        raise NotApplicable("its tool has no parameter for it")
    expect(fields, conversation_id=match.conversation_id)


def expect_utc(fields: Fields, name: str) -> None:
    if not is_utc(fields.get(name)):
        raise Broken(f"`{name}` in UTC{instead(fields, name)}")


@CHOICES.rule("choice.is-answered", MUST, needs=(JOINS,))
def choice_is_answered(bench: PlayerBench) -> None:
    """A player answers CHOOSE_PARITY_CALL within 30 seconds with a choice.

    R-MATCH-02: document 004 section 6.1.4
    Mend: Answer parity_choose with {"match_id": …, "parity_choice": "even"} in `result`.
    """
    match = bench.match()
    joined(bench, match)
    said = bench.choose(match)
    if said.choice is None:
        raise Broken("a choice in `parity_choice`", is_late=said.answer.is_late)


@CHOICES.rule("choice.is-legal", MUST, needs=(CHOOSES,))
def choice_is_legal(bench: PlayerBench) -> None:
    """A choice is exactly `even` or `odd`, in lower case.

    R-GAME-01: document 004 section 6.2.2
    Mend: Say "even" or "odd": a text in lower case, nothing else.
    """
    for _ in range(3):
        choice_in(bench)


def choice_in(bench: PlayerBench) -> tuple[Match, Said]:
    match = bench.match()
    joined(bench, match)
    return match, chosen(bench, match)


def answers_in(bench: PlayerBench) -> Iterator[tuple[str, Match, Said]]:
    """Its join, and then its choice, each with its type."""
    match = bench.match()
    yield JOIN, match, joined(bench, match)
    yield CHOICE, match, chosen(bench, match)


@CHOICES.rule("choice.is-where-it-belongs", SHOULD)
def choice_is_in_its_field(bench: PlayerBench) -> None:
    """A choice stands in `parity_choice`.

    R-FORM-09: document 001 section 4.2
    Mend: Call the field parity_choice.
    Leniency: `choice`, `move` and the word alone are read too
    """
    said = choice_in(bench)[1]
    expect(said.fields, parity_choice=said.choice)


@CHOICES.rule("answer.says-its-type", SHOULD)
def answer_says_its_type(bench: PlayerBench) -> None:
    """A join has the `message_type` GAME_JOIN_ACK, a choice CHOOSE_PARITY_RESPONSE.

    R-FORM-09: document 001 sections 4.1 and 4.2
    Mend: Say `message_type` in every answer.
    Leniency: the type of an answer is not looked at
    """
    for name, _, said in answers_in(bench):
        expect(said.fields, message_type=name)


@CHOICES.rule("answer.repeats-the-match", SHOULD)
def answer_repeats_the_match(bench: PlayerBench) -> None:
    """A join and a choice repeat `match_id` and name their player in `player_id`.

    R-MSG-03: document 004 sections 5.2.1 and 6.2.2
    Mend: Copy match_id from what you answer, and put your player_id beside it.
    Leniency: the end point that answers says who it is
    """
    for _, match, said in answers_in(bench):
        expect(said.fields, match_id=match.match_id, player_id=PLAYER_ID)


@CHOICES.rule("answer.repeats-the-conversation", SHOULD)
def answer_repeats_the_conversation(bench: PlayerBench) -> None:
    """A join and a choice repeat the `conversation_id` of what they answer.

    R-MATCH-32: document 004 section 10.2
    Mend: Copy conversation_id from the invitation and from the call.
    Leniency: the envelope of an answer is not judged
    """
    for _, match, said in answers_in(bench):
        expect_conversation(bench, match, said.fields)


@CHOICES.rule("answer.has-the-envelope", SHOULD)
def answer_has_the_envelope(bench: PlayerBench) -> None:
    """A join and a choice have `protocol`, `sender` and a `timestamp` in UTC.

    R-ENV-01: document 001 section 1.2
    Mend: Put protocol league.v2, sender player:P01 and the time in UTC into every answer.
    Leniency: the envelope of an answer is not judged
    """
    for _, _, said in answers_in(bench):
        expect_envelope(said.fields)


@CHOICES.rule("answer.documented-fields", SHOULD)
def answer_to_documented_fields(bench: PlayerBench) -> None:
    """A player joins and chooses if it is sent no more than document 004 shows.

    R-ENV-02: document 004 sections 5.1.1 and 6.1.1
    Mend: Need no field that is not in document 004 sections 5.1.1 and 6.1.1.
    """
    match = bench.match()
    invitation, call = bench.invitation(match), bench.call(match)
    if not bench.question({name: invitation[name] for name in INVITED}, bench.limits.join).joins:
        raise Broken("a join")
    if not bench.question({name: call[name] for name in CALLED}, bench.limits.move).is_legal:
        raise Broken("`even` or `odd`")


@CHOICES.rule("answer.again", ROBUST, implies=("player.choice.after-error",))
def answer_again(bench: PlayerBench) -> None:
    """A player that is invited or asked a second time answers as the first time.

    R-MATCH-19: document 000 section 2.9.4
    Mend: Answer again: the referee did not get your first answer.
    """
    match = bench.match()
    for answer in (joined, joined, chosen, chosen):
        answer(bench, match)


@CHOICES.rule("choice.without-context", SHOULD)
def choice_without_context(bench: PlayerBench) -> None:
    """A player chooses without `context` too, which is optional.

    R-MSG-04: document 004 section 6.1.2
    Mend: Treat context, and what stands in it, as optional.
    """
    for context in (None, {}, {"opponent_id": OPPONENT_ID}):
        match = bench.match()
        joined(bench, match)
        call = bench.call(match, context=context)
        if context is None:
            del call["context"]
        if not bench.question(call, bench.limits.move).is_legal:
            raise Broken("`even` or `odd`")


@CHOICES.rule("choice.after-error", SHOULD)
def choice_after_error(bench: PlayerBench) -> None:
    """A player makes a legal choice when it is asked again after GAME_ERROR.

    R-MATCH-20: document 004 section 6.2.4
    Mend: Take GAME_ERROR as news, and answer the next call as any other.
    """
    match, _ = choice_in(bench)
    error = bench.about("GAME_ERROR", match, **ILLEGAL)
    bench.ask(error)
    chosen(bench, match)


ILLEGAL: Fields = {
    "error_code": "E004",
    "error_name": "INVALID_PARITY_CHOICE",
    "error_description": "INVALID_PARITY_CHOICE",
    "affected_player": PLAYER_ID,
    "action_required": CHOICE,
    "retryable": True,
    "retry_info": {"retry_count": 1, "max_retries": 3, "time_remaining": 18.5},
    "context": {"invalid_choice": "Even", "valid_choices": ["even", "odd"]},
    "consequence": "Technical loss if valid choice not received before timeout",
}


@CHOICES.rule("choice.two-matches", ROBUST)
def choice_of_two_matches(bench: PlayerBench) -> None:
    """A player keeps two matches apart that it plays at once.

    R-MSG-03: document 004 section 10.5
    Mend: Keep what you know of a match under its match_id.
    """
    if not bench.plays_several:
        raise NotApplicable("it is in one match at a time")
    matches = [bench.match() for _ in range(4)]
    for match in matches:
        joined(bench, match)
    with ThreadPoolExecutor(len(matches)) as pool:
        answers = list(pool.map(bench.choose, matches))
    for match, said in zip(matches, answers, strict=True):
        if not said.is_legal or said.fields.get("match_id") not in (None, match.match_id):
            shown = next(each for each in bench.exchanges if match.match_id.encode() in each.sent)
            raise Broken(f"a choice for {match.match_id}", shown, is_late=said.answer.is_late)


@CHOICES.rule("choice.out-of-place", ROBUST)
def choice_out_of_place(bench: PlayerBench) -> None:
    """A player that is asked without an invitation, or after GAME_OVER, answers in order.

    R-MATCH-01: document 002 "Match Lifecycle"
    Mend: Choose all the same, or refuse with an error, and go on.
    """
    match, _ = choice_in(bench)
    bench.ask(bench.game_over(match))
    for asked, when in ((bench.match(), "without an invitation"), (match, "after the end")):
        expect_any(bench.choose(asked).answer, f"any answer to a call {when}")
        joined(bench, bench.match())


@CHOICES.rule("choice.odd-fields", ROBUST)
def choice_with_odd_fields(bench: PlayerBench) -> None:
    """A player goes on after a call in which optional fields are null or of another type.

    R-MSG-07: document 004 section 10.5
    Mend: Check what you read of a message before you use it.
    """
    faults: list[Fields] = [
        {"deadline": None, "context": None},
        {"context": {"opponent_id": 7, "your_standings": []}},
        {"deadline": "soon", "round_id": "first"},
    ]
    for fault in faults:
        match = bench.match()
        joined(bench, match)
        call = bench.call(match) | fault
        answer = bench.post(f"a call with {spelled(fault)}", written_like(bench, call))
        expect_any(answer, "a choice, or an error in order")
        choice_in(bench)


def written_like(bench: PlayerBench, message: Fields) -> Fields:
    """A message that the documents do not allow, in JSON-RPC."""
    if "tool" not in bench.speaks and "choose" not in bench.speaks:
        raise NotApplicable("it does not take document 001's form")
    return bench.request(message)


@CHOICES.rule("choice.to-the-referee-alone", SHOULD)
def choice_to_the_referee_alone(bench: PlayerBench) -> None:
    """A player tells its choice to the referee that asked, and to nobody else.

    R-MATCH-23: document 003 section 4.5.2
    Mend: Send CHOOSE_PARITY_RESPONSE only as the answer, or to the referee_endpoint of the call.
    """
    before = len(bench.manager.received)
    choice_in(bench)

    def tells(received: Any) -> bool:
        return received.name == CHOICE or b"parity_choice" in received.body

    told = bench.manager.wait_for(tells, bench.limits.quiet, after=before)
    if told:
        raise Broken("nothing about its choice at the manager", told.exchange())
