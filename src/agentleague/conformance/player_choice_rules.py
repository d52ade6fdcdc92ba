"""The rules about a player's choice: in time, legal, where it belongs, whatever is asked when."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agentleague.conformance.bench import Fields
from agentleague.conformance.player_bench import (
    CHOICE,
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
ENVELOPE_SAYS = "document 001 section 1.2"
BESIDE = "the envelope of an answer is not judged"
NEAREST = "the end point that answers says who it is"
DOCUMENTED = ("message_type", "match_id", "player_id", "game_type")  # of a call, document 004


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


@CHOICES.rule(
    "choice.is-answered",
    MUST,
    number="R-MATCH-02",
    source="document 004 section 6.1.4",
    says="A player answers CHOOSE_PARITY_CALL within 30 seconds with a choice.",
    mend='Answer parity_choose with {"match_id": …, "parity_choice": "even"} in `result`.',
    needs=(JOINS,),
)
def choice_is_answered(bench: PlayerBench) -> None:
    match = bench.match()
    joined(bench, match)
    said = bench.choose(match)
    if said.choice is None:
        raise Broken("a choice in `parity_choice`", is_late=said.answer.is_late)


@CHOICES.rule(
    "choice.is-legal",
    MUST,
    number="R-GAME-01",
    source="document 004 section 6.2.2",
    says="A choice is exactly `even` or `odd`, in lower case.",
    mend='Say "even" or "odd": a text in lower case, nothing else.',
    needs=(CHOOSES,),
)
def choice_is_legal(bench: PlayerBench) -> None:
    for _ in range(3):
        match = bench.match()
        joined(bench, match)
        chosen(bench, match)


def choice_in(bench: PlayerBench) -> tuple[Match, Said]:
    match = bench.match()
    joined(bench, match)
    return match, chosen(bench, match)


@CHOICES.rule(
    "choice.is-where-it-belongs",
    SHOULD,
    number="R-FORM-09",
    source="document 001 section 4.2",
    says="A choice stands in `parity_choice`.",
    mend="Call the field parity_choice.",
    leniency="`choice`, `move` and the word alone are read too",
)
def choice_is_in_its_field(bench: PlayerBench) -> None:
    said = choice_in(bench)[1]
    expect(said.fields, parity_choice=said.choice)


@CHOICES.rule(
    "choice.says-its-type",
    SHOULD,
    number="R-FORM-09",
    source="document 001 section 4.2",
    says="A choice has the `message_type` CHOOSE_PARITY_RESPONSE.",
    mend="Say `message_type`: CHOOSE_PARITY_RESPONSE.",
    leniency="the type of an answer is not looked at",
)
def choice_says_its_type(bench: PlayerBench) -> None:
    expect(choice_in(bench)[1].fields, message_type=CHOICE)


@CHOICES.rule(
    "choice.repeats-the-match",
    SHOULD,
    number="R-MSG-03",
    source="document 004 section 6.2.2",
    says="A choice repeats `match_id` and names its player in `player_id`.",
    mend="Copy match_id from the call, and put your player_id beside it.",
    leniency=NEAREST,
)
def choice_repeats_the_match(bench: PlayerBench) -> None:
    match, said = choice_in(bench)
    expect(said.fields, match_id=match.match_id, player_id=PLAYER_ID)


@CHOICES.rule(
    "choice.repeats-the-conversation",
    SHOULD,
    number="R-MATCH-32",
    source="document 004 section 10.2",
    says="A choice repeats the `conversation_id` of the call.",
    mend="Copy conversation_id from the call.",
    leniency=BESIDE,
)
def choice_repeats_the_conversation(bench: PlayerBench) -> None:
    match, said = choice_in(bench)
    expect_conversation(bench, match, said.fields)


@CHOICES.rule(
    "choice.has-the-envelope",
    SHOULD,
    number="R-ENV-01",
    source=ENVELOPE_SAYS,
    says="A choice has `protocol`, `sender` and a `timestamp` in UTC.",
    mend="Put protocol league.v2, sender player:P01 and the time in UTC into every answer.",
    leniency=BESIDE,
)
def choice_has_the_envelope(bench: PlayerBench) -> None:
    expect_envelope(choice_in(bench)[1].fields)


@CHOICES.rule(
    "choice.documented-fields",
    SHOULD,
    number="R-ENV-02",
    source="document 004 section 6.1.1",
    says="A player chooses if the call has no more than document 004 shows.",
    mend="Need no field that is not in document 004 section 6.1.1.",
)
def choice_with_documented_fields(bench: PlayerBench) -> None:
    match = bench.match()
    joined(bench, match)
    call = bench.call(match)
    few = {name: call[name] for name in (*DOCUMENTED, "context", "deadline")}
    if not bench.question(few, bench.limits.move).is_legal:
        raise Broken("`even` or `odd`")


@CHOICES.rule(
    "choice.without-context",
    SHOULD,
    number="R-MSG-04",
    source="document 004 section 6.1.2",
    says="A player chooses without `context` too, which is optional.",
    mend="Treat context, and what stands in it, as optional.",
)
def choice_without_context(bench: PlayerBench) -> None:
    for context in (None, {}, {"opponent_id": OPPONENT_ID}):
        match = bench.match()
        joined(bench, match)
        call = bench.call(match, context=context)
        if context is None:
            del call["context"]
        if not bench.question(call, bench.limits.move).is_legal:
            raise Broken("`even` or `odd`")


@CHOICES.rule(
    "choice.again",
    ROBUST,
    number="R-MATCH-19",
    source="document 000 section 2.9.4",
    says="A player that is asked a second time answers as the first time.",
    mend="Choose again: the referee did not get your first answer.",
    implies=("player.choice.after-error",),
)
def choice_again(bench: PlayerBench) -> None:
    match, _ = choice_in(bench)
    chosen(bench, match)


@CHOICES.rule(
    "choice.after-error",
    SHOULD,
    number="R-MATCH-20",
    source="document 004 section 6.2.4",
    says="A player makes a legal choice when it is asked again after GAME_ERROR.",
    mend="Take GAME_ERROR as news, and answer the next call as any other.",
)
def choice_after_error(bench: PlayerBench) -> None:
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


@CHOICES.rule(
    "choice.two-matches",
    ROBUST,
    number="R-MSG-03",
    source="document 004 section 10.5",
    says="A player keeps two matches apart that it plays at once.",
    mend="Keep what you know of a match under its match_id.",
)
def choice_of_two_matches(bench: PlayerBench) -> None:
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


def _expect_life(bench: PlayerBench, said: Said, what: str) -> None:
    """It may refuse, and is as well as before."""
    status = said.answer.status
    if status is None or status >= 500:
        raise Broken(f"any answer to {what}", is_late=said.answer.is_late)
    joined(bench, bench.match())


@CHOICES.rule(
    "choice.without-invitation",
    ROBUST,
    number="R-MATCH-02",
    source="document 000 section 2.7",
    says="A player that is asked in a match to which nobody invited it answers in order.",
    mend="Choose all the same, or refuse with an error, and go on.",
    needs=(JOINS,),
)
def choice_without_invitation(bench: PlayerBench) -> None:
    _expect_life(bench, bench.choose(bench.match()), "a call without an invitation")


@CHOICES.rule(
    "choice.after-the-end",
    ROBUST,
    number="R-MATCH-01",
    source='document 002 "Match Lifecycle"',
    says="A player that is asked again after GAME_OVER answers in order.",
    mend="Choose all the same, or refuse with an error, and go on.",
)
def choice_after_the_end(bench: PlayerBench) -> None:
    match, _ = choice_in(bench)
    bench.ask(bench.game_over(match))
    _expect_life(bench, bench.choose(match), "a call after the end")


@CHOICES.rule(
    "choice.odd-fields",
    ROBUST,
    number="R-MSG-07",
    source="document 004 section 10.5",
    says="A player goes on after a call in which optional fields are null or of another type.",
    mend="Check what you read of a message before you use it.",
)
def choice_with_odd_fields(bench: PlayerBench) -> None:
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
        if answer.status is None or answer.status >= 500:
            raise Broken("a choice, or an error in order", is_late=answer.is_late)
        choice_in(bench)


def written_like(bench: PlayerBench, message: Fields) -> Fields:
    """A message that the documents do not allow, in JSON-RPC."""
    if "tool" not in bench.speaks and "choose" not in bench.speaks:
        raise NotApplicable("it does not take document 001's form")
    return bench.request(message)


@CHOICES.rule(
    "choice.to-the-referee-alone",
    SHOULD,
    number="R-MATCH-23",
    source="document 003 section 4.5.2",
    says="A player tells its choice to the referee that asked, and to nobody else.",
    mend="Send CHOOSE_PARITY_RESPONSE only as the answer, or to the referee_endpoint of the call.",
)
def choice_to_the_referee_alone(bench: PlayerBench) -> None:
    before = len(bench.manager.received)
    choice_in(bench)

    def tells(received: Any) -> bool:
        return received.name == CHOICE or b"parity_choice" in received.body

    told = bench.manager.wait_for(tells, bench.limits.quiet, after=before)
    if told:
        raise Broken("nothing about its choice at the manager", told.exchange())
