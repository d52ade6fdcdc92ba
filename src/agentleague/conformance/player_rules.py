"""The rules for players: joining, choosing, and hearing what is told."""

from agentleague.conformance.player_bench import (
    JOIN,
    OPPONENT_ID,
    PLAYER_ID,
    TOKEN,
    PlayerBench,
)
from agentleague.conformance.player_choice_rules import (
    BESIDE,
    CHOICES,
    DOCUMENTED,
    ENVELOPE_SAYS,
    JOINS,
    LEGAL,
    NEAREST,
    choice_in,
    expect,
    expect_conversation,
    expect_envelope,
    expect_utc,
    joined,
)
from agentleague.conformance.player_life_rules import END, REGISTRATION
from agentleague.conformance.player_notice_rules import NOTICES
from agentleague.conformance.rules import OURS, Broken, NotApplicable, Rule, Rules, Tier
from agentleague.conformance.wire import refusal
from agentleague.conformance.wire_rules import add_first_rules, add_wire_rules
from agentleague.protocol.messages import GameMoveResponse

MUST, SHOULD, ROBUST, PLUS = Tier
INVITED = ("league_id", "round_id", "role_in_match", "opponent_id", "conversation_id")
CELLS = [0, 2, 3, 5, 7]
MATCHES = 20


def invitation_is_answered(bench: PlayerBench) -> None:
    joined(bench, bench.match())


INVITATION_IS_ANSWERED = Rule(
    id=JOINS,
    tier=MUST,
    number="R-MATCH-02",
    source="document 004 section 5.1",
    says="A player answers GAME_INVITATION within 5 seconds with a join.",
    mend='Answer handle_game_invitation with {"match_id": …, "accept": true} in `result`.',
    check=invitation_is_answered,
    needs=("player.http.takes-post",),
)
PLAYER = Rules("player", needs=(JOINS,))
add_first_rules(PLAYER, INVITATION_IS_ANSWERED)
for each in REGISTRATION:
    PLAYER.add(each)


@PLAYER.rule(
    "invitation.says-accept",
    SHOULD,
    number="R-FORM-09",
    source="document 001 section 4.1",
    says="A join says `accept`, true or false.",
    mend="Say `accept`: true in GAME_JOIN_ACK.",
    leniency="`accepted`, ACK and the like are read as a join too",
)
def join_says_accept(bench: PlayerBench) -> None:
    expect(joined(bench, bench.match()).fields, accept=True)


@PLAYER.rule(
    "invitation.says-its-type",
    SHOULD,
    number="R-FORM-09",
    source="document 001 section 4.1",
    says="A join has the `message_type` GAME_JOIN_ACK.",
    mend="Say `message_type`: GAME_JOIN_ACK.",
    leniency="the type of an answer is not looked at",
)
def join_says_its_type(bench: PlayerBench) -> None:
    expect(joined(bench, bench.match()).fields, message_type=JOIN)


@PLAYER.rule(
    "invitation.repeats-the-match",
    SHOULD,
    number="R-MSG-03",
    source="document 004 section 5.2.1",
    says="A join repeats `match_id` and names its player in `player_id`.",
    mend="Copy match_id from the invitation, and put your player_id beside it.",
    leniency=NEAREST,
)
def join_repeats_the_match(bench: PlayerBench) -> None:
    match = bench.match()
    expect(joined(bench, match).fields, match_id=match.match_id, player_id=PLAYER_ID)


@PLAYER.rule(
    "invitation.repeats-the-conversation",
    SHOULD,
    number="R-MATCH-32",
    source="document 004 section 10.2",
    says="A join repeats the `conversation_id` of the invitation.",
    mend="Copy conversation_id from the invitation.",
    leniency=BESIDE,
)
def join_repeats_the_conversation(bench: PlayerBench) -> None:
    match = bench.match()
    expect_conversation(bench, match, joined(bench, match).fields)


@PLAYER.rule(
    "invitation.has-the-envelope",
    SHOULD,
    number="R-ENV-01",
    source=ENVELOPE_SAYS,
    says="A join has `protocol`, `sender` and a `timestamp` in UTC.",
    mend="Put protocol league.v2, sender player:P01 and the time in UTC into every answer.",
    leniency=BESIDE,
)
def join_has_the_envelope(bench: PlayerBench) -> None:
    expect_envelope(joined(bench, bench.match()).fields)


@PLAYER.rule(
    "invitation.says-when",
    SHOULD,
    number="R-MATCH-32",
    source="document 004 section 5.2.2",
    says="A join has an `arrival_timestamp` in UTC.",
    mend="Put the present time in UTC into arrival_timestamp: 2026-01-15T10:30:00Z.",
    leniency="it may hold anything",
)
def join_says_when(bench: PlayerBench) -> None:
    expect_utc(joined(bench, bench.match()).fields, "arrival_timestamp")


