"""The rules for players: joining, choosing, and hearing what is told."""

from agentleague.conformance.player_bench import (
    OPPONENT_ID,
    PLAYER_ID,
    TOKEN,
    PlayerBench,
)
from agentleague.conformance.player_choice_rules import (
    CHOICES,
    JOINS,
    LEGAL,
    choice_in,
    expect,
    expect_utc,
    joined,
)
from agentleague.conformance.player_life_rules import END, REGISTRATION
from agentleague.conformance.player_notice_rules import NOTICES
from agentleague.conformance.rules import Broken, NotApplicable, Rules, Tier
from agentleague.conformance.wire import refusal
from agentleague.conformance.wire_rules import FIRST, add_first_rules, add_wire_rules
from agentleague.protocol.messages import GameMoveResponse

MUST, SHOULD, ROBUST, PLUS = Tier
CELLS = [0, 2, 3, 5, 7]
MATCHES = 20


PLAYER = Rules("player", needs=(JOINS,))
add_first_rules(PLAYER, FIRST)


@PLAYER.rule("invitation.is-answered", MUST, needs=("player.http.takes-post",))
def invitation_is_answered(bench: PlayerBench) -> None:
    """A player answers GAME_INVITATION within 5 seconds with a join.

    R-MATCH-02: document 004 section 5.1
    Mend: Answer handle_game_invitation with {"match_id": …, "accept": true} in `result`.
    """
    joined(bench, bench.match())


for each in REGISTRATION:
    PLAYER.add(each)


@PLAYER.rule("invitation.says-accept", SHOULD)
def join_says_accept(bench: PlayerBench) -> None:
    """A join says `accept`, true or false.

    R-FORM-09: document 001 section 4.1
    Mend: Say `accept`: true in GAME_JOIN_ACK.
    Leniency: `accepted`, ACK and the like are read as a join too
    """
    expect(joined(bench, bench.match()).fields, accept=True)


@PLAYER.rule("invitation.says-when", SHOULD)
def join_says_when(bench: PlayerBench) -> None:
    """A join has an `arrival_timestamp` in UTC.

    R-MATCH-32: document 004 section 5.2.2
    Mend: Put the present time in UTC into arrival_timestamp: 2026-01-15T10:30:00Z.
    Leniency: it may hold anything
    """
    expect_utc(joined(bench, bench.match()).fields, "arrival_timestamp")


for each in CHOICES:
    PLAYER.add(each)


@PLAYER.rule("token.kept-from-referees", PLUS)
def token_kept_from_referees(bench: PlayerBench) -> None:
    """A player does not show its league token to a referee, which could use it.

    R-TOK-06: ours
    Mend: Show the token from your registration to the manager alone.
    """
    if bench.registration is None:
        raise NotApplicable("it has no token of the kit's manager")
    match = bench.match()
    asked = (bench.invitation(match), bench.call(match), bench.game_over(match))
    for message in asked:
        if TOKEN.encode() in bench.ask(message).body:
            raise Broken("an answer without its league token")


@PLAYER.rule("move.is-legal", PLUS)
def move_is_legal(bench: PlayerBench) -> None:
    """A player that plays other games too answers GAME_MOVE_CALL with one of `legal_moves`.

    R-MATCH-04: ours
    Mend: Answer choose_move with {"match_id": …, "move": one of legal_moves}.
    """
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
    "push.names-its-match", SHOULD, needs=(LEGAL,), implies=("player.answer.repeats-the-match",)
)
def push_names_its_match(bench: PlayerBench) -> None:
    """A player that brings its answers later names match and player in them.

    R-MATCH-23: document 003 section 4.12.1
    Mend: Put match_id and player_id into every GAME_JOIN_ACK and CHOOSE_PARITY_RESPONSE.
    Leniency: a push without them is for the only match that waits
    """
    if not bench.pushes:
        raise NotApplicable("it answers at once")
    match, said = choice_in(bench)
    expect(said.fields, match_id=match.match_id, player_id=PLAYER_ID)


@PLAYER.rule("robust.many-matches", ROBUST, needs=(LEGAL,))
def many_matches(bench: PlayerBench) -> None:
    """A player plays 20 matches in a row, each from the invitation to GAME_OVER.

    R-MATCH-01: document 002 "Match Lifecycle"
    Mend: Forget a match when it is over, and keep nothing that fills up.
    """
    for _ in range(MATCHES):
        match, _said = choice_in(bench)
        bench.ask(bench.game_over(match), seconds=bench.limits.game_over)


for each in NOTICES:
    PLAYER.add(each)


@PLAYER.rule("robust.manager-restarts", ROBUST, needs=(LEGAL,))
def manager_restarts(bench: PlayerBench) -> None:
    """A player plays on while its manager is away, and when it is back.

    R-REG-05: document 001 section 9.4
    Mend: Need the manager for nothing during a match, and expect that it is away.
    """
    if bench.registration is None:
        raise NotApplicable("the kit is not its manager")
    bench.restart_manager(lambda: choice_in(bench) and None)
    choice_in(bench)


add_wire_rules(PLAYER, JOINS)
for each in END:
    PLAYER.add(each)