@PLAYER.rule(
    "invitation.documented-fields",
    SHOULD,
    number="R-ENV-02",
    source="document 004 section 5.1.1",
    says="A player joins if the invitation has no more than document 004 shows.",
    mend="Need no field that is not in document 004 section 5.1.1.",
)
def join_with_documented_fields(bench: PlayerBench) -> None:
    invitation = bench.invitation(bench.match())
    kept = {*DOCUMENTED, *INVITED} - {"player_id"}
    few = {name: value for name, value in invitation.items() if name in kept}
    if not bench.question(few, bench.limits.join).joins:
        raise Broken("a join")


@PLAYER.rule(
    "invitation.again",
    ROBUST,
    number="R-MATCH-19",
    source="document 000 section 2.9.4",
    says="A player that is invited a second time joins as the first time.",
    mend="Join again: the referee did not get your first answer.",
)
def join_again(bench: PlayerBench) -> None:
    match = bench.match()
    joined(bench, match)
    joined(bench, match)


for each in CHOICES:
    PLAYER.add(each)


@PLAYER.rule(
    "token.kept-from-referees",
    PLUS,
    number="R-TOK-06",
    source=OURS,
    says="A player does not show its league token to a referee, which could use it.",
    mend="Show the token from your registration to the manager alone.",
)
def token_kept_from_referees(bench: PlayerBench) -> None:
    if bench.registration is None:
        raise NotApplicable("it has no token of the kit's manager")
    match = bench.match()
    asked = (bench.invitation(match), bench.call(match), bench.game_over(match))
    for message in asked:
        if TOKEN.encode() in bench.ask(message).body:
            raise Broken("an answer without its league token")


@PLAYER.rule(
    "move.is-legal",
    PLUS,
    number="R-MATCH-04",
    source=OURS,
    says="A player that plays other games too answers GAME_MOVE_CALL with one of `legal_moves`.",
    mend='Answer choose_move with {"match_id": …, "move": one of legal_moves}.',
)
def move_is_legal(bench: PlayerBench) -> None:
    match = bench.match()
    joined(bench, match, game_type="tic_tac_toe")
    board = [None if cell in CELLS else "X" if cell % 4 else "O" for cell in range(9)]
    call = bench.about(
        "GAME_MOVE_CALL", match, game_type="tic_tac_toe", turn=4, legal_moves=CELLS,
        position={"board": board, "you": "X"}, deadline=bench.call(match)["deadline"],
        context={"opponent_id": OPPONENT_ID, "round_id": match.round_id},
    )  # fmt: skip
    answer = bench.ask(call, seconds=bench.limits.move)
    bench.expect_answer(answer)
    found = bench.read(call, answer)
    if refusal(answer) or not isinstance(found, GameMoveResponse) or found.move is None:
        raise NotApplicable("it does not play tic_tac_toe")
    if type(found.move) is not int or found.move not in CELLS:
        raise Broken(f"`move`: one of {CELLS}")


@PLAYER.rule(
    "push.names-its-match",
    SHOULD,
    number="R-MATCH-23",
    source="document 003 section 4.12.1",
    says="A player that brings its answers later names match and player in them.",
    mend="Put match_id and player_id into every GAME_JOIN_ACK and CHOOSE_PARITY_RESPONSE.",
    needs=(LEGAL,),
    implies=("player.choice.repeats-the-match",),
    leniency="a push without them is for the only match that waits",
)
def push_names_its_match(bench: PlayerBench) -> None:
    if not bench.pushes:
        raise NotApplicable("it answers at once")
    match, said = choice_in(bench)
    expect(said.fields, match_id=match.match_id, player_id=PLAYER_ID)


@PLAYER.rule(
    "robust.many-matches",
    ROBUST,
    number="R-MATCH-01",
    source='document 002 "Match Lifecycle"',
    says="A player plays 20 matches in a row, each from the invitation to GAME_OVER.",
    mend="Forget a match when it is over, and keep nothing that fills up.",
    needs=(LEGAL,),
)
def many_matches(bench: PlayerBench) -> None:
    for _ in range(MATCHES):
        match, _said = choice_in(bench)
        bench.ask(bench.game_over(match), seconds=bench.limits.game_over)


for each in NOTICES:
    PLAYER.add(each)


@PLAYER.rule(
    "robust.manager-restarts",
    ROBUST,
    number="R-REG-05",
    source="document 001 section 9.4",
    says="A player plays on while its manager is away, and when it is back.",
    mend="Need the manager for nothing during a match, and expect that it is away.",
    needs=(LEGAL,),
)
def manager_restarts(bench: PlayerBench) -> None:
    if bench.registration is None:
        raise NotApplicable("the kit is not its manager")
    bench.restart_manager(lambda: choice_in(bench) and None)
    choice_in(bench)


add_wire_rules(PLAYER, JOINS)
for each in END:
    PLAYER.add(each)
